//! What becomes of packets, what the control half learns about them, and counts.
use super::usage::Crossed;
use ranlab_packet::gtpu::PduSession;
use serde::Serialize;
use std::net::IpAddr;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate<'a> {
    /// This IP packet goes to the data network.
    N6(&'a [u8]),
    /// So many octets of the caller's buffer go to this base station.
    N3 {
        /// Its N3 address.
        peer: IpAddr,
        /// Octets written.
        len: usize,
        /// Type of service or traffic class of the outer header; 0: the socket's.
        tos: u8,
    },
    /// A packet from a tunnel goes into another one: see [`UserPlane::write`](super::UserPlane::write).
    Relay(Relay<'a>),
    /// It waits for a tunnel.
    Buffered,
    /// A path's echo: answer it.
    Echo,
    /// No session has this tunnel: the sender gets an error indication.
    UnknownTunnel(u32),
    /// An unsupported extension header that must be understood: the sender gets the supported ones (TS 29.281 §5.2.1).
    Unsupported,
    /// A message of the path that asks for nothing.
    Taken,
    /// Gone, for this reason.
    Dropped(Drop),
}

/// A packet on its way from one tunnel into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relay<'a> {
    /// Address of the tunnel's end.
    pub peer: IpAddr,
    /// Type of service or traffic class of the outer header; 0: the socket's.
    pub tos: u8,
    pub(super) teid: u32,
    /// PDU session container of the new header.
    pub(super) session: Option<PduSession>,
    pub(super) packet: &'a [u8],
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Drop {
    /// It is no GTP-U, or no IP packet.
    Malformed,
    /// No rule of the session, or no session, wants it.
    NoRule,
    /// The rule says so.
    Action,
    /// The gate is closed.
    Gate,
    /// The maximum bit rate is used up.
    Rate,
    /// The volume quota is used up.
    Quota,
    /// No more packets may wait.
    BufferFull,
    /// It is longer than the caller's buffer.
    TooLong,
}

impl Drop {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Malformed,
        Self::NoRule,
        Self::Action,
        Self::Gate,
        Self::Rate,
        Self::Quota,
        Self::BufferFull,
        Self::TooLong,
    ];

    /// As reports spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NoRule => "no_rule",
            Self::Action => "action",
            Self::Gate => "gate",
            Self::Rate => "rate",
            Self::Quota => "quota",
            Self::BufferFull => "buffer_full",
            Self::TooLong => "too_long",
        }
    }
}

/// Something that the control half has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaneEvent {
    /// The first packet waits for a session's UE: the control plane wants to be notified.
    DownlinkData {
        /// The session.
        seid: u64,
        /// The rule that matched.
        pdr_id: u16,
    },
    /// A packet brought a usage rule to a limit.
    Usage {
        /// The session.
        seid: u64,
        /// The rule.
        urr_id: u32,
        /// Which limits.
        crossed: Crossed,
        /// The counters at that moment: see [`Usage::read`](super::Usage::read).
        read: [u64; 4],
    },
    /// The far end of a tunnel does not know it.
    ErrorIndication {
        /// The tunnel.
        teid: u32,
        /// Address of the tunnel's end, as the message says.
        peer: IpAddr,
    },
}

/// What went through, and what did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PlaneCounters {
    /// Datagrams that came from base stations.
    pub n3_received: u64,
    /// Packets that came from the data network.
    pub n6_received: u64,
    /// Packets handed to the data network.
    pub uplink: u64,
    /// Packets handed to base stations, from the buffer as well.
    pub downlink: u64,
    /// Packets that had to wait.
    pub buffered: u64,
    /// Datagrams into tunnels that no session has.
    pub unknown_tunnels: u64,
    /// Messages of the path: echoes, end markers, error indications.
    pub path_messages: u64,
    /// Datagrams with extension headers that must be understood and are not.
    pub unsupported: u64,
    /// Events dropped because the caller did not fetch them.
    pub events_dropped: u64,
    #[serde(skip)]
    pub(super) dropped: [u64; Drop::ALL.len()],
}

impl PlaneCounters {
    /// Packets dropped for a reason.
    pub fn dropped(&self, reason: Drop) -> u64 {
        self.dropped[reason as usize]
    }

    /// Adds another user plane's counts: workers are counted together.
    pub fn add(&mut self, other: &Self) {
        self.n3_received += other.n3_received;
        self.n6_received += other.n6_received;
        self.uplink += other.uplink;
        self.downlink += other.downlink;
        self.buffered += other.buffered;
        self.unknown_tunnels += other.unknown_tunnels;
        self.path_messages += other.path_messages;
        self.unsupported += other.unsupported;
        self.events_dropped += other.events_dropped;
        for (sum, more) in self.dropped.iter_mut().zip(other.dropped) {
            *sum += more;
        }
    }
}
