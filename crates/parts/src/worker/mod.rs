//! Parts of an experiment in processes of their own, on this machine or another.
//!
//! The protocol: lines of JSON, one request, one reply, in order. A worker holds at most one part and ends when its input
//! does, taking the part with it.
//!
//! ```text
//! -> {"op":"hello"}                       <- {"ok":{"version":"0.1.0","pid":4711,"cpus":2}}
//! -> {"op":"clock"}                       <- {"ok":{"unix_ns":1766000000000000000}}
//! -> {"op":"start","part":{"type":"fleet", …}}   <- {"ok":{"addresses":{},"pid":4711}}
//! -> {"op":"look"}                        <- {"ok":{"alive":10.0, …}}
//! -> {"op":"begin"}                       <- {"ok":null}
//! -> {"op":"end"}                         <- {"ok":{"wall_s":10.0,"process":{…},"numbers":{…},"distributions":{…}}}
//! -> {"op":"reset"}                       <- {"ok":null}
//! -> {"op":"stop"}                        <- {"ok":null}
//!                                         <- {"error":{"fault":"environment","what":"…"}}
//! ```

mod client;
pub mod join;
mod serve;

use std::collections::BTreeMap;

use ranlab_campaign::rig::RigError;
use ranlab_host::traffic::Carried;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use super::Part;
pub use client::{Crew, Worker};
pub use serve::{Trust, grace, serve};

/// The longest line of either side; a longer one is an error, and the last.
pub const LINE_BYTES_MAX: usize = 8 << 20;

/// What a worker is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Who are you? Answered with [`Hello`].
    Hello,
    /// What time is it? Answered with [`Clock`].
    Clock,
    /// Bring a part up. Answered with [`Ready`].
    Start {
        /// Which.
        part: Box<Part>,
    },
    /// The part's numbers now: [`Numbers`].
    Look,
    /// A measured window begins.
    Begin,
    /// It ends: [`Report`].
    End,
    /// A clean state for a further repeat.
    Reset,
    /// Take the part down and end.
    Stop,
}

/// What a worker answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Done; the content depends on the request.
    Ok(serde_json::Value),
    /// Not done.
    Error(Trouble),
}

/// Why a worker could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Trouble {
    /// Whose fault it was.
    pub fault: Fault,
    /// One sentence.
    pub what: String,
}

/// Whose fault something was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The system under test's.
    Sut,
    /// The machine's or the network's.
    Environment,
    /// The rig's own.
    Rig,
}

/// Numbers of a part by name.
pub type Numbers = BTreeMap<String, f64>;

/// Who a worker is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program; another one than the rig's is refused.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// CPUs of its machine.
    pub cpus: usize,
}

/// A worker's time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Clock {
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

/// A part that serves.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ready {
    /// Where it listens, by name (`e2`, `e42`).
    pub addresses: BTreeMap<String, String>,
    /// The process that is metered, if it is one.
    pub pid: Option<u32>,
}

/// What a part did in a window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Report {
    /// Length of the window, s.
    pub wall_s: f64,
    /// Its process, if it is one of that machine.
    pub process: Option<ProcessReport>,
    /// The machine that it ran on.
    pub machine: Option<MachineReport>,
    /// The identifier of that machine's boot: a worker in another network namespace is at another address, and here; `None`
    /// if the kernel does not say.
    #[serde(default)]
    pub boot: Option<String>,
    /// What the worker's own TCP connections carried, the campaign's to it not counted; `None` if it has none.
    pub wire: Option<Carried>,
    /// When something of a stranger's system was stopped by a signal; `None`: it is not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops: Option<Vec<Stopped>>,
    /// What its output says against the result, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Time in which this worker stood still (stopped by a signal, or without a CPU for over 250 ms), s.
    #[serde(default)]
    pub stood_still_s: f64,
    /// Counters and the like.
    pub numbers: Numbers,
    /// Distributions as (value, count), ascending.
    pub distributions: BTreeMap<String, Vec<(u64, u64)>>,
    /// The part's own report, of a type that the part and who asks it know; see [`Report::detail`].
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub detail: serde_json::Value,
}

impl Report {
    /// Sets numbers that the part counts.
    pub(crate) fn put<const N: usize>(&mut self, numbers: [(&str, u64); N]) {
        self.numbers.extend(numbers.map(|(name, value)| (name.to_owned(), value as f64)));
    }

    /// A number that the part counts.
    ///
    /// # Errors
    /// It did not report it: a fault of ours that must not pass for a 0.
    pub fn number(&self, name: &str) -> Result<f64, RigError> {
        number(&self.numbers, name)
    }

    /// The part's own report.
    ///
    /// # Errors
    /// It made none, or one of another type: a fault of ours.
    pub fn detail<T: DeserializeOwned>(&self) -> Result<T, RigError> {
        T::deserialize(&self.detail)
            .map_err(|error| RigError::Rig(format!("the part's own report is none: {error}")))
    }
}

/// A number that a part counts; see [`Report::number`].
///
/// # Errors
/// The part did not report it.
pub fn number(numbers: &Numbers, name: &str) -> Result<f64, RigError> {
    let known = || numbers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let missing = || RigError::Rig(format!("the part reported no `{name}`; it reported {}", known()));
    numbers.get(name).copied().ok_or_else(missing)
}

/// A process that was stopped by a signal within a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// Which.
    pub who: String,
    /// From when on, s into the window.
    pub from_s: f64,
    /// For how long of the window, s.
    pub seconds: f64,
}

/// What a process used in a window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ProcessReport {
    /// CPU time, s.
    pub cpu_s: f64,
    /// Resident memory at the end.
    pub rss_bytes: u64,
    /// Proportional memory at the end: what n processes share counts 1/n; `None` if the kernel does not say.
    pub pss_bytes: Option<u64>,
    /// Largest that was seen in the window.
    pub rss_peak_bytes: u64,
    /// Context switches of both kinds in the window.
    pub context_switches: u64,
    /// Page faults in the window.
    pub faults: u64,
    /// Processes at the end.
    #[serde(default)]
    pub processes: u64,
    /// Threads at the end.
    pub threads: u64,
    /// (offset in s, CPU cores since the sample before, resident bytes), about each second.
    pub series: Vec<(f64, f64, u64)>,
}

/// What a machine did in a window.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct MachineReport {
    /// CPUs.
    pub cpus: usize,
    /// CPU seconds of all work.
    pub busy_s: f64,
    /// Share of CPU time stolen by the hypervisor.
    pub steal_share: f64,
    /// Share of time in which something waited for a CPU; `None` if the kernel does not say.
    pub cpu_pressure: Option<f64>,
    /// What its processors took in the mean, W; `None` if the machine does not show it.
    #[serde(default)]
    pub watts: Option<f64>,
}
