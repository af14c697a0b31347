//! RAN function on the base station.
use crate::{CELLS_MAX, Cell, Policy, Reaction, Report, Temperature, Trigger};
use ranlab_sdk::Bytes;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{
    Admission, ControlOutcome, ControlRequest, FunctionContext, FunctionDescription, Indication, RanFunction,
    SubscriptionId, SubscriptionRequest,
};
use ranlab_sdk::wire::e2ap::{
    ActionToBeSetup, Cause, CauseRicRequest, RicActionId, RicActionType, RicIndicationType,
};
use ranlab_sdk::wire::e2sm::{ServiceModel, per};
use std::collections::BTreeMap;
use std::time::Duration;

const TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const ACTION: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);

/// Source of temperatures. Only this part differs between base stations.
pub trait Thermometers: Send {
    /// Returns the temperatures of all cells, in tenths of a kelvin by cell id.
    fn read(&mut self, now: Time) -> Vec<(u16, u16)>;
    /// Starts or stops throttling a cell.
    fn throttle(&mut self, cell: u16, on: bool);
}

/// RAN function that reports temperatures and applies policies.
pub struct CellTemperature<T> {
    thermometers: T,
    listeners: BTreeMap<SubscriptionId, Listener>,
    policies: BTreeMap<(SubscriptionId, RicActionId), Policy>,
    throttled: BTreeMap<u16, bool>,
}

/// Subscription to reports.
struct Listener {
    period: Duration,
    next: Time,
    reports: Vec<RicActionId>,
}

impl<T: Thermometers> CellTemperature<T> {
    /// Returns a function without subscriptions.
    pub fn new(thermometers: T) -> Self {
        let listeners = BTreeMap::new();
        let policies = BTreeMap::new();
        let throttled = BTreeMap::new();
        Self { thermometers, listeners, policies, throttled }
    }

    /// Reads the temperatures and applies the policies. If several policies apply, the lowest threshold counts.
    fn measure(&mut self, now: Time) -> Report {
        let throttling = self.policies.values().filter(|p| p.reaction == Reaction::Throttle);
        let limit_dk = throttling.map(|p| p.threshold_dk).min();
        let mut cells = Vec::new();
        for (id, temperature_dk) in self.thermometers.read(now).into_iter().take(CELLS_MAX) {
            let throttled = limit_dk.is_some_and(|limit| temperature_dk > limit);
            if self.throttled.insert(id, throttled).unwrap_or(false) != throttled {
                self.thermometers.throttle(id, throttled);
            }
            cells.push(Cell { id, temperature_dk, throttled });
        }
        Report { cells }
    }

    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if let Some(next) = self.listeners.values().map(|l| l.next).min() {
            ctx.wake_at(next);
        }
    }
}

/// Returns the policy of a policy action, or `None` for a report action.
fn policy(action: &ActionToBeSetup) -> Result<Option<Policy>, Cause> {
    match (action.kind, &action.definition) {
        (RicActionType::Report, None) => Ok(None),
        (RicActionType::Policy, Some(octets)) => per::decode(octets.clone()).map(Some).map_err(|_| ACTION),
        _ => Err(ACTION),
    }
}

impl<T: Thermometers> RanFunction for CellTemperature<T> {
    fn description(&self) -> FunctionDescription {
        FunctionDescription {
            oid: Temperature::OID.to_owned(),
            definition: Bytes::from_static(Temperature::DEFINITION),
            revision: Temperature::REVISION,
        }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let trigger: Trigger = per::decode(subscription.event_trigger.clone()).map_err(|_| TRIGGER)?;
        let mut reports = Vec::new();
        let admission = Admission::each(subscription.actions, |action| {
            match policy(action)? {
                Some(policy) => drop(self.policies.insert((subscription.id, action.id), policy)),
                None => reports.push(action.id),
            }
            Ok(())
        });
        let period = Duration::from_millis(u64::from(trigger.period_ms));
        self.listeners.insert(subscription.id, Listener { period, next: ctx.now() + period, reports });
        self.wake(ctx);
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.listeners.remove(&id);
        self.policies.retain(|(subscription, _), _| *subscription != id);
    }

    fn on_control(
        &mut self,
        _: &mut FunctionContext<'_>,
        _: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid))
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        let mut message = Vec::new();
        // Sensors may return values out of range. The report then cannot be encoded and is not sent.
        let encoded = per::encode(&self.measure(now), &mut message).is_ok();
        for (id, listener) in self.listeners.iter_mut().filter(|(_, l)| l.next <= now) {
            listener.next = now + listener.period;
            for &action in listener.reports.iter().filter(|_| encoded) {
                let kind = RicIndicationType::Report;
                let header = &[][..];
                let message = &message[..];
                // The indication cannot fail: if the subscription were missing, the function would have deleted it.
                let _ = ctx.indicate(Indication {
                    subscription: *id,
                    action,
                    kind,
                    header,
                    message,
                    call_process_id: None,
                });
            }
        }
        self.wake(ctx);
    }
}
