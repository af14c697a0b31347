//! One repeat of one point: a single measurement, or a search of many trials.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::Point;
use crate::record::{Recorder, Recording};
use crate::rig::{Better, Outcome, Rig, RigError, Run, Stop};
use crate::scenario::{Axis, Scenario, Search};
use crate::search::{RateSearch, TuneSearch};
use crate::value::Value;

use super::seed_of;

/// How often a trial is tried again that failed through the tool's own fault.
const INVALID_RETRIES: u32 = 2;

type Measured = (Outcome, String, Recording);

pub(super) fn measure(
    rig: &mut dyn Rig,
    scenario: &Scenario,
    point: &Point,
    repeat: u32,
    stop: &Stop,
) -> Result<Measured, RigError> {
    let measure = &scenario.measure;
    let run = Run {
        point,
        repeat,
        seed: seed_of(measure.seed, point.index, repeat),
        warm_up: measure.warm_up,
        duration: measure.duration,
        stop: stop.clone(),
        overrides: BTreeMap::new(),
    };
    let mut trials = Trials { rig, run, trim: measure.trim };
    match &scenario.search {
        None => {
            trials.rig.prepare(&trials.run)?;
            trials.rig.warm_up(&trials.run)?;
            let (outcome, recording) = trials.one(BTreeMap::new(), 1.0)?;
            Ok((outcome, reason_of(outcome), recording))
        }
        Some(Search::Tune { metric, knobs, trials: budget }) => trials.tune(metric, knobs, *budget),
        Some(search) => trials.rate(search),
    }
}

/// A measured outcome that is not `ok` explains itself in one phrase; rigs say more in their metrics.
fn reason_of(outcome: Outcome) -> String {
    match outcome {
        Outcome::Ok => "",
        Outcome::Degraded => "the system did less than was asked",
        Outcome::Overloaded => "the system could not follow the load",
        Outcome::SutFailed => "the system under test failed",
        Outcome::Timeout => "did not end within its time",
        Outcome::Invalid => "the measurement cannot be trusted (steal, pressure or a late generator)",
        Outcome::Unmeasurable => "the environment lacks something",
    }
    .to_owned()
}

struct Trials<'a, 'p> {
    rig: &'a mut dyn Rig,
    run: Run<'p>,
    trim: Duration,
}

impl Trials<'_, '_> {
    fn one(
        &mut self,
        overrides: BTreeMap<String, Value>,
        share: f64,
    ) -> Result<(Outcome, Recording), RigError> {
        let run = Run { duration: self.run.duration.mul_f64(share), overrides, ..self.run.clone() };
        let mut recorder = Recorder::new(run.duration, self.trim.mul_f64(share));
        let outcome = self.rig.measure(&run, &mut recorder)?;
        Ok((outcome, recorder.finish()))
    }

    /// One trial of a search; what the tool got wrong is tried again and never held against the system.
    fn trial(
        &mut self,
        overrides: BTreeMap<String, Value>,
        share: f64,
    ) -> Result<(Outcome, Recording), RigError> {
        for _ in 0..INVALID_RETRIES {
            let measured = self.one(overrides.clone(), share)?;
            if measured.0 != Outcome::Invalid {
                return Ok(measured);
            }
        }
        self.one(overrides, share)
    }

    fn rate(&mut self, search: &Search) -> Result<Measured, RigError> {
        let (Search::Rate { axis, min, max, precision, trials, .. }
        | Search::Knee { axis, min, max, precision, trials, .. }) = search
        else {
            return Err(RigError::Rig("this search has no load axis".to_owned()));
        };
        let whole = matches!(self.run.point.settings.get(axis), Some(Value::Int(_)))
            || self
                .rig
                .describe()
                .keys
                .iter()
                .any(|key| key.path == *axis && key.kind.accept(&Value::Int(1)) == Ok(Value::Int(1)));
        let as_value = |load: f64| if whole { Value::Int(load.round() as i64) } else { Value::Float(load) };
        self.run.overrides = BTreeMap::from([(axis.clone(), as_value(*max))]);
        self.rig.prepare(&self.run)?;
        self.rig.warm_up(&self.run)?;
        let machine = RateSearch::new(*min, *max, *precision, *trials);
        let mut machine = if whole { machine.whole() } else { machine };
        let mut best: Option<(f64, Outcome, Recording)> = None;
        let mut series = Vec::new();
        while let Some(trial) = machine.next_trial() {
            if self.run.stop.now() {
                return Err(RigError::Stopped);
            }
            let overrides = BTreeMap::from([(axis.clone(), as_value(trial.load))]);
            let (outcome, recording) = self.trial(overrides, trial.duration_share)?;
            if !outcome.counts() {
                let reason = format!("at {axis} = {}: {}", trial.load, reason_of(outcome));
                return Ok((outcome, reason, recording));
            }
            let pass = passes(search, &recording)?;
            // Trials have no common clock: the series counts them in seconds.
            series.push((Duration::from_secs(series.len() as u64), trial.load));
            if pass && trial.duration_share >= 1.0 {
                best = Some((trial.load, outcome, recording));
            }
            machine.report(pass);
        }
        let found = machine.found();
        let Some(((_, outcome, mut recording), lower)) = best.zip(found.lower) else {
            let upper = found.upper.map_or(String::new(), |upper| format!(" up from {upper}"));
            return Ok((
                Outcome::Overloaded,
                format!("no load{upper} passed a full trial"),
                Recording::default(),
            ));
        };
        let metrics = &mut recording.metrics;
        metrics.insert("search.load".to_owned(), lower);
        metrics.insert("search.trials".to_owned(), f64::from(found.trials));
        if let Some(upper) = found.upper {
            metrics.insert("search.upper".to_owned(), upper);
        }
        recording.series.insert("search.tried".to_owned(), series);
        let reason = match (found.upper, found.precise) {
            (None, _) => format!("the largest load, {max}, passed: the true value is above"),
            (_, false) => format!("{trials} trials did not reach the precision"),
            _ => reason_of(outcome),
        };
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
            let overrides: BTreeMap<String, Value> = knobs
                .iter()
                .zip(&choice)
                .map(|(knob, &value)| (knob.path.clone(), knob.values[value].clone()))
                .collect();
            // Knobs may take effect at start only, so each trial starts afresh.
            self.rig.tear_down();
            self.run.overrides = overrides.clone();
            self.rig.prepare(&self.run)?;
            self.rig.warm_up(&self.run)?;
            let (outcome, recording) = self.trial(overrides, 1.0)?;
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
        let Some((score, outcome, mut recording)) = best else {
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
        recording.metrics.insert("search.best".to_owned(), score.abs());
        recording.metrics.insert("search.trials".to_owned(), f64::from(machine.trials()));
        recording.series.insert("search.tried".to_owned(), series);
        Ok((outcome, format!("best of {} trials: {}", machine.trials(), words.join(", ")), recording))
    }
}

fn passes(search: &Search, recording: &Recording) -> Result<bool, RigError> {
    let (metric, at_most) = match search {
        Search::Rate { loss_ratio, .. } => ("loss_ratio", *loss_ratio),
        Search::Knee { metric, at_most, .. } => (metric.as_str(), *at_most),
        Search::Tune { .. } => return Ok(true),
    };
    match recording.metrics.get(metric) {
        Some(value) => Ok(*value <= at_most),
        None => Err(RigError::Rig(format!("the rig recorded no `{metric}`, which the search needs"))),
    }
}
