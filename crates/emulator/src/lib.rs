//! Fleets of base stations on sockets: connects models to protocol state machines.
//!
//! A [`Fleet`] is a number of E2 nodes in one process. Each has its own agent, identity, cell and UEs, and
//! all use the same controllers. [`southbound`] contains the base stations of FlexRAN and 5G-EmPOWER.
//!
#![deny(missing_docs)]

mod fleet;
pub mod southbound;

pub use fleet::{Fleet, FleetConfig, FleetError, FleetReport, Pace};
