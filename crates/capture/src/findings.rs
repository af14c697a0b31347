//! PDUs found in packets.

use super::note::{Note, Notes};
use super::pdu::Pdu;

/// Results from packets: PDUs in the order in which they became complete, and notes on irregularities.
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
