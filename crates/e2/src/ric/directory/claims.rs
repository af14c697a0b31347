//! Claims under way: so many at a time as the store serves without making signs of life late.
use super::config::ClaimLimits;
use super::io::WriteId;
use crate::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// At first so many may be under way, if the limits allow it.
const AT_FIRST: usize = 16;

/// Claims under way, and keys that rest.
///
/// Signs of life stand in one queue with claims. A thousand base stations that come at once would, at a store that is slow, keep the
/// next sign from coming back in time: the lease would be lost, all setups refused, and all of them come again, at the next RIC. So there
/// is a window: it grows while signs come back soon, and is halved when they do not.
#[derive(Debug)]
pub(super) struct Claims {
    limits: ClaimLimits,
    window: usize,
    by_key: BTreeMap<String, (WriteId, Time)>,
    by_write: BTreeMap<WriteId, String>,
    /// Keys that are not claimed again before.
    not_before: BTreeMap<String, Time>,
}

impl Claims {
    pub(super) fn new(limits: ClaimLimits) -> Self {
        let window = AT_FIRST.clamp(limits.least.min(limits.most), limits.most.max(limits.least));
        let (by_key, by_write, not_before) = Default::default();
        Self { limits, window, by_key, by_write, not_before }
    }

    /// Whether a key may be claimed now: it is not yet, does not rest, and there is room.
    pub(super) fn may_begin(&self, now: Time, key: &str) -> bool {
        let fresh = |at: &Time| *at > now;
        self.by_key.len() < self.window
            && !self.by_key.get(key).is_some_and(|(_, until)| fresh(until))
            && !self.not_before.get(key).is_some_and(fresh)
    }

    /// A key is claimed by this write, which is given up at that time.
    pub(super) fn begin(&mut self, key: String, id: WriteId, until: Time) {
        if let Some((old, _)) = self.by_key.insert(key.clone(), (id, until)) {
            self.by_write.remove(&old);
        }
        self.by_write.insert(id, key);
    }

    /// The write has failed; its key rests until then.
    pub(super) fn failed(&mut self, id: WriteId, until: Time) {
        if let Some(key) = self.by_write.remove(&id) {
            self.by_key.remove(&key);
            self.not_before.insert(key, until);
        }
    }

    /// The key has a new value.
    pub(super) fn seen(&mut self, key: &str) {
        if let Some((id, _)) = self.by_key.remove(key) {
            self.by_write.remove(&id);
        }
        self.not_before.remove(key);
    }

    /// A sign of life has come back that was written after these claims, and they have not: they are lost, or late. Claiming once
    /// more harms nobody, and whoever waits for such a claim does not wait for its time to run out.
    pub(super) fn forget_before(&mut self, write: WriteId) {
        let later = self.by_write.split_off(&WriteId(write.0 + 1));
        for key in std::mem::replace(&mut self.by_write, later).into_values() {
            self.by_key.remove(&key);
        }
    }

    /// A sign of life has come back after this long; soon is up to `soon`.
    pub(super) fn sign_took(&mut self, took: Duration, soon: Duration) {
        let ClaimLimits { least, most } = self.limits;
        let wanted = if took > soon { self.window / 2 } else { self.window.saturating_mul(2) };
        self.window = wanted.min(most).max(least);
    }

    /// What has had its time is forgotten.
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
    fn the_window_follows_the_signs() {
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
    fn a_key_is_claimed_once_at_a_time_and_rests_after_a_failure() {
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
        // What comes of a claim that was forgotten changes nothing.
        claims.failed(WriteId(4), at(90));
        assert!(claims.may_begin(at(50), "d"));
    }
}
