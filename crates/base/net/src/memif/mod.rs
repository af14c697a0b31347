//! Memory, rings of descriptors in it, and the socket that carries descriptors between two packet programs on
//! one machine (memif). The order of messages is not defined here.
//!
//! The peer is not trusted. It may write anything to the shared memory at any time. Every index, length and
//! offset that it owns is therefore read once, checked, and only then used; values of this endpoint are never
//! read back. The memory cannot shrink ([`Region::accept`]), and this endpoint never waits for the peer, so a
//! peer can only spoil packets.
mod control;
mod region;
mod ring;

pub use control::{Control, DESCRIPTORS_MAX, Listener, Received, interrupt};
pub use region::{Region, RegionError};
pub use ring::{
    Buffers, CHAIN_MAX, DescriptorFault, LOG2_RING_MAX, RING_HEAD_BYTES, Receiver, RingFault, RingLocation,
    Sender, TakeOutcome,
};
