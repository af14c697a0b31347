//! Exact matches. A table with a few entries compares them directly; a table with more entries is a hash table with
//! buckets of one cache line.
use super::hot::{Memory, prefetch, request_huge_pages};

/// Maximum number of entries for which comparing all is faster than hashing.
const DIRECT_MAX: usize = 4;
/// 2^64 divided by the golden ratio (Knuth's multiplicative hashing): the upper bits of the product are well mixed.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The key of a table.
pub(super) trait Word: Copy + PartialEq + Default {
    /// Returns the word that is multiplied to find a key's bucket.
    fn word(self) -> u64;
}
impl Word for u32 {
    #[inline(always)]
    fn word(self) -> u64 {
        self.into()
    }
}
impl Word for u64 {
    #[inline(always)]
    fn word(self) -> u64 {
        self
    }
}

/// The key of an IPv6 translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(super) struct Key6 {
    pub(super) address: u128,
    /// Protocol in the upper half, port in the lower half.
    pub(super) rest: u32,
}

impl Word for Key6 {
    /// The word is folded after a multiplication, because the halves of real addresses are similar.
    #[inline(always)]
    fn word(self) -> u64 {
        let lower = (self.address as u64 ^ u64::from(self.rest) << 24).wrapping_mul(FOLD);
        (self.address >> 64) as u64 ^ lower ^ (lower >> 32)
    }
}

/// An odd number with random bits.
const FOLD: u64 = 0xd6e8_feb8_6659_fd93;

/// The result of an IPv6 translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side6 {
    pub(super) address: u128,
    /// Port, a 16-bit number.
    pub(super) port: u32,
}

/// The value of a table. One value marks a free slot.
pub(super) trait Content: Copy + PartialEq {
    const FREE: Self;
}
impl Content for u32 {
    const FREE: Self = Self::MAX;
}
impl Content for u64 {
    const FREE: Self = Self::MAX;
}
impl Content for Side6 {
    const FREE: Self = Self { address: u128::MAX, port: u32::MAX };
}

/// One cache line of keys and values. Slots are filled from the first one. A lookup continues in the next bucket only
/// if all slots are in use.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Bucket<K, V, const W: usize> {
    keys: [K; W],
    values: [V; W],
}

impl<K: Word, V: Content, const W: usize> Bucket<K, V, W> {
    fn empty() -> Self {
        Self { keys: [K::default(); W], values: [V::FREE; W] }
    }

    /// Compares all slots unconditionally, which compiles to one wide instruction.
    #[inline(always)]
    fn find(&self, key: K) -> Option<usize> {
        let mut hits = 0_u32;
        for place in 0..W {
            hits |= u32::from(self.keys[place] == key) << place;
        }
        // A free slot contains key 0, so a match in a free slot is ignored.
        while hits != 0 {
            let place = hits.trailing_zeros() as usize;
            if self.values[place] != V::FREE {
                return Some(place);
            }
            hits &= hits - 1;
        }
        None
    }

    fn used(&self) -> usize {
        self.values.iter().take_while(|v| **v != V::FREE).count()
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.values[W - 1] != V::FREE
    }
}

/// An exact-match table, specialised by its content.
pub(super) enum Exact<K, V, const W: usize> {
    Direct { keys: [K; DIRECT_MAX], values: [V; DIRECT_MAX] },
    Hash(Hash<K, V, W>),
}

/// Keyed by MAC address.
pub(super) type Macs = Exact<u64, u32, 5>;
/// Keyed by IPv4 address or tunnel key.
pub(super) type Narrow = Exact<u32, u32, 8>;
/// IPv4 translations: address, protocol and port to address and port.
pub(super) type Translations = Exact<u64, u64, 4>;
/// IPv6 translations, one per cache line.
pub(super) type Translations6 = Exact<Key6, Side6, 1>;
const _: () = assert!(size_of::<Bucket<Key6, Side6, 1>>() == 64);

impl<K: Word, V: Content, const W: usize> Exact<K, V, W> {
    /// Creates a table. If a key occurs several times, the last entry is used.
    pub(super) fn new(entries: impl ExactSizeIterator<Item = (K, V)>) -> Self {
        let mut table = if entries.len() <= DIRECT_MAX {
            Self::Direct { keys: [K::default(); DIRECT_MAX], values: [V::FREE; DIRECT_MAX] }
        } else {
            Self::Hash(Hash::with_capacity(entries.len()))
        };
        entries.for_each(|(key, value)| table.insert(key, value));
        table
    }

    /// Puts the table on huge pages, if the kernel grants them.
    pub(super) fn request_huge_pages(&self, memory: &mut Memory) {
        if let Self::Hash(hash) = self {
            request_huge_pages(memory, &hash.buckets);
        }
    }

    /// Prefetches the cache line in which the lookup of a key begins.
    #[inline(always)]
    pub(super) fn prepare(&self, key: K) {
        if let Self::Hash(hash) = self {
            prefetch(&hash.buckets[hash.home(key)]);
        }
    }

    #[inline(always)]
    pub(super) fn lookup(&self, key: K) -> Option<V> {
        match self {
            Self::Direct { keys, values } => {
                (0..DIRECT_MAX).find(|&i| keys[i] == key && values[i] != V::FREE).map(|i| values[i])
            }
            Self::Hash(hash) => hash.lookup(key),
        }
    }

    /// Sets a key. A table that exceeds the direct form becomes a hash table.
    pub(super) fn insert(&mut self, key: K, value: V) {
        match self {
            Self::Hash(hash) => hash.insert(key, value),
            Self::Direct { keys, values } => {
                let place = (0..DIRECT_MAX)
                    .find(|&i| keys[i] == key && values[i] != V::FREE)
                    .or_else(|| (0..DIRECT_MAX).find(|&i| values[i] == V::FREE));
                if let Some(place) = place {
                    (keys[place], values[place]) = (key, value);
                    return;
                }
                let mut hash = Hash::with_capacity(DIRECT_MAX * 4);
                (0..DIRECT_MAX).for_each(|i| hash.insert(keys[i], values[i]));
                hash.insert(key, value);
                *self = Self::Hash(hash);
            }
        }
    }

    pub(super) fn remove(&mut self, key: K) {
        match self {
            Self::Hash(hash) => hash.remove(key),
            Self::Direct { keys, values } => {
                for i in 0..DIRECT_MAX {
                    if keys[i] == key {
                        values[i] = V::FREE;
                    }
                }
            }
        }
    }
}

/// Buckets in open addressing, at most three quarters full.
pub(super) struct Hash<K, V, const W: usize> {
    buckets: Vec<Bucket<K, V, W>>,
    shift: u32,
    entries: usize,
}

impl<K: Word, V: Content, const W: usize> Hash<K, V, W> {
    fn with_capacity(entries: usize) -> Self {
        // There is space for 50 % more entries, because packets wait while a table grows.
        let buckets =
            (entries + entries / 2).div_ceil(W).saturating_mul(4).div_ceil(3).next_power_of_two().max(2);
        Self { buckets: vec![Bucket::empty(); buckets], shift: 64 - buckets.trailing_zeros(), entries: 0 }
    }

    #[inline(always)]
    fn home(&self, key: K) -> usize {
        (key.word().wrapping_mul(MULTIPLIER) >> self.shift) as usize
    }

    #[inline(always)]
    fn after(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }

    #[inline(always)]
    fn lookup(&self, key: K) -> Option<V> {
        let mut at = self.home(key);
        loop {
            let bucket = &self.buckets[at];
            if let Some(place) = bucket.find(key) {
                return Some(bucket.values[place]);
            }
            // At least one bucket is not full, so the loop ends.
            if !bucket.is_full() {
                return None;
            }
            at = self.after(at);
        }
    }

    fn insert(&mut self, key: K, value: V) {
        if (self.entries + 1) * 4 > self.buckets.len() * W * 3 {
            self.grow();
        }
        let mut at = self.home(key);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(place) = bucket.find(key) {
                bucket.values[place] = value;
                return;
            }
            let used = bucket.used();
            if used < W {
                (bucket.keys[used], bucket.values[used]) = (key, value);
                self.entries += 1;
                return;
            }
            at = self.after(at);
        }
    }

    fn grow(&mut self) {
        let mut larger = Self::with_capacity(self.entries * 2);
        for bucket in &self.buckets {
            (0..bucket.used()).for_each(|i| larger.insert(bucket.keys[i], bucket.values[i]));
        }
        *self = larger;
    }

    fn remove(&mut self, key: K) {
        let mut at = self.home(key);
        let place = loop {
            let bucket = &self.buckets[at];
            if let Some(place) = bucket.find(key) {
                break place;
            }
            if !bucket.is_full() {
                return;
            }
            at = self.after(at);
        };
        self.entries -= 1;
        let mut hole = (at, place);
        // A lookup ends at a bucket with a free slot. If a full bucket loses an entry, entries that overflowed from it
        // would therefore not be found. So one of them moves back, bucket by bucket.
        loop {
            let (bucket, place) = hole;
            let was_full = self.buckets[bucket].is_full();
            self.take_out(bucket, place);
            if !was_full {
                return;
            }
            let Some(refill) = self.overflowed(bucket) else { return };
            let from = &self.buckets[refill.0];
            let key = from.keys[refill.1];
            let value = from.values[refill.1];
            let used = self.buckets[bucket].used();
            (self.buckets[bucket].keys[used], self.buckets[bucket].values[used]) = (key, value);
            hole = refill;
        }
    }

    /// Removes an entry from a bucket by replacing it with the bucket's last entry.
    fn take_out(&mut self, bucket: usize, place: usize) {
        let bucket = &mut self.buckets[bucket];
        let last = bucket.used() - 1;
        (bucket.keys[place], bucket.values[place]) = (bucket.keys[last], bucket.values[last]);
        (bucket.keys[last], bucket.values[last]) = (K::default(), V::FREE);
    }

    /// Returns an entry of the following buckets that a lookup reaches only through `bucket`.
    fn overflowed(&self, bucket: usize) -> Option<(usize, usize)> {
        let mask = self.buckets.len() - 1;
        let mut at = self.after(bucket);
        loop {
            let candidate = &self.buckets[at];
            let distance = at.wrapping_sub(bucket) & mask;
            for place in 0..candidate.used() {
                let displaced = at.wrapping_sub(self.home(candidate.keys[place])) & mask;
                if displaced >= distance {
                    return Some((at, place));
                }
            }
            if !candidate.is_full() {
                return None;
            }
            at = self.after(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::Random;
    use std::collections::HashMap;

    /// Compares the table with std's map. The range of keys is small, so that removals and overflows coincide.
    fn behaves<K: Word + std::hash::Hash + Eq, const W: usize>(key: impl Fn(u64) -> K, range: u64) {
        let mut random = Random::stream(5, range);
        let mut table: Exact<K, u32, W> =
            Exact::new(std::iter::empty::<(K, u32)>().collect::<Vec<_>>().into_iter());
        let mut model = HashMap::new();
        for step in 0..if cfg!(miri) { 400 } else { 40_000_u32 } {
            let k = key(random.below(range));
            if random.below(5) < 3 {
                table.insert(k, step);
                model.insert(k, step);
            } else {
                table.remove(k);
                model.remove(&k);
            }
            let k = key(random.below(range));
            table.prepare(k);
            assert_eq!(table.lookup(k), model.get(&k).copied());
        }
        assert!((0..range).all(|k| table.lookup(key(k)) == model.get(&key(k)).copied()));
    }

    #[test]
    fn table_equals_std_hash_map() {
        behaves::<u32, 8>(|k| k as u32, 4);
        behaves::<u32, 8>(|k| k as u32, 3000);
        behaves::<u64, 5>(|k| k << 40, 3000);
        // These keys differ only in their upper 8 bits.
        behaves::<u64, 4>(|k| k << 56, 200);
        behaves::<Key6, 1>(|k| Key6 { address: u128::from(k) << 64, rest: (k % 7) as u32 }, 3);
        behaves::<Key6, 1>(|k| Key6 { address: u128::from(k) << (k % 90), rest: 6 << 16 }, 1000);
    }
}
