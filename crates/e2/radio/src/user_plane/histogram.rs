//! Distribution of durations with a bounded relative error.

/// Histogram of values in µs. Values below 64 are exact, and higher values are within 1/32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u32>,
    total: u64,
    sum: u64,
}

/// Number of linear steps per power of two.
const STEPS: u64 = 32;
/// Number of powers of two. Values from 2^32 µs on are counted in the last bucket.
const POWERS: u64 = 32;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; (STEPS * (POWERS - 4)) as usize], total: 0, sum: 0 }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, value: u64) {
        let bucket = Self::bucket(value).min(self.counts.len() - 1);
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.total += 1;
        self.sum += value;
    }

    fn bucket(value: u64) -> usize {
        let power = u64::from(value.max(1).ilog2());
        if power < 5 {
            return value as usize;
        }
        ((power - 4) * STEPS + ((value >> (power - 5)) - STEPS)) as usize
    }

    /// Returns the middle of a bucket.
    fn middle(bucket: usize) -> u64 {
        let power = bucket as u64 / STEPS;
        let step = bucket as u64 % STEPS;
        match power {
            0 => step,
            power => ((STEPS + step) << (power - 1)) + (1 << (power - 1)) / 2,
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the mean of the values in µs, or `None` if there are no values.
    pub fn mean_us(&self) -> Option<u64> {
        self.sum.checked_div(self.total)
    }

    /// Returns the values that were added since `earlier`, an older copy of this histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let counts = self.counts.iter().zip(&earlier.counts).map(|(now, then)| now.saturating_sub(*then));
        let total = self.total - earlier.total.min(self.total);
        let sum = self.sum - earlier.sum.min(self.sum);
        Self { counts: counts.collect(), total, sum }
    }

    /// Returns the values in ascending order, each with its count.
    pub fn counted(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bucket, count)| (Self::middle(bucket), u64::from(*count)))
    }

    /// Returns the quantile at `share` (0 to 1) in µs, or `None` if there are no values.
    pub fn quantile_us(&self, share: f64) -> Option<u64> {
        let rank = ((self.total as f64 * share).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        self.counts.iter().enumerate().find_map(|(bucket, count)| {
            seen += u64::from(*count);
            (seen >= rank).then(|| Self::middle(bucket))
        })
    }
}

/// Waiting times of packets in one queue since the last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sojourn {
    /// Number of packets that left the queue.
    pub packets: u64,
    /// Sum of the waiting times, in µs.
    pub sum_us: u64,
    /// Longest waiting time, in µs.
    pub max_us: u64,
}

impl Sojourn {
    pub(crate) fn record(&mut self, us: u64) {
        self.add(Self { packets: 1, sum_us: us, max_us: us });
    }

    /// Adds the waiting times of another queue.
    pub fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
    }

    /// Returns the mean waiting time in µs, or zero without packets.
    pub fn mean_us(&self) -> u64 {
        self.sum_us.checked_div(self.packets).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn histogram_error_is_below_one_thirty_second(value in 0_u64..1 << 31) {
            let mut histogram = Histogram::default();
            histogram.record(value);
            let found = histogram.quantile_us(0.5).unwrap();
            prop_assert!(found.abs_diff(value) * 32 <= value, "{value} became {found}");
        }
    }

    #[test]
    fn quantiles_match_sorted_values() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile_us(0.5), histogram.mean_us()), (None, None));
        (1..=1000).for_each(|value| histogram.record(value * 100));
        let near = |share, value: u64| histogram.quantile_us(share).unwrap().abs_diff(value) * 30 < value;
        assert!(near(0.5, 50_000) && near(0.99, 99_000) && near(0.0, 100) && near(1.0, 100_000));
        assert_eq!(histogram.mean_us(), Some(50_050));
        let earlier = histogram.clone();
        assert_eq!(histogram.since(&earlier), Histogram::default());
        histogram.record(7);
        assert_eq!(histogram.since(&earlier).counted().collect::<Vec<_>>(), [(7, 1)]);
    }
}
