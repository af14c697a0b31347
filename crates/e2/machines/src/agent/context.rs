//! Operations that a RAN function can perform during a callback.
use super::core::{Core, announce};
use super::link::State;
use super::*;
use crate::{Frame, Time};
use ranlab_e2_codec::e2ap::fast;
use ranlab_e2_codec::e2ap::{
    ActionFailed, ActionRequiredToBeModified, Cause, Message, RanFunctionId, RicActionId, RicIndicationType,
    RicSubscriptionDeleteRequired, RicSubscriptionModificationRequired, SubscriptionWithCause,
};
use ranlab_e2_codec::flat::{self, Coding};

/// An indication to send.
#[derive(Debug, Clone, Copy)]
pub struct Indication<'a> {
    /// Subscription of the indication.
    pub subscription: SubscriptionId,
    /// Action of the subscription.
    pub action: RicActionId,
    /// Type: report or insert.
    pub kind: RicIndicationType,
    /// Indication header of the service model.
    pub header: &'a [u8],
    /// Indication message of the service model.
    pub message: &'a [u8],
    /// Identifier that links an insert to the control that responds to it.
    pub call_process_id: Option<&'a [u8]>,
}

/// Reason why an operation of a RAN function failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The subscription does not exist or belongs to another function.
    #[error("this function has no subscription {}", .0.0)]
    UnknownSubscription(SubscriptionId),
    /// The E2AP version of the connection does not define the procedure.
    #[error("the controller's E2AP version, {0}, does not define this procedure")]
    NotInVersion(Version),
    /// The same procedure is already waiting for a response.
    #[error("the controller has not responded to the previous procedure of this type yet")]
    Busy,
    /// The contents cannot be encoded.
    #[error(transparent)]
    Encode(#[from] ranlab_e2_codec::per::EncodeError),
}

/// The agent, as seen by a RAN function during a callback.
#[derive(Debug)]
pub struct FunctionContext<'a> {
    pub(super) core: &'a mut Core,
    pub(super) function: RanFunctionId,
    pub(super) controller: Option<ControllerId>,
}

impl FunctionContext<'_> {
    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.core.now
    }

    /// Returns the id under which the function is registered.
    pub fn function_id(&self) -> RanFunctionId {
        self.function
    }

    /// Returns the controller that sent the request, or `None` in [`RanFunction::on_wake`].
    pub fn controller(&self) -> Option<ControllerId> {
        self.controller
    }

    /// Returns the default controller.
    pub fn first_controller(&self) -> Option<ControllerId> {
        self.core.first()
    }

    /// Returns the controllers and their addresses, in the order in which they were added.
    pub fn controllers(&self) -> impl Iterator<Item = (ControllerId, &str)> {
        self.core.links.iter().filter(|l| l.state != State::Gone).map(|l| (l.id, l.address.as_str()))
    }

    /// Returns the UEs exposed to the requesting controller, or all UEs if no controller sent a request.
    pub fn ues(&self) -> UeFilter<'_> {
        match self.controller {
            Some(controller) => self.core.ues.visible_to(controller, self.core.first()),
            None => self.core.ues.all(),
        }
    }

    /// Returns the UEs exposed to the controller of a subscription, or an empty set if the subscription does not
    /// exist.
    pub fn ues_of(&self, subscription: SubscriptionId) -> UeFilter<'_> {
        let controller = self.core.subscriptions.of_id(subscription).map(|s| s.controller);
        self.core.ues.visible_to(controller.unwrap_or(ControllerId(u32::MAX)), self.core.first())
    }

    /// Returns the controller of a subscription.
    pub fn controller_of(&self, subscription: SubscriptionId) -> Option<ControllerId> {
        self.core.subscriptions.of_id(subscription).map(|s| s.controller)
    }

    /// Schedules a call of [`RanFunction::on_wake`] at `at`. The earliest time requested since the last call applies.
    pub fn wake_at(&mut self, at: Time) {
        if let Some(offer) = self.core.offers.get_mut(&self.function) {
            offer.wake = Some(offer.wake.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// Sets the control outcome that is sent if the function refuses the current control.
    pub fn explain(&mut self, outcome: Bytes) {
        self.core.explanation = Some(outcome);
    }

    /// Defers the response to the current control until [`answer`](Self::answer) is called. The outcome that the
    /// callback returns is then discarded. Returns `None` if no control is being handled, or if too many responses are
    /// pending. If the controller disconnects, the ticket expires.
    pub fn answer_later(&mut self) -> Option<ControlTicket> {
        self.core.controls.defer()
    }

    /// Returns whether [`answer_later`](Self::answer_later) would succeed.
    pub fn may_answer_later(&self) -> bool {
        self.core.controls.has_room()
    }

    /// Sends the response to a deferred control. Call [`explain`](Self::explain) first to add an outcome to a
    /// refusal. Returns whether the control was still pending.
    pub fn answer(&mut self, ticket: ControlTicket, answer: Result<ControlOutcome, Cause>) -> bool {
        let open = self.core.controls.take(ticket, self.function);
        let waited = open.is_some();
        if let Some(open) = open {
            self.core.answer_control(open, answer);
        }
        self.core.explanation = None;
        waited
    }

    /// Sends an indication. The indication gets the next RICindicationSN of its subscription before it can be
    /// dropped, so the receiver detects each drop as a gap.
    pub fn indicate(&mut self, indication: Indication<'_>) -> Result<(), ContextError> {
        let id = indication.subscription;
        let function = self.function;
        let core = &mut *self.core;
        let subscription = core.subscriptions.of_id_mut(id).filter(|s| s.function == function);
        let Some(subscription) = subscription else { return Err(ContextError::UnknownSubscription(id)) };
        let encoded = fast::Indication {
            request_id: subscription.request_id,
            function_id: function,
            action_id: indication.action,
            sn: Some(subscription.next_sn),
            kind: indication.kind,
            header: indication.header,
            message: indication.message,
            call_process_id: indication.call_process_id,
        };
        let flat = match core.config.coding {
            Coding::Flat => Some(flat::write_indication(&encoded)),
            Coding::Per => {
                core.scratch.clear();
                encoded.encode(&mut core.scratch).inspect_err(|_| core.counters.unencodable += 1)?;
                None
            }
        };
        subscription.next_sn = subscription.next_sn.wrapping_add(1);
        core.counters.indications += 1;
        let controller = subscription.controller;
        let pdu = flat.unwrap_or_else(|| core.put_together());
        if let Some(link) = core.links.iter_mut().find(|l| l.id == controller) {
            link.outbox.push_indication(core.now, id.flow(), Frame::whole(pdu));
            announce(link, &mut core.outputs);
        }
        Ok(())
    }

    /// Requests the controller to delete a subscription (RIC subscription delete required, v2.03 and later). The
    /// subscription stays active until the controller deletes it.
    pub fn ask_delete(&mut self, id: SubscriptionId, cause: Cause) -> Result<(), ContextError> {
        let (controller, request_id, version) = self.locate(id)?;
        if version < Version::V2_03 {
            return Err(ContextError::NotInVersion(version));
        }
        let cause = cause::fit(cause, version);
        let subscriptions = vec![SubscriptionWithCause { request_id, function_id: self.function, cause }];
        let message = Message::RicSubscriptionDeleteRequired(RicSubscriptionDeleteRequired { subscriptions });
        self.core.send(controller, &message);
        Ok(())
    }

    /// Requests the controller to modify a subscription (v3.01). The response is passed to
    /// [`RanFunction::on_modification_answer`].
    pub fn ask_modification(
        &mut self,
        id: SubscriptionId,
        modify: Vec<ActionRequiredToBeModified>,
        remove: Vec<ActionFailed>,
    ) -> Result<(), ContextError> {
        let (controller, request_id, version) = self.locate(id)?;
        if version < Version::V3_01 {
            return Err(ContextError::NotInVersion(version));
        }
        let procedure = Procedure::ModificationRequired(id);
        if self.core.link(controller).is_some_and(|l| l.pending.iter().any(|p| p.procedure == procedure)) {
            return Err(ContextError::Busy);
        }
        let message = Message::RicSubscriptionModificationRequired(RicSubscriptionModificationRequired {
            request_id,
            function_id: self.function,
            modify: (!modify.is_empty()).then_some(modify),
            remove: (!remove.is_empty()).then_some(remove),
        });
        ranlab_e2_codec::e2ap::encode(&message, version)?;
        self.core.start(self.core.now, controller, procedure, 0, &message);
        Ok(())
    }

    /// Adds a controller; see [`Agent::add_controller`].
    pub fn add_controller(&mut self, address: String) -> Result<ControllerId, ControllerError> {
        self.core.add_controller(self.core.now, address)
    }

    /// Removes a controller; see [`Agent::remove_controller`].
    pub fn remove_controller(&mut self, controller: ControllerId) -> Result<(), ControllerError> {
        self.core.remove_controller(self.core.now, controller)
    }

    /// Exposes a UE to a controller; see [`Agent::associate_ue`].
    pub fn associate_ue(&mut self, ue: UeId, controller: ControllerId) -> Result<(), UeError> {
        if self.core.link(controller).is_none() {
            return Err(UeError::UnknownController(controller));
        }
        self.core.ues.associate(ue, controller)
    }

    /// Hides a UE from a controller; see [`Agent::dissociate_ue`].
    pub fn dissociate_ue(&mut self, ue: UeId, controller: ControllerId) {
        self.core.ues.dissociate(ue, controller);
    }

    fn locate(&self, id: SubscriptionId) -> Result<(ControllerId, RicRequestId, Version), ContextError> {
        let subscription = self.core.subscriptions.of_id(id).filter(|s| s.function == self.function);
        let Some(subscription) = subscription else { return Err(ContextError::UnknownSubscription(id)) };
        let version = self.core.link(subscription.controller).map(|l| l.version);
        let version = version.unwrap_or(self.core.config.version);
        Ok((subscription.controller, subscription.request_id, version))
    }
}
