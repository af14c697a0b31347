//! Runner: measures all unfinished repeats in a shuffled and interleaved order, and writes each to the journal.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::plan::{Plan, Point};
use crate::record::Recording;
use crate::results::{Finished, JournalError, ResultSink};
use crate::rig::{Need, Outcome, Rig, RigError, Stop};
use crate::scenario::{Order, Scenario};
use crate::value::Value;

mod repeat;

/// Time after its deadline in which a rig has to react, before the runner considers it hung.
pub const GRACE: Duration = Duration::from_secs(10);

/// Progress of a session, for the command line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The session has started.
    Started {
        /// Number of repeats to measure.
        to_do: usize,
        /// Number of repeats that earlier sessions finished.
        done_before: usize,
        /// Expected duration of this session.
        expected: Duration,
    },
    /// A repeat has started.
    Measuring {
        /// Index of the point.
        point: usize,
        /// Label of the point ([`Point::label`]).
        label: String,
        /// Index of the repeat.
        repeat: u32,
    },
    /// A window of the current repeat was measured: a trial of a search, or the repeat itself.
    Measured {
        /// Index of the point.
        point: usize,
        /// Index of the repeat.
        repeat: u32,
        /// Settings and results of the window.
        window: Window,
    },
    /// A repeat has finished and is stored.
    Finished {
        /// Index of the point.
        point: usize,
        /// Index of the repeat.
        repeat: u32,
        /// Outcome of the repeat.
        outcome: Outcome,
        /// Reason for the outcome, if it is not `ok`.
        reason: String,
        /// Recorded metrics, including the result of a search.
        metrics: BTreeMap<String, f64>,
        /// Number of remaining repeats.
        left: usize,
        /// Expected remaining time, from the speed so far.
        remaining: Duration,
    },
}

/// Raw result of one measured window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Settings that a search chose: its load or its knobs; empty without a search.
    pub settings: BTreeMap<String, Value>,
    /// Share of the full duration.
    pub share: f64,
    /// Outcome of the window.
    pub outcome: Outcome,
    /// Metrics that the window recorded.
    pub metrics: BTreeMap<String, f64>,
}

/// Summary of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSummary {
    /// Number of repeats that this session finished.
    pub finished: usize,
    /// Whether the user stopped the session. The next run resumes it.
    pub stopped: bool,
}

/// Reason why a session failed. Finished repeats are stored; the next run resumes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The machine lacks something that the rig needs.
    #[error("the environment lacks what rig \"{rig}\" needs: {}", list(needs))]
    Needs {
        /// Name of the rig.
        rig: String,
        /// Needs that the machine does not meet.
        needs: Vec<Need>,
    },
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The rig did not stop in time. The repeat is stored as a time-out.
    #[error("the rig did not return {} s after its deadline at {point}; start again to resume with the next point", GRACE.as_secs())]
    RigLost {
        /// Label of the point.
        point: String,
    },
}

fn list(needs: &[Need]) -> String {
    let one = |need: &Need| match &need.met {
        Ok(()) => need.what.clone(),
        Err(how) => format!("{} ({}; {how})", need.what, need.why),
    };
    needs.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Returns the order of measurement, which the seed determines: all points once, shuffled, then all points again.
pub fn order(scenario: &Scenario, plan: &Plan) -> Vec<(usize, u32)> {
    let mut order = Vec::with_capacity(plan.points.len() * plan.repeats as usize);
    for repeat in 0..plan.repeats {
        let mut points: Vec<usize> = (0..plan.points.len()).collect();
        if scenario.measure.order == Order::Random {
            points.shuffle(&mut ChaCha8Rng::seed_from_u64(seed_of(
                scenario.measure.seed,
                usize::MAX,
                repeat,
            )));
        }
        order.extend(points.into_iter().map(|point| (point, repeat)));
    }
    order
}

/// Returns the seed of a repeat, which is the same in every session.
pub fn seed_of(seed: u64, point: usize, repeat: u32) -> u64 {
    // splitmix64 over all three, so that neighbouring seeds are unrelated.
    let mut state = seed;
    for part in [point as u64, u64::from(repeat)] {
        state = state.wrapping_add(part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^= state >> 31;
    }
    state
}

/// Measures all repeats that the journal does not have. A disturbed repeat is measured again at the end of the session,
/// as often as the limits allow. Only its last attempt is stored. `stop` tears the rig down and ends the session. The
/// current repeat is then discarded, unless the stop was requested [after it](Stop::request_stop_after_repeat).
///
/// # Errors
/// The environment, the journal or the rig failed; see [`RunError`].
pub fn run(
    rig: Box<dyn Rig>,
    scenario: &Scenario,
    plan: &Plan,
    journal: &mut dyn ResultSink,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<SessionSummary, RunError> {
    let description = rig.describe();
    let missing: Vec<Need> = description.needs.into_iter().filter(|need| need.met.is_err()).collect();
    if !missing.is_empty() {
        return Err(RunError::Needs { rig: description.name, needs: missing });
    }
    let done = journal.finished()?;
    let all = order(scenario, plan);
    let to_do = (0..)
        .zip(all.iter().copied())
        .filter(|(_, (point, repeat))| !done.contains(&(*point, *repeat)))
        .map(|(position, (point, repeat))| Task { position, point, repeat, retries: 0 });
    let mut queue = TaskQueue::new(to_do.collect(), scenario.quick);
    let to_do = queue.tasks.len();
    let expected = queue.tasks.iter().map(|task| plan.expected_of(&plan.points[task.point])).sum();
    on_event(Event::Started { to_do, done_before: all.len() - to_do, expected });
    let worker = Worker::start(rig, scenario.clone());
    let begun = Instant::now();
    let mut session = SessionSummary { finished: 0, stopped: false };
    let mut measured = 0_u32;
    while let Some(task) = queue.tasks.pop_front() {
        let Task { position, point, repeat, .. } = task;
        if stop.stop_requested() || stop.stop_after_repeat_requested() {
            session.stopped = true;
            break;
        }
        let point = &plan.points[point];
        on_event(Event::Measuring { point: point.index, label: point.label(), repeat });
        let (reply, started_unix_ms, elapsed) =
            worker.measure(point, repeat, plan.repeat_timeout, stop, on_event);
        let lost = reply.is_none();
        let reply = reply.unwrap_or_else(|| Reply::lost(plan.repeat_timeout));
        if stop.stop_requested() && reply.stopped {
            session.stopped = true;
            break;
        }
        let mut finished = Finished {
            point: point.index,
            repeat,
            position,
            outcome: reply.outcome,
            reason: reply.reason,
            recording: reply.recording,
            started_unix_ms,
            elapsed,
        };
        measured += 1;
        if reply.disturbed && queue.retry(task) {
            finished.reason.push_str("; this repeat is measured again at the end");
        } else {
            journal.commit(&finished)?;
            session.finished += 1;
        }
        let left = queue.tasks.len();
        let remaining = begun.elapsed().mul_f64(left as f64 / f64::from(measured));
        let Finished { outcome, reason, recording: Recording { metrics, .. }, .. } = finished;
        on_event(Event::Finished { point: point.index, repeat, outcome, reason, metrics, left, remaining });
        if lost {
            return Err(RunError::RigLost { point: point.label() });
        }
    }
    Ok(session)
}

/// Maximum number of times that a disturbed repeat is measured again.
const RETRIES_PER_REPEAT: u32 = 2;
/// Number of retries that every session may make. A longer session may make more: a quarter of its number of repeats.
const RETRIES_MIN: usize = 2;

/// A repeat to measure.
#[derive(Debug, Clone, Copy)]
struct Task {
    /// Position in [`order`].
    position: u32,
    /// Index of the point.
    point: usize,
    repeat: u32,
    /// Number of earlier attempts in this session, all of them disturbed.
    retries: u32,
}

/// Repeats to measure, and the number of retries that are still allowed.
struct TaskQueue {
    tasks: VecDeque<Task>,
    retries_left: usize,
}

impl TaskQueue {
    fn new(tasks: VecDeque<Task>, quick: bool) -> Self {
        // A smoke run retries at once, in `repeat::measure`.
        let retries_left = if quick { 0 } else { (tasks.len() / 4).max(RETRIES_MIN) };
        Self { tasks, retries_left }
    }

    /// Appends a disturbed repeat to the queue. Returns whether the limits allowed it.
    fn retry(&mut self, task: Task) -> bool {
        let allowed = task.retries < RETRIES_PER_REPEAT && self.retries_left > 0;
        if allowed {
            self.retries_left -= 1;
            self.tasks.push_back(Task { retries: task.retries + 1, ..task });
        }
        allowed
    }
}

/// Message from the rig's thread to the runner.
enum RigMessage {
    Window(Window),
    Ended(Reply),
}

/// Result of a repeat.
struct Reply {
    outcome: Outcome,
    reason: String,
    recording: Recording,
    /// Whether the rig stopped because of a stop request.
    stopped: bool,
    /// Whether the repeat was measured completely but does not count, because of other work on the machine or a late
    /// load generator.
    disturbed: bool,
}

impl Reply {
    fn lost(timeout: Duration) -> Self {
        let reason =
            format!("the repeat did not end within {} s, nor after a request to stop", timeout.as_secs());
        Self {
            outcome: Outcome::Timeout,
            reason,
            recording: Recording::default(),
            stopped: true,
            disturbed: false,
        }
    }
}

struct Job {
    point: Point,
    repeat: u32,
    stop: Stop,
}

/// Runs the rig on a separate thread, so that a rig that hangs does not block the campaign.
struct Worker {
    jobs: Option<Sender<Job>>,
    replies: Receiver<RigMessage>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        // Waits for the rig to end, but gives up if it sends nothing for the grace time.
        while self.replies.recv_timeout(GRACE).is_ok() {}
    }
}

impl Worker {
    fn start(mut rig: Box<dyn Rig>, scenario: Scenario) -> Self {
        let (jobs, inbox) = channel::<Job>();
        let (outbox, replies) = channel();
        let scenario = Arc::new(scenario);
        std::thread::spawn(move || {
            while let Ok(job) = inbox.recv() {
                // Sending fails once the campaign has given up this rig.
                let on_window = |window| drop(outbox.send(RigMessage::Window(window)));
                let reply = guarded(&mut *rig, &scenario, &job, &on_window);
                if outbox.send(RigMessage::Ended(reply)).is_err() {
                    return;
                }
            }
            // Ends components that stay up between repeats, before the end of the session is reported.
            drop(rig);
            drop(outbox);
        });
        Self { jobs: Some(jobs), replies }
    }

    fn measure(
        &self,
        point: &Point,
        repeat: u32,
        timeout: Duration,
        stop: &Stop,
        on_event: &mut dyn FnMut(Event),
    ) -> (Option<Reply>, u64, Duration) {
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started_unix_ms = u64::try_from(started.as_millis()).unwrap_or(u64::MAX);
        let begun = Instant::now();
        let stop = stop.with_deadline(begun + timeout);
        let job = Job { point: point.clone(), repeat, stop: stop.clone() };
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        let mut give_up = begun + timeout + GRACE;
        let reply = loop {
            if !sent {
                break None;
            }
            if stop.stop_requested() {
                give_up = give_up.min(Instant::now() + GRACE);
            }
            // Short waits, so that the user's stop request takes effect soon.
            let wait = give_up.saturating_duration_since(Instant::now()).min(Duration::from_millis(200));
            match self.replies.recv_timeout(wait) {
                Ok(RigMessage::Ended(reply)) => break Some(reply),
                Ok(RigMessage::Window(window)) => {
                    on_event(Event::Measured { point: point.index, repeat, window });
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < give_up => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break None,
            }
        };
        (reply, started_unix_ms, begun.elapsed())
    }
}

/// Runs a repeat and turns every failure of the rig into an outcome. Always tears down.
fn guarded(rig: &mut dyn Rig, scenario: &Scenario, job: &Job, on_window: &dyn Fn(Window)) -> Reply {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        repeat::measure(rig, scenario, &job.point, job.repeat, &job.stop, on_window)
    }));
    // A panic in the tear-down must not end this process.
    let torn = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rig.tear_down()));
    let failed = |outcome, reason: String, stopped| Reply {
        outcome,
        reason,
        recording: Recording::default(),
        stopped,
        disturbed: false,
    };
    match result {
        Ok(Ok((outcome, mut reason, recording))) => {
            if torn.is_err() {
                reason.push_str(" (the rig panicked while tearing down)");
            }
            Reply { outcome, reason, recording, stopped: false, disturbed: outcome == Outcome::Invalid }
        }
        Ok(Err(RigError::Stopped)) => {
            failed(Outcome::Timeout, "the repeat did not end within its time limit".to_owned(), true)
        }
        Ok(Err(error)) => failed(error.outcome(), error.to_string(), false),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            failed(Outcome::Invalid, format!("the rig panicked: {text}"), false)
        }
    }
}

#[cfg(test)]
mod tests;
