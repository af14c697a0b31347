//! The Universal Scalability Law: the throughput at concurrency n is `X(n) = λn / (1 + σ(n-1) + κn(n-1))`. The fit has
//! confidence intervals, and flags for doubts about the fit.

use serde::{Deserialize, Serialize};

use crate::stats::{fieller, student_quantile};

/// Minimum number of distinct concurrencies; fewer fit three parameters exactly.
pub const CONCURRENCIES_MIN: usize = 4;
/// Maximum number of Gauss-Newton steps; the fit converges in about ten.
const STEPS_MAX: usize = 200;
/// Relative distance from a known cap within which a measured value counts as limited by the cap.
const CAP_MARGIN: f64 = 0.02;

/// The law's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usl {
    /// Throughput at a concurrency of one.
    pub lambda: f64,
    /// Contention: the share of work that cannot run in parallel.
    pub sigma: f64,
    /// Crosstalk: the additional work for each pair of units.
    pub kappa: f64,
}

impl Usl {
    /// Returns the throughput at a concurrency.
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// Returns the concurrency of the largest throughput, `sqrt((1 - σ) / κ)`. Returns `None` if there is no such peak.
    /// With σ ≥ 1, the second unit already reduces the throughput. With κ = 0, the throughput never falls.
    pub fn n_max(&self) -> Option<f64> {
        (self.sigma < 1.0 && self.kappa > 0.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }
}

/// A fitted law.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UslFit {
    /// Best parameters, all at least 0.
    pub usl: Usl,
    /// Interval of λ.
    pub lambda: (f64, f64),
    /// Interval of σ.
    pub sigma: (f64, f64),
    /// Interval of κ.
    pub kappa: (f64, f64),
    /// Confidence with which all three intervals hold *together* (Bonferroni).
    pub confidence: f64,
    /// The concurrency of the largest throughput.
    pub peak: Peak,
    /// Assumption behind the intervals: [`ERROR_MODEL`].
    pub error_model: &'static str,
    /// Share of the variance of the logarithm that the law explains.
    pub r_squared: f64,
    /// Root mean square of the relative residuals.
    pub residual: f64,
    /// The range of concurrencies that was measured.
    pub measured: (f64, f64),
    /// Doubts about the fit that a reader must know.
    pub flags: Vec<UslFlag>,
}

/// The fit's assumption about the errors of the points.
pub const ERROR_MODEL: &str =
    "least squares of the logarithm: independent errors of the same relative size at every point";

/// The concurrency of the largest throughput, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Peak {
    /// A peak exists.
    At {
        /// Best concurrency; see [`Usl::n_max`].
        n: f64,
        /// Lower end of the interval of the best concurrency.
        low: f64,
        /// Upper end of the interval of the best concurrency.
        high: f64,
    },
    /// The points show no peak: κ may be 0, with unlimited growth of throughput.
    NotShown {
        /// Lower limit of the concurrency of a possible peak; `None` if it is unknown.
        beyond: Option<f64>,
    },
    /// Contention is 1 or more: a concurrency of one is best.
    First,
}

impl Peak {
    /// Describes the peak: `99.0 (98.7 to 99.3)`, or the reason why it is unknown.
    pub fn words(&self) -> String {
        match self {
            Self::At { n, low, high } => format!("{n:.1} ({low:.1} to {high:.1})"),
            Self::NotShown { beyond: Some(n) } => {
                format!("no peak exists, or it is beyond {n:.0}: κ may be 0")
            }
            Self::NotShown { beyond: None } => "no peak is shown: κ may be 0".to_owned(),
            Self::First => "no peak: a concurrency of 1 is best".to_owned(),
        }
    }
}

/// Smallest share of crosstalk in the time of the point with the largest concurrency. A smaller share is a rounding
/// error.
const CROSSTALK_MIN: f64 = 1e-6;

/// Doubts about a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UslFlag {
    /// σ ≥ 1: there is no peak; a concurrency of one is best.
    SigmaAtLeastOne,
    /// The peak is outside the measured range.
    PeakExtrapolated,
    /// Points at a known cap (a link, a quota) were left out, so the scaling beyond them is unknown.
    Capped {
        /// Smallest concurrency that reached the cap.
        from: f64,
    },
    /// The last points are constant although the law is not: probably an unknown cap.
    Plateau,
    /// The throughput scales better than linearly, which the law does not cover. Without their lower limit of 0, σ or κ
    /// would be negative.
    Superlinear,
    /// The law misses the points by more than 10 %.
    PoorFit,
}

impl UslFlag {
    /// Returns a sentence that describes the fit.
    pub fn sentence(&self) -> String {
        match self {
            Self::SigmaAtLeastOne => {
                "contention is 1 or more: there is no peak, and a concurrency of 1 is best".to_owned()
            }
            Self::PeakExtrapolated => "the peak is beyond the measured range and is extrapolated".to_owned(),
            Self::Capped { from } => {
                format!(
                    "from {from} on, a cap was reached; these points were left out because they do not show the system"
                )
            }
            Self::Plateau => {
                "the throughput of the last points is constant: look for a cap (link, quota, generator)"
                    .to_owned()
            }
            Self::Superlinear => {
                "it scales better than linearly somewhere, which the law cannot describe".to_owned()
            }
            Self::PoorFit => "the law misses the points by more than 10 %".to_owned(),
        }
    }
}

/// Reason why no law could be fitted.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UslError {
    /// Too few distinct concurrencies.
    #[error("a scaling law needs {CONCURRENCIES_MIN} different concurrencies below any cap; there are {0}")]
    TooFew(usize),
    /// Concurrency or throughput not above 0.
    #[error("concurrency and throughput must be finite and above 0")]
    NotPositive,
    /// The points do not determine the parameters.
    #[error("the points determine no scaling law")]
    Singular,
}

/// Fits the law to (concurrency, throughput) of all repeats by least squares of the *relative* error. `cap`: a known
/// limit of throughput outside the system. Errors are taken as relative ([`ERROR_MODEL`]).
///
/// # Errors
/// There are too few points, or they do not determine the parameters.
pub fn fit(samples: &[(f64, f64)], confidence: f64, cap: Option<f64>) -> Result<UslFit, UslError> {
    if samples.iter().any(|(n, x)| !(n.is_finite() && x.is_finite() && *n > 0.0 && *x > 0.0)) {
        return Err(UslError::NotPositive);
    }
    let capped = |x: f64| cap.is_some_and(|cap| x >= cap * (1.0 - CAP_MARGIN));
    let capped_from =
        samples.iter().filter(|(_, x)| capped(*x)).map(|(n, _)| *n).fold(f64::INFINITY, f64::min);
    let below: Vec<(f64, f64)> =
        samples.iter().copied().filter(|(n, x)| !capped(*x) && *n < capped_from).collect();
    let mut distinct: Vec<f64> = below.iter().map(|(n, _)| *n).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() < CONCURRENCIES_MIN {
        return Err(UslError::TooFew(distinct.len()));
    }
    let measured = (distinct[0], distinct[distinct.len() - 1]);
    let free = descend(&below, linear_start(&below).ok_or(UslError::Singular)?, false);
    let bounded = descend(&below, clamp(free), true);
    let usl = Usl { lambda: bounded[0], sigma: bounded[1], kappa: bounded[2] };
    let freedom = (below.len() - 3) as f64;
    let variance = residuals(&below, free).iter().map(|r| r * r).sum::<f64>() / freedom;
    let covariance = inverse(normal(&below, free)).ok_or(UslError::Singular)?;
    // Each interval is widened so that all three hold together.
    let t = student_quantile(1.0 - (1.0 - confidence) / 6.0, freedom);
    let deviation = |index: usize| (variance * covariance[index][index].max(0.0)).sqrt();
    let interval = |index: usize| {
        let half = t * deviation(index);
        ((free[index] - half).max(0.0), (free[index] + half).max(0.0))
    };
    let bounded_residuals = residuals(&below, bounded);
    let residual = (bounded_residuals.iter().map(|r| r * r).sum::<f64>() / below.len() as f64).sqrt();
    let capped = Some(UslFlag::Capped { from: capped_from }).filter(|_| capped_from.is_finite());
    let mut flags = Vec::from_iter(capped);
    if usl.sigma >= 1.0 {
        flags.push(UslFlag::SigmaAtLeastOne);
    }
    let peak = Crosstalk::new(variance, &covariance, freedom).peak(
        &usl,
        (interval(1).1, interval(2).1),
        measured.1,
        confidence,
    );
    if matches!(peak, Peak::At { n, .. } if n > measured.1) {
        flags.push(UslFlag::PeakExtrapolated);
    }
    // Whether a parameter is more negative than noise explains.
    let negative = |index: usize| free[index] < -2.0 * deviation(index) - 1e-9;
    if negative(1) || negative(2) {
        flags.push(UslFlag::Superlinear);
    }
    if capped_from.is_infinite() && plateau(&below, &distinct) {
        flags.push(UslFlag::Plateau);
    }
    if residual > 0.1 {
        flags.push(UslFlag::PoorFit);
    }
    Ok(UslFit {
        usl,
        lambda: interval(0),
        sigma: interval(1),
        kappa: interval(2),
        confidence,
        peak,
        error_model: ERROR_MODEL,
        r_squared: r_squared(&below, &bounded_residuals),
        residual,
        measured,
        flags,
    })
}

/// Variances of contention and crosstalk, and their covariance.
struct Crosstalk {
    sigma: f64,
    kappa: f64,
    both: f64,
    freedom: f64,
}

impl Crosstalk {
    fn new(variance: f64, covariance: &[[f64; 3]; 3], freedom: f64) -> Self {
        let of = |i: usize, j: usize| variance * covariance[i][j];
        Self { sigma: of(1, 1).max(0.0), kappa: of(2, 2).max(0.0), both: of(1, 2), freedom }
    }

    /// Returns the peak `sqrt((1 - σ) / κ)` with Fieller's interval of the ratio. `highest`: the upper ends of σ and κ.
    fn peak(&self, usl: &Usl, highest: (f64, f64), measured_to: f64, confidence: f64) -> Peak {
        if usl.sigma >= 1.0 {
            return Peak::First;
        }
        let share = usl.kappa * measured_to * (measured_to - 1.0);
        let share = share / (1.0 + usl.sigma * (measured_to - 1.0) + share);
        let moments = (self.sigma, self.kappa, -self.both);
        let (low, high) = fieller((1.0 - usl.sigma, usl.kappa), moments, self.freedom, confidence);
        match usl.n_max().filter(|_| share > CROSSTALK_MIN && high.is_finite()) {
            Some(n) => Peak::At { n, low: low.max(1.0).sqrt(), high: high.sqrt() },
            None => {
                let beyond = ((1.0 - highest.0).max(0.0) / highest.1).sqrt();
                Peak::NotShown {
                    beyond: Some(beyond).filter(|n| n.is_finite() && *n > 1.0 && *n < BEYOND_MAX),
                }
            }
        }
    }
}

/// Maximum concurrency that is reported as the lower limit of a peak. A larger value is a rounding error.
const BEYOND_MAX: f64 = 1e6;

type Parameters = [f64; 3];

/// Returns start values for the fit, by linear least squares. The law is linear in 1/λ, σ/λ and κ/λ if it is written as
/// `n/X = 1/λ + (σ/λ)(n-1) + (κ/λ)n(n-1)`.
fn linear_start(samples: &[(f64, f64)]) -> Option<Parameters> {
    let mut matrix = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (n, x) in samples {
        // The weight X/n turns an error of n/X into a relative error of X, because `d(n/X) = (n/X) * dX/X`.
        let weight = x / n;
        let row = [1.0, n - 1.0, n * (n - 1.0)].map(|term| term * weight);
        for i in 0..3 {
            right[i] += row[i];
            for j in 0..3 {
                matrix[i][j] += row[i] * row[j];
            }
        }
    }
    let inverse = inverse(matrix)?;
    let solution: Vec<f64> = (0..3).map(|i| (0..3).map(|j| inverse[i][j] * right[j]).sum()).collect();
    let start = [1.0 / solution[0], solution[1] / solution[0], solution[2] / solution[0]];
    let mean_one = samples.iter().map(|(n, x)| x / n).fold(0.0, f64::max);
    // If 1/λ is not positive, the fit starts from the largest throughput per unit of concurrency.
    Some(if start[0].is_finite() && start[0] > 0.0 { start } else { [mean_one, 0.1, 0.01] })
}

fn clamp(parameters: Parameters) -> Parameters {
    [parameters[0], parameters[1].max(0.0), parameters[2].max(0.0)]
}

/// Returns `ln(X measured) - ln(X of the law)` for each sample. It is infinite where the law gives no positive throughput.
fn residuals(samples: &[(f64, f64)], [lambda, sigma, kappa]: Parameters) -> Vec<f64> {
    let law = Usl { lambda, sigma, kappa };
    samples
        .iter()
        .map(|(n, x)| {
            let predicted = law.at(*n);
            if predicted > 0.0 { x.ln() - predicted.ln() } else { f64::INFINITY }
        })
        .collect()
}

/// Returns the derivatives of `ln(X)` by λ, σ and κ at a concurrency.
fn gradient(n: f64, [lambda, sigma, kappa]: Parameters) -> [f64; 3] {
    let denominator = 1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0);
    [1.0 / lambda, -(n - 1.0) / denominator, -n * (n - 1.0) / denominator]
}

fn normal(samples: &[(f64, f64)], parameters: Parameters) -> [[f64; 3]; 3] {
    let mut matrix = [[0.0; 3]; 3];
    for (n, _) in samples {
        let row = gradient(*n, parameters);
        for i in 0..3 {
            for j in 0..3 {
                matrix[i][j] += row[i] * row[j];
            }
        }
    }
    matrix
}

/// Fits by Levenberg-Marquardt on the logarithms. If `bounded`, a projection keeps σ and κ at 0 or above.
fn descend(samples: &[(f64, f64)], start: Parameters, bounded: bool) -> Parameters {
    let cost = |parameters| residuals(samples, parameters).iter().map(|r| r * r).sum::<f64>();
    let mut best = start;
    let mut best_cost = cost(start);
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let mut matrix = normal(samples, best);
        // A parameter at its limit of 0 stays there if the step would make it negative.
        let errors = residuals(samples, best);
        let mut right = [0.0; 3];
        for ((n, _), error) in samples.iter().zip(&errors) {
            let row = gradient(*n, best);
            for i in 0..3 {
                right[i] += row[i] * error;
            }
        }
        for i in 0..3 {
            if bounded && i > 0 && best[i] <= 0.0 && right[i] < 0.0 {
                right[i] = 0.0;
                matrix[i] = [0.0; 3];
                matrix.iter_mut().for_each(|row| row[i] = 0.0);
                matrix[i][i] = 1.0;
            }
            matrix[i][i] *= 1.0 + damping;
        }
        let Some(inverse) = inverse(matrix) else { break };
        let mut next = best;
        for i in 0..3 {
            next[i] += (0..3).map(|j| inverse[i][j] * right[j]).sum::<f64>();
        }
        let next = if bounded { clamp(next) } else { next };
        let next_cost = if next[0] > 0.0 { cost(next) } else { f64::INFINITY };
        if next_cost < best_cost {
            let gain = best_cost - next_cost;
            (best, best_cost, damping) = (next, next_cost, damping / 10.0);
            if gain < 1e-14 * (1e-12 + best_cost) {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    best
}

/// Returns the inverse of a symmetric 3 by 3 matrix, scaled so that different sizes of parameters do not matter.
fn inverse(matrix: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let scale = [0, 1, 2].map(|i| if matrix[i][i] > 0.0 { 1.0 / matrix[i][i].sqrt() } else { 1.0 });
    let m = [0, 1, 2].map(|i| [0, 1, 2].map(|j| matrix[i][j] * scale[i] * scale[j]));
    let minor = |i: usize, j: usize| {
        let a = (i + 1) % 3;
        let b = (i + 2) % 3;
        let c = (j + 1) % 3;
        let d = (j + 2) % 3;
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant = (0..3).map(|j| m[0][j] * minor(0, j)).sum::<f64>();
    if determinant.abs() < 1e-13 {
        return None;
    }
    Some([0, 1, 2].map(|i| [0, 1, 2].map(|j| minor(j, i) / determinant * scale[i] * scale[j])))
}

fn r_squared(samples: &[(f64, f64)], residuals: &[f64]) -> f64 {
    let mean = samples.iter().map(|(_, x)| x.ln()).sum::<f64>() / samples.len() as f64;
    let total: f64 = samples.iter().map(|(_, x)| (x.ln() - mean).powi(2)).sum();
    let left: f64 = residuals.iter().map(|r| r * r).sum();
    if total > 0.0 { 1.0 - left / total } else { 0.0 }
}

/// Returns whether the throughput stays constant from a certain concurrency on, although the law of the earlier points
/// predicts further growth. Constant means that at least three concurrencies are within 2 % of the last one.
fn plateau(samples: &[(f64, f64)], distinct: &[f64]) -> bool {
    let mean_at = |n: f64| {
        let values: Vec<f64> = samples.iter().filter(|(own, _)| *own == n).map(|(_, x)| *x).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let last = distinct[distinct.len() - 1];
    let level = mean_at(last);
    let still = distinct.iter().rev().take_while(|n| (mean_at(**n) / level - 1.0).abs() <= 0.02).count();
    let (grew, stood) = distinct.split_at(distinct.len() - still);
    if still < 3 || grew.len() < CONCURRENCIES_MIN || last / stood[0] < 1.2 {
        return false;
    }
    let before: Vec<(f64, f64)> = samples.iter().copied().filter(|(n, _)| grew.contains(n)).collect();
    let law = linear_start(&before).map(|start| descend(&before, clamp(start), true));
    law.is_some_and(|[lambda, sigma, kappa]| Usl { lambda, sigma, kappa }.at(stood[1]) > 1.05 * level)
}

#[cfg(test)]
mod tests;
