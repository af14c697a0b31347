use super::*;
use crate::declare::FiveTuple;
use ranlab_machine::Random;
use std::net::Ipv4Addr;

/// Returns a random rule. Rules and packets are from a small space, so that they match often. There are more kinds of
/// rules than bits.
fn rule(random: &mut Random) -> (AclRule, Action) {
    let mut prefix = |first: u32| {
        let length = [0, 8, 16, 24, 31, 32][random.index(6) as usize];
        let address = Ipv4Addr::from_bits(first | (random.next() as u32 & 0x0001_0103));
        Prefix4 { address, length }
    };
    let src = prefix(0x0a00_0000);
    let dst = prefix(0x0b00_0000);
    let mut ports = || match random.index(6) {
        0..3 => (0, u16::MAX),
        3 => (80, 80),
        4 => (79, 81),
        // A reversed range matches nothing.
        _ => (81, 79),
    };
    let src_ports = ports();
    let dst_ports = ports();
    let protocol = [None, Some(6), Some(17)][random.index(3) as usize];
    let action = if random.below(2) == 0 { Action::Deny } else { Action::Permit };
    let flags = match random.index(4) {
        0 => TcpFlags { value: random.next() as u16 & 3, mask: 1 + random.index(3) as u16 },
        _ => TcpFlags::default(),
    };
    (AclRule { src, dst, src_ports, dst_ports, protocol, flags }, action)
}

fn expected(table: &AclTable, p: &Packet) -> bool {
    let tuple = FiveTuple {
        src: Ipv4Addr::from_bits(p.src),
        dst: Ipv4Addr::from_bits(p.dst),
        protocol: p.protocol as u8,
        ports: (p.traits & HAS_PORTS != 0).then_some(((p.ports >> 16) as u16, p.ports as u16)),
        tcp_flags: (p.traits & HAS_FLAGS != 0).then_some(p.traits as u16),
    };
    let action =
        table.rules.iter().find(|(rule, _)| rule.matches(&tuple)).map_or(table.default, |rule| rule.1);
    action == Action::Deny
}

#[test]
fn acl_verdict_equals_first_matching_rule() {
    let mut most = 0;
    let mut denied = 0;
    for (seed, count) in [0, 1, 7, 60, 300, 2000].into_iter().cycle().enumerate().take(60) {
        let random = &mut Random::stream(8, seed as u64);
        let default = if seed % 2 == 0 { Action::Deny } else { Action::Permit };
        let rules = (0..count).map(|_| rule(random)).collect();
        let table = AclTable { rules, rules6: Vec::new(), default };
        let (acl, _) = Acl::compile(&table);
        most = most.max(acl.tables());
        for _ in 0..8 {
            let packets = std::array::from_fn(|_| {
                let protocol = [6, 17, 1][random.index(3) as usize];
                // Some packets are later fragments.
                let with_ports = protocol != 1 && random.index(8) != 0;
                let ports = (78 + random.index(5)) << 16 | (78 + random.index(5));
                let flags = HAS_FLAGS | (random.next() as u32 & 3);
                Packet {
                    src: 0x0a00_0000 | (random.next() as u32 & 0x0001_0103),
                    dst: 0x0b00_0000 | (random.next() as u32 & 0x0001_0103),
                    ports: if with_ports { ports } else { 0 },
                    protocol,
                    traits: (u32::from(with_ports) * HAS_PORTS)
                        | if with_ports && protocol == 6 { flags } else { 0 },
                }
            });
            let live = random.next() | random.next();
            let mut bits = 0;
            for i in Bits(live) {
                bits |= u64::from(expected(&table, &packets[i])) << i;
            }
            assert_eq!(acl.denied(&packets, live), bits, "{count} rules, seed {seed}");
            denied += bits.count_ones();
        }
    }
    assert!(most > SHARED + 1, "at most {most} tables: none share a bit");
    assert!(denied > 1000);
}
