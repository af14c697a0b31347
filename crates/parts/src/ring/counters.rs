//! What a switch says of the packets that reached it.

use std::collections::BTreeMap;

use ranlab_pipeline::declare::{Direction, DropReason};
use ranlab_pipeline::engine::{Dropped, Engine};
use ranlab_pipeline::tester::Ledger;
use serde::{Deserialize, Serialize};

/// A switch's own counters in a window of tier `ring`: what became of packets that did not come back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingCounters {
    /// Packets that it took out of the rings.
    pub received: u64,
    /// Dropped by its tables: by reason as ours calls them ([`DropReason::name`]), or by table as the switch does.
    pub dropped: BTreeMap<String, u64>,
    /// The same of ours by direction, element, table and reason; empty of others.
    #[serde(default)]
    pub places: BTreeMap<String, u64>,
    /// Dropped because it was told to (`sut.drop_every`).
    pub on_purpose: u64,
    /// Forwarded into a ring that was full.
    pub ring_full: u64,
    /// Too long for buffers.
    pub unfit: u64,
    /// Descriptors that led nowhere: ours, so that there must be none.
    pub malformed: u64,
    /// The same of each core, where there are several that count apart: they add up to the above.
    #[serde(default)]
    pub cores: Vec<Self>,
}

impl RingCounters {
    /// Those of a core of our own device.
    pub(crate) fn of(ledger: &Ledger, drops: Vec<Dropped>, received: u64, malformed: u64) -> Self {
        let named = DropReason::ALL.into_iter().zip(ledger.dropped).filter(|(_, count)| *count > 0);
        Self {
            received,
            dropped: named.map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
            places: drops.into_iter().map(|one| (place(&one), one.packets)).collect(),
            on_purpose: ledger.on_purpose,
            ring_full: ledger.ring_full,
            unfit: ledger.unfit,
            malformed,
            cores: Vec::new(),
        }
    }

    /// Those of all cores together, each beside them where there are several.
    pub(crate) fn of_cores(cores: Vec<Self>) -> Self {
        let mut all = Self::default();
        cores.iter().for_each(|core| all.add(core));
        Self { cores: if cores.len() > 1 { cores } else { Vec::new() }, ..all }
    }

    /// Those of our engine without rings: what it took and dropped.
    pub(crate) fn of_engine(engine: &Engine) -> Self {
        let counters = engine.counters();
        let ledger = Ledger { dropped: counters.dropped, ..Ledger::default() };
        Self::of(&ledger, engine.drops(), counters.received.iter().sum(), 0)
    }

    /// Those of another core on top.
    pub(crate) fn add(&mut self, other: &Self) {
        let sum = |into: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>| {
            from.iter().for_each(|(name, count)| *into.entry(name.clone()).or_default() += count);
        };
        self.received += other.received;
        sum(&mut self.dropped, &other.dropped);
        sum(&mut self.places, &other.places);
        self.on_purpose += other.on_purpose;
        self.ring_full += other.ring_full;
        self.unfit += other.unfit;
        self.malformed += other.malformed;
    }

    /// Whether what the cores counted is what the whole counted, cause by cause.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let all = Self::of_cores(self.cores.clone());
        self.cores.is_empty() || all == *self
    }

    /// What happened between an earlier look and this one.
    pub(crate) fn since(&self, then: &Self) -> Self {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let each = |now: &BTreeMap<String, u64>, then: &BTreeMap<String, u64>| {
            let of = |(name, count): (&String, &u64)| {
                (name.clone(), since(*count, then.get(name).copied().unwrap_or_default()))
            };
            now.iter().map(of).filter(|(_, count)| *count > 0).collect()
        };
        Self {
            received: since(self.received, then.received),
            dropped: each(&self.dropped, &then.dropped),
            places: each(&self.places, &then.places),
            on_purpose: since(self.on_purpose, then.on_purpose),
            ring_full: since(self.ring_full, then.ring_full),
            unfit: since(self.unfit, then.unfit),
            malformed: since(self.malformed, then.malformed),
            cores: self.cores.iter().zip(&then.cores).map(|(now, then)| now.since(then)).collect(),
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

/// A place where ours drops packets, as a table of drops names it: "downlink route table 0 (miss)".
pub(crate) fn place(dropped: &Dropped) -> String {
    let direction = if dropped.direction == Direction::Uplink { "uplink" } else { "downlink" };
    format!("{direction} {} ({})", dropped.element, dropped.reason.name().replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_difference_and_every_drop_keeps_its_name() {
        let mut ledger = Ledger { on_purpose: 3, ring_full: 2, ..Ledger::default() };
        ledger.dropped[DropReason::Miss as usize] = 5;
        let missed = |packets| Dropped {
            direction: Direction::Downlink,
            element: "route table 0".to_owned(),
            reason: DropReason::Miss,
            packets,
        };
        let then = RingCounters::of(&ledger, vec![missed(5)], 100, 0);
        ledger.dropped[DropReason::Miss as usize] = 9;
        ledger.dropped[DropReason::Denied as usize] = 1;
        ledger.on_purpose = 4;
        let mut window = RingCounters::of(&ledger, vec![missed(9)], 150, 0).since(&then);
        assert_eq!((window.received, window.on_purpose, window.ring_full), (50, 1, 0));
        assert_eq!(window.dropped, [("denied".to_owned(), 1), ("miss".to_owned(), 4)].into());
        assert_eq!(window.places, [("downlink route table 0 (miss)".to_owned(), 4)].into());
        window.dropped.insert("table 12".to_owned(), 7);
        let books = window.ledger(2);
        assert_eq!((books.dropped[DropReason::Miss as usize], books.tables, books.waiting), (4, 7, 2));
        assert_eq!(books.causes(), 2 + 4 + 1 + 7 + 1);
    }

    #[test]
    fn what_cores_count_is_what_their_device_counts() {
        let core = |received, on_purpose| {
            let mut ledger = Ledger { on_purpose, ring_full: received / 7, ..Ledger::default() };
            ledger.dropped[DropReason::Metered as usize] = received / 10;
            RingCounters::of(&ledger, Vec::new(), received, 0)
        };
        let then = RingCounters::of_cores(vec![core(100, 1), core(50, 2)]);
        assert!(then.adds_up() && then.received == 150 && then.dropped["metered"] == 15);
        let window = RingCounters::of_cores(vec![core(200, 1), core(70, 9)]).since(&then);
        assert!(window.adds_up(), "{window:?}");
        assert_eq!((window.received, window.on_purpose, window.cores[1].received), (120, 7, 20));
        assert!(!RingCounters { ring_full: window.ring_full + 1, ..window }.adds_up());
        // One core has no others beside it.
        assert!(RingCounters::of_cores(vec![core(9, 0)]).cores.is_empty());
    }
}
