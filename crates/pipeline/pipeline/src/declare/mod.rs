//! Declarations of pipelines, independent of any switch. A declaration has tables, and the elements that packets pass
//! in each direction.
//!
//! Elements are the steps of a telco gateway (admit, decapsulate, find the user, meter, route). They are coarse, so
//! that a backend may choose their implementation. Their result is unique, because each element defines the order of
//! its checks and the resulting [`DropReason`].
mod change;
mod tables;

pub use change::{Change, Event, EventKind};
pub use tables::{
    ANY_PORTS, AclId, AclRule, AclTable, Action, Encapsulation, ExactId, ExactTable, FiveTuple, Nat, NatId,
    NatKey, NatTable, NextHop, NextHopId, Prefix, Prefix4, Prefix6, RouteId, RouteTable, Tables, TcpFlags,
    Tunnel, TunnelId, User, UserId,
};

use ranlab_packet::Mac;
use std::net::Ipv4Addr;

/// A side of the system under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Port {
    /// Towards users and base stations (TIPSY calls it the downlink port).
    Access = 0,
    /// Towards servers and the Internet (TIPSY calls it the uplink port).
    Core = 1,
}

impl Port {
    /// Returns the port on the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Access => Self::Core,
            Self::Core => Self::Access,
        }
    }
}

/// Direction of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Packets that enter at [`Port::Access`].
    Uplink,
    /// Packets that enter at [`Port::Core`].
    Downlink,
}

impl Direction {
    /// Returns the port where packets of the direction enter.
    #[must_use]
    pub const fn ingress(self) -> Port {
        match self {
            Self::Uplink => Port::Access,
            Self::Downlink => Port::Core,
        }
    }
}

/// A complete pipeline.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// Tables used by its elements.
    pub tables: Tables,
    /// Elements passed by packets from [`Port::Access`].
    pub uplink: Path,
    /// Elements passed by packets from [`Port::Core`].
    pub downlink: Path,
    /// Whether packets that match nothing are sent unmodified to the other port instead of being dropped.
    pub fakedrop: bool,
}

impl Declaration {
    /// Returns the path of a direction.
    #[must_use]
    pub const fn path(&self, direction: Direction) -> &Path {
        match direction {
            Direction::Uplink => &self.uplink,
            Direction::Downlink => &self.downlink,
        }
    }
}

/// The elements of one direction, divided into blocks. An engine may merge elements within a block, but not across
/// blocks. A scheduler may place each block separately. The division does not affect forwarding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The blocks, in the order packets pass them.
    pub blocks: Vec<Vec<Element>>,
}

/// Division of a pipeline's elements into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decomposition {
    /// One block with all elements.
    #[default]
    Block,
    /// One block per element.
    Chain,
}

impl Decomposition {
    /// Divides `elements` into blocks.
    #[must_use]
    pub fn divide(self, elements: Vec<Element>) -> Path {
        let blocks = match self {
            Self::Block => vec![elements],
            Self::Chain => elements.into_iter().map(|element| vec![element]).collect(),
        };
        Path { blocks }
    }
}

/// One processing step of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element {
    /// Accepts well-formed IP frames. Checks in this order: 14 bytes ([`DropReason::Malformed`]), the destination MAC
    /// ([`DropReason::NotForUs`]), the EtherType ([`DropReason::NotIp`]; also for tagged frames), then version, header
    /// length and total length ([`DropReason::Malformed`]) and the IPv4 header checksum ([`DropReason::Checksum`]).
    Admit {
        /// Required destination MAC, or `None` for any.
        mac: Option<Mac>,
        /// Whether IPv6 is accepted. Otherwise it is dropped as [`DropReason::NotIp`].
        ipv6: bool,
    },
    /// Looks up the destination MAC; the value is the next hop. Reads only the Ethernet header
    /// ([`DropReason::Malformed`], [`DropReason::Miss`]).
    Bridge(ExactId),
    /// Looks up the destination MAC; the value is the user ([`DropReason::Malformed`], [`DropReason::Miss`]).
    FindUserByMac(ExactId),
    /// Removes the headers of an IPv4 tunnel and admits the inner packet, IPv4 or, if allowed, IPv6. Checks in this
    /// order: outer destination and protocol ([`DropReason::NotTunnel`]), fragment ([`DropReason::Fragment`]), UDP or
    /// GRE header and lengths ([`DropReason::Malformed`]), UDP port, message type, GRE protocol and presence of the key
    /// ([`DropReason::NotTunnel`]), then the inner packet as in [`Element::Admit`]. GTP-U and GRE carry IP packets, so
    /// the outer Ethernet header is kept. VXLAN carries Ethernet frames. Checksums of UDP and GRE are not verified.
    Decap {
        /// The expected encapsulation.
        kind: Encapsulation,
        /// The local address of the tunnel.
        local: Ipv4Addr,
        /// Whether inner IPv6 is accepted. Otherwise it is handled like an unknown version ([`DropReason::Malformed`]
        /// after GTP-U, [`DropReason::NotTunnel`] after GRE, [`DropReason::NotIp`] after VXLAN).
        ipv6: bool,
    },
    /// Finds the user by the key of the removed tunnel ([`DropReason::Miss`]).
    FindUserByTunnelKey(ExactId),
    /// Finds the user by source: an IPv4 address, or the /64 prefix of an IPv6 address ([`DropReason::Miss`]).
    FindUserBySource(ExactId),
    /// Finds the user by destination: an IPv4 address, or the /64 prefix of an IPv6 address ([`DropReason::Miss`]).
    FindUserByDestination(ExactId),
    /// Charges the total length of the IP packet to the user's token bucket ([`DropReason::Metered`]).
    Meter,
    /// Applies the first matching rule ([`DropReason::Denied`]).
    Acl(AclId),
    /// Rewrites source address and port by the mapping of (source, protocol, source port) ([`DropReason::Miss`]).
    /// Checksums are updated; a wrong or absent checksum stays wrong or absent.
    NatSource(NatId),
    /// Rewrites destination address and port by the mapping of (destination, protocol, destination port)
    /// ([`DropReason::Miss`]). Checksums are updated; a wrong or absent checksum stays wrong or absent.
    NatDestination(NatId),
    /// Finds the next hop by the longest prefix of the destination ([`DropReason::Miss`]).
    Route(RouteId),
    /// Decrements the TTL or hop limit ([`DropReason::HopLimit`] if at most one is left), then continues as
    /// [`Element::Deliver`].
    Forward,
    /// Writes the next hop's MAC addresses and sends to its port.
    Deliver,
    /// Encapsulates the packet (GTP-U, GRE: without padding) or the frame (VXLAN) in the user's tunnel and sends it.
    Encap,
    /// Sends to the port, with another source MAC if one is given.
    Emit {
        /// The egress port.
        port: Port,
        /// The source MAC to write.
        source: Option<Mac>,
    },
}

/// The reason why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// Headers are inconsistent with each other or with the frame's length.
    Malformed,
    /// The frame is addressed to another station.
    NotForUs,
    /// The frame has a protocol that this pipeline does not accept.
    NotIp,
    /// The IPv4 header checksum is invalid.
    Checksum,
    /// The packet is a fragment of a tunnel packet; reassembly is not supported.
    Fragment,
    /// The packet does not belong to the expected tunnel.
    NotTunnel,
    /// No entry matches.
    Miss,
    /// A rule denies the packet.
    Denied,
    /// The packet exceeds the user's rate.
    Metered,
    /// The TTL or hop limit is exceeded.
    HopLimit,
    /// The path ended without sending (an incomplete declaration).
    PathEnd,
}

impl DropReason {
    /// Number of drop reasons.
    pub const COUNT: usize = 11;
    /// All drop reasons, indexed by number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Malformed,
        Self::NotForUs,
        Self::NotIp,
        Self::Checksum,
        Self::Fragment,
        Self::NotTunnel,
        Self::Miss,
        Self::Denied,
        Self::Metered,
        Self::HopLimit,
        Self::PathEnd,
    ];

    /// Returns the meaning of the reason, for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Malformed => "headers contradict each other or the frame's length",
            Self::NotForUs => "addressed to another station",
            Self::NotIp => "not IP: tagged or another EtherType",
            Self::Checksum => "wrong IPv4 header checksum",
            Self::Fragment => "fragment of a tunnel packet",
            Self::NotTunnel => "not from the expected tunnel",
            Self::Miss => "no entry matches",
            Self::Denied => "denied by a rule",
            Self::Metered => "beyond the user's rate",
            Self::HopLimit => "TTL or hop limit spent",
            Self::PathEnd => "the path ends without sending",
        }
    }

    /// Returns the short name of the reason in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NotForUs => "not_for_us",
            Self::NotIp => "not_ip",
            Self::Checksum => "checksum",
            Self::Fragment => "fragment",
            Self::NotTunnel => "not_tunnel",
            Self::Miss => "miss",
            Self::Denied => "denied",
            Self::Metered => "metered",
            Self::HopLimit => "hop_limit",
            Self::PathEnd => "path_end",
        }
    }

    /// Returns whether `fakedrop` forwards packets with this reason. This applies to well-formed packets that match
    /// nothing.
    #[must_use]
    pub const fn is_unmatched(self) -> bool {
        matches!(self, Self::NotForUs | Self::NotTunnel | Self::Miss | Self::Denied)
    }
}

/// The verdict on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The packet was sent to this port.
    Sent(Port),
    /// The packet was dropped.
    Dropped(DropReason),
}
