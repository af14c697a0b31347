//! Runs command-line tools and daemons, and quotes their error output.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use ranlab_host::process_tree;

use super::dpdk::NO_HUGE_PAGES;
use super::found;
use ranlab_lab::child::Child;
use ranlab_lab::output::Output as Kept;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, sut};

/// DPDK's message if fewer huge pages are free than requested.
const NO_MEMORY: &str = "EAL: Not enough memory available";
/// Maximum number of characters of error output that are quoted.
const QUOTED_CHARS: usize = 400;

/// Returns a command for a system program, by name or path.
pub(super) fn program(name: &str) -> Command {
    Command::new(found(name).unwrap_or_else(|| name.into()))
}

/// Runs a tool to its end. Returns its output.
///
/// # Errors
///
/// The tool is missing (an environment error), or it fails. A failure is an error of the system under test and contains
/// the tool's error output.
pub(super) fn run(command: &mut Command) -> Result<String, ComponentError> {
    process_tree::die_with_us(command.stdin(Stdio::null()));
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| environment(format!("`{name}`: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(sut(format!("`{name}` refused: {}", complaint(&output))))
}

fn complaint(output: &Output) -> String {
    let text =
        String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr })
            .into_owned();
    text.trim().chars().take(QUOTED_CHARS).collect()
}

/// Classifies the exit of a daemon. If another process has taken the huge pages since they were counted, the error is
/// an environment error.
fn ended(name: &str, how: &str, words: &str) -> ComponentError {
    let what = format!("{name} ended: {how}{words}");
    if words.contains(NO_MEMORY) { environment(format!("{NO_HUGE_PAGES} ({what})")) } else { sut(what) }
}

/// A long-running program. It ends with this process, and its last output is stored.
pub(super) struct Daemon {
    name: &'static str,
    child: Child,
    said: Arc<Kept>,
}

impl Daemon {
    /// Starts the program.
    pub(super) fn start(name: &'static str, command: &mut Command) -> Result<Self, ComponentError> {
        process_tree::die_with_us(command);
        command.stdin(Stdio::piped()).process_group(0);
        let said = Arc::new(Kept::new(None, None).map_err(environment)?);
        let child =
            said.spawn(command).map_err(|error| environment(format!("{name} cannot be started: {error}")))?;
        Ok(Self { name, child: Child::apart(child), said })
    }

    /// Returns the process id of the program.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns an error if the program has exited.
    pub(super) fn check(&mut self) -> Result<(), ComponentError> {
        match self.child.ended() {
            None => Ok(()),
            Some(how) => Err(ended(self.name, &how, &self.said.last_words())),
        }
    }

    /// Returns the last output of the program, as the end of a sentence.
    pub(super) fn last_words(&self) -> String {
        self.said.last_words()
    }

    /// Ends the program and waits for its exit.
    pub(super) fn end(&mut self) {
        self.child.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_lab::worker::FaultOwner;

    #[test]
    fn lost_huge_pages_are_an_environment_error() {
        let words =
            "; last output: \"dpdk|ERR|EAL: Not enough memory available on socket 0! Requested: 256MB\"";
        let trouble = ended("ovs-vswitchd", "it was killed by signal 6", words);
        assert!(trouble.fault == FaultOwner::Environment && trouble.what.contains("sysctl"), "{trouble}");
        assert_eq!(ended("ovs-vswitchd", "it was killed by signal 11", "").fault, FaultOwner::Sut);
    }
}
