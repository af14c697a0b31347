//! Traffic that matches the tables of a declared pipeline. The flow's number selects the table entries that its packets
//! match. If several elements read a field, translations have precedence, then the first element. All other bits are
//! drawn from the flow's random stream.
use crate::declare::{
    AclRule, Declaration, Direction, Element, Encapsulation, ExactId, Prefix4, Prefix6, Tables, TcpFlags,
};
use crate::pipelines::{Flow, gateway};
use crate::trace::frames::{Ingress, Packet};
use ranlab_machine::Random;
use ranlab_packet::{ETHERNET_BYTES, Mac, Protocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the number of entries of the largest table that a direction reads.
pub(super) fn entries(declaration: &Declaration, direction: Direction) -> u64 {
    let tables = &declaration.tables;
    let of = |element: &Element| match element {
        Element::Bridge(id)
        | Element::FindUserByMac(id)
        | Element::FindUserByTunnelKey(id)
        | Element::FindUserBySource(id)
        | Element::FindUserByDestination(id) => tables.exact[id.index()].entries.len(),
        Element::Acl(id) => tables.acls[id.index()].rules.len() + tables.acls[id.index()].rules6.len(),
        Element::NatSource(id) | Element::NatDestination(id) => tables.nats[id.index()].entries.len(),
        Element::Route(id) => tables.routes[id.index()].ipv4.len() + tables.routes[id.index()].ipv6.len(),
        _ => 0,
    };
    declaration.path(direction).blocks.iter().flatten().map(of).max().unwrap_or(0).max(1) as u64
}

/// Fields of a packet that have been determined.
#[derive(Default)]
struct Chosen {
    mac: Option<Mac>,
    /// Encapsulation, local address, key and remote address of the tunnel.
    tunnel: Option<(Encapsulation, Ipv4Addr, u32, Option<Ipv4Addr>)>,
    src: Option<IpAddr>,
    dst: Option<IpAddr>,
    src_port: Option<u16>,
    dst_port: Option<u16>,
    protocol: Option<u8>,
    flags: TcpFlags,
}

pub(super) fn frame(declaration: &Declaration, flow: Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
    let (direction, number) = flow;
    let elements: Vec<&Element> = declaration.path(direction).blocks.iter().flatten().collect();
    let mut chosen = Chosen::default();
    let cut = elements.iter().position(|element| matches!(element, Element::Decap { .. }));
    // An element before the removal of a tunnel reads outer headers. The tunnel already determines these headers.
    let outer = |at: usize| cut.is_some_and(|cut| at < cut);
    // Translations are evaluated first, because they read the most fields: address, protocol and port.
    let translates =
        |element: &Element| matches!(element, Element::NatSource(_) | Element::NatDestination(_));
    for first in [true, false] {
        for (at, element) in elements.iter().enumerate().filter(|(_, element)| translates(element) == first) {
            chosen.element(&declaration.tables, element, (number, outer(at)), random);
        }
    }
    chosen.frame(random, bytes)
}

impl Chosen {
    fn element(
        &mut self,
        tables: &Tables,
        element: &Element,
        (flow, outer): (u64, bool),
        random: &mut Random,
    ) {
        let exact = |id: &ExactId| at(&tables.exact[id.index()].entries, flow).copied();
        match element {
            Element::Admit { mac, .. } => self.mac = self.mac.or(*mac),
            Element::Bridge(id) | Element::FindUserByMac(id) => {
                self.mac = self.mac.or_else(|| exact(id).map(|(key, _)| Mac::from_u64(key)));
            }
            Element::Decap { kind, local, .. } => {
                let drawn = (*kind, *local, random.next() as u32, None);
                self.tunnel.get_or_insert(drawn);
            }
            Element::FindUserByTunnelKey(id) => {
                if let (Some(tunnel), Some((key, user))) = (&mut self.tunnel, exact(id)) {
                    let user = tables.users.get(user as usize);
                    let far = user.and_then(|user| tables.tunnels.get(user.tunnel.index()));
                    (tunnel.2, tunnel.3) = (key as u32, far.map(|far| far.remote));
                }
            }
            Element::FindUserBySource(id) if !outer => {
                let user = exact(id).map(|(key, _)| host(key, random));
                self.src = self.src.or(user);
            }
            Element::FindUserByDestination(id) if !outer => {
                let user = exact(id).map(|(key, _)| host(key, random));
                self.dst = self.dst.or(user);
            }
            Element::Acl(id) if !outer => {
                let table = &tables.acls[id.index()];
                let all = (table.rules.len() + table.rules6.len()) as u64;
                // The flow after the flows of all rules matches no particular rule.
                let index = (flow % (all + 1)) as usize;
                match table.rules.get(index) {
                    Some((rule, _)) => {
                        self.rule(rule, |prefix, random| within4(prefix, random).into(), random)
                    }
                    None => {
                        if let Some((rule, _)) = table.rules6.get(index.wrapping_sub(table.rules.len())) {
                            self.rule(rule, |prefix, random| within6(prefix, random).into(), random);
                        }
                    }
                }
            }
            Element::NatSource(id) if !outer && self.src.is_none() => {
                if let Some((key, _)) = at(&tables.nats[id.index()].entries, flow) {
                    (self.src, self.src_port, self.protocol) =
                        (Some(key.address), Some(key.port), Some(key.protocol));
                }
            }
            Element::NatDestination(id) if !outer && self.dst.is_none() => {
                if let Some((key, _)) = at(&tables.nats[id.index()].entries, flow) {
                    (self.dst, self.dst_port, self.protocol) =
                        (Some(key.address), Some(key.port), Some(key.protocol));
                }
            }
            Element::Route(id) if !outer && self.dst.is_none() => {
                let table = &tables.routes[id.index()];
                let six = self.src.is_some_and(|src| src.is_ipv6()) || table.ipv4.is_empty();
                let four = at(&table.ipv4, flow).map(|(prefix, _)| IpAddr::V4(within4(*prefix, random)));
                let long = at(&table.ipv6, flow).map(|(prefix, _)| IpAddr::V6(within6(*prefix, random)));
                self.dst = if six { long } else { four };
            }
            _ => {}
        }
    }

    fn rule<P: Copy>(
        &mut self,
        rule: &AclRule<P>,
        within: impl Fn(P, &mut Random) -> IpAddr,
        random: &mut Random,
    ) {
        let src = within(rule.src, random);
        let dst = within(rule.dst, random);
        let other = self.src.or(self.dst);
        // If the IP version is already determined, a rule of the other version does not apply.
        if other.is_some_and(|other| other.is_ipv4() != src.is_ipv4()) {
            return;
        }
        self.src.get_or_insert(src);
        self.dst.get_or_insert(dst);
        let mut port = |(low, high): (u16, u16)| low + random.below(u64::from(high - low) + 1) as u16;
        let src_port = port(rule.src_ports);
        let dst_port = port(rule.dst_ports);
        self.src_port.get_or_insert(src_port);
        self.dst_port.get_or_insert(dst_port);
        self.protocol = self.protocol.or(rule.protocol);
        if self.flags.mask == 0 {
            self.flags = rule.flags;
        }
    }

    fn frame(self, random: &mut Random, bytes: usize) -> Vec<u8> {
        let six = self.src.or(self.dst).is_some_and(|address| address.is_ipv6());
        let mut any = || -> IpAddr {
            if six {
                // The address is in the documentation prefix.
                Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(random.next())).into()
            } else {
                Ipv4Addr::from_bits(unicast(random.next() as u32)).into()
            }
        };
        let src = self.src.unwrap_or_else(&mut any);
        let dst = self.dst.unwrap_or_else(&mut any);
        let ports = (random.next() as u16, random.next() as u16);
        let from = (src, self.src_port.unwrap_or(ports.0));
        let to = (dst, self.dst_port.unwrap_or(ports.1));
        let other = if self.flags.mask == 0 { Protocol::UDP } else { Protocol::TCP };
        let protocol = self.protocol.map_or(other, Protocol);
        let packet = Packet { flags: self.flags, ..Packet::new(protocol, from, to) };
        let mac = self.mac.unwrap_or(gateway::GW_MAC);
        let Some((kind, dst, key, far)) = self.tunnel else { return packet.frame(mac, bytes) };
        let src = far.unwrap_or_else(|| Ipv4Addr::from_bits(random.next() as u32));
        let src_mac = crate::trace::frames::TESTER_MAC;
        let ingress = Ingress { kind, key, src, dst, src_mac, dst_mac: mac };
        ingress.wrap(&packet.packet(bytes.saturating_sub(ETHERNET_BYTES)))
    }
}

fn at<T>(list: &[T], flow: u64) -> Option<&T> {
    list.get(flow.checked_rem(list.len() as u64)? as usize)
}

/// Returns an address by which a user is found.
fn host(key: u64, random: &mut Random) -> IpAddr {
    match u32::try_from(key) {
        Ok(address) => Ipv4Addr::from_bits(address).into(),
        Err(_) => Ipv6Addr::from_bits(u128::from(key) << 64 | u128::from(random.next())).into(),
    }
}

/// Returns an address that routers forward, i.e. not an address of this network, loopback, multicast or a reserved
/// range (RFC 6890).
const fn unicast(bits: u32) -> u32 {
    match bits >> 24 {
        0 | 127 | 224.. => bits & 0x00ff_ffff | 0x4000_0000,
        _ => bits,
    }
}

fn within4(prefix: Prefix4, random: &mut Random) -> Ipv4Addr {
    if prefix.length == 0 {
        return Ipv4Addr::from_bits(unicast(random.next() as u32));
    }
    Ipv4Addr::from_bits((prefix.address.to_bits() & prefix.mask()) | (random.next() as u32 & !prefix.mask()))
}

fn within6(prefix: Prefix6, random: &mut Random) -> Ipv6Addr {
    let noise = u128::from(random.next()) << 64 | u128::from(random.next());
    Ipv6Addr::from_bits((prefix.address.to_bits() & prefix.mask()) | (noise & !prefix.mask()))
}
