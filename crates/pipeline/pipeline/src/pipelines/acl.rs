//! Firewall: rules over the five-tuple with the structure of classbench's seeds, and traffic that matches them.
use super::{Flow, ParameterError, Reference, addressing, bounded, gateway, l3fwd as ip, parameters};
use crate::declare::{
    AclId, AclRule, AclTable, Action, Declaration, Direction, Element, Port, Prefix4, Prefix6, Tables,
    TcpFlags,
};
use crate::reference::{Step, admit, classify};
use crate::trace::frames::Packet;
use ranlab_machine::Random;
use ranlab_packet::Protocol;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

parameters! {
    /// Parameters of pipeline `acl`. TIPSY's `classbench-cmd` and `implementation-type` are omitted, because they
    /// belong to tools that are not used here.
    Acl, fakedrop true {
        rule_num: u32 = 2, "Number of rules.";
        seed_file: Family = Family::Acl1, "Filter set whose structure the rules have.";
        rule_seed: u64 = 1, "Seed of the random rules.";
        family: ip::Family = ip::Family::Ipv4, "IP version of the rules. IPv6 rules have the same structure, within a /32 prefix.";
    }
}

/// Families of rule sets, named after classbench's seeds. Shares are rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Access control: specific destinations, exact destination ports.
    #[default]
    Acl1,
    /// Firewall: wildcards on either side, and port ranges.
    Fw1,
    /// IP chains: a mix of both.
    Ipc1,
}

/// Choices with relative weights.
type Choices<T> = &'static [(u32, T)];

#[derive(Clone, Copy)]
enum Ports {
    Any,
    /// Ports 1024 and above.
    High,
    /// Ports below 1024.
    Low,
    /// A range of ports.
    Range,
    /// A well-known service.
    Exact,
}

struct Profile {
    src_lengths: Choices<u8>,
    dst_lengths: Choices<u8>,
    src_ports: Choices<Ports>,
    dst_ports: Choices<Ports>,
    protocols: Choices<Option<u8>>,
    /// Number of 16-bit networks from which addresses are drawn. With fewer networks, prefixes nest more.
    networks: u32,
}

const ACL1: Profile = Profile {
    src_lengths: &[
        (12, 0),
        (2, 8),
        (10, 16),
        (5, 20),
        (8, 23),
        (28, 24),
        (5, 27),
        (8, 28),
        (4, 30),
        (18, 32),
    ],
    dst_lengths: &[(2, 0), (6, 16), (4, 21), (6, 23), (24, 24), (3, 25), (6, 27), (6, 28), (5, 30), (38, 32)],
    src_ports: &[(1, Ports::Any)],
    dst_ports: &[(28, Ports::Any), (4, Ports::High), (12, Ports::Range), (56, Ports::Exact)],
    protocols: &[(72, Some(6)), (14, Some(17)), (4, Some(1)), (10, None)],
    networks: 64,
};
const FW1: Profile = Profile {
    src_lengths: &[(34, 0), (4, 8), (12, 16), (20, 24), (6, 28), (24, 32)],
    dst_lengths: &[(20, 0), (2, 8), (12, 16), (26, 24), (6, 28), (34, 32)],
    src_ports: &[(66, Ports::Any), (20, Ports::High), (4, Ports::Range), (10, Ports::Exact)],
    dst_ports: &[(26, Ports::Any), (8, Ports::High), (4, Ports::Low), (14, Ports::Range), (48, Ports::Exact)],
    protocols: &[(58, Some(6)), (28, Some(17)), (6, Some(1)), (8, None)],
    networks: 32,
};
const IPC1: Profile = Profile {
    src_lengths: &[(14, 0), (4, 8), (16, 16), (4, 20), (24, 24), (8, 28), (30, 32)],
    dst_lengths: &[(10, 0), (4, 8), (14, 16), (4, 21), (26, 24), (8, 28), (34, 32)],
    src_ports: &[(74, Ports::Any), (8, Ports::High), (4, Ports::Range), (14, Ports::Exact)],
    dst_ports: &[(40, Ports::Any), (4, Ports::High), (2, Ports::Low), (12, Ports::Range), (42, Ports::Exact)],
    protocols: &[(52, Some(6)), (24, Some(17)), (6, Some(1)), (18, None)],
    networks: 48,
};
const SERVICES: [u16; 16] = [20, 21, 22, 25, 53, 80, 110, 123, 143, 161, 443, 445, 993, 1521, 3306, 8080];

impl Acl {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("rule-num", self.rule_num, 1, 100_000)
    }

    pub(super) fn build(&self) -> Declaration {
        let path = |port| {
            let admit = Element::Admit { mac: None, ipv6: self.has_ipv6() };
            let elements = vec![admit, Element::Acl(AclId(0)), Element::Emit { port, source: None }];
            self.decomposition.divide(elements)
        };
        Declaration {
            tables: Tables { acls: vec![self.table()], ..Tables::default() },
            uplink: path(Port::Core),
            downlink: path(Port::Access),
            fakedrop: self.fakedrop,
        }
    }

    fn has_ipv6(&self) -> bool {
        self.family != ip::Family::Ipv4
    }

    /// Returns all rules. More specific rules are first, as in real rule sets.
    pub(super) fn table(&self) -> AclTable {
        let mut all: Vec<_> = (0..self.rule_num).map(|i| (i, self.rule(i))).collect();
        all.sort_by_key(|(_, (rule, _))| {
            std::cmp::Reverse(u32::from(rule.src.length) + u32::from(rule.dst.length))
        });
        let mut table = AclTable { rules: Vec::new(), rules6: Vec::new(), default: Action::Permit };
        for (index, (rule, action)) in all {
            if self.family.is_ipv6(index) {
                table.rules6.push((rule6(&rule), action));
            } else {
                table.rules.push((rule, action));
            }
        }
        table
    }

    /// Returns rule `index` before sorting.
    fn rule(&self, index: u32) -> (AclRule, Action) {
        let profile = match self.seed_file {
            Family::Acl1 => &ACL1,
            Family::Fw1 => &FW1,
            Family::Ipc1 => &IPC1,
        };
        let random = &mut Random::stream(self.rule_seed ^ 0xac1, index.into());
        let protocol = choose(profile.protocols, random);
        let with_ports = matches!(protocol, Some(6 | 17));
        let mut ports = |choices| {
            if with_ports { ports(choose(choices, random), random) } else { (0, u16::MAX) }
        };
        let src_ports = ports(profile.src_ports);
        let dst_ports = ports(profile.dst_ports);
        let src = prefix(0x0a00, profile.networks, choose(profile.src_lengths, random), random);
        let dst = prefix(0x8d00, profile.networks, choose(profile.dst_lengths, random), random);
        let action = if random.below(10) < 3 { Action::Deny } else { Action::Permit };
        (AclRule { src, dst, src_ports, dst_ports, protocol, flags: TcpFlags::default() }, action)
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        self.rule_num.into()
    }

    /// Returns a packet that matches a rule, in either direction.
    pub(super) fn frame(&self, (_, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let index = (flow % u64::from(self.rule_num)) as u32;
        let (rule, _) = self.rule(index);
        let mut host = |prefix: Prefix4| {
            let noise = random.next() as u32;
            Ipv4Addr::from_bits((prefix.address.to_bits() & prefix.mask()) | (noise & !prefix.mask()))
        };
        let mut src = IpAddr::V4(host(rule.src));
        let mut dst = IpAddr::V4(host(rule.dst));
        let mut port = |(low, high): (u16, u16)| low + random.below(u64::from(high - low) + 1) as u16;
        let src_port = port(rule.src_ports);
        let dst_port = port(rule.dst_ports);
        let protocol = rule.protocol.unwrap_or_else(|| if random.below(2) == 0 { 6 } else { 17 });
        let protocol = Protocol(protocol);
        if self.family.is_ipv6(index) {
            let rule = rule6(&rule);
            let mut host = |prefix: Prefix6| {
                let noise = u128::from(random.next()) << 64 | u128::from(random.next());
                Ipv6Addr::from_bits((prefix.address.to_bits() & prefix.mask()) | (noise & !prefix.mask()))
            };
            (src, dst) = (host(rule.src).into(), host(rule.dst).into());
        }
        Packet::new(protocol, (src, src_port), (dst, dst_port)).frame(gateway::GW_MAC, bytes)
    }

    pub(super) fn oracle(&self) -> AclOracle {
        AclOracle { table: self.table(), ipv6: self.has_ipv6() }
    }
}

/// Returns a rule for IPv6 with the same structure. The IPv4 address is at bits 32 to 64 of the IPv6 address.
pub(super) fn rule6(rule: &AclRule) -> AclRule<Prefix6> {
    let prefix = |Prefix4 { address, length }: Prefix4| {
        let address = 0x2001_0db8_u128 << 96 | u128::from(address.to_bits()) << 64;
        let length = if length == 0 { 0 } else { 32 + length };
        Prefix6 { address: Ipv6Addr::from_bits(address), length }
    };
    let AclRule { src, dst, src_ports, dst_ports, protocol, flags } = *rule;
    AclRule { src: prefix(src), dst: prefix(dst), src_ports, dst_ports, protocol, flags }
}

fn choose<T: Copy>(choices: Choices<T>, random: &mut Random) -> T {
    let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
    let mut at = random.index(total);
    for (weight, value) in choices {
        if at < *weight {
            return *value;
        }
        at -= weight;
    }
    choices[0].1
}

fn ports(kind: Ports, random: &mut Random) -> (u16, u16) {
    match kind {
        Ports::Any => (0, u16::MAX),
        Ports::High => (1024, u16::MAX),
        Ports::Low => (0, 1023),
        Ports::Range => {
            let low = random.index(60_000) as u16;
            (low, low.saturating_add(1 + random.index(2000) as u16))
        }
        Ports::Exact => {
            let few = SERVICES[random.index(16) as usize];
            let port = if random.below(3) == 0 { random.index(10_000) as u16 } else { few };
            (port, port)
        }
    }
}

/// Returns a prefix within one of a few 16-bit networks, denser in the lower half of each.
fn prefix(first: u32, networks: u32, length: u8, random: &mut Random) -> Prefix4 {
    let network = first + addressing::pair(random.index(networks));
    let site = random.index(256).min(random.index(256));
    let address = network << 16 | site << 8 | random.index(256);
    Prefix4 { address: Ipv4Addr::from_bits(address), length }
}

pub(super) struct AclOracle {
    table: AclTable,
    ipv6: bool,
}

impl Reference for AclOracle {
    fn process(&mut self, _: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        admit(frame, None, self.ipv6)?;
        classify(&self.table, frame)?;
        Ok(ingress.other())
    }
}
