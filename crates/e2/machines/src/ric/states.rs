//! Snapshots of iApp state in the shared store of several RICs.
//!
//! An iApp reports that its state has changed ([`IAppOutbox::save`](super::IAppOutbox::save)). A little later the RIC
//! requests a snapshot and writes it under a separate key. The watches of all other RICs report it. Their iApp of the
//! same name gets the snapshot immediately, or when the node becomes known there. If a node moves to another RIC,
//! that RIC already has the state and sends no request at that moment.
//!
//! If two RICs save at the same time, the later write prevails at all RICs. While a RIC has a change to write, it
//! accepts no changes of other RICs. A failed write is repeated with the latest state. Each write names the revision
//! that it replaces, so that a delayed write cannot overwrite a newer one.
use super::directory::{BusWrite, StoreEvent, StoreRequest, WriteFailure, WriteId, node_key};
use super::iapp::{IApp, Notice};
use super::{Ric, RicEvent};
use crate::Time;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Maximum size of a snapshot, in bytes, regardless of the iApp's own limit.
pub const SNAPSHOT_BYTES_MAX: usize = 64 << 10;
/// Maximum size of all snapshots that a RIC knows, in bytes. Beyond it, nothing is added to the store, which must
/// keep room for claims.
pub const SNAPSHOTS_BYTES_MAX: usize = 64 << 20;
/// Maximum number of snapshots that a RIC knows. Further ones are counted and dropped.
const SNAPSHOTS_MAX: usize = 1 << 16;
/// Maximum size of the header of a stored value, in bytes.
const HEAD_BYTES_MAX: usize = 256;
/// Time within which several changes are combined into one write.
const SAVE_AFTER: Duration = Duration::from_millis(50);
/// Delay before a failed write is repeated. A write without a response counts as failed after five times this delay.
const AGAIN: Duration = Duration::from_secs(1);
/// Maximum number of outstanding writes, which share a queue with heartbeats.
const WRITES_MAX: usize = 16;
/// Prefix of the keys.
const STATES: &str = "state.";
/// First words of each value; a later format will change them.
const FORMAT: &str = "ranlab1 state ";
/// First id of the writes of snapshots; the ids of the directory's writes are below.
const FIRST_WRITE: u64 = 1 << 63;
/// Maximum length of an iApp's name in a key, in characters.
const NAME_LEN_MAX: usize = 32;

/// Format and size of an iApp's snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    /// Version of the format. Snapshots of another version are rejected.
    pub version: u16,
    /// Maximum size of a snapshot in bytes, up to [`SNAPSHOT_BYTES_MAX`].
    pub bytes_max: usize,
}

impl Keeps {
    fn most(&self) -> usize {
        self.bytes_max.min(SNAPSHOT_BYTES_MAX)
    }
}

/// Reason why a snapshot was not stored or not accepted. The iApp then has no state, as if there were no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The snapshot is larger than the iApp's limit.
    #[error("the snapshot has {bytes} bytes; at most {most} are allowed")]
    TooLarge {
        /// Size, in bytes.
        bytes: usize,
        /// Limit, in bytes.
        most: usize,
    },
    /// The snapshot has a different version.
    #[error("the snapshot has version {version}; this RIC's iApp reads version {expected}")]
    Version {
        /// Version of the snapshot.
        version: u16,
        /// Version of the iApp.
        expected: u16,
    },
    /// The value is not a valid snapshot, or the iApp rejected it.
    #[error("{0}")]
    Malformed(String),
    /// The limit of the store is reached.
    #[error("the store is full: {SNAPSHOTS_BYTES_MAX} bytes or {SNAPSHOTS_MAX} snapshots are the maximum")]
    NoRoom,
}

/// Counters of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // described by their names
pub struct SnapshotCounters {
    /// Snapshots written by this RIC and acknowledged.
    pub saved: u64,
    /// Snapshots passed to an iApp of this RIC.
    pub restored: u64,
    pub too_large: u64,
    pub other_version: u64,
    pub malformed: u64,
    pub no_room: u64,
    /// Writes that failed or got no response; they are repeated.
    pub failed: u64,
}

impl SnapshotCounters {
    fn count(&mut self, why: &SnapshotError) {
        *match why {
            SnapshotError::TooLarge { .. } => &mut self.too_large,
            SnapshotError::Version { .. } => &mut self.other_version,
            SnapshotError::Malformed(_) => &mut self.malformed,
            SnapshotError::NoRoom => &mut self.no_room,
        } += 1;
    }
}

/// A stored value.
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

/// Latest value of a key that the watch reported; `snapshot` is `None` if it is not valid.
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

/// A change that has not been written yet.
#[derive(Debug, Clone)]
struct Change {
    place: usize,
    about: Option<GlobalE2NodeId>,
    at: Time,
    /// Whether the change only repeats a failed write.
    again: bool,
}

/// Snapshots known to a RIC that is one of several.
#[derive(Debug)]
pub(super) struct States {
    name: Arc<str>,
    life: u64,
    known: BTreeMap<String, Known>,
    bytes: usize,
    /// Changes by key.
    changed: BTreeMap<String, Change>,
    under_way: BTreeMap<WriteId, (String, Change, Snapshot)>,
    last: u64,
    /// Nodes known to iApps, by their names in keys.
    nodes: BTreeMap<String, GlobalE2NodeId>,
    pub(super) counters: SnapshotCounters,
}

/// Returns the part of a key that names a node.
fn word(node: &GlobalE2NodeId) -> String {
    let key = node_key(node);
    key.split_once('.').map_or(key.as_str(), |(_, word)| word).to_owned()
}

/// Returns the key of an iApp's state about a node, or of its state that concerns no node.
fn state_key(iapp: &str, about: Option<&GlobalE2NodeId>) -> String {
    match about {
        Some(node) => format!("{STATES}{iapp}.{}", word(node)),
        None => format!("{STATES}{iapp}"),
    }
}

/// Returns the format of an iApp's snapshots, or `None` if it does not share its state.
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

    /// Returns whether a notification of the store concerns snapshots.
    pub(super) fn are_of(news: &StoreEvent) -> bool {
        match news {
            StoreEvent::Entry { key, .. } => key.starts_with(STATES),
            StoreEvent::Written { id, .. } => id.0 > FIRST_WRITE,
            _ => false,
        }
    }

    fn is_own(&self, snapshot: &Snapshot) -> bool {
        snapshot.ric == self.name && snapshot.life == self.life
    }

    fn is_under_way(&self, key: &str) -> bool {
        self.under_way.values().any(|(it, _, _)| it == key)
    }

    /// Returns whether a change of this RIC is queued or being written.
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

    /// Returns the next change that is due and may be written.
    fn due(&self, now: Time) -> Option<String> {
        let due = |(key, change): &(&String, &Change)| change.at <= now && !self.is_under_way(key);
        self.changed.iter().filter(|_| self.room() > 0).find(due).map(|(key, _)| key.clone())
    }

    /// Records a value of the store. Returns whether it is news for the iApps of this RIC.
    fn learn(&mut self, key: &str, revision: u64, value: &Bytes) -> bool {
        let before = self.known.get(key);
        if before.is_some_and(|known| known.revision >= revision) {
            return false;
        }
        let gone = before.map_or(0, Known::octets);
        let came = value.len();
        let full = before.is_none() && self.known.len() >= SNAPSHOTS_MAX;
        if came > SNAPSHOT_BYTES_MAX + HEAD_BYTES_MAX
            || full
            || self.bytes - gone + came > SNAPSHOTS_BYTES_MAX
        {
            // The new value is not stored, and the previous value of this key is outdated.
            self.counters.no_room += 1;
            self.bytes -= gone;
            if let Some(known) = self.known.get_mut(key) {
                *known = Known { revision, snapshot: None };
            }
            return false;
        }
        // Copied, because the value may be a slice of a large message.
        let snapshot = Snapshot::read(&Bytes::copy_from_slice(value));
        let own = snapshot.as_ref().is_some_and(|it| self.is_own(it));
        if own {
            self.came_back(key, snapshot.as_ref());
        }
        self.put(key, Known { revision, snapshot });
        !own && !self.is_saying(key)
    }

    /// Handles a value of this RIC in the watch: its write has succeeded, even without a response. Values that others write from now on are
    /// newer.
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

    /// Handles the result of a write. Returns the key if its latest value, from another RIC, must be passed to an
    /// iApp.
    fn written(&mut self, now: Time, id: WriteId, outcome: Result<u64, WriteFailure>) -> Option<String> {
        let (key, mut change, snapshot) = self.under_way.remove(&id)?;
        let revision = match outcome {
            Ok(revision) => revision,
            Err(failure) => {
                self.counters.failed += 1;
                // The conflicting revision will arrive soon.
                change.at = now + if failure == WriteFailure::Revised { AGAIN / 10 } else { AGAIN };
                change.again = true;
                self.changed.entry(key).or_insert(change);
                return None;
            }
        };
        self.counters.saved += 1;
        if self.known.get(&key).is_none_or(|known| known.revision < revision) {
            // An older value of another RIC may be reported later; it is outdated.
            self.put(&key, Known { revision, snapshot: Some(snapshot) });
            return None;
        }
        let later = self.known.get(&key)?;
        let own = later.snapshot.as_ref().is_some_and(|it| self.is_own(it));
        (later.revision > revision && !own && !self.is_saying(&key)).then_some(key)
    }

    /// Returns the iApp and the node of a key, or `None` while the node is unknown here.
    fn reader<'a>(&self, key: &'a str) -> Option<(&'a str, Option<GlobalE2NodeId>)> {
        let rest = key.strip_prefix(STATES)?;
        match rest.split_once('.') {
            Some((iapp, word)) => Some((iapp, Some(*self.nodes.get(word)?))),
            None => Some((rest, None)),
        }
    }
}

impl Ric {
    /// Returns the counters of iApp snapshots, or `None` for a single RIC.
    pub fn iapp_snapshots(&self) -> Option<SnapshotCounters> {
        self.cluster.as_ref().map(|cluster| cluster.states.counters)
    }

    /// Records that the state of an iApp has changed.
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

    /// Passes all known snapshots to a new iApp.
    pub(super) fn meet_all_states(&mut self, place: usize) {
        let Some(cluster) = &self.cluster else { return };
        let nodes: Vec<_> = cluster.states.nodes.values().copied().map(Some).collect();
        for about in std::iter::once(None).chain(nodes) {
            self.meet_states(place, about.as_ref());
        }
    }

    /// Passes the known snapshots about a node to the iApps, after the node was reported to them.
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

    /// Makes all changes due immediately.
    pub(super) fn hurry_states(&mut self, now: Time) {
        if let Some(cluster) = &mut self.cluster {
            cluster.states.changed.values_mut().for_each(|change| change.at = change.at.min(now));
        }
    }

    /// Handles the removal of a node. Its snapshots stay in the store.
    pub(super) fn forget_states(&mut self, node: &GlobalE2NodeId) {
        if let Some(cluster) = &mut self.cluster {
            cluster.states.nodes.remove(&word(node));
        }
    }

    /// Handles a notification of the store that concerns snapshots.
    pub(super) fn hear_states(&mut self, now: Time, news: StoreEvent) {
        let Some(cluster) = &mut self.cluster else { return };
        let states = &mut cluster.states;
        let key_to_restore = match news {
            StoreEvent::Entry { key, revision, value } => states.learn(&key, revision, &value).then_some(key),
            StoreEvent::Written { id, outcome } => states.written(now, id, outcome),
            _ => None,
        };
        let reader = key_to_restore.as_ref().and_then(|key| states.reader(key));
        if let (Some((name, _)), Some(key)) = (reader, &key_to_restore)
            && let Some(place) = self.iapps.iter().position(|iapp| iapp.name() == name)
            && keeps(self.iapps[place].as_ref()).is_some()
        {
            self.notices.push_back((place, Notice::Restored(key.clone())));
        }
    }

    /// Passes the latest snapshot of a key to an iApp.
    pub(super) fn restore_state(&mut self, now: Time, place: usize, key: &str) {
        let Some(cluster) = &mut self.cluster else { return };
        let states = &mut cluster.states;
        // Since the notice was queued, the iApp may have changed its state, or the node may have been removed.
        if states.is_saying(key) {
            return;
        }
        let (Some((_, about)), Some(known)) = (states.reader(key), states.known.get(key)) else { return };
        self.iapp_outbox.current = place;
        let iapp = &mut self.iapps[place];
        let Some(Keeps { version: expected, .. }) = keeps(iapp.as_ref()) else { return };
        let most = iapp.keeps().map_or(0, |keeps| keeps.most());
        let taken = match &known.snapshot {
            None => Err(SnapshotError::Malformed("it is not a snapshot of this format".to_owned())),
            Some(it) if it.version != expected => {
                Err(SnapshotError::Version { version: it.version, expected })
            }
            Some(it) if it.octets.len() > most => {
                Err(SnapshotError::TooLarge { bytes: it.octets.len(), most })
            }
            Some(it) => {
                let octets = it.octets.clone();
                iapp.restore(now, about.as_ref(), &octets, &mut self.iapp_outbox)
                    .map_err(SnapshotError::Malformed)
            }
        };
        match taken {
            Ok(()) => states.counters.restored += 1,
            Err(why) => {
                // The iApp's previous state is outdated, so it is cleared.
                let _ = iapp.restore(now, about.as_ref(), &Bytes::new(), &mut self.iapp_outbox);
                states.counters.count(&why);
                let iapp = iapp.name().into();
                self.links.event(RicEvent::NotTaken { iapp, node: about, why });
            }
        }
    }

    /// Writes the changes that are due. Returns whether there were any.
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
            Some(SnapshotError::TooLarge { bytes: octets.len(), most: keeps.most() })
        } else if states.bytes - of_before + octets.len() > SNAPSHOTS_BYTES_MAX
            || before.is_none() && states.known.len() >= SNAPSHOTS_MAX
        {
            Some(SnapshotError::NoRoom)
        } else {
            None
        };
        // An empty value replaces the previous snapshot, which is outdated.
        let octets = if why.is_some() { Bytes::new() } else { octets };
        if let Some(why) = why {
            states.counters.count(&why);
            let iapp = iapp.name().into();
            let node = change.about;
            self.links.event(RicEvent::NotTaken { iapp, node, why });
        }
        if octets.is_empty() && of_before == 0 {
            return true;
        }
        states.last += 1;
        let id = WriteId(states.last);
        let snapshot =
            Snapshot { ric: states.name.clone(), life: states.life, version: keeps.version, octets };
        // A write without a response may be executed after a newer write of another RIC. The expected revision
        // prevents that.
        let expected = Some(states.known.get(&key).map_or(0, |known| known.revision));
        let write = BusWrite { id, key: key.clone(), value: snapshot.write(), expected };
        change.at = now + 5 * AGAIN;
        states.under_way.insert(id, (key, change, snapshot));
        self.links.event(RicEvent::Bus(StoreRequest::Write(write)));
        true
    }
}

#[cfg(test)]
mod tests;
