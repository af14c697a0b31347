//! Shared memory, rings of descriptors in this memory, and the socket that transfers file descriptors between two packet
//! programs on one machine (memif). The crate `ranlab-memif` defines the messages and their order.
//!
//! The peer is not trusted. It may write anything to the shared memory at any time. Every index, length and offset that the
//! peer writes is therefore read once, checked, and only then used. This endpoint never reads back its own values. The memory
//! cannot shrink ([`Region::accept`]), and this endpoint never waits for the peer. A peer can therefore only corrupt packets.
mod control;
mod region;
mod ring;

pub use control::{Control, DESCRIPTORS_MAX, Listener, Received, interrupt};
pub use region::{Region, RegionError};
pub use ring::{
    Buffers, CHAIN_MAX, DescriptorFault, LOG2_RING_MAX, RING_HEAD_BYTES, Receiver, RingFault, RingLocation,
    Sender, TakeOutcome,
};
