//! Delays between reconnects, with jitter.
use ranlab_machine::Random;
use std::time::Duration;

/// Upper bound of the delay between two connection attempts. A longer configured delay is reduced to it.
pub const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(1);

/// Delay that doubles with each attempt. A seeded jitter subtracts up to half of it.
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

    /// Returns the delay before the next attempt.
    pub(crate) fn next(&mut self, random: &mut Random) -> Duration {
        let delay = self.min.saturating_mul(1 << self.attempt.min(20)).min(self.max);
        self.attempt = self.attempt.saturating_add(1);
        let half_ns = u64::try_from(delay.as_nanos() / 2).unwrap_or(u64::MAX).max(1);
        delay - Duration::from_nanos(random.next() % half_ns)
    }

    /// Resets the delay after a successful attempt.
    pub(crate) fn reset(&mut self) {
        self.attempt = 0;
    }
}

/// Returns the random number generator of a machine. The same seed yields the same numbers on every machine.
pub(crate) const fn seeded(seed: u64) -> Random {
    Random::new(seed ^ 0x9e37_79b9_7f4a_7c15)
}
