//! Verdicts on packets, events for the control plane, and counters.
use super::usage::Crossed;
use ranlab_packet::gtpu::PduSession;
use serde::Serialize;
use std::net::IpAddr;

/// The verdict on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Send this IP packet to the data network.
    N6(&'a [u8]),
    /// Send the first `len` bytes of the caller's buffer to this base station.
    N3 {
        /// Its N3 address.
        peer: IpAddr,
        /// Number of bytes.
        len: usize,
        /// Type of service or traffic class of the outer header. 0: the socket's default.
        tos: u8,
    },
    /// Forward a packet from one tunnel into another; see [`UserPlane::write`](super::UserPlane::write).
    Relay(Relay<'a>),
    /// The packet is buffered.
    Buffered,
    /// Answer an Echo Request.
    Echo,
    /// No session has this tunnel. Send an Error Indication to the sender.
    UnknownTunnel(u32),
    /// An unsupported extension header that must be comprehended. Send the list of supported ones (TS 29.281 §5.2.1).
    Unsupported,
    /// A path message that needs no action.
    Taken,
    /// The packet was dropped.
    Dropped(Drop),
}

/// A packet to be forwarded from one tunnel into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relay<'a> {
    /// Address of the tunnel's remote end.
    pub peer: IpAddr,
    /// Type of service or traffic class of the outer header. 0: the socket's default.
    pub tos: u8,
    pub(super) teid: u32,
    /// PDU session container of the new header.
    pub(super) session: Option<PduSession>,
    pub(super) packet: &'a [u8],
}

/// The reason why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Drop {
    /// Not a valid GTP-U or IP packet.
    Malformed,
    /// No session or rule matches.
    NoRule,
    /// The rule drops it.
    Action,
    /// The rule forwards to a base station whose tunnel is not known yet.
    NoTunnel,
    /// The gate is closed.
    Gate,
    /// The maximum bit rate is exceeded.
    Rate,
    /// The volume quota is exhausted.
    Quota,
    /// The buffer is full.
    BufferFull,
    /// The packet is longer than the caller's buffer.
    TooLong,
}

impl Drop {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::NoRule,
        Self::Action,
        Self::NoTunnel,
        Self::Gate,
        Self::Rate,
        Self::Quota,
        Self::BufferFull,
        Self::TooLong,
    ];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NoRule => "no_rule",
            Self::Action => "action",
            Self::NoTunnel => "no_tunnel",
            Self::Gate => "gate",
            Self::Rate => "rate",
            Self::Quota => "quota",
            Self::BufferFull => "buffer_full",
            Self::TooLong => "too_long",
        }
    }
}

/// An event for the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaneEvent {
    /// The first packet was buffered for a session's UE, and the control plane has requested a notification.
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
        /// The limits that were reached.
        crossed: Crossed,
        /// The counters at that time; see [`Usage::read`](super::Usage::read).
        read: [u64; 4],
    },
    /// The remote end of a tunnel does not know the tunnel.
    ErrorIndication {
        /// The tunnel.
        teid: u32,
        /// Address of the tunnel's remote end, as in the message.
        peer: IpAddr,
    },
}

/// Packet counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PlaneCounters {
    /// Datagrams received from base stations.
    pub n3_received: u64,
    /// Packets received from the data network.
    pub n6_received: u64,
    /// Packets sent to the data network.
    pub uplink: u64,
    /// Packets sent to base stations, including buffered ones.
    pub downlink: u64,
    /// Packets that were buffered.
    pub buffered: u64,
    /// Datagrams into unknown tunnels.
    pub unknown_tunnels: u64,
    /// Path messages: echoes, end markers, error indications.
    pub path_messages: u64,
    /// Datagrams with unsupported extension headers that must be comprehended.
    pub unsupported: u64,
    /// Events dropped because the caller did not fetch them.
    pub events_dropped: u64,
    #[serde(skip)]
    pub(super) dropped: [u64; Drop::ALL.len()],
}

impl PlaneCounters {
    /// Returns the number of packets dropped for a reason.
    pub fn dropped(&self, reason: Drop) -> u64 {
        self.dropped[reason as usize]
    }

    /// Adds the counters of another worker.
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
