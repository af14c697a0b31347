//! Registration of verbs. Each domain has a table of its verbs, and a program joins these tables.
//!
//! ```text
//!  Domain { verbs: [Verb::new::<Arguments>(path, place, about), …] } --attach--> clap --read--> Run::run
//! ```
//!
//! A verb is an argument type that implements [`Run`], and a line in its domain's table.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error};
use ranlab_lab::Registry;
use serde_json::Value as Json;

use crate::emulate::{self, Protocols};
use crate::exit::Failure;
use crate::output::Format;

/// The domains of a program.
pub type Domains = &'static [&'static Domain];

/// Settings of the program for a running verb.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Format of the output.
    pub format: Format,
    /// Domains of this program.
    pub domains: Domains,
    /// Components and rigs of these domains.
    pub registry: Registry,
    /// Returns the error for a rig that another build has; `None` if no build has it.
    pub missing_rig: fn(&str) -> Option<Failure>,
}

/// Arguments of a verb.
pub trait Run: Args + 'static {
    /// Runs the verb.
    ///
    /// # Errors
    /// The verb failed; the variant determines the exit code.
    fn run(self, context: &Context) -> Result<(), Failure>;
}

/// A verb with parsed arguments.
pub type Parsed = Box<dyn FnOnce(&Context) -> Result<(), Failure>>;

/// An entry in a domain's table of verbs.
#[derive(Debug, Clone, Copy)]
pub struct Verb {
    /// Words after the program's name, e.g. `["check", "upf"]`; the first of two is the name of a group.
    pub path: &'static [&'static str],
    /// Position in the list of its command's help.
    place: u8,
    about: &'static str,
    augment: fn(Command, Domains) -> Command,
    read: fn(&ArgMatches, Domains) -> Result<Parsed, Error>,
}

impl Verb {
    /// Returns the entry of a verb. `place`: position in the list of its command's help.
    pub const fn new<A: Run>(path: &'static [&'static str], place: u8, about: &'static str) -> Self {
        Self { path, place, about, augment: |command, _| A::augment_args(command), read: read_verb::<A> }
    }

    /// Returns the entry of a verb whose arguments depend on the domains of the program.
    pub(crate) const fn of_domains(
        path: &'static [&'static str],
        place: u8,
        about: &'static str,
        augment: fn(Command, Domains) -> Command,
        read: fn(&ArgMatches, Domains) -> Result<Parsed, Error>,
    ) -> Self {
        Self { path, place, about, augment, read }
    }

    fn command(&self, domains: Domains) -> Command {
        let name = self.path.last().copied().unwrap_or_default();
        // The help shows only `about`, because the documentation of the argument type is for programmers.
        (self.augment)(Command::new(name), domains).about(self.about).long_about(None)
    }
}

fn read_verb<A: Run>(matches: &ArgMatches, _: Domains) -> Result<Parsed, Error> {
    let arguments = A::from_arg_matches(matches)?;
    Ok(Box::new(move |context: &Context| arguments.run(context)))
}

/// A command whose subcommands are verbs of several domains. A group without verbs is not shown.
#[derive(Debug, Clone, Copy)]
struct Group {
    name: &'static str,
    place: u8,
    about: &'static str,
    augment: fn(Command) -> Command,
}

/// All groups.
const GROUPS: [Group; 4] = [
    Group {
        name: "controller",
        place: 40,
        about: "Run a specialised controller: slicing, traffic, or another SD-RAN protocol",
        augment: |command| command,
    },
    Group {
        name: "check",
        place: 80,
        about: "Check the conformance of a UPF, RIC or E2 agent, clause by clause",
        augment: crate::check::Options::augment_args,
    },
    Group {
        name: "bench",
        place: 100,
        about: "Measure: run scenarios, write reports, compare results",
        augment: |command| command,
    },
    Group {
        name: "tls",
        place: 135,
        about: "Make certificates for tls:// addresses",
        augment: |command| command,
    },
];

/// A domain's contribution to the command line: verbs.
#[derive(Debug)]
pub struct Domain {
    /// Components and rigs of the domain.
    pub lab: &'static ranlab_lab::Domain,
    /// Verbs of the domain.
    pub verbs: &'static [Verb],
    /// Base stations that `emulate` offers.
    pub protocols: &'static [Protocols],
    /// Scenarios that `bench new` writes in addition to those of rigs.
    pub templates: &'static [Template],
    /// Names of the domain's profiles of third-party systems.
    pub profiles: &'static [&'static str],
    /// Scenario keys with a file name, which is relative to the scenario's folder.
    pub paths: &'static [&'static str],
    /// Third-party programs that `doctor` looks for.
    pub equipment: Option<Equipment>,
}

impl Domain {
    /// Returns a domain without verbs.
    pub const fn new(lab: &'static ranlab_lab::Domain) -> Self {
        Self { lab, verbs: &[], protocols: &[], templates: &[], profiles: &[], paths: &[], equipment: None }
    }
}

/// A named short scenario of a rig.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// Name for `bench new`.
    pub name: &'static str,
    /// Rig of the scenario.
    pub rig: &'static str,
    /// Text of the scenario.
    pub text: &'static str,
}

/// Third-party programs of a domain.
#[derive(Debug, Clone, Copy)]
pub struct Equipment {
    /// Key of the list in the output of `doctor`.
    pub key: &'static str,
    /// Searches this machine.
    pub find: fn() -> Vec<Found>,
}

/// Result of a search for a third-party program.
#[derive(Debug, Clone)]
pub struct Found {
    /// Name, e.g. `switch vpp`.
    pub name: String,
    /// Whether it is installed.
    pub is_ready: bool,
    /// The finding, or the missing item.
    pub found: String,
    /// Command that installs it.
    pub install: &'static str,
    /// The finding as JSON.
    pub json: Json,
}

/// Returns all verbs of some domains.
pub fn verbs(domains: Domains) -> impl Iterator<Item = &'static Verb> {
    let emulates = domains.iter().any(|domain| !domain.protocols.is_empty());
    let emulate = emulates.then_some(&emulate::VERB);
    domains.iter().flat_map(|domain| domain.verbs).chain(emulate)
}

/// Adds the verbs of some domains to a command, in the order of their positions.
pub fn attach(root: Command, domains: Domains) -> Command {
    let below = |group: Option<&str>| {
        let found = verbs(domains).filter(move |verb| match verb.path {
            [_] => group.is_none(),
            [first, ..] => Some(*first) == group,
            [] => false,
        });
        found.map(|verb| (verb.place, verb.command(domains))).collect::<Vec<_>>()
    };
    let mut commands = below(None);
    for group in GROUPS {
        let verbs = below(Some(group.name));
        if !verbs.is_empty() {
            let command = (group.augment)(Command::new(group.name)).about(group.about).long_about(None);
            commands.push((group.place, with(command, verbs)));
        }
    }
    with(root, commands)
}

fn with(command: Command, mut below: Vec<(u8, Command)>) -> Command {
    below.sort_by_key(|(place, _)| *place);
    let command = command.subcommand_required(true).arg_required_else_help(true);
    command.subcommands(below.into_iter().map(|(_, command)| command))
}

/// Reads the arguments of the selected verb.
///
/// # Errors
/// An argument is invalid.
pub fn read(matches: &ArgMatches, domains: Domains) -> Result<Parsed, Error> {
    let mut path = Vec::new();
    let mut at = matches;
    while let Some((name, below)) = at.subcommand() {
        path.push(name);
        at = below;
        if let Some(verb) = verbs(domains).find(|verb| verb.path == path) {
            return (verb.read)(at, domains);
        }
    }
    Err(Error::new(ErrorKind::MissingSubcommand))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Args)]
    struct Count {
        #[arg(value_parser = clap::value_parser!(u8).range(..9))]
        number: u8,
    }

    impl Run for Count {
        fn run(self, _: &Context) -> Result<(), Failure> {
            Err(Failure::Check(format!("counted to {}", self.number)))
        }
    }

    static BASE: Domain = Domain {
        verbs: &[Verb::new::<Count>(&["last"], 200, "z"), Verb::new::<Count>(&["check", "all"], 2, "b")],
        ..Domain::new(&ranlab_lab::base::BASE)
    };
    static MORE: Domain = Domain {
        verbs: &[Verb::new::<Count>(&["first"], 1, "a"), Verb::new::<Count>(&["check", "one"], 1, "a")],
        ..Domain::new(&ranlab_lab::base::BASE)
    };
    static BOTH: &[&Domain] = &[&BASE, &MORE];

    fn names(command: &Command) -> Vec<&str> {
        command.get_subcommands().map(Command::get_name).collect()
    }

    #[derive(Debug, clap::Args)]
    struct Checked {
        #[arg(required_unless_present = "list")]
        address: Option<String>,
        #[command(flatten)]
        options: crate::check::Options,
    }

    impl Run for Checked {
        fn run(self, _: &Context) -> Result<(), Failure> {
            Err(Failure::Check(format!("{:?} {:?}", self.address, self.options)))
        }
    }

    /// Options of the group `check` are accepted before and after the name of the verb.
    #[test]
    fn verb_accepts_options_of_its_group() {
        static CHECKS: Domain = Domain {
            verbs: &[Verb::new::<Checked>(&["check", "upf"], 1, "a")],
            ..Domain::new(&ranlab_lab::base::BASE)
        };
        static ONE: &[&Domain] = &[&CHECKS];
        attach(Command::new("x"), ONE).debug_assert();
        let run = |words: &[&str]| {
            let matches = attach(Command::new("x"), ONE).try_get_matches_from(words).ok()?;
            let context = Context {
                format: Format::Json,
                domains: ONE,
                registry: Registry(&[]),
                missing_rig: |_| None,
            };
            Some(read(&matches, ONE).unwrap()(&context).unwrap_err().to_string())
        };
        let listed = "Some(\"here\") Options { list: true, junit: None }".to_owned();
        assert_eq!(run(&["x", "check", "upf", "here", "--list"]), Some(listed.clone()));
        assert_eq!(run(&["x", "check", "--list", "upf", "here"]), Some(listed.clone()));
        assert_eq!(run(&["x", "check", "upf", "--list"]), Some(listed.replace("Some(\"here\")", "None")));
        assert_eq!(run(&["x", "check", "upf"]), None);
    }

    #[test]
    fn verbs_are_ordered_by_their_number_not_by_domain() {
        let command = attach(Command::new("x"), BOTH);
        assert_eq!(names(&command), ["first", "check", "last"]);
        assert_eq!(names(command.find_subcommand("check").unwrap()), ["one", "all"]);
    }

    #[test]
    fn selected_verb_runs_with_its_arguments() {
        let run = |words: &[&str]| {
            let matches = attach(Command::new("x"), BOTH).try_get_matches_from(words).unwrap();
            let registry = Registry(&[]);
            let context = Context { format: Format::Text, domains: BOTH, registry, missing_rig: |_| None };
            read(&matches, BOTH).unwrap()(&context).unwrap_err().to_string()
        };
        assert_eq!(run(&["x", "check", "one", "7"]), "counted to 7");
        assert_eq!(run(&["x", "last", "3"]), "counted to 3");
        assert!(attach(Command::new("x"), BOTH).try_get_matches_from(["x", "check", "one", "9"]).is_err());
    }
}
