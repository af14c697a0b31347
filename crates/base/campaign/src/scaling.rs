//! Growth of a cost with a load, as the exponent of a power law.

use serde::Serialize;

use crate::stats::{Estimate, student_quantile};

/// A power law through measured points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Growth {
    /// Exponent of the power law: 1 for linear growth, 2 for quadratic growth.
    pub exponent: f64,
    /// Half width of the exponent's interval; `None` with two points.
    pub half_width: Option<f64>,
    /// Number of points used.
    pub n: usize,
}

/// Fits `y = a * x^e` by least squares of the logarithms. Points not above 0 are left out; `None` with fewer
/// than two different loads.
pub fn growth(samples: &[(f64, f64)], confidence: f64) -> Option<Growth> {
    let logs: Vec<(f64, f64)> =
        samples.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / n as f64;
    let mean_x = mean(|point| point.0);
    let mean_y = mean(|point| point.1);
    let xx: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let xy: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if n < 2 || xx < 1e-12 {
        return None;
    }
    let exponent = xy / xx;
    let squares: f64 = logs.iter().map(|(x, y)| (y - mean_y - exponent * (x - mean_x)).powi(2)).sum();
    let half_width = (n > 2).then(|| {
        let freedom = (n - 2) as f64;
        student_quantile((1.0 + confidence) / 2.0, freedom) * (squares / freedom / xx).sqrt()
    });
    Some(Growth { exponent, half_width, n })
}

/// Returns the growth through means that have errors. The half width is the larger of two values. One is the half width
/// of the regression, from the distances of the points to the line. The other is the effect of the errors of the
/// points. `None` if a point is a single repeat.
pub fn growth_of(points: &[(f64, Estimate)], confidence: f64) -> Option<Growth> {
    let points: Vec<&(f64, Estimate)> = points.iter().filter(|(x, y)| *x > 0.0 && y.value > 0.0).collect();
    let values: Vec<(f64, f64)> = points.iter().map(|(x, y)| (*x, y.value)).collect();
    let seen = growth(&values, confidence)?;
    let mean = points.iter().map(|(x, _)| x.ln()).sum::<f64>() / points.len() as f64;
    let xx: f64 = points.iter().map(|(x, _)| (x.ln() - mean).powi(2)).sum();
    let parts: Vec<(f64, Estimate)> = points
        .iter()
        .map(|(x, y)| {
            let error = y.error.map(|error| error / y.value);
            let value = y.value.ln();
            let below = value - (y.value - y.below).max(0.0).ln();
            let above = (y.value + y.above).ln() - value;
            ((x.ln() - mean) / xx, Estimate { value, error, below, above, ..*y })
        })
        .collect();
    let sum = Estimate::sum(&parts);
    // Points that are only bounds make the interval of the exponent infinite.
    let own = sum.half_width(confidence).map(|own| own + sum.below.max(sum.above));
    Some(Growth { half_width: own.map(|own| own.max(seen.half_width.unwrap_or(0.0))), ..seen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponent_of_power_law_is_estimated() {
        let samples: Vec<_> = [1.0, 2.0, 5.0, 10.0].map(|x: f64| (x, 3.0 * x.powf(1.5))).to_vec();
        let growth = growth(&samples, 0.95).unwrap();
        assert!((growth.exponent - 1.5).abs() < 1e-9 && growth.half_width.unwrap() < 1e-6);
        assert_eq!(super::growth(&[(1.0, 1.0), (1.0, 2.0)], 0.95), None);
    }

    #[test]
    fn errors_of_points_widen_exponent_interval() {
        let at = |error: Option<f64>| {
            let y = |x: f64| Estimate {
                value: 3.0 * x,
                error: error.map(|e| e * x),
                freedom: 4.0,
                n: 5,
                below: 0.0,
                above: 0.0,
            };
            growth_of(&[1.0, 2.0, 4.0].map(|x| (x, y(x))), 0.95).unwrap()
        };
        // Three points are on a line, so the regression by itself has no error. The weights of the outer two points are
        // 1/(2 ln 2), and the errors of the logarithms are 0.1. t of 8 degrees of freedom is 2.306.
        let width = at(Some(0.3)).half_width.unwrap();
        assert!((width - 2.306 * 0.1 / (2.0_f64.sqrt() * 2.0_f64.ln())).abs() < 1e-3, "{width}");
        assert!(at(Some(0.0)).half_width.unwrap() < 1e-9);
        assert_eq!(at(None).half_width, None);
    }
}
