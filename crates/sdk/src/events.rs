//! From a machine to its user: a queue with a high-water mark that stops the reading, so that it stays bounded.
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tokio::sync::Notify;

/// Events that may wait before reading stops. One batch (256 KiB of PDUs) may come on top.
const HIGH_WATER: usize = 1_024;
/// Reading resumes when only so many are left.
const LOW_WATER: usize = 256;

/// A queue of events on one thread.
pub(crate) struct Events<E> {
    queue: Rc<RefCell<VecDeque<E>>>,
    ready: Rc<Notify>,
}

impl<E> Clone for Events<E> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), ready: self.ready.clone() }
    }
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Self { queue: Rc::default(), ready: Rc::default() }
    }
}

impl<E> Events<E> {
    pub(crate) fn push(&self, event: E) {
        self.queue.borrow_mut().push_back(event);
        self.ready.notify_one();
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

    /// Whether so many wait that reading should stop.
    pub(crate) fn is_high(&self) -> bool {
        self.queue.borrow().len() >= HIGH_WATER
    }

    /// Whether so few are left that reading may resume.
    pub(crate) fn is_low(&self) -> bool {
        self.queue.borrow().len() <= LOW_WATER
    }
}
