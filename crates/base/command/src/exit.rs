//! Result of a verb: an exit code for scripts, and a one-sentence message.
use std::io;
use std::process::ExitCode;

use ranlab_lab::worker::{ComponentError, FaultOwner};
use ranlab_transport::{BindError, ConnectError};

/// Exit code of a verb that Ctrl-C or SIGTERM stopped, as shells report it (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// Failure of a verb. The text is one sentence that names the cause and the allowed values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A check failed: exit code 1.
    #[error("{0}")]
    Check(String),
    /// The command line or an input file is invalid: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Another build of the program has the verb or rig: exit code 2.
    #[error("this build has no `{what}`; build with --features {features}; this build has: {built}")]
    NotBuilt {
        /// The missing feature, e.g. `check upf`.
        what: String,
        /// Features that the verb or rig needs, separated by commas.
        features: String,
        /// Features of this build.
        built: String,
    },
    /// The machine or the network lacks something: exit code 3.
    #[error("{0}")]
    Environment(String),
    /// The verb was stopped by the user or a signal: exit code 130.
    #[error("{0}")]
    Interrupted(String),
    /// The reader of stdout has closed it: exit code 0.
    #[error("the output was closed")]
    OutputClosed,
}

impl Failure {
    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Check(_) => 1,
            Self::Usage(_) | Self::NotBuilt { .. } => 2,
            Self::Environment(_) => 3,
            Self::Interrupted(_) => INTERRUPTED,
        }
    }

    /// Returns the failure as JSON: `{"code": 2, "kind": "usage", "message": ...}`; `None` if nothing failed.
    pub fn json(&self) -> Option<serde_json::Value> {
        let kind = match self {
            Self::OutputClosed => return None,
            Self::Check(_) => "check",
            Self::Usage(_) => "usage",
            Self::NotBuilt { .. } => "not-built",
            Self::Environment(_) => "environment",
            Self::Interrupted(_) => "interrupted",
        };
        Some(serde_json::json!({ "code": self.code(), "kind": kind, "message": self.to_string() }))
    }

    /// Converts an error of writing to stdout.
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

impl From<ComponentError> for Failure {
    fn from(trouble: ComponentError) -> Self {
        match trouble.fault {
            FaultOwner::Sut => Self::Check(trouble.what),
            FaultOwner::Environment => Self::Environment(trouble.what),
            FaultOwner::Rig => Self::Usage(trouble.what),
        }
    }
}

/// Prints the failure, if any, to stderr, and returns the exit code.
pub fn report(result: Result<(), Failure>) -> ExitCode {
    ExitCode::from(code(result))
}

/// Like [`report`], with the code as a number.
pub fn code(result: Result<(), Failure>) -> u8 {
    let Err(failure) = result else { return 0 };
    if failure.code() != 0 {
        eprintln!("ranlab: {failure}");
    }
    failure.code()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn closed_output_is_not_an_error() {
        assert_eq!(Failure::of_output(&io::ErrorKind::BrokenPipe.into()).code(), 0);
        assert_eq!(Failure::of_output(&io::ErrorKind::StorageFull.into()).code(), 3);
    }
}
