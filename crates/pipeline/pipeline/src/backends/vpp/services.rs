//! Translations and access control lists of VPP.
use std::collections::BTreeSet;
use std::fmt::Write;

use super::users::{is_tunnelled, user_interface};
use super::{INSIDE, OUTSIDE, four, six_text, table};
use crate::backends::{BackendRequest, port_name};
use crate::declare::{ANY_PORTS, AclRule, AclTable, Action, Direction, Element, TcpFlags};

pub(super) fn translations(request: &BackendRequest<'_>, out: &mut String) {
    let tables = &request.declaration.tables;
    // A mapping applies to both directions, so duplicates are written once.
    let mut all = BTreeSet::new();
    for (_, element) in request.elements() {
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
    let inside = table(INSIDE);
    // The option `connection-tracking` is required, because VPP 26.06 terminates at the first packet without it.
    let _ = writeln!(
        out,
        "nat44 ei plugin enable static-mapping-only connection-tracking inside-vrf {inside} outside-vrf {}",
        table(OUTSIDE)
    );
    let outside = port_name(OUTSIDE);
    if [Direction::Uplink, Direction::Downlink].iter().any(|direction| is_tunnelled(request, *direction)) {
        for user in 0..tables.users.len() as u32 {
            if let Some(name) = user_interface(tables, user) {
                let _ = writeln!(out, "set interface nat44 ei in {name}");
            }
        }
        let _ = writeln!(out, "set interface nat44 ei out {outside}");
    } else {
        let _ = writeln!(out, "set interface nat44 ei in {} out {outside}", port_name(INSIDE));
    }
    for (protocol, (local, port), (external, to)) in all {
        let protocol = if protocol == 6 { "tcp" } else { "udp" };
        let _ = writeln!(
            out,
            "nat44 ei add static mapping {protocol} local {local} {port} external {external} {to} vrf {inside}"
        );
    }
}

/// Writes the access control lists, and the interfaces to which they apply.
pub(super) fn lists(request: &BackendRequest<'_>, out: &mut String) {
    let tables = &request.declaration.tables;
    let mut known = Vec::new();
    for (direction, element) in request.elements() {
        let Element::Acl(id) = element else { continue };
        if known.is_empty() {
            // The option is needed because a rule with ports must not match later fragments.
            let _ = writeln!(out, "set acl-plugin l4-match-nonfirst-fragment 0");
        }
        // Lists are numbered in the order of their creation.
        let number = known.iter().position(|list| list == id).unwrap_or_else(|| {
            acl(&tables.acls[id.index()], request.declaration.fakedrop, out);
            known.push(*id);
            known.len() - 1
        });
        if is_tunnelled(request, direction) {
            let way = if direction == Direction::Uplink { "input" } else { "output" };
            for user in 0..tables.users.len() as u32 {
                if let Some(name) = user_interface(tables, user) {
                    let _ = writeln!(out, "set acl-plugin interface {name} {way} acl {number}");
                }
            }
        } else {
            let name = port_name(direction.ingress());
            let _ = writeln!(out, "set acl-plugin interface {name} input acl {number}");
        }
    }
}

/// Writes a list. With `fakedrop`, denied packets are sent like permitted ones, so every rule permits. The match of
/// each rule is unchanged.
fn acl(list: &AclTable, fakedrop: bool, out: &mut String) {
    let word = |action: Action| match action {
        Action::Deny if !fakedrop => "deny",
        _ => "permit",
    };
    let mut rules = Vec::new();
    for (rule, action) in &list.rules {
        one(rule, word(*action), four, &mut rules);
    }
    for (rule, action) in &list.rules6 {
        one(rule, word(*action), six_text, &mut rules);
    }
    let word = word(list.default);
    rules.push(format!("{word} src 0.0.0.0/0 dst 0.0.0.0/0"));
    rules.push(format!("{word} src ::/0 dst ::/0"));
    let _ = writeln!(out, "set acl-plugin acl {}", rules.join(", "));
}

/// Appends a rule. A rule that restricts ports or flags without a protocol becomes one rule per protocol that has them.
fn one<P: Copy>(rule: &AclRule<P>, word: &str, prefix: impl Fn(P) -> String, out: &mut Vec<String>) {
    let ports = |name: &str, ports: (u16, u16)| match ports {
        ANY_PORTS => String::new(),
        (low, high) => format!(" {name} {low}-{high}"),
    };
    let TcpFlags { value, mask } = rule.flags;
    let flags = if mask == 0 { String::new() } else { format!(" tcpflags {} mask {mask}", value & mask) };
    let with: &[u8] = match (mask, rule.restricts_ports()) {
        (0, true) => &[6, 17],
        (0, false) => &[],
        _ => &[6],
    };
    let protocols: Vec<Option<u8>> = match rule.protocol {
        None if with.is_empty() => vec![None],
        None => with.iter().copied().map(Some).collect(),
        Some(one) if with.is_empty() || with.contains(&one) => vec![Some(one)],
        Some(_) => Vec::new(),
    };
    for protocol in protocols {
        let protocol = protocol.map_or_else(String::new, |protocol| format!(" proto {protocol}"));
        let sport = ports("sport", rule.src_ports);
        let dport = ports("dport", rule.dst_ports);
        out.push(format!(
            "{word} src {} dst {}{protocol}{sport}{dport}{flags}",
            prefix(rule.src),
            prefix(rule.dst)
        ));
    }
}
