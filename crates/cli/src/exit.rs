//! Errors of the command line, each as one sentence with an example.
use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use ranlab_campaign::schema::nearest;

use crate::{features, help};

pub use ranlab_command::exit::{Failure, INTERRUPTED, code, report};

/// Converts clap's result: help goes to stdout; any error becomes one sentence with an example.
pub fn of_clap(error: &clap::Error, arguments: &[OsString]) -> Result<(), Failure> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print().map_err(|error| Failure::of_output(&error))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::Usage(missing_command(arguments)))
        }
        ErrorKind::InvalidSubcommand => {
            Err(missing_verb(arguments).unwrap_or_else(|| Failure::Usage(unknown_command(error, arguments))))
        }
        _ => {
            if let Some(missing) = Some(arguments).filter(|_| is_protocol(error)).and_then(missing_verb) {
                return Err(missing);
            }
            let root = crate::verbs::command();
            let (command, path) = reached(&root, arguments);
            let mut text = sentence(&error.to_string());
            if let Some(near) = nearest_value(error).filter(|_| !text.contains("a similar")) {
                text.push_str(&format!("; did you mean `{near}`?"));
            }
            if let Some(hint) = misplaced(error, command) {
                // clap proposes to pass the flag as a value, which would be misleading.
                text.truncate(text.find("; to pass ").unwrap_or(text.len()));
                text.push_str(&format!("; {hint}"));
            }
            let example = example(command, &text);
            let example = example.map(|example| format!("; example: {example}")).unwrap_or_default();
            Err(Failure::Usage(format!("{text}{example} (see `{path} --help`)")))
        }
    }
}

/// Returns the error for a verb or protocol that other builds have.
fn missing_verb(arguments: &[OsString]) -> Option<Failure> {
    let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    features::missing_verb(&words.flat_map(|word| word.split('=')).collect::<Vec<_>>())
}

fn is_protocol(error: &clap::Error) -> bool {
    let argument = error.get(ContextKind::InvalidArg);
    matches!(argument, Some(ContextValue::String(argument)) if argument.starts_with("--protocol"))
}

/// Returns an example that helps with an error. If the error names a flag, the example contains this flag. Returns `None` if the error
/// already contains the correct form.
fn example(command: &Command, text: &str) -> Option<String> {
    if ["a similar", "did you mean", "; write "].iter().any(|words| text.contains(words)) {
        return None;
    }
    let is_flag_char = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let flag = text.split(|c: char| !is_flag_char(c)).find(|word| word.starts_with("--") && word.len() > 2);
    let with_flag = |flag: &str| {
        help::examples(command).into_iter().find(|example| example.split(' ').any(|word| word == flag))
    };
    match flag {
        Some(flag) if text.contains("for example ") => with_flag(flag),
        Some(flag) => with_flag(flag).or_else(|| help::example(command)),
        None => help::example(command),
    }
}

/// Returns the allowed value that is closest to an invalid one.
fn nearest_value(error: &clap::Error) -> Option<&str> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidValue) else { return None };
    let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else { return None };
    nearest(given, valid.iter().map(String::as_str))
}

/// Flags that name the peer of a command. Other commands take their peer as an argument.
const PEER_FLAGS: [&str; 2] = ["--n4", "--connect"];

/// Returns the correct form if an address lacks its flag, or if a flag precedes an address that is an argument.
fn misplaced(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    let has = |flag: &str| command.get_arguments().any(|it| it.get_long() == flag.strip_prefix("--"));
    let is_flag = given.starts_with('-');
    if is_flag && PEER_FLAGS.contains(&given.as_str()) && command.get_positionals().next().is_some() {
        return Some("write the address without a flag".to_owned());
    }
    let is_address = given.contains(':') || given.parse::<std::net::IpAddr>().is_ok();
    let flag = PEER_FLAGS.into_iter().find(|flag| has(flag));
    flag.filter(|_| !is_flag && is_address).map(|flag| format!("write {flag} {given}"))
}

/// Returns the command selected by a command line, and its path.
fn reached<'a>(root: &'a Command, arguments: &[OsString]) -> (&'a Command, String) {
    let mut command = root;
    let mut path = "ranlab".to_owned();
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        let Some(below) = command.find_subcommand(word) else { continue };
        command = below;
        path = format!("{path} {word}");
    }
    (command, path)
}

fn missing_command(arguments: &[OsString]) -> String {
    let root = crate::verbs::command();
    let (command, path) = reached(&root, arguments);
    let names: Vec<&str> =
        command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
    let example = help::example(command).unwrap_or_default();
    format!("`{path}` needs a command: {}; example: {example}", names.join(", "))
}

fn unknown_command(error: &clap::Error, arguments: &[OsString]) -> String {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return sentence(&error.to_string());
    };
    let root = crate::verbs::command();
    let (command, path) = reached(&root, arguments);
    let names = || command.get_subcommands().map(Command::get_name);
    if let Some(near) = nearest(word, names()) {
        return format!("there is no command `{path} {word}`; did you mean `{path} {near}`?");
    }
    // The user may have written the subcommand without its parent command.
    let holder = command.get_subcommands().find(|below| below.find_subcommand(word).is_some());
    if let Some(holder) = holder {
        return format!(
            "there is no command `{path} {word}`; did you mean `{path} {} {word}`?",
            holder.get_name()
        );
    }
    if let Some((_, _, right)) = ELSEWHERE.iter().find(|(holder, name, _)| *holder == path && name == word) {
        return format!("there is no command `{path} {word}`; write `{right}`");
    }
    let names: Vec<&str> = names().filter(|name| *name != "help").collect();
    format!("there is no command `{path} {word}`; commands: {}", names.join(", "))
}

/// Command, subcommand that users expect there, and the command to use instead.
const ELSEWHERE: [(&str, &str, &str); 6] = [
    ("ranlab", "version", "ranlab --version"),
    ("ranlab load", "ric", "ranlab emulate --connect tcp://127.0.0.1:36421 --nodes 100 --ues 32"),
    ("ranlab load", "controller", "ranlab emulate --protocol flexran --connect tcp://127.0.0.1:2210"),
    ("ranlab bench", "init", "ranlab bench new RIG > my.toml"),
    ("ranlab bench", "validate", "ranlab bench check FILE"),
    ("ranlab xapp", "subscribe", "ranlab xapp monitor --sm kpm"),
];

/// Joins clap's paragraphs up to the usage into one line.
fn sentence(rendered: &str) -> String {
    let lines = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let mut text = String::new();
    for line in lines {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if let Some(tip) = line.strip_prefix("tip: ") {
            text.push_str("; ");
            text.push_str(tip);
        } else {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_one_sentence() {
        let rendered = "error: unexpected argument '--nods' found\n\n  tip: a similar argument exists: '--nodes'\n\n\
                        Usage: ranlab emulate\n\nFor more information, try '--help'.\n";
        assert_eq!(
            sentence(rendered),
            "unexpected argument '--nods' found; a similar argument exists: '--nodes'"
        );
        let missing = "error: the following required arguments were not provided:\n  <FILE>...\n\nUsage: x\n";
        assert_eq!(sentence(missing), "the following required arguments were not provided: <FILE>...");
    }
}
