//! From a machine to its user: a queue with a high-water mark that stops the reading, so that it stays bounded.
use crate::driver::Reading;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::sync::Notify;

/// Events that may wait before reading stops. One batch (256 KiB of PDUs) may come on top.
const HIGH_WATER: usize = 64;
/// Reading resumes when only so many are left.
const LOW_WATER: usize = 16;

/// A queue of events on one thread.
pub(crate) struct Events<E> {
    queue: Rc<RefCell<VecDeque<E>>>,
    ready: Rc<Notify>,
    /// Tells the driver not to read on.
    high: Rc<Cell<bool>>,
}

impl<E> Clone for Events<E> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), ready: self.ready.clone(), high: self.high.clone() }
    }
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Self { queue: Rc::default(), ready: Rc::default(), high: Rc::default() }
    }
}

impl<E> Events<E> {
    pub(crate) fn push(&self, event: E) -> Reading {
        let mut queue = self.queue.borrow_mut();
        queue.push_back(event);
        if queue.len() >= HIGH_WATER {
            self.high.set(true);
        }
        self.ready.notify_one();
        if self.high.get() { Reading::Pauses } else { Reading::GoesOn }
    }

    /// As [`push`](Self::push), but of what nobody takes only the latest stays: nobody is obliged to listen.
    pub(crate) fn push_latest(&self, event: E) -> Reading {
        let mut queue = self.queue.borrow_mut();
        if queue.len() >= HIGH_WATER {
            queue.pop_front();
        }
        queue.push_back(event);
        self.ready.notify_one();
        Reading::GoesOn
    }

    /// Takes the oldest event if there is one.
    pub(crate) fn take(&self) -> Option<E> {
        self.queue.borrow_mut().pop_front()
    }

    /// Waits until there is an event. Cancel-safe.
    pub(crate) async fn ready(&self) {
        while self.queue.borrow().is_empty() {
            self.ready.notified().await;
        }
    }

    /// Reading goes on.
    pub(crate) fn resumed(&self) {
        self.high.set(false);
    }

    /// Whether reading was stopped and so few are left that it may go on.
    pub(crate) fn may_resume(&self) -> bool {
        self.high.get() && self.queue.borrow().len() <= LOW_WATER
    }
}
