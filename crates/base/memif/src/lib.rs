//! memif ports: a [`Port`] connects to any packet program on this machine (DPDK, Open vSwitch, VPP) over rings in shared
//! memory.
//!
//! All operations poll; none blocks on a peer. If a peer is silent, crashes or violates the protocol, packets are lost
//! and the reason is reported. The state machine of the messages is [`ranlab_packet::memif`]; the rings are in
//! [`ranlab_net::memif`].
mod port;
mod rings;

pub use port::{Port, PortError, Put};
pub use ranlab_net::memif::{DescriptorFault, RingFault, TakeOutcome};
pub use ranlab_packet::memif::{Down, RINGS_MAX, Refusal, Role, Settings, SettingsError};
pub use rings::Rings;
