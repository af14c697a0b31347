//! Packet counters of a switch.

use std::collections::BTreeMap;

use ranlab_pipeline::declare::{Direction, DropReason};
use ranlab_pipeline::engine::{Dropped, Engine};
use ranlab_pipeline::tester::DeviceCounters;
use serde::{Deserialize, Serialize};

/// Counters of a switch during a window of tier `ring`. They show the causes of packets that did not return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingCounters {
    /// Packets received from the rings.
    pub received: u64,
    /// Packets dropped by tables. The keys are ranlab's names of reasons ([`DropReason::name`]), or the switch's names
    /// of tables.
    pub dropped: BTreeMap<String, u64>,
    /// Drops by direction, element, table and reason. Only for ranlab's engine.
    #[serde(default)]
    pub places: BTreeMap<String, u64>,
    /// Packets dropped on request (`sut.drop_every`).
    pub on_purpose: u64,
    /// Packets dropped because the transmit ring was full.
    pub ring_full: u64,
    /// Packets longer than the buffers.
    pub unfit: u64,
    /// Packets with invalid descriptors. The tester writes no such descriptors, so this number should be 0.
    pub malformed: u64,
    /// Counters of each core, if the cores have separate counters. The counters of the device are their sum.
    #[serde(default)]
    pub cores: Vec<Self>,
}

impl RingCounters {
    /// Returns the counters of one core of ranlab's device.
    pub(crate) fn from_ledger(
        ledger: &DeviceCounters,
        drops: Vec<Dropped>,
        received: u64,
        malformed: u64,
    ) -> Self {
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

    /// Returns the sum over all cores. With several cores, the result also contains the counters of each core.
    pub(crate) fn of_cores(cores: Vec<Self>) -> Self {
        let mut all = Self::default();
        cores.iter().for_each(|core| all.add(core));
        Self { cores: if cores.len() > 1 { cores } else { Vec::new() }, ..all }
    }

    /// Returns the counters of ranlab's engine in tier `mem`, which has no rings.
    pub(crate) fn of_engine(engine: &Engine) -> Self {
        let counters = engine.counters();
        let ledger = DeviceCounters { dropped: counters.dropped, ..DeviceCounters::default() };
        Self::from_ledger(&ledger, engine.drops(), counters.received.iter().sum(), 0)
    }

    /// Adds the counters of another core.
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

    /// Returns whether the counters of the cores add up to the total, cause by cause.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let all = Self::of_cores(self.cores.clone());
        self.cores.is_empty() || all == *self
    }

    /// Returns the difference to an earlier snapshot.
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

    /// Converts the counters to the form that a tester checks. `waiting` is the number of packets left in the rings.
    #[must_use]
    pub fn ledger(&self, waiting: u64) -> DeviceCounters {
        let mut ledger = DeviceCounters {
            waiting,
            on_purpose: self.on_purpose,
            ring_full: self.ring_full,
            unfit: self.unfit,
            ..DeviceCounters::default()
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

/// Returns the key of `places` for a drop of ranlab's engine, such as "downlink route table 0 (miss)".
pub(crate) fn place(dropped: &Dropped) -> String {
    let direction = if dropped.direction == Direction::Uplink { "uplink" } else { "downlink" };
    format!("{direction} {} ({})", dropped.element, dropped.reason.name().replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_counters_are_differences_by_drop_reason() {
        let mut ledger = DeviceCounters { on_purpose: 3, ring_full: 2, ..DeviceCounters::default() };
        ledger.dropped[DropReason::Miss as usize] = 5;
        let missed = |packets| Dropped {
            direction: Direction::Downlink,
            element: "route table 0".to_owned(),
            reason: DropReason::Miss,
            packets,
        };
        let then = RingCounters::from_ledger(&ledger, vec![missed(5)], 100, 0);
        ledger.dropped[DropReason::Miss as usize] = 9;
        ledger.dropped[DropReason::Denied as usize] = 1;
        ledger.on_purpose = 4;
        let mut window = RingCounters::from_ledger(&ledger, vec![missed(9)], 150, 0).since(&then);
        assert_eq!((window.received, window.on_purpose, window.ring_full), (50, 1, 0));
        assert_eq!(window.dropped, [("denied".to_owned(), 1), ("miss".to_owned(), 4)].into());
        assert_eq!(window.places, [("downlink route table 0 (miss)".to_owned(), 4)].into());
        window.dropped.insert("table 12".to_owned(), 7);
        let books = window.ledger(2);
        assert_eq!((books.dropped[DropReason::Miss as usize], books.tables, books.waiting), (4, 7, 2));
        assert_eq!(books.causes(), 2 + 4 + 1 + 7 + 1);
    }

    #[test]
    fn core_counters_add_up_to_device_counters() {
        let core = |received, on_purpose| {
            let mut ledger =
                DeviceCounters { on_purpose, ring_full: received / 7, ..DeviceCounters::default() };
            ledger.dropped[DropReason::Metered as usize] = received / 10;
            RingCounters::from_ledger(&ledger, Vec::new(), received, 0)
        };
        let then = RingCounters::of_cores(vec![core(100, 1), core(50, 2)]);
        assert!(then.adds_up() && then.received == 150 && then.dropped["metered"] == 15);
        let window = RingCounters::of_cores(vec![core(200, 1), core(70, 9)]).since(&then);
        assert!(window.adds_up(), "{window:?}");
        assert_eq!((window.received, window.on_purpose, window.cores[1].received), (120, 7, 20));
        assert!(!RingCounters { ring_full: window.ring_full + 1, ..window }.adds_up());
        // With a single core, no counters by core are stored.
        assert!(RingCounters::of_cores(vec![core(9, 0)]).cores.is_empty());
    }
}
