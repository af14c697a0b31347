//! Subscriptions requested over REST.
use super::json::{Hex, hex};
use super::{Console, Line, SUBSCRIPTIONS_MAX, Target, reply};
use crate::clock::collected_us;
use crate::monitor::row;
use crate::northbound::{Call, Completion, Fault, FaultReply as _, given};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{IAppOutbox, SubscriptionHandle, refusal_hint};
use ranlab_e2_codec::e2ap::{
    ActionFailed, ActionToBeSetup, Cause, CauseRicRequest, RanFunctionId, RicActionType,
    RicSubscriptionDetails, RicSubsequentAction, RicSubsequentActionType, RicTimeToWait, fast,
};
use ranlab_e2_codec::e2sm::kpm::{self, Selection};
use ranlab_e2_codec::e2sm::{Column, Context, Encoding, Model, Octets, RowKey, Timing, Value};
use ranlab_machine::feed::LineScope;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::str::FromStr;
use std::time::Duration;

/// Default reporting period, in milliseconds.
const PERIOD_MS: u32 = 1_000;
/// Maximum number of actions per subscription (E2AP: 16).
const ACTIONS_MAX: usize = 16;

/// Request body of a subscription.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubscriptionBody {
    node: String,
    #[serde(default, deserialize_with = "given")]
    sm: Option<String>,
    #[serde(default, deserialize_with = "given")]
    function: Option<RanFunctionId>,
    #[serde(default, deserialize_with = "given")]
    period_ms: Option<u32>,
    #[serde(default, deserialize_with = "given")]
    event_trigger: Option<Hex>,
    #[serde(default)]
    actions: Vec<WantedAction>,
    #[serde(default, deserialize_with = "given")]
    kpm: Option<WantedKpm>,
    #[serde(default, deserialize_with = "given")]
    lease_s: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedAction {
    id: u8,
    #[serde(default)]
    kind: ActionKind,
    #[serde(default, deserialize_with = "given")]
    definition: Option<Hex>,
    /// Subsequent action of an insert: what happens without a response, and after which time.
    #[serde(default, deserialize_with = "given")]
    subsequent: Option<Subsequent>,
}

/// KPM measurements, selected by name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WantedKpm {
    style: Option<i64>,
    measurements: Vec<String>,
    ues: Vec<String>,
    snssai: Option<String>,
    cell: Option<String>,
    granularity_ms: Option<u32>,
}

impl WantedKpm {
    fn selection(&self) -> Result<Selection, Fault> {
        fn parse<T: FromStr<Err: ToString>>(text: &str) -> Result<T, Fault> {
            text.parse().map_err(|error: T::Err| Fault::new(422, error.to_string()))
        }
        Ok(Selection {
            style: self.style,
            measurements: self.measurements.clone(),
            ues: self.ues.iter().map(|text| parse(text)).collect::<Result<_, _>>()?,
            slice: self.snssai.as_deref().map(parse).transpose()?,
            cell: self.cell.as_deref().map(parse).transpose()?,
            granularity_ms: self.granularity_ms,
        })
    }

    fn action(&self, target: &Target, definition: &Bytes, trigger: &Bytes) -> Result<ActionToBeSetup, Fault> {
        if target.model.is_none_or(|model| model.oid() != kpm::OID) {
            return Err(Fault::new(422, "kpm is only allowed in subscriptions to the service model kpm"));
        }
        let period = kpm::EventTrigger::decode_as(Encoding::Per, trigger);
        let period = period.map_err(|error| Fault::new(422, format!("event_trigger: {error}")))?;
        let action = self.selection()?.action(&target.node, definition, period.period_ms);
        let action = action.map_err(|error| Fault::new(409, error.to_string()))?;
        let octets = action.to_octets(Encoding::Per).map_err(|error| Fault::new(422, error.to_string()));
        Ok(ActionToBeSetup { definition: Some(octets?), ..ActionToBeSetup::report(0) })
    }

    /// Returns a remark if a third-party node is known not to send the requested reports.
    fn note(&self, target: &Target, definition: &Bytes) -> Result<Option<&'static str>, Fault> {
        let selection = Selection { granularity_ms: None, ..self.selection()? };
        let actions = selection.actions(&target.node, definition, 1).unwrap_or_default();
        let by_ue: Vec<_> = actions.iter().map(|it| it.format.number()).filter(|it| *it > 2).collect();
        Ok((by_ue.len() > 1).then_some(match self.style {
            Some(3) if by_ue.contains(&3) => "OCUDU and srsRAN report only the first measurement of style 3: subscribe to each measurement separately",
            _ if by_ue.contains(&3) => "RRU.Prb… and DRB.AirIfDelayUl are left out, because OCUDU and srsRAN can end when they report them for each UE: subscribe to each of them separately",
            _ => "reports of 64 UEs exceed 9,100 bytes, and OCUDU and srsRAN drop longer reports: select fewer measurements",
        }))
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subsequent {
    then: Then,
    wait_ms: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Then {
    Continue,
    Wait,
}

impl Subsequent {
    fn action(self) -> Result<RicSubsequentAction, Fault> {
        let time_to_wait = RicTimeToWait::from_duration(Duration::from_millis(self.wait_ms.into()))
            .ok_or_else(|| {
                let all = RicTimeToWait::ALL.iter().skip(1).map(|it| it.span().as_millis().to_string());
                let all = all.collect::<Vec<_>>().join(", ");
                Fault::new(422, format!("wait_ms must be one of {all}, not {}", self.wait_ms))
            })?;
        let kind = match self.then {
            Then::Continue => RicSubsequentActionType::Continue,
            Then::Wait => RicSubsequentActionType::Wait,
        };
        Ok(RicSubsequentAction { kind, time_to_wait })
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ActionKind {
    #[default]
    Report,
    Insert,
    Policy,
}

impl From<ActionKind> for RicActionType {
    fn from(kind: ActionKind) -> Self {
        match kind {
            ActionKind::Report => Self::Report,
            ActionKind::Insert => Self::Insert,
            ActionKind::Policy => Self::Policy,
        }
    }
}

/// Origin of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptionOwner {
    /// The northbound request with this token, still pending.
    Waits(u64),
    /// A request that has been answered.
    Answered,
    /// A request in O-RAN SC's form.
    Group(u32),
    /// A measurement of a control's effect.
    Effect(u64),
}

/// Subscription that was requested through the console.
#[derive(Debug)]
pub(super) struct ConsoleSubscription {
    target: Target,
    node: String,
    columns: Vec<Column>,
    pub(super) details: RicSubscriptionDetails,
    /// Values that indications omit because the subscription defines them, and the dialect of the node.
    context: Context,
    timing: Timing,
    pub(super) handle: SubscriptionHandle,
    active: bool,
    pub(super) asker: SubscriptionOwner,
    indications: u64,
    malformed: u64,
    /// Gaps in the sequence numbers; `None` if the node sends none.
    lost: Option<u64>,
    last_sn: Option<u16>,
    tstamp_us: Option<i64>,
    /// Whether the subscription reports at intervals. Other reports may occur only once, so they are stored for the first listener.
    is_periodic: bool,
    /// Expiry of the lease, if any.
    pub(super) lease: Option<Time>,
    /// Remark on the request.
    note: Option<&'static str>,
}

impl ConsoleSubscription {
    /// Returns the model that decodes the indications.
    pub(super) fn model(&self) -> Option<&'static dyn Model> {
        self.target.model
    }

    fn json(&self, id: u32, now: Time) -> Json {
        let model = self.target.model;
        let period = model.and_then(|m| m.period(m.encoding(), &self.details.event_trigger).ok().flatten());
        json!({
            "id": id,
            "node": self.node,
            "function": self.target.function,
            "sm": model.map(|model| model.name()),
            "period_ms": period.map(|period| period.as_millis() as u64),
            "event_trigger": hex(&self.details.event_trigger),
            "state": if self.active { "active" } else { "requesting" },
            "indications": self.indications,
            "malformed": self.malformed,
            "lost": self.lost,
            "tstamp_us": self.tstamp_us,
            "asn1": self.context.text.key(),
            "missing": self.timing.missing(),
            "lease_s": self.lease.map(|until| until.since(now).as_secs_f64()),
        })
    }
}

impl Console {
    pub(super) fn subscriptions(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let all: Vec<Json> =
            self.subscriptions.iter().map(|(id, held)| self.described(held, *id, call.now)).collect();
        Ok(Completion::Answer(json!({ "subscriptions": all })))
    }

    /// Returns the JSON form of a subscription, with the number of reports that are stored for its first listener.
    fn described(&self, held: &ConsoleSubscription, id: u32, now: Time) -> Json {
        let mut json = held.json(id, now);
        let early = self.feed.early(id);
        json["unread"] = json!({ "kept": early.kept, "dropped": early.dropped });
        json
    }

    pub(super) fn subscription(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, held) = self.held(call)?;
        Ok(Completion::Answer(self.described(held, id, call.now)))
    }

    fn held(&self, call: &Call<'_>) -> Result<(u32, &ConsoleSubscription), Fault> {
        let id: u32 = call.parameters.number("id", "subscription", u32::MAX)?;
        let unknown = || Fault::new(404, format!("unknown subscription {id}"));
        self.subscriptions.get(&id).map(|held| (id, held)).ok_or_else(unknown)
    }

    pub(super) fn subscribe(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let body: SubscriptionBody = call.body()?;
        let lease = body.lease_s.map(|seconds| super::lease::until(call.now, seconds)).transpose()?;
        let target = self.target(&body.node, body.sm.as_deref(), body.function)?;
        let definition = self.definition(&target);
        let is_kpm = target.model.is_some_and(|model| model.oid() == kpm::OID);
        let everything = (is_kpm && body.actions.is_empty()).then(WantedKpm::default);
        let wanted = body.kpm.as_ref().or(everything.as_ref());
        let note = wanted.map(|kpm| kpm.note(&target, &definition)).transpose()?.flatten();
        let details = details(&target, &definition, body)?;
        let id = self.open(target, details, SubscriptionOwner::Waits(call.request.token), call.out)?;
        if let Some(held) = self.subscriptions.get_mut(&id) {
            (held.note, held.lease) = (note, lease);
        }
        if let Some(until) = lease {
            self.wake_for_lease(until, call.out);
        }
        Ok(Completion::Later)
    }

    /// Returns the RAN function definition of a target.
    pub(super) fn definition(&self, target: &Target) -> Bytes {
        let function = self.nodes.get(&target.node).and_then(|info| info.function(target.function));
        function.map(|function| function.definition.clone()).unwrap_or_default()
    }

    /// Sends a subscription request and returns its id.
    pub(super) fn open(
        &mut self,
        target: Target,
        details: RicSubscriptionDetails,
        asker: SubscriptionOwner,
        out: &mut IAppOutbox,
    ) -> Result<u32, Fault> {
        if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return Err(Fault::new(503, format!("at most {SUBSCRIPTIONS_MAX} subscriptions are allowed")));
        }
        let handle = out.subscribe(target.node, target.function, details.clone());
        let id = loop {
            // E2AP instance ids have 16 bits, and O-RAN SC xApps identify subscriptions by them.
            self.last_id = self.last_id % u32::from(u16::MAX) + 1;
            if !self.subscriptions.contains_key(&self.last_id) {
                break self.last_id;
            }
        };
        // Discards reports that were stored for an earlier subscription with this id.
        self.feed.forget(id);
        let action = details.actions.first().and_then(|action| action.definition.clone());
        let period = |model: &dyn Model| model.period(model.encoding(), &details.event_trigger);
        let held = ConsoleSubscription {
            is_periodic: !target.model.is_some_and(|model| period(model) == Ok(None)),
            target,
            node: target.node.to_string(),
            columns: target.model.map(|model| model.columns()).unwrap_or_default(),
            context: Context::new(self.definition(&target), action.unwrap_or_default()),
            timing: Timing::default(),
            details,
            handle,
            active: false,
            asker,
            indications: 0,
            malformed: 0,
            lost: None,
            last_sn: None,
            tstamp_us: None,
            lease: None,
            note: None,
        };
        self.subscriptions.insert(id, held);
        self.by_handle.insert(handle, id);
        Ok(id)
    }

    pub(super) fn unsubscribe(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, held) = self.held(call)?;
        if let SubscriptionOwner::Group(group) = held.asker {
            let detail =
                format!("subscription {id} belongs to /ric/v1/subscriptions/{group}: delete it there");
            return Err(Fault::new(409, detail));
        }
        if let SubscriptionOwner::Effect(effect) = held.asker {
            let token = self.end_effect(effect, call.out);
            let ended = Fault::new(409, "the subscription that measures the effect was deleted");
            token.iter().for_each(|token| call.out.reply(ended.reply(*token)));
            return Ok(Completion::Answer(Json::Null));
        }
        self.end(id, call.out);
        Ok(Completion::Answer(Json::Null))
    }

    pub(super) fn end(&mut self, id: u32, out: &mut IAppOutbox) {
        let Some(held) = self.subscriptions.remove(&id) else { return };
        self.feed.forget(id);
        self.by_handle.remove(&held.handle);
        out.unsubscribe(held.handle);
        if let SubscriptionOwner::Waits(token) = held.asker {
            out.reply(Fault::new(409, "the subscription was deleted before its response").reply(token));
        }
    }

    pub(super) fn subscribed(
        &mut self,
        now: Time,
        handle: SubscriptionHandle,
        not_admitted: &[ActionFailed],
        out: &mut IAppOutbox,
    ) {
        let Some(id) = self.by_handle.get(&handle).copied() else { return };
        let Some(held) = self.subscriptions.get_mut(&id) else { return };
        held.active = true;
        match std::mem::replace(&mut held.asker, SubscriptionOwner::Answered) {
            SubscriptionOwner::Waits(token) => {
                let mut json = held.json(id, now);
                let refused =
                    |action: &ActionFailed| json!({ "id": action.id, "cause": action.cause.to_string() });
                if let Some(note) = held.note {
                    json["note"] = note.into();
                }
                json["not_admitted"] = not_admitted.iter().map(refused).collect();
                out.reply(reply(token, 201, &json));
            }
            SubscriptionOwner::Answered => {}
            SubscriptionOwner::Effect(effect) => held.asker = SubscriptionOwner::Effect(effect),
            SubscriptionOwner::Group(group) => {
                held.asker = SubscriptionOwner::Group(group);
                self.tell_group(group, id, None);
            }
        }
    }

    /// Handles the refusal or the end of a subscription.
    pub(super) fn ended(
        &mut self,
        now: Time,
        handle: SubscriptionHandle,
        cause: Cause,
        out: &mut IAppOutbox,
    ) {
        let Some(id) = self.by_handle.remove(&handle) else { return };
        let Some(held) = self.subscriptions.remove(&id) else { return };
        let sm = held.target.model.map(|model| model.name());
        let about = LineScope { node: &held.node, sm, subscription: id };
        self.feed.publish(now, &about, || {
            let json = json!({ "subscription": id, "node": held.node, "sm": sm, "ended": cause.to_string() });
            Line::Ended(json.to_string().into())
        });
        match held.asker {
            SubscriptionOwner::Waits(token) => {
                out.reply(subscription_refused(held.target.model, cause).reply(token))
            }
            SubscriptionOwner::Answered => {}
            SubscriptionOwner::Effect(effect) if self.is_member_lost(effect, id) => {}
            SubscriptionOwner::Effect(effect) => {
                let token = self.end_effect(effect, out);
                let fault = subscription_refused(held.target.model, cause);
                token.iter().for_each(|token| out.reply(fault.reply(*token)));
            }
            SubscriptionOwner::Group(group) => self.tell_group(group, id, Some(cause)),
        }
    }

    /// Counts a report and sends it to listeners.
    pub(super) fn on_indication(
        &mut self,
        now: Time,
        handle: SubscriptionHandle,
        indication: &fast::Indication<'_>,
        out: &mut IAppOutbox,
    ) {
        let Some(id) = self.by_handle.get(&handle).copied() else { return };
        let Some(held) = self.subscriptions.get_mut(&id) else { return };
        held.indications += 1;
        if let Some(sn) = indication.sn {
            let gap = held.last_sn.map_or(0, |last| sn.wrapping_sub(last).wrapping_sub(1));
            held.lost = Some(held.lost.unwrap_or(0) + u64::from(gap));
            held.last_sn = Some(sn);
        }
        let header = indication.header;
        let message = indication.message;
        let model = held.target.model;
        let mut tstamp_us = None;
        let mut delay_us = None;
        if let Some(model) = model {
            let checked = model.check_in(model.encoding(), &mut held.context, header, message);
            held.malformed += u64::from(checked.is_err());
            let stamp = model.stamp(model.encoding(), &mut held.context, header, message);
            tstamp_us = stamp.and_then(|it| collected_us(&mut held.timing, it, self.overview.wall_us(now)));
            delay_us = tstamp_us.and_then(|it| self.overview.delayed(now, &held.target.node, it));
            held.tstamp_us = tstamp_us.or(held.tstamp_us);
        }
        let about = LineScope { node: &held.node, sm: model.map(|model| model.name()), subscription: id };
        let report = || {
            let mut json = indication_json(held, id, indication, tstamp_us);
            json["delay_us"] = delay_us.into();
            Bytes::from(json.to_string())
        };
        if held.is_periodic {
            self.feed.publish(now, &about, || Line::Indication(report()));
        } else {
            self.feed.tell_or_keep(now, &about, report);
        }
        match held.asker {
            SubscriptionOwner::Effect(effect) => self.hear_effect(effect, id, indication, out),
            SubscriptionOwner::Group(group) => self.tell_rmr(group, id, indication),
            SubscriptionOwner::Waits(_) | SubscriptionOwner::Answered => {}
        }
    }
}

/// Returns an indication as JSON: rows if its model can decode it, otherwise its bytes.
fn indication_json(
    held: &ConsoleSubscription,
    id: u32,
    indication: &fast::Indication<'_>,
    tstamp_us: Option<i64>,
) -> Json {
    let model = held.target.model;
    let mut json = json!({
        "subscription": id,
        "node": held.node,
        "sm": model.map(|model| model.name()),
        "function": held.target.function,
        "action": indication.action_id,
        "sn": indication.sn,
    });
    if let Some(process) = indication.call_process_id {
        json["call_process_id"] = hex(process);
    }
    let octets = |octets: &[u8]| Bytes::copy_from_slice(octets);
    let header = octets(indication.header);
    let message = octets(indication.message);
    let mut context = held.context.clone();
    let table = model.map(|model| model.table_in(model.encoding(), &mut context, &header, &message));
    match table {
        Some(Ok(table)) => {
            json["tstamp_us"] = tstamp_us.into();
            let row = |(key, values): (RowKey, &[Value])| row(&held.columns, key, values);
            json["rows"] = table.rows().map(row).collect();
            if let Some(reason) = &table.left_out {
                json["malformed"] = format!("a part of the report is left out: {reason}").into();
            }
        }
        other => {
            if let Some(Err(error)) = other {
                let hint = "the base station may be built for another version of this service model";
                json["malformed"] = format!("{error}: {hint}").into();
            }
            json["header"] = hex(&header);
            json["message"] = hex(&message);
        }
    }
    json
}

/// Converts the cause of a refused subscription, with its probable reason if one is known.
fn subscription_refused(model: Option<&'static dyn Model>, cause: Cause) -> Fault {
    let fault = refused(cause);
    match refusal_hint(model.map(|model| model.oid()), cause).filter(|_| fault.status() == 409) {
        Some(hint) => Fault::new(409, format!("{}; {hint}", fault.detail())),
        None => fault,
    }
}

/// Converts the cause of a refused request.
pub(super) fn refused(cause: Cause) -> Fault {
    let status = match cause {
        Cause::RicRequest(CauseRicRequest::ControlTimerExpired) => 504,
        Cause::RicRequest(CauseRicRequest::SystemNotReady) | Cause::Transport(_) => 503,
        _ => 409,
    };
    let detail = match status {
        504 => "the base station did not respond; OCUDU and srsRAN send no response to unsupported requests"
            .to_owned(),
        503 => format!("the base station is not connected: {cause}"),
        _ => format!("the request was refused: {cause}"),
    };
    Fault::new(status, detail)
}

/// Returns the default report action: everything that the RAN function offers.
pub(super) fn report(
    model: &'static dyn Model,
    definition: &Bytes,
    period: Duration,
) -> Result<ActionToBeSetup, Fault> {
    let action = model.action(model.encoding(), definition, period);
    let definition = action.map_err(|error| Fault::new(409, format!("{model}: {error}")))?;
    Ok(ActionToBeSetup { definition, ..ActionToBeSetup::report(0) })
}

fn details(
    target: &Target,
    definition: &Bytes,
    body: SubscriptionBody,
) -> Result<RicSubscriptionDetails, Fault> {
    let event_trigger = match (body.event_trigger, target.model) {
        (Some(_), _) if body.period_ms.is_some() => {
            return Err(Fault::new(422, "period_ms and event_trigger exclude each other"));
        }
        (Some(Hex(octets)), _) => octets,
        (None, Some(model)) => {
            let period = Duration::from_millis(body.period_ms.unwrap_or(PERIOD_MS).into());
            let trigger = model.periodic(model.encoding(), period);
            let trigger = trigger.and_then(|it| model.at(model.encoding(), &it, &target.node, definition));
            let trigger = trigger.map_err(|error| Fault::new(409, format!("{model}: {error}")))?;
            let nothing =
                || Fault::new(409, format!("{model}: event_trigger is required for this base station"));
            trigger.ok_or_else(nothing)?
        }
        (None, None) => {
            return Err(Fault::new(
                409,
                "the service model of this function is unknown: event_trigger is required",
            ));
        }
    };
    if body.actions.len() > ACTIONS_MAX {
        return Err(Fault::new(422, format!("at most {ACTIONS_MAX} actions are allowed")));
    }
    let action = |action: WantedAction| {
        Ok::<_, Fault>(ActionToBeSetup {
            kind: action.kind.into(),
            definition: action.definition.map(|Hex(octets)| octets),
            subsequent: action.subsequent.map(Subsequent::action).transpose()?,
            ..ActionToBeSetup::report(action.id)
        })
    };
    let mut actions = body.actions.into_iter().map(action).collect::<Result<Vec<_>, _>>()?;
    if let Some(kpm) = &body.kpm {
        if !actions.is_empty() {
            return Err(Fault::new(422, "kpm and actions exclude each other"));
        }
        actions.push(kpm.action(target, definition, &event_trigger)?);
    }
    if actions.is_empty() {
        // Event-triggered reports have no period.
        let period = |model: &dyn Model| model.period(model.encoding(), &event_trigger).ok();
        let known = target.model.and_then(|model| Some((model, period(model)?.unwrap_or_default())));
        actions.push(match known {
            Some((model, period)) => report(model, definition, period)?,
            None => ActionToBeSetup::report(0),
        });
    }
    Ok(RicSubscriptionDetails { event_trigger, actions })
}
