//! Nodes that other RICs serve. This RIC is an E42 client of each other RIC. Each node of another RIC is a virtual connection here, without
//! a socket. iApps and xApps use such a node like any other. Its indications come directly from the RIC that serves it.
use super::directory::RicSeen;
use super::messages;
use super::{ConnId, ListenerProtocol, NodeLoss, Ric, RicInput, RicOutput, Role};
use crate::Time;
use crate::xapp::{
    ControlHandle, Dialect, Failure, IndicationView, SubscriptionHandle, Xapp, XappConfig, XappEvent,
    XappInput, XappOutput,
};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// First id of virtual connections; the driver's ids are below.
const VIRTUAL_FIRST: u64 = 1 << 62;
/// First id of connections that this RIC has requested.
const DIALLED_FIRST: u64 = 1 << 63;
/// OID that identifies a RIC to another RIC, which then announces only its own nodes to it.
pub(super) const RELAY_OID: &str = "ranlab-ric";

/// Returns whether a connection is virtual: the node of another RIC.
pub(super) fn is_virtual(conn: ConnId) -> bool {
    (VIRTUAL_FIRST..DIALLED_FIRST).contains(&conn.0)
}

/// Returns whether this RIC requested a connection, which leads to another RIC.
pub(super) fn is_dialled(conn: ConnId) -> bool {
    conn.0 >= DIALLED_FIRST
}

/// An outstanding request at a node.
#[derive(Debug, Clone)]
struct RelayedRequest {
    request_id: RicRequestId,
    function: RanFunctionId,
    actions: Vec<ActionToBeSetup>,
    call_process_id: Option<Bytes>,
    answered: bool,
}

impl RelayedRequest {
    fn new(
        request_id: RicRequestId,
        function: RanFunctionId,
        actions: Vec<ActionToBeSetup>,
        call_process_id: Option<Bytes>,
    ) -> Self {
        Self { request_id, function, actions, call_process_id, answered: false }
    }
}

/// The node of another RIC.
#[derive(Debug)]
struct Proxy {
    conn: ConnId,
    subscriptions: BTreeMap<SubscriptionHandle, RelayedRequest>,
    leaving: BTreeMap<SubscriptionHandle, RelayedRequest>,
    controls: BTreeMap<ControlHandle, RelayedRequest>,
}

/// Another RIC.
#[derive(Debug)]
struct Relay {
    life: u64,
    address: String,
    xapp: Xapp,
    dial: Option<ConnId>,
    proxies: BTreeMap<GlobalE2NodeId, Proxy>,
}

/// Other RICs by name.
#[derive(Debug, Default)]
pub(super) struct Relays {
    all: BTreeMap<Arc<str>, Relay>,
    dials: BTreeMap<ConnId, Arc<str>>,
    nodes: BTreeMap<ConnId, (Arc<str>, GlobalE2NodeId)>,
    /// Nodes listed by other RICs, by their directory keys.
    keys: BTreeMap<String, GlobalE2NodeId>,
    last: u64,
}

impl Relays {
    pub(super) fn wake_at(&self) -> Option<Time> {
        self.all.values().filter_map(|relay| relay.xapp.wake_at()).min()
    }

    fn by_dial(&mut self, dial: ConnId) -> Option<&mut Relay> {
        self.all.get_mut(self.dials.get(&dial)?)
    }

    /// Returns the next frame for another RIC.
    pub(super) fn transmit(&mut self, now: Time, dial: ConnId) -> Option<crate::Frame> {
        self.by_dial(dial)?.xapp.transmit(now)
    }

    pub(super) fn transport_full(&mut self, dial: ConnId) {
        if let Some(relay) = self.by_dial(dial) {
            relay.xapp.transport_full();
        }
    }

    fn proxy(&mut self, name: &str, node: &GlobalE2NodeId) -> Option<&mut Proxy> {
        self.all.get_mut(name)?.proxies.get_mut(node)
    }
}

fn client(address: &str, seed: u64) -> Xapp {
    let relay = RanFunctionItem {
        id: 0,
        definition: Bytes::from_static(b"-"),
        revision: 1,
        oid: Some(RELAY_OID.into()),
    };
    Xapp::new(XappConfig::new(address).with(|it| {
        it.seed = seed;
        it.dialect = Dialect::Ranlab;
        it.service_models.push(relay);
        it.limits.subscriptions = 60_000;
    }))
}

impl Ric {
    /// Updates the connections after other RICs appeared, disappeared, or changed their addresses.
    pub(super) fn sync_relays(&mut self, now: Time) {
        let Some(cluster) = &mut self.cluster else { return };
        let is_reachable = |ric: &RicSeen| !ric.presence.over && !ric.presence.e42.is_empty();
        let rics = cluster.directory.rics().filter(|(_, ric)| is_reachable(ric));
        let rics: BTreeMap<Arc<str>, (u64, String)> =
            rics.map(|(name, ric)| (name.clone(), (ric.presence.life, ric.presence.e42.clone()))).collect();
        let stale = cluster.relays.all.iter().filter(|(name, relay)| {
            rics.get(*name).is_none_or(|(life, address)| *life != relay.life || *address != relay.address)
        });
        let stale: Vec<_> = stale.map(|(name, _)| name.clone()).collect();
        stale.into_iter().for_each(|name| self.end_relay(now, &name));
        let Some(cluster) = &mut self.cluster else { return };
        for (name, (life, address)) in rics {
            let seed = life ^ name.bytes().fold(7, |sum: u64, b| sum.wrapping_mul(31).wrapping_add(b.into()));
            cluster.relays.all.entry(name).or_insert_with(|| Relay {
                xapp: client(&address, seed),
                life,
                address,
                dial: None,
                proxies: BTreeMap::new(),
            });
        }
    }

    fn end_relay(&mut self, now: Time, name: &str) {
        self.end_proxies(now, name);
        let Some(cluster) = &mut self.cluster else { return };
        let Some(dial) = cluster.relays.all.remove(name).and_then(|relay| relay.dial) else { return };
        cluster.relays.dials.remove(&dial);
        self.links.output(RicOutput::Close {
            conn: dial,
            reason: format!("RIC {name} has ended or has another address"),
        });
    }

    fn end_proxies(&mut self, now: Time, name: &str) {
        let Some(relay) = self.cluster.as_ref().and_then(|it| it.relays.all.get(name)) else { return };
        let conns: Vec<_> = relay.proxies.values().map(|proxy| proxy.conn).collect();
        let why = format!("RIC {name} cannot be reached");
        conns.into_iter().for_each(|conn| self.shut(now, conn, why.clone()));
    }

    /// Handles a change of the owner of a directory key.
    pub(super) fn node_moved(&mut self, now: Time, key: &str) {
        let Some(cluster) = &self.cluster else { return };
        let Some(node) = cluster.relays.keys.get(key).copied() else { return };
        self.relay_as_directed(now, node);
    }

    /// Makes a node available through the RIC that the directory names as its owner, and through no other.
    fn relay_as_directed(&mut self, now: Time, node: GlobalE2NodeId) {
        let Some(cluster) = &mut self.cluster else { return };
        let owner = cluster.directory.owner(&node).cloned();
        let wrong = cluster.relays.all.iter().filter(|(name, relay)| {
            let right = owner.as_ref().is_some_and(|it| it.ric == **name && it.life == relay.life);
            !right && relay.proxies.contains_key(&node)
        });
        let wrong: Vec<_> = wrong.filter_map(|(_, relay)| Some(relay.proxies.get(&node)?.conn)).collect();
        for conn in wrong {
            self.shut(now, conn, "another RIC serves the node now".to_owned());
        }
        let real = self.nodes.find(&node).and_then(|place| self.nodes.at(place)?.conn).is_some();
        let (Some(owner), false) = (owner, real) else { return };
        let Some(cluster) = &mut self.cluster else { return };
        let Some(relay) = cluster.relays.all.get_mut(&owner.ric).filter(|it| it.life == owner.life) else {
            return;
        };
        let Some(info) = relay.xapp.node(&node).filter(|_| relay.xapp.is_ready()).cloned() else { return };
        cluster.relays.last += 1;
        let conn = ConnId(VIRTUAL_FIRST + cluster.relays.last);
        let (subscriptions, leaving, controls) = Default::default();
        relay.proxies.insert(node, Proxy { conn, subscriptions, leaving, controls });
        cluster.relays.nodes.insert(conn, (owner.ric.clone(), node));
        self.connected(now, conn, ListenerProtocol::E2, &format!("RIC {}", owner.ric));
        let request = E2SetupRequest {
            transaction_id: Some(0),
            node_id: node,
            functions: Some(info.functions).filter(|it| !it.is_empty()),
            components_v1: None,
            components: Some(info.components).filter(|it| !it.is_empty()),
        };
        self.setup(now, conn, Version::V2_03, request);
        if self.place_of(conn).is_none() {
            // The limit of nodes is reached.
            self.drop_proxy(conn);
            self.links.close(conn, "a node of another RIC exceeds the maximum number of nodes".to_owned());
        }
    }

    /// Removes a virtual connection.
    pub(super) fn drop_proxy(&mut self, conn: ConnId) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some((name, node)) = cluster.relays.nodes.remove(&conn) else { return };
        let Some(relay) = cluster.relays.all.get_mut(&name) else { return };
        if relay.proxies.get(&node).is_some_and(|proxy| proxy.conn == conn)
            && let Some(proxy) = relay.proxies.remove(&node)
        {
            proxy.subscriptions.into_keys().for_each(|handle| relay.xapp.unsubscribe(handle));
        }
    }

    /// Handles an input of a connection to another RIC.
    pub(super) fn dialled(&mut self, now: Time, input: RicInput) {
        let Some(cluster) = &mut self.cluster else { return };
        let (conn, input) = match input {
            RicInput::Dialled { conn } => (conn, XappInput::Connected),
            RicInput::Received { conn, pdu } => (conn, XappInput::Received { pdu }),
            RicInput::Disconnected { conn, why } => (conn, XappInput::Disconnected { why }),
            RicInput::Connected { .. } | RicInput::Wake => return,
        };
        let gone = matches!(input, XappInput::Disconnected { .. });
        let Some(relay) = cluster.relays.by_dial(conn).filter(|relay| relay.dial == Some(conn)) else {
            return;
        };
        if gone {
            relay.dial = None;
        }
        relay.xapp.handle(now, input);
        if gone {
            cluster.relays.dials.remove(&conn);
        }
    }

    /// Executes the outputs of the E42 clients. Returns whether there were any.
    pub(super) fn attend_relays(&mut self, now: Time) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        let relays = &mut cluster.relays;
        let mut found = None;
        for (name, relay) in &mut relays.all {
            if relay.xapp.wake_at().is_some_and(|at| at <= now) {
                relay.xapp.handle(now, XappInput::Wake);
            }
            if let Some(output) = relay.xapp.poll() {
                found = Some((name.clone(), output));
                break;
            }
        }
        let Some((name, output)) = found else { return false };
        let dial = relays.all.get(&name).and_then(|relay| relay.dial);
        match output {
            XappOutput::Connect { address } => {
                relays.last += 1;
                let conn = ConnId(DIALLED_FIRST + relays.last);
                relays.dials.insert(conn, name.clone());
                if let Some(relay) = relays.all.get_mut(&name) {
                    relay.dial = Some(conn);
                }
                self.links.output(RicOutput::Connect { conn, address });
            }
            XappOutput::Transmit => {
                dial.into_iter().for_each(|conn| self.links.output(RicOutput::Transmit(conn)));
            }
            XappOutput::Close { reason } => {
                if let Some(conn) = dial {
                    relays.dials.remove(&conn);
                    if let Some(relay) = relays.all.get_mut(&name) {
                        relay.dial = None;
                    }
                    self.links.output(RicOutput::Close { conn, reason: reason.to_string() });
                }
            }
            XappOutput::Event(event) => self.relay_event(now, &name, event),
        }
        true
    }

    fn relay_event(&mut self, now: Time, name: &Arc<str>, event: XappEvent) {
        match event {
            XappEvent::Indication { handle, node, indication, .. } => {
                self.relayed_indication(now, name, &node, handle, &indication);
            }
            XappEvent::NodeAdded { node } => self.relay_listed(now, node),
            XappEvent::NodeChanged { node } => {
                self.end_proxy(now, name, &node, "the node has changed");
                self.relay_listed(now, node);
            }
            XappEvent::NodeRemoved { node } => {
                self.end_proxy(now, name, &node, "its RIC no longer lists the node")
            }
            XappEvent::Disconnected { .. } => self.end_proxies(now, name),
            XappEvent::Ready { .. } => self.relay_all(now, name),
            XappEvent::Subscribed { handle, node, not_admitted } => {
                self.relayed_subscription(now, name, &node, handle, Ok(not_admitted));
            }
            XappEvent::SubscriptionFailed { handle, node, failure } => {
                self.relayed_subscription(now, name, &node, handle, Err(failure));
            }
            XappEvent::Unsubscribed { handle, node } => {
                let Some(cluster) = &mut self.cluster else { return };
                let Some(proxy) = cluster.relays.proxy(name, &node) else { return };
                let Some(errand) = proxy.leaving.remove(&handle) else { return };
                let request_id = errand.request_id;
                let function_id = errand.function;
                let conn = proxy.conn;
                let answer = RicSubscriptionDeleteResponse { request_id, function_id };
                self.say_for_node(now, conn, &Message::RicSubscriptionDeleteResponse(answer));
            }
            XappEvent::ControlAcknowledged { handle, outcome } => {
                self.relayed_control(now, name, handle, None, outcome);
            }
            XappEvent::ControlFailed { handle, failure, outcome } => {
                self.relayed_control(now, name, handle, Some(cause_of(failure)), outcome);
            }
            _ => {}
        }
    }

    /// Handles a node listed by another RIC.
    fn relay_listed(&mut self, now: Time, node: GlobalE2NodeId) {
        if let Some(cluster) = &mut self.cluster {
            cluster.relays.keys.insert(super::directory::node_key(&node), node);
        }
        self.relay_as_directed(now, node);
    }

    /// Adds the nodes that a newly connected RIC has listed.
    fn relay_all(&mut self, now: Time, name: &str) {
        let Some(relay) = self.cluster.as_ref().and_then(|it| it.relays.all.get(name)) else { return };
        let nodes: Vec<_> = relay.xapp.nodes().map(|(node, _)| *node).collect();
        nodes.into_iter().for_each(|node| self.relay_listed(now, node));
    }

    fn end_proxy(&mut self, now: Time, name: &str, node: &GlobalE2NodeId, why: &str) {
        let proxy = self.cluster.as_mut().and_then(|it| it.relays.proxy(name, node));
        if let Some(conn) = proxy.map(|proxy| proxy.conn) {
            self.shut(now, conn, why.to_owned());
        }
    }

    fn place_of(&self, conn: ConnId) -> Option<usize> {
        match self.links.conn(conn)?.role {
            Role::Node(place) => Some(place),
            _ => None,
        }
    }

    /// Processes a message as if a virtual node had sent it.
    fn say_for_node(&mut self, now: Time, conn: ConnId, message: &Message) {
        let Some(place) = self.place_of(conn) else { return };
        let encoded = encode(message, Version::V2_03);
        debug_assert!(encoded.is_ok(), "{message:?}: {encoded:?}");
        let Ok(pdu) = encoded else { return };
        if let Some(link) = self.links.open_conn(conn) {
            link.heard = now;
        }
        self.node_pdu(now, conn, place, &pdu.into());
    }

    fn relayed_indication(
        &mut self,
        now: Time,
        name: &str,
        node: &GlobalE2NodeId,
        handle: SubscriptionHandle,
        view: &IndicationView,
    ) {
        let Some(proxy) = self.cluster.as_mut().and_then(|it| it.relays.proxy(name, node)) else { return };
        let Some(errand) = proxy.subscriptions.get(&handle) else { return };
        let indication = fast::Indication {
            request_id: errand.request_id,
            function_id: view.function,
            action_id: view.action,
            sn: view.sn,
            kind: view.kind,
            header: &view.header,
            message: &view.message,
            call_process_id: view.call_process_id.as_deref(),
        };
        let conn = proxy.conn;
        let mut octets = Vec::new();
        // Cannot fail: the indication was decoded.
        if indication.encode(&mut octets).is_err() {
            return;
        }
        let Some(place) = self.place_of(conn) else { return };
        self.indication(now, place, &octets.into());
    }

    fn relayed_subscription(
        &mut self,
        now: Time,
        name: &str,
        node: &GlobalE2NodeId,
        handle: SubscriptionHandle,
        outcome: Result<Vec<ActionFailed>, Failure>,
    ) {
        let Some(relay) = self.cluster.as_mut().and_then(|it| it.relays.all.get_mut(name)) else { return };
        let Some(proxy) = relay.proxies.get_mut(node) else { return };
        let conn = proxy.conn;
        let version = Version::V2_03;
        let Some(errand) = proxy.subscriptions.get_mut(&handle) else { return };
        let id = errand.request_id;
        let function = errand.function;
        match outcome {
            // The other RIC has restored the subscription itself, so nothing was lost here.
            Ok(_) if errand.answered => {}
            Ok(not_admitted) => {
                errand.answered = true;
                let ids = errand.actions.iter().map(|action| action.id);
                let admitted: Vec<_> = ids.filter(|id| not_admitted.iter().all(|it| it.id != *id)).collect();
                let not = Some(&not_admitted[..]).filter(|list| !list.is_empty());
                let answer = messages::subscription_response(version, id, function, &admitted, not);
                self.say_for_node(now, conn, &answer);
            }
            Err(failure) => {
                let Some(errand) = proxy.subscriptions.remove(&handle) else { return };
                relay.xapp.unsubscribe(handle);
                let cause = cause_of(failure);
                let answer = if errand.answered {
                    messages::subscription_ended(version, id, function, cause)
                } else {
                    messages::subscription_failure(version, id, function, cause, &errand.actions)
                };
                self.say_for_node(now, conn, &answer);
            }
        }
    }

    fn relayed_control(
        &mut self,
        now: Time,
        name: &str,
        handle: ControlHandle,
        cause: Option<Cause>,
        outcome: Option<Bytes>,
    ) {
        let Some(relay) = self.cluster.as_mut().and_then(|it| it.relays.all.get_mut(name)) else { return };
        let found = relay.proxies.values_mut().find_map(|it| Some((it.conn, it.controls.remove(&handle)?)));
        let Some((conn, errand)) = found else { return };
        let RelayedRequest { request_id, function: function_id, call_process_id, .. } = errand;
        let answer = match cause {
            None => Message::RicControlAcknowledge(RicControlAcknowledge {
                request_id,
                function_id,
                call_process_id,
                status: None,
                outcome,
            }),
            Some(cause) => messages::control_failure(
                Version::V2_03,
                request_id,
                function_id,
                cause,
                call_process_id,
                outcome,
            ),
        };
        self.say_for_node(now, conn, &answer);
    }

    /// Converts the messages of this RIC to a virtual node into requests to the RIC that serves it.
    pub(super) fn carry(&mut self, now: Time, conn: ConnId) {
        while let Some(frame) = self.links.conn_mut(conn).and_then(|link| link.outbox.pop(now)) {
            match decode(&frame.to_bytes(), Version::V2_03).map(|decoded| decoded.message) {
                Ok(message) => self.carry_message(now, conn, message),
                Err(rejection) => debug_assert!(false, "{rejection:?}"),
            }
        }
        let relays = self.cluster.as_mut().map(|it| &mut it.relays);
        if let Some(relays) = relays
            && let Some((name, _)) = relays.nodes.get(&conn)
            && let Some(relay) = relays.all.get_mut(name)
        {
            relay.xapp.handle(now, XappInput::Wake);
        }
        self.process_consequences(now);
    }

    fn carry_message(&mut self, now: Time, conn: ConnId, message: Message) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some((name, node)) = cluster.relays.nodes.get(&conn).cloned() else { return };
        let Some(relay) = cluster.relays.all.get_mut(&name) else { return };
        let Some(proxy) = relay.proxies.get_mut(&node) else { return };
        let no_place = Cause::RicRequest(CauseRicRequest::SystemNotReady);
        let answer = match message {
            Message::RicSubscriptionRequest(m) => {
                let request_id = m.request_id;
                let function = m.function_id;
                let actions = m.details.actions.clone();
                if proxy.subscriptions.values().any(|it| it.request_id == request_id) {
                    return;
                }
                match relay.xapp.subscribe(node, function, m.details.event_trigger, m.details.actions) {
                    Ok(handle) => {
                        let relayed = RelayedRequest::new(request_id, function, actions, None);
                        proxy.subscriptions.insert(handle, relayed);
                        return;
                    }
                    Err(_) => messages::subscription_failure(
                        Version::V2_03,
                        request_id,
                        function,
                        no_place,
                        &actions,
                    ),
                }
            }
            Message::RicSubscriptionDeleteRequest(m) => {
                let found = proxy.subscriptions.iter().find(|(_, it)| it.request_id == m.request_id);
                if let Some(handle) = found.map(|(handle, _)| *handle)
                    && let Some(errand) = proxy.subscriptions.remove(&handle)
                {
                    proxy.leaving.insert(handle, errand);
                    return relay.xapp.unsubscribe(handle);
                }
                if proxy.leaving.values().any(|it| it.request_id == m.request_id) {
                    return;
                }
                Message::RicSubscriptionDeleteResponse(RicSubscriptionDeleteResponse {
                    request_id: m.request_id,
                    function_id: m.function_id,
                })
            }
            Message::RicControlRequest(m) => {
                let ack = m.ack_request == Some(RicControlAckRequest::Ack);
                let request_id = m.request_id;
                let function = m.function_id;
                let cpid = m.call_process_id.clone();
                match relay.xapp.answer(now, node, function, m.call_process_id, m.header, m.message, ack) {
                    Ok(handle) => {
                        let errand = RelayedRequest::new(request_id, function, Vec::new(), cpid);
                        proxy.controls.insert(handle, errand);
                        return;
                    }
                    Err(_) => {
                        messages::control_failure(Version::V2_03, request_id, function, no_place, cpid, None)
                    }
                }
            }
            Message::RicQueryRequest(m) => {
                messages::error_about(Some(m.request_id), Some(m.function_id), no_place)
            }
            // A setup response needs no reaction. Global procedures are left to the serving RIC; here they end by their
            // timeouts.
            _ => return,
        };
        self.say_for_node(now, conn, &answer);
    }

    /// Returns whether a node is hidden from other RICs, because this RIC itself reaches it through another RIC.
    pub(super) fn is_secondhand(&self, place: usize) -> bool {
        self.nodes.at(place).and_then(|node| node.conn).is_some_and(is_virtual)
    }

    /// Removes a virtual node because the node itself has connected to this RIC.
    pub(super) fn yield_proxy(&mut self, now: Time, node: &GlobalE2NodeId) {
        let conn = self.nodes.find(node).and_then(|place| self.nodes.at(place)?.conn);
        if let Some(conn) = conn.filter(|conn| is_virtual(*conn)) {
            let why = "the node has connected to this RIC".to_owned();
            self.links.close(conn, why.clone());
            self.on_disconnect(now, conn, NodeLoss::Closed(why));
        }
    }
}

fn cause_of(failure: Failure) -> Cause {
    match failure {
        Failure::Cause(cause) => cause,
        Failure::Unanswered => Cause::RicRequest(CauseRicRequest::ControlTimerExpired),
        Failure::Disconnected => Cause::Transport(CauseTransport::Unspecified),
    }
}
