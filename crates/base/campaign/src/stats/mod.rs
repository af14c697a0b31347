//! Statistics: intervals over repeats, spread between repeats of the same point, significance.

mod change;
mod estimate;
mod repeated;
mod special;

pub use change::{Change, Method, POWER, Repeats};
pub use estimate::Estimate;
pub(crate) use estimate::fieller;
pub use repeated::Number;
pub use special::{student_p, student_quantile};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// A metric over repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Mean over repeats.
    pub mean: f64,
    /// Half width of the interval of the mean; `None` for a single repeat, whose spread is unknown.
    pub half_width: Option<f64>,
    /// Sample standard deviation; 0 for a single repeat.
    pub deviation: f64,
    /// Smallest value of a repeat.
    pub min: f64,
    /// Largest value of a repeat.
    pub max: f64,
    /// Number of repeats.
    pub n: usize,
}

impl Summary {
    /// Returns the interval; for a single repeat, both ends are its value.
    pub fn interval(&self) -> (f64, f64) {
        let half = self.half_width.unwrap_or(0.0);
        (self.mean - half, self.mean + half)
    }
}

/// Returns the mean with Student's interval; `None` without values.
pub fn summarise(values: &[f64], confidence: f64) -> Option<Summary> {
    if values.is_empty() {
        return None;
    }
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
    let half_width = (n > 1)
        .then(|| student_quantile((1.0 + confidence) / 2.0, (n - 1) as f64) * deviation / (n as f64).sqrt());
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Summary { mean, half_width, deviation, min, max, n })
}

/// Returns the five numbers of a box plot: minimum, first quartile, median, third quartile, maximum (linear
/// interpolation).
pub fn quartiles(values: &[f64]) -> Option<[f64; 5]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some([0.0, 0.25, 0.5, 0.75, 1.0].map(|share| {
        let at = share * last as f64;
        let low = sorted[at.floor() as usize];
        let high = sorted[at.ceil() as usize];
        low + (high - low) * at.fract()
    }))
}

/// Applies Holm's correction for multiple comparisons, some of which look significant by chance. The result has the
/// order of the input.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut floor: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        floor = floor.max((p_values[index] * (p_values.len() - rank) as f64).min(1.0));
        corrected[index] = floor;
    }
    corrected
}

/// Applies the correction of Benjamini and Hochberg: at most this share of the comparisons below a level is false. The
/// result has the order of the input.
pub fn false_discovery(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[b].total_cmp(&p_values[a]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut ceiling: f64 = 1.0;
    for (place, &index) in order.iter().enumerate() {
        let rank = p_values.len() - place;
        ceiling = ceiling.min(p_values[index] * p_values.len() as f64 / rank as f64);
        corrected[index] = ceiling;
    }
    corrected
}

/// Combines independent two-sided probabilities with the signs of their changes into one probability, by Stouffer's
/// method. It detects a change that all points share, although no single point shows it. Example: five increases with a
/// probability of 0.1 each give about 0.0002. A noisy point does not hide a quiet one.
pub fn stouffer(signed: &[(f64, bool)]) -> f64 {
    let score = |(p, up): &(f64, bool)| {
        let size = student_quantile(1.0 - p.clamp(0.0, 1.0) / 2.0, NORMAL);
        if *up { size } else { -size }
    };
    let sum: f64 = signed.iter().map(score).sum();
    if signed.is_empty() { 1.0 } else { student_p(sum / (signed.len() as f64).sqrt(), NORMAL) }
}

/// Degrees of freedom above which Student's distribution equals the normal one to six digits.
const NORMAL: f64 = 1e6;

/// Minimum number of repeats of a point that are split into halves.
const AA_REPEATS: usize = 4;
/// Number of random splits of the repeats of each point.
const AA_SPLITS: usize = 64;
/// Share of the splits that differ by less than the spread.
const AA_SHARE: f64 = 0.95;

/// Returns the A/A spread, as a share of the mean. In 95 of 100 cases, two sets of repeats of the *same* point differ
/// by less. A smaller difference between two points may be due to chance.
///
/// The repeats of each point are split at random into two halves, several times, and the means of the halves are compared.
/// The result is scaled from half of the repeats to all repeats. Returns `None` if all points have fewer than four repeats.
pub fn aa_spread(points: &[Vec<f64>], seed: u64) -> Option<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut spreads = Vec::new();
    for values in points.iter().filter(|values| values.len() >= AA_REPEATS) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if mean != 0.0 {
            let scale = (2.0 / n).sqrt() / mean.abs();
            spreads.extend(splits(values, &mut rng).map(|spread| spread * scale));
        }
    }
    highest(spreads)
}

/// Returns the A/A spread of the repeats of one point. If the repeats are split at random, the means of the halves
/// differ by at most this value in 95 of 100 splits. It is scaled to the error of the mean of all repeats. With five
/// repeats, it never exceeds twice the standard error. `None` with fewer than four repeats.
pub fn split_spread(values: &[f64]) -> Option<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let by = (values.len() as f64).sqrt();
    let enough = values.len() >= AA_REPEATS;
    enough.then(|| highest(splits(values, &mut rng).map(|spread| spread / by).collect()))?
}

/// Splits the values at random into two halves, several times, and returns the difference of the means of each split. Each
/// difference is divided by `sqrt(1 / n1 + 1 / n2)`, its standard deviation for values with a standard deviation of 1.
fn splits<'a>(values: &[f64], rng: &'a mut ChaCha8Rng) -> impl Iterator<Item = f64> + use<'a> {
    let mut shuffled = values.to_vec();
    let middle = shuffled.len() / 2;
    let halves = [middle, shuffled.len() - middle].map(|n| n as f64);
    let unit = (1.0 / halves[0] + 1.0 / halves[1]).sqrt();
    (0..AA_SPLITS).map(move |_| {
        shuffled.shuffle(rng);
        let (a, b) = shuffled.split_at(middle);
        (a.iter().sum::<f64>() / halves[0] - b.iter().sum::<f64>() / halves[1]).abs() / unit
    })
}

fn highest(mut spreads: Vec<f64>) -> Option<f64> {
    spreads.sort_by(f64::total_cmp);
    let at = ((spreads.len() as f64 * AA_SHARE).ceil() as usize).checked_sub(1)?;
    spreads.get(at).copied()
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    #[test]
    fn interval_matches_student_distribution() {
        // t(0.975, 4) = 2.776445; mean 3, deviation sqrt(2.5).
        let summary = summarise(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!((summary.mean, summary.n, summary.min, summary.max), (3.0, 5, 1.0, 5.0));
        assert!((summary.half_width.unwrap() - 2.776_445 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-5);
        assert_eq!(summarise(&[7.0], 0.95).unwrap().half_width, None);
        assert_eq!(summarise(&[], 0.95), None);
    }

    #[test]
    fn interval_has_nominal_coverage() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let held = (0..1000)
            .filter(|_| {
                let values: Vec<f64> =
                    (0..5).map(|_| 10.0 + Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect();
                let (low, high) = summarise(&values, 0.95).unwrap().interval();
                (low..=high).contains(&10.0)
            })
            .count();
        assert!((930..=970).contains(&held), "{held} of 1,000 intervals contain the true mean");
    }

    #[test]
    fn welch_agrees_with_an_independent_program() {
        // Expected values: scipy.stats.ttest_ind(a, b, equal_var=False) returns t = -2.949237, 27.3116 degrees of freedom.
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 31.3];
        let p_of = |a: &[f64], b: &[f64]| {
            let of = |values| Estimate::from_summary(&summarise(values, 0.95).unwrap(), false);
            of(a).minus(of(b)).p()
        };
        assert!((p_of(&a, &b).unwrap() - 0.006_460_408_027).abs() < 1e-9);
        // Few and uneven: t = -1.808389, 2.4557 degrees of freedom.
        let p = p_of(&[1.0, 2.0, 3.0, 4.0], &[2.5, 7.0, 9.0]).unwrap();
        assert!((p - 0.188_257_349_636).abs() < 1e-9, "{p}");
        assert_eq!(p_of(&[1.0], &b), None);
        assert_eq!(p_of(&[1.0, 1.0], &[2.0, 2.0]), Some(0.0));
        assert_eq!(p_of(&[1.0, 1.0], &[1.0, 1.0]), Some(1.0));
    }

    #[test]
    fn holm_correction_keeps_the_order() {
        let corrected = holm(&[0.01, 0.04, 0.03]);
        for (ours, textbook) in corrected.iter().zip([0.03, 0.06, 0.06]) {
            assert!((ours - textbook).abs() < 1e-12);
        }
    }

    #[test]
    fn false_discovery_is_corrected_as_in_the_textbook() {
        // Expected values: scipy.stats.false_discovery_control.
        let corrected = false_discovery(&[0.01, 0.04, 0.03, 0.2]);
        for (ours, theirs) in corrected.iter().zip([0.04, 0.053_333_333, 0.053_333_333, 0.2]) {
            assert!((ours - theirs).abs() < 1e-8, "{corrected:?}");
        }
        // Expected value: twice scipy.stats.combine_pvalues(method="stouffer") of the one-sided halves.
        let together = stouffer(&[(0.1, true), (0.2, true), (0.3, true)]);
        assert!((together - 0.022_140_7).abs() < 1e-5, "{together}");
        assert!(stouffer(&[(0.01, true), (0.01, false)]) > 0.99);
    }

    #[test]
    fn aa_spread_matches_the_noise() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let points: Vec<Vec<f64>> = (0..50)
            .map(|_| {
                (0..10)
                    .map(|_| 100.0 + 5.0 * Distribution::<f64>::sample(&StandardNormal, &mut rng))
                    .collect()
            })
            .collect();
        // For ten values against ten, the standard deviation of the difference is 5 % * sqrt(2/10). Twice this value
        // covers 95 % of the cases.
        let spread = aa_spread(&points, 1).unwrap();
        assert!((0.038..0.05).contains(&spread), "{spread}");
        assert_eq!(aa_spread(&[vec![1.0, 2.0]], 1), None);
    }

    #[test]
    fn quartiles_are_interpolated() {
        assert_eq!(quartiles(&[4.0, 1.0, 3.0, 2.0]), Some([1.0, 1.75, 2.5, 3.25, 4.0]));
        assert_eq!(quartiles(&[]), None);
    }
}
