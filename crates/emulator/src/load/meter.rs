//! Latencies, and how late the generator itself was.
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Greatest time that is told apart.
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
    /// Records a time; beyond a minute it counts as a minute.
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Adds another distribution.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.0.add(&other.0);
    }

    /// Times recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The distribution, to hand on.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// In microseconds; `None` if nothing was recorded.
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
        })
    }
}

/// A distribution in figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many.
    pub n: u64,
    /// Least.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Half are at most this.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p999: f64,
    /// 9,999 of 10,000.
    pub p9999: f64,
    /// Greatest.
    pub max: f64,
}
