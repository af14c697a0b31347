//! Elements as OpenFlow tables, and changes as flow modifications, in the syntax of `ovs-ofctl bundle`.

use std::fmt::Write;
use std::net::Ipv4Addr;

use ranlab_packet::Mac;

use super::dialect::Dialect;
use super::ports;
use super::rules::{NOT_LATER, Rule, prefix4, prefix6};
use crate::backends::{BackendRequest, Reason, TextConsumer, Translation, UnsupportedElement};
use crate::declare::{
    AclTable, Action, Change, Direction, Element, Encapsulation, ExactId, Nat, NatId, NatKey, NextHop, Port,
    RouteId, Tunnel, User,
};

/// Priorities of exact matches, prefixes, and default flows. The priority of a prefix is [`PREFIX`] plus its length.
const EXACT: u32 = 1_000;
const PREFIX: u32 = 100;
const OTHERWISE: u32 = 10;
/// Priority of the first rule of a list.
const FIRST_RULE: u32 = 65_530;
/// IP versions by their OpenFlow keywords.
const IPV4_ONLY: &[&str] = &["ip"];
const BOTH: &[&str] = &["ip", "ipv6"];

/// An element with its direction and its OpenFlow table.
#[derive(Clone, Copy)]
struct Step<'a> {
    request: BackendRequest<'a>,
    dialect: Dialect,
    direction: Direction,
    table: u32,
    element: &'a Element,
}

impl Step<'_> {
    fn go_on(&self) -> String {
        format!("goto_table:{}", self.table + 1)
    }

    /// Returns the output action. Output to the ingress port has a special form.
    fn output(&self, port: Port) -> String {
        output(self.dialect, port, self.direction.ingress())
    }

    /// Returns the actions for well-formed packets that match nothing.
    fn unmatched(&self) -> String {
        if self.request.declaration.fakedrop {
            self.output(self.direction.ingress().other())
        } else {
            "drop".to_owned()
        }
    }

    fn line(&self, priority: u32, matches: &str, actions: &str) -> String {
        let comma = if matches.is_empty() { "" } else { "," };
        let cookie = self.dialect.cookie();
        let table = self.table;
        format!("flow add {cookie}table={table},priority={priority}{comma}{matches},actions={actions}\n")
    }

    fn gone(&self, priority: u32, matches: &str) -> String {
        let mask = self.dialect.cookie_mask();
        let table = self.table;
        format!("flow delete_strict {mask}table={table},priority={priority},{matches}\n")
    }
}

fn output(dialect: Dialect, port: Port, ingress: Port) -> String {
    if port == ingress { "IN_PORT".to_owned() } else { format!("output:{}", dialect.port(port)) }
}

fn steps<'a>(request: &BackendRequest<'a>, dialect: Dialect) -> Vec<Step<'a>> {
    let mut all = Vec::new();
    for direction in request.directions {
        let elements = request.declaration.path(*direction).blocks.iter().flatten();
        let base = dialect.base(request, *direction);
        for (element, at) in elements.zip(0..) {
            all.push(Step { request: *request, dialect, direction: *direction, table: base + at, element });
        }
    }
    all
}

/// Returns the configuration of a pipeline.
pub(super) fn translate(request: &BackendRequest<'_>, dialect: Dialect) -> Translation {
    let mut out = Translation::default();
    if dialect == Dialect::Own {
        ports::write(request, &mut out);
    }
    let steps = steps(request, dialect);
    if steps.iter().any(|step| *step.element == Element::Meter) {
        let users = request.declaration.tables.users.iter().zip(0..);
        out.push("meters", TextConsumer::OvsMeters, users.map(|(user, id)| meter(id, user)).collect());
    }
    let mut text = String::new();
    if steps.iter().any(|step| matches!(step.element, Element::Forward | Element::Deliver)) {
        let hops = request.declaration.tables.next_hops.iter().zip(0..);
        hops.for_each(|(hop, id)| group(&mut text, "add", id, hop, (request, dialect)));
    }
    dispatch(request, dialect, &mut text);
    steps.iter().for_each(|step| write(step, &mut text));
    out.push("flows", TextConsumer::OvsBundle, text);
    out
}

/// Writes table 0: selects the direction, and forwards the packets that the bridge's own tunnels send.
fn dispatch(request: &BackendRequest<'_>, dialect: Dialect, text: &mut String) {
    let cookie = dialect.cookie();
    for direction in request.directions {
        let port = dialect.port(direction.ingress());
        let table = dialect.base(request, *direction);
        let _ = writeln!(
            text,
            "flow add {cookie}table=0,priority={EXACT},in_port={port},actions=goto_table:{table}"
        );
    }
    // The kernel also sends packets through the bridge's port. Only tunnel packets may be forwarded.
    let mut sends: Vec<(&str, Port)> = Vec::new();
    let encaps = request.elements().any(|(_, element)| *element == Element::Encap);
    for tunnel in request.declaration.tables.tunnels.iter().filter(|_| encaps) {
        let one = (ports::outer(tunnel.kind), tunnel.port);
        if !sends.contains(&one) {
            sends.push(one);
        }
    }
    for (outer, port) in sends {
        let to = dialect.port(port);
        let _ = writeln!(text, "flow add table=0,priority={EXACT},in_port=LOCAL,{outer},actions=output:{to}");
    }
}

/// Formats a meter. Rates above 32 bits of kbit/s are limited; see [`crate::backends::Equivalence::Meters`].
fn meter(id: u32, user: &User) -> String {
    let kilobits = |octets: u64| (octets.saturating_mul(8) / 1_000).clamp(1, u32::MAX.into());
    let rate = kilobits(user.rate_bytes_per_s);
    let burst = kilobits(user.burst_bytes.into());
    format!("meter={},kbps,burst,bands=type=drop,rate={rate},burst_size={burst}\n", id + 1)
}

fn group(
    text: &mut String,
    verb: &str,
    id: u32,
    hop: &NextHop,
    (request, dialect): (&BackendRequest<'_>, Dialect),
) {
    // A next hop is used by packets that arrive at the other port. With a single direction, this is the direction's
    // ingress port.
    let ingress = match request.directions {
        [direction] => direction.ingress(),
        _ => hop.port.other(),
    };
    let field = |name: &str, mac: Option<Mac>| {
        mac.map_or_else(String::new, |mac| format!("set_field:{mac}->{name},"))
    };
    let dst = field("eth_dst", hop.dst);
    let src = field("eth_src", hop.src);
    let out = output(dialect, hop.port, ingress);
    let id = dialect.group(id);
    let _ = writeln!(text, "group {verb} group_id={id},type=indirect,bucket=actions={dst}{src}{out}");
}

fn write(step: &Step<'_>, text: &mut String) {
    let tables = &step.request.declaration.tables;
    let mut unmatched = true;
    match step.element {
        Element::Admit { mac, ipv6 } => {
            admit(step, *mac, *ipv6, text);
            unmatched = false;
        }
        Element::Decap { kind, local, .. } => decap(step, *kind, *local, text),
        Element::Bridge(id)
        | Element::FindUserByMac(id)
        | Element::FindUserByTunnelKey(id)
        | Element::FindUserBySource(id)
        | Element::FindUserByDestination(id) => {
            tables.exact[id.index()]
                .entries
                .iter()
                .for_each(|(key, value)| text.push_str(&exact(step, *key, Some(*value))));
        }
        Element::Meter => {
            for id in (0..).zip(&tables.users).map(|(id, _)| id) {
                text.push_str(&metered(step, id));
            }
        }
        Element::Acl(id) => {
            acl(step, &tables.acls[id.index()], text);
            unmatched = false;
        }
        Element::NatSource(id) | Element::NatDestination(id) => {
            let entries = &tables.nats[id.index()].entries;
            entries.iter().for_each(|(key, value)| text.push_str(&nat(step, *key, Some(*value))));
        }
        Element::Route(id) => {
            let table = &tables.routes[id.index()];
            let four = table.ipv4.iter().map(|(prefix, hop)| {
                route(step, &format!("ip,nw_dst={}", prefix4(*prefix)), prefix.length, Some(hop.0))
            });
            let six = table.ipv6.iter().map(|(prefix, hop)| {
                route(step, &format!("ipv6,ipv6_dst={}", prefix6(*prefix)), prefix.length, Some(hop.0))
            });
            text.extend(four.chain(six));
        }
        Element::Forward | Element::Deliver => {
            for id in (0..).zip(&tables.next_hops).map(|(id, _)| id) {
                text.push_str(&leave(step, id));
            }
            unmatched = false;
        }
        Element::Encap => {
            for (id, user) in (0..).zip(&tables.users) {
                text.push_str(&encap(step, id, user, &tables.tunnels[user.tunnel.index()]));
            }
            unmatched = false;
        }
        Element::Emit { port, source } => {
            let source = source.map_or_else(String::new, |mac| format!("set_field:{mac}->eth_src,"));
            text.push_str(&step.line(OTHERWISE, "", &format!("{source}{}", step.output(*port))));
            unmatched = false;
        }
    }
    if unmatched {
        text.push_str(&step.line(1, "", &step.unmatched()));
    }
}

fn admit(step: &Step<'_>, mac: Option<Mac>, ipv6: bool, text: &mut String) {
    let mac = mac.map_or_else(String::new, |mac| format!("dl_dst={mac}"));
    let families = if ipv6 { BOTH } else { IPV4_ONLY };
    for family in families {
        let comma = if mac.is_empty() { "" } else { "," };
        // The match excludes tagged frames, which are not accepted.
        let matches = format!("{family}{comma}{mac},{}", step.dialect.untagged());
        text.push_str(&step.line(EXACT, &matches, &step.go_on()));
    }
    if !mac.is_empty() {
        text.push_str(&step.line(OTHERWISE, &mac, "drop"));
        text.push_str(&step.line(1, "", &step.unmatched()));
    }
}

/// Sends packets for the local end of a tunnel to the bridge's port, which removes the tunnel headers. The inner packet
/// then arrives through the tunnel port.
fn decap(step: &Step<'_>, kind: Encapsulation, local: Ipv4Addr, text: &mut String) {
    let protocol = ports::outer(kind);
    text.push_str(&step.line(EXACT + 1, &format!("ip,nw_dst={local},ip_frag=yes"), "drop"));
    text.push_str(&step.line(EXACT, &format!("{protocol},nw_dst={local}"), "LOCAL"));
    let port = ports::number(kind);
    let next = step.go_on();
    let _ = writeln!(text, "flow add table=0,priority={EXACT},in_port={port},actions={next}");
}

/// Returns the match for a key of an exact table. The element that uses the table determines the field.
fn key_match(element: &Element, key: u64) -> String {
    let side = |four: &str, six: &str| match u32::try_from(key) {
        Ok(key) => format!("ip,{four}={}", Ipv4Addr::from_bits(key)),
        Err(_) => format!("ipv6,{six}={}/64", std::net::Ipv6Addr::from_bits(u128::from(key) << 64)),
    };
    match element {
        Element::FindUserByTunnelKey(_) => format!("tun_id={key:#x}"),
        Element::FindUserBySource(_) => side("nw_src", "ipv6_src"),
        Element::FindUserByDestination(_) => side("nw_dst", "ipv6_dst"),
        _ => format!("dl_dst={}", Mac::from_u64(key)),
    }
}

fn exact(step: &Step<'_>, key: u64, value: Option<u32>) -> String {
    let matches = key_match(step.element, key);
    let dialect = step.dialect;
    let bridges = matches!(step.element, Element::Bridge(_));
    match value {
        Some(value) => {
            let note = if bridges { dialect.note_hop(value) } else { dialect.note_user(value) };
            step.line(EXACT, &matches, &format!("{note},{}", step.go_on()))
        }
        None => step.gone(EXACT, &matches),
    }
}

fn metered(step: &Step<'_>, id: u32) -> String {
    step.line(EXACT, &step.dialect.user(id), &format!("meter:{},{}", id + 1, step.go_on()))
}

fn acl(step: &Step<'_>, table: &AclTable, text: &mut String) {
    let decide = |action: Action| match action {
        Action::Permit => step.go_on(),
        Action::Deny => step.unmatched(),
    };
    let with_ports = if step.dialect == Dialect::Own { NOT_LATER } else { "" };
    let four = (0..).zip(table.rules.iter().map(|(rule, action)| (Rule::of4(rule, with_ports), *action)));
    let six = (0..).zip(table.rules6.iter().map(|(rule, action)| (Rule::of6(rule, with_ports), *action)));
    for (index, (rule, action)) in four.chain(six) {
        let actions = decide(action);
        for matches in rule.matches() {
            text.push_str(&step.line(FIRST_RULE - index, &matches, &actions));
        }
    }
    text.push_str(&step.line(OTHERWISE, "", &decide(table.default)));
}

fn nat(step: &Step<'_>, key: NatKey, value: Option<Nat>) -> String {
    let six = key.address.is_ipv6();
    let end = if matches!(step.element, Element::NatSource(_)) { "src" } else { "dst" };
    let family = if six { "ipv6" } else { "ip" };
    let field = if six { format!("ipv6_{end}") } else { format!("nw_{end}") };
    let address = key.address;
    let protocol = key.protocol;
    let port = key.port;
    let matches = format!("{family},nw_proto={protocol},{field}={address},tp_{end}={port}");
    let Some(Nat { address, port }) = value else { return step.gone(EXACT, &matches) };
    let layer = if protocol == 6 { "tcp" } else { "udp" };
    let field = if six { field } else { format!("ip_{end}") };
    let actions = format!("set_field:{address}->{field},set_field:{port}->{layer}_{end},{}", step.go_on());
    step.line(EXACT, &matches, &actions)
}

fn route(step: &Step<'_>, matches: &str, length: u8, hop: Option<u32>) -> String {
    let priority = PREFIX + u32::from(length);
    match hop {
        Some(hop) => {
            step.line(priority, matches, &format!("{},{}", step.dialect.note_hop(hop), step.go_on()))
        }
        None => step.gone(priority, matches),
    }
}

fn leave(step: &Step<'_>, id: u32) -> String {
    let life = if *step.element == Element::Forward { "dec_ttl," } else { "" };
    // Only IP packets have a TTL, so a flow that decrements it is written for each IP version.
    let group = step.dialect.group(id);
    let matches = step.dialect.hop(id);
    if life.is_empty() {
        return step.line(EXACT, &matches, &format!("group:{group}"));
    }
    BOTH.iter()
        .map(|family| step.line(EXACT, &format!("{family},{matches}"), &format!("{life}group:{group}")))
        .collect()
}

fn encap(step: &Step<'_>, id: u32, user: &User, tunnel: &Tunnel) -> String {
    let key = user.tunnel_key;
    let remote = tunnel.remote;
    let port = ports::number(tunnel.kind);
    let actions = format!("set_field:{key}->tun_id,set_field:{remote}->tun_dst,output:{port}");
    step.line(EXACT, &step.dialect.user(id), &actions)
}

/// Returns the configuration for changes of a pipeline.
pub(super) fn update(
    request: &BackendRequest<'_>,
    dialect: Dialect,
    changes: &[Change],
) -> Result<Translation, UnsupportedElement> {
    let steps = steps(request, dialect);
    let tables = &request.declaration.tables;
    let mut meters = String::new();
    let mut text = String::new();
    for change in changes {
        match change {
            Change::Exact { table, key, value } => {
                let of = steps.iter().filter(|step| uses_exact(step.element, *table));
                text.extend(of.map(|step| exact(step, *key, *value)));
            }
            Change::Route4 { table, prefix, next_hop } => {
                let matches = format!("ip,nw_dst={}", prefix4(*prefix));
                let of = steps.iter().filter(|step| *step.element == Element::Route(*table));
                text.extend(of.map(|step| route(step, &matches, prefix.length, next_hop.map(|hop| hop.0))));
            }
            Change::Route6 { table, prefix, next_hop } => {
                let matches = format!("ipv6,ipv6_dst={}", prefix6(*prefix));
                let of = steps.iter().filter(|step| uses_route(step.element, *table));
                text.extend(of.map(|step| route(step, &matches, prefix.length, next_hop.map(|hop| hop.0))));
            }
            Change::Translation { table, key, value } => {
                let of = steps.iter().filter(|step| uses_nat(step.element, *table));
                text.extend(of.map(|step| nat(step, *key, *value)));
            }
            Change::NextHop { id, value } => {
                let known = id.index() < tables.next_hops.len();
                group(&mut text, if known { "modify" } else { "add" }, id.0, value, (request, dialect));
                if !known {
                    text.extend(
                        steps.iter().filter(|step| leaves(step.element)).map(|step| leave(step, id.0)),
                    );
                }
            }
            Change::User { id, value } => {
                let tunnel = tables.tunnels.get(value.tunnel.index()).ok_or_else(unknown)?;
                if steps.iter().any(|step| *step.element == Element::Meter) {
                    meters.push_str(&meter(id.0, value));
                }
                for step in &steps {
                    match step.element {
                        Element::Meter => text.push_str(&metered(step, id.0)),
                        Element::Encap => text.push_str(&encap(step, id.0, value, tunnel)),
                        _ => {}
                    }
                }
            }
            Change::Attach { user, tunnel } => {
                let value = tables.users.get(user.index()).ok_or_else(unknown)?;
                let tunnel = tables.tunnels.get(tunnel.index()).ok_or_else(unknown)?;
                let of = steps.iter().filter(|step| *step.element == Element::Encap);
                text.extend(of.map(|step| encap(step, user.0, value, tunnel)));
            }
        }
    }
    let mut out = Translation::default();
    out.push("meters", TextConsumer::OvsMeters, meters);
    out.push("flows", TextConsumer::OvsBundle, text);
    Ok(out)
}

fn unknown() -> UnsupportedElement {
    UnsupportedElement {
        element: "change",
        reason: Reason::NotWritten("changes of users that were added later, or to new tunnels"),
    }
}

fn uses_exact(element: &Element, table: ExactId) -> bool {
    match element {
        Element::Bridge(id)
        | Element::FindUserByMac(id)
        | Element::FindUserByTunnelKey(id)
        | Element::FindUserBySource(id)
        | Element::FindUserByDestination(id) => *id == table,
        _ => false,
    }
}

fn uses_route(element: &Element, table: RouteId) -> bool {
    *element == Element::Route(table)
}

fn uses_nat(element: &Element, table: NatId) -> bool {
    matches!(element, Element::NatSource(id) | Element::NatDestination(id) if *id == table)
}

const fn leaves(element: &Element) -> bool {
    matches!(element, Element::Forward | Element::Deliver)
}
