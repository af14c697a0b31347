//! Deadlines of all base stations on one precise timer: tokio's own are met to a millisecond or two, and a timer for each
//! base station would be a descriptor for each.
use ranlab_machine::Time;
use ranlab_sdk::Alarm;
pub(super) use ranlab_sdk::now;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// Who waits for when. At most one entry for each task that waits.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    waiting: RefCell<BTreeMap<(Time, u64), Waker>>,
    last: Cell<u64>,
    /// Something is due before all else.
    sooner: Notify,
}

impl Deadlines {
    /// Waits until `at`; may be dropped at any time.
    pub(super) fn until(&self, at: Time) -> Until<'_> {
        self.last.set(self.last.get() + 1);
        Until { deadlines: self, key: (at, self.last.get()), registered: false }
    }

    /// Wakes whoever is due; runs beside the tasks that wait, and does not end.
    pub(super) async fn keep(&self) {
        let mut alarm = Alarm::default();
        loop {
            match self.wake_due(now()) {
                Some(at) => {
                    tokio::select! {
                        () = alarm.wait(at) => {}
                        () = self.sooner.notified() => {}
                    }
                }
                None => self.sooner.notified().await,
            }
        }
    }

    /// Wakes who is due now; when the next one is.
    fn wake_due(&self, now: Time) -> Option<Time> {
        loop {
            let mut waiting = self.waiting.borrow_mut();
            let first = waiting.first_entry()?;
            let at = first.key().0;
            if at > now {
                return Some(at);
            }
            let waker = first.remove();
            // What is woken may ask for its next deadline at once.
            drop(waiting);
            waker.wake();
        }
    }
}

/// Waits for a deadline.
pub(super) struct Until<'a> {
    deadlines: &'a Deadlines,
    key: (Time, u64),
    registered: bool,
}

impl Future for Until<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.key.0 <= now() {
            return Poll::Ready(());
        }
        let mut waiting = this.deadlines.waiting.borrow_mut();
        waiting.insert(this.key, context.waker().clone());
        let first = waiting.first_key_value().is_some_and(|(key, _)| *key == this.key);
        if first && !this.registered {
            this.deadlines.sooner.notify_one();
        }
        this.registered = true;
        Poll::Pending
    }
}

impl Drop for Until<'_> {
    fn drop(&mut self) {
        if self.registered {
            self.deadlines.waiting.borrow_mut().remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::time::Duration;

    #[test]
    fn all_are_woken_in_order_none_early_and_who_goes_leaves_nothing() {
        ranlab_sdk::run(async {
            let deadlines = Rc::new(Deadlines::default());
            let keeper = deadlines.clone();
            let keeper = tokio::task::spawn_local(async move { keeper.keep().await });
            let began = now();
            let order: Rc<RefCell<Vec<u64>>> = Rc::default();
            let tasks: Vec<_> = [7, 3, 1, 9, 5]
                .into_iter()
                .map(|ms| {
                    let (deadlines, order) = (deadlines.clone(), order.clone());
                    tokio::task::spawn_local(async move {
                        let at = began + Duration::from_millis(ms);
                        deadlines.until(at).await;
                        assert!(now() >= at);
                        order.borrow_mut().push(ms);
                    })
                })
                .collect();
            tokio::select! {
                () = deadlines.until(began + Duration::from_secs(3_600)) => panic!("an hour has not passed"),
                () = deadlines.until(began + Duration::from_millis(2)) => {}
            }
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(*order.borrow(), [1, 3, 5, 7, 9]);
            assert!(deadlines.waiting.borrow().is_empty());
            // One that has passed does not wait, and needs no keeper.
            keeper.abort();
            deadlines.until(began).await;
        });
    }
}
