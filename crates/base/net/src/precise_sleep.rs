//! Waits for a deadline more precisely than the machine's timers allow.
use crate::datagrams::wait_readable;
use crate::thread::monotonic_ns;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Minimum and maximum time before a deadline for which the caller polls instead of sleeping.
const LEAST_NS: u64 = 5_000;
const MOST_NS: u64 = 400_000;

/// Waits for descriptors until shortly before a deadline, and learns the machine's wake-up delay: a sleeping
/// virtual CPU needs some hundred microseconds. The caller polls for the rest.
#[derive(Debug, Clone)]
pub struct PreciseSleep {
    margin_ns: u64,
}

impl Default for PreciseSleep {
    fn default() -> Self {
        Self { margin_ns: 60_000 }
    }
}

impl PreciseSleep {
    /// Waits if the deadline (by [`monotonic_ns`]) is far enough away; returns whether a descriptor is
    /// readable. At most 64 are used.
    pub fn wait(&mut self, descriptors: &[BorrowedFd<'_>], now_ns: u64, until_ns: u64) -> io::Result<bool> {
        let wake_ns = until_ns.saturating_sub(self.margin_ns);
        if wake_ns <= now_ns {
            return Ok(false);
        }
        let readable = wait_readable(descriptors, Duration::from_nanos(wake_ns - now_ns))?;
        if !readable {
            self.learn(monotonic_ns().saturating_sub(wake_ns));
        }
        Ok(readable)
    }

    /// Records the delay of a timer.
    fn learn(&mut self, late_ns: u64) {
        // The margin grows fast and shrinks slowly. A late wake-up cannot be corrected, but an early one only prolongs the polling.
        let faded = self.margin_ns - self.margin_ns / 16;
        self.margin_ns = faded.max(late_ns + late_ns / 4).clamp(LEAST_NS, MOST_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_margin_adapts_to_timer_delay_within_bounds() {
        let mut rest = PreciseSleep::default();
        rest.learn(200_000);
        assert_eq!(rest.margin_ns, 250_000);
        rest.learn(10_000);
        assert_eq!(rest.margin_ns, 250_000 - 250_000 / 16);
        rest.learn(900_000_000);
        assert_eq!(rest.margin_ns, MOST_NS);
        (0..200).for_each(|_| rest.learn(0));
        assert_eq!(rest.margin_ns, LEAST_NS);
    }

    #[test]
    fn near_deadline_is_awaited_without_sleeping() {
        let mut rest = PreciseSleep::default();
        let now_ns = monotonic_ns();
        assert!(!rest.wait(&[], now_ns, now_ns + 1_000).unwrap());
        assert!(!rest.wait(&[], now_ns, now_ns.saturating_sub(1)).unwrap());
        assert_eq!(rest.margin_ns, PreciseSleep::default().margin_ns);
        assert!(!rest.wait(&[], now_ns, now_ns + 2_000_000).unwrap());
        assert!(monotonic_ns() >= now_ns + 1_500_000);
    }
}
