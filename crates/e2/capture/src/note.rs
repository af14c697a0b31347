//! Irregularities on the way from a capture to its messages.
use std::collections::BTreeMap;

use ranlab_packet::PacketError;
use ranlab_packet::pcap::Fault;
use serde::Serialize;

/// Maximum number of different notes. Further notes are only counted.
pub const MAX_NOTES: usize = 256;

/// An irregularity that is not a failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// An irregularity of the file.
    #[error(transparent)]
    Capture(#[from] Fault),
    /// A packet with an unsupported link layer.
    #[error("packets of link type {0} are not decoded")]
    LinkType(u16),
    /// A packet with invalid headers of the named layer.
    #[error("a packet has a malformed {0} header")]
    Malformed(&'static str),
    /// An IP fragment. IP fragments are not joined.
    #[error("a fragment of an IP packet is skipped, because IP fragments are not reassembled")]
    IpFragment,
    /// An SCTP payload protocol that is not E2.
    #[error("messages with SCTP payload protocol {0} are skipped: they are not E2")]
    OtherPayloadProtocol(u32),
    /// An SCTP I-DATA chunk (RFC 8260), which is not decoded.
    #[error("an SCTP I-DATA chunk is not decoded")]
    InterleavedData,
    /// A duplicate SCTP chunk, which is skipped.
    #[error("an SCTP chunk was sent again and its copy is skipped")]
    SctpDuplicate,
    /// An SCTP message with missing fragments.
    #[error("an SCTP message is incomplete: fragments are missing from the capture")]
    SctpIncomplete,
    /// A TCP connection whose start is not in the capture.
    #[error("the capture begins in the middle of the TCP connection {0}")]
    TcpMidway(String),
    /// A gap in a TCP stream: segments are missing.
    #[error("TCP segments are missing from the capture; reading continues at the next message")]
    TcpGap,
    /// A TCP stream that ends within a message.
    #[error("a TCP stream ends in the middle of a message")]
    TcpIncomplete,
    /// A TCP stream without length prefixes.
    #[error("the TCP stream {0} is not E2: its messages have no length prefix")]
    TcpUnframed(String),
    /// A UDP datagram of another protocol.
    #[error("UDP datagrams on other ports than 36421 and 36422 are skipped unless they begin like E2AP")]
    OtherDatagram,
    /// A PFCP message, with its message type (TS 29.244 7.3).
    #[error("PFCP messages {} (UDP port 8805) are skipped: they are N4, not E2", pfcp_name(*.0))]
    Pfcp(u8),
    /// A GTP-U message, with its message type (TS 29.281 6.1).
    #[error("GTP-U messages {} (UDP port 2152) are skipped: they are N3 or N9, not E2", gtpu_name(*.0))]
    Gtpu(u8),
    /// An eCPRI message, with its message type (eCPRI 2.0 3.2.4).
    #[error("eCPRI messages {} are skipped: they are fronthaul, not E2", ecpri_name(*.0))]
    Ecpri(u8),
    /// An IF4p5 frame of OpenAirInterface (NGFI).
    #[error("IF4p5 frames (EtherType 0x080a) are skipped: they are OpenAirInterface's fronthaul, not E2")]
    If4p5,
    /// An exported PDU of another protocol.
    #[error("an exported PDU belongs to the protocol \"{0}\" instead of E2AP")]
    OtherExported(String),
    /// More connections than the limit.
    #[error("too many connections: at most {0} are tracked")]
    TooManyConnections(usize),
    /// An assumed E2AP version: the capture lacks the setup procedure of the connection.
    #[error("the capture has no setup of {0}; its messages are decoded as {1}")]
    VersionAssumed(String, &'static str),
    /// A deviation of a message from the standard.
    #[error("{message}: {what}")]
    Deviation {
        /// Name of the message.
        message: &'static str,
        /// Description of the deviation.
        what: String,
    },
    /// Notes beyond [`MAX_NOTES`].
    #[error("the limit of different notes is reached; further notes are only counted")]
    Further,
}

fn pfcp_name(message_type: u8) -> String {
    let name = match message_type {
        1 => "Heartbeat Request",
        2 => "Heartbeat Response",
        5 => "Association Setup Request",
        6 => "Association Setup Response",
        7 => "Association Update Request",
        8 => "Association Update Response",
        9 => "Association Release Request",
        10 => "Association Release Response",
        12 => "Node Report Request",
        13 => "Node Report Response",
        50 => "Session Establishment Request",
        51 => "Session Establishment Response",
        52 => "Session Modification Request",
        53 => "Session Modification Response",
        54 => "Session Deletion Request",
        55 => "Session Deletion Response",
        56 => "Session Report Request",
        57 => "Session Report Response",
        other => return format!("of type {other}"),
    };
    format!("\"{name}\"")
}

fn gtpu_name(message_type: u8) -> String {
    let name = match message_type {
        1 => "Echo Request",
        2 => "Echo Response",
        26 => "Error Indication",
        31 => "Supported Extension Headers Notification",
        254 => "End Marker",
        255 => "G-PDU",
        other => return format!("of type {other}"),
    };
    format!("\"{name}\"")
}

fn ecpri_name(message_type: u8) -> String {
    let name = match message_type {
        0 => "IQ data",
        1 => "bit sequence",
        2 => "real-time control data",
        3 => "generic data transfer",
        4 => "remote memory access",
        5 => "one-way delay measurement",
        6 => "remote reset",
        7 => "event indication",
        other => return format!("of type {other}"),
    };
    format!("\"{name}\"")
}

impl From<PacketError> for Note {
    fn from(error: PacketError) -> Self {
        Self::Malformed(error.layer())
    }
}

/// A note in a report, with its number of occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteCount {
    /// Text of the note.
    pub note: String,
    /// Number of occurrences of the note.
    pub count: u64,
    /// First occurrence of the note, as `packet 12` or `PDU 12`.
    pub first: String,
}

/// Collection of notes that counts equal notes.
#[derive(Debug, Default)]
pub struct Notes {
    counts: BTreeMap<Note, (u64, String)>,
}

impl Notes {
    /// Adds a note. `place` and `number` locate it, such as `packet` and 12.
    pub fn add(&mut self, note: Note, place: &'static str, number: u64) {
        let known = self.counts.len() < MAX_NOTES || self.counts.contains_key(&note);
        let note = if known { note } else { Note::Further };
        let entry = self.counts.entry(note).or_insert_with(|| (0, format!("{place} {number}")));
        entry.0 += 1;
    }

    /// Returns all notes with their counts.
    pub fn list(&self) -> Vec<NoteCount> {
        let shown = |(note, (count, first)): (&Note, &(u64, String))| NoteCount {
            note: note.to_string(),
            count: *count,
            first: first.clone(),
        };
        self.counts.iter().map(shown).collect()
    }
}
