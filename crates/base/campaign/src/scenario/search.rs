//! Searches of scenarios, and the metrics that they add to a rig.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::Bound;
use crate::description::RigDescription;
use crate::metric::{Better, Metric, MetricKind};
use crate::metrics;
use crate::named::named;
use crate::value::short;

use super::Axis;

/// The setting that a search varies, with its range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Setting that is the load.
    pub axis: String,
    /// Smallest load tried.
    pub min: f64,
    /// Largest load tried.
    pub max: f64,
    /// Relative width of the result at which the search ends.
    pub precision: f64,
    /// Measurements after the load is found.
    #[serde(default)]
    pub after: After,
    /// End of the passing range that the search looks for.
    #[serde(default)]
    pub find: Find,
}

named! {
    /// Passing value that a search looks for.
    #[derive(Default)]
    pub enum Find {
        /// The largest passing value, for example of a load or a number of cells.
        #[default]
        Largest = "largest",
        /// The smallest passing value, for example of a link's rate or a number of cores.
        Smallest = "smallest",
    }
}

impl Find {
    /// Returns the name of the metric for the nearest value that failed: `upper` (above the largest value that passed)
    /// or `lower` (below the smallest value that passed).
    pub const fn far_end(self) -> &'static str {
        match self {
            Self::Largest => "upper",
            Self::Smallest => "lower",
        }
    }

    /// Returns the bound of the result if no value failed.
    pub const fn open_bound(self) -> Bound {
        match self {
            Self::Largest => Bound::AtLeast,
            Self::Smallest => Bound::AtMost,
        }
    }
}

/// Trials after the search. They measure a distribution at shares of the found load, such as the latency at 10, 50, 90
/// and 100 %.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct After {
    /// Shares, above 0 and at most 1. If there are no shares, there are no further trials.
    pub shares: Vec<f64>,
    /// Name of the distribution.
    pub metric: String,
}

/// Maximum number of shares in [`After::shares`].
pub const SHARES_MAX: usize = 8;

impl After {
    /// Returns the metric's name at a share: `search.at_10.latency_ns` at a tenth.
    pub fn name(&self, share: f64) -> String {
        format!("search.at_{}.{}", short(share * 100.0), self.metric)
    }

    /// Returns a metric for the distribution at each share, under these names; empty if the rig has no such
    /// distribution.
    pub(crate) fn metrics(&self, rig: &RigDescription) -> Vec<Metric> {
        let Some(own) = rig.metrics.iter().find(|own| own.name == self.metric) else { return Vec::new() };
        let at = |share: &f64| {
            let comment = format!("{}; at {} % of the load found", own.comment, short(share * 100.0));
            Metric::new(&self.name(*share), &own.unit, own.kind, own.better, &comment)
        };
        self.shares.iter().take(SHARES_MAX).map(at).collect()
    }
}

/// A search within each point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Search {
    /// The largest load with at most this loss ratio: NDR with 0, PDR with more.
    Rate {
        /// The varied load.
        #[serde(flatten)]
        load: Load,
        /// Loss ratio (lost divided by sent) that is allowed.
        loss_ratio: f64,
        /// Maximum number of trials.
        trials: u32,
    },
    /// The largest loads of several ratios of loss in one search, from many trials each (MLRsearch).
    Mlr {
        /// The varied load.
        #[serde(flatten)]
        load: Load,
        /// Loss ratio (lost divided by sent) that each goal allows.
        loss_ratios: Vec<f64>,
        /// Share of the time at a load that may exceed the loss ratio.
        exceed_ratio: f64,
        /// Number of full trials that decide about a load.
        sum: u32,
        /// Duration of the first trials, as a share of a full trial.
        initial: f64,
        /// Maximum time of all trials together.
        budget: Duration,
    },
    /// The load at which the mean loss ratio equals a target. It is found by a soak: many trials and two fitted
    /// functions (PLRsearch).
    Plr {
        /// The varied load.
        #[serde(flatten)]
        load: Load,
        /// Mean loss ratio (lost divided by sent) at the critical load.
        target: f64,
        /// Time of all trials.
        budget: Duration,
    },
    /// The largest load at which a metric meets an objective.
    Knee {
        /// The varied load.
        #[serde(flatten)]
        load: Load,
        /// Metric of the objective.
        metric: String,
        /// Upper limit of the metric.
        at_most: f64,
        /// Maximum number of trials.
        trials: u32,
    },
    /// The best setting of declared knobs under a budget.
    Tune {
        /// Metric to improve, in the better direction according to the rig.
        metric: String,
        /// Knobs and their allowed values.
        knobs: Vec<Axis>,
        /// Maximum number of trials.
        trials: u32,
    },
}

impl Search {
    /// Returns the varied load; `None` if knobs are tuned.
    pub fn load(&self) -> Option<&Load> {
        match self {
            Self::Rate { load, .. }
            | Self::Mlr { load, .. }
            | Self::Plr { load, .. }
            | Self::Knee { load, .. } => Some(load),
            Self::Tune { .. } => None,
        }
    }

    /// Returns the number of goals of an MLRsearch; 0 for any other search.
    pub(crate) fn mlr_goals(&self) -> usize {
        if let Self::Mlr { loss_ratios, .. } = self { loss_ratios.len() } else { 0 }
    }

    /// Returns each metric that a load must meet, with its upper limit, the first goal first. Empty if knobs are tuned.
    pub fn goals(&self) -> Vec<(&str, f64)> {
        match self {
            Self::Rate { loss_ratio, .. } => vec![("loss_ratio", *loss_ratio)],
            Self::Mlr { loss_ratios, .. } => loss_ratios.iter().map(|ratio| ("loss_ratio", *ratio)).collect(),
            Self::Plr { target, .. } => vec![("loss_ratio", *target)],
            Self::Knee { metric, at_most, .. } => vec![(metric, *at_most)],
            Self::Tune { .. } => Vec::new(),
        }
    }
}

/// Returns the name of the metric for a result (`load`, `upper`, `throughput`) of a goal. Goals count from 0.
pub fn metric(goal: usize, what: &str) -> String {
    match goal {
        0 => format!("search.{what}"),
        _ => format!("search.goal_{}.{what}", goal + 1),
    }
}

/// Returns the goal, from 0, and the kind of result for a name created by [`metric`]; `None` for any other metric.
pub(crate) fn goal_of(name: &str) -> Option<(usize, &str)> {
    let found = name.strip_prefix("search.")?;
    let (goal, what) = match found.strip_prefix("goal_").and_then(|rest| rest.split_once('.')) {
        Some((number, what)) => (number.parse::<usize>().ok()?.checked_sub(1)?, what),
        None => (0, found),
    };
    ["load", "throughput"].contains(&what).then_some((goal, what))
}

/// Returns the metrics that a search adds to the metrics of a rig. `goals` is the number of goals of an MLRsearch, and
/// 0 for other searches. `soak` is set for a PLRsearch. `seen` are the distributions that are measured after the
/// search.
pub(crate) fn metrics(goals: usize, soak: bool, seen: Vec<Metric>) -> Vec<Metric> {
    let mut all = metrics! {
        Scalar Higher "search.load" "" "result of the search: the largest (or smallest) sent load that passed a full trial";
        Scalar Higher "search.upper" "" "the smallest load that failed a full trial";
        Scalar Higher "search.lower" "" "in a search for the smallest value: the largest one that failed a full trial";
        Scalar Higher "search.unsent" "" "the smallest load that the generator could not send, if it ended the search";
        Scalar Higher "search.best" "" "the metric at the best setting of the knobs";
        Scalar Lower "search.trials" "" "number of trials of the search";
        Series Neither "search.tried" "" "trials of the search, in order";
    };
    for goal in 0..goals {
        let comments = [
            ("load", "largest load that meets the goal"),
            ("upper", "smallest load that misses the goal"),
            ("throughput", "throughput at the largest load that meets the goal"),
        ];
        for (what, comment) in comments.into_iter().skip(if goal == 0 { 2 } else { 0 }) {
            let comment = format!("{comment} (goal {})", goal + 1);
            all.push(Metric::new(&metric(goal, what), "", MetricKind::Scalar, Better::Higher, &comment));
        }
    }
    if soak {
        all.extend(metrics! {
            Scalar Higher "search.critical_low" "" "lower end of the 99 % interval of the critical load, over both fitted functions and, if trials differ, over their capacities";
            Scalar Higher "search.critical_high" "" "upper end of the 99 % interval of the critical load, as for search.critical_low";
            Scalar Neither "search.whole_trials" "" "1: the capacity differs between trials, which the interval includes; 0: losses are independent of the trial";
            Scalar Higher "search.critical_stretch" "" "critical load from the fit of an exponential function";
            Scalar Higher "search.critical_erf" "" "critical load from the fit of a normal distribution";
        });
    }
    all.extend(seen);
    all
}
