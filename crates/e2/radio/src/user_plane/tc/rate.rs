//! Limits on a queue's rate. A shaper delays packets; a policer drops them or sends them to another queue.

/// Maximum rate in kbit/s; the minimum is 1.
pub const RATE_KBPS_MAX: u32 = 10_000_000;

/// Shaper, which delays packets that leave a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper {
    /// Rate in kbit/s, 1 to [`RATE_KBPS_MAX`].
    pub kbps: u32,
    /// Burst size, as the time in ms that the burst takes at the rate, 1 to 10,000.
    pub window_ms: u32,
}

/// Policer, which drops or redirects packets that enter a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Rate above which packets are dropped, in kbit/s, 1 to [`RATE_KBPS_MAX`].
    pub drop_kbps: u32,
    /// Burst size, as the time in ms that the burst takes at the respective rate, 1 to 10,000.
    pub window_ms: u32,
    /// Identity of another queue, and the rate in kbit/s above which packets are sent to it.
    pub deviate: Option<(u32, u32)>,
}

/// Token bucket. A token is 1/1000 bit, so that a rate of 1 kbit/s adds one token per µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    kbps: u64,
    depth: u64,
    tokens: u64,
    at_us: u64,
}

/// Number of tokens for one byte.
const BYTE: u64 = 8 * 1000;
/// Minimum depth of a bucket. The largest packet can pass a full bucket.
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

    /// Returns whether this number of bytes may pass.
    pub(super) fn allows(&mut self, bytes: u32, now_us: u64) -> bool {
        self.refill(now_us);
        self.tokens >= u64::from(bytes) * BYTE
    }

    /// Spends tokens for bytes that pass.
    pub(super) fn spend(&mut self, bytes: u32) {
        self.tokens = self.tokens.saturating_sub(u64::from(bytes) * BYTE);
    }

    /// Spends tokens for these bytes if they may pass. Returns whether they may pass.
    pub(super) fn take(&mut self, bytes: u32, now_us: u64) -> bool {
        let allowed = self.allows(bytes, now_us);
        if allowed {
            self.spend(bytes);
        }
        allowed
    }
}
