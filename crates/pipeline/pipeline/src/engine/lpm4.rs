//! Longest prefix match for IPv4. A few prefixes are compared directly. More prefixes are in a table of 2^24 entries,
//! with second levels for longer prefixes (DIR-24-8). Very short prefixes are in a separate table of 2^12 entries,
//! because writing them into the large table would delay packets.
use super::hot::{Memory, prefetch, request_huge_pages};
use std::collections::BTreeMap;

/// Maximum number of prefixes for which comparing all is faster than a table.
const DIRECT_MAX: usize = 4;
/// Minimum number of prefixes for which huge pages are requested.
const SETTLE_MIN: usize = 256;
/// Maximum length of prefixes in the small table. An update then writes at most 4096 entries of either table.
const SHORT_BITS: u8 = 12;
/// Flag of an entry of the large table that refers to a second level.
const GROUP: u16 = 0x8000;
/// Maximum number of second levels. An entry refers to one with 15 bits.
pub(super) const GROUPS_MAX: usize = 0x7fff;
/// Maximum number of next hops. Entry 0 denotes no next hop.
pub(super) const NEXT_HOPS_MAX: u32 = 0x7ffe;

/// An IPv4 forwarding table.
pub(super) struct Lpm4 {
    /// Configured prefixes: masked address and length.
    rib: BTreeMap<(u32, u8), u16>,
    /// Number of prefixes of each length. The search for a covering prefix skips unused lengths.
    lengths: [u32; 33],
    fib: Fib,
}

enum Fib {
    /// A few prefixes, longest first: address, mask, next hop plus one.
    Direct(Vec<(u32, u32, u16)>),
    Tables(Box<Tables>),
}

/// Lookup of the longest prefix that contains an address.
pub(super) trait Find4: Copy {
    /// Finds the next hop of the longest prefix that contains an address.
    fn find(self, address: u32) -> u16;
}

/// See [`Lpm4::form`].
pub(super) enum Form4<'a> {
    Few(SmallTable<'a>),
    Tables(&'a Tables),
}

/// A few prefixes, longest first: address, mask, next hop plus one.
#[derive(Clone, Copy)]
pub(super) struct SmallTable<'a>(&'a [(u32, u32, u16)]);

impl Find4 for SmallTable<'_> {
    #[inline(always)]
    fn find(self, address: u32) -> u16 {
        self.0.iter().find(|(a, mask, _)| address & mask == *a).map_or(0, |&(_, _, hop)| hop)
    }
}

impl Find4 for &Lpm4 {
    #[inline(always)]
    fn find(self, address: u32) -> u16 {
        match self.form() {
            Form4::Tables(tables) => tables.find(address),
            Form4::Few(few) => few.find(address),
        }
    }
}

impl Find4 for &Tables {
    #[inline(always)]
    fn find(self, address: u32) -> u16 {
        let mut hop = self.long[(address >> 8) as usize];
        if hop & GROUP != 0 {
            hop = self.groups[usize::from(hop & !GROUP)][(address & 0xff) as usize];
        }
        if hop == 0 { self.short[(address >> 20) as usize] } else { hop }
    }
}

pub(super) struct Tables {
    /// Table indexed by the first 24 bits.
    long: Box<[u16; 1 << 24]>,
    /// Table indexed by the first 12 bits. Used if the large table has no entry.
    short: Box<[u16; 1 << 12]>,
    groups: Vec<[u16; 256]>,
    free: Vec<u16>,
}

/// The table has no space for another /24 with longer prefixes inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LpmFull;

impl Lpm4 {
    /// Creates a table. If a prefix occurs several times, the last entry is used. Next hops are at most
    /// [`NEXT_HOPS_MAX`].
    pub(super) fn new(prefixes: impl Iterator<Item = (u32, u8, u32)>) -> Result<Self, LpmFull> {
        let rib: BTreeMap<_, _> = prefixes
            .map(|(address, length, hop)| ((address & mask(length), length), hop as u16 + 1))
            .collect();
        let mut lengths = [0; 33];
        rib.keys().for_each(|(_, length)| lengths[usize::from((*length).min(32))] += 1);
        let mut table = Self { rib, lengths, fib: Fib::Direct(Vec::new()) };
        table.compile()?;
        Ok(table)
    }

    fn compile(&mut self) -> Result<(), LpmFull> {
        if self.rib.len() <= DIRECT_MAX {
            let mut few: Vec<_> = self.rib.iter().map(|(&(a, l), &hop)| (a, mask(l), hop)).collect();
            few.sort_by_key(|&(_, mask, _)| std::cmp::Reverse(mask));
            self.fib = Fib::Direct(few);
            return Ok(());
        }
        let mut tables = Box::new(Tables::new());
        // Shorter prefixes are written first, and longer prefixes overwrite them.
        for (&(address, length), &hop) in &self.rib {
            tables.fill(address, length, hop)?;
        }
        self.fib = Fib::Tables(tables);
        Ok(())
    }

    /// Requests huge pages, if there are enough prefixes to exceed the processor's TLB.
    pub(super) fn request_huge_pages(&self, memory: &mut Memory) {
        if self.rib.len() < SETTLE_MIN {
            return;
        }
        if let Fib::Tables(tables) = &self.fib {
            request_huge_pages(memory, &tables.long[..]);
            request_huge_pages(memory, &tables.groups);
        }
    }

    /// Returns the large table, if there is one.
    #[inline(always)]
    pub(super) fn tables(&self) -> Option<&Tables> {
        match &self.fib {
            Fib::Tables(tables) => Some(tables),
            Fib::Direct(_) => None,
        }
    }

    /// Returns the current form of the table. Callers are generic over the form, so that each form gets its own
    /// compiled loop.
    #[inline(always)]
    pub(super) fn form(&self) -> Form4<'_> {
        match &self.fib {
            Fib::Tables(tables) => Form4::Tables(tables),
            Fib::Direct(few) => Form4::Few(SmallTable(few)),
        }
    }

    #[cfg(test)]
    fn lookup(&self, address: u32) -> Option<u32> {
        u32::from(self.find(address)).checked_sub(1)
    }

    /// Sets or removes a prefix.
    pub(super) fn set(&mut self, address: u32, length: u8, hop: Option<u32>) -> Result<(), LpmFull> {
        match hop {
            Some(hop) => self.insert(address, length, hop),
            None => {
                self.remove(address, length);
                Ok(())
            }
        }
    }

    fn insert(&mut self, address: u32, length: u8, hop: u32) -> Result<(), LpmFull> {
        let key = (address & mask(length), length);
        let of_length = usize::from(length.min(32));
        let old = self.rib.insert(key, hop as u16 + 1);
        self.lengths[of_length] += u32::from(old.is_none());
        let done = self.refresh(key.0, length);
        if done.is_err() {
            self.lengths[of_length] -= u32::from(old.is_none());
            match old {
                Some(old) => self.rib.insert(key, old),
                None => self.rib.remove(&key),
            };
        }
        done
    }

    fn remove(&mut self, address: u32, length: u8) {
        let key = (address & mask(length), length);
        if self.rib.remove(&key).is_some() {
            self.lengths[usize::from(length.min(32))] -= 1;
            // A removal needs no additional second level, so it cannot fail.
            let _ = self.refresh(key.0, length);
        }
    }

    /// Rewrites the entries within a prefix.
    fn refresh(&mut self, address: u32, length: u8) -> Result<(), LpmFull> {
        let tables = match &mut self.fib {
            Fib::Tables(tables) if self.rib.len() > DIRECT_MAX / 2 => tables,
            // A small table is compiled again. A table that shrinks keeps its form until it is small.
            _ => return self.compile(),
        };
        let least = if length <= SHORT_BITS { 0 } else { SHORT_BITS + 1 };
        let present = |l: &u8| self.lengths[usize::from(*l)] > 0;
        let mut candidates = (least..=length).rev().filter(present);
        let cover = candidates.find_map(|l| self.rib.get(&(address & mask(l), l)));
        if length > 24
            && !self.rib.range((address & mask(24), 25)..=(address | 0xff, 32)).any(|((_, l), _)| *l > 24)
        {
            tables.merge(address, cover.copied().unwrap_or(0));
            return Ok(());
        }
        tables.fill(address, length, cover.copied().unwrap_or(0))?;
        if length == 32 {
            return Ok(());
        }
        let last = address | !mask(length);
        for (&(a, l), &hop) in self.rib.range((address, length + 1)..=(last, 32)) {
            // Short prefixes are in a separate table. Longer prefixes in the large table need not be rewritten for
            // them.
            if l > length && (length > SHORT_BITS || l <= SHORT_BITS) {
                tables.fill(a, l, hop)?;
            }
        }
        Ok(())
    }
}

impl Tables {
    /// Prefetches the first read of a lookup.
    #[inline(always)]
    pub(super) fn prepare(&self, address: u32) {
        prefetch(&self.long[(address >> 8) as usize]);
    }

    fn new() -> Self {
        Self { long: boxed(), short: boxed(), groups: Vec::new(), free: Vec::new() }
    }

    fn fill(&mut self, address: u32, length: u8, hop: u16) -> Result<(), LpmFull> {
        if length <= SHORT_BITS {
            let first = (address >> 20) as usize;
            self.short[first..first + (1 << (SHORT_BITS - length))].fill(hop);
        } else if length <= 24 {
            let first = (address >> 8) as usize;
            for index in first..first + (1 << (24 - length)) {
                let entry = self.long[index];
                if entry & GROUP == 0 {
                    self.long[index] = hop;
                } else {
                    self.groups[usize::from(entry & !GROUP)].fill(hop);
                }
            }
        } else {
            let group = self.group(address)?;
            let first = (address & 0xff) as usize;
            self.groups[group][first..first + (1 << (32 - length))].fill(hop);
        }
        Ok(())
    }

    /// Returns the second level of a /24. Creates it if necessary.
    fn group(&mut self, address: u32) -> Result<usize, LpmFull> {
        let index = (address >> 8) as usize;
        let entry = self.long[index];
        if entry & GROUP != 0 {
            return Ok(usize::from(entry & !GROUP));
        }
        let group = match self.free.pop() {
            Some(group) => group,
            None if self.groups.len() < GROUPS_MAX => {
                self.groups.push([0; 256]);
                (self.groups.len() - 1) as u16
            }
            None => return Err(LpmFull),
        };
        self.groups[usize::from(group)].fill(entry);
        self.long[index] = GROUP | group;
        Ok(usize::from(group))
    }

    /// Removes the second level of a /24 without longer prefixes.
    fn merge(&mut self, address: u32, hop: u16) {
        let index = (address >> 8) as usize;
        let entry = self.long[index];
        if entry & GROUP != 0 {
            self.free.push(entry & !GROUP);
        }
        self.long[index] = hop;
    }
}

const fn mask(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - if length > 32 { 32 } else { length }) }
}

/// Allocates zeroed memory, which the operating system provides page by page.
fn boxed<const N: usize>() -> Box<[u16; N]> {
    // The vector has exactly N elements.
    #[allow(clippy::unwrap_used)]
    vec![0_u16; N].into_boxed_slice().try_into().ok().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::Random;

    fn expected(rib: &BTreeMap<(u32, u8), u32>, address: u32) -> Option<u32> {
        (0..=32).rev().find_map(|l| rib.get(&(address & mask(l), l)).copied())
    }

    /// Inserts and removes prefixes of a small space, so that prefixes nest and second levels are created and removed.
    #[test]
    fn lookup_equals_search_over_all_lengths() {
        let mut random = Random::stream(9, 0);
        let mut rib = BTreeMap::new();
        let mut table = Lpm4::new(std::iter::empty()).unwrap();
        let address =
            |r: &mut Random| 0x0a00_0000 | (r.next() as u32 & 0x0003_0303) | (r.next() as u32 & 0x8000_0000);
        for step in 0..3000_u32 {
            let length = [0, 1, 8, 11, 12, 13, 14, 16, 22, 23, 24, 25, 30, 31, 32][random.index(15) as usize];
            let a = address(&mut random) & mask(length);
            if random.below(2) == 0 {
                table.insert(a, length, step % 1000).unwrap();
                rib.insert((a, length), step % 1000);
            } else {
                table.remove(a, length);
                rib.remove(&(a, length));
            }
            for _ in 0..20 {
                let a = address(&mut random);
                table.tables().into_iter().for_each(|tables| tables.prepare(a));
                assert_eq!(table.lookup(a), expected(&rib, a), "step {step}, address {a:08x}");
            }
        }
    }

    #[test]
    fn full_table_rejects_prefixes_until_one_is_removed() {
        let subnets = (0..GROUPS_MAX as u32).map(|i| (0x0b00_0000 + (i << 8), 32, 1));
        let mut table = Lpm4::new(subnets).unwrap();
        assert_eq!(table.insert(0xc000_0001, 32, 7), Err(LpmFull));
        assert_eq!(table.lookup(0xc000_0001), None);
        table.remove(0x0b00_0000, 32);
        assert_eq!(table.insert(0xc000_0001, 32, 7), Ok(()));
        assert_eq!((table.lookup(0xc000_0001), table.lookup(0xc000_0002)), (Some(7), None));
    }
}
