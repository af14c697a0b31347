//! Buffers reports that arrive before a listener exists, for the first listener whose filter matches. A report on demand
//! is sent only once, often before its requester has opened the stream.
use super::feed::{Filter, Line, LineScope};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of lines per subscription.
const LINES_MAX: usize = 64;
/// Maximum size of the lines of a subscription, in bytes.
const BYTES_MAX: usize = 256 << 10;
/// Maximum number of subscriptions with stored lines. A further subscription replaces the one with the lowest number.
const SUBSCRIPTIONS_MAX: usize = 64;

/// Counters of reports of a subscription that arrived before a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlyCounts {
    /// Reports that wait for a listener.
    pub kept: usize,
    /// Reports dropped because of a limit.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Kept {
    node: String,
    sm: Option<String>,
    lines: VecDeque<Bytes>,
    bytes: usize,
    dropped: u64,
}

/// Kept reports by subscription.
#[derive(Debug, Default)]
pub(super) struct Early(BTreeMap<u32, Kept>);

impl Early {
    /// Stores a report. The oldest reports of its subscription are dropped to make room.
    pub(super) fn keep(&mut self, about: &LineScope<'_>, line: Bytes) {
        if self.0.len() >= SUBSCRIPTIONS_MAX && !self.0.contains_key(&about.subscription) {
            // A subscription that ended without a listener most likely has a low number.
            self.0.pop_first();
        }
        let kept = self.0.entry(about.subscription).or_insert_with(|| Kept {
            node: about.node.to_owned(),
            sm: about.sm.map(str::to_owned),
            ..Kept::default()
        });
        kept.bytes += line.len();
        kept.lines.push_back(line);
        while kept.lines.len() > LINES_MAX || kept.bytes > BYTES_MAX {
            let Some(oldest) = kept.lines.pop_front() else { break };
            kept.bytes -= oldest.len();
            kept.dropped += 1;
        }
    }

    /// Removes and returns the reports that match a filter, ordered by subscription and then by arrival.
    pub(super) fn take(&mut self, filter: &Filter) -> Vec<Line> {
        let mut lines = Vec::new();
        for (subscription, kept) in &mut self.0 {
            let sm = kept.sm.as_deref();
            if !filter.wants(&LineScope { node: &kept.node, sm, subscription: *subscription }) {
                continue;
            }
            if kept.dropped > 0 && !kept.lines.is_empty() {
                lines.push(Line::Dropped(kept.dropped));
            }
            lines.extend(kept.lines.drain(..).map(Line::Indication));
            kept.bytes = 0;
        }
        self.0.retain(|_, kept| !kept.lines.is_empty());
        lines
    }

    /// Drops the reports of a subscription that has ended without a listener.
    pub(super) fn forget(&mut self, subscription: u32) {
        self.0.remove(&subscription);
    }

    /// Returns the counters of a subscription.
    pub(super) fn counts(&self, subscription: u32) -> EarlyCounts {
        self.0.get(&subscription).map_or_else(EarlyCounts::default, |kept| EarlyCounts {
            kept: kept.lines.len(),
            dropped: kept.dropped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(subscription: u32) -> LineScope<'static> {
        LineScope { node: "gnb 505.01 1", sm: Some("rc"), subscription }
    }

    #[test]
    fn first_matching_listener_gets_early_reports() {
        let mut early = Early::default();
        early.keep(&about(3), Bytes::from_static(b"one"));
        early.keep(&about(4), Bytes::from_static(b"two"));
        let other = Filter { sm: Some("kpm".to_owned()), ..Filter::default() };
        assert_eq!(early.take(&other), []);
        let third = Filter { subscriptions: [3].into(), ..Filter::default() };
        assert_eq!(early.take(&third), [Line::Indication(Bytes::from_static(b"one"))]);
        assert_eq!(early.take(&third), []);
        assert_eq!((early.counts(3).kept, early.counts(4).kept), (0, 1));
        early.forget(4);
        assert_eq!(early.take(&Filter::default()), []);
    }

    #[test]
    fn oldest_early_reports_are_dropped_and_counted() {
        let mut early = Early::default();
        for _ in 0..LINES_MAX + 2 {
            early.keep(&about(1), Bytes::from_static(b"x"));
        }
        early.keep(&about(2), Bytes::from(vec![b'x'; BYTES_MAX + 1]));
        assert_eq!(early.counts(1), EarlyCounts { kept: LINES_MAX, dropped: 2 });
        assert_eq!(early.counts(2), EarlyCounts { kept: 0, dropped: 1 });
        let lines = early.take(&Filter { subscriptions: [1].into(), ..Filter::default() });
        assert_eq!((lines.len(), &lines[0]), (LINES_MAX + 1, &Line::Dropped(2)));
        for subscription in 10..10 + 2 * SUBSCRIPTIONS_MAX as u32 {
            early.keep(&about(subscription), Bytes::from_static(b"x"));
        }
        assert!(early.0.len() <= SUBSCRIPTIONS_MAX);
    }
}
