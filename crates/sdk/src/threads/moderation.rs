//! When a thread that wakes often for little looks at its sockets later, so that it finds more there: what drivers of network cards
//! call interrupt moderation.
//!
//! At a paced load each of two threads wakes as often as one would, for half as much, and a wake costs more than a message. So
//! a thread that wakes more often than [`OFTEN`] waits before it looks again, but only if it has nothing else to do, and for [`MODERATION`] at
//! most; and what its links say to the same xApp within one look leaves with one write. A thread that wakes seldom, and one
//! that has much to do at each wake, does neither.
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use ranlab_e2::Time;

use super::crossing::{Counts, count};
use super::mouth::Mouth;
use super::queue::store;
use crate::clock::now;

/// How long a thread waits that wakes too often. Linux adds its timer slack, 50 µs unless somebody has changed it.
pub const MODERATION: Duration = Duration::from_micros(200);
/// The longest wait that may be chosen: tokio's own timers go no finer.
pub const MODERATION_MAX: Duration = Duration::from_millis(1);
/// Reads per second that make a thread's wakes worth fewer ...
const OFTEN: u64 = 4_000;
/// ... unless each wake brings so many of them.
const MUCH: u64 = 16;
/// ... as counted within so much time.
const WINDOW: Duration = Duration::from_millis(5);
/// Octets that wait for the end of a look: what is beyond leaves at once.
const LATER_BYTES: usize = 64 << 10;

/// Decides it for one thread; without a clock.
#[derive(Debug)]
struct Moderator {
    wait: Duration,
    since: Time,
    reads: u64,
    wakes: u64,
    /// As the last window says.
    moderates: bool,
}

impl Moderator {
    fn new(wait: Duration) -> Self {
        Self {
            wait: wait.min(MODERATION_MAX),
            since: Time::from_nanos(0),
            reads: 0,
            wakes: 0,
            moderates: false,
        }
    }

    /// The thread has nothing more to do; how long it waits before it looks at its sockets.
    fn idle(&mut self, now: Time) -> Option<Duration> {
        self.wakes += 1;
        let passed = now.since(self.since);
        if passed >= WINDOW {
            // A window that lasted longer says less of now, and less often.
            let per_window = OFTEN * u64::try_from(passed.as_micros()).unwrap_or(u64::MAX) / 1_000_000;
            self.moderates =
                !self.wait.is_zero() && self.reads >= per_window && self.reads < MUCH * self.wakes;
            (self.since, self.reads, self.wakes) = (now, 0, 0);
        }
        self.moderates.then_some(self.wait)
    }
}

/// A thread that serves links.
struct Own {
    moderator: Moderator,
    counts: Arc<Counts>,
    /// Xapps that have something to be written at the end of this look, and how much of it.
    later: Vec<Arc<Mouth>>,
    bytes: usize,
    /// The task that ends a look.
    task: Option<Waker>,
}

thread_local! {
    /// Whether this thread's runtime asks [`before_park`].
    static ASKED: Cell<bool> = const { Cell::new(false) };
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// For a runtime's builder: this thread is about to wait for its sockets. A thread that serves no links is let through.
pub(crate) fn before_park() {
    let wait = OWN.with_borrow_mut(|own| {
        let own = own.as_mut()?;
        count(&own.counts.wakes, 1);
        let wait = own.moderator.idle(now())?;
        count(&own.counts.waits, 1);
        Some(wait)
    });
    if let Some(wait) = wait {
        thread::sleep(wait);
    }
}

/// This thread's runtime asks [`before_park`].
pub(crate) fn asked() {
    ASKED.set(true);
}

/// Counts a read of a socket that brought something.
pub(super) fn has_read() {
    OWN.with_borrow_mut(|own| {
        if let Some(own) = own {
            own.moderator.reads += 1;
        }
    });
}

/// Whether an xApp's link is written at the end of this look; otherwise the caller is to do it now.
pub(super) fn later(mouth: &Arc<Mouth>, octets: usize) -> bool {
    OWN.with_borrow_mut(|own| {
        let Some(own) = own.as_mut().filter(|own| own.moderator.moderates) else { return false };
        own.bytes += octets;
        if own.bytes >= LATER_BYTES {
            return false;
        }
        // Runs behind the tasks that were woken with this one, and of a busy thread it has its turn like any other.
        let Some(task) = &own.task else { return false };
        if own.later.is_empty() {
            task.wake_by_ref();
        }
        if !own.later.iter().any(|it| Arc::ptr_eq(it, mouth)) {
            own.later.push(mouth.clone());
        }
        true
    })
}

/// What ends a thread's looks: writes what waits for it, for as long as the thread serves links.
async fn end_looks() {
    poll_fn(|cx| {
        let waits = OWN.with_borrow_mut(|own| {
            let own = own.as_mut()?;
            store(&mut own.task, cx.waker());
            own.bytes = 0;
            Some(std::mem::take(&mut own.later))
        });
        match waits {
            None => Poll::Ready(()),
            Some(waits) => {
                flush(&waits);
                Poll::Pending
            }
        }
    })
    .await;
}

fn flush(waiting: &[Arc<Mouth>]) {
    if !waiting.is_empty() {
        let now = now();
        waiting.iter().for_each(|mouth| mouth.flush(now));
    }
}

/// The calling thread serves links, until this is dropped there.
#[derive(Debug)]
pub(super) struct Moderated(());

impl Moderated {
    /// Begins it, unless this thread's runtime does not ask or somebody has begun it. `spawn` takes a task to this thread.
    pub(super) fn begin(
        wait: Duration,
        counts: &Arc<Counts>,
        spawn: impl FnOnce(Pin<Box<dyn Future<Output = ()> + Send>>),
    ) -> Option<Self> {
        let begins = OWN.with_borrow_mut(|own| {
            if !ASKED.get() || own.is_some() {
                return false;
            }
            let moderator = Moderator::new(wait);
            *own = Some(Own { moderator, counts: counts.clone(), later: Vec::new(), bytes: 0, task: None });
            true
        });
        begins.then(|| {
            spawn(Box::pin(end_looks()));
            Self(())
        })
    }
}

impl Drop for Moderated {
    fn drop(&mut self) {
        if let Some(own) = OWN.take() {
            flush(&own.later);
            if let Some(task) = own.task {
                task.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wakes so often in a second, with so many reads each, for so long; how many of the wakes were followed by a wait.
    fn waits(
        moderator: &mut Moderator,
        at: &mut Time,
        wakes_per_s: u64,
        reads: u64,
        lasts: Duration,
    ) -> usize {
        let gap = Duration::from_nanos(1_000_000_000 / wakes_per_s);
        let wakes = lasts.as_nanos() / gap.as_nanos();
        let waited = (0..wakes).filter(|_| {
            *at += gap;
            moderator.reads += reads;
            moderator.idle(*at).is_some()
        });
        waited.count()
    }

    #[test]
    fn who_wakes_often_for_little_waits_and_nobody_else() {
        let (mut it, mut at) = (Moderator::new(MODERATION), Time::from_nanos(0));
        let second = Duration::from_secs(1);
        // Wakes per second, reads of each, and whether it waits.
        for (wakes, reads, expected) in [
            (100, 1, false),
            (3_000, 1, false),
            (8_000, 1, true),
            // As it is once it waits: the same reads in fewer wakes.
            (3_000, 3, true),
            (3_000, 1, false),
            (3_000, 40, false),
            (20_000, 2, true),
            // Nothing was read: it wakes for others.
            (20_000, 0, false),
            (10, 40, false),
        ] {
            waits(&mut it, &mut at, wakes, reads, second);
            let waited = waits(&mut it, &mut at, wakes, reads, second);
            let all = wakes as usize;
            assert_eq!(waited >= all - 1, expected, "{waited} of {all} wakes with {reads} reads each");
            assert!(expected || waited == 0, "{waited} of {all} wakes with {reads} reads each");
        }
    }

    #[test]
    fn it_begins_and_ends_within_two_windows() {
        let (mut it, mut at) = (Moderator::new(MODERATION), Time::from_nanos(0));
        waits(&mut it, &mut at, 10_000, 1, WINDOW * 2);
        assert!(it.moderates);
        // Nothing for an hour, then one message: it is passed on, and after it nothing waits.
        at += Duration::from_secs(3_600);
        it.reads += 1;
        assert_eq!(it.idle(at), None);
    }

    #[test]
    fn it_may_be_switched_off_and_not_made_longer_than_its_bound() {
        let (mut off, mut at) = (Moderator::new(Duration::ZERO), Time::from_nanos(0));
        assert_eq!(waits(&mut off, &mut at, 10_000, 1, Duration::from_secs(1)), 0);
        assert_eq!(Moderator::new(Duration::from_secs(9)).wait, MODERATION_MAX);
    }
}
