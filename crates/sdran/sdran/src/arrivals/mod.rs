//! Arrivals and departures of UEs: laws, populations, service profiles, traces and live events.
//!
//! * [`Law`]: a distribution of times; [`Population`]: events of the UEs of one base station, generated lazily and in order.
//! * [`Profile`]: the services eMBB, mMTC and URLLC with the parameters of the specifications.
//! * [`Characteristics`]: radio characteristics of a UE, which are fixed, drawn or read from a trace.
//! * [`parse_line`]: one grammar for trace files and for events that another program sends during a run.
//!
//! The same seed gives the same events, live on sockets or in virtual time.
mod characteristics;
mod law;
mod population;
mod profile;
mod trace;

pub use characteristics::{Channel, Characteristics};
pub use law::{LAWS, Law, LawError, MAX_TIME};
pub use population::{MAX_UES, Population, PopulationConfig};
pub use profile::Profile;
pub use trace::{
    MAX_LINE_BYTES, MAX_TRACE_EVENTS, TraceError, TraceLine, TraceNames, parse_line, parse_trace,
};

use std::time::Duration;

/// Kind of an arrival event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Happening {
    /// A UE was activated.
    Activated(Characteristics),
    /// A UE was deactivated.
    Deactivated,
    /// The radio characteristics of a UE changed.
    Updated(Characteristics),
    /// Control was delegated to the base station, or taken back.
    Delegated(bool),
}

/// An event of the data plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Time since the start of the population.
    pub at: Duration,
    /// Number of the UE in the base station, or 0 for an event of the base station.
    pub ue: u32,
    /// Kind of the event.
    pub what: Happening,
}
