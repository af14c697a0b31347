//! The door for service models: what a RAN function is asked, and what it answers.
use super::{FunctionContext, SubscriptionId};
use bytes::Bytes;
use ranlab_wire::e2ap::{
    ActionFailed, ActionToBeAdded, ActionToBeModified, ActionToBeSetup, Cause, CauseRicRequest, RicActionId,
    RicControlAckRequest, RicRequestId,
};

/// What a RAN function says about itself in the setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDescription {
    /// Object identifier of its service model: 1 to 1000 printable characters.
    pub oid: String,
    /// RAN function definition: opaque to all but the service model.
    pub definition: Bytes,
    /// 0 to 4095; grows with every change of the definition.
    pub revision: u16,
}

/// A RAN function: bytes of a service model in, bytes out. This is where strangers plug in.
///
/// The agent checks what E2AP says (ids, limits, versions), the function what its service model says. Every call tells
/// through [`FunctionContext::controller`] who asks.
pub trait RanFunction: Send {
    /// Its description; asked at registration and by [`Agent::refresh`](super::Agent::refresh).
    fn description(&self) -> FunctionDescription;

    /// A controller subscribes. Actions that the answer does not mention are refused as not supported; if none is
    /// admitted, the subscription fails and [`on_subscription_delete`](Self::on_subscription_delete) follows.
    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause>;

    /// A subscription is gone: deleted by its controller, by a reset, or with its connection.
    fn on_subscription_delete(&mut self, ctx: &mut FunctionContext<'_>, id: SubscriptionId);

    /// A controller wants something done. Who has to ask somebody else first puts the answer off
    /// ([`FunctionContext::answer_later`]).
    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause>;

    /// The time has come that was asked for with [`FunctionContext::wake_at`], or somebody has
    /// [roused](super::Agent::rouse) the function.
    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let _ = ctx;
    }

    /// A controller wants a subscription changed (v3.01).
    fn on_modification(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        modification: ModificationRequest<'_>,
    ) -> Result<ModificationOutcome, Cause> {
        let _ = (ctx, modification);
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
    }

    /// A controller answers [`FunctionContext::ask_modification`] (v3.01); the actions it refused stay as they are.
    fn on_modification_answer(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        id: SubscriptionId,
        answer: ModificationAnswer<'_>,
    ) {
        let _ = (ctx, id, answer);
    }

    /// A controller asks something once (v3.01): the outcome.
    fn on_query(&mut self, ctx: &mut FunctionContext<'_>, query: QueryRequest<'_>) -> Result<Bytes, Cause> {
        let _ = (ctx, query);
        Err(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable))
    }
}

/// A subscription to be admitted or refused.
#[derive(Debug, Clone, Copy)]
pub struct SubscriptionRequest<'a> {
    /// Its number in the agent, for [`FunctionContext::indicate`].
    pub id: SubscriptionId,
    /// The controller's request id.
    pub request_id: RicRequestId,
    /// When: event trigger definition of the service model.
    pub event_trigger: &'a Bytes,
    /// What: 1 to 16 actions with distinct ids.
    pub actions: &'a [ActionToBeSetup],
    /// From when, as an NTP time stamp (v3.01).
    pub start_time: Option<[u8; 8]>,
    /// Until when, as an NTP time stamp (v3.01).
    pub end_time: Option<[u8; 8]>,
}

/// Which actions of a subscription were admitted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admission {
    /// These will act.
    pub admitted: Vec<RicActionId>,
    /// These will not, and why.
    pub refused: Vec<ActionFailed>,
}

impl Admission {
    /// Admits the actions that `check` finds nothing wrong with.
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

/// A control to be executed or refused.
#[derive(Debug, Clone, Copy)]
pub struct ControlRequest<'a> {
    /// The controller's request id.
    pub request_id: RicRequestId,
    /// The insert that this answers.
    pub call_process_id: Option<&'a Bytes>,
    /// Control header of the service model.
    pub header: &'a Bytes,
    /// Control message of the service model.
    pub message: &'a Bytes,
    /// Which answer the controller wants; the agent sees to it.
    pub ack_request: Option<RicControlAckRequest>,
}

/// A control whose answer was put off, in the agent's own numbering: never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlTicket(pub u64);

/// A control that was executed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlOutcome {
    /// Control outcome of the service model, if it has one.
    pub outcome: Option<Bytes>,
}

/// A subscription to be changed.
#[derive(Debug, Clone, Copy)]
pub struct ModificationRequest<'a> {
    /// Which.
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

/// What was changed and what was not. Actions that it does not mention failed as not supported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModificationOutcome {
    /// Removed.
    pub removed: Vec<RicActionId>,
    /// Changed.
    pub modified: Vec<RicActionId>,
    /// Added.
    pub added: Vec<RicActionId>,
    /// Asked for but not done, and why.
    pub failed: Vec<ActionFailed>,
}

/// A controller's word on a modification that a function asked for.
#[derive(Debug, Clone, Copy)]
pub enum ModificationAnswer<'a> {
    /// It agrees, at least in part.
    Confirmed {
        /// Actions that may be changed.
        modified: &'a [RicActionId],
        /// Actions that may be removed; the agent has removed them.
        removed: &'a [RicActionId],
    },
    /// It does not agree.
    Refused(Cause),
    /// It does not answer.
    Unanswered,
}

/// A question.
#[derive(Debug, Clone, Copy)]
pub struct QueryRequest<'a> {
    /// The controller's request id.
    pub request_id: RicRequestId,
    /// Query header of the service model.
    pub header: &'a Bytes,
    /// Query definition of the service model.
    pub definition: &'a Bytes,
}
