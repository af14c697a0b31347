//! Components of an experiment in separate processes, on this machine or another.
//!
//! The protocol consists of lines of JSON: one request, one response, in order. A worker holds at most one component.
//! It ends at the end of its input, together with its component.
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
use ranlab_host::traffic::ProcessTraffic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use super::AnyComponent;
pub use client::{Worker, WorkerGroup};
pub use serve::{WorkerTrust, grace, serve};

/// Maximum length of a line in either direction, in bytes. A longer line is an error and ends the connection.
pub const LINE_BYTES_MAX: usize = 8 << 20;

/// A request to a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Requests the worker's identity. Response: [`Hello`].
    Hello,
    /// Requests the worker's time. Response: [`ClockReading`].
    Clock,
    /// Starts a component. Response: [`Ready`].
    Start {
        /// The component's configuration, with its `type`.
        part: serde_json::Value,
    },
    /// Requests the component's current numbers. Response: [`Counters`].
    Look,
    /// Begins a measurement window.
    Begin,
    /// Ends the window. Response: [`Report`].
    End,
    /// Resets the component for the next repetition.
    Reset,
    /// Ends the component and the worker.
    Stop,
}

impl Request {
    /// Returns the request to start a component.
    ///
    /// # Errors
    /// The configuration cannot be serialised as JSON, which is a bug.
    pub fn start(part: &AnyComponent) -> Result<Self, RigError> {
        let part = serde_json::to_value(part).map_err(|error| RigError::Rig(error.to_string()))?;
        Ok(Self::Start { part })
    }
}

/// A response of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Success. The content depends on the request.
    Ok(serde_json::Value),
    /// Failure, with its reason.
    Error(ComponentError),
}

/// The reason why a worker could not execute a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct ComponentError {
    /// Origin of the error.
    pub fault: FaultOwner,
    /// Description in one sentence.
    pub what: String,
}

/// Origin of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultOwner {
    /// The system under test.
    Sut,
    /// The machine or the network.
    Environment,
    /// The rig itself.
    Rig,
}

/// Numbers of a component, by name.
pub type Counters = BTreeMap<String, f64>;

/// Identity of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program. The rig rejects versions other than its own.
    pub version: String,
    /// Process id of the worker.
    pub pid: u32,
    /// Number of CPUs of the worker's machine.
    pub cpus: usize,
}

/// Time of a worker.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ClockReading {
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

/// A running component.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ready {
    /// Listening addresses, by name (`e2`, `e42`).
    pub addresses: BTreeMap<String, String>,
    /// The process to be metered, if it is a single one.
    pub pid: Option<u32>,
}

/// Results of a component in a window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Report {
    /// Length of the window, in seconds.
    pub wall_s: f64,
    /// Resource usage of the component's process, if it runs on the worker's machine.
    pub process: Option<ProcessReport>,
    /// Resource usage of the worker's machine.
    pub machine: Option<MachineReport>,
    /// Boot identifier of the worker's machine. It identifies workers in different network namespaces of one machine.
    /// `None` if the kernel does not report it.
    #[serde(default)]
    pub boot: Option<String>,
    /// Traffic of the worker's TCP connections, without the connection to the campaign. `None` if it has none.
    pub wire: Option<ProcessTraffic>,
    /// Processes of a third-party system that were stopped by a signal. `None` if the system is not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops: Option<Vec<Stopped>>,
    /// Warnings from the component's output that cast doubt on the result, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Time for which this worker was suspended (stopped by a signal, or without a CPU for over 250 ms), in seconds.
    #[serde(default)]
    pub stood_still_s: f64,
    /// Counters and other numbers.
    pub numbers: Counters,
    /// Distributions as (value, count), ascending.
    pub distributions: BTreeMap<String, Vec<(u64, u64)>>,
    /// The component's own report. Its type is known to the component and the rig; see [`Report::detail`].
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub detail: serde_json::Value,
}

impl Report {
    /// Sets counters.
    pub fn put<const N: usize>(&mut self, numbers: [(&str, u64); N]) {
        self.numbers.extend(numbers.map(|(name, value)| (name.to_owned(), value as f64)));
    }

    /// Returns a counter.
    ///
    /// # Errors
    /// The component did not report it. This is a bug and must not count as 0.
    pub fn number(&self, name: &str) -> Result<f64, RigError> {
        number(&self.numbers, name)
    }

    /// Returns the component's own report.
    ///
    /// # Errors
    /// The report is missing or has another type, which is a bug.
    pub fn detail<T: DeserializeOwned>(&self) -> Result<T, RigError> {
        T::deserialize(&self.detail)
            .map_err(|error| RigError::Rig(format!("the component's report is invalid: {error}")))
    }
}

/// Returns a counter; see [`Report::number`].
///
/// # Errors
/// The component did not report it.
pub fn number(numbers: &Counters, name: &str) -> Result<f64, RigError> {
    let known = || numbers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let missing = || RigError::Rig(format!("the component reported no `{name}`; it reported {}", known()));
    numbers.get(name).copied().ok_or_else(missing)
}

/// A process that was stopped by a signal during a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// Name of the process.
    pub who: String,
    /// Start of the stop, in seconds since the window began.
    pub from_s: f64,
    /// Duration of the stop within the window, in seconds.
    pub seconds: f64,
}

/// Resource usage of a process in a window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ProcessReport {
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// Resident memory at the end, in bytes.
    pub rss_bytes: u64,
    /// Proportional memory at the end, in bytes: memory shared by n processes counts 1/n. `None` if the kernel does not
    /// report it.
    pub pss_bytes: Option<u64>,
    /// Maximum resident memory in the window, in bytes.
    pub rss_peak_bytes: u64,
    /// Voluntary and involuntary context switches in the window.
    pub context_switches: u64,
    /// Page faults in the window.
    pub faults: u64,
    /// Processes at the end.
    #[serde(default)]
    pub processes: u64,
    /// Threads at the end.
    pub threads: u64,
    /// Samples about every second: (offset in s, CPU cores since the previous sample, resident bytes).
    pub series: Vec<(f64, f64, u64)>,
}

/// Resource usage of a machine in a window.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct MachineReport {
    /// Number of CPUs.
    pub cpus: usize,
    /// CPU time of all processes, in seconds.
    pub busy_s: f64,
    /// CPU time of this worker's process that its component's report does not contain, in seconds: all of it if the component runs in
    /// other processes, otherwise the cost of the measurement.
    #[serde(default)]
    pub worker_s: f64,
    /// Fraction of CPU time stolen by the hypervisor.
    pub steal_share: f64,
    /// Fraction of time in which a task waited for a CPU. `None` if the kernel does not report it.
    pub cpu_pressure: Option<f64>,
    /// Mean power of the machine's processors, in watts. `None` if the machine does not report it.
    #[serde(default)]
    pub watts: Option<f64>,
}
