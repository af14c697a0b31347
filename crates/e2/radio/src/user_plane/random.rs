//! Counter-based random numbers. Each number is a function of seed, purpose, entity and index, so an additional draw
//! in one place changes no other number. Two runs that differ in one command have all other random numbers in common.

/// Purpose of a random number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Fading = 1,
    DecodeDown = 2,
    DecodeUp = 3,
    Phase = 4,
    Place = 5,
    Waypoint = 6,
    LineOfSight = 7,
    Shadowing = 8,
    Flow = 9,
    Mixed = 10,
}

/// Stream of random numbers for one purpose and entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(seed: u64, purpose: Purpose, entity: u64) -> Self {
        Self(mix(mix(seed ^ (purpose as u64).wrapping_mul(0xd6e8_feb8_6659_fd93))
            ^ mix(entity ^ 0x5851_f42d_4c95_7f2d)))
    }

    /// Returns 64 random bits.
    pub(crate) fn bits(self, index: u64) -> u64 {
        mix(self.0.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Returns a uniform number from zero to less than one.
    pub(crate) fn unit(self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns two nearly normal numbers with mean zero and variance one; see [`normal`].
    pub(crate) fn normals(self, index: u64) -> (f32, f32) {
        let first = self.bits(index);
        (normal(first), normal(mix(first)))
    }

    /// Returns an exponentially distributed number with mean one.
    pub(crate) fn exponential(self, index: u64) -> f64 {
        -super::math::ln(1.0 - self.unit(index))
    }
}

/// Returns a nearly normal number: the number of ones among 64 bits plus a uniform remainder. The distribution is
/// binomial, with an excess kurtosis of -0.03. The computation needs few instructions and no logarithm.
fn normal(bits: u64) -> f32 {
    // Reciprocal of the standard deviation of binomial (variance 16) plus uniform (variance 1/12).
    const SCALE: f32 = 0.249_351_6;
    // The remainder is taken from a product whose upper bits depend on all bits, but not on the number of ones.
    let rest = (bits.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 40) as f32 * (1.0 / (1_u32 << 24) as f32);
    (bits.count_ones() as f32 - 32.5 + rest) * SCALE
}

/// Mixes bits with the finalizer of SplitMix64: every bit of the result depends on every given bit.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_normal_moments() {
        let stream = Stream::new(7, Purpose::Fading, 3);
        let draws: Vec<f64> = (0..200_000)
            .flat_map(|index| {
                let (a, b) = stream.normals(index);
                [f64::from(a), f64::from(b)]
            })
            .collect();
        let moment = |power: i32| draws.iter().map(|x| x.powi(power)).sum::<f64>() / draws.len() as f64;
        assert!(moment(1).abs() < 0.01, "mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.01, "variance {}", moment(2));
        assert!((moment(4) - 2.97).abs() < 0.06, "fourth moment {}", moment(4));
        let tail = draws.iter().filter(|x| **x > 2.326).count() as f64 / draws.len() as f64;
        assert!((tail - 0.01).abs() < 0.001, "P(x > 2.326) = {tail}");
        let (both, pairs) =
            draws.chunks(2).fold((0.0, 0.0), |sum, pair| (sum.0 + pair[0] * pair[1], sum.1 + 1.0));
        assert!((both / pairs).abs() < 0.01, "the two numbers of a pair must be independent");
    }

    #[test]
    fn streams_of_different_entities_and_purposes_differ() {
        let base = Stream::new(1, Purpose::Fading, 1);
        for other in [
            Stream::new(2, Purpose::Fading, 1),
            Stream::new(1, Purpose::Phase, 1),
            Stream::new(1, Purpose::Fading, 2),
        ] {
            assert!((0..100).all(|index| base.bits(index) != other.bits(index)));
        }
    }
}
