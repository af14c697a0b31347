//! The user plane function's packets: detected, policed, counted, forwarded or buffered, session by session.
//!
//! ```text
//!  N3 datagram --uplink()----> PDR (TEID, QFI, UE, flow) -> QER -> URR -> FAR -> Fate::N6(packet)
//!  N6 packet   --downlink()--> PDR (UE, flow)            -> QER -> URR -> FAR -> Fate::N3 | Fate::Buffered
//! ```
//!
//! Rules are those of TS 29.244 as decoded by `wire::pfcp`; who installs them is not known here. Packets that no rule
//! wants are counted by reason, never lost silently. Rates are counted over inner IP packets, from the first octet of
//! the IP header ([`RATE_LAYER`]): an Ethernet or GTP-U header does not shorten a user's rate.
mod alike;
mod flow;
mod inner;
mod police;
mod rules;
mod usage;
pub mod xdp;

pub use flow::{Flow, FlowError};
pub use rules::Rules;
pub use usage::{Meter, Usage};

use inner::Inner;
use police::Bucket;
use ranlab_wire::gtpu::{
    GpduTemplate, Message, Packet, PduSession, decode_message, extension_type, message_type,
};
use rules::{Action, Entry, Mapping, Qer};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;

/// Where bit rates are counted.
pub const RATE_LAYER: &str = "inner IP packet";
/// Packets that one session may have waiting, unless its BAR suggests fewer.
pub const MAX_BUFFERED_SESSION: usize = 256;
/// Packets that all sessions together may have waiting.
pub const MAX_BUFFERED: usize = 1 << 16;
/// Events that wait for the control half; beyond, they are dropped and counted.
pub const MAX_EVENTS: usize = 1 << 14;
/// Octets that a downlink packet's tunnel header needs in front of it at most.
pub const HEADROOM: usize = GpduTemplate::MAX_LEN;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate<'a> {
    /// This IP packet goes to the data network.
    N6(&'a [u8]),
    /// So many octets of the caller's buffer go to this base station.
    N3 {
        /// Its N3 address.
        peer: IpAddr,
        /// Octets written.
        len: usize,
    },
    /// It waits for a tunnel.
    Buffered,
    /// A path's echo: answer it.
    Echo,
    /// No session has this tunnel: tell the sender (error indication).
    UnknownTunnel(u32),
    /// An extension header that must be understood and is not: tell the sender which are (TS 29.281 §5.2.1).
    Unsupported,
    /// A message of the path that asks for nothing.
    Taken,
    /// Gone, for this reason.
    Dropped(Drop),
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Drop {
    /// It is no GTP-U, or no IP packet.
    Malformed,
    /// No rule of the session, or no session, wants it.
    NoRule,
    /// The rule says so.
    Action,
    /// The gate is closed.
    Gate,
    /// The maximum bit rate is used up.
    Rate,
    /// The volume quota is used up.
    Quota,
    /// No more packets may wait.
    BufferFull,
    /// It is longer than the caller's buffer.
    TooLong,
}

impl Drop {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Malformed,
        Self::NoRule,
        Self::Action,
        Self::Gate,
        Self::Rate,
        Self::Quota,
        Self::BufferFull,
        Self::TooLong,
    ];

    /// As reports spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NoRule => "no_rule",
            Self::Action => "action",
            Self::Gate => "gate",
            Self::Rate => "rate",
            Self::Quota => "quota",
            Self::BufferFull => "buffer_full",
            Self::TooLong => "too_long",
        }
    }
}

/// Something that the control half has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaneEvent {
    /// The first packet waits for a session's UE: the control plane wants to be notified.
    DownlinkData {
        /// The session.
        seid: u64,
        /// The rule that matched.
        pdr_id: u16,
    },
    /// A usage rule's volume threshold was reached.
    Threshold {
        /// The session.
        seid: u64,
        /// The rule.
        urr_id: u32,
    },
    /// A base station does not know a tunnel of ours.
    ErrorIndication {
        /// The session whose downlink it is, 0 if it cannot be told.
        seid: u64,
        /// The tunnel.
        teid: u32,
        /// The base station.
        peer: IpAddr,
    },
}

/// What went through, and what did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PlaneCounters {
    /// Datagrams that came from base stations.
    pub n3_received: u64,
    /// Packets that came from the data network.
    pub n6_received: u64,
    /// Packets handed to the data network.
    pub uplink: u64,
    /// Packets handed to base stations, from the buffer as well.
    pub downlink: u64,
    /// Packets that had to wait.
    pub buffered: u64,
    /// Datagrams into tunnels that no session has.
    pub unknown_tunnels: u64,
    /// Messages of the path: echoes, end markers, error indications.
    pub path_messages: u64,
    /// Datagrams with extension headers that must be understood and are not.
    pub unsupported: u64,
    /// Events dropped because nobody fetched them.
    pub events_dropped: u64,
    #[serde(skip)]
    dropped: [u64; Drop::ALL.len()],
}

impl PlaneCounters {
    /// Packets dropped for a reason.
    pub fn dropped(&self, reason: Drop) -> u64 {
        self.dropped[reason as usize]
    }

    /// Adds another user plane's counts: workers are counted together.
    pub fn add(&mut self, other: &Self) {
        self.n3_received += other.n3_received;
        self.n6_received += other.n6_received;
        self.uplink += other.uplink;
        self.downlink += other.downlink;
        self.buffered += other.buffered;
        self.unknown_tunnels += other.unknown_tunnels;
        self.path_messages += other.path_messages;
        self.unsupported += other.unsupported;
        self.events_dropped += other.events_dropped;
        for (sum, more) in self.dropped.iter_mut().zip(other.dropped) {
            *sum += more;
        }
    }
}

/// Numbers of tunnels, sessions and UEs are spread well enough by one multiplication; they are given out by the control
/// plane, so nobody can choose them to collide.
#[derive(Debug, Default, Clone, Copy)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A session's name. Whoever gives names out uses places again and says the place in the lower half: only that is
/// spread, so that a place stays where it is in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seid(u64);

impl std::hash::Hash for Seid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0 as u32);
    }
}

/// An uplink tunnel, likewise: the lower 21 bits are its place where the UPF has chosen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Teid(u32);

impl std::hash::Hash for Teid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0 & 0x001f_ffff);
    }
}

type Map<K> = HashMap<K, u32, BuildHasherDefault<Mix>>;

/// The sessions of one packet worker. See the [module](self).
#[derive(Debug)]
pub struct UserPlane {
    entries: Vec<Option<Box<Entry>>>,
    free: Vec<u32>,
    by_seid: Map<Seid>,
    by_teid: Map<Teid>,
    by_ue: Map<u64>,
    /// Sessions that others are like, and what is left of such others, to be used again.
    // They go in and out of `entries` as they are, in their boxes.
    #[allow(clippy::vec_box)]
    prototypes: Vec<Option<(Entry, Vec<Box<Entry>>)>>,
    /// Heads of downlink packets: by QFI, and one without container.
    heads: Vec<GpduTemplate>,
    counters: PlaneCounters,
    events: VecDeque<PlaneEvent>,
    waiting: usize,
}

const NO_QFI: usize = 64;

impl Default for UserPlane {
    fn default() -> Self {
        Self::new()
    }
}

impl UserPlane {
    /// A user plane without sessions.
    pub fn new() -> Self {
        // A container with a QFI alone always fits.
        let head = |qfi: usize| {
            let session = (qfi < NO_QFI).then(|| PduSession::dl(qfi as u8));
            GpduTemplate::new(session).ok()
        };
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            by_seid: Map::default(),
            by_teid: Map::default(),
            by_ue: Map::default(),
            prototypes: Vec::new(),
            heads: (0..=NO_QFI).filter_map(head).collect(),
            counters: PlaneCounters::default(),
            events: VecDeque::new(),
            waiting: 0,
        }
    }

    /// What went through.
    pub fn counters(&self) -> &PlaneCounters {
        &self.counters
    }

    /// Sessions installed.
    pub fn sessions(&self) -> usize {
        self.by_seid.len()
    }

    /// Something that the control half has to know, oldest first.
    pub fn event(&mut self) -> Option<PlaneEvent> {
        self.events.pop_front()
    }

    /// Installs a session's rules, or replaces them: rates keep their state, waiting packets wait on (see
    /// [`flush`](Self::flush)). `meters` are the session's usage rules.
    pub fn install(&mut self, seid: u64, rules: &Rules<'_>, meters: &[Meter]) {
        let mut entry = Entry::compile(seid, rules, meters);
        let index = match self.by_seid.get(&Seid(seid)) {
            Some(&index) => index,
            None => self.place(seid),
        };
        if let Some(Some(before)) = self.entries.get_mut(index as usize) {
            entry.inherit(before);
        }
        self.unmap(index);
        for mapping in &entry.mappings {
            match *mapping {
                Mapping::Teid(teid) => self.by_teid.insert(Teid(teid), index),
                Mapping::Ue(ue) => self.by_ue.insert(ue, index),
            };
        }
        self.entries[index as usize] = Some(Box::new(entry));
    }

    fn place(&mut self, seid: u64) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        self.by_seid.insert(Seid(seid), index);
        index
    }

    /// Forgets which tunnels and addresses lead to a session.
    fn unmap(&mut self, index: u32) {
        let Some(Some(entry)) = self.entries.get(index as usize) else { return };
        for mapping in &entry.mappings {
            match mapping {
                Mapping::Teid(teid) if self.by_teid.get(&Teid(*teid)) == Some(&index) => {
                    self.by_teid.remove(&Teid(*teid));
                }
                Mapping::Ue(ue) if self.by_ue.get(ue) == Some(&index) => {
                    self.by_ue.remove(ue);
                }
                _ => {}
            }
        }
    }

    /// Removes a session with its waiting packets.
    pub fn remove(&mut self, seid: u64) {
        let Some(index) = self.by_seid.get(&Seid(seid)).copied() else { return };
        self.unmap(index);
        self.by_seid.remove(&Seid(seid));
        if let Some(entry) = self.entries.get_mut(index as usize).and_then(Option::take) {
            self.waiting -= entry.waiting.len();
            self.use_again(entry);
        }
        self.free.push(index);
    }

    /// Forgets every session.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.free.clear();
        self.by_seid.clear();
        self.by_teid.clear();
        self.by_ue.clear();
        self.events.clear();
        self.waiting = 0;
    }

    /// Drops a session's waiting packets.
    pub fn drop_buffered(&mut self, seid: u64) {
        if let Some(entry) = find(&self.by_seid, &mut self.entries, &Seid(seid)) {
            self.waiting -= entry.waiting.len();
            entry.waiting.clear();
            entry.notified = false;
        }
    }

    /// Whether packets wait for a session, and its rules would let them go now.
    pub fn can_flush(&self, seid: u64) -> bool {
        let index = self.by_seid.get(&Seid(seid)).copied().unwrap_or(u32::MAX);
        let entry = self.entries.get(index as usize).and_then(Option::as_ref);
        entry.is_some_and(|entry| {
            !entry.waiting.is_empty()
                && entry.downlink.iter().any(|rule| matches!(rule.action, Action::N3 { .. }))
        })
    }

    /// The next waiting packet of a session, if its rules let it go: call until `None`.
    pub fn flush<'a>(&mut self, now_ns: u64, seid: u64, out: &'a mut [u8]) -> Option<Fate<'a>> {
        if !self.can_flush(seid) {
            return None;
        }
        let entry = find(&self.by_seid, &mut self.entries, &Seid(seid))?;
        let packet = entry.waiting.pop_front()?;
        entry.notified = false;
        self.waiting -= 1;
        // It has been counted on arrival.
        self.counters.n6_received -= 1;
        Some(self.downlink(now_ns, &packet, out))
    }

    /// Decides about a datagram from a base station. `Fate::N6` borrows the packet within the datagram.
    pub fn uplink<'a>(&mut self, now_ns: u64, peer: IpAddr, datagram: &'a [u8]) -> Fate<'a> {
        self.counters.n3_received += 1;
        let Ok(packet) = Packet::parse(datagram) else { return self.drop(Drop::Malformed) };
        if packet.message_type != message_type::G_PDU {
            return self.path_message(peer, &packet);
        }
        if packet.incomprehensible(&[extension_type::PDU_SESSION_CONTAINER]).is_some() {
            self.counters.unsupported += 1;
            return Fate::Unsupported;
        }
        let Some(entry) = find(&self.by_teid, &mut self.entries, &Teid(packet.teid)) else {
            self.counters.unknown_tunnels += 1;
            return Fate::UnknownTunnel(packet.teid);
        };
        let qfi = match packet.pdu_session() {
            Some(Ok(session)) => Some(session.qfi()),
            Some(Err(_)) => return self.drop(Drop::Malformed),
            None => None,
        };
        let Some(inner) = Inner::read(packet.payload) else { return self.drop(Drop::Malformed) };
        let found = entry.uplink.iter().position(|rule| rule.takes_uplink(packet.teid, qfi, &inner));
        let Some(found) = found else { return self.drop(Drop::NoRule) };
        let rule = &entry.uplink[found];
        let octets = inner.octets;
        if let Err(reason) = admit(&mut entry.qers, &rule.qers, true, now_ns, octets) {
            return self.drop(reason);
        }
        match rule.action {
            Action::N6 => {}
            // A rule may send uplink packets to another user plane; here they go to the data network or nowhere.
            _ => return self.drop(Drop::Action),
        }
        if let Err(reason) = count(&mut self.events, &mut self.counters, entry, found, true, octets) {
            return self.drop(reason);
        }
        self.counters.uplink += 1;
        Fate::N6(&packet.payload[..octets])
    }

    /// Decides about a packet from the data network. `Fate::N3` has its datagram in `out`.
    pub fn downlink<'a>(&mut self, now_ns: u64, packet: &[u8], out: &'a mut [u8]) -> Fate<'a> {
        self.counters.n6_received += 1;
        let Some(inner) = Inner::read(packet) else { return self.drop(Drop::Malformed) };
        let Some(entry) = find(&self.by_ue, &mut self.entries, &inner.destination) else {
            return self.drop(Drop::NoRule);
        };
        let found = entry.downlink.iter().position(|rule| rule.takes_downlink(&inner));
        let Some(found) = found else { return self.drop(Drop::NoRule) };
        let octets = inner.octets;
        let (action, pdr_id, qfi) =
            (entry.downlink[found].action, entry.downlink[found].pdr_id, entry.downlink[found].qfi);
        match action {
            Action::Buffer { notify } => {
                return self.buffer(inner.destination, pdr_id, notify, &packet[..octets]);
            }
            Action::Drop | Action::N6 => return self.drop(Drop::Action),
            Action::N3 { .. } => {}
        }
        if let Err(reason) = admit(&mut entry.qers, &entry.downlink[found].qers, false, now_ns, octets) {
            return self.drop(reason);
        }
        if let Err(reason) = count(&mut self.events, &mut self.counters, entry, found, false, octets) {
            return self.drop(reason);
        }
        let Action::N3 { teid, peer } = action else { return self.drop(Drop::Action) };
        let head =
            self.heads.get(qfi.map_or(NO_QFI, usize::from)).and_then(|head| head.write(teid, octets, out));
        let room = head.and_then(|head| out.get_mut(head..head + octets));
        let (Some(head), Some(room)) = (head, room) else { return self.drop(Drop::TooLong) };
        room.copy_from_slice(&packet[..octets]);
        self.counters.downlink += 1;
        Fate::N3 { peer, len: head + octets }
    }

    fn buffer(&mut self, ue: u64, pdr_id: u16, notify: bool, packet: &[u8]) -> Fate<'static> {
        let full = self.waiting >= MAX_BUFFERED;
        let Some(entry) = find(&self.by_ue, &mut self.entries, &ue) else { return self.drop(Drop::NoRule) };
        if full || entry.waiting.len() >= entry.max_waiting {
            return self.drop(Drop::BufferFull);
        }
        entry.waiting.push_back(packet.to_vec());
        let first = notify && !std::mem::replace(&mut entry.notified, true);
        let seid = entry.seid;
        self.waiting += 1;
        self.counters.buffered += 1;
        if first {
            tell(&mut self.events, &mut self.counters, PlaneEvent::DownlinkData { seid, pdr_id });
        }
        Fate::Buffered
    }

    fn path_message(&mut self, peer: IpAddr, packet: &Packet<'_>) -> Fate<'static> {
        let Ok(message) = decode_message(packet) else { return self.drop(Drop::Malformed) };
        self.counters.path_messages += 1;
        match message {
            Message::EchoRequest => Fate::Echo,
            Message::ErrorIndication { teid, .. } => {
                let seid = self.downlink_tunnel(teid, peer).unwrap_or(0);
                tell(&mut self.events, &mut self.counters, PlaneEvent::ErrorIndication { seid, teid, peer });
                Fate::Taken
            }
            _ => Fate::Taken,
        }
    }

    /// The session that sends into this tunnel. A walk over all: error indications are rare.
    fn downlink_tunnel(&self, teid: u32, peer: IpAddr) -> Option<u64> {
        let to = Action::N3 { teid, peer };
        let mut sessions = self.entries.iter().flatten();
        sessions.find(|entry| entry.downlink.iter().any(|rule| rule.action == to)).map(|entry| entry.seid)
    }

    fn drop(&mut self, reason: Drop) -> Fate<'static> {
        self.counters.dropped[reason as usize] += 1;
        Fate::Dropped(reason)
    }
}

fn find<'a, K: std::hash::Hash + Eq>(
    map: &Map<K>,
    entries: &'a mut [Option<Box<Entry>>],
    key: &K,
) -> Option<&'a mut Entry> {
    entries.get_mut(*map.get(key)? as usize)?.as_deref_mut()
}

fn tell(events: &mut VecDeque<PlaneEvent>, counters: &mut PlaneCounters, event: PlaneEvent) {
    if events.len() < MAX_EVENTS {
        events.push_back(event);
    } else {
        counters.events_dropped += 1;
    }
}

/// Gates and rates of all QERs of a rule; nothing is taken from any of them unless all agree.
fn admit(qers: &mut [Qer], of_rule: &[u8], uplink: bool, now_ns: u64, octets: usize) -> Result<(), Drop> {
    for index in of_rule {
        let Some(qer) = qers.get_mut(usize::from(*index)) else { continue };
        let way = qer.way(uplink);
        if way.closed {
            return Err(Drop::Gate);
        }
        if !way.bucket.as_mut().is_none_or(|bucket| bucket.has(now_ns, octets)) {
            return Err(Drop::Rate);
        }
    }
    for index in of_rule {
        if let Some(bucket) =
            qers.get_mut(usize::from(*index)).and_then(|qer| qer.way(uplink).bucket.as_mut())
        {
            Bucket::take(bucket, octets);
        }
    }
    Ok(())
}

/// Counts a packet that will be forwarded; quotas stop it.
fn count(
    events: &mut VecDeque<PlaneEvent>,
    counters: &mut PlaneCounters,
    entry: &Entry,
    rule: usize,
    uplink: bool,
    octets: usize,
) -> Result<(), Drop> {
    let rule = if uplink { &entry.uplink[rule] } else { &entry.downlink[rule] };
    let meters = || rule.meters.iter().filter_map(|index| entry.meters.get(usize::from(*index)));
    if meters().any(|meter| meter.quota.is_some_and(|quota| meter.usage.octets() >= quota)) {
        return Err(Drop::Quota);
    }
    for meter in meters() {
        if meter.usage.add(uplink, octets as u64, meter.threshold) {
            tell(events, counters, PlaneEvent::Threshold { seid: entry.seid, urr_id: meter.urr_id });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
