//! Pseudo-random numbers: SplitMix64 (Steele, Lea, Flood 2014). A seed and a number identify a stream, so any thread can
//! generate any part of a trace without the preceding parts.

/// A stream of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Returns the stream `number` of `seed`.
    #[must_use]
    pub const fn stream(seed: u64, number: u64) -> Self {
        Self(mix(seed ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// Returns the stream that the published algorithm generates from this state. Streams of close states may overlap.
    /// [`stream`](Self::stream) avoids this.
    #[must_use]
    pub const fn new(state: u64) -> Self {
        Self(state)
    }

    /// Returns 64 uniform bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a uniform number in `0..bound`; 0 if the bound is 0. The bias of the multiplication is below 2^-32 for 32-bit bounds.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }

    /// Returns a uniform index in `0..bound`; 0 if the bound is 0.
    pub const fn index(&mut self, bound: u32) -> u32 {
        self.below(bound as u64) as u32
    }

    /// Returns a uniform number in [0, 1) with 53 bits.
    pub const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the reference implementation for the state 0.
    #[test]
    fn stream_matches_published_sequence() {
        let mut random = Random::new(0);
        assert_eq!(random.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn numbers_stay_below_bound() {
        let mut random = Random::stream(1, 2);
        assert!((0..1000).all(|_| random.below(7) < 7 && random.unit() < 1.0));
        assert_eq!(random.below(0), 0);
    }
}
