//! Hands on the lab machine: process and machine meters, facts; never in a product build.
//!
//! * [`ProcessMeter`]: what one process costs, all its threads counted.
//! * [`MachineMeter`]: what others took from the machine meanwhile (steal, pressure); decides whether a
//!   measurement counts.
//! * [`Facts`]: what a result must say about the machine that it comes from.
//! * [`doctor`]: what is missing here, and what to do about it.
//!
//! Everything is read from `/proc` and `/sys`; where the kernel does not say, the value is `None` and never a guess.
#![deny(missing_docs)]

pub mod doctor;
mod facts;
mod machine;
mod process;

pub use facts::{Facts, Sctp};
pub use machine::{MachineInterval, MachineMeter, MachineSample, Pressure};
pub use process::{ProcessMeter, ProcessSample};

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
