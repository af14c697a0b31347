//! Findings of a campaign, in sentences for readers who know neither the scenario nor the published work.

use ranlab_campaign::expect::{Judged, Verdict, short};
use ranlab_campaign::results::PointResult;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Better, Metric, Outcome};
use ranlab_campaign::scenario::{Class, PlotKind};

use super::figure::whose;
use super::trials;

/// Maximum number of metrics in the findings, to fit the first screen.
const METRICS_MAX: usize = 3;
/// Maximum number of search results described in full; the table has all.
const ANSWERS_MAX: usize = 4;
/// Maximum number of published statements that are described in full on the first screen. The table has all.
const DEPARTURES_MAX: usize = 2;

/// Returns the requested results: the results of a search, and the verdicts on the expectations.
pub(super) fn answers(results: &Results, judged: &[Judged]) -> Vec<String> {
    let found = trials::answers(results);
    let more = found.len().saturating_sub(ANSWERS_MAX);
    let mut sentences: Vec<String> = found.into_iter().take(ANSWERS_MAX).collect();
    if more > 0 {
        sentences.push(format!("The table of points has the results of {more} more points."));
    }
    sentences.extend(verdicts(results, judged));
    sentences
}

/// Returns further findings, the most important first.
pub(super) fn findings(results: &Results) -> Vec<String> {
    let spoken = spoken_of(results);
    spoken.iter().filter_map(|metric| range(results, metric)).chain(noise(results)).collect()
}

/// Returns qualifications of numbers: points without results or with a broken limit, and means of one repeat.
pub(super) fn doubts(results: &Results) -> Vec<String> {
    let mut doubts = outcomes(results);
    // A stored result states the command that produced it.
    if results.kept.is_some() {
        return doubts;
    }
    let left =
        results.points.iter().filter(|point| point.runs.len() < results.scenario.measure.repeats as usize);
    let left = left.count();
    if left > 0 {
        doubts.push(format!(
            "The campaign is not finished: {left} of {} points lack repeats.",
            results.points.len()
        ));
    }
    if results.scenario.measure.repeats == 1 && !results.scenario.quick && !is_exact(results) {
        doubts.push("Each point was measured once: no number here has an interval.".to_owned());
    }
    doubts
}

/// Whether every point is computed, so that a second repeat would give the same numbers. Metrics of the machine and of
/// the speed of the computation are ignored.
fn is_exact(results: &Results) -> bool {
    let of_result = |name: &str| !name.starts_with("host.") && !name.starts_with("sim.");
    let exact = |point: &PointResult| {
        let measured = |metric: &&Metric| of_result(&metric.name) && !point.values(&metric.name).is_empty();
        let mut own = results.metrics.iter().filter(measured).peekable();
        own.peek().is_some() && own.all(|metric| metric.is_exact(&point.point.settings))
    };
    !results.points.is_empty() && results.points.iter().all(exact)
}

/// Counts the verdicts on published statements, and on the user's own expectations.
fn verdicts(results: &Results, judged: &[Judged]) -> Vec<String> {
    let work = results.scenario.paper.as_ref().map_or("", |paper| &paper.work);
    let of_class =
        |class: Class| -> Vec<&Judged> { judged.iter().filter(|row| row.class == class).collect() };
    let absolute = ", as an absolute value from other hardware may be";
    let mut sentences: Vec<String> = [
        count(&of_class(Class::Paper), &format!("published statements ({work})"), "as published", absolute),
        count(
            &of_class(Class::Tuned),
            "published statements for which a setting was chosen",
            "as published",
            absolute,
        ),
        count(&of_class(Class::Own), "expectations", "as expected", ""),
    ]
    .into_iter()
    .flatten()
    .collect();
    let of = |verdict: Verdict| judged.iter().filter(move |row| row.verdict == verdict);
    for row in of(Verdict::Fails).chain(of(Verdict::Differs)).take(DEPARTURES_MAX) {
        let unit = unit(results, &row.metric);
        sentences.push(format!(
            "{}: {} at {}: {} {}, measured {}{unit}.",
            if row.verdict == Verdict::Fails { "Fails" } else { "Differs" },
            row.metric,
            row.place,
            whose(row.class.published()),
            row.paper,
            row.ours
        ));
    }
    sentences
}

/// Counts verdicts: `Of 4 expectations: 3 as expected, 1 different.`
fn count(rows: &[&Judged], what: &str, holds: &str, differs: &str) -> Option<String> {
    let parts = [
        (Verdict::Holds, holds.to_owned()),
        (Verdict::Differs, format!("different{differs}")),
        (Verdict::Inconclusive, "not decided by this run".to_owned()),
        (Verdict::Fails, "failed, although they must hold on any machine".to_owned()),
        (Verdict::Unmeasurable, "not measurable here".to_owned()),
        (Verdict::Stale, "of a result that another version measured".to_owned()),
    ];
    let of = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let parts = parts.into_iter().filter(|(verdict, _)| of(*verdict) > 0);
    if !rows.is_empty() && of(Verdict::Holds) == rows.len() {
        return Some(format!(
            "{0} of {0} {what} {1}.",
            rows.len(),
            if rows.len() == 1 { "holds" } else { "hold" }
        ));
    }
    let counts: Vec<String> = parts.map(|(verdict, words)| format!("{} {words}", of(verdict))).collect();
    (!rows.is_empty()).then(|| format!("Of {} {what}: {}.", rows.len(), counts.join("; ")))
}

fn unit(results: &Results, metric: &str) -> String {
    match results.unit(metric) {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

/// Returns the metrics that the scenario draws, in its order.
fn spoken_of(results: &Results) -> Vec<String> {
    let measured = results.metric_names();
    let mut metrics: Vec<String> = Vec::new();
    for plot in &results.scenario.plots {
        let name = match plot.kind {
            PlotKind::Heat | PlotKind::Iso => plot.z.clone(),
            // A whole distribution or series has no single number.
            PlotKind::Cdf | PlotKind::Series | PlotKind::Areas | PlotKind::Waterfall => None,
            _ => Some(plot.y.clone()),
        };
        if let Some(name) = name.filter(|name| measured.contains(name) && !metrics.contains(name)) {
            metrics.push(name);
        }
    }
    metrics.truncate(METRICS_MAX);
    metrics
}

/// Describes the range of a metric from the worst to the best point, or its only value.
fn range(results: &Results, name: &str) -> Option<String> {
    let of = |point: &PointResult| {
        let answer = results.answer(point, name)?;
        Some((answer.value, answer.text(), point.point.label()))
    };
    let mut means: Vec<(f64, String, String)> = results.points.iter().filter_map(of).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let metric = results.metric(name)?;
    let unit = unit(results, name);
    let what = format!("{name} ({})", metric.comment);
    let (_, low, low_at) = means.first()?;
    let (_, high, high_at) = means.last()?;
    if means.len() == 1 {
        return Some(format!("{what}: {low}{unit}."));
    }
    let words = |better: Better, first: &'static str, second: &'static str| match better {
        Better::Neither => "",
        Better::Higher => first,
        Better::Lower => second,
    };
    Some(format!(
        "{what} goes from {low}{unit}{} at {low_at} to {high}{unit}{} at {high_at}.",
        words(metric.better, " (worst)", " (best)"),
        words(metric.better, " (best)", " (worst)")
    ))
}

/// States the A/A spread of the drawn metrics. A smaller difference is not a finding.
fn noise(results: &Results) -> Option<String> {
    let spreads: Vec<String> = spoken_of(results)
        .into_iter()
        .filter_map(|metric| {
            let spread = results.aa_spread(&metric)?;
            Some(format!("{} % of {metric}", short((spread * 1000.0).round() / 10.0)))
        })
        .collect();
    (!spreads.is_empty()).then(|| {
        format!(
            "Noise: repeats of one and the same setting differ by up to {} (A/A spread); no smaller difference is claimed.",
            spreads.join(", ")
        )
    })
}

/// Lists the points without numbers or with a warning, with the broken limit.
fn outcomes(results: &Results) -> Vec<String> {
    let shown = results.outcomes().into_iter().filter(|(outcome, _)| *outcome != Outcome::Ok);
    shown
        .map(|(outcome, count)| {
            let all = results.points.len();
            let what = match outcome {
                Outcome::Ok | Outcome::Degraded => {
                    "the system did less than was asked but kept working (degraded)"
                }
                Outcome::MissesBudget => "a budget is missed (misses_budget)",
                Outcome::Overloaded => "the system could not follow the load (overloaded)",
                Outcome::SutFailed => "the system failed, so there are no numbers",
                Outcome::Timeout => "the repeats did not end in time, so there are no numbers",
                Outcome::Invalid => "the measurement is invalid and its numbers are not used",
                Outcome::Unmeasurable => "nothing could be measured here",
            };
            let points = || results.points.iter().filter(|point| point.outcome() == Some(outcome));
            // In results of earlier versions, the reason may only repeat the words of the outcome.
            let first = points().find(|point| !what.contains(point.reason()));
            let differ = points().any(|point| first.is_some_and(|first| first.reason() != point.reason()));
            let why = first.map_or_else(String::new, |point| match differ {
                true => format!(
                    ": {} at {}, and at other points (see the table of points)",
                    point.reason(),
                    point.point.label()
                ),
                false => format!(": {}", point.reason()),
            });
            format!("At {count} of {all} points {what}{why}.")
        })
        .collect()
}
