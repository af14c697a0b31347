//! What is measured: names, units, and which way is good.

use serde::{Deserialize, Serialize};

/// The metric by which a rig says that other work disturbed a repeat (1) which the scenario asked to keep all the same.
/// Such a repeat cannot refute an expectation: the verdict is then [`Inconclusive`](crate::expect::Verdict).
pub const DISTURBED: &str = "host.disturbed";

/// Something that a rig measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name with the unit last (`sut.cpu_cores`, `rtt_us`).
    pub name: String,
    /// Unit as people read it.
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// What a recorder takes for it.
    pub kind: MetricKind,
    /// One line for people: what it is and where it is taken.
    pub comment: String,
}

/// Which direction of a metric a user wishes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Throughput.
    Higher,
    /// Latency, cost.
    Lower,
    /// Neither, such as a size.
    Neither,
}

/// How a metric is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// One number for each repeat.
    Scalar,
    /// Samples over time; the metric is their mean within the trimmed window.
    Series,
    /// A distribution; the metrics are `<name>_mean`, `_p50`, `_p75`, `_p90`, `_p99`, `_p999`, `_max` and `_n`.
    Histogram,
}

/// The suffixes under which a distribution becomes metrics.
pub const HISTOGRAM_SUFFIXES: [&str; 8] = ["mean", "p50", "p75", "p90", "p99", "p999", "max", "n"];

impl Metric {
    /// A metric of that kind.
    pub fn new(name: &str, unit: &str, kind: MetricKind, better: Better, comment: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), better, kind, comment: comment.to_owned() }
    }

    /// The names under which its numbers are found.
    pub fn names(&self) -> Vec<String> {
        match self.kind {
            MetricKind::Scalar | MetricKind::Series => vec![self.name.clone()],
            MetricKind::Histogram => {
                HISTOGRAM_SUFFIXES.iter().map(|suffix| format!("{}_{suffix}", self.name)).collect()
            }
        }
    }
}
