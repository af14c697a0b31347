//! Metrics: names, units, and the better direction.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// Metric with which a rig marks a repeat as disturbed by other work (1), if the scenario keeps such repeats.
/// A disturbed repeat cannot refute an expectation: the verdict is then
/// [`Inconclusive`](crate::expect::Verdict).
pub const DISTURBED: &str = "host.disturbed";

/// Share of CPU time that the hypervisor gave to other machines.
pub const STEAL_SHARE: &str = "host.steal_share";
/// Share of the machine that work outside the experiment used.
pub const OTHER_SHARE: &str = "host.other_share";

/// Extent to which other work on the machine can change a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Rates and latencies. Other work changes the metric as far as it delays the system.
    #[default]
    Time,
    /// CPU time and memory of the system, and the fastest of many responses. Other work changes the metric by at most a
    /// factor of two, through caches and shared cores.
    Bounded,
    /// Bytes, messages and packets. Other work does not change the metric, once the load was sent.
    Counted,
}

/// A quantity that a rig measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name with the unit last (`sut.cpu_cores`, `rtt_us`).
    pub name: String,
    /// Unit, for display.
    pub unit: String,
    /// The better direction.
    pub better: Better,
    /// Kind of data that a recorder stores for the metric.
    pub kind: MetricKind,
    /// Description in one line: what is measured, and where.
    pub comment: String,
    /// Condition under which one repeat suffices.
    #[serde(default)]
    pub exact: Exact,
    /// Whether the metric is the unsent share of the load. Above [`UNSENT_AT_MOST`], the repeat is invalid.
    #[serde(default)]
    pub unsent_share: bool,
    /// Whether the metric may be negative; intervals of all other metrics end at 0.
    #[serde(default)]
    pub signed: bool,
    /// Extent to which other work can change the metric.
    #[serde(default)]
    pub noise: Noise,
    /// Name of the metric whose value at the same point is the limit of this metric. Figures draw the limit as a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Earlier name, which scenarios and stored results may still use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
}

/// Maximum share of a load that its generator may leave out. If less load was sent than the scenario states, the system
/// was not measured, whatever the reason. Missing load is therefore never accepted, unlike disturbance by other work.
pub const UNSENT_AT_MOST: f64 = 0.01;

/// Condition under which a metric is the same number for the same configuration and seed on any machine. A single
/// repeat then suffices for a verdict. A metric that depends on time is never exact.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exact {
    /// The value varies from repeat to repeat.
    #[default]
    Never,
    /// The value is exact in every run.
    Always,
    /// The value is exact if the setting has one of these values.
    When(String, Vec<String>),
}

/// Direction of a metric that is better for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better, as for throughput.
    Higher,
    /// Less is better, as for latency and cost.
    Lower,
    /// Neither direction, as for a size.
    Neither,
}

/// Kind of data that a metric records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// One number for each repeat.
    Scalar,
    /// Samples over time; the metric is their mean.
    Series,
    /// A number that is only tested for equality: never averaged, compared or drawn.
    Fingerprint,
    /// A distribution; the metrics are `<name>_mean`, `_p50`, `_p75`, `_p90`, `_p99`, `_p999`, `_max` and `_n`.
    Histogram,
}

/// The suffixes under which a distribution becomes metrics.
pub const HISTOGRAM_SUFFIXES: [&str; 8] = ["mean", "p50", "p75", "p90", "p99", "p999", "max", "n"];

/// A table of metrics, one per line: kind, better, name, unit, comment, and the methods that follow [`Metric::new`].
#[macro_export]
macro_rules! metrics {
    ($($kind:ident $better:ident $name:tt $unit:literal $comment:literal $(.$method:ident($($argument:tt)*))*;)*) => {
        vec![$(
            $crate::metric::Metric::new(
                $name,
                $unit,
                $crate::metric::MetricKind::$kind,
                $crate::metric::Better::$better,
                $comment,
            )$( .$method($($argument)*) )*
        ),*]
    };
}

impl Metric {
    /// Creates a metric of a kind.
    pub fn new(name: &str, unit: &str, kind: MetricKind, better: Better, comment: &str) -> Self {
        let name = name.to_owned();
        let unit = unit.to_owned();
        let comment = comment.to_owned();
        let own = name.starts_with("sut.cpu") || name.starts_with("sut.rss");
        let noise = if own { Noise::Bounded } else { Noise::Time };
        Self {
            name,
            unit,
            better,
            kind,
            comment,
            exact: Exact::Never,
            unsent_share: false,
            signed: false,
            noise,
            limit: None,
            formerly: None,
        }
    }

    /// Declares that the metric is the share of the load that was not sent.
    pub fn unsent_share(mut self) -> Self {
        self.unsent_share = true;
        self
    }

    /// Declares that other work cannot change the metric, once the load was sent.
    pub fn counted(mut self) -> Self {
        self.noise = Noise::Counted;
        self
    }

    /// Declares that other work changes the metric by a factor of two at most.
    pub fn bounded(mut self) -> Self {
        self.noise = Noise::Bounded;
        self
    }

    /// Declares that the metric is the same number in every run with the same settings and seed.
    pub fn exact(mut self) -> Self {
        self.exact = Exact::Always;
        self
    }

    /// Declares that the metric is exact if a setting has one of these values.
    pub fn exact_when(mut self, path: &str, values: &[&str]) -> Self {
        self.exact = Exact::When(path.to_owned(), values.iter().map(|&value| value.to_owned()).collect());
        self
    }

    /// Whether the metric is exact with these settings.
    pub fn is_exact(&self, settings: &BTreeMap<String, Value>) -> bool {
        match &self.exact {
            Exact::Never => false,
            Exact::Always => true,
            Exact::When(path, values) => {
                settings.get(path).is_some_and(|value| values.contains(&value.to_string()))
            }
        }
    }

    /// Declares that the metric may be below 0.
    pub fn signed(mut self) -> Self {
        self.signed = true;
        self
    }

    /// Declares an earlier name ([`crate::renamed`]).
    pub fn formerly(mut self, earlier: &str) -> Self {
        self.formerly = Some(earlier.to_owned());
        self
    }

    /// Declares that the value of another metric is the limit of this metric.
    pub fn limited_by(mut self, metric: &str) -> Self {
        self.limit = Some(metric.to_owned());
        self
    }

    /// Returns the possible range of the metric's values: 0 to 1 for a share, not below 0 for an unsigned metric.
    pub fn range(&self) -> (f64, f64) {
        let share = self.unit.is_empty() && (self.name.ends_with("_ratio") || self.name.ends_with("_share"));
        (if self.signed { f64::NEG_INFINITY } else { 0.0 }, if share { 1.0 } else { f64::INFINITY })
    }

    /// Returns the names under which the metric's numbers are stored.
    pub fn names(&self) -> Vec<String> {
        match self.kind {
            MetricKind::Scalar | MetricKind::Series | MetricKind::Fingerprint => vec![self.name.clone()],
            MetricKind::Histogram => {
                HISTOGRAM_SUFFIXES.iter().map(|suffix| format!("{}_{suffix}", self.name)).collect()
            }
        }
    }
}
