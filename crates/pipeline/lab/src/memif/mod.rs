//! memif ports: a [`Port`] that connects to any packet program on this machine (DPDK, Open vSwitch, VPP), an open-loop
//! [`tester`], and our packet engine as the [`device`] under test.
//!
//! All code polls and never blocks on a peer. A peer that is silent, crashes or violates the protocol costs packets and
//! is reported with a reason.
mod cores;
pub mod device;
mod port;
mod rings;
pub mod tester;

pub use port::{Port, PortError, Put};
pub use ranlab_pipeline::memif::{Down, RINGS_MAX, Refusal, Role, Settings, SettingsError};
pub use rings::Rings;
