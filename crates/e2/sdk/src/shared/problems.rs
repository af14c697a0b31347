//! The latest problems of an xApp, as sentences.
use ranlab_e2::xapp::XappEvent;
use ranlab_machine::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// Maximum number of stored problems. At the limit, the oldest problem is dropped and counted.
pub const PROBLEMS_MAX: usize = 64;

/// The latest problems of an xApp: failed connections, refused subscriptions, and errors that the RIC reports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Problems {
    /// Stored problems as sentences, oldest first, at most [`PROBLEMS_MAX`].
    pub latest: VecDeque<String>,
    /// Number of older problems that were dropped.
    pub dropped: u64,
}

#[derive(Clone, Default)]
pub(super) struct ProblemLog(Arc<Mutex<Problems>>);

impl ProblemLog {
    fn lock(&self) -> MutexGuard<'_, Problems> {
        lock(&self.0)
    }

    pub(super) fn read(&self) -> Problems {
        self.lock().clone()
    }

    /// Stores the event if it is a problem.
    pub(super) fn observe(&self, event: &XappEvent) {
        if let Some(problem) = sentence(event) {
            self.note(problem);
        }
    }

    /// Stores a problem.
    pub(super) fn note(&self, problem: String) {
        let mut problems = self.lock();
        problems.latest.push_back(problem);
        if problems.latest.len() > PROBLEMS_MAX {
            problems.latest.pop_front();
            problems.dropped += 1;
        }
    }
}

fn sentence(event: &XappEvent) -> Option<String> {
    Some(match event {
        XappEvent::SubscriptionFailed { node, failure, .. } => {
            format!("{node}: the subscription failed: {failure}")
        }
        XappEvent::NotOffered { reason, .. } => reason.clone(),
        XappEvent::Disconnected { why, .. } => format!("disconnected: {why}"),
        XappEvent::SetupFailed { cause, .. } => {
            let cause = cause.map_or_else(|| "no cause".to_owned(), |cause| cause.to_string());
            format!("the RIC refuses the xApp: {cause}")
        }
        XappEvent::ErrorReported { cause: Some(cause) } => format!("the RIC reports an error: {cause}"),
        _ => return None,
    })
}
