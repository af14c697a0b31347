//! Bounded event queues from a machine to the application. Unread indications stop the reading from sockets. If too
//! many other events are unread, the oldest one is dropped and counted.
use crate::transport::driver::ReadInterest;
use futures_core::Stream;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot;

/// Number of queued indications at which reading stops. The queue may exceed it by one batch (256 KiB of PDUs).
const HIGH_WATER: usize = 64;
/// Number of queued indications at which reading resumes.
const LOW_WATER: usize = 16;
/// Maximum number of queued indications. It exceeds a batch, because reading continues while the application awaits a
/// response. At the limit, the oldest indication is dropped.
const INDICATIONS_MAX: usize = 16_384;
/// Maximum number of other queued events. At the limit, the oldest event is dropped.
pub(crate) const OTHERS_MAX: usize = 1_024;
/// Maximum number of other queued events of a RIC. Thousands of nodes may connect, disconnect or move in one step,
/// with several events for each.
pub(crate) const OTHERS_MAX_OF_A_RIC: usize = 16_384;

/// Event queue of one listener.
pub(crate) struct EventQueue<E> {
    items: RefCell<VecDeque<E>>,
    /// Function that returns whether an event is an indication. Unread indications stop the reading from sockets.
    presses: fn(&E) -> bool,
    /// Maximum number of queued events other than indications.
    others_max: usize,
    /// Number of queued indications.
    pressing: Cell<usize>,
    lagged: Cell<u64>,
    closed: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl<E> EventQueue<E> {
    pub(crate) fn new(presses: fn(&E) -> bool) -> Self {
        Self::keeping(OTHERS_MAX, presses)
    }

    pub(crate) fn keeping(others_max: usize, presses: fn(&E) -> bool) -> Self {
        Self {
            items: RefCell::default(),
            presses,
            others_max,
            pressing: Cell::new(0),
            lagged: Cell::new(0),
            closed: Cell::new(false),
            waiting: RefCell::default(),
        }
    }

    pub(crate) fn push(&self, event: E) {
        let mut items = self.items.borrow_mut();
        let presses = (self.presses)(&event);
        items.push_back(event);
        let pressing = self.pressing.get() + usize::from(presses);
        self.pressing.set(pressing);
        let over =
            if presses { pressing > INDICATIONS_MAX } else { items.len() - pressing > self.others_max };
        if over && let Some(oldest) = items.iter().position(|item| (self.presses)(item) == presses) {
            items.remove(oldest);
            self.pressing.set(pressing - usize::from(presses));
            self.lagged.set(self.lagged.get() + 1);
        }
        drop(items);
        self.wake();
    }

    fn wake(&self) {
        let mut woken = self.waiting.take();
        woken.drain(..).for_each(Waker::wake);
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            // The allocation is reused for the next waiting tasks.
            *waiting = woken;
        }
    }

    /// Removes and returns the oldest event.
    pub(crate) fn take(&self) -> Option<E> {
        let event = self.items.borrow_mut().pop_front()?;
        self.pressing.set(self.pressing.get() - usize::from((self.presses)(&event)));
        Some(event)
    }

    /// Removes and returns the oldest event, or waits for one. Returns `None` once the queue is closed and empty.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<E>> {
        match self.take() {
            Some(event) => Poll::Ready(Some(event)),
            None if self.closed.get() => Poll::Ready(None),
            None => {
                let mut waiting = self.waiting.borrow_mut();
                if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                    waiting.push(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// Closes the queue: no further events follow.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.wake();
    }

    pub(crate) fn lagged(&self) -> u64 {
        self.lagged.get()
    }

    pub(crate) fn reading(&self) -> ReadInterest {
        if self.pressing.get() >= HIGH_WATER { ReadInterest::Pauses } else { ReadInterest::GoesOn }
    }

    /// Returns whether reading may resume.
    pub(crate) fn is_low(&self) -> bool {
        self.pressing.get() <= LOW_WATER
    }
}

/// Distributes events to the handle's own queue and to all further listeners.
pub(crate) struct EventHub<E> {
    pub(crate) own: EventQueue<E>,
    others: RefCell<Vec<Weak<EventQueue<E>>>>,
}

impl<E: Clone> EventHub<E> {
    /// Creates a hub whose queues store up to `most` events other than indications.
    pub(crate) fn keeping(most: usize) -> Self {
        Self { own: EventQueue::keeping(most, |_| false), others: RefCell::default() }
    }

    pub(crate) fn push(&self, event: E) {
        if !self.others.borrow().is_empty() {
            self.others.borrow_mut().retain(|other| other.strong_count() > 0);
            let others: Vec<_> = self.others.borrow().iter().filter_map(Weak::upgrade).collect();
            others.into_iter().for_each(|other| other.push(event.clone()));
        }
        self.own.push(event);
    }

    pub(crate) fn listen(&self) -> EventStream<E> {
        let inbox = Rc::new(EventQueue::keeping(self.own.others_max, |_| false));
        self.others.borrow_mut().push(Rc::downgrade(&inbox));
        EventStream(inbox)
    }

    /// Returns the next event of the handle's own queue. Must only be used by handles whose machine never ends.
    pub(crate) async fn next(&self) -> E {
        poll_fn(|cx| match self.own.poll(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(event),
            _ => Poll::Pending,
        })
        .await
    }
}

impl<E> Drop for EventHub<E> {
    fn drop(&mut self) {
        self.others.borrow().iter().filter_map(Weak::upgrade).for_each(|other| other.close());
    }
}

/// Events of one listener; each listener receives every event. The stream ends with the machine. If the listener is
/// too slow, its latest 1,024 events (16,384 for a RIC) are kept and older ones are dropped.
pub struct EventStream<E>(Rc<EventQueue<E>>);

impl<E> EventStream<E> {
    /// Returns the next event, or `None` once the machine has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<E> {
        poll_fn(|cx| self.0.poll(cx)).await
    }

    /// Returns the number of events that this listener has lost because it was too slow.
    pub fn lagged(&self) -> u64 {
        self.0.lagged()
    }
}

impl<E> Stream for EventStream<E> {
    type Item = E;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<E>> {
        self.0.poll(cx)
    }
}

/// Pending waits for responses, by request. A dropped wait is removed from the map.
pub(crate) struct PendingReplies<H, T>(Rc<RefCell<BTreeMap<H, oneshot::Sender<T>>>>);

impl<H, T> Default for PendingReplies<H, T> {
    fn default() -> Self {
        Self(Rc::default())
    }
}

/// Guard that removes a pending wait when dropped.
struct WaiterGuard<H: Ord, T>(PendingReplies<H, T>, H);

impl<H: Ord, T> Drop for WaiterGuard<H, T> {
    fn drop(&mut self) {
        self.0.0.borrow_mut().remove(&self.1);
    }
}

impl<H: Ord + Copy, T> PendingReplies<H, T> {
    /// Waits for the response. Returns `None` if no response will follow. Cancel-safe.
    pub(crate) fn wait(&self, handle: H) -> impl Future<Output = Option<T>> + use<H, T> {
        let (asker, answer) = oneshot::channel();
        self.0.borrow_mut().insert(handle, asker);
        let waits = WaiterGuard(Self(Rc::clone(&self.0)), handle);
        async move {
            let _waits = waits;
            answer.await.ok()
        }
    }

    /// Returns whether a caller still waits for the response.
    pub(crate) fn is_awaited(&self, handle: H) -> bool {
        self.0.borrow().contains_key(&handle)
    }

    pub(crate) fn resolve(&self, handle: H, answer: T) {
        let asker = self.0.borrow_mut().remove(&handle);
        if let Some(asker) = asker {
            // If the wait has been dropped, the response is discarded.
            let _ = asker.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_events_are_bounded_by_kind_and_counted() {
        // Even numbers stand for indications.
        let inbox = EventQueue::new(|n: &u32| n.is_multiple_of(2));
        (0..HIGH_WATER as u32).for_each(|n| inbox.push(2 * n));
        assert_eq!(inbox.reading(), ReadInterest::Pauses);
        (0..2 * OTHERS_MAX as u32).for_each(|n| inbox.push(2 * n + 1));
        assert_eq!(
            inbox.lagged(),
            OTHERS_MAX as u64,
            "only events other than indications may be dropped, beyond their limit"
        );
        let kept: Vec<u32> = std::iter::from_fn(|| inbox.take()).collect();
        assert!(kept[..HIGH_WATER].iter().copied().eq((0..HIGH_WATER as u32).map(|n| 2 * n)));
        assert_eq!((kept.len(), kept[HIGH_WATER]), (HIGH_WATER + OTHERS_MAX, 2 * OTHERS_MAX as u32 + 1));
        assert_eq!(inbox.reading(), ReadInterest::GoesOn);
        (0..3 * INDICATIONS_MAX as u32).for_each(|n| inbox.push(2 * n));
        assert_eq!(inbox.lagged(), (OTHERS_MAX + 2 * INDICATIONS_MAX) as u64);
    }
}
