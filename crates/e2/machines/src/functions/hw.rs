//! HW: echoes the pings of controllers, sends periodic pings, and applies policies ([`ranlab_e2_codec::e2sm::hw`]).
//!
//! Indications of type insert carry a call process id: a counter (u32, big endian) that is shared by all inserts of
//! the function. If there are several policies, the one with the lowest (execution order, subscription, action)
//! applies.
use super::periods::Periods;
use crate::agent::*;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    ActionToBeSetup, Cause, CauseRicRequest, RicActionId, RicActionType, RicIndicationType,
};
use ranlab_e2_codec::e2sm::hw::{
    DEFINITION, HwPeriodic, HwPolicy, HwPolicyAction, HwTrigger, OID, PERIOD_MS_MAX, Ping, REVISION,
};
use ranlab_e2_codec::e2sm::{Octets, per};
use ranlab_e2_codec::flat::Coding;
use std::collections::BTreeMap;
use std::time::Duration;

const TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const ACTION: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const REJECTED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// Indications of one subscription.
#[derive(Debug)]
struct Listener {
    trigger: HwTrigger,
    /// Actions of type report and insert.
    actions: Vec<(RicActionId, RicIndicationType)>,
    /// Sequence number of the next periodic ping.
    next_seq: u32,
}

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::hw::DEFAULT_FUNCTION_ID`].
#[derive(Debug, Default)]
pub struct Hw {
    listeners: BTreeMap<SubscriptionId, Listener>,
    /// Policies by execution order, subscription and action.
    policies: BTreeMap<(u16, SubscriptionId, RicActionId), HwPolicy>,
    periods: Periods,
    last_call_process: u32,
    scratch: Vec<u8>,
    coding: Coding,
    ear: Option<PingObserver>,
}

/// Callback with the sequence number of each executed control ping. It proves execution independently of any
/// response.
struct PingObserver(Box<dyn FnMut(u32) + Send>);

impl std::fmt::Debug for PingObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ear")
    }
}

impl Hw {
    /// Creates a function without subscriptions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the encoding of pings. Triggers and policies stay in PER.
    pub fn encoded(self, coding: Coding) -> Self {
        Self { coding, ..self }
    }

    /// Sets a callback that receives the sequence number of each ping in an executed control. Pings rejected by a
    /// policy are not reported.
    pub fn heard_by(self, ear: impl FnMut(u32) + Send + 'static) -> Self {
        Self { ear: Some(PingObserver(Box::new(ear))), ..self }
    }

    fn policy_for(&self, payload_size: usize) -> Option<HwPolicyAction> {
        self.policies.values().find_map(|policy| policy.applies(payload_size))
    }

    /// Sends an encoded ping for each action of type report or insert of a subscription.
    fn indicate(&mut self, ctx: &mut FunctionContext<'_>, subscription: SubscriptionId, message: &[u8]) {
        let Some(listener) = self.listeners.get(&subscription) else { return };
        for &(action, kind) in &listener.actions {
            let mut process = None;
            if kind == RicIndicationType::Insert {
                self.last_call_process = self.last_call_process.wrapping_add(1);
                process = Some(self.last_call_process.to_be_bytes());
            }
            let call_process_id = process.as_ref().map(|p| &p[..]);
            // Cannot fail: subscriptions that ended are removed here, so this one exists. Octet strings can always be
            // encoded.
            let _ = ctx.indicate(Indication {
                subscription,
                action,
                kind,
                header: &[],
                message,
                call_process_id,
            });
        }
    }

    fn echo(&mut self, ctx: &mut FunctionContext<'_>, message: &[u8]) {
        let echoing = self.listeners.iter().filter(|(_, l)| l.trigger == HwTrigger::OnControl);
        let echoing: Vec<_> = echoing.map(|(id, _)| *id).collect();
        for id in echoing {
            self.indicate(ctx, id, message);
        }
    }

    /// Checks whether an action is supported. Returns its policy, if it has one.
    fn check(action: &ActionToBeSetup) -> Result<Option<HwPolicy>, Cause> {
        if action.kind != RicActionType::Policy {
            return Ok(None);
        }
        let definition = action.definition.clone().ok_or(ACTION)?;
        per::decode(definition).map(Some).map_err(|_| ACTION)
    }

    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if let Some(at) = self.periods.next() {
            ctx.wake_at(at);
        }
    }
}

impl RanFunction for Hw {
    fn description(&self) -> FunctionDescription {
        let definition = Bytes::from_static(DEFINITION);
        FunctionDescription { oid: OID.to_owned(), definition, revision: REVISION }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let trigger: HwTrigger = per::decode(subscription.event_trigger.clone()).map_err(|_| TRIGGER)?;
        let mut actions = Vec::new();
        let admission = Admission::each(subscription.actions, |action| {
            match (Self::check(action)?, action.kind) {
                (Some(policy), _) => {
                    let order = action.execution_order.unwrap_or(u16::MAX);
                    self.policies.insert((order, subscription.id, action.id), policy);
                }
                (None, RicActionType::Insert) => actions.push((action.id, RicIndicationType::Insert)),
                (None, _) => actions.push((action.id, RicIndicationType::Report)),
            }
            Ok(())
        });
        if let (HwTrigger::Periodic(HwPeriodic { period_ms, .. }), false) = (trigger, actions.is_empty()) {
            let period = Duration::from_millis(u64::from(period_ms.clamp(1, PERIOD_MS_MAX)));
            self.periods.add(subscription.id, ctx.now(), period);
            self.wake(ctx);
        }
        self.listeners.insert(subscription.id, Listener { trigger, actions, next_seq: 0 });
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.listeners.remove(&id);
        self.policies.retain(|(_, subscription, _), _| *subscription != id);
        self.periods.remove(id);
    }

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let ping = Ping::decode_as(self.coding.into(), control.message).map_err(|_| INVALID)?;
        let policy = self.policy_for(ping.payload.len());
        if let Some(PingObserver(hear)) = self.ear.as_mut().filter(|_| policy != Some(HwPolicyAction::Reject))
        {
            hear(ping.seq);
        }
        match policy {
            Some(HwPolicyAction::Reject) => return Err(REJECTED),
            Some(HwPolicyAction::Ignore) => {}
            Some(HwPolicyAction::EchoHeader) => {
                let ping = Ping { payload: Bytes::new(), ..ping };
                let short = ping.to_octets(self.coding.into()).map_err(|_| INVALID)?;
                self.echo(ctx, &short);
            }
            Some(HwPolicyAction::EchoTwice) => {
                self.echo(ctx, control.message);
                self.echo(ctx, control.message);
            }
            None => self.echo(ctx, control.message),
        }
        Ok(ControlOutcome::default())
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        while let Some(due) = self.periods.pop(now) {
            let Some(listener) = self.listeners.get_mut(&due.subscription) else { continue };
            let HwTrigger::Periodic(periodic) = listener.trigger else { continue };
            let payload = Bytes::from(vec![0; usize::from(periodic.payload_size)]);
            let ping = Ping { seq: listener.next_seq, t_send_ns: now.as_nanos(), payload };
            listener.next_seq = listener.next_seq.wrapping_add(1);
            let mut message = std::mem::take(&mut self.scratch);
            message.clear();
            // A ping with a payload size that a trigger allows can always be encoded.
            if ping.encode_as(self.coding.into(), &mut message).is_ok() {
                self.indicate(ctx, due.subscription, &message);
            }
            self.scratch = message;
        }
        self.wake(ctx);
    }
}
