//! The door for a system under test: a [`Rig`] brings it up, loads it, measures, and takes it down again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::point::Point;
use crate::record::Recorder;
use crate::results::Results;
use crate::value::Value;

pub use crate::description::{Need, RepeatTime, ResponseTimeout, RigDescription};
pub use crate::metric::{Better, DISTURBED, HISTOGRAM_SUFFIXES, Metric, MetricKind, Noise, UNSENT_AT_MOST};
pub use crate::outcome::{Breach, Outcome};

/// A system under test with its load and its meters. One file of the `rigs` library each.
///
/// For each repeat of each point the runner calls [`prepare`](Self::prepare), [`warm_up`](Self::warm_up),
/// [`measure`](Self::measure) (several times in a search) and [`tear_down`](Self::tear_down), the last one also after
/// a failure, a time-out or Ctrl-C. A rig watches [`Run::stop`] and returns soon after it says so.
pub trait Rig: Send {
    /// Returns the rig's settings, metrics and needs. The result never changes.
    fn describe(&self) -> RigDescription;
    /// Brings the system up and waits until it serves.
    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError>;
    /// Loads it for [`Run::warm_up`] without recording.
    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError>;
    /// Loads it for [`Run::duration`] and records.
    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError>;
    /// Takes everything down, whatever state it is in; called twice it does nothing the second time.
    fn tear_down(&mut self);
    /// What a campaign of this rig found in words, the most important first; it stands above everything else.
    fn verdict(&self, _results: &Results) -> Vec<String> {
        Vec::new()
    }
    /// What a point will load the system with, computed before anything runs, as lines of text; `None`: nothing to say.
    /// The error says why the point cannot run.
    fn preview(&self, _settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        None
    }
}

/// Why a rig could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RigError {
    /// The system under test's fault.
    #[error("the system under test failed: {0}")]
    Sut(String),
    /// The machine's fault: something is missing. Other points may work.
    #[error("the environment lacks something: {0}")]
    Environment(String),
    /// The rig's own fault.
    #[error("the rig failed: {0}")]
    Rig(String),
    /// [`Run::stop`] said so.
    #[error("stopped before the end")]
    Stopped,
}

impl RigError {
    /// The outcome that a repeat with this error has.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Sut(_) => Outcome::SutFailed,
            Self::Environment(_) => Outcome::Unmeasurable,
            Self::Rig(_) => Outcome::Invalid,
            Self::Stopped => Outcome::Timeout,
        }
    }
}

/// What a rig is asked to do: one repeat of one point.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The point; its settings are complete and of the types that the rig's schema states.
    pub point: &'a Point,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// For everything random in the load; differs between points and repeats, the same when resumed.
    pub seed: u64,
    /// How long to load before recording.
    pub warm_up: Duration,
    /// How long to record.
    pub duration: Duration,
    /// When to give up.
    pub stop: Stop,
    /// Settings that a search replaces, above those of the point.
    pub(crate) overrides: BTreeMap<String, Value>,
}

impl<'a> Run<'a> {
    /// A run outside a campaign, for a rig's own tests.
    pub fn new(point: &'a Point, repeat: u32, seed: u64, duration: Duration) -> Self {
        let stop = Stop::never();
        Self { point, repeat, seed, warm_up: Duration::ZERO, duration, stop, overrides: BTreeMap::new() }
    }

    /// The value of a key, a search's choice before the point's.
    pub fn value(&self, path: &str) -> Option<&Value> {
        self.overrides.get(path).or_else(|| self.point.settings.get(path))
    }

    /// A number (spans in seconds); `None` if the key is absent or no number.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.value(path)?.number()
    }

    /// A length of time.
    pub fn span(&self, path: &str) -> Option<Duration> {
        self.value(path)?.span()
    }

    /// Text.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.value(path)?.text()
    }
}

/// Tells a rig to give up: the user's wish or the point's time-out. Cheap to clone and to ask.
#[derive(Debug, Clone)]
pub struct Stop {
    wish: Arc<AtomicBool>,
    /// Between two repeats alone.
    after: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Stop {
    /// Never, until [`Self::wish`] is called.
    pub fn never() -> Self {
        Self { wish: Arc::default(), after: Arc::default(), deadline: None }
    }

    /// The same wish with a deadline.
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// Asks to stop, for all clones (Ctrl-C).
    pub fn wish(&self) {
        self.wish.store(true, Ordering::Relaxed);
    }

    /// Whether the user asked.
    pub fn wished(&self) -> bool {
        self.wish.load(Ordering::Relaxed)
    }

    /// Asks to stop once the repeat under way is finished and kept, for all clones; no rig hears of it.
    pub fn wish_after(&self) {
        self.after.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`wish_after`](Self::wish_after) was called.
    pub fn wished_after(&self) -> bool {
        self.after.load(Ordering::Relaxed)
    }

    /// Takes back what [`Self::wish_after`] asked for: the session goes on.
    pub fn go_on(&self) {
        self.after.store(false, Ordering::Relaxed);
    }

    /// Whether to give up now.
    pub fn now(&self) -> bool {
        self.wished() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Sleeps in slices so that a stop is heard within 20 ms.
    ///
    /// # Errors
    /// [`RigError::Stopped`] if it has to stop before the time is over.
    pub fn sleep(&self, time: Duration) -> Result<(), RigError> {
        let end = Instant::now() + time;
        loop {
            if self.now() {
                return Err(RigError::Stopped);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}
