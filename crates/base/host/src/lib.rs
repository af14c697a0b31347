//! Access to the lab machine: meters of processes and of the machine, facts, networks, confinement. Never part of a
//! product build.
//!
//! * [`Subject`]: the metered unit, which is a process, all processes of a command, or a control group.
//! * [`ProcessMeter`]: resource use of one process, all its threads counted.
//! * [`MachineMeter`]: resources that other users took from the machine in the meantime (steal, pressure).
//! * [`PowerMeter`]: energy use of the processors, where the machine shows it.
//! * [`traffic`]: bytes and packets of this process's TCP connections.
//! * [`Facts`]: facts about the machine that a result must state.
//! * [`placement`]: remarks on an unsuitable placement of load, system and device on the CPUs.
//! * [`netns`]: networks of namespaces, made and removed.
//! * [`phc`]: clocks of network cards.
//! * [`process_tree`]: a program with all its descendants.
//! * [`cgroup`]: a share of a CPU for some threads of this process, and limits for processes that it starts.
//! * [`confine`]: confinement of an untrusted process: another user, resource limits.
//! * [`trusted`]: checks that no other user could have written a file.
//! * [`unmap_unused_code`]: frees pages of the program that only its start needed.
//! * [`doctor`]: checks of the machine's setup, with advice.
//!
//! All values are read from `/proc` and `/sys`. A value that the kernel does not report is `None` and never a
//! guess.
#![deny(missing_docs)]

pub mod cgroup;
mod clock;
pub mod confine;
pub mod doctor;
mod facts;
mod machine;
pub mod netns;
mod pages;
pub mod phc;
pub mod placement;
mod power;
mod process;
pub mod process_tree;
mod signal;
mod subject;
mod terminal;
pub mod traffic;
pub mod trusted;

pub use clock::{of_process as process_cpu_ns, of_this_thread as thread_cpu_ns};
pub use facts::{Facts, IdleState, Sctp};
pub use machine::{MachineInterval, MachineMeter, MachineSample, Pressure};
pub use pages::unmap_unused_code;
pub use power::{PowerError, PowerMeter, PowerSample};
pub use process::{ProcessMeter, ProcessSample};
pub use signal::{ask_to_end, kill_group};
pub use subject::{Subject, SubjectMeter, SubjectSample};
pub use terminal::terminal_size;

use std::path::PathBuf;

/// Reason why a meter has no sample.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeterError {
    /// The process has ended or never existed.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The requested process.
        pid: u32,
    },
    /// No process has that name.
    #[error(
        "no process runs the command `{command}` (looked at /proc/*/comm and the first word of /proc/*/cmdline)"
    )]
    NoCommand {
        /// The requested name.
        command: String,
    },
    /// The control group does not exist.
    #[error("{} is not a control group: it has no cgroup.procs", path.display())]
    NoCgroup {
        /// The requested directory.
        path: PathBuf,
    },
    /// All started processes have ended.
    #[error("no process is left below {pid}")]
    NothingBelow {
        /// Ancestor of the processes.
        pid: u32,
    },
    /// The kernel's file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The kernel's file does not look as documented in proc(5).
    #[error("{} does not have the form of proc(5)", path.display())]
    Form {
        /// Path of the file.
        path: PathBuf,
    },
}

/// `/proc` counts CPU time in hundredths of a second (`USER_HZ`) on every supported architecture.
const TICKS_PER_SECOND: f64 = 100.0;

fn read(path: impl Into<PathBuf>) -> Result<String, MeterError> {
    let path = path.into();
    std::fs::read_to_string(&path).map_err(|source| MeterError::Read { path, source })
}

/// Returns the number after `key` in a file of `Key:   123 kB` lines.
fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}
