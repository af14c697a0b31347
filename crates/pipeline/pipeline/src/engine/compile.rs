//! Compiles a declaration for the engine: tables are specialised by their content, and elements become stages.
use super::acl::Acl;
use super::burst::{Meta, Slot};
use super::exact::{Key6, Macs, Narrow, Side6, Translations, Translations6};
use super::headers::{nat_key, nat_value};
use super::hot::{Memory, request_huge_pages};
use super::lpm4::{GROUPS_MAX, Lpm4, NEXT_HOPS_MAX};
use super::lpm6::Lpm6;
use super::parse::MacFilter;
use super::plan::{LookupKey, PathStage, Side, Stage, Tunnelled};
use super::template::Template;
use super::users::UserLine;
use crate::declare::{
    Change, Declaration, DropReason, Element, ExactId, Nat, NatKey, NatTable, NextHop, Path, Port, RouteTable,
};
use std::net::IpAddr;

/// The reason why a declaration cannot run on this engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// An element refers to a table that does not exist.
    #[error("an element uses {kind} table {index}, but the declaration has only {count} of these tables")]
    Table {
        /// Kind of the table.
        kind: &'static str,
        /// Index of the table.
        index: usize,
        /// Number of tables of this kind.
        count: usize,
    },
    /// A key of a tunnel table has more than 32 bits.
    #[error("exact table {table} has the key {key:#x}; tunnel keys have 32 bits")]
    Key {
        /// Index of the table.
        table: usize,
        /// Key with more than 32 bits.
        key: u64,
    },
    /// The number of a next hop exceeds the maximum of a forwarding entry.
    #[error("next hop {0}; allowed are 0 to {NEXT_HOPS_MAX}")]
    NextHop(u32),
    /// A prefix length exceeds the address length.
    #[error("a prefix of {0} bits; allowed are 0 to 32 for IPv4 and 0 to 128 for IPv6")]
    PrefixLength(u8),
    /// Too many /24 networks contain longer prefixes.
    #[error("more than {GROUPS_MAX} networks of 24 bits have longer prefixes inside")]
    LongPrefixes,
    /// A translation has addresses of different IP versions.
    #[error("the translation of {0} changes the IP version; both sides must have the same")]
    Version(IpAddr),
}

/// Tables in the form that the stages read.
pub(super) struct Compiled {
    /// For each exact table, its entries with 64-bit keys: MAC addresses, and addresses of IPv6 users.
    pub(super) macs: Vec<Macs>,
    /// For each exact table, its entries with 32-bit keys: IPv4 addresses, and tunnel keys.
    pub(super) narrow: Vec<Narrow>,
    pub(super) routes: Vec<(Lpm4, Lpm6)>,
    /// Access control lists, for IPv4 and for IPv6.
    pub(super) acls: Vec<(Acl, Acl<u128>)>,
    /// Translations, for IPv4 and for IPv6.
    pub(super) nats: Vec<(Translations, Translations6)>,
    pub(super) users: Vec<UserLine>,
    pub(super) tunnels: Vec<Template>,
    pub(super) next_hops: Vec<Rewrite>,
    /// The kind of keys by which elements read each exact table.
    readers: Vec<Reader>,
}

/// Kind of an exact table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Mac,
    Address,
    /// Tunnel keys. Also used for tables that no element reads.
    TunnelKey,
}

impl Reader {
    /// Returns whether a key belongs to the table of wide keys, or `None` if the key is not valid for this kind.
    fn is_wide(self, key: u64) -> Option<bool> {
        match (self, u32::try_from(key).is_ok()) {
            (Self::Mac, _) | (Self::Address, false) => Some(true),
            (Self::Address | Self::TunnelKey, true) => Some(false),
            (Self::TunnelKey, false) => None,
        }
    }
}

/// A compiled next hop. Its size of 16 bytes allows the address to be computed by a shift.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(super) struct Rewrite {
    /// Destination and source MAC address.
    macs: [u8; 12],
    /// Whether both addresses are written.
    both: bool,
    dst: bool,
    src: bool,
    port: Port,
}

const _: () = assert!(size_of::<Rewrite>() == 16);

impl Rewrite {
    fn new(next_hop: &NextHop) -> Self {
        let mut macs = [0; 12];
        macs[..6].copy_from_slice(&next_hop.dst.unwrap_or_default().0);
        macs[6..].copy_from_slice(&next_hop.src.unwrap_or_default().0);
        let dst = next_hop.dst.is_some();
        let src = next_hop.src.is_some();
        Self { macs, both: dst & src, dst, src, port: next_hop.port }
    }

    /// Writes the addresses into a frame. Returns the egress port.
    #[inline(always)]
    pub(super) fn write(&self, slot: &mut Slot, meta: &Meta) -> Port {
        let macs = slot.window_mut::<12>(meta.start as usize);
        if self.both {
            *macs = self.macs;
        } else if self.dst {
            macs[..6].copy_from_slice(&self.macs[..6]);
        } else if self.src {
            macs[6..].copy_from_slice(&self.macs[6..]);
        }
        self.port
    }
}

impl Compiled {
    pub(super) fn new(declaration: &Declaration) -> Result<Self, CompileError> {
        let tables = &declaration.tables;
        let readers = readers(declaration)?;
        let mut macs = Vec::new();
        let mut narrow = Vec::new();
        for (index, table) in tables.exact.iter().enumerate() {
            let mut wide = Vec::new();
            let mut few = Vec::new();
            for &(key, value) in &table.entries {
                match readers[index].is_wide(key) {
                    Some(true) => wide.push((key, value)),
                    Some(false) => few.push((key as u32, value)),
                    None => return Err(CompileError::Key { table: index, key }),
                }
            }
            macs.push(Macs::new(wide.into_iter()));
            narrow.push(Narrow::new(few.into_iter()));
        }
        let mut users = Vec::with_capacity(tables.users.len() + tables.users.len() / 2 + USERS_SPARE);
        users.extend(tables.users.iter().map(UserLine::new));
        Ok(Self {
            macs,
            narrow,
            routes: tables.routes.iter().map(routes).collect::<Result<_, _>>()?,
            acls: tables.acls.iter().map(Acl::compile).collect(),
            nats: tables.nats.iter().map(translations).collect::<Result<_, _>>()?,
            users,
            tunnels: tables.tunnels.iter().map(Template::new).collect(),
            next_hops: tables.next_hops.iter().map(Rewrite::new).collect(),
            readers,
        })
    }

    /// Returns the stages of a path. Within a block, a stage prefetches the data that the next stage reads. Adjacent
    /// stages are merged into one loop if no wait for memory lies between them. Stages of different blocks remain
    /// separate. Longer loops were tried and are not faster. In a loop that admits, routes and forwards, prefetched
    /// lines do not arrive in time, even for groups of sixteen packets.
    pub(super) fn path(&self, path: &Path) -> Result<Vec<PathStage>, CompileError> {
        let mut placed = Vec::new();
        for block in &path.blocks {
            let stages: Vec<_> =
                block.iter().map(|element| self.stage(element)).collect::<Result<_, CompileError>>()?;
            placed.extend(PathStage::block(&stages));
        }
        Ok(placed)
    }

    /// Puts large tables on huge pages, as far as the kernel grants them.
    pub(super) fn request_huge_pages(&self) -> Memory {
        let mut memory = Memory::default();
        self.macs.iter().for_each(|table| table.request_huge_pages(&mut memory));
        self.narrow.iter().for_each(|table| table.request_huge_pages(&mut memory));
        self.nats.iter().for_each(|(ipv4, ipv6)| {
            ipv4.request_huge_pages(&mut memory);
            ipv6.request_huge_pages(&mut memory);
        });
        self.routes.iter().for_each(|(ipv4, ipv6)| {
            ipv4.request_huge_pages(&mut memory);
            ipv6.request_huge_pages(&mut memory);
        });
        request_huge_pages(&mut memory, &self.users);
        request_huge_pages(&mut memory, &self.tunnels);
        memory
    }

    fn stage(&self, element: &Element) -> Result<Stage, CompileError> {
        let within = |kind, index: usize, count| {
            if index < count { Ok(index) } else { Err(CompileError::Table { kind, index, count }) }
        };
        let exact = |id: ExactId| within("exact", id.index(), self.narrow.len());
        Ok(match element {
            Element::Admit { mac, ipv6 } => Stage::Admit { mac: MacFilter::new(*mac), ipv6: *ipv6 },
            Element::Bridge(id) => Stage::Bridge(exact(*id)?),
            Element::FindUserByMac(id) => Stage::FindUserByMac(exact(*id)?),
            Element::Decap { kind, local, ipv6 } => {
                Stage::Decap(Tunnelled { kind: *kind, local: local.to_bits(), ipv6: *ipv6 })
            }
            Element::FindUserByTunnelKey(id) => {
                Stage::FindUser { table: exact(*id)?, by: LookupKey::TunnelKey }
            }
            Element::FindUserBySource(id) => Stage::FindUser { table: exact(*id)?, by: LookupKey::Source },
            Element::FindUserByDestination(id) => {
                Stage::FindUser { table: exact(*id)?, by: LookupKey::Destination }
            }
            Element::Meter => Stage::Meter,
            Element::Acl(id) => Stage::Acl(within("ACL", id.index(), self.acls.len())?),
            Element::NatSource(id) => {
                Stage::Nat { table: within("NAT", id.index(), self.nats.len())?, side: Side::Source }
            }
            Element::NatDestination(id) => {
                Stage::Nat { table: within("NAT", id.index(), self.nats.len())?, side: Side::Destination }
            }
            Element::Route(id) => Stage::Route(within("route", id.index(), self.routes.len())?),
            Element::Forward => Stage::Forward,
            Element::Deliver => Stage::Deliver,
            Element::Encap => Stage::Encap,
            Element::Emit { port, source } => Stage::Emit { port: *port, source: source.map(|mac| mac.0) },
        })
    }

    #[inline(always)]
    pub(super) fn next_hop(&self, index: u32) -> Option<&Rewrite> {
        self.next_hops.get(index as usize)
    }

    /// Writes the addresses of the packet's next hop. Returns its port.
    #[inline(always)]
    pub(super) fn deliver(&self, slot: &mut Slot, meta: &Meta) -> Result<Port, DropReason> {
        Ok(self.next_hop(meta.next_hop).ok_or(DropReason::Miss)?.write(slot, meta))
    }

    /// Applies a change. Returns false if the change refers to a missing entry or does not fit.
    pub(super) fn apply(&mut self, change: &Change) -> bool {
        self.try_apply(change).is_some()
    }

    fn try_apply(&mut self, change: &Change) -> Option<()> {
        match *change {
            Change::Exact { table, key, value } => {
                let index = table.index();
                if self.readers.get(index)?.is_wide(key)? {
                    return set(self.macs.get_mut(index)?, key, value);
                }
                set(self.narrow.get_mut(index)?, u32::try_from(key).ok()?, value)
            }
            Change::Route4 { table, prefix, next_hop } => {
                let (routes, _) = self.routes.get_mut(table.index())?;
                check(prefix.length, 32, next_hop.map_or(0, |hop| hop.0)).ok()?;
                routes.set(prefix.address.to_bits(), prefix.length, next_hop.map(|hop| hop.0)).ok()
            }
            Change::Route6 { table, prefix, next_hop } => {
                let (_, routes) = self.routes.get_mut(table.index())?;
                check(prefix.length, 128, next_hop.map_or(0, |hop| hop.0)).ok()?;
                routes.set(prefix.address.to_bits(), prefix.length, next_hop.map(|hop| hop.0));
                Some(())
            }
            Change::Translation { table, key, value } => {
                let (ipv4, ipv6) = self.nats.get_mut(table.index())?;
                match translation(key, value)? {
                    Translation::V4(key, value) => set(ipv4, key, value),
                    Translation::V6(key, value) => set(ipv6, key, value),
                }
            }
            Change::NextHop { id, value } => put(&mut self.next_hops, id.index(), Rewrite::new(&value)),
            Change::User { id, value } => put(&mut self.users, id.index(), UserLine::new(&value)),
            Change::Attach { user, tunnel } => {
                self.tunnels.get(tunnel.index())?;
                self.users.get_mut(user.index())?.tunnel = tunnel.0;
                Some(())
            }
        }
    }
}

/// Space for additional users, in addition to half of the configured number. New users then do not cause a
/// reallocation.
const USERS_SPARE: usize = 1024;

/// Returns the kind of keys of each exact table. If elements read a table by several kinds, MAC addresses have the
/// highest priority and tunnel keys the lowest.
fn readers(declaration: &Declaration) -> Result<Vec<Reader>, CompileError> {
    let count = declaration.tables.exact.len();
    let mut readers = vec![Reader::TunnelKey; count];
    for element in elements(&declaration.uplink).chain(elements(&declaration.downlink)) {
        let (id, reader) = match element {
            Element::Bridge(id) | Element::FindUserByMac(id) => (id, Reader::Mac),
            Element::FindUserBySource(id) | Element::FindUserByDestination(id) => (id, Reader::Address),
            _ => continue,
        };
        let index = id.index();
        let place = readers.get_mut(index).ok_or(CompileError::Table { kind: "exact", index, count })?;
        if *place != Reader::Mac {
            *place = reader;
        }
    }
    Ok(readers)
}

fn elements(path: &Path) -> impl Iterator<Item = &Element> {
    path.blocks.iter().flatten()
}

fn set<K, V, const W: usize>(table: &mut super::exact::Exact<K, V, W>, key: K, value: Option<V>) -> Option<()>
where
    K: super::exact::Word,
    V: super::exact::Content,
{
    match value {
        Some(value) => table.insert(key, value),
        None => table.remove(key),
    }
    Some(())
}

/// Sets an existing element, or appends a new one.
fn put<T>(list: &mut Vec<T>, index: usize, value: T) -> Option<()> {
    if index == list.len() {
        list.push(value);
    } else {
        *list.get_mut(index)? = value;
    }
    Some(())
}

fn routes(table: &RouteTable) -> Result<(Lpm4, Lpm6), CompileError> {
    for (prefix, hop) in &table.ipv4 {
        check(prefix.length, 32, hop.0)?;
    }
    for (prefix, hop) in &table.ipv6 {
        check(prefix.length, 128, hop.0)?;
    }
    let ipv4 = table.ipv4.iter().map(|(p, hop)| (p.address.to_bits(), p.length, hop.0));
    let ipv6 = table.ipv6.iter().map(|(p, hop)| (p.address.to_bits(), p.length, hop.0));
    Ok((Lpm4::new(ipv4).map_err(|_| CompileError::LongPrefixes)?, Lpm6::new(ipv6)))
}

fn check(length: u8, most: u8, hop: u32) -> Result<(), CompileError> {
    if length > most {
        return Err(CompileError::PrefixLength(length));
    }
    if hop > NEXT_HOPS_MAX { Err(CompileError::NextHop(hop)) } else { Ok(()) }
}

/// A translation in the form of its table.
enum Translation {
    V4(u64, Option<u64>),
    V6(Key6, Option<Side6>),
}

/// Converts a translation to the form of its table. Returns `None` if its sides have different IP versions.
fn translation(key: NatKey, value: Option<Nat>) -> Option<Translation> {
    Some(match (key.address, value.map(|v| (v.address, v.port))) {
        (IpAddr::V4(from), to) => {
            let to = match to {
                None => None,
                Some((IpAddr::V4(to), port)) => Some(nat_value(to.to_bits(), port)),
                Some((IpAddr::V6(_), _)) => return None,
            };
            Translation::V4(nat_key(from.to_bits(), key.protocol, key.port), to)
        }
        (IpAddr::V6(from), to) => {
            let to = match to {
                None => None,
                Some((IpAddr::V6(to), port)) => Some(Side6 { address: to.to_bits(), port: port.into() }),
                Some((IpAddr::V4(_), _)) => return None,
            };
            let rest = u32::from(key.protocol) << 16 | u32::from(key.port);
            Translation::V6(Key6 { address: from.to_bits(), rest }, to)
        }
    })
}

fn translations(table: &NatTable) -> Result<(Translations, Translations6), CompileError> {
    let mut ipv4 = Vec::new();
    let mut ipv6 = Vec::new();
    for &(key, value) in &table.entries {
        match translation(key, Some(value)) {
            Some(Translation::V4(key, Some(value))) => ipv4.push((key, value)),
            Some(Translation::V6(key, Some(value))) => ipv6.push((key, value)),
            _ => return Err(CompileError::Version(key.address)),
        }
    }
    Ok((Translations::new(ipv4.into_iter()), Translations6::new(ipv6.into_iter())))
}
