//! Random numbers that depend on a name or a number instead of the order of calls. Two networks with the same seed draw the same numbers
//! for the elements that exist in both. Other elements have no influence. Few runs then suffice to separate a real difference from chance.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns 64 random bits for a seed and a number (splitmix64).
pub fn numbered(seed: u64, number: u64) -> u64 {
    let mut mixed = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(GOLDEN));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Returns 64 random bits for a seed and a name.
pub fn named(seed: u64, name: &str) -> u64 {
    name.bytes().fold(numbered(seed, name.len() as u64), |mixed, byte| numbered(mixed, u64::from(byte)))
}

/// Random number sequences for the elements of a network. A sequence depends on the kind of the element, on its name, and on its position
/// among the elements with that name.
#[derive(Debug)]
pub(super) struct Sequences {
    seed: u64,
    /// Number of sequences created per kind and name.
    seen: BTreeMap<u64, u64>,
}

impl Sequences {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed, seen: BTreeMap::new() }
    }

    /// Returns the sequence of the next element with this kind and name.
    pub(super) fn sequence(&mut self, kind: u64, name: &str) -> ChaCha8Rng {
        let own = named(kind, name);
        let before = self.seen.entry(own).or_default();
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(numbered(own, *before));
        *before += 1;
        random
    }
}

#[cfg(test)]
mod tests {
    use rand::RngCore;

    use super::*;

    #[test]
    fn added_component_leaves_other_sequences_unchanged() {
        let of = |names: &[&str]| -> Vec<u64> {
            let mut all = Sequences::new(7);
            names.iter().map(|name| all.sequence(1, name).next_u64()).collect()
        };
        let two = of(&["a", "b"]);
        let three = of(&["a", "c", "b"]);
        assert_eq!((two[0], two[1]), (three[0], three[2]));
        assert_ne!(two[0], two[1]);
        // Two elements with the same name have different sequences.
        let twice = of(&["a", "a"]);
        assert!(twice[0] == two[0] && twice[1] != twice[0]);
        assert_ne!(Sequences::new(8).sequence(1, "a").next_u64(), two[0]);
        assert_ne!(Sequences::new(7).sequence(2, "a").next_u64(), two[0]);
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let ones: u32 = (0..10_000).map(|number| numbered(3, number).count_ones()).sum();
        assert!((315_000..325_000).contains(&ones), "{ones}");
        let below = (0..100_000).filter(|&number| numbered(5, number) % 1_000_000 < 30_000).count();
        assert!((2_800..3_200).contains(&below), "{below} of 100,000 below 3 %");
    }
}
