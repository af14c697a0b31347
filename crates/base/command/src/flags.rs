//! Command-line flags generated at run time from the fields of a component's configuration.
//!
//! `#[command(flatten)] fleet: Flags<FleetComponent>` in a verb's arguments is sufficient.

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, Error};
use ranlab_campaign::schema::{Kind, Presence};
use ranlab_campaign::value::{Value, parse_span};
use ranlab_lab::{Config, Field, FieldError, Role};

/// Configuration of a component from the command line; every field is a flag.
#[derive(Debug, Clone, Default)]
pub struct Flags<C> {
    /// Configuration made from the flags.
    pub config: C,
}

fn flag(field: &Field) -> String {
    field.flag.map_or_else(|| field.name.replace('_', "-"), str::to_owned)
}

fn argument(field: &Field) -> Arg {
    let key = &field.key;
    let mut help = capital(&key.comment);
    if let Some((other, values)) = &key.when {
        help += &format!(" (with --{} {})", other.replace('_', "-"), values.join(" or "));
    }
    let mut argument = Arg::new(field.name).long(flag(field)).help(help);
    if let Some(earlier) = &key.formerly {
        argument = argument.alias(earlier.replace('_', "-"));
    }
    if matches!((&key.kind, &key.presence), (Kind::Bool, Presence::Default(Value::Bool(false)))) {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = match &key.kind {
        Kind::List(of) => argument
            .action(ArgAction::Append)
            .value_delimiter(',')
            .value_name(value_name(of, field))
            .value_parser(closed_or((**of).clone())),
        kind => argument.value_name(value_name(kind, field)).value_parser(closed_or(kind.clone())),
    };
    match &key.presence {
        Presence::Default(Value::List(list)) if list.is_empty() => argument,
        Presence::Default(Value::List(list)) => {
            argument.default_value(list.iter().map(Value::to_string).collect::<Vec<_>>().join(","))
        }
        // The help shows no default if the default is an empty text.
        Presence::Default(Value::Text(text)) if text.is_empty() => argument,
        Presence::Default(value) => argument.default_value(value.to_string()),
        Presence::Required => argument.required(true),
        Presence::Optional => argument,
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn value_name(kind: &Kind, field: &Field) -> String {
    match kind {
        Kind::Span => "TIME".to_owned(),
        Kind::Int { .. } | Kind::Float { .. } if !field.key.unit.is_empty() => field.key.unit.clone(),
        _ => field.flag.unwrap_or(field.name).to_uppercase(),
    }
}

/// Returns the parser for values of a kind. If the kind has a fixed set of values, the help lists them and shells complete
/// them.
fn closed_or(kind: Kind) -> ValueParser {
    match kind {
        Kind::Choice(choices) => PossibleValuesParser::new(choices).map(Value::Text).into(),
        kind => parser(kind),
    }
}

/// Returns a parser for values of a kind. Its error names the allowed values.
fn parser(kind: Kind) -> ValueParser {
    ValueParser::from(move |text: &str| {
        read(&kind, text).ok_or_else(|| format!("it must be {}", kind.allowed()))
    })
}

fn read(kind: &Kind, text: &str) -> Option<Value> {
    let value = match kind {
        Kind::Bool => Value::Bool(text.parse().ok()?),
        Kind::Int { .. } => Value::Int(text.parse().ok()?),
        Kind::Float { .. } => Value::Float(text.parse().ok()?),
        Kind::Span => Value::Span(parse_span(text)?),
        Kind::Text | Kind::Choice(_) | Kind::List(_) | Kind::OneOrMore(_) => Value::Text(text.to_owned()),
    };
    kind.accept(&value).ok()
}

/// Returns the fields that are flags.
fn flags<C: Config>() -> impl Iterator<Item = Field> {
    C::fields().into_iter().filter(|field| field.role != Role::Inner)
}

impl<C: Config> clap::Args for Flags<C> {
    /// Adds the flags. If several components of a verb have the same flag, the flag is added once and applies to all of them.
    fn augment_args(command: Command) -> Command {
        let there = |command: &Command, field: &Field| {
            command.get_arguments().any(|argument| argument.get_id() == field.name)
        };
        flags::<C>().fold(command, |command, field| {
            if there(&command, &field) { command } else { command.arg(argument(&field)) }
        })
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Config> clap::FromArgMatches for Flags<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Self { config: C::default() };
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for field in flags::<C>() {
            if matches.value_source(field.name) != Some(clap::parser::ValueSource::CommandLine) {
                continue;
            }
            let value = match field.key.kind {
                Kind::Bool if matches.try_get_one::<bool>(field.name).is_ok() => {
                    Value::Bool(matches.get_flag(field.name))
                }
                Kind::List(_) => Value::List(
                    matches.get_many::<Value>(field.name).into_iter().flatten().cloned().collect(),
                ),
                _ => match matches.get_one::<Value>(field.name) {
                    Some(value) => value.clone(),
                    None => continue,
                },
            };
            self.config.set(field.name, &value).map_err(|error| {
                // The message names the flag, so it must not contain the field's name.
                let message = match &error {
                    FieldError::Text { reason, .. } => reason.clone(),
                    FieldError::Value { allowed, given, .. } => format!("it must be {allowed}, not {given}"),
                    error => error.to_string(),
                };
                Error::raw(ErrorKind::ValueValidation, format!("--{}: {message}\n", flag(&field)))
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::time::Duration;

    ranlab_lab::config! {
        /// For the tests.
        pub struct Example {
            /// number of things
            count: u32 = 3, range(1, 9);
            /// time between two things
            period: Duration = Duration::from_millis(50);
            /// names of the models
            models: Vec<String> = vec!["a".to_owned()];
            /// whether smoke is forbidden
            no_smoke: bool = false;
            /// output file
            file: Option<String> = None, flag("record");
        }
    }

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        example: Flags<Example>,
    }

    fn parse(words: &[&str]) -> Result<Flags<Example>, String> {
        let words = [&["x"], words].concat();
        Line::try_parse_from(words).map(|line| line.example).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_match_the_fields_of_a_configuration() {
        assert_eq!(parse(&[]).unwrap().config, Example::default());
        let words = ["--count", "9", "--period", "1s", "--models", "b,c", "--models", "d", "--no-smoke"];
        let flags = parse(&[&words[..], &["--record", "10s"]].concat()).unwrap();
        let expected = Example {
            count: 9,
            period: Duration::from_secs(1),
            models: ["b", "c", "d"].map(str::to_owned).to_vec(),
            no_smoke: true,
            file: Some("10s".to_owned()),
        };
        assert_eq!(flags.config, expected);
    }

    #[test]
    fn error_lists_allowed_values() {
        let error = parse(&["--count", "10"]).unwrap_err();
        assert!(error.contains("--count") && error.contains("a whole number from 1 to 9"), "{error}");
        let error = parse(&["--period", "10"]).unwrap_err();
        assert!(error.contains("ms"), "{error}");
        assert!(parse(&["--cuont", "1"]).unwrap_err().contains("--count"));
    }

    #[test]
    fn help_contains_comment_and_default() {
        let help = Line::try_parse_from(["x", "--help"]).unwrap_err().to_string();
        assert!(help.contains("Number of things") && help.contains("[default: 3]"), "{help}");
        assert!(help.contains("--record") && help.contains("[default: 50ms]"), "{help}");
    }
}
