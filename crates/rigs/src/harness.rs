//! What every experiment with parts does alike: brings them up in order, warms up, opens a window on all of them, watches
//! that they live, closes it, judges the noise, and takes them down in reverse order.
//!
//! A rig says the rest ([`Experiment`]): what it can be told, which parts stand where with which config, and what their
//! reports mean. [`Bench`] makes a [`Rig`] of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Outcome, Rig, RigDescription, RigError, Run, Stop};
use ranlab_campaign::value::Value;
use ranlab_parts::worker::{Numbers, Worker, number};
use ranlab_parts::{Host, Lab, OVER, Part};

use crate::{keys, noise};

mod window;

pub(crate) use window::{Taken, Window, copy, copy_all};

/// How often it is checked that everything lives while a window is open.
const CHECK: Duration = Duration::from_secs(1);
/// How often it is looked whether a part that ends by itself has.
const SOON: Duration = Duration::from_millis(20);

/// An experiment: what is special about a rig.
pub(crate) trait Experiment: Send {
    /// What it can be told and what it measures. Of the metrics that the harness knows (those of [`noise`], of [`sut`] and
    /// `tool.cpu_cores`) it records those that are here.
    fn describe(&self) -> RigDescription;

    /// Whether windows that nobody records come first. Not of a load that warms up in each window of its own.
    fn warms_up(&self) -> bool {
        true
    }

    /// Names the parts in the order in which they depend on each other, and waits until they serve. It is called again
    /// before each window: the same run must name the same parts.
    fn bring_up(&self, run: &Run<'_>, stage: &mut Stage<'_>) -> Result<(), RigError>;

    /// Whether each window, as of a search's trials, begins with parts that hold nothing of the window before.
    fn each_window_anew(&self) -> bool {
        false
    }

    /// What the reports mean. A point without parts has an empty window: its answer is computed here.
    fn record(
        &self,
        run: &Run<'_>,
        window: &Window<'_>,
        recorder: &mut Recorder,
    ) -> Result<Outcome, RigError>;

    /// See [`Rig::verdict`].
    fn verdict(&self, _results: &Results) -> Vec<String> {
        Vec::new()
    }

    /// See [`Rig::preview`].
    fn preview(&self, _settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        None
    }
}

/// Whose CPU time and memory a part's are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The system under test's.
    Sut,
    /// The measurement's own.
    Tool,
}

/// A part that is up, and what it was told.
struct Placed {
    side: Side,
    worker: Worker,
    config: String,
}

impl Placed {
    /// Looks while a window is open: a system under test that is gone has failed, whatever its worker calls that.
    fn look(&mut self, stop: &Stop) -> Result<Numbers, RigError> {
        self.worker.look(stop).map_err(|error| match (self.side, error) {
            (Side::Sut, RigError::Rig(what)) => RigError::Sut(what),
            (_, error) => error,
        })
    }
}

/// The parts that are up, in order; the last one goes first, so that nobody is left without whom it talks to.
#[derive(Default)]
struct Up(Vec<Placed>);

impl Up {
    fn cut(&mut self, length: usize) {
        while self.0.len() > length {
            self.0.pop();
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        self.cut(0);
    }
}

/// Where an experiment puts its parts. A part that stands as it is wanted stays; one that differs, as a search changed its
/// settings, is brought up anew, and so is all that came after it.
pub(crate) struct Stage<'a> {
    lab: &'a Lab,
    run: &'a Run<'a>,
    up: &'a mut Up,
    /// So many parts stand as this run wants them.
    standing: usize,
    changed: bool,
}

impl Stage<'_> {
    /// A part of the system under test, on the machine that the key `at` says; without such a key, on this one.
    pub(crate) fn sut(&mut self, role: &'static str, at: &str, part: Part) -> Result<&mut Worker, RigError> {
        self.place(Side::Sut, role, at, &|_| part.clone())
    }

    /// A part of the measurement's own, likewise.
    pub(crate) fn tool(&mut self, role: &'static str, at: &str, part: Part) -> Result<&mut Worker, RigError> {
        self.place(Side::Tool, role, at, &|_| part.clone())
    }

    /// The same of a part that has to know its machine's clock, minus ours, us.
    pub(crate) fn place(
        &mut self,
        side: Side,
        role: &'static str,
        at: &str,
        part: &dyn Fn(f64) -> Part,
    ) -> Result<&mut Worker, RigError> {
        let host = if self.run.value(at).is_some() { keys::host_of(self.run, at)? } else { Host::Local };
        let index = self.standing;
        let stands = self.up.0.get(index).is_some_and(|placed| {
            let same = placed.worker.role == role && placed.worker.host == host && placed.side == side;
            same && config(&part(placed.worker.clock_offset_us)) == placed.config
        });
        if !stands {
            self.up.cut(index);
            self.changed = true;
            // Beside the key of a part's machine there may be that of its network namespace.
            let lab = self.lab.within(self.run.text(&at.replace(".at", ".netns")));
            let mut worker = Worker::meet(&lab, &host, role, &self.run.stop)?;
            let part = part(worker.clock_offset_us);
            let config = config(&part);
            worker.bring_up(part, &self.run.stop)?;
            self.up.0.push(Placed { side, worker, config });
        }
        self.standing += 1;
        Ok(&mut self.up.0[index].worker)
    }

    /// Waits until a part's numbers say so; not if nothing was brought up anew, because it was waited for then.
    ///
    /// # Errors
    /// It did not happen in time, which is the system's fault.
    pub(crate) fn wait(
        &mut self,
        role: &str,
        what: &str,
        patience: Duration,
        enough: impl FnMut(&Numbers) -> bool,
    ) -> Result<(), RigError> {
        if !self.changed {
            return Ok(());
        }
        let stop = &self.run.stop;
        self.up.worker(role)?.wait_until(what, patience, stop, enough).map(drop)
    }

    /// Whether something was brought up anew until now.
    pub(crate) fn changed(&self) -> bool {
        self.changed
    }
}

impl Up {
    fn worker(&mut self, role: &str) -> Result<&mut Worker, RigError> {
        let found = self.0.iter_mut().map(|placed| &mut placed.worker).find(|worker| worker.role == role);
        found.ok_or_else(|| RigError::Rig(format!("there is no part \"{role}\"")))
    }

    /// Opens a window on all parts, watches, and closes it: those that came last are measured by all others.
    fn window(&mut self, stop: &Stop, length: Duration) -> Result<Vec<Taken>, RigError> {
        self.each(|worker| worker.begin(stop))?;
        match self.ending(stop)? {
            Some(index) => self.until_over(stop, index)?,
            None => self.so_long(stop, length)?,
        }
        let mut taken = Vec::with_capacity(self.0.len());
        for Placed { side, worker, .. } in self.0.iter_mut().rev() {
            let report = worker.end(stop)?;
            let (clock_error_us, clock_drift_us) = (worker.clock_error_us, worker.clock_drift_us);
            let (side, role, host) = (*side, worker.role, worker.host.clone());
            let addresses = worker.ready.addresses.clone();
            taken.push(Taken { side, role, host, clock_error_us, clock_drift_us, addresses, report });
        }
        taken.reverse();
        // What ends with the window may have ended badly.
        self.each(|worker| worker.look(stop).map(drop))?;
        Ok(taken)
    }

    /// The part whose end is the window's.
    fn ending(&mut self, stop: &Stop) -> Result<Option<usize>, RigError> {
        for (index, placed) in self.0.iter_mut().enumerate() {
            if placed.look(stop)?.contains_key(OVER) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn so_long(&mut self, stop: &Stop, length: Duration) -> Result<(), RigError> {
        let end = Instant::now() + length;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            stop.sleep(left.min(CHECK))?;
            if left <= CHECK {
                return Ok(());
            }
            self.0.iter_mut().try_for_each(|placed| placed.look(stop).map(drop))?;
        }
    }

    fn until_over(&mut self, stop: &Stop, index: usize) -> Result<(), RigError> {
        let begin = Instant::now();
        let mut checked = begin;
        while number(&self.0[index].look(stop)?, OVER)? == 0.0 {
            stop.sleep(SOON)?;
            if checked.elapsed() >= CHECK {
                checked = Instant::now();
                for placed in &mut self.0 {
                    let (role, after) = (placed.worker.role, begin.elapsed().as_secs_f64());
                    placed.look(stop).map_err(|error| match error {
                        RigError::Sut(what) => {
                            RigError::Sut(format!("the {role} failed {after:.1} s into the run: {what}"))
                        }
                        other => other,
                    })?;
                }
            }
        }
        Ok(())
    }

    fn each(&mut self, mut work: impl FnMut(&mut Worker) -> Result<(), RigError>) -> Result<(), RigError> {
        self.0.iter_mut().try_for_each(|placed| work(&mut placed.worker))
    }
}

/// Two parts of one config are brought up alike.
fn config(part: &Part) -> String {
    // Configs are plain data; one that was not would be brought up anew each time.
    serde_json::to_string(part).unwrap_or_default()
}

/// An experiment and the parts of it that are up.
pub(crate) struct Bench<E> {
    lab: Lab,
    experiment: E,
    up: Up,
    /// Whether these parts have had a window.
    used: bool,
}

impl<E: Experiment> Bench<E> {
    /// An experiment in a laboratory.
    pub(crate) fn new(lab: &Lab, experiment: E) -> Self {
        Self { lab: lab.clone(), experiment, up: Up::default(), used: false }
    }

    /// Brings up what does not stand as the run wants it; whether that was anything.
    fn bring_up(&mut self, run: &Run<'_>) -> Result<bool, RigError> {
        let mut stage = Stage { lab: &self.lab, run, up: &mut self.up, standing: 0, changed: false };
        self.experiment.bring_up(run, &mut stage)?;
        let (standing, changed) = (stage.standing, stage.changed);
        self.up.cut(standing);
        Ok(changed)
    }
}

impl<E: Experiment> Rig for Bench<E> {
    fn describe(&self) -> RigDescription {
        let mut description = self.experiment.describe();
        description.needs.extend(self.lab.needs());
        description
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.tear_down();
        self.bring_up(run).map(drop)
    }

    /// A window that nobody records: what works in windows alone warms up, too.
    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        if self.up.0.is_empty() || run.warm_up.is_zero() || !self.experiment.warms_up() {
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
        let parts = !self.up.0.is_empty();
        let taken = if parts { self.up.window(&run.stop, run.duration)? } else { Vec::new() };
        let window = Window { lab: &self.lab, taken };
        let description = self.describe();
        window.record(run, &description, recorder);
        let outcome = self.experiment.record(run, &window, recorder)?;
        let machines: Vec<_> = window.taken.iter().map(|taken| (&taken.host, &taken.report)).collect();
        // A rig that measures no time has no keys for it.
        let judged = parts && description.keys.iter().any(|key| key.path == noise::WHEN_NOISY);
        let noisy = if judged { noise::judge(run, recorder, &machines) } else { None };
        Ok(noisy.unwrap_or(outcome))
    }

    fn tear_down(&mut self) {
        self.up.cut(0);
        self.used = false;
    }

    fn verdict(&self, results: &Results) -> Vec<String> {
        self.experiment.verdict(results)
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        self.experiment.preview(settings)
    }
}

#[cfg(test)]
mod tests;
