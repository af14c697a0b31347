//! Decoded indications for listeners. Each listener has a bounded queue. A slow listener loses the oldest lines and
//! receives their number; a listener that reads nothing for long is disconnected.
use crate::Time;
use crate::early::Early;
pub use crate::early::EarlyCounts;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Maximum number of listeners; further ones are refused.
const LISTENERS_MAX: usize = 64;
/// Maximum number of lines in a listener's queue.
const LINES_MAX: usize = 1_024;
/// Maximum number of bytes in a listener's queue; beyond either limit, the oldest lines are dropped.
const BYTES_MAX: usize = 4 << 20;
/// Time after which a listener that reads nothing from a full queue is disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// Filter of a listener; an empty condition matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Name of the node.
    pub node: Option<String>,
    /// Service model name.
    pub sm: Option<String>,
    /// Ids of subscriptions.
    pub subscriptions: BTreeSet<u32>,
}

/// Origin of a line.
#[derive(Debug, Clone, Copy)]
pub struct LineScope<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// Service model name; `None` if the line belongs to no service model.
    pub sm: Option<&'a str>,
    /// Id of the subscription.
    pub subscription: u32,
}

impl Filter {
    pub(super) fn wants(&self, about: &LineScope<'_>) -> bool {
        self.node.as_deref().is_none_or(|node| node == about.node)
            && self.sm.as_deref().is_none_or(|sm| about.sm.is_some_and(|is| is.eq_ignore_ascii_case(sm)))
            && (self.subscriptions.is_empty() || self.subscriptions.contains(&about.subscription))
    }
}

/// Line for a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Report, as a JSON object on one line.
    Indication(Bytes),
    /// End of a subscription, as a JSON object on one line.
    Ended(Bytes),
    /// Event of this name, as JSON on one line.
    Named(&'static str, Bytes),
    /// Number of lines dropped at this point because the listener was too slow.
    Dropped(u64),
    /// Last line: the listener was disconnected because it did not read.
    LetGo,
}

#[derive(Debug, Default)]
struct Subscriber {
    filter: Filter,
    queue: VecDeque<Line>,
    bytes: usize,
    /// Number of dropped lines not yet reported to the listener.
    dropped: u64,
    /// Time since which the queue is full and nothing was read.
    full_since: Option<Time>,
    let_go: bool,
    waker: Option<Waker>,
}

impl Subscriber {
    /// Queues a line and returns the number of lines dropped.
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

/// Counters of all listeners since the start of the RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedCounts {
    /// Current number of listeners.
    pub listeners: usize,
    /// Lines queued, counted per listener.
    pub lines: u64,
    /// Number of lines dropped.
    pub dropped: u64,
    /// Number of listeners disconnected.
    pub let_go: u64,
}

#[derive(Debug, Default)]
struct Subscribers {
    seats: BTreeMap<u64, Subscriber>,
    next: u64,
    counts: FeedCounts,
    early: Early,
}

/// Feed of indications; clones share state.
#[derive(Debug, Clone, Default)]
pub struct Feed(Arc<Mutex<Subscribers>>);

impl Feed {
    /// Adds a listener; `None` if there are too many listeners.
    pub fn listen(&self, filter: Filter) -> Option<FeedReceiver> {
        self.listen_after(Time::ZERO, filter, [])
    }

    /// Adds a listener that first receives these lines; `None` if there are too many listeners.
    pub fn listen_after(
        &self,
        now: Time,
        filter: Filter,
        first: impl IntoIterator<Item = Line>,
    ) -> Option<FeedReceiver> {
        let mut seats = crate::lock(&self.0);
        if seats.seats.len() >= LISTENERS_MAX {
            return None;
        }
        let id = seats.next;
        seats.next += 1;
        let early = seats.early.take(&filter);
        let mut seat = Subscriber { filter, ..Subscriber::default() };
        for line in first.into_iter().chain(early) {
            seats.counts.lines += 1;
            seats.counts.dropped += seat.push(now, line);
        }
        seats.seats.insert(id, seat);
        Some(FeedReceiver { feed: self.clone(), id, over: false })
    }

    /// Returns the counters.
    pub fn counts(&self) -> FeedCounts {
        let seats = crate::lock(&self.0);
        FeedCounts { listeners: seats.seats.len(), ..seats.counts }
    }

    /// Sends a line to all matching listeners. The line is produced only if there is such a listener.
    pub fn publish(&self, now: Time, about: &LineScope<'_>, line: impl FnOnce() -> Line) {
        crate::lock(&self.0).publish(now, about, line);
    }

    /// Sends a report to its listeners. Without a listener, the report is stored for the first listener that matches.
    pub fn tell_or_keep(&self, now: Time, about: &LineScope<'_>, report: impl Fn() -> Bytes) {
        let mut seats = crate::lock(&self.0);
        if !seats.publish(now, about, || Line::Indication(report())) {
            seats.early.keep(about, report());
        }
    }

    /// Forgets the kept reports of a subscription.
    pub fn forget(&self, subscription: u32) {
        crate::lock(&self.0).early.forget(subscription);
    }

    /// Returns the number of kept and dropped reports of a subscription without a listener.
    pub fn early(&self, subscription: u32) -> EarlyCounts {
        crate::lock(&self.0).early.counts(subscription)
    }
}

impl Subscribers {
    /// Returns whether any listener matches.
    fn publish(&mut self, now: Time, about: &LineScope<'_>, line: impl FnOnce() -> Line) -> bool {
        let Self { seats, counts, .. } = self;
        let mut wanting =
            seats.values_mut().filter(|seat| !seat.let_go && seat.filter.wants(about)).peekable();
        if wanting.peek().is_none() {
            return false;
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
        true
    }
}

/// Listener; dropping it ends the subscription to the feed.
#[derive(Debug)]
pub struct FeedReceiver {
    feed: Feed,
    id: u64,
    over: bool,
}

impl FeedReceiver {
    /// Polls for the next line; `None` after [`Line::LetGo`].
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

impl Drop for FeedReceiver {
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

    fn publish(feed: &Feed, now: Time, subscription: u32, sm: &str) {
        let about = LineScope { node: "gnb 505.01 1", sm: Some(sm), subscription };
        feed.publish(now, &about, || Line::Indication(Bytes::from(subscription.to_string())));
    }

    fn next(listener: &mut FeedReceiver) -> Option<Line> {
        match listener.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(line) => line,
            Poll::Pending => None,
        }
    }

    fn line(n: u32) -> Option<Line> {
        Some(Line::Indication(Bytes::from(n.to_string())))
    }

    #[test]
    fn listener_receives_matching_lines() {
        let feed = Feed::default();
        let mut all = feed.listen(Filter::default()).unwrap();
        let mac = Filter { sm: Some("MAC".into()), ..Filter::default() };
        let mut mac = feed.listen(mac).unwrap();
        let second = Filter { subscriptions: [2].into(), ..Filter::default() };
        let mut second = feed.listen(second).unwrap();
        publish(&feed, at(1), 1, "mac");
        publish(&feed, at(1), 2, "rlc");
        assert_eq!((next(&mut all), next(&mut all), next(&mut all)), (line(1), line(2), None));
        assert_eq!((next(&mut mac), next(&mut mac)), (line(1), None));
        assert_eq!((next(&mut second), next(&mut second)), (line(2), None));
        let elsewhere = Filter { node: Some("gnb 505.01 2".into()), ..Filter::default() };
        let mut elsewhere = feed.listen(elsewhere).unwrap();
        publish(&feed, at(1), 1, "mac");
        assert_eq!(next(&mut elsewhere), None);
        assert_eq!(feed.counts(), FeedCounts { listeners: 4, lines: 6, dropped: 0, let_go: 0 });
        drop(mac);
        assert_eq!(feed.counts().listeners, 3);
    }

    #[test]
    fn slow_listener_loses_oldest_lines_and_receives_their_number() {
        let feed = Feed::default();
        let mut slow = feed.listen(Filter::default()).unwrap();
        let most = LINES_MAX as u32;
        (0..most + 3).for_each(|n| publish(&feed, at(1), n, "mac"));
        assert_eq!((next(&mut slow), next(&mut slow)), (Some(Line::Dropped(3)), line(3)));
        assert_eq!((0..most - 1).filter_map(|_| next(&mut slow)).count(), most as usize - 1);
        assert_eq!(next(&mut slow), None);
        assert_eq!(feed.counts().dropped, 3);
    }

    #[test]
    fn unresponsive_listener_is_disconnected_and_freed() {
        let feed = Feed::default();
        let mut deaf = feed.listen(Filter::default()).unwrap();
        let most = LINES_MAX as u64;
        let all = LINES_MAX as u64 + 2;
        (0..=most as u32).for_each(|n| publish(&feed, at(1), n, "mac"));
        publish(&feed, at(12), 0, "mac");
        publish(&feed, at(13), 0, "mac");
        assert_eq!(feed.counts(), FeedCounts { listeners: 1, lines: all, dropped: all, let_go: 1 });
        let received = [next(&mut deaf), next(&mut deaf), next(&mut deaf)];
        assert_eq!(received, [Some(Line::Dropped(all)), Some(Line::LetGo), None]);
    }

    #[test]
    fn number_of_listeners_is_limited() {
        let feed = Feed::default();
        let all: Vec<_> = (0..LISTENERS_MAX).map(|_| feed.listen(Filter::default()).unwrap()).collect();
        assert!(feed.listen(Filter::default()).is_none());
        drop(all);
        assert!(feed.listen(Filter::default()).is_some());
    }
}
