//! Sentences about budgets: the flows that meet their budget or receive window at each point, and whether this is proven.

use std::time::Duration;

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::Run;
use ranlab_campaign::value::Value;
use ranlab_xhaul::{Bound, BoundError, Curves, bounds};

use super::{CELLS, SENTENCES_MAX, kept, mean, most, option, setting, under};
use crate::rig::budget::class_of;
use crate::rig::predictions::{role, wired};
use crate::rig::{Planned, planned};

/// Transport classes of fronthaul: delay limit in us, and display name.
const CLASSES: [(f64, &str); 4] =
    [(25.0, "eCPRI High25"), (100.0, "802.1CM / High100"), (250.0, "250 us"), (500.0, "High500")];
const SCHEDULER: &str = "sut.scheduler";
const CELL_ROLES: [&str; 2] = ["cell_dl", "cell_ul"];

/// Returns the sentences about budgets.
pub(super) fn sentences(results: &Results) -> Vec<String> {
    let mut sentences = matrix(results);
    sentences.extend(simplest(results, &|point| fine(point)));
    let mut windows = windows(results);
    let mut own = own_budgets(results);
    windows.truncate(2 * SENTENCES_MAX);
    own.truncate(SENTENCES_MAX);
    sentences.extend(windows);
    sentences.extend(own);
    sentences.extend(unproven(results));
    sentences.extend(below_priority(results));
    sentences
}

/// Returns one line for each combination of the other axes. The line has a tick or a cross per scheduler, for whether the point meets its
/// budgets. In a sweep over cells, [`breaking`](super::breaking) describes the points.
fn matrix(results: &Results) -> Vec<String> {
    let axes = |point: &PointResult| -> Vec<(String, String)> {
        let axes = point.point.axes.iter().filter(|(path, _)| path != "sut.tier");
        axes.map(|(path, value)| (path.clone(), value.to_string())).collect()
    };
    let judged = |point: &&PointResult| point.outcome().is_some() && !axes(point).is_empty();
    let swept = results.points.iter().any(|point| axes(point).iter().any(|(path, _)| path == CELLS));
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for point in results.points.iter().filter(judged) {
        let Some(fine) = fine(point) else { continue };
        let axes = axes(point);
        let column = axes.iter().find(|(path, _)| path == SCHEDULER).or_else(|| axes.last());
        let Some((path, value)) = column.cloned() else { continue };
        let rest = axes.iter().filter(|(other, _)| *other != path);
        let rest: Vec<String> = rest.map(|(path, value)| format!("{path} = {value}")).collect();
        let row = if rest.is_empty() { path } else { format!("{}, by {path}", rest.join(", ")) };
        let cell = format!("{value} {}", if fine { "✓" } else { "✗" });
        match rows.iter_mut().find(|(name, _)| *name == row) {
            Some((_, cells)) => cells.push(cell),
            None => rows.push((row, vec![cell])),
        }
    }
    let points: usize = rows.iter().map(|(_, cells)| cells.len()).sum();
    if swept || points < 2 {
        return Vec::new();
    }
    rows.into_iter().map(|(row, cells)| format!("Budgets met, {row}: {}.", cells.join(", "))).collect()
}

/// Schedulers in order of effort, from the simplest port to the most complex one.
const BY_EFFORT: [&str; 7] = ["fifo", "strict", "drr", "cbs", "ats", "preemption", "gates"];

/// Returns the simplest scheduler that keeps every limit at every point where it was tried, and whether that is proven.
pub(super) fn simplest(results: &Results, fine: &dyn Fn(&PointResult) -> Option<bool>) -> Option<String> {
    let of = |name: &'static str| {
        let named = move |point: &&PointResult| setting(point, SCHEDULER).and_then(Value::text) == Some(name);
        results.points.iter().filter(named)
    };
    let tried: Vec<&str> = BY_EFFORT.into_iter().filter(|name| of(name).next().is_some()).collect();
    if tried.len() < 2 {
        return None;
    }
    let keeps = |name: &&&'static str| of(name).all(|point| fine(point) == Some(true));
    let Some(name) = BY_EFFORT.iter().filter(|name| tried.contains(*name)).find(keeps) else {
        return Some(format!("No scheduler meets every budget everywhere: {}.", tried.join(", ")));
    };
    let proven =
        of(name).all(|point| most(point, "network.bound_of_budget").is_some_and(|share| share <= 1.0));
    let how = if proven { "proven" } else { "simulated, not proven" };
    Some(format!(
        "The simplest scheduler that meets every budget is {name} ({how}); order of effort: {}.",
        tried.join(", ")
    ))
}

/// Returns whether a point meets every budget. `None` if the point has no budget, or was not measured.
fn fine(point: &PointResult) -> Option<bool> {
    let has = |role: &&str| {
        most(point, &format!("{role}.budget_us")).is_some()
            && (most(point, &format!("{role}.delay_us_max")).is_some()
                || most(point, &format!("{role}.bound_us")).is_some())
    };
    let overloaded = point.outcome() == Some(ranlab_campaign::rig::Outcome::Overloaded);
    (overloaded || CELL_ROLES.iter().any(has)).then(|| kept(point).is_ok())
}

/// Returns sentences about receive windows: shares of early, on-time and late frames at the radio unit and the DU, and the sending times
/// that meet the window.
fn windows(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    for point in &results.points {
        let ways = [
            ("cell_dl", "the radio unit", "T1a", "t1a", "T2a", "t2a", "cells.t2a_up", "ahead of"),
            ("cell_ul", "the DU", "Ta3", "ta3", "Ta4", "ta4", "cells.ta4_up", "behind"),
        ];
        for (role, place, sent, sent_key, received, received_key, window_key, ahead) in ways {
            let number = |name: &str| most(point, &format!("{role}.{name}"));
            let mut words = Vec::new();
            if let (Some(early), Some(on_time), Some(late)) =
                (number("window_early"), number("window_on_time"), number("window_late"))
            {
                words.push(format!(
                    "{} % early, {} % on time, {} % late at {place}",
                    percent(early),
                    percent(on_time),
                    percent(late)
                ));
            }
            if let Some(arrivals) = arrivals(point, role, sent_key) {
                words.push(format!("frames arrive {} to {} us {ahead} the air", arrivals.0, arrivals.1));
            }
            if let (Some(least), Some(greatest)) =
                (number(&format!("{sent_key}_us_min")), number(&format!("{sent_key}_us_max")))
            {
                let window =
                    setting(point, window_key).map_or_else(String::new, |window| format!(" {window}"));
                words.push(match least <= greatest {
                    true => format!(
                        "all are on time with {sent} from {} to {} us (proven, {received}{window})",
                        tenth(least),
                        tenth(greatest)
                    ),
                    false => format!(
                        "no {sent} makes all frames arrive on time: delays vary by {} us more than the window {received}{window} allows",
                        tenth(least - greatest)
                    ),
                });
            } else if let (Some(from), Some(to)) =
                (number(&format!("{received_key}_us_min")), number(&format!("{received_key}_us_max")))
            {
                words.push(format!(
                    "a window {received} from {} to {} us takes all frames (proven)",
                    tenth(from),
                    tenth(to)
                ));
            }
            if !words.is_empty() {
                sentences.push(format!("{}, {role}: {}.", at(point), words.join("; ")));
            }
        }
    }
    sentences
}

/// Returns the earliest and the latest simulated arrival relative to the time on air, in us: before it for downlink, after it for uplink.
fn arrivals(point: &PointResult, role: &str, sent_key: &str) -> Option<(String, String)> {
    let sent = setting(point, &format!("cells.{sent_key}_up"))?.span()?.as_secs_f64() * 1e6;
    let least = point.values(&format!("{role}.delay_us_min")).into_iter().reduce(f64::min)?;
    let longest = most(point, &format!("{role}.delay_us_max"))?;
    Some(match role {
        "cell_dl" => (tenth(sent - least), tenth(sent - longest)),
        _ => (tenth(sent + least), tenth(sent + longest)),
    })
}

fn at(point: &PointResult) -> String {
    let axes: Vec<String> =
        point.point.axes.iter().map(|(path, value)| format!("{path} = {value}")).collect();
    if axes.is_empty() { "As set".to_owned() } else { format!("With {}", axes.join(", ")) }
}

fn percent(share: f64) -> String {
    short((share * 100_000.0).round() / 1000.0)
}

fn tenth(us: f64) -> String {
    format!("{:.1}", us)
}

/// Returns a sentence for each point about the slower direction of its cells: maximum delay, bound, budget, and the transport classes of
/// the fronthaul that it meets. In a live network, maximum delays depend on the scheduling of this machine. There, the 99th percentile is
/// used, together with the variation between repeats.
fn own_budgets(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    let spread = |metric: &str| results.aa_spread(metric);
    for point in &results.points {
        // In a sweep over cells, only the first number of cells is described here. [`breaking`] describes the limits.
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
            let budget = most(point, &format!("{role}.budget_us"));
            let windowed = most(point, &format!("{role}.window_on_time")).is_some();
            (!windowed).then_some((longest.or(bound)?, role, longest, bound, budget))
        };
        let slower = CELL_ROLES.into_iter().filter_map(worst).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((worst, role, longest, bound, budget)) = slower else { continue };
        let of = longest.map_or(String::new(), |us| format!(" took up to {} us", short(us)));
        let proven = bound.map_or_else(
            || " (no bound is known)".to_owned(),
            |us| format!(" (proven: never above {} us)", short(us)),
        );
        sentences.push(format!(
            "{}, {role}, the slower direction,{of}{proven}: {}.",
            under(&option(point)),
            against(worst, budget)
        ));
    }
    sentences
}

/// Returns the comparison of a delay with a flow's budget. For a fronthaul flow, also compares it with the transport classes.
pub(super) fn against(worst: f64, budget: Option<f64>) -> String {
    let classes = || {
        format!("meets these fronthaul classes: {}; misses: {}", classes(worst, true), classes(worst, false))
    };
    match budget {
        None => classes(),
        Some(budget) => {
            let verb = if worst <= budget { "meets" } else { "misses" };
            let own = format!("{verb} its budget of {} us ({})", short(budget), class_of(budget));
            // Packets of split 2 are not fronthaul traffic.
            if budget > 500.0 { own } else { format!("{own}; {}", classes()) }
        }
    }
}

/// Returns the classes whose limit a delay meets (`keeps`), or the classes whose limit it exceeds.
pub(super) fn classes(us: f64, keeps: bool) -> String {
    let names = CLASSES.iter().filter(|(limit, _)| (us <= *limit) == keeps).map(|(_, name)| *name);
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns the sentence about the 99th percentile of the slower direction at a live point.
fn lived(point: &PointResult, spread: &dyn Fn(&str) -> Option<f64>) -> Option<String> {
    let metric = |role: &str| format!("{role}.delay_us_p99");
    let (p99, role) = CELL_ROLES
        .into_iter()
        .filter_map(|role| Some((mean(point, &metric(role))?, role)))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let differ = spread(&metric(role)).map_or_else(
        || "too few repeats to determine the difference".to_owned(),
        |spread| format!("repeats of one setting differ by {} %", short((spread * 1000.0).round() / 10.0)),
    );
    Some(format!(
        "{}, {role}, the slower direction, live: 99 % of frames take at most {} us ({differ}): this delay {}.",
        under(&option(point)),
        short(p99),
        against(p99, most(point, &format!("{role}.budget_us")))
    ))
}

/// Proves the bounds of a point again, from its settings: results store numbers only.
fn prove(point: &PointResult) -> Option<Result<Vec<(&'static str, Bound)>, BoundError>> {
    let run = Run::new(&point.point, 0, 0, Duration::ZERO);
    let Ok(Planned::Runs(_, plan)) = planned(&run) else { return None };
    let (network, kept) = wired(&plan.network);
    Some(bounds(&network, Curves::Steps).map(|proven| {
        let with_role =
            |(kept, bound): (Option<usize>, Bound)| Some((role(&plan.network.flows[kept?].name)?, bound));
        kept.into_iter().zip(proven).filter_map(with_role).collect()
    }))
}

/// Returns the reasons why points have no bound.
fn unproven(results: &Results) -> Vec<String> {
    let without = |point: &&PointResult| {
        let has = |role: &&str, name: &str| most(point, &format!("{role}.{name}")).is_some();
        let simulated = CELL_ROLES.iter().any(|role| has(role, "delay_us_max"));
        simulated && !CELL_ROLES.iter().any(|role| has(role, "bound_us")) && is_computed(point)
    };
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for point in results.points.iter().filter(without).take(SENTENCES_MAX) {
        let Some(Err(why)) = prove(point) else { continue };
        let why = why.to_string();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, points)) => points.push(point.point.label()),
            None => reasons.push((why, vec![point.point.label()])),
        }
    }
    reasons.into_iter().map(|(why, points)| format!("No bound at {}: {why}.", points.join("; "))).collect()
}

fn is_computed(point: &PointResult) -> bool {
    setting(point, "sut.tier").and_then(Value::text) != Some("live")
}

/// Explains each point at which the bound of fifo is below the bound of strict priority. Returns sentences that name the methods of both
/// bounds.
fn below_priority(results: &Results) -> Vec<String> {
    let of = |name: &'static str| {
        results.points.iter().filter(move |point| {
            is_computed(point) && setting(point, SCHEDULER).and_then(Value::text) == Some(name)
        })
    };
    let others = |point: &PointResult| -> Vec<(String, Value)> {
        point.point.axes.iter().filter(|(path, _)| path != SCHEDULER).cloned().collect()
    };
    let mut sentences = Vec::new();
    for fifo in of("fifo") {
        let Some(strict) = of("strict").find(|strict| others(strict) == others(fifo)) else { continue };
        for role in CELL_ROLES {
            let metric = format!("{role}.bound_us");
            let (Some(own), Some(other)) = (most(fifo, &metric), most(strict, &metric)) else { continue };
            if own >= other {
                continue;
            }
            let method = |point: &PointResult| {
                let proven = prove(point)?.ok()?;
                let bound = proven
                    .into_iter()
                    .filter(|(own, _)| *own == role)
                    .max_by_key(|(_, bound)| bound.delay_ps)?;
                let longest = bound.1.hops_ps.iter().zip(&bound.1.theorems).max_by_key(|(ps, _)| **ps)?;
                Some(longest.1.to_string())
            };
            let (Some(by_queue), Some(by_priority)) = (method(fifo), method(strict)) else { continue };
            sentences.push(format!(
                "{}, {role}: the bound of fifo, {} us, is below that of strict, {} us. The two bounds are proven by different methods: {by_queue}; {by_priority}.",
                at(fifo),
                short(own),
                short(other)
            ));
            break;
        }
    }
    sentences.truncate(SENTENCES_MAX);
    sentences
}
