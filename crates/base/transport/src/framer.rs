//! Framing: message boundaries on a byte stream.

use std::fmt;

use super::LENGTH_BYTES;

/// Format of message boundaries on a connection. [`LengthPrefix`] is ranlab's format. [`MessageBoundaries`] is for transports
/// that preserve message boundaries, and [`Unframed`] for protocols that frame themselves.
pub trait Framer: fmt::Debug + Sync {
    /// Returns the size of the head before each PDU, in bytes.
    fn head_bytes(&self) -> usize;
    /// Returns the length, in bytes, of the PDU in the first frame of `held`, or `None` if it is not known yet. `held`
    /// is the data read but not consumed; it may end within the frame, or extend beyond it.
    fn pdu_bytes(&self, held: &[u8]) -> Option<usize>;
    /// Writes the head of a PDU of `pdu_bytes` bytes; `head` has [`head_bytes`](Self::head_bytes) bytes.
    fn write_head(&self, pdu_bytes: usize, head: &mut [u8]);
    /// Returns whether each write must contain exactly one PDU.
    fn is_one_per_write(&self) -> bool {
        false
    }
}

/// Four bytes of big-endian length, followed by the PDU. Used on TCP, Unix and memory streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthPrefix;

impl Framer for LengthPrefix {
    fn head_bytes(&self) -> usize {
        LENGTH_BYTES
    }
    fn pdu_bytes(&self, held: &[u8]) -> Option<usize> {
        Some(u32::from_be_bytes(*held.first_chunk::<LENGTH_BYTES>()?) as usize)
    }
    fn write_head(&self, pdu_bytes: usize, head: &mut [u8]) {
        // The length fits four bytes, because the writer rejects longer PDUs.
        head.copy_from_slice(&(pdu_bytes as u32).to_be_bytes());
    }
}

/// The transport preserves message boundaries: a read returns one PDU, and a write accepts one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageBoundaries;

impl Framer for MessageBoundaries {
    fn head_bytes(&self) -> usize {
        0
    }
    fn pdu_bytes(&self, held: &[u8]) -> Option<usize> {
        (!held.is_empty()).then_some(held.len())
    }
    fn write_head(&self, _: usize, _: &mut [u8]) {}
    fn is_one_per_write(&self) -> bool {
        true
    }
}

/// No framing: the machine frames its data itself, and receives bytes as they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unframed;

impl Framer for Unframed {
    fn head_bytes(&self) -> usize {
        0
    }
    fn pdu_bytes(&self, held: &[u8]) -> Option<usize> {
        MessageBoundaries.pdu_bytes(held)
    }
    fn write_head(&self, _: usize, _: &mut [u8]) {}
}
