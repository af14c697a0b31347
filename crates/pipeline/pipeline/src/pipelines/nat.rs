//! Network address and port translation (NAPT) with a static table, from private addresses and ports to public ones and
//! vice versa.
use super::gateway::{self, nat_key as key, nat_value as value};
use super::l3fwd::Family;
use super::{Flow, ParameterError, Reference, TABLE_MAX, addressing, parameters};
use crate::declare::{
    Declaration, Direction, DropReason, Element, NatId, NatTable, NextHop, NextHopId, Port, Prefix4, Prefix6,
    RouteId, RouteTable, Tables,
};
use crate::reference::{Side, Step, admit, nat_key, spend_hop, translate};
use crate::trace::frames::{Endpoint, Packet};
use ranlab_machine::Random;
use ranlab_packet::{Mac, Protocol};
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

parameters! {
    /// Parameters of pipeline `nat`. The table has a TCP translation for each combination of an address and a port of
    /// these ranges.
    Nat, fakedrop true {
        range_ipv4_min: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1),
            "First private address that is translated. It is also the last 32 bits of the private IPv6 address, in 2001:db9::/64.";
        range_ipv4_max: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1), "Last private address that is translated.";
        range_port_min: u16 = 1000, "First private port that is translated, 1 or more.";
        range_port_max: u16 = 2000, "Last private port that is translated.";
        #[serde(with = "gateway::mac_text")]
        uplink_dst_mac: Mac = Mac([0xaa, 0xbb, 0xbb, 0xaa, 0, 1]), "Destination MAC address of packets that leave through the core port.";
        #[serde(with = "gateway::mac_text")]
        downlink_dst_mac: Mac = Mac([0xaa, 0xcc, 0xdd, 0xcc, 0, 1]), "Destination MAC address of packets that leave through the access port.";
        family: Family = Family::Ipv4, "IP version of translated packets. With both versions, translations alternate between them.";
    }
}

impl Nat {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.checked_translations().map(|_| ())
    }

    pub(super) fn build(&self) -> Declaration {
        let total = self.checked_translations().unwrap_or(0);
        let pairs = || (0..total).map(|i| self.pair(i));
        let path = |nat, table| {
            let admit = Element::Admit { mac: None, ipv6: self.has_ipv6() };
            self.decomposition.divide(vec![admit, nat, Element::Route(RouteId(table)), Element::Forward])
        };
        let everywhere = Prefix4 { address: Ipv4Addr::UNSPECIFIED, length: 0 };
        let everywhere6 = Prefix6 { address: Ipv6Addr::UNSPECIFIED, length: 0 };
        let route = |next_hop| RouteTable {
            ipv4: vec![(everywhere, NextHopId(next_hop))],
            ipv6: self.has_ipv6().then_some((everywhere6, NextHopId(next_hop))).into_iter().collect(),
        };
        Declaration {
            tables: Tables {
                nats: vec![
                    NatTable {
                        entries: pairs().map(|(inside, outside)| (key(inside), value(outside))).collect(),
                    },
                    NatTable {
                        entries: pairs().map(|(inside, outside)| (key(outside), value(inside))).collect(),
                    },
                ],
                routes: vec![route(0), route(1)],
                next_hops: vec![
                    NextHop { dst: Some(self.uplink_dst_mac), src: None, port: Port::Core },
                    NextHop { dst: Some(self.downlink_dst_mac), src: None, port: Port::Access },
                ],
                ..Tables::default()
            },
            uplink: path(Element::NatSource(NatId(0)), 0),
            downlink: path(Element::NatDestination(NatId(1)), 1),
            fakedrop: self.fakedrop,
        }
    }

    fn has_ipv6(&self) -> bool {
        self.family != Family::Ipv4
    }

    fn checked_translations(&self) -> Result<u32, ParameterError> {
        let first = u64::from(self.range_ipv4_min.to_bits());
        let last = u64::from(self.range_ipv4_max.to_bits());
        if last < first {
            let most = u32::MAX.into();
            return Err(ParameterError { parameter: "range-ipv4-max", value: last, least: first, most });
        }
        let low = u64::from(self.range_port_min);
        let high = u64::from(self.range_port_max);
        if low == 0 || high < low {
            let least = low.max(1);
            return Err(ParameterError { parameter: "range-port-max", value: high, least, most: 65_535 });
        }
        let total = (last - first + 1) * (high - low + 1);
        let most = u64::from(TABLE_MAX);
        if total > most {
            return Err(ParameterError {
                parameter: "range-ipv4 times range-port",
                value: total,
                least: 1,
                most,
            });
        }
        Ok(total as u32)
    }

    /// Returns the private and public side of translation `index`.
    fn pair(&self, index: u32) -> (Endpoint, Endpoint) {
        let ports = u32::from(self.range_port_max - self.range_port_min) + 1;
        let address = Ipv4Addr::from_bits(self.range_ipv4_min.to_bits() + index / ports);
        let port = self.range_port_min + (index % ports) as u16;
        let ipv6 = self.family.is_ipv6(index);
        let address = if ipv6 {
            addressing::host6(addressing::user6(0), address.to_bits().into()).into()
        } else {
            address.into()
        };
        ((address, port), gateway::public(ipv6, index))
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        self.checked_translations().unwrap_or(1).into()
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let (inside, outside) = self.pair((flow % self.table_entries(direction).max(1)) as u32);
        let server = gateway::any_server(inside.0.is_ipv6(), 1 << 16, random);
        let (from, to) = if direction == Direction::Uplink { (inside, server) } else { (server, outside) };
        Packet::tcp(from, to).frame(gateway::GW_MAC, bytes)
    }

    pub(super) fn oracle(&self) -> NatOracle {
        let total = self.checked_translations().unwrap_or(0);
        let pairs = || (0..total).map(|i| self.pair(i));
        NatOracle {
            parameters: self.clone(),
            outward: pairs().collect(),
            inward: pairs().map(|(inside, outside)| (outside, inside)).collect(),
        }
    }
}

pub(super) struct NatOracle {
    parameters: Nat,
    outward: HashMap<Endpoint, Endpoint>,
    inward: HashMap<Endpoint, Endpoint>,
}

impl Reference for NatOracle {
    fn process(&mut self, _: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        admit(frame, None, self.parameters.has_ipv6())?;
        let (side, table, mac) = match ingress {
            Port::Access => (Side::Source, &self.outward, self.parameters.uplink_dst_mac),
            Port::Core => (Side::Destination, &self.inward, self.parameters.downlink_dst_mac),
        };
        let key = nat_key(frame, side)?;
        let found = table.get(&(key.address, key.port)).filter(|_| key.protocol == Protocol::TCP.0);
        let &(address, port) = found.ok_or(DropReason::Miss)?;
        translate(frame, side, crate::declare::Nat { address, port })?;
        spend_hop(frame)?;
        frame[..6].copy_from_slice(&mac.0);
        Ok(ingress.other())
    }
}
