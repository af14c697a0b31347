//! Live counters and times of a running load, for an observer. Without an observer, nothing is counted.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::meter::{Summary, Times};

/// Counters since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Sessions begun.
    pub started: u64,
    /// Sessions completed.
    pub completed: u64,
    /// Sessions with a rejected or lost request.
    pub failed: u64,
    /// Requests answered.
    pub answers: u64,
    /// Packets sent by base stations.
    pub uplink: u64,
    /// Packets sent by base stations that reached the data network.
    pub uplink_seen: u64,
    /// Packets received by base stations, from the data network or reflected.
    pub downlink_seen: u64,
}

/// A snapshot of the counters.
#[derive(Debug, Clone, Default)]
pub struct ProgressReading {
    /// Counters.
    pub counts: Counts,
    /// Latency of requests answered since the last snapshot, from the scheduled time.
    pub requests_us: Option<Summary>,
    /// Latency of packets that came back since the last snapshot, from the scheduled time.
    pub packets_us: Option<Summary>,
}

/// Counters shared by the load's threads and an observer.
#[derive(Debug, Default)]
pub struct ProgressCounters {
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

/// Returns and resets the recorded times. After a panic of a thread, one time may be missing.
fn taken(times: &Mutex<Times>) -> Option<Summary> {
    let recorded = std::mem::take(&mut *times.lock().unwrap_or_else(PoisonError::into_inner));
    recorded.summary()
}

impl ProgressCounters {
    /// Adds to the numbers of begun, completed and failed sessions.
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

    /// Returns the current counters, and the times since the last snapshot.
    pub fn read(&self) -> ProgressReading {
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
        ProgressReading { counts, requests_us: taken(&self.requests), packets_us: taken(&self.packets) }
    }
}

/// An optional observer. Comparisons of configurations ignore it.
#[derive(Debug, Clone, Default)]
pub struct ProgressObserver(pub Option<Arc<ProgressCounters>>);

impl PartialEq for ProgressObserver {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_has_total_counts_but_only_recent_times() {
        let glance = ProgressCounters::default();
        glance.sessions([1, 1, 0]);
        glance.sessions([0, 0, 1]);
        [1_000, 3_000].into_iter().for_each(|ns| glance.answered(ns));
        glance.sent(7);
        glance.seen();
        let first = glance.read();
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
        let second = glance.read();
        assert_eq!((second.counts.answers, second.counts.downlink_seen), (2, 1));
        assert!(second.requests_us.is_none() && second.packets_us.is_some());
    }
}
