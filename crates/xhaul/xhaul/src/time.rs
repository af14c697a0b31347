//! Time model: integer picoseconds, clocks with errors, variable durations.

use std::sync::Arc;

use rand::RngCore;

/// Time or duration in picoseconds. The range of 64 bits is 213 days.
pub type Ps = u64;
/// One nanosecond.
pub const NS: Ps = 1_000;
/// One microsecond.
pub const US: Ps = 1_000_000;
/// One millisecond.
pub const MS: Ps = 1_000_000_000;
/// One second.
pub const S: Ps = 1_000_000_000_000;

/// Maximum drift of a clock, in parts per billion. IEEE 802.3 allows 100 ppm.
pub const DRIFT_PPB_MAX: u32 = 100_000;

/// Clock of a node: `local = true + offset + true * drift`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    /// Reading of the clock at true time zero, in ps: the residual error of synchronisation.
    pub offset_ps: i64,
    /// Rate deviation from true time in parts per billion, at most [`DRIFT_PPB_MAX`] in either direction.
    pub drift_ppb: i32,
}

impl Clock {
    /// Returns the reading of this clock at the true time `now`. It is zero before the clock starts.
    pub fn local(self, now: Ps) -> Ps {
        if self == Self::default() {
            return now;
        }
        let drift = i128::from(now) * i128::from(self.drift_ppb) / BILLION;
        clamp(i128::from(now) + drift + i128::from(self.offset_ps))
    }

    /// Returns the earliest true time at which this clock shows `local`. The result may be slightly later, but never earlier.
    pub fn to_true(self, local: Ps) -> Ps {
        if self == Self::default() {
            return local;
        }
        let since = (i128::from(local) - i128::from(self.offset_ps)) * BILLION;
        let rate = BILLION + i128::from(self.drift_ppb);
        let mut at = clamp((since + rate - 1).div_euclid(rate));
        // `local` rounds towards zero, so a few steps are enough to correct the result.
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

/// Constant or random duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duration {
    /// Constant duration, in ps.
    Constant(Ps),
    /// Uniform distribution between two values, in ps, both included.
    Uniform {
        /// Minimum, in ps.
        min_ps: Ps,
        /// Maximum in ps, not below `min_ps`.
        max_ps: Ps,
    },
    /// Random duration from a measured distribution.
    Drawn(Quantiles),
}

/// Number of steps in a table of quantiles. The first bits of a random number select a step, and its other bits a position within the step.
const STEPS: usize = 256;
/// Maximum number of points that define a distribution.
const POINTS_MAX: usize = 1024;

/// Distribution, stored as a table of quantiles. A draw needs one random number and one multiplication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantiles(Arc<[Ps; STEPS + 1]>);

impl Quantiles {
    /// Creates a distribution from points (share of values that are not above, ps), with linear
    /// interpolation. `None` unless there are 2 to 1024 points, the shares increase from 0 to 1, and the
    /// values do not decrease.
    pub fn new(points: &[(f64, Ps)]) -> Option<Self> {
        let first = points.first()?;
        let last = points.last()?;
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        if !(2..=POINTS_MAX).contains(&points.len()) || first.0 != 0.0 || last.0 != 1.0 || !rises {
            return None;
        }
        let mut table = [last.1; STEPS + 1];
        for (step, value) in table.iter_mut().enumerate() {
            let share = step as f64 / STEPS as f64;
            let Some(pair) = points.windows(2).find(|pair| share < pair[1].0) else { continue };
            let [(from, low), (to, high)] = [pair[0], pair[1]];
            *value = low + ((high - low) as f64 * (share - from) / (to - from)) as Ps;
        }
        Some(Self(Arc::new(table)))
    }

    /// Returns the distribution with each value increased by `by_ps`.
    #[must_use]
    pub fn later(&self, by_ps: Ps) -> Self {
        Self(Arc::new(self.0.map(|ps| ps.saturating_add(by_ps))))
    }

    /// Returns the mean of the distribution, in ps.
    pub fn mean_ps(&self) -> f64 {
        self.0.windows(2).map(|pair| (pair[0] as f64 + pair[1] as f64) / 2.0).sum::<f64>() / STEPS as f64
    }

    fn sample(&self, random: u64) -> Ps {
        let step = (random >> 56) as usize;
        let low = self.0[step];
        let high = self.0[step + 1];
        // The position within the step has the unit 2^-32.
        low + ((u128::from(high - low) * u128::from(random as u32)) >> 32) as Ps
    }
}

impl Duration {
    /// Returns the minimum duration.
    pub fn min_ps(&self) -> Ps {
        match self {
            Self::Constant(ps) => *ps,
            Self::Uniform { min_ps, .. } => *min_ps,
            Self::Drawn(quantiles) => quantiles.0[0],
        }
    }

    /// Returns the maximum duration.
    pub fn max_ps(&self) -> Ps {
        match self {
            Self::Constant(ps) => *ps,
            Self::Uniform { max_ps, .. } => *max_ps,
            Self::Drawn(quantiles) => quantiles.0[STEPS],
        }
    }

    /// Returns whether the duration has values and none exceeds `limit_ps`.
    pub(super) fn is_valid(&self, limit_ps: Ps) -> bool {
        self.min_ps() <= self.max_ps() && self.max_ps() <= limit_ps
    }

    pub(super) fn sample(&self, random: &mut impl RngCore) -> Ps {
        match self {
            Self::Constant(ps) => *ps,
            Self::Uniform { min_ps, max_ps } => min_ps + random.next_u64() % (max_ps - min_ps + 1),
            Self::Drawn(quantiles) => quantiles.sample(random.next_u64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn drawn_values_have_given_quantiles() {
        use rand::SeedableRng;
        let points = [(0.0, 10_000), (0.5, 20_000), (0.875, 60_000), (1.0, 400_000)];
        let quantiles = Quantiles::new(&points).unwrap();
        let drawn = Duration::Drawn(quantiles.clone());
        assert_eq!((drawn.min_ps(), drawn.max_ps()), (10_000, 400_000));
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let mut all: Vec<_> = (0..200_000).map(|_| drawn.sample(&mut random)).collect();
        all.sort_unstable();
        for (share, expected) in [(0.25, 15_000.0), (0.5, 20_000.0), (0.875, 60_000.0), (0.9375, 230_000.0)] {
            let found = all[(share * all.len() as f64) as usize] as f64;
            assert!((found / expected - 1.0).abs() < 0.05, "{share}: {found} instead of {expected}");
        }
        let mean = all.iter().sum::<Ps>() as f64 / all.len() as f64;
        assert!((mean / quantiles.mean_ps() - 1.0).abs() < 0.01, "{mean} {}", quantiles.mean_ps());
        assert_eq!(Duration::Drawn(quantiles.later(5_000)).max_ps(), 405_000);
    }

    #[test]
    fn distribution_must_rise_from_0_to_1() {
        for points in [
            &[(0.0, 1)][..],
            &[(0.1, 1), (1.0, 2)],
            &[(0.0, 1), (0.9, 2)],
            &[(0.0, 2), (1.0, 1)],
            &[(0.0, 1), (0.5, 2), (0.5, 3), (1.0, 4)],
            &[(0.0, 1), (f64::NAN, 2), (1.0, 4)],
        ] {
            assert_eq!(Quantiles::new(points), None, "{points:?}");
        }
    }

    proptest! {
        #[test]
        fn to_true_never_returns_an_earlier_time(
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
