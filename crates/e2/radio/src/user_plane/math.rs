//! Elementary functions built from basic arithmetic, because the functions of the standard library differ between
//! machines in the last bit.
//!
//! Addition, multiplication, division and the square root are exact to the last bit everywhere. A function built from
//! them therefore gives the same result everywhere.

const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Returns the natural logarithm of a positive number. For zero or less, returns the logarithm of the smallest normal
/// number.
pub(crate) fn ln(x: f64) -> f64 {
    let x = x.max(f64::MIN_POSITIVE);
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if mantissa > core::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // The computation uses ln m = 2 artanh((m - 1) / (m + 1)), where the argument of artanh is below 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for term in (0..11).rev() {
        sum = sum * square + 1.0 / (2 * term + 1) as f64;
    }
    let exponent = exponent as f64;
    exponent * LN_2_HIGH + (2.0 * s * sum + exponent * LN_2_LOW)
}

/// Returns the decimal logarithm; see [`ln`].
pub(crate) fn log10(x: f64) -> f64 {
    ln(x) * core::f64::consts::LOG10_E
}

/// Returns `e` to the power of `x`, with `x` limited to ±700.
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let twos = (x * core::f64::consts::LOG2_E).round();
    let rest = (x - twos * LN_2_HIGH) - twos * LN_2_LOW;
    let mut sum = 1.0;
    for term in (1..=14).rev() {
        sum = sum * rest / f64::from(term) + 1.0;
    }
    // The exponent lies between -1010 and 1010, so the power of two is normal.
    sum * f64::from_bits(((twos as i64 + 1023) as u64) << 52)
}

/// Converts a ratio in dB to a factor.
pub(crate) fn from_db(db: f64) -> f64 {
    exp(db * (core::f64::consts::LN_10 / 10.0))
}

/// Converts a factor to dB.
pub(crate) fn to_db(factor: f64) -> f64 {
    10.0 * log10(factor)
}

/// Returns the cubic root of a non-negative number.
pub(crate) fn cbrt(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let root = exp(ln(x) / 3.0);
    root - (root * root * root - x) / (3.0 * root * root)
}

/// Returns the Bessel function of the first kind of order zero, for arguments up to about 12.
pub(crate) fn bessel_j0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..60 {
        term *= -quarter / f64::from(k * k);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn math_functions_agree_with_standard_library(x in 1e-12_f64..1e12, y in -60.0_f64..60.0) {
            prop_assert!((ln(x) - x.ln()).abs() <= 4e-15 * x.ln().abs().max(1.0));
            prop_assert!((exp(y) / y.exp() - 1.0).abs() <= 4e-15 * y.abs().max(1.0));
            prop_assert!((cbrt(x) / x.cbrt() - 1.0).abs() <= 1e-14);
        }
    }

    #[test]
    fn bessel_function_matches_tabulated_values() {
        // The values are from Abramowitz and Stegun, table 9.1.
        for (x, value) in
            [(0.0, 1.0), (1.0, 0.765_197_686_6), (2.4, 0.002_507_683_3), (5.0, -0.177_596_771_3)]
        {
            assert!((bessel_j0(x) - value).abs() < 1e-9, "{x}");
        }
    }
}
