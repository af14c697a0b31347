//! Interface between the agent and a RAN function (service model).
use super::{FunctionContext, SubscriptionId};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    ActionFailed, ActionToBeAdded, ActionToBeModified, ActionToBeSetup, Cause, CauseRicRequest, RicActionId,
    RicControlAckRequest, RicRequestId,
};

/// Description of a RAN function in the E2 setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDescription {
    /// Object identifier of the service model: 1 to 1000 printable characters.
    pub oid: String,
    /// RAN function definition, opaque to the agent.
    pub definition: Bytes,
    /// Revision, 0 to 4095. It must increase with every change of the definition.
    pub revision: u16,
}

/// A RAN function: the implementation of a service model. Third-party code implements this trait to add a service
/// model.
///
/// The agent checks what E2AP defines (ids, limits, versions). The function checks what its service model defines. In
/// each callback, [`FunctionContext::controller`] returns the requesting controller.
pub trait RanFunction: Send {
    /// Returns the description. The agent calls this at registration and in
    /// [`Agent::refresh`](super::Agent::refresh).
    fn description(&self) -> FunctionDescription;

    /// Handles a subscription request. Actions missing in the result are refused as not supported. If no action is
    /// admitted, the subscription fails and [`on_subscription_delete`](Self::on_subscription_delete) is called.
    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause>;

    /// Handles the end of a subscription, because the controller deleted it, the interface was reset, or the connection was lost.
    fn on_subscription_delete(&mut self, ctx: &mut FunctionContext<'_>, id: SubscriptionId);

    /// Handles a control request. A function that depends on another component defers the response with
    /// [`FunctionContext::answer_later`].
    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause>;

    /// Called at the time requested with [`FunctionContext::wake_at`], or after
    /// [`Agent::wake_function`](super::Agent::wake_function).
    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let _ = ctx;
    }

    /// Handles a request to modify a subscription (v3.01).
    fn on_modification(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        modification: ModificationRequest<'_>,
    ) -> Result<ModificationOutcome, Cause> {
        let _ = (ctx, modification);
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
    }

    /// Handles the response to [`FunctionContext::ask_modification`] (v3.01). Actions that the controller refused are
    /// unchanged.
    fn on_modification_answer(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        id: SubscriptionId,
        answer: ModificationAnswer<'_>,
    ) {
        let _ = (ctx, id, answer);
    }

    /// Handles a RIC query (v3.01) and returns its outcome.
    fn on_query(&mut self, ctx: &mut FunctionContext<'_>, query: QueryRequest<'_>) -> Result<Bytes, Cause> {
        let _ = (ctx, query);
        Err(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable))
    }
}

/// A subscription request.
#[derive(Debug, Clone, Copy)]
pub struct SubscriptionRequest<'a> {
    /// Id of the subscription in the agent, for [`FunctionContext::indicate`].
    pub id: SubscriptionId,
    /// Request id chosen by the controller.
    pub request_id: RicRequestId,
    /// Event trigger definition of the service model.
    pub event_trigger: &'a Bytes,
    /// Actions, 1 to 16 with distinct ids.
    pub actions: &'a [ActionToBeSetup],
    /// Start time as an NTP timestamp (v3.01).
    pub start_time: Option<[u8; 8]>,
    /// End time as an NTP timestamp (v3.01).
    pub end_time: Option<[u8; 8]>,
}

/// Result of a subscription request, per action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admission {
    /// Admitted actions.
    pub admitted: Vec<RicActionId>,
    /// Refused actions with their causes.
    pub refused: Vec<ActionFailed>,
}

impl Admission {
    /// Admits the actions for which `check` succeeds.
    pub fn each(
        actions: &[ActionToBeSetup],
        mut check: impl FnMut(&ActionToBeSetup) -> Result<(), Cause>,
    ) -> Self {
        let mut admission = Self::default();
        for action in actions {
            match check(action) {
                Ok(()) => admission.admitted.push(action.id),
                Err(cause) => admission.refused.push(ActionFailed { id: action.id, cause }),
            }
        }
        admission
    }
}

/// A control request.
#[derive(Debug, Clone, Copy)]
pub struct ControlRequest<'a> {
    /// Request id chosen by the controller.
    pub request_id: RicRequestId,
    /// Identifier of the insert to which this control responds.
    pub call_process_id: Option<&'a Bytes>,
    /// Control header of the service model.
    pub header: &'a Bytes,
    /// Control message of the service model.
    pub message: &'a Bytes,
    /// Type of response that the controller requests. The agent sends it.
    pub ack_request: Option<RicControlAckRequest>,
}

/// Identifier of a deferred control, unique for the lifetime of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlTicket(pub u64);

/// Result of an executed control.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlOutcome {
    /// Control outcome of the service model, if it has one.
    pub outcome: Option<Bytes>,
}

/// A request to modify a subscription.
#[derive(Debug, Clone, Copy)]
pub struct ModificationRequest<'a> {
    /// Subscription.
    pub id: SubscriptionId,
    /// New event trigger definition.
    pub event_trigger: Option<&'a Bytes>,
    /// Actions to remove.
    pub remove: &'a [RicActionId],
    /// Actions to change.
    pub modify: &'a [ActionToBeModified],
    /// Actions to add.
    pub add: &'a [ActionToBeAdded],
}

/// Result of a modification. Actions that it does not list failed as not supported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModificationOutcome {
    /// Removed actions.
    pub removed: Vec<RicActionId>,
    /// Modified actions.
    pub modified: Vec<RicActionId>,
    /// Added actions.
    pub added: Vec<RicActionId>,
    /// Failed actions with their causes.
    pub failed: Vec<ActionFailed>,
}

/// Response of a controller to a modification that a function requested.
#[derive(Debug, Clone, Copy)]
pub enum ModificationAnswer<'a> {
    /// The controller confirms at least some of the changes.
    Confirmed {
        /// Actions that may be modified.
        modified: &'a [RicActionId],
        /// Actions that may be removed. The agent has already removed them.
        removed: &'a [RicActionId],
    },
    /// The controller refuses.
    Refused(Cause),
    /// The controller did not respond in time.
    Unanswered,
}

/// A RIC query.
#[derive(Debug, Clone, Copy)]
pub struct QueryRequest<'a> {
    /// Request id chosen by the controller.
    pub request_id: RicRequestId,
    /// Query header of the service model.
    pub header: &'a Bytes,
    /// Query definition of the service model.
    pub definition: &'a Bytes,
}
