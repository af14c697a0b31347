//! Uncertainty of a mean in addition to the spread of repeats, from the brackets of searches and from bounds.

use crate::answer::Bound;
use crate::scenario::Search;
use crate::scenario::search::{Find, goal_of, metric};
use crate::stats::{Estimate, summarise};

use super::{Finished, PointResult};

/// Returns the estimate of a metric, widened by the uncertainty of its repeats on either side.
pub(super) fn widen(
    search: Option<&Search>,
    point: &PointResult,
    name: &str,
    own: Estimate,
    confidence: f64,
) -> Estimate {
    let runs: Vec<&Finished> = point
        .runs
        .iter()
        .filter(|run| run.outcome.counts() && run.recording.metrics.contains_key(name))
        .collect();
    let mut wide = match (search, goal_of(name)) {
        (Some(Search::Plr { .. }), Some((_, "load"))) => soak(&runs, own, confidence),
        (Some(Search::Tune { .. }) | None, _) | (_, None) => own,
        (Some(search), Some((goal, what))) => {
            let find = search.load().map_or(Find::Largest, |load| load.find);
            bracket(&runs, own, &metric(goal, what), &metric(goal, find.far_end()), find, what == "load")
        }
    };
    // A mean that includes a bound is a bound.
    for bound in runs.iter().filter_map(|run| run.recording.bounds.get(name)) {
        match bound {
            Bound::AtLeast => wide.above = f64::INFINITY,
            Bound::AtMost => wide.below = f64::INFINITY,
            Bound::Exact => {}
        }
    }
    wide
}

/// Returns the values of a metric over repeats; repeats without the metric are left out.
fn values(runs: &[&Finished], name: &str) -> Vec<f64> {
    runs.iter().filter_map(|run| run.recording.metrics.get(name).copied()).collect()
}

/// Widens an estimate to a bracket: the true load is between the last load that passed and the first that failed. If no
/// load failed, the result is open.
fn bracket(runs: &[&Finished], own: Estimate, name: &str, far: &str, find: Find, between: bool) -> Estimate {
    let far = values(runs, far);
    let slack = if far.len() < runs.len() {
        f64::INFINITY
    } else if between {
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        ((sum(&far) - sum(&values(runs, name))) / runs.len() as f64).abs()
    } else {
        0.0
    };
    // Trials found both ends of the bracket, and either end may vary more than the other.
    let spread =
        |values: &[f64]| summarise(values, 0.95).and_then(|all| Estimate::from_summary(&all, false).error);
    let error = own.error.map(|error| if between { spread(&far).unwrap_or(0.0).max(error) } else { error });
    let own = Estimate { error, ..own };
    match find {
        Find::Largest => own.with_slack(0.0, slack),
        Find::Smallest => own.with_slack(slack, 0.0),
    }
}

/// Widens the estimate of soaks. A single soak uses the interval that it states. For several soaks, the wider interval
/// counts at each end.
fn soak(runs: &[&Finished], own: Estimate, confidence: f64) -> Estimate {
    let mean = |name: &str| {
        let values = values(runs, name);
        (values.len() == runs.len()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let (Some(low), Some(high)) = (mean("search.critical_low"), mean("search.critical_high")) else {
        return own;
    };
    // A single soak states its own interval, so no spread between soaks is needed.
    let own = Estimate { error: own.error.or(Some(0.0)), ..own };
    let half = own.half_width(confidence).unwrap_or(0.0);
    own.with_slack((own.value - low - half).max(0.0), (high - own.value - half).max(0.0))
}
