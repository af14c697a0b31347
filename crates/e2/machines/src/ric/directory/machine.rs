//! The directory: claims, lease, and acceptance of setups.
use super::claims::Claims;
use super::config::DirectoryConfig;
use super::drain::Drain;
use super::io::*;
use super::value::{Claim, Presence, Subject, node_key, ric_key, subject};
use super::view::{KeyState, PresenceChange, RicSeen, View};
use crate::Time;
use crate::ric::ConnId;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of heartbeats that have not been seen in the watch. Beyond it, no further one is written.
const BEATS_MAX: usize = 8;
/// Limit of unseen heartbeats. At this number, no heartbeat is written early to acknowledge claims. At a slow store,
/// early heartbeats would delay the claims.
const HASTE_MAX: usize = 2;
/// Maximum number of earlier incarnations that are remembered.
const LIVES_MAX: usize = 8;
/// Minimum interval between two scans of the waiting setups, apart from scans after notifications. There may be
/// thousands of setups.
const LOOK: Duration = Duration::from_millis(10);
/// Maximum number of setups accepted in one step. The next step follows after other pending input, so that a thousand
/// setups do not delay heartbeats.
const ADMITS_MAX: usize = 32;
/// Delay until the next step.
const NEXT_ADMITS: Duration = Duration::from_micros(100);
/// Maximum length of an address published to others, in bytes.
const ADDRESS_LEN_MAX: usize = 256;
/// Maximum delay between two restarts of a watch that shows nothing.
const WATCH_MAX: Duration = Duration::from_secs(2);

/// A setup that waits for a decision.
#[derive(Debug)]
pub(super) struct PendingSetup {
    node: GlobalE2NodeId,
    key: String,
    since: Time,
}

/// A node that this RIC owns.
#[derive(Debug)]
pub(super) struct OwnedNode {
    pub(super) conn: ConnId,
    pub(super) node: GlobalE2NodeId,
    pub(super) epoch: u64,
}

/// Counters of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // described by their names
pub struct DirectoryCounters {
    pub admitted: u64,
    pub refused: u64,
    /// Nodes that another RIC has claimed while this RIC owned them.
    pub revised: u64,
    /// Nodes closed because there was no quorum for too long.
    pub closed: u64,
    /// Number of times that the lease has expired.
    pub fenced: u64,
    pub writes: u64,
    pub writes_failed: u64,
    pub watches: u64,
    /// Entries of the store that ranlab did not write.
    pub foreign: u64,
    /// Failed attempts to reach a server, and lost connections to a server.
    pub unreached: u64,
}

/// Node ownership as seen by one of several RICs; a sans-I/O state machine.
#[derive(Debug)]
pub struct Directory {
    pub(super) config: DirectoryConfig,
    name: Arc<str>,
    pub(super) now: Time,
    pub(super) view: View,
    pub(super) outputs: VecDeque<DirectoryOutput>,
    asked: BTreeMap<ConnId, PendingSetup>,
    /// Owned nodes by key.
    pub(super) held: BTreeMap<String, OwnedNode>,
    keys: BTreeMap<ConnId, String>,
    /// Waiting setups, by the key for which they wait.
    waiting: BTreeSet<(String, ConnId)>,
    claims: Claims,
    /// Time at which a claim of this RIC was last seen in the watch.
    came_back: Time,
    last_write: u64,
    last_beat: u64,
    /// Number of the last heartbeat before the watch started.
    watched_from: u64,
    /// Heartbeats not seen yet: number, write, start time, and whether the write has a result.
    beats: VecDeque<(u64, WriteId, Time, bool)>,
    /// Start time of the last heartbeat that was seen.
    barrier: Option<Time>,
    pub(super) next_beat: Time,
    /// Time of an additional heartbeat that acknowledges claims of other RICs.
    hurry: Option<Time>,
    /// Value in the last [`DirectoryOutput::Lawful`].
    lawful: bool,
    /// Earlier incarnations with this name.
    before: Vec<u64>,
    ousted: bool,
    pub(super) over: bool,
    /// Time of the next scan of the waiting setups.
    look_at: Time,
    pub(super) watch_at: Time,
    pub(super) watch_delay: Duration,
    /// Whether a server is reachable, as last reported by the driver.
    pub(super) reached: Option<bool>,
    pub(super) drain: Option<Drain>,
    wake_at: Option<Time>,
    pub(super) counters: DirectoryCounters,
}

impl Directory {
    /// Creates an empty directory. It starts with the first call of [`handle`](Self::handle).
    pub fn new(config: DirectoryConfig) -> Self {
        let claims = Claims::new(config.claims);
        Self {
            name: config.name.as_str().into(),
            watch_delay: config.timers.watch,
            config,
            now: Time::ZERO,
            view: View::default(),
            outputs: VecDeque::new(),
            asked: BTreeMap::new(),
            held: BTreeMap::new(),
            keys: BTreeMap::new(),
            waiting: BTreeSet::new(),
            claims,
            came_back: Time::ZERO,
            last_write: 0,
            last_beat: 0,
            watched_from: 0,
            beats: VecDeque::new(),
            barrier: None,
            next_beat: Time::ZERO,
            hurry: None,
            lawful: false,
            before: Vec::new(),
            ousted: false,
            over: false,
            look_at: Time::ZERO,
            watch_at: Time::ZERO,
            reached: None,
            drain: None,
            wake_at: Some(Time::ZERO),
            counters: DirectoryCounters::default(),
        }
    }

    /// Processes an input.
    pub fn handle(&mut self, now: Time, input: DirectoryInput) {
        self.now = now.max(self.now);
        self.expire();
        match input {
            DirectoryInput::Asked { conn, node } => self.on_asked(conn, node),
            DirectoryInput::Left { conn } => self.on_left(conn),
            DirectoryInput::Bus(news) => self.on_news(news),
            DirectoryInput::Drain => self.begin_drain(),
            DirectoryInput::End => self.end(),
            DirectoryInput::Wake => {}
        }
        self.expire();
        self.wake_at = self.next_wake();
    }

    /// Sets the addresses that are published with the next heartbeat. An address that is too long or contains a space
    /// is ignored.
    pub fn advertise(&mut self, e2: String, e42: String) {
        let fits = |text: &String| text.len() <= ADDRESS_LEN_MAX && !text.contains(char::is_whitespace);
        self.config.e2 = Some(e2).filter(fits).unwrap_or_default();
        self.config.e42 = Some(e42).filter(fits).unwrap_or_default();
    }

    /// Returns the next output. Call it until it returns `None`.
    pub fn poll(&mut self) -> Option<DirectoryOutput> {
        self.outputs.pop_front()
    }

    /// Returns the latest time for the next call of [`handle`](Self::handle).
    pub fn wake_at(&self) -> Option<Time> {
        self.wake_at
    }

    /// Returns the time at which the lease expires without further heartbeats.
    pub fn lease_until(&self) -> Option<Time> {
        let serves = !self.ousted && !self.over;
        self.barrier.filter(|_| serves).map(|begun| begun + self.config.timers.lease)
    }

    /// Returns whether the lease is valid, so that this RIC may control its nodes.
    pub fn is_lawful(&self, now: Time) -> bool {
        self.lease_until().is_some_and(|until| now < until)
    }

    /// Returns the latest claim for a node: the RIC, and the number of times that the node has changed its owner.
    pub fn owner(&self, node: &GlobalE2NodeId) -> Option<&Claim> {
        self.view.nodes.get(&node_key(node))?.claim.as_ref()
    }

    /// Returns all claims by key, including those of RICs that no longer run.
    pub fn claims(&self) -> impl Iterator<Item = (&str, &Claim)> {
        self.view.nodes.iter().filter_map(|(key, seen)| Some((key.as_str(), seen.claim.as_ref()?)))
    }

    /// Returns the other RICs by name.
    pub fn rics(&self) -> impl Iterator<Item = (&Arc<str>, &RicSeen)> {
        self.view.rics.iter()
    }

    /// Returns the nodes that this RIC owns, with the number of times that each has changed its owner.
    pub fn held(&self) -> impl Iterator<Item = (&GlobalE2NodeId, u64)> {
        self.held.values().map(|held| (&held.node, held.epoch))
    }

    /// Returns the owned node on a connection.
    pub(crate) fn held_on(&self, conn: ConnId) -> Option<GlobalE2NodeId> {
        self.held.get(self.keys.get(&conn)?).map(|held| held.node)
    }

    /// Returns the name of this RIC.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counters.
    pub fn counters(&self) -> DirectoryCounters {
        self.counters
    }

    fn is_own(&self, claim: &Claim) -> bool {
        claim.ric == self.name && claim.life == self.config.life
    }

    fn on_asked(&mut self, conn: ConnId, node: GlobalE2NodeId) {
        self.on_left(conn);
        let refusal = if self.ousted {
            Some(NotAdmitted::Ousted)
        } else if self.drain.is_some() || self.over {
            Some(NotAdmitted::Drained { elsewhere: self.elsewhere(&node) })
        } else {
            None
        };
        if let Some(why) = refusal {
            return self.refuse(conn, why);
        }
        let key = node_key(&node);
        self.waiting.insert((key.clone(), conn));
        self.asked.insert(conn, PendingSetup { node, key, since: self.now });
        self.advance(conn);
    }

    fn on_left(&mut self, conn: ConnId) {
        self.asks_no_more(conn);
        if let Some(key) = self.keys.remove(&conn) {
            self.held.remove(&key);
        }
    }

    fn asks_no_more(&mut self, conn: ConnId) {
        if let Some(asked) = self.asked.remove(&conn) {
            self.waiting.remove(&(asked.key, conn));
        }
    }

    /// Releases a node that is sent to another RIC.
    pub(super) fn part_with(&mut self, conn: ConnId) {
        self.on_left(conn);
    }

    fn refuse(&mut self, conn: ConnId, why: NotAdmitted) {
        self.asks_no_more(conn);
        self.counters.refused += 1;
        self.outputs.push_back(DirectoryOutput::Refuse { conn, why });
    }

    /// Advances a waiting setup as far as possible. Returns whether it was accepted.
    fn advance(&mut self, conn: ConnId) -> bool {
        let Some(asked) = self.asked.get(&conn) else { return false };
        if !self.is_lawful(self.now) || !self.view.complete {
            return false;
        }
        let seen = self.view.nodes.get(&asked.key);
        let own = seen.and_then(|seen| Some((seen, seen.claim.as_ref().filter(|claim| self.is_own(claim))?)));
        let Some((seen, claim)) = own else {
            if self.claims.may_begin(self.now, &asked.key) {
                self.claim(asked.key.clone());
            }
            return false;
        };
        if self.view.clear_from(seen.revision, seen.since, self.config.timers.wait) > self.now {
            return false;
        }
        let key = asked.key.clone();
        let node = asked.node;
        let epoch = claim.epoch;
        self.asks_no_more(conn);
        if let Some(old) = self.held.insert(key.clone(), OwnedNode { conn, node, epoch }) {
            self.keys.remove(&old.conn);
        }
        self.keys.insert(conn, key);
        self.counters.admitted += 1;
        self.outputs.push_back(DirectoryOutput::Admit { conn, node, epoch });
        true
    }

    /// Advances all waiting setups in the order of arrival.
    fn advance_all(&mut self) {
        let all: Vec<_> = self.asked.keys().copied().collect();
        let mut admitted = 0;
        for conn in all {
            admitted += usize::from(self.advance(conn));
            if admitted == ADMITS_MAX {
                self.look_at = self.now + NEXT_ADMITS;
                return;
            }
        }
    }

    /// Claims a key, on the condition that it still has the last seen revision.
    fn claim(&mut self, key: String) {
        let seen = self.view.nodes.get(&key);
        let epoch = seen.and_then(|seen| seen.claim.as_ref()).map_or(0, |claim| claim.epoch) + 1;
        let expected = Some(seen.map_or(0, |seen| seen.revision));
        let claim = Claim { ric: self.name.clone(), life: self.config.life, epoch };
        let id = self.write(key.clone(), claim.write(), expected);
        self.claims.begin(key, id, self.now + self.config.timers.write);
    }

    fn write(&mut self, key: String, value: Bytes, expected: Option<u64>) -> WriteId {
        self.last_write += 1;
        self.counters.writes += 1;
        let id = WriteId(self.last_write);
        let write = BusWrite { id, key, value, expected };
        self.outputs.push_back(DirectoryOutput::Bus(StoreRequest::Write(write)));
        id
    }

    fn on_news(&mut self, news: StoreEvent) {
        match news {
            StoreEvent::Began => {
                (self.view.complete, self.watched_from) = (false, self.last_beat);
                self.next_beat = self.now;
            }
            StoreEvent::Complete => {
                self.view.complete = true;
                self.advance_all();
            }
            StoreEvent::Entry { key, revision, value } => self.on_entry(&key, revision, &value),
            StoreEvent::Written { id, outcome } => self.on_written(id, outcome),
            StoreEvent::There => self.on_there(),
            StoreEvent::Away { why } => self.on_away(why),
        }
    }

    fn on_written(&mut self, id: WriteId, outcome: Result<u64, WriteFailure>) {
        self.counters.writes_failed += u64::from(outcome.is_err());
        if let Some(beat) = self.beats.iter_mut().find(|beat| beat.1 == id) {
            beat.3 = true;
            return;
        }
        if let Err(failure) = outcome {
            // The conflicting revision will arrive soon; other failures need more time.
            let delay = self.config.timers.retry / if failure == WriteFailure::Revised { 10 } else { 1 };
            self.claims.failed(id, self.now + delay);
        }
        // A failed write may nevertheless have been executed. In this case, the watch reports its value.
    }

    fn on_entry(&mut self, key: &str, revision: u64, value: &[u8]) {
        self.view.top = self.view.top.max(revision);
        match subject(key) {
            Some(Subject::Node) => self.on_claim(key, revision, value),
            Some(Subject::Ric(name)) if *name == *self.name => self.on_own_sign(revision, value),
            Some(Subject::Ric(name)) => match Presence::read(value) {
                Some(presence) => self.on_sign(name, revision, presence),
                None => self.counters.foreign += 1,
            },
            None => self.counters.foreign += 1,
        }
    }

    fn on_claim(&mut self, key: &str, revision: u64, value: &[u8]) {
        let claim = Claim::read(value);
        self.counters.foreign += u64::from(claim.is_none());
        let own = claim.as_ref().is_some_and(|claim| self.is_own(claim));
        let by = claim.as_ref().map_or_else(|| "another RIC".into(), |claim| format!("RIC {}", claim.ric));
        if !self.view.node(key, KeyState { revision, claim, since: self.now }) {
            return;
        }
        self.claims.seen(key);
        if own {
            self.came_back = self.now;
        } else {
            if let Some(held) = self.held.remove(key) {
                self.keys.remove(&held.conn);
                self.counters.revised += 1;
                let why = format!("{by} serves the node now");
                self.outputs.push_back(DirectoryOutput::Close { conn: held.conn, node: held.node, why });
            }
            // The RIC that claimed the node waits for this RIC's acknowledgement.
            let soon = self.now + self.config.timers.haste;
            self.hurry = Some(self.hurry.map_or(soon, |at| at.min(soon)));
        }
        self.outputs.push_back(DirectoryOutput::Moved { key: key.to_owned() });
        let first = (key.to_owned(), ConnId(0));
        let waiting = self.waiting.range(first..).take_while(|(it, _)| it == key).map(|(_, conn)| *conn);
        for conn in waiting.collect::<Vec<_>>() {
            self.advance(conn);
        }
    }

    fn on_own_sign(&mut self, _revision: u64, value: &[u8]) {
        let Some(presence) = Presence::read(value) else {
            self.counters.foreign += 1;
            return;
        };
        if presence.life != self.config.life {
            return self.on_namesake(&presence);
        }
        let Some(at) = self.beats.iter().position(|beat| beat.0 == presence.beat) else { return };
        let write = self.beats[at].1;
        let begun = self.beats[at].2;
        // An entry written after the start of the watch arrives after all existing entries, even if the store never
        // reports completion. JetStream 2.9 may count one entry too many for the lifetime of a watch.
        self.view.complete |= self.beats[at].0 > self.watched_from;
        self.beats.drain(..=at);
        self.claims.forget_before(write);
        self.claims.sign_took(self.now.since(begun), self.config.timers.lease / 4);
        self.barrier = self.barrier.max(Some(begun));
        self.watch_delay = self.config.timers.watch;
        self.watch_at = self.now + self.watch_delay;
        self.advance_all();
    }

    /// Handles a heartbeat of another incarnation with this name, earlier or later.
    fn on_namesake(&mut self, presence: &Presence) {
        if self.barrier.is_none() {
            if !presence.over {
                self.view.haunt(self.now);
            }
            if !self.before.contains(&presence.life) && self.before.len() < LIVES_MAX {
                self.before.push(presence.life);
            }
            return;
        }
        if self.before.contains(&presence.life) {
            // The earlier incarnation is still running and does not know about this one. The nodes that it owns are
            // unknown.
            self.view.haunt(self.now);
            self.hurry = Some(self.now + self.config.timers.haste);
            return;
        }
        self.ousted = true;
        self.close_all("another RIC with the name of this RIC has started");
    }

    fn on_sign(&mut self, name: &str, revision: u64, presence: Presence) {
        match self.view.ric(self.now, name, revision, presence) {
            PresenceChange::Ignored => return,
            PresenceChange::Same => {}
            PresenceChange::Changed => self.outputs.push_back(DirectoryOutput::Rics),
        }
        self.advance_all();
    }

    pub(super) fn close_all(&mut self, why: &str) {
        for held in std::mem::take(&mut self.held).into_values() {
            self.keys.remove(&held.conn);
            self.counters.closed += 1;
            let why = why.to_owned();
            self.outputs.push_back(DirectoryOutput::Close { conn: held.conn, node: held.node, why });
        }
    }

    /// Shuts down: releases all nodes, so that other RICs need not wait.
    fn end(&mut self) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        self.close_all("the RIC is shutting down");
        let waiting: Vec<_> = self.asked.keys().copied().collect();
        waiting.into_iter().for_each(|conn| self.refuse(conn, NotAdmitted::Drained { elsewhere: None }));
        self.beat();
    }

    /// Writes a heartbeat.
    fn beat(&mut self) {
        (self.next_beat, self.hurry) = (self.now + self.config.timers.renew, None);
        self.last_beat += 1;
        let config = &self.config;
        let presence = Presence {
            life: config.life,
            beat: self.last_beat,
            seen: self.view.top,
            over: self.over,
            draining: self.drain.is_some(),
            e2: config.e2.clone(),
            e42: config.e42.clone(),
        };
        let id = self.write(ric_key(&self.name), presence.write(), None);
        self.beats.push_back((self.last_beat, id, self.now, false));
    }

    /// Returns the time of the next additional heartbeat.
    fn haste(&self) -> Option<Time> {
        self.hurry.filter(|_| self.beats.len() < HASTE_MAX)
    }

    /// Handles all expired deadlines.
    fn expire(&mut self) {
        let now = self.now;
        let write = self.config.timers.write;
        if now >= self.watch_at && !self.over {
            self.watch_at = now + self.watch_delay;
            self.watch_delay = (self.watch_delay * 2).min(WATCH_MAX);
            self.counters.watches += 1;
            self.outputs.push_back(DirectoryOutput::Bus(StoreRequest::Watch));
        }
        let due = now >= self.next_beat || self.haste().is_some_and(|at| at <= now);
        if due && !self.over && !self.ousted {
            // The oldest heartbeats make room if their writes have a result or have timed out.
            while self.beats.len() >= BEATS_MAX
                && self.beats.front().is_some_and(|beat| beat.3 || now >= beat.2 + write)
            {
                self.beats.pop_front();
            }
            if self.beats.len() < BEATS_MAX {
                self.beat();
            } else {
                (self.next_beat, self.hurry) = (now + self.config.timers.renew, None);
            }
        }
        self.expire_lease();
        if !self.asked.is_empty() && now >= self.look_at {
            self.look_at = now + LOOK;
            self.claims.expire(now);
            self.advance_all();
            self.expire_asked();
        }
        self.expire_drain();
    }

    fn expire_lease(&mut self) {
        let lawful = self.is_lawful(self.now);
        if std::mem::replace(&mut self.lawful, lawful) != lawful {
            self.counters.fenced += u64::from(!lawful);
            let at =
                if lawful { self.now } else { self.lease_until().map_or(self.now, |at| at.min(self.now)) };
            self.outputs.push_back(DirectoryOutput::Lawful { lawful, at });
        }
        let close_after = self.config.timers.close_after;
        if !self.held.is_empty() && self.barrier.is_some_and(|begun| self.now >= begun + close_after) {
            self.close_all("the store had no quorum for too long");
        }
    }

    fn patience(&self) -> Duration {
        let timers = &self.config.timers;
        if self.is_lawful(self.now) { timers.patience } else { timers.patience_fenced }
    }

    fn expire_asked(&mut self) {
        let patience = self.patience();
        let lawful = self.is_lawful(self.now);
        let moving = if lawful { self.came_back } else { Time::ZERO };
        let late = self.asked.iter().filter(|(_, asked)| self.now >= asked.since.max(moving) + patience);
        let late: Vec<_> = late.map(|(conn, _)| *conn).collect();
        for conn in late {
            self.refuse(conn, if lawful { NotAdmitted::TooLong } else { NotAdmitted::NoQuorum });
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let timers = &self.config.timers;
        let mut all = vec![];
        if !self.over {
            all.push(self.watch_at);
            if !self.ousted {
                all.push(self.next_beat);
                all.extend(self.haste());
            }
        }
        if self.lawful {
            all.extend(self.lease_until());
        }
        if !self.held.is_empty() {
            all.extend(self.barrier.map(|begun| begun + timers.close_after));
        }
        if !self.asked.is_empty() {
            all.push(self.look_at);
        }
        all.extend(self.drain_wake());
        all.into_iter().min()
    }
}
