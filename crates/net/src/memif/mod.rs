//! What two packet programs on one machine share by memif: memory, rings of descriptors in it, and the socket on which
//! descriptors of both travel. Who says what when is not known here.
//!
//! The peer is not trusted. It may write anything to the shared memory at any time, so every index, length and place that it
//! owns is read once, checked, and only then used; what this end owns is never read back. Memory can neither shrink
//! ([`Region::accept`]) nor make this end wait, so that a peer can spoil packets and nothing else.
mod control;
mod region;
mod ring;

pub use control::{Control, DESCRIPTORS_MAX, Listener, Received, interrupt};
pub use region::{Region, RegionError};
pub use ring::{
    Buffers, CHAIN_MAX, DescriptorFault, LOG2_RING_MAX, Place, RING_HEAD_BYTES, Receiver, RingFault, Sender,
    Taken,
};
