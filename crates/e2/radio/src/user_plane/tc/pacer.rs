//! Limits of the amount that traffic control passes to RLC: all packets at once, or just enough to keep the bearer busy.

/// Pacer of a bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pacer {
    /// Passes all packets at once.
    #[default]
    Dummy,
    /// 5G-BDP (Irazabal et al.): limits by the bearer's measured rate and its current bytes.
    Bdp {
        /// Maximum bytes in the bearer, 1500 to 10,000,000.
        cap_bytes: u32,
        /// Bytes that the bearer may always contain, 1500 to the cap.
        floor_bytes: u32,
    },
}

impl Pacer {
    /// 5G-BDP with the settings that its authors use for 106 PRBs.
    pub const BDP: Self = Self::Bdp { cap_bytes: 46_000, floor_bytes: 22_000 };
}

/// Initial rate estimate, in bytes per µs.
const START_RATE: f64 = 40.0;
/// Weights of the last four rates in the new estimate. Their sum is 1.117, so the estimate is slightly too high.
const WEIGHTS: [f64; 4] = [0.7, 0.3, 0.09, 0.027];
/// Interval between two measurements of the bearer, in µs.
const REPORT_US: u64 = 1000;
/// Upper limit of the elapsed time in a measurement, in µs.
const ELAPSED_MAX_US: u64 = 1200;
const ELAPSED_CUT_US: f64 = 1000.0;
/// Bytes allowed in addition to the bandwidth-delay product.
const SLACK_BYTES: f64 = 2800.0;

/// State of 5G-BDP. It uses only additions and products, so it is the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bdp {
    rates: [f64; 3],
    passed: u64,
    held: u64,
    at_us: u64,
}

impl Bdp {
    pub(super) fn new(now_us: u64) -> Self {
        Self { rates: [START_RATE, 0.0, 0.0], passed: 0, held: 0, at_us: now_us }
    }

    /// Measures the bytes in the bearer at intervals.
    pub(super) fn sample(&mut self, held: u64, now_us: u64) {
        let elapsed = now_us.saturating_sub(self.at_us);
        if elapsed < REPORT_US {
            return;
        }
        let left = (self.passed + self.held).saturating_sub(held);
        let rate = left as f64 / ((elapsed + 500) / 1000 * 1000) as f64;
        let [a, b, c] = self.rates;
        let mixed = WEIGHTS[0] * rate + WEIGHTS[1] * a + WEIGHTS[2] * b + WEIGHTS[3] * c;
        *self = Self { rates: [mixed, a, b], passed: 0, held, at_us: now_us };
    }

    /// Returns whether a packet may be passed to RLC now.
    pub(super) fn admits(&self, bytes: u32, cap: u32, floor: u32, now_us: u64) -> bool {
        let present = self.passed + self.held;
        if present > u64::from(cap) {
            return false;
        }
        let elapsed = now_us.saturating_sub(self.at_us);
        let since = if elapsed > ELAPSED_MAX_US { ELAPSED_CUT_US } else { elapsed as f64 };
        let factor = if elapsed < 500 { 1.2 } else { 1.5 };
        let budget = (factor * since * self.rates[0] + SLACK_BYTES).max(f64::from(floor));
        let part = if self.passed == 0 || self.held == 0 { 3 } else { 5 };
        (present + u64::from(bytes) / part) as f64 <= budget
    }

    /// Returns the rate that the pacer estimates for the bearer, in kbit/s.
    pub(super) fn kbps(&self) -> u64 {
        (self.rates[0] * 8000.0) as u64
    }

    pub(super) fn passed(&mut self, bytes: u32) {
        self.passed += u64::from(bytes);
    }
}
