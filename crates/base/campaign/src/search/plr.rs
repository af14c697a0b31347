//! PLRsearch (Probabilistic Loss Ratio search, draft-vpolak-bmwg-plrsearch): a soak test that estimates the load with a
//! given mean loss ratio (`target`), such as 1e-7. So small a loss ratio cannot be measured in a single trial: a trial of
//! one second at 1,000,000 packets per second loses 0.1 packets on average.
//!
//! Every load loses some packets. The *critical load* is the load whose mean loss ratio is the target. The search fits
//! two functions of the load ([`Shape`]) to the losses of all trials. Integration over the parameters of a function gives
//! the posterior of the critical load, and thereby an interval with a probability of 99 %. The result extends from the
//! lower of the two lower ends to the higher of the two upper ends. It therefore includes the influence of the choice of
//! function.
//!
//! The next load depends on the estimate so far and on the last trial. After a trial without loss, it is the upper end of
//! the estimate. After a trial with too much loss, it is the lower end. Otherwise, it is the estimated critical load.
//!
//! The draft assumes that trials are independent, and that packets are lost independently. If the capacity of a system
//! varies from second to second, these assumptions are wrong. The interval then misses the critical load in half of all
//! searches. This search therefore also fits a third model, a device with another capacity in each trial. Its use
//! depends on the likelihood of the trials under this model, compared with the better of the two functions:
//! - Less than a twentieth: the third model is ignored.
//! - From a twentieth to twenty times: the result also includes the interval of the third model.
//! - More than twenty times: the interval of the third model is the result, and [`Estimate::wavers`] is set.

mod fit;
mod shape;

pub use fit::Critical;
pub use shape::Shape;

use super::Trial;
use super::mlr::Reply;
use fit::{Device, Evidence, fit};

/// Maximum number of trials of one search, whatever its time budget. Each estimate uses all trials.
pub const TRIALS_MAX: u32 = 1_000;
/// Number of trials up to which each trial renews the estimate. Later, the estimate is renewed when the number of
/// trials has grown by a quarter.
const EACH: usize = 6;
/// Logarithm of the likelihood ratio (20) below which the choice between two models is in doubt.
const DOUBT: f64 = 3.0;
/// Factor by which the critical load may lie beyond the tried loads.
const BEYOND: f64 = 2.0;

/// Estimate of the critical load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean of the critical loads of both functions.
    pub load: f64,
    /// Lower end of the result: the lower of the lower ends of both functions' intervals.
    pub low: f64,
    /// Upper end of the result: the higher of the upper ends of both functions' intervals.
    pub high: f64,
    /// Result of each function, in the order of [`Shape::ALL`].
    pub by: [Critical; 2],
    /// Result of the model in which the capacity differs in each trial. `None` unless this model is more than twenty
    /// times as likely as the two functions.
    pub wavers: Option<Critical>,
}

/// A search that requests trials and receives their loss.
#[derive(Debug, Clone)]
pub struct PlrSearch {
    range: (f64, f64),
    whole: bool,
    target: f64,
    /// Remaining budget, in full trials.
    budget: u32,
    /// Seconds of a trial.
    seconds: f64,
    evidence: Vec<Evidence>,
    trials: u32,
    unsent: Option<f64>,
    estimate: Option<Estimate>,
    /// Number of trials in the estimate.
    known: usize,
    asked: Option<f64>,
}

impl PlrSearch {
    /// Creates a search.
    ///
    /// - `range`: the smallest and the largest load, both above 0, in packets per second.
    /// - `whole`: tries only integer loads.
    /// - `target`: mean loss ratio of the load to find (above 0, below 1).
    /// - `budget`: maximum number of trials; at most [`TRIALS_MAX`] are run.
    /// - `seconds`: duration of each trial.
    pub fn new(range: (f64, f64), whole: bool, target: f64, budget: u32, seconds: f64) -> Self {
        let (min, max) = range;
        let range = if whole { (min.ceil(), max.floor()) } else { range };
        Self {
            range,
            whole,
            target: target.clamp(1e-12, 0.5),
            budget: budget.min(TRIALS_MAX),
            seconds: seconds.max(1e-9),
            evidence: Vec::new(),
            trials: 0,
            unsent: None,
            estimate: None,
            known: 0,
            asked: None,
        }
    }

    /// Returns the next trial. Returns `None` if the budget is used up, or even the smallest load cannot be sent.
    pub fn next_trial(&mut self) -> Option<Trial> {
        let min = self.range.0;
        let max = self.top();
        if self.trials >= self.budget || min > max || self.unsent.is_some_and(|unsent| unsent <= min) {
            return None;
        }
        let estimate = self.current();
        let load = match (self.evidence.last(), estimate) {
            (Some(last), Some(estimate)) => {
                let ratio = last.lost / last.packets.max(1.0);
                match (last.lost > 0.0, ratio > self.target) {
                    (false, _) => estimate.high.min(estimate.load * BEYOND),
                    (true, true) => estimate.low.max(estimate.load / BEYOND),
                    (true, false) => estimate.load,
                }
            }
            _ => max,
        };
        let load = if self.whole { load.round() } else { load }.clamp(min, max);
        self.asked = Some(load);
        Some(Trial { load, duration_share: 1.0 })
    }

    /// Records the result of the trial: the share of its packets that was lost.
    pub fn report(&mut self, reply: Reply) {
        let Some(load) = self.asked.take() else { return };
        self.trials += 1;
        match reply {
            Reply::Loss(ratio) => {
                let packets = (load * self.seconds).max(1.0);
                let lost = (ratio.clamp(0.0, 1.0) * packets).round();
                self.evidence.push(Evidence::new(load, packets, lost));
            }
            Reply::Unsent => {
                self.unsent = Some(self.unsent.map_or(load, |unsent| unsent.min(load)));
            }
        }
    }

    /// Returns the largest load to request. If the generator could not send some load, this is the geometric mean of that
    /// load and the largest load that it could send. If these two differ by less than 1 %, it is the latter.
    fn top(&self) -> f64 {
        let Some(unsent) = self.unsent else { return self.range.1 };
        let sent = self.evidence.iter().map(|trial| trial.load).filter(|load| *load < unsent);
        let sent = sent.fold(self.range.0, f64::max);
        let between = (sent * unsent).sqrt();
        let between = if self.whole { between.floor().max(sent) } else { between };
        if unsent <= sent * 1.01 { sent } else { between }
    }

    /// Returns the number of trials.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// Returns the smallest load that the generator could not send, if there was one.
    pub fn unsent(&self) -> Option<f64> {
        self.unsent
    }

    /// Returns the estimate from all trials; `None` without trials.
    pub fn found(&mut self) -> Option<Estimate> {
        self.known = 0;
        self.current()
    }

    /// Returns whether the interval is open above, and whether it is open below. It is open if it extends beyond the
    /// tried loads.
    pub fn open(&self, estimate: &Estimate) -> (bool, bool) {
        let tried = |of: fn(f64, f64) -> f64| self.evidence.iter().map(|trial| trial.load).reduce(of);
        let beyond =
            |limit: Option<f64>, than: fn(f64, f64) -> bool, end| limit.is_some_and(|limit| than(end, limit));
        (
            beyond(tried(f64::max), |a, b| a > b, estimate.high) && estimate.load >= self.range.1,
            beyond(tried(f64::min), |a, b| a < b, estimate.low) && estimate.load <= self.range.0,
        )
    }

    fn current(&mut self) -> Option<Estimate> {
        let trials = self.evidence.len();
        if trials == 0 {
            return None;
        }
        if self.known == 0 || trials <= EACH || trials >= self.known + self.known.div_ceil(4) {
            let loads = (self.range.0 / BEYOND, self.range.1 * BEYOND);
            let of = |device| fit(device, &self.evidence, self.target, loads);
            let [(a, of_a), (b, of_b)] = Shape::ALL.map(|shape| of(Device::Bursts(shape)));
            let (own, of_own) = of(Device::Wavers);
            let load = (a.load * b.load).sqrt();
            let low = a.low.min(b.low);
            let high = a.high.max(b.high);
            let mut estimate = Estimate { load, low, high, by: [a, b], wavers: None };
            let ahead = of_own - of_a.max(of_b);
            if ahead > -DOUBT {
                (estimate.low, estimate.high) = (low.min(own.low), high.max(own.high));
            }
            if ahead > DOUBT {
                (estimate.load, estimate.wavers) = (own.load, Some(own));
            }
            self.estimate = Some(estimate);
            self.known = trials;
        }
        self.estimate
    }
}

#[cfg(test)]
mod tests;
