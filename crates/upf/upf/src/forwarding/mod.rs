//! User plane of the UPF: detects, polices, counts, forwards or buffers packets, session by session.
//!
//! ```text
//!  GTP-U datagram --uplink()----> PDR (TEID, QFI, UE, flow) -> QER -> URR -> FAR -> Verdict::N6(packet) | Verdict::Relay
//!  N6 packet      --downlink()--> PDR (UE, flow)            -> QER -> URR -> FAR -> Verdict::N3 | Verdict::Buffered
//! ```
//!
//! Every source and destination interface has the same actions: drop, buffer, forward into a tunnel, forward to the
//! data network. A rule with any other action is rejected at compilation ([`Refusal`]).
//!
//! Rules are those of TS 29.244 as decoded by [`pfcp`](crate::pfcp). Packets without a matching rule are counted by reason.
//! Rates refer to inner IP packets, from the first byte of the IP header ([`RATE_LAYER`]), so Ethernet and GTP-U
//! headers do not reduce a user's rate.
mod compile;
mod flow;
mod inner;
mod marks;
mod police;
mod rules;
mod template_session;
mod types;
mod usage;
pub mod xdp;

pub use compile::{Refusal, Unsupported};
pub use flow::{Flow, FlowError};
pub use rules::Rules;
pub use types::{Drop, PlaneCounters, PlaneEvent, Relay, Verdict};
pub use usage::{Crossed, Limits, Meter, Usage};

use crate::pfcp::ApplicationPfds;
use inner::Inner;
use marks::{Marks, head};
use police::Bucket;
use ranlab_packet::gtpu::{
    GpduTemplate, Message, Packet, PduSession, decode_message, extension_type, message_type,
};
use rules::{Action, Entry, Mapping, Qer, Rule, Waiting};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;

/// Protocol layer to which bit rates refer.
pub const RATE_LAYER: &str = "inner IP packet";
/// Maximum number of buffered packets per session, unless its BAR suggests fewer.
pub const MAX_BUFFERED_SESSION: usize = 256;
/// Maximum number of buffered packets of all sessions.
pub const MAX_BUFFERED: usize = 1 << 16;
/// Maximum number of events queued for the control plane. Further events are dropped and counted.
pub const MAX_EVENTS: usize = 1 << 14;
/// Maximum length of a downlink packet's tunnel headers, in bytes.
pub const HEADROOM: usize = GpduTemplate::MAX_LEN;

/// Hasher with a single multiplication. It suffices for tunnels, sessions and UEs, because the control plane assigns their numbers. An
/// attacker therefore cannot choose colliding numbers.
#[derive(Debug, Default, Clone, Copy)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
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

/// A session id. The lower half is an index that the control plane reuses. Only the index is hashed, so sessions with the same index have
/// the same position in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seid(u64);

impl std::hash::Hash for Seid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0 as u32);
    }
}

/// An uplink tunnel. If the UPF has chosen the tunnel, the lower 21 bits are its table index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Teid(u32);

impl std::hash::Hash for Teid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0 & 0x001f_ffff);
    }
}

type Map<K> = HashMap<K, u32, BuildHasherDefault<NumberHasher>>;

/// Sessions of one packet worker. See the [module](self).
#[derive(Debug)]
pub struct UserPlane {
    entries: Vec<Option<Box<Entry>>>,
    free: Vec<u32>,
    by_seid: Map<Seid>,
    by_teid: Map<Teid>,
    by_ue: Map<u64>,
    /// Prototypes of sessions by shape, each with removed sessions of this shape for reuse.
    // Boxes move into and out of `entries` unchanged.
    #[allow(clippy::vec_box)]
    prototypes: Vec<Option<(Entry, Vec<Box<Entry>>)>>,
    counters: PlaneCounters,
    events: VecDeque<PlaneEvent>,
    waiting: usize,
}

impl Default for UserPlane {
    fn default() -> Self {
        Self::new()
    }
}

impl UserPlane {
    /// Creates a user plane without sessions.
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            by_seid: Map::default(),
            by_teid: Map::default(),
            by_ue: Map::default(),
            prototypes: Vec::new(),
            counters: PlaneCounters::default(),
            events: VecDeque::new(),
            waiting: 0,
        }
    }

    /// Returns the packet counters.
    pub fn counters(&self) -> &PlaneCounters {
        &self.counters
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.by_seid.len()
    }

    /// Returns the oldest event for the control plane.
    pub fn event(&mut self) -> Option<PlaneEvent> {
        self.events.pop_front()
    }

    /// Compiles a session's rules without installing them.
    ///
    /// # Errors
    /// The first unsupported rule.
    pub fn check(rules: &Rules<'_>) -> Result<(), Refusal> {
        Entry::compile(0, rules, &[]).map(drop)
    }

    /// Compiles the flow descriptions of an application.
    ///
    /// # Errors
    /// The first flow description that cannot be compared with packets.
    pub fn check_application(application: &ApplicationPfds) -> Result<(), FlowError> {
        compile::application_filters(application).map(drop)
    }

    /// Installs or replaces a session's rules. Rate limiters keep their state, and buffered packets stay buffered (see
    /// [`flush`](Self::flush)). `meters` are the session's usage rules.
    ///
    /// # Errors
    /// The first unsupported rule. The session is unchanged.
    pub fn install(&mut self, seid: u64, rules: &Rules<'_>, meters: &[Meter]) -> Result<(), Refusal> {
        let mut entry = Entry::compile(seid, rules, meters)?;
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
        Ok(())
    }

    fn place(&mut self, seid: u64) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        self.by_seid.insert(Seid(seid), index);
        index
    }

    /// Removes the lookup entries of a session.
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

    /// Removes a session with its buffered packets.
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

    /// Removes all sessions.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.free.clear();
        self.by_seid.clear();
        self.by_teid.clear();
        self.by_ue.clear();
        self.events.clear();
        self.waiting = 0;
    }

    /// Drops a session's buffered packets.
    pub fn drop_buffered(&mut self, seid: u64) {
        if let Some(entry) = find(&self.by_seid, &mut self.entries, &Seid(seid)) {
            self.waiting -= entry.waiting.len();
            entry.waiting.clear();
            entry.notified = false;
        }
    }

    /// Returns the number of a session's buffered packets if one of its rules forwards into a tunnel, otherwise 0.
    pub fn flushable(&self, seid: u64) -> usize {
        let index = self.by_seid.get(&Seid(seid)).copied().unwrap_or(u32::MAX);
        let entry = self.entries.get(index as usize).and_then(Option::as_ref);
        entry.filter(|entry| entry.can_flush()).map_or(0, |entry| entry.waiting.len())
    }

    /// Processes the next buffered packet of a session with its current rules. Call this function [`flushable`](Self::flushable) times. A
    /// packet whose rule still buffers is appended to the queue again.
    pub fn flush<'a>(&mut self, now_ns: u64, seid: u64, out: &'a mut [u8]) -> Option<Verdict<'a>> {
        let entry = find(&self.by_seid, &mut self.entries, &Seid(seid)).filter(|entry| entry.can_flush())?;
        let waiting = entry.waiting.pop_front()?;
        self.waiting -= 1;
        match waiting {
            Waiting::Packet(packet) => {
                // The packet was counted on arrival.
                self.counters.n6_received -= 1;
                Some(self.downlink(now_ns, &packet, out))
            }
            Waiting::Datagram(datagram) => {
                self.counters.n3_received -= 1;
                let relay = match self.uplink(now_ns, IpAddr::from([0; 4]), &datagram) {
                    Verdict::Relay(relay) => relay,
                    Verdict::Dropped(reason) => return Some(Verdict::Dropped(reason)),
                    _ => return Some(Verdict::Taken),
                };
                Some(self.write(&relay, out))
            }
        }
    }

    /// Processes a datagram from a tunnel. `Verdict::N6` and `Verdict::Relay` borrow the packet from the datagram.
    pub fn uplink<'a>(&mut self, now_ns: u64, peer: IpAddr, datagram: &'a [u8]) -> Verdict<'a> {
        self.counters.n3_received += 1;
        let Ok(packet) = Packet::parse(datagram) else { return self.drop(Drop::Malformed) };
        if packet.message_type != message_type::G_PDU {
            return self.path_message(peer, &packet);
        }
        if packet.incomprehensible(&[extension_type::PDU_SESSION_CONTAINER]).is_some() {
            self.counters.unsupported += 1;
            return Verdict::Unsupported;
        }
        let Some(entry) = find(&self.by_teid, &mut self.entries, &Teid(packet.teid)) else {
            self.counters.unknown_tunnels += 1;
            // TEID 0 causes no error indication (TS 29.281 §7.3.1).
            return if packet.teid == 0 { Verdict::Taken } else { Verdict::UnknownTunnel(packet.teid) };
        };
        let session = match packet.pdu_session() {
            Some(Ok(session)) => Some(session),
            Some(Err(_)) => return self.drop(Drop::Malformed),
            None => None,
        };
        let qfi = session.map(|session| session.qfi());
        let Some(inner) = Inner::read(packet.payload) else { return self.drop(Drop::Malformed) };
        let mut rules = entry.from_tunnels.iter();
        let Some(rule) = rules.find(|rule| rule.takes_from_tunnel(packet.teid, qfi, &inner)) else {
            return self.drop(Drop::NoRule);
        };
        let octets = inner.octets;
        let relay = match rule.action {
            Action::N6 => None,
            Action::Tunnel { teid, peer } => {
                let session = next_container(rule, session);
                Some(Relay { peer, tos: rule.tos, teid, session, packet: &packet.payload[..octets] })
            }
            Action::Drop => return self.drop(Drop::Action),
            Action::NoTunnel => return self.drop(Drop::NoTunnel),
            Action::Buffer { notify } => {
                let waiting = Buffering { pdr_id: rule.pdr_id, notify, full: self.waiting >= MAX_BUFFERED };
                let buffered = waiting.take(entry, || Waiting::Datagram(datagram.to_vec()));
                return self.buffered(buffered);
            }
        };
        let uplink = rule.uplink;
        let mut metering = Metering {
            events: &mut self.events,
            counters: &mut self.counters,
            seid: entry.seid,
            meters: &entry.meters,
        };
        if let Err(reason) = metering.admit(&mut entry.qers, rule, now_ns, octets) {
            return self.drop(reason);
        }
        if uplink {
            self.counters.uplink += 1;
        } else {
            self.counters.downlink += 1;
        }
        relay.map_or(Verdict::N6(&packet.payload[..octets]), Verdict::Relay)
    }

    /// Writes a packet of [`Verdict::Relay`] with the header of its next tunnel.
    pub fn write(&mut self, relay: &Relay<'_>, out: &mut [u8]) -> Verdict<'static> {
        let Relay { peer, tos, teid, session, packet } = *relay;
        let plain = match session {
            None => head(None).copied(),
            Some(session) if session == PduSession::dl(session.qfi()) => {
                head(Some(Marks::flow(session.qfi()))).copied()
            }
            Some(session) => GpduTemplate::new(Some(session)).ok(),
        };
        match plain.and_then(|head| put_gpdu(&head, teid, packet, out)) {
            Some(len) => Verdict::N3 { peer, len, tos },
            None => self.drop(Drop::TooLong),
        }
    }

    /// Processes a packet from the data network. The datagram of `Verdict::N3` is in `out`.
    pub fn downlink<'a>(&mut self, now_ns: u64, packet: &[u8], out: &'a mut [u8]) -> Verdict<'a> {
        self.counters.n6_received += 1;
        let Some(inner) = Inner::read(packet) else { return self.drop(Drop::Malformed) };
        let Some(entry) = find(&self.by_ue, &mut self.entries, &inner.destination) else {
            return self.drop(Drop::NoRule);
        };
        let Some(rule) = entry.from_n6.iter().find(|rule| rule.takes_from_n6(&inner)) else {
            return self.drop(Drop::NoRule);
        };
        let octets = inner.octets;
        let (teid, peer) = match rule.action {
            Action::Tunnel { teid, peer } => (teid, peer),
            Action::Drop | Action::N6 => return self.drop(Drop::Action),
            Action::NoTunnel => return self.drop(Drop::NoTunnel),
            Action::Buffer { notify } => {
                let waiting = Buffering { pdr_id: rule.pdr_id, notify, full: self.waiting >= MAX_BUFFERED };
                let buffered = waiting.take(entry, || Waiting::Packet(packet[..octets].to_vec()));
                return self.buffered(buffered);
            }
        };
        let mut metering = Metering {
            events: &mut self.events,
            counters: &mut self.counters,
            seid: entry.seid,
            meters: &entry.meters,
        };
        if let Err(reason) = metering.admit(&mut entry.qers, rule, now_ns, octets) {
            return self.drop(reason);
        }
        let Some(len) = head(rule.marks).and_then(|head| put_gpdu(head, teid, &packet[..octets], out)) else {
            return self.drop(Drop::TooLong);
        };
        self.counters.downlink += 1;
        Verdict::N3 { peer, len, tos: rule.tos }
    }

    /// Counts a packet that was buffered, or that was dropped because the buffer is full.
    fn buffered(&mut self, result: Option<Option<PlaneEvent>>) -> Verdict<'static> {
        let Some(event) = result else { return self.drop(Drop::BufferFull) };
        self.waiting += 1;
        self.counters.buffered += 1;
        if let Some(event) = event {
            push_event(&mut self.events, &mut self.counters, event);
        }
        Verdict::Buffered
    }

    fn path_message(&mut self, peer: IpAddr, packet: &Packet<'_>) -> Verdict<'static> {
        let Ok(message) = decode_message(packet) else { return self.drop(Drop::Malformed) };
        self.counters.path_messages += 1;
        match message {
            Message::EchoRequest => Verdict::Echo,
            Message::ErrorIndication { teid, peer: end, .. } => {
                let peer = if end.is_unspecified() { peer } else { end };
                push_event(&mut self.events, &mut self.counters, PlaneEvent::ErrorIndication { teid, peer });
                Verdict::Taken
            }
            _ => Verdict::Taken,
        }
    }

    fn drop(&mut self, reason: Drop) -> Verdict<'static> {
        self.counters.dropped[reason as usize] += 1;
        Verdict::Dropped(reason)
    }
}

fn find<'a, K: std::hash::Hash + Eq>(
    map: &Map<K>,
    entries: &'a mut [Option<Box<Entry>>],
    key: &K,
) -> Option<&'a mut Entry> {
    entries.get_mut(*map.get(key)? as usize)?.as_deref_mut()
}

fn push_event(events: &mut VecDeque<PlaneEvent>, counters: &mut PlaneCounters, event: PlaneEvent) {
    if events.len() < MAX_EVENTS {
        events.push_back(event);
    } else {
        counters.events_dropped += 1;
    }
}

/// A packet to be buffered.
struct Buffering {
    pdr_id: u16,
    notify: bool,
    /// Whether the buffer of all sessions is full.
    full: bool,
}

impl Buffering {
    /// Buffers the packet. Returns the event to report, if there is one. Returns `None` if the buffer is full.
    fn take(self, entry: &mut Entry, packet: impl FnOnce() -> Waiting) -> Option<Option<PlaneEvent>> {
        if self.full || entry.waiting.len() >= entry.max_waiting {
            return None;
        }
        entry.waiting.push_back(packet());
        let first = self.notify && !std::mem::replace(&mut entry.notified, true);
        Some(first.then_some(PlaneEvent::DownlinkData { seid: entry.seid, pdr_id: self.pdr_id }))
    }
}

/// Returns the PDU session container for the next tunnel. The received container is kept, unless a QER names another QoS flow or the rule
/// removes the container (TS 29.244 §8.2.64).
fn next_container(rule: &Rule, came_with: Option<PduSession>) -> Option<PduSession> {
    match came_with.filter(|_| !rule.strips_container && !rule.is_marked) {
        Some(session) => Some(session),
        None => {
            let marks = rule.marks.filter(|_| rule.is_marked || !rule.strips_container);
            marks.map(|marks| marks.container(rule.uplink))
        }
    }
}

/// Writes a packet after its header. Returns `None` if `out` is too small.
fn put_gpdu(head: &GpduTemplate, teid: u32, packet: &[u8], out: &mut [u8]) -> Option<usize> {
    let at = head.write(teid, packet.len(), out)?;
    out.get_mut(at..at + packet.len())?.copy_from_slice(packet);
    Some(at + packet.len())
}

/// Checks gates and rates of all QERs of a rule. Consumes tokens only if all QERs admit the packet.
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

/// Meters of a session, and the queue for their events.
struct Metering<'a> {
    events: &'a mut VecDeque<PlaneEvent>,
    counters: &'a mut PlaneCounters,
    seid: u64,
    meters: &'a [Meter],
}

impl Metering<'_> {
    fn of_rule<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = &'a Meter> {
        rule.meters.iter().filter_map(|index| self.meters.get(usize::from(*index)))
    }

    /// Returns an error if a quota of a rule is exhausted.
    fn check_quotas(&self, rule: &Rule) -> Result<(), Drop> {
        let exhausted = self.of_rule(rule).any(|meter| meter.usage.is_exhausted());
        if exhausted { Err(Drop::Quota) } else { Ok(()) }
    }

    /// Counts a packet in the meters of a rule that count before, or after, QoS enforcement.
    fn count(&mut self, rule: &Rule, before_qos: bool, now_ns: u64, octets: usize) {
        let meters = rule.meters.iter().filter_map(|index| self.meters.get(usize::from(*index)));
        for meter in meters.filter(|meter| meter.before_qos == before_qos) {
            if let Some((crossed, read)) = meter.add(now_ns, rule.uplink, octets as u64) {
                let event = PlaneEvent::Usage { seid: self.seid, urr_id: meter.urr_id, crossed, read };
                push_event(self.events, self.counters, event);
            }
        }
    }

    /// Polices and counts a packet that its rule forwards. A packet that exhausts a quota still passes.
    fn admit(&mut self, qers: &mut [Qer], rule: &Rule, now_ns: u64, octets: usize) -> Result<(), Drop> {
        if rule.measures_before_qos {
            self.check_quotas(rule)?;
            self.count(rule, true, now_ns, octets);
            admit(qers, &rule.qers, rule.uplink, now_ns, octets)?;
        } else {
            admit(qers, &rule.qers, rule.uplink, now_ns, octets)?;
            self.check_quotas(rule)?;
        }
        self.count(rule, false, now_ns, octets);
        Ok(())
    }
}

#[cfg(test)]
mod action_tests;
#[cfg(test)]
mod tests;
