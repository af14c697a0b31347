//! memif ports: a [`Port`] connects to any packet program on this machine (DPDK, Open vSwitch, VPP) over rings in shared
//! memory.
//!
//! All code polls and never blocks on a peer. A peer that is silent, crashes or violates the protocol costs packets and
//! is reported with a reason. The order of messages is in [`ranlab_packet::memif`], the rings are in
//! [`ranlab_net::memif`].
mod port;
mod rings;

pub use port::{Port, PortError, Put};
pub use ranlab_net::memif::{DescriptorFault, RingFault, TakeOutcome};
pub use ranlab_packet::memif::{Down, RINGS_MAX, Refusal, Role, Settings, SettingsError};
pub use rings::Rings;
