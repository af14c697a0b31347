//! Token bucket.

/// A token bucket in exact integer arithmetic. A byte costs `PER_BYTE` tokens. This number is chosen so that the rate is an
/// integer number of tokens per nanosecond. With 10^9 tokens per byte, a rate of 1 byte/s is 1 token per nanosecond. With
/// 8 × 10^6 tokens per byte, this is a rate of 1 kbit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket<const PER_BYTE: u64> {
    rate: u64,
    depth: u64,
    tokens: u64,
    filled_ns: u64,
}

impl<const PER_BYTE: u64> TokenBucket<PER_BYTE> {
    /// Creates a full bucket. `rate` is in tokens per nanosecond, `depth` in tokens.
    #[must_use]
    pub const fn new(rate: u64, depth: u64) -> Self {
        Self { rate, depth, tokens: depth, filled_ns: 0 }
    }

    /// Returns the rate, in tokens per nanosecond.
    #[must_use]
    pub const fn rate(&self) -> u64 {
        self.rate
    }

    /// Adds the tokens earned until now. Returns whether a number of bytes may pass.
    #[inline(always)]
    pub fn has(&mut self, now_ns: u64, octets: usize) -> bool {
        let earned = now_ns.saturating_sub(self.filled_ns).saturating_mul(self.rate);
        self.filled_ns = self.filled_ns.max(now_ns);
        // A saturated sum exceeds every depth, so `min` still yields the exact result.
        self.tokens = self.tokens.saturating_add(earned).min(self.depth);
        self.tokens >= octets as u64 * PER_BYTE
    }

    /// Takes the tokens of a number of bytes.
    #[inline(always)]
    pub fn take(&mut self, octets: usize) {
        self.tokens = self.tokens.saturating_sub(octets as u64 * PER_BYTE);
    }

    /// Takes the tokens of a number of bytes if there are enough. Returns whether there were.
    #[inline(always)]
    pub fn charge(&mut self, now_ns: u64, octets: usize) -> bool {
        let passes = self.has(now_ns, octets);
        self.tokens -= if passes { octets as u64 * PER_BYTE } else { 0 };
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_passes_a_burst_then_its_rate() {
        // 1 kB/s, two packets deep.
        let mut bucket = TokenBucket::<1_000_000_000>::new(1_000, 200 * 1_000_000_000);
        let passed = |bucket: &mut TokenBucket<1_000_000_000>, now_ns| bucket.charge(now_ns, 100);
        assert_eq!([0, 0, 0].map(|now| passed(&mut bucket, now)), [true, true, false]);
        assert!(!passed(&mut bucket, 99_999_999) && passed(&mut bucket, 100_000_000));
        // A clock that runs backwards adds nothing.
        assert!(!passed(&mut bucket, 50_000_000));
        assert_eq!([9; 3].map(|s| passed(&mut bucket, s * 1_000_000_000)), [true, true, false]);
        assert!(bucket.has(u64::MAX, 200) && !bucket.has(u64::MAX, 201) && bucket.rate() == 1_000);
    }
}
