//! Data that a rig records while it measures: scalars, series over time, distributions.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::answer::Bound;
use crate::metric::HISTOGRAM_SUFFIXES;
use crate::outcome::{LimitViolation, Outcome};

/// Significant digits of every distribution: values are exact within 0.1 %.
const DIGITS: u8 = 3;
/// Maximum number of samples in one series; further samples are counted and dropped.
pub const SERIES_SAMPLES_MAX: usize = 100_000;
/// Maximum number of metrics in one repeat; further metrics are counted and dropped.
pub const METRICS_MAX: usize = 1_000;
/// Quantiles that a reduced distribution keeps, as shares. They are the ends, whiskers and quartiles of a box, the
/// usual percentiles, and steps of 5 % for a curve.
const KEPT: [f64; 25] = [
    0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
    0.9, 0.95, 0.98, 0.99, 0.999, 1.0,
];

/// Stores a repeat's measurements. Data beyond its limits is dropped and counted in [`Recording::dropped`].
#[derive(Debug, Default)]
pub struct Recorder {
    scalars: BTreeMap<String, f64>,
    series: BTreeMap<String, Vec<(Duration, f64)>>,
    histograms: BTreeMap<String, Histogram<u64>>,
    bounds: BTreeMap<String, Bound>,
    dropped: u64,
    pub(crate) reason: String,
    breached: Vec<String>,
}

/// A finished repeat's measurements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// Every metric by name, including those derived from series and distributions.
    pub metrics: BTreeMap<String, f64>,
    /// Samples over time (offset from the start of recording, value).
    pub series: BTreeMap<String, Vec<(Duration, f64)>>,
    /// Distributions by metric.
    pub distributions: BTreeMap<String, Distribution>,
    /// Samples that did not fit the recorder's bounds.
    pub dropped: u64,
    /// Metrics whose value is only a bound of the true value. All other metrics estimate the true value.
    pub bounds: BTreeMap<String, Bound>,
    /// Reason why the outcome is not `ok`, as found by [`Recorder::judge`]; stored as the finished repeat's
    /// reason.
    pub reason: String,
    /// Metrics whose broken limits decided the outcome; not stored.
    pub breached: Vec<String>,
}

impl Recording {
    /// Stores a distribution under a unique name, with the metrics derived from it.
    pub(crate) fn keep(&mut self, name: &str, distribution: Distribution) {
        for (suffix, value) in distribution.metrics() {
            self.metrics.insert(format!("{name}_{suffix}"), value);
        }
        self.distributions.insert(name.to_owned(), distribution);
    }
}

impl Recorder {
    /// Records a single number. A second number replaces the first.
    pub fn scalar(&mut self, name: &str, value: f64) {
        if self.scalars.len() >= METRICS_MAX && !self.scalars.contains_key(name) || !value.is_finite() {
            self.dropped += 1;
            return;
        }
        self.scalars.insert(name.to_owned(), value);
    }

    /// Marks a metric (`rtt_us_p99`, `search.load`) as a bound of the true value. For example, a percentile above the
    /// timeout is only known as "at least".
    pub fn bound(&mut self, name: &str, bound: Bound) {
        if self.bounds.len() < METRICS_MAX || self.bounds.contains_key(name) {
            self.bounds.insert(name.to_owned(), bound);
        } else {
            self.dropped += 1;
        }
    }

    /// Records a sample taken `at` after the start of recording.
    pub fn sample(&mut self, name: &str, at: Duration, value: f64) {
        let full = self.series.len() >= METRICS_MAX && !self.series.contains_key(name);
        let samples = if full { None } else { Some(self.series.entry(name.to_owned()).or_default()) };
        match samples {
            Some(samples) if samples.len() < SERIES_SAMPLES_MAX && value.is_finite() => {
                samples.push((at, value))
            }
            _ => self.dropped += 1,
        }
    }

    /// Records a value of a distribution, in the unit of the metric's name.
    pub fn value(&mut self, name: &str, value: u64) {
        self.values(name, value, 1);
    }

    /// Records the same value several times.
    pub fn values(&mut self, name: &str, value: u64, count: u64) {
        if self.histograms.len() >= METRICS_MAX && !self.histograms.contains_key(name) {
            self.dropped += count;
            return;
        }
        if !self.histograms.contains_key(name) {
            // Fails only for more than 5 digits.
            let Ok(histogram) = Histogram::new(DIGITS) else { return };
            self.histograms.insert(name.to_owned(), histogram);
        }
        if let Some(histogram) = self.histograms.get_mut(name) {
            // An automatically resized histogram fails only if memory is exceeded.
            if histogram.record_n(value, count).is_err() {
                self.dropped += count;
            }
        }
    }

    /// Returns the outcome of a repeat, judged by its limits. Each entry has the outcome that a violation of the limit
    /// causes, and the violation if the limit was broken. The first violation decides. Without a violation, the outcome
    /// is `ok`.
    ///
    /// The texts of all violations with the deciding outcome become the reason of the repeat. Example: if the first and
    /// the third limit were broken and both cause `degraded`, the reason is "loss_ratio is 0.25, more than 0; nodes_lost is
    /// 2, more than 0".
    ///
    /// A rig calls this first with the limits of the system, then with those of the machine. If the second call finds
    /// a violation, it replaces the reason.
    pub fn judge(&mut self, limits: impl IntoIterator<Item = (Outcome, Option<LimitViolation>)>) -> Outcome {
        let broken: Vec<(Outcome, LimitViolation)> =
            limits.into_iter().filter_map(|(outcome, breach)| Some((outcome, breach?))).collect();
        let Some(&(outcome, _)) = broken.first() else { return Outcome::Ok };
        let deciding: Vec<LimitViolation> =
            broken.into_iter().filter(|(own, _)| *own == outcome).map(|(_, breach)| breach).collect();
        self.reason = deciding.iter().map(|breach| breach.words.as_str()).collect::<Vec<_>>().join("; ");
        self.breached = deciding.into_iter().map(|breach| breach.metric).collect();
        outcome
    }

    /// Appends a remark to the reason of a repeat that is not `ok`.
    pub fn also(&mut self, words: &str) {
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(words);
    }

    /// Returns a metric of the recording so far: a scalar, or a number of a distribution.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let of_distribution = || {
            let (base, suffix) = name.rsplit_once('_')?;
            let distribution = Distribution::from_histogram(self.histograms.get(base)?);
            distribution.metrics().into_iter().find(|(own, _)| *own == suffix).map(|(_, value)| value)
        };
        self.scalars.get(name).copied().or_else(of_distribution)
    }

    /// Derives metrics: a series gives its mean, a distribution its percentiles. A scalar of the same name
    /// takes precedence.
    pub fn finish(self) -> Recording {
        let mut metrics = BTreeMap::new();
        for (name, samples) in &self.series {
            if samples.is_empty() {
                continue;
            }
            let sum: f64 = samples.iter().map(|(_, value)| *value).sum();
            metrics.insert(name.clone(), sum / samples.len() as f64);
        }
        let distributions: BTreeMap<String, Distribution> = self
            .histograms
            .into_iter()
            .map(|(name, histogram)| (name, Distribution::from_histogram(&histogram)))
            .collect();
        for (name, distribution) in &distributions {
            for (suffix, value) in distribution.metrics() {
                metrics.insert(format!("{name}_{suffix}"), value);
            }
        }
        metrics.extend(self.scalars);
        let Self { series, bounds, dropped, reason, breached, .. } = self;
        Recording { metrics, series, distributions, dropped, bounds, reason, breached }
    }
}

/// A distribution as sorted values with counts; a thousand times smaller than its histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Values with their counts, in ascending order of the values.
    pub counts: Vec<(u64, u64)>,
}

impl Distribution {
    fn from_histogram(histogram: &Histogram<u64>) -> Self {
        Self {
            counts: histogram
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
                .collect(),
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// Returns the smallest value that a share of all values does not exceed; 0 without values.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = rank(share, self.count());
        let mut seen = 0;
        for (value, count) in &self.counts {
            seen += count;
            if seen >= rank {
                return *value;
            }
        }
        self.counts.last().map_or(0, |(value, _)| *value)
    }

    /// Returns a reduced distribution of at most 25 steps. The quantiles of boxes, percentiles and curves stay exact. A
    /// value between two of them counts as the greater one.
    pub fn kept(&self) -> Self {
        let count = self.count();
        if self.counts.len() <= KEPT.len() {
            return self.clone();
        }
        let mut counts = Vec::<(u64, u64)>::with_capacity(KEPT.len());
        let mut before = 0;
        for share in KEPT {
            let rank = rank(share, count);
            let more = rank - before;
            before = rank;
            let value = self.quantile(share);
            match counts.last_mut() {
                Some((own, many)) if *own == value => *many += more,
                _ if more > 0 => counts.push((value, more)),
                _ => {}
            }
        }
        Self { counts }
    }

    /// Whether a distribution from another writer is valid. Its values must ascend, and each must occur at least once.
    /// It must not have more steps than [`kept`](Self::kept) leaves.
    pub fn is_kept(&self) -> bool {
        let ascend = self.counts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let total = self.counts.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count));
        let each = self.counts.iter().all(|(_, count)| *count > 0);
        ascend && each && total.is_some() && (1..=KEPT.len()).contains(&self.counts.len())
    }

    /// Returns the mean; 0 without values.
    pub fn mean(&self) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        self.counts.iter().map(|(value, count)| *value as f64 * *count as f64).sum::<f64>() / count as f64
    }

    /// Merges another distribution.
    pub fn merge(&mut self, other: &Self) {
        let mut counts: BTreeMap<u64, u64> = self.counts.iter().copied().collect();
        for (value, count) in &other.counts {
            *counts.entry(*value).or_default() += count;
        }
        self.counts = counts.into_iter().collect();
    }

    /// Returns the value of a metric's suffix (`p99`, `mean`) for this distribution.
    pub fn named(&self, suffix: &str) -> Option<f64> {
        self.metrics().into_iter().find_map(|(own, value)| (own == suffix).then_some(value))
    }

    /// Returns the metrics under their suffixes.
    fn metrics(&self) -> [(&'static str, f64); HISTOGRAM_SUFFIXES.len()] {
        let max = self.counts.last().map_or(0, |(value, _)| *value);
        let quantile = |share| self.quantile(share) as f64;
        let [mean, p50, p75, p90, p99, p999, largest, n] = HISTOGRAM_SUFFIXES;
        [
            (mean, self.mean()),
            (p50, quantile(0.5)),
            (p75, quantile(0.75)),
            (p90, quantile(0.9)),
            (p99, quantile(0.99)),
            (p999, quantile(0.999)),
            (largest, max as f64),
            (n, self.count() as f64),
        ]
    }
}

/// Returns the rank, from 1, of the value at a share of `count` values in ascending order.
fn rank(share: f64, count: u64) -> u64 {
    ((share * count as f64).ceil() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn series_metric_is_its_mean() {
        let mut recorder = Recorder::default();
        (0..=10).for_each(|at| recorder.sample("cpu", MS * at, f64::from(at)));
        recorder.sample("nothing", MS, f64::NAN);
        let recording = recorder.finish();
        assert_eq!((recording.metrics["cpu"], recording.metrics.get("nothing")), (5.0, None));
        assert_eq!((recording.series["cpu"].len(), recording.dropped), (11, 1));
    }

    #[test]
    fn deciding_limit_is_the_reason() {
        let mut recorder = Recorder::default();
        let limits = |lost: f64| {
            [
                (Outcome::Overloaded, LimitViolation::above("loss_ratio", lost, 0.5)),
                (Outcome::Degraded, LimitViolation::above("loss_ratio", lost, 0.0)),
                (Outcome::Degraded, LimitViolation::above("nodes_lost", 2.0, 0.0)),
            ]
        };
        assert_eq!(recorder.judge(limits(0.25)), Outcome::Degraded);
        assert_eq!(
            recorder.judge([(Outcome::Invalid, None)]),
            Outcome::Ok,
            "does not replace the first reason"
        );
        assert_eq!(recorder.reason, "loss_ratio is 0.25, more than 0; nodes_lost is 2, more than 0");
        assert_eq!(recorder.judge(limits(0.75)), Outcome::Overloaded);
        assert_eq!(recorder.finish().reason, "loss_ratio is 0.75, more than 0.5");
    }

    #[test]
    fn data_beyond_limits_is_dropped_and_counted() {
        let mut recorder = Recorder::default();
        for at in 0..SERIES_SAMPLES_MAX + 5 {
            recorder.sample("x", MS * at as u32, 1.0);
        }
        recorder.scalar("nan", f64::NAN);
        let recording = recorder.finish();
        assert_eq!((recording.series["x"].len(), recording.dropped), (SERIES_SAMPLES_MAX, 6));
    }

    #[test]
    fn reduced_distribution_keeps_quantiles_and_count() {
        for n in [1_u64, 3, 24, 25, 26, 150, 601, 5000] {
            let mut recorder = Recorder::default();
            (0..n).for_each(|value| recorder.value("v", value * value % 70_001));
            let whole = recorder.finish().distributions["v"].clone();
            let kept = whole.kept();
            assert!(kept.is_kept(), "{n}: {kept:?}");
            assert_eq!(kept.count(), n);
            for share in KEPT {
                assert_eq!(kept.quantile(share), whole.quantile(share), "{share} of {n}");
            }
            assert_eq!(kept.kept(), kept);
        }
        for wrong in
            [vec![], vec![(2, 1), (1, 1)], vec![(1, 0)], vec![(1, 1), (1, 1)], vec![(1, u64::MAX), (2, 1)]]
        {
            assert!(!Distribution { counts: wrong.clone() }.is_kept(), "{wrong:?}");
        }
        assert!(!Distribution { counts: (0..26).map(|value| (value, 1)).collect() }.is_kept());
    }

    #[test]
    fn quantiles_match_the_histogram() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        let mut recorder = Recorder::default();
        for value in 1..5000_u64 {
            histogram.record(value * value % 70_001).unwrap();
            recorder.value("v", value * value % 70_001);
        }
        let distribution = &recorder.finish().distributions["v"];
        for share in [0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let expected = histogram.value_at_quantile(share);
            assert!(histogram.equivalent(distribution.quantile(share), expected), "{share}");
        }
    }
}
