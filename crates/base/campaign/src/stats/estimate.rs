//! Means with their errors, and the errors of their sums and ratios.

use super::{Summary, student_p, student_quantile};

/// A number estimated from repeats, or derived from such numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Best estimate of the number.
    pub value: f64,
    /// Standard error of the value; `None` for a single repeat, whose spread is unknown.
    pub error: Option<f64>,
    /// Degrees of freedom of the error; infinite if the error is known exactly.
    pub freedom: f64,
    /// Number of repeats; with several sources, the smallest number.
    pub n: usize,
    /// Distance by which the true value may lie below [`value`](Self::value), independent of the spread of
    /// repeats; infinite for an upper bound.
    pub below: f64,
    /// Distance by which the true value may lie above [`value`](Self::value): the bracket of a search, infinite for a
    /// lower bound.
    pub above: f64,
}

impl Estimate {
    /// Converts a mean over repeats. `exact`: the number is the same in every run, so one repeat suffices.
    pub fn from_summary(summary: &Summary, exact: bool) -> Self {
        let n = summary.n;
        let (error, freedom) = match n {
            0 | 1 => (exact.then_some(0.0), f64::INFINITY),
            _ => (Some(summary.deviation / (n as f64).sqrt()), (n - 1) as f64),
        };
        Self { value: summary.mean, error, freedom, n, below: 0.0, above: 0.0 }
    }

    /// Returns the weighted sum of estimates. Errors add by squares, degrees of freedom by Welch and Satterthwaite.
    pub fn sum(parts: &[(f64, Self)]) -> Self {
        let square = |(weight, part): &(f64, Self)| Some((weight * part.error?).powi(2));
        let squares: Option<Vec<f64>> = parts.iter().map(square).collect();
        let (error, freedom) = match &squares {
            None => (None, f64::INFINITY),
            Some(squares) => {
                let all: f64 = squares.iter().sum();
                let terms: f64 =
                    squares.iter().zip(parts).map(|(square, (_, part))| square.powi(2) / part.freedom).sum();
                (Some(all.sqrt()), if terms > 0.0 { all.powi(2) / terms } else { f64::INFINITY })
            }
        };
        let value = parts.iter().map(|(weight, part)| weight * part.value).sum();
        let (below, above) = slack(parts.iter().copied());
        Self {
            value,
            error,
            freedom,
            n: parts.iter().map(|(_, part)| part.n).min().unwrap_or(0),
            below,
            above,
        }
    }

    /// Returns the estimate with additional room for the true value on either side.
    pub fn with_slack(self, below: f64, above: f64) -> Self {
        Self { below, above, ..self }
    }

    /// Returns the difference to another estimate (Welch).
    pub fn minus(self, other: Self) -> Self {
        Self::sum(&[(1.0, self), (-1.0, other)])
    }

    /// Returns the mean of several estimates.
    pub fn mean(all: &[Self]) -> Self {
        Self::sum(&all.iter().map(|one| (1.0 / all.len() as f64, *one)).collect::<Vec<_>>())
    }

    /// Returns the interval at a confidence; `None` for a single repeat.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = self.half_width(confidence)?;
        Some((self.value - half - self.below, self.value + half + self.above))
    }

    /// Returns the half width of the spread of repeats, without [below](Self::below) and [above](Self::above).
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        self.error.map(|error| if error > 0.0 { error * quantile(confidence, self.freedom) } else { 0.0 })
    }

    /// Returns Fieller's interval of the ratio to another estimate, which is exact for normal means and valid for a
    /// numerator of 0. Returns `None` if either estimate has a single repeat. The interval is unbounded if the divisor may
    /// be 0.
    pub fn ratio(self, by: Self, confidence: f64) -> Option<(f64, f64)> {
        let va = self.error?.powi(2);
        let vb = by.error?.powi(2);
        let a = self.value;
        let b = by.value;
        // The degrees of freedom are those of `a - r * b`, where r is the ratio `a / b`.
        let spread = Self::sum(&[(1.0, self), (-a / b, by)]);
        let interval = fieller((a, b), (va, vb, 0.0), spread.freedom, confidence);
        Some(self.widen_ratio(&by, interval))
    }

    /// Returns the interval of a ratio, widened by the slack of both numbers.
    pub(super) fn widen_ratio(&self, by: &Self, interval: (f64, f64)) -> (f64, f64) {
        if self.below + self.above + by.below + by.above == 0.0 {
            return interval;
        }
        // The largest and the smallest ratio are among the four combinations of the ends of the numerator and the
        // divisor. If the divisor may be 0 within its slack, the ratio is unbounded.
        if by.value - by.below <= 0.0 && by.below.is_finite() && by.value + by.above > 0.0 && by.below > 0.0 {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let by_low = if by.below.is_infinite() { 0.0 } else { by.value - by.below };
        let corners = [self.value - self.below, self.value + self.above]
            .into_iter()
            .flat_map(|a| [by_low, by.value + by.above].map(|b| corner(a, b)));
        let centre = self.value / by.value;
        let mut low = centre;
        let mut high = centre;
        for ratio in corners {
            low = low.min(ratio);
            high = high.max(ratio);
        }
        (interval.0 - (centre - low), interval.1 + (high - centre))
    }

    /// Returns the result of Welch's test against 0. It is the probability of a value at least this far from 0 if the
    /// true value were 0. `None` for a single repeat. Without any error, the result is certain.
    pub fn p(&self) -> Option<f64> {
        // The value nearest to 0 within the slack.
        let nearest = if self.value > 0.0 {
            (self.value - self.below).max(0.0)
        } else {
            (self.value + self.above).min(0.0)
        };
        match self.error? {
            error if error > 0.0 => Some(student_p(nearest / error, self.freedom)),
            _ => Some(if nearest == 0.0 { 1.0 } else { 0.0 }),
        }
    }
}

/// Returns the distances by which a weighted sum may lie below and above its value because of the slack of its terms.
pub(super) fn slack(parts: impl Iterator<Item = (f64, Estimate)>) -> (f64, f64) {
    parts.fold((0.0, 0.0), |(below, above), (weight, part)| {
        // 0 times infinity is NaN.
        let of = |slack: f64| if weight == 0.0 || slack == 0.0 { 0.0 } else { weight.abs() * slack };
        let (own_below, own_above) =
            if weight < 0.0 { (part.above, part.below) } else { (part.below, part.above) };
        (below + of(own_below), above + of(own_above))
    })
}

/// Returns the ratio of two ends, either of which may be infinite.
fn corner(a: f64, b: f64) -> f64 {
    match (a.is_infinite(), b.is_infinite()) {
        (true, true) => f64::INFINITY,
        (false, true) => 0.0,
        _ if b == 0.0 => f64::INFINITY.copysign(a),
        _ => a / b,
    }
}

/// Returns Fieller's interval of `a / b`, two means with these variances and this covariance; unbounded where `b` may
/// be 0.
pub(crate) fn fieller(
    (a, b): (f64, f64),
    (va, vb, cab): (f64, f64, f64),
    freedom: f64,
    confidence: f64,
) -> (f64, f64) {
    let t2 = if va + vb > 0.0 { quantile(confidence, freedom).powi(2) } else { 0.0 };
    let across = a * b - t2 * cab;
    let divisor = b * b - t2 * vb;
    if divisor <= 0.0 || divisor.is_nan() {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let root = across.powi(2) - divisor * (a * a - t2 * va);
    let root = root.max(0.0).sqrt();
    ((across - root) / divisor, (across + root) / divisor)
}

/// Returns Student's two-sided quantile; beyond a million degrees of freedom it equals the normal quantile to six
/// digits.
fn quantile(confidence: f64, freedom: f64) -> f64 {
    student_quantile((1.0 + confidence) / 2.0, freedom.min(1e6))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::super::summarise;
    use super::*;

    fn estimate(values: &[f64]) -> Estimate {
        Estimate::from_summary(&summarise(values, 0.95).unwrap(), false)
    }

    #[test]
    fn single_repeat_has_no_interval_unless_exact() {
        let one = summarise(&[7.0], 0.95).unwrap();
        assert_eq!(Estimate::from_summary(&one, false).interval(0.95), None);
        assert_eq!(Estimate::from_summary(&one, true).interval(0.95), Some((7.0, 7.0)));
        assert_eq!(estimate(&[7.0]).minus(estimate(&[1.0, 2.0])).interval(0.95), None);
        assert_eq!(estimate(&[1.0, 2.0]).ratio(estimate(&[7.0]), 0.95), None);
    }

    /// Intervals of 2,000 draws from known laws contain the true value as often as stated, with few and
    /// uneven repeats.
    #[test]
    fn differences_and_ratios_have_nominal_coverage() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut draw = |mean: f64, sd: f64, n: usize| -> Vec<f64> {
            (0..n).map(|_| mean + sd * Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect()
        };
        let mut difference = 0;
        let mut ratio = 0;
        for _ in 0..2000 {
            let a = estimate(&draw(30.0, 3.0, 5));
            let b = estimate(&draw(10.0, 0.5, 3));
            let holds = |interval: Option<(f64, f64)>, truth: f64| {
                let (low, high) = interval.unwrap();
                i32::from((low..=high).contains(&truth))
            };
            difference += holds(a.minus(b).interval(0.95), 20.0);
            ratio += holds(a.ratio(b, 0.95), 3.0);
        }
        assert!(
            (1870..=1940).contains(&difference),
            "{difference} of 2,000 intervals contain the true difference"
        );
        assert!((1870..=1940).contains(&ratio), "{ratio} of 2,000 intervals contain the true ratio");
    }

    #[test]
    fn ratio_is_unbounded_if_divisor_may_be_zero() {
        let (low, high) = estimate(&[1.0, 1.1]).ratio(estimate(&[-1.0, 1.5]), 0.95).unwrap();
        assert!(low.is_infinite() && high.is_infinite());
        assert_eq!(estimate(&[0.0, 0.0]).ratio(estimate(&[5.0, 5.0]), 0.95), Some((0.0, 0.0)));
    }
}
