//! Search algorithms within a point. A search requests trials and receives their results; other code runs the trials.

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub mod mlr;
pub mod plr;

/// A trial that a search requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Load to offer.
    pub load: f64,
    /// Duration of the trial, as a share of the full duration. Early trials are short; bounds need full trials.
    pub duration_share: f64,
}

/// Result of a trial of a rate search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialOutcome {
    /// The system kept up.
    Pass,
    /// The system did not keep up.
    Fail,
    /// The load was not sent, so the trial neither passed nor failed. The search continues with smaller loads.
    Unsent,
}

/// Result of a rate search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateFound {
    /// The largest load that passed a full trial; `None` if no load passed.
    pub lower: Option<f64>,
    /// The smallest load that failed a full trial. `None` if no load failed, so that the true value is higher.
    pub upper: Option<f64>,
    /// The smallest load that the generator could not send, if the generator, not the system, limits the search.
    pub unsent: Option<f64>,
    /// Whether the requested width was reached within the trials.
    pub precise: bool,
    /// Number of trials.
    pub trials: u32,
}

/// Phases of the search. The first number is the duration of the trials, as a share of the full duration. The second is
/// the width at which the phase ends, as a multiple of the requested width. The first phase has trials of an eighth of
/// the full duration and ends at eight times the requested width.
const PHASES: [(f64, f64); 3] = [(0.125, 8.0), (0.5, 2.0), (1.0, 1.0)];

/// A search for the largest (or smallest) load that passes, by bisection as in MLRsearch. Short trials narrow the
/// interval, and longer ones confirm both of its ends. If a longer trial contradicts an end, this end moves outwards in
/// steps that double.
#[derive(Debug, Clone)]
pub struct RateSearch {
    min: f64,
    max: f64,
    precision: f64,
    /// Smallest meaningful width: 1 if loads are whole numbers.
    grain: f64,
    trials_max: u32,
    trials: u32,
    phase: usize,
    /// 1 for the largest load; -1 for the smallest, with all values negated.
    sign: f64,
    /// Largest load that passed, and the last phase in which it passed.
    passed: Option<(f64, usize)>,
    /// Smallest load that failed, and the last phase in which it failed.
    failed: Option<(f64, usize)>,
    /// Whether the load in `failed` failed only because the generator could not send it.
    unsent: bool,
    /// Width of the last outward step.
    step: f64,
    asked: Option<Trial>,
}

impl RateSearch {
    /// Creates a search between `min` and `max` (above 0), to a width of `precision` relative to the load.
    pub fn new(min: f64, max: f64, precision: f64, trials_max: u32) -> Self {
        let passed = None;
        let failed = None;
        let asked = None;
        let grain = 0.0;
        let trials = 0;
        let phase = 0;
        let step = 0.0;
        let unsent = false;
        let sign = 1.0;
        Self {
            min,
            max,
            precision,
            grain,
            trials_max,
            trials,
            phase,
            sign,
            passed,
            failed,
            unsent,
            step,
            asked,
        }
    }

    /// Searches for the smallest load that passes instead. [`RateFound::lower`] is then the smallest that passed
    /// and [`RateFound::upper`] the largest that failed.
    pub fn smallest(mut self) -> Self {
        self.sign = -self.sign;
        (self.min, self.max) = (-self.max, -self.min);
        self
    }

    /// Restricts the search to integers: half a base station cannot be offered.
    pub fn whole(mut self) -> Self {
        (self.min, self.max, self.grain) = (self.min.ceil(), self.max.floor(), 1.0);
        self
    }

    /// Returns the requested width at a load.
    fn width(&self, load: f64) -> f64 {
        (self.precision * load.abs()).max(self.grain)
    }

    /// Returns the next trial; `None` if the search has ended.
    pub fn next_trial(&mut self) -> Option<Trial> {
        while self.trials < self.trials_max {
            let (share, factor) = PHASES[self.phase];
            if let Some(load) = self.next_load(factor) {
                let load = if self.grain > 0.0 { load.round() } else { load };
                self.asked = Some(Trial { load, duration_share: share });
                return Some(Trial { load: load * self.sign, duration_share: share });
            }
            if self.phase + 1 == PHASES.len() {
                return None;
            }
            self.phase += 1;
            self.step = 0.0;
        }
        None
    }

    /// Records the result of the trial.
    pub fn report(&mut self, gave: TrialOutcome) {
        let Some(Trial { load, .. }) = self.asked.take() else { return };
        self.trials += 1;
        let phase = self.phase;
        if gave == TrialOutcome::Pass {
            self.passed = Some((load, phase));
            // If an earlier trial failed at this load or a smaller one, its verdict no longer counts.
            if self.failed.is_some_and(|(failed, _)| failed <= load) {
                self.failed = None;
            }
        } else {
            (self.failed, self.unsent) = (Some((load, phase)), gave == TrialOutcome::Unsent);
            if self.passed.is_some_and(|(passed, _)| passed >= load) {
                self.passed = None;
            }
        }
    }

    /// Returns the current result.
    pub fn found(&self) -> RateFound {
        let full = PHASES.len() - 1;
        let lower = self.passed.filter(|(_, phase)| *phase == full).map(|(load, _)| load);
        let upper = self.failed.filter(|(_, phase)| *phase == full && !self.unsent).map(|(load, _)| load);
        let unsent = self.failed.filter(|_| self.unsent).map(|(load, _)| load * self.sign);
        let precise = match (lower, upper) {
            (Some(lower), Some(upper)) => upper - lower <= self.width(upper) * (1.0 + 1e-9),
            (Some(lower), None) => lower >= self.max,
            (None, Some(upper)) => upper <= self.min,
            (None, None) => false,
        };
        let signed = |load: Option<f64>| load.map(|load| load * self.sign);
        RateFound { lower: signed(lower), upper: signed(upper), unsent, precise, trials: self.trials }
    }

    /// Returns the next load to try. `factor` is the width of the interval at which the current phase ends, relative to
    /// the final width.
    fn next_load(&mut self, factor: f64) -> Option<f64> {
        match (self.passed, self.failed) {
            // Tries the largest value first. A system that passes there needs only one trial in each phase.
            (None, None) => Some(self.max),
            (Some((passed, phase)), None) if passed >= self.max => (phase < self.phase).then_some(self.max),
            (None, Some((failed, phase))) if failed <= self.min => (phase < self.phase).then_some(self.min),
            (None, Some((failed, _))) => Some(self.outwards(failed, -1.0)),
            (Some((passed, _)), None) => Some(self.outwards(passed, 1.0)),
            (Some((passed, passed_phase)), Some((failed, failed_phase))) => {
                if failed - passed > (self.precision * factor * failed.abs()).max(self.grain) {
                    return Some((passed + failed) / 2.0);
                }
                if passed_phase < self.phase {
                    return Some(passed);
                }
                (failed_phase < self.phase).then_some(failed)
            }
        }
    }

    fn outwards(&mut self, from: f64, sign: f64) -> f64 {
        // The first step goes directly to the far end, because nothing is known about the range between the bounds.
        if self.step == 0.0 && self.phase == 0 {
            self.step = self.max - self.min;
            return if sign < 0.0 { self.min } else { self.max };
        }
        self.step = if self.step == 0.0 { self.width(from) * 2.0 } else { self.step * 2.0 };
        (from + sign * self.step).clamp(self.min, self.max)
    }
}

/// A search for the best setting of a grid of knobs within a budget of trials. It does not know what the knobs mean.
/// The first half of the budget samples at random. The second half changes one knob of the best setting at a time.
#[derive(Debug, Clone)]
pub struct TuneSearch {
    sizes: Vec<usize>,
    trials_max: u32,
    rng: ChaCha8Rng,
    tried: Vec<(Vec<usize>, Option<f64>)>,
    asked: Option<Vec<usize>>,
}

impl TuneSearch {
    /// Creates a search over knobs with these numbers of values. A metric where less is better is reported
    /// negated.
    pub fn new(sizes: Vec<usize>, trials_max: u32, seed: u64) -> Self {
        Self { sizes, trials_max, rng: ChaCha8Rng::seed_from_u64(seed), tried: Vec::new(), asked: None }
    }

    /// Returns the index of each knob's next value; `None` if the budget or the grid is exhausted.
    pub fn next_trial(&mut self) -> Option<Vec<usize>> {
        let grid = self.sizes.iter().fold(1_usize, |grid, size| grid.saturating_mul(*size));
        if self.tried.len() >= self.trials_max as usize || self.tried.len() >= grid || grid == 0 {
            return None;
        }
        let exploring = self.tried.len() * 2 < self.trials_max as usize;
        let choice = if exploring { self.random() } else { self.neighbour().or_else(|| self.random()) };
        let choice = choice.or_else(|| self.first_untried(grid))?;
        self.asked = Some(choice.clone());
        Some(choice)
    }

    /// Records the score of the trial; a larger score is better. `None` if the score could not be measured.
    pub fn report(&mut self, score: Option<f64>) {
        if let Some(asked) = self.asked.take() {
            self.tried.push((asked, score));
        }
    }

    /// Returns the best setting and its score.
    pub fn best(&self) -> Option<(&[usize], f64)> {
        self.tried
            .iter()
            .filter_map(|(choice, score)| Some((choice.as_slice(), (*score)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the number of trials.
    pub fn trials(&self) -> u32 {
        self.tried.len() as u32
    }

    fn untried(&self, choice: &[usize]) -> bool {
        self.tried.iter().all(|(tried, _)| tried != choice)
    }

    fn random(&mut self) -> Option<Vec<usize>> {
        for _ in 0..64 {
            let choice: Vec<usize> = self.sizes.iter().map(|&size| self.rng.random_range(0..size)).collect();
            if self.untried(&choice) {
                return Some(choice);
            }
        }
        None
    }

    fn neighbour(&mut self) -> Option<Vec<usize>> {
        let best = self.best()?.0.to_vec();
        let mut knobs: Vec<usize> = (0..self.sizes.len()).collect();
        knobs.shuffle(&mut self.rng);
        for knob in knobs {
            let untried: Vec<Vec<usize>> = (0..self.sizes[knob])
                .map(|value| {
                    let mut choice = best.clone();
                    choice[knob] = value;
                    choice
                })
                .filter(|choice| self.untried(choice))
                .collect();
            if let Some(choice) = untried.choose(&mut self.rng) {
                return Some(choice.clone());
            }
        }
        None
    }

    /// Returns the first untried setting, for a grid that is nearly exhausted.
    fn first_untried(&self, grid: usize) -> Option<Vec<usize>> {
        (0..grid.min(self.tried.len() + 1)).map(|index| self.nth(index)).find(|choice| self.untried(choice))
    }

    fn nth(&self, mut index: usize) -> Vec<usize> {
        self.sizes
            .iter()
            .map(|&size| {
                let value = index % size;
                index /= size;
                value
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(mut search: RateSearch, mut passes: impl FnMut(Trial) -> bool) -> RateFound {
        while let Some(trial) = search.next_trial() {
            let pass = passes(trial);
            search.report(if pass { TrialOutcome::Pass } else { TrialOutcome::Fail });
        }
        search.found()
    }

    #[test]
    fn unsent_load_is_no_failure_and_search_continues_below() {
        // The system handles loads up to `capacity`. The generator can send up to 300.
        let found = |capacity: f64| {
            let mut search = RateSearch::new(1.0, 1000.0, 0.01, 60);
            while let Some(trial) = search.next_trial() {
                search.report(match trial.load {
                    load if load > 300.0 => TrialOutcome::Unsent,
                    load if load > capacity => TrialOutcome::Fail,
                    _ => TrialOutcome::Pass,
                });
            }
            search.found()
        };
        let above = found(500.0);
        assert!(above.lower.is_some_and(|lower| (290.0..=300.0).contains(&lower)), "{above:?}");
        assert!(above.unsent.is_some_and(|unsent| (300.0..310.0).contains(&unsent)), "{above:?}");
        assert_eq!((above.upper, above.precise), (None, false));
        let below = found(200.0);
        assert_eq!(below.unsent, None);
        assert!(below.precise && below.upper.is_some_and(|upper| upper < 203.0), "{below:?}");
    }

    #[test]
    fn threshold_is_found_to_requested_precision() {
        for threshold in [1.5, 17.0, 423.7, 999.0] {
            let found = search(RateSearch::new(1.0, 1000.0, 0.005, 60), |trial| trial.load <= threshold);
            let lower = found.lower.unwrap();
            let upper = found.upper.unwrap();
            assert!(lower <= threshold && threshold < upper, "{found:?}");
            assert!(upper - lower <= 0.005 * upper, "{found:?}");
            assert!(found.precise && found.trials < 30, "{found:?}");
        }
    }

    #[test]
    fn threshold_outside_range_leaves_one_bound() {
        let above = search(RateSearch::new(1.0, 1000.0, 0.01, 60), |_| true);
        assert_eq!((above.lower, above.upper, above.precise), (Some(1000.0), None, true));
        let below = search(RateSearch::new(1.0, 1000.0, 0.01, 60), |_| false);
        assert_eq!((below.lower, below.upper, below.precise), (None, Some(1.0), true));
    }

    #[test]
    fn smallest_passing_load_is_found_from_above() {
        for threshold in [1.5, 17.0, 423.7, 999.0] {
            let found =
                search(RateSearch::new(1.0, 1000.0, 0.005, 60).smallest(), |trial| trial.load >= threshold);
            let passed = found.lower.unwrap();
            let failed = found.upper.unwrap();
            assert!(failed < threshold && threshold <= passed, "{found:?}");
            assert!(found.precise && passed - failed <= 0.005 * passed, "{found:?}");
        }
        let every = search(RateSearch::new(1.0, 64.0, 0.01, 60).whole().smallest(), |_| true);
        assert_eq!((every.lower, every.upper, every.precise), (Some(1.0), None, true));
        let cores = search(RateSearch::new(1.0, 64.0, 0.01, 60).whole().smallest(), |t| t.load >= 7.0);
        assert_eq!((cores.lower, cores.upper), (Some(7.0), Some(6.0)));
    }

    #[test]
    fn integer_loads_are_tried_once_down_to_neighbours() {
        for threshold in [1.0, 2.0, 13.0, 39.0] {
            let mut tried = Vec::new();
            let found = search(RateSearch::new(0.5, 40.9, 0.001, 60).whole(), |trial| {
                tried.push((trial.load as u64, (trial.duration_share * 8.0) as u64));
                assert_eq!(trial.load, trial.load.round());
                trial.load <= threshold
            });
            assert_eq!((found.lower, found.upper), (Some(threshold), Some(threshold + 1.0)), "{found:?}");
            assert!(found.precise && found.trials < 15, "{found:?}");
            let count = tried.len();
            tried.sort_unstable();
            tried.dedup();
            assert_eq!(tried.len(), count, "no load may be tried twice in one phase");
        }
    }

    #[test]
    fn full_trials_correct_results_of_short_trials() {
        // A buffer hides overload from short trials, which therefore pass at up to twice the true rate.
        let found = search(RateSearch::new(1.0, 1000.0, 0.01, 80), |trial| {
            trial.load <= if trial.duration_share < 1.0 { 800.0 } else { 400.0 }
        });
        let lower = found.lower.unwrap();
        let upper = found.upper.unwrap();
        assert!(lower <= 400.0 && upper > 400.0 && upper - lower <= 0.01 * upper, "{found:?}");
    }

    #[test]
    fn trial_budget_is_respected() {
        let mut seen = 0;
        let found = search(RateSearch::new(1.0, 1000.0, 1e-4, 7), |trial| {
            seen += 1;
            trial.load < 500.0
        });
        assert_eq!((seen, found.trials, found.precise), (7, 7, false));
    }

    #[test]
    fn tuning_finds_optimum_in_half_of_the_grid() {
        let mut hits = 0;
        for seed in 0..50 {
            let mut search = TuneSearch::new(vec![6, 5, 4], 60, seed);
            while let Some(choice) = search.next_trial() {
                let score = 100.0
                    - (choice[0] as f64 - 4.0).powi(2)
                    - (choice[1] as f64 - 1.0).powi(2)
                    - (choice[2] as f64 - 2.0).powi(2);
                search.report(Some(score));
            }
            assert!(search.trials() <= 60);
            hits += u32::from(search.best().unwrap().0 == [4, 1, 2]);
        }
        assert!(hits >= 48, "{hits} of 50 seeds found the optimum");
    }

    #[test]
    fn small_grid_is_exhausted_without_duplicates() {
        let mut search = TuneSearch::new(vec![2, 3], 100, 1);
        let mut seen = Vec::new();
        while let Some(choice) = search.next_trial() {
            assert!(!seen.contains(&choice));
            seen.push(choice);
            search.report(None);
        }
        assert_eq!((seen.len(), search.best().is_none()), (6, true));
    }
}
