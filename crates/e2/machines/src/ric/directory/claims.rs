//! Outstanding claims. Their number is limited so that the store does not delay heartbeats.
use super::config::ClaimLimits;
use super::io::WriteId;
use crate::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// Initial limit of outstanding claims, within the configured range.
const AT_FIRST: usize = 16;

/// Outstanding claims and keys in their retry delay.
///
/// Heartbeats and claims share one queue at the store. If a thousand base stations connect at once, their claims
/// would delay the next heartbeat at a slow store. The lease would expire, all setups would be refused, and all base
/// stations would repeat this at the next RIC. Therefore the number of claims is limited by a window. It grows while
/// heartbeats return quickly, and is halved when they do not.
#[derive(Debug)]
pub(super) struct Claims {
    limits: ClaimLimits,
    window: usize,
    by_key: BTreeMap<String, (WriteId, Time)>,
    by_write: BTreeMap<WriteId, String>,
    /// Earliest time at which a key may be claimed again.
    not_before: BTreeMap<String, Time>,
}

impl Claims {
    pub(super) fn new(limits: ClaimLimits) -> Self {
        let window = AT_FIRST.clamp(limits.least.min(limits.most), limits.most.max(limits.least));
        let (by_key, by_write, not_before) = Default::default();
        Self { limits, window, by_key, by_write, not_before }
    }

    /// Returns whether a key may be claimed now: it has no outstanding claim, its retry delay is over, and the window
    /// is not full.
    pub(super) fn may_begin(&self, now: Time, key: &str) -> bool {
        let fresh = |at: &Time| *at > now;
        self.by_key.len() < self.window
            && !self.by_key.get(key).is_some_and(|(_, until)| fresh(until))
            && !self.not_before.get(key).is_some_and(fresh)
    }

    /// Records a claim: the write, and the time after which it is considered lost.
    pub(super) fn begin(&mut self, key: String, id: WriteId, until: Time) {
        if let Some((old, _)) = self.by_key.insert(key.clone(), (id, until)) {
            self.by_write.remove(&old);
        }
        self.by_write.insert(id, key);
    }

    /// Records a failed write. Its key may be claimed again at `until`.
    pub(super) fn failed(&mut self, id: WriteId, until: Time) {
        if let Some(key) = self.by_write.remove(&id) {
            self.by_key.remove(&key);
            self.not_before.insert(key, until);
        }
    }

    /// Removes the claim of a key whose new value was received.
    pub(super) fn seen(&mut self, key: &str) {
        if let Some((id, _)) = self.by_key.remove(key) {
            self.by_write.remove(&id);
        }
        self.not_before.remove(key);
    }

    /// Discards claims that were written before a heartbeat that has returned, because they are lost or late. Repeating
    /// a claim is harmless, so setups need not wait for the timeout of the lost claim.
    pub(super) fn forget_before(&mut self, write: WriteId) {
        let later = self.by_write.split_off(&WriteId(write.0 + 1));
        for key in std::mem::replace(&mut self.by_write, later).into_values() {
            self.by_key.remove(&key);
        }
    }

    /// Adapts the window to the time that a heartbeat took; up to `soon` counts as fast.
    pub(super) fn sign_took(&mut self, took: Duration, soon: Duration) {
        let ClaimLimits { least, most } = self.limits;
        let target = if took > soon { self.window / 2 } else { self.window.saturating_mul(2) };
        self.window = target.min(most).max(least);
    }

    /// Removes expired entries.
    pub(super) fn expire(&mut self, now: Time) {
        let by_write = &mut self.by_write;
        self.by_key.retain(|_, (id, until)| {
            let stays = *until > now;
            if !stays {
                by_write.remove(id);
            }
            stays
        });
        self.not_before.retain(|_, at| *at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn claim_window_adapts_to_heartbeat_latency() {
        let ms = Duration::from_millis;
        let mut claims = Claims::new(ClaimLimits { least: 4, most: 64 });
        let room = |claims: &mut Claims| {
            let mut begun = 0;
            while claims.may_begin(at(0), &format!("{begun}")) {
                claims.begin(format!("{begun}"), WriteId(begun), at(100));
                begun += 1;
            }
            claims.forget_before(WriteId(begun));
            begun
        };
        assert_eq!(room(&mut claims), 16);
        (0..5).for_each(|_| claims.sign_took(ms(10), ms(300)));
        assert_eq!(room(&mut claims), 64);
        claims.sign_took(ms(301), ms(300));
        assert_eq!(room(&mut claims), 32);
        (0..9).for_each(|_| claims.sign_took(ms(900), ms(300)));
        assert_eq!(room(&mut claims), 4);
    }

    #[test]
    fn key_has_one_outstanding_claim_and_retry_delay() {
        let mut claims = Claims::new(ClaimLimits::default());
        claims.begin("a".to_owned(), WriteId(1), at(10));
        assert!(
            !claims.may_begin(at(9), "a") && claims.may_begin(at(10), "a") && claims.may_begin(at(9), "b")
        );
        claims.failed(WriteId(1), at(20));
        assert!(!claims.may_begin(at(19), "a") && claims.may_begin(at(20), "a"));
        claims.begin("b".to_owned(), WriteId(2), at(50));
        claims.begin("c".to_owned(), WriteId(3), at(50));
        claims.forget_before(WriteId(2));
        assert!(claims.may_begin(at(30), "b") && !claims.may_begin(at(30), "c"));
        claims.seen("c");
        assert!(claims.may_begin(at(30), "c"));
        claims.begin("d".to_owned(), WriteId(4), at(50));
        claims.expire(at(50));
        // The result of a discarded claim has no effect.
        claims.failed(WriteId(4), at(90));
        assert!(claims.may_begin(at(50), "d"));
    }
}
