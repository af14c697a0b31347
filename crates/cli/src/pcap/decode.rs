//! `ranlab pcap decode`.
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use ranlab_capture::dissect::{Dissected, Known};
use ranlab_capture::note::NoteCount;
use ranlab_capture::{Problem, Side, Summary, Trace, TraceError, Transport, fields};
use ranlab_wire::e2ap::Version;
use serde::Serialize;

use crate::exit::Failure;
use crate::output::{Format, Output};

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

/// A PDU as one line of `--format ndjson`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    pdu: u64,
    file: &'a str,
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
    let mut trace = Trace::new(Known { side: arguments.side, version: arguments.version }, arguments.verify);
    let mut printer = Printer { notation: arguments.notation, output: Output::new(format), begin_us: None };
    for path in &arguments.files {
        let name = path.display().to_string();
        let unreadable = |error: TraceError| match error {
            TraceError::Io(error) => Failure::Usage(format!("cannot read {name}: {error}")),
            other => Failure::Usage(format!("{name} is {other}")),
        };
        let file = File::open(path).map_err(|error| unreadable(error.into()))?;
        let mut shown = Ok(());
        let read = trace.read(file, |dissected, problem| {
            if shown.is_ok() {
                shown = printer.show(&name, dissected, problem);
            }
        });
        read.map_err(unreadable)?;
        shown?;
    }
    printer.finish(&trace.finish())
}

struct Printer {
    notation: bool,
    output: Output,
    /// Times are told from here on.
    begin_us: Option<u64>,
}

impl Printer {
    fn show(&mut self, file: &str, dissected: &Dissected, problem: Option<&Problem>) -> Result<(), Failure> {
        let Dissected { number, pdu, side, version, message } = dissected;
        self.begin_us = self.begin_us.or(pdu.time_us);
        let (name, fields) = match message {
            Ok(decoded) => (Some(decoded.message.name()), fields::of(&decoded.message)),
            Err(rejection) => (None, fields::of_rejected(rejection)),
        };
        let way = match pdu.flow.transport {
            Transport::File => file.to_owned(),
            _ => pdu.flow.to_string(),
        };
        let notation = message.as_ref().ok().filter(|_| self.notation);
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
            file,
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

    fn finish(mut self, summary: &Summary) -> Result<(), Failure> {
        let differing =
            summary.differing.map_or_else(|| "not compared".to_owned(), |n| format!("{n} differing"));
        let sides: Vec<_> =
            summary.sides.iter().map(|(side, pdus)| format!("{} {pdus}", side.name())).collect();
        let sides = if sides.is_empty() { String::new() } else { format!(" ({})", sides.join(", ")) };
        self.output.text("")?;
        self.output.text(format_args!(
            "{} PDUs{sides}, {} undecodable, {differing}, {} connections",
            summary.pdus,
            summary.undecodable,
            summary.connections.len()
        ))?;
        for (message, count) in &summary.messages {
            self.output.text(format_args!("{count:>8} {message}"))?;
        }
        if !summary.notes.is_empty() {
            self.output.text("notes:")?;
        }
        for NoteCount { note, count, first } in &summary.notes {
            self.output.text(format_args!("{count:>8} {note} (first: {first})"))?;
        }
        self.output.finish(summary)?;
        if summary.undecodable + summary.differing.unwrap_or(0) == 0 {
            return Ok(());
        }
        let differing =
            summary.differing.map_or_else(String::new, |n| format!(" and {n} differ when encoded again"));
        Err(Failure::Check(format!(
            "of {} PDUs {} cannot be decoded{differing}",
            summary.pdus, summary.undecodable
        )))
    }
}

fn shown(name: &str, value: &str) -> String {
    if value.contains(' ') { format!(" {name}=\"{value}\"") } else { format!(" {name}={value}") }
}
