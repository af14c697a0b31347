//! Functional procedures (clause 8.2): requests of a controller to RAN functions.
use super::controls::OpenControl;
use super::subscriptions::Subscription;
use super::*;
use ranlab_e2_codec::e2ap::*;

type C = CauseRicRequest;

const NO_FUNCTION: Cause = Cause::RicRequest(C::RanFunctionIdInvalid);
const NO_REQUEST: Cause = Cause::RicRequest(C::RequestIdUnknown);
const NOT_SUPPORTED: Cause = Cause::RicRequest(C::ActionNotSupported);

impl Agent {
    pub(super) fn on_subscription(
        &mut self,
        id: ControllerId,
        request: &RicSubscriptionRequest,
        pdu: &Bytes,
    ) {
        let request_id = request.request_id;
        let function = request.function_id;
        let known = self.core.subscriptions.find(id, request_id);
        if let Some(known) = known.and_then(|s| self.core.subscriptions.of_id(s)) {
            // The controller repeated the request, because the response was late. It gets the same response again.
            if known.request[..] == pdu[..] {
                let response = known.response.clone();
                return self.core.push_control(id, response);
            }
            return self.refuse_subscription(id, request, Cause::RicRequest(C::DuplicateRicRequestId));
        }
        if let Err(cause) = self.admissible(id, request) {
            return self.refuse_subscription(id, request, cause);
        }
        let subscription = self.core.subscriptions.insert(Subscription {
            controller: id,
            request_id,
            function,
            actions: Vec::new(),
            next_sn: 0,
            request: pdu[..].into(),
            response: Bytes::new(),
        });
        let details = SubscriptionRequest {
            id: subscription,
            request_id,
            event_trigger: &request.details.event_trigger,
            actions: &request.details.actions,
            start_time: request.start_time,
            end_time: request.end_time,
        };
        let answer = self.call(function, Some(id), |f, ctx| f.on_subscription(ctx, details));
        match answer.unwrap_or(Err(NO_FUNCTION)) {
            Err(cause) => {
                // The function refused the subscription itself, so no callback is needed. Indications that it may have
                // queued are discarded.
                self.core.subscriptions.remove(subscription);
                if let Some(link) = self.core.link_mut(id) {
                    link.outbox.forget(subscription.flow());
                }
                self.refuse_subscription(id, request, cause);
            }
            Ok(admission) => self.admit(id, request, subscription, admission),
        }
    }

    /// Checks a new subscription against E2AP and the configured limits.
    fn admissible(&mut self, id: ControllerId, request: &RicSubscriptionRequest) -> Result<(), Cause> {
        let limits = self.core.config.limits;
        if !self.functions.contains_key(&request.function_id) {
            return Err(NO_FUNCTION);
        }
        let actions = &request.details.actions;
        let limit_reached = if actions.len() > limits.actions_per_subscription {
            Some(C::ExcessiveActions)
        } else if self.core.subscriptions.of_controller(id).count() >= limits.subscriptions_per_controller {
            Some(C::FunctionResourceLimit)
        } else {
            None
        };
        if let Some(cause) = limit_reached {
            self.core.counters.limit_refusals += 1;
            return Err(Cause::RicRequest(cause));
        }
        let twice = |(at, a): (usize, &ActionToBeSetup)| actions[..at].iter().any(|b| a.id == b.id);
        if actions.iter().enumerate().any(twice) {
            return Err(Cause::RicRequest(C::DuplicateAction));
        }
        Ok(())
    }

    /// Sends the response to a subscription request. Every action is in one of its two lists.
    fn admit(
        &mut self,
        id: ControllerId,
        request: &RicSubscriptionRequest,
        subscription: SubscriptionId,
        admission: Admission,
    ) {
        let version = self.core.link(id).map_or(Version::V2_03, |l| l.version);
        let mut admitted = Vec::new();
        let mut refused = Vec::new();
        for action in request.details.actions.iter().map(|a| a.id) {
            if admission.admitted.contains(&action) {
                admitted.push(action);
            } else {
                let cause =
                    admission.refused.iter().find(|r| r.id == action).map_or(NOT_SUPPORTED, |r| r.cause);
                refused.push(ActionFailed { id: action, cause: cause::fit(cause, version) });
            }
        }
        if admitted.is_empty() {
            let cause = refused.first().map_or(NOT_SUPPORTED, |r| r.cause);
            self.end_unadmitted(subscription);
            return self.refuse_subscription(id, request, cause);
        }
        let actions = admitted.clone();
        let response = Message::RicSubscriptionResponse(RicSubscriptionResponse {
            request_id: request.request_id,
            function_id: request.function_id,
            admitted,
            // The list is sent even if it is empty, because FlexRIC's decoder requires it.
            not_admitted: Some(refused),
        });
        let Some(pdu) = self.core.encoded(id, &response) else { return };
        if let Some(s) = self.core.subscriptions.of_id_mut(subscription) {
            (s.actions, s.response) = (actions, pdu.clone());
        }
        self.core.push_control(id, pdu);
        self.core.counters.subscriptions += 1;
        let request_id = request.request_id;
        let function = request.function_id;
        self.core.event(AgentEvent::Subscribed { controller: id, subscription, request_id, function });
    }

    /// Ends a subscription of which no action was admitted. Notifies its function, which is the only one that knew about it.
    fn end_unadmitted(&mut self, id: SubscriptionId) {
        let Some(subscription) = self.core.subscriptions.remove(id) else { return };
        let controller = subscription.controller;
        if let Some(link) = self.core.link_mut(controller) {
            link.outbox.forget(id.flow());
        }
        self.call(subscription.function, Some(controller), |f, ctx| f.on_subscription_delete(ctx, id));
    }

    fn refuse_subscription(&mut self, id: ControllerId, request: &RicSubscriptionRequest, cause: Cause) {
        let version = self.core.link(id).map_or(Version::V2_03, |l| l.version);
        let cause = cause::fit(cause, version);
        let v1 = version == Version::V1_01;
        let actions = request.details.actions.iter().map(|a| ActionFailed { id: a.id, cause });
        self.core.counters.subscriptions_refused += 1;
        let failure = Message::RicSubscriptionFailure(RicSubscriptionFailure {
            request_id: request.request_id,
            function_id: request.function_id,
            not_admitted: v1.then(|| actions.collect()),
            cause: (!v1).then_some(cause),
            diagnostics: None,
        });
        self.core.send(id, &failure);
    }

    pub(super) fn on_subscription_delete(
        &mut self,
        id: ControllerId,
        request: &RicSubscriptionDeleteRequest,
    ) {
        let request_id = request.request_id;
        let function_id = request.function_id;
        // A repeated deletion gets the same response. FlexRIC repeats the deletion if its xApp has died meanwhile, and
        // aborts if the deletion fails.
        let again = self.core.link(id).is_some_and(|link| link.has_deleted(request_id, function_id));
        let found = self.find(id, request_id, function_id);
        if let Ok(subscription) = found {
            self.end_subscription(subscription);
            if let Some(link) = self.core.link_mut(id) {
                link.remember_deleted(request_id, function_id);
            }
        }
        let answer = match found.map(drop).or_else(|cause| if again { Ok(()) } else { Err(cause) }) {
            Ok(()) => Message::RicSubscriptionDeleteResponse(RicSubscriptionDeleteResponse {
                request_id,
                function_id,
            }),
            Err(cause) => Message::RicSubscriptionDeleteFailure(RicSubscriptionDeleteFailure {
                request_id,
                function_id,
                cause,
                diagnostics: None,
            }),
        };
        self.core.send(id, &answer);
    }

    /// Finds the subscription of a request and checks that it belongs to the named function.
    fn find(
        &self,
        id: ControllerId,
        request_id: RicRequestId,
        function: RanFunctionId,
    ) -> Result<SubscriptionId, Cause> {
        if !self.functions.contains_key(&function) {
            return Err(NO_FUNCTION);
        }
        let found = self.core.subscriptions.find(id, request_id);
        let own =
            |s: &SubscriptionId| self.core.subscriptions.of_id(*s).is_some_and(|s| s.function == function);
        found.filter(own).ok_or(NO_REQUEST)
    }

    pub(super) fn on_control(&mut self, id: ControllerId, request: &RicControlRequest) {
        let request_id = request.request_id;
        let function_id = request.function_id;
        let details = ControlRequest {
            request_id,
            call_process_id: request.call_process_id.as_ref(),
            header: &request.header,
            message: &request.message,
            ack_request: request.ack_request,
        };
        self.core.explanation = None;
        let open = OpenControl {
            controller: id,
            request_id,
            function_id,
            call_process_id: request.call_process_id.clone(),
            wants_ack: request.ack_request == Some(RicControlAckRequest::Ack),
        };
        self.core.controls.begin(open);
        let answer = self.call(function_id, Some(id), |f, ctx| f.on_control(ctx, details));
        let answer = answer.unwrap_or(Err(NO_FUNCTION));
        if let Some(open) = self.core.controls.end(answer.is_ok()) {
            self.core.answer_control(open, answer);
        }
    }

    pub(super) fn on_query(&mut self, id: ControllerId, request: &RicQueryRequest) {
        let request_id = request.request_id;
        let function_id = request.function_id;
        let details = QueryRequest { request_id, header: &request.header, definition: &request.definition };
        let answer = self.call(function_id, Some(id), |f, ctx| f.on_query(ctx, details));
        let answer = match answer.unwrap_or(Err(NO_FUNCTION)) {
            Ok(outcome) => Message::RicQueryResponse(RicQueryResponse { request_id, function_id, outcome }),
            Err(cause) => Message::RicQueryFailure(RicQueryFailure {
                request_id,
                function_id,
                cause,
                diagnostics: None,
            }),
        };
        self.core.send(id, &answer);
    }

    pub(super) fn on_modification(&mut self, id: ControllerId, request: RicSubscriptionModificationRequest) {
        let request_id = request.request_id;
        let function_id = request.function_id;
        let remove = request.remove.unwrap_or_default();
        let modify = request.modify.unwrap_or_default();
        let add = request.add.unwrap_or_default();
        let outcome = self.find(id, request_id, function_id).and_then(|subscription| {
            self.check_modification(subscription, &remove, &modify, &add)?;
            let event_trigger = request.event_trigger.as_ref();
            let details = ModificationRequest {
                id: subscription,
                event_trigger,
                remove: &remove,
                modify: &modify,
                add: &add,
            };
            let answer = self.call(function_id, Some(id), |f, ctx| f.on_modification(ctx, details));
            let outcome = answer.unwrap_or(Err(NO_FUNCTION))?;
            if let Some(s) = self.core.subscriptions.of_id_mut(subscription) {
                s.actions.retain(|a| !(remove.contains(a) && outcome.removed.contains(a)));
                s.actions.extend(add.iter().map(|a| a.id).filter(|a| outcome.added.contains(a)));
            }
            Ok(outcome)
        });
        let answer = match outcome {
            Ok(outcome) => {
                let (removed, remove_failed) = split(remove.into_iter(), &outcome.removed, &outcome.failed);
                let (modified, modify_failed) =
                    split(modify.iter().map(|a| a.id), &outcome.modified, &outcome.failed);
                let (added, add_failed) = split(add.iter().map(|a| a.id), &outcome.added, &outcome.failed);
                Message::RicSubscriptionModificationResponse(RicSubscriptionModificationResponse {
                    request_id,
                    function_id,
                    removed,
                    remove_failed,
                    modified,
                    modify_failed,
                    added,
                    add_failed,
                })
            }
            Err(cause) => Message::RicSubscriptionModificationFailure(RicSubscriptionModificationFailure {
                request_id,
                function_id,
                cause,
                diagnostics: None,
            }),
        };
        self.core.send(id, &answer);
    }

    /// Checks a modification against E2AP and the configured limits.
    fn check_modification(
        &self,
        id: SubscriptionId,
        remove: &[RicActionId],
        modify: &[ActionToBeModified],
        add: &[ActionToBeAdded],
    ) -> Result<(), Cause> {
        let actions = self.core.subscriptions.of_id(id).map_or(&[][..], |s| &s.actions);
        if modify.iter().map(|a| a.id).chain(remove.iter().copied()).any(|a| !actions.contains(&a)) {
            return Err(NOT_SUPPORTED);
        }
        let twice = |(at, a): (usize, &ActionToBeAdded)| add[..at].iter().any(|b| a.id == b.id);
        if add.iter().any(|a| actions.contains(&a.id)) || add.iter().enumerate().any(twice) {
            return Err(Cause::RicRequest(C::DuplicateAction));
        }
        if actions.len() + add.len() > self.core.config.limits.actions_per_subscription {
            return Err(Cause::RicRequest(C::ExcessiveActions));
        }
        Ok(())
    }

    pub(super) fn on_modification_confirm(
        &mut self,
        id: ControllerId,
        m: RicSubscriptionModificationConfirm,
    ) {
        let modified = m.modified.unwrap_or_default();
        let removed = m.removed.unwrap_or_default();
        let Some(subscription) = self.take_modification(id, m.request_id, m.function_id) else { return };
        if let Some(s) = self.core.subscriptions.of_id_mut(subscription) {
            s.actions.retain(|a| !removed.contains(a));
        }
        let answer = ModificationAnswer::Confirmed { modified: &modified, removed: &removed };
        self.answer_modification(subscription, answer);
    }

    pub(super) fn on_modification_refuse(&mut self, id: ControllerId, m: &RicSubscriptionModificationRefuse) {
        let Some(subscription) = self.take_modification(id, m.request_id, m.function_id) else { return };
        let procedure = Procedure::ModificationRequired(subscription);
        let cause = Some(m.cause);
        self.core.event(AgentEvent::ProcedureRefused { controller: id, procedure, cause });
        self.answer_modification(subscription, ModificationAnswer::Refused(m.cause));
    }

    /// Returns the pending modification that a response belongs to.
    fn take_modification(
        &mut self,
        id: ControllerId,
        request_id: RicRequestId,
        function: RanFunctionId,
    ) -> Option<SubscriptionId> {
        let subscription = self.find(id, request_id, function).ok();
        let taken = subscription.filter(|subscription| {
            let procedure = Procedure::ModificationRequired(*subscription);
            // The procedure has no transaction id on the wire; the agent records it with id 0.
            self.core.link_mut(id).and_then(|l| l.answered(procedure, Some(0))).is_some()
        });
        self.core.counters.stray_answers += u64::from(taken.is_none());
        taken
    }

    pub(super) fn answer_modification(&mut self, id: SubscriptionId, answer: ModificationAnswer<'_>) {
        let Some(subscription) = self.core.subscriptions.of_id(id) else { return };
        let function = subscription.function;
        let controller = subscription.controller;
        self.call(function, Some(controller), |f, ctx| f.on_modification_answer(ctx, id, answer));
    }
}

/// Returns both lists of a response: the requested changes that were made, and the failed ones with their causes.
#[allow(clippy::type_complexity)]
fn split(
    requested: impl Iterator<Item = RicActionId>,
    done: &[RicActionId],
    failed: &[ActionFailed],
) -> (Option<Vec<RicActionId>>, Option<Vec<ActionFailed>>) {
    let (done, rest): (Vec<_>, Vec<_>) = requested.partition(|a| done.contains(a));
    let cause = |id| failed.iter().find(|f| f.id == id).map_or(NOT_SUPPORTED, |f| f.cause);
    let rest: Vec<_> = rest.into_iter().map(|id| ActionFailed { id, cause: cause(id) }).collect();
    ((!done.is_empty()).then_some(done), (!rest.is_empty()).then_some(rest))
}
