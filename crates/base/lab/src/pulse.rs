//! Detects standstills of this process during a window. The process may be stopped by a signal, suspended with its
//! machine, or without a CPU for a long time.
//!
//! A load generator that was suspended did not send its load. Its own counters do not show that, because its clock
//! reads the same before and after.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ranlab_host::thread_cpu_ns;

/// Time between two beats.
const BEAT: Duration = Duration::from_millis(20);
/// Minimum delay of a beat that counts as a standstill. On a busy machine, a thread is delayed by less.
pub const STANDSTILL_AT_LEAST: Duration = Duration::from_millis(250);

/// A thread that wakes regularly. It ends when this value is dropped.
pub struct Pulse {
    shared: Arc<Shared>,
}

struct Shared {
    start: Instant,
    ended: AtomicBool,
    /// Sum of the standstills between beats.
    stood_still_us: AtomicU64,
    /// The latest beat, in microseconds since `start`.
    beat_us: AtomicU64,
}

impl Pulse {
    /// Starts the thread. It adds its CPU time to `cost_ns`, so that it is not attributed to the component in this
    /// process.
    pub fn start(cost_ns: Arc<AtomicU64>) -> Self {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            ended: AtomicBool::new(false),
            stood_still_us: AtomicU64::new(0),
            beat_us: AtomicU64::new(0),
        });
        let its = shared.clone();
        // If the thread cannot be created, there are no beats, and the whole window counts as a standstill.
        let _ = std::thread::Builder::new().name("pulse".to_owned()).spawn(move || its.run(&cost_ns));
        Self { shared }
    }

    /// Returns the sum of all standstills until now, including one that has just ended.
    pub fn stood_still(&self) -> Duration {
        let shared = &self.shared;
        let since_beat_us = shared.elapsed_us().saturating_sub(shared.beat_us.load(Ordering::Relaxed));
        let earlier_us = shared.stood_still_us.load(Ordering::Relaxed);
        Duration::from_micros(earlier_us + standstill_us(since_beat_us))
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn elapsed_us(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn run(&self, cost_ns: &AtomicU64) {
        let mut spent_ns = 0;
        while !self.ended.load(Ordering::Relaxed) {
            std::thread::sleep(BEAT);
            let now_us = self.elapsed_us();
            let before_us = self.beat_us.swap(now_us, Ordering::Relaxed);
            self.stood_still_us.fetch_add(standstill_us(now_us - before_us), Ordering::Relaxed);
            let total_ns = thread_cpu_ns().unwrap_or_default();
            cost_ns.fetch_add(total_ns.saturating_sub(spent_ns), Ordering::Relaxed);
            spent_ns = total_ns;
        }
    }
}

/// Returns the part of the time between two beats that was a standstill.
fn standstill_us(between_us: u64) -> u64 {
    let late_us = between_us.saturating_sub(BEAT.as_micros() as u64);
    if u128::from(late_us) < STANDSTILL_AT_LEAST.as_micros() { 0 } else { late_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_gaps_between_beats_are_standstills() {
        let us = |ms: u64| standstill_us(ms * 1_000);
        assert_eq!((us(20), us(269), us(270), us(3_020)), (0, 0, 250_000, 3_000_000));
    }

    #[test]
    fn missing_beats_count_as_standstill() {
        let start = Instant::now() - Duration::from_secs(3);
        let beat_us = AtomicU64::new(1_000_000);
        let shared = Shared { start, ended: false.into(), stood_still_us: 0.into(), beat_us };
        let stood_still = Pulse { shared: Arc::new(shared) }.stood_still();
        assert!(stood_still >= Duration::from_millis(1_980), "{stood_still:?}");
    }
}
