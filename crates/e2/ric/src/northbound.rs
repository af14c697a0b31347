//! Common parts of northbound interfaces of iApps: paths, JSON bodies, error responses, and controls whose
//! outcome arrives later.
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{
    ControlDetails, IAppOutbox, NorthboundReply, NorthboundRequest, Outcome, RequestHandle,
};
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, GlobalE2NodeId, RanFunctionId, RicControlAckRequest};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_machine::routes::{Parameters, Routed, decode};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

pub use ranlab_machine::routes::HttpProblem as Fault;

/// Maximum number of pending controls of a northbound interface; further requests get status 503.
pub const COMMANDS_MAX: usize = 256;

/// Reason why OCUDU refuses a policy of CCC; its response states no reason.
pub(crate) const NO_DEDICATED: &str = "OCUDU refuses a dedicated ratio of 0 in CCC policies: use at least 1";
/// Reason why OCUDU refuses an order of RC; its response states no reason.
pub(crate) const NO_SUCH_UE: &str =
    "OCUDU refuses an RC control for an unknown UE: use one of the `ue_ids` in its reports";

/// Handler of a route of an iApp.
pub type Handler<T> = for<'c> fn(&mut T, &mut Call<'c>) -> Result<Completion, Fault>;

/// Northbound request to a route, and what its handler needs.
pub struct Call<'a> {
    /// Current time.
    pub now: Time,
    /// The request.
    pub request: &'a NorthboundRequest,
    /// Parameters of the path.
    pub parameters: Parameters,
    /// Requests to the RIC.
    pub out: &'a mut IAppOutbox,
}

impl Call<'_> {
    /// Parses the body; see [`parse()`].
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        parse(&self.request.body)
    }
}

/// Handles a northbound request with the route table of an iApp, and replies unless the reply follows later.
pub fn serve<T: Routed<Handler = Handler<T>>>(
    iapp: &mut T,
    now: Time,
    request: &NorthboundRequest,
    out: &mut IAppOutbox,
) {
    let done = T::find(request.method, &request.path).map_err(Fault::from).and_then(|found| {
        let (route, handler, parameters) = found;
        Ok((route, handler(iapp, &mut Call { now, request, parameters, out })?))
    });
    match done {
        Ok((_, Completion::Later)) => {}
        Ok((route, Completion::Answer(_))) if route.status == 204 => out.reply(request.reply(204, "")),
        Ok((route, Completion::Answer(value))) => out.reply(request.reply(route.status, value.to_string())),
        Err(fault) => out.reply(fault.reply(request.token)),
    }
}

/// Replies with an error response.
pub trait FaultReply {
    /// Returns the reply in the form of RFC 9457.
    fn reply(&self, request_token: u64) -> NorthboundReply {
        self.reply_with(request_token, Json::Null)
    }

    /// Like [`reply`](Self::reply), with the control outcome of the base station.
    fn reply_with(&self, request_token: u64, outcome: Json) -> NorthboundReply;
}

impl FaultReply for Fault {
    fn reply_with(&self, token: u64, outcome: Json) -> NorthboundReply {
        let mut body = json!({ "title": self.title(), "status": self.status(), "detail": self.detail() });
        if let Some(reason) = self.reason() {
            body["reason"] = reason.into();
        }
        if !outcome.is_null() {
            body["outcome"] = outcome;
        }
        NorthboundReply { token, status: self.status(), body: body.to_string().into() }
    }
}

/// Returns the error response for the refusal of a base station.
fn refused(refusal: Refusal) -> Fault {
    let status = match refusal.reason {
        Reason::UnknownSlice
        | Reason::UnknownUe
        | Reason::UnknownBearer
        | Reason::UnknownQueue
        | Reason::UnknownFilter => 404,
        Reason::NotOwner | Reason::Untrusted => 403,
        // The request is valid, but the base station cannot carry it out in its current state.
        Reason::Exists
        | Reason::Overcommitted
        | Reason::InUse
        | Reason::Invalid
        | Reason::TooMany
        | Reason::NotSupported => 409,
    };
    Fault::new(status, refusal.detail).because(refusal.reason.name())
}

/// Splits a path into decoded segments (RFC 3986 §2.1); a slash within a segment is written `%2F`.
pub fn segments(path: &str) -> Result<Vec<String>, Fault> {
    let wrong = || Fault::new(400, format!("the path {path:?} is not valid UTF-8 after decoding"));
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.map(|part| decode(part).ok_or_else(wrong)).collect()
}

/// Parses a JSON body; status 400 for invalid JSON, 422 for JSON of another form.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    let fault = |error: serde_json::Error| {
        let status = if error.is_data() { 422 } else { 400 };
        Fault::new(status, format!("invalid body: {error}"))
    };
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(Fault::new(422, "invalid body: expected an object, not a list"));
    }
    serde_json::from_slice(body).or_else(|error| {
        let mut value: Json = serde_json::from_slice(body).map_err(fault)?;
        if !written_as_fractions(&mut value) {
            return Err(fault(error));
        }
        serde_json::from_value(value).map_err(fault)
    })
}

/// Converts integers written as `1.0` or `1e3`, which JSON Schema treats as integers. Returns whether there
/// were any.
fn written_as_fractions(value: &mut Json) -> bool {
    /// Above this value, doubles do not represent all integers.
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

/// Deserialises an optional member that must not be `null`, as described in OpenAPI. Rejects arrays too,
/// which `serde` would accept as a struct's members in order.
pub fn given<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let value = Json::deserialize(from)?;
    if value.is_array() {
        return Err(D::Error::custom("a list is not allowed here"));
    }
    serde_json::from_value(value).map(Some).map_err(D::Error::custom)
}

/// Result of a successful request.
pub enum Completion {
    /// The reply is available.
    Answer(Json),
    /// The reply follows when the base station has responded.
    Later,
}

/// Pending controls and their originators.
#[derive(Debug)]
pub struct PendingCommands<W> {
    waiting: BTreeMap<RequestHandle, W>,
}

impl<W> Default for PendingCommands<W> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new() }
    }
}

impl<W> PendingCommands<W> {
    /// Sends a control of a service model to a node.
    pub fn send(
        &mut self,
        (node, function): (GlobalE2NodeId, RanFunctionId),
        command: &impl Octets,
        waiting: W,
        out: &mut IAppOutbox,
    ) -> Result<(), Fault> {
        let message = command.to_octets(Encoding::Per);
        let message = message.map_err(|error| Fault::new(422, error.to_string()))?;
        self.send_octets(node, function, message, waiting, out)
    }

    /// Like [`send`](Self::send), for an encoded control.
    pub fn send_octets(
        &mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        message: Bytes,
        waiting: W,
        out: &mut IAppOutbox,
    ) -> Result<(), Fault> {
        self.send_control(node, function, Bytes::new(), message, waiting, out)
    }

    /// Sends a control like [`send_octets`](Self::send_octets), with a control header.
    pub(crate) fn send_control(
        &mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        header: Bytes,
        message: Bytes,
        waiting: W,
        out: &mut IAppOutbox,
    ) -> Result<(), Fault> {
        if self.waiting.len() >= COMMANDS_MAX {
            return Err(Fault::new(503, "too many commands are pending; try again"));
        }
        let ack_request = Some(RicControlAckRequest::Ack);
        let details = ControlDetails { call_process_id: None, header, message, ack_request };
        self.waiting.insert(out.control(node, function, details), waiting);
        Ok(())
    }

    /// Removes a control that has ended; returns its originator and outcome.
    pub fn done(&mut self, request: RequestHandle, outcome: &Outcome) -> Option<(W, Result<(), Fault>)> {
        let waiting = self.waiting.remove(&request)?;
        let ended = match outcome {
            Outcome::Done(_) => Ok(()),
            Outcome::Failed { outcome: Some(words), cause } => Err(Refusal::decode_as(Encoding::Per, words)
                .map_or_else(
                    |_| Fault::new(502, format!("the base station refused the command: {cause}")),
                    refused,
                )),
            Outcome::Failed { cause, .. } => {
                let late = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
                let status = if *cause == late { 504 } else { 502 };
                Err(Fault::new(status, format!("the base station did not execute the command: {cause}")))
            }
        };
        Some((waiting, ended))
    }

    /// Returns whether there is an originator that satisfies the predicate.
    pub fn any(&self, is: impl FnMut(&W) -> bool) -> bool {
        self.waiting.values().any(is)
    }
}

/// Returns status 404; `allowed` names the available resources.
pub fn missing(what: &str, name: &str, allowed: &str) -> Fault {
    Fault::new(404, format!("unknown {what} {name:?}; available: {allowed}"))
}

/// Returns the node named in a path.
pub fn named<'a>(
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
    fn path_is_decoded_by_segment() {
        assert_eq!(
            segments("nodes/gnb%20505.01%205%2Fdu%201/slices").unwrap(),
            ["nodes", "gnb 505.01 5/du 1", "slices"]
        );
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(segments(wrong).unwrap_err().status(), 400, "{wrong}");
        }
    }
}
