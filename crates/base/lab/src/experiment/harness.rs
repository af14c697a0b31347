//! Common procedure of all experiments with components: start in order, warm-up, window on all components,
//! liveness checks, end of the window, judgement of noise, and stop in reverse order.
//!
//! A rig supplies the rest ([`Experiment`]): its keys, the components with their location and configuration,
//! and the interpretation of their reports. [`RunningExperiment`] makes a [`Rig`] from it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{AnyComponent, RigContext};
use ranlab_campaign::plan::Point;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{LimitViolation, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_campaign::value::Value;

use crate::experiment::{keys, noise, readback, third_party};
use stage::{Deployed, divided};

mod stage;
mod window;

pub use stage::{Account, Deployment};
pub use window::{ComponentReport, Window, copy, copy_all, metric_of_places};

/// Key for the location of the load.
const LOAD_AT: &str = "load.at";

/// 99th percentile of the load's send delay, in microseconds; recorded as a scalar or as a distribution.
pub const SEND_DELAY_US_P99: &str = "tool.send_delay_us_p99";
/// Maximum send delay of a load without a period.
pub const SEND_DELAY: Duration = Duration::from_millis(1);
/// Send delay of a stalled generator. If 1 % of the load is sent later than this, the repeat is invalid, whatever its
/// settings.
const LATE_ANYWHERE: Duration = Duration::from_millis(100);
/// Maximum growth of the backlog, as a share of the load that is due. If it grows more, the system does not keep up.
pub const BACKLOG_AT_MOST: f64 = 0.01;

/// Maximum share of a window in which the load may stall.
const STOOD_STILL_AT_MOST: f64 = 0.01;

/// Checks whether a load component stalled for too much of the window. The repeat is then invalid, whatever its
/// settings.
fn stood_still(
    window: &Window<'_>,
    description: &RigDescription,
    recorder: &mut Recorder,
) -> Option<Outcome> {
    description.metric(noise::STALLED)?;
    let tools = || window.reports(Account::Tool).filter(|report| report.wall_s > 0.0);
    recorder.scalar(noise::STALLED, tools().map(|report| report.stood_still_s).reduce(f64::max)?);
    let share = tools().map(|report| report.stood_still_s / report.wall_s).fold(0.0, f64::max);
    let breach =
        LimitViolation::above("share of the window in which the load stalled", share, STOOD_STILL_AT_MOST)?;
    let outcome = recorder.judge([(Outcome::Invalid, Some(breach))]);
    recorder.also("the load generator was stopped, or had no CPU");
    Some(outcome)
}

/// Checks whether the load was sent too late to be valid.
fn delayed(run: &Run<'_>, recorder: &mut Recorder, at_most: Duration) -> Option<Outcome> {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let at_most = if noise::refused(run) { at_most } else { at_most.max(LATE_ANYWHERE) };
    let breach = LimitViolation::above(SEND_DELAY_US_P99, recorder.metric(SEND_DELAY_US_P99)?, us(at_most))?;
    let outcome = recorder.judge([(Outcome::Invalid, Some(breach))]);
    recorder.also("the load generator did not keep its schedule");
    Some(outcome)
}

/// Outcome of a window.
pub type Judged = Result<Outcome, RigError>;

/// Rig-specific part of an experiment.
pub trait Experiment: Send {
    /// Returns keys and metrics. The harness records the metrics common to all rigs (of [`noise`], of `sut`, and
    /// `tool.cpu_cores`), as far as they are listed here.
    fn describe(&self) -> RigDescription;

    /// Whether windows without recording come first; false for a load that warms up in each window.
    fn warms_up(&self, _run: &Run<'_>) -> bool {
        true
    }

    /// Starts the components in order of their dependencies, and waits until they are ready. Called before each window.
    /// For the same run, it must name the same components each time.
    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError>;

    /// Returns the load, without its connections, if it can be divided among several locations. Called before any
    /// component is started.
    fn load(&self, _run: &Run<'_>) -> Result<Option<AnyComponent>, RigError> {
        Ok(None)
    }

    /// Whether each window, including a search's trials, begins with restarted components.
    fn each_window_anew(&self) -> bool {
        false
    }

    /// Returns the limit of [`SEND_DELAY_US_P99`] beyond which the load is invalid; `None` if the load has no schedule,
    /// or if the system under test causes the delay.
    fn send_delay_at_most(&self, _run: &Run<'_>) -> Option<Duration> {
        None
    }

    /// Records the reports. A point without components has an empty window: its result is computed here.
    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged;

    /// Returns the findings of a campaign in words; see [`Rig::verdict`].
    fn verdict(&self, _results: &Results) -> Vec<String> {
        Vec::new()
    }

    /// Returns a description of a point's load; see [`Rig::preview`].
    fn preview(&self, _settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        None
    }
    /// Returns a drawing of a point's system as SVG; see [`Rig::picture`].
    fn picture(&self, _settings: &BTreeMap<String, Value>) -> Option<String> {
        None
    }
}

/// Experiment with its running components.
pub struct RunningExperiment<E> {
    lab: RigContext,
    experiment: E,
    up: Deployed,
    /// Whether these components have already had a window.
    used: bool,
}

impl<E: Experiment> RunningExperiment<E> {
    /// Returns an experiment in a laboratory.
    pub fn new(lab: &RigContext, experiment: E) -> Self {
        Self { lab: lab.clone(), experiment, up: Deployed::default(), used: false }
    }

    /// Starts the components that do not run yet with the configuration that the run requires. Returns whether any were
    /// started.
    fn bring_up(&mut self, run: &Run<'_>) -> Result<bool, RigError> {
        let mut stage = Deployment { lab: &self.lab, run, up: &mut self.up, standing: 0, changed: false };
        self.experiment.bring_up(run, &mut stage)?;
        let standing = stage.standing;
        let changed = stage.changed;
        self.up.cut(standing);
        Ok(changed)
    }

    /// Checks whether the load can be divided among the configured locations.
    fn divides(&self, settings: &BTreeMap<String, Value>) -> Result<(), RigError> {
        let point = Point { index: 0, axes: Vec::new(), settings: settings.clone() };
        let run = Run::new(&point, 0, 0, Duration::ZERO);
        let places = keys::places(&run, LOAD_AT)?.len();
        if places == 1 {
            return Ok(());
        }
        let load = self.experiment.load(&run)?.ok_or_else(|| {
            RigError::Rig(format!(
                "this rig's load cannot be divided: `{LOAD_AT}` must be one place, not {places}"
            ))
        })?;
        divided(&load, places).map(drop)
    }
}

impl<E: Experiment> Rig for RunningExperiment<E> {
    fn describe(&self) -> RigDescription {
        let mut description = self.experiment.describe();
        description.needs.extend(self.lab.needs());
        description
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.tear_down();
        self.bring_up(run).map(drop)
    }

    /// Runs a window without recording, so that components that are active only in windows warm up too.
    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        if self.up.placed.is_empty() || run.warm_up.is_zero() || !self.experiment.warms_up(run) {
            return Ok(());
        }
        self.up.window(&run.stop, run.warm_up).map(drop)
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        if std::mem::replace(&mut self.used, true) && self.experiment.each_window_anew() {
            self.up.cut(0);
        }
        if self.bring_up(run)? {
            self.warm_up(run)?;
        }
        let parts = !self.up.placed.is_empty();
        let description = self.describe();
        let reads = description.metric("rest_answered").is_some();
        let before = if reads { third_party::before(run)? } else { None };
        let taken = if parts { self.up.window(&run.stop, run.duration)? } else { Vec::new() };
        let window = Window { lab: &self.lab, taken };
        window.record(run, &description, recorder);
        // Reads the counters of the system before anything else changes it.
        let unread = if reads { readback::record(run, recorder, before)? } else { None };
        let outcome = self.experiment.record(run, &window, recorder)?;
        let delayed = self.experiment.send_delay_at_most(run).and_then(|most| delayed(run, recorder, most));
        let delayed = stood_still(&window, &description, recorder).or(delayed);
        let outcome = third_party::judge(recorder, outcome, window.reports(Account::Sut), unread);
        let places = window.taken.iter().flat_map(|taken| &taken.places);
        let machines: Vec<_> = places.map(|(host, report)| (host, report)).collect();
        // A rig without measurements of time has no key [`keys::WHEN_NOISY`]. Its repeats are not checked for
        // disturbance by other work.
        let judged = parts && description.keys.iter().any(|key| key.path == keys::WHEN_NOISY);
        let noisy = if judged { noise::judge(run, recorder, &machines) } else { None };
        Ok(noisy.or(delayed).unwrap_or(outcome))
    }

    fn tear_down(&mut self) {
        self.up.cut(0);
        self.used = false;
    }

    fn verdict(&self, results: &Results) -> Vec<String> {
        self.experiment.verdict(results)
    }

    fn picture(&self, settings: &BTreeMap<String, Value>) -> Option<String> {
        self.experiment.picture(settings)
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        // If the system cannot be reached, the preview is the reason.
        if let Some(why) = crate::experiment::account::refused(settings) {
            return Some(Err(why));
        }
        match self.divides(settings) {
            Ok(()) => self.experiment.preview(settings),
            Err(RigError::Rig(why)) => Some(Err(why)),
            Err(error) => Some(Err(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests;
