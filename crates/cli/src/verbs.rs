//! Verbs of all domains, and the command line that selects one.
use std::ffi::OsString;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ranlab_command::verb::{self, Context};

#[cfg(feature = "tls")]
use crate::args;
use crate::domains::{DOMAINS, REGISTRY};
use crate::exit::Failure;
use crate::output::Format;
use crate::{exit, features, help, log, output};

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
#[command(name = "ranlab", version = env!("RANLAB_VERSION"))]
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
}

impl CommandLine {
    /// Applies the options that every verb has.
    fn prepare(&self) -> Result<(), Failure> {
        #[cfg(feature = "tls")]
        self.tls.identify()?;
        log::start(self.verbose)
    }
}

/// Returns clap's command line, which completions, manual pages and tests also use.
pub fn command() -> clap::Command {
    help::arrange(verb::attach(CommandLine::command().after_help(examples()), DOMAINS))
}

/// Returns the examples of the verbs of this build.
fn examples() -> String {
    let is_built = |line: &&str| {
        let verb = line.trim_start().strip_prefix("ranlab ").and_then(|words| words.split(' ').next());
        verb.is_none_or(|verb| verb::verbs(DOMAINS).any(|it| it.path.first() == Some(&verb)))
    };
    EXAMPLES.lines().filter(is_built).collect::<Vec<_>>().join("\n")
}

/// Parses a command line, including the program's name, and runs it.
pub fn run(arguments: impl IntoIterator<Item: Into<OsString> + Clone>) -> Result<(), Failure> {
    output::begin();
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let parsed = command().try_get_matches_from(&arguments);
    let parsed = parsed
        .and_then(|matches| Ok((CommandLine::from_arg_matches(&matches)?, verb::read(&matches, DOMAINS)?)));
    let (command_line, verb) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let parsed = exit::of_clap(&error, &arguments);
            return parsed.inspect_err(|failure| output::error_object(written_format(&arguments), failure));
        }
    };
    let format = command_line.format;
    let missing_rig = features::missing_rig;
    let context = Context { format, domains: DOMAINS, registry: REGISTRY, missing_rig };
    command_line
        .prepare()
        .and_then(|()| verb(&context))
        .inspect_err(|failure| output::error_object(format, failure))
}

/// Returns the format that an unparsable command line requests.
fn written_format(arguments: &[OsString]) -> Format {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let value = words.iter().enumerate().find_map(|(index, word)| match word.strip_prefix("--format") {
        Some("") => words.get(index + 1).copied(),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    value.and_then(|value| Format::from_str(value, false).ok()).unwrap_or_default()
}
