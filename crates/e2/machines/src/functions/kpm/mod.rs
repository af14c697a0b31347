//! KPM at a base station ([`ranlab_e2_codec::e2sm::kpm`]): report styles 1 to 5.
//!
//! | request | response |
//! |---|---|
//! | a report style that differs from the number of its format | the action is refused |
//! | an unknown measurement, another cell or network, a label other than those below | the action is refused; a partial report would look like a fault of the node |
//! | labels S-NSSAI, 5QI, QCI, PLMN, sum | values of the selected UEs; all bearers have 5QI 9 |
//! | conditions on S-NSSAI, RSRP (dBm), RSRQ (dB), CQI, 5QI, QCI, stationary, category M | evaluated on the readings of each UE; actions with GBR or AMBR are refused |
//! | granularity | divides the report period into at most [`RECORDS_MAX`] records, each of which covers the time since the previous one |
//! | no UE fulfils the conditions, or the UE is not connected | no indication |
//!
//! By default, FlexRIC up to 2.0 is built from a modified ASN.1 text. Each report therefore uses the ASN.1 text of the
//! action definition that requested it ([`ranlab_e2_codec::e2sm::per::Text`]).
//!
//! Reports do not allocate memory after every connected UE has been reported once.
mod condition;
mod conditional;
mod matching;
mod reading;
mod records;

use super::elements::kpm::Checked;
use super::periods::Periods;
use crate::Time;
use crate::agent::*;
use bytes::Bytes;
pub use condition::{DEFAULT_5QI, Station};
use matching::Plan;
use ranlab_e2_codec::e2ap::{ActionToBeSetup, Cause, CauseRicRequest, RicActionType, RicIndicationType};
use ranlab_e2_codec::e2sm::kpm::{ActionDefinition, EventTrigger, IndicationHeader, Kpm, TimeStamp};
use ranlab_e2_codec::e2sm::per::decode_either;
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel, common};
pub use reading::{Channel, Reading, SLICES_MAX, Slices, UeReading};
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of records per report.
pub const RECORDS_MAX: u32 = 100;
/// Sender name in indication headers.
const SENDER: &str = "ranlab";

/// Base station behind the function.
pub trait KpmSource: Send {
    /// Writes the current counters of all UEs into an empty reading.
    fn read(&mut self, now: Time, reading: &mut Reading);

    /// Returns the identifier that this type of node uses for a UE, given its number (its C-RNTI).
    fn name(&self, number: u32) -> common::UeId;

    /// Returns the time of day, in microseconds since the Unix epoch.
    fn tstamp_us(&self, now: Time) -> i64;

    /// Returns cell and network, which conditions and labels may refer to.
    fn station(&self) -> Station {
        Station::default()
    }

    /// Called after a report; `lateness` is the delay from its scheduled to its actual send time.
    fn reported(&mut self, lateness: Duration) {
        let _ = lateness;
    }
}

struct Action {
    id: ranlab_e2_codec::e2ap::RicActionId,
    plan: Plan,
    /// Number of ticks of the subscription between two records.
    every: u32,
}

struct Subscribed {
    actions: Vec<Action>,
    /// Number of ticks that have passed.
    ticks: u32,
    /// Number of ticks between two reports.
    per_report: u32,
    period: Duration,
}

struct Function<S> {
    source: S,
    periods: Periods,
    subscriptions: BTreeMap<SubscriptionId, Subscribed>,
    /// Latest reading of the base station, reused for each tick.
    reading: Reading,
    header: IndicationHeader,
    header_octets: Vec<u8>,
    message_octets: Vec<u8>,
}

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::kpm::DEFAULT_FUNCTION_ID`].
pub fn function(source: impl KpmSource + 'static) -> Box<dyn RanFunction> {
    let ours = || Some(SENDER.to_owned());
    Box::new(Function {
        source,
        periods: Periods::default(),
        subscriptions: BTreeMap::new(),
        reading: Reading::default(),
        header: IndicationHeader { sender: ours(), vendor: ours(), ..TimeStamp::ntp(0).into() },
        header_octets: Vec::new(),
        message_octets: Vec::new(),
    })
}

const TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const ACTION: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);

/// Returns the greatest common divisor.
fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Checks an action. Returns its plan and granularity.
fn plan_for(action: &ActionToBeSetup, period_ms: u32, station: &Station) -> Result<(Plan, u32), Cause> {
    let definition = action.definition.as_ref().filter(|_| action.kind == RicActionType::Report);
    let definition = definition.and_then(|it| decode_either::<ActionDefinition>(it).ok());
    // The report style is the number of the format.
    let definition = definition
        .filter(|(it, _)| it.refused().is_none() && it.style == it.format.number())
        .ok_or(ACTION)?;
    let (plan, granularity_ms) = Plan::new(definition.0.format, definition.1, station).ok_or(ACTION)?;
    let divides = period_ms.is_multiple_of(granularity_ms) && period_ms / granularity_ms <= RECORDS_MAX;
    if divides { Ok((plan, granularity_ms)) } else { Err(ACTION) }
}

impl<S: KpmSource> Function<S> {
    fn read(&mut self, now: Time) {
        self.reading.clear();
        self.source.read(now, &mut self.reading);
        self.reading.order();
    }

    /// Handles a tick of a subscription. The interval of ticks divides the report period and all granularities.
    fn tick(&mut self, ctx: &mut FunctionContext<'_>, id: SubscriptionId, late: Duration) {
        let now = ctx.now();
        self.read(now);
        let Some(subscribed) = self.subscriptions.get_mut(&id) else { return };
        let ues = ctx.ues_of(id);
        let seen = |number: u32| ues.is_all() || ues.contains(UeId(number.into()));
        subscribed.ticks += 1;
        for action in &mut subscribed.actions {
            if subscribed.ticks.is_multiple_of(action.every) {
                action.plan.take(&self.reading, seen, |number| self.source.name(number));
            }
        }
        if subscribed.ticks < subscribed.per_report {
            return;
        }
        subscribed.ticks = 0;
        let begun_us = self.source.tstamp_us(now) - subscribed.period.as_micros() as i64;
        self.header.start = TimeStamp::ntp(begun_us);
        self.header_octets.clear();
        // The header is within its constraints, so it can be encoded.
        let _ = self.header.encode_as(Encoding::Per, &mut self.header_octets);
        for action in &mut subscribed.actions {
            self.message_octets.clear();
            if !action.plan.report(&mut self.message_octets) {
                continue;
            }
            let _ = ctx.indicate(Indication {
                subscription: id,
                action: action.id,
                kind: RicIndicationType::Report,
                header: &self.header_octets,
                message: &self.message_octets,
                call_process_id: None,
            });
        }
        self.source.reported(late);
    }

    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if let Some(at) = self.periods.next() {
            ctx.wake_at(at);
        }
    }
}

impl<S: KpmSource> RanFunction for Function<S> {
    fn description(&self) -> FunctionDescription {
        FunctionDescription {
            oid: Kpm::OID.to_owned(),
            definition: Bytes::from_static(Kpm::DEFINITION),
            revision: Kpm::REVISION,
        }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let trigger = EventTrigger::decode_as(Encoding::Per, subscription.event_trigger);
        let period_ms = trigger.map_err(|_| TRIGGER)?.period_ms;
        Kpm::periodic(Duration::from_millis(period_ms.into())).map_err(|_| TRIGGER)?;
        let mut plans = Vec::new();
        let station = self.source.station();
        let admission = Admission::each(subscription.actions, |action| {
            plans.push((action.id, plan_for(action, period_ms, &station)?));
            Ok(())
        });
        if plans.is_empty() {
            return Ok(admission);
        }
        let tick_ms =
            plans.iter().fold(period_ms, |tick_ms, (_, (_, every_ms))| common_divisor(tick_ms, *every_ms));
        self.read(ctx.now());
        let action = |(id, (mut plan, every_ms)): (_, (Plan, u32))| {
            plan.begin(&self.reading);
            Action { id, plan, every: every_ms / tick_ms }
        };
        let subscribed = Subscribed {
            actions: plans.into_iter().map(action).collect(),
            ticks: 0,
            per_report: period_ms / tick_ms,
            period: Duration::from_millis(period_ms.into()),
        };
        self.subscriptions.insert(subscription.id, subscribed);
        self.periods.add(subscription.id, ctx.now(), Duration::from_millis(tick_ms.into()));
        self.wake(ctx);
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.subscriptions.remove(&id);
        self.periods.remove(id);
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
        while let Some(due) = self.periods.pop(now) {
            self.tick(ctx, due.subscription, now.since(due.at));
        }
        self.wake(ctx);
    }
}
