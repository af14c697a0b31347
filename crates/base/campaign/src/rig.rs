//! Interface of a system under test: a [`Rig`] starts it, loads it, measures it, and stops it.

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
pub use crate::outcome::{LimitViolation, Outcome};

/// A system under test with its load and its meters. Each rig has its own source file.
///
/// For each repeat of each point the runner calls [`prepare`](Self::prepare), [`warm_up`](Self::warm_up),
/// [`measure`](Self::measure) (several times in a search) and [`tear_down`](Self::tear_down). It calls `tear_down` also
/// after a failure, a time-out or Ctrl-C. A rig polls [`Run::stop`] and returns soon after a stop request.
pub trait Rig: Send {
    /// Returns the rig's settings, metrics and needs. The result never changes.
    fn describe(&self) -> RigDescription;
    /// Brings the system up and waits until it serves.
    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError>;
    /// Loads the system for [`Run::warm_up`] without recording.
    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError>;
    /// Loads the system for [`Run::duration`] and records.
    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError>;
    /// Stops everything, in any state. A second call has no effect.
    fn tear_down(&mut self);
    /// Returns the findings of a campaign in words, the most important first. They appear at the top of all output.
    fn verdict(&self, _results: &Results) -> Vec<String> {
        Vec::new()
    }
    /// Returns a description of the load of a point, as lines of text; `None` if the rig has no preview. It is computed
    /// before anything runs. The error is the reason why the point cannot run.
    fn preview(&self, _settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        None
    }
    /// Returns a drawing of a point's system as SVG, for `bench check` and the report; `None` if the rig has no
    /// drawing.
    fn picture(&self, _settings: &BTreeMap<String, Value>) -> Option<String> {
        None
    }
}

/// Reason why a rig failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RigError {
    /// The system under test failed.
    #[error("the system under test failed: {0}")]
    Sut(String),
    /// The machine lacks something. Other points may work.
    #[error("the environment lacks something: {0}")]
    Environment(String),
    /// The rig itself failed.
    #[error("the rig failed: {0}")]
    Rig(String),
    /// [`Run::stop`] requested a stop.
    #[error("stopped before the end")]
    Stopped,
}

impl RigError {
    /// Returns the outcome of a repeat with this error.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Sut(_) => Outcome::SutFailed,
            Self::Environment(_) => Outcome::Unmeasurable,
            Self::Rig(_) => Outcome::Invalid,
            Self::Stopped => Outcome::Timeout,
        }
    }
}

/// Request to a rig: one repeat of one point.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The point. Its settings are complete, and have the types that the rig's schema declares.
    pub point: &'a Point,
    /// Index of the repeat, from 0.
    pub repeat: u32,
    /// Seed of all random values in the load. It differs between points and repeats, and is the same after a resume.
    pub seed: u64,
    /// Duration of the load before recording.
    pub warm_up: Duration,
    /// Duration of the recording.
    pub duration: Duration,
    /// Stop request; see [`Stop`].
    pub stop: Stop,
    /// Settings that a search replaces. They take precedence over the settings of the point.
    pub(crate) overrides: BTreeMap<String, Value>,
}

impl<'a> Run<'a> {
    /// Creates a run outside a campaign, for a rig's tests.
    pub fn new(point: &'a Point, repeat: u32, seed: u64, duration: Duration) -> Self {
        let stop = Stop::never();
        Self { point, repeat, seed, warm_up: Duration::ZERO, duration, stop, overrides: BTreeMap::new() }
    }

    /// Returns the value of a key. A search's choice takes precedence over the point's setting.
    pub fn value(&self, path: &str) -> Option<&Value> {
        self.overrides.get(path).or_else(|| self.point.settings.get(path))
    }

    /// Returns a number (durations in seconds); `None` if the key is absent or not a number.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.value(path)?.number()
    }

    /// Returns a duration.
    pub fn span(&self, path: &str) -> Option<Duration> {
        self.value(path)?.span()
    }

    /// Returns a text.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.value(path)?.text()
    }
}

/// Stop request: by the user, or by the point's time-out. Cheap to clone and to check.
#[derive(Debug, Clone)]
pub struct Stop {
    wish: Arc<AtomicBool>,
    /// Stop request that takes effect between two repeats only.
    after: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Stop {
    /// Creates a stop request without a deadline, which takes effect when [`Self::request_stop`] is called.
    pub fn never() -> Self {
        Self { wish: Arc::default(), after: Arc::default(), deadline: None }
    }

    /// Returns a clone with a deadline.
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// Requests a stop, for all clones (Ctrl-C).
    pub fn request_stop(&self) {
        self.wish.store(true, Ordering::Relaxed);
    }

    /// Returns whether the user requested a stop.
    pub fn stop_requested(&self) -> bool {
        self.wish.load(Ordering::Relaxed)
    }

    /// Requests a stop after the current repeat has been stored, for all clones. Rigs do not see this request.
    pub fn request_stop_after_repeat(&self) {
        self.after.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`request_stop_after_repeat`](Self::request_stop_after_repeat) was called.
    pub fn stop_after_repeat_requested(&self) -> bool {
        self.after.load(Ordering::Relaxed)
    }

    /// Withdraws the request of [`Self::request_stop_after_repeat`], so that the session continues.
    pub fn go_on(&self) {
        self.after.store(false, Ordering::Relaxed);
    }

    /// Returns whether the rig must stop now.
    pub fn now(&self) -> bool {
        self.stop_requested() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Sleeps in slices, so that a stop request takes effect within 20 ms.
    ///
    /// # Errors
    /// [`RigError::Stopped`] if a stop is requested earlier.
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
