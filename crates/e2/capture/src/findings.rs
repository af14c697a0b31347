//! PDUs found in packets.

use super::note::{Note, Notes};
use super::pdu::Pdu;

/// PDUs found in packets, in the order in which they became complete, and notes on irregularities.
#[derive(Debug, Default)]
pub struct Findings {
    /// PDUs found since the last drain. The caller must drain them regularly.
    pub pdus: Vec<Pdu>,
    /// Notes on irregularities, at most [`MAX_NOTES`](super::note::MAX_NOTES) different ones.
    pub notes: Notes,
}

impl Findings {
    /// Adds a note about a packet.
    pub(super) fn note(&mut self, note: Note, packet: u64) {
        self.notes.add(note, "packet", packet);
    }
}
