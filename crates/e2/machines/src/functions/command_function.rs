//! Common part of the service models with periodic reports and controls: SLICE and TRAFFIC.
//!
//! A refused command changes nothing. Its [`Refusal`] is the outcome in the RIC control failure.
use super::periods::Periods;
use crate::Time;
use crate::agent::*;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, RicActionId, RicActionType, RicIndicationType};
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use std::collections::BTreeMap;

const TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const ACTION: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
pub(super) const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
pub(super) const BUSY: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);

/// Requesting controller and its permissions.
#[derive(Debug, Clone)]
pub(super) struct Requester<'a> {
    /// Requesting controller.
    pub(super) controller: ControllerId,
    /// Default controller, which owns everything that no other controller owns.
    pub(super) first: Option<ControllerId>,
    /// All controllers of the agent.
    pub(super) known: Vec<ControllerId>,
    /// UEs that the requesting controller sees.
    pub(super) ues: UeFilter<'a>,
}

impl Requester<'_> {
    /// Returns whether the controller sees the UE with this RNTI.
    pub(super) fn sees(&self, rnti: u16) -> bool {
        self.ues.is_all() || self.ues.contains(UeId(rnti.into()))
    }
}

/// A service model at a base station, in its own types.
pub(super) trait CommandTarget: Send {
    type Model: ServiceModel<Outcome = Refusal>;

    /// Returns the indication message about the given UEs.
    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> <Self::Model as ServiceModel>::Message;

    /// Executes a command completely or not at all.
    fn execute(
        &mut self,
        now: Time,
        asker: &Requester<'_>,
        command: <Self::Model as ServiceModel>::Control,
    ) -> Result<Progress, Refusal>;

    /// Returns the results of deferred commands that have completed, by number.
    fn ended(&mut self) -> Vec<(u64, Result<(), Refusal>)> {
        Vec::new()
    }
}

/// Progress of an accepted command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The command has been executed.
    Done,
    /// The command is pending. The base station reports its outcome later under this unique number, and
    /// [wakes](crate::agent::Agent::wake_function) the function.
    Later(u64),
}

/// RAN function of a service model with periodic reports and controls.
#[derive(Debug)]
pub(super) struct CommandFunction<S> {
    pub(super) station: S,
    periods: Periods,
    actions: BTreeMap<SubscriptionId, Vec<RicActionId>>,
    later: DeferredCommands,
}

/// Deferred commands by the number that the base station assigned.
#[derive(Debug, Default)]
pub(super) struct DeferredCommands(BTreeMap<u64, ControlTicket>);

impl DeferredCommands {
    /// Responds to a command, immediately or later. The caller has checked that [it may be
    /// deferred](FunctionContext::may_answer_later).
    pub(super) fn answer(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        encoding: Encoding,
        done: Result<Progress, Refusal>,
    ) -> Result<ControlOutcome, Cause> {
        match done {
            Ok(progress) => {
                if let Progress::Later(number) = progress {
                    self.0.extend(ctx.answer_later().map(|ticket| (number, ticket)));
                }
                Ok(ControlOutcome::default())
            }
            Err(refusal) => {
                ctx.explain(refusal.to_octets(encoding).unwrap_or_default());
                Err(REFUSED)
            }
        }
    }

    /// Responds to deferred commands that have completed.
    pub(super) fn conclude(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        encoding: Encoding,
        ended: Vec<(u64, Result<(), Refusal>)>,
    ) {
        for (number, end) in ended {
            let Some(ticket) = self.0.remove(&number) else { continue };
            let answer = end.map(|()| ControlOutcome::default()).map_err(|refusal| {
                ctx.explain(refusal.to_octets(encoding).unwrap_or_default());
                REFUSED
            });
            ctx.answer(ticket, answer);
        }
    }
}

impl<S: CommandTarget> CommandFunction<S> {
    pub(super) fn new(station: S) -> Self {
        Self {
            station,
            periods: Periods::default(),
            actions: BTreeMap::new(),
            later: DeferredCommands::default(),
        }
    }

    fn encoding() -> Encoding {
        let encodings = <S::Model as ServiceModel>::Message::ENCODINGS;
        encodings.first().copied().unwrap_or(Encoding::Per)
    }

    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if let Some(at) = self.periods.next() {
            ctx.wake_at(at);
        }
    }
}

/// Returns the function description for the E2 setup.
pub(super) fn description<M: ServiceModel>() -> FunctionDescription {
    let definition = Bytes::from_static(M::DEFINITION);
    FunctionDescription { oid: M::OID.to_owned(), definition, revision: M::REVISION }
}

/// Admits actions of type report only.
pub(super) fn reports(subscription: &SubscriptionRequest<'_>) -> Admission {
    Admission::each(subscription.actions, |action| match action.kind {
        RicActionType::Report => Ok(()),
        _ => Err(ACTION),
    })
}

/// Sends an indication of type report, without header, for each action of a subscription.
pub(super) fn send_reports(
    ctx: &mut FunctionContext<'_>,
    subscription: SubscriptionId,
    actions: &[RicActionId],
    message: &impl Octets,
    encoding: Encoding,
) {
    // Encoding should not fail, because the base station's message is within the limits of the model. If it does, nothing is sent.
    let Ok(message) = message.to_octets(encoding) else { return };
    for &action in actions {
        let kind = RicIndicationType::Report;
        // Cannot fail: the callers remove subscriptions that end, so this one exists. Octet strings can always be
        // encoded.
        let _ = ctx.indicate(Indication {
            subscription,
            action,
            kind,
            header: &[],
            message: &message,
            call_process_id: None,
        });
    }
}

impl<S: CommandTarget> RanFunction for CommandFunction<S> {
    fn description(&self) -> FunctionDescription {
        description::<S::Model>()
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let trigger =
            <S::Model as ServiceModel>::Trigger::decode_as(Self::encoding(), subscription.event_trigger);
        let period = trigger.ok().as_ref().and_then(S::Model::period).ok_or(TRIGGER)?;
        let admission = reports(&subscription);
        if !admission.admitted.is_empty() {
            self.actions.insert(subscription.id, admission.admitted.clone());
            self.periods.add(subscription.id, ctx.now(), period);
            self.wake(ctx);
        }
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.actions.remove(&id);
        self.periods.remove(id);
    }

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let encoding = Self::encoding();
        let header = <S::Model as ServiceModel>::ControlHeader::decode_as(encoding, control.header);
        let command = <S::Model as ServiceModel>::Control::decode_as(encoding, control.message);
        let (Ok(_), Ok(command), Some(controller)) = (header, command, ctx.controller()) else {
            return Err(INVALID);
        };
        if !ctx.may_answer_later() {
            return Err(BUSY);
        }
        let known = ctx.controllers().map(|(id, _)| id).collect();
        let asker = Requester { controller, first: ctx.first_controller(), known, ues: ctx.ues() };
        let done = self.station.execute(ctx.now(), &asker, command);
        self.later.answer(ctx, encoding, done)
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        self.later.conclude(ctx, Self::encoding(), self.station.ended());
        while let Some(due) = self.periods.pop(now) {
            let message = self.station.report(now, ctx.ues_of(due.subscription));
            let actions = self.actions.get(&due.subscription).map_or(&[][..], Vec::as_slice);
            send_reports(ctx, due.subscription, actions, &message, Self::encoding());
        }
        self.wake(ctx);
    }
}
