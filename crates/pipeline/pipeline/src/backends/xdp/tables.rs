//! Tables as maps. Numbers are in machine byte order. Values that are compared with packets are in network byte order.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::object::{MapEntry, MapId, MapKind, MapShape};
use crate::backends::BackendRequest;
use crate::declare::{
    Change, Element, Encapsulation, Nat, NatKey, NextHop, Port, Prefix4, Prefix6, Tunnel, User,
};
use crate::reference::TUNNEL_TTL;
use ranlab_packet::ebpf::ipv4_sum;

/// Number of free entries for later additions.
const SPARE: u32 = 65_536;
/// Maximum rate of a token bucket, in bytes per second, so that added tokens fit into 64 bits.
const RATE_MAX: u64 = 1_000_000_000_000_000_000;
/// Nanoseconds per second. Tokens are bytes times nanoseconds per second.
const PER_BYTE: u64 = 1_000_000_000;

/// Layout of the values of [`MapId::Users`].
pub(super) mod user {
    pub(in super::super) const KEY: i16 = 0;
    pub(in super::super) const TUNNEL: i16 = 4;
    pub(super) const BYTES: u32 = 8;
}

/// Layout of the values of [`MapId::Meters`].
pub(super) mod meter {
    pub(in super::super) const RATE: i16 = 0;
    pub(in super::super) const DEPTH: i16 = 8;
    pub(in super::super) const FULL_AFTER: i16 = 16;
    pub(in super::super) const TOKENS: i16 = 24;
    pub(in super::super) const LAST: i16 = 32;
    pub(super) const BYTES: u32 = 40;
}

/// Layout of the values of [`MapId::Hops`].
pub(super) mod hop {
    pub(in super::super) const DST: i16 = 0;
    pub(in super::super) const FLAGS: i16 = 6;
    pub(in super::super) const HAS_DST: i32 = 1;
    pub(in super::super) const HAS_SRC: i32 = 2;
    pub(in super::super) const PORT: i16 = 7;
    pub(in super::super) const SRC: i16 = 8;
    pub(super) const BYTES: u32 = 16;
}

/// Layout of the values of [`MapId::Tunnels`].
pub(super) mod tunnel {
    pub(in super::super) const MACS: i16 = 0;
    pub(in super::super) const LOCAL: i16 = 12;
    pub(in super::super) const REMOTE: i16 = 16;
    pub(in super::super) const SUM: i16 = 20;
    pub(in super::super) const KIND: i16 = 24;
    pub(in super::super) const PORT: i16 = 25;
    pub(in super::super) const QFI: i16 = 26;
    pub(super) const BYTES: u32 = 32;
}

/// Returns the number of an encapsulation.
pub(super) const fn kind_number(kind: Encapsulation) -> u8 {
    match kind {
        Encapsulation::Gtp { .. } => 0,
        Encapsulation::Vxlan => 1,
        Encapsulation::Gre => 2,
    }
}

/// Returns the maps that the elements of a request read.
pub(super) fn used(request: &BackendRequest<'_>) -> BTreeSet<MapId> {
    let mut used = BTreeSet::new();
    for (_, element) in request.elements() {
        match element {
            Element::FindUserByMac(id)
            | Element::FindUserByTunnelKey(id)
            | Element::FindUserBySource(id)
            | Element::FindUserByDestination(id) => used.extend([MapId::Exact(id.0)]),
            Element::Bridge(id) => used.extend([MapId::Exact(id.0), MapId::Hops]),
            Element::Meter => used.extend([MapId::Meters]),
            Element::Encap => used.extend([MapId::Users, MapId::Tunnels]),
            Element::Route(id) => used.extend([MapId::Routes4(id.0), MapId::Routes6(id.0), MapId::Hops]),
            Element::NatSource(id) | Element::NatDestination(id) => {
                used.extend([MapId::Nat4(id.0), MapId::Nat6(id.0)]);
            }
            _ => {}
        }
    }
    used
}

/// Returns the definition of a map with space for the given number of entries and for later additions.
pub(super) fn shape(id: MapId, entries: usize) -> MapShape {
    let (kind, key_bytes, value_bytes) = match id {
        MapId::Users => (MapKind::Array, 4, user::BYTES),
        MapId::Meters => (MapKind::Array, 4, meter::BYTES),
        MapId::Tunnels => (MapKind::Array, 4, tunnel::BYTES),
        MapId::Hops => (MapKind::Hash, 4, hop::BYTES),
        MapId::Exact(_) => (MapKind::Hash, 8, 4),
        MapId::Routes4(_) => (MapKind::LpmTrie, 8, 4),
        MapId::Routes6(_) => (MapKind::LpmTrie, 20, 4),
        MapId::Nat4(_) => (MapKind::Hash, 8, 8),
        MapId::Nat6(_) => (MapKind::Hash, 20, 20),
        MapId::Trace | MapId::State => (MapKind::Array, 4, 8),
    };
    let spare = if id == MapId::Tunnels { 1 } else { SPARE };
    let entries = u32::try_from(entries).unwrap_or(u32::MAX).saturating_add(spare);
    MapShape { id, kind, key_bytes, value_bytes, entries }
}

/// Returns the initial entries of a map.
pub(super) fn entries(request: &BackendRequest<'_>, id: MapId) -> Vec<MapEntry> {
    let tables = &request.declaration.tables;
    match id {
        MapId::Users => numbered(tables.users.iter()).map(|(at, user)| user_entry(at, user)).collect(),
        MapId::Meters => numbered(tables.users.iter()).map(|(at, user)| meter_entry(at, user)).collect(),
        MapId::Tunnels => {
            numbered(tables.tunnels.iter()).map(|(at, tunnel)| tunnel_entry(at, tunnel)).collect()
        }
        MapId::Hops => numbered(tables.next_hops.iter()).map(|(at, hop)| hop_entry(at, hop)).collect(),
        MapId::Exact(table) => {
            let all = tables.exact.get(table as usize).map_or(&[][..], |table| &table.entries);
            all.iter().map(|(key, value)| exact_entry(table, *key, Some(*value))).collect()
        }
        MapId::Routes4(table) => {
            let all = tables.routes.get(table as usize).map_or(&[][..], |table| &table.ipv4);
            all.iter().map(|(prefix, hop)| route4_entry(table, *prefix, Some(hop.0))).collect()
        }
        MapId::Routes6(table) => {
            let all = tables.routes.get(table as usize).map_or(&[][..], |table| &table.ipv6);
            all.iter().map(|(prefix, hop)| route6_entry(table, *prefix, Some(hop.0))).collect()
        }
        MapId::Nat4(table) | MapId::Nat6(table) => {
            let all = tables.nats.get(table as usize).map_or(&[][..], |table| &table.entries);
            let entries = all.iter().map(|(key, value)| nat_entry(table, *key, Some(*value)));
            entries.filter(|entry| entry.map == id).collect()
        }
        MapId::Trace | MapId::State => Vec::new(),
    }
}

fn numbered<T>(all: impl Iterator<Item = T>) -> impl Iterator<Item = (u32, T)> {
    (0..).zip(all)
}

/// Returns the entries that a change sets, or `None` if it moves a user that the declaration does not contain.
pub(super) fn changed(request: &BackendRequest<'_>, change: &Change) -> Option<Vec<MapEntry>> {
    Some(match *change {
        Change::Exact { table, key, value } => vec![exact_entry(table.0, key, value)],
        Change::Route4 { table, prefix, next_hop } => {
            vec![route4_entry(table.0, prefix, next_hop.map(|hop| hop.0))]
        }
        Change::Route6 { table, prefix, next_hop } => {
            vec![route6_entry(table.0, prefix, next_hop.map(|hop| hop.0))]
        }
        Change::Translation { table, key, value } => vec![nat_entry(table.0, key, value)],
        Change::NextHop { id, value } => vec![hop_entry(id.0, &value)],
        Change::User { id, value } => vec![user_entry(id.0, &value), meter_entry(id.0, &value)],
        Change::Attach { user, tunnel } => {
            let known = request.declaration.tables.users.get(user.index())?;
            vec![user_entry(user.0, &User { tunnel, ..*known })]
        }
    })
}

fn entry(map: MapId, key: &[u8], value: Option<Vec<u8>>) -> MapEntry {
    MapEntry { map, key: key.to_vec(), value }
}

fn exact_entry(table: u32, key: u64, value: Option<u32>) -> MapEntry {
    entry(MapId::Exact(table), &key.to_be_bytes(), value.map(|value| value.to_ne_bytes().to_vec()))
}

fn route4_entry(table: u32, prefix: Prefix4, hop: Option<u32>) -> MapEntry {
    let mut key = u32::from(prefix.length.min(32)).to_ne_bytes().to_vec();
    key.extend((prefix.address.to_bits() & prefix.mask()).to_be_bytes());
    entry(MapId::Routes4(table), &key, hop.map(|hop| hop.to_ne_bytes().to_vec()))
}

fn route6_entry(table: u32, prefix: Prefix6, hop: Option<u32>) -> MapEntry {
    let mut key = u32::from(prefix.length.min(128)).to_ne_bytes().to_vec();
    key.extend((prefix.address.to_bits() & prefix.mask()).to_be_bytes());
    entry(MapId::Routes6(table), &key, hop.map(|hop| hop.to_ne_bytes().to_vec()))
}

fn nat_entry(table: u32, from: NatKey, to: Option<Nat>) -> MapEntry {
    let address = |address: IpAddr| match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    };
    let mut key = address(from.address);
    key.extend(from.port.to_be_bytes());
    key.extend([from.protocol, 0]);
    let value = to.map(|to| {
        let mut value = address(to.address);
        value.extend(to.port.to_be_bytes());
        value.extend([0, 0]);
        value
    });
    entry(if from.address.is_ipv4() { MapId::Nat4(table) } else { MapId::Nat6(table) }, &key, value)
}

fn hop_entry(id: u32, hop: &NextHop) -> MapEntry {
    let mut value = hop.dst.map_or([0; 6], |mac| mac.0).to_vec();
    let flag = |there: bool, flag: i32| if there { flag as u8 } else { 0 };
    value.push(flag(hop.dst.is_some(), hop::HAS_DST) | flag(hop.src.is_some(), hop::HAS_SRC));
    value.push(hop.port as u8);
    value.extend(hop.src.map_or([0; 6], |mac| mac.0));
    value.extend([0, 0]);
    entry(MapId::Hops, &id.to_ne_bytes(), Some(value))
}

fn user_entry(id: u32, user: &User) -> MapEntry {
    let mut value = user.tunnel_key.to_be_bytes().to_vec();
    value.extend(user.tunnel.0.to_ne_bytes());
    entry(MapId::Users, &id.to_ne_bytes(), Some(value))
}

fn meter_entry(id: u32, user: &User) -> MapEntry {
    let rate = user.rate_bytes_per_s.min(RATE_MAX);
    let depth = u64::from(user.burst_bytes) * PER_BYTE;
    let full_after = depth.checked_div(rate).map_or(u64::MAX, |ns| ns + 1);
    let numbers = [rate, depth, full_after, depth, 0];
    let value = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    entry(MapId::Meters, &id.to_ne_bytes(), Some(value))
}

fn tunnel_entry(id: u32, tunnel: &Tunnel) -> MapEntry {
    let mut value = tunnel.dst.0.to_vec();
    value.extend(tunnel.src.0);
    value.extend(tunnel.local.octets());
    value.extend(tunnel.remote.octets());
    let protocol = if tunnel.kind == Encapsulation::Gre { 47 } else { 17 };
    value.extend(ipv4_sum(TUNNEL_TTL, protocol, tunnel.local, tunnel.remote).to_ne_bytes());
    let qfi = if let Encapsulation::Gtp { qfi } = tunnel.kind { qfi & 0x3f } else { 0 };
    value.extend([kind_number(tunnel.kind), u8::from(tunnel.port == Port::Core), qfi]);
    value.resize(tunnel::BYTES as usize, 0);
    entry(MapId::Tunnels, &id.to_ne_bytes(), Some(value))
}
