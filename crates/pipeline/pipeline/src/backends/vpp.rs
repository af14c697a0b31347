//! VPP: a script for its command line (`vppctl exec`). VPP is a router and a bridge, not a set of free components, so a
//! direction has one of three shapes: cross-connected ports, a bridge with a static table, or a router with a separate
//! forwarding table for each port, with ACLs, NAT and GTP-U tunnels. Ports are listening memif interfaces. The
//! configuration is generated but not run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use ranlab_packet::Mac;

use super::p4::six;
use super::{
    Backend, BackendRequest, Equivalence, Facts, Lack, Reader, Reason, Refused, Translation, element_name,
    path, permitted, port_name, refuse_changes,
};
use crate::declare::{
    AclRule, AclTable, Action, Change, Direction, Element, Encapsulation, NextHop, Port, Prefix4, Prefix6,
    Tables,
};

/// The backend.
#[derive(Debug)]
pub struct Vpp;

/// Maximum number of next hops of a port. Their addresses are in a separate network.
const HOPS_MAX: u64 = (1 << 21) - 2;
/// Maximum rate of a policer, in kbit/s.
const KBPS_MAX: u64 = 4_000_000_000;

impl Backend for Vpp {
    fn facts(&self) -> &'static Facts {
        &Facts {
            name: "vpp",
            title: "VPP: a script of its command line",
            install: "apt install vpp vpp-plugin-core, from https://packagecloud.io/fdio/release (no Debian 12 package)",
            programs: &["vpp", "vppctl"],
            tiers: &[],
        }
    }

    fn lacks(&self, asked: &BackendRequest<'_>) -> Vec<Lack> {
        let of = |direction: &Direction| {
            let elements = path(asked, *direction);
            let lack = |at: usize| {
                let reason = lack(asked, *direction, &elements, at)?;
                Some(Lack { element: element_name(elements[at]), reason })
            };
            (0..elements.len()).filter_map(lack).collect::<Vec<_>>()
        };
        asked.directions.iter().flat_map(of).collect()
    }

    fn equivalences(&self, asked: &BackendRequest<'_>) -> Vec<Equivalence> {
        let has = |wanted: &dyn Fn(&Element) -> bool| asked.elements().any(|(_, element)| wanted(element));
        let gtp = has(&|element| matches!(element, Element::Decap { .. } | Element::Encap));
        let routed = has(&|element| matches!(element, Element::Route(_)));
        let wanted = [
            (gtp, Equivalence::GtpContainer),
            (has(&|element| *element == Element::Encap), Equivalence::OuterHeaders),
            (has(&|element| *element == Element::Meter), Equivalence::Meters),
            (has(&|element| matches!(element, Element::Admit { .. })), Equivalence::Soundness),
            (routed && asked.declaration.fakedrop, Equivalence::Unmatched),
            (routed, Equivalence::PortMac),
        ];
        wanted.into_iter().filter(|(there, _)| *there).map(|(_, one)| one).collect()
    }

    fn translate(&self, asked: &BackendRequest<'_>) -> Result<Translation, Refused> {
        permitted(self, asked)?;
        let mut translation = Translation::default();
        translation.push("ranlab.vpp", Reader::Vppctl, script(asked));
        Ok(translation)
    }

    fn update(&self, _: &BackendRequest<'_>, changes: &[Change]) -> Result<Translation, Refused> {
        refuse_changes(self, changes, Reason::NotWritten("changes of its tables"))
    }
}

fn lack(
    asked: &BackendRequest<'_>,
    direction: Direction,
    elements: &[&Element],
    at: usize,
) -> Option<Reason> {
    let tables = &asked.declaration.tables;
    let has = |wanted: &dyn Fn(&Element) -> bool| elements.iter().any(|element| wanted(element));
    let routed = has(&|element| matches!(element, Element::Route(_) | Element::Encap));
    let gtp = has(&|element| matches!(element, Element::Decap { .. } | Element::Encap));
    let bridged = has(&|element| matches!(element, Element::Bridge(_)));
    match elements[at] {
        Element::Emit { source: Some(_), .. } => {
            Some(Reason::NoAction("write a source MAC that is not its port's own"))
        }
        Element::Emit { port, .. } if *port == direction.ingress() => {
            Some(Reason::NotWritten("packets that leave through the port where they arrived"))
        }
        Element::Admit { mac: None, .. } if routed => {
            Some(Reason::NoMatch("frames to any address in its routing: a port has one"))
        }
        Element::Admit { mac: Some(_), .. } if !routed => {
            Some(Reason::NotWritten("the address of frames that are not routed"))
        }
        Element::Bridge(_) if tables.next_hops.iter().any(|hop| hop.dst.is_some() || hop.src.is_some()) => {
            Some(Reason::NoAction("write addresses of bridged frames"))
        }
        Element::Deliver if !bridged => {
            Some(Reason::NoAction("route without spending a hop of a packet's life"))
        }
        Element::Decap { kind: Encapsulation::Gre, .. } => Some(Reason::NoMatch("keys of GRE")),
        Element::Decap { kind: Encapsulation::Vxlan, .. } => Some(Reason::NotWritten("VXLAN")),
        Element::Decap { ipv6: true, .. } => Some(Reason::NotWritten("IPv6 inside GTP-U")),
        Element::Encap
            if !tables.tunnels.iter().all(|tunnel| matches!(tunnel.kind, Encapsulation::Gtp { .. })) =>
        {
            Some(Reason::NotWritten("VXLAN, or keys of GRE"))
        }
        Element::FindUserByMac(_) | Element::FindUserBySource(_) => {
            Some(Reason::NotWritten("users without a separate tunnel"))
        }
        Element::FindUserByDestination(_) | Element::Meter if !gtp => {
            Some(Reason::NotWritten("users without a separate tunnel"))
        }
        Element::FindUserByDestination(_) if six(tables, elements[at]) => {
            Some(Reason::NotWritten("IPv6 users"))
        }
        Element::Acl(_) if asked.declaration.fakedrop => {
            Some(Reason::NoAction("send on what its lists deny"))
        }
        Element::Acl(_) if gtp => Some(Reason::NotWritten("lists over what is in tunnels")),
        Element::NatSource(_) | Element::NatDestination(_) if six(tables, elements[at]) => {
            Some(Reason::NotWritten("translations of IPv6"))
        }
        Element::NatSource(_) | Element::NatDestination(_) if gtp => {
            Some(Reason::NotWritten("translations of what is in tunnels"))
        }
        Element::Route(_) if tables.next_hops.iter().any(|hop| hop.dst.is_none()) => {
            Some(Reason::NoAction("keep the destination address of frames that it routes"))
        }
        Element::Route(_) => {
            let asked = tables.next_hops.len() as u64;
            (asked > HOPS_MAX).then_some(Reason::TooMany { what: "next hops", asked, most: HOPS_MAX })
        }
        _ => None,
    }
}

/// Returns VPP's interface name of a port.
const fn interface(port: Port) -> &'static str {
    match port {
        Port::Access => "memif1/0",
        Port::Core => "memif2/0",
    }
}

/// Returns the forwarding table for packets that arrive at a port.
const fn table(port: Port) -> u32 {
    port as u32 + 1
}

/// Returns our address on a link. The addresses of the next hops follow it.
const fn link(port: Port) -> Ipv4Addr {
    // Two halves of the shared address space (RFC 6598).
    Ipv4Addr::from_bits(0x6440_0001 | (port as u32) << 21)
}

const fn link6(port: Port) -> u128 {
    0xfd00_6464 << 96 | (port as u128) << 64 | 1
}

fn script(asked: &BackendRequest<'_>) -> String {
    let tables = &asked.declaration.tables;
    let mut out = HEAD.to_owned();
    for port in [Port::Access, Port::Core] {
        let id = port as u32 + 1;
        let name = interface(port);
        let _ = writeln!(out, "create memif socket id {id} filename /run/vpp/{}.sock", port_name(port));
        let _ = writeln!(out, "create interface memif id 0 socket-id {id} master");
        if let Some(mac) = own_mac(asked, port) {
            let _ = writeln!(out, "set interface mac address {name} {mac}");
        }
        let _ = writeln!(out, "set interface state {name} up");
    }
    let has = |wanted: &dyn Fn(&Element) -> bool| asked.elements().any(|(_, element)| wanted(element));
    if has(&|element| matches!(element, Element::Bridge(_))) {
        bridge(asked, &mut out);
    }
    if has(&|element| matches!(element, Element::Route(_) | Element::Encap)) {
        links(tables, &mut out);
    }
    if has(&|element| matches!(element, Element::Decap { .. } | Element::Encap)) {
        tunnels(asked, &mut out);
    }
    translations(asked, &mut out);
    let mut lists = Vec::new();
    for (direction, element) in asked.elements() {
        let ingress = direction.ingress();
        match element {
            Element::Emit { port, .. } => {
                let _ =
                    writeln!(out, "set interface l2 xconnect {} {}", interface(ingress), interface(*port));
            }
            Element::Acl(id) => {
                // ACLs are numbered in the order of their creation.
                let number = lists.iter().position(|list| list == id).unwrap_or_else(|| {
                    acl(&tables.acls[id.index()], &mut out);
                    lists.push(*id);
                    lists.len() - 1
                });
                let _ = writeln!(out, "set acl-plugin interface {} input acl {number}", interface(ingress));
            }
            Element::Route(id) => routes(tables, id.index(), ingress, &mut out),
            _ => {}
        }
    }
    out
}

/// Returns the destination MAC of frames to a port.
fn own_mac(asked: &BackendRequest<'_>, port: Port) -> Option<Mac> {
    asked.elements().find_map(|(direction, element)| match element {
        Element::Admit { mac, .. } if direction.ingress() == port => *mac,
        _ => None,
    })
}

fn bridge(asked: &BackendRequest<'_>, out: &mut String) {
    let tables = &asked.declaration.tables;
    let flood = u32::from(asked.declaration.fakedrop);
    let _ = writeln!(out, "create bridge-domain 1 learn 0 forward 1 flood 0 uu-flood {flood} arp-term 0");
    for port in [Port::Access, Port::Core] {
        let _ = writeln!(out, "set interface l2 bridge {} 1", interface(port));
    }
    let mut all = BTreeMap::new();
    for (_, element) in asked.elements() {
        if let Element::Bridge(id) = element {
            all.extend(tables.exact[id.index()].entries.iter().copied());
        }
    }
    for (key, hop) in all {
        if let Some(hop) = tables.next_hops.get(hop as usize) {
            let _ = writeln!(out, "l2fib add {} 1 {} static", Mac::from_u64(key), interface(hop.port));
        }
    }
}

/// Writes tables, addresses and next hops of both ports.
fn links(tables: &Tables, out: &mut String) {
    let ipv6 = tables.routes.iter().any(|table| !table.ipv6.is_empty());
    for port in [Port::Access, Port::Core] {
        let name = interface(port);
        let table = table(port);
        let _ = writeln!(out, "ip table add {table}\nset interface ip table {name} {table}");
        let _ = writeln!(out, "set interface ip address {name} {}/11", link(port));
        if ipv6 {
            let address = Ipv6Addr::from_bits(link6(port));
            let _ = writeln!(out, "ip6 table add {table}\nset interface ip6 table {name} {table}");
            let _ = writeln!(out, "set interface ip address {name} {address}/64");
        }
    }
    for (index, NextHop { dst, port, .. }) in tables.next_hops.iter().enumerate() {
        let Some(dst) = dst else { continue };
        let _ = writeln!(out, "set ip neighbor {} {} {dst} static", interface(*port), hop4(*port, index));
        if ipv6 {
            let _ = writeln!(out, "set ip neighbor {} {} {dst} static", interface(*port), hop6(*port, index));
        }
    }
}

fn hop4(port: Port, index: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(link(port).to_bits() + 1 + index as u32)
}

fn hop6(port: Port, index: usize) -> Ipv6Addr {
    Ipv6Addr::from_bits(link6(port) + 1 + index as u128)
}

fn routes(tables: &Tables, index: usize, ingress: Port, out: &mut String) {
    let routes = &tables.routes[index];
    let table = table(ingress);
    for (prefix, hop) in &routes.ipv4 {
        let Some(next) = tables.next_hops.get(hop.index()) else { continue };
        let _ = writeln!(
            out,
            "ip route add {} table {table} via {} {}",
            four(*prefix),
            hop4(next.port, hop.index()),
            interface(next.port)
        );
    }
    for (prefix, hop) in &routes.ipv6 {
        let Some(next) = tables.next_hops.get(hop.index()) else { continue };
        let via = hop6(next.port, hop.index());
        let _ = writeln!(
            out,
            "ip route add {} table {table} via {via} {}",
            six_text(*prefix),
            interface(next.port)
        );
    }
}

/// Writes a tunnel for each user, with its policer, and the routes of the users' addresses into the tunnels.
fn tunnels(asked: &BackendRequest<'_>, out: &mut String) {
    let tables = &asked.declaration.tables;
    let has = |wanted: Direction, element: &Element| {
        asked.elements().any(|(direction, one)| direction == wanted && one == element)
    };
    let metered = [Direction::Uplink, Direction::Downlink].map(|direction| has(direction, &Element::Meter));
    let mut locals: Vec<(Ipv4Addr, Port)> =
        tables.tunnels.iter().map(|tunnel| (tunnel.local, tunnel.port)).collect();
    locals.sort_by_key(|(local, port)| (*local, *port as u32));
    locals.dedup();
    for (local, port) in locals {
        let _ = writeln!(out, "set interface ip address {} {local}/32", interface(port));
    }
    for tunnel in &tables.tunnels {
        let name = interface(tunnel.port);
        let remote = tunnel.remote;
        let _ = writeln!(out, "set ip neighbor {name} {remote} {} static", tunnel.dst);
        let _ = writeln!(out, "ip route add {remote}/32 table {} via {remote} {name}", table(tunnel.port));
    }
    for (index, user) in tables.users.iter().enumerate() {
        let (Some(tunnel), key) = (tables.tunnels.get(user.tunnel.index()), user.tunnel_key) else {
            continue;
        };
        let of = table(tunnel.port);
        let name = format!("gtpu_tunnel{index}");
        let local = tunnel.local;
        let remote = tunnel.remote;
        let _ = writeln!(
            out,
            "create gtpu tunnel src {local} dst {remote} teid {key} tteid {key} encap-vrf-id {of} decap-next ip4\n\
             set interface ip table {name} {of}\nset interface unnumbered {name} use {}\nset interface state {name} up",
            interface(tunnel.port)
        );
        if metered != [false, false] {
            let kbps = (user.rate_bytes_per_s / 125).clamp(1, KBPS_MAX);
            let burst = user.burst_bytes;
            let _ = writeln!(
                out,
                "policer add name user{index} type 1r2c cir {kbps} cb {burst} rate kbps round closest \
                 conform-action transmit exceed-action drop"
            );
        }
        for (_, way) in metered.into_iter().zip(["input", "output"]).filter(|(on, _)| *on) {
            let _ = writeln!(out, "policer {way} name user{index} {name}");
        }
    }
    for (direction, element) in asked.elements() {
        let Element::FindUserByDestination(id) = element else { continue };
        let users: BTreeMap<u64, u32> = tables.exact[id.index()].entries.iter().copied().collect();
        for (key, user) in users {
            let address = Ipv4Addr::from_bits(key as u32);
            let of = table(direction.ingress());
            let _ = writeln!(out, "ip route add {address}/32 table {of} via gtpu_tunnel{user}");
        }
    }
}

fn translations(asked: &BackendRequest<'_>, out: &mut String) {
    let tables = &asked.declaration.tables;
    // A mapping applies to both directions, so duplicates are written once.
    let mut all = std::collections::BTreeSet::new();
    for (_, element) in asked.elements() {
        let (id, outward) = match element {
            Element::NatSource(id) => (id, true),
            Element::NatDestination(id) => (id, false),
            _ => continue,
        };
        for (key, to) in &tables.nats[id.index()].entries {
            let one = (key.address, key.port);
            let other = (to.address, to.port);
            all.insert(if outward { (key.protocol, one, other) } else { (key.protocol, other, one) });
        }
    }
    if all.is_empty() {
        return;
    }
    let inside = Port::Access;
    let outside = Port::Core;
    let _ = writeln!(
        out,
        "nat44 plugin enable sessions {} inside-vrf {} outside-vrf {}\nset interface nat44 in {} out {}",
        (2 * all.len()).max(1_024),
        table(inside),
        table(outside),
        interface(inside),
        interface(outside)
    );
    for (protocol, (local, port), (external, to)) in all {
        let protocol = if protocol == 6 { "tcp" } else { "udp" };
        let _ = writeln!(
            out,
            "nat44 add static mapping {protocol} local {local} {port} external {external} {to} vrf {}",
            table(inside)
        );
    }
}

fn acl(list: &AclTable, out: &mut String) {
    let mut rules: Vec<String> = list.rules.iter().map(|(rule, action)| one(rule, *action, four)).collect();
    rules.extend(list.rules6.iter().map(|(rule, action)| one(rule, *action, six_text)));
    let word = word(list.default);
    rules.push(format!("{word} src 0.0.0.0/0 dst 0.0.0.0/0"));
    rules.push(format!("{word} src ::/0 dst ::/0"));
    let _ = writeln!(out, "set acl-plugin acl {}", rules.join(", "));
}

fn one<P: Copy>(rule: &AclRule<P>, action: Action, prefix: impl Fn(P) -> String) -> String {
    let protocol = rule.protocol.map_or_else(String::new, |protocol| format!(" proto {protocol}"));
    let ports = |name: &str, (low, high): (u16, u16)| {
        if (low, high) == (0, u16::MAX) { String::new() } else { format!(" {name} {low}-{high}") }
    };
    let sport = ports("sport", rule.src_ports);
    let dport = ports("dport", rule.dst_ports);
    format!("{} src {} dst {}{protocol}{sport}{dport}", word(action), prefix(rule.src), prefix(rule.dst))
}

const fn word(action: Action) -> &'static str {
    match action {
        Action::Permit => "permit",
        Action::Deny => "deny",
    }
}

fn four(prefix: Prefix4) -> String {
    format!("{}/{}", Ipv4Addr::from_bits(prefix.address.to_bits() & prefix.mask()), prefix.length)
}

fn six_text(prefix: Prefix6) -> String {
    format!("{}/{}", Ipv6Addr::from_bits(prefix.address.to_bits() & prefix.mask()), prefix.length)
}

const HEAD: &str = "\
comment { written by ranlab: vppctl exec /path/to/ranlab.vpp }
";
