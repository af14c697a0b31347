//! Data centre gateway: virtual machines behind hosts in VXLAN, with address translation towards the network. The paper
//! of the benchmark TIPSY lists this pipeline in a table without details, so sizes and addresses follow the paper's
//! other gateways.
use super::gateway::{self, Servers, Subscriber, Subscribers};
use super::l3fwd::Family;
use super::{Flow, ParameterError, Reference, TABLE_MAX, addressing, bounded, parameters};
use crate::declare::{
    Declaration, Direction, DropReason, Element, Encapsulation, ExactId, ExactTable, NatId, NatKey, NatTable,
    Port, RouteId, Tables,
};
use crate::reference::{Side, Step, TokenBucket, admit, decap, destination, nat_key, translate};
use crate::trace::frames::{Ingress, Packet};
use ranlab_machine::Random;
use ranlab_packet::{ETHERNET_BYTES, Mac};
use std::net::Ipv4Addr;

parameters! {
    /// Parameters of pipeline `dcgw`.
    Dcgw, fakedrop true {
        vm: u32 = 1, "Number of virtual machines. Machine m has VNI m + 1 and runs on host m modulo `host`.";
        host: u32 = 1, "Number of hosts.";
        vm_conn: u32 = 1, "Number of translations per machine.";
        server: u32 = 1, "Number of servers. Each server has a /24 prefix.";
        nhop: u32 = 2, "Number of next hops towards the servers.";
        gw_ip: Ipv4Addr = gateway::GW_IP, "Address of the gateway.";
        #[serde(with = "gateway::mac_text")]
        gw_mac: Mac = gateway::GW_MAC, "MAC address of the gateway.";
        family: Family = Family::Ipv4, "IP version of the machines. Tunnels are always IPv4. Servers have both versions if any machine has IPv6.";
    }
}

const BY_VNI: ExactId = ExactId(0);
const BY_ADDRESS: ExactId = ExactId(1);

impl Dcgw {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("vm", self.vm, 1, TABLE_MAX)?;
        bounded("host", self.host, 1, TABLE_MAX)?;
        bounded("vm-conn", self.vm_conn, 1, (TABLE_MAX / self.vm).min(addressing::NAT_PORTS))?;
        bounded("server", self.server, 1, TABLE_MAX)?;
        bounded("nhop", self.nhop, 1, 16_383)
    }

    pub(super) fn build(&self) -> Declaration {
        let (outward, inward) = gateway::translations(self.family, self.vm, self.vm_conn);
        let ipv6 = self.has_ipv6();
        let routes = if ipv6 { gateway::dual_server_routes } else { gateway::server_routes };
        let admit = Element::Admit { mac: Some(self.gw_mac), ipv6 };
        let kind = Encapsulation::Vxlan;
        let uplink = vec![
            admit.clone(),
            Element::Decap { kind, local: self.gw_ip, ipv6 },
            Element::FindUserByTunnelKey(BY_VNI),
            Element::NatSource(NatId(0)),
            Element::Route(RouteId(0)),
            Element::Forward,
        ];
        let by_address = Element::FindUserByDestination(BY_ADDRESS);
        let downlink = vec![admit, Element::NatDestination(NatId(1)), by_address, Element::Encap];
        let by_vni = (0..self.vm).map(|m| (u64::from(m + 1), m)).collect();
        let by_address = (0..self.vm).map(|m| (gateway::key_of(self.family, m), m)).collect();
        Declaration {
            tables: Tables {
                exact: vec![ExactTable { entries: by_vni }, ExactTable { entries: by_address }],
                routes: vec![routes(self.server, self.nhop)],
                nats: vec![outward, inward],
                next_hops: gateway::next_hops(self.nhop),
                users: (0..self.vm).map(|m| gateway::user(m + 1, m % self.host, 0, 0)).collect(),
                tunnels: (0..self.host).map(|h| gateway::tunnel(kind, self.gw_ip, self.gw_mac, h)).collect(),
                ..Tables::default()
            },
            uplink: self.decomposition.divide(uplink),
            downlink: self.decomposition.divide(downlink),
            fakedrop: self.fakedrop,
        }
    }

    fn has_ipv6(&self) -> bool {
        self.family != Family::Ipv4
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        u64::from(self.vm) * u64::from(self.vm_conn)
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let index = (flow % self.table_entries(direction)) as u32;
        let vm = index / self.vm_conn;
        let server = gateway::any_server(self.family.is_ipv6(vm), self.server, random);
        let (inside, outside) = gateway::translated(self.family, index, self.vm_conn);
        if direction == Direction::Downlink {
            return Packet::tcp(server, outside).frame(self.gw_mac, bytes);
        }
        let (src, src_mac) = addressing::station(vm % self.host);
        let dst = self.gw_ip;
        let dst_mac = self.gw_mac;
        let tunnel = Ingress { kind: Encapsulation::Vxlan, key: vm + 1, src, dst, src_mac, dst_mac };
        tunnel.wrap(&Packet::tcp(inside, server).packet(bytes.saturating_sub(ETHERNET_BYTES)))
    }

    pub(super) fn oracle(&self) -> DcgwOracle {
        let mut users = Subscribers::default();
        for vm in 0..self.vm {
            let address = gateway::key_of(self.family, vm);
            let station = vm % self.host;
            let bucket = TokenBucket::full(0, 0);
            users.insert(Subscriber { address, tunnel_key: vm + 1, station, bucket });
        }
        let (outward, inward) = gateway::translations(self.family, self.vm, self.vm_conn);
        let servers = Servers::new(self.family, self.server, self.nhop);
        DcgwOracle { parameters: self.clone(), users, servers, outward, inward }
    }
}

pub(super) struct DcgwOracle {
    parameters: Dcgw,
    users: Subscribers,
    servers: Servers,
    outward: NatTable,
    inward: NatTable,
}

/// Searches the table linearly for a key.
fn lookup(table: &NatTable, key: NatKey) -> Step<crate::declare::Nat> {
    table.entries.iter().find(|(k, _)| *k == key).map(|(_, value)| *value).ok_or(DropReason::Miss)
}

impl Reference for DcgwOracle {
    fn process(&mut self, _: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let ip = self.parameters.gw_ip;
        let mac = self.parameters.gw_mac;
        let ipv6 = self.parameters.has_ipv6();
        admit(frame, Some(mac), ipv6)?;
        if ingress == Port::Access {
            let vni = decap(frame, Encapsulation::Vxlan, ip, ipv6)?;
            self.users.by_key(vni)?;
            let to = lookup(&self.outward, nat_key(frame, Side::Source)?)?;
            translate(frame, Side::Source, to)?;
            let to = destination(frame)?;
            return self.servers.forward(frame, to);
        }
        let to = lookup(&self.inward, nat_key(frame, Side::Destination)?)?;
        translate(frame, Side::Destination, to)?;
        let to = destination(frame)?;
        gateway::into_tunnel(frame, self.users.by_address(to)?, (Encapsulation::Vxlan, ip, mac))
    }
}
