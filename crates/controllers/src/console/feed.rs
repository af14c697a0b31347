//! Decoded indications for whoever listens: each listener has a bounded queue; one that does not keep up misses the oldest
//! and is told how many, one that takes nothing at all for long is let go.
use bytes::Bytes;
use ranlab_e2::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Listeners at once; a further one is refused.
const LISTENERS_MAX: usize = 64;
/// Lines that wait for a listener ...
const LINES_MAX: usize = 1_024;
/// ... and their octets; beyond either, the oldest are dropped.
const BYTES_MAX: usize = 4 << 20;
/// A listener whose queue has been full for so long, and who has taken nothing in that time, is let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a listener wants to hear; what is empty wants all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Of which node.
    pub node: Option<String>,
    /// Of which service model.
    pub sm: Option<String>,
    /// Of which subscriptions.
    pub subscriptions: BTreeSet<u32>,
}

/// What a line is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) node: &'a str,
    pub(crate) sm: Option<&'a str>,
    pub(crate) subscription: u32,
}

impl Filter {
    fn wants(&self, about: &About<'_>) -> bool {
        self.node.as_deref().is_none_or(|node| node == about.node)
            && self.sm.as_deref().is_none_or(|sm| about.sm.is_some_and(|is| is.eq_ignore_ascii_case(sm)))
            && (self.subscriptions.is_empty() || self.subscriptions.contains(&about.subscription))
    }
}

/// One thing that a listener hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A report, as a JSON object on one line.
    Indication(Bytes),
    /// A subscription has ended, as a JSON object on one line.
    Ended(Bytes),
    /// Something of this name, as JSON on one line.
    Named(&'static str, Bytes),
    /// So many lines were dropped here, as the listener did not read in time.
    Dropped(u64),
    /// The listener did not read at all: this is its last line.
    LetGo,
}

#[derive(Debug, Default)]
struct Seat {
    filter: Filter,
    queue: VecDeque<Line>,
    bytes: usize,
    /// Not told yet.
    dropped: u64,
    /// Since when it is full and nothing was taken.
    full_since: Option<Time>,
    let_go: bool,
    waker: Option<Waker>,
}

impl Seat {
    /// Lines that this one costs.
    fn push(&mut self, now: Time, line: Line) -> u64 {
        let mut dropped = 0;
        self.bytes += octets(&line);
        self.queue.push_back(line);
        while self.queue.len() > LINES_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.queue.pop_front() else { break };
            self.bytes -= octets(&oldest);
            dropped += 1;
        }
        self.dropped += dropped;
        if dropped > 0 && now.since(*self.full_since.get_or_insert(now)) > PATIENCE {
            self.let_go = true;
            dropped += self.queue.len() as u64;
            self.dropped += self.queue.len() as u64;
            self.queue.clear();
            self.bytes = 0;
        }
        dropped
    }

    fn take(&mut self) -> Option<Line> {
        self.full_since = None;
        if self.dropped > 0 {
            return Some(Line::Dropped(std::mem::take(&mut self.dropped)));
        }
        let line = self.queue.pop_front()?;
        self.bytes -= octets(&line);
        Some(line)
    }
}

fn octets(line: &Line) -> usize {
    match line {
        Line::Indication(text) | Line::Ended(text) | Line::Named(_, text) => text.len(),
        Line::Dropped(_) | Line::LetGo => 0,
    }
}

/// What was counted of all listeners since the RIC began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedCounts {
    /// Listeners now.
    pub listeners: usize,
    /// Lines given to queues, each listener's counted.
    pub lines: u64,
    /// Lines that were dropped from them.
    pub dropped: u64,
    /// Listeners let go.
    pub let_go: u64,
}

#[derive(Debug, Default)]
struct Seats {
    seats: BTreeMap<u64, Seat>,
    next: u64,
    counts: FeedCounts,
}

/// Where indications are told.
#[derive(Debug, Clone, Default)]
pub struct Feed(Arc<Mutex<Seats>>);

impl Feed {
    /// One more listener; `None` if there are too many.
    pub fn listen(&self, filter: Filter) -> Option<Listener> {
        self.listen_after(Time::ZERO, filter, [])
    }

    /// One more listener, who hears these lines first; `None` if there are too many.
    pub(crate) fn listen_after(
        &self,
        now: Time,
        filter: Filter,
        first: impl IntoIterator<Item = Line>,
    ) -> Option<Listener> {
        let mut seats = crate::lock(&self.0);
        if seats.seats.len() >= LISTENERS_MAX {
            return None;
        }
        let id = seats.next;
        seats.next += 1;
        let mut seat = Seat { filter, ..Seat::default() };
        for line in first {
            seats.counts.lines += 1;
            seats.counts.dropped += seat.push(now, line);
        }
        seats.seats.insert(id, seat);
        Some(Listener { feed: self.clone(), id, over: false })
    }

    /// What was counted.
    pub fn counts(&self) -> FeedCounts {
        let seats = crate::lock(&self.0);
        FeedCounts { listeners: seats.seats.len(), ..seats.counts }
    }

    /// Tells whoever wants to hear; the line is only made if somebody does.
    pub(crate) fn tell(&self, now: Time, about: &About<'_>, line: impl FnOnce() -> Line) {
        let mut all = crate::lock(&self.0);
        let Seats { seats, counts, .. } = &mut *all;
        let mut wanting =
            seats.values_mut().filter(|seat| !seat.let_go && seat.filter.wants(about)).peekable();
        if wanting.peek().is_none() {
            return;
        }
        let line = line();
        for seat in wanting {
            counts.lines += 1;
            counts.dropped += seat.push(now, line.clone());
            counts.let_go += u64::from(seat.let_go);
            if let Some(waker) = seat.waker.take() {
                waker.wake();
            }
        }
    }
}

/// One who listens; whoever drops it leaves.
#[derive(Debug)]
pub struct Listener {
    feed: Feed,
    id: u64,
    over: bool,
}

impl Listener {
    /// The next line; `None` after [`Line::LetGo`].
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Line>> {
        let mut seats = crate::lock(&self.feed.0);
        let Some(seat) = seats.seats.get_mut(&self.id).filter(|_| !self.over) else {
            return Poll::Ready(None);
        };
        if let Some(line) = seat.take() {
            return Poll::Ready(Some(line));
        }
        if seat.let_go {
            self.over = true;
            return Poll::Ready(Some(Line::LetGo));
        }
        seat.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        crate::lock(&self.feed.0).seats.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn tell(feed: &Feed, now: Time, subscription: u32, sm: &str) {
        let about = About { node: "gnb 505.01 1", sm: Some(sm), subscription };
        feed.tell(now, &about, || Line::Indication(Bytes::from(subscription.to_string())));
    }

    fn next(listener: &mut Listener) -> Option<Line> {
        match listener.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(line) => line,
            Poll::Pending => None,
        }
    }

    fn line(n: u32) -> Option<Line> {
        Some(Line::Indication(Bytes::from(n.to_string())))
    }

    #[test]
    fn a_listener_hears_what_it_wants() {
        let feed = Feed::default();
        let mut all = feed.listen(Filter::default()).unwrap();
        let mac = Filter { sm: Some("MAC".into()), ..Filter::default() };
        let mut mac = feed.listen(mac).unwrap();
        let second = Filter { subscriptions: [2].into(), ..Filter::default() };
        let mut second = feed.listen(second).unwrap();
        tell(&feed, at(1), 1, "mac");
        tell(&feed, at(1), 2, "rlc");
        assert_eq!((next(&mut all), next(&mut all), next(&mut all)), (line(1), line(2), None));
        assert_eq!((next(&mut mac), next(&mut mac)), (line(1), None));
        assert_eq!((next(&mut second), next(&mut second)), (line(2), None));
        let elsewhere = Filter { node: Some("gnb 505.01 2".into()), ..Filter::default() };
        let mut elsewhere = feed.listen(elsewhere).unwrap();
        tell(&feed, at(1), 1, "mac");
        assert_eq!(next(&mut elsewhere), None);
        assert_eq!(feed.counts(), FeedCounts { listeners: 4, lines: 6, dropped: 0, let_go: 0 });
        drop(mac);
        assert_eq!(feed.counts().listeners, 3);
    }

    #[test]
    fn who_reads_slowly_misses_the_oldest_and_is_told_where_and_how_many() {
        let feed = Feed::default();
        let mut slow = feed.listen(Filter::default()).unwrap();
        let most = LINES_MAX as u32;
        (0..most + 3).for_each(|n| tell(&feed, at(1), n, "mac"));
        assert_eq!((next(&mut slow), next(&mut slow)), (Some(Line::Dropped(3)), line(3)));
        assert_eq!((0..most - 1).filter_map(|_| next(&mut slow)).count(), most as usize - 1);
        assert_eq!(next(&mut slow), None);
        assert_eq!(feed.counts().dropped, 3);
    }

    #[test]
    fn who_never_reads_is_let_go_and_holds_nothing() {
        let feed = Feed::default();
        let mut deaf = feed.listen(Filter::default()).unwrap();
        let (most, all) = (LINES_MAX as u64, LINES_MAX as u64 + 2);
        (0..=most as u32).for_each(|n| tell(&feed, at(1), n, "mac"));
        tell(&feed, at(12), 0, "mac");
        tell(&feed, at(13), 0, "mac");
        assert_eq!(feed.counts(), FeedCounts { listeners: 1, lines: all, dropped: all, let_go: 1 });
        let told = [next(&mut deaf), next(&mut deaf), next(&mut deaf)];
        assert_eq!(told, [Some(Line::Dropped(all)), Some(Line::LetGo), None]);
    }

    #[test]
    fn listeners_are_bounded() {
        let feed = Feed::default();
        let all: Vec<_> = (0..LISTENERS_MAX).map(|_| feed.listen(Filter::default()).unwrap()).collect();
        assert!(feed.listen(Filter::default()).is_none());
        drop(all);
        assert!(feed.listen(Filter::default()).is_some());
    }
}
