//! Bounded queue of the indications of one subscription, from the thread of an xApp to any other thread. If the queue
//! is full, the oldest indication is dropped and counted.
use ranlab_e2::xapp::{IndicationView, SubscriptionHandle};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_machine::lock;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Maximum number of unread indications of a subscription.
pub const UNREAD_MAX: usize = 4_096;
/// Maximum size of the unread indications of a subscription, in bytes.
pub const UNREAD_BYTES_MAX: usize = 16 << 20;

/// An indication with its node and subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// Node that sent the indication.
    pub node: GlobalE2NodeId,
    /// Subscription to which the indication belongs.
    pub subscription: SubscriptionHandle,
    /// Header, message and other fields of the indication.
    pub indication: IndicationView,
}

impl Item {
    fn bytes(&self) -> usize {
        self.indication.header.len() + self.indication.message.len()
    }
}

/// Counters of a subscription's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueueCounts {
    /// Number of received indications.
    pub received: u64,
    /// Number of indications that were dropped because they were not read in time.
    pub dropped: u64,
    /// Number of indications that wait to be read.
    pub waiting: usize,
}

/// A pair of sockets for event loops. `near` is readable while the queue has indications, and after the queue has ended.
struct Bell {
    near: UnixStream,
    far: UnixStream,
}

#[derive(Default)]
struct Inner {
    items: VecDeque<Item>,
    bytes: usize,
    received: u64,
    dropped: u64,
    ended: bool,
    wakers: Vec<Waker>,
    bell: Option<Bell>,
}

impl Inner {
    fn ring(&mut self) {
        if let Some(bell) = &mut self.bell {
            // If the socket is full, a notification is already pending.
            let _ = bell.far.write(&[1]);
        }
    }

    fn silence(&mut self) {
        if let Some(bell) = &mut self.bell {
            let mut bytes = [0; 64];
            while matches!(bell.near.read(&mut bytes), Ok(1..)) {}
        }
    }

    fn take(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= item.bytes();
        if self.items.is_empty() && !self.ended {
            self.silence();
        }
        Some(item)
    }
}

/// Queue of the indications of a subscription.
#[derive(Default)]
pub(crate) struct Queue(Mutex<Inner>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.0)
    }

    pub(crate) fn push(&self, item: Item) {
        let mut inner = self.lock();
        if inner.ended {
            return;
        }
        inner.received += 1;
        inner.bytes += item.bytes();
        inner.items.push_back(item);
        while inner.items.len() > UNREAD_MAX || inner.bytes > UNREAD_BYTES_MAX {
            let Some(oldest) = inner.items.pop_front() else { break };
            inner.bytes -= oldest.bytes();
            inner.dropped += 1;
        }
        if inner.items.len() == 1 {
            inner.ring();
        }
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Removes and returns the oldest indication.
    pub(crate) fn take(&self) -> Option<Item> {
        self.lock().take()
    }

    /// Removes and returns the oldest indication, or waits for one. Returns `None` once the queue has ended and is
    /// empty.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let mut inner = self.lock();
        if let Some(item) = inner.take() {
            return Poll::Ready(Some(item));
        }
        if inner.ended {
            return Poll::Ready(None);
        }
        if !inner.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            inner.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Ends the queue. Unread indications can still be taken. Returns whether it had not ended before.
    pub(crate) fn end(&self) -> bool {
        let mut inner = self.lock();
        let is_new = !std::mem::replace(&mut inner.ended, true);
        inner.ring();
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        is_new
    }

    /// Returns whether the queue has ended and is empty.
    pub(crate) fn is_over(&self) -> bool {
        let inner = self.lock();
        inner.ended && inner.items.is_empty()
    }

    pub(crate) fn counts(&self) -> QueueCounts {
        let inner = self.lock();
        QueueCounts { received: inner.received, dropped: inner.dropped, waiting: inner.items.len() }
    }

    /// Returns a descriptor that is readable while there are indications, and after the queue has ended.
    pub(crate) fn descriptor(&self) -> io::Result<RawFd> {
        let mut inner = self.lock();
        if let Some(bell) = &inner.bell {
            return Ok(bell.near.as_raw_fd());
        }
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        let descriptor = near.as_raw_fd();
        inner.bell = Some(Bell { near, far });
        if inner.ended || !inner.items.is_empty() {
            inner.ring();
        }
        Ok(descriptor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use ranlab_e2_codec::e2ap::{Plmn, RicIndicationType};

    fn item(sn: u16, size: usize) -> Item {
        let node = GlobalE2NodeId::gnb(Plmn::new(1, 1, 2), 1, 32);
        let subscription = SubscriptionHandle(1);
        let indication = IndicationView {
            function: 2,
            action: 0,
            sn: Some(sn),
            kind: RicIndicationType::Report,
            header: Bytes::new(),
            message: Bytes::from(vec![0; size]),
            call_process_id: None,
        };
        Item { node, subscription, indication }
    }

    #[test]
    fn oldest_unread_indications_are_dropped_and_counted() {
        let queue = Queue::default();
        for sn in 0..UNREAD_MAX as u16 + 5 {
            queue.push(item(sn, 8));
        }
        let counts = queue.counts();
        assert_eq!(counts, QueueCounts { received: UNREAD_MAX as u64 + 5, dropped: 5, waiting: UNREAD_MAX });
        assert_eq!(queue.take().and_then(|item| item.indication.sn), Some(5));
        queue.push(item(9, UNREAD_BYTES_MAX));
        assert_eq!(queue.counts().waiting, 1, "an indication of the maximum size must displace all others");
    }

    #[test]
    fn ended_queue_keeps_unread_indications_and_accepts_no_more() {
        let queue = Queue::default();
        queue.push(item(1, 1));
        assert!(queue.end());
        assert!(!queue.end());
        queue.push(item(2, 1));
        assert!(!queue.is_over());
        assert_eq!(queue.take().and_then(|item| item.indication.sn), Some(1));
        assert!(queue.is_over() && queue.take().is_none());
    }
}
