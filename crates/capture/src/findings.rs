//! What was found in packets.

use super::note::{Note, Notes};
use super::pdu::Pdu;

/// What packets gave: PDUs in the order in which they became whole, and what was unusual.
#[derive(Debug, Default)]
pub struct Findings {
    /// Take them out from time to time.
    pub pdus: Vec<Pdu>,
    /// Bounded by themselves.
    pub notes: Notes,
}

impl Findings {
    /// Takes note of something about a packet.
    pub(super) fn note(&mut self, note: Note, packet: u64) {
        self.notes.add(note, "packet", packet);
    }
}
