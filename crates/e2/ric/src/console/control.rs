//! Controls to E2 nodes: raw bytes, or JSON if the service model has a JSON form.
use super::json::{Hex, hex, octets};
use super::subscriptions::refused;
use super::{Console, Target, Waiting, reply};
use crate::northbound::{
    COMMANDS_MAX, Call, Completion, Fault, FaultReply as _, NO_DEDICATED, NO_SUCH_UE, given,
};
use bytes::Bytes;
use ranlab_e2::ric::{ControlDetails, IAppOutbox, Outcome, RequestHandle};
use ranlab_e2_codec::e2ap::{RanFunctionId, RicControlAckRequest};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::{Encoding, Form, Model, Octets, ccc, rc};
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
    pub(super) fn control(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let request = call.request;
        let body: ControlBody = call.body()?;
        let target = self.target(&body.node, body.sm.as_deref(), body.function)?;
        let definition = self.definition(&target);
        let details = details(&target, &definition, &body)?;
        if self.controls.len() >= COMMANDS_MAX {
            return Err(Fault::new(503, "too many commands are pending; try again later"));
        }
        if let Some(effect) = body.effect {
            if !body.ack {
                return Err(Fault::new(
                    409,
                    "measuring an effect requires the response to the command: ack must be true",
                ));
            }
            self.begin_effect(call, target, &body.node, details, effect)?;
            return Ok(Completion::Later);
        }
        let refusal = known_refusal(target.model, &details.message);
        let handle = call.out.control_for(request.party.clone(), target.node, target.function, details);
        if body.ack {
            let waiting = Waiting { token: request.token, model: target.model, refusal, effect: None };
            self.controls.insert(handle, waiting);
        } else {
            call.out.reply(reply(request.token, 202, &json!({ "result": "sent" })));
        }
        Ok(Completion::Later)
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
                let fault = refused(*cause).explained(waiting.refusal);
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

/// Returns the reason for which base stations are known to refuse this control although it is valid.
pub(super) fn known_refusal(model: Option<&'static dyn Model>, message: &Bytes) -> Option<&'static str> {
    match model?.oid() {
        rc::OID => Some(NO_SUCH_UE),
        ccc::OID => {
            let message = ccc::ControlMessage::decode_as(Encoding::Json, message).ok()?;
            let ccc::ControlFormat::Cells { cells } = &message.format else { return None };
            let structures = cells.iter().flat_map(|cell| &cell.structures);
            let mut policies =
                structures.filter_map(|it| it.new.attributes.meaning::<ccc::RrmPolicyRatio>().ok());
            policies.any(|it| it.dedicated == 0).then_some(NO_DEDICATED)
        }
        _ => None,
    }
}

/// Returns the control outcome in the model's JSON form, or as hexadecimal digits.
fn shown(model: Option<&'static dyn Model>, words: Option<&Bytes>) -> Json {
    let Some(words) = words else { return Json::Null };
    let form = model.and_then(|model| model.outcome(model.encoding(), words).ok());
    form.map_or_else(|| hex(words), Json::from)
}

fn details(target: &Target, definition: &Bytes, body: &ControlBody) -> Result<ControlDetails, Fault> {
    let parts = [("header", body.header.as_ref()), ("message", Some(&body.message))];
    let in_form = parts.into_iter().any(|(_, part)| part.is_some_and(Json::is_object));
    let (header, message) = if in_form {
        let unknown =
            "the service model of this function is unknown: header and message must be hexadecimal digits";
        let model = target.model.ok_or_else(|| Fault::new(409, unknown))?;
        let form = |part: Option<&Json>| part.map_or(Form::Null, |json| Form::from(json.clone()));
        let header = form(body.header.as_ref());
        let message = Form::from(body.message.clone());
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
    let ack = if body.ack { RicControlAckRequest::Ack } else { RicControlAckRequest::NoAck };
    let call_process_id = body.call_process_id.as_ref().map(|Hex(octets)| octets.clone());
    Ok(ControlDetails { call_process_id, header, message, ack_request: Some(ack) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccc::{Attributes, CellControlled, CellId, ControlFormat, ControlMessage, RRM_POLICY_RATIO, Write};
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi};

    fn policy(dedicated: u8) -> Bytes {
        let resource = ccc::ResourceType::PrbDl;
        let policy = ccc::RrmPolicyRatio { resource, members: Vec::new(), max: 50, min: 10, dedicated };
        let new = Attributes::from_structure(&policy).into();
        let write = Write { name: RRM_POLICY_RATIO.to_owned(), old: Attributes::default().into(), new };
        let cell = CellId::from(Cgi::Nr(NrCgi { plmn: Plmn::new(1, 1, 2), cell: 0x10 }));
        let cells = vec![CellControlled { cell, structures: vec![write] }];
        let message = ControlMessage { format: ControlFormat::Cells { cells } };
        message.to_octets(Encoding::Json).unwrap()
    }

    #[test]
    fn known_reason_is_added_to_unexplained_refusals() {
        let known = |model: &'static dyn Model, message| known_refusal(Some(model), &message);
        assert_eq!(known(&ccc::Ccc, policy(0)), Some(NO_DEDICATED));
        assert_eq!(known(&ccc::Ccc, policy(5)), None);
        assert_eq!(known(&rc::Rc, Bytes::new()), Some(NO_SUCH_UE));
        assert_eq!(known_refusal(None, &Bytes::new()), None);
        let refused = |status| Fault::new(status, "refused").explained(Some("why")).detail().to_owned();
        assert_eq!((refused(409), refused(504)), ("refused; why".to_owned(), "refused".to_owned()));
    }
}
