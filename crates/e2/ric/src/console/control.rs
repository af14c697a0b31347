//! Controls to E2 nodes: raw bytes, or JSON if the service model has a JSON form.
use super::json::{Hex, hex, octets};
use super::subscriptions::refused;
use super::{Console, Target, Waiting, reply};
use crate::north::{COMMANDS_MAX, Done, Fault, body, given};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{ControlDetails, IAppOutbox, NorthboundRequest, Outcome, RequestHandle};
use ranlab_e2_codec::e2ap::{RanFunctionId, RicControlAckRequest};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::{Encoding, Form, Model, Octets};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// Request body of a control.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlBody {
    node: String,
    #[serde(default, deserialize_with = "given")]
    sm: Option<String>,
    #[serde(default, deserialize_with = "given")]
    function: Option<RanFunctionId>,
    /// Control header: hexadecimal digits or the model's JSON form; optional if the model has no header.
    #[serde(default, deserialize_with = "given")]
    header: Option<Json>,
    message: Json,
    /// Call process id of the insert that this control responds to, as the indication contained it.
    #[serde(default, deserialize_with = "given")]
    call_process_id: Option<Hex>,
    #[serde(default = "yes")]
    ack: bool,
    #[serde(default, deserialize_with = "given")]
    effect: Option<super::effect::EffectBody>,
}

const fn yes() -> bool {
    true
}

impl Console {
    pub(super) fn control(
        &mut self,
        now: Time,
        request: &NorthboundRequest,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        let wanted: ControlBody = body(request)?;
        let target = self.target(&wanted.node, wanted.sm.as_deref(), wanted.function)?;
        let definition = self.definition(&target);
        let details = details(&target, &definition, &wanted)?;
        if self.controls.len() >= COMMANDS_MAX {
            return Err(Fault::new(503, "too many commands at once; try again"));
        }
        if let Some(effect) = wanted.effect {
            if !wanted.ack {
                return Err(Fault::new(409, "an effect is known by the command's answer: ack must be true"));
            }
            self.begin_effect(now, request, (target, &wanted.node, details), effect, out)?;
            return Ok(Done::Later);
        }
        let handle = out.control_for(request.party.clone(), target.node, target.function, details);
        if wanted.ack {
            self.controls.insert(handle, Waiting { token: request.token, model: target.model, effect: None });
        } else {
            out.reply(reply(request.token, 202, &json!({ "result": "sent" })));
        }
        Ok(Done::Later)
    }

    pub(super) fn controlled(&mut self, request: RequestHandle, outcome: &Outcome, out: &mut IAppOutbox) {
        let Some(waiting) = self.controls.remove(&request) else { return };
        if let (Some(effect), Outcome::Done(words)) = (waiting.effect, outcome) {
            return self.effect_commanded(effect, shown(waiting.model, words.as_ref()));
        }
        if let Some(effect) = waiting.effect {
            self.end_effect(effect, out);
        }
        out.reply(match outcome {
            Outcome::Done(words) => {
                let words = shown(waiting.model, words.as_ref());
                reply(waiting.token, 200, &json!({ "result": "acknowledged", "outcome": words }))
            }
            Outcome::Failed { cause, outcome } => {
                let fault = refused(*cause);
                fault.reply_with(waiting.token, refusal(waiting.model, outcome.as_ref()))
            }
        });
    }
}

/// Returns the reason of a refusal: the RIC's text if another xApp holds the parameter, else the outcome of
/// the node.
fn refusal(model: Option<&'static dyn Model>, words: Option<&Bytes>) -> Json {
    match words.map(|words| Refusal::decode_as(Encoding::Per, words)) {
        Some(Ok(it)) if it.reason == Reason::NotOwner => {
            json!({ "reason": it.reason.name(), "detail": it.detail })
        }
        _ => shown(model, words),
    }
}

/// Returns the control outcome in the model's JSON form, or as hexadecimal digits.
fn shown(model: Option<&'static dyn Model>, words: Option<&Bytes>) -> Json {
    let Some(words) = words else { return Json::Null };
    let form = model.and_then(|model| model.outcome(model.encoding(), words).ok());
    form.map_or_else(|| hex(words), Json::from)
}

fn details(target: &Target, definition: &Bytes, wanted: &ControlBody) -> Result<ControlDetails, Fault> {
    let parts = [("header", wanted.header.as_ref()), ("message", Some(&wanted.message))];
    let in_form = parts.into_iter().any(|(_, part)| part.is_some_and(Json::is_object));
    let (header, message) = if in_form {
        let unknown = "this function's model is unknown: hexadecimal digits are needed";
        let model = target.model.ok_or_else(|| Fault::new(409, unknown))?;
        let form = |part: Option<&Json>| part.map_or(Form::Null, |json| Form::from(json.clone()));
        let header = form(wanted.header.as_ref());
        let message = Form::from(wanted.message.clone());
        let made = model.control_at(model.encoding(), definition, header, message);
        made.map_err(|error| Fault::new(409, format!("{model}: {error}")))?
    } else {
        let digits = |(name, part): (&str, Option<&Json>)| {
            let wrong =
                || Fault::new(422, format!("{name} must be hexadecimal digits, two per byte, or an object"));
            part.map_or(Some(Bytes::new()), |part| octets(part.as_str()?)).ok_or_else(wrong)
        };
        (digits(parts[0])?, digits(parts[1])?)
    };
    let ack = if wanted.ack { RicControlAckRequest::Ack } else { RicControlAckRequest::NoAck };
    let call_process_id = wanted.call_process_id.as_ref().map(|Hex(octets)| octets.clone());
    Ok(ControlDetails { call_process_id, header, message, ack_request: Some(ack) })
}
