//! Message sequence as a document for a page (`web/sequence.js`): lanes, messages in order, responses with
//! their delay, faults, and the bytes and fields of each message. The document is bounded whatever a capture
//! holds, and states what it omits.
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde::Serialize;

use super::dissect::Dissected;
use super::fields;
use super::payload;
use super::pdu::{Endpoint, Flow};
use super::trace::{Problem, Summary};
use super::{Side, Transport};

/// Maximum messages of a document.
pub const MESSAGES_MAX: usize = 1_000;
/// Number of the oldest messages that are removed together from an endless trace.
const LEAVE: usize = MESSAGES_MAX / 2;
/// Maximum number of endpoints; further ones are shown as the last one.
const ENDS_MAX: usize = 4_096;
/// Maximum lanes; further endpoints share the last one.
pub const LANES_MAX: usize = 24;
/// Maximum bytes shown of a message.
pub const OCTETS_MAX: usize = 2_048;
/// Maximum characters shown of a decoded message.
pub const WORDS_MAX: usize = 16 << 10;
/// Maximum characters of a single field.
const FIELD_MAX: usize = 120;
/// Format name that a page checks first.
const FORMAT: &str = "ranlab-sequence/1";
/// Requests of E42, and the procedure of E2AP that their responses use.
const FORMS_OF_E42: [(&str, u8); 3] =
    [("E42RICsubscriptionRequest", 8), ("E42RICsubscriptionDeleteRequest", 9), ("E42RICcontrolRequest", 4)];
/// Outcome byte of an E2AP PDU: request (0) or kind of response.
const SUCCESSFUL: u8 = 0x20;
const UNSUCCESSFUL: u8 = 0x40;

/// The document.
#[derive(Debug, Serialize)]
pub struct Document {
    format: &'static str,
    title: String,
    facts: Vec<String>,
    notes: Vec<String>,
    lanes: Vec<String>,
    messages: Vec<Message>,
    /// Number of messages beyond [`MESSAGES_MAX`]: later ones, or earlier ones of an endless trace.
    left_out: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Message {
    /// Its number in the trace, from 1.
    n: u64,
    /// Microseconds since the first message.
    at_us: Option<i64>,
    from: usize,
    to: usize,
    side: &'static str,
    name: String,
    fields: Vec<(String, String)>,
    /// Total bytes; `hex` may have fewer.
    octets: usize,
    hex: String,
    /// The message in ASN.1 value notation, a line each.
    words: String,
    /// Text of the fault.
    fault: Option<String>,
    /// Index of the request that it answers, and the delay of the response.
    answers: Option<usize>,
    took_us: Option<i64>,
}

/// Key of a request: connection, requester, procedure, and its own identity.
type Key = (Flow, Side, Endpoint, u8, String);

/// Collects messages into a [`Document`].
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    /// Whether to keep the newest messages instead of the first.
    newest: bool,
    begin_us: Option<u64>,
    endpoints: Vec<(Endpoint, Side)>,
    rics: BTreeSet<Endpoint>,
    messages: Vec<Message>,
    left_out: u64,
    /// Pending requests: the first request gets the first response.
    waiting: HashMap<Key, VecDeque<usize>>,
}

impl Sequence {
    /// Creates a sequence that keeps the newest messages, for an endless trace; others keep the first ones.
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
        let (name, mut told) = match message {
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
        let answers = self.answered(dissected, &told);
        let mut words = message.as_ref().map_or_else(|_| String::new(), |it| it.message.notation(*version));
        if let (Ok(decoded), Some(model)) = (message, model) {
            told.extend(payload::fields(*model, &decoded.message));
            for part in payload::parts(*model, &decoded.message) {
                words.push_str(&format!("\n{} {}", part.part, part.notation));
            }
        }
        let took_us = answers.and_then(|index| Some(at_us? - self.messages[index].at_us?));
        let cause = told.iter().find(|(name, _)| *name == "cause").map(|(_, cause)| format!(": {cause}"));
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
            fields: told.into_iter().map(|(name, value)| (name.to_owned(), cut(&value, FIELD_MAX))).collect(),
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
        self.waiting.retain(|_, asked| {
            asked.retain(|at| *at >= LEAVE);
            asked.iter_mut().for_each(|at| *at -= LEAVE);
            !asked.is_empty()
        });
    }

    /// Returns the request that a message answers; records a request.
    fn answered(&mut self, dissected: &Dissected, told: &[(&'static str, String)]) -> Option<usize> {
        let Dissected { pdu, side, message, .. } = dissected;
        let [kind, procedure, ..] = pdu.bytes[..] else { return None };
        if message.is_err() || pdu.flow.transport == Transport::File {
            return None;
        }
        let name = message.as_ref().map_or("", |decoded| decoded.message.name());
        // A request of an xApp in E42 form gets a response in E2AP form, under an identity that the RIC
        // chose.
        let procedure =
            FORMS_OF_E42.iter().find(|(own, _)| *own == name).map_or(procedure, |(_, code)| *code);
        let renamed = *side == Side::E42 && FORMS_OF_E42.iter().any(|(_, code)| *code == procedure);
        let own = told.iter().find(|(name, _)| !renamed && matches!(*name, "request" | "transaction"));
        let identity = own.map_or_else(String::new, |(_, value)| value.clone());
        let asker = if kind == 0 { pdu.flow.source } else { pdu.flow.destination };
        let key = (pdu.flow.connection(), *side, asker, procedure, identity);
        if kind == SUCCESSFUL || kind == UNSUCCESSFUL {
            return self.waiting.get_mut(&key).and_then(VecDeque::pop_front);
        }
        self.waiting.entry(key).or_default().push_back(self.messages.len());
        None
    }

    /// Index of an endpoint.
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
        // A RIC's two listeners are one lane, if its address is known.
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
                format!("The newest {shown} messages are shown, {left_out} before them are only counted.")
            } else {
                format!("The first {shown} messages are shown, {left_out} more are only counted.")
            });
        }
        if self.endpoints.len() > LANES_MAX {
            notes.push(format!("There are more than {LANES_MAX} ends: some share the last lane."));
        }
        let counted = summary.messages.iter().map(|(name, count)| format!("{count} {name}"));
        let counted: Vec<String> = counted.collect();
        let Summary { pdus, undecodable, connections, .. } = summary;
        let of = match connections.len() {
            // No connection known yet, or files of one PDU each.
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

    /// The file's title, for window names.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Text for browsers that run no scripts.
    pub fn words(&self) -> Vec<String> {
        self.facts.iter().chain(&self.notes).cloned().collect()
    }
}

/// The beginning of a text, with an ellipsis.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
