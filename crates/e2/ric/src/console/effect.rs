//! Effect of a control, measured on request over HTTP. [`effect`] gets its reports from subscriptions that are made for the measurement.
use super::control::known_refusal;
use super::subscriptions::{ConsoleSubscription, SubscriptionOwner};
use super::{Console, Target, reply};
use crate::northbound::{Call, Fault, FaultReply as _, given};
use bytes::Bytes;
use ranlab_e2::effect::{self, EffectError, Next};
use ranlab_e2::ric::{ControlDetails, IAppOutbox, Party};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, RicSubscriptionDetails, fast};
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::kpm::{self, Selection};
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::rc::{self, ControlHeader, ControlMessage};
use ranlab_e2_codec::e2sm::{Encoding, Model, Octets};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of concurrent measurements; further requests get status 503.
pub(super) const EFFECTS_MAX: usize = 16;
/// Maximum duration of a measurement; the HTTP request waits for it.
const TIME_MAX: Duration = Duration::from_secs(6);
/// Default reporting period, in milliseconds.
const PERIOD_MS: u32 = 100;
/// Maximum number of slices per measurement.
const SLICES_MAX: usize = 16;
/// KPM report style that selects the UEs of a slice.
const BY_CONDITION: i64 = 4;

/// Request for a measurement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectBody {
    sm: String,
    columns: Vec<String>,
    periods: u32,
    #[serde(default, deserialize_with = "given")]
    period_ms: Option<u32>,
    /// Slices whose KPM values are shown; default: the slices named by the control.
    #[serde(default, deserialize_with = "given")]
    slices: Option<Vec<String>>,
}

/// Control with the measurement of its effect.
#[derive(Debug)]
pub(super) struct Effect {
    token: u64,
    party: Option<Party>,
    target: Target,
    details: Option<ControlDetails>,
    subscription: u32,
    /// Slices with a subscription that reports only their UEs, by id of the subscription.
    members: BTreeMap<u32, String>,
    sm: String,
    period_ms: u32,
    periods: u32,
    measured: effect::Effect,
    /// Outcome of the control, once it is known.
    done: Option<Json>,
}

fn halves(it: &effect::Halves) -> Json {
    json!({ "before": it.before, "after": it.after })
}

fn change(it: effect::Change) -> (String, Json) {
    let groups = |groups: &[(String, effect::Halves)]| -> Map<String, Json> {
        groups.iter().map(|(name, it)| (name.clone(), halves(it))).collect()
    };
    let mut json = halves(&it.total);
    json["unit"] = it.unit.into();
    json["total"] = it.summary.name().into();
    json["slices"] = groups(&it.slices).into();
    json["ues"] = groups(&it.ues).into();
    json["left_out"] = it.left_out.into();
    (it.name, json)
}

impl Effect {
    fn json(&self) -> Json {
        let columns: Map<String, Json> = self.measured.changes().into_iter().map(change).collect();
        json!({ "sm": self.sm, "period_ms": self.period_ms, "periods": self.periods, "columns": columns })
    }
}

/// Returns the KPM measurement names among the columns, without labels.
fn measurements(columns: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let bare = column.split(' ').next().unwrap_or_default();
        if !names.iter().any(|it| it == bare) {
            names.push(bare.to_owned());
        }
    }
    names
}

/// Returns the requested slices, else the slices of an RC control that sets quotas.
fn slices(
    requested: Option<&[String]>,
    target: &Target,
    details: &ControlDetails,
) -> Result<Vec<Snssai>, Fault> {
    if let Some(names) = requested {
        if names.len() > SLICES_MAX {
            return Err(Fault::new(422, format!("{} slices; at most {SLICES_MAX} are allowed", names.len())));
        }
        let parse = |name: &String| name.parse().map_err(|fault: _| Fault::new(422, slice_error(fault)));
        return names.iter().map(parse).collect();
    }
    if target.model.is_none_or(|model| model.oid() != rc::OID) {
        return Ok(Vec::new());
    }
    let header = ControlHeader::decode_as(Encoding::Per, &details.header);
    let message = ControlMessage::decode_as(Encoding::Per, &details.message);
    let order =
        header.ok().zip(message.ok()).and_then(|(header, message)| Order::read(&header, &message).ok());
    Ok(match order {
        Some(Order::SliceQuotas(quotas)) => quotas.iter().map(|it| it.slice).take(SLICES_MAX).collect(),
        _ => Vec::new(),
    })
}

fn slice_error(fault: ranlab_e2_codec::e2sm::common::NotAnSnssai) -> String {
    fault.to_string()
}

/// Returns the report action for a node; for KPM it contains only the requested columns.
fn report(
    watched: &Target,
    model: &'static dyn Model,
    definition: &Bytes,
    columns: &[String],
    period: Duration,
) -> Result<ActionToBeSetup, Fault> {
    if model.oid() != kpm::OID {
        return super::subscriptions::report(model, definition, period);
    }
    let selection = Selection { measurements: measurements(columns), ..Selection::default() };
    kpm_report(watched, &selection, definition, period)
}

fn kpm_report(
    watched: &Target,
    selection: &Selection,
    definition: &Bytes,
    period: Duration,
) -> Result<ActionToBeSetup, Fault> {
    let period_ms = u32::try_from(period.as_millis()).unwrap_or(u32::MAX);
    let action = selection.action(&watched.node, definition, period_ms);
    let action = action.map_err(|error| Fault::new(409, error.to_string()))?;
    let definition = action.to_octets(Encoding::Per).map_err(|error| Fault::new(409, error.to_string()))?;
    Ok(ActionToBeSetup { definition: Some(definition), ..ActionToBeSetup::report(0) })
}

impl Console {
    /// Starts the measurement. The control is sent once the reports before it have arrived.
    pub(super) fn begin_effect(
        &mut self,
        call: &mut Call<'_>,
        target: Target,
        node: &str,
        details: ControlDetails,
        body: EffectBody,
    ) -> Result<(), Fault> {
        let slices = slices(body.slices.as_deref(), &target, &details)?;
        let EffectBody { sm, columns, periods, period_ms, .. } = body;
        let period_ms = period_ms.unwrap_or(PERIOD_MS);
        let period = Duration::from_millis(period_ms.into());
        if periods == 0 || period.saturating_mul(periods.saturating_mul(2).saturating_add(2)) > TIME_MAX {
            let most = TIME_MAX.as_secs();
            return Err(Fault::new(
                409,
                format!(
                    "periods must be at least 1, and the measurement, (2 * periods + 2) * period_ms, must take at most {most} s"
                ),
            ));
        }
        if self.effects.len() >= EFFECTS_MAX {
            return Err(Fault::new(503, "too many effects are being measured; try again later"));
        }
        let watched = self.target(node, Some(&sm), None)?;
        let Some(model) = watched.model else { return Err(Fault::new(409, format!("{sm} has no columns"))) };
        let trigger = model.periodic(model.encoding(), period);
        let event_trigger = trigger.map_err(|error| Fault::new(409, format!("{model}: {error}")))?;
        let definition = self.definition(&watched);
        let is_kpm = model.oid() == kpm::OID;
        let offered = if is_kpm { Selection::names_offered(&watched.node, &definition) } else { Vec::new() };
        let measured =
            effect::Effect::new(&model.columns(), &offered, &columns, periods).map_err(|error| {
                let status = if matches!(error, EffectError::Kpis) { 422 } else { 409 };
                Fault::new(status, error.to_string())
            })?;
        let action = report(&watched, model, &definition, &columns, period)?;
        self.last_effect += 1;
        let id = self.last_effect;
        let mut members = BTreeMap::new();
        for slice in slices.iter().filter(|_| is_kpm) {
            let measurements = measurements(&columns).into_iter().take(1).collect();
            let style = Some(BY_CONDITION);
            let selection = Selection { style, measurements, slice: Some(*slice), ..Selection::default() };
            // Without a report by slice, the slices of the node's UEs stay unknown.
            let Ok(action) = kpm_report(&watched, &selection, &definition, period) else { continue };
            let request =
                RicSubscriptionDetails { event_trigger: event_trigger.clone(), actions: vec![action] };
            let subscription = self.open(watched, request, SubscriptionOwner::Effect(id), call.out)?;
            members.insert(subscription, slice.to_string());
        }
        let request = RicSubscriptionDetails { event_trigger, actions: vec![action] };
        let subscription = self.open(watched, request, SubscriptionOwner::Effect(id), call.out)?;
        let effect = Effect {
            token: call.request.token,
            party: call.request.party.clone(),
            target,
            details: Some(details),
            subscription,
            members,
            sm,
            period_ms,
            periods,
            measured,
            done: None,
        };
        self.effects.insert(id, effect);
        call.out.wake_at(call.now + TIME_MAX + period, id);
        Ok(())
    }

    /// Applies a report of a subscription made for a measurement.
    pub(super) fn hear_effect(
        &mut self,
        id: u64,
        subscription: u32,
        indication: &fast::Indication<'_>,
        out: &mut IAppOutbox,
    ) {
        let Some(effect) = self.effects.get_mut(&id) else { return };
        let held = self.subscriptions.get(&effect.subscription);
        let Some(model) = held.and_then(ConsoleSubscription::model) else { return };
        let octets = |octets: &[u8]| Bytes::copy_from_slice(octets);
        let table = model.table(model.encoding(), &octets(indication.header), &octets(indication.message));
        let Ok(table) = table else { return };
        if let Some(slice) = effect.members.get(&subscription) {
            effect.measured.members(slice, &table);
            return;
        }
        match effect.measured.report(&table) {
            Next::Report => {}
            Next::Command => {
                let Some(details) = effect.details.take() else { return };
                let party = effect.party.take();
                let model = effect.target.model;
                let refusal = known_refusal(model, &details.message);
                let request = out.control_for(party, effect.target.node, effect.target.function, details);
                let waiting = super::Waiting { token: effect.token, model, refusal, effect: Some(id) };
                self.controls.insert(request, waiting);
            }
            Next::Done => {
                let body =
                    json!({ "result": "acknowledged", "outcome": effect.done, "effect": effect.json() });
                out.reply(reply(effect.token, 200, &body));
                self.end_effect(id, out);
            }
        }
    }

    /// Applies the outcome of the control. The part of the measurement after the control begins.
    pub(super) fn effect_commanded(&mut self, id: u64, words: Json) {
        if let Some(effect) = self.effects.get_mut(&id) {
            effect.measured.commanded();
            effect.done = Some(words);
        }
    }

    /// Ends a measurement; a control that was sent is not affected.
    pub(super) fn end_effect(&mut self, id: u64, out: &mut IAppOutbox) -> Option<u64> {
        let effect = self.effects.remove(&id)?;
        self.controls.retain(|_, waiting| waiting.effect != Some(id));
        let all = effect.members.into_keys().chain([effect.subscription]);
        all.for_each(|subscription| self.end(subscription, out));
        Some(effect.token)
    }

    /// Handles the end of a subscription that reports the UEs of a slice. Returns whether the subscription belonged to
    /// this measurement, which continues without it.
    pub(super) fn is_member_lost(&mut self, id: u64, subscription: u32) -> bool {
        self.effects.get_mut(&id).is_some_and(|effect| effect.members.remove(&subscription).is_some())
    }

    pub(super) fn effect_expired(&mut self, id: u64, out: &mut IAppOutbox) {
        if let Some(token) = self.end_effect(id, out) {
            let detail = "the base station sent no reports or no response in time; whether it executed the command is unknown";
            out.reply(Fault::new(504, detail).reply(token));
        }
    }
}
