//! One repeat of one point: a single measurement, or a search of many trials.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::Point;
use crate::record::{Recorder, Recording};
use crate::rig::{Better, Outcome, Rig, RigDescription, RigError, Run, Stop, UNSENT_AT_MOST};
use crate::scenario::search::{Find, metric};
use crate::scenario::{Axis, Load, Scenario, Search};
use crate::schema::Key;
use crate::search::{RateFound, RateSearch, Trial, TrialOutcome, TuneSearch};
use crate::trials::{self, SearchTrial};
use crate::value::{Value, short};

use super::{Window, seed_of};

/// Number of retries of a trial that failed because of an error of this tool.
const INVALID_RETRIES: u32 = 2;

mod after;
mod mlr;
mod plr;

type Measured = (Outcome, String, Recording);

pub(super) fn measure(
    rig: &mut dyn Rig,
    scenario: &Scenario,
    point: &Point,
    repeat: u32,
    stop: &Stop,
    on_window: &dyn Fn(Window),
) -> Result<Measured, RigError> {
    let measure = &scenario.measure;
    let (warm_up, duration) = measure.windows();
    let run = Run {
        point,
        repeat,
        seed: seed_of(measure.seed, if measure.paired { 0 } else { point.index }, repeat),
        warm_up,
        duration,
        stop: stop.clone(),
        overrides: BTreeMap::new(),
    };
    let mut trials = Trials { rig, run, on_window };
    match &scenario.search {
        None => {
            trials.rig.prepare(&trials.run)?;
            trials.rig.warm_up(&trials.run)?;
            // A smoke run never counts, so it may be retried after a short stall of the machine.
            let tries = if scenario.quick { INVALID_RETRIES } else { 0 };
            let seen = trials.tried(BTreeMap::new(), 1.0, tries)?;
            Ok((seen.outcome, seen.reason, seen.recording))
        }
        Some(Search::Tune { metric, knobs, trials: budget }) => trials.tune(metric, knobs, *budget),
        Some(
            search @ (Search::Rate { load, trials: budget, .. } | Search::Knee { load, trials: budget, .. }),
        ) => {
            let found = trials.rate(search, load, *budget)?;
            trials.after(load, found)
        }
        Some(search @ Search::Mlr { load, .. }) => {
            let found = trials.mlr(search, load)?;
            trials.after(load, found)
        }
        Some(search @ Search::Plr { load, .. }) => {
            let found = trials.plr(search, load)?;
            trials.after(load, found)
        }
    }
}

/// Returns the loss of a trial: 1 if none was measured. The loss of a failed trial is always above 0.
fn loss(trial: &SearchTrial) -> f64 {
    let seen = if trial.value.is_nan() { 1.0 } else { trial.value };
    if trial.gave == TrialOutcome::Fail { seen.max(f64::MIN_POSITIVE) } else { seen }
}

/// Returns the reason why an outcome is not `ok`: the broken limit that the rig found, or a general phrase.
fn reason_of(outcome: Outcome, recording: &Recording) -> String {
    if outcome != Outcome::Ok && !recording.reason.is_empty() {
        return recording.reason.clone();
    }
    match outcome {
        Outcome::Ok => "",
        Outcome::Degraded => "the system did less than was asked",
        Outcome::MissesBudget => "a measured time exceeds its budget",
        Outcome::Overloaded => "the system could not follow the load",
        Outcome::SutFailed => "the system under test failed",
        Outcome::Timeout => "the repeat did not end within its time limit",
        Outcome::Invalid => {
            "the measurement cannot be trusted: CPU time was stolen, the machine was under pressure, or the \
             load generator was late"
        }
        Outcome::Unmeasurable => "the environment lacks something",
    }
    .to_owned()
}

struct Trials<'a, 'p> {
    rig: &'a mut dyn Rig,
    run: Run<'p>,
    /// Callback for each window.
    on_window: &'a dyn Fn(Window),
}

/// Result of one trial.
struct TrialSample {
    outcome: Outcome,
    reason: String,
    recording: Recording,
    /// Whether less load was sent than requested, so that the system was not tested.
    unsent: bool,
}

impl Trials<'_, '_> {
    fn one(&mut self, overrides: BTreeMap<String, Value>, share: f64) -> Result<TrialSample, RigError> {
        let run = Run { duration: self.run.duration.mul_f64(share), overrides, ..self.run.clone() };
        let mut recorder = Recorder::default();
        let outcome = self.rig.measure(&run, &mut recorder)?;
        let recording = recorder.finish();
        let reason = reason_of(outcome, &recording);
        (self.on_window)(Window {
            settings: run.overrides,
            share,
            outcome,
            metrics: recording.metrics.clone(),
        });
        let missing = missing_load(&self.rig.describe(), &recording);
        Ok(match missing.filter(|_| outcome.counts() || outcome == Outcome::Invalid) {
            Some(reason) => TrialSample { outcome: Outcome::Invalid, reason, recording, unsent: true },
            None => TrialSample { outcome, reason, recording, unsent: false },
        })
    }

    /// Runs one trial. An error of this tool causes up to `retries` retries and does not count against the system.
    fn tried(
        &mut self,
        overrides: BTreeMap<String, Value>,
        share: f64,
        retries: u32,
    ) -> Result<TrialSample, RigError> {
        for _ in 0..retries {
            let seen = self.one(overrides.clone(), share)?;
            if seen.outcome != Outcome::Invalid {
                return Ok(seen);
            }
        }
        self.one(overrides, share)
    }

    /// Starts all components, with the largest load of the search. Returns whether loads are integers.
    fn start(&mut self, load: &Load) -> Result<bool, RigError> {
        let Load { axis, max, .. } = load;
        let whole = self.whole(load);
        self.run.overrides = offered(axis, *max, whole);
        self.rig.prepare(&self.run)?;
        self.rig.warm_up(&self.run)?;
        Ok(whole)
    }

    /// Whether the load is an integer.
    fn whole(&self, load: &Load) -> bool {
        let axis = &load.axis;
        let kind = |key: &Key| key.path == *axis && key.kind.accept(&Value::Int(1)) == Ok(Value::Int(1));
        matches!(self.run.point.settings.get(axis), Some(Value::Int(_)))
            || self.rig.describe().keys.iter().any(kind)
    }

    /// Runs a trial of a search over load, and returns the objective's value. The inner error is the final outcome of
    /// the repeat, if the search cannot continue.
    fn at(
        &mut self,
        search: &Search,
        axis: &str,
        whole: bool,
        trial: Trial,
        tried: &mut Vec<SearchTrial>,
    ) -> Result<Result<(TrialSample, SearchTrial), Measured>, RigError> {
        if self.run.stop.now() {
            return Err(RigError::Stopped);
        }
        let Trial { load, duration_share: share } = trial;
        let mut seen = self.tried(offered(axis, load, whole), share, INVALID_RETRIES)?;
        // A search for the largest load can continue below a load that was not sent. A search for the smallest value
        // cannot.
        let unsent = seen.unsent && search.load().is_some_and(|load| load.find == Find::Largest);
        if !seen.outcome.counts() && !unsent {
            let reason = format!("at {axis} = {load}: {}", seen.reason);
            trials::keep(&mut seen.recording, tried);
            return Ok(Err((seen.outcome, reason, seen.recording)));
        }
        let (value, gave) = match passes(search, seen.outcome, &seen.recording) {
            found if seen.unsent => (found.map_or(0.0, |(value, _)| value), TrialOutcome::Unsent),
            found => found
                .map(|(value, pass)| (value, if pass { TrialOutcome::Pass } else { TrialOutcome::Fail }))?,
        };
        let this = SearchTrial { load, value, share, gave };
        tried.push(this);
        Ok(Ok((seen, this)))
    }

    fn rate(&mut self, search: &Search, load: &Load, trials: u32) -> Result<Measured, RigError> {
        let whole = self.start(load)?;
        let Load { axis, min, max, precision, find, .. } = load;
        let machine = RateSearch::new(*min, *max, *precision, trials);
        let machine = if whole { machine.whole() } else { machine };
        let mut machine = if *find == Find::Smallest { machine.smallest() } else { machine };
        let mut sent = Sent::default();
        let mut best: Option<Measured> = None;
        let mut unsent = String::new();
        let mut tried = Vec::new();
        while let Some(trial) = machine.next_trial() {
            let (seen, this) = match self.at(search, axis, whole, trial, &mut tried)? {
                Ok(seen) => seen,
                Err(ended) => return Ok(ended),
            };
            match this.gave {
                TrialOutcome::Unsent => unsent = seen.reason,
                TrialOutcome::Fail if this.full() => {
                    sent.keep(&self.rig.describe(), this.load, &seen.recording)
                }
                TrialOutcome::Pass if this.full() => {
                    sent.keep(&self.rig.describe(), this.load, &seen.recording);
                    best = Some(passed(search, seen));
                }
                _ => {}
            }
            machine.report(this.gave);
        }
        let found = machine.found();
        let Some(((outcome, why, mut recording), lower)) = best.zip(found.lower) else {
            return Ok(unfound(search, &found, &unsent, &tried));
        };
        let far = metric(0, find.far_end());
        let metrics = &mut recording.metrics;
        metrics.insert("search.load".to_owned(), sent.load_sent(axis, &self.rig.describe(), lower));
        metrics.insert("search.trials".to_owned(), f64::from(found.trials));
        metrics.extend(found.upper.map(|load| (far, sent.load_sent(axis, &self.rig.describe(), load))));
        metrics.extend(found.unsent.map(|load| ("search.unsent".to_owned(), load)));
        if found.upper.is_none() {
            recording.bounds.insert("search.load".to_owned(), find.open_bound());
        }
        trials::keep(&mut recording, &tried);
        let end = if *find == Find::Smallest { *min } else { *max };
        let reason = open(&found, end, *find, &unsent, &format!("{trials} trials")).unwrap_or(why);
        Ok((outcome, reason, recording))
    }

    fn tune(&mut self, metric: &str, knobs: &[Axis], budget: u32) -> Result<Measured, RigError> {
        let lower_is_better =
            self.rig.describe().metric(metric).is_some_and(|metric| metric.better == Better::Lower);
        let sizes = knobs.iter().map(|knob| knob.values.len()).collect();
        let mut machine = TuneSearch::new(sizes, budget, self.run.seed);
        let mut best: Option<(f64, Outcome, Recording)> = None;
        let mut series = Vec::new();
        while let Some(choice) = machine.next_trial() {
            if self.run.stop.now() {
                return Err(RigError::Stopped);
            }
            let overrides = knobs_at(knobs, &choice);
            let TrialSample { outcome, recording, .. } = self.afresh(overrides)?;
            let value = recording.metrics.get(metric).copied().filter(|_| outcome.counts());
            let score = value.map(|value| if lower_is_better { -value } else { value });
            if let Some(score) = score {
                series.push((Duration::from_secs(series.len() as u64), score.abs()));
                if best.as_ref().is_none_or(|(best, ..)| score > *best) {
                    best = Some((score, outcome, recording));
                }
            }
            machine.report(score);
        }
        let confirmed = match &best {
            Some(_) => self.confirm(&machine, knobs, metric)?,
            None => None,
        };
        let Some((score, outcome, mut recording)) = confirmed else {
            return Ok((
                Outcome::SutFailed,
                "no setting of the knobs could be measured".to_owned(),
                Recording::default(),
            ));
        };
        let choice = machine.best().map(|(choice, _)| choice.to_vec()).unwrap_or_default();
        let words: Vec<String> = knobs
            .iter()
            .zip(&choice)
            .map(|(knob, &value)| format!("{} = {}", knob.path, knob.values[value]))
            .collect();
        recording.metrics.insert("search.best".to_owned(), score);
        recording.metrics.insert("search.trials".to_owned(), f64::from(machine.trials()));
        recording.series.insert("search.tried".to_owned(), series);
        Ok((outcome, format!("best of {} trials: {}", machine.trials(), words.join(", ")), recording))
    }

    /// Runs a trial with restarted components, because knobs may take effect at the start only.
    fn afresh(&mut self, overrides: BTreeMap<String, Value>) -> Result<TrialSample, RigError> {
        self.rig.tear_down();
        self.run.overrides = overrides.clone();
        self.rig.prepare(&self.run)?;
        self.rig.warm_up(&self.run)?;
        self.tried(overrides, 1.0, INVALID_RETRIES)
    }

    /// Measures the best setting once more. The best result of many noisy trials overestimates the chosen setting
    /// (winner's curse). The result of one more trial at this setting does not, because nothing is selected by it.
    fn confirm(
        &mut self,
        machine: &TuneSearch,
        knobs: &[Axis],
        metric: &str,
    ) -> Result<Option<(f64, Outcome, Recording)>, RigError> {
        let Some((choice, _)) = machine.best() else { return Ok(None) };
        let overrides = knobs_at(knobs, choice);
        self.run.seed = seed_of(self.run.seed, usize::MAX, machine.trials());
        let seen = self.afresh(overrides)?;
        let value = seen.recording.metrics.get(metric).copied().filter(|_| seen.outcome.counts());
        Ok(value.map(|value| (value, seen.outcome, seen.recording)))
    }
}

/// Returns each knob with its chosen value.
fn knobs_at(knobs: &[Axis], choice: &[usize]) -> BTreeMap<String, Value> {
    let chosen = knobs.iter().zip(choice);
    chosen.map(|(knob, &value)| (knob.path.clone(), knob.values[value].clone())).collect()
}

/// Returns the load as settings of the rig.
fn offered(axis: &str, load: f64, whole: bool) -> BTreeMap<String, Value> {
    let load = if whole { Value::Int(load.round() as i64) } else { Value::Float(load) };
    BTreeMap::from([(axis.to_owned(), load)])
}

/// Returns the result of a full trial that met the objective. Effects that the objective allows do not count against
/// the system.
fn passed(search: &Search, seen: TrialSample) -> Measured {
    let goals = search.goals();
    let allowed = |metric: &String| goals.iter().any(|(goal, _)| goal == metric);
    let breached = &seen.recording.breached;
    let partly = matches!(seen.outcome, Outcome::Degraded | Outcome::MissesBudget);
    if partly && !breached.is_empty() && breached.iter().all(allowed) {
        return (Outcome::Ok, String::new(), seen.recording);
    }
    (seen.outcome, seen.reason, seen.recording)
}

/// Load of each full trial, with the share of it that was sent. The number of entries is limited by the trials of one
/// search.
#[derive(Default)]
struct Sent(Vec<(f64, f64)>);

impl Sent {
    fn keep(&mut self, rig: &RigDescription, load: f64, recording: &Recording) {
        let unsent = unsent_share(rig, recording).map_or(0.0, |(_, share)| share);
        self.0.push((load, 1.0 - unsent.clamp(0.0, 1.0)));
    }

    /// Returns the load that was sent in the last trial at this load. Only a load in requests or packets per second
    /// can be sent in part.
    fn load_sent(&self, axis: &str, rig: &RigDescription, load: f64) -> f64 {
        let rate = rig.keys.iter().any(|key| key.path == axis && key.unit.ends_with("/s"));
        let share = self.0.iter().rev().find(|(own, _)| *own == load).map_or(1.0, |(_, share)| *share);
        if rate { load * share } else { load }
    }
}

/// Returns the reason why a found load is only a bound; `None` if it is exact. `end` is the last load of the range.
/// `budget` names the search's limit on trials or time.
fn open(found: &RateFound, end: f64, find: Find, unsent: &str, budget: &str) -> Option<String> {
    match (found.upper, found.unsent, found.precise) {
        (_, Some(load), _) => Some(format!(
            "the true value is {} or above: the load generator, not the system, gave up at {load} ({unsent})",
            found.lower?
        )),
        (None, _, true) if find == Find::Smallest => {
            Some(format!("the smallest value, {}, passed: the true value is at most that", short(end)))
        }
        (None, _, true) => Some(format!("the largest load, {}, passed: the true value is above", short(end))),
        (.., false) => Some(format!("{budget} did not reach the requested precision")),
        _ => None,
    }
}

/// Returns the reason why a repeat is invalid if its load was not sent.
fn missing_load(rig: &RigDescription, recording: &Recording) -> Option<String> {
    let (name, share) = unsent_share(rig, recording).filter(|(_, share)| *share > UNSENT_AT_MOST)?;
    let percent = |share: f64| short(share * 100.0);
    Some(format!(
        "{} % of the load was not sent (`{name}`; at most {} % may be missing)",
        percent(share),
        percent(UNSENT_AT_MOST)
    ))
}

/// Returns the largest unsent share of the load, with its metric.
fn unsent_share<'a>(rig: &'a RigDescription, recording: &Recording) -> Option<(&'a str, f64)> {
    let shares = rig.metrics.iter().filter(|metric| metric.unsent_share);
    let shares =
        shares.filter_map(|metric| Some((metric.name.as_str(), *recording.metrics.get(&metric.name)?)));
    shares.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns the data of a search without a result: its trials, and the last load that was too high.
fn unfound(search: &Search, found: &RateFound, unsent: &str, tried: &[SearchTrial]) -> Measured {
    let mut recording = Recording::default();
    trials::keep(&mut recording, tried);
    if let Some(load) = found.unsent {
        let reason = format!("at load {}: {unsent}; no smaller load passed a full trial", short(load));
        return (Outcome::Invalid, reason, recording);
    }
    let down = search.load().is_some_and(|load| load.find == Find::Smallest);
    let upper = found.upper.map_or(String::new(), |upper| {
        format!(" {} {}", if down { "down from" } else { "up from" }, short(upper))
    });
    let last = search
        .goals()
        .first()
        .copied()
        .zip(tried.last())
        .filter(|(_, trial)| trial.gave == TrialOutcome::Fail);
    let why = last.map_or_else(String::new, |((metric, at_most), trial)| {
        let load = short(trial.load);
        let value = short(trial.value);
        if trial.value.is_nan() {
            return format!(": at {load} the system is overloaded");
        }
        format!(": at {load} {metric} is {value}, more than {}", short(at_most))
    });
    (Outcome::Overloaded, format!("no load{upper} passed a full trial{why}"), recording)
}

/// Returns the value of the objective's metric, and whether the objective was met. An overloaded system never meets it,
/// whatever the value. If the metric was not measured, the value is NaN.
fn passes(search: &Search, outcome: Outcome, recording: &Recording) -> Result<(f64, bool), RigError> {
    let Some((metric, at_most)) = search.goals().first().copied() else { return Ok((0.0, true)) };
    let overloaded = outcome == Outcome::Overloaded;
    match recording.metrics.get(metric) {
        Some(value) => Ok((*value, *value <= at_most && !overloaded)),
        None if overloaded => Ok((f64::NAN, false)),
        None => Err(RigError::Rig(format!("the rig recorded no `{metric}`, which the search needs"))),
    }
}
