//! The near-RT RIC: E2 towards base stations, E42 towards xApps, and iApps.
//!
//! | file | contents |
//! |---|---|
//! | `nodes` | nodes: setup, disconnect, takeover, known data |
//! | `node_procedures` | all other global procedures, in both directions |
//! | `ran_db` | base stations that consist of several nodes, and their completeness |
//! | `subscriptions` | owners of subscriptions; merging, fan-out, restoring, deleting |
//! | `subscription_answers` | responses of nodes about subscriptions, and their effect on the owners |
//! | `modification` | modification of a subscription |
//! | `turns` | procedures of nodes that handle one at a time |
//! | `indications` | the hot path |
//! | `bypass` | fast path: indications that the driver forwards itself, in order |
//! | `requests` | outstanding controls and queries |
//! | `e42` | the xApps |
//! | `directory`, `cluster` | several RICs that share their nodes |
//! | `relay` | nodes that other RICs serve |
//! | `conflicts` | controls that set the same parameter |
//! | `hints` | probable causes of common problems |
//! | `policy` | admission and permissions of xApps and nodes |
//! | `iapp` | controller logic in the same process |
//! | `limits` | limits, timers and counters |
//! | `loads` | load figures of nodes and xApps, for monitoring |
mod bypass;
mod change;
mod cluster;
mod conflicts;
pub mod directory;
mod e42;
mod event;
mod hints;
mod iapp;
mod indications;
mod limits;
mod links;
mod loads;
mod machine;
mod messages;
mod modification;
mod node_procedures;
mod nodes;
mod policy;
mod procedure_queue;
mod procedures;
mod ran_db;
mod relay;
mod requests;
mod snapshot;
mod states;
mod subscription_answers;
mod subscription_table;
mod subscriptions;
mod timers;

pub use bypass::{Bypass, BypassCounters, ExternalOutbox, Route, RouteSink, RouteTable};
pub use change::{SubscriptionChange, SubscriptionChanged};
pub use event::{NodeLoss, RicEvent};
pub use hints::{Hint, of_refused as refusal_hint};
pub use iapp::{
    ControlDetails, IApp, IAppId, IAppInput, IAppOutbox, Method, NorthboundReply, NorthboundRequest, Outcome,
    Party, RequestHandle, SubscriptionHandle,
};
pub use limits::{Limits, RicCounters, RicTimers};
pub use loads::{NodeLoad, XappLoad};
pub use nodes::NodeInfo;
pub use policy::{
    Admission, AllowAll, NoAdmission, NodeFilter, PeerInfo, Tenant, XappGrant, XappLimits, XappPolicy,
};
pub use procedures::{Procedure, ProcedureError, ProcedureResult};
pub use ran_db::{NodeKind, RanInfo};
pub use snapshot::{
    ClusterSnapshot, ConnSnapshot, NodeSnapshot, RicSnapshot, SubscriptionSnapshot, XappInfo, XappSnapshot,
};

pub use states::{Keeps, SNAPSHOT_BYTES_MAX, SNAPSHOTS_BYTES_MAX, SnapshotCounters, SnapshotError};

use crate::{Frame, LinkLoss, Time};
use bytes::Bytes;
use iapp::{IAppRequest, Notice};
use links::{Links, Role};
use nodes::Nodes;
use ran_db::RanDb;
use ranlab_e2_codec::e2ap::{GlobalRicId, Plmn, Version};
use ranlab_e2_codec::flat::Coding;
use ranlab_e2_codec::per::ShortBits;
use std::collections::{BTreeMap, VecDeque};
use timers::{Timer, Timers};

/// Identifier of a connection, assigned by the driver and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// Protocol of a listener. It cannot be derived from the bytes, because the procedure codes of E42 and E2AP overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListenerProtocol {
    /// Base stations.
    E2,
    /// xApps.
    E42,
}

/// Input of a RIC.
#[derive(Debug, Clone)]
pub enum RicInput {
    /// A listener accepted a connection.
    Connected {
        /// Connection.
        conn: ConnId,
        /// Protocol of the listener.
        side: ListenerProtocol,
        /// Remote address, for logs and policies.
        peer: String,
    },
    /// A connection requested with [`RicOutput::Connect`] has been established. `Disconnected` reports a failed one.
    Dialled {
        /// Connection.
        conn: ConnId,
    },
    /// A PDU was received.
    Received {
        /// Connection.
        conn: ConnId,
        /// PDU; may be a slice of a receive buffer.
        pdu: Bytes,
    },
    /// A connection was closed.
    Disconnected {
        /// Connection.
        conn: ConnId,
        /// Reason observed by the driver. The input must not be passed after [`RicOutput::Close`].
        why: LinkLoss,
    },
    /// The time has advanced; nothing else happened.
    Wake,
}

/// Output of a RIC: an action for the driver, or an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RicOutput {
    /// Send the frames that [`Ric::transmit`] returns.
    Transmit(ConnId),
    /// Connect to another RIC. The RIC assigns the id from a range above that of the driver.
    Connect {
        /// Connection.
        conn: ConnId,
        /// Address, as published by the other RIC.
        address: String,
    },
    /// Close this connection after sending all frames taken before.
    Close {
        /// Connection.
        conn: ConnId,
        /// Reason, for the log.
        reason: String,
    },
    /// Event.
    Event(RicEvent),
}

/// Configuration of a RIC.
#[non_exhaustive]
pub struct RicConfig {
    /// Identity of the RIC.
    pub ric_id: GlobalRicId,
    /// E2AP version until a node's setup request determines it. `V3_01` upgrades every node of v2 or later to v3.01.
    pub version: Version,
    /// Instance of the first request ids at each node. If it differs at each start of the RIC, indications for
    /// subscriptions of an earlier run are recognized, and these subscriptions are deleted.
    pub first_instance: u16,
    /// Limits.
    pub limits: Limits,
    /// Timers.
    pub timers: RicTimers,
    /// Admission and permissions of xApps.
    pub policy: Box<dyn XappPolicy>,
    /// Base stations whose setup is accepted; an empty list accepts all.
    pub admissions: Vec<Admission>,
    /// Configuration for several RICs that share their nodes; `None` for a single RIC.
    pub directory: Option<directory::DirectoryConfig>,
}

changed_by!(RicConfig);

impl std::fmt::Debug for RicConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RicConfig").field("ric_id", &self.ric_id).field("version", &self.version).finish()
    }
}

impl Default for RicConfig {
    /// Returns RIC 25 of PLMN 505.01, v2.03, first instance 0, which accepts all peers.
    fn default() -> Self {
        Self {
            ric_id: GlobalRicId { plmn: Plmn::new(505, 1, 2), ric_id: ShortBits::new(25, 20) },
            version: Version::V2_03,
            first_instance: 0,
            limits: Limits::default(),
            timers: RicTimers::default(),
            policy: Box::new(AllowAll),
            admissions: Vec::new(),
            directory: None,
        }
    }
}

/// Owner of a subscription, control or query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    IApp(usize),
    Xapp { place: usize, conn: ConnId },
}

/// A near-RT RIC without sockets or clock.
pub struct Ric {
    config: RicConfig,
    links: Links,
    nodes: Nodes,
    ran_db: RanDb,
    owned: subscriptions::Owned,
    /// Number of outstanding controls and queries per owner.
    requests_by: BTreeMap<Owner, usize>,
    /// Number of outstanding controls per party.
    requests_for: BTreeMap<Party, usize>,
    xapps: e42::Xapps,
    iapps: Vec<Box<dyn IApp>>,
    /// Name under which each iApp sends controls.
    iapp_names: Vec<Party>,
    iapp_outbox: IAppOutbox,
    notices: VecDeque<(usize, Notice)>,
    /// Nodes that have sent a response, so that their next queued request can be sent.
    freed: Vec<usize>,
    conflicts: conflicts::Conflicts,
    timers: Timers,
    next_flow: u64,
    counters: RicCounters,
    /// Whether the fast path may be in use.
    bypassed: bool,
    cluster: Option<Box<cluster::Cluster>>,
}

impl std::fmt::Debug for Ric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ric").field("config", &self.config).field("counters", &self.counters).finish()
    }
}

impl Ric {
    /// Creates a RIC without connections.
    pub fn new(mut config: RicConfig) -> Self {
        Self {
            cluster: config.directory.take().map(|it| Box::new(cluster::Cluster::new(it))),
            config,
            links: Links::default(),
            nodes: Nodes::default(),
            ran_db: RanDb::default(),
            owned: subscriptions::Owned::default(),
            requests_by: BTreeMap::new(),
            requests_for: BTreeMap::new(),
            xapps: e42::Xapps::default(),
            iapps: Vec::new(),
            iapp_names: Vec::new(),
            iapp_outbox: IAppOutbox::default(),
            notices: VecDeque::new(),
            freed: Vec::new(),
            conflicts: conflicts::Conflicts::default(),
            timers: Timers::default(),
            next_flow: 0,
            counters: RicCounters::default(),
            bypassed: false,
        }
    }

    /// Adds an iApp. The next [`handle`](Self::handle) reports the existing nodes and xApps to it.
    pub fn add_iapp(&mut self, iapp: Box<dyn IApp>) -> IAppId {
        let place = self.iapps.len();
        self.iapp_names.push(format!("iapp://{}", iapp.name()).into());
        self.iapps.push(iapp);
        for node in self.nodes.in_order() {
            self.notices.push_back((place, Notice::NodeAdded(node.info.clone())));
        }
        for info in self.xapps.infos() {
            self.notices.push_back((place, Notice::XappAdded(info)));
        }
        self.meet_all_states(place);
        IAppId(place)
    }

    /// Returns the first iApp with this name.
    pub fn iapp(&self, name: &str) -> Option<IAppId> {
        self.iapps.iter().position(|iapp| iapp.name() == name).map(IAppId)
    }

    /// Processes an input.
    pub fn handle(&mut self, now: Time, input: RicInput) {
        self.links.set_now(now);
        self.expire_lease(now);
        match input {
            RicInput::Dialled { .. } => self.dialled(now, input),
            RicInput::Received { conn, .. } | RicInput::Disconnected { conn, .. }
                if relay::is_dialled(conn) =>
            {
                self.dialled(now, input);
            }
            RicInput::Received { conn, pdu } => self.received(now, conn, pdu),
            RicInput::Connected { conn, side, peer } => self.connected(now, conn, side, &peer),
            RicInput::Disconnected { conn, why } => {
                self.on_disconnect(now, conn, NodeLoss::Lost(why));
                self.links.remove(conn);
            }
            RicInput::Wake => {}
        }
        self.process_consequences(now);
    }

    /// Returns the next output. Call it until it returns `None`.
    pub fn poll(&mut self) -> Option<RicOutput> {
        loop {
            match self.links.poll()? {
                RicOutput::Transmit(conn) if relay::is_virtual(conn) => self.carry(self.links.now(), conn),
                RicOutput::Close { conn, .. } if relay::is_virtual(conn) => {}
                output => return Some(output),
            }
        }
    }

    /// Returns the next frame for a connection.
    pub fn transmit(&mut self, now: Time, conn: ConnId) -> Option<Frame> {
        if relay::is_dialled(conn) {
            return self.cluster.as_mut()?.relays.transmit(now, conn);
        }
        let conn = self.links.conn_mut(conn)?;
        // The driver requests a frame only if the transport has room.
        Links::transport_ready(conn);
        conn.outbox.pop(now)
    }

    /// Reports that the connection accepts no more data for now. Queued frames are copied to their own memory; see
    /// [`crate::Outbox::detach`].
    pub fn transport_full(&mut self, conn: ConnId) {
        let stall = self.config.timers.stall;
        if let Some(check) = self.links.transport_full(conn, stall) {
            self.timers.set(check, Timer::Stalled(conn));
        }
        if let Some(conn) = self.links.conn_mut(conn) {
            conn.outbox.detach();
        } else if let Some(cluster) = &mut self.cluster {
            cluster.relays.transport_full(conn);
        }
    }

    /// Returns the latest time for the next call of [`handle`](Self::handle).
    pub fn wake_at(&self) -> Option<Time> {
        let shared = self.cluster.as_ref().and_then(|cluster| cluster.wake_at());
        if self.notices.is_empty() {
            self.timers.next().into_iter().chain(shared).chain(self.links.next_release()).min()
        } else {
            Some(Time::ZERO)
        }
    }

    /// Passes an external request to an iApp. [`RicEvent::Reply`] follows.
    pub fn northbound(&mut self, now: Time, iapp: IAppId, request: NorthboundRequest) {
        if iapp.0 < self.iapps.len() {
            self.notices.push_back((iapp.0, Notice::Northbound(request)));
            self.process_consequences(now);
        } else {
            let reply = NorthboundReply { token: request.token, status: 404, body: Bytes::new() };
            self.links.event(RicEvent::Reply(reply));
        }
    }

    /// Passes [`IAppInput::Roused`] to an iApp: an external event that it waits for has occurred.
    pub fn wake_iapp(&mut self, now: Time, iapp: IAppId) {
        if iapp.0 < self.iapps.len() {
            self.notices.push_back((iapp.0, Notice::Roused));
            self.process_consequences(now);
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> RicCounters {
        let mut counters =
            RicCounters { indications_dropped: self.links.indications_dropped(), ..self.counters };
        if self.bypassed {
            let nodes = self.nodes.in_order();
            let passed =
                nodes.flat_map(|node| node.subscriptions.iter()).map(|(_, s)| s.heard.forwarded_past());
            passed.for_each(|passed| counters.count_passed(passed));
        }
        counters
    }

    fn connected(&mut self, now: Time, conn: ConnId, side: ListenerProtocol, peer: &str) {
        if !self.links.open(now, conn, side, peer, &self.config) {
            self.counters.connections_refused += 1;
            let what =
                "the connection is closed, because the maximum number of connections is reached".to_owned();
            return self.links.event(RicEvent::Fault { conn, peer: peer.into(), what });
        }
        self.timers.set(now + self.config.timers.handshake, Timer::Handshake(conn));
    }

    fn received(&mut self, now: Time, id: ConnId, pdu: Bytes) {
        let Some(conn) = self.links.open_conn(id) else { return };
        conn.heard = now;
        let side = conn.side;
        let role = conn.role;
        let version = conn.version;
        let coding = *conn.coding.get_or_insert_with(|| Coding::detect(&pdu));
        if pdu.len() > self.config.limits.pdu_bytes {
            self.counters.closed_for_size += 1;
            let limit = self.config.limits.pdu_bytes;
            let reason = format!("the peer sent a PDU of {} bytes; at most {limit} are allowed", pdu.len());
            return self.links.close(id, reason);
        }
        if let Role::Node(place) = role
            && match coding {
                Coding::Per => self.indication(now, place, &pdu),
                Coding::Flat => self.flat_indication(now, place, &pdu),
            }
        {
            return;
        }
        let pdu = match coding.receive(pdu, version) {
            Ok(pdu) => pdu,
            Err(fault) => return self.links.foreign(id, &fault, &self.config.limits, &mut self.counters),
        };
        // The message may be kept for a long time and must not keep the whole receive buffer alive.
        let pdu = Bytes::copy_from_slice(&pdu);
        match (side, role) {
            (ListenerProtocol::E2, Role::Node(place)) => self.node_pdu(now, id, place, &pdu),
            (ListenerProtocol::E2, _) => self.first_e2(now, id, &pdu),
            (ListenerProtocol::E42, Role::Xapp(place)) => self.xapp_pdu(now, id, place, &pdu),
            (ListenerProtocol::E42, _) => self.first_e42(now, id, &pdu),
        }
    }

    /// Processes all consequences of an input: deadlines, closed connections, and iApps.
    fn process_consequences(&mut self, now: Time) {
        self.links.release_due(now);
        while let Some(timer) = self.timers.take_due(now) {
            self.expired(now, timer);
        }
        let mut calls = 0;
        loop {
            while let Some((conn, reason)) = self.links.take_doomed() {
                self.on_disconnect(now, conn, NodeLoss::Closed(reason));
            }
            while let Some(place) = self.freed.pop() {
                self.next_turn(now, place);
            }
            if self.attend_directory(now) || self.attend_relays(now) || self.attend_states(now) {
                continue;
            }
            if !self.iapp_outbox.requests.is_empty() {
                self.iapp_requests(now);
                continue;
            }
            if calls == self.config.limits.iapp_calls_per_step && !self.notices.is_empty() {
                self.counters.iapp_steps_cut += 1;
                return;
            }
            let Some((place, notice)) = self.notices.pop_front() else { return };
            calls += 1;
            self.iapp_outbox.current = place;
            match (&notice, notice.as_input()) {
                (_, Some(input)) => self.iapps[place].handle(now, input, &mut self.iapp_outbox),
                (Notice::Restored(key), _) => self.restore_state(now, place, key),
                _ => {}
            }
        }
    }

    fn expired(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::Handshake(conn) => {
                if self.links.open_conn(conn).is_some_and(|c| c.role == Role::New) {
                    self.counters.handshakes_expired += 1;
                    let waited = self.config.timers.handshake.as_secs_f64();
                    self.links.close(conn, format!("the peer sent no setup request within {waited} s"));
                }
            }
            Timer::Stalled(conn) => {
                if let Some(again) = self.links.check_stall(now, conn, self.config.timers.stall) {
                    self.timers.set(again, Timer::Stalled(conn));
                }
            }
            Timer::Subscription { node, slot } => self.subscription_expired(now, node, slot),
            Timer::Silence { node, slot } => self.silence_expired(now, node, slot),
            Timer::Request { node, instance } => self.request_expired(node, instance),
            Timer::Procedure { node, transaction } => self.procedure_expired(now, node, transaction),
            Timer::Turn { node } => self.next_turn(now, node),
            Timer::Retention { node } => self.forget_node(node),
            Timer::IApp { iapp, token } => self.notices.push_back((iapp, Notice::Timer(token))),
        }
    }

    /// Closes a connection immediately and informs its node or xApp.
    fn shut(&mut self, now: Time, id: ConnId, reason: String) {
        self.links.close(id, reason.clone());
        self.on_disconnect(now, id, NodeLoss::Closed(reason));
    }

    /// Handles a closed connection: updates its node or xApp.
    fn on_disconnect(&mut self, now: Time, id: ConnId, why: NodeLoss) {
        let Some(conn) = self.links.conn_mut(id) else { return };
        if let Some(at) = conn.handshake.take() {
            self.timers.cancel(at, Timer::Handshake(id));
        }
        let role = std::mem::replace(&mut conn.role, Role::New);
        conn.closing = true;
        self.unroute_all(id);
        self.leave_directory(now, id);
        match role {
            Role::New => {}
            Role::Node(place) => self.node_lost(now, place, why),
            Role::Xapp(place) => self.xapp_gone(now, place),
        }
    }

    fn iapp_requests(&mut self, now: Time) {
        for (place, request) in std::mem::take(&mut self.iapp_outbox.requests) {
            let owner = Owner::IApp(place);
            match request {
                IAppRequest::Subscribe(handle, node, function, details) => {
                    let id = handle.request_id();
                    if let Err(cause) = self.subscribe(now, owner, id, &node, function, &details) {
                        self.notices.push_back((place, Notice::SubscriptionFailed(id, cause)));
                    }
                }
                IAppRequest::Unsubscribe(handle) => {
                    // The subscription is unknown if it has just ended; the notice is queued.
                    let _ = self.unsubscribe(now, owner, handle.request_id(), None);
                }
                IAppRequest::Modify(handle, change) => self.modify(now, owner, handle.request_id(), change),
                IAppRequest::Control(handle, node, function, details, party) => {
                    let party = party.unwrap_or_else(|| self.iapp_names[place].clone());
                    self.iapp_control(now, (place, party), handle.request_id(), &node, function, details);
                }
                IAppRequest::Query(handle, node, function, header, definition) => {
                    self.iapp_query(now, place, handle.request_id(), &node, function, header, definition);
                }
                IAppRequest::WakeAt(at, token) => self.timers.set(at, Timer::IApp { iapp: place, token }),
                IAppRequest::Reply(reply) => self.links.event(RicEvent::Reply(reply)),
                IAppRequest::Save(about) => self.save_state(now, place, about),
            }
        }
    }

    /// Queues a notice for every iApp.
    fn tell_iapps(&mut self, notice: impl Fn() -> Notice) {
        for place in 0..self.iapps.len() {
            self.notices.push_back((place, notice()));
        }
    }
}
