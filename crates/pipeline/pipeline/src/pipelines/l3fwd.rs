//! IP router: longest prefix to next hop, next hop to MAC addresses and port, with TTL decrement.
use super::own::{AnyPrefix, Replay};
use super::{Flow, ParameterError, Reference, Spread, TABLE_MAX, addressing, bounded, parameters, schedule};
use crate::declare::{
    Change, Declaration, Direction, DropReason, Element, Event, EventKind, NextHop, NextHopId, Port, Prefix4,
    Prefix6, RouteId, RouteTable, Tables,
};
use crate::reference::{Step, admit, destination, readdress, spend_hop};
use crate::trace::frames::Packet;
use ranlab_machine::Random;
use ranlab_packet::Mac;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

parameters! {
    /// Parameters of pipeline `l3fwd`.
    L3fwd, fakedrop true {
        upstream_l3_table_size: u32 = 10, "Number of prefixes towards the core.";
        upstream_group_table_size: u32 = 2, "Number of next hops towards the core.";
        downstream_l3_table_size: u32 = 2, "Number of prefixes towards the access side.";
        downstream_group_table_size: u32 = 1, "Number of next hops towards the access side.";
        #[serde(with = "super::gateway::mac_text")]
        uplink_mac: Mac = Mac([0xdd, 0xdd, 0xdd, 0xdd, 0xdd, 0x01]), "MAC address of the core port.";
        #[serde(with = "super::gateway::mac_text")]
        downlink_mac: Mac = Mac([0xdd, 0xdd, 0xdd, 0xdd, 0xdd, 0x00]), "MAC address of the access port.";
        fluct_l3_table: u32 = 0, "Number of upstream routes that appear and disappear per second.";
        fluct_group_table: u32 = 0, "Number of changes of upstream next hops per second.";
        family: Family = Family::Ipv4, "IP version of the prefixes.";
        prefix_lengths: PrefixLengths = PrefixLengths::Uniform, "Lengths of the prefixes.";
        spread: Spread = Spread::Even, "Distribution of events over a second.";
        #[serde(skip_serializing_if = "Option::is_none")]
        updates: Option<Replay> = None, "Recorded route updates, upstream. Their next hops are entries of the group table in the order of appearance, again from the first after the last.";
    }
}

/// IP version of the prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4 only, as in TIPSY.
    #[default]
    Ipv4,
    /// IPv6 only.
    Ipv6,
    /// IPv4 and IPv6, alternating.
    Dual,
}

impl Family {
    /// Returns whether list entry `index` is IPv6. With [`Self::Dual`], the versions alternate, beginning with IPv4.
    pub(super) const fn is_ipv6(self, index: u32) -> bool {
        match self {
            Self::Ipv4 => false,
            Self::Ipv6 => true,
            Self::Dual => index % 2 == 1,
        }
    }
}

/// Distribution of the prefix lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrefixLengths {
    /// Consecutive prefixes, with TIPSY's length of 24 bits for IPv4 and with 48 bits for IPv6.
    #[default]
    Uniform,
    /// Lengths roughly as in Internet tables: 8 to 32, mostly 24; for IPv6 20 to 128, mostly 48.
    Mixed,
}

/// Mixed prefix lengths as in Internet tables, each with a share of one sixteenth.
const MIX4: [u8; 16] = [24, 24, 24, 24, 24, 24, 24, 24, 24, 22, 22, 23, 21, 20, 19, 16];
const MIX6: [u8; 16] = [48, 48, 48, 48, 48, 48, 48, 44, 40, 36, 32, 32, 29, 46, 64, 56];
/// Seed of the random prefixes. The table does not depend on the seed of the traffic.
const TABLE_SEED: u64 = 0x5ab1e;

#[derive(Debug, Clone, Copy)]
enum Prefix {
    V4(Prefix4),
    V6(Prefix6),
}

impl L3fwd {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("upstream-l3-table-size", self.upstream_l3_table_size, 1, TABLE_MAX)?;
        bounded("upstream-group-table-size", self.upstream_group_table_size, 1, 16_383)?;
        bounded("downstream-l3-table-size", self.downstream_l3_table_size, 1, TABLE_MAX)?;
        bounded("downstream-group-table-size", self.downstream_group_table_size, 1, 16_383)?;
        bounded("fluct-l3-table", self.fluct_l3_table, 0, TABLE_MAX)
    }

    pub(super) fn build(&self) -> Declaration {
        let table = |direction, first: u32| {
            let mut table = RouteTable::default();
            let (size, groups) = self.side(direction);
            for index in 0..size {
                let next_hop = NextHopId(first + index % groups);
                match self.prefix(direction, index) {
                    Prefix::V4(prefix) => table.ipv4.push((prefix, next_hop)),
                    Prefix::V6(prefix) => table.ipv6.push((prefix, next_hop)),
                }
            }
            table
        };
        let ups = self.upstream_group_table_size;
        let next_hops = (0..ups)
            .map(|i| group(Direction::Uplink, i, 0))
            .chain((0..self.downstream_group_table_size).map(|i| group(Direction::Downlink, i, 0)));
        let path = |mac, table| {
            let admit = Element::Admit { mac: Some(mac), ipv6: true };
            self.decomposition.divide(vec![admit, Element::Route(RouteId(table)), Element::Forward])
        };
        Declaration {
            tables: Tables {
                routes: vec![table(Direction::Uplink, 0), table(Direction::Downlink, ups)],
                next_hops: next_hops.collect(),
                ..Tables::default()
            },
            uplink: path(self.downlink_mac, 0),
            downlink: path(self.uplink_mac, 1),
            fakedrop: self.fakedrop,
        }
    }

    /// Returns the numbers of prefixes and next hops of a direction.
    fn side(&self, direction: Direction) -> (u32, u32) {
        match direction {
            Direction::Uplink => (self.upstream_l3_table_size, self.upstream_group_table_size),
            Direction::Downlink => (self.downstream_l3_table_size, self.downstream_group_table_size),
        }
    }

    pub(super) fn table_entries(&self, direction: Direction) -> u64 {
        self.side(direction).0.into()
    }

    fn prefix(&self, direction: Direction, index: u32) -> Prefix {
        let up = direction == Direction::Uplink;
        let ipv6 = self.family.is_ipv6(index);
        let mut random = Random::stream(TABLE_SEED + u64::from(up), index.into());
        let slot = random.index(16) as usize;
        // One of fifty prefixes is longer than the first level of a typical table.
        let long = random.below(50) == 0;
        match (ipv6, self.prefix_lengths) {
            (false, PrefixLengths::Uniform) => {
                let base = if up { 50 } else { 150 };
                Prefix::V4(Prefix4 { address: addressing::ipv4_middle(base, index, 0), length: 24 })
            }
            (false, PrefixLengths::Mixed) => {
                let length = if long { 25 + random.index(8) as u8 } else { MIX4[slot] };
                // The addresses are 1.0.0.0 to 126.255.255.255 upstream, and 128.0.0.0 to 223.255.255.255 downstream.
                let (first, count) = if up { (1_u32, 126) } else { (128, 96) };
                let high = first + random.index(count);
                let address = Ipv4Addr::from_bits(high << 24 | (random.next() as u32 & 0x00ff_ffff));
                let length = if random.below(500) == 0 { 8 } else { length };
                Prefix::V4(Prefix4 { address, length })
            }
            (true, lengths) => {
                let mixed = lengths == PrefixLengths::Mixed;
                let length = match (mixed, long) {
                    (false, _) => 48,
                    (true, true) => 65 + random.index(64) as u8,
                    (true, false) => MIX6[slot],
                };
                let site = if mixed { random.next() as u32 & 0x0fff_ffff } else { index };
                let base: u128 = if up { 0x2001 } else { 0x2a00 };
                let rest = if mixed { u128::from(random.next()) } else { 0 };
                let address = Ipv6Addr::from_bits(base << 112 | u128::from(site) << 80 | rest);
                Prefix::V6(Prefix6 { address, length })
            }
        }
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let size = self.side(direction).0.max(1);
        let prefix = self.prefix(direction, (flow % u64::from(size)) as u32);
        let mac = if direction == Direction::Uplink { self.downlink_mac } else { self.uplink_mac };
        let src_port = random.next() as u16;
        let dst_port = random.next() as u16;
        let (src, dst): (IpAddr, IpAddr) = match prefix {
            Prefix::V4(prefix) => {
                let host = random.next() as u32;
                let dst =
                    Ipv4Addr::from_bits((prefix.address.to_bits() & prefix.mask()) | (host & !prefix.mask()));
                (addressing::user(random.index(1 << 16)).into(), dst.into())
            }
            Prefix::V6(prefix) => {
                let host = u128::from(random.next()) << 64 | u128::from(random.next());
                let dst =
                    Ipv6Addr::from_bits((prefix.address.to_bits() & prefix.mask()) | (host & !prefix.mask()));
                (Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(random.next())).into(), dst.into())
            }
        };
        Packet::udp((src, src_port), (dst, dst_port)).frame(mac, bytes)
    }

    pub(super) fn events(&self, second: u64) -> Vec<Event> {
        let route = |index: u32, present: bool| {
            let next_hop = present.then_some(NextHopId(index % self.upstream_group_table_size));
            Change::Route4 { table: RouteId(0), prefix: fluct_prefix(index), next_hop }
        };
        let arrivals = (0..self.fluct_l3_table).map(|i| (EventKind::RouteArrives(i), vec![route(i, true)]));
        let groups = (0..self.fluct_group_table).map(|i| {
            let entry = i % self.upstream_group_table_size;
            let revision = (second as u32).wrapping_mul(self.fluct_group_table).wrapping_add(i + 1) & 0xff;
            let value = group(Direction::Uplink, entry, revision);
            (
                EventKind::GroupChanges { entry, revision },
                vec![Change::NextHop { id: NextHopId(entry), value }],
            )
        });
        let departures =
            (0..self.fluct_l3_table).map(|i| (EventKind::RouteDeparts(i), vec![route(i, false)]));
        let mut events = schedule(arrivals.chain(groups).chain(departures).collect(), self.spread);
        if let Some(updates) = &self.updates {
            events.extend(updates.events(second, self.upstream_group_table_size));
            events.sort_by_key(|event| event.at_ns);
        }
        events
    }

    pub(super) fn oracle(&self) -> L3fwdOracle {
        let table = |direction| {
            let (size, groups) = self.side(direction);
            (0..size).map(|i| (self.prefix(direction, i), i % groups)).collect()
        };
        L3fwdOracle {
            parameters: self.clone(),
            tables: [table(Direction::Uplink), table(Direction::Downlink)],
            revisions: vec![0; self.upstream_group_table_size as usize],
        }
    }
}

fn fluct_prefix(index: u32) -> Prefix4 {
    Prefix4 { address: addressing::ipv4_middle(5, index, 0), length: 24 }
}

/// Returns a next hop. Its revision changes the second byte of the destination.
fn group(direction: Direction, index: u32, revision: u32) -> NextHop {
    let (mut dst, src) = addressing::next_hop(index);
    dst.0[1] = dst.0[1].wrapping_add(revision as u8);
    let port = direction.ingress().other();
    if direction == Direction::Downlink {
        dst.0[0] = 0xac;
    }
    NextHop { dst: Some(dst), src: Some(src), port }
}

pub(super) struct L3fwdOracle {
    parameters: L3fwd,
    /// Prefixes and groups of each ingress port. The last of several equal prefixes is used.
    tables: [Vec<(Prefix, u32)>; 2],
    revisions: Vec<u32>,
}

impl L3fwdOracle {
    /// Applies a recorded update.
    fn update(&mut self, index: u32) {
        let groups = self.parameters.upstream_group_table_size;
        let update = self.parameters.updates.as_ref().and_then(|updates| updates.get(index));
        let Some((prefix, hop)) = update else { return };
        let bits4 = |p: &Prefix4| (p.length, p.address.to_bits() & p.mask());
        let bits6 = |p: &Prefix6| (p.length, p.address.to_bits() & p.mask());
        let new = match prefix {
            AnyPrefix::V4(prefix) => Prefix::V4(prefix),
            AnyPrefix::V6(prefix) => Prefix::V6(prefix),
        };
        self.tables[0].retain(|(old, _)| match (old, &new) {
            (Prefix::V4(old), Prefix::V4(new)) => bits4(old) != bits4(new),
            (Prefix::V6(old), Prefix::V6(new)) => bits6(old) != bits6(new),
            _ => true,
        });
        self.tables[0].extend(hop.map(|hop| (new, hop % groups)));
    }
}

impl Reference for L3fwdOracle {
    fn process(&mut self, _: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let mac = match ingress {
            Port::Access => self.parameters.downlink_mac,
            Port::Core => self.parameters.uplink_mac,
        };
        admit(frame, Some(mac), true)?;
        let address = destination(frame)?;
        let matching =
            self.tables[ingress as usize].iter().filter_map(|(prefix, group)| match (prefix, address) {
                (Prefix::V4(p), IpAddr::V4(a)) => p.contains(a).then_some((p.length, *group)),
                (Prefix::V6(p), IpAddr::V6(a)) => p.contains(a).then_some((p.length, *group)),
                _ => None,
            });
        // If several lengths are equal, `max_by_key` returns the last prefix, like the table.
        let (_, index) = matching.max_by_key(|(length, _)| *length).ok_or(DropReason::Miss)?;
        spend_hop(frame)?;
        let (direction, revision) = match ingress {
            Port::Access => (Direction::Uplink, self.revisions[index as usize]),
            Port::Core => (Direction::Downlink, 0),
        };
        let next_hop = group(direction, index, revision);
        readdress(frame, next_hop.dst.unwrap_or_default(), next_hop.src.unwrap_or_default());
        Ok(next_hop.port)
    }

    fn apply(&mut self, what: EventKind) {
        match what {
            EventKind::RouteArrives(i) => {
                let group = i % self.parameters.upstream_group_table_size;
                self.tables[0].push((Prefix::V4(fluct_prefix(i)), group));
            }
            EventKind::RouteDeparts(i) => {
                let gone = fluct_prefix(i);
                let bits = |p: &Prefix4| (p.length, p.address.to_bits() & p.mask());
                self.tables[0].retain(|(p, _)| !matches!(p, Prefix::V4(p) if bits(p) == bits(&gone)));
            }
            EventKind::GroupChanges { entry, revision } => self.revisions[entry as usize] = revision,
            EventKind::RouteUpdate(index) => self.update(index),
            _ => {}
        }
    }
}
