//! What iApps know and hand over: snapshots in the store of several RICs.
//!
//! Any RIC's iApp says that something has changed ([`IAppOutbox::save`](super::IAppOutbox::save)); a little later it is asked for a
//! snapshot, which is written under a key of its own and told by the watch to all other RICs, whose iApp of that name gets it at once,
//! or when the node comes to be known there. So whichever RIC a node moves to has it already, and nothing is asked at that moment.
//!
//! Of two that save at the same moment the later write stands, at all of them: while a RIC has something of its own to write it takes
//! nobody else's. A write that fails is repeated with what is known then; each says upon which revision, so that one that the store
//! takes late is not taken for news.
use super::directory::{BusAsk, BusNews, BusWrite, WriteFailure, WriteId, node_key};
use super::iapp::{IApp, Notice};
use super::{Ric, RicEvent};
use crate::Time;
use bytes::Bytes;
use ranlab_wire::e2ap::GlobalE2NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Octets of one snapshot, whatever an iApp declares.
pub const SNAPSHOT_BYTES_MAX: usize = 64 << 10;
/// Octets of all that a RIC knows of; nothing is added to the store beyond, for claims are to find room there.
pub const SNAPSHOTS_BYTES_MAX: usize = 64 << 20;
/// Snapshots that a RIC knows of; what is told of further ones is counted and not kept.
const SNAPSHOTS_MAX: usize = 1 << 16;
/// Octets that are kept of a value's head.
const HEAD_BYTES_MAX: usize = 256;
/// Changes within so much time are one write.
const SAVE_AFTER: Duration = Duration::from_millis(50);
/// A write that failed is repeated after this, and one without an answer counts as failed after five times as much.
const AGAIN: Duration = Duration::from_secs(1);
/// Writes under way at once: signs of life stand in one queue with them.
const WRITES_MAX: usize = 16;
/// What keys begin with.
const STATES: &str = "state.";
/// The first words of each value, which later formats change.
const FORMAT: &str = "ranlab1 state ";
/// Numbers of writes from here on are ours, those below the directory's.
const FIRST_WRITE: u64 = 1 << 63;
/// Characters of an iApp's name in a key.
const NAME_LEN_MAX: usize = 32;

/// What an iApp that hands over declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    /// The form of its snapshots: one of another version is not read.
    pub version: u16,
    /// Octets of one snapshot at most, up to [`SNAPSHOT_BYTES_MAX`].
    pub bytes_max: usize,
}

impl Keeps {
    fn most(&self) -> usize {
        self.bytes_max.min(SNAPSHOT_BYTES_MAX)
    }
}

/// Why a snapshot is not handed over, or not taken: the iApp knows nothing then, as if there were none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// It is larger than the iApp has declared.
    #[error("it has {bytes} octets, at most {most} are allowed")]
    TooLarge {
        /// It has.
        bytes: usize,
        /// It may have.
        most: usize,
    },
    /// Another version of the iApp wrote it.
    #[error("it is of version {version}, this RIC's iApp reads {expected}")]
    Version {
        /// Whose.
        version: u16,
        /// Which is read.
        expected: u16,
    },
    /// It is no snapshot, or the iApp does not understand it.
    #[error("{0}")]
    Malformed(String),
    /// The store has as many as it may.
    #[error("snapshots of {SNAPSHOTS_BYTES_MAX} octets are in the store, or {SNAPSHOTS_MAX} of them")]
    NoRoom,
}

/// What was counted of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // the names say it
pub struct SnapshotCounters {
    /// Written by this RIC, and acknowledged.
    pub saved: u64,
    /// Given to an iApp here.
    pub restored: u64,
    pub too_large: u64,
    pub other_version: u64,
    pub malformed: u64,
    pub no_room: u64,
    /// Writes that failed or had no answer; they are repeated.
    pub failed: u64,
}

impl SnapshotCounters {
    fn count(&mut self, why: &NotTaken) {
        *match why {
            NotTaken::TooLarge { .. } => &mut self.too_large,
            NotTaken::Version { .. } => &mut self.other_version,
            NotTaken::Malformed(_) => &mut self.malformed,
            NotTaken::NoRoom => &mut self.no_room,
        } += 1;
    }
}

/// A value of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    ric: Arc<str>,
    life: u64,
    version: u16,
    octets: Bytes,
}

impl Snapshot {
    fn write(&self) -> Bytes {
        let Self { ric, life, version, octets } = self;
        let mut value = format!("{FORMAT}ric={ric} life={life:x} version={version}\n").into_bytes();
        value.extend_from_slice(octets);
        value.into()
    }

    fn read(value: &Bytes) -> Option<Self> {
        let end = value.iter().take(HEAD_BYTES_MAX).position(|octet| *octet == b'\n')?;
        let head = std::str::from_utf8(&value[..end]).ok()?.strip_prefix(FORMAT)?;
        let words: BTreeMap<_, _> = head.split(' ').filter_map(|word| word.split_once('=')).collect();
        Some(Self {
            ric: (*words.get("ric")?).into(),
            life: u64::from_str_radix(words.get("life")?, 16).ok()?,
            version: words.get("version")?.parse().ok()?,
            octets: value.slice(end + 1..),
        })
    }
}

/// The last one of a key that the watch has told; without a snapshot, what was told is none.
#[derive(Debug)]
struct Known {
    revision: u64,
    snapshot: Option<Snapshot>,
}

impl Known {
    fn octets(&self) -> usize {
        self.snapshot.as_ref().map_or(0, |it| it.octets.len())
    }
}

/// A change that is not yet written.
#[derive(Debug, Clone)]
struct Change {
    place: usize,
    about: Option<GlobalE2NodeId>,
    at: Time,
    /// Nothing is new but that a write has failed.
    again: bool,
}

/// What a RIC among others knows of snapshots.
#[derive(Debug)]
pub(super) struct States {
    name: Arc<str>,
    life: u64,
    known: BTreeMap<String, Known>,
    bytes: usize,
    /// By key.
    changed: BTreeMap<String, Change>,
    under_way: BTreeMap<WriteId, (String, Change, Snapshot)>,
    last: u64,
    /// Nodes that iApps know, by what keys call them.
    nodes: BTreeMap<String, GlobalE2NodeId>,
    pub(super) counters: SnapshotCounters,
}

/// The part of a key that names a node.
fn word(node: &GlobalE2NodeId) -> String {
    let key = node_key(node);
    key.split_once('.').map_or(key.as_str(), |(_, word)| word).to_owned()
}

/// The key of what an iApp knows of a node, or of none.
fn state_key(iapp: &str, about: Option<&GlobalE2NodeId>) -> String {
    match about {
        Some(node) => format!("{STATES}{iapp}.{}", word(node)),
        None => format!("{STATES}{iapp}"),
    }
}

/// Whether an iApp hands over, and how.
fn keeps(iapp: &dyn IApp) -> Option<Keeps> {
    let fits = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_';
    let name = iapp.name();
    let fits = (1..=NAME_LEN_MAX).contains(&name.len()) && name.bytes().all(fits);
    iapp.keeps().filter(|_| fits)
}

impl States {
    pub(super) fn new(name: Arc<str>, life: u64) -> Self {
        Self {
            name,
            life,
            known: BTreeMap::new(),
            bytes: 0,
            changed: BTreeMap::new(),
            under_way: BTreeMap::new(),
            last: FIRST_WRITE,
            nodes: BTreeMap::new(),
            counters: SnapshotCounters::default(),
        }
    }

    /// Whether news of the store are of snapshots.
    pub(super) fn are_of(news: &BusNews) -> bool {
        match news {
            BusNews::Entry { key, .. } => key.starts_with(STATES),
            BusNews::Written { id, .. } => id.0 > FIRST_WRITE,
            _ => false,
        }
    }

    fn is_own(&self, snapshot: &Snapshot) -> bool {
        snapshot.ric == self.name && snapshot.life == self.life
    }

    fn is_under_way(&self, key: &str) -> bool {
        self.under_way.values().any(|(it, _, _)| it == key)
    }

    /// Whether this RIC has still to say what it knows itself.
    fn is_saying(&self, key: &str) -> bool {
        self.changed.contains_key(key) || self.is_under_way(key)
    }

    fn room(&self) -> usize {
        WRITES_MAX.saturating_sub(self.under_way.len())
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        let late = self.under_way.values().map(|(_, change, _)| change.at).min();
        let due = self.changed.iter().filter(|(key, _)| self.room() > 0 && !self.is_under_way(key));
        late.into_iter().chain(due.map(|(_, change)| change.at)).min()
    }

    /// The next change that is due and may be written.
    fn due(&self, now: Time) -> Option<String> {
        let due = |(key, change): &(&String, &Change)| change.at <= now && !self.is_under_way(key);
        self.changed.iter().filter(|_| self.room() > 0).find(due).map(|(key, _)| key.clone())
    }

    /// A value of the store; whether it is news for iApps here.
    fn learn(&mut self, key: &str, revision: u64, value: &Bytes) -> bool {
        let before = self.known.get(key);
        if before.is_some_and(|known| known.revision >= revision) {
            return false;
        }
        let gone = before.map_or(0, Known::octets);
        let (came, full) = (value.len(), before.is_none() && self.known.len() >= SNAPSHOTS_MAX);
        if came > SNAPSHOT_BYTES_MAX + HEAD_BYTES_MAX
            || full
            || self.bytes - gone + came > SNAPSHOTS_BYTES_MAX
        {
            // What is known of this key no longer holds.
            self.counters.no_room += 1;
            self.bytes -= gone;
            if let Some(known) = self.known.get_mut(key) {
                *known = Known { revision, snapshot: None };
            }
            return false;
        }
        // The watch may lend from a whole message.
        let snapshot = Snapshot::read(&Bytes::copy_from_slice(value));
        let own = snapshot.as_ref().is_some_and(|it| self.is_own(it));
        if own {
            self.came_back(key, snapshot.as_ref());
        }
        self.put(key, Known { revision, snapshot });
        !own && !self.is_saying(key)
    }

    /// What this RIC has written is there, whether its answer comes or not: whatever others write from now on is newer.
    fn came_back(&mut self, key: &str, snapshot: Option<&Snapshot>) {
        let under_way = self.under_way.iter().find(|(_, (it, _, own))| it == key && Some(own) == snapshot);
        if let Some(id) = under_way.map(|(id, _)| *id) {
            self.under_way.remove(&id);
            self.counters.saved += 1;
        }
        if self.changed.get(key).is_some_and(|change| change.again) {
            self.changed.remove(key);
        }
    }

    fn put(&mut self, key: &str, known: Known) {
        self.bytes += known.octets();
        if let Some(before) = self.known.insert(key.to_owned(), known) {
            self.bytes -= before.octets();
        }
    }

    /// A write has ended; the key whose latest value is to be told to iApps here, if somebody else's is.
    fn written(&mut self, now: Time, id: WriteId, outcome: Result<u64, WriteFailure>) -> Option<String> {
        let (key, mut change, snapshot) = self.under_way.remove(&id)?;
        let revision = match outcome {
            Ok(revision) => revision,
            Err(failure) => {
                self.counters.failed += 1;
                // What revised it is on its way here.
                change.at = now + if failure == WriteFailure::Revised { AGAIN / 10 } else { AGAIN };
                change.again = true;
                self.changed.entry(key).or_insert(change);
                return None;
            }
        };
        self.counters.saved += 1;
        if self.known.get(&key).is_none_or(|known| known.revision < revision) {
            // What others wrote before it may be told only now, and no longer holds.
            self.put(&key, Known { revision, snapshot: Some(snapshot) });
            return None;
        }
        let later = self.known.get(&key)?;
        let own = later.snapshot.as_ref().is_some_and(|it| self.is_own(it));
        (later.revision > revision && !own && !self.is_saying(&key)).then_some(key)
    }

    /// Whose key it is, and of which node; `None` while that node is not known here.
    fn reader<'a>(&self, key: &'a str) -> Option<(&'a str, Option<GlobalE2NodeId>)> {
        let rest = key.strip_prefix(STATES)?;
        match rest.split_once('.') {
            Some((iapp, word)) => Some((iapp, Some(*self.nodes.get(word)?))),
            None => Some((rest, None)),
        }
    }
}

impl Ric {
    /// What was counted of iApps' snapshots; `None` for a RIC that is alone.
    pub fn iapp_snapshots(&self) -> Option<SnapshotCounters> {
        self.cluster.as_ref().map(|cluster| cluster.states.counters)
    }

    /// An iApp knows something new.
    pub(super) fn save_state(&mut self, now: Time, place: usize, about: Option<GlobalE2NodeId>) {
        let Some(cluster) = &mut self.cluster else { return };
        let iapp = self.iapps[place].as_ref();
        if keeps(iapp).is_some() {
            let key = state_key(iapp.name(), about.as_ref());
            let at = now + SAVE_AFTER;
            let change = Change { place, about, at, again: false };
            cluster.states.changed.entry(key).or_insert(change).again = false;
        }
    }

    /// An iApp begins: what others know of nodes, and of none, is told.
    pub(super) fn meet_all_states(&mut self, place: usize) {
        let Some(cluster) = &self.cluster else { return };
        let nodes: Vec<_> = cluster.states.nodes.values().copied().map(Some).collect();
        for about in std::iter::once(None).chain(nodes) {
            self.meet_states(place, about.as_ref());
        }
    }

    /// A node is known from now on, and iApps have been told.
    pub(super) fn meet_node_states(&mut self, node: &GlobalE2NodeId) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.states.nodes.insert(word(node), *node);
        (0..self.iapps.len()).for_each(|place| self.meet_states(place, Some(node)));
    }

    fn meet_states(&mut self, place: usize, about: Option<&GlobalE2NodeId>) {
        let (Some(cluster), iapp) = (&self.cluster, self.iapps[place].as_ref()) else { return };
        if keeps(iapp).is_some() {
            let key = state_key(iapp.name(), about);
            let states = &cluster.states;
            if states.known.contains_key(&key) && !states.is_saying(&key) {
                self.notices.push_back((place, Notice::Restored(key)));
            }
        }
    }

    /// What is not yet written is due now.
    pub(super) fn hurry_states(&mut self, now: Time) {
        if let Some(cluster) = &mut self.cluster {
            cluster.states.changed.values_mut().for_each(|change| change.at = change.at.min(now));
        }
    }

    /// A node is forgotten: what is known of it stays in the store.
    pub(super) fn forget_states(&mut self, node: &GlobalE2NodeId) {
        if let Some(cluster) = &mut self.cluster {
            cluster.states.nodes.remove(&word(node));
        }
    }

    /// News of the store that are of snapshots.
    pub(super) fn hear_states(&mut self, now: Time, news: BusNews) {
        let Some(cluster) = &mut self.cluster else { return };
        let states = &mut cluster.states;
        let told = match news {
            BusNews::Entry { key, revision, value } => states.learn(&key, revision, &value).then_some(key),
            BusNews::Written { id, outcome } => states.written(now, id, outcome),
            _ => None,
        };
        let reader = told.as_ref().and_then(|key| states.reader(key));
        if let (Some((name, _)), Some(key)) = (reader, &told)
            && let Some(place) = self.iapps.iter().position(|iapp| iapp.name() == name)
            && keeps(self.iapps[place].as_ref()).is_some()
        {
            self.notices.push_back((place, Notice::Restored(key.clone())));
        }
    }

    /// Gives an iApp the latest snapshot of a key.
    pub(super) fn restore_state(&mut self, now: Time, place: usize, key: &str) {
        let Some(cluster) = &mut self.cluster else { return };
        let states = &mut cluster.states;
        // It may have said something meanwhile, and the node may be forgotten.
        if states.is_saying(key) {
            return;
        }
        let (Some((_, about)), Some(known)) = (states.reader(key), states.known.get(key)) else { return };
        self.iapp_outbox.current = place;
        let iapp = &mut self.iapps[place];
        let Some(Keeps { version: expected, .. }) = keeps(iapp.as_ref()) else { return };
        let most = iapp.keeps().map_or(0, |keeps| keeps.most());
        let taken = match &known.snapshot {
            None => Err(NotTaken::Malformed("it is no snapshot of this format".to_owned())),
            Some(it) if it.version != expected => Err(NotTaken::Version { version: it.version, expected }),
            Some(it) if it.octets.len() > most => Err(NotTaken::TooLarge { bytes: it.octets.len(), most }),
            Some(it) => {
                let octets = it.octets.clone();
                iapp.restore(now, about.as_ref(), &octets, &mut self.iapp_outbox).map_err(NotTaken::Malformed)
            }
        };
        match taken {
            Ok(()) => states.counters.restored += 1,
            Err(why) => {
                // It knows nothing then, rather than what was before.
                let _ = iapp.restore(now, about.as_ref(), &Bytes::new(), &mut self.iapp_outbox);
                states.counters.count(&why);
                let iapp = iapp.name().into();
                self.links.event(RicEvent::NotTaken { iapp, node: about, why });
            }
        }
    }

    /// Writes what is due; whether there was something.
    pub(super) fn attend_states(&mut self, now: Time) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        let states = &mut cluster.states;
        let late = states.under_way.iter().find(|(_, (_, change, _))| change.at <= now).map(|(id, _)| *id);
        if let Some(id) = late {
            states.written(now, id, Err(WriteFailure::Unknown));
            return true;
        }
        let Some(key) = states.due(now) else { return false };
        let Some(mut change) = states.changed.remove(&key) else { return false };
        let iapp = &self.iapps[change.place];
        let Some(keeps) = keeps(iapp.as_ref()) else { return true };
        let octets = iapp.snapshot(change.about.as_ref());
        let before = states.known.get(&key).and_then(|known| known.snapshot.as_ref());
        let of_before = before.map_or(0, |it| it.octets.len());
        let why = if octets.len() > keeps.most() {
            Some(NotTaken::TooLarge { bytes: octets.len(), most: keeps.most() })
        } else if states.bytes - of_before + octets.len() > SNAPSHOTS_BYTES_MAX
            || before.is_none() && states.known.len() >= SNAPSHOTS_MAX
        {
            Some(NotTaken::NoRoom)
        } else {
            None
        };
        // Whoever reads what was written before would believe it.
        let octets = if why.is_some() { Bytes::new() } else { octets };
        if let Some(why) = why {
            states.counters.count(&why);
            let (iapp, node) = (iapp.name().into(), change.about);
            self.links.event(RicEvent::NotTaken { iapp, node, why });
        }
        if octets.is_empty() && of_before == 0 {
            return true;
        }
        states.last += 1;
        let id = WriteId(states.last);
        let snapshot =
            Snapshot { ric: states.name.clone(), life: states.life, version: keeps.version, octets };
        // One without an answer may be written when others have said something newer: not if it says upon what.
        let expected = Some(states.known.get(&key).map_or(0, |known| known.revision));
        let write = BusWrite { id, key: key.clone(), value: snapshot.write(), expected };
        change.at = now + 5 * AGAIN;
        states.under_way.insert(id, (key, change, snapshot));
        self.links.event(RicEvent::Bus(BusAsk::Write(write)));
        true
    }
}

#[cfg(test)]
mod tests;
