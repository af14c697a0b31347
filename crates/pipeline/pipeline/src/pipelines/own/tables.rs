//! The tables of a pipeline file, by name.
use super::addresses::{AnyPrefix, Flags, Ports, ProtocolName};
use super::classbench::{self, RULES_MAX, Rule};
use super::fault::{OwnError, OwnFault};
use super::fib::{self, Hops};
use super::generate::{self, KEY_MAX};
use super::read::{Fields, Item, list};
use super::updates::{Recorded, Updates};
use super::{IPV4, MAC, PORTS, PREFIX, bounded};
use crate::declare::{
    AclRule, AclTable, Action, Element, Encapsulation, ExactTable, Nat, NatKey, NatTable, NextHop, NextHopId,
    Path, Prefix4, Prefix6, RouteTable, Tables, TcpFlags, Tunnel, TunnelId, User,
};
use ranlab_packet::Mac;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

/// Maximum number of entries in all tables of a pipeline.
pub const ENTRIES_MAX: usize = super::super::TABLE_MAX as usize;
/// Maximum number of tables of one kind.
pub const TABLES_MAX: usize = 64;
/// Maximum number of next hops, which a forwarding entry of the engine can refer to.
pub const NEXT_HOPS_MAX: u64 = 16_383;
const ACTIONS: [(&str, Action); 2] = [("permit", Action::Permit), ("deny", Action::Deny)];
/// Actions of a filter set's rules. `None`: rules alternate between deny and permit, beginning with deny.
const SET_ACTIONS: [(&str, Option<Action>); 3] =
    [("deny", Some(Action::Deny)), ("permit", Some(Action::Permit)), ("alternate", None)];
const ENTRY: (u64, u64) = (1, ENTRIES_MAX as u64);

type Result<T> = std::result::Result<T, OwnError>;
type Names = Vec<String>;

/// Kind of an exact table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    Mac,
    Address,
    Tunnel,
}

/// Kind of an exact table's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Users,
    NextHops,
}

/// Tables with their names in the file.
#[derive(Default)]
pub(super) struct Named {
    pub(super) tables: Tables,
    pub(super) exact: Vec<(String, Keys, To)>,
    pub(super) routes: Names,
    pub(super) acls: Names,
    pub(super) nats: Names,
    /// Groups of next hops: name, number of the first next hop, and count.
    hops: Vec<(String, u32, u32)>,
    tunnels: Vec<(String, u32, u32)>,
    /// Whether every user has a tunnel.
    pub(super) all_tunnelled: bool,
    entries: usize,
    /// Next hops of the first forwarding table's file, for its updates.
    first_hops: Option<Hops>,
    /// Notes on entries that are read but ignored.
    pub(super) notes: Vec<String>,
}

impl Named {
    pub(super) fn read(root: &mut Fields<'_>, files: &BTreeMap<String, String>) -> Result<Self> {
        let mut own = Self { all_tunnelled: true, ..Self::default() };
        each_of(root, "next-hop", NEXT_HOPS_MAX as usize, |name, fields| own.next_hop(name, fields))?;
        each(root, "tunnel", |name, fields| own.tunnel(name, fields))?;
        if let Some(mut fields) = root.fields("users")? {
            own.users(&mut fields)?;
            fields.done()?;
        }
        each(root, "exact", |name, fields| own.exact(name, fields))?;
        each(root, "route", |name, fields| own.route(name, fields, files))?;
        each(root, "acl", |name, fields| own.acl(name, fields, files))?;
        each(root, "nat", |name, fields| own.nat(name, fields))?;
        Ok(own)
    }

    /// Empties exact tables that no element reads, because the kind of their keys is unknown.
    pub(super) fn forget_unused(&mut self, paths: [&Path; 2]) {
        let mut read = vec![false; self.tables.exact.len()];
        for element in paths.into_iter().flat_map(|path| &path.blocks).flatten() {
            if let Element::Bridge(id)
            | Element::FindUserByMac(id)
            | Element::FindUserByTunnelKey(id)
            | Element::FindUserBySource(id)
            | Element::FindUserByDestination(id) = element
            {
                read[id.index()] = true;
            }
        }
        let unread = self.tables.exact.iter_mut().zip(read).filter(|(_, read)| !read);
        unread.for_each(|(table, _)| table.entries = Vec::new());
    }

    /// Adds `count` entries to the total and checks the limit.
    fn more(&mut self, fields: &Fields<'_>, count: usize) -> Result<()> {
        self.entries = self.entries.saturating_add(count);
        bounded(fields, "entries of all tables together", self.entries, ENTRIES_MAX)
    }

    fn next_hop(&mut self, name: &str, fields: &mut Fields<'_>) -> Result<()> {
        let port = fields.choice("port", &PORTS)?;
        let port = port.ok_or_else(|| missing(fields, "port", name, "access or core"))?;
        let dst = fields.parsed::<Mac>("dst", MAC)?;
        let src = fields.parsed("src", MAC)?;
        let count = fields.number("count", (1, NEXT_HOPS_MAX))?.unwrap_or(1) as u32;
        let first = self.tables.next_hops.len() as u32;
        bounded(fields, "next hops", (first + count) as usize, NEXT_HOPS_MAX as usize)?;
        let one = |i: u32| NextHop { dst: dst.map(|dst| generate::mac_after(dst, i)), src, port };
        self.tables.next_hops.extend((0..count).map(one));
        self.hops.push((name.to_owned(), first, count));
        Ok(())
    }

    fn tunnel(&mut self, name: &str, fields: &mut Fields<'_>) -> Result<()> {
        let kind = kind(fields, name)?;
        let local: Ipv4Addr = fields.need_parsed("local", IPV4)?;
        let remote: Ipv4Addr = fields.need_parsed("remote", IPV4)?;
        let dst: Mac = fields.need_parsed("dst", MAC)?;
        let src: Mac = fields.need_parsed("src", MAC)?;
        let port = fields.choice("port", &PORTS)?.unwrap_or(crate::declare::Port::Access);
        let count = fields.number("count", ENTRY)?.unwrap_or(1) as u32;
        self.more(fields, count as usize)?;
        let first = self.tables.tunnels.len() as u32;
        self.tables.tunnels.extend((0..count).map(|i| Tunnel {
            kind,
            local,
            remote: Ipv4Addr::from_bits(remote.to_bits().wrapping_add(i)),
            dst: generate::mac_after(dst, i),
            src,
            port,
        }));
        self.tunnels.push((name.to_owned(), first, count));
        Ok(())
    }

    fn users(&mut self, fields: &mut Fields<'_>) -> Result<()> {
        let items = fields.list("list")?;
        self.more(fields, items.len())?;
        for item in items {
            let mut fields = item.fields("a user")?;
            self.some_users(&mut fields, 1)?;
            fields.done()?;
        }
        let Some(mut fields) = fields.fields("generate")? else { return Ok(()) };
        let count =
            fields.need("count", "a number of users, or the name of a parameter")?.number("count", ENTRY)?;
        self.more(&fields, count as usize)?;
        self.some_users(&mut fields, count as u32)?;
        fields.done()
    }

    /// Reads several users that differ only in key and tunnel.
    fn some_users(&mut self, fields: &mut Fields<'_>, count: u32) -> Result<()> {
        let next = self.tables.users.len() as u64 + 1;
        let first = fields.number("key", (0, u64::from(u32::MAX)))?.unwrap_or(next) as u32;
        let rate = fields.number("rate", (1, RATE_MAX))?.unwrap_or(RATE_MAX);
        let burst = fields.number("burst", (1, u64::from(u32::MAX)))?.unwrap_or(BURST) as u32;
        let tunnels = match fields.item("tunnel") {
            Some(item) => Some(found("tunnel", &self.tunnels, &item, item.text("tunnel")?)?),
            None => None,
        };
        self.all_tunnelled &= tunnels.is_some();
        let (tunnel, several) = tunnels.unwrap_or((0, 1));
        self.tables.users.extend((0..count).map(|i| User {
            tunnel_key: first.wrapping_add(i),
            tunnel: TunnelId(tunnel + i % several),
            rate_bytes_per_s: rate,
            burst_bytes: burst,
        }));
        Ok(())
    }

    fn exact(&mut self, name: &str, fields: &mut Fields<'_>) -> Result<()> {
        let kinds = [("mac", Keys::Mac), ("address", Keys::Address), ("tunnel-key", Keys::Tunnel)];
        let keys = fields.choice("keys", &kinds)?;
        let keys = keys.ok_or_else(|| missing(fields, "keys", name, "mac, address or tunnel-key"))?;
        let values = fields.choice("to", &[("users", To::Users), ("next-hops", To::NextHops)])?;
        let to = values.ok_or_else(|| missing(fields, "to", name, "users or next-hops"))?;
        let items = fields.list("entries")?;
        self.more(fields, items.len())?;
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            let mut fields = item.fields("an entry")?;
            let key = key(&mut fields, keys)?;
            let value = fields.need("value", "the number of a user from 0, or a next hop's name")?;
            let value = match to {
                To::Users => {
                    value.number("value", (0, (self.tables.users.len() as u64).saturating_sub(1)))? as u32
                }
                To::NextHops => found("next hop", &self.hops, &value, value.text("value")?)?.0,
            };
            fields.done()?;
            entries.push((key, value));
        }
        if let Some(mut fields) = fields.fields("generate")? {
            let values = match to {
                To::Users => (0, self.tables.users.len() as u32),
                To::NextHops => self.over(&mut fields)?,
            };
            let made = generate::exact(&mut fields, keys, &self.tables.users, values)?;
            self.more(&fields, made.len())?;
            fields.done()?;
            entries.extend(made);
        }
        if to == To::Users && self.tables.users.is_empty() {
            return Err(
                fields.fault(OwnFault::Both("`to` is \"users\", but the file has no users in [users]"))
            );
        }
        self.tables.exact.push(ExactTable { entries });
        self.exact.push((name.to_owned(), keys, to));
        Ok(())
    }

    /// Returns the next hops to which generated entries are assigned round robin: the next hops with a name, or all.
    fn over(&self, fields: &mut Fields<'_>) -> Result<(u32, u32)> {
        match fields.item("over") {
            Some(item) => found("next hop", &self.hops, &item, item.text("over")?),
            None => Ok((0, self.tables.next_hops.len() as u32)),
        }
    }

    /// Returns the next hops that a routing table's file can name.
    fn hops_of_file(&self, fields: &mut Fields<'_>) -> Result<Hops> {
        let port = fields.choice("port", &PORTS)?.unwrap_or(crate::declare::Port::Core);
        let src = fields.parsed("src", MAC)?;
        let declared = self.hops.iter().map(|(name, first, _)| (name.clone(), *first));
        let next = self.tables.next_hops.len() as u32;
        Ok(Hops::new(declared, (next, NEXT_HOPS_MAX as usize), port, src))
    }

    /// Reads recorded updates of the first forwarding table.
    pub(super) fn updates(&mut self, root: &Fields<'_>, recorded: &Recorded) -> Result<Updates> {
        let hops = self.first_hops.take();
        let mut hops =
            hops.ok_or_else(|| missing(root, "route", "the file", "a table that the updates change"))?;
        // Other tables may have added next hops after the file was read. These keep their numbers.
        hops.continue_from(self.tables.next_hops.len() as u32);
        let updates = Updates::parse(recorded, 0, &mut hops)?;
        self.tables.next_hops.extend(hops.take_added());
        Ok(updates)
    }

    fn route(&mut self, name: &str, fields: &mut Fields<'_>, files: &BTreeMap<String, String>) -> Result<()> {
        let mut table = RouteTable::default();
        let mut hops = self.hops_of_file(fields)?;
        if let Some(item) = fields.item("file") {
            let file = item.text("file")?;
            let text = files.get(file).ok_or_else(|| {
                let allowed = list(files.keys().map(String::as_str));
                item.fault(OwnFault::Unknown { what: "routing table", name: file.to_owned(), allowed })
            })?;
            let routes = fib::routes((file, text), &mut hops, ENTRIES_MAX)?;
            self.more(fields, routes.len())?;
            routes.into_iter().for_each(|(prefix, hop)| put(&mut table, prefix, hop));
            self.tables.next_hops.extend(hops.take_added());
        }
        if self.first_hops.is_none() {
            self.first_hops = Some(hops);
        }
        let items = fields.list("entries")?;
        self.more(fields, items.len())?;
        for item in items {
            let mut fields = item.fields("a route")?;
            let prefix = fields.need_parsed("prefix", PREFIX)?;
            let hop = fields.need("next-hop", "a next hop's name")?;
            let hop = found("next hop", &self.hops, &hop, hop.text("next-hop")?)?.0;
            fields.done()?;
            put(&mut table, prefix, NextHopId(hop));
        }
        if let Some(mut fields) = fields.fields("generate")? {
            let hops = self.over(&mut fields)?;
            let made = generate::routes(&mut fields, hops)?;
            self.more(&fields, made.len())?;
            fields.done()?;
            made.into_iter().for_each(|(prefix, hop)| put(&mut table, prefix, hop));
        }
        self.tables.routes.push(table);
        self.routes.push(name.to_owned());
        Ok(())
    }

    fn acl(&mut self, name: &str, fields: &mut Fields<'_>, sets: &BTreeMap<String, String>) -> Result<()> {
        let default = fields.choice("default", &ACTIONS)?.unwrap_or(Action::Permit);
        let mut table = AclTable { rules: Vec::new(), rules6: Vec::new(), default };
        for item in fields.list("rules")? {
            let mut fields = item.fields("a rule")?;
            let action = fields.choice("action", &ACTIONS)?;
            let action = action.ok_or_else(|| missing(&fields, "action", "a rule", "permit or deny"))?;
            match rule(&mut fields)? {
                Rule::V4(rule) => table.rules.push((rule, action)),
                Rule::V6(rule) => table.rules6.push((rule, action)),
            }
            fields.done()?;
        }
        if let Some(mut fields) = fields.fields("classbench")? {
            let item = fields.need("file", "the path of a filter set")?;
            let file = item.text("file")?;
            let text = sets.get(file).ok_or_else(|| {
                let allowed = list(sets.keys().map(String::as_str));
                item.fault(OwnFault::Unknown { what: "filter set", name: file.to_owned(), allowed })
            })?;
            let action = fields.choice("action", &SET_ACTIONS)?.unwrap_or(Some(Action::Deny));
            let (rules, note) = classbench::rules(file, text)?;
            self.notes.extend(note);
            for (index, rule) in rules.into_iter().enumerate() {
                let alternate = if index % 2 == 0 { Action::Deny } else { Action::Permit };
                let action = action.unwrap_or(alternate);
                match rule {
                    Rule::V4(rule) => table.rules.push((rule, action)),
                    Rule::V6(rule) => table.rules6.push((rule, action)),
                }
            }
            fields.done()?;
        }
        if let Some(mut fields) = fields.fields("generate")? {
            generate::rules(&mut fields, &mut table)?;
            fields.done()?;
        }
        bounded(fields, "rules", table.rules.len().max(table.rules6.len()), RULES_MAX)?;
        self.more(fields, table.rules.len() + table.rules6.len())?;
        self.tables.acls.push(table);
        self.acls.push(name.to_owned());
        Ok(())
    }

    fn nat(&mut self, name: &str, fields: &mut Fields<'_>) -> Result<()> {
        let mut entries = Vec::new();
        if let Some(item) = fields.item("reverse") {
            let other = item.text("reverse")?;
            let index = place("NAT", self.nats.iter().map(String::as_str), &item, other)?;
            entries = self.tables.nats[index].entries.iter().map(reversed).collect();
        }
        for item in fields.list("entries")? {
            let mut fields = item.fields("a translation")?;
            let from = endpoint(&mut fields, "from")?;
            let to = endpoint(&mut fields, "to")?;
            let protocol = fields.parsed("protocol", "tcp or udp")?.unwrap_or(ProtocolName(6)).0;
            if !matches!(protocol, 6 | 17) {
                return Err(kind_of(&fields, "protocol", "tcp or udp: others have no ports"));
            }
            if from.is_ipv4() != to.is_ipv4() {
                return Err(fields.fault(OwnFault::Both(
                    "a translation keeps the IP version: both sides must have the same",
                )));
            }
            let key = NatKey { address: from.ip(), protocol, port: from.port() };
            entries.push((key, Nat { address: to.ip(), port: to.port() }));
            fields.done()?;
        }
        if let Some(mut fields) = fields.fields("generate")? {
            entries.extend(generate::translations(&mut fields)?);
            fields.done()?;
        }
        self.more(fields, entries.len())?;
        self.tables.nats.push(NatTable { entries });
        self.nats.push(name.to_owned());
        Ok(())
    }
}

/// Default rate of a user, in bytes per second. It exceeds the rate of any link.
const RATE_MAX: u64 = 1_000_000_000_000;
/// Default bucket depth of a user, in bytes. A trace of millions of packets passes without drops.
const BURST: u64 = 4_000_000_000;

/// Returns the tables of a kind, in the order of the file.
fn each<'a>(
    root: &mut Fields<'a>,
    kind: &'static str,
    read: impl FnMut(&str, &mut Fields<'a>) -> Result<()>,
) -> Result<()> {
    each_of(root, kind, TABLES_MAX, read)
}

/// Reads the tables of a kind with the maximum `most` instead of [`TABLES_MAX`]. See [`each`].
fn each_of<'a>(
    root: &mut Fields<'a>,
    kind: &'static str,
    most: usize,
    mut read: impl FnMut(&str, &mut Fields<'a>) -> Result<()>,
) -> Result<()> {
    let Some(all) = root.fields(kind)? else { return Ok(()) };
    let entries = all.entries();
    bounded(&all, "tables of a kind", entries.len(), most)?;
    for (name, item) in entries {
        let mut fields = item.fields(format!("{kind}.{name}"))?;
        read(name, &mut fields)?;
        fields.done()?;
    }
    Ok(())
}

fn missing(fields: &Fields<'_>, field: &'static str, of: &str, allowed: &'static str) -> OwnError {
    fields.fault(OwnFault::Missing { field, of: format!("\"{of}\""), allowed })
}

fn kind_of(fields: &Fields<'_>, field: &str, allowed: &'static str) -> OwnError {
    fields.fault(OwnFault::Kind { field: field.to_owned(), allowed })
}

/// Returns the index of the table with the name that an item contains.
pub(super) fn place<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a str> + Clone,
    item: &Item<'_>,
    name: &str,
) -> Result<usize> {
    let found = names.clone().position(|one| one == name);
    found.ok_or_else(|| item.fault(OwnFault::Unknown { what, name: name.to_owned(), allowed: list(names) }))
}

/// Returns the first number and the count of a name.
fn found(what: &'static str, all: &[(String, u32, u32)], item: &Item<'_>, name: &str) -> Result<(u32, u32)> {
    let index = place(what, all.iter().map(|(name, ..)| name.as_str()), item, name)?;
    Ok((all[index].1, all[index].2))
}

/// Reads the encapsulation: GTP-U, VXLAN or GRE. GTP-U has a QoS flow.
pub(super) fn kind(fields: &mut Fields<'_>, of: &str) -> Result<Encapsulation> {
    let qfi = fields.number("qfi", (0, 63))?;
    let kinds = [("gtp", 0), ("vxlan", 1), ("gre", 2)];
    let kind = fields.choice("kind", &kinds)?;
    match (kind.ok_or_else(|| missing(fields, "kind", of, "gtp, vxlan or gre"))?, qfi) {
        (0, qfi) => Ok(Encapsulation::Gtp { qfi: qfi.unwrap_or(0) as u8 }),
        (_, Some(_)) => Err(fields.fault(OwnFault::Both("`qfi` is only allowed for GTP-U"))),
        (1, None) => Ok(Encapsulation::Vxlan),
        (_, None) => Ok(Encapsulation::Gre),
    }
}

fn key(fields: &mut Fields<'_>, keys: Keys) -> Result<u64> {
    match keys {
        Keys::Mac => Ok(fields.need_parsed::<Mac>("key", MAC)?.to_u64()),
        Keys::Address => match fields.need_parsed::<AnyPrefix>("key", USER)? {
            AnyPrefix::V4(Prefix4 { address, length: 32 }) => Ok(address.to_bits().into()),
            AnyPrefix::V6(Prefix6 { address, length: 64 | 128 }) if address.to_bits() >> 112 != 0 => {
                Ok((address.to_bits() >> 64) as u64)
            }
            _ => Err(kind_of(fields, "key", USER)),
        },
        Keys::Tunnel => {
            let key = fields.need("key", "a TEID, VNI or GRE key")?;
            key.number("key", (0, KEY_MAX))
        }
    }
}

const USER: &str = "an IPv4 address such as \"10.0.0.1\", or an IPv6 /64 whose first group is not 0";

fn put(table: &mut RouteTable, prefix: AnyPrefix, hop: NextHopId) {
    match prefix {
        AnyPrefix::V4(prefix) => table.ipv4.push((prefix, hop)),
        AnyPrefix::V6(prefix) => table.ipv6.push((prefix, hop)),
    }
}

fn rule(fields: &mut Fields<'_>) -> Result<Rule> {
    const ANY: Ports = Ports(0, u16::MAX);
    const PORTS: &str = "a port or a range such as \"80\" or \"1024-65535\"";
    let src = fields.parsed("src", PREFIX)?;
    let dst = fields.parsed("dst", PREFIX)?;
    let Ports(s0, s1) = fields.parsed("src-ports", PORTS)?.unwrap_or(ANY);
    let Ports(d0, d1) = fields.parsed("dst-ports", PORTS)?.unwrap_or(ANY);
    let named: Option<ProtocolName> =
        fields.parsed("protocol", "tcp, udp, icmp or a number such as \"47\"")?;
    let src_ports = (s0, s1);
    let dst_ports = (d0, d1);
    let protocol = named.map(|name| name.0);
    let flags = fields.parsed("flags", "TCP flags as value and mask such as \"0x002/0x012\"")?;
    let flags = flags.map_or_else(TcpFlags::default, |Flags(flags)| flags);
    let all4 = Prefix4 { address: Ipv4Addr::UNSPECIFIED, length: 0 };
    let all6 = Prefix6 { address: std::net::Ipv6Addr::UNSPECIFIED, length: 0 };
    let four = |src, dst| Rule::V4(AclRule { src, dst, src_ports, dst_ports, protocol, flags });
    let six = |src, dst| Rule::V6(AclRule { src, dst, src_ports, dst_ports, protocol, flags });
    match (src, dst) {
        (None, None) => Ok(four(all4, all4)),
        (Some(AnyPrefix::V4(src)), None) => Ok(four(src, all4)),
        (None, Some(AnyPrefix::V4(dst))) => Ok(four(all4, dst)),
        (Some(AnyPrefix::V4(src)), Some(AnyPrefix::V4(dst))) => Ok(four(src, dst)),
        (Some(AnyPrefix::V6(src)), None) => Ok(six(src, all6)),
        (None, Some(AnyPrefix::V6(dst))) => Ok(six(all6, dst)),
        (Some(AnyPrefix::V6(src)), Some(AnyPrefix::V6(dst))) => Ok(six(src, dst)),
        _ => Err(fields.fault(OwnFault::Both("`src` and `dst` of a rule must be of one IP version"))),
    }
}

fn endpoint(fields: &mut Fields<'_>, field: &'static str) -> Result<SocketAddr> {
    const ALLOWED: &str = "address and port such as \"10.0.0.1:1000\" or \"[2001:db8::1]:1000\"";
    let endpoint: SocketAddr = fields.need_parsed(field, ALLOWED)?;
    if endpoint.port() == 0 { Err(kind_of(fields, field, "with a port above 0")) } else { Ok(endpoint) }
}

fn reversed((key, value): &(NatKey, Nat)) -> (NatKey, Nat) {
    let back = NatKey { address: value.address, protocol: key.protocol, port: value.port };
    (back, Nat { address: key.address, port: key.port })
}
