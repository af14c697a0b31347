//! Verdict for each flow of a user-defined network.

use std::time::Duration;

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::Run;
use ranlab_xhaul::{Curves, bounds};

use super::budgets::simplest;
use super::most;
use crate::rig::budget::class_of;
use crate::rig::{Planned, planned};

/// Maximum number of flows that are described. Flows that miss their budget or lose frames are listed first.
const FLOWS_MAX: usize = 80;

/// Returns the sentences. `None` if the results are not of a user-defined network.
pub(super) fn sentences(results: &Results) -> Option<Vec<String>> {
    let names = results.metric_names();
    let mut flows: Vec<&str> = names
        .iter()
        .filter_map(|name| name.strip_prefix("flow.")?.split_once('.'))
        .map(|(flow, _)| flow)
        .collect();
    flows.dedup();
    if flows.is_empty() {
        return None;
    }
    let mut sentences = Vec::new();
    let mut each: Vec<(bool, String)> = Vec::new();
    for point in &results.points {
        sentences.extend(summary(point));
        each.extend(flows.iter().filter_map(|flow| verdict(point, flow)));
    }
    let fine = |point: &PointResult| {
        let zero = |name: &str| most(point, name).map(|count| count <= 0.0);
        Some(zero("network.missed")? && zero("network.lost").unwrap_or(true))
    };
    sentences.extend(simplest(results, &fine));
    each.sort_by_key(|(fine, _)| *fine);
    let more = each.len().saturating_sub(FLOWS_MAX);
    sentences.extend(each.into_iter().take(FLOWS_MAX).map(|(_, sentence)| sentence));
    if more > 0 {
        sentences.push(format!(
            "The table of points has {more} more flows, which are not worse than the flows above."
        ));
    }
    Some(sentences)
}

/// Returns the summary of a point, and the reason if the point has no bounds.
fn summary(point: &PointResult) -> Vec<String> {
    let Some(flows) = most(point, "network.flows") else { return Vec::new() };
    let missed = most(point, "network.missed").unwrap_or(0.0);
    let lost = most(point, "network.lost").unwrap_or(0.0);
    let label =
        if point.point.axes.is_empty() { "As set".to_owned() } else { format!("At {}", point.point.label()) };
    let mut sentences = vec![format!(
        "{label}: {} of {} flows meet their budgets; {} frames are lost.",
        short(flows - missed),
        short(flows),
        short(lost)
    )];
    let run = Run::new(&point.point, 0, 0, Duration::ZERO);
    if let Ok(Planned::Own(_, plan, _)) = planned(&run)
        && let Err(why) = bounds(&plan.network, Curves::Steps)
    {
        sentences.push(format!("{label}: no bound: {why}."));
    }
    sentences
}

/// Returns whether a flow meets its limits at a point, and its verdict.
fn verdict(point: &PointResult, flow: &str) -> Option<(bool, String)> {
    let number = |name: &str| most(point, &format!("flow.{flow}.{name}"));
    let least = point.values(&format!("flow.{flow}.delay_us_min")).into_iter().reduce(f64::min);
    let bound = number("bound_us");
    let longest = number("delay_us_max");
    let worst = longest.or(bound)?;
    let mut words = Vec::new();
    match (longest, least) {
        (Some(longest), Some(least)) => {
            words.push(format!(
                "its delay is {} to {} us, jitter {} us",
                short(longest),
                short(least),
                short(longest - least)
            ));
        }
        (Some(longest), None) => words.push(format!("its delay is at most {} us", short(longest))),
        _ => {}
    }
    words.extend(bound.map(|bound| format!("proven: never above {} us", short(bound))));
    let budget = number("budget_us");
    let early = number("window_early").unwrap_or(0.0);
    let late = number("window_late").unwrap_or(0.0);
    let lost = number("lost").unwrap_or(0.0);
    if number("window_early").is_some() {
        let percent = |share: f64| short((share * 100_000.0).round() / 1000.0);
        let on_time = 1.0 - early - late;
        words.push(format!(
            "{} % early, {} % on time, {} % late in its receive window",
            percent(early),
            percent(on_time),
            percent(late)
        ));
    } else if let Some(budget) = budget {
        let verb = if worst <= budget { "meets" } else { "misses" };
        words.push(format!("{verb} its budget of {} us ({})", short(budget), class_of(budget)));
    }
    let sent = number("sent").map_or_else(String::new, |sent| format!(" of {}", short(sent)));
    if lost > 0.0 {
        words.push(format!("{}{sent} frames are lost", short(lost)));
    } else if let Some(duplicates) = number("duplicates") {
        words.push(format!("no frame is lost, {} duplicates are discarded", short(duplicates)));
    }
    let at = if point.point.axes.is_empty() { String::new() } else { format!(" at {}", point.point.label()) };
    let fine = lost <= 0.0 && early <= 0.0 && budget.is_none_or(|budget| worst <= budget);
    Some((fine, format!("flow {flow}{at}: {}.", words.join("; "))))
}
