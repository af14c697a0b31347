//! `ranlab-ric`: the verb `ric` of `ranlab` as a separate program, without experiments, other domains, store and figures.

use std::process::ExitCode;

use clap::{ArgAction, Parser};
use ranlab_command::exit::{self, Failure};
use ranlab_command::log;
use ranlab_command::output::{self, Format};
use ranlab_e2_lab::verbs::ric;

/// Run a near-real-time RIC for base stations and xApps.
#[derive(Debug, Parser)]
#[command(name = "ranlab-ric", version)]
struct CommandLine {
    /// Output format: text, one JSON object at the end, or one JSON object per line
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "text|json|ndjson")]
    format: Format,
    /// Log to stderr (repeat for more detail)
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
    #[cfg(feature = "tls")]
    #[command(flatten)]
    tls: ranlab_command::args::TlsFiles,
    #[command(flatten)]
    ric: ric::Arguments,
}

fn main() -> ExitCode {
    output::begin();
    let command_line = CommandLine::parse();
    let format = command_line.format;
    exit::report(run(command_line).inspect_err(|failure| output::error_object(format, failure)))
}

fn run(command_line: CommandLine) -> Result<(), Failure> {
    #[cfg(feature = "tls")]
    command_line.tls.identify()?;
    log::start(command_line.verbose)?;
    ric::run(command_line.ric, command_line.format)
}
