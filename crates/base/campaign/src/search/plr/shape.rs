//! The two functions that are fitted to losses: the packets per second that a system loses at a load. Far below the
//! capacity both are nearly 0, and far above it both are nearly `load - capacity`. They differ in the onset of losses, which
//! is exponential or follows a normal distribution.

use std::sync::OnceLock;

/// Limits of the tables; beyond them, the functions use their asymptotes.
const ENDS: (f64, f64) = (-40.0, 40.0);
/// Number of table entries per unit. Linear interpolation between two entries is exact within 3e-5.
const PER_UNIT: f64 = 64.0;
/// Below this value, the tail of the normal distribution is computed by its asymptotic series, which is exact within
/// 6e-5.
const TAIL: f64 = -8.0;

/// Onset of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The slope is the logistic function: the onset of losses is exponential.
    Stretch,
    /// The slope is the normal distribution: the mean loss of a device whose capacity is normally distributed.
    Erf,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 2] = [Self::Stretch, Self::Erf];

    /// Returns the name used in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stretch => "stretch",
            Self::Erf => "erf",
        }
    }

    /// Returns the logarithm of the loss, for a capacity of 0 and a spread of 1, at load `x`.
    #[must_use]
    pub fn ln_loss(self, x: f64) -> f64 {
        if x >= ENDS.1 {
            return x.ln();
        }
        if x < ENDS.0 {
            return self.exact(x);
        }
        let place = (x - ENDS.0) * PER_UNIT;
        let table = self.table();
        let at = place as usize;
        let here = table[at];
        let next = table[(at + 1).min(table.len() - 1)];
        (next - here).mul_add(place - at as f64, here)
    }

    /// Returns the load at which [`Self::ln_loss`] is `y`.
    #[must_use]
    pub fn load_of(self, y: f64) -> f64 {
        let table = self.table();
        let at = table.partition_point(|own| *own <= y);
        match (at.checked_sub(1), table.get(at)) {
            (Some(before), Some(after)) => {
                let here = table[before];
                ENDS.0 + (before as f64 + (y - here) / (after - here)) / PER_UNIT
            }
            (Some(_), None) => y.exp(),
            (None, _) if self == Self::Stretch => y,
            // Solves `ln(density(x) / x^2) = y` for x by fixed-point iteration. Each step shrinks the error a hundredfold.
            (None, _) => (0..6).fold(-(-2.0 * y).sqrt(), |x, _| {
                -(-2.0 * (y + ln_root_two_pi() + 2.0 * x.abs().ln())).max(1.0).sqrt()
            }),
        }
    }

    fn table(self) -> &'static [f64] {
        static TABLES: [OnceLock<Vec<f64>>; 2] = [OnceLock::new(), OnceLock::new()];
        let entries = ((ENDS.1 - ENDS.0) * PER_UNIT) as usize;
        TABLES[self as usize]
            .get_or_init(|| (0..=entries).map(|at| self.exact(ENDS.0 + at as f64 / PER_UNIT)).collect())
    }

    fn exact(self, x: f64) -> f64 {
        match self {
            Self::Stretch if x < -30.0 => x,
            Self::Stretch if x > 30.0 => x.ln(),
            Self::Stretch => x.exp().ln_1p().ln(),
            Self::Erf if x < TAIL => {
                let square = x * x;
                let series = 1.0 - 3.0 / square + 15.0 / square.powi(2) - 105.0 / square.powi(3);
                -square / 2.0 - ln_root_two_pi() - square.ln() + series.ln()
            }
            Self::Erf => (x * below(x) + density(x)).ln(),
        }
    }
}

fn ln_root_two_pi() -> f64 {
    (2.0 * std::f64::consts::PI).ln() / 2.0
}

/// Returns the density of the standard normal distribution.
fn density(x: f64) -> f64 {
    ln_density(x).exp()
}

/// Returns the logarithm of the density of the standard normal distribution.
pub(super) fn ln_density(x: f64) -> f64 {
    -x * x / 2.0 - ln_root_two_pi()
}

/// Returns the logarithm of the share of a standard normal distribution below `x`, however small, from a table.
pub(super) fn ln_below(x: f64) -> f64 {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    if x < ENDS.0 {
        return ln_density(x) - (-x).ln();
    }
    if x >= -TAIL {
        return 0.0;
    }
    let table = TABLE.get_or_init(|| {
        let entries = ((-TAIL - ENDS.0) * PER_UNIT) as usize;
        (0..=entries).map(|at| exact_ln_below(ENDS.0 + at as f64 / PER_UNIT)).collect()
    });
    let place = (x - ENDS.0) * PER_UNIT;
    let at = place as usize;
    let here = table[at];
    let next = table[(at + 1).min(table.len() - 1)];
    (next - here).mul_add(place - at as f64, here)
}

fn exact_ln_below(x: f64) -> f64 {
    if x < -2.0 { ln_density(x) - tail(-x).ln() } else { below(x).ln() }
}

/// Returns the density at `away` (above 0) divided by the share beyond `away`, by a continued fraction.
fn tail(away: f64) -> f64 {
    (1..80).rev().fold(away, |rest, step| away + f64::from(step) / rest)
}

/// Returns the share of a standard normal distribution below `x`, by a series near 0 and a continued fraction in the
/// tails.
fn below(x: f64) -> f64 {
    if x > 2.0 {
        return 1.0 - below(-x);
    }
    if x < -2.0 {
        return density(x) / tail(-x);
    }
    let mut term = x;
    let mut sum = x;
    for step in 1..60 {
        term *= x * x / f64::from(2 * step + 1);
        sum += term;
    }
    0.5 + density(x) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_distribution_matches_tables() {
        // The logarithm is continuous at the ends of its table.
        for x in [ENDS.0, -TAIL] {
            assert!((ln_below(x - 1e-6) - ln_below(x + 1e-6)).abs() < 1e-3, "{x}");
        }
        for (x, share) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (-5.0, 2.866_515_7e-7)] {
            assert!((below(x) / share - 1.0).abs() < 1e-7, "{x}: {}", below(x));
            assert!((exact_ln_below(x) - below(x).ln()).abs() < 1e-9, "{x}");
            assert!((ln_below(x) / share.ln() - 1.0).abs() < 1e-4, "{x}: {}", ln_below(x));
        }
    }

    /// Both loss functions must be the integrals of their slopes, computed by Simpson's rule from far below the
    /// capacity.
    #[test]
    fn loss_functions_are_integrals_of_their_slopes() {
        let slope = |shape, x: f64| match shape {
            Shape::Stretch => 1.0 / (1.0 + (-x).exp()),
            Shape::Erf => below(x),
        };
        for shape in Shape::ALL {
            for end in [-6.0, -1.0, 0.0, 2.5, 20.0] {
                let begin = -60.0_f64;
                let steps = 40_000;
                let width = (end - begin) / f64::from(steps);
                let weight = |at: i32| if at == 0 || at == steps { 1.0 } else { f64::from(2 + 2 * (at % 2)) };
                let sum: f64 =
                    (0..=steps).map(|at| weight(at) * slope(shape, begin + width * f64::from(at))).sum();
                let integral = sum * width / 3.0;
                let own = shape.ln_loss(end).exp();
                assert!((own / integral - 1.0).abs() < 1e-3, "{shape:?} at {end}: {own} for {integral}");
            }
        }
    }

    #[test]
    fn inverse_returns_the_original_load() {
        for shape in Shape::ALL {
            for x in [-300.0, -45.0, -39.99, -8.1, -7.9, -0.3, 0.0, 3.0, 39.9, 41.0, 1e6] {
                let back = shape.load_of(shape.ln_loss(x));
                assert!((back - x).abs() < 2e-3 * x.abs().max(1.0), "{shape:?}: {back} for {x}");
            }
            assert!((1..800).all(|at| {
                let x = f64::from(at) / 10.0 - 45.0;
                shape.ln_loss(x) > shape.ln_loss(x - 0.1)
            }));
        }
    }
}
