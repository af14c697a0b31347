//! What northbound faces of iApps share: paths, JSON bodies, problems, and commands whose answer comes later.
use bytes::Bytes;
use ranlab_e2::ric::{
    ControlDetails, IAppOutbox, NorthboundReply, NorthboundRequest, Outcome, RequestHandle,
};
use ranlab_wire::e2ap::{Cause, CauseRicRequest, GlobalE2NodeId, RanFunctionId, RicControlAckRequest};
use ranlab_wire::e2sm::control::{Reason, Refusal};
use ranlab_wire::e2sm::{Encoding, Octets};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Commands of the northbound face that may be under way at once; beyond, the answer is 503.
pub(crate) const COMMANDS_MAX: usize = 256;

/// What is wrong with a request, in HTTP's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    status: u16,
    detail: String,
    /// The base station's own reason.
    reason: Option<&'static str>,
}

impl Fault {
    pub(crate) fn new(status: u16, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), reason: None }
    }

    /// There is no such method here; there are these.
    pub(crate) fn method(allow: &str) -> Self {
        Self::new(405, format!("allowed here: {allow}"))
    }

    /// The status of HTTP.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// What is wrong, in a sentence.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The base station's own reason.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// The problem in the form of RFC 9457.
    pub(crate) fn reply(&self, request_token: u64) -> NorthboundReply {
        self.reply_with(request_token, Json::Null)
    }

    /// As [`reply`](Self::reply), with the base station's own words.
    pub(crate) fn reply_with(&self, request_token: u64, outcome: Json) -> NorthboundReply {
        let title = match self.status {
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            409 => "Conflict",
            422 => "Unprocessable Content",
            503 => "Service Unavailable",
            504 => "Gateway Timeout",
            _ => "Bad Gateway",
        };
        let mut body = json!({ "title": title, "status": self.status, "detail": self.detail });
        if let Some(reason) = self.reason {
            body["reason"] = reason.into();
        }
        if !outcome.is_null() {
            body["outcome"] = outcome;
        }
        NorthboundReply { token: request_token, status: self.status, body: body.to_string().into() }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.reason {
            Reason::UnknownSlice
            | Reason::UnknownUe
            | Reason::UnknownBearer
            | Reason::UnknownQueue
            | Reason::UnknownFilter => 404,
            Reason::NotOwner | Reason::Untrusted => 403,
            // The body is one that the description allows; this base station, as it is now, cannot do it.
            Reason::Exists
            | Reason::Overcommitted
            | Reason::InUse
            | Reason::Invalid
            | Reason::TooMany
            | Reason::NotSupported => 409,
        };
        Self { status, detail: refusal.detail, reason: Some(refusal.reason.name()) }
    }
}

/// The segments of a path, decoded (RFC 3986 §2.1). A slash within one is written `%2F`.
pub(crate) fn segments(path: &str) -> Result<Vec<String>, Fault> {
    let wrong = || Fault::new(400, format!("the path {path:?} is no UTF-8 after decoding"));
    let segment = |text: &str| -> Option<String> {
        let mut octets = Vec::with_capacity(text.len());
        let mut rest = text.bytes();
        while let Some(octet) = rest.next() {
            let digit = |octet: Option<u8>| char::from(octet?).to_digit(16);
            octets.push(match octet {
                b'%' => (digit(rest.next())? << 4 | digit(rest.next())?) as u8,
                octet => octet,
            });
        }
        String::from_utf8(octets).ok()
    };
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.map(|part| segment(part).ok_or_else(wrong)).collect()
}

/// A number of a path.
pub(crate) fn number<T: std::str::FromStr>(text: &str, what: &str, most: u32) -> Result<T, Fault> {
    let digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    let number = Some(text).filter(|_| digits).and_then(|text| text.parse().ok());
    number.ok_or_else(|| Fault::new(404, format!("{text:?} is no {what}; allowed is 0 to {most}")))
}

/// The body as a value: 400 for what is no JSON, 422 for JSON that says something else.
pub(crate) fn body<T: DeserializeOwned>(request: &NorthboundRequest) -> Result<T, Fault> {
    let fault = |error: serde_json::Error| {
        let status = if error.is_data() { 422 } else { 400 };
        Fault::new(status, format!("the body: {error}"))
    };
    if request.body.trim_ascii_start().starts_with(b"[") {
        return Err(Fault::new(422, "the body: an object is expected, not a list"));
    }
    serde_json::from_slice(&request.body).or_else(|error| {
        let mut value: Json = serde_json::from_slice(&request.body).map_err(fault)?;
        if !written_as_fractions(&mut value) {
            return Err(fault(error));
        }
        serde_json::from_value(value).map_err(fault)
    })
}

/// Whole numbers of people and programs that know one kind of number: `1.0` and `1e3` are integers to JSON Schema. Whether
/// there were any; they are written as integers now.
fn written_as_fractions(value: &mut Json) -> bool {
    /// Beyond, a double is no longer one integer.
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    match value {
        Json::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= EXACT_MAX);
            whole.inspect(|whole| *value = (*whole as i64).into()).is_some()
        }
        Json::Array(values) => values.iter_mut().fold(false, |any, value| written_as_fractions(value) | any),
        Json::Object(members) => {
            members.values_mut().fold(false, |any, value| written_as_fractions(value) | any)
        }
        _ => false,
    }
}

/// A member that may be left out, but is no `null`: the description says so. Nor is it a list, which `serde` would take for
/// an object's members in their order.
pub(crate) fn given<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let value = Json::deserialize(from)?;
    if value.is_array() {
        return Err(D::Error::custom("a list is not allowed here"));
    }
    serde_json::from_value(value).map(Some).map_err(D::Error::custom)
}

/// A value as a reply.
pub(crate) fn ok(request: &NorthboundRequest, value: &Json) -> NorthboundReply {
    request.reply(200, value.to_string())
}

/// What a request did, if it did not fail.
pub(crate) enum Done {
    /// It is answered.
    Answer(Json),
    /// A base station was asked; the answer comes with its own.
    Later,
}

/// Replies to a request now, unless its answer comes later.
pub(crate) fn conclude(request: &NorthboundRequest, done: Result<Done, Fault>, out: &mut IAppOutbox) {
    match done {
        Ok(Done::Answer(value)) => out.reply(ok(request, &value)),
        Ok(Done::Later) => {}
        Err(fault) => out.reply(fault.reply(request.token)),
    }
}

/// Commands under way, and for whom.
#[derive(Debug)]
pub(crate) struct Commands<W> {
    waiting: BTreeMap<RequestHandle, W>,
}

impl<W> Default for Commands<W> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new() }
    }
}

impl<W> Commands<W> {
    /// Sends a command to a node's function.
    pub(crate) fn send(
        &mut self,
        (node, function): (GlobalE2NodeId, RanFunctionId),
        command: &impl Octets,
        waiting: W,
        out: &mut IAppOutbox,
    ) -> Result<(), Fault> {
        let message = command.to_octets(Encoding::Per);
        let message = message.map_err(|error| Fault::new(422, error.to_string()))?;
        self.send_octets((node, function), message, waiting, out)
    }

    /// As [`send`](Self::send), for what is no service model's.
    pub(crate) fn send_octets(
        &mut self,
        (node, function): (GlobalE2NodeId, RanFunctionId),
        message: Bytes,
        waiting: W,
        out: &mut IAppOutbox,
    ) -> Result<(), Fault> {
        if self.waiting.len() >= COMMANDS_MAX {
            return Err(Fault::new(503, "too many commands at once; try again"));
        }
        let ack_request = Some(RicControlAckRequest::Ack);
        let details = ControlDetails { call_process_id: None, header: Bytes::new(), message, ack_request };
        self.waiting.insert(out.control(node, function, details), waiting);
        Ok(())
    }

    /// Who waited for a command, and how it ended.
    pub(crate) fn done(
        &mut self,
        request: RequestHandle,
        outcome: &Outcome,
    ) -> Option<(W, Result<(), Fault>)> {
        let waiting = self.waiting.remove(&request)?;
        let ended = match outcome {
            Outcome::Done(_) => Ok(()),
            Outcome::Failed { outcome: Some(words), cause } => Err(Refusal::decode_as(Encoding::Per, words)
                .map_or_else(|_| Fault::new(502, format!("the base station refuses: {cause}")), Fault::from)),
            Outcome::Failed { cause, .. } => {
                let late = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
                let status = if *cause == late { 504 } else { 502 };
                Err(Fault::new(status, format!("the base station does not do it: {cause}")))
            }
        };
        Some((waiting, ended))
    }

    /// Whether somebody waits of whom `is` says so.
    pub(crate) fn any(&self, is: impl FnMut(&W) -> bool) -> bool {
        self.waiting.values().any(is)
    }
}

/// A request for what is not there; `allowed` names what is.
pub(crate) fn missing(what: &str, name: &str, allowed: &str) -> Fault {
    Fault::new(404, format!("there is no {what} {name:?}; there is {allowed}"))
}

/// The node that a path names.
pub(crate) fn named<'a>(
    name: &str,
    mut nodes: impl Iterator<Item = &'a GlobalE2NodeId> + Clone,
) -> Result<GlobalE2NodeId, Fault> {
    let mut all = nodes.clone();
    let found = nodes.find(|node| node.to_string() == name).copied();
    found.ok_or_else(|| {
        let names: Vec<String> = all.by_ref().map(|node| format!("\"{node}\"")).collect();
        let there = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
        missing("node", name, &there)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_segment_by_segment() {
        assert_eq!(
            segments("nodes/gnb%20505.01%205%2Fdu%201/slices").unwrap(),
            ["nodes", "gnb 505.01 5/du 1", "slices"]
        );
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(segments(wrong).unwrap_err().status, 400, "{wrong}");
        }
        assert_eq!(number::<u16>("17", "slice", 65_535), Ok(17));
        for wrong in ["", "-1", "+1", "65536", "1.0", "NaN"] {
            assert_eq!(number::<u16>(wrong, "slice", 65_535).unwrap_err().status, 404, "{wrong}");
        }
    }
}
