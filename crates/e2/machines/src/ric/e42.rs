//! The xApps: setup, node lists, node events, and the requests of each xApp.
use super::links::Role;
use super::messages::{self, cause_in, transaction_in};
use super::nodes::{Node, NodeInfo};
use super::{ConnId, ListenerProtocol, Notice, Owner, PeerInfo, Ric, RicEvent, XappGrant, XappInfo};
use crate::Time;
use crate::fingerprint::filled;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::by_oid;
use ranlab_e2_codec::e42::{self, ConnectedNode, XappId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Id of the first xApp, as in FlexRIC.
const FIRST_XAPP_ID: XappId = 7;
/// Component configuration that is listed if a node left it empty. FlexRIC's xApps reject an empty octet string.
const NOTHING: &[u8] = b"-";
/// Maximum number of node events that continue the node list of a setup response if one message cannot hold all
/// nodes.
const MAX_LIST_MESSAGES: usize = 5;
/// Maximum size of the node list for a third-party xApp, in bytes; the rest is for the message itself. FlexRIC's xApp
/// receives into 32 KiB, and aborts if a message fills the buffer.
const THIRD_PARTY_LIST_BYTES: usize = (32 << 10) - 64;

#[derive(Debug)]
pub(super) struct Xapp {
    pub(super) info: XappInfo,
    pub(super) conn: ConnId,
    pub(super) grant: XappGrant,
    wants_node_events: bool,
    /// Whether the xApp is a ranlab xApp, which handles messages that FlexRIC's xApps do not expect.
    pub(super) is_ours: bool,
    /// Whether the xApp is another RIC, which receives no nodes that a third RIC serves.
    is_relay: bool,
    /// Time of the last node list sent to the xApp.
    listed: Time,
}

/// xApps by index. Connections and owners refer to the index.
#[derive(Debug, Default)]
pub(super) struct Xapps {
    places: Vec<Option<Xapp>>,
    free: Vec<usize>,
    by_id: BTreeMap<XappId, usize>,
    last_id: Option<XappId>,
}

impl Xapps {
    pub(super) fn at(&self, place: usize) -> Option<&Xapp> {
        self.places.get(place)?.as_ref()
    }

    /// Returns whether the xApp at this index requested node events.
    pub(super) fn wants_events(&self, place: usize) -> bool {
        self.at(place).is_some_and(|x| x.wants_node_events)
    }

    pub(super) fn in_order(&self) -> impl Iterator<Item = (usize, &Xapp)> {
        self.by_id.values().filter_map(|&place| Some((place, self.at(place)?)))
    }

    pub(super) fn infos(&self) -> Vec<XappInfo> {
        self.in_order().map(|(_, x)| x.info.clone()).collect()
    }

    /// Returns the next unused id. There always is one, because the limit of xApps is lower than the number of ids.
    fn next_id(&mut self) -> XappId {
        let mut id = self.last_id.map_or(FIRST_XAPP_ID, following);
        while self.by_id.contains_key(&id) {
            id = following(id);
        }
        self.last_id = Some(id);
        id
    }

    fn insert(&mut self, xapp: Xapp) -> usize {
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.by_id.insert(xapp.info.id, place);
        self.places[place] = Some(xapp);
        place
    }

    fn remove(&mut self, place: usize) -> Option<Xapp> {
        let xapp = self.places.get_mut(place)?.take()?;
        self.by_id.remove(&xapp.info.id);
        self.free.push(place);
        Some(xapp)
    }
}

impl Ric {
    /// Returns whether an owner is another RIC.
    pub(super) fn is_relay(&self, owner: Owner) -> bool {
        let Owner::Xapp { place, .. } = owner else { return false };
        self.xapps.at(place).is_some_and(|xapp| xapp.is_relay)
    }
}

fn following(id: XappId) -> XappId {
    id.checked_add(1).unwrap_or(FIRST_XAPP_ID)
}

impl Ric {
    /// Handles the first message of an E42 connection, which must be a setup request. It determines the version of
    /// the connection.
    pub(super) fn first_e42(&mut self, now: Time, id: ConnId, pdu: &Bytes) {
        self.hint_at_first(id, ListenerProtocol::E42, pdu);
        let Some(version) = e42::numbering_of(pdu) else {
            return self.links.misplaced(id, "the first message", &self.config.limits, &mut self.counters);
        };
        if let Some(conn) = self.links.open_conn(id) {
            conn.version = version;
        }
        match e42::decode(pdu, version).map(|decoded| decoded.message) {
            Ok(e42::Message::SetupRequest(request)) => self.set_up_xapp(now, id, None, request),
            Ok(other) => self.links.misplaced(id, other.name(), &self.config.limits, &mut self.counters),
            Err(rejection) => self.links.reject(id, &rejection, &self.config.limits, &mut self.counters),
        }
    }

    /// Handles a message of an xApp.
    pub(super) fn xapp_pdu(&mut self, now: Time, id: ConnId, place: usize, pdu: &Bytes) {
        let Some(version) = self.links.open_conn(id).map(|c| c.version) else { return };
        let message = match e42::decode(pdu, version) {
            Ok(decoded) => decoded.message,
            Err(rejection) => {
                return self.links.reject(id, &rejection, &self.config.limits, &mut self.counters);
            }
        };
        let Some((own_id, is_ours)) = self.xapps.at(place).map(|x| (x.info.id, x.is_ours)) else { return };
        let hold = self.config.timers.e42_hold;
        let is_setup = matches!(message, e42::Message::SetupRequest(_));
        if !is_ours && !is_setup && !hold.is_zero() {
            self.links.hold_answers(id, now + hold);
        }
        let owner = Owner::Xapp { place, conn: id };
        match message {
            e42::Message::SetupRequest(m) => {
                // This response is not held, but it must follow the held responses.
                let due = self.links.hold_answers(id, now);
                self.set_up_xapp(now, id, Some(place), m);
                self.links.hold_answers(id, due);
            }
            e42::Message::SubscriptionRequest(m) => {
                self.xapp_subscribes(now, owner, version, m.xapp_id == own_id, &m);
            }
            e42::Message::SubscriptionDeleteRequest(m) => {
                let done = match m.xapp_id == own_id {
                    true => self.unsubscribe(now, owner, m.request_id, Some(m.function_id)),
                    false => Err(Cause::RicRequest(CauseRicRequest::RequestIdUnknown)),
                };
                if let Err(cause) = done {
                    let failure = messages::delete_failure(version, m.request_id, m.function_id, cause);
                    self.links.say(id, &failure);
                }
            }
            e42::Message::ControlRequest(m) if m.xapp_id == own_id => self.xapp_control(now, owner, m),
            e42::Message::ControlRequest(m) => {
                let cause = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);
                let request = m.request_id;
                let function = m.function_id;
                let failure =
                    messages::control_failure(version, request, function, cause, m.call_process_id, None);
                self.links.say(id, &failure);
            }
            e42::Message::E2(Message::ErrorIndication(_)) => self.counters.error_indications_received += 1,
            other => self.links.misplaced(id, other.name(), &self.config.limits, &mut self.counters),
        }
    }

    fn xapp_subscribes(
        &mut self,
        now: Time,
        owner: Owner,
        version: Version,
        is_own_id: bool,
        m: &e42::SubscriptionRequest,
    ) {
        let Owner::Xapp { conn, .. } = owner else { return };
        let done = if is_own_id {
            self.subscribe(now, owner, m.request_id, &m.node_id, m.function_id, &m.details)
        } else {
            Err(Cause::RicRequest(CauseRicRequest::RequestIdUnknown))
        };
        if let Err(cause) = done {
            let actions = &m.details.actions;
            let failure =
                messages::subscription_failure(version, m.request_id, m.function_id, cause, actions);
            self.links.say(conn, &failure);
        }
    }

    /// Handles a setup request. A repeated one keeps the xApp id and gets a new list of nodes.
    fn set_up_xapp(&mut self, now: Time, id: ConnId, place: Option<usize>, request: e42::SetupRequest) {
        let admitted = self.may_set_up_xapp(now, id, place.is_some(), &request);
        let grant = match admitted {
            Ok(grant) => grant,
            Err((cause, time_to_wait)) => return self.refuse_xapp(id, cause, time_to_wait),
        };
        self.counters.xapp_setups += 1;
        let Some((peer, version)) = self.links.conn(id).map(|c| (c.peer.clone(), c.version)) else { return };
        // Only ranlab xApps list the echo model. Without a request for node events, such an xApp uses the dialect for
        // unknown RICs. An empty node event then identifies this RIC to it as a ranlab RIC.
        let echoes = |function: &RanFunctionItem| {
            function.oid.as_deref().and_then(by_oid).is_some_and(|model| model.echoes())
        };
        let is_ours = request.wants_node_events || request.functions.iter().any(echoes);
        let is_relay = request.functions.iter().any(|it| it.oid.as_deref() == Some(super::relay::RELAY_OID));
        let shows = place.is_none() && !request.wants_node_events && request.functions.iter().any(echoes);
        let place = match place {
            Some(place) => {
                // The grant of a connected xApp changes only with its next connection.
                if let Some(xapp) = self.xapps.places.get_mut(place).and_then(Option::as_mut) {
                    xapp.wants_node_events = request.wants_node_events;
                    xapp.is_ours |= is_ours;
                    xapp.listed = now;
                }
                place
            }
            None => {
                let tenant = grant.tenant.clone();
                let info = XappInfo { id: self.xapps.next_id(), peer, tenant, version, since: now };
                let wants_node_events = request.wants_node_events;
                let xapp = Xapp {
                    info: info.clone(),
                    conn: id,
                    grant,
                    wants_node_events,
                    is_ours,
                    is_relay,
                    listed: now,
                };
                let place = self.xapps.insert(xapp);
                self.links.event(RicEvent::XappConnected(info.clone()));
                self.tell_iapps(|| Notice::XappAdded(info.clone()));
                place
            }
        };
        if let Some(conn) = self.links.open_conn(id) {
            conn.role = Role::Xapp(place);
            if let Some(at) = conn.handshake.take() {
                self.timers.cancel(at, super::Timer::Handshake(id));
            }
        }
        self.list_nodes(id, place, version);
        if let Some(xapp) = self.xapps.at(place).filter(|_| shows) {
            let xapp_id = xapp.info.id;
            let event = e42::NodeEvent { xapp_id, connected: Vec::new(), removed: Vec::new() };
            let sent = self.links.send_e42(id, &e42::Message::NodeEvent(event));
            debug_assert!(sent.is_ok(), "{sent:?}");
        }
    }

    fn may_set_up_xapp(
        &mut self,
        now: Time,
        id: ConnId,
        known: bool,
        request: &e42::SetupRequest,
    ) -> Result<XappGrant, (Cause, TimeToWait)> {
        let limits = &self.config.limits;
        let overload = Cause::Misc(CauseMisc::ControlProcessingOverload);
        if self.links.setup_too_often(now, id, limits.setups_per_second) {
            return Err((overload, TimeToWait::V1s));
        }
        if !known && self.xapps.by_id.len() >= limits.xapps {
            return Err((overload, TimeToWait::V60s));
        }
        let peer = self.links.conn(id).map(|c| c.peer.clone()).unwrap_or_else(|| "".into());
        let peer = PeerInfo { peer: &peer, functions: &request.functions };
        self.config.policy.admit(&peer).map_err(|cause| (cause, TimeToWait::V60s))
    }

    fn refuse_xapp(&mut self, id: ConnId, cause: Cause, time_to_wait: TimeToWait) {
        self.counters.xapp_setups_refused += 1;
        let Some(version) = self.links.conn(id).map(|c| c.version) else { return };
        let failure = e42::Message::SetupFailure(E2SetupFailure {
            transaction_id: transaction_in(version, None),
            cause: cause_in(version, cause),
            time_to_wait: Some(time_to_wait),
            diagnostics: None,
            tnl: None,
        });
        let sent = self.links.send_e42(id, &failure);
        debug_assert!(sent.is_ok(), "{sent:?}");
        let what = format!("the setup of the xApp was refused: {cause}");
        self.links.tell_fault(id, what, &self.config.limits, &mut self.counters);
    }

    /// Sends the setup response with the nodes that the xApp sees, as many as fit into one message. The rest follows
    /// in node events, if the xApp requested them.
    fn list_nodes(&mut self, id: ConnId, place: usize, version: Version) {
        let Some(xapp) = self.xapps.at(place) else { return };
        let xapp_id = xapp.info.id;
        let wants_events = xapp.wants_node_events;
        let messages = if wants_events { MAX_LIST_MESSAGES } else { 1 };
        let most = self.config.limits.node_list_bytes;
        let bound = if wants_events { most } else { most.min(THIRD_PARTY_LIST_BYTES) };
        let mut lists = vec![Vec::new()];
        let mut bytes = 0;
        let mut left_out = 0;
        let own = |node: &&Node| !xapp.is_relay || !node.conn.is_some_and(super::relay::is_virtual);
        let listed = self
            .nodes
            .in_order()
            .filter(|n| n.conn.is_some() && xapp.grant.nodes.allows(&n.info.id))
            .filter(own);
        for node in listed {
            let Some((item, len)) = listing(node, version) else {
                self.counters.nodes_not_listed += 1;
                continue;
            };
            if bytes + len > bound {
                if lists.len() == messages {
                    left_out += 1;
                    continue;
                }
                lists.push(Vec::new());
                bytes = 0;
            }
            bytes += len;
            if let Some(list) = lists.last_mut() {
                list.push(item);
            }
        }
        self.counters.nodes_not_listed += left_out;
        let mut lists = lists.into_iter();
        let nodes = lists.next().unwrap_or_default();
        if left_out > 0 {
            let included = nodes.len();
            let what = format!(
                "the xApp receives {included} base stations; {left_out} more do not fit into its list of at most {bound} bytes"
            );
            self.links.tell_fault(id, what, &self.config.limits, &mut self.counters);
        }
        let response = e42::Message::SetupResponse(e42::SetupResponse { xapp_id, nodes });
        // Cannot fail: each node was encoded above.
        let sent = self.links.send_e42(id, &response);
        debug_assert!(sent.is_ok(), "{sent:?}");
        for connected in lists {
            let event = e42::NodeEvent { xapp_id, connected, removed: Vec::new() };
            let sent = self.links.send_e42(id, &e42::Message::NodeEvent(event));
            debug_assert!(sent.is_ok(), "{sent:?}");
        }
    }

    /// Announces a new or changed node to the xApps that requested node events. For a reconnected node, `lost` is the
    /// time of its disconnect. xApps with an older node list already know the node and are skipped.
    pub(super) fn announce_node(&mut self, place: usize, lost: Option<Time>) {
        let Some(node) = self.nodes.at(place) else { return };
        for (_, xapp) in self.xapps.in_order() {
            // Other RICs were informed that the node had disconnected.
            let knows = lost.is_some_and(|lost| xapp.listed < lost) && !xapp.is_relay;
            if !xapp.wants_node_events || knows || !xapp.grant.nodes.allows(&node.info.id) {
                continue;
            }
            if xapp.is_relay && node.conn.is_some_and(super::relay::is_virtual) {
                continue;
            }
            let Some((item, _)) = listing(node, xapp.info.version) else {
                self.counters.nodes_not_listed += 1;
                continue;
            };
            let event = e42::NodeEvent { xapp_id: xapp.info.id, connected: vec![item], removed: Vec::new() };
            let sent = self.links.send_e42(xapp.conn, &e42::Message::NodeEvent(event));
            debug_assert!(sent.is_ok(), "{sent:?}");
        }
    }

    /// Informs other RICs that a node has disconnected. It may reconnect to another RIC, so they must not send
    /// requests for it here.
    pub(super) fn announce_loss(&mut self, node: &GlobalE2NodeId) {
        let relays = self.xapps.in_order().filter(|(_, xapp)| xapp.is_relay && xapp.wants_node_events);
        for (_, xapp) in relays {
            let event = e42::NodeEvent { xapp_id: xapp.info.id, connected: Vec::new(), removed: vec![*node] };
            // If a version cannot encode a node id, the node was never listed in it.
            let _ = self.links.send_e42(xapp.conn, &e42::Message::NodeEvent(event));
        }
    }

    /// Informs xApps and other RICs that a node was removed.
    pub(super) fn announce_removal(&mut self, node: &GlobalE2NodeId) {
        for (_, xapp) in self.xapps.in_order() {
            if !xapp.wants_node_events || !xapp.grant.nodes.allows(node) {
                continue;
            }
            let event = e42::NodeEvent { xapp_id: xapp.info.id, connected: Vec::new(), removed: vec![*node] };
            // If a version cannot encode a node id, the node was never listed in it.
            let _ = self.links.send_e42(xapp.conn, &e42::Message::NodeEvent(event));
        }
    }

    /// Removes a disconnected xApp and everything that it owned.
    pub(super) fn xapp_gone(&mut self, now: Time, place: usize) {
        let Some(conn) = self.xapps.at(place).map(|x| x.conn) else { return };
        let owner = Owner::Xapp { place, conn };
        self.drop_owner(now, owner);
        self.drop_requests(owner);
        self.conflicts.gone(&super::conflicts::Claimant::Xapp(owner));
        let Some(xapp) = self.xapps.remove(place) else { return };
        self.counters.xapps_gone += 1;
        self.links.event(RicEvent::XappGone(xapp.info.clone()));
        self.tell_iapps(|| Notice::XappRemoved(xapp.info.clone()));
    }

    pub(super) fn grant_of(&self, owner: Owner) -> Option<&XappGrant> {
        match owner {
            Owner::Xapp { place, .. } => Some(&self.xapps.at(place)?.grant),
            Owner::IApp(_) => None,
        }
    }
}

/// Returns the list entry of a node and its length in bytes, or `None` if the version cannot encode it.
fn listing(node: &Node, version: Version) -> Option<(ConnectedNode, usize)> {
    let item = connected_node(&node.info, version);
    let event = e42::NodeEvent { xapp_id: 0, connected: vec![item], removed: Vec::new() };
    let message = e42::Message::NodeEvent(event);
    let len = e42::encode(&message, version).ok()?.len();
    match message {
        e42::Message::NodeEvent(mut event) => Some((event.connected.pop()?, len)),
        _ => None,
    }
}

/// Returns a node for a list. A v1.01 node has no components and may have no OIDs, which later versions require. It
/// gets an NG component without contents and the null OID.
fn connected_node(info: &Arc<NodeInfo>, version: Version) -> ConnectedNode {
    let mut components = info.components.clone();
    let mut functions = info.functions.clone();
    if version == Version::V1_01 {
        components.clear();
    } else {
        if components.is_empty() {
            components.push(ComponentConfigItem {
                interface: ComponentInterfaceType::Ng,
                id: ComponentId::Ng(InterfaceNg { amf_name: "unknown".into() }),
                configuration: ComponentConfiguration::default(),
            });
        }
        functions.iter_mut().filter(|f| f.oid.is_none()).for_each(|f| f.oid = Some("0.0".into()));
    }
    ConnectedNode { node_id: info.id, components: filled(components, NOTHING), functions }
}
