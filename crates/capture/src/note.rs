//! Irregularities on the way from a capture to its messages.
use std::collections::BTreeMap;

use ranlab_wire::packet::PacketError;
use serde::Serialize;

/// Different notes that are kept; further ones are counted.
pub const MAX_NOTES: usize = 256;

/// Something unusual that is no failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The file ends within a packet.
    #[error("the file ends in the middle of a packet")]
    CaptureTruncated,
    /// The file goes on with bytes that are no packets.
    #[error("the file is damaged behind octet {0}: nothing was read from there on")]
    CaptureDamaged(u64),
    /// A packet of an interface that was never described.
    #[error("a packet of an interface that the capture does not describe")]
    NoInterface,
    /// A link layer that is not taken apart.
    #[error("packets of link type {0} are not taken apart")]
    LinkType(u16),
    /// The capture kept less of the packet than there was.
    #[error("a packet was cut by the capture; record with a larger snapshot length")]
    PacketCut,
    /// Headers that are not what they should be.
    #[error("a packet with a malformed {0} header")]
    Malformed(&'static str),
    /// IP fragments are not joined.
    #[error("a fragment of an IP packet is not joined with the others")]
    IpFragment,
    /// An SCTP payload protocol of others.
    #[error("SCTP payload protocol {0} is not E2")]
    OtherPayloadProtocol(u32),
    /// I-DATA (RFC 8260).
    #[error("an SCTP I-DATA chunk is not taken apart")]
    InterleavedData,
    /// A chunk came again.
    #[error("an SCTP chunk was sent again and is skipped")]
    SctpDuplicate,
    /// Fragments without their others.
    #[error("an SCTP message is incomplete: fragments are missing from the capture")]
    SctpIncomplete,
    /// The capture does not hold the connection's beginning.
    #[error("the capture begins in the middle of the TCP connection {0}")]
    TcpMidway(String),
    /// Segments are missing.
    #[error("TCP segments are missing from the capture; reading goes on at the next message")]
    TcpGap,
    /// The end of the capture is in the middle of a message.
    #[error("a TCP stream ends in the middle of a message")]
    TcpIncomplete,
    /// No length in front.
    #[error("the TCP stream {0} is not E2: its messages have no length in front")]
    TcpUnframed(String),
    /// A datagram of others.
    #[error("UDP datagrams on other ports than 36421 and 36422 are skipped unless they begin like E2AP")]
    OtherDatagram,
    /// PFCP.
    #[error("PFCP messages (UDP port 8805) are skipped: they are N4, not E2")]
    Pfcp,
    /// GTP-U.
    #[error("GTP-U messages (UDP port 2152) are skipped: they are N3 or N9, not E2")]
    Gtpu,
    /// An exported PDU of another protocol.
    #[error("an exported PDU is not of E2AP but of \"{0}\"")]
    OtherExported(String),
    /// More than the bound.
    #[error("more connections than are kept track of: {0} at most")]
    TooManyConnections(usize),
    /// The version is a guess.
    #[error("no setup of {0}: read as {1}")]
    VersionAssumed(String, &'static str),
    /// The standard says otherwise.
    #[error("{message}: {what}")]
    Deviation {
        /// The message's name.
        message: &'static str,
        /// The value that the message has instead.
        what: String,
    },
    /// There were more than are kept.
    #[error("further notes of other kinds")]
    Further,
}

impl From<PacketError> for Note {
    fn from(error: PacketError) -> Self {
        Self::Malformed(error.layer())
    }
}

/// A note as it is reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteCount {
    /// In words.
    pub note: String,
    /// Number of occurrences.
    pub count: u64,
    /// First occurrence: `packet 12` or `PDU 12`.
    pub first: String,
}

/// Notes, equal ones counted.
#[derive(Debug, Default)]
pub struct Notes {
    counts: BTreeMap<Note, (u64, String)>,
}

impl Notes {
    /// Takes note.
    pub fn add(&mut self, note: Note, place: &'static str, number: u64) {
        let known = self.counts.len() < MAX_NOTES || self.counts.contains_key(&note);
        let note = if known { note } else { Note::Further };
        let entry = self.counts.entry(note).or_insert_with(|| (0, format!("{place} {number}")));
        entry.0 += 1;
    }

    /// All of them.
    pub fn list(&self) -> Vec<NoteCount> {
        let shown = |(note, (count, first)): (&Note, &(u64, String))| NoteCount {
            note: note.to_string(),
            count: *count,
            first: first.clone(),
        };
        self.counts.iter().map(shown).collect()
    }
}
