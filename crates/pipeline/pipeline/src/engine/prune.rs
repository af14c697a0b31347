//! Selects the hash tables of an ACL that can contain a rule for the value of a field. For an address, the first 24
//! bits select a set of tables, in two levels of 16 and 8 bits. For a port, all of its bits select the set.
//!
//! Equal sets and equal second levels are stored once. Each entry then has only two bytes, and the data remains in the
//! cache.
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

/// Number of tables with a separate bit. Further tables share the last bit.
pub(super) const SHARED: usize = 63;
/// Number of bits of the first level, and of both levels together.
const ROOT_BITS: u32 = 16;
const ALL_BITS: u32 = 24;
/// Maximum number of sets, and of second levels. Beyond it, an address gets the set of all tables.
const NAMES_MAX: usize = 0xffff;

/// The sets of tables for source or destination addresses.
pub(super) struct RulePruning {
    root: Box<[u16]>,
    nodes: Vec<[u16; 256]>,
    sets: Vec<u64>,
}

/// Sets during construction.
#[derive(Default)]
struct Names {
    sets: Vec<u64>,
    of: HashMap<u64, u16>,
}

impl Names {
    /// Returns the number of a set. If all numbers are in use, returns the number of the set of all tables, which is
    /// correct but slower.
    fn name(&mut self, set: u64) -> u16 {
        if let Some(&name) = self.of.get(&set) {
            return name;
        }
        if self.sets.len() >= NAMES_MAX {
            return 0;
        }
        let name = self.sets.len() as u16;
        self.sets.push(set);
        self.of.insert(set, name);
        name
    }
}

impl RulePruning {
    /// Creates the sets. Each item of `rules` is the prefix of a rule (value and mask), and the table that contains the
    /// rule.
    pub(super) fn new(rules: impl Iterator<Item = ((u32, u32), usize)>) -> Self {
        let mut names = Names::default();
        names.name(u64::MAX);
        let mut by_prefix: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for ((value, mask), table) in rules {
            let length = mask.count_ones().min(ALL_BITS);
            let first = value & (u32::MAX << (32 - ALL_BITS));
            *by_prefix.entry((length, first)).or_default() |= 1 << table.min(SHARED);
        }
        let mut root = vec![0_u64; 1 << ROOT_BITS];
        // Every entry gets a second level, so a lookup needs no check.
        let mut below: BTreeMap<usize, Box<[u64; 256]>> = BTreeMap::new();
        for (&(length, value), &set) in &by_prefix {
            let at = (value >> (32 - ROOT_BITS)) as usize;
            if length <= ROOT_BITS {
                root[at..at + (1 << (ROOT_BITS - length))].iter_mut().for_each(|entry| *entry |= set);
                continue;
            }
            // Shorter prefixes precede longer ones, so the first-level entry is already complete.
            let node = below.entry(at).or_insert_with(|| Box::new([root[at]; 256]));
            let at = (value >> (32 - ALL_BITS)) as usize & 255;
            node[at..at + (1 << (ALL_BITS - length))].iter_mut().for_each(|entry| *entry |= set);
        }
        let mut parts: HashMap<[u16; 256], u16> = HashMap::new();
        // Second level 0 denotes all tables.
        let mut out = Self { root: vec![0; 1 << ROOT_BITS].into(), nodes: vec![[0; 256]], sets: Vec::new() };
        let mut part = |part: [u16; 256]| {
            *parts.entry(part).or_insert_with(|| {
                if out.nodes.len() >= NAMES_MAX {
                    return 0;
                }
                out.nodes.push(part);
                (out.nodes.len() - 1) as u16
            })
        };
        // Without longer prefixes, the second level of an entry has a single set. Equal consecutive entries share it.
        let mut at = 0;
        for run in root.chunk_by(|a, b| a == b) {
            let end = at + run.len();
            out.root[at..end].fill(part([names.name(run[0]); 256]));
            at = end;
        }
        for (at, node) in below {
            out.root[at] = part(node.map(|set| names.name(set)));
        }
        out.sets = names.sets;
        out
    }

    /// Returns the tables that may contain a rule for the address, one bit each.
    #[inline(always)]
    pub(super) fn lookup(&self, address: u32) -> u64 {
        let part = self.root[(address >> (32 - ROOT_BITS)) as usize];
        let name = self.nodes[usize::from(part)][(address >> (32 - ALL_BITS)) as usize & 255];
        self.sets[usize::from(name)]
    }
}

/// Number of ports in a block.
const BLOCK: usize = 256;

/// The sets of tables for source or destination ports, in two levels of 8 bits. Equal blocks are stored once. The ports
/// of traffic are spread over all numbers, so a single level of 128 KiB would displace rules from the cache.
pub(super) struct Ports {
    root: [u8; BLOCK],
    blocks: Vec<[u16; BLOCK]>,
    sets: Vec<u64>,
}

impl Ports {
    /// Creates the sets. Each item of `rules` is the port range of a rule, and the table that contains the rule.
    pub(super) fn new(rules: impl Iterator<Item = (RangeInclusive<u16>, usize)>) -> Self {
        // For each port, the map contains the tables whose rules begin at the port (+1) or end before it (-1).
        let mut changes: BTreeMap<u32, Vec<(usize, i32)>> = BTreeMap::new();
        for (ports, table) in rules {
            let table = table.min(SHARED);
            changes.entry((*ports.start()).into()).or_default().push((table, 1));
            changes.entry(u32::from(*ports.end()) + 1).or_default().push((table, -1));
        }
        let mut names = Names::default();
        names.name(u64::MAX);
        let mut all = vec![0; 1 << 16];
        let mut open = [0_i32; SHARED + 1];
        let mut set = 0_u64;
        let mut from = 0;
        for (port, changes) in changes {
            let port = port as usize;
            all[from..port].fill(names.name(set));
            from = port;
            for (table, change) in changes {
                open[table] += change;
                let bit = 1 << table;
                set = if open[table] > 0 { set | bit } else { set & !bit };
            }
        }
        all[from..].fill(names.name(set));
        let mut out = Self { root: [0; BLOCK], blocks: Vec::new(), sets: names.sets };
        let mut known: HashMap<[u16; BLOCK], u8> = HashMap::new();
        let (blocks, _) = all.as_chunks::<BLOCK>();
        for (place, block) in out.root.iter_mut().zip(blocks) {
            // At most 256 blocks exist, so their numbers fit into a byte.
            let next = out.blocks.len() as u8;
            *place = *known.entry(*block).or_insert_with(|| {
                out.blocks.push(*block);
                next
            });
        }
        out
    }

    /// Returns the tables that may contain a rule for the port, one bit each.
    #[inline(always)]
    pub(super) fn lookup(&self, port: u16) -> u64 {
        let block = self.root[usize::from(port >> 8)];
        self.sets[usize::from(self.blocks[usize::from(block)][usize::from(port & 255)])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::Random;

    /// Every table with a rule for an address is a candidate, even if there are more tables than bits.
    #[test]
    fn every_matching_table_is_a_candidate() {
        let mut random = Random::stream(4, 0);
        let rules: Vec<_> = (0..100)
            .map(|_| {
                let length = [0, 5, 12, 15, 16, 17, 20, 23, 24, 25, 32][random.index(11) as usize];
                let mask = if length == 0 { 0 } else { u32::MAX << (32 - length) };
                let value = 0x0a00_0000 | (random.next() as u32 & 0x0003_0303);
                ((value & mask, mask), random.index(80) as usize)
            })
            .collect();
        let prune = RulePruning::new(rules.iter().copied());
        let mut fewer = 0;
        for _ in 0..20_000 {
            let address = 0x0a00_0000 | (random.next() as u32 & 0x0003_0303);
            let found = prune.lookup(address);
            for ((value, mask), table) in &rules {
                let bit = 1 << table.min(&SHARED);
                assert!(address & mask != *value || found & bit != 0, "{address:08x} {table}");
            }
            fewer += u32::from(found.count_ones() < 50);
        }
        assert!(fewer > 10_000, "pruning hardly prunes: {fewer}");
    }

    #[test]
    fn empty_table_has_no_candidates() {
        let prune = RulePruning::new(std::iter::empty());
        assert_eq!(prune.lookup(7), 0);
        assert_eq!(Ports::new(std::iter::empty()).lookup(7), 0);
    }

    /// The set of a port contains exactly the tables that have a rule for the port.
    #[test]
    fn set_of_port_has_exactly_tables_with_rule_for_port() {
        let mut random = Random::stream(4, 1);
        let port = |random: &mut Random| {
            [0, 80, 1023, 1024, u16::MAX, random.next() as u16][random.index(6) as usize]
        };
        let rules: Vec<_> = (0..60)
            .map(|_| {
                let a = port(&mut random);
                let b = port(&mut random);
                (a.min(b)..=a.max(b), random.index(80) as usize)
            })
            .collect();
        let ports = Ports::new(rules.iter().cloned());
        for port in 0..=u16::MAX {
            let with = rules.iter().filter(|(range, _)| range.contains(&port));
            let expected = with.fold(0, |set, (_, table)| set | 1 << table.min(&SHARED));
            assert_eq!(ports.lookup(port), expected, "{port}");
        }
    }
}
