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

Every verb prints for people; --format json ends with one JSON object instead, ndjson prints one object a line as things
happen and the same object at the end. -v tells what happens inside, -vv more; RANLAB_LOG=ranlab_transport=debug by part.
With json and ndjson, an error is an object too: {\"error\": {\"code\", \"kind\", \"message\"}}.
Exit codes: 0 ok, 1 a check or threshold failed, 2 usage or input, 3 the environment lacks something, 130 interrupted.";

/// Build, emulate and benchmark programmable radio access networks.
#[derive(Debug, Parser)]
#[command(name = "ranlab", version = env!("RANLAB_VERSION"), after_help = EXAMPLES)]
struct CommandLine {
    /// How to print: for people, or JSON
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
    /// Watch a RIC, base stations and two xApps at work
    Demo(demo::Arguments),
    /// Run a near-RT RIC for base stations and xApps
    Ric(ric::Arguments),
    /// Join programs that speak SCTP to our transports
    Gateway(gateway::Arguments),
    /// Run a controller: of slices, of traffic, or of another SD-RAN protocol
    Controller(controller::Arguments),
    /// Emulate base stations and their UEs towards a controller
    Emulate(emulate::Arguments),
    /// Run a user plane function
    Upf(upf::Arguments),
    /// Load a user plane function with sessions and packets
    Load(load::Arguments),
    /// Check conformance, clause by clause
    Check(check::Arguments),
    /// Run an xApp that measures or steers
    Xapp(xapp::Arguments),
    /// Measure: campaigns from a scenario to a report
    Bench(bench::Arguments),
    /// Run a scenario's network in virtual time, and tell what a controller or an xApp is worth
    Sim(sim::Arguments),
    /// Hold a part of an experiment for a campaign that runs elsewhere
    Worker(worker::Arguments),
    /// Read and write captures of E2 and E42
    Pcap(pcap::Arguments),
    /// Tell what this machine has, lacks, and what to do about it
    Doctor(doctor::Arguments),
    /// Print completions for a shell
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
