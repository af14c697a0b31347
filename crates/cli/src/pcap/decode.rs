//! `ranlab pcap decode`.
use std::fs::File;
use std::path::PathBuf;

use ranlab_capture::dissect::Known;
use ranlab_capture::{Line, Side, Trace, TraceError};
use ranlab_wire::e2ap::Version;

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

/// Shows the files' messages; fails with code 1 if one cannot be decoded or is not encoded as it came.
pub(super) fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let mut trace = Trace::new(Known { side: arguments.side, version: arguments.version }, arguments.verify);
    let mut output = Output::new(format);
    let mut begin_us = None;
    for path in &arguments.files {
        let name = path.display().to_string();
        let unreadable = |error: TraceError| match error {
            TraceError::Io(error) => Failure::Usage(format!("cannot read {name}: {error}")),
            other => Failure::Usage(format!("{name} is {other}")),
        };
        let file = File::open(path).map_err(|error| unreadable(error.into()))?;
        let mut shown = Ok(());
        let read = trace.read(file, |dissected, problem| {
            begin_us = begin_us.or(dissected.pdu.time_us);
            if shown.is_ok() {
                let line = Line::new(&name, dissected, problem, begin_us, arguments.notation);
                shown = output.text(&line).and_then(|()| output.item(&line));
            }
        });
        read.map_err(unreadable)?;
        shown?;
    }
    let summary = trace.finish();
    output.text(format_args!("\n{summary}"))?;
    output.finish(&summary)?;
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
