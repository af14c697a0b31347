//! Maximum bit rates, enforced by token buckets.

/// Bucket depth as a time at the rate, in nanoseconds: long enough for bursts of the sender's timer, and short compared
/// with the interval over which rates are measured.
pub(super) const BURST_NS: u64 = 20_000_000;
/// Minimum bucket depth, in bytes: two packets of the usual MTU.
const LEAST_BURST: u64 = 3_000;

/// Tokens are in units of 1/8,000,000 byte, so that kbit/s times nanoseconds is exact.
const UNIT: u64 = 8_000_000;

/// State of a rate limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) kbps: u64,
    depth: u64,
    tokens: u64,
    filled_ns: u64,
}

impl Bucket {
    /// Creates a full bucket.
    pub(super) fn new(kbps: u64) -> Self {
        let depth = kbps.saturating_mul(BURST_NS).max(LEAST_BURST * UNIT);
        Self { kbps, depth, tokens: depth, filled_ns: 0 }
    }

    /// Returns whether a number of bytes may pass now.
    pub(super) fn has(&mut self, now_ns: u64, octets: usize) -> bool {
        let passed = now_ns.saturating_sub(self.filled_ns);
        self.filled_ns = self.filled_ns.max(now_ns);
        self.tokens = self.tokens.saturating_add(passed.saturating_mul(self.kbps)).min(self.depth);
        self.tokens >= octets as u64 * UNIT
    }

    /// Takes the tokens of a number of bytes.
    pub(super) fn take(&mut self, octets: usize) {
        self.tokens = self.tokens.saturating_sub(octets as u64 * UNIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of 1,000-byte packets that pass in 10 s at an offered rate.
    fn passed(limit_kbps: u64, offered_kbps: u64) -> u64 {
        let mut bucket = Bucket::new(limit_kbps);
        let interval = 8_000_000_000 / offered_kbps;
        let times = (0..10_000_000_000 / interval).map(|n| n * interval);
        times
            .filter(|now| {
                bucket.has(*now, 1_000) && {
                    bucket.take(1_000);
                    true
                }
            })
            .count() as u64
            * 1_000
    }

    #[test]
    fn rate_is_enforced_below_at_and_above_limit() {
        assert_eq!(passed(10_000, 7_000), 8_750_000);
        for offered in [12_000, 30_000, 1_000_000] {
            let octets = passed(10_000, offered);
            let expected = 12_500_000 + 10_000 * BURST_NS / UNIT;
            assert!(octets.abs_diff(expected) <= 1_000, "{offered}: {octets}");
        }
    }

    #[test]
    fn low_rate_passes_a_packet() {
        let mut bucket = Bucket::new(1);
        assert!(bucket.has(0, 1_500));
        bucket.take(1_500);
        assert!(bucket.has(0, 1_500));
        bucket.take(1_500);
        assert!(!bucket.has(1_000_000_000, 1_500));
        assert!(bucket.has(12_000_000_000, 1_500));
    }
}
