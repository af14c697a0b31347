//! The nodes: setup, disconnect, takeover, and known data.
use super::hints::{self, SetupRefused};
use super::links::Role;
use super::messages::{ack_item, ack_update, cause_in, transaction_in};
use super::procedure_queue::ProcedureQueue;
use super::procedures::Procedures;
use super::requests::Requests;
use super::subscription_table::SubscriptionTable;
use super::{ConnId, ListenerProtocol, NodeKind, NodeLoss, Notice, RanInfo, Ric, RicEvent, Timer};
use crate::Time;
use crate::fingerprint::{OWN_FUNCTIONS, is_own};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::by_oid;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Data of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// Identity of the node.
    pub id: GlobalE2NodeId,
    /// Role of the node within its base station.
    pub kind: NodeKind,
    /// Remote address.
    pub peer: Arc<str>,
    /// Whether another RIC serves the node, so that it is reached through that RIC.
    pub relayed: bool,
    /// E2AP version.
    pub version: Version,
    /// RAN functions in the order of ids.
    pub functions: Vec<RanFunctionItem>,
    /// Components of the node; empty in v1.01.
    pub components: Vec<ComponentConfigItem>,
    /// Whether the node is connected.
    pub connected: bool,
    /// Time of the last connect or disconnect.
    pub since: Time,
}

impl NodeInfo {
    /// Returns the function with this id.
    pub fn function(&self, id: RanFunctionId) -> Option<&RanFunctionItem> {
        self.functions.iter().find(|f| f.id == id)
    }

    /// Returns the function of the service model with this OID.
    pub fn function_by_oid(&self, oid: &str) -> Option<&RanFunctionItem> {
        let called = |by: &str| oid == by || by_oid(by).is_some_and(|model| model.is_called(oid));
        self.functions.iter().find(|f| f.oid.as_deref().is_some_and(called))
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) info: Arc<NodeInfo>,
    pub(super) conn: Option<ConnId>,
    pub(super) subscriptions: SubscriptionTable,
    pub(super) requests: Requests,
    pub(super) procedures: Procedures,
    pub(super) turns: ProcedureQueue,
    /// Time at which a disconnected node is forgotten.
    retention: Option<Time>,
}

/// Nodes by index. Connections and owners refer to the index.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    places: Vec<Option<Node>>,
    free: Vec<usize>,
    by_id: BTreeMap<GlobalE2NodeId, usize>,
}

impl Nodes {
    pub(super) fn at(&self, place: usize) -> Option<&Node> {
        self.places.get(place)?.as_ref()
    }

    pub(super) fn at_mut(&mut self, place: usize) -> Option<&mut Node> {
        self.places.get_mut(place)?.as_mut()
    }

    pub(super) fn find(&self, id: &GlobalE2NodeId) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(super) fn in_order(&self) -> impl Iterator<Item = &Node> {
        self.by_id.values().filter_map(|&place| self.at(place))
    }

    pub(super) fn all_places(&self) -> Vec<usize> {
        self.by_id.values().copied().collect()
    }

    fn insert(&mut self, node: Node) -> usize {
        let id = node.info.id;
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(node);
        self.by_id.insert(id, place);
        place
    }

    fn remove(&mut self, place: usize) -> Option<Node> {
        let node = self.places.get_mut(place)?.take()?;
        self.by_id.remove(&node.info.id);
        self.free.push(place);
        Some(node)
    }
}

/// Reason why a setup is refused.
struct Refusal {
    cause: Cause,
    time_to_wait: Option<TimeToWait>,
    what: String,
    why: SetupRefused,
}

impl Ric {
    /// Handles the first message of an E2 connection, which must be a setup request.
    pub(super) fn first_e2(&mut self, now: Time, id: ConnId, pdu: &Bytes) {
        if fast::Indication::decode(pdu).is_some() {
            // The node has not noticed that the RIC was restarted. It will when the handshake timer closes the
            // connection.
            self.counters.indications_early += 1;
            return;
        }
        let configured = self.config.version;
        let version = match Version::of_setup(pdu) {
            Some(Version::V2_03) if configured == Version::V3_01 => Version::V3_01,
            Some(version) => version,
            None => configured,
        };
        if let Some(conn) = self.links.open_conn(id) {
            conn.version = version;
        }
        self.hint_at_first(id, ListenerProtocol::E2, pdu);
        match decode_upgrading(pdu, version) {
            Ok((Decoded { message: Message::E2SetupRequest(request), .. }, version)) => {
                self.setup(now, id, version, request);
            }
            Ok((decoded, _)) => {
                self.links.misplaced(id, decoded.message.name(), &self.config.limits, &mut self.counters);
            }
            Err(rejection) => self.links.reject(id, &rejection, &self.config.limits, &mut self.counters),
        }
    }

    /// Records a hint if the first message of a connection belongs to another listener.
    pub(super) fn hint_at_first(&mut self, id: ConnId, side: ListenerProtocol, pdu: &[u8]) {
        let Some(sentence) = hints::of_first(side, pdu) else { return };
        let Some(conn) = self.links.open_conn(id) else { return };
        conn.explained = true;
        let peer = conn.peer.clone();
        self.links.hint(peer, None, None, sentence);
    }

    /// Handles a setup request, whether or not it is the first message.
    pub(super) fn setup(&mut self, now: Time, id: ConnId, version: Version, request: E2SetupRequest) {
        let Some(conn) = self.links.open_conn(id) else { return };
        conn.version = version;
        let peer = conn.peer.clone();
        if let Err(refusal) = self.may_set_up(now, id, &request) {
            let wait = refusal.time_to_wait;
            self.refuse_setup(id, version, request.transaction_id, refusal.cause, wait, None);
            self.links.tell_fault(id, refusal.what, &self.config.limits, &mut self.counters);
            self.links.hint(peer, None, None, refusal.why.hint());
            return;
        }
        if let Some(request) = self.ask_directory(now, id, version, request) {
            self.accept_setup(now, id, version, request);
        }
    }

    /// Sends a setup failure, optionally with the address of another RIC.
    pub(super) fn refuse_setup(
        &mut self,
        id: ConnId,
        version: Version,
        transaction_id: Option<TransactionId>,
        cause: Cause,
        time_to_wait: Option<TimeToWait>,
        tnl: Option<TnlInformation>,
    ) {
        self.counters.setups_refused += 1;
        // v1.01 has no field for the address of another RIC.
        let tnl = tnl.filter(|_| version > Version::V1_01);
        let transaction_id = transaction_in(version, transaction_id);
        let cause = cause_in(version, cause);
        let failure = E2SetupFailure { transaction_id, cause, time_to_wait, diagnostics: None, tnl };
        self.links.say(id, &Message::E2SetupFailure(failure));
    }

    /// Accepts the setup of a node.
    pub(super) fn accept_setup(&mut self, now: Time, id: ConnId, version: Version, request: E2SetupRequest) {
        let Some(peer) = self.links.open_conn(id).map(|conn| conn.peer.clone()) else { return };
        self.counters.setups += 1;
        let (functions, rejected) = self.admit_functions(request.functions.unwrap_or_default());
        let mut accepted = accepted(&functions);
        if is_own(request.components.as_deref().unwrap_or_default()) {
            let new = OWN_FUNCTIONS.into_iter().filter(|own| functions.iter().all(|f| f.id != own.id));
            let accepted = accepted.get_or_insert_default();
            accepted.extend(new);
            accepted.truncate(self.config.limits.functions_per_node);
        }
        let response = E2SetupResponse {
            transaction_id: transaction_in(version, request.transaction_id),
            ric_id: self.config.ric_id,
            accepted,
            rejected,
            components_v1: request.components_v1.map(|list| list.iter().map(ack_update).collect()),
            components: request
                .components
                .as_ref()
                .map(|list| list.iter().map(|c| ack_item(c.interface, &c.id)).collect()),
        };
        let components = request.components.unwrap_or_default();
        let info = NodeInfo {
            id: request.node_id,
            kind: NodeKind::from_node(&request.node_id, &components),
            peer,
            relayed: super::relay::is_virtual(id),
            version,
            functions,
            components,
            connected: true,
            since: now,
        };
        self.links.say(id, &Message::E2SetupResponse(response));
        self.node_connected(now, id, info);
    }

    fn may_set_up(&mut self, now: Time, id: ConnId, request: &E2SetupRequest) -> Result<(), Refusal> {
        let per_second = self.config.limits.setups_per_second;
        let most = self.config.limits.nodes;
        let overload = Cause::Misc(CauseMisc::ControlProcessingOverload);
        let refuse =
            |why, cause, wait, what: String| Err(Refusal { cause, time_to_wait: Some(wait), what, why });
        if self.links.setup_too_often(now, id, per_second) {
            let what = format!("the node sent more than {per_second} setup requests in a second");
            return refuse(SetupRefused::TooOften, overload, TimeToWait::V1s, what);
        }
        let peer = self.links.conn(id).map_or("", |conn| &conn.peer);
        let admissions = &self.config.admissions;
        let own = !super::relay::is_virtual(id);
        if own && !admissions.is_empty() && !admissions.iter().any(|it| it.holds(&request.node_id, peer)) {
            let what = format!(
                "{} is not on the list of base stations, or the list requires another certificate",
                request.node_id
            );
            let cause = Cause::Misc(CauseMisc::OmIntervention);
            return refuse(SetupRefused::NotListed, cause, TimeToWait::V60s, what);
        }
        let Some(place) = self.nodes.find(&request.node_id) else {
            if self.nodes.by_id.len() < most || self.evict_lost_node() {
                return Ok(());
            }
            let what = format!("the maximum of {most} connected nodes is reached");
            return refuse(SetupRefused::Full, overload, TimeToWait::V60s, what);
        };
        let rival = self.nodes.at(place).and_then(|n| n.conn).filter(|rival| *rival != id);
        // A node that another RIC serves is replaced only when the directory reports it.
        let rival = rival.filter(|rival| !super::relay::is_virtual(*rival));
        let Some((rival, last_message)) = rival.and_then(|r| Some((r, self.links.conn(r)?.heard))) else {
            return Ok(());
        };
        let passed = self.links.conn(rival).and_then(|it| it.bypass.as_ref()?.last());
        if now.since(passed.map_or(last_message, |passed| passed.max(last_message)))
            < self.config.timers.node_silent
        {
            let what = format!("{} has an active connection already", request.node_id);
            let cause = Cause::Misc(CauseMisc::Unspecified);
            return refuse(SetupRefused::SameId, cause, TimeToWait::V10s, what);
        }
        self.shut(now, rival, format!("{} has set up again on another connection", request.node_id));
        Ok(())
    }

    /// Splits the functions into accepted ones, in order, and rejected ones.
    pub(super) fn admit_functions(
        &self,
        offered: Vec<RanFunctionItem>,
    ) -> (Vec<RanFunctionItem>, Option<Vec<RanFunctionIdCauseItem>>) {
        let mut taken = BTreeMap::new();
        let mut rejected = Vec::new();
        for function in offered {
            let full = taken.len() >= self.config.limits.functions_per_node;
            let cause = match taken.entry(function.id) {
                Entry::Occupied(_) => CauseRicService::RanFunctionNotSupported,
                Entry::Vacant(_) if full => CauseRicService::ExcessiveFunctions,
                Entry::Vacant(free) => {
                    free.insert(function);
                    continue;
                }
            };
            rejected.push(RanFunctionIdCauseItem { id: function.id, cause: Cause::RicService(cause) });
        }
        (taken.into_values().collect(), Some(rejected).filter(|r| !r.is_empty()))
    }

    fn node_connected(&mut self, now: Time, id: ConnId, info: NodeInfo) {
        let node_id = info.id;
        let peer = info.peer.clone();
        let before = self.links.open_conn(id).map(|c| c.role);
        if let Some(Role::Node(place)) = before
            && self.nodes.at(place).is_some_and(|n| n.info.id != node_id)
        {
            // The connection served a different node until now.
            self.node_lost(now, place, NodeLoss::Renamed);
        }
        let info = Arc::new(info);
        let known = self.nodes.find(&node_id);
        let old = known.and_then(|place| self.nodes.at(place)).map(|n| n.info.clone());
        let place = match known {
            Some(place) => {
                self.node_stopped(place);
                self.node_back(place, id, info.clone());
                place
            }
            None => self.nodes.insert(Node {
                info: info.clone(),
                conn: Some(id),
                subscriptions: SubscriptionTable::starting_at(self.config.first_instance),
                requests: Requests::default(),
                procedures: Procedures::default(),
                turns: ProcedureQueue::default(),
                retention: None,
            }),
        };
        self.begin_turns(now, place, id);
        if let Some(conn) = self.links.open_conn(id) {
            conn.role = Role::Node(place);
            if let Some(at) = conn.handshake.take() {
                self.timers.cancel(at, Timer::Handshake(id));
            }
        }
        self.links.event(RicEvent::NodeConnected { node: node_id, peer, restored: known.is_some() });
        match known {
            Some(_) => self.tell_iapps(|| Notice::NodeChanged(info.clone())),
            None => {
                self.tell_iapps(|| Notice::NodeAdded(info.clone()));
                self.meet_node_states(&info.id);
            }
        }
        let same =
            |old: &&Arc<NodeInfo>| old.functions == info.functions && old.components == info.components;
        let lost = |old: &Arc<NodeInfo>| if old.connected { Time::from_nanos(u64::MAX) } else { old.since };
        // Ended subscriptions are reported first. An owner can then request the functions that the node offers now.
        self.end_orphans(place);
        self.announce_node(place, old.as_ref().filter(same).map(lost));
        self.ran_changed_by(info);
        self.restore(now, place);
    }

    fn node_back(&mut self, place: usize, id: ConnId, info: Arc<NodeInfo>) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        node.info = info;
        node.conn = Some(id);
        if let Some(at) = node.retention.take() {
            self.timers.cancel(at, Timer::Retention { node: place });
        }
    }

    /// Handles a lost connection of a node. The node is remembered.
    pub(super) fn node_lost(&mut self, now: Time, place: usize, why: NodeLoss) {
        self.node_stopped(place);
        let Some(node) = self.nodes.at_mut(place) else { return };
        let info = Arc::make_mut(&mut node.info);
        (info.connected, info.since) = (false, now);
        let info = node.info.clone();
        let at = now + self.config.timers.node_retention;
        let own = node.conn.is_some_and(|conn| !super::relay::is_virtual(conn));
        node.conn = None;
        node.retention = Some(at);
        self.timers.set(at, Timer::Retention { node: place });
        if own {
            self.announce_loss(&info.id);
        }
        self.counters.nodes_lost += 1;
        self.links.event(RicEvent::NodeLost { node: info.id, why });
        self.tell_iapps(|| Notice::NodeChanged(info.clone()));
        let changed = self.ran_db.remove(&info.id);
        self.tell_ran(changed);
    }

    /// Ends everything that is outstanding at a node, and suspends its subscriptions.
    pub(super) fn node_stopped(&mut self, place: usize) {
        if let Some(conn) = self.nodes.at(place).and_then(|node| node.conn) {
            self.unroute_all(conn);
        }
        self.suspend_subscriptions(place);
        self.fail_requests(place);
        self.fail_procedures(place);
    }

    /// Removes a node that has been disconnected for too long or has removed itself. Its subscriptions end.
    pub(super) fn forget_node(&mut self, place: usize) {
        self.node_stopped(place);
        self.end_all_subscriptions(place, Cause::Transport(CauseTransport::Unspecified));
        let Some(node) = self.nodes.remove(place) else { return };
        if let Some(at) = node.retention {
            self.timers.cancel(at, Timer::Retention { node: place });
        }
        self.counters.nodes_removed += 1;
        self.links.event(RicEvent::NodeRemoved(node.info.id));
        self.tell_iapps(|| Notice::NodeRemoved(node.info.clone()));
        self.forget_states(&node.info.id);
        self.announce_removal(&node.info.id);
        let changed = self.ran_db.remove(&node.info.id);
        self.tell_ran(changed);
    }

    /// Makes room by removing the node that has been disconnected for the longest time.
    fn evict_lost_node(&mut self) -> bool {
        let lost = self.nodes.in_order().filter(|n| n.conn.is_none());
        let Some(oldest) = lost.min_by_key(|n| n.info.since).map(|n| n.info.id) else { return false };
        let Some(place) = self.nodes.find(&oldest) else { return false };
        self.forget_node(place);
        true
    }

    /// Handles changed functions or components of a connected node.
    pub(super) fn node_changed(&mut self, place: usize) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let info = node.info.clone();
        self.tell_iapps(|| Notice::NodeChanged(info.clone()));
        self.announce_node(place, None);
        self.ran_changed_by(info);
    }

    fn ran_changed_by(&mut self, info: Arc<NodeInfo>) {
        let changed = self.ran_db.put(info);
        self.tell_ran(changed);
    }

    fn tell_ran(&mut self, changed: Option<RanInfo>) {
        let Some(ran) = changed else { return };
        self.links.event(RicEvent::Ran(ran.clone()));
        self.tell_iapps(|| Notice::Ran(ran.clone()));
    }
}

/// Returns the list of accepted functions with their revisions.
pub(super) fn accepted(functions: &[RanFunctionItem]) -> Option<Vec<RanFunctionIdItem>> {
    let items: Vec<_> =
        functions.iter().map(|f| RanFunctionIdItem { id: f.id, revision: f.revision }).collect();
    Some(items).filter(|items| !items.is_empty())
}
