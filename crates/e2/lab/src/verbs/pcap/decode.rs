//! `ranlab pcap decode`: prints messages as lines, and draws a sequence diagram in a file or on a page.
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use ranlab_e2_capture::dissect::{Dissected, Known};
use ranlab_e2_capture::sequence::{Document, Sequence};
use ranlab_e2_capture::{Line, Problem, Side, Summary, Trace, TraceError};
use ranlab_e2_codec::e2ap::Version;
use ranlab_e2_codec::e2sm::Model;

use ranlab_command::exit::Failure;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};
use ranlab_command::web::{CurrentValues, WebArguments, introduce};

use super::follow::Growing;

const EXAMPLES: &str = "\
Examples:
  ranlab pcap decode --verify capture.pcap
  ranlab pcap decode --e2ap 1.01 --notation setup.bin
  ranlab pcap decode capture.pcap --html session.html    # a sequence diagram as one file
  ranlab pcap decode capture.pcap --web                  # the diagram as a page, until Ctrl-C
  ranlab pcap decode capture.pcap --follow --web         # of a capture that is being written";

/// Arguments of `pcap decode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Encode each message again and compare the bytes
    #[arg(long)]
    verify: bool,
    /// Print each message in full, in ASN.1 value notation, with decoded payloads of its service model
    #[arg(long)]
    notation: bool,
    /// Protocol of the files [default: from each connection's setup; without a setup, E42 for port 36422 and
    /// otherwise E2]
    #[arg(long = "as", value_parser = super::side(), value_name = "SIDE")]
    side: Option<Side>,
    /// E2AP version: 1.01, 2.03 or 3.01; default: from the connection's setup, 2.03 for a file with one PDU
    #[arg(long = "e2ap", value_name = "VERSION")]
    version: Option<Version>,
    /// Service model of all payloads [default: from the RAN functions of each connection's setup]
    #[arg(long, value_name = "NAME")]
    sm: Option<&'static dyn Model>,
    /// Write a sequence diagram to this file: one page that opens without a server
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Follow one capture that is still being written (by pcap record, tcpdump or dumpcap), until Ctrl-C
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    web: WebArguments,
    /// Captures (pcap, pcapng), or files with one PDU each
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Prints the messages of files. Fails with code 1 if a message cannot be decoded or is encoded differently.
pub(super) fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let mut trace = Trace::new(
        Known { side: arguments.side, version: arguments.version, model: arguments.sm },
        arguments.verify,
    );
    let mut sequence = Sequence::default();
    let mut output = Output::new(format);
    let mut begin_us = None;
    let growing = growing(arguments)?;
    for path in &arguments.files {
        let name = path.display().to_string();
        let unreadable = |error: TraceError| match error {
            TraceError::Io(error) if error.kind() == ErrorKind::WouldBlock => {
                Failure::Usage(format!("{name} is not a capture; only captures can be followed"))
            }
            TraceError::Io(error) => Failure::Usage(format!("cannot read {name}: {error}")),
            other => Failure::Usage(format!("{name} is {other}")),
        };
        let file = File::open(path).map_err(|error| unreadable(error.into()))?;
        let mut shown = Ok(());
        let each = |dissected: &Dissected, problem: Option<&Problem>| {
            begin_us = begin_us.or(dissected.pdu.time_us);
            match &growing {
                Some(growing) => growing.take(dissected, problem),
                None => sequence.take(dissected, problem),
            }
            if shown.is_ok() {
                let line = Line::new(&name, dissected, problem, begin_us, arguments.notation);
                let written = output.text(&line).and_then(|()| output.item(&line));
                // The messages of a growing capture are flushed one by one.
                shown = if growing.is_some() { written.and_then(|()| output.flush()) } else { written };
            }
        };
        let read = match &growing {
            Some(growing) => {
                let source = growing.source(file).map_err(|error| unreadable(error.into()))?;
                trace.read(source, each)
            }
            None => trace.read(file, each),
        };
        read.map_err(unreadable)?;
        shown?;
    }
    let summary = trace.finish();
    output.text(format_args!("\n{summary}"))?;
    output.finish(&summary)?;
    match growing {
        Some(growing) => write(arguments, growing.end(&summary), &summary).map(drop)?,
        None => draw(arguments, sequence, &summary)?,
    }
    if summary.undecodable + summary.differing.unwrap_or(0) == 0 {
        return Ok(());
    }
    let differing = summary
        .differing
        .map_or_else(String::new, |n| format!(", and {n} differ when they are encoded again"));
    Err(Failure::Check(format!(
        "{} of {} PDUs cannot be decoded{differing}",
        summary.undecodable, summary.pdus
    )))
}

/// Returns the follower of a growing capture, if requested.
fn growing(arguments: &Arguments) -> Result<Option<Growing>, Failure> {
    match &arguments.files[..] {
        _ if !arguments.follow => Ok(None),
        [_] => Growing::open(&arguments.web, &title(arguments)).map(Some),
        _ => Err(Failure::Usage("--follow requires exactly one capture".to_owned())),
    }
}

fn title(arguments: &Arguments) -> String {
    let names: Vec<_> = arguments.files.iter().map(|file| file.display().to_string()).collect();
    names.join(", ")
}

/// Writes or serves the sequence diagram, if requested.
fn draw(arguments: &Arguments, sequence: Sequence, summary: &Summary) -> Result<(), Failure> {
    if arguments.html.is_none() && !arguments.web.wanted() {
        return Ok(());
    }
    show(&arguments.web, &write(arguments, sequence, summary)?)
}

/// Creates the sequence document, and writes it to a file if requested.
fn write(arguments: &Arguments, sequence: Sequence, summary: &Summary) -> Result<Document, Failure> {
    let document = sequence.finish(&title(arguments), summary);
    if let Some(file) = &arguments.html {
        let page = ranlab_page::saved(document.title(), &document.json(), &document.words());
        std::fs::write(file, page)
            .map_err(|error| Failure::Usage(format!("cannot write {}: {error}", file.display())))?;
        eprintln!("ranlab: wrote the sequence diagram to {}", file.display());
    }
    Ok(document)
}

/// Serves the document until Ctrl-C or SIGTERM.
fn show(web: &WebArguments, document: &Document) -> Result<(), Failure> {
    let Some(board) = web.open()? else { return Ok(()) };
    introduce(&board, document.title(), "Capture", &[], &[], "");
    let words = "Decoded; the page is served until Ctrl-C.".to_owned();
    CurrentValues { phase: "shown", words, ..CurrentValues::default() }.publish(&board);
    let json = document.json();
    board.document(move || json.clone());
    ranlab_sdk::run(live::end(None));
    Ok(())
}
