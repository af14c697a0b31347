//! Numbers of points whose repeats share their random numbers. Differences within a repeat are then caused by the
//! points, because the spread of repeats cancels.

use std::collections::BTreeMap;

use super::estimate::{Estimate, fieller, slack};
use super::summarise;

/// An estimate, and, if points are compared repeat by repeat ([`crate::scenario::Measure::paired`]), the
/// value of each repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Estimate over all repeats.
    pub estimate: Estimate,
    /// Value of each repeat; empty if the repeats are not paired with the repeats of other points.
    own: BTreeMap<u32, f64>,
}

/// Minimum number of repeats that two numbers must share for a spread.
const SHARED_MIN: usize = 2;

impl Number {
    /// Creates an unpaired number.
    pub const fn alone(estimate: Estimate) -> Self {
        Self { estimate, own: BTreeMap::new() }
    }

    /// Creates a paired number: repeats with the same index share their random numbers at all points.
    pub const fn paired(estimate: Estimate, own: BTreeMap<u32, f64>) -> Self {
        Self { estimate, own }
    }

    /// Returns the weighted sum. For numbers that share at least two repeats, it is computed in each shared repeat, and
    /// its error follows from the spread of these sums. For other numbers, the errors add ([`Estimate::sum`]).
    pub fn sum(parts: &[(f64, &Self)]) -> Self {
        let shared = shared(parts.iter().map(|(_, part)| *part));
        if shared.len() < SHARED_MIN {
            let parts: Vec<(f64, Estimate)> = parts.iter().map(|(by, part)| (*by, part.estimate)).collect();
            return Self::alone(Estimate::sum(&parts));
        }
        let in_repeat =
            |repeat: &u32| (*repeat, parts.iter().map(|(by, part)| by * part.own[repeat]).sum::<f64>());
        let own: BTreeMap<u32, f64> = shared.iter().map(in_repeat).collect();
        let values: Vec<f64> = own.values().copied().collect();
        // The confidence of 0.95 below has no effect, because only the error of the summary is used.
        let (below, above) = slack(parts.iter().map(|(by, part)| (*by, part.estimate)));
        let found = summarise(&values, 0.95)
            .map(|summary| Estimate::from_summary(&summary, false).with_slack(below, above));
        found.map_or_else(|| Self::alone(parts[0].1.estimate), |estimate| Self { estimate, own })
    }

    /// Returns the difference to another number.
    pub fn minus(&self, other: &Self) -> Self {
        Self::sum(&[(1.0, self), (-1.0, other)])
    }

    /// Returns the mean of several numbers.
    pub fn mean(all: &[Self]) -> Self {
        let share = 1.0 / all.len() as f64;
        Self::sum(&all.iter().map(|one| (share, one)).collect::<Vec<_>>())
    }

    /// Returns the interval of the ratio to another number, like [`Estimate::ratio`], with the covariance if both share
    /// repeats. Also returns whether it was computed repeat by repeat.
    pub fn ratio(&self, by: &Self, confidence: f64) -> (Option<(f64, f64)>, bool) {
        let shared = shared([self, by].into_iter());
        let n = shared.len();
        if n < SHARED_MIN {
            return (self.estimate.ratio(by.estimate, confidence), false);
        }
        let of = |number: &Self| shared.iter().map(|repeat| number.own[repeat]).collect::<Vec<f64>>();
        let ours = of(self);
        let theirs = of(by);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / n as f64;
        let a = mean(&ours);
        let b = mean(&theirs);
        // The (co)variance of the means is the (co)variance of the values, divided by n.
        let moment = |one: &[f64], other: &[f64]| {
            let products = one.iter().zip(other).map(|(x, y)| (x - mean(one)) * (y - mean(other)));
            products.sum::<f64>() / ((n - 1) * n) as f64
        };
        let spread = (moment(&ours, &ours), moment(&theirs, &theirs), moment(&ours, &theirs));
        let interval = fieller((a, b), spread, (n - 1) as f64, confidence);
        (Some(self.estimate.widen_ratio(&by.estimate, interval)), true)
    }
}

/// Returns the repeats that all of these numbers have.
fn shared<'n>(mut numbers: impl Iterator<Item = &'n Number>) -> Vec<u32> {
    let Some(first) = numbers.next() else { return Vec::new() };
    let others: Vec<&Number> = numbers.collect();
    first
        .own
        .keys()
        .copied()
        .filter(|repeat| others.iter().all(|other| other.own.contains_key(repeat)))
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn number(values: &[f64]) -> Number {
        let estimate = Estimate::from_summary(&summarise(values, 0.95).unwrap(), false);
        Number::paired(estimate, (0..).zip(values.iter().copied()).collect())
    }

    #[test]
    fn common_effects_cancel_in_differences() {
        let a = number(&[11.0, 21.0, 31.5]);
        let b = number(&[10.0, 20.0, 30.0]);
        let (low, high) = a.minus(&b).estimate.interval(0.95).unwrap();
        // Student's interval over 1, 1 and 1.5: mean 7/6, deviation 0.2887, t(0.975, 2) = 4.3027.
        assert!(
            (low - (7.0 / 6.0 - 0.7172)).abs() < 1e-3 && (high - (7.0 / 6.0 + 0.7172)).abs() < 1e-3,
            "{low} {high}"
        );
        let alone = |number: &Number| Number::alone(number.estimate);
        let (low, high) = alone(&a).minus(&alone(&b)).estimate.interval(0.95).unwrap();
        assert!(low < -20.0 && high > 20.0, "{low} {high}");
        // The ratio of a number to itself is exactly 1, although its repeats differ.
        let c = number(&[10.0, 11.0, 12.0]);
        assert_eq!(c.ratio(&c, 0.95), (Some((1.0, 1.0)), true));
        // The ratio is unbounded if the divisor may be 0, even for paired numbers.
        assert_eq!(a.ratio(&a, 0.95), (Some((f64::NEG_INFINITY, f64::INFINITY)), true));
        assert_eq!(a.minus(&a).estimate.interval(0.95), Some((0.0, 0.0)));
    }

    #[test]
    fn incomplete_pairs_are_left_out() {
        let a = number(&[1.0, 2.0, 4.0]);
        let mut b = number(&[1.0, 2.0, 4.0]);
        b.own.remove(&1);
        let difference = a.minus(&b);
        assert_eq!((difference.estimate.n, difference.estimate.interval(0.95)), (2, Some((0.0, 0.0))));
        b.own.remove(&0);
        assert_eq!(a.minus(&b).estimate, a.estimate.minus(b.estimate));
        assert_eq!(a.ratio(&b, 0.95), (a.estimate.ratio(b.estimate, 0.95), false));
    }

    /// Intervals of 2,000 draws from known laws contain the true value as often as stated, and are far
    /// narrower than unpaired ones.
    #[test]
    fn paired_intervals_have_nominal_coverage() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let mut draw = || Distribution::<f64>::sample(&StandardNormal, &mut rng);
        let mut difference = 0;
        let mut ratio = 0;
        let mut narrower = 0;
        for _ in 0..2000 {
            let shared: Vec<f64> = (0..6).map(|_| 10.0 + 2.0 * draw()).collect();
            let a = number(&shared.iter().map(|x| 1.5 * x + 0.05 * draw()).collect::<Vec<_>>());
            let b = number(&shared);
            let (low, high) = a.ratio(&b, 0.95).0.unwrap();
            ratio += i32::from((low..=high).contains(&1.5));
            let (alone_low, alone_high) = a.estimate.ratio(b.estimate, 0.95).unwrap();
            narrower += i32::from((high - low) * 5.0 < alone_high - alone_low);
            let c = number(&shared.iter().map(|x| x + 1.0 + 0.1 * draw()).collect::<Vec<_>>());
            let (low, high) = c.minus(&b).estimate.interval(0.95).unwrap();
            difference += i32::from((low..=high).contains(&1.0));
        }
        assert!(
            (1865..=1935).contains(&difference),
            "{difference} of 2,000 intervals contain the true difference"
        );
        assert!((1865..=1935).contains(&ratio), "{ratio} of 2,000 intervals contain the true ratio");
        assert!(
            narrower > 1990,
            "only {narrower} of 2,000 paired intervals are five times narrower than unpaired ones"
        );
    }
}
