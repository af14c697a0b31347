//! Maximum bit rates: a token bucket of octets.

/// Time whose worth of octets may come at once: long enough for a burst of the sender's timer, short against the time
/// over which anybody measures a rate.
pub(super) const BURST_NS: u64 = 20_000_000;
/// Octets that may come at once at least: two packets of the usual MTU.
const LEAST_BURST: u64 = 3_000;

/// Octets in units of 1/8,000,000 octet: kbit/s times ns is exact in it.
const UNIT: u64 = 8_000_000;

/// A rate's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) kbps: u64,
    depth: u64,
    tokens: u64,
    filled_ns: u64,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(kbps: u64) -> Self {
        let depth = kbps.saturating_mul(BURST_NS).max(LEAST_BURST * UNIT);
        Self { kbps, depth, tokens: depth, filled_ns: 0 }
    }

    /// Whether so many octets may pass now.
    pub(super) fn has(&mut self, now_ns: u64, octets: usize) -> bool {
        let passed = now_ns.saturating_sub(self.filled_ns);
        self.filled_ns = self.filled_ns.max(now_ns);
        self.tokens = self.tokens.saturating_add(passed.saturating_mul(self.kbps)).min(self.depth);
        self.tokens >= octets as u64 * UNIT
    }

    /// They pass.
    pub(super) fn take(&mut self, octets: usize) {
        self.tokens = self.tokens.saturating_sub(octets as u64 * UNIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets of 1,000-octet packets that pass in 10 s at an offered rate.
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
    fn the_rate_is_kept_below_at_and_above_the_limit() {
        assert_eq!(passed(10_000, 7_000), 8_750_000);
        for offered in [12_000, 30_000, 1_000_000] {
            let octets = passed(10_000, offered);
            let expected = 12_500_000 + 10_000 * BURST_NS / UNIT;
            assert!(octets.abs_diff(expected) <= 1_000, "{offered}: {octets}");
        }
    }

    #[test]
    fn a_low_rate_still_passes_a_packet() {
        let mut bucket = Bucket::new(1);
        assert!(bucket.has(0, 1_500));
        bucket.take(1_500);
        assert!(bucket.has(0, 1_500));
        bucket.take(1_500);
        assert!(!bucket.has(1_000_000_000, 1_500));
        assert!(bucket.has(12_000_000_000, 1_500));
    }
}
