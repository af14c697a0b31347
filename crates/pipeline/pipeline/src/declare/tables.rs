use super::Port;
use ranlab_packet::Mac;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            /// Its place in the table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// An [`ExactTable`].
    ExactId,
    /// A [`RouteTable`].
    RouteId,
    /// An [`AclTable`].
    AclId,
    /// A [`NatTable`].
    NatId,
    /// A [`NextHop`].
    NextHopId,
    /// A [`User`].
    UserId,
    /// A [`Tunnel`].
    TunnelId,
}

/// Everything that elements look up; ids are places in these lists.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// Exact matches of MAC addresses, IPv4 addresses and tunnel keys.
    pub exact: Vec<ExactTable>,
    /// Forwarding tables.
    pub routes: Vec<RouteTable>,
    /// Access control lists.
    pub acls: Vec<AclTable>,
    /// Static address translations.
    pub nats: Vec<NatTable>,
    /// The group table.
    pub next_hops: Vec<NextHop>,
    /// Users with their meters.
    pub users: Vec<User>,
    /// Tunnels towards base stations, CPEs or hosts.
    pub tunnels: Vec<Tunnel>,
}

/// Keys are what the element that uses the table reads: a MAC address ([`Mac::to_u64`]), an IPv4 address, the upper half
/// of an IPv6 address (a user has a /64, TS 23.501 §5.8.2.2; with a first group above 0 it is no IPv4 address), a TEID,
/// VNI or GRE key. Values are next hops or users, by the element too.
#[derive(Debug, Clone, Default)]
pub struct ExactTable {
    /// Key and value; of equal keys the last counts.
    pub entries: Vec<(u64, u32)>,
}

/// An IPv4 prefix; bits beyond the length are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix4 {
    /// The address.
    pub address: Ipv4Addr,
    /// Leading bits that count, 0 to 32.
    pub length: u8,
}

impl Prefix4 {
    /// The bits that count.
    #[must_use]
    pub const fn mask(self) -> u32 {
        if self.length == 0 { 0 } else { u32::MAX << (32 - if self.length > 32 { 32 } else { self.length }) }
    }

    /// Whether the address lies within.
    #[must_use]
    pub fn contains(self, address: Ipv4Addr) -> bool {
        (self.address.to_bits() ^ address.to_bits()) & self.mask() == 0
    }
}

/// An IPv6 prefix; bits beyond the length are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix6 {
    /// The address.
    pub address: Ipv6Addr,
    /// Leading bits that count, 0 to 128.
    pub length: u8,
}

impl Prefix6 {
    /// The bits that count.
    #[must_use]
    pub const fn mask(self) -> u128 {
        if self.length == 0 {
            0
        } else {
            u128::MAX << (128 - if self.length > 128 { 128 } else { self.length })
        }
    }

    /// Whether the address lies within.
    #[must_use]
    pub fn contains(self, address: Ipv6Addr) -> bool {
        (self.address.to_bits() ^ address.to_bits()) & self.mask() == 0
    }
}

/// A forwarding table: the longest matching prefix wins.
#[derive(Debug, Clone, Default)]
pub struct RouteTable {
    /// For IPv4; of equal prefixes the last counts.
    pub ipv4: Vec<(Prefix4, NextHopId)>,
    /// For IPv6, likewise.
    pub ipv6: Vec<(Prefix6, NextHopId)>,
}

/// What a rule does with its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// They go on.
    Permit,
    /// They are [`super::DropReason::Denied`].
    Deny,
}

/// What classification reads. A packet without ports (another protocol than TCP or UDP, a fragment other than the
/// first, a transport header that the packet cuts short) counts as having ports 0, as in Open vSwitch. Of IPv6 the
/// protocol is what follows the fixed header: extension headers are not looked behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FiveTuple<A = Ipv4Addr> {
    /// Source.
    pub src: A,
    /// Destination.
    pub dst: A,
    /// IPv4 protocol, or IPv6 next header.
    pub protocol: u8,
    /// Source port, or 0.
    pub src_port: u16,
    /// Destination port, or 0.
    pub dst_port: u16,
}

/// A prefix of either version.
pub trait Prefix: Copy {
    /// Its addresses.
    type Address: Copy;
    /// Whether the address lies within.
    fn holds(self, address: Self::Address) -> bool;
}

impl Prefix for Prefix4 {
    type Address = Ipv4Addr;
    fn holds(self, address: Ipv4Addr) -> bool {
        self.contains(address)
    }
}

impl Prefix for Prefix6 {
    type Address = Ipv6Addr;
    fn holds(self, address: Ipv6Addr) -> bool {
        self.contains(address)
    }
}

/// One rule over the five-tuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AclRule<P = Prefix4> {
    /// Source prefix.
    pub src: P,
    /// Destination prefix.
    pub dst: P,
    /// Least and greatest source port.
    pub src_ports: (u16, u16),
    /// Least and greatest destination port.
    pub dst_ports: (u16, u16),
    /// Protocol; any if absent.
    pub protocol: Option<u8>,
}

impl<P: Prefix> AclRule<P> {
    /// Whether the rule applies.
    #[must_use]
    pub fn matches(&self, packet: &FiveTuple<P::Address>) -> bool {
        self.src.holds(packet.src)
            && self.dst.holds(packet.dst)
            && (self.src_ports.0..=self.src_ports.1).contains(&packet.src_port)
            && (self.dst_ports.0..=self.dst_ports.1).contains(&packet.dst_port)
            && self.protocol.is_none_or(|protocol| protocol == packet.protocol)
    }
}

/// Rules in order of priority: the first of the packet's IP version that matches decides.
#[derive(Debug, Clone)]
pub struct AclTable {
    /// For IPv4.
    pub rules: Vec<(AclRule, Action)>,
    /// For IPv6.
    pub rules6: Vec<(AclRule<Prefix6>, Action)>,
    /// What happens if none matches.
    pub default: Action,
}

/// One side of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NatKey {
    /// Of either version.
    pub address: IpAddr,
    /// TCP or UDP.
    pub protocol: u8,
    /// Port.
    pub port: u16,
}

/// What stands after translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nat {
    /// Of the key's version: packets keep theirs.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
}

/// A statically populated translation, as published: the traffic of the other direction is known in advance. IPv6 has
/// its addresses and ports translated as IPv4 has (NAPT66, what Linux and Open vSwitch call `snat` and `dnat` there; RFC
/// 6296 translates prefixes alone, and keeps no table to compare with). Of IPv6 the transport header is what follows
/// the fixed header.
#[derive(Debug, Clone, Default)]
pub struct NatTable {
    /// From and to; of equal keys the last counts.
    pub entries: Vec<(NatKey, Nat)>,
}

/// An entry of the group table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// Destination MAC to write; the frame's own stays if absent.
    pub dst: Option<Mac>,
    /// Source MAC to write; the frame's own stays if absent.
    pub src: Option<Mac>,
    /// Where to send.
    pub port: Port,
}

/// A subscriber: one tunnel and one meter for both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// TEID, VNI or GRE key towards the user.
    pub tunnel_key: u32,
    /// The tunnel towards the user's base station, CPE or host.
    pub tunnel: TunnelId,
    /// Rate of the token bucket, octets per second.
    pub rate_bytes_per_s: u64,
    /// Depth of the token bucket, octets; it starts full.
    pub burst_bytes: u32,
}

/// How a tunnel wraps packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encapsulation {
    /// GTP-U (TS 29.281) with a PDU session container (TS 38.415) of this QoS flow.
    Gtp {
        /// QoS flow identifier, 0 to 63.
        qfi: u8,
    },
    /// VXLAN (RFC 7348).
    Vxlan,
    /// GRE with a key (RFC 2784, RFC 2890).
    Gre,
}

/// Where a tunnel leads. Routing to the far end is resolved: the MAC addresses and the port are part of the tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// How packets are wrapped.
    pub kind: Encapsulation,
    /// Address of this end.
    pub local: Ipv4Addr,
    /// Address of the far end.
    pub remote: Ipv4Addr,
    /// Outer destination MAC.
    pub dst: Mac,
    /// Outer source MAC.
    pub src: Mac,
    /// Where to send.
    pub port: Port,
}
