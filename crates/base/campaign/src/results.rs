//! Results of a campaign so far, and the journal that stores them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::answer::Answer;
use crate::plan::Point;
use crate::record::{Distribution, Recording};
use crate::renamed::Rename;
use crate::rig::{Metric, MetricKind, Outcome};
use crate::scenario::Scenario;
use crate::stats::{Estimate, Number, Summary, aa_spread, summarise};
use crate::value::Value;

mod slack;

/// A finished repeat of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Index of the point.
    pub point: usize,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Position of the repeat in the order of measurement, from 0.
    pub position: u32,
    /// Outcome of the repeat.
    pub outcome: Outcome,
    /// Reason of the outcome, if it is not `ok`.
    pub reason: String,
    /// Measurements of the repeat.
    pub recording: Recording,
    /// Start time, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Duration, including set-up and tear-down.
    pub elapsed: Duration,
}

/// Storage of finished repeats. One call of [`commit`](Self::commit) stores a repeat entirely or not at all.
pub trait ResultSink {
    /// Returns the (point, repeat) pairs that need not be measured again.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    fn finished(&self) -> Result<BTreeSet<(usize, u32)>, JournalError>;

    /// Stores a repeat.
    ///
    /// # Errors
    /// Returns an error if writing fails. The campaign then stops, and no part of the repeat is stored.
    fn commit(&mut self, finished: &Finished) -> Result<(), JournalError>;
}

/// The journal could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the campaign's results cannot be stored: {0}")]
pub struct JournalError(pub String);

/// Journal in memory, for tests and for short campaigns.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    /// Finished runs, in the order in which they were measured.
    pub finished: Vec<Finished>,
}

impl ResultSink for MemoryJournal {
    fn finished(&self) -> Result<BTreeSet<(usize, u32)>, JournalError> {
        Ok(self.finished.iter().map(|finished| (finished.point, finished.repeat)).collect())
    }

    fn commit(&mut self, finished: &Finished) -> Result<(), JournalError> {
        self.finished.push(finished.clone());
        Ok(())
    }
}

/// Results of a campaign, for verdicts, figures and comparisons.
#[derive(Debug, Clone)]
pub struct Results {
    /// The measured scenario.
    pub scenario: Scenario,
    /// Metrics of the rig.
    pub metrics: Vec<Metric>,
    /// Facts about the machine, from the host's meters.
    pub host: serde_json::Value,
    /// Versions of the tool and of the system under test.
    pub versions: serde_json::Value,
    /// The points in the order of the plan, with their repeats in order.
    pub points: Vec<PointResult>,
    /// Further data of a result that was read from a file. Its repeats are stand-ins, which have the stored means and
    /// intervals.
    pub kept: Option<StoredHeader>,
    /// Reason why the results do not represent this version's measurements ([`crate::behaviour::Behaviour::stale`]).
    pub stale: Option<String>,
    /// Earlier names in the stored data that were replaced when it was read.
    pub renamed: Vec<Rename>,
}

/// Content of a stored result in addition to its points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHeader {
    /// Warnings as they were at the time of the measurement.
    pub warnings: Vec<String>,
    /// Reason why no conclusion is possible.
    pub caveat: Option<String>,
    /// Metrics whose repeats are stored individually, at every point that has these metrics. They need no stand-ins.
    pub whole: BTreeSet<String>,
}

/// A point and its finished repeats.
#[derive(Debug, Clone)]
pub struct PointResult {
    /// The point and its settings.
    pub point: Point,
    /// Repeats of the point, in order.
    pub runs: Vec<Finished>,
}

impl Results {
    /// Assigns finished repeats to their points.
    pub fn new(
        scenario: Scenario,
        metrics: Vec<Metric>,
        points: Vec<Point>,
        finished: Vec<Finished>,
    ) -> Self {
        let mut points: Vec<PointResult> =
            points.into_iter().map(|point| PointResult { point, runs: Vec::new() }).collect();
        for run in finished {
            if let Some(point) = points.get_mut(run.point) {
                point.runs.push(run);
            }
        }
        for point in &mut points {
            point.runs.sort_by_key(|run| run.repeat);
        }
        let (host, versions) = Default::default();
        Self { scenario, metrics, host, versions, points, kept: None, stale: None, renamed: Vec::new() }
    }

    /// Returns the declared metric of a name such as `rtt_us_p99`.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name || metric.names().iter().any(|own| own == name))
    }

    /// Returns a metric of a point with its error; `None` if no repeat that counts has the metric.
    pub fn estimate(&self, point: &PointResult, name: &str) -> Option<Estimate> {
        let exact = self.metric(name).is_some_and(|metric| metric.is_exact(&point.point.settings));
        let confidence = self.scenario.measure.confidence;
        let own = Estimate::from_summary(&point.summary(name, confidence)?, exact);
        Some(slack::widen(self.scenario.search.as_ref(), point, name, own, confidence))
    }

    /// Returns a metric of a point for display; `None` if no repeat that counts has the metric.
    pub fn answer(&self, point: &PointResult, name: &str) -> Option<Answer> {
        Answer::at(self, point, name)
    }

    /// Returns a metric of a point for comparison with other points. It has a value for each repeat if the scenario's
    /// repeats are paired, unless only stand-ins are stored.
    pub fn number(&self, point: &PointResult, name: &str) -> Option<Number> {
        let estimate = self.estimate(point, name)?;
        let own = self.kept.as_ref().is_none_or(|kept| kept.whole.contains(name));
        if !self.scenario.measure.paired || !own {
            return Some(Number::alone(estimate));
        }
        let counting = point.runs.iter().filter(|run| run.outcome.counts());
        let own = counting.filter_map(|run| Some((run.repeat, *run.recording.metrics.get(name)?)));
        Some(Number::paired(estimate, own.collect()))
    }

    /// Returns the [A/A spread](aa_spread) of a metric; `None` also if only means are stored.
    pub fn aa_spread(&self, name: &str) -> Option<f64> {
        let values: Vec<Vec<f64>> = self.points.iter().map(|point| point.values(name)).collect();
        let whole = self.kept.as_ref().is_none_or(|kept| kept.whole.contains(name));
        aa_spread(&values, self.scenario.measure.seed).filter(|_| whole)
    }

    /// Returns the unit of a metric; empty without a unit.
    pub fn unit(&self, name: &str) -> &str {
        self.metric(name).map_or("", |metric| if name.ends_with("_n") { "" } else { &metric.unit })
    }

    /// Returns the names of all metrics that some repeat has, sorted.
    pub fn metric_names(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for run in self.points.iter().flat_map(|point| &point.runs) {
            for name in run.recording.metrics.keys() {
                if !names.contains(name) {
                    names.insert(name.clone());
                }
            }
        }
        names.into_iter().collect()
    }

    /// Returns the points with these settings.
    pub fn matching<'a>(
        &'a self,
        filter: &'a BTreeMap<String, Value>,
    ) -> impl Iterator<Item = &'a PointResult> {
        self.points.iter().filter(|point| point.point.matches(filter))
    }

    /// Returns the mean and the interval of a metric at a point, over the repeats that count. Returns `None` if no such
    /// repeat has the metric, or if the metric is a fingerprint that differs between repeats, because it has no mean.
    pub fn summary(&self, point: &PointResult, name: &str) -> Option<Summary> {
        let summary = point.summary(name, self.scenario.measure.confidence)?;
        (!self.fingerprint(name) || summary.min == summary.max).then_some(summary)
    }

    /// Whether a metric is only tested for equality.
    pub fn fingerprint(&self, name: &str) -> bool {
        self.metric(name).is_some_and(|metric| metric.kind == MetricKind::Fingerprint)
    }

    /// Returns the number of points per outcome, the best first.
    pub fn outcomes(&self) -> Vec<(Outcome, usize)> {
        Outcome::ALL
            .into_iter()
            .map(|outcome| {
                (outcome, self.points.iter().filter(|point| point.outcome() == Some(outcome)).count())
            })
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

impl PointResult {
    /// Returns the values of a metric over the repeats that count.
    pub fn values(&self, metric: &str) -> Vec<f64> {
        let counting = self.runs.iter().filter(|run| run.outcome.counts());
        counting.filter_map(|run| run.recording.metrics.get(metric).copied()).collect()
    }

    /// Returns the mean and the interval of a metric over the repeats that count; `None` if none of them has the
    /// metric.
    pub fn summary(&self, metric: &str, confidence: f64) -> Option<Summary> {
        summarise(&self.values(metric), confidence)
    }

    /// Returns the most frequent outcome of the repeats; of equally frequent outcomes, the worse one. `None` before the
    /// first repeat.
    pub fn outcome(&self) -> Option<Outcome> {
        let count = |outcome: Outcome| self.runs.iter().filter(|run| run.outcome == outcome).count();
        Outcome::ALL.into_iter().filter(|outcome| count(*outcome) > 0).max_by_key(|outcome| count(*outcome))
    }

    /// Returns the reason of the first repeat that has the point's outcome.
    pub fn reason(&self) -> &str {
        let outcome = self.outcome();
        self.runs.iter().find(|run| Some(run.outcome) == outcome).map_or("", |run| &run.reason)
    }

    /// Returns a distribution over all repeats that count.
    pub fn distribution(&self, metric: &str) -> Option<Distribution> {
        let mut all: Option<Distribution> = None;
        for run in self.runs.iter().filter(|run| run.outcome.counts()) {
            if let Some(distribution) = run.recording.distributions.get(metric) {
                match &mut all {
                    Some(all) => all.merge(distribution),
                    None => all = Some(distribution.clone()),
                }
            }
        }
        all
    }
}
