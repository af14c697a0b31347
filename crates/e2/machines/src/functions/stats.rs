//! Periodic reports: the statistics service models and any other periodic data of a base station.
//!
//! | E2AP field | contents |
//! |---|---|
//! | event trigger definition | interval in milliseconds, u32 little endian, [`PERIOD_MS_MIN`] to [`PERIOD_MS_MAX`] |
//! | action | type report; the definition is ignored |
//! | indication header | four zero bytes |
//! | indication message | output of [`StatsSource::fill`] |
//! | control | MAC only, [`mac::CONTROL_HEADER`] and [`mac::CONTROL_MESSAGE`]: acknowledged without effect |
//!
//! Reports keep their schedule: a late report does not delay the next one. Missed periods are skipped and counted.
use super::periods::Periods;
use crate::Time;
use crate::agent::*;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    ActionToBeSetup, Cause, CauseRicRequest, RicActionId, RicActionType, RicIndicationType,
};
use ranlab_e2_codec::e2sm::plain::{EventTrigger, INDICATION_HEADER};
pub use ranlab_e2_codec::e2sm::plain::{PERIOD_MS_MAX, PERIOD_MS_MIN};
use ranlab_e2_codec::e2sm::{Model, mac};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Source of the statistics of a base station.
pub trait StatsSource: Send {
    /// Appends an indication message with the statistics of the given UEs to `out`, which is empty.
    fn fill(&mut self, now: Time, ues: UeFilter<'_>, out: &mut Vec<u8>);

    /// Called after a report; `lateness` is the delay from its scheduled to its actual send time.
    fn reported(&mut self, lateness: Duration) {
        let _ = lateness;
    }
}

/// Counters of periodic reports. All functions of a fleet may share one instance.
#[derive(Debug, Default)]
pub struct ReportCounters {
    reports: AtomicU64,
    late: AtomicU64,
}

impl ReportCounters {
    /// Returns the number of reports sent.
    pub fn reports(&self) -> u64 {
        self.reports.load(Relaxed)
    }

    /// Returns the number of periods without a report because the agent was woken too late.
    pub fn late(&self) -> u64 {
        self.late.load(Relaxed)
    }
}

/// A RAN function that reports the data of a [`StatsSource`] periodically.
#[derive(Debug)]
pub struct PeriodicReport<S> {
    description: FunctionDescription,
    source: S,
    counters: Arc<ReportCounters>,
    periods: Periods,
    actions: BTreeMap<SubscriptionId, Vec<RicActionId>>,
    scratch: Vec<u8>,
}

impl<S: StatsSource> PeriodicReport<S> {
    /// Creates a function for any service model of this form.
    pub fn new(description: FunctionDescription, source: S) -> Self {
        Self {
            description,
            source,
            counters: Arc::default(),
            periods: Periods::default(),
            actions: BTreeMap::new(),
            scratch: Vec::new(),
        }
    }

    /// Creates a function for a statistics model; register it as [`Model::default_function_id`].
    pub fn for_model(model: &dyn Model, source: S) -> Self {
        let definition = Bytes::from_static(model.definition());
        let oid = model.oid().to_owned();
        let revision = model.revision();
        Self::new(FunctionDescription { oid, definition, revision }, source)
    }

    /// Replaces the counters by the given ones.
    #[must_use]
    pub fn counting(self, counters: Arc<ReportCounters>) -> Self {
        Self { counters, ..self }
    }

    /// Returns the counters. They can still be read after the function was registered.
    pub fn counters(&self) -> Arc<ReportCounters> {
        self.counters.clone()
    }

    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if let Some(at) = self.periods.next() {
            ctx.wake_at(at);
        }
    }
}

/// Returns the interval of an event trigger.
pub fn period(event_trigger: &[u8]) -> Result<Duration, Cause> {
    let refused = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
    let trigger = EventTrigger::decode(event_trigger).map_err(|_| refused)?;
    let period = Duration::from_millis(trigger.period_ms.into());
    EventTrigger::every(period).map(|_| period).map_err(|_| refused)
}

fn is_report(action: &ActionToBeSetup) -> Result<(), Cause> {
    match action.kind {
        RicActionType::Report => Ok(()),
        _ => Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)),
    }
}

impl<S: StatsSource> RanFunction for PeriodicReport<S> {
    fn description(&self) -> FunctionDescription {
        self.description.clone()
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let period = period(subscription.event_trigger)?;
        let admission = Admission::each(subscription.actions, is_report);
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
        _: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let is_test =
            control.header[..] == mac::CONTROL_HEADER && control.message[..] == mac::CONTROL_MESSAGE;
        if is_test && self.description.oid == mac::OID {
            return Ok(ControlOutcome::default());
        }
        Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid))
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        while let Some(due) = self.periods.pop(now) {
            let subscription = due.subscription;
            self.scratch.clear();
            self.source.fill(now, ctx.ues_of(subscription), &mut self.scratch);
            for &action in self.actions.get(&subscription).into_iter().flatten() {
                let kind = RicIndicationType::Report;
                let header = &INDICATION_HEADER;
                let message = &self.scratch;
                let call_process_id = None;
                // Cannot fail: subscriptions that ended are removed here, so this one exists. Octet strings can always
                // be encoded.
                let _ =
                    ctx.indicate(Indication { subscription, action, kind, header, message, call_process_id });
                self.counters.reports.fetch_add(1, Relaxed);
            }
            self.counters.late.fetch_add(due.skipped, Relaxed);
            self.source.reported(now.since(due.at));
        }
        self.wake(ctx);
    }
}
