//! Ethernet switch: destination MAC to port, with one table per direction.
use super::{Flow, ParameterError, Reference, Spread, TABLE_MAX, addressing, bounded, parameters, schedule};
use crate::declare::{
    Change, Declaration, Direction, DropReason, Element, Event, EventKind, ExactId, ExactTable, NextHop,
    Port, Tables,
};
use crate::reference::{Step, destination_mac};
use crate::trace::frames::Packet;
use ranlab_machine::Random;
use ranlab_packet::Mac;
use std::collections::HashSet;
use std::net::Ipv4Addr;

parameters! {
    /// Parameters of pipeline `l2fwd`.
    L2fwd, fakedrop true {
        upstream_table_size: u32 = 2, "Number of MAC addresses behind the core port.";
        downstream_table_size: u32 = 2, "Number of MAC addresses behind the access port.";
        fluct_table: u32 = 0, "Number of addresses that appear and disappear per second. Half of them (rounded up) are upstream.";
        spread: Spread = Spread::Even, "Distribution of these events over a second.";
    }
}

/// MAC prefixes by direction, and the prefix of addresses that are added and removed.
const UPSTREAM: [u8; 4] = [0xaa, 0xbb, 0xbb, 0xaa];
const DOWNSTREAM: [u8; 4] = [0xaa, 0xcc, 0xdd, 0xcc];
const FLUCTUATING: [u8; 4] = [0xaa, 0xdd, 0xdd, 0xaa];

impl L2fwd {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("upstream-table-size", self.upstream_table_size, 1, TABLE_MAX)?;
        bounded("downstream-table-size", self.downstream_table_size, 1, TABLE_MAX)?;
        bounded("fluct-table", self.fluct_table, 0, TABLE_MAX)
    }

    pub(super) fn build(&self) -> Declaration {
        let table = |prefix, size, port: Port| ExactTable {
            entries: (0..size).map(|i| (addressing::mac(prefix, i).to_u64(), port as u32)).collect(),
        };
        let path = |table| self.decomposition.divide(vec![Element::Bridge(ExactId(table)), Element::Deliver]);
        let next_hop = |port| NextHop { dst: None, src: None, port };
        Declaration {
            tables: Tables {
                exact: vec![
                    table(UPSTREAM, self.upstream_table_size, Port::Core),
                    table(DOWNSTREAM, self.downstream_table_size, Port::Access),
                ],
                next_hops: vec![next_hop(Port::Access), next_hop(Port::Core)],
                ..Tables::default()
            },
            uplink: path(0),
            downlink: path(1),
            fakedrop: self.fakedrop,
        }
    }

    pub(super) fn table_entries(&self, direction: Direction) -> u64 {
        self.side(direction).1.into()
    }

    fn side(&self, direction: Direction) -> ([u8; 4], u32) {
        match direction {
            Direction::Uplink => (UPSTREAM, self.upstream_table_size),
            Direction::Downlink => (DOWNSTREAM, self.downstream_table_size),
        }
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let (prefix, size) = self.side(direction);
        let mac = addressing::mac(prefix, (flow % u64::from(size.max(1))) as u32);
        let address = |random: &mut Random| Ipv4Addr::from_bits(random.next() as u32);
        let src = address(random);
        let dst = address(random);
        let src_port = random.next() as u16;
        let dst_port = random.next() as u16;
        Packet::udp((src, src_port), (dst, dst_port)).frame(mac, bytes)
    }

    pub(super) fn events(&self, _: u64) -> Vec<Event> {
        let change = |index: u32, present: bool| {
            let (table, port) = if index.is_multiple_of(2) { (0, Port::Core) } else { (1, Port::Access) };
            let key = addressing::mac(FLUCTUATING, index).to_u64();
            Change::Exact { table: ExactId(table), key, value: present.then_some(port as u32) }
        };
        let arrivals = (0..self.fluct_table).map(|i| (EventKind::MacArrives(i), vec![change(i, true)]));
        let departures = (0..self.fluct_table).map(|i| (EventKind::MacDeparts(i), vec![change(i, false)]));
        schedule(arrivals.chain(departures).collect(), self.spread)
    }

    pub(super) fn oracle(&self) -> L2fwdOracle {
        let macs = |direction| {
            let (prefix, size) = self.side(direction);
            (0..size).map(|i| addressing::mac(prefix, i)).collect()
        };
        L2fwdOracle { known: [macs(Direction::Uplink), macs(Direction::Downlink)] }
    }
}

pub(super) struct L2fwdOracle {
    /// Known addresses of each ingress port.
    known: [HashSet<Mac>; 2],
}

impl Reference for L2fwdOracle {
    fn process(&mut self, _: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let mac = destination_mac(frame)?;
        if self.known[ingress as usize].contains(&mac) { Ok(ingress.other()) } else { Err(DropReason::Miss) }
    }

    fn apply(&mut self, what: EventKind) {
        match what {
            EventKind::MacArrives(i) => {
                self.known[(i % 2) as usize].insert(addressing::mac(FLUCTUATING, i));
            }
            EventKind::MacDeparts(i) => {
                self.known[(i % 2) as usize].remove(&addressing::mac(FLUCTUATING, i));
            }
            _ => {}
        }
    }
}
