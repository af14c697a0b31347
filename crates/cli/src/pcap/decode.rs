//! `ranlab pcap decode`.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use ranlab_wire::e2ap::Version;
use serde::Serialize;

use crate::exit::Failure;
use crate::output::{Format, Output};
use ranlab_capture::dissect::{Connection, Dissected, Dissector, Known, other_version};
use ranlab_capture::note::{Note, NoteCount, Notes};
use ranlab_capture::{
    Assembler, Endpoint, Flow, MAX_PDU_BYTES, Pdu, Side, Transport, fields, packets, verify,
};

/// PDUs with a problem that the summary lists; all are counted.
const MAX_PROBLEMS: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  ranlab pcap decode --verify capture.pcap
  ranlab pcap decode --e2ap 1.01 --notation setup.bin";

/// Arguments of `pcap decode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Encode each message again and compare the bytes
    #[arg(long)]
    verify: bool,
    /// Print each message in full, in ASN.1 value notation
    #[arg(long)]
    notation: bool,
    /// What the files hold; default: port 36422 is E42, anything else E2
    #[arg(long = "as", value_parser = super::side(), value_name = "SIDE")]
    side: Option<Side>,
    /// E2AP version: 1.01, 2.03 or 3.01; default: from the connection's setup, 2.03 for a file with one PDU
    #[arg(long = "e2ap", value_name = "VERSION")]
    version: Option<Version>,
    /// Captures (pcap, pcapng), or files that hold one PDU each
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// What the verb ends with.
#[derive(Debug, Serialize)]
struct Summary {
    pdus: u64,
    undecodable: u64,
    /// `None`: not compared.
    differing: Option<u64>,
    sides: BTreeMap<Side, u64>,
    messages: BTreeMap<&'static str, u64>,
    connections: Vec<ConnectionSummary>,
    notes: Vec<NoteCount>,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct ConnectionSummary {
    transport: Transport,
    a: String,
    b: String,
    side: Side,
    e2ap: String,
    pdus: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Problem {
    pdu: u64,
    problem: &'static str,
    reason: String,
}

/// A PDU as one line of `--format ndjson`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    pdu: u64,
    file: String,
    time_us: Option<u64>,
    side: Side,
    e2ap: String,
    transport: Transport,
    from: String,
    to: String,
    message: Option<&'static str>,
    fields: BTreeMap<&'static str, String>,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    notation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a Problem>,
}

/// Shows the files' messages; fails with code 1 if one cannot be decoded or is not encoded as it came.
pub(super) fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let known = Known { side: arguments.side, version: arguments.version };
    let mut decode = Decode {
        arguments,
        output: Output::new(format),
        dissector: Dissector::new(known),
        notes: Notes::default(),
        file: String::new(),
        begin_us: None,
        undecodable: 0,
        differing: 0,
        sides: BTreeMap::new(),
        messages: BTreeMap::new(),
        problems: Vec::new(),
    };
    for path in &arguments.files {
        decode.file(path)?;
    }
    decode.finish()
}

struct Decode<'a> {
    arguments: &'a Arguments,
    output: Output,
    dissector: Dissector,
    notes: Notes,
    /// Under way.
    file: String,
    begin_us: Option<u64>,
    undecodable: u64,
    differing: u64,
    sides: BTreeMap<Side, u64>,
    messages: BTreeMap<&'static str, u64>,
    problems: Vec<Problem>,
}

impl Decode<'_> {
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        self.file = path.display().to_string();
        let unreadable =
            |error: io::Error| Failure::Usage(format!("cannot read {}: {error}", path.display()));
        let mut file = File::open(path).map_err(unreadable)?;
        let mut start = Vec::new();
        Read::by_ref(&mut file).take(4).read_to_end(&mut start).map_err(unreadable)?;
        if start.is_empty() {
            return Err(Failure::Usage(format!("{} is empty", path.display())));
        }
        if !packets::is_capture(&start) {
            file.take(MAX_PDU_BYTES as u64 + 1).read_to_end(&mut start).map_err(unreadable)?;
            return self.sole_pdu(path, start);
        }
        file.rewind().map_err(unreadable)?;
        let mut assembler = Assembler::new(self.arguments.side.is_some());
        let (mut notes, mut found) = (std::mem::take(&mut self.notes), Vec::new());
        let mut outcome = Ok(());
        let read = packets::read(file, &mut notes, |packet, notes| {
            assembler.packet(&packet, &mut found, notes);
            for pdu in found.drain(..) {
                if outcome.is_ok() {
                    outcome = self.pdu(pdu, notes);
                }
            }
        });
        assembler.finish(&mut found, &mut notes);
        for pdu in found.drain(..) {
            outcome = outcome.and_then(|()| self.pdu(pdu, &mut notes));
        }
        self.notes = notes;
        read.map_err(unreadable)?;
        outcome
    }

    fn sole_pdu(&mut self, path: &Path, octets: Vec<u8>) -> Result<(), Failure> {
        if octets.len() > MAX_PDU_BYTES {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} is no capture, and too long for a PDU: at most {MAX_PDU_BYTES} bytes"
            )));
        }
        let nowhere = Endpoint::default();
        let flow = Flow { transport: Transport::File, source: nowhere, destination: nowhere };
        let mut notes = std::mem::take(&mut self.notes);
        let pdu = Pdu { flow, time_us: None, side: None, bytes: Bytes::from(octets) };
        let outcome = self.pdu(pdu, &mut notes);
        self.notes = notes;
        outcome
    }

    fn pdu(&mut self, pdu: Pdu, notes: &mut Notes) -> Result<(), Failure> {
        self.begin_us = self.begin_us.or(pdu.time_us);
        let dissected = self.dissector.take(pdu, notes);
        *self.sides.entry(dissected.side).or_default() += 1;
        let problem = match &dissected.message {
            Ok(decoded) => {
                let message = decoded.message.name();
                *self.messages.entry(message).or_default() += 1;
                for what in decoded.notes() {
                    notes.add(Note::Deviation { message, what: what.to_owned() }, "PDU", dissected.number);
                }
                self.differing(&dissected)
            }
            Err(rejection) => {
                self.undecodable += 1;
                let hint = other_version(&dissected.pdu, dissected.side, dissected.version)
                    .map_or_else(String::new, |version| {
                        format!("; it is a message of E2AP {version}: try --e2ap {version}")
                    });
                Some(("undecodable", format!("{rejection}{hint}")))
            }
        };
        let problem = problem.map(|(problem, reason)| Problem { pdu: dissected.number, problem, reason });
        self.show(&dissected, problem.as_ref())?;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.extend(problem);
        }
        Ok(())
    }

    fn differing(&mut self, dissected: &Dissected) -> Option<(&'static str, String)> {
        let decoded = dissected.message.as_ref().ok().filter(|_| self.arguments.verify)?;
        let difference = verify::verify(decoded, dissected.version, &dissected.pdu.bytes)?;
        self.differing += 1;
        Some(("differing", difference.to_string()))
    }

    fn show(&mut self, dissected: &Dissected, problem: Option<&Problem>) -> Result<(), Failure> {
        let Dissected { number, pdu, side, version, message } = dissected;
        let (name, fields) = match message {
            Ok(decoded) => (Some(decoded.message.name()), fields::of(&decoded.message)),
            Err(rejection) => (None, keys_of(rejection)),
        };
        let way = match pdu.flow.transport {
            Transport::File => self.file.clone(),
            _ => pdu.flow.to_string(),
        };
        let notation = message.as_ref().ok().filter(|_| self.arguments.notation);
        let notation = notation.map(|decoded| decoded.message.notation(*version));
        let since = match (pdu.time_us, self.begin_us) {
            (Some(time), Some(begin)) => format!("{:.6}", (time as i128 - begin as i128) as f64 / 1e6),
            _ => "-".to_owned(),
        };
        let shown: String = fields.iter().map(|(name, value)| shown(name, value)).collect();
        self.output.text(format_args!(
            "{number:>6} {since:>11} {:3} {way}  {}{shown} bytes={}",
            side.name(),
            name.unwrap_or("(undecodable)"),
            pdu.bytes.len(),
        ))?;
        if let Some(problem) = problem {
            self.output.text(format_args!("       {}: {}", problem.problem, problem.reason))?;
        }
        if let Some(notation) = &notation {
            self.output.text(notation)?;
        }
        self.output.item(&Line {
            pdu: *number,
            file: self.file.clone(),
            time_us: pdu.time_us,
            side: *side,
            e2ap: version.to_string(),
            transport: pdu.flow.transport,
            from: pdu.flow.source.to_string(),
            to: pdu.flow.destination.to_string(),
            message: name,
            fields: fields.into_iter().collect(),
            bytes: pdu.bytes.len(),
            notation,
            problem,
        })
    }

    fn finish(mut self) -> Result<(), Failure> {
        let summary = Summary {
            pdus: self.sides.values().sum(),
            undecodable: self.undecodable,
            differing: self.arguments.verify.then_some(self.differing),
            sides: self.sides,
            messages: self.messages,
            connections: self.dissector.connections().iter().map(ConnectionSummary::of).collect(),
            notes: self.notes.list(),
            problems: self.problems,
        };
        summary.print(&mut self.output)?;
        self.output.finish(&summary)?;
        if summary.undecodable + self.differing == 0 {
            return Ok(());
        }
        let differing = if self.arguments.verify {
            format!(" and {} differ when encoded again", self.differing)
        } else {
            String::new()
        };
        Err(Failure::Check(format!(
            "of {} PDUs {} cannot be decoded{differing}",
            summary.pdus, summary.undecodable
        )))
    }
}

impl ConnectionSummary {
    fn of(connection: &Connection) -> Self {
        let Connection { flow, side, version, pdus, .. } = connection;
        let (a, b) = (flow.source.to_string(), flow.destination.to_string());
        Self { transport: flow.transport, a, b, side: *side, e2ap: version.to_string(), pdus: *pdus }
    }
}

impl Summary {
    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let differing =
            self.differing.map_or_else(|| "not compared".to_owned(), |n| format!("{n} differing"));
        let sides: Vec<_> = self.sides.iter().map(|(side, pdus)| format!("{} {pdus}", side.name())).collect();
        let sides = if sides.is_empty() { String::new() } else { format!(" ({})", sides.join(", ")) };
        output.text("")?;
        output.text(format_args!(
            "{} PDUs{sides}, {} undecodable, {differing}, {} connections",
            self.pdus,
            self.undecodable,
            self.connections.len()
        ))?;
        for (message, count) in &self.messages {
            output.text(format_args!("{count:>8} {message}"))?;
        }
        if !self.notes.is_empty() {
            output.text("notes:")?;
        }
        for NoteCount { note, count, first } in &self.notes {
            output.text(format_args!("{count:>8} {note} (first: {first})"))?;
        }
        Ok(())
    }
}

/// What can be read of a message that is broken further on.
fn keys_of(rejection: &ranlab_wire::e2ap::Rejection) -> fields::Fields {
    let mut keys = fields::Fields::new();
    keys.extend(rejection.envelope.map(|(_, code, _)| ("procedure", code.to_string())));
    keys.extend(rejection.transaction_id.map(|id| ("transaction", id.to_string())));
    keys.extend(rejection.request_id.map(|id| ("request", fields::request(id))));
    keys.extend(rejection.function_id.map(|id| ("function", id.to_string())));
    keys
}

fn shown(name: &str, value: &str) -> String {
    if value.contains(' ') { format!(" {name}=\"{value}\"") } else { format!(" {name}={value}") }
}
