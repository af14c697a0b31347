//! Describes the results of a campaign in sentences: budgets that each flow meets with each scheduler, composition of delays, and numbers
//! of cells at which options exceed their budgets.

mod budgets;
mod hidden;
mod network;
mod stamped;

use std::collections::BTreeMap;

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::Outcome;
use ranlab_campaign::value::Value;

use super::predictions::{ROLES, SEGMENTS};

/// Maximum number of sentences of each kind. The tables contain all results.
const SENTENCES_MAX: usize = 12;
/// Maximum number of options whose breaking point is described.
const OPTIONS_MAX: usize = 40;
/// Minimum relative difference that is reported, even if the variation between repeats is smaller.
const SHOWN_MIN: f64 = 0.001;
/// Axis of the number of cells. The breaking point of an option is a value on this axis.
const CELLS: &str = "cells.count";
/// Returns the sentences, most important first.
pub(crate) fn verdict(results: &Results) -> Vec<String> {
    if let Some(of_network) = network::sentences(results) {
        return of_network;
    }
    let mut sentences: Vec<String> = super::emulated::sentence(results).into_iter().collect();
    sentences.extend(stamped::sentences(results));
    sentences.extend(breaking(results));
    sentences.truncate(OPTIONS_MAX);
    sentences.extend(budgets::sentences(results));
    sentences.extend(attribution(results));
    sentences.extend(hidden::sentences(results));
    sentences.extend(differences(results));
    sentences
}

fn mean(point: &PointResult, metric: &str) -> Option<f64> {
    let values = point.values(metric);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the maximum over all repeats, because every repeat must meet a budget.
fn most(point: &PointResult, metric: &str) -> Option<f64> {
    point.values(metric).into_iter().reduce(f64::max)
}

fn setting<'a>(point: &'a PointResult, path: &str) -> Option<&'a Value> {
    point.point.settings.get(path)
}

/// Returns the name of a point's option (all axes except the number of cells):
/// `sut.scheduler = fifo, cells.split = 2`.
fn option(point: &PointResult) -> String {
    let shown = |path: &str| path != CELLS && path != "sut.tier" && !path.starts_with("user.");
    let axes = point.point.axes.iter().filter(|(path, _)| shown(path));
    axes.map(|(path, value)| format!("{path} = {value}")).collect::<Vec<_>>().join(", ")
}

fn under(option: &str) -> String {
    if option.is_empty() { "As set".to_owned() } else { format!("With {option}") }
}

/// Checks whether every cell meets its budget in both directions. Returns the reason if a cell does not.
fn kept(point: &PointResult) -> Result<(), String> {
    if point.outcome() == Some(Outcome::Overloaded) {
        let load = most(point, "port_load_max").unwrap_or(f64::INFINITY);
        return Err(format!("a port is offered {} % of its rate", short(load * 100.0)));
    }
    let mut checked = false;
    for role in ["cell_dl", "cell_ul"] {
        let Some(budget) = most(point, &format!("{role}.budget_us")) else { continue };
        let longest = most(point, &format!("{role}.delay_us_max"));
        let Some(longest) = longest.or_else(|| most(point, &format!("{role}.bound_us"))) else { continue };
        checked = true;
        let early = most(point, &format!("{role}.window_early")).unwrap_or(0.0);
        if early > 0.0 {
            return Err(format!(
                "{} % of {role} arrive before their window",
                short((early * 1000.0).round() / 10.0)
            ));
        }
        if longest > budget {
            return Err(format!(
                "{role} takes up to {} us, and its budget is {} us",
                short(longest),
                short(budget)
            ));
        }
        if most(point, &format!("{role}.lost_ratio")).unwrap_or(0.0) > 0.0 {
            return Err(format!("{role} loses frames"));
        }
    }
    if checked {
        return Ok(());
    }
    let why = point.reason();
    Err(if why.is_empty() { "nothing was measured".to_owned() } else { why.to_owned() })
}

/// Returns the number of cells at which each option breaks.
fn breaking(results: &Results) -> Vec<String> {
    let swept = results.points.first().is_some_and(|point| point.point.axes.iter().any(|(p, _)| p == CELLS));
    if !swept {
        return Vec::new();
    }
    let mut options: BTreeMap<String, Vec<(i64, &PointResult)>> = BTreeMap::new();
    let mut order = Vec::new();
    for point in results.points.iter().filter(|point| point.outcome().is_some()) {
        let cells = setting(point, CELLS).and_then(Value::number).unwrap_or(0.0) as i64;
        let option = option(point);
        if !order.contains(&option) {
            order.push(option.clone());
        }
        options.entry(option).or_default().push((cells, point));
    }
    let mut sentences = Vec::new();
    for option in order {
        let Some(points) = options.get_mut(&option) else { continue };
        points.sort_by_key(|(cells, _)| *cells);
        let broken = points.iter().find_map(|(cells, point)| Some((*cells, kept(point).err()?)));
        let fine = points.iter().take_while(|(_, point)| kept(point).is_ok()).last();
        let up_to = fine.map_or_else(
            || "none of the tried numbers of cells meets its budgets".to_owned(),
            |(cells, _)| format!("{cells} cells meet their budgets"),
        );
        let then = broken.map_or_else(
            || ", the greatest number that was tried".to_owned(),
            |(cells, why)| format!("; with {cells} cells, a limit is exceeded: {why}"),
        );
        sentences.push(format!("{}, {up_to}{then}.", under(&option)));
    }
    sentences
}

/// Returns the composition of the measured flow's mean delay, at the first and the last point.
fn attribution(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    let points = [results.points.first(), results.points.last()];
    let last = if results.points.len() > 1 { 2 } else { 1 };
    for point in points.into_iter().take(last).flatten() {
        let measured = ["user", "cell_ul", "cell_dl"].into_iter();
        let Some((role, total)) = measured
            .filter(|role| ROLES.contains(role))
            .find_map(|role| Some((role, mean(point, &format!("{role}.delay_us_mean"))?)))
        else {
            continue;
        };
        let mut parts: Vec<(f64, String)> = SEGMENTS
            .iter()
            .filter_map(|name| Some((mean(point, &format!("{role}.at_{name}_us"))?, name.replace('_', " "))))
            .filter(|(us, _)| *us > 0.0)
            .collect();
        if parts.is_empty() {
            continue;
        }
        parts.sort_by(|a, b| b.0.total_cmp(&a.0));
        let shares: Vec<String> = parts
            .iter()
            .take(4)
            .map(|(us, name)| {
                format!("{name} {} us ({} %)", short(*us), short((us / total * 1000.0).round() / 10.0))
            })
            .collect();
        sentences.push(format!(
            "A frame of {role} takes {} us on average at {}: {}.",
            short(total),
            point.point.label(),
            shares.join(", ")
        ));
        sentences.extend(plausible(point, role, total));
    }
    sentences
}

/// Returns a remark on the radio's share compared with the published figures.
fn plausible(point: &PointResult, role: &str, total: f64) -> Option<String> {
    let air = mean(point, &format!("{role}.at_air_us"))?;
    (role == "user" && air > total / 2.0).then(|| {
        "Most of this time is spent in the radio (TTIs, grants, the sender's timer), which no network card or switch changes: \
         a plausible cause of the published milliseconds, not a proven one, because the testbed's radio and sender are assumed."
            .to_owned()
    })
}

/// Axes that are compared, with the metrics for each axis in order of preference. All other settings are equal in a comparison, which
/// separates the effects of card and core.
const DIFFERENCES: [(&str, &[&str]); 4] = [
    ("net.testbed", &["jitter_ms_median", "rtt_ms", "cell_dl.delay_us_p99"]),
    ("sut.sharing", &["jitter_ms_median", "rtt_ms", "cost_dl_of_port", "cell_dl.delay_us_p99"]),
    ("cu.busy_share", &["jitter_ms_median", "rtt_ms", "cell_dl.sender_late_us_p99", "cell_dl.delay_us_p99"]),
    ("cu.cpu_quota", &["cell_dl.sender_late_us_p99"]),
];

/// Returns the differences between sharing mechanisms, testbed rows, and loads of the CU's core, if they exceed the variation between
/// repeats.
fn differences(results: &Results) -> Vec<String> {
    let swept = |axis: &str| {
        results.points.first().is_some_and(|point| point.point.axes.iter().any(|(path, _)| path == axis))
    };
    let measured = |metric: &&&str| results.points.iter().any(|point| mean(point, metric).is_some());
    let axes = DIFFERENCES.iter().filter(|(axis, _)| swept(axis));
    axes.filter_map(|(axis, metrics)| Some((*axis, *metrics.iter().find(measured)?)))
        .flat_map(|(axis, metric)| differences_along(results, axis, metric))
        .collect()
}

fn differences_along(results: &Results, axis: &str, metric: &str) -> Vec<String> {
    let Some(spread) = results.aa_spread(metric) else {
        return vec![format!(
            "{metric}: too few repeats to distinguish a difference along {axis} from chance."
        )];
    };
    let mut sentences = Vec::new();
    let mut earlier: Vec<(String, f64, &PointResult)> = Vec::new();
    for point in &results.points {
        let (Some(value), Some(of)) = (mean(point, metric), setting(point, axis)) else { continue };
        let rest = |point: &PointResult| {
            let axes = point.point.axes.iter().filter(|(path, _)| path != axis);
            axes.map(|(_, value)| value.to_string()).collect::<Vec<_>>()
        };
        if let Some((first, base, _)) = earlier.iter().find(|(_, _, other)| rest(other) == rest(point)) {
            let change = value / base.max(1e-12) - 1.0;
            sentences.push(difference(metric, &of.to_string(), first, change, spread, &rest(point)));
        } else {
            earlier.push((of.to_string(), value, point));
        }
    }
    sentences.truncate(SENTENCES_MAX);
    sentences
}

fn difference(metric: &str, of: &str, first: &str, change: f64, spread: f64, rest: &[String]) -> String {
    let at = if rest.is_empty() { String::new() } else { format!(" at {}", rest.join(", ")) };
    let percent = |share: f64| short((share * 1000.0).round() / 10.0);
    if change.abs() <= spread.max(SHOWN_MIN) {
        format!(
            "{metric} of {of} against {first}{at}: no difference shown ({} %, repeats of one setting differ by {} %).",
            percent(change),
            percent(spread)
        )
    } else {
        format!(
            "{metric} of {of} is {} % {} than of {first}{at} (repeats of one setting differ by {} %).",
            percent(change.abs()),
            if change > 0.0 { "higher" } else { "lower" },
            percent(spread)
        )
    }
}

#[cfg(test)]
mod tests;
