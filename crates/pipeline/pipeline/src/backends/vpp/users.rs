//! Users of VPP: their tunnels, and the policers that meter them.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::Ipv4Addr;

use ranlab_packet::Mac;

use super::{INSIDE, KBPS_MAX, table};
use crate::backends::{BackendRequest, path, port_name};
use crate::declare::{Direction, Element, Encapsulation, ExactTable, Port, Tables, User};

/// Writes a VXLAN tunnel for each user, and the MAC addresses behind the tunnels.
pub(super) fn stations(request: &BackendRequest<'_>, out: &mut String) {
    let tables = &request.declaration.tables;
    underlay(tables, out, |port| {
        let of = table(port);
        format!("ip table add {of}\nset interface ip table {} {of}\n", port_name(port))
    });
    for (index, user) in tables.users.iter().enumerate() {
        let Some(tunnel) = tables.tunnels.get(user.tunnel.index()) else { continue };
        let _ = writeln!(
            out,
            "create vxlan tunnel src {} dst {} vni {} instance {index} encap-vrf-id {} decap-next l2\n\
             set interface l2 bridge vxlan_tunnel{index} 1 1",
            tunnel.local,
            tunnel.remote,
            user.tunnel_key,
            table(tunnel.port)
        );
    }
    for (_, element) in request.elements() {
        let Element::FindUserByMac(id) = element else { continue };
        let users: BTreeMap<u64, u32> = tables.exact[id.index()].entries.iter().copied().collect();
        for (key, user) in users {
            let _ = writeln!(out, "l2fib add {} 1 vxlan_tunnel{user} static", Mac::from_u64(key));
        }
    }
}

/// Writes the local addresses of tunnels, and the routes to their remote ends. `port` returns the text that must
/// precede a port's addresses.
pub(super) fn underlay(tables: &Tables, out: &mut String, port: impl Fn(Port) -> String) {
    let mut locals: Vec<(Port, Ipv4Addr)> = Vec::new();
    for tunnel in &tables.tunnels {
        if !locals.contains(&(tunnel.port, tunnel.local)) {
            locals.push((tunnel.port, tunnel.local));
        }
    }
    locals.sort_by_key(|(port, local)| (*local, *port as u32));
    let mut ready = Vec::new();
    for (at, local) in locals {
        if !ready.contains(&at) {
            out.push_str(&port(at));
            ready.push(at);
        }
        let _ = writeln!(out, "set interface ip address {} {local}/32", port_name(at));
    }
    let mut remotes = BTreeSet::new();
    for tunnel in &tables.tunnels {
        let name = port_name(tunnel.port);
        let remote = tunnel.remote;
        if remotes.insert((name, remote)) {
            let _ = writeln!(out, "set ip neighbor {name} {remote} {} static", tunnel.dst);
            let _ =
                writeln!(out, "ip route add {remote}/32 table {} via {remote} {name}", table(tunnel.port));
        }
    }
}

/// Returns the name that VPP gives to a user's tunnel interface.
fn tunnel_name(kind: Encapsulation, index: usize) -> String {
    match kind {
        Encapsulation::Gtp { .. } => format!("gtpu_tunnel{index}"),
        Encapsulation::Gre => format!("gre{index}"),
        Encapsulation::Vxlan => format!("vxlan_tunnel{index}"),
    }
}

/// Writes a tunnel for each user, and the routes of the users' addresses into the tunnels.
pub(super) fn tunnels(request: &BackendRequest<'_>, out: &mut String) {
    let tables = &request.declaration.tables;
    underlay(tables, out, |_| String::new());
    for (index, user) in tables.users.iter().enumerate() {
        let Some(tunnel) = tables.tunnels.get(user.tunnel.index()) else { continue };
        let key = user.tunnel_key;
        let of = table(tunnel.port);
        let name = tunnel_name(tunnel.kind, index);
        let ends = format!("src {} dst {}", tunnel.local, tunnel.remote);
        let _ = match tunnel.kind {
            Encapsulation::Gtp { qfi } => writeln!(
                out,
                "create gtpu tunnel {ends} teid {key} tteid {key} encap-vrf-id {of} decap-next ip4 qfi {qfi}"
            ),
            _ => writeln!(out, "create gre tunnel {ends} instance {index} outer-table-id {of} key {key}"),
        };
        let port = port_name(tunnel.port);
        let _ = writeln!(
            out,
            "set interface ip table {name} {of}\nset interface unnumbered {name} use {port}\nset interface state {name} up"
        );
    }
    for (direction, element) in request.elements() {
        let Element::FindUserByDestination(id) = element else { continue };
        let translated =
            request.elements().any(|(of, one)| of == direction && matches!(one, Element::NatDestination(_)));
        let of = if translated { table(INSIDE) } else { table(direction.ingress()) };
        let users: BTreeMap<u64, u32> = tables.exact[id.index()].entries.iter().copied().collect();
        for (key, user) in users {
            let Some(name) = user_interface(tables, user) else { continue };
            let _ =
                writeln!(out, "ip route add {}/32 table {of} via {name}", Ipv4Addr::from_bits(key as u32));
        }
    }
}

/// Returns the interface of a user's tunnel.
pub(super) fn user_interface(tables: &Tables, user: u32) -> Option<String> {
    let tunnel = tables.users.get(user as usize)?.tunnel;
    Some(tunnel_name(tables.tunnels.get(tunnel.index())?.kind, user as usize))
}

/// Returns whether packets of a direction pass tunnels of users.
pub(super) fn is_tunnelled(request: &BackendRequest<'_>, direction: Direction) -> bool {
    path(request, direction).iter().any(|one| matches!(one, Element::Decap { .. } | Element::Encap))
}

/// Writes a policer for each user: at its tunnel, or by a classifier of addresses.
pub(super) fn meters(request: &BackendRequest<'_>, out: &mut String) {
    let tables = &request.declaration.tables;
    let metered: Vec<Direction> = request
        .elements()
        .filter(|(_, one)| **one == Element::Meter)
        .map(|(direction, _)| direction)
        .collect();
    if metered.is_empty() {
        return;
    }
    for (index, user) in tables.users.iter().enumerate() {
        policer(index, user, out);
    }
    for direction in metered {
        if is_tunnelled(request, direction) {
            let way = if direction == Direction::Uplink { "input" } else { "output" };
            for index in 0..tables.users.len() {
                if let Some(name) = user_interface(tables, index as u32) {
                    let _ = writeln!(out, "policer {way} name user{index} {name}");
                }
            }
        } else {
            classifier(request, direction, out);
        }
    }
}

fn policer(index: usize, user: &User, out: &mut String) {
    let kbps = (user.rate_bytes_per_s / 125).clamp(1, KBPS_MAX);
    let burst = user.burst_bytes;
    let _ = writeln!(
        out,
        "policer add name user{index} type 1r2c cir {kbps} cb {burst} rate kbps round closest \
         conform-action transmit exceed-action drop"
    );
}

/// Writes a classifier of the users' addresses at the port of a direction.
fn classifier(request: &BackendRequest<'_>, direction: Direction, out: &mut String) {
    let find = path(request, direction).into_iter().find_map(|element| match element {
        Element::FindUserBySource(id) => Some((id, "src")),
        Element::FindUserByDestination(id) => Some((id, "dst")),
        _ => None,
    });
    let Some((id, side)) = find else { return };
    let users: &ExactTable = &request.declaration.tables.exact[id.index()];
    let number = out.lines().filter(|line| line.starts_with("classify table")).count();
    let buckets = users.entries.len().next_power_of_two().max(2);
    let _ = writeln!(out, "classify table mask l3 ip4 {side} buckets {buckets}");
    let entries: BTreeMap<u64, u32> = users.entries.iter().copied().collect();
    for (key, user) in entries {
        let address = Ipv4Addr::from_bits(key as u32);
        let _ = writeln!(
            out,
            "classify session policer-hit-next user{user} exceed-color table-index {number} match l3 ip4 {side} {address}"
        );
    }
    let port = port_name(direction.ingress());
    let _ = writeln!(out, "set policer classify interface {port} l2-table {number}");
}
