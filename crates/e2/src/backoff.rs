//! Trying again, but not all at once.
use std::time::Duration;

/// Greatest delay between two attempts to connect; a longer configured one is cut to it.
pub const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(1);

/// Delays that double from attempt to attempt, with up to half of each taken away by a seeded jitter.
#[derive(Debug)]
pub(crate) struct Backoff {
    min: Duration,
    max: Duration,
    attempt: u32,
}

impl Backoff {
    pub(crate) fn new(min: Duration, max: Duration) -> Self {
        Self { min: min.max(Duration::from_millis(1)), max: max.min(RECONNECT_DELAY_MAX), attempt: 0 }
    }

    /// The delay before the next attempt.
    pub(crate) fn next(&mut self, random: &mut Random) -> Duration {
        let delay = self.min.saturating_mul(1 << self.attempt.min(20)).min(self.max);
        self.attempt = self.attempt.saturating_add(1);
        let half_ns = u64::try_from(delay.as_nanos() / 2).unwrap_or(u64::MAX).max(1);
        delay - Duration::from_nanos(random.next() % half_ns)
    }

    /// An attempt succeeded.
    pub(crate) fn reset(&mut self) {
        self.attempt = 0;
    }
}

/// splitmix64: the same seed, the same numbers, on any machine.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
