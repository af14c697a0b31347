//! What a switch says of the packets that reached it.

use std::collections::BTreeMap;

use ranlab_dataplane::declare::DropReason;
use ranlab_dataplane::tester::Ledger;
use serde::{Deserialize, Serialize};

/// A switch's own counters in a window of tier `ring`: what became of packets that did not come back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingCounters {
    /// Packets that it took out of the rings.
    pub received: u64,
    /// Dropped by its tables: by reason as ours calls them ([`DropReason::name`]), or by table as the switch does.
    pub dropped: BTreeMap<String, u64>,
    /// Dropped because it was told to (`sut.drop_every`).
    pub on_purpose: u64,
    /// Forwarded into a ring that was full.
    pub ring_full: u64,
    /// Too long for buffers.
    pub unfit: u64,
    /// Descriptors that led nowhere: ours, so that there must be none.
    pub malformed: u64,
}

impl RingCounters {
    /// Those of our own device.
    pub(crate) fn of(ledger: &Ledger, received: u64, malformed: u64) -> Self {
        let named = DropReason::ALL.into_iter().zip(ledger.dropped).filter(|(_, count)| *count > 0);
        Self {
            received,
            dropped: named.map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
            on_purpose: ledger.on_purpose,
            ring_full: ledger.ring_full,
            unfit: ledger.unfit,
            malformed,
        }
    }

    /// What happened between an earlier look and this one.
    pub(crate) fn since(&self, then: &Self) -> Self {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let dropped = self.dropped.iter().map(|(name, count)| {
            (name.clone(), since(*count, then.dropped.get(name).copied().unwrap_or_default()))
        });
        Self {
            received: since(self.received, then.received),
            dropped: dropped.filter(|(_, count)| *count > 0).collect(),
            on_purpose: since(self.on_purpose, then.on_purpose),
            ring_full: since(self.ring_full, then.ring_full),
            unfit: since(self.unfit, then.unfit),
            malformed: since(self.malformed, then.malformed),
        }
    }

    /// As a tester's books have it, with the packets that nobody took out of the rings.
    #[must_use]
    pub fn ledger(&self, waiting: u64) -> Ledger {
        let mut ledger = Ledger {
            waiting,
            on_purpose: self.on_purpose,
            ring_full: self.ring_full,
            unfit: self.unfit,
            ..Ledger::default()
        };
        for (name, count) in &self.dropped {
            match DropReason::ALL.into_iter().find(|reason| reason.name() == name) {
                Some(reason) => ledger.dropped[reason as usize] += count,
                None => ledger.tables += count,
            }
        }
        ledger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_difference_and_every_drop_keeps_its_name() {
        let mut ledger = Ledger { on_purpose: 3, ring_full: 2, ..Ledger::default() };
        ledger.dropped[DropReason::Miss as usize] = 5;
        let then = RingCounters::of(&ledger, 100, 0);
        ledger.dropped[DropReason::Miss as usize] = 9;
        ledger.dropped[DropReason::Denied as usize] = 1;
        ledger.on_purpose = 4;
        let mut window = RingCounters::of(&ledger, 150, 0).since(&then);
        assert_eq!((window.received, window.on_purpose, window.ring_full), (50, 1, 0));
        assert_eq!(window.dropped, [("denied".to_owned(), 1), ("miss".to_owned(), 4)].into());
        window.dropped.insert("table 12".to_owned(), 7);
        let books = window.ledger(2);
        assert_eq!((books.dropped[DropReason::Miss as usize], books.tables, books.waiting), (4, 7, 2));
        assert_eq!(books.causes(), 2 + 4 + 1 + 7 + 1);
    }
}
