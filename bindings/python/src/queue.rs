//! Bounded queue of indications from an xApp's thread to Python. If it is full, the oldest one is dropped and
//! counted.
use ranlab_sdk::Bytes;
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of queued indications.
pub(crate) const ITEMS_MAX: usize = 4_096;
/// Maximum size of queued indications, in bytes.
pub(crate) const BYTES_MAX: usize = 16 << 20;

/// An indication.
pub(crate) struct Item {
    pub(crate) node: GlobalE2NodeId,
    pub(crate) action: u8,
    pub(crate) sn: Option<u16>,
    pub(crate) header: Bytes,
    pub(crate) message: Bytes,
}

impl Item {
    fn bytes(&self) -> usize {
        self.header.len() + self.message.len()
    }
}

/// Notification for event loops: readable while the queue has items.
struct Bell {
    heard: UnixStream,
    rung: UnixStream,
}

#[derive(Default)]
struct Inner {
    items: VecDeque<Item>,
    bytes: usize,
    received: u64,
    dropped: u64,
    malformed: u64,
    ended: bool,
    bell: Option<Bell>,
}

impl Inner {
    fn ring(&mut self) {
        if let Some(bell) = &mut self.bell {
            // If the pipe is full, a notification is already pending.
            let _ = bell.rung.write(&[1]);
        }
    }

    fn hush(&mut self) {
        if let Some(bell) = &mut self.bell {
            let mut octets = [0; 64];
            while matches!(bell.heard.read(&mut octets), Ok(1..)) {}
        }
    }
}

/// A queue.
#[derive(Default)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    there: Condvar,
}

/// Counters of a queue.
pub(crate) struct Counts {
    pub(crate) received: u64,
    pub(crate) dropped: u64,
    pub(crate) malformed: u64,
    pub(crate) waiting: usize,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // The data is consistent whenever the lock is released, even by a panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, item: Item) {
        let mut inner = self.lock();
        inner.received += 1;
        inner.bytes += item.bytes();
        inner.items.push_back(item);
        while inner.items.len() > ITEMS_MAX || inner.bytes > BYTES_MAX {
            let Some(oldest) = inner.items.pop_front() else { break };
            inner.bytes -= oldest.bytes();
            inner.dropped += 1;
        }
        if inner.items.len() == 1 {
            inner.ring();
        }
        drop(inner);
        self.there.notify_one();
    }

    /// Returns the oldest indication, waiting up to a timeout.
    pub(crate) fn take(&self, patience: Duration) -> Option<Item> {
        let empty = |inner: &mut Inner| inner.items.is_empty() && !inner.ended;
        let waited = self.there.wait_timeout_while(self.lock(), patience, empty);
        let (mut inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let item = inner.items.pop_front()?;
        inner.bytes -= item.bytes();
        if inner.items.is_empty() && !inner.ended {
            inner.hush();
        }
        Some(item)
    }

    /// Ends the queue. Queued indications can still be taken.
    pub(crate) fn end(&self) {
        let mut inner = self.lock();
        inner.ended = true;
        inner.ring();
        drop(inner);
        self.there.notify_all();
    }

    /// Returns whether the queue has ended and is empty.
    pub(crate) fn is_over(&self) -> bool {
        let inner = self.lock();
        inner.ended && inner.items.is_empty()
    }

    pub(crate) fn malformed(&self) {
        self.lock().malformed += 1;
    }

    pub(crate) fn counts(&self) -> Counts {
        let inner = self.lock();
        let Inner { received, dropped, malformed, .. } = *inner;
        Counts { received, dropped, malformed, waiting: inner.items.len() }
    }

    /// Returns a descriptor that is readable while there are indications, or after the end.
    pub(crate) fn descriptor(&self) -> std::io::Result<RawFd> {
        let mut inner = self.lock();
        if let Some(bell) = &inner.bell {
            return Ok(bell.heard.as_raw_fd());
        }
        let (heard, rung) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let descriptor = heard.as_raw_fd();
        inner.bell = Some(Bell { heard, rung });
        if inner.ended || !inner.items.is_empty() {
            inner.ring();
        }
        Ok(descriptor)
    }
}
