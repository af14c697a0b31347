//! Hands on the lab machine: process and machine meters, facts; never in a product build.
//!
//! * [`Subject`]: what is metered: a process, all processes of a command, or a control group.
//! * [`ProcessMeter`]: what one process costs, all its threads counted.
//! * [`MachineMeter`]: what others took from the machine meanwhile (steal, pressure).
//! * [`PowerMeter`]: what the processors take, where the machine shows it.
//! * [`traffic`]: what this process's TCP connections carried, in bytes and in packets.
//! * [`Facts`]: what a result must say about the machine that it comes from.
//! * [`placement`]: CPUs of load, system and device that do not belong together.
//! * [`netns`]: networks of namespaces, made and removed.
//! * [`phc`]: network cards' own clocks.
//! * [`kin`]: a program with whatever it starts.
//! * [`cgroup`]: a share of a CPU for some threads of this process, and bounds for processes that it starts.
//! * [`confine`]: a process that is not trusted: another user, within bounds.
//! * [`trusted`]: files that nobody else could have written.
//! * [`doctor`]: what is missing here, and what to do about it.
//!
//! Everything is read from `/proc` and `/sys`; where the kernel does not say, the value is `None` and never a guess.
#![deny(missing_docs)]

pub mod cgroup;
mod clock;
pub mod confine;
pub mod doctor;
mod facts;
pub mod kin;
mod machine;
pub mod netns;
pub mod phc;
pub mod placement;
mod power;
mod process;
mod signal;
mod subject;
mod terminal;
pub mod traffic;
pub mod trusted;

pub use clock::of_this_thread as thread_cpu_ns;
pub use facts::{Facts, IdleState, Sctp};
pub use machine::{MachineInterval, MachineMeter, MachineSample, Pressure};
pub use power::{PowerError, PowerMeter, PowerSample};
pub use process::{ProcessMeter, ProcessSample};
pub use signal::{ask_to_end, kill_group};
pub use subject::{Subject, SubjectMeter, SubjectSample};
pub use terminal::terminal_size;

use std::path::PathBuf;

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeterError {
    /// The process has ended or never was.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The process asked for.
        pid: u32,
    },
    /// No process has that name.
    #[error(
        "no process runs the command `{command}` (looked at /proc/*/comm and the first word of /proc/*/cmdline)"
    )]
    NoCommand {
        /// The name asked for.
        command: String,
    },
    /// The control group is not there.
    #[error("{} is no control group: it has no cgroup.procs", path.display())]
    NoCgroup {
        /// The directory asked for.
        path: PathBuf,
    },
    /// Nothing is left of what was started.
    #[error("no process is left below {pid}")]
    NothingBelow {
        /// Below which process.
        pid: u32,
    },
    /// The kernel's file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// The kernel's file does not look as documented in proc(5).
    #[error("{} does not have the form of proc(5)", path.display())]
    Form {
        /// The file.
        path: PathBuf,
    },
}

/// `/proc` counts CPU time in hundredths of a second (`USER_HZ`) on every architecture that we build for.
const TICKS_PER_SECOND: f64 = 100.0;

fn read(path: impl Into<PathBuf>) -> Result<String, MeterError> {
    let path = path.into();
    std::fs::read_to_string(&path).map_err(|source| MeterError::Read { path, source })
}

/// The number behind `key` in a file of `Key:   123 kB` lines.
fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}
