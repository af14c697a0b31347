//! Recorded changes of a routing table in the format of route collectors: `SECONDS a PREFIX NEXTHOP` announces a
//! prefix, `SECONDS w PREFIX` withdraws it.
use super::addresses::AnyPrefix;
use super::fault::{OwnError, OwnFault};
use super::fib::{Hops, lines, prefix_of};
use super::read::Lines;
use crate::declare::{Change, Event, EventKind, NextHopId, Port, RouteId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Maximum number of updates.
pub const UPDATES_MAX: usize = 1 << 20;
/// Maximum number of updates per second.
pub const UPDATES_PER_S_MAX: u64 = 100_000;

/// The text of recorded updates, and their pace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Recorded {
    /// Name of the file in messages.
    pub file: String,
    /// Content of the file.
    pub text: String,
    /// Updates per second. 0: at the times of the file.
    pub per_s: u64,
}

/// An update of one prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipelines) struct Update {
    second: u64,
    pub(in crate::pipelines) prefix: AnyPrefix,
    /// Announced next hop, or `None` to withdraw the prefix.
    pub(in crate::pipelines) next_hop: Option<NextHopId>,
}

/// Updates of one table, in the order of their times.
#[derive(Debug, Clone, Default)]
pub(in crate::pipelines) struct Updates {
    table: u32,
    per_s: u64,
    all: Vec<Update>,
}

impl Updates {
    /// Parses the text of recorded updates.
    ///
    /// # Errors
    ///
    /// The first invalid line.
    pub(super) fn parse(recorded: &Recorded, table: u32, hops: &mut Hops) -> Result<Self, OwnError> {
        let faults = Lines::new(&recorded.file, "");
        let mut all: Vec<Update> = Vec::new();
        let mut first = None;
        for line in lines(&recorded.file, &recorded.text) {
            let (number, words) = line?;
            let wrong = |what: String| faults.error(number, OwnFault::Update(what));
            let (time, prefix, hop) = match words[..] {
                [time, "a", prefix, hop] => (time, prefix, Some(hop)),
                [time, "w", prefix] | [time, "w", prefix, _] => (time, prefix, None),
                _ => {
                    return Err(wrong("SECONDS a PREFIX NEXTHOP or SECONDS w PREFIX is required".to_owned()));
                }
            };
            let time: f64 = time
                .parse()
                .ok()
                .filter(|time: &f64| (0.0..1e12).contains(time))
                .ok_or_else(|| wrong(format!("\"{time}\" is not a number of seconds")))?;
            let time = time as u64;
            let second = time
                .checked_sub(*first.get_or_insert(time))
                .ok_or_else(|| wrong(format!("second {time} is before the first second of the file")))?;
            if all.last().is_some_and(|last| last.second > second) {
                return Err(wrong(format!("second {time} is before the second of the previous line")));
            }
            if all.len() == UPDATES_MAX {
                return Err(wrong(format!("the file has more than {UPDATES_MAX} updates")));
            }
            let prefix = prefix_of(prefix).map_err(wrong)?;
            let next_hop = hop.map(|hop| hops.find(hop).map_err(wrong)).transpose()?;
            all.push(Update { second, prefix, next_hop });
        }
        if all.is_empty() {
            return Err(faults.error(0, OwnFault::Update("the file has no update".to_owned())));
        }
        Ok(Self { table, per_s: recorded.per_s.min(UPDATES_PER_S_MAX), all })
    }

    /// Returns an update by its number.
    pub(in crate::pipelines) fn get(&self, index: u32) -> Option<Update> {
        self.all.get(index as usize).copied()
    }

    /// Returns the table that the updates change.
    pub(in crate::pipelines) const fn table(&self) -> u32 {
        self.table
    }

    /// Returns the updates of a second of a run, spread evenly over the second. The list is empty after the end of the
    /// file.
    pub(in crate::pipelines) fn events(&self, second: u64) -> Vec<Event> {
        let (from, to) = if self.per_s > 0 {
            let at = |second: u64| {
                usize::try_from(second.saturating_mul(self.per_s))
                    .map_or(self.all.len(), |at| at.min(self.all.len()))
            };
            (at(second), at(second.saturating_add(1)))
        } else {
            let before = |second: u64| self.all.partition_point(|update| update.second < second);
            (before(second), before(second.saturating_add(1)))
        };
        let count = (to - from) as u64;
        let event = |(place, index): (u64, usize)| Event {
            at_ns: place * 1_000_000_000 / count,
            what: EventKind::RouteUpdate(index as u32),
            changes: vec![self.change(self.all[index])],
        };
        (0..).zip(from..to).map(event).collect()
    }

    fn change(&self, update: Update) -> Change {
        let table = RouteId(self.table);
        let next_hop = update.next_hop;
        match update.prefix {
            AnyPrefix::V4(prefix) => Change::Route4 { table, prefix, next_hop },
            AnyPrefix::V6(prefix) => Change::Route6 { table, prefix, next_hop },
        }
    }
}

/// Recorded updates for pipeline `l3fwd`. Next hops are numbered in the order of their appearance.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Recorded", into = "Recorded")]
pub struct Replay {
    recorded: Recorded,
    updates: Arc<Updates>,
}

impl PartialEq for Replay {
    fn eq(&self, other: &Self) -> bool {
        self.recorded == other.recorded
    }
}

impl From<Replay> for Recorded {
    fn from(replay: Replay) -> Self {
        replay.recorded
    }
}

impl TryFrom<Recorded> for Replay {
    type Error = OwnError;

    fn try_from(recorded: Recorded) -> Result<Self, OwnError> {
        let mut hops = Hops::new(std::iter::empty(), (0, UPDATES_MAX), Port::Core, None);
        let updates = Arc::new(Updates::parse(&recorded, 0, &mut hops)?);
        Ok(Self { recorded, updates })
    }
}

impl Replay {
    /// Returns the prefix and the next hop of an update (`None`: the prefix is withdrawn).
    pub(in crate::pipelines) fn get(&self, index: u32) -> Option<(AnyPrefix, Option<u32>)> {
        let update = self.updates.get(index)?;
        Some((update.prefix, update.next_hop.map(|hop| hop.0)))
    }

    /// Returns the updates of a second of a run. Next hops are numbered modulo `hops`.
    pub(in crate::pipelines) fn events(&self, second: u64, hops: u32) -> Vec<Event> {
        let mut events = self.updates.events(second);
        for change in events.iter_mut().flat_map(|event| &mut event.changes) {
            if let Change::Route4 { next_hop: Some(hop), .. } | Change::Route6 { next_hop: Some(hop), .. } =
                change
            {
                hop.0 %= hops.max(1);
            }
        }
        events
    }
}
