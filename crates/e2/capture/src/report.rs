//! Report of a trace, as text for users and as JSON for programs.
use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::dissect::Dissected;
use super::fields::{self, Fields};
use super::note::NoteCount;
use super::payload::{self, Part};
use super::trace::{Problem, Summary};
use super::{Side, Transport};

/// Report of one PDU and its message.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    pdu: u64,
    file: &'a str,
    time_us: Option<u64>,
    side: Side,
    e2ap: String,
    transport: Transport,
    from: String,
    to: String,
    message: Option<&'static str>,
    #[serde(serialize_with = "by_name")]
    fields: Fields,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    notation: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    payload: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a Problem>,
    /// Time between the start of the trace and the PDU, in microseconds.
    #[serde(skip)]
    since_us: Option<i128>,
}

fn by_name<S: Serializer>(fields: &Fields, serializer: S) -> Result<S::Ok, S::Error> {
    fields.iter().cloned().collect::<BTreeMap<_, _>>().serialize(serializer)
}

impl<'a> Line<'a> {
    /// Creates the report of a PDU in a file. Its text contains the time since `begin_us`. With `notation`, the
    /// report also contains the whole message in ASN.1 value notation, and its payloads with the field names of their
    /// service model.
    pub fn new(
        file: &'a str,
        dissected: &Dissected,
        problem: Option<&'a Problem>,
        begin_us: Option<u64>,
        notation: bool,
    ) -> Self {
        let Dissected { number, pdu, side, version, message, model } = dissected;
        let (name, mut fields) = match message {
            Ok(decoded) => (Some(decoded.message.name()), fields::from_message(&decoded.message)),
            Err(rejection) => (None, fields::of_rejected(rejection)),
        };
        let read = message.as_ref().ok().zip(*model);
        fields.extend(
            read.map(|(decoded, model)| payload::fields(model, &decoded.message)).unwrap_or_default(),
        );
        let shown = message.as_ref().ok().filter(|_| notation);
        let parts = read.filter(|_| notation).map(|(decoded, model)| payload::parts(model, &decoded.message));
        Self {
            pdu: *number,
            file,
            time_us: pdu.time_us,
            side: *side,
            e2ap: version.to_string(),
            transport: pdu.flow.transport,
            from: pdu.flow.source.to_string(),
            to: pdu.flow.destination.to_string(),
            message: name,
            fields,
            bytes: pdu.bytes.len(),
            notation: shown.map(|decoded| decoded.message.notation(*version)),
            payload: parts.unwrap_or_default(),
            problem,
            since_us: pdu.time_us.zip(begin_us).map(|(time, begin)| i128::from(time) - i128::from(begin)),
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.since_us.map_or_else(|| "-".to_owned(), |us| format!("{:.6}", us as f64 / 1e6));
        write!(f, "{:>6} {since:>11} {:3} ", self.pdu, self.side.name())?;
        match self.transport {
            Transport::File => f.write_str(self.file)?,
            _ => write!(f, "{} -> {}", self.from, self.to)?,
        }
        write!(f, "  {}", self.message.unwrap_or("(undecodable)"))?;
        for (name, value) in &self.fields {
            let quote = if value.contains(' ') { "\"" } else { "" };
            write!(f, " {name}={quote}{value}{quote}")?;
        }
        write!(f, " bytes={}", self.bytes)?;
        if let Some(Problem { problem, reason, .. }) = self.problem {
            write!(f, "\n       {problem}: {reason}")?;
        }
        if let Some(notation) = &self.notation {
            write!(f, "\n{notation}")?;
        }
        self.payload.iter().try_for_each(|it| write!(f, "\n{} {}", it.part, it.notation))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pdus == 0 {
            f.write_str("no E2 or E42 PDUs were found")?;
            return self.write_notes(f);
        }
        write!(f, "{} PDUs", self.pdus)?;
        let sides: Vec<_> = self.sides.iter().map(|(side, pdus)| format!("{} {pdus}", side.name())).collect();
        if !sides.is_empty() {
            write!(f, " ({})", sides.join(", "))?;
        }
        write!(f, ", {} undecodable, ", self.undecodable)?;
        match self.differing {
            Some(differing) => write!(f, "{differing} differing")?,
            None => f.write_str("not compared")?,
        }
        write!(f, ", {} connections", self.connections.len())?;
        for (message, count) in &self.messages {
            write!(f, "\n{count:>8} {message}")?;
        }
        self.write_notes(f)
    }
}

impl Summary {
    fn write_notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.notes.is_empty() {
            f.write_str("\nnotes:")?;
        }
        for NoteCount { note, count, first } in &self.notes {
            write!(f, "\n{count:>8} {note} (first: {first})")?;
        }
        Ok(())
    }
}
