//! `ranlab emulate`: one verb for the base stations of several domains. Each domain registers its protocols.
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::args;
use crate::exit::Failure;
use crate::verb::{Context, Domains, Parsed, Verb};
use crate::web::WebArguments;

/// The verb `emulate`. A program has it if at least one domain registers a protocol.
pub(crate) static VERB: Verb = Verb::of_domains(
    &["emulate"],
    50,
    "Emulate base stations and their UEs towards a controller",
    augment,
    read,
);

/// Name of the option that selects the protocol.
const PROTOCOL: &str = "protocol";

/// Options of base stations of every protocol.
#[derive(Debug, clap::Args)]
struct Common {
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Options for base stations of any protocol.
#[derive(Debug)]
pub struct Request {
    /// Name of the protocol.
    pub protocol: String,
    /// Duration of the run; `None`: until Ctrl-C.
    pub duration: Option<Duration>,
    /// Options of the live page.
    pub web: WebArguments,
}

/// Options for the base stations of the protocols that a domain registers.
pub trait Emulate: Args + 'static {
    /// Names of the protocols, and their descriptions.
    const PROTOCOLS: &'static [(&'static str, &'static str)];
    /// Examples, one per line.
    const EXAMPLES: &'static [&'static str];
    /// Options that no other protocol accepts: name of the argument, and the reason.
    const OWN: &'static [(&'static str, &'static str)] = &[];

    /// Emulates until Ctrl-C, SIGTERM or the end of the duration.
    ///
    /// # Errors
    /// The base stations could not be started, or none was served.
    fn emulate(self, request: Request, context: &Context) -> Result<(), Failure>;
}

/// An entry in a domain's table of protocols.
#[derive(Debug, Clone, Copy)]
pub struct Protocols {
    names: &'static [(&'static str, &'static str)],
    examples: &'static [&'static str],
    own: &'static [(&'static str, &'static str)],
    augment: fn(Command) -> Command,
    read: fn(&ArgMatches, Request) -> Result<Parsed, Error>,
}

impl Protocols {
    /// Returns the entry of some protocols.
    pub const fn new<A: Emulate>() -> Self {
        Self {
            names: A::PROTOCOLS,
            examples: A::EXAMPLES,
            own: A::OWN,
            augment: A::augment_args,
            read: read_protocols::<A>,
        }
    }
}

fn read_protocols<A: Emulate>(matches: &ArgMatches, request: Request) -> Result<Parsed, Error> {
    let arguments = A::from_arg_matches(matches)?;
    Ok(Box::new(move |context: &Context| arguments.emulate(request, context)))
}

fn protocols(domains: Domains) -> impl Iterator<Item = &'static Protocols> {
    domains.iter().flat_map(|domain| domain.protocols)
}

fn augment(command: Command, domains: Domains) -> Command {
    let names = || protocols(domains).flat_map(|all| all.names);
    let values = names().map(|(name, about)| PossibleValue::new(*name).help(*about));
    let protocol = Arg::new(PROTOCOL)
        .long(PROTOCOL)
        .value_name("PROTOCOL")
        .help("Protocol of the base stations")
        .value_parser(PossibleValuesParser::new(values));
    // The first protocol is the default.
    let protocol = match names().next() {
        Some((name, _)) => protocol.default_value(*name),
        None => protocol,
    };
    let command = Common::augment_args(command.arg(protocol));
    let command = protocols(domains).fold(command, |command, all| (all.augment)(command));
    let examples: Vec<&str> = protocols(domains).flat_map(|all| all.examples).copied().collect();
    WebArguments::augment_args(command).after_help(format!("Examples:\n  {}", examples.join("\n  ")))
}

fn read(matches: &ArgMatches, domains: Domains) -> Result<Parsed, Error> {
    let protocol = matches.get_one::<String>(PROTOCOL).map_or("", String::as_str);
    let is_of = |all: &&Protocols| all.names.iter().any(|(name, _)| *name == protocol);
    // clap accepts these names only.
    let Some(selected) = protocols(domains).find(is_of) else {
        return Err(Error::new(ErrorKind::InvalidValue));
    };
    for (name, why) in protocols(domains).filter(|all| !is_of(all)).flat_map(|all| all.own) {
        if matches.value_source(name) == Some(ValueSource::CommandLine) {
            let failure = Failure::Usage((*why).to_owned());
            return Ok(Box::new(move |_: &Context| Err(failure)));
        }
    }
    let Common { duration } = Common::from_arg_matches(matches)?;
    let web = WebArguments::from_arg_matches(matches)?;
    (selected.read)(matches, Request { protocol: protocol.to_owned(), duration, web })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use crate::verb::{self, Domain};
    use ranlab_lab::Registry;
    use ranlab_lab::base::BASE;

    #[derive(Debug, clap::Args)]
    struct First {
        #[arg(long)]
        log: Option<String>,
    }

    #[derive(Debug, clap::Args)]
    struct Second {
        #[arg(long)]
        mosaic: bool,
    }

    impl Emulate for First {
        const PROTOCOLS: &'static [(&'static str, &'static str)] = &[("e2", "E2")];
        const EXAMPLES: &'static [&'static str] = &["ranlab emulate"];
        const OWN: &'static [(&'static str, &'static str)] = &[("log", "--log is of e2")];
        fn emulate(self, request: Request, _: &Context) -> Result<(), Failure> {
            Err(Failure::Check(format!("{} {:?}", request.protocol, self.log)))
        }
    }

    impl Emulate for Second {
        const PROTOCOLS: &'static [(&'static str, &'static str)] = &[("flexran", "a"), ("empower", "b")];
        const EXAMPLES: &'static [&'static str] = &["ranlab emulate --protocol flexran"];
        fn emulate(self, request: Request, _: &Context) -> Result<(), Failure> {
            Err(Failure::Check(format!("{} {} {:?}", request.protocol, self.mosaic, request.duration)))
        }
    }

    static E2: Domain = Domain { protocols: &[Protocols::new::<First>()], ..Domain::new(&BASE) };
    static SDRAN: Domain = Domain { protocols: &[Protocols::new::<Second>()], ..Domain::new(&BASE) };

    static BOTH: Domains = &[&E2, &SDRAN];
    static ONE: Domains = &[&SDRAN];

    fn run(domains: Domains, words: &[&str]) -> Result<String, ErrorKind> {
        let words = [&["x", "emulate"], words].concat();
        let command = verb::attach(Command::new("x"), domains);
        command.clone().debug_assert();
        let matches = command.try_get_matches_from(words).map_err(|error| error.kind())?;
        let context =
            Context { format: Format::Text, domains, registry: Registry(&[]), missing_rig: |_| None };
        let run = verb::read(&matches, domains).map_err(|error| error.kind())?;
        Ok(run(&context).unwrap_err().to_string())
    }

    #[test]
    fn protocol_option_selects_domain_and_defaults_to_first() {
        let both = |words: &[&str]| run(BOTH, words).unwrap();
        assert_eq!(both(&["--log", "a"]), "e2 Some(\"a\")");
        assert_eq!(both(&["--protocol", "empower", "--mosaic"]), "empower true None");
        assert_eq!(both(&["--protocol", "flexran", "--duration", "1s"]), "flexran false Some(1s)");
        assert_eq!(both(&["--protocol", "flexran", "--log", "a"]), "--log is of e2");
    }

    #[test]
    fn protocols_of_other_builds_are_rejected() {
        assert_eq!(run(ONE, &[]).unwrap(), "flexran false None");
        assert_eq!(run(ONE, &["--protocol", "e2"]), Err(ErrorKind::InvalidValue));
    }
}
