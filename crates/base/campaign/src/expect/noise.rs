//! Verdicts on results with repeats that other work on the machine disturbed.

use std::collections::BTreeMap;

use super::laws::{self, LawFinding, LawOutcome};
use crate::metric::{DISTURBED, Noise, OTHER_SHARE, STEAL_SHARE, UNSENT_AT_MOST};
use crate::record::Recording;
use crate::results::{Finished, PointResult, Results};
use crate::rig::Better;
use crate::scenario::{Expect, Law};
use crate::value::Value;

const DISTURBED_WHY: &str = "the law does not hold, but other work disturbed the repeats and may be the cause: repeat on a quiet machine";

/// Share of the machine that other work is assumed to use if a repeat does not record it.
const SHARE_UNKNOWN: f64 = 0.5;
/// Maximum share that the computation uses. Above it, the factor would have no meaning.
const SHARE_MAX: f64 = 0.98;
/// Factor by which other work may change a metric in addition to the effect of its share of the machine.
const MARGIN: f64 = 2.0;
/// Maximum increase of a latency because the system waits for a CPU, in seconds.
const DELAY_MAX_S: f64 = 0.5;

/// Returns the result of an expectation. Undisturbed repeats take precedence. Disturbed repeats refute the expectation
/// only if other work cannot explain the result. `Err` names the missing data.
pub(super) fn find(results: &Results, expect: &Expect) -> Result<LawFinding, String> {
    let Some(share) = disturbed_share(results, expect) else {
        return laws::find(results, expect);
    };
    let quiet = undisturbed(results);
    if let Ok(found) = laws::find(&quiet, expect)
        && !matches!(found.told, LawOutcome::Unclear(_))
    {
        return Ok(found);
    }
    let mut found = laws::find(results, expect)?;
    if found.told == LawOutcome::Broken && explained(results, expect, &found, share) {
        found.told = LawOutcome::Unclear(DISTURBED_WHY);
    }
    Ok(found)
}

/// Returns the settings of the points of an expectation.
fn filters(expect: &Expect) -> Vec<BTreeMap<String, Value>> {
    let mut filters = vec![expect.filter.clone()];
    if let Law::Ratio { against, .. } = &expect.law {
        let mut filter = expect.filter.clone();
        filter.extend(against.clone());
        filters.push(filter);
    }
    filters
}

fn is_disturbed(run: &Finished) -> bool {
    run.recording.metrics.get(DISTURBED).is_some_and(|marked| *marked > 0.0)
}

/// Returns the largest share of the machine that other work used in a disturbed repeat of these points; `None` if no
/// repeat was disturbed.
fn disturbed_share(results: &Results, expect: &Expect) -> Option<f64> {
    let filters = filters(expect);
    let points = filters.iter().flat_map(|filter| results.matching(filter));
    let runs = points.flat_map(|point| &point.runs).filter(|run| run.outcome.counts() && is_disturbed(run));
    let share = |run: &Finished| {
        let of = |name: &str| run.recording.metrics.get(name).copied();
        match (of(STEAL_SHARE), of(OTHER_SHARE)) {
            (None, None) => SHARE_UNKNOWN,
            (steal, foreign) => steal.unwrap_or(0.0) + foreign.unwrap_or(0.0),
        }
    };
    runs.map(share).reduce(f64::max)
}

/// Returns a copy of the results without disturbed repeats, series and distributions.
fn undisturbed(results: &Results) -> Results {
    let quiet = |run: &Finished| Finished {
        recording: Recording {
            metrics: run.recording.metrics.clone(),
            bounds: run.recording.bounds.clone(),
            ..Recording::default()
        },
        reason: run.reason.clone(),
        ..*run
    };
    let points = results.points.iter().map(|point| PointResult {
        point: point.point.clone(),
        runs: point.runs.iter().filter(|run| !is_disturbed(run)).map(quiet).collect(),
    });
    Results {
        scenario: results.scenario.clone(),
        metrics: results.metrics.clone(),
        host: serde_json::Value::Null,
        versions: serde_json::Value::Null,
        points: points.collect(),
        kept: results.kept.clone(),
        stale: results.stale.clone(),
        renamed: results.renamed.clone(),
    }
}

/// Whether other work with this share of the machine can explain why an expectation does not hold.
fn explained(results: &Results, expect: &Expect, found: &LawFinding, share: f64) -> bool {
    let Some(metric) = results.metric(&expect.metric) else { return true };
    let factor = match metric.noise {
        Noise::Counted => return !load_was_sent(results, expect),
        Noise::Bounded => MARGIN,
        Noise::Time => MARGIN / (1.0 - share.clamp(0.0, SHARE_MAX)),
    };
    let Some(beyond) = found.beyond else { return true };
    if beyond.bound == 0.0 {
        // The expected value is zero, so no limit on the effect of other work is known.
        return true;
    }
    // In a ratio, either side may be the one that other work slowed down. In other laws, other work makes a result
    // worse, never better.
    let ratio = matches!(expect.law, Law::Ratio { .. });
    let above = beyond.measured > beyond.bound;
    let better = match metric.better {
        Better::Higher => above,
        Better::Lower => !above,
        Better::Neither => false,
    };
    if better && !ratio {
        return false;
    }
    let delay = match seconds(&metric.unit) {
        Some(_) if metric.noise == Noise::Time && ratio => return true,
        Some(unit) if metric.noise == Noise::Time => DELAY_MAX_S / unit,
        _ => 0.0,
    };
    if above {
        beyond.measured <= beyond.bound.abs() * factor + delay
    } else {
        beyond.measured * factor + delay >= beyond.bound
    }
}

/// Whether every repeat of these points sent its load.
fn load_was_sent(results: &Results, expect: &Expect) -> bool {
    let shares: Vec<&str> = results
        .metrics
        .iter()
        .filter(|metric| metric.unsent_share)
        .map(|metric| metric.name.as_str())
        .collect();
    let filters = filters(expect);
    let mut runs = filters.iter().flat_map(|filter| results.matching(filter)).flat_map(|point| &point.runs);
    runs.all(|run| {
        shares
            .iter()
            .all(|name| run.recording.metrics.get(*name).is_none_or(|share| *share <= UNSENT_AT_MOST))
    })
}

/// Returns the length of a unit of time, in seconds.
fn seconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-9),
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        _ => None,
    }
}
