//! The oracle of a user-defined pipeline. It processes the elements one by one as defined by
//! [`crate::declare::Element`], on complete packets that are parsed again at every step. It shares no code with the
//! engine.
use super::addresses::AnyPrefix;
use super::updates::Updates;
use crate::declare::{
    Declaration, Direction, DropReason, Element, EventKind, Nat, NatKey, NextHop, Port, Prefix4, Prefix6,
    RouteTable, Tunnel, User,
};
use crate::pipelines::Reference;
use crate::reference::{
    self, Side, Step, TokenBucket, admit, classify, decap, destination, destination_mac, encap, nat_key,
    source, spend_hop, user_key,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

/// State of a pipeline: its tables, and the users' token buckets.
pub(in crate::pipelines) struct OwnOracle {
    paths: [Vec<Element>; 2],
    exact: Vec<HashMap<u64, u32>>,
    routes: Vec<Routes>,
    acls: Vec<crate::declare::AclTable>,
    nats: Vec<HashMap<NatKey, Nat>>,
    next_hops: Vec<NextHop>,
    users: Vec<(User, TokenBucket)>,
    tunnels: Vec<Tunnel>,
    updates: Arc<Updates>,
}

/// Prefixes by length, longest first.
struct Routes {
    ipv4: BTreeMap<Reverse<u8>, HashMap<u32, u32>>,
    ipv6: BTreeMap<Reverse<u8>, HashMap<u128, u32>>,
}

impl Routes {
    fn new(table: &RouteTable) -> Self {
        let mut own = Self { ipv4: BTreeMap::new(), ipv6: BTreeMap::new() };
        for (prefix, hop) in &table.ipv4 {
            let key = prefix.address.to_bits() & prefix.mask();
            own.ipv4.entry(Reverse(prefix.length)).or_default().insert(key, hop.0);
        }
        for (prefix, hop) in &table.ipv6 {
            let key = prefix.address.to_bits() & prefix.mask();
            own.ipv6.entry(Reverse(prefix.length)).or_default().insert(key, hop.0);
        }
        own
    }

    /// Sets or removes a prefix.
    fn set(&mut self, prefix: AnyPrefix, hop: Option<u32>) {
        fn put<K: std::hash::Hash + Eq>(all: &mut HashMap<K, u32>, key: K, hop: Option<u32>) {
            match hop {
                Some(hop) => drop(all.insert(key, hop)),
                None => drop(all.remove(&key)),
            }
        }
        match prefix {
            AnyPrefix::V4(prefix) => {
                let key = prefix.address.to_bits() & prefix.mask();
                put(self.ipv4.entry(Reverse(prefix.length)).or_default(), key, hop);
            }
            AnyPrefix::V6(prefix) => {
                let key = prefix.address.to_bits() & prefix.mask();
                put(self.ipv6.entry(Reverse(prefix.length)).or_default(), key, hop);
            }
        }
    }

    fn find(&self, to: IpAddr) -> Step<u32> {
        let found = match to {
            IpAddr::V4(address) => self.ipv4.iter().find_map(|(Reverse(length), prefixes)| {
                prefixes.get(&(address.to_bits() & Prefix4 { address, length: *length }.mask()))
            }),
            IpAddr::V6(address) => self.ipv6.iter().find_map(|(Reverse(length), prefixes)| {
                prefixes.get(&(address.to_bits() & Prefix6 { address, length: *length }.mask()))
            }),
        };
        found.copied().ok_or(DropReason::Miss)
    }
}

/// Results of the elements that a packet has passed.
#[derive(Default)]
struct Found {
    tunnel_key: Option<u32>,
    user: Option<u32>,
    next_hop: Option<u32>,
}

impl OwnOracle {
    pub(super) fn new(declaration: &Declaration, updates: Arc<Updates>) -> Self {
        let tables = &declaration.tables;
        let path = |direction| declaration.path(direction).blocks.iter().flatten().cloned().collect();
        let bucket = |user: &User| (*user, TokenBucket::full(user.rate_bytes_per_s, user.burst_bytes));
        Self {
            paths: [path(Direction::Uplink), path(Direction::Downlink)],
            exact: tables.exact.iter().map(|table| table.entries.iter().copied().collect()).collect(),
            routes: tables.routes.iter().map(Routes::new).collect(),
            acls: tables.acls.clone(),
            nats: tables.nats.iter().map(|table| table.entries.iter().copied().collect()).collect(),
            next_hops: tables.next_hops.clone(),
            users: tables.users.iter().map(bucket).collect(),
            tunnels: tables.tunnels.clone(),
            updates,
        }
    }

    fn look_up(&self, table: usize, key: u64) -> Step<u32> {
        self.exact.get(table).and_then(|table| table.get(&key)).copied().ok_or(DropReason::Miss)
    }

    fn user(&mut self, found: &Found) -> Step<&mut (User, TokenBucket)> {
        let index = found.user.ok_or(DropReason::Miss)?;
        self.users.get_mut(index as usize).ok_or(DropReason::Miss)
    }

    /// Writes the addresses of the packet's next hop. Returns the egress port.
    fn deliver(&self, found: &Found, frame: &mut [u8]) -> Step<Port> {
        let index = found.next_hop.ok_or(DropReason::Miss)?;
        let hop = self.next_hops.get(index as usize).ok_or(DropReason::Miss)?;
        if let Some(dst) = hop.dst {
            frame[..6].copy_from_slice(&dst.0);
        }
        if let Some(src) = hop.src {
            frame[6..12].copy_from_slice(&src.0);
        }
        Ok(hop.port)
    }

    /// Processes one element. Returns the egress port if the element sends the packet.
    fn step(
        &mut self,
        element: &Element,
        now_ns: u64,
        frame: &mut Vec<u8>,
        found: &mut Found,
    ) -> Step<Option<Port>> {
        match element {
            Element::Admit { mac, ipv6 } => admit(frame, *mac, *ipv6)?,
            Element::Bridge(id) => {
                found.next_hop = Some(self.look_up(id.index(), destination_mac(frame)?.to_u64())?);
            }
            Element::FindUserByMac(id) => {
                found.user = Some(self.look_up(id.index(), destination_mac(frame)?.to_u64())?);
            }
            Element::Decap { kind, local, ipv6 } => {
                found.tunnel_key = Some(decap(frame, *kind, *local, *ipv6)?)
            }
            Element::FindUserByTunnelKey(id) => {
                let key = found.tunnel_key.ok_or(DropReason::Miss)?;
                found.user = Some(self.look_up(id.index(), key.into())?);
            }
            Element::FindUserBySource(id) => {
                found.user = Some(self.look_up(id.index(), user_key(source(frame)?))?)
            }
            Element::FindUserByDestination(id) => {
                found.user = Some(self.look_up(id.index(), user_key(destination(frame)?))?);
            }
            Element::Meter => self.user(found)?.1.charge(now_ns, frame)?,
            Element::Acl(id) => classify(self.acls.get(id.index()).ok_or(DropReason::Miss)?, frame)?,
            Element::NatSource(id) => self.translated(id.index(), frame, Side::Source)?,
            Element::NatDestination(id) => self.translated(id.index(), frame, Side::Destination)?,
            Element::Route(id) => {
                let table = self.routes.get(id.index()).ok_or(DropReason::Miss)?;
                found.next_hop = Some(table.find(destination(frame)?)?);
            }
            Element::Forward => {
                spend_hop(frame)?;
                return self.deliver(found, frame).map(Some);
            }
            Element::Deliver => return self.deliver(found, frame).map(Some),
            Element::Encap => {
                let user = self.user(found)?.0;
                let tunnel = self.tunnels.get(user.tunnel.index()).ok_or(DropReason::Miss)?;
                *frame = encap(frame, tunnel, user.tunnel_key)?;
                return Ok(Some(tunnel.port));
            }
            Element::Emit { port, source } => {
                if let Some(source) = source {
                    destination_mac(frame)?;
                    frame[6..12].copy_from_slice(&source.0);
                }
                return Ok(Some(*port));
            }
        }
        Ok(None)
    }

    fn translated(&self, table: usize, frame: &mut [u8], side: Side) -> Step {
        let key = nat_key(frame, side)?;
        let to = self.nats.get(table).and_then(|table| table.get(&key)).ok_or(DropReason::Miss)?;
        reference::translate(frame, side, *to)
    }
}

impl Reference for OwnOracle {
    fn process(&mut self, now_ns: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let path = std::mem::take(&mut self.paths[ingress as usize]);
        let mut found = Found::default();
        let sent = path.iter().find_map(|element| self.step(element, now_ns, frame, &mut found).transpose());
        self.paths[ingress as usize] = path;
        sent.unwrap_or(Err(DropReason::PathEnd))
    }

    fn apply(&mut self, what: EventKind) {
        let EventKind::RouteUpdate(index) = what else { return };
        let Some(update) = self.updates.get(index) else { return };
        if let Some(table) = self.routes.get_mut(self.updates.table() as usize) {
            table.set(update.prefix, update.next_hop.map(|hop| hop.0));
        }
    }
}
