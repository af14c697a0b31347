//! Division by a fixed divisor as one multiplication. The model divides often, and always by the same few numbers.

/// Reciprocal of a divisor, as `floor(2^64 / divisor) + 1`. Quotients are exact while `dividend * divisor < 2^64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reciprocal(u64);

impl Reciprocal {
    /// Creates the reciprocal of `divisor`, which must be at least two; smaller values count as two.
    pub(crate) const fn new(divisor: u64) -> Self {
        let divisor = if divisor < 2 { 2 } else { divisor };
        Self(u64::MAX / divisor + 1)
    }

    /// Returns `dividend / divisor`.
    pub(crate) const fn quotient(self, dividend: u64) -> u64 {
        ((dividend as u128 * self.0 as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Reciprocal;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reciprocal_equals_division(divisor in 2_u64..70_000, dividend in 0_u64..1 << 47) {
            let reciprocal = Reciprocal::new(divisor);
            prop_assert_eq!(reciprocal.quotient(dividend), dividend / divisor);
            let multiple = dividend - dividend % divisor;
            prop_assert_eq!(reciprocal.quotient(multiple), multiple / divisor);
            prop_assert_eq!(reciprocal.quotient(multiple.saturating_sub(1)), multiple.saturating_sub(1) / divisor);
        }
    }
}
