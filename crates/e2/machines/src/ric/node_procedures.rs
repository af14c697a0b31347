//! Global procedures other than the setup. Procedures started by the RIC have timeouts and retries.
use super::messages::{ack_item, ack_update, cause_in, transaction_in};
use super::nodes::accepted;
use super::procedure_queue::NodeProcedure;
use super::procedures::{Pending, Procedure, ProcedureError, ProcedureResult};
use super::{ConnId, NodeKind, Ric, RicEvent, Timer};
use crate::Time;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use std::sync::Arc;

impl Ric {
    /// Resets a node. It discards its subscriptions, which are then requested again.
    pub fn reset_node(
        &mut self,
        now: Time,
        node: &GlobalE2NodeId,
        cause: Cause,
    ) -> Result<(), ProcedureError> {
        self.start(now, node, Procedure::Reset, |version, transaction_id| {
            Message::ResetRequest(ResetRequest { transaction_id, cause: cause_in(version, cause) })
        })
    }

    /// Requests a node to add and remove connections to controllers.
    pub fn update_connections(
        &mut self,
        now: Time,
        node: &GlobalE2NodeId,
        add: &[E2ConnectionUpdateItem],
        remove: &[E2ConnectionRemoveItem],
    ) -> Result<(), ProcedureError> {
        self.start(now, node, Procedure::ConnectionUpdate, |_, transaction_id| {
            Message::E2ConnectionUpdate(E2ConnectionUpdate {
                transaction_id,
                add: Some(add.to_vec()).filter(|a| !a.is_empty()),
                remove: Some(remove.to_vec()).filter(|r| !r.is_empty()),
                modify: None,
            })
        })
    }

    /// Requests the removal of a node (v2.03 and later). The node is then forgotten.
    pub fn remove_node(&mut self, now: Time, node: &GlobalE2NodeId) -> Result<(), ProcedureError> {
        self.start(now, node, Procedure::Removal, |_, transaction_id| {
            Message::E2RemovalRequest(E2RemovalRequest { transaction_id })
        })
    }

    /// Requests the list of RAN functions of a node. Its service update is the response.
    pub fn query_services(&mut self, node: &GlobalE2NodeId) -> Result<(), ProcedureError> {
        let absent = || ProcedureError::NoNode(*node);
        let place = self.nodes.find(node).and_then(|p| self.nodes.at_mut(p)).ok_or_else(absent)?;
        let conn = place.conn.ok_or_else(absent)?;
        let transaction_id = transaction_in(place.info.version, Some(place.procedures.next_id()));
        let accepted = accepted(&place.info.functions);
        let query = Message::RicServiceQuery(RicServiceQuery { transaction_id, accepted });
        Ok(self.links.send(conn, &query)?)
    }

    fn start(
        &mut self,
        now: Time,
        node: &GlobalE2NodeId,
        procedure: Procedure,
        message: impl Fn(Version, Option<TransactionId>) -> Message,
    ) -> Result<(), ProcedureError> {
        let limit = self.config.limits.procedures_per_node;
        let absent = || ProcedureError::NoNode(*node);
        let place = self.nodes.find(node).ok_or_else(absent)?;
        let entry = self.nodes.at_mut(place).ok_or_else(absent)?;
        entry.conn.ok_or_else(absent)?;
        if entry.procedures.len() >= limit {
            return Err(ProcedureError::TooMany(limit));
        }
        let transaction = entry.procedures.next_id();
        let version = entry.info.version;
        let message = message(version, transaction_in(version, Some(transaction)));
        // Encoded now, so that a procedure that the version lacks is refused immediately, even if it is queued.
        encode(&message, version)?;
        let deadline = now + self.config.timers.procedure;
        entry.procedures.pending.insert(transaction, Pending { procedure, message, tries: 1, deadline });
        self.timers.set(deadline, Timer::Procedure { node: place, transaction });
        if self.takes_turn(now, place, NodeProcedure::Procedure(transaction)) {
            self.run_procedure(place, transaction);
        }
        Ok(())
    }

    /// Sends the request of a procedure.
    pub(super) fn run_procedure(&mut self, place: usize, transaction: TransactionId) {
        let Some(node) = self.nodes.at(place) else { return };
        if let (Some(conn), Some(pending)) = (node.conn, node.procedures.pending.get(&transaction)) {
            self.links.say(conn, &pending.message);
        }
    }

    pub(super) fn procedure_expired(&mut self, now: Time, place: usize, transaction: TransactionId) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let waits = node.turns.waits(NodeProcedure::Procedure(transaction));
        let Some(pending) = node.procedures.pending.get_mut(&transaction) else { return };
        if waits || pending.tries < self.config.timers.procedure_tries {
            pending.tries += u32::from(!waits);
            pending.deadline = now + self.config.timers.procedure;
            self.timers.set(pending.deadline, Timer::Procedure { node: place, transaction });
            if !waits {
                self.run_procedure(place, transaction);
            }
            return;
        }
        let procedure = pending.procedure;
        node.procedures.pending.remove(&transaction);
        self.free_turn(place);
        self.counters.procedures_expired += 1;
        self.procedure_ended(place, procedure, ProcedureResult::TimedOut);
    }

    pub(super) fn fail_procedures(&mut self, place: usize) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        for (transaction, pending) in std::mem::take(&mut node.procedures.pending) {
            self.timers.cancel(pending.deadline, Timer::Procedure { node: place, transaction });
            self.procedure_ended(place, pending.procedure, ProcedureResult::Lost);
        }
    }

    fn procedure_ended(&mut self, place: usize, procedure: Procedure, result: ProcedureResult) {
        let Some(node) = self.nodes.at(place).map(|n| n.info.id) else { return };
        self.links.event(RicEvent::Procedure { node, procedure, result });
    }

    /// Handles the response to a procedure of the RIC. Returns whether such a procedure is outstanding.
    fn answered(
        &mut self,
        place: usize,
        id: Option<TransactionId>,
        procedure: Procedure,
        result: ProcedureResult,
    ) -> bool {
        let Some(node) = self.nodes.at_mut(place) else { return false };
        let Some((transaction, pending)) = node.procedures.take(id, procedure) else {
            self.counters.answers_stray += 1;
            return false;
        };
        self.timers.cancel(pending.deadline, Timer::Procedure { node: place, transaction });
        self.free_turn(place);
        self.procedure_ended(place, procedure, result);
        true
    }

    /// Handles any message of a node except an indication in its usual form.
    pub(super) fn node_pdu(&mut self, now: Time, id: ConnId, place: usize, pdu: &Bytes) {
        let Some(conn) = self.links.open_conn(id) else { return };
        let version = match Version::of_setup(pdu) {
            Some(Version::V2_03) => conn.version.max(Version::V2_03),
            Some(version) => version,
            None => conn.version,
        };
        let (decoded, version) = match decode_upgrading(pdu, version) {
            Ok(decoded) => decoded,
            Err(rejection) => {
                return self.links.reject(id, &rejection, &self.config.limits, &mut self.counters);
            }
        };
        conn.version = version;
        if let Some(node) = self.nodes.at_mut(place).filter(|n| n.info.version != version) {
            Arc::make_mut(&mut node.info).version = version;
        }
        let name = decoded.message.name();
        if !self.node_message(now, id, place, version, decoded.message) {
            self.links.misplaced(id, name, &self.config.limits, &mut self.counters);
        }
    }

    /// Handles a message. Returns whether a node may send it.
    fn node_message(
        &mut self,
        now: Time,
        id: ConnId,
        place: usize,
        version: Version,
        message: Message,
    ) -> bool {
        match message {
            Message::E2SetupRequest(m) => self.setup(now, id, version, m),
            Message::RicIndication(m) => self.unusual_indication(now, place, &m),
            Message::RicSubscriptionResponse(m) => self.subscription_response(now, place, m),
            Message::RicSubscriptionFailure(m) => self.subscription_failure(place, &m),
            Message::RicSubscriptionDeleteResponse(m) => {
                self.delete_answered(now, place, m.request_id, None);
            }
            Message::RicSubscriptionDeleteFailure(m) => {
                self.delete_answered(now, place, m.request_id, Some(m.cause));
            }
            Message::RicSubscriptionDeleteRequired(m) => self.delete_required(now, place, &m),
            Message::RicSubscriptionModificationRequired(m) => {
                self.modification_required(now, id, place, &m);
            }
            Message::RicSubscriptionModificationResponse(m) => self.modification_response(place, m),
            Message::RicSubscriptionModificationFailure(m) => {
                self.modification_answered(place, m.request_id, Err(m.cause));
            }
            Message::RicControlAcknowledge(m) => self.control_acknowledged(place, m),
            Message::RicControlFailure(m) => self.control_failed(place, m),
            Message::RicQueryResponse(m) => self.query_answered(place, m.request_id, Ok(m.outcome)),
            Message::RicQueryFailure(m) => self.query_answered(place, m.request_id, Err(m.cause)),
            Message::ResetRequest(m) => self.reset_by_node(now, id, place, version, &m),
            Message::ResetResponse(m) => {
                if self.answered(place, m.transaction_id, Procedure::Reset, ProcedureResult::Done) {
                    self.start_over(now, place);
                }
            }
            Message::RicServiceUpdate(m) => self.service_update(id, place, version, m),
            Message::E2NodeConfigurationUpdate(m) => self.configuration_update(id, place, version, m),
            Message::E2ConnectionUpdateAcknowledge(m) => {
                let result = m.failed.map_or(ProcedureResult::Done, ProcedureResult::Partly);
                self.answered(place, m.transaction_id, Procedure::ConnectionUpdate, result);
            }
            Message::E2ConnectionUpdateFailure(m) => {
                let result = ProcedureResult::Refused(m.cause);
                self.answered(place, m.transaction_id, Procedure::ConnectionUpdate, result);
            }
            Message::E2RemovalRequest(m) => self.removal_by_node(now, id, place, version, &m),
            Message::E2RemovalResponse(m) => {
                if self.answered(place, m.transaction_id, Procedure::Removal, ProcedureResult::Done) {
                    self.depart(now, id, place);
                }
            }
            Message::E2RemovalFailure(m) => {
                let result = ProcedureResult::Refused(Some(m.cause));
                self.answered(place, m.transaction_id, Procedure::Removal, result);
            }
            Message::ErrorIndication(m) => self.error_indication(now, place, &m),
            _ => return false,
        }
        true
    }

    fn reset_by_node(&mut self, now: Time, id: ConnId, place: usize, version: Version, m: &ResetRequest) {
        let transaction_id = transaction_in(version, m.transaction_id);
        self.links.say(id, &Message::ResetResponse(ResetResponse { transaction_id, diagnostics: None }));
        self.start_over(now, place);
    }

    /// Handles a reset by the node: all its subscriptions are lost.
    fn start_over(&mut self, now: Time, place: usize) {
        self.node_stopped(place);
        self.restore(now, place);
    }

    fn service_update(&mut self, id: ConnId, place: usize, version: Version, m: RicServiceUpdate) {
        let Some(node) = self.nodes.at(place) else { return };
        let deleted: Vec<_> = m.deleted.iter().flatten().map(|f| f.id).collect();
        // Modified functions come first, because the first entry for an id applies.
        let changed: Vec<_> = m.modified.into_iter().flatten().chain(m.added.into_iter().flatten()).collect();
        let changed_ids: Vec<_> = changed.iter().map(|f| (f.id, f.revision)).collect();
        let kept = node.info.functions.iter();
        let kept = kept.filter(|f| !deleted.contains(&f.id) && changed.iter().all(|c| c.id != f.id)).cloned();
        let all = kept.chain(changed.iter().cloned()).collect();
        let (functions, rejected) = self.admit_functions(all);
        let taken = |(id, _): &&(u16, u16)| functions.iter().any(|f| f.id == *id);
        let accepted = changed_ids.iter().filter(taken);
        let accepted: Vec<_> = accepted.map(|&(id, revision)| RanFunctionIdItem { id, revision }).collect();
        if let Some(node) = self.nodes.at_mut(place) {
            Arc::make_mut(&mut node.info).functions = functions;
        }
        let answer = RicServiceUpdateAcknowledge {
            transaction_id: transaction_in(version, m.transaction_id),
            accepted: Some(accepted).filter(|a| !a.is_empty()),
            rejected,
        };
        self.links.say(id, &Message::RicServiceUpdateAcknowledge(answer));
        self.end_orphans(place);
        self.node_changed(place);
    }

    fn configuration_update(
        &mut self,
        id: ConnId,
        place: usize,
        version: Version,
        m: E2NodeConfigurationUpdate,
    ) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let transaction_id = transaction_in(version, m.transaction_id);
        let is_other_node = m.node_id.is_some_and(|other| other != node.info.id);
        let unknown = |c: &&ComponentRemovalItem| node.info.components.iter().all(|k| k.id != c.id);
        if is_other_node || m.removed.iter().flatten().any(|c| unknown(&c)) {
            let cause = Cause::E2Node(CauseE2Node::ComponentUnknown);
            let cause = if is_other_node { Cause::Protocol(CauseProtocol::SemanticError) } else { cause };
            let failure = E2NodeConfigurationUpdateFailure {
                transaction_id,
                cause: cause_in(version, cause),
                time_to_wait: None,
                diagnostics: None,
            };
            return self.links.say(id, &Message::E2NodeConfigurationUpdateFailure(failure));
        }
        let answer = E2NodeConfigurationUpdateAcknowledge {
            transaction_id,
            added: m.added.as_ref().map(|l| l.iter().map(|c| ack_item(c.interface, &c.id)).collect()),
            updated: m.updated.as_ref().map(|l| l.iter().map(ack_update).collect()),
            removed: m.removed.as_ref().map(|l| l.iter().map(|c| ack_item(c.interface, &c.id)).collect()),
        };
        let info = Arc::make_mut(&mut node.info);
        let gone: Vec<_> = m.removed.into_iter().flatten().map(|c| c.id).collect();
        info.components.retain(|c| !gone.contains(&c.id));
        let updated = m.updated.into_iter().flatten().filter_map(|u| match u {
            ComponentUpdate::V2(c) => Some(c),
            ComponentUpdate::V1(_) => None,
        });
        for new in updated.chain(m.added.into_iter().flatten()) {
            match info.components.iter().position(|c| c.id == new.id) {
                Some(old) => info.components[old] = new,
                // The limit of components in a setup (1024) also applies to the sum.
                None if info.components.len() < 1_024 => info.components.push(new),
                None => {}
            }
        }
        info.kind = NodeKind::from_node(&info.id, &info.components);
        self.links.say(id, &Message::E2NodeConfigurationUpdateAcknowledge(answer));
        self.node_changed(place);
    }

    fn removal_by_node(
        &mut self,
        now: Time,
        id: ConnId,
        place: usize,
        version: Version,
        m: &E2RemovalRequest,
    ) {
        let transaction_id = transaction_in(version, m.transaction_id);
        self.links
            .say(id, &Message::E2RemovalResponse(E2RemovalResponse { transaction_id, diagnostics: None }));
        self.depart(now, id, place);
    }

    /// Handles a removal request of the node.
    fn depart(&mut self, now: Time, id: ConnId, place: usize) {
        self.shut(now, id, "the node was removed".into());
        self.forget_node(place);
    }

    fn error_indication(&mut self, now: Time, place: usize, m: &ErrorIndication) {
        self.counters.error_indications_received += 1;
        let request_id = m.request_id.or_else(|| m.diagnostics.as_ref()?.request_id);
        let Some(request_id) = request_id else { return };
        let cause = m.cause.unwrap_or(Cause::Protocol(CauseProtocol::Unspecified));
        self.subscription_objected(now, place, request_id, cause);
        self.request_objected(place, request_id, cause);
    }
}
