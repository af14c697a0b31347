//! MLRsearch (RFC 9971): the largest loads of several loss goals in one search, from many trials.
//!
//! A single trial is weak evidence about a system whose losses vary. Plain bisection relies on single trials, so one
//! unlucky second can mislead it. In this search a load is a bound only if the trials at it, taken together, would keep
//! their verdict whatever the results of the missing trials were. Coarse and short targets come before fine and long
//! ones, and goals share their trials.
//!
//! The verdict on a load and the conditional throughput are those of RFC 9971 and of its authors' package MLRsearch
//! 1.2.1. The RFC leaves the choice of loads, and trials beyond the duration sum, to the search. Here, loads are closer
//! to each other than the requested width of the result. The two bounds of the result are tried again as long as chance
//! can explain the numbers of good and bad seconds.

use std::collections::BTreeMap;

use super::Trial;

/// Maximum number of goals of one search.
pub const GOALS_MAX: usize = 4;
/// Maximum number of trials of one search, whatever its time budget.
pub const TRIALS_MAX: u32 = 10_000;
/// Number of coarser targets before the target of the goal itself. Each target is twice as wide as the next one.
const PRECEDING: u32 = 2;
/// Number of grid steps within the requested width. The result is the lower bound, and the true value is up
/// to the bounds' distance above it. With a single step, any wrong verdict would make the result wrong as
/// well.
const STEPS: f64 = 2.0;
/// Number of standard deviations by which good and bad time must differ from chance. Until then, a bound of the result
/// is tried again.
const CLEAR: f64 = 1.4;
/// Maximum number of duration sums for which a bound of the result is tried.
const SUMS_MAX: f64 = 4.0;
/// Factor by which the next outward step grows.
const EXPANSION: usize = 2;

/// Conditions for a load to be the goal's lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Goal loss ratio: a trial that lost at most this share has low loss.
    pub loss_ratio: f64,
    /// Goal exceed ratio: the share of the time at a load that may have high loss. With 0.5, the median decides.
    pub exceed_ratio: f64,
    /// Goal duration sum: the time at one load that suffices for a verdict, in full trials.
    pub sum: f64,
}

/// Result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reply {
    /// The share that was lost.
    Loss(f64),
    /// The load was not sent, so the trial gives no information about the system. No larger load is tried.
    Unsent,
}

/// Bounds of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// Relevant lower bound: the largest load that is classified as a lower bound and is below the upper bound.
    pub lower: Option<f64>,
    /// Relevant upper bound: the smallest load that is classified as an upper bound. `None` together with a lower
    /// bound: even the largest load is a lower bound.
    pub upper: Option<f64>,
    /// Conditional throughput: the load that is forwarded at the relevant lower bound, with the loss at the quantile of
    /// the exceed ratio.
    pub throughput: Option<f64>,
    /// Whether the bounds are as close as requested.
    pub precise: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Open,
}

/// Time at a load, in full trials.
struct Times {
    good: f64,
    bad: f64,
}

impl Times {
    /// Returns the verdict that does not depend on the result of the missing time.
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

    /// Whether the verdict cannot be due to chance, or enough time was spent on it.
    fn clear(&self, target: &Target) -> bool {
        let Goal { exceed_ratio, sum, .. } = target.goal;
        let seen = self.good + self.bad;
        // The samples are trials, not seconds.
        let deviation = (exceed_ratio * (1.0 - exceed_ratio) * seen * target.share).sqrt();
        (self.bad - exceed_ratio * seen).abs() >= CLEAR * deviation || seen >= SUMS_MAX * sum
    }
}

/// A step of the way to a goal.
#[derive(Debug, Clone, Copy)]
struct Target {
    goal: Goal,
    /// Duration of the target's trials, as a share of the full duration.
    share: f64,
    /// Maximum distance of the target's bounds, in steps of the grid.
    width: usize,
    /// Whether this target is the goal itself, whose bounds have to be clear.
    last: bool,
}

/// A search that requests trials and receives their loss.
#[derive(Debug, Clone)]
pub struct MlrSearch {
    /// Grid of loads, ascending: neighbours are one grid step apart.
    loads: Vec<f64>,
    /// Index of the largest load that can be sent.
    top: usize,
    unsent: Option<f64>,
    /// Targets of each goal; the goal itself is the last one.
    goals: Vec<Vec<Target>>,
    /// Share of the full duration and loss of every trial, by load.
    seen: BTreeMap<usize, Vec<(f64, f64)>>,
    /// Remaining budget, in full trials.
    budget: f64,
    spent: f64,
    trials: u32,
    asked: Option<(usize, f64)>,
}

impl MlrSearch {
    /// Creates a search between `min` and `max` (above 0), to a width of `precision` relative to the load;
    /// `whole`: integers only. At most [`GOALS_MAX`] goals count. The first trials take `initial` of the full
    /// duration (above 0, at most 1), and all trials together at most `budget` full durations.
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

    /// Returns the next trial; `None` if the search has ended.
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

    /// Records the result of the trial.
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

    /// Returns the next load and the duration share of its trial. Coarse targets of all goals come first, because their
    /// results serve every goal.
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

    fn done(&self, target: &Target) -> bool {
        match self.bounds(target) {
            (Some(lower), Some(upper)) => upper - lower <= target.width && self.unclear(target).is_none(),
            (Some(lower), None) => lower >= self.top && self.unclear(target).is_none(),
            (None, Some(upper)) => upper == 0 && self.unclear(target).is_none(),
            (None, None) => self.loads.is_empty(),
        }
    }

    /// Returns a bound of the result whose verdict may be due to chance, because there were few trials. The verdict
    /// itself follows the RFC, which lets the controller continue to measure a load. Without further trials, the last
    /// of 21 seconds could change the result by about half a per cent.
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

    /// Returns the load whose trial makes progress on the target. It stays the same until its class is known.
    fn candidate(&self, target: &Target, before: (Option<usize>, Option<usize>)) -> usize {
        let open = |index: &usize| *index <= self.top && self.class(*index, target) == Class::Open;
        let (lower, upper) = self.bounds(target);
        let within = |index: &usize| {
            lower.is_none_or(|lower| *index > lower)
                && upper.is_none_or(|upper| *index < upper)
                && open(index)
        };
        // Tries the bounds of the coarser target first, because they only need more time.
        if let Some(index) = [before.0, before.1].into_iter().flatten().find(within) {
            return index;
        }
        match (lower, upper) {
            // A load that cannot be sent gives no information about lower loads. The search halves, starting
            // from the smallest load.
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

    /// Returns the distance from a bound to the next load of its class beyond it, in grid steps. This was the last
    /// outward step.
    fn of_class(&self, target: &Target, class: Class, from: usize, above: bool) -> Option<usize> {
        let is = |index: &&usize| self.class(**index, target) == class;
        if above {
            self.seen.range(from + 1..).map(|(index, _)| index).find(is).map(|next| next - from)
        } else {
            self.seen.range(..from).map(|(index, _)| index).rev().find(is).map(|next| from - next)
        }
    }

    /// Returns the load that the system forwarded when the largest load was offered, which is the best first guess.
    fn forwarded(&self) -> Option<usize> {
        let (top, trials) = self.seen.last_key_value()?;
        let load = self.loads[*top] * (1.0 - trials.first()?.1);
        Some(self.loads.partition_point(|own| *own <= load).saturating_sub(1))
    }

    fn class(&self, index: usize, target: &Target) -> Class {
        self.times(index, target).class(&target.goal)
    }

    /// Returns the good and the bad time at a load.
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
        // Short trials of high loss count only beyond those that short trials of low loss excuse.
        bad += f64::max(0.0, bad_short - good_short * exceed_ratio / (1.0 - exceed_ratio));
        Times { good, bad }
    }

    /// Returns the loss at the goal's quantile of the time at a load, for the conditional throughput. The time is the duration
    /// sum, or the time of the full trials if that is longer. All load in time that was not measured counts as lost.
    fn quantile(&self, index: usize, target: &Target) -> f64 {
        let trials = self.seen.get(&index).into_iter().flatten();
        let full = trials.filter(|(share, _)| *share >= target.share * (1.0 - 1e-9)).copied().collect();
        pessimistic_loss(full, &target.goal)
    }
}

/// Returns the loss ratio for the conditional throughput (`pessimistic_loss_ratio` of the authors' package MLRsearch 1.2.1): the
/// quantile of (time, loss) that corresponds to the exceed ratio; of two values that meet there, the lower one.
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

fn stride(target: &Target, last: Option<usize>) -> usize {
    last.map_or(target.width, |last| last.saturating_mul(EXPANSION)).max(target.width)
}

/// Returns the targets of a goal. Durations, sums and widths change in equal ratios from the coarsest target to the
/// goal itself.
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

/// Returns the loads from `max` down to `min`. Each load is smaller by `precision` than the load before it.
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
