//! Runs an MLRsearch with trials of a rig.

use crate::answer::Bound;
use crate::record::Recording;
use crate::rig::{Outcome, RigError};
use crate::scenario::search::metric;
use crate::scenario::{Load, Search};
use crate::search::mlr::{Bounds, Goal, MlrSearch, Reply};
use crate::search::{RateFound, TrialOutcome};
use crate::trials;
use crate::value::format_span;

use super::{Measured, Trials, loss, open, passed, seed_of, unfound};

impl Trials<'_, '_> {
    pub(super) fn mlr(&mut self, search: &Search, load: &Load) -> Result<Measured, RigError> {
        let Search::Mlr { loss_ratios, exceed_ratio, sum, initial, budget, .. } = search else {
            return Err(RigError::Rig("this search has no goals".to_owned()));
        };
        let whole = self.start(load)?;
        let goal = |&loss_ratio| Goal { loss_ratio, exceed_ratio: *exceed_ratio, sum: f64::from(*sum) };
        let goals: Vec<Goal> = loss_ratios.iter().map(goal).collect();
        let full_trials = budget.as_secs_f64() / self.run.duration.as_secs_f64().max(1e-3);
        let mut machine =
            MlrSearch::new((load.min, load.max), load.precision, whole, &goals, *initial, full_trials);
        let seed = self.run.seed;
        // The last full trial at each load; a search tries a few dozen loads.
        let mut last: Vec<(f64, Measured)> = Vec::new();
        let mut unsent = String::new();
        let mut tried = Vec::new();
        while let Some(trial) = machine.next_trial() {
            // With the same seed, a simulated system would lose the same share in all trials at one load.
            self.run.seed = seed_of(seed, tried.len(), 0);
            let (seen, this) = match self.at(search, &load.axis, whole, trial, &mut tried)? {
                Ok(seen) => seen,
                Err(ended) => return Ok(ended),
            };
            if this.gave == TrialOutcome::Unsent {
                unsent = seen.reason;
                machine.report(Reply::Unsent);
                continue;
            }
            if this.full() {
                last.retain(|(load, _)| *load != this.load);
                last.push((this.load, passed(search, seen)));
            }
            machine.report(Reply::Loss(loss(&this)));
        }
        let bounds = machine.found();
        let first = bounds.first().copied().unwrap_or_default();
        let found = |own: Bounds| RateFound {
            lower: own.lower,
            upper: own.upper,
            unsent: machine.unsent(),
            precise: own.precise,
            trials: machine.trials(),
        };
        let within = format!("trials within the budget of {}", format_span(*budget));
        if bounds.iter().all(|own| own.lower.or(own.upper).is_none()) && machine.unsent().is_none() {
            let full = format_span(self.run.duration);
            let reason = format!(
                "{within} gave no verdict on any load: a verdict needs up to {sum} trials of {full}; increase \
                 `search.budget`"
            );
            let (_, _, recording) = unfound(search, &found(first), &unsent, &tried);
            return Ok((Outcome::Invalid, reason, recording));
        }
        // A search of several goals has several results. The recorded data of the system is from the last full trial at
        // the lower bound of the first goal that has a lower bound.
        let answer = bounds.iter().find_map(|own| own.lower);
        let shown = last.into_iter().find(|(load, _)| Some(*load) == answer);
        let Some((_, (outcome, why, mut recording))) = shown else {
            return Ok(unfound(search, &found(first), &unsent, &tried));
        };
        put(&mut recording, &bounds, &machine);
        trials::keep(&mut recording, &tried);
        let reason = bounds.iter().zip(loss_ratios).find_map(|(own, ratio)| {
            if own.lower.is_none() {
                return Some(format!("at no load is loss_ratio ≤ {ratio}"));
            }
            open(&found(*own), load.max, load.find, &unsent, &within)
                .map(|why| format!("loss_ratio ≤ {ratio}: {why}"))
        });
        Ok((outcome, reason.unwrap_or(why), recording))
    }
}

/// Records the bounds of each goal, the smallest load that could not be sent, and the number of trials.
fn put(recording: &mut Recording, bounds: &[Bounds], machine: &MlrSearch) {
    let metrics = &mut recording.metrics;
    for (goal, own) in bounds.iter().enumerate() {
        for (what, value) in [("load", own.lower), ("upper", own.upper), ("throughput", own.throughput)] {
            metrics.extend(value.map(|value| (metric(goal, what), value)));
        }
        if own.lower.is_some() && own.upper.is_none() {
            recording.bounds.extend(["load", "throughput"].map(|what| (metric(goal, what), Bound::AtLeast)));
        }
    }
    metrics.extend(machine.unsent().map(|load| ("search.unsent".to_owned(), load)));
    metrics.insert("search.trials".to_owned(), f64::from(machine.trials()));
}
