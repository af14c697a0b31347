//! MLRsearch (Multiple Loss Ratio search, RFC 9971): one search that finds the largest load for each of several loss
//! goals.
//!
//! An example of a goal: the loss ratio is at most 0.5 % in all but half of the trial time, judged on 21 trials of one
//! second. These are the goal loss ratio, the goal exceed ratio (0.5) and the goal duration sum. The result of a goal
//! is a pair of loads: a lower bound, which meets the goal, and an upper bound, which does not.
//!
//! Plain bisection decides about each load by a single trial. If the losses of a system vary, one unlucky second can
//! mislead it. MLRsearch repeats the trials at a load until the missing trials can no longer change the verdict. In the
//! example, up to 10 of the 21 trials may have high loss. After 11 trials of low loss, the load is a lower bound,
//! whatever the other 10 trials would show. After 11 trials of high loss, it is an upper bound.
//!
//! The search first looks for bounds that are far apart, with short trials and small duration sums, and then for
//! closer ones. Each trial counts for all goals.
//!
//! The verdict on a load and the conditional throughput are computed as in RFC 9971 and in its authors' package
//! MLRsearch 1.2.1. The RFC does not prescribe which loads are tried, nor how long a load is tried after its verdict is
//! certain. This search makes two choices:
//! - The loads form a grid whose steps are half the requested width of the result (see `STEPS`).
//! - The two bounds of the result are tried again as long as chance can explain their verdicts (see `CLEAR`).

use std::collections::BTreeMap;

use super::Trial;

/// Maximum number of goals of one search.
pub const GOALS_MAX: usize = 4;
/// Maximum number of trials of one search, whatever its time budget.
pub const TRIALS_MAX: u32 = 10_000;
/// Number of coarser targets that precede the target of the goal itself. The bounds of each target may be twice as far
/// apart as those of the next target: 4 grid steps, then 2, then 1 for the goal itself.
const PRECEDING: u32 = 2;
/// Number of grid steps in the requested width. The bounds of the result are one step apart, and the true value is
/// between them. If a wrong verdict moves the result by one step, it is still within the requested width of the true
/// value. Example: for a width of 1 %, neighbouring loads differ by 0.5 %.
const STEPS: f64 = 2.0;
/// Minimum distance, in standard deviations, between the measured time of high loss and its mean at a load that is
/// exactly at the goal. Below this distance, chance can explain the verdict, and a bound of the result is tried again.
///
/// Example with 21 trials and an exceed ratio of 0.5: at the goal, 10.5 trials have high loss on average, with a standard
/// deviation of `sqrt(0.5 * 0.5 * 21)` = 2.3. The distance must be at least `1.4 * 2.3` = 3.2. It is 4.5 for 6 trials of
/// high loss, which suffices. It is 0.5 for 10 trials of high loss, which does not.
const CLEAR: f64 = 1.4;
/// Maximum time for which a bound of the result is tried, in duration sums: 84 trials for a sum of 21. After this time,
/// the verdict is final even if chance can explain it.
const SUMS_MAX: f64 = 4.0;
/// Factor between two steps away from a bound, towards the bound that is not known yet: 4, 8, 16, ... grid steps.
const EXPANSION: usize = 2;

/// Conditions that a load must meet to be a lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Goal loss ratio: a trial has low loss if it lost at most this share of its load, and otherwise high loss.
    pub loss_ratio: f64,
    /// Goal exceed ratio: the share of the trial time at a load that may have high loss. With 0.5, the median trial
    /// decides.
    pub exceed_ratio: f64,
    /// Goal duration sum: the trial time at one load that suffices for a verdict, in full trials.
    pub sum: f64,
}

/// Result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reply {
    /// Loss ratio: the share of the load that was lost.
    Loss(f64),
    /// The generator could not send the load, so the trial gives no information about the system. The search tries
    /// only smaller loads from then on.
    Unsent,
}

/// Result for one goal.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// Relevant lower bound: the largest load below the upper bound that meets the goal.
    pub lower: Option<f64>,
    /// Relevant upper bound: the smallest load that does not meet the goal. `None` if no load has this verdict, for
    /// example because even the largest load meets the goal.
    pub upper: Option<f64>,
    /// Conditional throughput: the load that the system forwards at the relevant lower bound, `lower * (1 - loss)`.
    /// `loss` is the quantile `1 - exceed_ratio` of the loss ratio over the trial time. Example: with a lower bound of
    /// 1,000 per second and a median loss of 0.2 %, it is 998 per second.
    pub throughput: Option<f64>,
    /// Whether the result is as precise as requested: the bounds are close enough and not due to chance, or the answer
    /// is an end of the requested range.
    pub precise: bool,
}

/// Verdict on a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The load meets the goal.
    Lower,
    /// The load does not meet the goal.
    Upper,
    /// The missing trials can still change the verdict.
    Open,
}

/// Trial time at a load, in full trials: two trials of half the duration are 1.
struct Times {
    /// Time of low loss.
    good: f64,
    /// Time of high loss.
    bad: f64,
}

impl Times {
    /// Returns the verdict. The missing time is `sum - good - bad`. A load is a lower bound if it meets the goal even
    /// with high loss in all missing time. It is an upper bound if it misses the goal even with low loss in all
    /// missing time.
    fn class(&self, goal: &Goal) -> Class {
        let Goal { exceed_ratio, sum, .. } = *goal;
        let whole = f64::max(self.good + self.bad, sum);
        let allowed = exceed_ratio * whole * (1.0 + 1e-9);
        match (self.bad <= allowed, whole - self.good <= allowed + whole * 1e-12) {
            (true, true) => Class::Lower,
            (false, false) => Class::Upper,
            _ => Class::Open,
        }
    }

    /// Returns whether chance cannot explain the verdict (see [`CLEAR`]), or the maximum time has been spent on it.
    fn clear(&self, target: &Target) -> bool {
        let Goal { exceed_ratio, sum, .. } = target.goal;
        let seen = self.good + self.bad;
        // N trials have a variance of `e * (1 - e) * N`, in trials. With N = seen / share and times in full trials, the
        // variance is `e * (1 - e) * seen * share`.
        let deviation = (exceed_ratio * (1.0 - exceed_ratio) * seen * target.share).sqrt();
        (self.bad - exceed_ratio * seen).abs() >= CLEAR * deviation || seen >= SUMS_MAX * sum
    }
}

/// A stage of the search for a goal. The earlier targets have shorter trials, smaller duration sums and wider bounds than
/// the goal, and the last target is the goal itself.
#[derive(Debug, Clone, Copy)]
struct Target {
    goal: Goal,
    /// Duration of the target's trials, as a share of the full duration.
    share: f64,
    /// Maximum distance between the lower and the upper bound, in grid steps.
    width: usize,
    /// Whether this target is the goal itself. Only its bounds are tried until chance cannot explain them.
    last: bool,
}

/// A search that requests trials and receives their loss.
#[derive(Debug, Clone)]
pub struct MlrSearch {
    /// Grid of loads, ascending: neighbours are one grid step apart.
    loads: Vec<f64>,
    /// Index of the largest load that can be sent.
    top: usize,
    /// Smallest load that the generator could not send.
    unsent: Option<f64>,
    /// Targets of each goal; the goal itself is the last one.
    goals: Vec<Vec<Target>>,
    /// All trials, by index of their load: the share of the full duration, and the loss ratio.
    seen: BTreeMap<usize, Vec<(f64, f64)>>,
    /// Remaining budget, in full trials.
    budget: f64,
    spent: f64,
    trials: u32,
    asked: Option<(usize, f64)>,
}

impl MlrSearch {
    /// Creates a search.
    ///
    /// - `range`: the smallest and the largest load, both above 0.
    /// - `precision`: requested width of the result, relative to the load.
    /// - `whole`: tries only integer loads.
    /// - `goals`: only the first [`GOALS_MAX`] goals are used.
    /// - `initial`: duration of the first trials, as a share of a full trial (above 0, at most 1).
    /// - `budget`: maximum time of all trials, in full trials.
    pub fn new(
        range: (f64, f64),
        precision: f64,
        whole: bool,
        goals: &[Goal],
        initial: f64,
        budget: f64,
    ) -> Self {
        let loads = grid(range, precision / STEPS, whole);
        let goals = goals.iter().take(GOALS_MAX).map(|goal| chain(*goal, initial)).collect();
        let top = loads.len().saturating_sub(1);
        let seen = BTreeMap::new();
        Self { loads, top, unsent: None, goals, seen, budget, spent: 0.0, trials: 0, asked: None }
    }

    /// Returns the next trial. Returns `None` if all goals are reached or the budget does not suffice for another trial.
    pub fn next_trial(&mut self) -> Option<Trial> {
        if self.trials >= TRIALS_MAX || self.loads.is_empty() {
            return None;
        }
        let (index, share) = self.wanted()?;
        if self.spent + share > self.budget * (1.0 + 1e-9) {
            return None;
        }
        self.asked = Some((index, share));
        Some(Trial { load: self.loads[index], duration_share: share })
    }

    /// Records the result of the trial that [`next_trial`](Self::next_trial) returned last.
    pub fn report(&mut self, reply: Reply) {
        let Some((index, share)) = self.asked.take() else { return };
        self.trials += 1;
        self.spent += share;
        match reply {
            Reply::Loss(loss) => self.seen.entry(index).or_default().push((share, loss)),
            Reply::Unsent => {
                self.unsent = Some(self.loads[index]);
                self.seen.split_off(&index);
                self.loads.truncate(index);
                self.top = index.saturating_sub(1);
            }
        }
    }

    /// Returns the number of trials.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Returns the time of all trials, in full durations.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Returns the smallest load that the generator could not send, if there was one.
    pub fn unsent(&self) -> Option<f64> {
        self.unsent
    }

    /// Returns the bounds of each goal, in the given order.
    pub fn found(&self) -> Vec<Bounds> {
        self.goals.iter().filter_map(|chain| Some(self.bounds_of(chain.last()?))).collect()
    }

    fn bounds_of(&self, target: &Target) -> Bounds {
        let (lower, upper) = self.bounds(target);
        let throughput = lower.map(|lower| self.loads[lower] * (1.0 - self.quantile(lower, target)));
        let load = |index: Option<usize>| index.map(|index| self.loads[index]);
        let precise = self.done(target) && (upper.is_some() || self.unsent.is_none());
        Bounds { lower: load(lower), upper: load(upper), throughput, precise }
    }

    /// Returns the index of the next load and the duration share of its trial. The coarse targets of all goals are
    /// reached before any finer target, because their trials count for every goal.
    fn wanted(&self) -> Option<(usize, f64)> {
        let depths = self.goals.iter().map(Vec::len).max()?;
        (0..depths).find_map(|depth| {
            self.goals.iter().find_map(|chain| {
                let target = chain.get(depth)?;
                let finer = &chain[depth..];
                // If a finer target is reached, coarser targets are skipped.
                if finer.iter().any(|target| self.done(target)) {
                    return None;
                }
                let before =
                    depth.checked_sub(1).map(|before| self.bounds(&chain[before])).unwrap_or_default();
                Some((self.candidate(target, before), target.share))
            })
        })
    }

    /// Returns whether the bounds of the target are close enough. A single bound suffices at the end of the grid.
    fn done(&self, target: &Target) -> bool {
        match self.bounds(target) {
            (Some(lower), Some(upper)) => upper - lower <= target.width && self.unclear(target).is_none(),
            (Some(lower), None) => lower >= self.top && self.unclear(target).is_none(),
            (None, Some(upper)) => upper == 0 && self.unclear(target).is_none(),
            (None, None) => self.loads.is_empty(),
        }
    }

    /// Returns the index of a bound of the result whose verdict chance can explain (see [`CLEAR`]).
    ///
    /// By the RFC, this verdict is already valid, but the search may continue to try the load. Without further trials,
    /// a single trial could decide: of 21 trials, 10 of low loss and 10 of high loss leave the verdict to the last one.
    /// It would move the result by one grid step, which is 0.5 % at the default precision of 1 %.
    fn unclear(&self, target: &Target) -> Option<usize> {
        let (lower, upper) = self.bounds(target);
        let unclear = |index: &usize| !self.times(*index, target).clear(target);
        [lower, upper].into_iter().flatten().filter(|_| target.last).find(unclear)
    }

    /// Returns the indices of the relevant lower and the relevant upper bound.
    fn bounds(&self, target: &Target) -> (Option<usize>, Option<usize>) {
        let of = |class| move |&index: &usize| self.class(index, target) == class;
        let upper = self.seen.keys().copied().find(of(Class::Upper));
        let below = self.seen.range(..upper.unwrap_or(usize::MAX)).map(|(index, _)| *index);
        (below.rev().find(of(Class::Lower)), upper)
    }

    /// Returns the index of the load to try next for the target. The search stays at a load until its verdict is known.
    /// `before` contains the bounds of the coarser target that precedes this one.
    fn candidate(&self, target: &Target, before: (Option<usize>, Option<usize>)) -> usize {
        let open = |index: &usize| *index <= self.top && self.class(*index, target) == Class::Open;
        let (lower, upper) = self.bounds(target);
        let within = |index: &usize| {
            lower.is_none_or(|lower| *index > lower)
                && upper.is_none_or(|upper| *index < upper)
                && open(index)
        };
        // Tries the bounds of the coarser target first: part of the time that they need has already been measured.
        if let Some(index) = [before.0, before.1].into_iter().flatten().find(within) {
            return index;
        }
        match (lower, upper) {
            // No load has a verdict. The search starts with the largest load. If the generator cannot send it,
            // nothing is known about smaller loads. The search then starts with the smallest load and bisects.
            (None, None) => {
                if self.unsent.is_some() {
                    0
                } else {
                    self.top
                }
            }
            (Some(lower), Some(upper)) if upper - lower <= target.width => {
                self.unclear(target).unwrap_or(lower)
            }
            (Some(lower), Some(upper)) => usize::midpoint(lower, upper),
            (Some(lower), None) if self.unsent.is_some() => (lower + self.top).div_ceil(2),
            (Some(lower), None) => {
                let last = self.of_class(target, Class::Lower, lower, false);
                lower.saturating_add(stride(target, last)).min(self.top)
            }
            (None, Some(upper)) => {
                let forwarded = self.forwarded().filter(|_| upper == self.top).filter(within);
                let last = self.of_class(target, Class::Upper, upper, true);
                forwarded.unwrap_or_else(|| upper.saturating_sub(stride(target, last)))
            }
        }
    }

    /// Returns the size of the last step away from a bound, in grid steps. It is the distance between the load with
    /// index `from` and the next tried load of the same class. `above`: searches above `from`, otherwise below.
    /// Example: if the loads 10 and 14 are lower bounds, the last step to 14 was 4, and the next step is 8.
    fn of_class(&self, target: &Target, class: Class, from: usize, above: bool) -> Option<usize> {
        let is = |index: &&usize| self.class(**index, target) == class;
        if above {
            self.seen.range(from + 1..).map(|(index, _)| index).find(is).map(|next| next - from)
        } else {
            self.seen.range(..from).map(|(index, _)| index).rev().find(is).map(|next| from - next)
        }
    }

    /// Returns the index of the load that the system forwarded in the first trial at the largest tried load,
    /// `load * (1 - loss)`. This is the best first guess of the result. Example: at 10,000 per second, a loss of 60 %
    /// leaves 4,000 per second.
    fn forwarded(&self) -> Option<usize> {
        let (top, trials) = self.seen.last_key_value()?;
        let load = self.loads[*top] * (1.0 - trials.first()?.1);
        Some(self.loads.partition_point(|own| *own <= load).saturating_sub(1))
    }

    fn class(&self, index: usize, target: &Target) -> Class {
        self.times(index, target).class(&target.goal)
    }

    /// Returns the time of low loss and the time of high loss at a load.
    fn times(&self, index: usize, target: &Target) -> Times {
        let Goal { loss_ratio, exceed_ratio, .. } = target.goal;
        let mut good = 0.0;
        let mut bad = 0.0;
        let mut good_short = 0.0;
        let mut bad_short = 0.0;
        for (share, loss) in self.seen.get(&index).into_iter().flatten() {
            let of = match (*share >= target.share * (1.0 - 1e-9), *loss <= loss_ratio) {
                (true, true) => &mut good,
                (true, false) => &mut bad,
                (false, true) => &mut good_short,
                (false, false) => &mut bad_short,
            };
            *of += share;
        }
        // Trials that are shorter than the target requires never count as low loss. They can only excuse other short
        // trials of high loss: up to `good_short * e / (1 - e)`, with the exceed ratio e. Example: with e = 0.5, a time of
        // 3 of low loss excuses 3 of high loss. High loss beyond the excused time counts.
        bad += f64::max(0.0, bad_short - good_short * exceed_ratio / (1.0 - exceed_ratio));
        Times { good, bad }
    }

    /// Returns the loss ratio at a load for the conditional throughput. Only trials of at least the target's duration
    /// count.
    fn quantile(&self, index: usize, target: &Target) -> f64 {
        let trials = self.seen.get(&index).into_iter().flatten();
        let full = trials.filter(|(share, _)| *share >= target.share * (1.0 - 1e-9)).copied().collect();
        pessimistic_loss(full, &target.goal)
    }
}

/// Returns the loss ratio for the conditional throughput, as `pessimistic_loss_ratio` of the authors' package MLRsearch
/// 1.2.1. It is the quantile `1 - exceed_ratio` of the loss ratio over the trial time. `full` has the time and the loss
/// ratio of each trial. If the trials are shorter than the duration sum, all load in the missing time counts as lost.
/// If the quantile is exactly between two loss ratios, the lower one is returned.
///
/// Example with a sum of 21 and an exceed ratio of 0.5: the quantile is at a time of 10.5. Of 6 trials without loss and 5
/// trials with a loss of 0.4 %, the 11th decides: 0.4 %. With only 10 trials, the missing time decides: 1.
fn pessimistic_loss(mut full: Vec<(f64, f64)>, goal: &Goal) -> f64 {
    full.sort_by(|a, b| a.1.total_cmp(&b.1));
    let measured: f64 = full.iter().map(|(time, _)| time).sum();
    let mut left = f64::max(goal.sum, measured) * (1.0 - goal.exceed_ratio);
    for (time, loss) in full {
        left -= time;
        if left <= 1e-9 {
            return loss;
        }
    }
    1.0
}

/// Returns the size of the next step away from a bound, in grid steps; `last` is the size of the step before it.
fn stride(target: &Target, last: Option<usize>) -> usize {
    last.map_or(target.width, |last| last.saturating_mul(EXPANSION)).max(target.width)
}

/// Returns the targets of a goal, the coarsest one first. Duration, sum and width change by a constant factor from target
/// to target. Example with an initial duration share of 0.25 and a sum of 25: duration shares of 0.25, 0.5 and 1, sums
/// of 0.25, 2.5 and 25, widths of 4, 2 and 1.
fn chain(goal: Goal, initial: f64) -> Vec<Target> {
    let initial = initial.clamp(1e-3, 1.0);
    (0..=PRECEDING)
        .map(|step| {
            let way = f64::from(step) / f64::from(PRECEDING);
            let sum = initial * (goal.sum.max(1.0) / initial).powf(way);
            Target {
                goal: Goal { sum, exceed_ratio: goal.exceed_ratio.clamp(0.0, 0.99), ..goal },
                share: initial.powf(1.0 - way),
                width: EXPANSION.pow(PRECEDING - step),
                last: step == PRECEDING,
            }
        })
        .collect()
}

/// Returns the grid of loads between `min` and `max`, ascending. Each load is smaller than the next one by the share
/// `precision`. Example: from 95 to 100 with 0.02, the loads are 95, 96.04, 98 and 100. `whole`: integers only.
fn grid((min, max): (f64, f64), precision: f64, whole: bool) -> Vec<f64> {
    let precision = precision.clamp(1e-4, 0.5);
    let (min, max) = if whole { (min.ceil(), max.floor()) } else { (min, max) };
    let mut loads = Vec::new();
    let mut load = max;
    while load > min && load > 0.0 {
        loads.push(load);
        let next = load * (1.0 - precision);
        load = if whole { next.ceil().min(load - 1.0) } else { next };
    }
    if min > 0.0 && min <= max {
        loads.push(min);
    }
    loads.reverse();
    loads
}

#[cfg(test)]
mod tests;
