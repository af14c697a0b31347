//! Limits on a queue's rate: a shaper delays, a policer drops or sends elsewhere.

/// Rates are 1 kbit/s to this.
pub const RATE_KBPS_MAX: u32 = 10_000_000;

/// Delays packets that leave a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper {
    /// Rate, kbit/s, 1 to [`RATE_KBPS_MAX`].
    pub kbps: u32,
    /// Burst size as a time at the rate, ms, 1 to 10,000.
    pub window_ms: u32,
}

/// Drops or redirects packets that enter a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Rate above which packets are dropped, kbit/s, 1 to [`RATE_KBPS_MAX`].
    pub drop_kbps: u32,
    /// Burst size as a time at the rates, ms, 1 to 10,000.
    pub window_ms: u32,
    /// Rate above which packets go to that queue instead.
    pub deviate: Option<(u32, u32)>,
}

/// Tokens for bytes, in bits times 1000 µs, so that kbit/s times µs is an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    kbps: u64,
    depth: u64,
    tokens: u64,
    at_us: u64,
}

/// kbit/s times µs of one byte.
const BYTE: u64 = 8 * 1000;
/// The largest packet passes a full bucket.
const DEPTH_MIN: u64 = 9_000 * BYTE;

impl Bucket {
    pub(super) fn new(kbps: u32, window_ms: u32, now_us: u64) -> Self {
        let depth = (u64::from(kbps) * u64::from(window_ms) * 1000).max(DEPTH_MIN);
        Self { kbps: u64::from(kbps), depth, tokens: depth, at_us: now_us }
    }

    fn refill(&mut self, now_us: u64) {
        let passed = now_us.saturating_sub(self.at_us).min(1_000_000_000);
        self.tokens = (self.tokens + passed * self.kbps).min(self.depth);
        self.at_us = self.at_us.max(now_us);
    }

    /// Whether this number of bytes may pass.
    pub(super) fn allows(&mut self, bytes: u32, now_us: u64) -> bool {
        self.refill(now_us);
        self.tokens >= u64::from(bytes) * BYTE
    }

    /// Spends tokens for bytes that pass.
    pub(super) fn spend(&mut self, bytes: u32) {
        self.tokens = self.tokens.saturating_sub(u64::from(bytes) * BYTE);
    }

    /// Spends tokens for these bytes if they may pass; returns whether they may.
    pub(super) fn take(&mut self, bytes: u32, now_us: u64) -> bool {
        let allowed = self.allows(bytes, now_us);
        if allowed {
            self.spend(bytes);
        }
        allowed
    }
}
