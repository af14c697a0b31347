//! BESS: a Python script for `bessctl run file` that builds the pipeline from BESS modules and connects their gates.
//! Ports are pairs of interfaces named by [`super::port_name`]. This version generates the configuration and does not
//! run BESS. The script uses only modules of NetSys/bess, which omec-project/bess also contains.
//!
//! A match selects one of the 8,192 gates of a module. This is therefore the maximum number of users or next hops.

use std::fmt::Write;
use std::net::Ipv4Addr;

use ranlab_packet::{Mac, VXLAN_PORT};

use super::p4::six;
use super::{
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, TextConsumer, Translation, UnsupportedElement,
    UnsupportedPipeline, element_name, path, permitted, port_name, refuse_changes,
};
use crate::declare::{
    AclRule, Action, Change, Direction, Element, Encapsulation, NextHop, NextHopId, Port, Prefix4, Tunnel,
    User,
};

/// Backend for BESS.
#[derive(Debug)]
pub struct Bess;

/// Maximum number of gates that matches can select. Gate 0 is for unmatched packets.
const GATES_MAX: u64 = 8_191;

impl Backend for Bess {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "bess",
            title: "BESS: a script of its modules",
            install: "build https://github.com/omec-project/bess against libdpdk-dev (no Debian package)",
            programs: &["bessd", "bessctl"],
            tiers: &[],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        let of = |direction: &Direction| {
            let elements = path(request, *direction);
            let one = |at: usize| lack(request, elements[at]).or_else(|| apart(&elements, at));
            (0..elements.len()).filter_map(one).collect::<Vec<_>>()
        };
        request.directions.iter().flat_map(of).collect()
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        let has = |test: &dyn Fn(&Element) -> bool| request.elements().any(|(_, element)| test(element));
        let mut all = Vec::new();
        if has(&|element| *element == Element::Encap) {
            all.push(Equivalence::OuterHeaders);
        }
        if has(&|element| matches!(element, Element::Admit { .. } | Element::Decap { .. })) {
            all.extend([Equivalence::Soundness, Equivalence::Options]);
        }
        all
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        let mut script = Script { request, text: HEAD.to_owned() };
        for port in [Port::Access, Port::Core] {
            let name = port_name(port);
            let _ = writeln!(script.text, "{name} = PMDPort(vdev='net_af_packet_{name},iface={name}')");
            let _ = writeln!(
                script.text,
                "{name}_in = PortInc(port={name}.name)\n{name}_out = PortOut(port={name}.name)"
            );
        }
        request.directions.iter().for_each(|direction| script.direction(*direction));
        script.text.push_str("bess.resume_all()\n");
        let mut translation = Translation::default();
        translation.push("ranlab.bess", TextConsumer::Bessctl, script.text);
        Ok(translation)
    }

    fn update(&self, _: &BackendRequest<'_>, changes: &[Change]) -> Result<Translation, UnsupportedPipeline> {
        refuse_changes(self, changes, Reason::NotWritten("changes of matches"))
    }
}

/// Reports an element that uses the gates of a match but does not follow the match directly.
fn apart(elements: &[&Element], at: usize) -> Option<UnsupportedElement> {
    let before = at.checked_sub(1).map(|before| elements[before]);
    let follows = match elements[at] {
        Element::Forward | Element::Deliver => matches!(before, Some(Element::Route(_) | Element::Bridge(_))),
        Element::Encap => matches!(
            before,
            Some(
                Element::FindUserByMac(_)
                    | Element::FindUserBySource(_)
                    | Element::FindUserByDestination(_)
                    | Element::FindUserByTunnelKey(_)
            )
        ),
        _ => true,
    };
    let reason = Reason::NotWritten("elements between a match and the use of its result");
    (!follows).then(|| UnsupportedElement { element: element_name(elements[at]), reason })
}

fn lack(request: &BackendRequest<'_>, element: &Element) -> Option<UnsupportedElement> {
    let tables = &request.declaration.tables;
    let many = |what, asked: usize| {
        let asked = asked as u64;
        (asked > GATES_MAX).then_some(Reason::TooMany { what, asked, most: GATES_MAX })
    };
    let plain = |rule: &AclRule| {
        let one = |(low, high): (u16, u16)| low == high && low != 0 || (low, high) == (0, u16::MAX);
        rule.protocol.is_none() && rule.flags.mask == 0 && one(rule.src_ports) && one(rule.dst_ports)
    };
    let reason = match element {
        Element::Meter => {
            Some(Reason::NotWritten("a bucket for each user by module Qos of omec-project/bess"))
        }
        Element::NatSource(_) | Element::NatDestination(_) => {
            Some(Reason::NoAction("translate by a given table: its NAT modules choose ports themselves"))
        }
        Element::Decap { kind: Encapsulation::Gtp { .. }, .. } => {
            Some(Reason::NotWritten("GTP-U by module GtpuDecap of omec-project/bess"))
        }
        Element::Decap { kind: Encapsulation::Gre, .. } => {
            Some(Reason::NoAction("remove GRE headers: it has no such module"))
        }
        Element::Encap if tables.tunnels.iter().any(|tunnel| tunnel.kind != Encapsulation::Vxlan) => {
            Some(Reason::NotWritten("GTP-U by module GtpuEncap of omec-project/bess, or GRE"))
        }
        Element::Acl(id) if !tables.acls[id.index()].rules.iter().all(|(rule, _)| plain(rule)) => {
            Some(Reason::NoMatch("protocols, ranges of ports and TCP flags in its ACL"))
        }
        Element::Acl(_) if request.declaration.fakedrop => {
            Some(Reason::NoAction("send packets that its ACL denies"))
        }
        Element::Encap if tables.tunnels.iter().any(|tunnel| tunnel.port != tables.tunnels[0].port) => {
            Some(Reason::NotWritten("tunnels by several ports"))
        }
        Element::FindUserByMac(_)
        | Element::FindUserBySource(_)
        | Element::FindUserByDestination(_)
        | Element::FindUserByTunnelKey(_)
        | Element::Encap => many("users, each of which is a gate", tables.users.len()),
        Element::Route(_) | Element::Bridge(_) => {
            many("next hops, each of which is a gate", tables.next_hops.len())
        }
        _ => None,
    };
    let reason = reason
        .or_else(|| six(tables, element).then_some(Reason::NoMatch("IPv6: its lookups support only IPv4")));
    reason.map(|reason| UnsupportedElement { element: element_name(element), reason })
}

struct Script<'a> {
    request: &'a BackendRequest<'a>,
    text: String,
}

/// Current outputs of a direction: names of modules, each with the number of a gate.
type Ends = Vec<(String, u32)>;

impl Script<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn direction(&mut self, direction: Direction) {
        let way = if direction == Direction::Uplink { "up" } else { "down" };
        let elements: Vec<&Element> =
            self.request.declaration.path(direction).blocks.iter().flatten().collect();
        let ingress = port_name(direction.ingress());
        let other = port_name(direction.ingress().other());
        if self.request.declaration.fakedrop {
            self.line(&format!("{way}_unmatched = Merge()\n{way}_unmatched.connect({other}_out)"));
        } else {
            self.line(&format!("{way}_unmatched = Sink()"));
        }
        let mut ends: Ends = vec![(format!("{ingress}_in"), 0)];
        for (at, element) in elements.iter().enumerate() {
            let name = format!("{way}_{at}");
            ends = self.element(element, &name, way, ends);
        }
    }

    /// Connects outputs to a module.
    fn join(&mut self, ends: &Ends, name: &str) {
        for (from, gate) in ends {
            self.line(&format!("{from}.connect({name}, ogate={gate})"));
        }
    }

    fn element(&mut self, element: &Element, name: &str, way: &str, ends: Ends) -> Ends {
        let tables = &self.request.declaration.tables;
        match element {
            Element::Admit { mac, .. } => self.admit(*mac, name, way, &ends),
            Element::Bridge(id) | Element::FindUserByMac(id) => {
                let entries = tables.exact[id.index()]
                    .entries
                    .iter()
                    .map(|(key, to)| (Mac::from_u64(*key).0.to_vec(), *to));
                self.exact(name, way, &ends, "{'offset': 0, 'num_bytes': 6}", entries.collect())
            }
            Element::FindUserBySource(id) | Element::FindUserByDestination(id) => {
                let offset = if matches!(element, Element::FindUserBySource(_)) { 26 } else { 30 };
                let field = format!("{{'offset': {offset}, 'num_bytes': 4}}");
                self.exact(name, way, &ends, &field, keys(&tables.exact[id.index()].entries))
            }
            Element::FindUserByTunnelKey(id) => {
                let field = "{'attr_name': 'tun_id', 'num_bytes': 4}";
                self.exact(name, way, &ends, field, keys(&tables.exact[id.index()].entries))
            }
            Element::Decap { local, .. } => self.decap(*local, name, way, &ends),
            Element::Acl(id) => {
                let table = &tables.acls[id.index()];
                let all = table.rules.iter().map(|(rule, action)| acl(rule, *action));
                let rest = (table.default == Action::Permit).then(|| "{'drop': False}".to_owned());
                let rules: Vec<String> = all.chain(rest).collect();
                self.line(&format!("{name} = ACL(rules=[{}])", rules.join(", ")));
                self.join(&ends, name);
                vec![(name.to_owned(), 0)]
            }
            Element::Route(id) => self.route(&tables.routes[id.index()].ipv4, name, way, &ends),
            Element::Forward => self.deliver(name, ends, true),
            Element::Deliver => self.deliver(name, ends, false),
            Element::Encap => self.encap(name, ends),
            Element::Emit { port, source } => {
                let out = format!("{}_out", port_name(*port));
                let Some(source) = source else {
                    self.join(&ends, &out);
                    return Vec::new();
                };
                self.line(&format!("{name} = {}", update(None, Some(*source))));
                self.join(&ends, name);
                self.line(&format!("{name}.connect({out})"));
                Vec::new()
            }
            Element::Meter | Element::NatSource(_) | Element::NatDestination(_) => ends,
        }
    }

    fn admit(&mut self, mac: Option<Mac>, name: &str, way: &str, ends: &Ends) -> Ends {
        let fields = if mac.is_some() {
            "{'offset': 0, 'num_bytes': 6}, {'offset': 12, 'num_bytes': 2}"
        } else {
            "{'offset': 12, 'num_bytes': 2}"
        };
        self.line(&format!("{name} = ExactMatch(fields=[{fields}])"));
        self.join(ends, name);
        let mac = mac.map_or_else(String::new, |mac| format!("{{'value_bin': {}}}, ", bytes(&mac.0)));
        self.line(&format!("{name}.add(fields=[{mac}{{'value_bin': {}}}], gate=1)", bytes(&[8, 0])));
        self.otherwise(name, way);
        vec![(name.to_owned(), 1)]
    }

    fn decap(&mut self, local: Ipv4Addr, name: &str, way: &str, ends: &Ends) -> Ends {
        // The match covers the address, protocol and port of the outer headers. These headers are then removed.
        let fields =
            "{'offset': 30, 'num_bytes': 4}, {'offset': 23, 'num_bytes': 1}, {'offset': 36, 'num_bytes': 2}";
        self.line(&format!("{name}_is = ExactMatch(fields=[{fields}])"));
        self.join(ends, &format!("{name}_is"));
        let values = [bytes(&local.octets()), bytes(&[17]), bytes(&VXLAN_PORT.to_be_bytes())];
        let values = values.map(|value| format!("{{'value_bin': {value}}}")).join(", ");
        self.line(&format!("{name}_is.add(fields=[{values}], gate=1)"));
        self.otherwise(&format!("{name}_is"), way);
        self.line(&format!("{name} = VXLANDecap()\n{name}_is.connect({name}, ogate=1)"));
        vec![(name.to_owned(), 0)]
    }

    fn route(&mut self, routes: &[(Prefix4, NextHopId)], name: &str, way: &str, ends: &Ends) -> Ends {
        self.line(&format!("{name} = IPLookup(max_rules={})", routes.len() + 1));
        self.join(ends, name);
        for (prefix, hop) in routes {
            let address = Ipv4Addr::from_bits(prefix.address.to_bits() & prefix.mask());
            self.line(&format!(
                "{name}.add(prefix='{address}', prefix_len={}, gate={})",
                prefix.length,
                hop.0 + 1
            ));
        }
        self.line(&format!("{name}.connect({way}_unmatched, ogate=0)"));
        let mut gates: Vec<u32> = routes.iter().map(|(_, hop)| hop.0 + 1).collect();
        gates.sort_unstable();
        gates.dedup();
        gates.into_iter().map(|gate| (name.to_owned(), gate)).collect()
    }

    fn otherwise(&mut self, name: &str, way: &str) {
        self.line(&format!("{name}.set_default_gate(gate=0)\n{name}.connect({way}_unmatched, ogate=0)"));
    }

    /// Adds a match whose gate is the value plus one.
    fn exact(
        &mut self,
        name: &str,
        way: &str,
        ends: &Ends,
        field: &str,
        entries: Vec<(Vec<u8>, u32)>,
    ) -> Ends {
        self.line(&format!("{name} = ExactMatch(fields=[{field}])"));
        self.join(ends, name);
        let mut gates = Vec::new();
        for (key, value) in entries {
            self.line(&format!("{name}.add(fields=[{{'value_bin': {}}}], gate={})", bytes(&key), value + 1));
            gates.push(value + 1);
        }
        self.otherwise(name, way);
        gates.sort_unstable();
        gates.dedup();
        gates.into_iter().map(|gate| (name.to_owned(), gate)).collect()
    }

    /// For each gate, writes the addresses of its next hop and sends the packet to the next hop's port.
    fn deliver(&mut self, name: &str, ends: Ends, spends: bool) -> Ends {
        for port in [Port::Access, Port::Core] {
            let out = format!("{}_out", port_name(port));
            let last = if spends { "UpdateTTL()" } else { "Merge()" };
            self.line(&format!("{name}_{0} = {last}\n{name}_{0}.connect({out})", port_name(port)));
        }
        for (from, gate) in ends {
            let Some(hop) = self.request.declaration.tables.next_hops.get(gate.saturating_sub(1) as usize)
            else {
                continue;
            };
            let NextHop { dst, src, port } = *hop;
            let out = format!("{name}_{}", port_name(port));
            if dst.is_none() && src.is_none() {
                self.line(&format!("{from}.connect({out}, ogate={gate})"));
                continue;
            }
            let hop = format!("{name}_hop{}", gate - 1);
            self.line(&format!(
                "{hop} = {}\n{from}.connect({hop}, ogate={gate})\n{hop}.connect({out})",
                update(dst, src)
            ));
        }
        Vec::new()
    }

    /// For each gate, adds the tunnel of its user.
    fn encap(&mut self, name: &str, ends: Ends) -> Ends {
        let tables = &self.request.declaration.tables;
        let _ = writeln!(
            self.text,
            "{name} = VXLANEncap(dstport={VXLAN_PORT})\n{name}_ip = IPEncap()\n{name}_ethernet = EtherEncap()"
        );
        let port = tables.tunnels.first().map_or(Port::Core, |tunnel| tunnel.port);
        self.line(&format!(
            "{name}.connect({name}_ip)\n{name}_ip.connect({name}_ethernet)\n{name}_ethernet.connect({}_out)",
            port_name(port)
        ));
        for (from, gate) in ends {
            let user: Option<&User> = tables.users.get(gate.saturating_sub(1) as usize);
            let Some((user, tunnel)) =
                user.and_then(|user| Some((user, tables.tunnels.get(user.tunnel.index())?)))
            else {
                continue;
            };
            let Tunnel { local, remote, dst, src, .. } = *tunnel;
            let attribute = |name: &str, octets: &[u8]| {
                format!("{{'name': '{name}', 'size': {}, 'value_bin': {}}}", octets.len(), bytes(octets))
            };
            let all = [
                attribute("tun_ip_src", &local.octets()),
                attribute("tun_ip_dst", &remote.octets()),
                format!("{{'name': 'tun_id', 'size': 4, 'value_int': {}}}", user.tunnel_key),
                attribute("ether_dst", &dst.0),
                attribute("ether_src", &src.0),
            ];
            let set = format!("{name}_user{}", gate - 1);
            self.line(&format!(
                "{set} = SetMetadata(attrs=[{}])\n{from}.connect({set}, ogate={gate})\n{set}.connect({name})",
                all.join(", ")
            ));
        }
        Vec::new()
    }
}

fn keys(entries: &[(u64, u32)]) -> Vec<(Vec<u8>, u32)> {
    entries.iter().map(|(key, to)| ((*key as u32).to_be_bytes().to_vec(), *to)).collect()
}

/// Formats bytes as a Python literal: `b'\x02\x00'`.
fn bytes(octets: &[u8]) -> String {
    let inner: String = octets.iter().map(|octet| format!("\\x{octet:02x}")).collect();
    format!("b'{inner}'")
}

fn update(dst: Option<Mac>, src: Option<Mac>) -> String {
    let field = |offset, mac: Mac| format!("{{'offset': {offset}, 'size': 6, 'value': {:#x}}}", mac.to_u64());
    let fields: Vec<String> =
        dst.map(|mac| field(0, mac)).into_iter().chain(src.map(|mac| field(6, mac))).collect();
    format!("Update(fields=[{}])", fields.join(", "))
}

fn acl(rule: &AclRule, action: Action) -> String {
    let prefix = |prefix: Prefix4| {
        format!("{}/{}", Ipv4Addr::from_bits(prefix.address.to_bits() & prefix.mask()), prefix.length)
    };
    let drop = if action == Action::Deny { "True" } else { "False" };
    let mut fields =
        vec![format!("'src_ip': '{}'", prefix(rule.src)), format!("'dst_ip': '{}'", prefix(rule.dst))];
    for (name, ports) in [("src_port", rule.src_ports), ("dst_port", rule.dst_ports)] {
        if ports.0 == ports.1 {
            fields.push(format!("'{name}': {}", ports.0));
        }
    }
    format!("{{{}, 'drop': {drop}}}", fields.join(", "))
}

const HEAD: &str = "\
# Written by ranlab for BESS: bessctl run file ranlab.bess. The interfaces `access` and `core` have to be there.
# Without a worker that is named, BESS takes CPU 0, where a tester usually is.
import os
bess.add_worker(0, max(os.sched_getaffinity(0)))
";
