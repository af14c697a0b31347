//! Seeded random numbers, and the digest of a world. The same seed gives the same world on any machine.
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Random number generator; a world uses no other source of random numbers.
#[derive(Debug)]
pub struct SeededRng(ChaCha8Rng);

impl SeededRng {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % (bound.max(1) as u64)) as usize
    }

    /// Returns a duration from `least` to `most`.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from(most.saturating_sub(least).as_nanos()).unwrap_or(u64::MAX - 1);
        least + Duration::from_nanos(self.0.next_u64() % (span + 1))
    }

    /// Returns true with a probability of `percent` percent.
    pub fn happens(&mut self, percent: u64) -> bool {
        self.0.next_u64() % 100 < percent
    }

    /// Returns a seed for another generator.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// 64-bit FNV-1a hash. It uses no secret and no process state, so it is reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds bytes to the digest.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds a number to the digest.
    pub fn number(&mut self, n: u64) {
        self.bytes(&n.to_le_bytes());
    }

    /// Returns the digest.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_digest_matches_known_value() {
        let mut digest = Digest::default();
        digest.bytes(b"foobar");
        assert_eq!(digest.value(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn random_numbers_are_bounded_and_reproducible() {
        let draw = |seed| {
            let mut chance = SeededRng::new(seed);
            (0..50).map(|_| chance.below(7)).collect::<Vec<_>>()
        };
        assert!(draw(1).iter().all(|n| *n < 7) && draw(1) == draw(1) && draw(1) != draw(2));
        let second = Duration::from_secs(1);
        assert_eq!(SeededRng::new(3).between(second, second), second);
    }
}
