//! Maximum bit rates, enforced by token buckets.
use ranlab_packet::TokenBucket;

/// Bucket depth, as the time in which the rate fills the bucket, in nanoseconds. It is long enough for bursts of the sender's timer, and
/// short compared with the interval over which rates are measured.
pub(super) const BURST_NS: u64 = 20_000_000;
/// Minimum bucket depth, in bytes. This is the length of two packets of the usual MTU.
const LEAST_BURST: u64 = 3_000;

/// Tokens per byte. A token is 1/8,000,000 byte, so that the product of kbit/s and nanoseconds is an exact number of tokens.
const UNIT: u64 = 8_000_000;

/// A rate limiter. Its rate is in kbit/s.
pub(super) type Bucket = TokenBucket<UNIT>;

/// Creates a full bucket.
pub(super) fn bucket(kbps: u64) -> Bucket {
    Bucket::new(kbps, kbps.saturating_mul(BURST_NS).max(LEAST_BURST * UNIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of 1,000-byte packets that pass in 10 s at an offered rate.
    fn passed(limit_kbps: u64, offered_kbps: u64) -> u64 {
        let mut bucket = bucket(limit_kbps);
        let interval = 8_000_000_000 / offered_kbps;
        let times = (0..10_000_000_000 / interval).map(|n| n * interval);
        times.filter(|now| bucket.charge(*now, 1_000)).count() as u64 * 1_000
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
    fn bucket_of_low_rate_passes_whole_packets() {
        let mut bucket = bucket(1);
        assert!(bucket.has(0, 1_500));
        bucket.take(1_500);
        assert!(bucket.has(0, 1_500));
        bucket.take(1_500);
        assert!(!bucket.has(1_000_000_000, 1_500));
        assert!(bucket.has(12_000_000_000, 1_500));
    }
}
