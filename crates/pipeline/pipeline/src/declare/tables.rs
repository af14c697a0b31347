use super::Port;
use ranlab_packet::Mac;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            /// Returns the index of the entry in its table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// Id of an [`ExactTable`].
    ExactId,
    /// Id of a [`RouteTable`].
    RouteId,
    /// Id of an [`AclTable`].
    AclId,
    /// Id of a [`NatTable`].
    NatId,
    /// Id of a [`NextHop`].
    NextHopId,
    /// Id of a [`User`].
    UserId,
    /// Id of a [`Tunnel`].
    TunnelId,
}

/// All tables of a pipeline. Ids are indexes into these lists.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// Exact-match tables for MAC addresses, IPv4 addresses and tunnel keys.
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

/// An exact-match table. The element that uses it defines the kind of the keys: MAC addresses ([`Mac::to_u64`]),
/// addresses of users, TEIDs, VNIs or GRE keys. It also defines whether values are next hops or users.
///
/// The address of a user is an IPv4 address, or the upper half of an IPv6 address, because a user has a /64 prefix (TS
/// 23.501 §5.8.2.2). The two do not collide, because the first group of an IPv6 prefix is above 0.
#[derive(Debug, Clone, Default)]
pub struct ExactTable {
    /// Keys and values. If a key occurs several times, the last entry is used.
    pub entries: Vec<(u64, u32)>,
}

/// An IPv4 prefix. Bits beyond the length are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix4 {
    /// Address of the prefix.
    pub address: Ipv4Addr,
    /// Number of relevant leading bits, 0 to 32.
    pub length: u8,
}

impl Prefix4 {
    /// Returns the mask of the relevant bits.
    #[must_use]
    pub const fn mask(self) -> u32 {
        if self.length == 0 { 0 } else { u32::MAX << (32 - if self.length > 32 { 32 } else { self.length }) }
    }

    /// Returns whether the prefix contains the address.
    #[must_use]
    pub fn contains(self, address: Ipv4Addr) -> bool {
        (self.address.to_bits() ^ address.to_bits()) & self.mask() == 0
    }
}

/// An IPv6 prefix. Bits beyond the length are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix6 {
    /// Address of the prefix.
    pub address: Ipv6Addr,
    /// Number of relevant leading bits, 0 to 128.
    pub length: u8,
}

impl Prefix6 {
    /// Returns the mask of the relevant bits.
    #[must_use]
    pub const fn mask(self) -> u128 {
        if self.length == 0 {
            0
        } else {
            u128::MAX << (128 - if self.length > 128 { 128 } else { self.length })
        }
    }

    /// Returns whether the prefix contains the address.
    #[must_use]
    pub fn contains(self, address: Ipv6Addr) -> bool {
        (self.address.to_bits() ^ address.to_bits()) & self.mask() == 0
    }
}

/// A forwarding table: the longest matching prefix wins.
#[derive(Debug, Clone, Default)]
pub struct RouteTable {
    /// IPv4 prefixes with their next hops. If a prefix occurs several times, the last entry is used.
    pub ipv4: Vec<(Prefix4, NextHopId)>,
    /// IPv6 prefixes with their next hops. If a prefix occurs several times, the last entry is used.
    pub ipv6: Vec<(Prefix6, NextHopId)>,
}

/// The action of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The packet continues.
    Permit,
    /// The packet is dropped as [`super::DropReason::Denied`].
    Deny,
}

/// Fields for classification. Packets of protocols other than TCP and UDP, fragments other than the first, and packets
/// with a truncated transport header have no ports. The protocol of IPv6 is the next header of the fixed header;
/// extension headers are not skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FiveTuple<A = Ipv4Addr> {
    /// Source address.
    pub src: A,
    /// Destination address.
    pub dst: A,
    /// IPv4 protocol, or IPv6 next header.
    pub protocol: u8,
    /// Source and destination port, if the packet has ports.
    pub ports: Option<(u16, u16)>,
    /// The 16 bits from the data offset to the flags (RFC 9293 §3.1, bytes 12 and 13). Only for TCP.
    pub tcp_flags: Option<u16>,
}

/// A prefix of either IP version.
pub trait Prefix: Copy {
    /// Type of the addresses in the prefix.
    type Address: Copy;
    /// Returns whether the prefix contains the address.
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

/// Value and mask of TCP's data offset, reserved bits and flags: bytes 12 and 13 of the TCP header. The default
/// requires no bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags {
    /// Required value. Bits outside the mask are ignored.
    pub value: u16,
    /// Mask of the compared bits. With mask 0, the rule applies to any packet.
    pub mask: u16,
}

impl TcpFlags {
    /// Returns whether a packet has the required bits. A packet that is not TCP has no flags.
    #[must_use]
    pub fn hold(self, flags: Option<u16>) -> bool {
        self.mask == 0 || flags.is_some_and(|flags| (flags ^ self.value) & self.mask == 0)
    }
}

/// Range of all ports.
pub const ANY_PORTS: (u16, u16) = (0, u16::MAX);

/// A rule over the five-tuple. A rule that restricts ports or flags does not match a packet without them, such as a
/// fragment other than the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AclRule<P = Prefix4> {
    /// Source prefix.
    pub src: P,
    /// Destination prefix.
    pub dst: P,
    /// Range of source ports, inclusive.
    pub src_ports: (u16, u16),
    /// Range of destination ports, inclusive.
    pub dst_ports: (u16, u16),
    /// Protocol, or `None` for any.
    pub protocol: Option<u8>,
    /// TCP flags.
    pub flags: TcpFlags,
}

impl<P> AclRule<P> {
    /// Returns whether the rule matches only packets with ports.
    #[must_use]
    pub fn restricts_ports(&self) -> bool {
        self.src_ports != ANY_PORTS || self.dst_ports != ANY_PORTS
    }
}

impl<P: Prefix> AclRule<P> {
    /// Returns whether the rule matches.
    #[must_use]
    pub fn matches(&self, packet: &FiveTuple<P::Address>) -> bool {
        let within = |(low, high): (u16, u16), port: u16| (low..=high).contains(&port);
        let ports = match packet.ports {
            Some((src, dst)) => within(self.src_ports, src) && within(self.dst_ports, dst),
            None => !self.restricts_ports(),
        };
        self.src.holds(packet.src)
            && self.dst.holds(packet.dst)
            && ports
            && self.flags.hold(packet.tcp_flags)
            && self.protocol.is_none_or(|protocol| protocol == packet.protocol)
    }
}

/// Rules in order of priority. The first matching rule of the packet's IP version decides.
#[derive(Debug, Clone)]
pub struct AclTable {
    /// Rules for IPv4.
    pub rules: Vec<(AclRule, Action)>,
    /// Rules for IPv6.
    pub rules6: Vec<(AclRule<Prefix6>, Action)>,
    /// The action if no rule matches.
    pub default: Action,
}

impl AclTable {
    /// Returns whether a rule requires TCP flags.
    #[must_use]
    pub fn has_flags(&self) -> bool {
        self.flag_rules() > 0
    }

    /// Returns whether a rule requires TCP flags outside the mask.
    #[must_use]
    pub fn flags_beyond(&self, mask: u16) -> bool {
        self.rules.iter().any(|(rule, _)| rule.flags.mask & !mask != 0)
            || self.rules6.iter().any(|(rule, _)| rule.flags.mask & !mask != 0)
    }

    /// Returns the number of rules that require TCP flags.
    #[must_use]
    pub fn flag_rules(&self) -> usize {
        let four = self.rules.iter().filter(|(rule, _)| rule.flags.mask != 0).count();
        four + self.rules6.iter().filter(|(rule, _)| rule.flags.mask != 0).count()
    }
}

/// Original side of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NatKey {
    /// Original address, of either IP version.
    pub address: IpAddr,
    /// Number of the protocol: TCP or UDP.
    pub protocol: u8,
    /// Original port.
    pub port: u16,
}

/// Translated side of a translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nat {
    /// Translated address, of the same IP version as the original address.
    pub address: IpAddr,
    /// Translated port.
    pub port: u16,
}

/// A translation table with static entries, as in TIPSY. Packets create no entries, because the traffic of the other
/// direction is known in advance.
///
/// For IPv6, address and port are translated as for IPv4 (NAPT66, called `snat` and `dnat` in Linux and Open vSwitch).
/// RFC 6296 is not applied, because it translates prefixes only, without a table. The transport header of IPv6 must
/// follow the fixed header.
#[derive(Debug, Clone, Default)]
pub struct NatTable {
    /// Original and translated sides. If a key occurs several times, the last entry is used.
    pub entries: Vec<(NatKey, Nat)>,
}

/// An entry of the group table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// Destination MAC to write, or `None` to leave it unchanged.
    pub dst: Option<Mac>,
    /// Source MAC to write, or `None` to leave it unchanged.
    pub src: Option<Mac>,
    /// Egress port.
    pub port: Port,
}

/// A subscriber: one tunnel and one meter for both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// TEID, VNI or GRE key towards the user.
    pub tunnel_key: u32,
    /// The tunnel towards the user's base station, CPE or host.
    pub tunnel: TunnelId,
    /// Rate of the token bucket, in bytes per second.
    pub rate_bytes_per_s: u64,
    /// Depth of the token bucket, in bytes. It starts full.
    pub burst_bytes: u32,
}

/// Encapsulation of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encapsulation {
    /// GTP-U (TS 29.281) with a PDU session container (TS 38.415) for this QoS flow.
    Gtp {
        /// QoS flow identifier, 0 to 63.
        qfi: u8,
    },
    /// VXLAN (RFC 7348).
    Vxlan,
    /// GRE with a key (RFC 2784, RFC 2890).
    Gre,
}

/// A tunnel. The route to its remote end is already resolved, so the tunnel contains the MAC addresses and the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// Encapsulation.
    pub kind: Encapsulation,
    /// Address of the local end.
    pub local: Ipv4Addr,
    /// Address of the remote end.
    pub remote: Ipv4Addr,
    /// Outer destination MAC.
    pub dst: Mac,
    /// Outer source MAC.
    pub src: Mac,
    /// Egress port.
    pub port: Port,
}
