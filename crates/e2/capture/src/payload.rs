//! Octet strings of service models within a message, decoded by the service model that the connection's setup names.
use std::fmt::Write;

use bytes::Bytes;
use ranlab_e2_codec::e2ap::{Message, RanFunctionId, RanFunctionItem, RicSubscriptionDetails};
use ranlab_e2_codec::e2sm::{Encoding, Form, MODELS, Model, Payload, SmError, Value, by_oid, inspect, kpm};
use ranlab_e2_codec::e42;
use serde::Serialize;

use super::fields::Fields;

/// Maximum number of measurement names in a line. Further names are only counted.
const NAMES_MAX: usize = 8;
/// Maximum number of table rows in value notation.
const ROWS_MAX: usize = 1_000;

/// A decoded octet string of a service model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Name of the octet string: `eventTrigger`, `actionDefinition 1`, `indicationHeader`, `indicationMessage`,
    /// `controlHeader`, `controlMessage` or `controlOutcome`.
    pub part: String,
    /// Decoded value in ASN.1 value notation, with the names of the model; or a comment with the decoding error.
    pub notation: String,
}

/// Returns the model of a RAN function, found by its OID or else by its function definition.
pub(super) fn model(function: &RanFunctionItem) -> Option<&'static dyn Model> {
    let offers =
        |model: &&&'static dyn Model| model.offers(&function.definition).is_ok_and(|it| !it.is_empty());
    match &function.oid {
        Some(oid) => by_oid(oid),
        None => MODELS.iter().find(offers).copied(),
    }
}

/// Returns the RAN functions that a message announces.
pub(super) fn announced(message: &e42::Message) -> Vec<&RanFunctionItem> {
    match message {
        e42::Message::E2(Message::E2SetupRequest(m)) => m.functions.iter().flatten().collect(),
        e42::Message::E2(Message::RicServiceUpdate(m)) => {
            m.added.iter().flatten().chain(m.modified.iter().flatten()).collect()
        }
        e42::Message::SetupResponse(m) => m.nodes.iter().flat_map(|node| &node.functions).collect(),
        e42::Message::NodeEvent(m) => m.connected.iter().flat_map(|node| &node.functions).collect(),
        _ => Vec::new(),
    }
}

/// Returns the RAN function that a message refers to.
pub(super) fn function(message: &e42::Message) -> Option<RanFunctionId> {
    match message {
        e42::Message::SubscriptionRequest(m) => Some(m.function_id),
        e42::Message::ControlRequest(m) => Some(m.function_id),
        e42::Message::E2(message) => match message {
            Message::RicSubscriptionRequest(m) => Some(m.function_id),
            Message::RicIndication(m) => Some(m.function_id),
            Message::RicControlRequest(m) => Some(m.function_id),
            Message::RicControlAcknowledge(m) => Some(m.function_id),
            Message::RicControlFailure(m) => Some(m.function_id),
            _ => None,
        },
        _ => None,
    }
}

type Octets<'a> = (String, Payload, &'a Bytes);

fn of_details(details: &RicSubscriptionDetails) -> Vec<Octets<'_>> {
    let mut parts = vec![("eventTrigger".to_owned(), Payload::Trigger, &details.event_trigger)];
    for action in &details.actions {
        if let Some(definition) = &action.definition {
            parts.push((format!("actionDefinition {}", action.id), Payload::Action, definition));
        }
    }
    parts
}

fn of_control<'a>(header: &'a Bytes, message: &'a Bytes) -> Vec<Octets<'a>> {
    vec![
        ("controlHeader".to_owned(), Payload::ControlHeader, header),
        ("controlMessage".to_owned(), Payload::Control, message),
    ]
}

/// Returns the service-model octet strings of a message.
fn octets(message: &e42::Message) -> Vec<Octets<'_>> {
    let outcome = |outcome: &'_ Option<Bytes>| outcome.is_some();
    match message {
        e42::Message::SubscriptionRequest(m) => of_details(&m.details),
        e42::Message::ControlRequest(m) => of_control(&m.header, &m.message),
        e42::Message::E2(message) => match message {
            Message::RicSubscriptionRequest(m) => of_details(&m.details),
            Message::RicIndication(m) => vec![
                ("indicationHeader".to_owned(), Payload::Header, &m.header),
                ("indicationMessage".to_owned(), Payload::Message, &m.message),
            ],
            Message::RicControlRequest(m) => of_control(&m.header, &m.message),
            Message::RicControlAcknowledge(m) if outcome(&m.outcome) => of_outcome(m.outcome.as_ref()),
            Message::RicControlFailure(m) if outcome(&m.outcome) => of_outcome(m.outcome.as_ref()),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn of_outcome(outcome: Option<&Bytes>) -> Vec<Octets<'_>> {
    outcome.map(|it| ("controlOutcome".to_owned(), Payload::Outcome, it)).into_iter().collect()
}

/// Decodes an octet string in the first encoding of the model that accepts it.
fn read(model: &dyn Model, payload: Payload, octets: &Bytes) -> Result<Form, SmError> {
    let model = inspect(model).ok_or(SmError::Absent("names"))?;
    let mut first = None;
    for encoding in model.encodings() {
        match model.payload(payload, *encoding, octets) {
            Ok(form) => return Ok(form),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or(SmError::Absent("encoding")))
}

/// Returns the decoded octet strings of a message in value notation.
pub(super) fn parts(model: &dyn Model, message: &e42::Message) -> Vec<Part> {
    let header = octets(message).into_iter().find(|it| it.1 == Payload::Header).map(|it| it.2.clone());
    let part = |(part, payload, octets): Octets<'_>| {
        let notation = match read(model, payload, octets) {
            Ok(form) => notation(&form),
            Err(error) if payload == Payload::Message => {
                rows(model, header.as_ref(), octets).unwrap_or_else(|| format!("-- {error}"))
            }
            Err(error) => format!("-- {error}"),
        };
        Part { part, notation }
    };
    octets(message).into_iter().map(part).collect()
}

/// Returns the rows of an indication whose model does not define field names for the message.
fn rows(model: &dyn Model, header: Option<&Bytes>, message: &Bytes) -> Option<String> {
    let header = header?;
    let table = model.encodings().iter().find_map(|it| model.table(*it, header, message).ok())?;
    let columns = model.columns();
    let mut text = String::from("{");
    for (key, values) in table.rows().take(ROWS_MAX) {
        let _ = write!(text, "\n  {{ -- {key:?}");
        for (column, value) in columns.iter().zip(values) {
            let unit = if column.unit.is_empty() { String::new() } else { format!(" -- {}", column.unit) };
            let _ = match value {
                Value::Text(value) => write!(text, "\n    {} {value:?}{unit}", column.name),
                value => write!(text, "\n    {} {value}{unit}", column.name),
            };
        }
        text.push_str("\n  }");
    }
    text.push_str("\n}");
    Some(text)
}

/// Formats a named value as indented text.
fn notation(form: &Form) -> String {
    let mut text = String::new();
    put(form, 0, &mut text);
    text
}

fn put(form: &Form, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth + 1);
    let close = "  ".repeat(depth);
    match form {
        Form::Null => text.push_str("NULL"),
        Form::Bool(value) => text.push_str(if *value { "TRUE" } else { "FALSE" }),
        Form::Integer(value) => {
            let _ = write!(text, "{value}");
        }
        Form::Real(value) => {
            let _ = write!(text, "{value}");
        }
        Form::Text(value) => {
            let _ = write!(text, "{value:?}");
        }
        Form::List(items) => {
            text.push('{');
            for (at, item) in items.iter().enumerate() {
                let _ = write!(text, "{}\n{indent}", if at == 0 { "" } else { "," });
                put(item, depth + 1, text);
            }
            let _ = if items.is_empty() { write!(text, "}}") } else { write!(text, "\n{close}}}") };
        }
        Form::Fields(fields) => {
            text.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                let _ = write!(text, "{}\n{indent}{name} ", if at == 0 { "" } else { "," });
                put(value, depth + 1, text);
            }
            let _ = if fields.is_empty() { write!(text, "}}") } else { write!(text, "\n{close}}}") };
        }
    }
}

/// Returns the key fields of the octet strings: the model, number of rows, KPM measurements, period, style and action.
pub(super) fn fields(model: &dyn Model, message: &e42::Message) -> Fields {
    let mut fields = vec![("sm", model.name().to_owned())];
    for (_, payload, octets) in octets(message) {
        match payload {
            Payload::Trigger => {
                let period = model.encodings().iter().find_map(|it| model.period(*it, octets).ok().flatten());
                fields.extend(period.map(|it| ("period_ms", it.as_millis().to_string())));
            }
            Payload::Action if model.oid() == kpm::OID => {
                if let Ok(form) = read(model, payload, octets) {
                    fields.extend(found(&form, "ric-Style-Type").map(|style| ("style", style)));
                    fields.extend(names(measurements(&form)));
                }
            }
            Payload::ControlHeader => {
                if let Ok(form) = read(model, payload, octets) {
                    fields.extend(found(&form, "ric-Style-Type").map(|style| ("style", style)));
                    fields.extend(
                        found(&form, "ric-ControlAction-ID").map(|action| ("control_action", action)),
                    );
                }
            }
            Payload::Message => of_message(model, message, octets, &mut fields),
            _ => {}
        }
    }
    fields
}

fn of_message(model: &dyn Model, message: &e42::Message, octets: &Bytes, fields: &mut Fields) {
    let e42::Message::E2(Message::RicIndication(indication)) = message else { return };
    let read = |it: &Encoding| model.table(*it, &indication.header, octets);
    let tables: Vec<_> = model.encodings().iter().map(read).collect();
    match tables.iter().find_map(|it| it.as_ref().ok()) {
        Some(table) => {
            fields.push(("rows", table.len().to_string()));
            if model.oid() == kpm::OID {
                let at = model.columns().iter().position(|column| column.name == "measurement");
                let name = |(_, values): (_, &[Value])| Some(values.get(at?)?.to_string());
                fields.extend(names(table.rows().filter_map(name).collect()));
            }
            fields.extend(table.left_out.iter().map(|reason| ("left_out", reason.clone())));
        }
        None => fields
            .extend(tables.first().and_then(|it| it.as_ref().err()).map(|e| ("malformed", e.to_string()))),
    }
}

/// Returns the first [`NAMES_MAX`] distinct names, then the number of further names.
fn names(all: Vec<String>) -> Option<(&'static str, String)> {
    let mut once: Vec<String> = Vec::new();
    all.into_iter().for_each(|name| {
        if !once.contains(&name) {
            once.push(name);
        }
    });
    let more = once.len().saturating_sub(NAMES_MAX);
    once.truncate(NAMES_MAX);
    if more > 0 {
        once.push(format!("and {more} more"));
    }
    (!once.is_empty()).then(|| ("measurements", once.join(",")))
}

/// Returns the measurement names at any depth of an action.
fn measurements(form: &Form) -> Vec<String> {
    match form {
        Form::Fields(fields) => {
            let of = |(name, value): &(String, Form)| match value {
                Form::Text(text) if name == "measName" => vec![text.clone()],
                value => measurements(value),
            };
            fields.iter().flat_map(of).collect()
        }
        Form::List(items) => items.iter().flat_map(measurements).collect(),
        _ => Vec::new(),
    }
}

/// Returns the first integer with the given field name, at any depth of a value.
fn found(form: &Form, field: &str) -> Option<String> {
    match form {
        Form::Fields(fields) => fields.iter().find_map(|(name, value)| match value {
            Form::Integer(number) if name == field => Some(number.to_string()),
            value => found(value, field),
        }),
        Form::List(items) => items.iter().find_map(|item| found(item, field)),
        _ => None,
    }
}
