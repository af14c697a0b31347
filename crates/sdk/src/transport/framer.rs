//! Where one message ends and the next begins: a concern of its own, beside what carries the octets.

use std::fmt;

use super::LENGTH_BYTES;

/// Marks messages on a connection. [`LengthPrefix`] is ours; a transport that keeps messages apart by itself has
/// [`Messages`], a protocol that frames itself [`Unframed`].
pub trait Framer: fmt::Debug + Sync {
    /// Octets in front of each PDU, the same for all.
    fn head_bytes(&self) -> usize;
    /// Length of the PDU whose frame `held` begins with, in octets; `None` if that cannot be told yet. `held` is what was
    /// read and not taken: it may hold less than the frame, or more.
    fn pdu_bytes(&self, held: &[u8]) -> Option<usize>;
    /// Writes what stands in front of a PDU of `pdu_bytes` octets; `head` has [`head_bytes`](Self::head_bytes) of them.
    fn write_head(&self, pdu_bytes: usize, head: &mut [u8]);
    /// Whether one write carries one PDU and no more.
    fn is_one_per_write(&self) -> bool {
        false
    }
}

/// Four octets of big-endian length, and the PDU: on TCP, Unix and memory streams.
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
        // Four octets are enough: the writer has refused longer PDUs.
        head.copy_from_slice(&(pdu_bytes as u32).to_be_bytes());
    }
}

/// The transport keeps messages apart: one read brings one PDU, one write takes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages;

impl Framer for Messages {
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

/// The machine frames its own octets and gets them as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unframed;

impl Framer for Unframed {
    fn head_bytes(&self) -> usize {
        0
    }
    fn pdu_bytes(&self, held: &[u8]) -> Option<usize> {
        Messages.pdu_bytes(held)
    }
    fn write_head(&self, _: usize, _: &mut [u8]) {}
}
