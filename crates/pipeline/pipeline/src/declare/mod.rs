//! What a pipeline does, said once and for every switch: tables, and for each direction the elements a packet passes.
//!
//! The vocabulary is that of telco gateways (admit, decapsulate, find the user, meter, route), coarse enough that a
//! backend may choose its own form and exact enough that the result is one: each element says in which order it
//! checks and which [`DropReason`] follows.
mod change;
mod tables;

pub use change::{Change, Event, Happening};
pub use tables::{
    AclId, AclRule, AclTable, Action, Encapsulation, ExactId, ExactTable, FiveTuple, Nat, NatId, NatKey,
    NatTable, NextHop, NextHopId, Prefix, Prefix4, Prefix6, RouteId, RouteTable, Tables, Tunnel, TunnelId,
    User, UserId,
};

use ranlab_packet::Mac;
use std::net::Ipv4Addr;

/// A side of the system under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Port {
    /// Towards users and base stations (the published configurations' downlink port).
    Access = 0,
    /// Towards servers and the Internet (their uplink port).
    Core = 1,
}

impl Port {
    /// The port on the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Access => Self::Core,
            Self::Core => Self::Access,
        }
    }
}

/// Which way traffic runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Enters at [`Port::Access`].
    Uplink,
    /// Enters at [`Port::Core`].
    Downlink,
}

impl Direction {
    /// Where its packets enter.
    #[must_use]
    pub const fn ingress(self) -> Port {
        match self {
            Self::Uplink => Port::Access,
            Self::Downlink => Port::Core,
        }
    }
}

/// One pipeline with everything it knows.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// What its elements look up.
    pub tables: Tables,
    /// What packets from [`Port::Access`] pass.
    pub uplink: Path,
    /// What packets from [`Port::Core`] pass.
    pub downlink: Path,
    /// Packets that match nothing are sent out of the other port as they stand, instead of being dropped.
    pub fakedrop: bool,
}

impl Declaration {
    /// The path of a direction.
    #[must_use]
    pub const fn path(&self, direction: Direction) -> &Path {
        match direction {
            Direction::Uplink => &self.uplink,
            Direction::Downlink => &self.downlink,
        }
    }
}

/// The elements of one direction. Blocks are what a scheduler may place on its own: elements within a block may be
/// merged by an engine, blocks may not. Any division of the same elements forwards alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The blocks, in the order packets pass them.
    pub blocks: Vec<Vec<Element>>,
}

/// How a pipeline's elements are divided into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decomposition {
    /// One block holds them all.
    #[default]
    Block,
    /// A block for each.
    Chain,
}

impl Decomposition {
    /// Divides `elements`.
    #[must_use]
    pub fn divide(self, elements: Vec<Element>) -> Path {
        let blocks = match self {
            Self::Block => vec![elements],
            Self::Chain => elements.into_iter().map(|element| vec![element]).collect(),
        };
        Path { blocks }
    }
}

/// One step of a packet's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element {
    /// Takes well-formed IP frames. In this order: 14 octets ([`DropReason::Malformed`]), the destination MAC
    /// ([`DropReason::NotForUs`]), the EtherType ([`DropReason::NotIp`]; tagged frames too), then version, header
    /// length and total length ([`DropReason::Malformed`]) and the IPv4 header checksum ([`DropReason::Checksum`]).
    Admit {
        /// The destination that frames must have; any if absent.
        mac: Option<Mac>,
        /// Whether IPv6 passes; if not, it is [`DropReason::NotIp`].
        ipv6: bool,
    },
    /// Looks the destination MAC up and makes the value the next hop, without reading further than the Ethernet
    /// header ([`DropReason::Malformed`], [`DropReason::Miss`]).
    Bridge(ExactId),
    /// Looks the destination MAC up and makes the value the user ([`DropReason::Malformed`], [`DropReason::Miss`]).
    FindUserByMac(ExactId),
    /// Cuts out an IPv4 tunnel's headers and admits the packet within, IPv4 or, if allowed, IPv6. Outer destination and protocol
    /// ([`DropReason::NotTunnel`]), fragment ([`DropReason::Fragment`]), UDP or GRE header and lengths
    /// ([`DropReason::Malformed`]), UDP port, message type, GRE protocol and presence of the key
    /// ([`DropReason::NotTunnel`]), then the inner packet as in [`Element::Admit`]. GTP-U and GRE carry bare packets:
    /// the outer Ethernet header stays in front. VXLAN carries a frame. Checksums of UDP and GRE are not verified.
    Decap {
        /// What is expected.
        kind: Encapsulation,
        /// The tunnel's address here.
        local: Ipv4Addr,
        /// Whether IPv6 within passes; if not, it is what another version is ([`DropReason::Malformed`] after GTP-U,
        /// [`DropReason::NotTunnel`] after GRE, [`DropReason::NotIp`] after VXLAN).
        ipv6: bool,
    },
    /// Finds the user by the key of the tunnel that was cut ([`DropReason::Miss`]).
    FindUserByTunnelKey(ExactId),
    /// Finds the user by source: an IPv4 address, or the /64 of an IPv6 address ([`DropReason::Miss`]).
    FindUserBySource(ExactId),
    /// Finds the user by destination, likewise ([`DropReason::Miss`]).
    FindUserByDestination(ExactId),
    /// Charges the IP packet's whole length to the user's token bucket ([`DropReason::Metered`]).
    Meter,
    /// Applies the first matching rule ([`DropReason::Denied`]).
    Acl(AclId),
    /// Rewrites source address and port by the mapping of (source, protocol, source port) ([`DropReason::Miss`]);
    /// checksums follow, and one that was wrong or absent stays so.
    NatSource(NatId),
    /// Rewrites destination address and port likewise ([`DropReason::Miss`]).
    NatDestination(NatId),
    /// Finds the next hop by the longest prefix of the destination ([`DropReason::Miss`]).
    Route(RouteId),
    /// Spends one hop of the packet's life ([`DropReason::HopLimit`] if at most one is left), then as
    /// [`Element::Deliver`].
    Forward,
    /// Writes the next hop's MAC addresses and sends out of its port.
    Deliver,
    /// Puts the packet (GTP-U, GRE: without padding) or the frame (VXLAN) into the user's tunnel and sends it.
    Encap,
    /// Sends out of the port, with another source MAC if one is given.
    Emit {
        /// Where to.
        port: Port,
        /// The source MAC to write.
        source: Option<Mac>,
    },
}

/// Why a packet went nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// Headers contradict each other or the frame's length.
    Malformed,
    /// Addressed to another station.
    NotForUs,
    /// Not a protocol of this pipeline.
    NotIp,
    /// IPv4 header checksum.
    Checksum,
    /// Part of a tunnel packet: reassembly is not offered.
    Fragment,
    /// Not from the tunnel that is expected.
    NotTunnel,
    /// No entry matches.
    Miss,
    /// A rule denies it.
    Denied,
    /// Beyond the user's rate.
    Metered,
    /// TTL or hop limit spent.
    HopLimit,
    /// The path ended without sending (an incomplete declaration).
    PathEnd,
}

impl DropReason {
    /// How many there are.
    pub const COUNT: usize = 11;
    /// All of them, each at its own number.
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

    /// What it means, in words for people.
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

    /// A short name, as reports have it.
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

    /// Whether fakedrop sends such packets: those that are sound but match nothing.
    #[must_use]
    pub const fn is_unmatched(self) -> bool {
        matches!(self, Self::NotForUs | Self::NotTunnel | Self::Miss | Self::Denied)
    }
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It left.
    Sent(Port),
    /// It did not.
    Dropped(DropReason),
}
