//! Verdicts on packets, events for the control plane, and counters.
use super::usage::Crossed;
use ranlab_packet::gtpu::PduSession;
use serde::Serialize;
use std::net::IpAddr;

/// Verdict on a packet. It determines what the caller does with the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Sends this IP packet to the data network.
    N6(&'a [u8]),
    /// Sends the first `len` bytes of the caller's buffer to a base station.
    N3 {
        /// N3 address of the base station.
        peer: IpAddr,
        /// Number of bytes of the datagram.
        len: usize,
        /// Type of service or traffic class of the outer header. 0: the default of the socket.
        tos: u8,
    },
    /// Forwards a packet from one tunnel into another; see [`UserPlane::write`](super::UserPlane::write).
    Relay(Relay<'a>),
    /// The packet is buffered.
    Buffered,
    /// Answers an Echo Request.
    Echo,
    /// Sends an Error Indication to the sender, because no session has this tunnel.
    UnknownTunnel(u32),
    /// Sends the list of supported extension headers, because the datagram has an unsupported one that must be comprehended (TS 29.281
    /// §5.2.1).
    Unsupported,
    /// The datagram was a path message that needs no action.
    Taken,
    /// The packet was dropped.
    Dropped(Drop),
}

/// A packet to be forwarded from one tunnel into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relay<'a> {
    /// Address of the tunnel's remote end.
    pub peer: IpAddr,
    /// Type of service or traffic class of the outer header. 0: the default of the socket.
    pub tos: u8,
    pub(super) teid: u32,
    /// PDU session container of the new header.
    pub(super) session: Option<PduSession>,
    pub(super) packet: &'a [u8],
}

/// Reason why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Drop {
    /// The datagram is not valid GTP-U, or the packet is not valid IP.
    Malformed,
    /// No session or rule matches the packet.
    NoRule,
    /// The rule drops the packet.
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
    /// All reasons, in the order of the counters.
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

    /// Returns the name of the reason in reports.
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
        /// Id of the session.
        seid: u64,
        /// Id of the detection rule that matched.
        pdr_id: u16,
    },
    /// A packet brought a usage rule to a limit.
    Usage {
        /// Id of the session.
        seid: u64,
        /// Id of the usage rule.
        urr_id: u32,
        /// The limits that were reached.
        crossed: Crossed,
        /// Counters when the limit was reached; see [`Usage::read`](super::Usage::read).
        read: [u64; 4],
    },
    /// The remote end of a tunnel does not know the tunnel.
    ErrorIndication {
        /// TEID of the tunnel.
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
    /// Packets sent to base stations, including packets that were buffered before.
    pub downlink: u64,
    /// Packets that were buffered.
    pub buffered: u64,
    /// Datagrams into unknown tunnels.
    pub unknown_tunnels: u64,
    /// Path messages received: echoes, end markers and error indications.
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
