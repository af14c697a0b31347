//! Code shared by the gateways: servers behind next hops on one side, users behind tunnels on the other side.
use super::addressing;
use super::l3fwd::Family;
use crate::declare::{
    Change, DropReason, Encapsulation, Nat, NatKey, NatTable, NextHop, NextHopId, Port, Prefix4, Prefix6,
    RouteId, RouteTable, Tunnel, TunnelId, User,
};
use crate::reference::{Step, TokenBucket, encap, readdress, spend_hop, user_key};
use crate::trace::frames::Endpoint;
use ranlab_machine::Random;
use ranlab_packet::{Mac, Protocol};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Address of the gateway in TIPSY.
pub(super) const GW_IP: Ipv4Addr = Ipv4Addr::new(200, 0, 0, 1);
/// MAC address of the gateway in TIPSY.
pub(crate) const GW_MAC: Mac = Mac([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66]);
/// Default rate of a user in TIPSY, in bytes per second.
pub(super) const RATE_LIMIT: u64 = 10_000;
/// Default depth of a user's token bucket, in bytes. One frame of the maximum size fits.
pub(super) const RATE_BURST: u32 = 10_000;

/// Text form of MAC addresses in configurations.
pub(super) mod mac_text {
    use super::Mac;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(mac: &Mac, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(mac)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Mac, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

/// Text form of optional MAC addresses.
pub(super) mod mac_text_option {
    use super::Mac;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(mac: &Option<Mac>, s: S) -> Result<S::Ok, S::Error> {
        match mac {
            Some(mac) => s.collect_str(mac),
            None => s.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Mac>, D::Error> {
        Option::<String>::deserialize(d)?.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

/// Returns the routes to the servers: a /24 each, with next hops round robin.
pub(super) fn server_routes(servers: u32, next_hops: u32) -> RouteTable {
    let route = |i| (server_prefix(addressing::server(i)), NextHopId(i % next_hops));
    RouteTable { ipv4: (0..servers).map(route).collect(), ipv6: Vec::new() }
}

/// Returns the IPv4 and IPv6 routes to the servers.
pub(super) fn dual_server_routes(servers: u32, next_hops: u32) -> RouteTable {
    let route = |i| (server_prefix6(addressing::server6(i)), NextHopId(i % next_hops));
    RouteTable { ipv6: (0..servers).map(route).collect(), ..server_routes(servers, next_hops) }
}

/// Returns the changes that add or remove dynamic server `index`: its route in each IP version of the users.
pub(super) fn server_changes(family: Family, index: u32, next_hops: u32, present: bool) -> Vec<Change> {
    let table = RouteId(0);
    let next_hop = present.then_some(NextHopId(index % next_hops));
    let prefix = server_prefix(addressing::fluct_server(index));
    let prefix6 = server_prefix6(addressing::fluct_server6(index));
    let ipv4 = (family != Family::Ipv6).then_some(Change::Route4 { table, prefix, next_hop });
    let ipv6 = (family != Family::Ipv4).then_some(Change::Route6 { table, prefix: prefix6, next_hop });
    ipv4.into_iter().chain(ipv6).collect()
}

/// Returns the group table.
pub(super) fn next_hops(count: u32) -> Vec<NextHop> {
    let one = |i| {
        let (dst, src) = addressing::next_hop(i);
        NextHop { dst: Some(dst), src: Some(src), port: Port::Core }
    };
    (0..count).map(one).collect()
}

/// Returns a tunnel to base station, CPE or host `index`.
pub(super) fn tunnel(kind: Encapsulation, local: Ipv4Addr, gw_mac: Mac, index: u32) -> Tunnel {
    let (remote, dst) = addressing::station(index);
    Tunnel { kind, local, remote, dst, src: gw_mac, port: Port::Access }
}

fn server_prefix(server: Ipv4Addr) -> Prefix4 {
    Prefix4 { address: Ipv4Addr::from_bits(server.to_bits() & 0xffff_ff00), length: 24 }
}

fn server_prefix6(server: Ipv6Addr) -> Prefix6 {
    Prefix6 { address: Ipv6Addr::from_bits(server.to_bits() >> 64 << 64), length: 64 }
}

/// The network side of an oracle: routes and next hops to the servers.
pub(super) struct Servers {
    ipv4: Vec<(Prefix4, u32)>,
    ipv6: Vec<(Prefix6, u32)>,
    family: Family,
    next_hops: u32,
}

impl Servers {
    pub(super) fn new(family: Family, servers: u32, next_hops: u32) -> Self {
        let ipv4 = |i| (server_prefix(addressing::server(i)), i % next_hops);
        let ipv6 = |i| (server_prefix6(addressing::server6(i)), i % next_hops);
        Self {
            ipv4: (0..servers).map(ipv4).collect(),
            ipv6: (0..servers).map(ipv6).collect(),
            family,
            next_hops,
        }
    }

    /// Routes and forwards a packet to the network.
    pub(super) fn forward(&self, frame: &mut [u8], to: IpAddr) -> Step<Port> {
        let next_hop = match to {
            IpAddr::V4(to) => found(&self.ipv4, |prefix| prefix.contains(to)),
            IpAddr::V6(to) => found(&self.ipv6, |prefix| prefix.contains(to)),
        };
        let next_hop = next_hop.ok_or(DropReason::Miss)?;
        spend_hop(frame)?;
        let (dst, src) = addressing::next_hop(next_hop);
        readdress(frame, dst, src);
        Ok(Port::Core)
    }

    pub(super) fn arrive(&mut self, index: u32) {
        self.depart(index);
        let next_hop = index % self.next_hops;
        if self.family != Family::Ipv6 {
            self.ipv4.push((server_prefix(addressing::fluct_server(index)), next_hop));
        }
        if self.family != Family::Ipv4 {
            self.ipv6.push((server_prefix6(addressing::fluct_server6(index)), next_hop));
        }
    }

    pub(super) fn depart(&mut self, index: u32) {
        let gone = server_prefix(addressing::fluct_server(index));
        self.ipv4.retain(|(prefix, _)| *prefix != gone);
        let gone = server_prefix6(addressing::fluct_server6(index));
        self.ipv6.retain(|(prefix, _)| *prefix != gone);
    }
}

fn found<P>(routes: &[(P, u32)], matches: impl Fn(&P) -> bool) -> Option<u32> {
    routes.iter().find(|(prefix, _)| matches(prefix)).map(|(_, next_hop)| *next_hop)
}

/// A user in an oracle.
#[derive(Clone)]
pub(super) struct Subscriber {
    /// Lookup key of the user by address ([`user_key`]).
    pub(super) address: u64,
    pub(super) tunnel_key: u32,
    pub(super) station: u32,
    pub(super) bucket: TokenBucket,
}

/// The user side of an oracle: the users with their tunnels and meters.
#[derive(Default)]
pub(super) struct Subscribers {
    by_key: HashMap<u32, Subscriber>,
    key_of: HashMap<u64, u32>,
}

impl Subscribers {
    pub(super) fn insert(&mut self, subscriber: Subscriber) {
        self.key_of.insert(subscriber.address, subscriber.tunnel_key);
        self.by_key.insert(subscriber.tunnel_key, subscriber);
    }

    pub(super) fn remove(&mut self, key: u32) {
        if let Some(gone) = self.by_key.remove(&key) {
            self.key_of.remove(&gone.address);
        }
    }

    pub(super) fn by_key(&mut self, key: u32) -> Step<&mut Subscriber> {
        self.by_key.get_mut(&key).ok_or(DropReason::Miss)
    }

    pub(super) fn by_address(&mut self, address: impl Into<IpAddr>) -> Step<&mut Subscriber> {
        let key = *self.key_of.get(&user_key(address.into())).ok_or(DropReason::Miss)?;
        self.by_key(key)
    }
}

/// Encapsulates a packet in a subscriber's tunnel.
pub(super) fn into_tunnel(
    frame: &mut Vec<u8>,
    subscriber: &Subscriber,
    (kind, local, gw_mac): (Encapsulation, Ipv4Addr, Mac),
) -> Step<Port> {
    let tunnel = tunnel(kind, local, gw_mac, subscriber.station);
    *frame = encap(frame, &tunnel, subscriber.tunnel_key)?;
    Ok(tunnel.port)
}

/// Returns the lookup key of user `index` by address.
pub(super) fn key_of(family: Family, index: u32) -> u64 {
    if family.is_ipv6(index) { addressing::user6(index) } else { addressing::user(index).to_bits().into() }
}

/// Returns the lookup key of an added and removed user by address. The user's number determines the IP version.
pub(super) fn fluct_key_of(family: Family, index: u32) -> u64 {
    if family.is_ipv6(index) {
        addressing::fluct_user6(index)
    } else {
        addressing::fluct_user(index).to_bits().into()
    }
}

/// Returns a user of a declaration.
pub(super) fn user(tunnel_key: u32, station: u32, rate_bytes_per_s: u64, burst_bytes: u32) -> User {
    User { tunnel_key, tunnel: TunnelId(station), rate_bytes_per_s, burst_bytes }
}

/// Returns the private and public side of translation `index`. Each user has `connections` translations.
pub(super) fn translated(family: Family, index: u32, connections: u32) -> (Endpoint, Endpoint) {
    let user = index / connections;
    let port = addressing::NAT_PORT_FIRST + (index % connections) as u16;
    if family.is_ipv6(user) {
        let address = addressing::host6(addressing::user6(user), TRANSLATED_HOST);
        ((address.into(), port), public(true, index))
    } else {
        ((addressing::user(user).into(), port), public(false, index))
    }
}

/// Returns the public side of the translation with this index. Addresses and ports are numbered consecutively.
pub(super) fn public(ipv6: bool, index: u32) -> Endpoint {
    if ipv6 {
        let (address, port) = addressing::public6(index);
        (address.into(), port)
    } else {
        let (address, port) = addressing::public(index);
        (address.into(), port)
    }
}

/// Lower half of the only address of an IPv6 user that is translated.
pub(super) const TRANSLATED_HOST: u64 = 1;

/// Returns the key of a TCP translation.
pub(super) fn nat_key((address, port): Endpoint) -> NatKey {
    NatKey { address, protocol: Protocol::TCP.0, port }
}

/// Returns the result of a translation.
pub(super) fn nat_value((address, port): Endpoint) -> Nat {
    Nat { address, port }
}

/// Returns the translations in both directions.
pub(super) fn translations(family: Family, users: u32, connections: u32) -> (NatTable, NatTable) {
    let mut outward = NatTable::default();
    let mut inward = NatTable::default();
    for index in 0..users * connections {
        let (inside, outside) = translated(family, index, connections);
        outward.entries.push((nat_key(inside), nat_value(outside)));
        inward.entries.push((nat_key(outside), nat_value(inside)));
    }
    (outward, inward)
}

/// Returns a random server and a port.
pub(super) fn any_server(ipv6: bool, servers: u32, random: &mut Random) -> Endpoint {
    let index = random.index(servers);
    let port = random.next() as u16;
    let address = if ipv6 { addressing::server6(index).into() } else { addressing::server(index).into() };
    (address, port)
}
