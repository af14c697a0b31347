//! PDUs found in packets.

use super::note::{Note, Notes};
use super::pdu::Pdu;

/// Results from packets: PDUs in the order in which they became complete, and notes on irregularities.
#[derive(Debug, Default)]
pub struct Findings {
    /// PDUs; drain them regularly.
    pub pdus: Vec<Pdu>,
    /// Notes, which are bounded.
    pub notes: Notes,
}

impl Findings {
    /// Adds a note about a packet.
    pub(super) fn note(&mut self, note: Note, packet: u64) {
        self.notes.add(note, "packet", packet);
    }
}
