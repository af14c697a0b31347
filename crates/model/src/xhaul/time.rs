//! Time: integer picoseconds, clocks that are off, durations that vary.

use rand::RngCore;

/// A time or a duration in picoseconds; 64 bits hold 213 days.
pub type Ps = u64;
/// One nanosecond.
pub const NS: Ps = 1_000;
/// One microsecond.
pub const US: Ps = 1_000_000;
/// One millisecond.
pub const MS: Ps = 1_000_000_000;
/// One second.
pub const S: Ps = 1_000_000_000_000;

/// The drift of a clock, parts per billion, at most: 802.3 allows 100 ppm.
pub const DRIFT_PPB_MAX: u32 = 100_000;

/// A node's clock: `local = true + offset + true * drift`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    /// What the clock shows at true time zero, ps: the residual error of synchronisation.
    pub offset_ps: i64,
    /// How much faster than true time it runs, parts per billion, at most [`DRIFT_PPB_MAX`] either way.
    pub drift_ppb: i32,
}

impl Clock {
    /// What this clock shows at the true time `now`; zero before it starts.
    pub fn local(self, now: Ps) -> Ps {
        if self == Self::default() {
            return now;
        }
        let drift = i128::from(now) * i128::from(self.drift_ppb) / BILLION;
        clamp(i128::from(now) + drift + i128::from(self.offset_ps))
    }

    /// The earliest true time at which this clock shows `local`, or a little later: never earlier.
    pub fn to_true(self, local: Ps) -> Ps {
        if self == Self::default() {
            return local;
        }
        let since = (i128::from(local) - i128::from(self.offset_ps)) * BILLION;
        let rate = BILLION + i128::from(self.drift_ppb);
        let mut at = clamp((since + rate - 1).div_euclid(rate));
        // `local` rounds towards zero: at most a few steps make up for it.
        while self.local(at) < local {
            at += 1;
        }
        at
    }
}

const BILLION: i128 = 1_000_000_000;

fn clamp(at: i128) -> Ps {
    // The clamped value fits by construction.
    at.clamp(0, i128::from(Ps::MAX)) as Ps
}

/// A duration that is the same every time, or varies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duration {
    /// Always the same, ps.
    Constant(Ps),
    /// Equally likely between two values, ps, both included.
    Uniform {
        /// The shortest.
        min_ps: Ps,
        /// The longest; not below `min_ps`.
        max_ps: Ps,
    },
}

impl Duration {
    /// The shortest there can be.
    pub fn min_ps(&self) -> Ps {
        match self {
            Self::Constant(ps) => *ps,
            Self::Uniform { min_ps, .. } => *min_ps,
        }
    }

    /// The longest there can be.
    pub fn max_ps(&self) -> Ps {
        match self {
            Self::Constant(ps) => *ps,
            Self::Uniform { max_ps, .. } => *max_ps,
        }
    }

    /// Whether there is a value at all and no value is above `limit_ps`.
    pub(super) fn is_valid(&self, limit_ps: Ps) -> bool {
        self.min_ps() <= self.max_ps() && self.max_ps() <= limit_ps
    }

    pub(super) fn sample(&self, random: &mut impl RngCore) -> Ps {
        match self {
            Self::Constant(ps) => *ps,
            Self::Uniform { min_ps, max_ps } => min_ps + random.next_u64() % (max_ps - min_ps + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_clock_shows_what_was_asked_for_and_not_earlier(
            local in 1_000_000_000_u64..1 << 50,
            offset_ps in -1_000_000_i64..1_000_000,
            drift_ppb in -100_000_i32..100_000,
        ) {
            let clock = Clock { offset_ps, drift_ppb };
            let at = clock.to_true(local);
            prop_assert!(clock.local(at) >= local);
            prop_assert!(clock.local(at) <= local + 3);
        }
    }
}
