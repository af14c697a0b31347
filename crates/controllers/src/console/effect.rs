//! What a command does: the mean of some columns over the periods before it and over as many after it.
//!
//! A period's value is, of a gauge, the mean over the rows of its report; of a counter, the mean of what each row grew by
//! since the report before.
use super::{Console, Target, reply};
use crate::north::{Fault, given};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{ControlDetails, IAppOutbox};
use ranlab_wire::e2ap::{RicSubscriptionDetails, fast};
use ranlab_wire::e2sm::{Kind, RowKey, Table};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Effects that are measured at once; beyond, the answer is 503.
pub(super) const EFFECTS_MAX: usize = 16;
/// How long it may take: whoever asks over HTTP waits so long.
const TIME_MAX: Duration = Duration::from_secs(6);
/// Columns of an effect at most.
const COLUMNS_MAX: usize = 16;
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

/// Some numbers' mean.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn json(self) -> Json {
        if self.count == 0 { Json::Null } else { (self.sum / self.count as f64).into() }
    }
}

/// A column that is looked at.
#[derive(Debug)]
struct Column {
    name: String,
    place: usize,
    is_counter: bool,
    before: Mean,
    after: Mean,
}

/// A command and what is known of its effect.
#[derive(Debug)]
pub(super) struct Effect {
    token: u64,
    target: Target,
    details: Option<ControlDetails>,
    subscription: u32,
    sm: String,
    period_ms: u32,
    periods: u32,
    /// Periods of the current half that have been seen.
    seen: u32,
    columns: Vec<Column>,
    last: BTreeMap<RowKey, Vec<f64>>,
    /// The base station's words, once it has done it.
    done: Option<Json>,
}

impl Effect {
    /// Takes a report in; whether the current half is whole.
    fn take(&mut self, table: &Table) -> bool {
        let is_first = self.last.is_empty();
        let last = std::mem::take(&mut self.last);
        let mut means = vec![Mean::default(); self.columns.len()];
        for (key, values) in table.rows() {
            let number = |column: &Column| {
                values.get(column.place).and_then(|value| value.number()).unwrap_or(f64::NAN)
            };
            let numbers: Vec<f64> = self.columns.iter().map(number).collect();
            let before = last.get(&key);
            for ((column, mean), (at, value)) in
                self.columns.iter().zip(&mut means).zip(numbers.iter().enumerate())
            {
                let grown = before.and_then(|before| before.get(at)).map(|before| value - before);
                let value = if column.is_counter { grown } else { Some(*value) };
                // One that wrapped, or is no number, tells nothing.
                if let Some(value) =
                    value.filter(|value| value.is_finite() && !(column.is_counter && *value < 0.0))
                {
                    mean.add(value);
                }
            }
            self.last.insert(key, numbers);
        }
        // What a counter grew by is known from the second report on.
        if is_first && self.done.is_none() {
            return false;
        }
        for (column, mean) in self.columns.iter_mut().zip(means).filter(|(_, mean)| mean.count > 0) {
            let half = if self.done.is_some() { &mut column.after } else { &mut column.before };
            half.add(mean.sum / mean.count as f64);
        }
        self.seen += 1;
        self.seen >= self.periods
    }

    fn json(&self) -> Json {
        let column =
            |c: &Column| (c.name.clone(), json!({ "before": c.before.json(), "after": c.after.json() }));
        let columns: Map<String, Json> = self.columns.iter().map(column).collect();
        json!({ "sm": self.sm, "period_ms": self.period_ms, "periods": self.periods, "columns": columns })
    }
}

impl Console {
    /// Looks at what was before the command, then gives it.
    pub(super) fn begin_effect(
        &mut self,
        now: Time,
        token: u64,
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
        let columns = self::columns(&model.columns(), &columns)?;
        let action = super::subscriptions::report(model, &self.definition(&watched), period)?;
        let request = RicSubscriptionDetails { event_trigger, actions: vec![action] };
        self.last_effect += 1;
        let id = self.last_effect;
        let subscription = self.subscribe(watched, request, super::subscriptions::Asker::Effect(id), out)?;
        let (details, last, done) = (Some(details), BTreeMap::new(), None);
        let effect = Effect {
            token,
            target,
            details,
            subscription,
            sm,
            period_ms,
            periods,
            seen: 0,
            columns,
            last,
            done,
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
        // While the base station has the command there is neither before nor after.
        let waits = effect.details.is_none() && effect.done.is_none();
        let Some(table) = table.ok().filter(|_| !waits) else { return };
        if !effect.take(&table) {
            return;
        }
        effect.seen = 0;
        match effect.details.take() {
            Some(details) => {
                let request = out.control(effect.target.node, effect.target.function, details);
                self.controls.insert(
                    request,
                    super::Waiting { token: effect.token, model: effect.target.model, effect: Some(id) },
                );
            }
            None => {
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

fn columns(there: &[ranlab_wire::e2sm::Column], wanted: &[String]) -> Result<Vec<Column>, Fault> {
    if wanted.is_empty() || wanted.len() > COLUMNS_MAX {
        return Err(Fault::new(422, format!("an effect has 1 to {COLUMNS_MAX} columns")));
    }
    let numbers = || there.iter().filter(|column| column.kind != Kind::Label);
    let column = |name: &String| {
        let place = there.iter().position(|column| column.name == *name && column.kind != Kind::Label);
        let names = || numbers().map(|column| column.name.as_ref()).collect::<Vec<_>>().join(", ");
        let place = place.ok_or_else(|| {
            Fault::new(409, format!("{name:?} is no column with numbers; there are {}", names()))
        })?;
        let is_counter = there.get(place).is_some_and(|column| column.kind == Kind::Counter);
        Ok(Column { name: name.clone(), place, is_counter, before: Mean::default(), after: Mean::default() })
    };
    wanted.iter().map(column).collect()
}
