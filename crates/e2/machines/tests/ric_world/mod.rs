//! A RIC with scripted agents and xApps in virtual time.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test file uses only a part

pub mod beside;

use beside::Beside;
use bytes::Bytes;
use ranlab_e2::ric::*;
use ranlab_e2::{LinkLoss, Time};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use std::collections::BTreeMap;
use std::time::Duration;

pub struct World {
    pub ric: Ric,
    pub now: Time,
    next_conn: u64,
    /// PDUs received by each peer, in order.
    pub inbox: BTreeMap<ConnId, Vec<Bytes>>,
    pub closed: BTreeMap<ConnId, String>,
    pub events: Vec<RicEvent>,
    /// Peers that do not read.
    pub deaf: Vec<ConnId>,
    pub versions: BTreeMap<ConnId, Version>,
    /// Fast path, if enabled.
    pub beside: Option<Beside>,
}

impl World {
    pub fn new() -> Self {
        Self::with(RicConfig::default())
    }

    /// Creates a RIC that does not hold responses to xApps and does not report stalled connections.
    pub fn with(mut config: RicConfig) -> Self {
        config.timers.stall = Duration::from_secs(1 << 20);
        Self::holding(Duration::ZERO, config)
    }

    /// Creates a RIC that holds responses to FlexRIC's xApps.
    pub fn holding(hold: Duration, mut config: RicConfig) -> Self {
        config.timers.e42_hold = hold;
        Self {
            ric: Ric::new(config),
            now: Time::from_nanos(1_000_000_000),
            next_conn: 0,
            inbox: BTreeMap::new(),
            closed: BTreeMap::new(),
            events: Vec::new(),
            deaf: Vec::new(),
            versions: BTreeMap::new(),
            beside: None,
        }
    }

    /// Creates a RIC with the fast path enabled.
    pub fn with_bypass() -> Self {
        Self { beside: Some(Beside::default()), ..Self::new() }
    }

    pub fn connect(&mut self, side: ListenerProtocol) -> ConnId {
        let host = format!("peer-{}", self.next_conn + 1);
        self.connect_from(side, &host)
    }

    pub fn connect_from(&mut self, side: ListenerProtocol, host: &str) -> ConnId {
        self.next_conn += 1;
        let conn = ConnId(self.next_conn);
        self.versions.insert(conn, Version::V2_03);
        self.ric.handle(self.now, RicInput::Connected { conn, side, peer: format!("{host}:{}", conn.0) });
        if let Some(beside) = &mut self.beside {
            beside.connected(&mut self.ric, conn, side);
        }
        self.pump();
        conn
    }

    /// Connects a v1.01 node and completes its setup.
    pub fn connect_v1(&mut self, gnb: u32) -> ConnId {
        let conn = self.connect(ListenerProtocol::E2);
        self.versions.insert(conn, Version::V1_01);
        let setup = E2SetupRequest { transaction_id: None, components: None, ..setup_of(node(gnb)) };
        self.send(conn, Message::E2SetupRequest(setup));
        assert!(matches!(self.got(conn)[..], [Message::E2SetupResponse(_)]));
        conn
    }

    pub fn send_bytes(&mut self, conn: ConnId, pdu: impl Into<Bytes>) {
        let pdu = pdu.into();
        if let Some(beside) = &mut self.beside
            && beside.passes(self.now, conn, &pdu)
        {
            let mut waits = beside.all();
            waits.retain(|conn| !self.deaf.contains(conn));
            return waits.into_iter().for_each(|conn| self.take(conn));
        }
        self.ric.handle(self.now, RicInput::Received { conn, pdu });
        self.pump();
    }

    /// Delivers the queued messages to a peer.
    pub fn take(&mut self, conn: ConnId) {
        let next = |world: &mut Self| {
            let beside = world.beside.as_ref().and_then(|beside| beside.next(world.now, conn));
            beside.or_else(|| world.ric.transmit(world.now, conn))
        };
        while let Some(frame) = next(self) {
            self.inbox.entry(conn).or_default().push(frame.to_bytes());
        }
    }

    pub fn send(&mut self, conn: ConnId, message: Message) {
        let bytes = encode(&message, self.versions[&conn]).unwrap();
        self.send_bytes(conn, bytes);
    }

    pub fn send42(&mut self, conn: ConnId, message: e42::Message) {
        let bytes = e42::encode(&message, self.versions[&conn]).unwrap();
        self.send_bytes(conn, bytes);
    }

    pub fn disconnect(&mut self, conn: ConnId) {
        self.disconnected(conn);
        self.pump();
    }

    fn disconnected(&mut self, conn: ConnId) {
        self.ric.handle(self.now, RicInput::Disconnected { conn, why: LinkLoss::ClosedByPeer });
        if let Some(beside) = &mut self.beside {
            beside.disconnected(conn);
        }
    }

    /// Advances the time and processes all deadlines.
    pub fn pass(&mut self, duration: Duration) {
        let end = self.now + duration;
        while let Some(at) = self.ric.wake_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.ric.handle(self.now, RicInput::Wake);
            self.pump();
        }
        self.now = end;
    }

    pub fn pump(&mut self) {
        while let Some(output) = self.ric.poll() {
            match output {
                RicOutput::Transmit(conn) if self.deaf.contains(&conn) => self.ric.transport_full(conn),
                RicOutput::Transmit(conn) => self.take(conn),
                RicOutput::Close { conn, reason } => {
                    self.closed.insert(conn, reason);
                    self.disconnected(conn);
                }
                RicOutput::Connect { address, .. } => panic!("a single RIC must not connect to {address}"),
                RicOutput::Event(event) => self.events.push(event),
            }
        }
    }

    pub fn raw(&mut self, conn: ConnId) -> Vec<Bytes> {
        self.inbox.remove(&conn).unwrap_or_default()
    }

    pub fn raw_is_empty(&self, conn: ConnId) -> bool {
        self.inbox.get(&conn).is_none_or(Vec::is_empty)
    }

    /// Returns the messages that an agent received since the last call.
    pub fn got(&mut self, conn: ConnId) -> Vec<Message> {
        let version = self.versions[&conn];
        self.raw(conn).iter().map(|b| decode(b, version).unwrap().message).collect()
    }

    /// Returns the messages that an xApp received since the last call.
    pub fn got42(&mut self, conn: ConnId) -> Vec<e42::Message> {
        let version = self.versions[&conn];
        self.raw(conn).iter().map(|b| e42::decode(b, version).unwrap().message).collect()
    }

    /// Connects an agent and completes its setup.
    pub fn agent(&mut self, gnb: u32) -> ConnId {
        let conn = self.connect(ListenerProtocol::E2);
        self.send(conn, setup_request(gnb));
        assert!(matches!(self.got(conn)[..], [Message::E2SetupResponse(_)]));
        conn
    }

    /// Connects an xApp and completes its setup. Returns its id.
    pub fn xapp(&mut self) -> (ConnId, u16) {
        self.xapp_that(false)
    }

    pub fn xapp_that(&mut self, wants_node_events: bool) -> (ConnId, u16) {
        let conn = self.connect(ListenerProtocol::E42);
        self.send42(conn, e42_setup(wants_node_events));
        let got = self.got42(conn);
        let [e42::Message::SetupResponse(response), ..] = &got[..] else { panic!("{got:?}") };
        (conn, response.xapp_id)
    }

    /// Subscribes, and admits the subscription at the agent. Returns the request id at the agent.
    pub fn subscribed(&mut self, xapp: (ConnId, u16), agent: ConnId, gnb: u32, request: u16) -> RicRequestId {
        self.send42(xapp.0, subscribe(xapp.1, gnb, request, 10));
        let id = self.admit(agent);
        let got = self.got42(xapp.0);
        let [e42::Message::E2(Message::RicSubscriptionResponse(r))] = &got[..] else { panic!("{got:?}") };
        assert_eq!(r.request_id, rid(request));
        id
    }

    /// Admits the only request that the agent received.
    pub fn admit(&mut self, agent: ConnId) -> RicRequestId {
        let got = self.got(agent);
        let [Message::RicSubscriptionRequest(r)] = &got[..] else { panic!("{got:?}") };
        let id = r.request_id;
        self.send(agent, admitted(id));
        id
    }

    /// Connects an agent like [`agent`](Self::agent); messages after the setup response stay in the inbox.
    pub fn agent_then_nothing(&mut self, gnb: u32) -> ConnId {
        let conn = self.connect(ListenerProtocol::E2);
        self.send(conn, setup_request(gnb));
        conn
    }

    /// Admits every request that the agent received. Returns the last request id.
    pub fn admit_any(&mut self, agent: ConnId) -> RicRequestId {
        let mut last = None;
        for message in self.got(agent) {
            if let Message::RicSubscriptionRequest(r) = message {
                self.send(agent, admitted(r.request_id));
                last = Some(r.request_id);
            }
        }
        last.unwrap()
    }

    pub fn node(&self, gnb: u32) -> NodeSnapshot {
        let snapshot = self.ric.snapshot();
        snapshot.nodes.into_iter().find(|n| n.info.id == node(gnb)).unwrap()
    }

    /// Checks that the subscriptions at agents match those of the owners, and that no entry refers to a removed one.
    pub fn assert_no_leak(&self) {
        let snapshot = self.ric.snapshot();
        let mut at_nodes: Vec<_> = snapshot
            .nodes
            .iter()
            .flat_map(|n| n.subscriptions.iter().flat_map(|s| s.xapps.iter().map(|x| (*x, n.info.id))))
            .collect();
        let mut at_xapps: Vec<_> = snapshot
            .xapps
            .iter()
            .flat_map(|x| x.subscriptions.iter().map(|(id, node)| ((x.info.id, *id), *node)))
            .collect();
        at_nodes.sort();
        at_xapps.sort();
        assert_eq!(at_nodes, at_xapps);
        for node in &snapshot.nodes {
            for s in &node.subscriptions {
                let ownerless = s.xapps.is_empty() && s.iapps == 0;
                assert!(!ownerless || s.state == "deleting" || s.state == "requesting", "{s:?}");
            }
        }
    }
}

pub fn node(gnb: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), gnb, 32)
}

pub fn rid(requestor: u16) -> RicRequestId {
    RicRequestId { requestor, instance: 0 }
}

pub fn function(id: u16) -> RanFunctionItem {
    let oid = Some(format!("0.0.0.{id}"));
    RanFunctionItem { id, definition: Bytes::from_static(b"definition"), revision: 3, oid }
}

/// Returns the setup of a ranlab agent, which handles several procedures in parallel.
pub fn setup_of(node_id: GlobalE2NodeId) -> E2SetupRequest {
    let component = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
        configuration: ComponentConfiguration {
            request_part: Bytes::from_static(ranlab_e2::fingerprint::MARK),
            response_part: Bytes::from_static(ranlab_e2::fingerprint::MARK),
        },
    };
    E2SetupRequest {
        transaction_id: Some(7),
        node_id,
        functions: Some(vec![function(142), function(143)]),
        components_v1: None,
        components: Some(vec![component]),
    }
}

/// Returns the setup of a third-party agent.
pub fn third_party_setup(node_id: GlobalE2NodeId) -> E2SetupRequest {
    let mut setup = setup_of(node_id);
    for component in setup.components.iter_mut().flatten() {
        component.configuration = ComponentConfiguration::default();
    }
    setup
}

pub fn setup_request(gnb: u32) -> Message {
    Message::E2SetupRequest(setup_of(node(gnb)))
}

pub fn e42_setup(wants_node_events: bool) -> e42::Message {
    e42::Message::SetupRequest(e42::SetupRequest { functions: vec![function(142)], wants_node_events })
}

pub fn details(period_ms: u32) -> RicSubscriptionDetails {
    RicSubscriptionDetails {
        event_trigger: Bytes::copy_from_slice(&period_ms.to_le_bytes()),
        actions: vec![ActionToBeSetup::report(0)],
    }
}

pub fn subscribe(xapp_id: u16, gnb: u32, request: u16, period_ms: u32) -> e42::Message {
    e42::Message::SubscriptionRequest(e42::SubscriptionRequest {
        xapp_id,
        node_id: node(gnb),
        request_id: rid(request),
        function_id: 142,
        details: details(period_ms),
    })
}

pub fn delete(xapp_id: u16, request: u16) -> e42::Message {
    let request_id = rid(request);
    let function_id = 142;
    e42::Message::SubscriptionDeleteRequest(e42::SubscriptionDeleteRequest {
        xapp_id,
        request_id,
        function_id,
    })
}

pub fn control(xapp_id: u16, gnb: u32, request: u16) -> e42::Message {
    e42::Message::ControlRequest(e42::ControlRequest {
        xapp_id,
        node_id: node(gnb),
        request_id: rid(request),
        function_id: 142,
        call_process_id: None,
        header: Bytes::from_static(b"h"),
        message: Bytes::from_static(b"m"),
        ack_request: Some(RicControlAckRequest::Ack),
    })
}

pub fn admitted(request_id: RicRequestId) -> Message {
    Message::RicSubscriptionResponse(RicSubscriptionResponse {
        request_id,
        function_id: 142,
        admitted: vec![0],
        not_admitted: None,
    })
}

pub fn deleted(request_id: RicRequestId) -> Message {
    Message::RicSubscriptionDeleteResponse(RicSubscriptionDeleteResponse { request_id, function_id: 142 })
}

pub fn indication(request_id: RicRequestId, sn: u16, size: usize) -> Message {
    Message::RicIndication(RicIndication {
        request_id,
        function_id: 142,
        action_id: 0,
        sn: Some(sn),
        kind: RicIndicationType::Report,
        header: Bytes::from_static(&[0; 4]),
        message: Bytes::from(vec![sn as u8; size]),
        call_process_id: None,
    })
}
