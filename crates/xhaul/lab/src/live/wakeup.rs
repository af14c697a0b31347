//! Wake-up latency of a vBBU's thread, measured as cyclictest does: the time from a timer's expiry to the thread's first instruction. The
//! thread wakes each TTI and then works for half a TTI.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Allowed number of wake-ups of a measurement.
pub const WAKEUPS: std::ops::RangeInclusive<u32> = 100..=600_000;
/// Period of the wake-ups: a TTI.
const TTI: Duration = Duration::from_millis(1);
/// Time that the thread works in each TTI.
const WORK: Duration = Duration::from_micros(500);
/// Quantiles at which a distribution is recorded; the last is the maximum.
const SHARES: [f64; 13] = [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0];
/// Maximum latency in a profile, in nanoseconds.
pub(super) const LATENCY_NS_MAX: u32 = 100_000_000;

/// Other load on the core of the vBBU's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WakeupKind {
    /// No other load from the measurement.
    Alone,
    /// One busy thread per CPU in parallel, like another vBBU on the same cores.
    Shared,
}

/// A measured wake-up latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wakeup {
    /// Other load on the core of the thread.
    pub kind: WakeupKind,
    /// Description of the measurement: wake-ups, load and scheduling policy.
    pub source: String,
    /// Quantiles, from 0 to 1.
    pub shares: Vec<f64>,
    /// Latency at each quantile, in nanoseconds.
    pub latency_ns: Vec<u32>,
}

impl WakeupKind {
    /// Returns the name of this load in profiles and in `cu.wakeup`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Shared => "shared",
        }
    }
}

/// Measures the wake-up latency with both kinds of load on this machine. `count` is limited to [`WAKEUPS`]. Each measurement takes `count`
/// milliseconds.
pub(super) fn measure(count: u32) -> Vec<Wakeup> {
    let count = count.clamp(*WAKEUPS.start(), *WAKEUPS.end());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    [WakeupKind::Alone, WakeupKind::Shared]
        .into_iter()
        .map(|kind| {
            let busy = if kind == WakeupKind::Shared { cpus } else { 0 };
            let mut latencies = next_to(busy, || latencies(count));
            let latency_ns = quantiles(&mut latencies);
            let source = format!(
                "{count} wake-ups, one per ms, each followed by 0.5 ms of work, default scheduling policy, {busy} busy threads on {cpus} CPUs"
            );
            Wakeup { kind, source, shares: SHARES.to_vec(), latency_ns }
        })
        .collect()
}

/// Runs `work` in parallel with `busy` busy threads.
fn next_to<T>(busy: usize, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

/// Returns the latency of each wake-up, in nanoseconds.
fn latencies(count: u32) -> Vec<u32> {
    let start = Instant::now() + TTI;
    let mut due_at = start;
    let mut all = Vec::with_capacity(count as usize);
    for _ in 0..count {
        std::thread::sleep(due_at.saturating_duration_since(Instant::now()));
        let woken = Instant::now();
        all.push(u32::try_from(woken.saturating_duration_since(due_at).as_nanos()).unwrap_or(u32::MAX));
        while woken.elapsed() < WORK {
            std::hint::spin_loop();
        }
        // A thread that is late by a TTI or more has missed that TTI.
        due_at += TTI;
        while due_at < Instant::now() {
            due_at += TTI;
        }
    }
    all
}

fn quantiles(latencies: &mut [u32]) -> Vec<u32> {
    latencies.sort_unstable();
    let last = latencies.len().saturating_sub(1) as f64;
    let at = |share: &f64| latencies.get((share * last) as usize).map_or(0, |ns| (*ns).min(LATENCY_NS_MAX));
    SHARES.iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_quantile_is_maximum_latency() {
        let mut latencies: Vec<u32> = (0..1001).rev().map(|us| us * 1000).collect();
        let found = quantiles(&mut latencies);
        assert_eq!((found[0], found[4], found[11], found[12]), (0, 500_000, 999_000, 1_000_000));
    }

    /// The test checks that both results are distributions. It does not check their times.
    #[test]
    fn both_wakeup_loads_are_measured() {
        let found = measure(*WAKEUPS.start());
        let kinds: Vec<WakeupKind> = found.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [WakeupKind::Alone, WakeupKind::Shared]);
        for one in found {
            assert_eq!(one.latency_ns.len(), one.shares.len());
            assert!(one.latency_ns.is_sorted() && one.latency_ns[12] > 0, "{one:?}");
        }
    }
}
