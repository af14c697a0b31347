//! memif on sockets: a [`Port`] that speaks to any packet program on this machine (DPDK, Open vSwitch, VPP), an open-loop
//! [`tester`], and our packet engine as the [`device`] under test.
//!
//! Everything polls and nothing waits for a peer: one that is silent, dies or lies costs packets and gets a reason.
mod cores;
pub mod device;
mod port;
mod rings;
pub mod tester;

pub use port::{Port, PortError, Put};
pub use ranlab_pipeline::memif::{Down, RINGS_MAX, Refusal, Role, Settings, SettingsError};
pub use rings::Rings;
