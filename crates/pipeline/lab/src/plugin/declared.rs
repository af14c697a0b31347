//! Writes a pipeline's declaration as JSON: elements by name, tables as lists, and addresses as text. Each entry is
//! written separately, because a table may have a million entries.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use ranlab_pipeline::backends::{element_name, port_name};
use ranlab_pipeline::declare::{AclRule, Action, Declaration, Direction, Element, Encapsulation, Tables};
use serde_json::{Value, json};

use ranlab_lab::environment;
use ranlab_lab::worker::ComponentError;

/// Writes a declaration to a file.
pub(super) fn write(path: &Path, declaration: &Declaration) -> Result<(), ComponentError> {
    let failed = |error: std::io::Error| environment(format!("{}: {error}", path.display()));
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    all(&mut file, declaration).and_then(|()| file.flush()).map_err(failed)
}

fn all(to: &mut impl Write, declaration: &Declaration) -> std::io::Result<()> {
    let elements = |direction: Direction| -> Vec<Value> {
        declaration.path(direction).blocks.iter().flatten().map(element).collect()
    };
    let up = elements(Direction::Uplink);
    let down = elements(Direction::Downlink);
    write!(
        to,
        "{{\"fakedrop\":{},\"uplink\":{},\"downlink\":{}",
        declaration.fakedrop,
        json!(up),
        json!(down)
    )?;
    tables(to, &declaration.tables)?;
    to.write_all(b"}\n")
}

fn tables(to: &mut impl Write, tables: &Tables) -> std::io::Result<()> {
    several(to, "exact", &tables.exact, |to, table| {
        list(to, table.entries.iter().map(|(key, value)| json!([key, value])))
    })?;
    several(to, "routes", &tables.routes, |to, table| {
        let ipv4 = table.ipv4.iter().map(|(prefix, hop)| (prefix.address.to_string(), prefix.length, hop));
        let ipv6 = table.ipv6.iter().map(|(prefix, hop)| (prefix.address.to_string(), prefix.length, hop));
        list(to, ipv4.chain(ipv6).map(|(address, length, hop)| json!([format!("{address}/{length}"), hop.0])))
    })?;
    several(to, "acls", &tables.acls, |to, table| {
        let ipv4 = table.rules.iter().map(|(own, action)| {
            rule(own, (&own.src.address, own.src.length), (&own.dst.address, own.dst.length), *action)
        });
        let ipv6 = table.rules6.iter().map(|(own, action)| {
            rule(own, (&own.src.address, own.src.length), (&own.dst.address, own.dst.length), *action)
        });
        write!(to, "{{\"default\":\"{}\",\"rules\":", acts(table.default))?;
        list(to, ipv4.chain(ipv6))?;
        to.write_all(b"}")
    })?;
    several(to, "nats", &tables.nats, |to, table| {
        list(to, table.entries.iter().map(|(key, nat)| {
            json!({"address": key.address, "protocol": key.protocol, "port": key.port, "to": nat.address, "to_port": nat.port})
        }))
    })?;
    write!(to, ",\"next_hops\":")?;
    list(
        to,
        tables.next_hops.iter().map(
            |hop| json!({
            "dst": hop.dst.map(|mac| mac.to_string()), "src": hop.src.map(|mac| mac.to_string()), "port": port_name(hop.port),
        }),
        ),
    )?;
    write!(to, ",\"users\":")?;
    list(to, tables.users.iter().map(|user| {
        json!({"key": user.tunnel_key, "tunnel": user.tunnel.0, "rate": user.rate_bytes_per_s, "burst": user.burst_bytes})
    }))?;
    write!(to, ",\"tunnels\":")?;
    list(
        to,
        tables.tunnels.iter().map(|tunnel| {
            json!({
                "kind": kind(tunnel.kind), "local": tunnel.local, "remote": tunnel.remote,
                "dst": tunnel.dst.to_string(), "src": tunnel.src.to_string(), "port": port_name(tunnel.port),
            })
        }),
    )
}

/// Writes a list of tables as the value of a key.
fn several<W: Write, T>(
    to: &mut W,
    name: &str,
    tables: &[T],
    mut each: impl FnMut(&mut W, &T) -> std::io::Result<()>,
) -> std::io::Result<()> {
    write!(to, ",\"{name}\":[")?;
    for (at, table) in tables.iter().enumerate() {
        to.write_all(if at == 0 { b"" } else { b"," })?;
        each(to, table)?;
    }
    to.write_all(b"]")
}

fn list(to: &mut impl Write, values: impl Iterator<Item = Value>) -> std::io::Result<()> {
    to.write_all(b"[")?;
    for (at, value) in values.enumerate() {
        write!(to, "{}{value}", if at == 0 { "" } else { "," })?;
    }
    to.write_all(b"]")
}

fn rule<P>(
    rule: &AclRule<P>,
    src: (&dyn std::fmt::Display, u8),
    dst: (&dyn std::fmt::Display, u8),
    action: Action,
) -> Value {
    json!({
        "src": format!("{}/{}", src.0, src.1), "dst": format!("{}/{}", dst.0, dst.1),
        "src_ports": rule.src_ports, "dst_ports": rule.dst_ports, "protocol": rule.protocol, "action": acts(action),
    })
}

fn acts(action: Action) -> &'static str {
    match action {
        Action::Permit => "permit",
        Action::Deny => "deny",
    }
}

fn kind(kind: Encapsulation) -> Value {
    match kind {
        Encapsulation::Gtp { qfi } => json!({"gtp": {"qfi": qfi}}),
        Encapsulation::Vxlan => "vxlan".into(),
        Encapsulation::Gre => "gre".into(),
    }
}

/// Converts an element to JSON. The object contains the element's name, as used in error messages, and the tables that
/// the element looks up.
fn element(element: &Element) -> Value {
    let mut own = json!({"element": element_name(element)});
    let mut put = |name: &str, value: Value| own[name] = value;
    match element {
        Element::Admit { mac, ipv6 } => {
            put("mac", json!(mac.map(|mac| mac.to_string())));
            put("ipv6", json!(ipv6));
        }
        Element::Decap { kind: of, local, ipv6 } => {
            put("kind", kind(*of));
            put("local", json!(local));
            put("ipv6", json!(ipv6));
        }
        Element::Bridge(table)
        | Element::FindUserByMac(table)
        | Element::FindUserByTunnelKey(table)
        | Element::FindUserBySource(table)
        | Element::FindUserByDestination(table) => put("exact", json!(table.0)),
        Element::Acl(table) => put("acl", json!(table.0)),
        Element::NatSource(table) | Element::NatDestination(table) => put("nat", json!(table.0)),
        Element::Route(table) => put("route", json!(table.0)),
        Element::Emit { port, source } => {
            put("port", json!(port_name(*port)));
            put("source", json!(source.map(|mac| mac.to_string())));
        }
        Element::Meter | Element::Forward | Element::Deliver | Element::Encap => {}
    }
    own
}

/// Tests that write every pipeline and read it again.
#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_pipeline::pipelines::Pipeline;

    #[test]
    fn declaration_is_json_with_all_tables() {
        for pipeline in Pipeline::all() {
            let declaration = pipeline.build().unwrap();
            let mut text = Vec::new();
            all(&mut text, &declaration).unwrap();
            let read: Value = serde_json::from_slice(&text).unwrap();
            let length = |value: &Value| value.as_array().unwrap().len();
            assert_eq!(length(&read["users"]), declaration.tables.users.len(), "{}", pipeline.name());
            assert_eq!(length(&read["next_hops"]), declaration.tables.next_hops.len());
            for (table, own) in declaration.tables.routes.iter().zip(read["routes"].as_array().unwrap()) {
                assert_eq!(length(own), table.ipv4.len() + table.ipv6.len());
            }
            for (table, own) in declaration.tables.acls.iter().zip(read["acls"].as_array().unwrap()) {
                assert_eq!(length(&own["rules"]), table.rules.len() + table.rules6.len());
            }
            let elements: usize = declaration.uplink.blocks.iter().map(Vec::len).sum();
            assert_eq!(length(&read["uplink"]), elements);
            assert!(read["uplink"].as_array().unwrap().iter().all(|own| own["element"].is_string()));
        }
    }
}
