//! Which of an ACL's hash tables can have a rule for an address: the first 24 bits choose a set of tables, in two levels
//! of 16 and 8 bits. Equal sets are stored once, so that the levels hold two octets an entry and stay in the cache.
use super::hot::prefetch;
use std::collections::{BTreeMap, HashMap};

/// Tables that have a bit of their own; those after them share the last bit.
const SHARED: usize = 63;
/// Bits of the first level, and of both.
const ROOT_BITS: u32 = 16;
const ALL_BITS: u32 = 24;
/// An entry of the first level that names a part of the second.
const NODE: u16 = 0x8000;
/// Sets and parts at most: what an entry can name. Beyond it, addresses are not told apart any further.
const NAMES_MAX: usize = 0x7fff;

/// The sets of one side.
pub(super) struct Prune {
    root: Box<[u16]>,
    nodes: Vec<[u16; 256]>,
    sets: Vec<u64>,
}

/// Sets under construction.
#[derive(Default)]
struct Names {
    sets: Vec<u64>,
    of: HashMap<u64, u16>,
}

impl Names {
    /// The name of a set. When there are no more names, the set of all tables stands for it: correct, and slower.
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

impl Prune {
    /// From the prefix (value and mask) of each rule and the table that holds it.
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
        let mut below: BTreeMap<usize, Box<[u64; 256]>> = BTreeMap::new();
        for (&(length, value), &set) in &by_prefix {
            let at = (value >> (32 - ROOT_BITS)) as usize;
            if length <= ROOT_BITS {
                root[at..at + (1 << (ROOT_BITS - length))].iter_mut().for_each(|entry| *entry |= set);
                continue;
            }
            // Shorter prefixes came first, so the entry above is complete.
            let node = below.entry(at).or_insert_with(|| Box::new([root[at]; 256]));
            let at = (value >> (32 - ALL_BITS)) as usize & 255;
            node[at..at + (1 << (ALL_BITS - length))].iter_mut().for_each(|entry| *entry |= set);
        }
        let mut out = Self { root: vec![0; 1 << ROOT_BITS].into(), nodes: Vec::new(), sets: Vec::new() };
        for (at, set) in root.into_iter().enumerate() {
            out.root[at] = match below.get(&at) {
                Some(node) if out.nodes.len() < NAMES_MAX => {
                    out.nodes.push(node.map(|set| names.name(set)));
                    NODE | (out.nodes.len() - 1) as u16
                }
                Some(_) => 0,
                None => names.name(set),
            };
        }
        out.sets = names.sets;
        out
    }

    #[inline(always)]
    pub(super) fn prepare(&self, address: u32) {
        if let Some(entry) = self.root.get((address >> (32 - ROOT_BITS)) as usize) {
            prefetch(entry);
        }
    }

    /// Tables that may have a rule for the address, a bit each.
    #[inline(always)]
    pub(super) fn lookup(&self, address: u32) -> u64 {
        let mut entry = self.root[(address >> (32 - ROOT_BITS)) as usize];
        if entry & NODE != 0 {
            entry = self.nodes[usize::from(entry & !NODE)][(address >> (32 - ALL_BITS)) as usize & 255];
        }
        self.sets[usize::from(entry)]
    }
}

/// The tables of a set, in order.
pub(super) struct Candidates {
    set: u64,
    /// Where those that share a bit go on.
    rest: usize,
    tables: usize,
}

impl Candidates {
    #[inline(always)]
    pub(super) fn new(set: u64, tables: usize) -> Self {
        Self { set, rest: SHARED, tables }
    }
}

impl Iterator for Candidates {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let index = self.set.trailing_zeros() as usize;
        if index < SHARED {
            self.set &= self.set - 1;
            return (index < self.tables).then_some(index);
        }
        if self.set == 0 || self.rest >= self.tables {
            return None;
        }
        self.rest += 1;
        Some(self.rest - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Every table that has a rule for an address is among the candidates, also where there are more than bits.
    #[test]
    fn no_table_is_missed() {
        let mut random = Random::stream(4, 0);
        let rules: Vec<_> = (0..100)
            .map(|_| {
                let length = [0, 5, 12, 15, 16, 17, 20, 23, 24, 25, 32][random.index(11) as usize];
                let mask = if length == 0 { 0 } else { u32::MAX << (32 - length) };
                let value = 0x0a00_0000 | (random.next() as u32 & 0x0003_0303);
                ((value & mask, mask), random.index(80) as usize)
            })
            .collect();
        let prune = Prune::new(rules.iter().copied());
        let mut fewer = 0;
        for _ in 0..20_000 {
            let address = 0x0a00_0000 | (random.next() as u32 & 0x0003_0303);
            prune.prepare(address);
            let found: Vec<_> = Candidates::new(prune.lookup(address), 80).collect();
            assert!(found.is_sorted());
            for ((value, mask), table) in &rules {
                assert!(address & mask != *value || found.contains(table), "{address:08x} {table}");
            }
            fewer += usize::from(found.len() < 60);
        }
        assert!(fewer > 10_000, "pruning hardly prunes: {fewer}");
    }

    #[test]
    fn no_rules_have_no_candidates() {
        let prune = Prune::new(std::iter::empty());
        assert_eq!(Candidates::new(prune.lookup(7), 0).count(), 0);
    }
}
