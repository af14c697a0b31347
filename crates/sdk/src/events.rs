//! From a machine to its users: bounded queues. Indications that nobody takes stop the reading; of all else that nobody
//! takes the oldest is dropped and counted.
use crate::driver::Reading;
use futures_core::Stream;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot;

/// Indications that may wait before reading stops. One batch (256 KiB of PDUs) may come on top.
const HIGH_WATER: usize = 64;
/// Reading resumes when only so many are left.
const LOW_WATER: usize = 16;
/// Indications kept, more than a batch has: reading goes on while somebody awaits an answer. Beyond, the oldest is dropped.
const INDICATIONS_MAX: usize = 16_384;
/// Other events kept; beyond, the oldest is dropped.
pub(crate) const OTHERS_MAX: usize = 1_024;
/// The same of a RIC: some thousand nodes may come, go or move in one step, and of each there is more than one thing to tell.
pub(crate) const OTHERS_MAX_OF_A_RIC: usize = 16_384;

/// One listener's queue.
pub(crate) struct Inbox<E> {
    items: RefCell<VecDeque<E>>,
    /// Whether an event stops the reading when nobody takes it.
    presses: fn(&E) -> bool,
    /// Other events kept.
    others_max: usize,
    /// How many of the items do.
    pressing: Cell<usize>,
    lagged: Cell<u64>,
    closed: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl<E> Inbox<E> {
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
            // The allocation serves the next who waits.
            *waiting = woken;
        }
    }

    /// Takes the oldest event if there is one.
    pub(crate) fn take(&self) -> Option<E> {
        let event = self.items.borrow_mut().pop_front()?;
        self.pressing.set(self.pressing.get() - usize::from((self.presses)(&event)));
        Some(event)
    }

    /// As [`take`](Self::take), or waits; `None` once it is closed and empty.
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

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.wake();
    }

    pub(crate) fn lagged(&self) -> u64 {
        self.lagged.get()
    }

    pub(crate) fn reading(&self) -> Reading {
        if self.pressing.get() >= HIGH_WATER { Reading::Pauses } else { Reading::GoesOn }
    }

    /// Whether so few are left that reading may go on.
    pub(crate) fn is_low(&self) -> bool {
        self.pressing.get() <= LOW_WATER
    }
}

/// Events to the handle's own queue and to every further listener.
pub(crate) struct Hub<E> {
    pub(crate) own: Inbox<E>,
    others: RefCell<Vec<Weak<Inbox<E>>>>,
}

impl<E: Clone> Hub<E> {
    /// Whose listeners keep so many events each.
    pub(crate) fn keeping(most: usize) -> Self {
        Self { own: Inbox::keeping(most, |_| false), others: RefCell::default() }
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
        let inbox = Rc::new(Inbox::keeping(self.own.others_max, |_| false));
        self.others.borrow_mut().push(Rc::downgrade(&inbox));
        EventStream(inbox)
    }

    /// The next event of the handle's own queue; for a handle that never ends.
    pub(crate) async fn next(&self) -> E {
        poll_fn(|cx| match self.own.poll(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(event),
            _ => Poll::Pending,
        })
        .await
    }
}

impl<E> Drop for Hub<E> {
    fn drop(&mut self) {
        self.others.borrow().iter().filter_map(Weak::upgrade).for_each(|other| other.close());
    }
}

/// One listener's events, each once; ends with the machine. A listener that does not keep up keeps the latest 1,024, of a
/// RIC 16,384.
pub struct EventStream<E>(Rc<Inbox<E>>);

impl<E> EventStream<E> {
    /// The next event; `None` once the machine has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<E> {
        poll_fn(|cx| self.0.poll(cx)).await
    }

    /// Events that this listener has missed because it did not keep up.
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

/// Who awaits which answer. Whoever gives up is forgotten.
pub(crate) struct Waiting<H, T>(Rc<RefCell<BTreeMap<H, oneshot::Sender<T>>>>);

impl<H, T> Default for Waiting<H, T> {
    fn default() -> Self {
        Self(Rc::default())
    }
}

/// Somebody waits, as long as this lives.
struct Waits<H: Ord, T>(Waiting<H, T>, H);

impl<H: Ord, T> Drop for Waits<H, T> {
    fn drop(&mut self) {
        self.0.0.borrow_mut().remove(&self.1);
    }
}

impl<H: Ord + Copy, T> Waiting<H, T> {
    /// Resolves with the answer, or with `None` if there never will be one. Cancel-safe.
    pub(crate) fn wait(&self, handle: H) -> impl Future<Output = Option<T>> + use<H, T> {
        let (asker, answer) = oneshot::channel();
        self.0.borrow_mut().insert(handle, asker);
        let waits = Waits(Self(Rc::clone(&self.0)), handle);
        async move {
            let _waits = waits;
            answer.await.ok()
        }
    }

    /// Whether somebody still wants it.
    pub(crate) fn is_awaited(&self, handle: H) -> bool {
        self.0.borrow().contains_key(&handle)
    }

    pub(crate) fn tell(&self, handle: H, answer: T) {
        let asker = self.0.borrow_mut().remove(&handle);
        if let Some(asker) = asker {
            // Who asked may have gone; then nobody wants the answer.
            let _ = asker.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_takes_stays_bounded_by_kind_and_is_counted() {
        // Even numbers are indications.
        let inbox = Inbox::new(|n: &u32| n.is_multiple_of(2));
        (0..HIGH_WATER as u32).for_each(|n| inbox.push(2 * n));
        assert_eq!(inbox.reading(), Reading::Pauses);
        (0..2 * OTHERS_MAX as u32).for_each(|n| inbox.push(2 * n + 1));
        assert_eq!(inbox.lagged(), OTHERS_MAX as u64, "half of the others are gone, no indication is");
        let kept: Vec<u32> = std::iter::from_fn(|| inbox.take()).collect();
        assert!(kept[..HIGH_WATER].iter().copied().eq((0..HIGH_WATER as u32).map(|n| 2 * n)));
        assert_eq!((kept.len(), kept[HIGH_WATER]), (HIGH_WATER + OTHERS_MAX, 2 * OTHERS_MAX as u32 + 1));
        assert_eq!(inbox.reading(), Reading::GoesOn);
        (0..3 * INDICATIONS_MAX as u32).for_each(|n| inbox.push(2 * n));
        assert_eq!(inbox.lagged(), (OTHERS_MAX + 2 * INDICATIONS_MAX) as u64);
    }
}
