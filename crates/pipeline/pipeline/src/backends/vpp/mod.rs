//! VPP: scripts for its command line (`vppctl exec`). VPP is a router and a bridge, and not a set of free components. A
//! direction therefore has one of three shapes: cross-connected ports, a bridge with a static table, or a router. A
//! router has a separate forwarding table for each port, with ACLs, NAT and tunnels.
//!
//! The first script creates the ports as listening memif interfaces and names them. A driver may create ports of
//! another kind with the same names.
//!
//! Written for VPP 26.06. GRE keys need 25.10, and the PDU session container of GTP-U needs 24.02. Before 26.06,
//! policers do not receive packets that leave a tunnel.

pub mod answers;
mod services;
mod users;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use ranlab_packet::Mac;

use super::p4::six;
use super::{
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, TextConsumer, Tier, Translation,
    UnsupportedElement, UnsupportedPipeline, element_name, path, permitted, port_name, refuse_changes,
};
use crate::declare::{
    Change, Direction, Element, Encapsulation, NextHop, NextHopId, Port, Prefix4, Prefix6, Tables,
};
use crate::pipelines::GW_MAC;
use services::{lists, translations};
use users::{meters, stations, tunnels};

/// Backend for VPP.
#[derive(Debug)]
pub struct Vpp;

/// Maximum number of next hops of a port. Their addresses are in a network of their port.
const HOPS_MAX: u64 = (1 << 21) - 2;
/// Maximum rate of a policer, in kbit/s.
const KBPS_MAX: u64 = 4_000_000_000;
/// Maximum QoS flow identifier of a tunnel.
const QFI_MAX: u8 = 31;
/// TCP flags that a rule can require.
const FLAGS: u16 = 0xff;
/// Maximum number of users in a classifier table with its memory of 2 MB.
const CLASSIFIED_MAX: u64 = 8_192;
/// Name of the script that creates the ports.
pub(super) const PORTS: &str = "ports.vpp";

impl Backend for Vpp {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "vpp",
            title: "VPP: a script of its command line",
            install: "build https://github.com/FDio/vpp at v26.06 by cmake and ninja, and name its folder by sut.build (no Debian package)",
            programs: &["vpp", "vppctl"],
            tiers: &[Tier::Mem, Tier::Ring],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        let of = |direction: &Direction| {
            let elements = path(request, *direction);
            let lack = |at: usize| {
                let reason = lack(request, *direction, &elements, at)?;
                Some(UnsupportedElement { element: element_name(elements[at]), reason })
            };
            (0..elements.len()).filter_map(lack).collect::<Vec<_>>()
        };
        request.directions.iter().flat_map(of).collect()
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        let has = |test: &dyn Fn(&Element) -> bool| request.elements().any(|(_, element)| test(element));
        let routed = has(&|element| matches!(element, Element::Route(_)));
        let encaps = has(&|element| *element == Element::Encap);
        let into_tunnels =
            encaps && request.directions.iter().any(|direction| is_routed(&path(request, *direction)));
        let bridged = has(&|element| matches!(element, Element::FindUserByMac(_)));
        let candidates = [
            (encaps, Equivalence::OuterHeaders),
            (into_tunnels, Equivalence::InnerHop),
            (has(&|element| *element == Element::Meter), Equivalence::Meters),
            (has(&|element| matches!(element, Element::Admit { .. })), Equivalence::Soundness),
            ((routed || encaps || bridged) && request.declaration.fakedrop, Equivalence::Unmatched),
            (routed || encaps, Equivalence::PortMac),
        ];
        candidates.into_iter().filter(|(there, _)| *there).map(|(_, one)| one).collect()
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        let mut translation = Translation::default();
        translation.push(PORTS, TextConsumer::Vppctl, ports());
        translation.push("ranlab.vpp", TextConsumer::Vppctl, script(request));
        Ok(translation)
    }

    fn update(
        &self,
        request: &BackendRequest<'_>,
        changes: &[Change],
    ) -> Result<Translation, UnsupportedPipeline> {
        let mut text = String::new();
        for change in changes {
            let written = update(request, change, &mut text);
            if !written {
                return refuse_changes(
                    self,
                    changes,
                    Reason::NotWritten("changes of users and translations"),
                );
            }
        }
        let mut translation = Translation::default();
        translation.push("changes.vpp", TextConsumer::Vppctl, text);
        Ok(translation)
    }
}

/// Returns whether the elements of a direction need a router.
fn is_routed(elements: &[&Element]) -> bool {
    let bridged = elements.iter().any(|one| matches!(one, Element::FindUserByMac(_) | Element::Bridge(_)));
    !bridged && elements.iter().any(|one| matches!(one, Element::Route(_) | Element::Encap))
}

/// Returns whether a direction needs a router or a bridge instead of cross-connected ports.
fn takes_tables(elements: &[&Element]) -> bool {
    is_routed(elements)
        || elements.iter().any(|one| matches!(one, Element::FindUserByMac(_) | Element::Bridge(_)))
}

/// Returns the number and the entry of a next hop.
fn hop_of(tables: &Tables, id: Option<NextHopId>) -> Option<(usize, &NextHop)> {
    let index = id?.index();
    tables.next_hops.get(index).map(|hop| (index, hop))
}

/// Writes one change. Returns false if this version does not support it.
fn update(request: &BackendRequest<'_>, change: &Change, out: &mut String) -> bool {
    let tables = &request.declaration.tables;
    match *change {
        Change::Route4 { table, prefix, next_hop } => {
            for of in forwarding_tables(request, table.index()) {
                // The old route is deleted first. Otherwise VPP would balance between the old and the new next hop.
                let _ = writeln!(out, "ip route del {} table {of}", four(prefix));
                if let Some((hop, next)) = hop_of(tables, next_hop) {
                    route4(prefix, of, (hop, next), out);
                }
            }
            true
        }
        Change::Route6 { table, prefix, next_hop } => {
            for of in forwarding_tables(request, table.index()) {
                let _ = writeln!(out, "ip route del {} table {of}", six_text(prefix));
                if let Some((hop, next)) = hop_of(tables, next_hop) {
                    route6(prefix, of, (hop, next), out);
                }
            }
            true
        }
        Change::NextHop { id, value } => {
            neighbour(tables, id.index(), &value, out);
            true
        }
        Change::Exact { table, key, value } => {
            let bridges = request.elements().any(|(_, element)| *element == Element::Bridge(table));
            if bridges {
                let hop = value.and_then(|hop| tables.next_hops.get(hop as usize));
                let mac = Mac::from_u64(key);
                let _ = match hop {
                    Some(hop) => writeln!(out, "l2fib add {mac} 1 {} static", port_name(hop.port)),
                    None => writeln!(out, "l2fib del {mac} 1"),
                };
            }
            bridges
        }
        Change::Translation { .. } | Change::User { .. } | Change::Attach { .. } => false,
    }
}

fn lack(
    request: &BackendRequest<'_>,
    direction: Direction,
    elements: &[&Element],
    at: usize,
) -> Option<Reason> {
    let tables = &request.declaration.tables;
    let has = |test: &dyn Fn(&Element) -> bool| elements.iter().any(|element| test(element));
    let routed = is_routed(elements);
    let tunnelled = has(&|element| matches!(element, Element::Decap { .. } | Element::Encap));
    let bridged = has(&|element| matches!(element, Element::Bridge(_)));
    let vxlan = tables.tunnels.iter().any(|tunnel| tunnel.kind == Encapsulation::Vxlan);
    match elements[at] {
        Element::Emit { source: Some(_), .. } => {
            Some(Reason::NoAction("write a source MAC that is not its port's own"))
        }
        Element::Emit { port, .. } if *port == direction.ingress() => {
            Some(Reason::NotWritten("packets that leave through the port where they arrived"))
        }
        Element::Emit { .. } if request.directions.iter().any(|one| takes_tables(&path(request, *one))) => {
            Some(Reason::NotWritten(
                "one direction without tables in parallel with one that routes or bridges",
            ))
        }
        Element::Admit { mac: Some(_), .. } if !routed && !bridged => {
            Some(Reason::NotWritten("the address of frames that are not routed"))
        }
        Element::Bridge(_) if tables.next_hops.iter().any(|hop| hop.dst.is_some() || hop.src.is_some()) => {
            Some(Reason::NoAction("write addresses of bridged frames"))
        }
        Element::Deliver if !bridged => Some(Reason::NoAction("route without decrementing the TTL")),
        Element::Decap { ipv6: true, .. } if routed => Some(Reason::NotWritten("IPv6 in tunnels")),
        Element::Decap { kind: Encapsulation::Vxlan, .. } | Element::Encap if vxlan && routed => {
            Some(Reason::NoAction("keep the MAC addresses of frames in VXLAN that it routes"))
        }
        Element::Encap
            if tables
                .tunnels
                .iter()
                .any(|tunnel| matches!(tunnel.kind, Encapsulation::Gtp { qfi } if qfi > QFI_MAX)) =>
        {
            let most = QFI_MAX.into();
            Some(Reason::TooMany { what: "QoS flow identifiers", asked: 63, most })
        }
        Element::FindUserByDestination(_) if tunnelled && six(tables, elements[at]) => {
            Some(Reason::NotWritten("IPv6 users"))
        }
        Element::FindUserBySource(id) | Element::FindUserByDestination(id) if !tunnelled => {
            let users = tables.exact[id.index()].entries.len() as u64;
            lack_of_classifier(request, users, six(tables, elements[at]))
        }
        Element::Acl(id) if tables.acls[id.index()].flags_beyond(FLAGS) => {
            Some(Reason::NoMatch("bits of TCP other than its eight flags"))
        }
        Element::NatSource(_) | Element::NatDestination(_) if six(tables, elements[at]) => {
            Some(Reason::NotWritten("translations of IPv6"))
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

/// Returns the first requirement that a classifier of users' addresses cannot meet, if there is one.
fn lack_of_classifier(request: &BackendRequest<'_>, users: u64, has_ipv6: bool) -> Option<Reason> {
    if !request.declaration.fakedrop {
        return Some(Reason::NotWritten("the drop of packets of unknown users"));
    }
    if has_ipv6 {
        return Some(Reason::NotWritten("IPv6 users"));
    }
    let most = CLASSIFIED_MAX;
    (users > most).then_some(Reason::TooMany { what: "users", asked: users, most })
}

/// Returns the forwarding table for packets that arrive at a port.
const fn table(port: Port) -> u32 {
    port as u32 + 1
}

/// Returns the tables of VPP that contain the routes of a declared table. NAT looks up a translated packet in the table
/// of the other side. It also uses the inside table to decide whether a packet is translated.
fn forwarding_tables(request: &BackendRequest<'_>, index: usize) -> Vec<u32> {
    let mut of = BTreeSet::new();
    for direction in request.directions {
        let elements = path(request, *direction);
        if elements.iter().any(|one| matches!(one, Element::Route(id) if id.index() == index)) {
            of.insert(table(direction.ingress()));
            if elements.iter().any(|one| matches!(one, Element::NatSource(_) | Element::NatDestination(_))) {
                of.insert(table(INSIDE));
                of.insert(if *direction == Direction::Uplink { table(OUTSIDE) } else { table(INSIDE) });
            }
        }
    }
    of.into_iter().collect()
}

/// Ports on the sides of private (inside) and public (outside) addresses.
const INSIDE: Port = Port::Access;
const OUTSIDE: Port = Port::Core;

/// Returns ranlab's address on a link. The addresses of the next hops follow it.
const fn link(port: Port) -> Ipv4Addr {
    // The two links use two halves of the shared address space (RFC 6598).
    Ipv4Addr::from_bits(0x6440_0001 | (port as u32) << 21)
}

const fn link6(port: Port) -> u128 {
    0xfd00_6464 << 96 | (port as u128) << 64 | 1
}

/// Writes the creation of both ports.
fn ports() -> String {
    let mut out = HEAD.to_owned();
    for port in [Port::Access, Port::Core] {
        let id = port as u32 + 1;
        let name = port_name(port);
        let _ = writeln!(out, "create memif socket id {id} filename /run/vpp/{name}.sock");
        let _ = writeln!(out, "create interface memif id 0 socket-id {id} master");
        let _ = writeln!(out, "set interface name memif{id}/0 {name}");
    }
    out
}

fn script(request: &BackendRequest<'_>) -> String {
    let tables = &request.declaration.tables;
    let mut out = String::new();
    let has = |test: &dyn Fn(&Element) -> bool| request.elements().any(|(_, element)| test(element));
    let router = request.directions.iter().any(|direction| is_routed(&path(request, *direction)));
    let bridged = has(&|element| matches!(element, Element::Bridge(_) | Element::FindUserByMac(_)));
    for port in [Port::Access, Port::Core] {
        let name = port_name(port);
        if router || bridged {
            // Both ports need an address, because a port also sends frames of the other direction.
            let _ = writeln!(out, "set interface mac address {name} {}", own_mac(request, port));
        }
        let _ = writeln!(out, "set interface state {name} up");
    }
    if bridged {
        bridge(request, &mut out);
    }
    if router {
        links(tables, &mut out);
    }
    if router && has(&|element| matches!(element, Element::Decap { .. } | Element::Encap)) {
        tunnels(request, &mut out);
    }
    translations(request, &mut out);
    if !router && !bridged {
        // Both ports are set to this mode. Otherwise a frame could not be sent to the other port.
        let _ = writeln!(out, "set interface l2 xconnect access core\nset interface l2 xconnect core access");
    }
    lists(request, &mut out);
    meters(request, &mut out);
    for index in 0..tables.routes.len() {
        for of in forwarding_tables(request, index) {
            routes(tables, index, of, &mut out);
        }
    }
    out
}

/// Returns the destination MAC of frames to a port: the MAC that a direction admits, or else the gateway's MAC.
fn own_mac(request: &BackendRequest<'_>, port: Port) -> Mac {
    let admitted = |direction: Direction| {
        request.declaration.path(direction).blocks.iter().flatten().find_map(|element| match element {
            Element::Admit { mac, .. } => *mac,
            _ => None,
        })
    };
    let own = if port == Port::Access { Direction::Uplink } else { Direction::Downlink };
    admitted(own).unwrap_or(GW_MAC)
}

/// Writes a bridge with a static table. A user found by its MAC is behind a VXLAN tunnel.
fn bridge(request: &BackendRequest<'_>, out: &mut String) {
    let tables = &request.declaration.tables;
    let vxlan = request.elements().any(|(_, element)| {
        matches!(element, Element::FindUserByMac(_) | Element::Decap { kind: Encapsulation::Vxlan, .. })
    });
    let flood = u32::from(request.declaration.fakedrop && !vxlan);
    let _ = writeln!(out, "create bridge-domain 1 learn 0 forward 1 flood 0 uu-flood {flood} arp-term 0");
    let ports: &[Port] = if vxlan { &[Port::Access] } else { &[Port::Access, Port::Core] };
    for port in ports {
        let _ = writeln!(out, "set interface l2 bridge {} 1", port_name(*port));
    }
    if vxlan {
        stations(request, out);
    }
    let mut all = BTreeMap::new();
    for (_, element) in request.elements() {
        if let Element::Bridge(id) = element {
            all.extend(tables.exact[id.index()].entries.iter().copied());
        }
    }
    for (key, hop) in all {
        if let Some(hop) = tables.next_hops.get(hop as usize) {
            let _ = writeln!(out, "l2fib add {} 1 {} static", Mac::from_u64(key), port_name(hop.port));
        }
    }
}

/// Writes tables, addresses and next hops of both ports.
fn links(tables: &Tables, out: &mut String) {
    let ipv6 = has_ipv6(tables);
    for port in [Port::Access, Port::Core] {
        let name = port_name(port);
        let table = table(port);
        let _ = writeln!(out, "ip table add {table}\nset interface ip table {name} {table}");
        let _ = writeln!(out, "set interface ip address {name} {}/11", link(port));
        if ipv6 {
            let address = Ipv6Addr::from_bits(link6(port));
            let _ = writeln!(out, "ip6 table add {table}\nset interface ip6 table {name} {table}");
            let _ = writeln!(out, "set interface ip address {name} {address}/64");
        }
    }
    for (index, hop) in tables.next_hops.iter().enumerate() {
        neighbour(tables, index, hop, out);
    }
}

fn has_ipv6(tables: &Tables) -> bool {
    tables.routes.iter().any(|table| !table.ipv6.is_empty())
}

/// Writes the MAC address of a next hop.
fn neighbour(tables: &Tables, index: usize, NextHop { dst, port, .. }: &NextHop, out: &mut String) {
    let Some(dst) = dst else { return };
    let name = port_name(*port);
    let _ = writeln!(out, "set ip neighbor {name} {} {dst} static", hop4(*port, index));
    if has_ipv6(tables) {
        let _ = writeln!(out, "set ip neighbor {name} {} {dst} static", hop6(*port, index));
    }
}

fn hop4(port: Port, index: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(link(port).to_bits() + 1 + index as u32)
}

fn hop6(port: Port, index: usize) -> Ipv6Addr {
    Ipv6Addr::from_bits(link6(port) + 1 + index as u128)
}

fn routes(tables: &Tables, index: usize, of: u32, out: &mut String) {
    let routes = &tables.routes[index];
    // If a prefix is added several times, VPP balances between its next hops. Only the last next hop counts in a
    // declaration.
    let four: BTreeMap<_, _> =
        routes.ipv4.iter().map(|(p, hop)| ((p.address.to_bits() & p.mask(), p.length), hop)).collect();
    for ((bits, length), hop) in four {
        let Some(next) = tables.next_hops.get(hop.index()) else { continue };
        let prefix = Prefix4 { address: Ipv4Addr::from_bits(bits), length };
        route4(prefix, of, (hop.index(), next), out);
    }
    let six: BTreeMap<_, _> =
        routes.ipv6.iter().map(|(p, hop)| ((p.address.to_bits() & p.mask(), p.length), hop)).collect();
    for ((bits, length), hop) in six {
        let Some(next) = tables.next_hops.get(hop.index()) else { continue };
        let prefix = Prefix6 { address: Ipv6Addr::from_bits(bits), length };
        route6(prefix, of, (hop.index(), next), out);
    }
}

fn route4(prefix: Prefix4, of: u32, (index, next): (usize, &NextHop), out: &mut String) {
    let via = hop4(next.port, index);
    let _ = writeln!(out, "ip route add {} table {of} via {via} {}", four(prefix), port_name(next.port));
}

fn route6(prefix: Prefix6, of: u32, (index, next): (usize, &NextHop), out: &mut String) {
    let via = hop6(next.port, index);
    let _ = writeln!(out, "ip route add {} table {of} via {via} {}", six_text(prefix), port_name(next.port));
}

fn four(prefix: Prefix4) -> String {
    format!("{}/{}", Ipv4Addr::from_bits(prefix.address.to_bits() & prefix.mask()), prefix.length)
}

fn six_text(prefix: Prefix6) -> String {
    format!("{}/{}", Ipv6Addr::from_bits(prefix.address.to_bits() & prefix.mask()), prefix.length)
}

const HEAD: &str = "\
comment { written by ranlab: vppctl exec each file by its full path, this one first }
";
