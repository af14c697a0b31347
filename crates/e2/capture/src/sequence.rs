//! Message sequence as a document for a web page (`web/sequence.js`). It contains lanes, messages in order, responses
//! with their delay, faults, and the bytes and fields of each message. The document is bounded for every capture, and
//! states the number of omitted messages.
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde::Serialize;

use super::dissect::Dissected;
use super::fields;
use super::payload;
use super::pdu::{Endpoint, Flow};
use super::trace::{Problem, Summary};
use super::{Side, Transport};

/// Maximum number of messages in a document.
pub const MESSAGES_MAX: usize = 1_000;
/// Number of messages, the oldest ones, that an endless trace removes at a time.
const LEAVE: usize = MESSAGES_MAX / 2;
/// Maximum number of endpoints. Further endpoints are shown as the last one.
const ENDS_MAX: usize = 4_096;
/// Maximum number of lanes. Further endpoints share the last lane.
pub const LANES_MAX: usize = 24;
/// Maximum number of bytes shown per message.
pub const OCTETS_MAX: usize = 2_048;
/// Maximum number of characters shown per decoded message.
pub const WORDS_MAX: usize = 16 << 10;
/// Maximum number of characters per field.
const FIELD_MAX: usize = 120;
/// Format name that a page checks before reading the document.
const FORMAT: &str = "ranlab-sequence/1";
/// Requests of E42, each with the E2AP procedure code of its response.
const FORMS_OF_E42: [(&str, u8); 3] =
    [("E42RICsubscriptionRequest", 8), ("E42RICsubscriptionDeleteRequest", 9), ("E42RICcontrolRequest", 4)];
/// First byte of a successful outcome PDU (a request has 0).
const SUCCESSFUL: u8 = 0x20;
const UNSUCCESSFUL: u8 = 0x40;

/// Message sequence of a trace, as read by the page.
#[derive(Debug, Serialize)]
pub struct Document {
    format: &'static str,
    title: String,
    facts: Vec<String>,
    notes: Vec<String>,
    lanes: Vec<String>,
    messages: Vec<Message>,
    /// Number of messages omitted beyond [`MESSAGES_MAX`]: the latest ones, or in an endless trace the earliest ones.
    left_out: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Message {
    /// Number of the message in the trace, from 1.
    n: u64,
    /// Time since the first message, in microseconds.
    at_us: Option<i64>,
    from: usize,
    to: usize,
    side: &'static str,
    name: String,
    fields: Vec<(String, String)>,
    /// Total bytes of the message; `hex` may contain fewer.
    octets: usize,
    hex: String,
    /// Decoded message in ASN.1 value notation.
    words: String,
    /// Description of the fault, if the message has one.
    fault: Option<String>,
    /// Index of the request to which this message responds.
    answers: Option<usize>,
    took_us: Option<i64>,
}

/// Key of a request: connection, side, requester, procedure code, and identity of the request.
type Key = (Flow, Side, Endpoint, u8, String);

/// Collects messages into a [`Document`].
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    /// Whether the newest messages are stored instead of the first ones.
    newest: bool,
    begin_us: Option<u64>,
    endpoints: Vec<(Endpoint, Side)>,
    rics: BTreeSet<Endpoint>,
    messages: Vec<Message>,
    left_out: u64,
    /// Pending requests by key. A response matches the earliest pending request.
    waiting: HashMap<Key, VecDeque<usize>>,
}

impl Sequence {
    /// Creates a sequence that stores the newest messages, for an endless trace. [`Sequence::default`] stores the
    /// first messages.
    pub fn newest() -> Self {
        Self { newest: true, ..Self::default() }
    }

    /// Adds the next message of a trace.
    pub fn take(&mut self, dissected: &Dissected, problem: Option<&Problem>) {
        let Dissected { number, pdu, side, version, message, model } = dissected;
        self.begin_us = self.begin_us.or(pdu.time_us);
        if self.messages.len() >= MESSAGES_MAX {
            if !self.newest {
                self.left_out += 1;
                return;
            }
            self.forget();
        }
        let (name, mut fields) = match message {
            Ok(decoded) => (decoded.message.name(), fields::from_message(&decoded.message)),
            Err(rejection) => ("(undecodable)", fields::of_rejected(rejection)),
        };
        let Flow { source, destination, transport } = pdu.flow;
        let sets_up = transport != Transport::File && name.ends_with("etupRequest");
        if sets_up && self.rics.len() < ENDS_MAX {
            self.rics.insert(destination);
        }
        let from = self.lane(source, *side);
        let to = self.lane(destination, *side);
        let at_us = pdu.time_us.zip(self.begin_us).map(|(time, begin)| time as i64 - begin as i64);
        let answers = self.answered(dissected, &fields);
        let mut words = message.as_ref().map_or_else(|_| String::new(), |it| it.message.notation(*version));
        if let (Ok(decoded), Some(model)) = (message, model) {
            fields.extend(payload::fields(*model, &decoded.message));
            for part in payload::parts(*model, &decoded.message) {
                words.push_str(&format!("\n{} {}", part.part, part.notation));
            }
        }
        let took_us = answers.and_then(|index| Some(at_us? - self.messages[index].at_us?));
        let cause = fields.iter().find(|(name, _)| *name == "cause").map(|(_, cause)| format!(": {cause}"));
        let fails = pdu.bytes.first() == Some(&UNSUCCESSFUL) || name == "ErrorIndication";
        let fault = match problem {
            Some(Problem { problem, reason, .. }) => Some(format!("{problem}: {reason}")),
            None => fails.then(|| format!("{name}{}", cause.unwrap_or_default())),
        };
        let shown = &pdu.bytes[..pdu.bytes.len().min(OCTETS_MAX)];
        self.messages.push(Message {
            n: *number,
            at_us,
            from,
            to,
            side: side.name(),
            name: name.to_owned(),
            fields: fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), cut(&value, FIELD_MAX)))
                .collect(),
            octets: pdu.bytes.len(),
            hex: shown.iter().map(|octet| format!("{octet:02x}")).collect(),
            words: cut(&words, WORDS_MAX),
            fault: fault.map(|fault| cut(&fault, FIELD_MAX * 4)),
            answers,
            took_us,
        });
    }

    /// Removes the oldest messages, with their state.
    fn forget(&mut self) {
        self.left_out += LEAVE as u64;
        self.messages.drain(..LEAVE);
        for message in &mut self.messages {
            message.answers = message.answers.and_then(|at| at.checked_sub(LEAVE));
        }
        self.waiting.retain(|_, indices| {
            indices.retain(|at| *at >= LEAVE);
            indices.iter_mut().for_each(|at| *at -= LEAVE);
            !indices.is_empty()
        });
    }

    /// Returns the request to which a message responds. If the message is a request, stores it as pending.
    fn answered(&mut self, dissected: &Dissected, fields: &[(&'static str, String)]) -> Option<usize> {
        let Dissected { pdu, side, message, .. } = dissected;
        let [kind, procedure, ..] = pdu.bytes[..] else { return None };
        if message.is_err() || pdu.flow.transport == Transport::File {
            return None;
        }
        let name = message.as_ref().map_or("", |decoded| decoded.message.name());
        // A request of an xApp in E42 form gets a response in E2AP form, with an identity that the RIC chose.
        let procedure =
            FORMS_OF_E42.iter().find(|(own, _)| *own == name).map_or(procedure, |(_, code)| *code);
        let renamed = *side == Side::E42 && FORMS_OF_E42.iter().any(|(_, code)| *code == procedure);
        let own = fields.iter().find(|(name, _)| !renamed && matches!(*name, "request" | "transaction"));
        let identity = own.map_or_else(String::new, |(_, value)| value.clone());
        let asker = if kind == 0 { pdu.flow.source } else { pdu.flow.destination };
        let key = (pdu.flow.connection(), *side, asker, procedure, identity);
        if kind == SUCCESSFUL || kind == UNSUCCESSFUL {
            return self.waiting.get_mut(&key).and_then(VecDeque::pop_front);
        }
        self.waiting.entry(key).or_default().push_back(self.messages.len());
        None
    }

    /// Returns the index of an endpoint, and adds the endpoint if it is new.
    fn lane(&mut self, endpoint: Endpoint, side: Side) -> usize {
        if let Some(at) = self.endpoints.iter().position(|(own, _)| *own == endpoint) {
            return at;
        }
        if self.endpoints.len() < ENDS_MAX {
            self.endpoints.push((endpoint, side));
        }
        self.endpoints.len() - 1
    }

    /// Returns the document, for a trace with this summary.
    pub fn finish(mut self, title: &str, summary: &Summary) -> Document {
        let is_ric =
            |endpoint: &Endpoint, side: Side| self.rics.contains(endpoint) || endpoint.port == side.port();
        // The two listeners of a RIC share one lane, if the address of the RIC is known.
        let mut lanes: Vec<String> = Vec::new();
        let mut at: BTreeMap<String, usize> = BTreeMap::new();
        let place: Vec<usize> = self
            .endpoints
            .iter()
            .map(|(endpoint, side)| {
                let name = match (is_ric(endpoint, *side), side, endpoint.address) {
                    _ if *endpoint == Endpoint::default() => "file".to_owned(),
                    (true, _, Some(address)) => format!("RIC {address}"),
                    (true, _, None) => "RIC".to_owned(),
                    (false, Side::E2, _) => format!("E2 node {endpoint}"),
                    (false, Side::E42, _) => format!("xApp {endpoint}"),
                };
                let most = LANES_MAX - 1;
                let name =
                    if lanes.len() >= most && !at.contains_key(&name) { "others".to_owned() } else { name };
                *at.entry(name.clone()).or_insert_with(|| {
                    lanes.push(name);
                    lanes.len() - 1
                })
            })
            .collect();
        for message in &mut self.messages {
            (message.from, message.to) = (place[message.from], place[message.to]);
        }
        let mut notes: Vec<String> = summary
            .notes
            .iter()
            .map(|note| format!("{} times: {} (first: {})", note.count, note.note, note.first))
            .collect();
        let shown = self.messages.len();
        let left_out = self.left_out;
        if left_out > 0 {
            notes.push(if self.newest {
                format!(
                    "The newest {shown} messages are shown; {left_out} messages before them are only counted."
                )
            } else {
                format!("The first {shown} messages are shown; {left_out} more are only counted.")
            });
        }
        if self.endpoints.len() > LANES_MAX {
            notes.push(format!("There are more than {LANES_MAX} endpoints, so some share the last lane."));
        }
        let counted = summary.messages.iter().map(|(name, count)| format!("{count} {name}"));
        let counted: Vec<String> = counted.collect();
        let Summary { pdus, undecodable, connections, .. } = summary;
        let of = match connections.len() {
            // No connection is known yet, or each file contains one PDU.
            0 => String::new(),
            count => format!(" of {count} connections"),
        };
        let facts = vec![format!("{pdus} messages{of}, {undecodable} undecodable"), counted.join(", ")];
        Document {
            format: FORMAT,
            title: title.to_owned(),
            facts,
            notes,
            lanes,
            messages: self.messages,
            left_out: self.left_out,
        }
    }
}

impl Document {
    /// Returns the document as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Title of the trace, for the window title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Summary text for browsers without scripts.
    pub fn words(&self) -> Vec<String> {
        self.facts.iter().chain(&self.notes).cloned().collect()
    }
}

/// Cuts a text to `most` characters and appends an ellipsis.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
