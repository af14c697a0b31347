//! The Linux kernel without additional programs: nftables at the ingress of each port (family `netdev`). Each element
//! is a chain, and each table is a map. Each next hop is a chain that rewrites the addresses and forwards to the other
//! port.
//!
//! The kernel's routing is not used for two reasons. It always decrements the TTL. A router also has one MAC address
//! per port, where pipelines have one per next hop.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use ranlab_packet::{Mac, Protocol};

use super::{
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, TextConsumer, Tier, Translation,
    UnsupportedElement, UnsupportedPipeline, element_name, permitted, port_name, refuse_changes,
};
use crate::declare::{
    ANY_PORTS, AclRule, Action, Change, Direction, Element, ExactTable, NextHop, Port, Prefix4, Prefix6,
    TcpFlags, User,
};

/// Backend for the Linux kernel.
#[derive(Debug)]
pub struct Kernel;

/// Maximum of rate plus burst of a limit, in bytes. The kernel multiplies this value by nanoseconds per second in 64
/// bits.
const LIMIT_BYTES_MAX: u64 = u64::MAX / 1_000_000_000;

impl Backend for Kernel {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "kernel",
            title: "Linux: nftables at the ingress of ports",
            install: "apt install nftables iproute2",
            programs: &["nft", "ip"],
            tiers: &[Tier::Veth],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        let lack = |(direction, element): (Direction, &Element)| {
            let reason = match element {
                Element::Decap { .. } | Element::FindUserByTunnelKey(_) => {
                    Reason::NoAction("remove a tunnel's headers at the ingress of a port")
                }
                Element::Encap => Reason::NoAction("add a tunnel's headers at the ingress of a port"),
                Element::Forward => Reason::NoAction("decrement the TTL outside its routing"),
                Element::Route(_) => {
                    Reason::NoMatch("the longest of nested prefixes: its maps of intervals may not overlap")
                }
                Element::NatSource(_) | Element::NatDestination(_) => {
                    Reason::NotWritten("translations of address and port by a map")
                }
                Element::Acl(id) if request.declaration.tables.acls[id.index()].flags_beyond(0xff) => {
                    Reason::NoMatch("bits of TCP other than its eight flags")
                }
                Element::Emit { port, .. } if *port == direction.ingress() => {
                    Reason::NotWritten("packets that leave through the port where they arrived")
                }
                _ => return None,
            };
            Some(UnsupportedElement { element: element_name(element), reason })
        };
        request.elements().filter_map(lack).collect()
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        let has = |test: &dyn Fn(&Element) -> bool| request.elements().any(|(_, element)| test(element));
        let mut all = Vec::new();
        if has(&|element| *element == Element::Meter) {
            all.push(Equivalence::Meters);
        }
        if has(&|element| matches!(element, Element::Admit { .. })) {
            all.push(Equivalence::Soundness);
        }
        all
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        let mut out = Translation::default();
        let mut maps = String::new();
        let mut chains = String::new();
        if request.elements().any(|(_, element)| *element == Element::Meter) {
            limits(&request.declaration.tables.users, &mut maps);
        }
        for direction in request.directions {
            path(request, *direction, &mut maps, &mut chains);
        }
        out.push("rules", TextConsumer::Nft, format!("table netdev ranlab {{\n{maps}{chains}}}\n"));
        Ok(out)
    }

    fn update(&self, _: &BackendRequest<'_>, changes: &[Change]) -> Result<Translation, UnsupportedPipeline> {
        refuse_changes(self, changes, Reason::NotWritten("changes of maps"))
    }
}

const fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Uplink => "up",
        Direction::Downlink => "down",
    }
}

/// Writes a limit for each user, and the map from marks to limits. The mark is the user's number plus one.
fn limits(users: &[User], maps: &mut String) {
    for (id, user) in users.iter().enumerate() {
        let burst = u64::from(user.burst_bytes).max(1);
        let rate = user.rate_bytes_per_s.clamp(1, LIMIT_BYTES_MAX - burst);
        let _ = writeln!(maps, "  limit user{id} {{ rate over {rate} bytes/second burst {burst} bytes\n  }}");
    }
    let elements = (0..users.len()).map(|id| format!("{} : \"user{id}\"", id + 1)).collect();
    map(maps, "limits", "mark : limit", elements);
}

fn map(maps: &mut String, name: &str, kind: &str, elements: Vec<String>) {
    let _ = write!(maps, "  map {name} {{ type {kind}");
    if !elements.is_empty() {
        let _ = write!(maps, "; elements = {{ {} }}", elements.join(", "));
    }
    let _ = writeln!(maps, "; }}");
}

/// Writes the chains of a direction. The last element is first, because a chain must be defined before another chain
/// jumps to it.
fn path(request: &BackendRequest<'_>, direction: Direction, maps: &mut String, chains: &mut String) {
    let way = name(direction);
    let ingress = direction.ingress();
    let chain = |name: &str, rules: &str| format!("  chain {way}_{name} {{\n{rules}  }}\n");
    let leave = |port: Port| format!("    fwd to \"{}\"\n", port_name(port));
    let unmatched =
        if request.declaration.fakedrop { leave(ingress.other()) } else { "    drop\n".to_owned() };
    chains.push_str(&chain("unmatched", &unmatched));
    let elements: Vec<&Element> = request.declaration.path(direction).blocks.iter().flatten().collect();
    if elements.contains(&&Element::Deliver) {
        for (id, hop) in request.declaration.tables.next_hops.iter().enumerate() {
            chains.push_str(&chain(&format!("hop{id}"), &deliver(hop)));
        }
    }
    for (at, element) in elements.iter().enumerate().rev() {
        let place = Place { request, way, at };
        chains.push_str(&chain(&at.to_string(), &place.rules(element, maps)));
    }
    let port = port_name(ingress);
    let _ = write!(
        chains,
        "  chain {way} {{\n    type filter hook ingress device \"{port}\" priority 0; policy drop;\n    goto {way}_0\n  }}\n"
    );
}

fn deliver(hop: &NextHop) -> String {
    let set = |field: &str, mac: Option<Mac>| {
        mac.map_or_else(String::new, |mac| format!("ether {field} set {mac} "))
    };
    format!("    {}{}fwd to \"{}\"\n", set("daddr", hop.dst), set("saddr", hop.src), port_name(hop.port))
}

/// Position of an element.
struct Place<'a> {
    request: &'a BackendRequest<'a>,
    way: &'static str,
    at: usize,
}

impl Place<'_> {
    fn go_on(&self) -> String {
        format!("goto {}_{}", self.way, self.at + 1)
    }

    fn unmatched(&self) -> String {
        format!("goto {}_unmatched", self.way)
    }

    fn rules(&self, element: &Element, maps: &mut String) -> String {
        let tables = &self.request.declaration.tables;
        let mut out = String::new();
        match element {
            Element::Admit { mac, ipv6 } => {
                if let Some(mac) = mac {
                    let _ = writeln!(out, "    ether daddr != {mac} {}", self.unmatched());
                }
                let _ = writeln!(out, "    meta protocol ip {}", self.go_on());
                if *ipv6 {
                    let _ = writeln!(out, "    meta protocol ip6 {}", self.go_on());
                }
                out.push_str("    drop\n");
                return out;
            }
            Element::Bridge(id) => {
                let hop = |(key, value): &(u64, u32)| {
                    format!("{} : goto {}_hop{value}", Mac::from_u64(*key), self.way)
                };
                let elements = tables.exact[id.index()].entries.iter().map(hop).collect();
                let name = self.map_name("mac");
                map(maps, &name, "ether_addr : verdict", elements);
                let _ = writeln!(out, "    ether daddr vmap @{name}");
            }
            Element::FindUserByMac(id) => {
                let user = |(key, value): &(u64, u32)| format!("{} : {}", Mac::from_u64(*key), value + 1);
                let elements = tables.exact[id.index()].entries.iter().map(user).collect();
                let name = self.map_name("mac");
                map(maps, &name, "ether_addr : mark", elements);
                let _ = writeln!(out, "    meta mark set ether daddr map @{name} {}", self.go_on());
            }
            Element::FindUserBySource(id) => self.users(&tables.exact[id.index()], "saddr", maps, &mut out),
            Element::FindUserByDestination(id) => {
                self.users(&tables.exact[id.index()], "daddr", maps, &mut out);
            }
            Element::Meter => {
                let _ = writeln!(out, "    limit name meta mark map @limits drop\n    {}", self.go_on());
                return out;
            }
            Element::Acl(id) => {
                let table = &tables.acls[id.index()];
                let decide = |action: Action| match action {
                    Action::Permit => self.go_on(),
                    Action::Deny => self.unmatched(),
                };
                for (rule, action) in &table.rules {
                    rules(&four(rule), "ip protocol", rule, &decide(*action), &mut out);
                }
                for (rule, action) in &table.rules6 {
                    rules(&six(rule), "ip6 nexthdr", rule, &decide(*action), &mut out);
                }
                let _ = writeln!(out, "    {}", decide(table.default));
                return out;
            }
            Element::Emit { port, source } => {
                return deliver(&NextHop { dst: None, src: *source, port: *port });
            }
            // The chain of a next hop has already sent the packet. Other elements are rejected earlier.
            _ => {}
        }
        let _ = writeln!(out, "    {}", self.unmatched());
        out
    }

    fn map_name(&self, of: &str) -> String {
        format!("{}_{}_{of}", self.way, self.at)
    }

    /// Writes the map from addresses to users: the whole IPv4 address, or the /64 prefix of IPv6.
    fn users(&self, table: &ExactTable, side: &str, maps: &mut String, out: &mut String) {
        let mut four = Vec::new();
        let mut six = Vec::new();
        for (key, value) in &table.entries {
            match u32::try_from(*key) {
                Ok(key) => four.push(format!("{} : {}", Ipv4Addr::from_bits(key), value + 1)),
                Err(_) => {
                    let upper = Ipv6Addr::from_bits(u128::from(*key) << 64);
                    six.push(format!("{upper} : {}", value + 1));
                }
            }
        }
        if !four.is_empty() {
            let name = self.map_name("ip");
            map(maps, &name, "ipv4_addr : mark", four);
            let _ = writeln!(out, "    meta mark set ip {side} map @{name} {}", self.go_on());
        }
        if !six.is_empty() {
            let name = self.map_name("ip6");
            map(maps, &name, "ipv6_addr : mark", six);
            let upper = format!("ip6 {side} & ffff:ffff:ffff:ffff::");
            let _ = writeln!(out, "    meta mark set {upper} map @{name} {}", self.go_on());
        }
    }
}

fn four(rule: &AclRule) -> String {
    let of = |side: &str, prefix: Prefix4| {
        let address = Ipv4Addr::from_bits(prefix.address.to_bits() & prefix.mask());
        if prefix.length == 0 { String::new() } else { format!("ip {side} {address}/{} ", prefix.length) }
    };
    format!("meta protocol ip {}{}", of("saddr", rule.src), of("daddr", rule.dst))
}

fn six(rule: &AclRule<Prefix6>) -> String {
    let of = |side: &str, prefix: Prefix6| {
        let address = Ipv6Addr::from_bits(prefix.address.to_bits() & prefix.mask());
        if prefix.length == 0 { String::new() } else { format!("ip6 {side} {address}/{} ", prefix.length) }
    };
    format!("meta protocol ip6 {}{}", of("saddr", rule.src), of("daddr", rule.dst))
}

/// Writes the nftables rules that correspond to a rule of an access control list. An expression that reads a transport
/// header does not match later fragments.
fn rules<P>(addresses: &str, protocol: &str, rule: &AclRule<P>, verdict: &str, out: &mut String) {
    let range = |side: &str, ports: (u16, u16)| match ports {
        ANY_PORTS => String::new(),
        (first, last) if first == last => format!("th {side} {first} "),
        (first, last) => format!("th {side} {first}-{last} "),
    };
    let TcpFlags { value, mask } = rule.flags;
    let flags =
        if mask == 0 { String::new() } else { format!("tcp flags & {mask:#04x} == {:#04x} ", value & mask) };
    let needs = format!("{}{}{flags}", range("sport", rule.src_ports), range("dport", rule.dst_ports));
    let with_ports: &[Protocol] = if mask == 0 { &[Protocol::TCP, Protocol::UDP] } else { &[Protocol::TCP] };
    let mut line = |matches: &str| {
        let _ = writeln!(out, "    {addresses}{matches}{verdict}");
    };
    match rule.protocol {
        None if needs.is_empty() => line(""),
        None => with_ports.iter().for_each(|one| line(&format!("{protocol} {} {needs}", one.0))),
        Some(one) if needs.is_empty() || with_ports.contains(&Protocol(one)) => {
            line(&format!("{protocol} {one} {needs}"));
        }
        Some(_) => {}
    }
}
