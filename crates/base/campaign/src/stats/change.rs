//! Change from one set of repeats to another. It is a log ratio if all values are positive, otherwise it is relative to
//! the first set. Outliers are handled by a robust test, and the smallest detectable change is computed.

use serde::Serialize;

use super::{Estimate, split_spread, student_p, student_quantile, summarise};

/// Probability with which a change as large as [`Change::detectable`] is found.
pub const POWER: f64 = 0.8;
/// Share of the repeats that trimming removes at each end (Yuen).
const TRIM: f64 = 0.2;
/// Minimum number of repeats of a side for trimming: of five repeats, three remain.
const TRIM_REPEATS_MIN: usize = 5;
/// Minimum number of repeats for which [`OUTLIER`] is used; with fewer, [`OUTLIER_OF_FEW`].
const MANY_REPEATS: usize = 10;
/// Distance from the median, in normalised median absolute deviations, above which a repeat is an outlier.
/// With normal values, 4 % of samples of ten repeats have such an outlier, and 1.4 % of twenty.
const OUTLIER: f64 = 5.0;
/// Like [`OUTLIER`], for fewer than ten repeats. It is larger because the deviation of few values is often small by
/// chance: 3.4 % of samples of five normal values have such an outlier.
const OUTLIER_OF_FEW: f64 = 10.0;
/// Factor that makes a median absolute deviation comparable to a standard deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// Ratio of the largest to the smallest value of a side above which the values are compared as logarithms.
const WIDE: f64 = 2.0;

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// Mean with its error and limits.
    pub estimate: Estimate,
    /// Value of each repeat; `None` if only mean and interval are known.
    pub values: Option<Vec<f64>>,
}

impl Repeats {
    /// Creates a side from the value of each repeat.
    pub fn new(values: &[f64]) -> Option<Self> {
        let summary = summarise(values, 0.95)?;
        Some(Self { estimate: Estimate::from_summary(&summary, false), values: Some(values.to_vec()) })
    }
}

/// Method of comparison of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Welch's test of the means.
    Welch,
    /// Welch's test of the logarithms. Used if the repeats of a side spread by more than a factor of two.
    WelchOfLogarithms,
    /// Yuen's test of 20 % trimmed means. Used if a side has outliers.
    Yuen,
}

/// The change from a first to a second side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Size of the change: `ln(second / first)` if [`logarithmic`](Self::logarithmic), otherwise
    /// `(second - first) / |first|`.
    pub estimate: Estimate,
    /// Whether all values are above 0, so that their ratio has a logarithm.
    pub logarithmic: bool,
    /// Two-sided probability of such a change by chance; `None` with a single repeat.
    pub p: Option<f64>,
    /// Method of the comparison.
    pub method: Method,
    /// Number of repeats of either side that are outliers.
    pub outliers: usize,
    /// Difference to be expected between two sets of repeats of the same point (A/A spread), with this number of
    /// repeats and on the scale of `estimate`.
    pub floor: Option<f64>,
}

impl Change {
    /// Returns the change from `a` to `b`.
    pub fn between(a: &Repeats, b: &Repeats) -> Self {
        let positive = |side: &Repeats| {
            side.estimate.value > 0.0
                && side.values.as_deref().unwrap_or_default().iter().all(|value| *value > 0.0)
        };
        let logarithmic = positive(a) && positive(b);
        let sides = [Side::new(a, logarithmic), Side::new(b, logarithmic)];
        let outliers = sides.iter().map(|side| side.outliers).sum();
        let trimmed = sides[0].trimmed.zip(sides[1].trimmed).filter(|_| outliers > 0);
        let (method, estimate) = match trimmed {
            Some((a, b)) => (Method::Yuen, b.minus(a)),
            None if logarithmic && sides.iter().any(|side| side.wide) => {
                (Method::WelchOfLogarithms, sides[1].mean.minus(sides[0].mean))
            }
            None => (Method::Welch, sides[1].mean.minus(sides[0].mean)),
        };
        let scaled = if logarithmic { estimate } else { relative(estimate, a.estimate.value) };
        let p = match method {
            Method::Welch => b.estimate.minus(a.estimate).p(),
            Method::WelchOfLogarithms | Method::Yuen => estimate.p(),
        };
        let scale = if logarithmic { 1.0 } else { a.estimate.value.abs() };
        let spread = |side: &Side| if method == Method::Yuen { side.trimmed_spread } else { side.spread };
        let floor = spread(&sides[0]).zip(spread(&sides[1])).map(|(a, b)| a.hypot(b) / scale);
        Self {
            estimate: scaled,
            logarithmic,
            p,
            method,
            outliers,
            floor: floor.filter(|floor| floor.is_finite()),
        }
    }

    /// Converts a value on the scale of `estimate` to a relative change: -0.07 means 7 % less.
    pub fn share(&self, value: f64) -> f64 {
        if self.logarithmic { value.exp_m1() } else { value }
    }

    /// Converts a share to the scale of the estimate; `None` for a share outside the scale (-100 % and less).
    pub fn on_scale(&self, share: f64) -> Option<f64> {
        if self.logarithmic { (share > -1.0).then(|| share.ln_1p()) } else { Some(share) }
    }

    /// Returns the interval as shares; `None` with a single repeat.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let (low, high) = self.estimate.interval(confidence)?;
        Some((self.share(low), self.share(high)))
    }

    /// Returns the share above which a change is detected with probability [`POWER`] at the level `alpha`; `None` with
    /// a single repeat.
    pub fn detectable(&self, alpha: f64) -> Option<f64> {
        let error = self.estimate.error?;
        let freedom = self.estimate.freedom.min(1e6);
        let quantiles = student_quantile(1.0 - alpha / 2.0, freedom) + student_quantile(POWER, freedom);
        let slack = self.estimate.below.max(self.estimate.above);
        let size = slack + if error > 0.0 { error * quantiles } else { 0.0 };
        Some(self.share(size.max(self.floor.unwrap_or(0.0))))
    }

    /// Returns the one-sided p-value of the measured change if the true change were `share`. `above`: tests whether the
    /// change is larger than `share`; otherwise, whether it is smaller.
    pub fn p_beyond(&self, share: f64, above: bool) -> Option<f64> {
        let Some(limit) = self.on_scale(share) else {
            return self.estimate.error.map(|_| if above { 0.0 } else { 1.0 });
        };
        if !self.estimate.value.is_finite() {
            // If the first side is 0, the change has a sign but no size.
            let beyond = (self.estimate.value > 0.0) == above;
            return self.p.map(|p| if beyond { p / 2.0 } else { 1.0 });
        }
        let nearest = if above {
            self.estimate.value - self.estimate.below - limit
        } else {
            limit - self.estimate.value - self.estimate.above
        };
        Some(match self.estimate.error? {
            error if error > 0.0 => {
                let tail = student_p(nearest / error, self.estimate.freedom) / 2.0;
                if nearest > 0.0 { tail } else { 1.0 - tail }
            }
            _ if nearest > 0.0 => 0.0,
            _ => 1.0,
        })
    }
}

/// Divides a difference by the absolute value of the first side. The result is infinite if the first side is 0.
fn relative(difference: Estimate, first: f64) -> Estimate {
    let by = first.abs();
    if by == 0.0 {
        let value = if difference.value == 0.0 { 0.0 } else { f64::INFINITY.copysign(difference.value) };
        return Estimate { value, ..difference };
    }
    Estimate {
        value: difference.value / by,
        error: difference.error.map(|error| error / by),
        below: difference.below / by,
        above: difference.above / by,
        ..difference
    }
}

/// A side on the scale of the comparison.
struct Side {
    mean: Estimate,
    trimmed: Option<Estimate>,
    outliers: usize,
    wide: bool,
    spread: Option<f64>,
    trimmed_spread: Option<f64>,
}

impl Side {
    fn new(side: &Repeats, logarithmic: bool) -> Self {
        let scaled: Option<Vec<f64>> = side
            .values
            .as_ref()
            .map(|values| values.iter().map(|value| if logarithmic { value.ln() } else { *value }).collect());
        let scaled = scaled.unwrap_or_default();
        let (low, high) =
            scaled.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let wide = logarithmic && high - low > WIDE.ln();
        let own = side.estimate;
        let mean = match summarise(&scaled, 0.95).filter(|_| wide) {
            Some(summary) => with_slack_of(Estimate::from_summary(&summary, false), &own, logarithmic),
            None if logarithmic => logarithm(&own),
            None => own,
        };
        let winsorized = Winsorized::new(&scaled);
        let trimmed =
            winsorized.as_ref().map(|own| with_slack_of(own.estimate(), &side.estimate, logarithmic));
        Self {
            mean,
            trimmed,
            outliers: outliers(&scaled),
            wide,
            spread: split_spread(&scaled),
            trimmed_spread: winsorized.and_then(|own| Some(split_spread(&own.values)? * own.widening())),
        }
    }
}

/// Returns the logarithm of a mean that is far from 0 compared with its error.
fn logarithm(own: &Estimate) -> Estimate {
    let error = own.error.map(|error| error / own.value);
    with_slack_of(Estimate { value: own.value.ln(), error, ..*own }, own, true)
}

fn with_slack_of(estimate: Estimate, own: &Estimate, logarithmic: bool) -> Estimate {
    if !logarithmic {
        return estimate.with_slack(own.below, own.above);
    }
    let lowest = own.value - own.below;
    let below = if lowest > 0.0 { (own.value / lowest).ln() } else { f64::INFINITY };
    estimate.with_slack(below, (own.above / own.value).ln_1p())
}

/// Repeats with the outer fifth at each end replaced by the nearest remaining value.
struct Winsorized {
    values: Vec<f64>,
    /// Mean of the remaining values.
    mean: f64,
    /// Number of remaining values.
    left: usize,
}

impl Winsorized {
    /// Creates the winsorized repeats. Returns `None` for too few repeats, or if the remaining values have no spread,
    /// because the effect of chance is then unknown.
    fn new(values: &[f64]) -> Option<Self> {
        let n = values.len();
        let cut = (TRIM * n as f64).floor() as usize;
        if n < TRIM_REPEATS_MIN {
            return None;
        }
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let low = values[cut];
        let high = values[n - 1 - cut];
        let left = n - 2 * cut;
        let mean = values[cut..n - cut].iter().sum::<f64>() / left as f64;
        values.iter_mut().for_each(|value| *value = value.clamp(low, high));
        (low < high).then_some(Self { values, mean, left })
    }

    /// Returns Yuen's estimate: the trimmed mean, with the error of the winsorized deviation.
    fn estimate(&self) -> Estimate {
        let n = self.values.len() as f64;
        let left = self.left as f64;
        let deviation = summarise(&self.values, 0.95).map_or(0.0, |summary| summary.deviation);
        let error = deviation * ((n - 1.0) / (left * (left - 1.0))).sqrt();
        let freedom = left - 1.0;
        Estimate {
            value: self.mean,
            error: Some(error),
            freedom,
            n: self.values.len(),
            below: 0.0,
            above: 0.0,
        }
    }

    /// Returns the factor by which the spread of a trimmed mean exceeds that of the mean of winsorized values.
    fn widening(&self) -> f64 {
        self.values.len() as f64 / self.left as f64
    }
}

/// Returns the number of values that are far from the median of all values.
fn outliers(values: &[f64]) -> usize {
    if values.len() < TRIM_REPEATS_MIN {
        return 0;
    }
    let middle = |values: &[f64]| super::quartiles(values).map_or(0.0, |quartiles| quartiles[2]);
    let median = middle(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let limit = if values.len() < MANY_REPEATS { OUTLIER_OF_FEW } else { OUTLIER };
    let deviation = MAD_TO_DEVIATION * middle(&distances);
    distances.iter().filter(|distance| deviation > 0.0 && **distance > limit * deviation).count()
}

#[cfg(test)]
#[path = "change/tests.rs"]
mod tests;
