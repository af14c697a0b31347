//! Outcome of a repeat, and the limit that it broke. The same limit decides and explains an outcome.

use crate::named::named;
use crate::value::short;

named! {
    /// Outcome of a repeat of a point.
    pub enum Outcome {
        /// Measured; the system handled the whole load.
        Ok = "ok",
        /// Measured; the system handled a part of the load (losses, late replies) but kept working.
        Degraded = "degraded",
        /// Measured; the system handled the whole load, but a measured time exceeds its budget.
        MissesBudget = "misses_budget",
        /// Measured; the system could not follow the load at all.
        Overloaded = "overloaded",
        /// The system crashed, hung or rejected the load.
        SutFailed = "sut_failed",
        /// The repeat exceeded its time limit.
        Timeout = "timeout",
        /// The measurement is unreliable (steal, pressure, a late generator).
        Invalid = "invalid",
        /// The environment lacks something.
        Unmeasurable = "unmeasurable",
    }
}

impl Outcome {
    /// Returns whether the repeat's numbers count in means, plots and verdicts.
    pub fn counts(self) -> bool {
        matches!(self, Self::Ok | Self::Degraded | Self::MissesBudget | Self::Overloaded)
    }
}

/// A limit that a measured value broke, in words: `loss_ratio is 0.03, more than 0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitViolation {
    pub(crate) words: String,
    /// Name of the metric; empty if the limit is not one of a metric.
    pub(crate) metric: String,
}

impl LimitViolation {
    /// Returns a violation if the value of a metric is above the limit.
    pub fn above(metric: &str, value: f64, at_most: f64) -> Option<Self> {
        (value > at_most)
            .then(|| Self::new(metric, format!("{metric} is {}, more than {}", short(value), short(at_most))))
    }

    /// Returns a violation if the value of a metric is below the limit.
    pub fn below(metric: &str, value: f64, at_least: f64) -> Option<Self> {
        (value < at_least).then(|| {
            Self::new(metric, format!("{metric} is {}, less than {}", short(value), short(at_least)))
        })
    }

    /// Returns a violation that belongs to no metric, described by `words`, if `holds` is true.
    pub fn said(holds: bool, words: &str) -> Option<Self> {
        holds.then(|| Self::new("", words.to_owned()))
    }

    fn new(metric: &str, words: String) -> Self {
        Self { words, metric: metric.to_owned() }
    }

    /// Names the setting that defines the limit, so that a reader knows what to change.
    pub fn set_by(mut self, setting: &str) -> Self {
        self.words.push_str(&format!(" (limit: `{setting}`)"));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violation_names_metric_value_limit_and_setting() {
        let text = |breach: Option<LimitViolation>| breach.map(|breach| breach.words);
        assert_eq!(text(LimitViolation::above("loss_ratio", 0.0, 0.0)), None);
        assert_eq!(
            text(LimitViolation::above("loss_ratio", 0.03, 0.0)).as_deref(),
            Some("loss_ratio is 0.03, more than 0")
        );
        let steal = LimitViolation::above("host.steal_share", 0.3694, 0.02);
        assert_eq!(
            text(steal.map(|breach| breach.set_by("host.steal_at_most"))).as_deref(),
            Some("host.steal_share is 0.3694, more than 0.02 (limit: `host.steal_at_most`)")
        );
        assert_eq!(
            text(LimitViolation::below("nodes_alive_ratio", 0.5, 1.0)).as_deref(),
            Some("nodes_alive_ratio is 0.5, less than 1")
        );
        assert_eq!(text(LimitViolation::below("nodes_alive_ratio", f64::NAN, 1.0)), None);
    }
}
