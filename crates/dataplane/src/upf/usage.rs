//! What a session has used, written by packet workers and read by whoever reports it.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Octets and packets of one usage rule. Each direction is written by one worker; anybody reads.
#[derive(Debug, Default)]
pub struct Usage {
    uplink: [AtomicU64; 2],
    downlink: [AtomicU64; 2],
    /// Thresholds passed and reported.
    passed: AtomicU64,
}

impl Usage {
    /// Octets and packets of the uplink, octets and packets of the downlink.
    pub fn read(&self) -> [u64; 4] {
        let [a, b] = &self.uplink;
        let [c, d] = &self.downlink;
        [a, b, c, d].map(|number| number.load(Relaxed))
    }

    /// Octets of both directions.
    pub fn octets(&self) -> u64 {
        self.uplink[0].load(Relaxed) + self.downlink[0].load(Relaxed)
    }

    /// Counts a packet; whether another multiple of the threshold is passed.
    pub(super) fn add(&self, uplink: bool, octets: u64, threshold: Option<u64>) -> bool {
        let [sum, packets] = if uplink { &self.uplink } else { &self.downlink };
        // One writer for each direction: no read-modify-write is needed.
        sum.store(sum.load(Relaxed) + octets, Relaxed);
        packets.store(packets.load(Relaxed) + 1, Relaxed);
        let Some(threshold) = threshold.filter(|threshold| *threshold > 0) else { return false };
        let multiple = self.octets() / threshold;
        let passed = self.passed.load(Relaxed);
        multiple > passed && self.passed.compare_exchange(passed, multiple, Relaxed, Relaxed).is_ok()
    }
}

/// A usage rule of a session and where it counts.
#[derive(Debug, Clone)]
pub struct Meter {
    /// The rule.
    pub urr_id: u32,
    /// Octets between reports.
    pub threshold: Option<u64>,
    /// Octets after which packets are stopped.
    pub quota: Option<u64>,
    /// Where it counts.
    pub usage: Arc<Usage>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_told_once_for_each_multiple() {
        let usage = Usage::default();
        let told: Vec<bool> = (0..6).map(|n| usage.add(n % 2 == 0, 400, Some(1_000))).collect();
        assert_eq!(told, [false, false, true, false, true, false]);
        assert_eq!(usage.read(), [1_200, 3, 1_200, 3]);
        assert!(!usage.add(true, 5_000, None));
    }
}
