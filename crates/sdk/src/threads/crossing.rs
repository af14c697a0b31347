//! A link whose socket another thread serves: to the machine's thread it is a connection like any other.
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::BytesMut;

use super::placement::{Place, Placement};
use super::queue::{End, Queue};
use crate::transport::{Connection, Framer};

/// Kinds of listeners that are counted apart: base stations' and xApps'.
pub(super) const KINDS: usize = 2;

/// Locks what no panic can leave half changed.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one worker has done.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Its thread has ended.
    pub(super) dead: AtomicBool,
    /// Links whose task has not ended.
    pub(super) pumps: AtomicUsize,
    /// Octets towards the machine, and from it.
    pub(super) inward: AtomicU64,
    pub(super) outward: AtomicU64,
    /// Times that a queue towards the machine, or from it, was found full.
    pub(super) inward_full: AtomicU64,
    pub(super) outward_full: AtomicU64,
    /// Links that ended with a panic of their task.
    pub(super) panics: AtomicU64,
}

/// Adds to a count that is only looked at.
pub(super) fn count(of: &AtomicU64, by: usize) {
    of.fetch_add(by as u64, Ordering::Relaxed);
}

/// What both ends of a link share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Towards the machine, and from it.
    pub(super) inward: Mutex<Queue>,
    pub(super) outward: Mutex<Queue>,
    pub(super) counts: Arc<Counts>,
}

impl Shared {
    pub(super) fn new(framer: &'static dyn Framer, counts: Arc<Counts>) -> Arc<Self> {
        let queue = || Mutex::new(Queue::new(framer.is_one_per_write()));
        Arc::new(Self { inward: queue(), outward: queue(), counts })
    }
}

/// A link's place in the count of links, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) placement: Arc<Mutex<Placement<KINDS>>>,
    pub(super) kind: usize,
    pub(super) place: Place,
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.placement).remove(self.kind, self.place);
    }
}

/// The machine's end.
#[derive(Debug)]
pub(super) struct Near {
    pub(super) shared: Arc<Shared>,
    pub(super) framer: &'static dyn Framer,
    pub(super) _held: Held,
}

impl Connection for Near {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut queue = lock(&self.shared.inward);
        if queue.is_readable() {
            return Poll::Ready(Ok(()));
        }
        queue.await_octets(cx.waker());
        Poll::Pending
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut queue = lock(&self.shared.outward);
        if queue.is_writable() {
            return Poll::Ready(Ok(()));
        }
        queue.await_room(cx.waker());
        Poll::Pending
    }

    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        let (moved, wake) = lock(&self.shared.inward).read(buf)?;
        wake.wake();
        Ok(moved)
    }

    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = lock(&self.shared.outward).write(slices);
        match written {
            Ok((taken, wake)) => {
                wake.wake();
                Ok(taken)
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    count(&self.shared.counts.outward_full, 1);
                }
                Err(error)
            }
        }
    }

    fn framer(&self) -> &'static dyn Framer {
        self.framer
    }
}

impl Drop for Near {
    /// What was written is still sent; what comes is no longer wanted.
    fn drop(&mut self) {
        let ended = lock(&self.shared.outward).finish(End::Closed);
        let unread = lock(&self.shared.inward).abandon();
        ended.wake();
        unread.wake();
    }
}

/// A link that is served where the machine is, counted like the others.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) stream: crate::transport::Stream,
    pub(super) _held: Held,
}

impl Connection for Counted {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_readable(cx)
    }
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_writable(cx)
    }
    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        self.stream.try_read(buf)
    }
    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write_vectored(slices)
    }
    fn framer(&self) -> &'static dyn Framer {
        self.stream.framer()
    }
}
