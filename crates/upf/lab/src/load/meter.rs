//! Latencies, and the send delay of the generator itself.
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Maximum time that is recorded, in nanoseconds.
const MOST_NS: u64 = 60_000_000_000;

/// A distribution of times.
#[derive(Debug, Clone)]
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        // Bounds and precision are constants that the histogram accepts.
        #[allow(clippy::expect_used)]
        Self(Histogram::new_with_bounds(1, MOST_NS, 3).expect("constant bounds"))
    }
}

impl Times {
    /// Records a time, in nanoseconds. Times beyond one minute count as one minute.
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Adds another distribution.
    pub fn add(&mut self, other: &Self) {
        // Adding cannot fail, because both histograms have the same bounds.
        let _ = self.0.add(&other.0);
    }

    /// Returns the number of recorded times.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns the histogram.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// Returns a summary in microseconds, or `None` if nothing was recorded.
    pub fn summary(&self) -> Option<Summary> {
        let us = |ns: u64| ns as f64 / 1_000.0;
        let at = |quantile| us(self.0.value_at_quantile(quantile));
        (!self.0.is_empty()).then(|| Summary {
            n: self.0.len(),
            min: us(self.0.min()),
            mean: self.0.mean() / 1_000.0,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: us(self.0.max()),
            counts: counts(&self.0),
        })
    }
}

/// Returns pairs of nanoseconds and count.
fn counts(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        .collect()
}

/// Summary of a distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub n: u64,
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// 50th percentile.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// 99.99th percentile.
    pub p9999: f64,
    /// Maximum.
    pub max: f64,
    /// Pairs of nanoseconds and count, if the report stores distributions ([`LoadConfig::distributions`](super::LoadConfig)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<(u64, u64)>,
}

impl Summary {
    /// Merges two distributions.
    pub(super) fn join(&mut self, other: &Self) {
        let mut times = Times::default();
        for (ns, count) in self.counts.iter().chain(&other.counts) {
            times.0.saturating_record_n(*ns, *count);
        }
        if let Some(joined) = times.summary() {
            *self = joined;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_in_microseconds_or_none_if_empty() {
        let mut times = Times::default();
        assert_eq!((times.summary(), times.count()), (None, 0));
        (1..=1_000).for_each(|us| times.record(us * 1_000));
        let summary = times.summary().unwrap();
        assert_eq!((summary.n, summary.min), (1_000, 1.0));
        // The histogram has three digits of precision.
        for (quantile, us) in
            [(summary.p50, 500.0), (summary.p99, 990.0), (summary.max, 1_000.0), (summary.mean, 500.5)]
        {
            assert!((quantile / us - 1.0).abs() < 1e-3, "{quantile} {us}");
        }
    }

    #[test]
    fn times_above_one_minute_are_clamped() {
        let mut times = Times::default();
        times.record(u64::MAX);
        times.record(0);
        let summary = times.summary().unwrap();
        assert_eq!(summary.n, 2);
        assert!((summary.max / 60e6 - 1.0).abs() < 1e-3, "{summary:?}");
    }

    #[test]
    fn distributions_of_two_senders_merge() {
        let mut all = Times::default();
        let mut some = Times::default();
        let mut others = Times::default();
        for n in 0..1_000_u64 {
            let ns = n * n * 977;
            all.record(ns);
            if n % 3 == 0 { some.record(ns) } else { others.record(ns) }
        }
        // Distributions are merged from transferred reports, and within one process.
        let mut joined = some.summary().unwrap();
        joined.join(&others.summary().unwrap());
        assert_eq!(Some(joined), all.summary());
        some.add(&others);
        assert_eq!(some.summary(), all.summary());
        some.add(&Times::default());
        assert_eq!(some.histogram(), all.histogram(), "an empty distribution changes nothing");
    }
}
