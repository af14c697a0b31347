//! Deadlines of all base stations, which share one precise timer. The timer of tokio only has a resolution of one to two milliseconds. A
//! separate precise timer per base station would need a file descriptor each.
use ranlab_machine::Time;
use ranlab_transport::Alarm;
pub(super) use ranlab_transport::now;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// Waiting tasks by deadline, with at most one entry per task.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    waiting: RefCell<BTreeMap<(Time, u64), Waker>>,
    last: Cell<u64>,
    /// Notified when a deadline is added that is earlier than all others.
    sooner: Notify,
}

impl Deadlines {
    /// Waits until `at`. The future may be dropped at any time.
    pub(super) fn until(&self, at: Time) -> DeadlineFuture<'_> {
        self.last.set(self.last.get() + 1);
        DeadlineFuture { deadlines: self, key: (at, self.last.get()), registered: false }
    }

    /// Wakes tasks at their deadlines. The function never returns, and must run in parallel with the waiting tasks.
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

    /// Wakes tasks whose deadline has passed. Returns the next deadline.
    fn wake_due(&self, now: Time) -> Option<Time> {
        loop {
            let mut waiting = self.waiting.borrow_mut();
            let first = waiting.first_entry()?;
            let at = first.key().0;
            if at > now {
                return Some(at);
            }
            let waker = first.remove();
            // The map is released first, because a woken task may register its next deadline immediately.
            drop(waiting);
            waker.wake();
        }
    }
}

/// A future that waits for a deadline.
pub(super) struct DeadlineFuture<'a> {
    deadlines: &'a Deadlines,
    key: (Time, u64),
    registered: bool,
}

impl Future for DeadlineFuture<'_> {
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

impl Drop for DeadlineFuture<'_> {
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
    fn tasks_wake_in_order_and_dropped_ones_leave_no_entry() {
        ranlab_transport::run(async {
            let deadlines = Rc::new(Deadlines::default());
            let keeper = deadlines.clone();
            let keeper = tokio::task::spawn_local(async move { keeper.keep().await });
            let began = now();
            let order: Rc<RefCell<Vec<u64>>> = Rc::default();
            let tasks: Vec<_> = [7, 3, 1, 9, 5]
                .into_iter()
                .map(|ms| {
                    let deadlines = deadlines.clone();
                    let order = order.clone();
                    tokio::task::spawn_local(async move {
                        let at = began + Duration::from_millis(ms);
                        deadlines.until(at).await;
                        assert!(now() >= at);
                        order.borrow_mut().push(ms);
                    })
                })
                .collect();
            tokio::select! {
                () = deadlines.until(began + Duration::from_secs(3_600)) => panic!("a task must not wake before its time"),
                () = deadlines.until(began + Duration::from_millis(2)) => {}
            }
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(*order.borrow(), [1, 3, 5, 7, 9]);
            assert!(deadlines.waiting.borrow().is_empty());
            // A deadline in the past completes immediately, even if the timer task has ended.
            keeper.abort();
            deadlines.until(began).await;
        });
    }
}
