//! Measured capacity for sizing: the largest load that a system served within an objective.

use serde::Serialize;

use crate::answer::{Answer, Bound};
use crate::results::{PointResult, Results};
use crate::scenario::Search;
use crate::scenario::search::Find;

/// A service level: a metric that must not exceed a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Objective {
    /// Name of the metric (`latency_us_p99`).
    pub metric: String,
    /// Upper bound of the metric.
    pub at_most: f64,
}

/// The largest load that met the objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ServedLoad {
    /// The load, as a value of its axis.
    pub load: f64,
    /// Cores that the system used for this load.
    pub cores: f64,
    /// The smallest load that missed the objective; `None` if all loads met it, so that the true capacity is higher.
    pub missed_at: Option<f64>,
}

/// Reason why the load within an objective cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectiveError {
    /// The campaign has no axis or metric of this name.
    #[error("the campaign has no {what} \"{name}\"; it has {known}")]
    Unknown {
        /// `axis` or `metric`.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The available names.
        known: String,
    },
    /// The campaign has no search, or no search with a result.
    #[error("the campaign has no result of a search: `metric` and `at_most` are needed")]
    NoSearch,
    /// The search's result is not a capacity.
    #[error(
        "the campaign's search looked for the smallest value that passes, which is not a capacity: search for the largest load"
    )]
    Smallest,
    /// Not even the smallest load was served within the objective.
    #[error(
        "at no load of the campaign is the whole confidence interval of {metric} within its bound (two or more repeats are needed)"
    )]
    Never {
        /// Name of the metric.
        metric: String,
    },
}

/// Returns the largest load within the objective. Follows the axis upwards until the interval of a point is not
/// entirely within the objective, or a point has no number.
///
/// # Errors
/// See [`ObjectiveError`].
pub fn served(
    results: &Results,
    objective: &Objective,
    axis: &str,
    cores: &str,
) -> Result<ServedLoad, ObjectiveError> {
    let names = results.metric_names();
    let unknown = |what, name: &str, known: Vec<String>| ObjectiveError::Unknown {
        what,
        name: name.to_owned(),
        known: known.join(", "),
    };
    if let Some(name) =
        [&objective.metric, cores].into_iter().find(|name| !names.iter().any(|own| own == *name))
    {
        return Err(unknown("metric", name, names.clone()));
    }
    let mut points: Vec<(f64, &PointResult)> = results
        .points
        .iter()
        .filter_map(|point| Some((point.point.settings.get(axis)?.number()?, point)))
        .collect();
    let axes = &results.scenario.sweep.axes;
    if points.is_empty() || !axes.iter().any(|own| own.path == axis) {
        return Err(unknown("axis", axis, axes.iter().map(|axis| axis.path.clone()).collect()));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let confidence = results.scenario.measure.confidence;
    // The upper end of the interval must be within the bound. For a censored metric, this end is open.
    let kept = |answer: Answer| answer.interval.is_some_and(|(_, high)| high <= objective.at_most);
    let mut best: Option<ServedLoad> = None;
    for (load, point) in points {
        let within = results.answer(point, &objective.metric).is_some_and(kept);
        match point.summary(cores, confidence).filter(|_| within) {
            Some(used) => best = Some(ServedLoad { load, cores: used.mean, missed_at: None }),
            None => {
                return best
                    .map(|served| ServedLoad { missed_at: Some(load), ..served })
                    .ok_or_else(|| ObjectiveError::Never { metric: objective.metric.clone() });
            }
        }
    }
    best.ok_or_else(|| ObjectiveError::Never { metric: objective.metric.clone() })
}

/// Returns the result of a search at the first point that has one. The load is the lower end of its interval.
///
/// # Errors
/// [`ObjectiveError::NoSearch`].
pub fn found(results: &Results, cores: &str) -> Result<ServedLoad, ObjectiveError> {
    let find = results.scenario.search.as_ref().and_then(Search::load).map(|load| load.find);
    if find == Some(Find::Smallest) {
        return Err(ObjectiveError::Smallest);
    }
    let answer = results.points.iter().find_map(|point| {
        let load = results.answer(point, "search.load")?;
        let missed_at = results.answer(point, "search.upper").map(|upper| upper.value);
        let missed_at = missed_at.filter(|_| load.bound == Bound::Exact);
        let low = load.ends().0.unwrap_or(load.value);
        Some(ServedLoad { load: low, cores: results.answer(point, cores)?.value, missed_at })
    });
    answer.filter(|served| served.load > 0.0).ok_or(ObjectiveError::NoSearch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockRig;
    use crate::plan::Plan;
    use crate::results::MemoryJournal;
    use crate::rig::{Rig, Stop};
    use crate::scenario::{Overrides, Scenario};

    fn measured() -> Results {
        let text = "title = \"t\"\nrig = \"mock\"\n[sut]\nlaw = \"queue\"\nservice_us = 100\n[load]\nrequests = 20000\n\
                    [sweep.axes]\n\"load.rate\" = [9500, 1000, 8000, 5000]\n[measure]\nrepeats = 5\n";
        let description = MockRig::default().describe();
        let rigs = std::slice::from_ref(&description);
        let scenario = Scenario::parse(text, "t.toml", &Overrides::default(), rigs).unwrap();
        let plan = Plan::new(&scenario, &description);
        let mut journal = MemoryJournal::default();
        let rig = Box::new(MockRig::default());
        crate::run::run(rig, &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
        Results::new(scenario, description.metrics, plan.points, journal.finished)
    }

    /// In an M/M/1 system with a service time of 100 us, the median reply time is `100 us * ln(2) / (1 - load)`. This is
    /// 347 us at 8,000 requests per second (a load of 0.8) and 1,386 us at 9,500.
    #[test]
    fn largest_load_within_objective_matches_queueing_theory() {
        let results = measured();
        let of = |at_most: f64| {
            let objective = Objective { metric: "rtt_us_p50".to_owned(), at_most };
            served(&results, &objective, "load.rate", "sut.cpu_cores")
        };
        let found = of(600.0).unwrap();
        assert_eq!((found.load, found.missed_at), (8000.0, Some(9500.0)));
        assert!((found.cores - 0.8).abs() < 0.05, "{found:?}");
        assert_eq!(of(1e9).unwrap().missed_at, None);
        assert!(matches!(of(1.0), Err(ObjectiveError::Never { .. })));
    }

    #[test]
    fn unknown_name_error_lists_available_names() {
        let results = measured();
        let objective = Objective { metric: "rtt_us_p50".to_owned(), at_most: 1.0 };
        let error = served(&results, &objective, "load.nodes", "sut.cpu_cores").unwrap_err().to_string();
        assert_eq!(error, "the campaign has no axis \"load.nodes\"; it has load.rate");
        let error = served(&results, &objective, "load.rate", "cpu").unwrap_err().to_string();
        assert!(error.contains("no metric \"cpu\"") && error.contains("sut.cpu_cores"), "{error}");
    }
}
