//! Global procedures after the setup (clause 8.3), error handling, and unexpected messages.
use super::connection_update::some_unless_empty;
use super::core::Core;
use super::link::{Link, Pending, State};
use super::*;
use crate::fingerprint::{MARK, filled};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::flat::{self, Coding, FlatError};

impl Agent {
    /// Handles a received PDU.
    pub(super) fn on_received(&mut self, id: ControllerId, pdu: Bytes) {
        let limit = self.core.config.limits.pdu_bytes;
        let Some(link) = self.core.link_mut(id).filter(|l| l.is_connected()) else { return };
        let state = link.state;
        let version = link.version;
        self.core.counters.received += 1;
        if pdu.len() > limit {
            return self.take_down(id, CloseReason::TooLong { len: pdu.len(), limit });
        }
        let coding = self.core.config.coding;
        let control = match coding {
            Coding::Per => fast::Control::decode(&pdu, version),
            Coding::Flat => flat::control(&pdu).ok().flatten(),
        };
        if let Some(control) = control {
            let control = Message::RicControlRequest(control.to_message(&pdu));
            return self.dispatch(id, state, control, &pdu);
        }
        let pdu = match coding.receive(pdu, version) {
            Ok(pdu) => pdu,
            Err(fault) => return self.on_foreign(id, state, &fault),
        };
        match decode_upgrading(&pdu, version) {
            Ok((decoded, spoken)) => {
                if let Some(link) = self.core.link_mut(id) {
                    link.version = spoken;
                }
                let skipped = (!decoded.diagnostics.is_empty()).then(|| skipped_report(&decoded));
                self.dispatch(id, state, decoded.message, &pdu);
                if let Some(report) = skipped {
                    self.core.send(id, &report);
                }
            }
            Err(rejection) => self.on_rejection(id, state, &rejection),
        }
    }

    /// Handles bytes that are not in the encoding of the connection. Before the setup completes this closes the
    /// connection; later the PDU is ignored.
    fn on_foreign(&mut self, id: ControllerId, state: State, fault: &FlatError) {
        self.core.counters.refused_pdus += 1;
        let reason = fault.to_string();
        match state {
            State::SettingUp { .. } | State::Waiting { .. } => self.give_up_setup(id, reason),
            _ => self.core.event(AgentEvent::PduRefused { controller: id, reason }),
        }
    }

    /// Handles a PDU that cannot be decoded. Sends an error indication, or closes the connection if no setup has
    /// completed.
    fn on_rejection(&mut self, id: ControllerId, state: State, rejection: &Rejection) {
        self.core.counters.refused_pdus += 1;
        let reason = rejection.to_string();
        if matches!(state, State::SettingUp { .. } | State::Waiting { .. }) {
            return self.give_up_setup(id, reason);
        }
        self.core.event(AgentEvent::PduRefused { controller: id, reason });
        // Never responds to a broken error indication: two peers could exchange error indications forever.
        if !matches!(rejection.envelope, Some((_, 2, _))) && !rejection.is_ignorable() {
            let version = self.core.link(id).map_or(Version::V2_03, |l| l.version);
            self.core.send(id, &Message::ErrorIndication(rejection.error_indication(version)));
        }
    }

    /// Closes a connection whose setup response cannot be decoded.
    fn give_up_setup(&mut self, id: ControllerId, reason: String) {
        if let Some(link) = self.core.link_mut(id) {
            link.setup_failure = Some(SetupFailure::Unreadable { reason: reason.clone() });
        }
        self.core.counters.setups_failed += 1;
        self.take_down(id, CloseReason::NotE2ap(reason));
    }

    fn dispatch(&mut self, id: ControllerId, state: State, message: Message, pdu: &Bytes) {
        match message {
            Message::ErrorIndication(m) => self.core.on_error_indication(id, state, m),
            Message::E2SetupResponse(m) => self.core.on_setup_response(id, m),
            Message::E2SetupFailure(m) => self.core.on_setup_failure(id, m),
            Message::E2RemovalResponse(m) => self.on_removal_answer(id, m.transaction_id),
            Message::E2RemovalFailure(m) => self.on_removal_answer(id, m.transaction_id),
            Message::ResetResponse(m) => self.core.finish(id, Procedure::Reset, m.transaction_id, None),
            Message::RicServiceUpdateAcknowledge(m) => {
                self.core.finish(id, Procedure::ServiceUpdate, m.transaction_id, None);
            }
            Message::RicServiceUpdateFailure(m) => {
                let refusal = (m.cause, m.time_to_wait);
                self.core.finish(id, Procedure::ServiceUpdate, m.transaction_id, Some(refusal));
            }
            Message::E2NodeConfigurationUpdateAcknowledge(m) => {
                self.core.finish(id, Procedure::ConfigurationUpdate, m.transaction_id, None);
            }
            Message::E2NodeConfigurationUpdateFailure(m) => {
                let refusal = (Some(m.cause), m.time_to_wait);
                self.core.finish(id, Procedure::ConfigurationUpdate, m.transaction_id, Some(refusal));
            }
            message if state == State::Up => self.dispatch_up(id, message, pdu),
            // The controller sent this message before it read the removal request. The subscriptions that it concerns
            // no longer exist.
            _ if state == State::Removing => {}
            message => self.core.refuse(id, &message),
        }
    }

    /// Dispatches messages that only a controller with a completed setup may send.
    fn dispatch_up(&mut self, id: ControllerId, message: Message, pdu: &Bytes) {
        match message {
            Message::RicControlRequest(m) => self.on_control(id, &m),
            Message::RicSubscriptionRequest(m) => self.on_subscription(id, &m, pdu),
            Message::RicSubscriptionDeleteRequest(m) => self.on_subscription_delete(id, &m),
            Message::RicSubscriptionModificationRequest(m) => self.on_modification(id, m),
            Message::RicSubscriptionModificationConfirm(m) => self.on_modification_confirm(id, m),
            Message::RicSubscriptionModificationRefuse(m) => self.on_modification_refuse(id, &m),
            Message::RicQueryRequest(m) => self.on_query(id, &m),
            Message::RicServiceQuery(m) => self.core.on_service_query(id, m),
            Message::ResetRequest(m) => self.on_reset(id, m),
            Message::E2ConnectionUpdate(m) => self.core.on_connection_update(id, m),
            Message::E2RemovalRequest(m) => self.on_removal(id, m),
            message => self.core.refuse(id, &message),
        }
    }

    fn on_reset(&mut self, id: ControllerId, request: ResetRequest) {
        self.end_subscriptions_of(id);
        let response = ResetResponse { transaction_id: request.transaction_id, diagnostics: None };
        self.core.send(id, &Message::ResetResponse(response));
        self.core.event(AgentEvent::Reset { controller: id, by_controller: true, cause: request.cause });
    }

    /// Handles a removal request: sends the response, then removes the controller.
    fn on_removal(&mut self, id: ControllerId, request: E2RemovalRequest) {
        let response = E2RemovalResponse { transaction_id: request.transaction_id, diagnostics: None };
        self.core.send(id, &Message::E2RemovalResponse(response));
        self.forget(id);
    }

    /// Removes the controller whether it accepted the removal or not.
    fn on_removal_answer(&mut self, id: ControllerId, transaction: Option<u16>) {
        let pending = self.core.link_mut(id).and_then(|l| l.answered(Procedure::Removal, transaction));
        match pending {
            Some(_) => self.forget(id),
            None => self.core.counters.stray_answers += 1,
        }
    }

    /// Repeats procedures without a response, and closes the connection after the last retry.
    pub(super) fn expire_procedures(&mut self, id: ControllerId) {
        let now = self.core.now;
        let timeout = self.core.config.timers.procedure_timeout;
        let Some(link) = self.core.link_mut(id) else { return };
        let mut again = Vec::new();
        let mut dead = Vec::new();
        for pending in link.pending.iter_mut().filter(|p| p.deadline <= now) {
            match pending.retries_left.checked_sub(1) {
                Some(left) => {
                    (pending.retries_left, pending.deadline) = (left, now + timeout);
                    again.push(pending.pdu.clone());
                }
                None => dead.push(pending.procedure),
            }
        }
        link.pending.retain(|p| !dead.contains(&p.procedure));
        again.into_iter().for_each(|pdu| self.core.push_control(id, pdu));
        for procedure in dead {
            match procedure {
                Procedure::ModificationRequired(subscription) => {
                    self.answer_modification(subscription, ModificationAnswer::Unanswered);
                }
                Procedure::Removal => self.forget(id),
                other => self.take_down(id, CloseReason::Unanswered(other)),
            }
        }
    }
}

impl Core {
    /// Refuses a message that is not expected in this state.
    fn refuse(&mut self, id: ControllerId, message: &Message) {
        let (kind, code, criticality) = message.envelope();
        if kind != TriggeringMessage::Initiating {
            self.counters.stray_answers += 1;
            return;
        }
        self.counters.refused_pdus += 1;
        self.event(AgentEvent::PduRefused {
            controller: id,
            reason: format!("{} is not allowed in the current state", message.name()),
        });
        let cause = Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState);
        self.send(id, &error_about(cause, kind, code, criticality, None));
    }

    fn on_error_indication(&mut self, id: ControllerId, state: State, error: ErrorIndication) {
        let cause = error.cause;
        let diagnostics = error.diagnostics.clone();
        self.event(AgentEvent::ErrorReported { controller: id, cause, diagnostics });
        if matches!(state, State::SettingUp { .. }) {
            return self.setup_failed(id, cause, None);
        }
        let Some(link) = self.link_mut(id) else { return };
        let about = |p: &&Pending| error.transaction_id == Some(u16::from(p.transaction));
        let procedure = link.pending.iter().find(about).map(|p| p.procedure);
        match procedure {
            Some(Procedure::ModificationRequired(_)) | None => {}
            // The controller does not know the procedure, so there is nothing to wait for.
            Some(Procedure::Removal) => self.deferred.push_back(Deferred::Forget(id)),
            Some(procedure) => self.finish(id, procedure, error.transaction_id, Some((cause, None))),
        }
    }

    /// Ends a procedure that the agent started. A refusal with a time to wait is retried.
    fn finish(
        &mut self,
        id: ControllerId,
        procedure: Procedure,
        transaction: Option<u16>,
        refusal: Option<(Option<Cause>, Option<TimeToWait>)>,
    ) {
        let now = self.now;
        let Some(link) = self.link_mut(id) else { return };
        let Some(mut pending) = link.answered(procedure, transaction) else {
            self.counters.stray_answers += 1;
            return;
        };
        let Some((cause, wait)) = refusal else { return };
        match (wait, pending.retries_left > 0) {
            (Some(wait), true) => {
                pending.deadline = now + std::time::Duration::from_secs(wait.seconds());
                link.pending.push(pending);
            }
            _ => self.event(AgentEvent::ProcedureRefused { controller: id, procedure, cause }),
        }
    }

    fn on_service_query(&mut self, id: ControllerId, query: RicServiceQuery) {
        if let Some(link) = self.link_mut(id) {
            let known = query.accepted.unwrap_or_default();
            link.told = known.into_iter().map(|f| (f.id, f.revision)).collect();
            link.query_open = true;
        }
    }

    /// Sends the changes since the last update to a controller.
    pub(super) fn sync(&mut self, id: ControllerId) {
        let up = |core: &Self, wants: fn(&Link) -> bool| {
            core.link(id).is_some_and(|link| link.state == State::Up && wants(link))
        };
        if up(self, Link::wants_functions) {
            self.update_functions(id);
        }
        if up(self, Link::wants_components) {
            self.update_components(id);
        }
    }

    fn update_functions(&mut self, id: ControllerId) {
        let Some(knows_reserved) = self.link(id).map(|l| l.knows_reserved) else { return };
        let items: Vec<_> = self.function_items(knows_reserved).collect();
        let now = self.now;
        let Some(link) = self.link_mut(id) else { return };
        let announced = std::mem::take(&mut link.told);
        let gone = announced.iter().filter(|(id, _)| items.iter().all(|f| f.id != **id));
        let deleted: Vec<_> = gone.map(|(&id, &revision)| RanFunctionIdItem { id, revision }).collect();
        link.told = items.iter().map(|f| (f.id, f.revision)).collect();
        let (known, added): (Vec<_>, Vec<_>) = items.into_iter().partition(|f| announced.contains_key(&f.id));
        let modified: Vec<_> =
            known.into_iter().filter(|f| announced.get(&f.id) != Some(&f.revision)).collect();
        let nothing = added.is_empty() && modified.is_empty() && deleted.is_empty();
        link.functions_changed = false;
        if nothing && !std::mem::replace(&mut link.query_open, false) {
            return;
        }
        link.query_open = false;
        let (transaction, transaction_id) = Self::transaction_of(link);
        let update = Message::RicServiceUpdate(RicServiceUpdate {
            transaction_id,
            added: some_unless_empty(added),
            modified: some_unless_empty(modified),
            deleted: some_unless_empty(deleted),
        });
        self.start(now, id, Procedure::ServiceUpdate, transaction, &update);
    }

    fn update_components(&mut self, id: ControllerId) {
        let now = self.now;
        let components = self.config.components.clone();
        let Some(link) = self.link_mut(id) else { return };
        link.components_changed = false;
        let announced = filled(std::mem::replace(&mut link.told_components, components.clone()), MARK);
        let same =
            |a: &ComponentConfigItem, b: &ComponentConfigItem| a.interface == b.interface && a.id == b.id;
        let gone = announced.iter().filter(|t| !components.iter().any(|c| same(t, c)));
        let removed =
            gone.map(|t| ComponentRemovalItem { interface: t.interface, id: t.id.clone() }).collect();
        let (known, added): (Vec<_>, Vec<_>) =
            filled(components, MARK).into_iter().partition(|c| announced.iter().any(|t| same(t, c)));
        let changed = known.into_iter().filter(|c| !announced.contains(c));
        let updated = changed.map(ComponentUpdate::V2).collect();
        let (transaction, transaction_id) = Self::transaction_of(link);
        let update = E2NodeConfigurationUpdate {
            transaction_id,
            node_id: None,
            added: some_unless_empty(added),
            updated: some_unless_empty(updated),
            removed: some_unless_empty(removed),
            tnl_removed: None,
        };
        if update.added.is_some() || update.updated.is_some() || update.removed.is_some() {
            let message = Message::E2NodeConfigurationUpdate(update);
            self.start(now, id, Procedure::ConfigurationUpdate, transaction, &message);
        }
    }
}

/// Returns the error indication for skipped elements whose sender requests a report (criticality "ignore and
/// notify").
fn skipped_report(decoded: &Decoded) -> Message {
    let (kind, code, _) = decoded.message.envelope();
    let items = decoded.diagnostics.iter().take(MAX_DIAGNOSTICS);
    let items =
        items.map(|d| CriticalityDiagnosticsIe { criticality: d.criticality, id: d.id, error: d.error });
    let cause = Cause::Protocol(CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify);
    error_about(cause, kind, code, decoded.criticality, Some(items.collect()))
}

fn error_about(
    cause: Cause,
    kind: TriggeringMessage,
    code: u8,
    criticality: Criticality,
    ies: Option<Vec<CriticalityDiagnosticsIe>>,
) -> Message {
    Message::ErrorIndication(ErrorIndication {
        transaction_id: None,
        request_id: None,
        function_id: None,
        cause: Some(cause),
        diagnostics: Some(CriticalityDiagnostics {
            procedure_code: Some(code),
            triggering_message: Some(kind),
            procedure_criticality: Some(criticality),
            request_id: None,
            ies,
        }),
    })
}
