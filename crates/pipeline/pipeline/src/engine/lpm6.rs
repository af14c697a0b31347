//! Longest prefix match for IPv6: a trie with one 16-bit step, followed by 8-bit steps. Every entry is a next hop or
//! the next node, so a lookup ends at the first entry that is not a node.
use super::hot::{Memory, request_huge_pages};
use std::collections::BTreeMap;

const ROOT_BITS: u8 = 16;
/// Flag of an entry that refers to a node.
const NODE: u32 = 1 << 31;

/// An IPv6 forwarding table.
pub(super) struct Lpm6 {
    rib: BTreeMap<(u128, u8), u32>,
    root: Vec<u32>,
    nodes: Vec<[u32; 256]>,
    free: Vec<u32>,
}

impl Lpm6 {
    /// Creates a table. If a prefix occurs several times, the last entry is used.
    pub(super) fn new(prefixes: impl Iterator<Item = (u128, u8, u32)>) -> Self {
        let rib: BTreeMap<_, _> = prefixes.map(|(a, l, hop)| ((a & mask(l), l), hop + 1)).collect();
        let root = if rib.is_empty() { Vec::new() } else { vec![0; 1 << ROOT_BITS] };
        let mut table = Self { rib, root, nodes: Vec::new(), free: Vec::new() };
        let entries: Vec<_> = table.rib.iter().map(|(&(a, l), &hop)| (a, l, hop)).collect();
        entries.into_iter().for_each(|(a, l, hop)| table.fill(a, l, hop));
        table
    }

    /// Requests huge pages.
    pub(super) fn request_huge_pages(&self, memory: &mut Memory) {
        request_huge_pages(memory, &self.root);
        request_huge_pages(memory, &self.nodes);
    }

    #[inline(never)]
    pub(super) fn lookup(&self, address: u128) -> Option<u32> {
        let mut entry = *self.root.get((address >> 112) as usize)?;
        let mut shift = 104;
        while entry & NODE != 0 {
            entry = self.nodes[(entry & !NODE) as usize][(address >> shift) as usize & 255];
            // A node below the last byte is never created.
            shift -= 8;
        }
        entry.checked_sub(1)
    }

    /// Sets or removes a prefix.
    pub(super) fn set(&mut self, address: u128, length: u8, hop: Option<u32>) {
        match hop {
            Some(hop) => self.insert(address, length, hop),
            None => self.remove(address, length),
        }
    }

    fn insert(&mut self, address: u128, length: u8, hop: u32) {
        if self.root.is_empty() {
            self.root = vec![0; 1 << ROOT_BITS];
        }
        self.rib.insert((address & mask(length), length), hop + 1);
        self.refresh(address, length);
    }

    fn remove(&mut self, address: u128, length: u8) {
        if self.rib.remove(&(address & mask(length), length)).is_some() {
            self.refresh(address, length);
        }
    }

    /// Rewrites the smallest subtree that contains the prefix. Unused nodes are freed.
    fn refresh(&mut self, address: u128, length: u8) {
        let whole = if length <= ROOT_BITS { length } else { (length - 1) / 8 * 8 };
        let address = address & mask(whole);
        let cover = (0..=whole).rev().find_map(|l| self.rib.get(&(address & mask(l), l))).copied();
        self.fill(address, whole, cover.unwrap_or(0));
        let last = address | !mask(whole);
        let within: Vec<_> = self
            .rib
            .range((address, 0)..=(last, 128))
            .filter(|((_, l), _)| *l > whole)
            .map(|(&(a, l), &hop)| (a, l, hop))
            .collect();
        within.into_iter().for_each(|(a, l, hop)| self.fill(a, l, hop));
    }

    fn fill(&mut self, address: u128, length: u8, hop: u32) {
        if length <= ROOT_BITS {
            let first = (address >> 112) as usize;
            for index in first..first + (1 << (ROOT_BITS - length)) {
                let old = std::mem::replace(&mut self.root[index], hop);
                self.give_back(old);
            }
            return;
        }
        let at = (address >> 112) as usize;
        let mut node = self.node_at(self.root[at]);
        self.root[at] = NODE | node as u32;
        let mut depth = ROOT_BITS + 8;
        loop {
            let first = (address >> (128 - depth)) as usize & 255;
            if length <= depth {
                for index in first..first + (1 << (depth - length)) {
                    let old = std::mem::replace(&mut self.nodes[node][index], hop);
                    self.give_back(old);
                }
                return;
            }
            let next = self.node_at(self.nodes[node][first]);
            self.nodes[node][first] = NODE | next as u32;
            node = next;
            depth += 8;
        }
    }

    /// Returns the node of an entry, or a new node filled with the entry.
    fn node_at(&mut self, entry: u32) -> usize {
        if entry & NODE != 0 {
            return (entry & !NODE) as usize;
        }
        match self.free.pop() {
            Some(node) => {
                self.nodes[node as usize] = [entry; 256];
                node as usize
            }
            None => {
                self.nodes.push([entry; 256]);
                self.nodes.len() - 1
            }
        }
    }

    fn give_back(&mut self, entry: u32) {
        let mut pending = vec![entry];
        while let Some(entry) = pending.pop() {
            if entry & NODE != 0 {
                pending.extend(self.nodes[(entry & !NODE) as usize].iter().filter(|e| *e & NODE != 0));
                self.free.push(entry & !NODE);
            }
        }
    }
}

const fn mask(length: u8) -> u128 {
    if length == 0 { 0 } else { u128::MAX << (128 - if length > 128 { 128 } else { length }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::Random;

    #[test]
    fn lookup_equals_search_over_all_lengths() {
        let mut random = Random::stream(6, 0);
        let mut rib = BTreeMap::new();
        let mut table = Lpm6::new(std::iter::empty());
        let address = |r: &mut Random| {
            let sparse = u128::from(r.next()) << 64 | u128::from(r.next());
            0x2001_u128 << 112 | (sparse & 0x0003_0101_0000_0100_0000_0000_0003)
        };
        for step in 0..3000_u32 {
            let length =
                [0, 3, 16, 17, 24, 29, 32, 40, 48, 56, 64, 65, 120, 127, 128][random.index(15) as usize];
            let a = address(&mut random) & mask(length);
            if random.below(2) == 0 {
                table.insert(a, length, step);
                rib.insert((a, length), step);
            } else {
                table.remove(a, length);
                rib.remove(&(a, length));
            }
            for _ in 0..20 {
                let a = address(&mut random);
                let expected = (0..=128).rev().find_map(|l| rib.get(&(a & mask(l), l)).copied());
                assert_eq!(table.lookup(a), expected, "step {step}, address {a:032x}");
            }
        }
    }

    #[test]
    fn freed_nodes_are_reused() {
        let mut table = Lpm6::new([(0x2001 << 112, 32, 1)].into_iter());
        for i in 0..1000 {
            table.insert(0x2001_u128 << 112 | i << 70, 64, 2);
            table.remove(0x2001_u128 << 112 | i << 70, 64);
        }
        assert!(table.nodes.len() < 20, "{} nodes", table.nodes.len());
    }
}
