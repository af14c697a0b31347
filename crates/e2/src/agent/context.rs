//! What a RAN function can do while it is being called.
use super::core::{Core, announce};
use super::link::State;
use super::*;
use crate::{Frame, Time};
use ranlab_wire::e2ap::fast;
use ranlab_wire::e2ap::{
    ActionFailed, ActionRequiredToBeModified, Cause, Message, RanFunctionId, RicActionId, RicIndicationType,
    RicSubscriptionDeleteRequired, RicSubscriptionModificationRequired, SubscriptionWithCause,
};
use ranlab_wire::flat::{self, Coding};

/// An indication to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Indication<'a> {
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// Of which of its actions.
    pub action: RicActionId,
    /// Report or insert.
    pub kind: RicIndicationType,
    /// Indication header of the service model.
    pub header: &'a [u8],
    /// Indication message of the service model.
    pub message: &'a [u8],
    /// Ties an insert to the control that answers it.
    pub call_process_id: Option<&'a [u8]>,
}

/// A function asked for what cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// There is no such subscription, or it is another function's.
    #[error("no subscription {} of this function", .0.0)]
    UnknownSubscription(SubscriptionId),
    /// The version spoken with the controller lacks the procedure.
    #[error("the controller's version of E2AP, {0}, has no such procedure")]
    NotInVersion(Version),
    /// The same procedure waits for its answer already.
    #[error("the controller has not answered the previous one yet")]
    Busy,
    /// The contents cannot be encoded.
    #[error(transparent)]
    Encode(#[from] ranlab_wire::per::EncodeError),
}

/// The agent as a function sees it while it is being called.
#[derive(Debug)]
pub struct FunctionContext<'a> {
    pub(super) core: &'a mut Core,
    pub(super) function: RanFunctionId,
    pub(super) controller: Option<ControllerId>,
}

impl FunctionContext<'_> {
    /// The time.
    pub fn now(&self) -> Time {
        self.core.now
    }

    /// Under which id the function is registered.
    pub fn function_id(&self) -> RanFunctionId {
        self.function
    }

    /// The controller that asks; `None` in [`RanFunction::on_wake`].
    pub fn controller(&self) -> Option<ControllerId> {
        self.controller
    }

    /// The default controller.
    pub fn first_controller(&self) -> Option<ControllerId> {
        self.core.first()
    }

    /// The controllers of the agent and their addresses, in the order of their addition.
    pub fn controllers(&self) -> impl Iterator<Item = (ControllerId, &str)> {
        self.core.links.iter().filter(|l| l.state != State::Gone).map(|l| (l.id, l.address.as_str()))
    }

    /// The UEs exposed to the controller that asks; all of them if nobody asks.
    pub fn ues(&self) -> UeFilter<'_> {
        match self.controller {
            Some(controller) => self.core.ues.of(controller, self.core.first()),
            None => self.core.ues.all(),
        }
    }

    /// The UEs exposed to the controller of a subscription; none if there is no such subscription.
    pub fn ues_of(&self, subscription: SubscriptionId) -> UeFilter<'_> {
        let controller = self.core.subscriptions.of_id(subscription).map(|s| s.controller);
        self.core.ues.of(controller.unwrap_or(ControllerId(u32::MAX)), self.core.first())
    }

    /// The controller of a subscription.
    pub fn controller_of(&self, subscription: SubscriptionId) -> Option<ControllerId> {
        self.core.subscriptions.of_id(subscription).map(|s| s.controller)
    }

    /// Asks for [`RanFunction::on_wake`] at `at`. The earliest time asked for since the last waking counts.
    pub fn wake_at(&mut self, at: Time) {
        if let Some(offer) = self.core.offers.get_mut(&self.function) {
            offer.wake = Some(offer.wake.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// The control outcome of the service model that goes with the refusal of the control being handled.
    pub fn explain(&mut self, outcome: Bytes) {
        self.core.explanation = Some(outcome);
    }

    /// The control being handled will be answered by [`answer`](Self::answer): its function accepts it for now with an
    /// outcome that nobody is told. `None` if no control is being handled, or too many wait for their answers. If its
    /// controller is lost meanwhile, nobody waits for the answer any more.
    pub fn answer_later(&mut self) -> Option<ControlTicket> {
        self.core.controls.defer()
    }

    /// Whether [`answer_later`](Self::answer_later) would be granted.
    pub fn may_answer_later(&self) -> bool {
        self.core.controls.has_room()
    }

    /// Answers a control that was put off; a refusal may be [`explain`](Self::explain)ed before. Whether somebody still
    /// waited for it.
    pub fn answer(&mut self, ticket: ControlTicket, answer: Result<ControlOutcome, Cause>) -> bool {
        let open = self.core.controls.take(ticket, self.function);
        let waited = open.is_some();
        if let Some(open) = open {
            self.core.answer_control(open, answer);
        }
        self.core.explanation = None;
        waited
    }

    /// Sends an indication. It gets the subscription's next RICindicationSN here, before anything can drop it: a
    /// receiver sees every drop as a gap.
    pub fn indicate(&mut self, indication: Indication<'_>) -> Result<(), ContextError> {
        let id = indication.subscription;
        let function = self.function;
        let core = &mut *self.core;
        let subscription = core.subscriptions.of_id_mut(id).filter(|s| s.function == function);
        let Some(subscription) = subscription else { return Err(ContextError::UnknownSubscription(id)) };
        let told = fast::Indication {
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
            Coding::Flat => Some(flat::write_indication(&told)),
            Coding::Per => {
                core.scratch.clear();
                told.encode(&mut core.scratch).inspect_err(|_| core.counters.unencodable += 1)?;
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

    /// Asks the controller to delete a subscription (RIC subscription delete required, since v2.03). It lives on until
    /// the controller does.
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

    /// Asks the controller to let a subscription be changed (since v3.01); the answer comes as
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
        ranlab_wire::e2ap::encode(&message, version)?;
        self.core.start(self.core.now, controller, procedure, 0, &message);
        Ok(())
    }

    /// Adds a controller, as [`Agent::add_controller`].
    pub fn add_controller(&mut self, address: String) -> Result<ControllerId, ControllerError> {
        self.core.add_controller(self.core.now, address)
    }

    /// Removes a controller, as [`Agent::remove_controller`].
    pub fn remove_controller(&mut self, controller: ControllerId) -> Result<(), ControllerError> {
        self.core.remove_controller(self.core.now, controller)
    }

    /// Exposes a UE to a controller, as [`Agent::associate_ue`].
    pub fn associate_ue(&mut self, ue: UeId, controller: ControllerId) -> Result<(), UeError> {
        if self.core.link(controller).is_none() {
            return Err(UeError::UnknownController(controller));
        }
        self.core.ues.associate(ue, controller)
    }

    /// Takes a UE from a controller again, as [`Agent::dissociate_ue`].
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
