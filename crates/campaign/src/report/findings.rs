//! What a campaign found, in sentences for somebody who has read neither the scenario nor the paper.

use crate::expect::{Judged, Verdict, short, with_interval};
use crate::results::{PointResult, Results};
use crate::rig::{Better, Outcome};
use crate::scenario::PlotKind;
use crate::stats::aa_spread;

/// Metrics that are spoken of; a first screen holds no more.
const METRICS_MAX: usize = 3;
/// Statements of a paper that are told in full on the first screen; the table has all.
const DEPARTURES_MAX: usize = 2;

/// Sentences, the most important first.
pub(super) fn findings(results: &Results, judged: &[Judged]) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(verdicts(results, judged));
    for metric in spoken_of(results) {
        sentences.extend(range(results, &metric));
    }
    sentences.extend(noise(results));
    sentences.extend(outcomes(results));
    sentences
}

fn verdicts(results: &Results, judged: &[Judged]) -> Vec<String> {
    let of = |verdict: Verdict| judged.iter().filter(move |judged| judged.verdict == verdict);
    if judged.is_empty() {
        return Vec::new();
    }
    let parts = [
        (Verdict::Holds, if results.scenario.paper.is_some() { "as published" } else { "as expected" }),
        (Verdict::Differs, "different (an absolute value from other hardware may be)"),
        (Verdict::Inconclusive, "not told by this run (its interval is wider than the tolerance)"),
        (Verdict::Fails, "failed, which must hold on any machine"),
        (Verdict::Unmeasurable, "not measurable here"),
    ];
    let counts: Vec<String> = parts
        .into_iter()
        .map(|(verdict, words)| (of(verdict).count(), words))
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let whose = results
        .scenario
        .paper
        .as_ref()
        .map_or_else(|| "expectations".to_owned(), |paper| format!("published statements ({})", paper.work));
    let all = judged.len();
    let mut sentences = vec![match (&results.scenario.paper, of(Verdict::Holds).count()) {
        (None, held) if held == all => format!("{held} of {all} expectations hold."),
        _ => format!("Of {all} {whose}: {}.", counts.join(", ")),
    }];
    for row in of(Verdict::Fails).chain(of(Verdict::Differs)).take(DEPARTURES_MAX) {
        let unit = unit(results, &row.metric);
        sentences.push(format!(
            "{}: {} at {}: published {}, measured {}{unit}.",
            if row.verdict == Verdict::Fails { "Fails" } else { "Differs" },
            row.metric,
            row.place,
            row.paper,
            row.ours
        ));
    }
    sentences
}

fn unit(results: &Results, metric: &str) -> String {
    match results.unit(metric) {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

/// Metrics that the scenario draws, in its order.
fn spoken_of(results: &Results) -> Vec<String> {
    let measured = results.metric_names();
    let mut metrics: Vec<String> = Vec::new();
    for plot in &results.scenario.plots {
        let name = match plot.kind {
            PlotKind::Heat | PlotKind::Iso => plot.z.clone(),
            // A whole distribution or series has no one number.
            PlotKind::Cdf | PlotKind::Series => None,
            _ => Some(plot.y.clone()),
        };
        if let Some(name) = name.filter(|name| measured.contains(name) && !metrics.contains(name)) {
            metrics.push(name);
        }
    }
    metrics.truncate(METRICS_MAX);
    metrics
}

/// From the worst to the best point, or the only value.
fn range(results: &Results, name: &str) -> Option<String> {
    let confidence = results.scenario.measure.confidence;
    let of = |point: &PointResult| {
        let summary = point.summary(name, confidence)?;
        Some((summary.mean, with_interval(summary.mean, summary.half_width), point.point.label()))
    };
    let mut means: Vec<(f64, String, String)> = results.points.iter().filter_map(of).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let metric = results.metric(name)?;
    let unit = unit(results, name);
    let what = format!("{name} ({})", metric.comment);
    let ((_, low, low_at), (_, high, high_at)) = (means.first()?, means.last()?);
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

/// Below which difference nothing is claimed.
fn noise(results: &Results) -> Option<String> {
    let spreads: Vec<String> = spoken_of(results)
        .into_iter()
        .filter_map(|metric| {
            let values: Vec<Vec<f64>> = results.points.iter().map(|point| point.values(&metric)).collect();
            let spread = aa_spread(&values, results.scenario.measure.seed)?;
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

/// Points whose numbers are missing or need a word.
fn outcomes(results: &Results) -> Vec<String> {
    let told = results.outcomes().into_iter().filter(|(outcome, _)| *outcome != Outcome::Ok);
    told.map(|(outcome, count)| {
        let all = results.points.len();
        let what = match outcome {
            Outcome::Ok => "did all that was asked",
            Outcome::Degraded => {
                "did less than was asked (losses, late replies) but kept working: marked degraded"
            }
            Outcome::Overloaded => "could not follow the load: marked overloaded",
            Outcome::SutFailed => "failed; their numbers are not used",
            Outcome::Timeout => "did not end in time; their numbers are not used",
            Outcome::Invalid => {
                "were disturbed by something outside the experiment; their numbers are not used"
            }
            Outcome::Unmeasurable => "could not be measured here",
        };
        let who = if outcome == Outcome::Invalid { "the repeats" } else { "the system" };
        format!("At {count} of {all} points {who} {what}.")
    })
    .collect()
}
