//! Fleets of base stations on sockets: glue from model to machines.
//!
//! A [`Fleet`] is any number of nodes ([`node`]) in one process: each an agent of its own, with its own identity, cell and
//! UEs, towards the same controllers. [`southbound`] has the base stations of FlexRAN and 5G-EmPOWER.
//!
//! [`memif`] is a port to other packet programs, with a tester and a device under test behind it.
//!
//! [`load`] is what a user plane function has around it: SMF, base stations and data network. [`upf`] is such a function.
#![deny(missing_docs)]

mod fleet;
pub mod load;
pub mod memif;
pub mod node;
pub mod radio;
pub mod southbound;
pub mod stats;
mod text;
pub mod upf;

pub use fleet::{Fleet, FleetConfig, FleetError, FleetReport, Pace};
pub use radio::TICK as RADIO_TICK;
pub use text::{SocketAddressError, TextError, socket_address};
