//! Delivery of changes to workers. Each worker has a bounded queue. Two counters contain the numbers of sent and
//! applied updates.
use crate::declare::Change;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Maximum number of queued updates per worker.
pub const UPDATES_MAX: u64 = 4096;
/// Number of updates that a worker applies between two bursts, which limits the delay of packets.
const UPDATES_PER_BURST: usize = 8;

/// The handle that changes a running pipeline.
pub struct Control {
    workers: Vec<Worker>,
    sent: u64,
}

struct Worker {
    queue: SyncSender<Arc<[Change]>>,
    progress: Arc<Progress>,
}

#[derive(Default)]
struct Progress {
    sent: AtomicU64,
    applied: AtomicU64,
}

/// The reason why an update was rejected. No worker receives any part of a rejected update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// A worker is behind; retry later.
    #[error("{UPDATES_MAX} updates are already waiting, because the worker is too slow")]
    Full,
    /// A worker has ended.
    #[error("a worker has ended")]
    Closed,
}

impl Control {
    /// Sends an update. Its changes become visible together on each worker. Returns the update's number, from 1.
    pub fn send(&mut self, changes: &[Change]) -> Result<u64, SendError> {
        if self.sent - self.visible() >= UPDATES_MAX {
            return Err(SendError::Full);
        }
        let changes: Arc<[Change]> = changes.into();
        for worker in &self.workers {
            // This is the only sender, so the queue still has space.
            worker.queue.try_send(Arc::clone(&changes)).map_err(|_| SendError::Closed)?;
            worker.progress.sent.store(self.sent + 1, Ordering::Release);
        }
        self.sent += 1;
        Ok(self.sent)
    }

    /// Returns the number of the last update that every worker has applied.
    #[must_use]
    pub fn visible(&self) -> u64 {
        self.workers.iter().map(|w| w.progress.applied.load(Ordering::Acquire)).min().unwrap_or(self.sent)
    }
}

/// The worker's end of its update queue.
pub(super) struct UpdateQueue {
    queue: Receiver<Arc<[Change]>>,
    progress: Arc<Progress>,
    applied: u64,
}

impl UpdateQueue {
    /// Passes pending updates to `apply`. An empty queue costs one load.
    #[inline]
    pub(super) fn poll(&mut self, mut apply: impl FnMut(&[Change])) -> usize {
        if self.progress.sent.load(Ordering::Acquire) == self.applied {
            return 0;
        }
        let mut done = 0;
        while done < UPDATES_PER_BURST {
            let Ok(changes) = self.queue.try_recv() else { break };
            apply(&changes);
            self.applied += 1;
            self.progress.applied.store(self.applied, Ordering::Release);
            done += 1;
        }
        done
    }
}

pub(super) fn channels(workers: usize) -> (Control, Vec<UpdateQueue>) {
    let mut ends = Vec::new();
    let mut inboxes = Vec::new();
    for _ in 0..workers {
        let (queue, receiver) = sync_channel(UPDATES_MAX as usize);
        let progress = Arc::new(Progress::default());
        ends.push(Worker { queue, progress: Arc::clone(&progress) });
        inboxes.push(UpdateQueue { queue: receiver, progress, applied: 0 });
    }
    (Control { workers: ends, sent: 0 }, inboxes)
}
