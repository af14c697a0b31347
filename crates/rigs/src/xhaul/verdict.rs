//! What a campaign found, in words: which flow meets which budget under which scheduler, where its time goes, at how many
//! cells each option breaks.

mod hidden;
mod stamped;

use std::collections::BTreeMap;

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::Outcome;
use ranlab_campaign::value::Value;

use super::answer::{ROLES, SEGMENTS};

/// Sentences of each kind, at most; the tables have all.
const SENTENCES_MAX: usize = 12;
/// Options whose breaking is told, at most.
const OPTIONS_MAX: usize = 40;
/// Differences below it are not worth a word, however alike repeats are.
const SHOWN_MIN: f64 = 0.001;
/// The axis along which options break.
const CELLS: &str = "cells.count";
/// Classes of the transport, us, as people name them.
const CLASSES: [(f64, &str); 4] =
    [(25.0, "eCPRI High25"), (100.0, "802.1CM / High100"), (250.0, "250 us"), (500.0, "High500")];

/// The sentences, the most important first.
pub(crate) fn verdict(results: &Results) -> Vec<String> {
    let mut sentences: Vec<String> = super::emulated::sentence(results).into_iter().collect();
    sentences.extend(stamped::sentences(results));
    sentences.extend(breaking(results));
    sentences.truncate(OPTIONS_MAX);
    let mut budgets = budgets(results);
    budgets.truncate(SENTENCES_MAX);
    sentences.extend(budgets);
    sentences.extend(attribution(results));
    sentences.extend(hidden::sentences(results));
    sentences.extend(differences(results));
    sentences
}

fn mean(point: &PointResult, metric: &str) -> Option<f64> {
    let values = point.values(metric);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The longest of all repeats: a budget is met by every one or not.
fn most(point: &PointResult, metric: &str) -> Option<f64> {
    point.values(metric).into_iter().reduce(f64::max)
}

fn setting<'a>(point: &'a PointResult, path: &str) -> Option<&'a Value> {
    point.point.settings.get(path)
}

/// How the options other than the number of cells are called at a point: `sut.scheduler = fifo, cells.split = 2`.
fn option(point: &PointResult) -> String {
    let told = |path: &str| path != CELLS && path != "sut.tier" && !path.starts_with("user.");
    let axes = point.point.axes.iter().filter(|(path, _)| told(path));
    axes.map(|(path, value)| format!("{path} = {value}")).collect::<Vec<_>>().join(", ")
}

fn under(option: &str) -> String {
    if option.is_empty() { "As set".to_owned() } else { format!("With {option}") }
}

/// Whether every cell is within its budget, both ways; why not.
fn kept(point: &PointResult) -> Result<(), String> {
    if point.outcome() == Some(Outcome::Overloaded) {
        let load = most(point, "port_load_max").unwrap_or(f64::INFINITY);
        return Err(format!("a port is offered {} % of its rate", short(load * 100.0)));
    }
    let mut asked = false;
    for role in ["cell_dl", "cell_ul"] {
        let Some(budget) = most(point, &format!("{role}.budget_us")) else { continue };
        let longest = most(point, &format!("{role}.delay_us_max"));
        let Some(longest) = longest.or_else(|| most(point, &format!("{role}.bound_us"))) else { continue };
        asked = true;
        if longest > budget {
            return Err(format!("{role} takes up to {} us of {} us", short(longest), short(budget)));
        }
        if most(point, &format!("{role}.lost_ratio")).unwrap_or(0.0) > 0.0 {
            return Err(format!("{role} loses frames"));
        }
    }
    if asked {
        return Ok(());
    }
    let why = point.reason();
    Err(if why.is_empty() { "nothing was measured".to_owned() } else { why.to_owned() })
}

/// At how many cells each option breaks.
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
            || "no number of cells that was tried is kept within budget".to_owned(),
            |(cells, _)| format!("{cells} cells are kept within budget"),
        );
        let then = broken.map_or_else(
            || ", the most that were tried".to_owned(),
            |(cells, why)| format!("; at {cells} it breaks: {why}"),
        );
        sentences.push(format!("{}, {up_to}{then}.", under(&option)));
    }
    sentences
}

/// Which flow meets which budget: the longest delay, its bound, the classes that it keeps; of a live network, whose longest
/// delays are this machine's scheduling, what 99 % of the frames keep, beside what repeats differ by.
fn budgets(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    let spread = |metric: &str| results.aa_spread(metric);
    for point in &results.points {
        // Of a sweep over cells the first number says it; where options break is said elsewhere.
        let first = results.points.iter().find(|other| option(other) == option(point));
        if first.is_some_and(|first| first.point.index != point.point.index) {
            continue;
        }
        if setting(point, "sut.tier").and_then(Value::text) == Some("live") {
            sentences.extend(lived(point, &spread));
            continue;
        }
        let worst = |role: &'static str| {
            let bound = most(point, &format!("{role}.bound_us"));
            let longest = most(point, &format!("{role}.delay_us_max"));
            Some((longest.or(bound)?, role, longest, bound))
        };
        let slower = ["cell_dl", "cell_ul"].into_iter().filter_map(worst).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((worst, role, longest, bound)) = slower else { continue };
        let of = longest.map_or(String::new(), |us| format!(" took up to {} us", short(us)));
        let proven = bound.map_or_else(
            || " (no bound is known)".to_owned(),
            |us| format!(" (proven: never above {} us)", short(us)),
        );
        sentences.push(format!(
            "{}, {role}, the slower direction,{of}{proven}: meets {}; misses {}.",
            under(&option(point)),
            classes(worst, true),
            classes(worst, false)
        ));
    }
    sentences
}

/// The classes whose limit this delay keeps, or those whose it does not.
fn classes(us: f64, keeps: bool) -> String {
    let names = CLASSES.iter().filter(|(limit, _)| (us <= *limit) == keeps).map(|(_, name)| *name);
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What 99 % of the slower direction's frames kept to at a live point.
fn lived(point: &PointResult, spread: &dyn Fn(&str) -> Option<f64>) -> Option<String> {
    let metric = |role: &str| format!("{role}.delay_us_p99");
    let roles = ["cell_dl", "cell_ul"].into_iter();
    let (p99, role) = roles
        .filter_map(|role| Some((mean(point, &metric(role))?, role)))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let differ = spread(&metric(role)).map_or_else(
        || "too few repeats to say what they differ by".to_owned(),
        |spread| format!("repeats of one setting differ by {} %", short((spread * 1000.0).round() / 10.0)),
    );
    Some(format!(
        "{}, {role}, the slower direction, live: 99 % within {} us ({differ}): these meet {}; miss {}.",
        under(&option(point)),
        short(p99),
        classes(p99, true),
        classes(p99, false)
    ))
}

/// Where the mean delay of the measured flow goes, at the first and the last point.
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
            "Of the {} us that a frame of {role} takes on average at {}: {}.",
            short(total),
            point.point.label(),
            shares.join(", ")
        ));
        sentences.extend(plausible(point, role, total));
    }
    sentences
}

/// What the radio's share says about the published figures.
fn plausible(point: &PointResult, role: &str, total: f64) -> Option<String> {
    let air = mean(point, &format!("{role}.at_air_us"))?;
    (role == "user" && air > total / 2.0).then(|| {
        "Most of it is the radio's (TTIs, grants, the sender's timer), which no network card or switch changes: \
         a plausible cause of the published milliseconds, not a proven one, because the testbed's radio and sender are assumed."
            .to_owned()
    })
}

/// What may differ, and by which metric it is told: the first that was measured. Each axis is told with everything else the
/// same, so the card's share stands apart from the core's.
const DIFFERENCES: [(&str, &[&str]); 4] = [
    ("net.row", &["jitter_ms_median", "rtt_ms", "cell_dl.delay_us_p99"]),
    ("sut.sharing", &["jitter_ms_median", "rtt_ms", "cost_dl_of_port", "cell_dl.delay_us_p99"]),
    ("cu.busy_share", &["jitter_ms_median", "rtt_ms", "cell_dl.sender_late_us_p99", "cell_dl.delay_us_p99"]),
    ("cu.cpu_quota", &["cell_dl.sender_late_us_p99"]),
];

/// Differences between ways to share a card, rows, loads of the CU's core: only those above what repeats of one setting
/// differ by.
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
        return vec![format!("{metric}: too few repeats to tell a difference along {axis} from chance.")];
    };
    let mut sentences = Vec::new();
    let mut seen: Vec<(String, f64, &PointResult)> = Vec::new();
    for point in &results.points {
        let (Some(value), Some(of)) = (mean(point, metric), setting(point, axis)) else { continue };
        let rest = |point: &PointResult| {
            let axes = point.point.axes.iter().filter(|(path, _)| path != axis);
            axes.map(|(_, value)| value.to_string()).collect::<Vec<_>>()
        };
        if let Some((first, base, _)) = seen.iter().find(|(_, _, other)| rest(other) == rest(point)) {
            let change = value / base.max(1e-12) - 1.0;
            sentences.push(difference(metric, &of.to_string(), first, change, spread, &rest(point)));
        } else {
            seen.push((of.to_string(), value, point));
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
