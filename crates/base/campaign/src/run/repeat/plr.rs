//! Runs a PLRsearch with trials of a rig.

use crate::answer::Bound;
use crate::rig::{Outcome, RigError};
use crate::scenario::{Load, Search};
use crate::search::mlr::Reply;
use crate::search::plr::{Estimate, PlrSearch, Shape};
use crate::search::{RateFound, TrialOutcome};
use crate::trials;
use crate::value::{format_span, short};

use super::{Measured, Trials, loss, seed_of, unfound};

impl Trials<'_, '_> {
    pub(super) fn plr(&mut self, search: &Search, load: &Load) -> Result<Measured, RigError> {
        let Search::Plr { target, budget, .. } = search else {
            return Err(RigError::Rig("this search has no critical load".to_owned()));
        };
        let whole = self.start(load)?;
        let seconds = self.run.duration.as_secs_f64().max(1e-3);
        let trials = (budget.as_secs_f64() / seconds * (1.0 + 1e-9)) as u32;
        let mut machine = PlrSearch::new((load.min, load.max), whole, *target, trials.max(1), seconds);
        let seed = self.run.seed;
        let mut unsent = String::new();
        let mut tried = Vec::new();
        let mut last = None;
        while let Some(trial) = machine.next_trial() {
            // Each trial has a separate seed, so that trials at one load vary like repeats. Otherwise a simulated
            // system would lose the same share each time.
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
            last = Some(seen.recording);
            machine.report(Reply::Loss(loss(&this)));
        }
        let trials = machine.trials();
        let beyond = machine.unsent();
        let Some((mut recording, own)) = last.zip(machine.found()) else {
            let found = RateFound { lower: None, upper: None, unsent: beyond, precise: false, trials };
            return Ok(unfound(search, &found, &unsent, &tried));
        };
        let metrics = &mut recording.metrics;
        let by = Shape::ALL.into_iter().zip(own.by);
        metrics.extend(by.map(|(shape, by)| (format!("search.critical_{}", shape.name()), by.load)));
        for (name, value) in [
            ("search.load", own.load),
            ("search.critical_low", own.low),
            ("search.critical_high", own.high),
            ("search.whole_trials", f64::from(u8::from(own.wavers.is_some()))),
            ("search.trials", f64::from(trials)),
        ] {
            metrics.insert(name.to_owned(), value);
        }
        metrics.extend(beyond.map(|load| ("search.unsent".to_owned(), load)));
        let open = match machine.open(&own) {
            (above, _) if above || beyond.is_some() => Some(Bound::AtLeast),
            (_, below) => below.then_some(Bound::AtMost),
        };
        recording.bounds.extend(open.map(|bound| ("search.load".to_owned(), bound)));
        trials::keep(&mut recording, &tried);
        // The outcome is `ok` even if the last trial lost packets, because a soak looks for losses.
        Ok((
            Outcome::Ok,
            describe_result(&machine, &own, *target, load.max, &unsent, trials, *budget),
            recording,
        ))
    }
}

/// Describes the result in a sentence, with its open ends.
fn describe_result(
    machine: &PlrSearch,
    own: &Estimate,
    target: f64,
    max: f64,
    unsent: &str,
    trials: u32,
    budget: std::time::Duration,
) -> String {
    let load = short(own.load);
    let low = short(own.low);
    let high = short(own.high);
    let mut text = format!(
        "a share of {} is lost on average at {load} (between {low} and {high}), estimated from {trials} trials in {}",
        short(target),
        format_span(budget)
    );
    if own.wavers.is_some() {
        text.push_str("; the trials differ more than independent packet losses do, as if the capacity changed from trial to trial");
    }
    let (above, below) = machine.open(own);
    if let Some(load) = machine.unsent() {
        text.push_str(&format!("; the generator could not send loads from {} up ({unsent})", short(load)));
    } else if above {
        text.push_str(&format!(
            "; at the largest load, {}, less than this share is lost: the true value may be above",
            short(max)
        ));
    }
    if below {
        text.push_str("; at the smallest load, more than this share is lost: the true value may be below");
    }
    text
}
