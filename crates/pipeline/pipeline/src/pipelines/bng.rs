//! Broadband network gateway: users behind CPEs in GRE, with rate limit, firewall and address translation.
use super::acl::rule6;
use super::gateway::{self, Servers, Subscriber, Subscribers, nat_key as key, nat_value as value};
use super::l3fwd::Family;
use super::{Flow, ParameterError, Reference, Spread, TABLE_MAX, addressing, bounded, parameters, schedule};
use crate::declare::{
    AclId, AclRule, AclTable, Action, Change, Declaration, Direction, DropReason, Element, Encapsulation,
    Event, EventKind, ExactId, ExactTable, Nat, NatId, NatKey, Port, Prefix4, RouteId, Tables, TcpFlags,
    UserId,
};
use crate::reference::{Side, Step, TokenBucket, admit, classify, decap, destination, nat_key, translate};
use crate::trace::frames::{Endpoint, Ingress, Packet};
use ranlab_machine::Random;
use ranlab_packet::{ETHERNET_BYTES, Mac, Protocol};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::Ipv4Addr;

parameters! {
    /// Parameters of pipeline `bng`.
    Bng, fakedrop true {
        user: u32 = 1, "Number of users. User u has key u + 1 and is connected to CPE u modulo `cpe`.";
        cpe: u32 = 1, "Number of customer premises devices (CPE).";
        server: u32 = 1, "Number of servers. Each server has a /24 prefix.";
        nhop: u32 = 2, "Number of next hops towards the servers.";
        user_conn: u32 = 1, "Number of translations per user.";
        fw_rules: u32 = 1, "Number of firewall rules in each direction. As published, no traffic matches them.";
        rate_limit: u64 = gateway::RATE_LIMIT, "Rate of a user, in bytes per second.";
        rate_burst: u32 = gateway::RATE_BURST, "Size of a user's token bucket, in bytes.";
        fluct_user: u32 = 0, "Number of users that arrive and depart per second.";
        fluct_server: u32 = 0, "Number of servers that appear and disappear per second.";
        gw_ip: Ipv4Addr = gateway::GW_IP, "Address of the gateway.";
        #[serde(with = "gateway::mac_text")]
        gw_mac: Mac = gateway::GW_MAC, "MAC address of the gateway.";
        family: Family = Family::Ipv4,
            "IP version of the users. Tunnels are always IPv4. Servers have both versions if any user has IPv6. With both \
            versions, the rules of the firewall alternate between them.";
        tunneling_method: Tunneling = Tunneling::Gre, "Tunnel type towards CPEs.";
        spread: Spread = Spread::Even, "Distribution of events over a second.";
    }
}

/// Tunnel towards CPEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tunneling {
    /// GRE with a key, as described in the paper of the benchmark TIPSY.
    #[default]
    Gre,
    /// VXLAN, as used by TIPSY's released backends.
    Vxlan,
}

const BY_KEY: ExactId = ExactId(0);
const BY_ADDRESS: ExactId = ExactId(1);
/// Maximum number of CPEs and connections with TIPSY's addresses.
const CPE_MAX: u32 = 64_516;

impl Bng {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("user", self.user, 1, TABLE_MAX)?;
        bounded("cpe", self.cpe, 1, CPE_MAX)?;
        bounded("server", self.server, 1, TABLE_MAX)?;
        bounded("nhop", self.nhop, 1, 16_383)?;
        bounded("user-conn", self.user_conn, 1, (TABLE_MAX / self.user).min(addressing::NAT_PORTS))?;
        bounded("fw-rules", self.fw_rules, 0, 50_000)?;
        bounded("fluct-user", self.fluct_user, 0, 65_000)?;
        bounded("fluct-server", self.fluct_server, 0, 65_000)
    }

    pub(super) fn build(&self) -> Declaration {
        let (outward, inward) = gateway::translations(self.family, self.user, self.user_conn);
        let kind = self.kind();
        let ipv6 = self.has_ipv6();
        let routes = if ipv6 { gateway::dual_server_routes } else { gateway::server_routes };
        let admit = Element::Admit { mac: Some(self.gw_mac), ipv6 };
        let uplink = vec![
            admit.clone(),
            Element::Decap { kind, local: self.gw_ip, ipv6 },
            Element::FindUserByTunnelKey(BY_KEY),
            Element::Meter,
            Element::Acl(AclId(0)),
            Element::NatSource(NatId(0)),
            Element::Route(RouteId(0)),
            Element::Forward,
        ];
        let downlink = vec![
            admit,
            Element::NatDestination(NatId(1)),
            Element::Acl(AclId(1)),
            Element::FindUserByDestination(BY_ADDRESS),
            Element::Meter,
            Element::Encap,
        ];
        let user = |u| gateway::user(u + 1, u % self.cpe, self.rate_limit, self.rate_burst);
        let by_key = (0..self.user).map(|u| (u64::from(u + 1), u)).collect();
        let by_address = (0..self.user).map(|u| (gateway::key_of(self.family, u), u)).collect();
        Declaration {
            tables: Tables {
                exact: vec![ExactTable { entries: by_key }, ExactTable { entries: by_address }],
                routes: vec![routes(self.server, self.nhop)],
                acls: vec![self.firewall(Direction::Uplink), self.firewall(Direction::Downlink)],
                nats: vec![outward, inward],
                next_hops: gateway::next_hops(self.nhop),
                users: (0..self.user).map(user).collect(),
                tunnels: (0..self.cpe).map(|c| gateway::tunnel(kind, self.gw_ip, self.gw_mac, c)).collect(),
            },
            uplink: self.decomposition.divide(uplink),
            downlink: self.decomposition.divide(downlink),
            fakedrop: self.fakedrop,
        }
    }

    /// Returns TIPSY's rules. From rule 200 on, the third byte is incremented, because TIPSY's generator would overflow
    /// its byte.
    fn firewall(&self, direction: Direction) -> AclTable {
        let (from, to) = if direction == Direction::Uplink { (25, 26) } else { (27, 28) };
        let rule = |i: u32| {
            let low = (i % 200) as u8;
            let high = (i / 200) as u8;
            let prefix = |a, b, c, d| Prefix4 { address: Ipv4Addr::new(a, b, c, d), length: 24 };
            let src_port = 1000_u16.wrapping_add(i as u16);
            let dst_port = 1500_u16.wrapping_sub(i as u16);
            let rule = AclRule {
                src: prefix(from, low, high.wrapping_add(1), 1),
                dst: prefix(to, 200 - low, high.wrapping_add(2), 2),
                src_ports: (src_port, src_port),
                dst_ports: (dst_port, dst_port),
                protocol: Some(Protocol::TCP.0),
                flags: TcpFlags::default(),
            };
            (rule, Action::Deny)
        };
        let (six, four): (Vec<u32>, Vec<u32>) = (0..self.fw_rules).partition(|i| self.family.is_ipv6(*i));
        let rules = four.into_iter().map(rule).collect();
        let in_six = |i| {
            let (rule, action) = rule(i);
            (rule6(&rule), action)
        };
        AclTable { rules, rules6: six.into_iter().map(in_six).collect(), default: Action::Permit }
    }

    fn has_ipv6(&self) -> bool {
        self.family != Family::Ipv4
    }

    fn kind(&self) -> Encapsulation {
        match self.tunneling_method {
            Tunneling::Gre => Encapsulation::Gre,
            Tunneling::Vxlan => Encapsulation::Vxlan,
        }
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        u64::from(self.user) * u64::from(self.user_conn)
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let index = (flow % self.table_entries(direction)) as u32;
        let user = index / self.user_conn;
        let server = gateway::any_server(self.family.is_ipv6(user), self.server, random);
        let (inside, outside) = gateway::translated(self.family, index, self.user_conn);
        if direction == Direction::Downlink {
            return Packet::tcp(server, outside).frame(self.gw_mac, bytes);
        }
        let (src, src_mac) = addressing::station(user % self.cpe);
        let dst = self.gw_ip;
        let dst_mac = self.gw_mac;
        let tunnel = Ingress { kind: self.kind(), key: user + 1, src, dst, src_mac, dst_mac };
        tunnel.wrap(&Packet::tcp(inside, server).packet(bytes.saturating_sub(ETHERNET_BYTES)))
    }

    /// Returns the private and public sides of the connections of a user that is added and removed. Its public
    /// addresses follow the addresses of the static users.
    fn fluct_translations(&self, index: u32) -> impl Iterator<Item = (Endpoint, Endpoint)> {
        let first = (self.user + index) * self.user_conn;
        let ipv6 = self.family.is_ipv6(index);
        let address = if ipv6 {
            addressing::host6(addressing::fluct_user6(index), gateway::TRANSLATED_HOST).into()
        } else {
            addressing::fluct_user(index).into()
        };
        (0..self.user_conn).map(move |c| {
            ((address, addressing::NAT_PORT_FIRST + c as u16), gateway::public(ipv6, first + c))
        })
    }

    fn user_changes(&self, index: u32, present: bool) -> Vec<Change> {
        let id = self.user + index;
        let found = present.then_some(id);
        let address = gateway::fluct_key_of(self.family, index);
        let mut changes = vec![
            Change::Exact { table: BY_KEY, key: u64::from(id) + 1, value: found },
            Change::Exact { table: BY_ADDRESS, key: address, value: found },
        ];
        if present {
            let value = gateway::user(id + 1, id % self.cpe, self.rate_limit, self.rate_burst);
            changes.insert(0, Change::User { id: UserId(id), value });
        }
        for (inside, outside) in self.fluct_translations(index) {
            let out = present.then_some(value(outside));
            let back = present.then_some(value(inside));
            changes.push(Change::Translation { table: NatId(0), key: key(inside), value: out });
            changes.push(Change::Translation { table: NatId(1), key: key(outside), value: back });
        }
        changes
    }

    pub(super) fn events(&self, _: u64) -> Vec<Event> {
        let server = |i, present| gateway::server_changes(self.family, i, self.nhop, present);
        let mut list: Vec<_> =
            (0..self.fluct_user).map(|i| (EventKind::UserArrives(i), self.user_changes(i, true))).collect();
        list.extend((0..self.fluct_server).map(|i| (EventKind::ServerArrives(i), server(i, true))));
        list.extend((0..self.fluct_server).map(|i| (EventKind::ServerDeparts(i), server(i, false))));
        list.extend((0..self.fluct_user).map(|i| (EventKind::UserDeparts(i), self.user_changes(i, false))));
        schedule(list, self.spread)
    }

    pub(super) fn oracle(&self) -> BngOracle {
        let (outward, inward) = gateway::translations(self.family, self.user, self.user_conn);
        let mut oracle = BngOracle {
            users: Subscribers::default(),
            servers: Servers::new(self.family, self.server, self.nhop),
            rules: [self.firewall(Direction::Uplink), self.firewall(Direction::Downlink)],
            outward: outward.entries.into_iter().collect(),
            inward: inward.entries.into_iter().collect(),
            parameters: self.clone(),
        };
        (0..self.user).for_each(|u| oracle.add(gateway::key_of(self.family, u), u));
        oracle
    }
}

pub(super) struct BngOracle {
    parameters: Bng,
    users: Subscribers,
    servers: Servers,
    /// Rules for packets of each ingress port.
    rules: [AclTable; 2],
    outward: HashMap<NatKey, Nat>,
    inward: HashMap<NatKey, Nat>,
}

impl BngOracle {
    fn add(&mut self, address: u64, number: u32) {
        let bucket = TokenBucket::full(self.parameters.rate_limit, self.parameters.rate_burst);
        let station = number % self.parameters.cpe;
        self.users.insert(Subscriber { address, tunnel_key: number + 1, station, bucket });
    }
}

impl Reference for BngOracle {
    fn process(&mut self, now_ns: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let kind = self.parameters.kind();
        let gw_ip = self.parameters.gw_ip;
        let gw_mac = self.parameters.gw_mac;
        let ipv6 = self.parameters.has_ipv6();
        admit(frame, Some(gw_mac), ipv6)?;
        if ingress == Port::Access {
            let key = decap(frame, kind, gw_ip, ipv6)?;
            self.users.by_key(key)?.bucket.charge(now_ns, frame)?;
            classify(&self.rules[ingress as usize], frame)?;
            let to = *self.outward.get(&nat_key(frame, Side::Source)?).ok_or(DropReason::Miss)?;
            translate(frame, Side::Source, to)?;
            let to = destination(frame)?;
            return self.servers.forward(frame, to);
        }
        let to = *self.inward.get(&nat_key(frame, Side::Destination)?).ok_or(DropReason::Miss)?;
        translate(frame, Side::Destination, to)?;
        classify(&self.rules[ingress as usize], frame)?;
        let to = destination(frame)?;
        let user = self.users.by_address(to)?;
        user.bucket.charge(now_ns, frame)?;
        gateway::into_tunnel(frame, user, (kind, gw_ip, gw_mac))
    }

    fn apply(&mut self, what: EventKind) {
        let first = self.parameters.user;
        match what {
            EventKind::UserArrives(i) => {
                self.add(gateway::fluct_key_of(self.parameters.family, i), first + i);
                for (inside, outside) in self.parameters.fluct_translations(i) {
                    self.outward.insert(key(inside), value(outside));
                    self.inward.insert(key(outside), value(inside));
                }
            }
            EventKind::UserDeparts(i) => {
                self.users.remove(first + i + 1);
                for (inside, outside) in self.parameters.fluct_translations(i) {
                    self.outward.remove(&key(inside));
                    self.inward.remove(&key(outside));
                }
            }
            EventKind::ServerArrives(i) => self.servers.arrive(i),
            EventKind::ServerDeparts(i) => self.servers.depart(i),
            _ => {}
        }
    }
}
