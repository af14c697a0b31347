//! VXLAN tunnel endpoint: uplink frames to a known MAC enter the tunnel of its host, and downlink frames leave their
//! tunnel. The paper of the benchmark TIPSY lists this pipeline in a table without details, so sizes and addresses
//! follow the other pipelines of the paper.
use super::gateway::{self, Subscriber};
use super::l3fwd::Family;
use super::{Flow, ParameterError, Reference, TABLE_MAX, addressing, bounded, parameters};
use crate::declare::{
    Declaration, Direction, DropReason, Element, Encapsulation, ExactId, ExactTable, NextHop, Port, Tables,
};
use crate::reference::{Step, TokenBucket, admit, decap, destination_mac};
use crate::trace::frames::{Ingress, Packet};
use ranlab_machine::Random;
use ranlab_packet::{ETHERNET_BYTES, Mac};
use std::collections::HashMap;
use std::net::Ipv4Addr;

parameters! {
    /// Parameters of pipeline `encap`.
    Encap, fakedrop true {
        station: u32 = 2, "Number of stations. Station s has VNI s + 1 and is behind endpoint s modulo `endpoint`.";
        endpoint: u32 = 1, "Number of remote tunnel endpoints.";
        gw_ip: Ipv4Addr = gateway::GW_IP, "Address of this endpoint.";
        #[serde(with = "gateway::mac_text")]
        gw_mac: Mac = gateway::GW_MAC, "MAC address of this endpoint.";
        family: Family = Family::Ipv4, "IP version of packets from the stations. Tunnels are always IPv4.";
    }
}

const BY_MAC: ExactId = ExactId(0);
const BY_VNI: ExactId = ExactId(1);
const LOCAL: ExactId = ExactId(2);
/// MAC prefixes of the stations beyond the tunnels, and of the stations on this side.
const FAR: [u8; 4] = [0xaa, 0xbb, 0xbb, 0xaa];
const NEAR: [u8; 4] = [0xaa, 0xdd, 0xdd, 0xaa];

impl Encap {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("station", self.station, 1, TABLE_MAX)?;
        bounded("endpoint", self.endpoint, 1, TABLE_MAX)
    }

    pub(super) fn build(&self) -> Declaration {
        let table = |key: &dyn Fn(u32) -> u64, value: &dyn Fn(u32) -> u32| ExactTable {
            entries: (0..self.station).map(|s| (key(s), value(s))).collect(),
        };
        // Tunnels use the core port here, because the remote stations are the network.
        let tunnel = |e| {
            let tunnel = gateway::tunnel(Encapsulation::Vxlan, self.gw_ip, self.gw_mac, e);
            crate::declare::Tunnel { port: Port::Core, ..tunnel }
        };
        let ipv6 = self.family != Family::Ipv4;
        let downlink = vec![
            Element::Admit { mac: Some(self.gw_mac), ipv6 },
            Element::Decap { kind: Encapsulation::Vxlan, local: self.gw_ip, ipv6 },
            Element::FindUserByTunnelKey(BY_VNI),
            Element::Bridge(LOCAL),
            Element::Deliver,
        ];
        Declaration {
            tables: Tables {
                exact: vec![
                    table(&|s| addressing::mac(FAR, s).to_u64(), &|s| s),
                    table(&|s| u64::from(s) + 1, &|s| s),
                    table(&|s| addressing::mac(NEAR, s).to_u64(), &|_| 0),
                ],
                next_hops: vec![NextHop { dst: None, src: None, port: Port::Access }],
                users: (0..self.station).map(|s| gateway::user(s + 1, s % self.endpoint, 0, 0)).collect(),
                tunnels: (0..self.endpoint).map(tunnel).collect(),
                ..Tables::default()
            },
            uplink: self.decomposition.divide(vec![Element::FindUserByMac(BY_MAC), Element::Encap]),
            downlink: self.decomposition.divide(downlink),
            fakedrop: self.fakedrop,
        }
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        self.station.into()
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let station = (flow % u64::from(self.station.max(1))) as u32;
        let user = random.index(1 << 16);
        let server = random.index(1 << 16);
        let ports = (random.next() as u16, random.next() as u16);
        let packet = if self.family.is_ipv6(station) {
            let user = addressing::host6(addressing::user6(user), 1);
            Packet::udp((user, ports.0), (addressing::server6(server), ports.1))
        } else {
            Packet::udp((addressing::user(user), ports.0), (addressing::server(server), ports.1))
        };
        if direction == Direction::Uplink {
            return packet.frame(addressing::mac(FAR, station), bytes);
        }
        let (src, src_mac) = addressing::station(station % self.endpoint.max(1));
        let dst = self.gw_ip;
        let dst_mac = self.gw_mac;
        let tunnel = Ingress { kind: Encapsulation::Vxlan, key: station + 1, src, dst, src_mac, dst_mac };
        let mut frame = tunnel.wrap(&packet.packet(bytes.saturating_sub(ETHERNET_BYTES)));
        // The inner frame is addressed to a station on this side.
        frame[50..56].copy_from_slice(&addressing::mac(NEAR, station).0);
        frame
    }

    pub(super) fn oracle(&self) -> EncapOracle {
        let subscriber = |s| Subscriber {
            address: 0,
            tunnel_key: s + 1,
            station: s % self.endpoint,
            bucket: TokenBucket::full(0, 0),
        };
        EncapOracle {
            far: (0..self.station).map(|s| (addressing::mac(FAR, s), subscriber(s))).collect(),
            near: (0..self.station).map(|s| addressing::mac(NEAR, s)).collect(),
            parameters: self.clone(),
        }
    }
}

pub(super) struct EncapOracle {
    parameters: Encap,
    far: HashMap<Mac, Subscriber>,
    near: Vec<Mac>,
}

impl Reference for EncapOracle {
    fn process(&mut self, _: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let ip = self.parameters.gw_ip;
        let mac = self.parameters.gw_mac;
        if ingress == Port::Access {
            let subscriber = self.far.get(&destination_mac(frame)?).ok_or(DropReason::Miss)?;
            gateway::into_tunnel(frame, subscriber, (Encapsulation::Vxlan, ip, mac))?;
            return Ok(Port::Core);
        }
        let ipv6 = self.parameters.family != Family::Ipv4;
        admit(frame, Some(mac), ipv6)?;
        let vni = decap(frame, Encapsulation::Vxlan, ip, ipv6)?;
        if vni == 0 || vni > self.parameters.station || !self.near.contains(&destination_mac(frame)?) {
            return Err(DropReason::Miss);
        }
        Ok(Port::Access)
    }
}
