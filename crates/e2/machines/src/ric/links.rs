//! Connections, their send queues, and the outputs for the driver.
use super::bypass::{Bypass, OutboxLocation};
use super::hints::{self, Hints};
use super::{ConnId, Limits, ListenerProtocol, RicConfig, RicCounters, RicEvent, RicOutput};
use crate::coding::in_coding;
use crate::{FlowId, Frame, Outbox, Time};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{self, Cause, CauseProtocol, ErrorIndication, Message, Rejection, Version, fast};
use ranlab_e2_codec::e42;
use ranlab_e2_codec::flat::{self, Coding, FlatError};
use ranlab_e2_codec::per::EncodeError;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// Peer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Unknown: no setup yet.
    New,
    /// The node at this index.
    Node(usize),
    /// The xApp at this index.
    Xapp(usize),
}

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) side: ListenerProtocol,
    pub(super) peer: Arc<str>,
    pub(super) version: Version,
    /// Encoding of PDUs, determined by the first PDU of the peer.
    pub(super) coding: Option<Coding>,
    pub(super) role: Role,
    pub(super) outbox: OutboxLocation,
    /// Fast path for indications of this connection, if the driver has one.
    pub(super) bypass: Option<Box<dyn Bypass>>,
    pub(super) heard: Time,
    pub(super) handshake: Option<Time>,
    /// Time since which the transport has accepted nothing.
    stalled_since: Option<Time>,
    /// Whether the stall has been reported.
    stall_reported: bool,
    /// Whether a check of the stall is scheduled.
    stall_check: bool,
    /// Time until which responses to this peer are held.
    answers_due: Time,
    faults: u32,
    setups: (u64, u32),
    /// Whether a `Transmit` output is already queued.
    announced: bool,
    pub(super) closing: bool,
    /// Whether a hint about this peer has been recorded, so that no further one is needed.
    pub(super) explained: bool,
}

/// Hasher for connection ids. The driver assigns the ids sequentially, so no protection against chosen collisions is
/// needed. A keyed hash would dominate the cost of forwarding an indication.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

/// Returns the error indication for a fault in a PDU of the peer.
const fn error_indication(cause: CauseProtocol) -> ErrorIndication {
    let cause = Some(Cause::Protocol(cause));
    ErrorIndication { transaction_id: None, request_id: None, function_id: None, cause, diagnostics: None }
}

#[derive(Debug, Default)]
pub(super) struct Links {
    conns: HashMap<ConnId, Conn, BuildHasherDefault<IdHasher>>,
    outputs: VecDeque<RicOutput>,
    /// Connections to close whose owner has not been informed yet.
    doomed: VecDeque<(ConnId, String)>,
    counts: [usize; 2],
    /// Number of indications dropped on connections that are closed.
    dropped_before: u64,
    /// Current time.
    now: Time,
    /// Due times of held responses, with their connections.
    held: BTreeSet<(Time, ConnId)>,
    hosts: FaultyHosts,
    pub(super) hints: Hints,
}

/// Number of faults per host in the current second.
#[derive(Debug, Default)]
struct FaultyHosts {
    second: u64,
    faults: BTreeMap<Arc<str>, u32>,
}

/// Maximum number of hosts whose faults are counted in one second. Faults of further hosts are not reported.
const FAULTY_HOSTS_MAX: usize = 1_024;

impl FaultyHosts {
    /// Counts a fault of the host of `peer`. Returns whether it exceeds the limit of this second.
    fn too_often(&mut self, now: Time, peer: &str, per_second: u32) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if self.second != second {
            (self.second, self.faults) = (second, BTreeMap::new());
        }
        let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
        let full = self.faults.len() >= FAULTY_HOSTS_MAX;
        match self.faults.get_mut(host) {
            Some(faults) => {
                *faults = faults.saturating_add(1);
                *faults > per_second
            }
            None if full => true,
            None => self.faults.insert(host.into(), 1).is_some() || per_second == 0,
        }
    }
}

impl Links {
    /// Sets the current time. Must be called first for every input.
    pub(super) fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Adds a connection. Returns `false` if the limit of its listener is reached.
    pub(super) fn open(
        &mut self,
        now: Time,
        id: ConnId,
        side: ListenerProtocol,
        peer: &str,
        config: &RicConfig,
    ) -> bool {
        let (limit, outbox) = match side {
            ListenerProtocol::E2 => (config.limits.e2_connections, config.limits.agent_outbox),
            ListenerProtocol::E42 => (config.limits.e42_connections, config.limits.xapp_outbox),
        };
        if self.counts[side as usize] >= limit {
            let reason = format!("the maximum of {limit} connections at this listener is reached");
            self.outputs.push_back(RicOutput::Close { conn: id, reason });
            return false;
        }
        let conn = Conn {
            side,
            peer: peer.into(),
            version: config.version,
            coding: None,
            role: Role::New,
            outbox: OutboxLocation::Own(Outbox::new(outbox)),
            bypass: None,
            heard: now,
            handshake: Some(now + config.timers.handshake),
            stalled_since: None,
            stall_reported: false,
            stall_check: false,
            answers_due: Time::ZERO,
            faults: 0,
            setups: (0, 0),
            announced: false,
            closing: false,
            explained: false,
        };
        if self.conns.insert(id, conn).is_none() {
            self.counts[side as usize] += 1;
        }
        true
    }

    /// Returns a connection, unless it is unknown or being closed.
    pub(super) fn open_conn(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&id).filter(|c| !c.closing)
    }

    pub(super) fn conn(&self, id: ConnId) -> Option<&Conn> {
        self.conns.get(&id)
    }

    /// Returns a connection, even if it is being closed: queued messages are still sent.
    pub(super) fn conn_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: ConnId) -> Option<Conn> {
        let conn = self.conns.remove(&id)?;
        self.counts[conn.side as usize] -= 1;
        self.dropped_before += dropped(&conn);
        Some(conn)
    }

    /// Returns the number of indications dropped on all connections, including closed ones.
    pub(super) fn indications_dropped(&self) -> u64 {
        self.dropped_before + self.conns.values().map(dropped).sum::<u64>()
    }

    pub(super) fn take_doomed(&mut self) -> Option<(ConnId, String)> {
        self.doomed.pop_front()
    }

    pub(super) fn poll(&mut self) -> Option<RicOutput> {
        let output = self.outputs.pop_front()?;
        match &output {
            RicOutput::Transmit(id) => {
                if let Some(conn) = self.conns.get_mut(id) {
                    conn.announced = false;
                }
            }
            RicOutput::Close { conn, .. } => {
                self.remove(*conn);
            }
            RicOutput::Connect { .. } | RicOutput::Event(_) => {}
        }
        Some(output)
    }

    pub(super) fn output(&mut self, output: RicOutput) {
        self.outputs.push_back(output);
    }

    pub(super) fn event(&mut self, event: RicEvent) {
        self.outputs.push_back(RicOutput::Event(event));
    }

    /// Counts a setup. Returns whether it exceeds the limit of this second.
    pub(super) fn setup_too_often(&mut self, now: Time, id: ConnId, per_second: u32) -> bool {
        let Some(conn) = self.conns.get_mut(&id) else { return false };
        let second = now.as_nanos() / 1_000_000_000;
        conn.setups = if conn.setups.0 == second { (second, conn.setups.1 + 1) } else { (second, 1) };
        conn.setups.1 > per_second
    }

    /// Sends an E2AP message in the version of the connection.
    pub(super) fn send(&mut self, id: ConnId, message: &Message) -> Result<(), EncodeError> {
        self.send_written(id, |version| e2ap::encode(message, version))
    }

    /// Sends the bytes that `write` returns for the version of the connection.
    pub(super) fn send_written(
        &mut self,
        id: ConnId,
        write: impl FnOnce(Version) -> Result<Vec<u8>, EncodeError>,
    ) -> Result<(), EncodeError> {
        let Some(conn) = self.open_conn(id) else { return Ok(()) };
        let bytes = write(conn.version)?;
        self.push_control(id, bytes.into());
        Ok(())
    }

    /// Sends an E42 message in the version of the connection.
    pub(super) fn send_e42(&mut self, id: ConnId, message: &e42::Message) -> Result<(), EncodeError> {
        self.send_written(id, |version| e42::encode(message, version))
    }

    /// Sends a message that the RIC composed itself. Such a message can be encoded in every version; tests detect
    /// mistakes.
    pub(super) fn say(&mut self, id: ConnId, message: &Message) {
        let sent = self.send(id, message);
        debug_assert!(sent.is_ok(), "{message:?}: {sent:?}");
    }

    /// Records that a transport accepts no more data. Returns when to check for a stall, unless a check is already
    /// scheduled.
    pub(super) fn transport_full(&mut self, id: ConnId, stall: Duration) -> Option<Time> {
        let now = self.now;
        let conn = self.open_conn(id)?;
        let since = *conn.stalled_since.get_or_insert(now);
        if conn.stall_reported {
            return None;
        }
        (!std::mem::replace(&mut conn.stall_check, true)).then_some(since + stall)
    }

    /// Records that a transport accepts data again.
    pub(super) fn transport_ready(conn: &mut Conn) {
        conn.stalled_since = None;
        conn.stall_reported = false;
    }

    /// Reports a connection whose transport has accepted nothing for `stall`, at most once until it accepts data again. Returns the time of
    /// the next check. An external outbox is checked regularly, because it does not report that it is full.
    pub(super) fn check_stall(&mut self, now: Time, id: ConnId, stall: Duration) -> Option<Time> {
        let conn = self.open_conn(id)?;
        conn.stall_check = false;
        let outlet = conn.outbox.outlet_blocked_since();
        match outlet {
            Some(None) => Self::transport_ready(conn),
            Some(since) => conn.stalled_since = since,
            None => {}
        }
        let next_of_outlet = outlet.is_some().then_some(now + stall);
        let Some(since) = conn.stalled_since else { return next_of_outlet };
        if now < since + stall {
            conn.stall_check = true;
            return Some(since + stall);
        }
        if std::mem::replace(&mut conn.stall_reported, true) {
            return next_of_outlet;
        }
        let bytes = conn.outbox.queued_bytes();
        let lost = dropped(conn);
        let seconds = now.since(since).as_secs_f64();
        let what = format!(
            "the peer accepts no messages for {seconds:.1} s: {bytes} bytes are queued, {lost} indications were dropped"
        );
        let peer = conn.peer.clone();
        self.event(RicEvent::Fault { conn: id, peer, what });
        next_of_outlet
    }

    /// Holds responses on this connection, and all later messages, until `due`. Returns the previous due time.
    pub(super) fn hold_answers(&mut self, id: ConnId, due: Time) -> Time {
        self.open_conn(id).map_or(Time::ZERO, |conn| std::mem::replace(&mut conn.answers_due, due))
    }

    /// Returns the time at which the next held response is due.
    pub(super) fn next_release(&self) -> Option<Time> {
        self.held.first().map(|(due, _)| *due)
    }

    /// Releases the held responses that are due.
    pub(super) fn release_due(&mut self, now: Time) {
        while let Some((_, id)) = self.held.first().copied().filter(|(due, _)| *due <= now) {
            self.held.pop_first();
            self.announce(id);
        }
    }

    /// Queues an encoded message.
    pub(super) fn push_control(&mut self, id: ConnId, bytes: Bytes) {
        let now = self.now;
        let Some(conn) = self.open_conn(id) else { return };
        let frame = in_coding(Frame::whole(bytes), conn.coding.unwrap_or_default(), conn.version);
        let due = Some(conn.answers_due).filter(|due| *due > now);
        match conn.outbox.push_held(frame, due.unwrap_or(Time::ZERO)) {
            Ok(()) => match due {
                Some(due) => drop(self.held.insert((due, id))),
                None => self.announce(id),
            },
            Err(full) => self.close(id, full.to_string()),
        }
    }

    /// Queues a forwarded indication.
    pub(super) fn push_indication(&mut self, now: Time, id: ConnId, flow: FlowId, frame: Frame) -> bool {
        let Some(conn) = self.conns.get_mut(&id).filter(|c| !c.closing) else { return false };
        let frame = in_coding(frame, conn.coding.unwrap_or_default(), conn.version);
        conn.outbox.push_indication(now, flow, frame);
        if !conn.announced {
            conn.announced = true;
            self.outputs.push_back(RicOutput::Transmit(id));
        }
        true
    }

    /// Queues an indication in the encoding of its receiver. Returns whether the receiver is connected.
    pub(super) fn push_written(
        &mut self,
        now: Time,
        id: ConnId,
        flow: FlowId,
        indication: &fast::Indication<'_>,
    ) -> bool {
        let Some(conn) = self.conns.get(&id) else { return false };
        let octets = match conn.coding.unwrap_or_default() {
            Coding::Flat => flat::write_indication(indication),
            Coding::Per => {
                let mut octets = Vec::new();
                // Cannot fail: the indication was decoded from bytes.
                if indication.encode(&mut octets).is_err() {
                    return false;
                }
                octets.into()
            }
        };
        self.push_indication(now, id, flow, Frame::whole(octets))
    }

    fn announce(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&id).filter(|c| !c.announced) {
            conn.announced = true;
            self.outputs.push_back(RicOutput::Transmit(id));
        }
    }

    /// Closes a connection after its queued messages have been sent.
    pub(super) fn close(&mut self, id: ConnId, reason: String) {
        let Some(conn) = self.open_conn(id) else { return };
        conn.closing = true;
        // Held responses are sent before the connection closes.
        conn.outbox.release();
        self.announce(id);
        self.outputs.push_back(RicOutput::Close { conn: id, reason: reason.clone() });
        self.doomed.push_back((id, reason));
    }

    /// Handles an undecodable PDU: responds with an error indication, or closes the connection before a setup or
    /// after too many faults.
    pub(super) fn reject(
        &mut self,
        id: ConnId,
        rejection: &Rejection,
        limits: &Limits,
        counters: &mut RicCounters,
    ) {
        counters.undecodable += 1;
        let Some(conn) = self.open_conn(id) else { return };
        if rejection.is_ignorable() && conn.role != Role::New {
            return;
        }
        let indication = rejection.error_indication(conn.version);
        if !conn.explained {
            let peer = conn.peer.clone();
            self.hint(peer, None, None, hints::of_rejection(rejection));
        }
        self.fault(id, indication, rejection.to_string(), limits, counters);
    }

    /// Handles a message that is not expected in the state of the connection.
    pub(super) fn misplaced(&mut self, id: ConnId, name: &str, limits: &Limits, counters: &mut RicCounters) {
        counters.misplaced += 1;
        let indication = error_indication(CauseProtocol::MessageNotCompatibleWithReceiverState);
        self.fault(id, indication, format!("{name} is not allowed in the current state"), limits, counters);
    }

    /// Handles bytes that are not in the encoding of the connection.
    pub(super) fn foreign(
        &mut self,
        id: ConnId,
        fault: &FlatError,
        limits: &Limits,
        counters: &mut RicCounters,
    ) {
        counters.undecodable += 1;
        let indication = error_indication(CauseProtocol::TransferSyntaxError);
        self.fault(id, indication, fault.to_string(), limits, counters);
    }

    fn fault(
        &mut self,
        id: ConnId,
        indication: ErrorIndication,
        what: String,
        limits: &Limits,
        counters: &mut RicCounters,
    ) {
        let Some(conn) = self.open_conn(id) else { return };
        conn.faults += 1;
        let before_setup = conn.role == Role::New;
        let too_many = conn.faults >= limits.faults_per_connection;
        if self.tell_fault(id, what.clone(), limits, counters) {
            self.say(id, &Message::ErrorIndication(indication));
        }
        if before_setup || too_many {
            counters.closed_for_faults += 1;
            let why = if before_setup { "before the setup" } else { "too many faults on this connection" };
            self.close(id, format!("{what} ({why})"));
        }
    }

    /// Emits an event about a peer's fault, unless its host exceeds the limit of this second. Returns whether it did.
    pub(super) fn tell_fault(
        &mut self,
        id: ConnId,
        what: String,
        limits: &Limits,
        counters: &mut RicCounters,
    ) -> bool {
        let Some(peer) = self.conn(id).map(|c| c.peer.clone()) else { return false };
        if self.hosts.too_often(self.now, &peer, limits.faults_per_second) {
            counters.faults_hushed += 1;
            return false;
        }
        self.event(RicEvent::Fault { conn: id, peer, what });
        true
    }

    /// Returns the open connections in the order of their ids.
    pub(super) fn sorted(&self) -> Vec<(ConnId, &Conn)> {
        let mut conns: Vec<_> = self.conns.iter().map(|(id, c)| (*id, c)).collect();
        conns.sort_unstable_by_key(|(id, _)| *id);
        conns
    }
}

fn dropped(conn: &Conn) -> u64 {
    let counters = conn.outbox.counters();
    counters.dropped_full + counters.dropped_old
}
