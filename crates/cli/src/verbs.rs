//! Verbs and the command line.
use std::ffi::OsString;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

#[cfg(feature = "tls")]
use crate::args;
use crate::exit::Failure;
use crate::output::Format;
use crate::{
    bench, check, controller, demo, doctor, emulate, exit, gateway, help, load, log, manual, output, pcap,
    ric, sim, upf, worker, xapp,
};

const EXAMPLES: &str = "\
Examples:
  ranlab demo
  ranlab ric
  ranlab emulate --nodes 10 --duration 10s
  ranlab load upf --mode control --duration 10s
  ranlab bench new e2-statistics > my.toml
  ranlab doctor
  ranlab pcap decode --verify capture.pcap

Every command prints text. --format json prints one JSON object at the end; ndjson also prints one per line while it runs.
Errors are then objects, too: {\"error\": {\"code\", \"kind\", \"message\"}}.
-v and -vv log to stderr; RANLAB_LOG=ranlab_transport=debug logs one crate in detail.
Exit codes: 0 ok; 1 a check or threshold failed; 2 wrong usage or input; 3 the machine lacks something; 130 interrupted.";

/// Build, emulate and benchmark programmable radio access networks.
#[derive(Debug, Parser)]
#[command(name = "ranlab", version = env!("RANLAB_VERSION"), after_help = EXAMPLES)]
struct CommandLine {
    /// Output format: text, one JSON object at the end, or one JSON object per line
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "text|json|ndjson"
    )]
    format: Format,
    /// Log to stderr (repeat for more detail)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    #[cfg(feature = "tls")]
    #[command(flatten)]
    tls: args::TlsFiles,
    #[command(subcommand)]
    verb: Verb,
}

// Parsed once per process, so the size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Subcommand)]
enum Verb {
    /// Show a RIC, base stations and two xApps at work
    Demo(demo::Arguments),
    /// Run a near-real-time RIC for base stations and xApps
    Ric(ric::Arguments),
    /// Forward connections between SCTP programs and other transports
    Gateway(gateway::Arguments),
    /// Run a specialised controller: slicing, traffic, or another SD-RAN protocol
    Controller(controller::Arguments),
    /// Emulate base stations and their UEs towards a controller
    Emulate(emulate::Arguments),
    /// Run a user plane function
    Upf(upf::Arguments),
    /// Load a user plane function with sessions and packets
    Load(load::Arguments),
    /// Check the conformance of a UPF, RIC or E2 agent, clause by clause
    Check(check::Arguments),
    /// Run an xApp that measures or controls
    Xapp(xapp::Arguments),
    /// Measure: run scenarios, write reports, compare results
    Bench(bench::Arguments),
    /// Simulate a scenario in virtual time, and measure the effect of an xApp or controller
    Sim(sim::Arguments),
    /// Run a component of an experiment for a campaign on another machine
    Worker(worker::Arguments),
    /// Read and write captures of E2 and E42
    Pcap(pcap::Arguments),
    /// Check this machine, and suggest how to get what is missing
    Doctor(doctor::Arguments),
    /// Print a completion script for a shell
    Completions(manual::CompletionsArguments),
    /// Write manual pages
    Man(manual::ManArguments),
}

/// Returns the command line for clap: for completions, manual pages and tests.
pub fn command() -> clap::Command {
    help::arrange(CommandLine::command())
}

/// Parses a command line, including the program's name, and runs it.
pub fn run(arguments: impl IntoIterator<Item: Into<OsString> + Clone>) -> Result<(), Failure> {
    output::begin();
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let parsed = command().try_get_matches_from(&arguments);
    let command_line = match parsed.and_then(|matches| CommandLine::from_arg_matches(&matches)) {
        Ok(command_line) => command_line,
        Err(error) => {
            let parsed = exit::of_clap(&error, &arguments);
            return parsed.inspect_err(|failure| output::error_object(written_format(&arguments), failure));
        }
    };
    let format = command_line.format;
    dispatch(command_line).inspect_err(|failure| output::error_object(format, failure))
}

/// Returns the format requested by a command line that could not be parsed.
fn written_format(arguments: &[OsString]) -> Format {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let value = words.iter().enumerate().find_map(|(index, word)| match word.strip_prefix("--format") {
        Some("") => words.get(index + 1).copied(),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    value.and_then(|value| Format::from_str(value, false).ok()).unwrap_or_default()
}

/// Runs a parsed command line.
fn dispatch(command_line: CommandLine) -> Result<(), Failure> {
    #[cfg(feature = "tls")]
    command_line.tls.identify()?;
    let CommandLine { format, verbose, verb, .. } = command_line;
    log::start(verbose)?;
    match verb {
        Verb::Demo(arguments) => demo::run(&arguments, format),
        Verb::Ric(arguments) => ric::run(arguments, format),
        Verb::Gateway(arguments) => gateway::run(arguments, format),
        Verb::Controller(arguments) => controller::run(arguments, format),
        Verb::Emulate(arguments) => emulate::run(arguments, format),
        Verb::Upf(arguments) => upf::run(arguments, format),
        Verb::Load(arguments) => load::run(arguments, format),
        Verb::Check(arguments) => check::run(arguments, format),
        Verb::Xapp(arguments) => xapp::run(arguments, format),
        Verb::Bench(arguments) => bench::run(arguments, format),
        Verb::Sim(arguments) => sim::run(&arguments, format),
        Verb::Worker(arguments) => worker::run(&arguments, format),
        Verb::Pcap(arguments) => pcap::run(arguments, format),
        Verb::Doctor(arguments) => doctor::run(&arguments, format),
        Verb::Completions(arguments) => manual::completions(&arguments, command()),
        Verb::Man(arguments) => manual::man(&arguments, command()),
    }
}
