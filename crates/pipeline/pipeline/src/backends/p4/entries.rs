//! The table entries, as one `simple_switch_CLI` command per line.
use super::super::port_number;
use super::program::hex;
use super::{path, table_name};
use crate::backends::BackendRequest;
use crate::declare::{
    AclRule, Action, Direction, Element, Encapsulation, Nat, NatKey, NextHop, Tables, Tunnel, User,
};
use ranlab_packet::Mac;
use std::fmt::Write;
use std::net::IpAddr;

/// Priority of the first rule. The switch prefers lower numbers.
const FIRST: usize = 1;

pub(super) fn text(request: &BackendRequest<'_>) -> String {
    let tables = &request.declaration.tables;
    let mut out = String::new();
    if request.elements().any(|(_, element)| *element == Element::Meter) {
        for (index, user) in tables.users.iter().enumerate() {
            let _ = writeln!(out, "{}", meter(index, user));
        }
    }
    for direction in request.directions {
        for (at, element) in path(request, *direction).into_iter().enumerate() {
            let name = table_name(*direction, at);
            for entry in entries(tables, element) {
                let _ = writeln!(out, "table_add {name} {entry}");
            }
        }
    }
    out
}

/// Returns the required size of a table.
pub(super) fn size(request: &BackendRequest<'_>, direction: Direction, at: usize) -> usize {
    let tables = &request.declaration.tables;
    match path(request, direction)[at] {
        Element::Bridge(id)
        | Element::FindUserByMac(id)
        | Element::FindUserByTunnelKey(id)
        | Element::FindUserBySource(id)
        | Element::FindUserByDestination(id) => tables.exact[id.index()].entries.len(),
        Element::Acl(id) => tables.acls[id.index()].rules.len() + 1,
        Element::NatSource(id) | Element::NatDestination(id) => tables.nats[id.index()].entries.len(),
        Element::Route(id) => tables.routes[id.index()].ipv4.len(),
        Element::Forward | Element::Deliver => tables.next_hops.len(),
        Element::Encap => tables.users.len(),
        _ => 0,
    }
}

/// Formats a meter with a single rate: bytes per microsecond, and burst in bytes. Green and yellow have the same
/// limits, so no packet is yellow.
fn meter(index: usize, user: &User) -> String {
    let rate = user.rate_bytes_per_s as f64 / 1e6;
    let burst = user.burst_bytes;
    format!("meter_set_rates users {index} {rate}:{burst} {rate}:{burst}")
}

fn entries(tables: &Tables, element: &Element) -> Vec<String> {
    let exact = |id: &crate::declare::ExactId, action: &str, key: &dyn Fn(u64) -> String| {
        let last = last_of(&tables.exact[id.index()].entries);
        last.into_iter().map(|(from, to)| format!("{action} {} => {to}", key(from))).collect()
    };
    let number = |key: u64| format!("{key:#x}");
    match element {
        Element::Bridge(id) => exact(id, "set_hop", &|key| hex(Mac::from_u64(key))),
        Element::FindUserByMac(id) => exact(id, "set_user", &|key| hex(Mac::from_u64(key))),
        Element::FindUserByTunnelKey(id)
        | Element::FindUserBySource(id)
        | Element::FindUserByDestination(id) => exact(id, "set_user", &number),
        Element::Acl(id) => {
            let table = &tables.acls[id.index()];
            let rules = table
                .rules
                .iter()
                .enumerate()
                .map(|(at, (rule, action))| self::rule(rule, *action, FIRST + at));
            let rest = FIRST + table.rules.len();
            let any = format!("0&&&0 0&&&0 0&&&0 0->65535 0->65535 => {rest}");
            rules.chain([format!("{} {any}", word(table.default))]).collect()
        }
        Element::NatSource(id) | Element::NatDestination(id) => {
            let action = if matches!(element, Element::NatSource(_)) {
                "translate_source"
            } else {
                "translate_destination"
            };
            let split = |(key, to): &(NatKey, Nat)| ((key.address, key.protocol, key.port), *to);
            let all: Vec<_> = tables.nats[id.index()].entries.iter().map(split).collect();
            let one = |((address, protocol, port), to): ((IpAddr, u8, u16), Nat)| {
                format!("{action} {address} {protocol} {port} => {} {}", to.address, to.port)
            };
            last_of(&all).into_iter().map(one).collect()
        }
        Element::Route(id) => {
            let masked = |(prefix, hop): &(crate::declare::Prefix4, crate::declare::NextHopId)| {
                let address = std::net::Ipv4Addr::from_bits(prefix.address.to_bits() & prefix.mask());
                ((address, prefix.length), hop.0)
            };
            let all: Vec<_> = tables.routes[id.index()].ipv4.iter().map(masked).collect();
            last_of(&all)
                .into_iter()
                .map(|((address, length), hop)| format!("set_hop {address}/{length} => {hop}"))
                .collect()
        }
        Element::Forward | Element::Deliver => {
            tables.next_hops.iter().enumerate().map(|(index, hop)| next_hop(index, hop)).collect()
        }
        Element::Encap => {
            let one =
                |(index, user): (usize, &User)| encap(index, user, &tables.tunnels[user.tunnel.index()]);
            tables.users.iter().enumerate().map(one).collect()
        }
        Element::Admit { .. } | Element::Decap { .. } | Element::Meter | Element::Emit { .. } => Vec::new(),
    }
}

/// Returns the last value of each key, sorted by key. A switch accepts a key only once.
fn last_of<K: Ord + Copy, V: Copy>(entries: &[(K, V)]) -> std::collections::BTreeMap<K, V> {
    entries.iter().copied().collect()
}

fn next_hop(index: usize, hop: &NextHop) -> String {
    let port = port_number(hop.port);
    match (hop.dst, hop.src) {
        (None, None) => format!("send {index} => {port}"),
        (None, Some(src)) => format!("send_from {index} => {port} {}", hex(src)),
        (Some(dst), None) => format!("send_to {index} => {port} {}", hex(dst)),
        (Some(dst), Some(src)) => format!("send_between {index} => {port} {} {}", hex(dst), hex(src)),
    }
}

fn encap(index: usize, user: &User, tunnel: &Tunnel) -> String {
    let Tunnel { kind, local, remote, dst, src, port } = *tunnel;
    let (action, key) = match kind {
        Encapsulation::Gtp { qfi } => ("into_gtpu", format!("{} {qfi}", user.tunnel_key)),
        Encapsulation::Vxlan => ("into_vxlan", (user.tunnel_key & 0xff_ffff).to_string()),
        Encapsulation::Gre => ("into_gre", user.tunnel_key.to_string()),
    };
    format!("{action} {index} => {} {} {} {local} {remote} {key}", port_number(port), hex(dst), hex(src))
}

fn rule(rule: &AclRule, action: Action, priority: usize) -> String {
    let masked = |prefix: crate::declare::Prefix4| {
        format!("{:#x}&&&{:#x}", prefix.address.to_bits() & prefix.mask(), prefix.mask())
    };
    let protocol = rule.protocol.map_or_else(|| "0&&&0".to_owned(), |protocol| format!("{protocol}&&&0xff"));
    let (s0, s1) = rule.src_ports;
    let (d0, d1) = rule.dst_ports;
    format!(
        "{} {} {} {protocol} {s0}->{s1} {d0}->{d1} => {priority}",
        word(action),
        masked(rule.src),
        masked(rule.dst)
    )
}

const fn word(action: Action) -> &'static str {
    match action {
        Action::Permit => "permit",
        Action::Deny => "deny",
    }
}
