//! What a load does while it does it, for whoever looks on: counts, and times since the last look. Nothing is counted where nobody looks.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::meter::{Summary, Times};

/// Counts since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Sessions that were begun.
    pub started: u64,
    /// Sessions that went their whole way.
    pub completed: u64,
    /// Sessions of which a request was rejected or lost.
    pub failed: u64,
    /// Requests that were answered.
    pub answers: u64,
    /// Packets that base stations sent.
    pub uplink: u64,
    /// Of those, packets that the data network saw.
    pub uplink_seen: u64,
    /// Packets that came back to base stations: of the data network, or reflected.
    pub downlink_seen: u64,
}

/// What a look tells.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Counts.
    pub counts: Counts,
    /// Of requests answered since the last look, from the intended time.
    pub requests_us: Option<Summary>,
    /// Of packets that came back since the last look, from the intended time.
    pub packets_us: Option<Summary>,
}

/// Threads count here, somebody else looks.
#[derive(Debug, Default)]
pub struct Glance {
    started: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    answers: AtomicU64,
    uplink: AtomicU64,
    uplink_seen: AtomicU64,
    downlink_seen: AtomicU64,
    requests: Mutex<Times>,
    packets: Mutex<Times>,
}

/// Times that were recorded, of which there are none afterwards. A holder that panicked left one out.
fn taken(times: &Mutex<Times>) -> Option<Summary> {
    let taken = std::mem::take(&mut *times.lock().unwrap_or_else(PoisonError::into_inner));
    taken.summary()
}

impl Glance {
    /// So many more were begun, completed, failed.
    pub(super) fn sessions(&self, more: [u64; 3]) {
        for (count, more) in [&self.started, &self.completed, &self.failed].into_iter().zip(more) {
            if more > 0 {
                count.fetch_add(more, Relaxed);
            }
        }
    }

    pub(super) fn answered(&self, ns: u64) {
        self.answers.fetch_add(1, Relaxed);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).record(ns);
    }

    pub(super) fn sent(&self, packets: u64) {
        self.uplink.fetch_add(packets, Relaxed);
    }

    pub(super) fn seen(&self) {
        self.uplink_seen.fetch_add(1, Relaxed);
    }

    pub(super) fn came_back(&self, ns: u64) {
        self.downlink_seen.fetch_add(1, Relaxed);
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).record(ns);
    }

    /// What came of it so far, and how long what came since the last look took.
    pub fn look(&self) -> Look {
        let read = |count: &AtomicU64| count.load(Relaxed);
        let counts = Counts {
            started: read(&self.started),
            completed: read(&self.completed),
            failed: read(&self.failed),
            answers: read(&self.answers),
            uplink: read(&self.uplink),
            uplink_seen: read(&self.uplink_seen),
            downlink_seen: read(&self.downlink_seen),
        };
        Look { counts, requests_us: taken(&self.requests), packets_us: taken(&self.packets) }
    }
}

/// Whoever looks on, if anybody does; configurations that differ in it alone are the same.
#[derive(Debug, Clone, Default)]
pub struct Onlooker(pub Option<Arc<Glance>>);

impl PartialEq for Onlooker {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_has_all_counts_and_the_times_since_the_last_one() {
        let glance = Glance::default();
        glance.sessions([1, 1, 0]);
        glance.sessions([0, 0, 1]);
        [1_000, 3_000].into_iter().for_each(|ns| glance.answered(ns));
        glance.sent(7);
        glance.seen();
        let first = glance.look();
        let counts = Counts {
            started: 1,
            completed: 1,
            failed: 1,
            answers: 2,
            uplink: 7,
            uplink_seen: 1,
            downlink_seen: 0,
        };
        assert_eq!(first.counts, counts);
        let times = first.requests_us.unwrap();
        assert_eq!((times.n, times.max.round()), (2, 3.0));
        assert!(first.packets_us.is_none());
        glance.came_back(5_000);
        let second = glance.look();
        assert_eq!((second.counts.answers, second.counts.downlink_seen), (2, 1));
        assert!(second.requests_us.is_none() && second.packets_us.is_some());
    }
}
