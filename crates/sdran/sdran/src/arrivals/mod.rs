//! Arrivals and departures of UEs: laws, populations, service profiles, traces and live events.
//!
//! * [`Law`]: a distribution of times; [`Population`]: the UEs of one base station under two laws, lazily and
//!   in order.
//! * [`Profile`]: eMBB, mMTC and URLLC with the numbers of the specifications, each with its source.
//! * [`Characteristics`]: radio characteristics of a UE, fixed, drawn or from a trace; the interface for a
//!   radio model.
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
    /// Number of the UE in the base station; 0 for an event of the base station.
    pub ue: u32,
    /// Kind of the event.
    pub what: Happening,
}
