//! How a verb ends: an exit code that scripts can rely on, and one sentence for people.
use std::io;
use std::process::ExitCode;

use ranlab_parts::worker::{Fault, Trouble};
use ranlab_sdk::transport::{BindError, ConnectError};

/// Exit code of a verb that Ctrl-C or SIGTERM stopped, as shells report it (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// Why a verb did not end well. The text is one sentence that says whose fault it was and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// What was to be checked does not hold: exit code 1.
    #[error("{0}")]
    Check(String),
    /// The command line or an input file is wrong: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// The machine or the network lacks something: exit code 3.
    #[error("{0}")]
    Environment(String),
    /// The user or a signal stopped it before its end: exit code 130.
    #[error("{0}")]
    Interrupted(String),
    /// The reader of our output has gone, which is its right: exit code 0.
    #[error("the output was closed")]
    OutputClosed,
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Check(_) => 1,
            Self::Usage(_) => 2,
            Self::Environment(_) => 3,
            Self::Interrupted(_) => INTERRUPTED,
        }
    }

    /// As programs read it: `{"code": 2, "kind": "usage", "message": ...}`; `None` where nothing failed.
    pub fn json(&self) -> Option<serde_json::Value> {
        let kind = match self {
            Self::OutputClosed => return None,
            Self::Check(_) => "check",
            Self::Usage(_) => "usage",
            Self::Environment(_) => "environment",
            Self::Interrupted(_) => "interrupted",
        };
        Some(serde_json::json!({ "code": self.code(), "kind": kind, "message": self.to_string() }))
    }

    /// Of writing to the standard output.
    pub fn of_output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Environment(format!("cannot write to the standard output: {error}")),
        }
    }
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Self::Environment(error.to_string())
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        Self::Environment(error.to_string())
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble.fault {
            Fault::Sut => Self::Check(trouble.what),
            Fault::Environment => Self::Environment(trouble.what),
            Fault::Rig => Self::Usage(trouble.what),
        }
    }
}

/// Says on the standard error what went wrong, if anything did, and gives the exit code.
pub fn report(result: Result<(), Failure>) -> ExitCode {
    ExitCode::from(code(result))
}

/// As [`report`], the code as a number.
pub fn code(result: Result<(), Failure>) -> u8 {
    let Err(failure) = result else { return 0 };
    if failure.code() != 0 {
        eprintln!("ranlab: {failure}");
    }
    failure.code()
}

/// What clap has to say: help goes to the standard output, anything else becomes one sentence.
pub fn of_clap(error: &clap::Error) -> Result<(), Failure> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print().map_err(|error| Failure::of_output(&error))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(Failure::Usage(
            "a verb is missing; `ranlab --help` lists them, `ranlab VERB --help` its own".into(),
        )),
        _ => Err(Failure::Usage(sentence(&error.to_string()))),
    }
}

/// Clap's paragraphs up to the usage, as one line.
fn sentence(rendered: &str) -> String {
    let told = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let mut text = String::new();
    for line in told {
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

    #[test]
    fn failures_have_codes_and_kinds() {
        let failures = [Failure::Check, Failure::Usage, Failure::Environment, Failure::Interrupted];
        let found = failures.map(|failure| failure("why".to_owned()).json().unwrap());
        let found =
            found.map(|json| (json["code"].as_u64().unwrap(), json["kind"].as_str().unwrap().to_owned()));
        let expected = [(1, "check"), (2, "usage"), (3, "environment"), (130, "interrupted")];
        assert_eq!(found, expected.map(|(code, kind)| (code, kind.to_owned())));
        assert_eq!(Failure::OutputClosed.json(), None);
    }

    #[test]
    fn a_closed_output_is_no_error() {
        assert_eq!(Failure::of_output(&io::ErrorKind::BrokenPipe.into()).code(), 0);
        assert_eq!(Failure::of_output(&io::ErrorKind::StorageFull.into()).code(), 3);
    }
}
