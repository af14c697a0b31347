//! What a command does, asked over HTTP: [`effect`] fed by a subscription that is made for it.
use super::{Console, Target, reply};
use crate::north::{Fault, given};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::effect::{self, EffectError, Next};
use ranlab_e2::ric::{ControlDetails, IAppOutbox, NorthboundRequest, Party};
use ranlab_wire::e2ap::{RicSubscriptionDetails, fast};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::time::Duration;

/// Effects that are measured at once; beyond, the answer is 503.
pub(super) const EFFECTS_MAX: usize = 16;
/// How long it may take: whoever asks over HTTP waits so long.
const TIME_MAX: Duration = Duration::from_secs(6);
/// Between two reports, if nobody says.
const PERIOD_MS: u32 = 100;

/// An effect as it is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    sm: String,
    columns: Vec<String>,
    periods: u32,
    #[serde(default, deserialize_with = "given")]
    period_ms: Option<u32>,
}

/// A command and what is known of its effect.
#[derive(Debug)]
pub(super) struct Effect {
    token: u64,
    party: Option<Party>,
    target: Target,
    details: Option<ControlDetails>,
    subscription: u32,
    sm: String,
    period_ms: u32,
    periods: u32,
    measured: effect::Effect,
    /// The base station's words, once it has done it.
    done: Option<Json>,
}

impl Effect {
    fn json(&self) -> Json {
        let column = |it: effect::Change| (it.name, json!({ "before": it.before, "after": it.after }));
        let columns: Map<String, Json> = self.measured.changes().into_iter().map(column).collect();
        json!({ "sm": self.sm, "period_ms": self.period_ms, "periods": self.periods, "columns": columns })
    }
}

impl Console {
    /// Looks at what was before the command, then gives it.
    pub(super) fn begin_effect(
        &mut self,
        now: Time,
        request: &NorthboundRequest,
        (target, node, details): (Target, &str, ControlDetails),
        wanted: Wanted,
        out: &mut IAppOutbox,
    ) -> Result<(), Fault> {
        let Wanted { sm, columns, periods, period_ms } = wanted;
        let period_ms = period_ms.unwrap_or(PERIOD_MS);
        let period = Duration::from_millis(period_ms.into());
        if periods == 0 || period.saturating_mul(periods.saturating_mul(2).saturating_add(2)) > TIME_MAX {
            let most = TIME_MAX.as_secs();
            return Err(Fault::new(
                409,
                format!("twice the periods, and two more, must be 1 period to {most} s"),
            ));
        }
        if self.effects.len() >= EFFECTS_MAX {
            return Err(Fault::new(503, "too many effects at once; try again"));
        }
        let watched = self.target(node, Some(&sm), None)?;
        let Some(model) = watched.model else { return Err(Fault::new(409, format!("{sm} has no columns"))) };
        let trigger = model.periodic(model.encoding(), period);
        let event_trigger = trigger.map_err(|error| Fault::new(409, format!("{model}: {error}")))?;
        let measured = effect::Effect::new(&model.columns(), &columns, periods).map_err(|error| {
            let status = if matches!(error, EffectError::Kpis) { 422 } else { 409 };
            Fault::new(status, error.to_string())
        })?;
        let action = super::subscriptions::report(model, &self.definition(&watched), period)?;
        let wanted = RicSubscriptionDetails { event_trigger, actions: vec![action] };
        self.last_effect += 1;
        let id = self.last_effect;
        let subscription = self.subscribe(watched, wanted, super::subscriptions::Asker::Effect(id), out)?;
        let details = Some(details);
        let (token, party) = (request.token, request.party.clone());
        let effect = Effect {
            token,
            party,
            target,
            details,
            subscription,
            sm,
            period_ms,
            periods,
            measured,
            done: None,
        };
        self.effects.insert(id, effect);
        out.wake_at(now + TIME_MAX + period, id);
        Ok(())
    }

    /// A report of a subscription that was made for an effect.
    pub(super) fn hear_effect(&mut self, id: u64, indication: &fast::Indication<'_>, out: &mut IAppOutbox) {
        let Some(effect) = self.effects.get_mut(&id) else { return };
        let held = self.subscriptions.get(&effect.subscription);
        let Some(model) = held.and_then(super::subscriptions::Held::model) else { return };
        let octets = |octets: &[u8]| Bytes::copy_from_slice(octets);
        let table = model.table(model.encoding(), &octets(indication.header), &octets(indication.message));
        let Ok(table) = table else { return };
        match effect.measured.report(&table) {
            Next::Report => {}
            Next::Command => {
                let Some(details) = effect.details.take() else { return };
                let party = effect.party.take();
                let request = out.control_for(party, effect.target.node, effect.target.function, details);
                self.controls.insert(
                    request,
                    super::Waiting { token: effect.token, model: effect.target.model, effect: Some(id) },
                );
            }
            Next::Done => {
                let body =
                    json!({ "result": "acknowledged", "outcome": effect.done, "effect": effect.json() });
                out.reply(reply(effect.token, 200, &body));
                self.end_effect(id, out);
            }
        }
    }

    /// The base station has done what it was told: now the time after it begins.
    pub(super) fn effect_commanded(&mut self, id: u64, words: Json) {
        if let Some(effect) = self.effects.get_mut(&id) {
            effect.measured.commanded();
            effect.done = Some(words);
        }
    }

    /// Ends an effect; its command, if that was given, goes its way.
    pub(super) fn end_effect(&mut self, id: u64, out: &mut IAppOutbox) -> Option<u64> {
        let effect = self.effects.remove(&id)?;
        self.controls.retain(|_, waiting| waiting.effect != Some(id));
        self.unsubscribe(effect.subscription, out);
        Some(effect.token)
    }

    pub(super) fn effect_expired(&mut self, id: u64, out: &mut IAppOutbox) {
        if let Some(token) = self.end_effect(id, out) {
            let detail = "the base station does not report, or does not answer; whether it did what it was told is unknown";
            out.reply(Fault::new(504, detail).reply(token));
        }
    }
}
