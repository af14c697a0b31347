//! Programs that answer and end: run, listened to, their complaints quoted.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use ranlab_host::kin;

use super::dpdk::NO_HUGE_PAGES;
use super::found;
use crate::child::Child;
use crate::output::Output as Kept;
use crate::worker::Trouble;
use crate::{environment, sut};

/// What DPDK says when there is less memory on huge pages than it asks for.
const NO_MEMORY: &str = "EAL: Not enough memory available";
/// Characters of a complaint that are quoted.
const QUOTED_CHARS: usize = 400;

/// A program of the system by its name or path.
pub(super) fn program(name: &str) -> Command {
    Command::new(found(name).unwrap_or_else(|| name.into()))
}

/// Runs a tool that ends by itself; its output.
///
/// # Errors
/// It is not there (the environment's fault), or it refuses (the system's under test: with its words).
pub(super) fn run(command: &mut Command) -> Result<String, Trouble> {
    kin::die_with_us(command.stdin(Stdio::null()));
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

/// Whose fault it is that a daemon has ended: another may have taken the huge pages since they were counted.
fn ended(name: &str, how: &str, words: &str) -> Trouble {
    let what = format!("{name} ended: {how}{words}");
    if words.contains(NO_MEMORY) { environment(format!("{NO_HUGE_PAGES} ({what})")) } else { sut(what) }
}

/// A program that stays: it dies with us, and its last words are kept.
pub(super) struct Daemon {
    name: &'static str,
    child: Child,
    said: Arc<Kept>,
}

impl Daemon {
    /// Starts it.
    pub(super) fn start(name: &'static str, command: &mut Command) -> Result<Self, Trouble> {
        kin::die_with_us(command);
        command.stdin(Stdio::piped()).process_group(0);
        let said = Arc::new(Kept::new(None, None).map_err(environment)?);
        let child =
            said.spawn(command).map_err(|error| environment(format!("{name} cannot be started: {error}")))?;
        Ok(Self { name, child: Child::apart(child), said })
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it lives; if not, how it ended.
    pub(super) fn check(&mut self) -> Result<(), Trouble> {
        match self.child.ended() {
            None => Ok(()),
            Some(how) => Err(ended(self.name, &how, &self.said.last_words())),
        }
    }

    /// What it said last, as the end of a sentence.
    pub(super) fn last_words(&self) -> String {
        self.said.last_words()
    }

    /// Asks it to end and waits for it.
    pub(super) fn end(&mut self) {
        self.child.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::Fault;

    #[test]
    fn memory_that_another_has_taken_is_no_fault_of_the_switch() {
        let words =
            "; it last said: \"dpdk|ERR|EAL: Not enough memory available on socket 0! Requested: 256MB\"";
        let trouble = ended("ovs-vswitchd", "it was killed by signal 6", words);
        assert!(trouble.fault == Fault::Environment && trouble.what.contains("sysctl"), "{trouble}");
        assert_eq!(ended("ovs-vswitchd", "it was killed by signal 11", "").fault, Fault::Sut);
    }
}
