//! Mobile gateway: users behind base stations in tunnels, servers behind next hops, one meter per user.
use super::gateway::{self, Servers, Subscriber, Subscribers};
use super::l3fwd::Family;
use super::{Flow, ParameterError, Reference, Spread, TABLE_MAX, addressing, bounded, parameters, schedule};
use crate::declare::{
    Change, Declaration, Direction, Element, Encapsulation, Event, EventKind, ExactId, ExactTable, Port,
    RouteId, Tables, TunnelId, UserId,
};
use crate::reference::{Step, TokenBucket, admit, decap, destination};
use crate::trace::frames::{Ingress, Packet};
use ranlab_machine::Random;
use ranlab_packet::{ETHERNET_BYTES, Mac, Protocol};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};

parameters! {
    /// Parameters of pipeline `mgw`.
    Mgw, fakedrop true {
        user: u32 = 1, "Number of users. User u has TEID u + 1 and is served by base station u modulo `bst`.";
        bst: u32 = 1, "Number of base stations.";
        server: u32 = 1, "Number of servers. Each server has a /24 prefix.";
        nhop: u32 = 2, "Number of next hops towards the servers.";
        rate_limit: u64 = gateway::RATE_LIMIT, "Rate of a user, in bytes per second.";
        rate_burst: u32 = gateway::RATE_BURST, "Size of a user's token bucket, in bytes.";
        fluct_user: u32 = 0, "Number of users that arrive and depart per second.";
        handover: u32 = 0, "Number of handovers per second.";
        fluct_server: u32 = 0, "Number of servers that appear and disappear per second.";
        gw_ip: Ipv4Addr = gateway::GW_IP, "Address of the gateway.";
        #[serde(with = "gateway::mac_text")]
        gw_mac: Mac = gateway::GW_MAC, "MAC address of the gateway.";
        family: Family = Family::Ipv4, "IP version of the users. Tunnels are always IPv4. Servers have both versions if any user has IPv6.";
        tunneling_method: Tunneling = Tunneling::Gtp, "Tunnel type towards base stations.";
        qfi: u8 = 9, "QoS flow identifier in the PDU session container of GTP-U, 0 to 63.";
        spread: Spread = Spread::Even, "Distribution of events over a second.";
    }
}

/// Tunnel towards base stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tunneling {
    /// GTP-U with a PDU session container, as described in the paper of the benchmark TIPSY.
    #[default]
    Gtp,
    /// VXLAN with the TEID as VNI, as used by TIPSY's released backends.
    Vxlan,
}

/// Ids of the tables that the elements use.
const BY_TEID: ExactId = ExactId(0);
const BY_ADDRESS: ExactId = ExactId(1);

impl Mgw {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("user", self.user, 1, TABLE_MAX)?;
        bounded("bst", self.bst, 1, TABLE_MAX)?;
        bounded("server", self.server, 1, TABLE_MAX)?;
        bounded("nhop", self.nhop, 1, 16_383)?;
        bounded("fluct-user", self.fluct_user, 0, TABLE_MAX)?;
        bounded("handover", self.handover, 0, TABLE_MAX)?;
        bounded("fluct-server", self.fluct_server, 0, 65_000)?;
        bounded("qfi", self.qfi.into(), 0, 63)
    }

    pub(super) fn build(&self) -> Declaration {
        let user = |u| gateway::user(u + 1, u % self.bst, self.rate_limit, self.rate_burst);
        let by_teid = (0..self.user).map(|u| (u64::from(u + 1), u)).collect();
        let by_address = (0..self.user).map(|u| (gateway::key_of(self.family, u), u)).collect();
        let kind = self.kind();
        let ipv6 = self.has_ipv6();
        let admit = Element::Admit { mac: Some(self.gw_mac), ipv6 };
        let routes = if ipv6 { gateway::dual_server_routes } else { gateway::server_routes };
        let uplink = vec![
            admit.clone(),
            Element::Decap { kind, local: self.gw_ip, ipv6 },
            Element::FindUserByTunnelKey(BY_TEID),
            Element::Meter,
            Element::Route(RouteId(0)),
            Element::Forward,
        ];
        let downlink =
            vec![admit, Element::FindUserByDestination(BY_ADDRESS), Element::Meter, Element::Encap];
        Declaration {
            tables: Tables {
                exact: vec![ExactTable { entries: by_teid }, ExactTable { entries: by_address }],
                routes: vec![routes(self.server, self.nhop)],
                next_hops: gateway::next_hops(self.nhop),
                users: (0..self.user).map(user).collect(),
                tunnels: (0..self.bst).map(|b| gateway::tunnel(kind, self.gw_ip, self.gw_mac, b)).collect(),
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

    fn kind(&self) -> Encapsulation {
        match self.tunneling_method {
            Tunneling::Gtp => Encapsulation::Gtp { qfi: self.qfi },
            Tunneling::Vxlan => Encapsulation::Vxlan,
        }
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        self.user.into()
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let user = (flow % u64::from(self.user.max(1))) as u32;
        let server = random.index(self.server);
        let protocol = if random.below(2) == 0 { Protocol::TCP } else { Protocol::UDP };
        let src_port = random.next() as u16;
        let dst_port = random.next() as u16;
        let (address, server): (IpAddr, IpAddr) = if self.family.is_ipv6(user) {
            let address = addressing::host6(addressing::user6(user), random.next());
            (address.into(), addressing::server6(server).into())
        } else {
            (addressing::user(user).into(), addressing::server(server).into())
        };
        if direction == Direction::Downlink {
            let packet = Packet::new(protocol, (server, src_port), (address, dst_port));
            return packet.frame(self.gw_mac, bytes);
        }
        let packet = Packet::new(protocol, (address, src_port), (server, dst_port));
        let (src, src_mac) = addressing::station(user % self.bst.max(1));
        let tunnel =
            Ingress { kind: self.kind(), key: user + 1, src, dst: self.gw_ip, src_mac, dst_mac: self.gw_mac };
        tunnel.wrap(&packet.packet(bytes.saturating_sub(ETHERNET_BYTES)))
    }

    pub(super) fn events(&self, second: u64) -> Vec<Event> {
        let id = |i| self.user + i;
        let arrival = |i| {
            let value = gateway::user(id(i) + 1, id(i) % self.bst, self.rate_limit, self.rate_burst);
            let changes = vec![
                Change::User { id: UserId(id(i)), value },
                Change::Exact { table: BY_TEID, key: u64::from(id(i)) + 1, value: Some(id(i)) },
                Change::Exact {
                    table: BY_ADDRESS,
                    key: gateway::fluct_key_of(self.family, i),
                    value: Some(id(i)),
                },
            ];
            (EventKind::UserArrives(i), changes)
        };
        let departure = |i| {
            let changes = vec![
                Change::Exact { table: BY_TEID, key: u64::from(id(i)) + 1, value: None },
                Change::Exact { table: BY_ADDRESS, key: gateway::fluct_key_of(self.family, i), value: None },
            ];
            (EventKind::UserDeparts(i), changes)
        };
        let server = |i, present| gateway::server_changes(self.family, i, self.nhop, present);
        let handover = |i: u32| {
            // As in TIPSY, handover i of a second moves a user from its first base station to the one i + 1 further.
            // Here, i also counts the handovers of earlier seconds.
            let number = (second as u32).wrapping_mul(self.handover).wrapping_add(i);
            let user = number % self.user;
            let to = (user % self.bst).wrapping_add(number).wrapping_add(1) % self.bst;
            let change = Change::Attach { user: UserId(user), tunnel: TunnelId(to) };
            (EventKind::Handover { user, to }, vec![change])
        };
        let mut list: Vec<_> = (0..self.fluct_user).map(arrival).collect();
        list.extend((0..self.fluct_server).map(|i| (EventKind::ServerArrives(i), server(i, true))));
        list.extend((0..self.handover).map(handover));
        list.extend((0..self.fluct_server).map(|i| (EventKind::ServerDeparts(i), server(i, false))));
        list.extend((0..self.fluct_user).map(departure));
        schedule(list, self.spread)
    }

    pub(super) fn oracle(&self) -> MgwOracle {
        let mut oracle = MgwOracle {
            servers: Servers::new(self.family, self.server, self.nhop),
            users: Subscribers::default(),
            parameters: self.clone(),
        };
        (0..self.user).for_each(|u| oracle.add(gateway::key_of(self.family, u), u));
        oracle
    }
}

pub(super) struct MgwOracle {
    parameters: Mgw,
    servers: Servers,
    users: Subscribers,
}

impl MgwOracle {
    fn add(&mut self, address: u64, number: u32) {
        let bucket = TokenBucket::full(self.parameters.rate_limit, self.parameters.rate_burst);
        let station = number % self.parameters.bst;
        self.users.insert(Subscriber { address, tunnel_key: number + 1, station, bucket });
    }
}

impl Reference for MgwOracle {
    fn process(&mut self, now_ns: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let kind = self.parameters.kind();
        let gw_ip = self.parameters.gw_ip;
        let gw_mac = self.parameters.gw_mac;
        let ipv6 = self.parameters.has_ipv6();
        admit(frame, Some(gw_mac), ipv6)?;
        if ingress == Port::Access {
            let teid = decap(frame, kind, gw_ip, ipv6)?;
            self.users.by_key(teid)?.bucket.charge(now_ns, frame)?;
            let to = destination(frame)?;
            return self.servers.forward(frame, to);
        }
        let to = destination(frame)?;
        let user = self.users.by_address(to)?;
        user.bucket.charge(now_ns, frame)?;
        gateway::into_tunnel(frame, user, (kind, gw_ip, gw_mac))
    }

    fn apply(&mut self, what: EventKind) {
        let first = self.parameters.user;
        match what {
            EventKind::UserArrives(i) => {
                self.add(gateway::fluct_key_of(self.parameters.family, i), first + i)
            }
            EventKind::UserDeparts(i) => self.users.remove(first + i + 1),
            EventKind::Handover { user, to } => {
                if let Ok(user) = self.users.by_key(user + 1) {
                    user.station = to;
                }
            }
            EventKind::ServerArrives(i) => self.servers.arrive(i),
            EventKind::ServerDeparts(i) => self.servers.depart(i),
            _ => {}
        }
    }
}
