//! Which stage hides what ways to share a card differ by: where rows differ before the radio, and what a user sees of it.

use std::collections::BTreeMap;

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::scenario::Law;
use ranlab_campaign::stats::Estimate;
use ranlab_campaign::value::Value;

use super::super::answer::SEGMENTS;
use super::{mean, setting};

/// The axis of the published rows.
const ROW: &str = "net.row";
/// What a user sees of the network, in ms, and what of it is there before the radio.
const SEEN: [&str; 2] = ["jitter_ms_median", "rtt_ms"];
/// Steps of a base station that come at most so often: what arrives within one leaves together.
const TTI_US: f64 = 1000.0;

/// A row and its points.
type Row<'a> = (String, Vec<&'a PointResult>);

/// A sentence for each row against the first, and for each two that an expectation compares, over all their points: at which
/// stage packets take longer, by how much, how much of it reaches the user, and what hides it if nothing does.
pub(super) fn sentences(results: &Results) -> Vec<String> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for point in results.points.iter().filter(|point| mean(point, "user.at_air_us").is_some()) {
        let Some(row) = setting(point, ROW).and_then(Value::text) else { continue };
        match rows.iter_mut().find(|(name, _)| name == row) {
            Some((_, points)) => points.push(point),
            None => rows.push((row.to_owned(), vec![point])),
        }
    }
    let of = |name: &str| rows.iter().find(|(own, _)| own == name).map(|(_, points)| points.as_slice());
    let told = |(row, base): &(String, String)| {
        let (points, first) = of(row).zip(of(base))?;
        sentence(results, (row, points), (base, first))
    };
    pairs(results, &rows).iter().filter_map(told).collect()
}

/// Which rows are told against which.
fn pairs(results: &Results, rows: &[Row<'_>]) -> Vec<(String, String)> {
    let Some(((base, _), others)) = rows.split_first() else { return Vec::new() };
    let mut pairs: Vec<(String, String)> =
        others.iter().map(|(row, _)| (row.clone(), base.clone())).collect();
    let row_of = |values: &BTreeMap<String, Value>| values.get(ROW).and_then(Value::text).map(str::to_owned);
    for expect in &results.scenario.expects {
        let Law::Ratio { against, .. } = &expect.law else { continue };
        let pair = row_of(&expect.filter).zip(row_of(against));
        if let Some(pair) = pair.filter(|pair| pair.0 != pair.1 && !pairs.contains(pair)) {
            pairs.push(pair);
        }
    }
    pairs
}

/// What two rows differ by, and where; `None` where nothing was measured.
fn sentence(
    results: &Results,
    (row, points): (&str, &[&PointResult]),
    (base, first): (&str, &[&PointResult]),
) -> Option<String> {
    let over = |points: &[&PointResult], metric: &str| {
        let values: Vec<f64> = points.iter().filter_map(|point| mean(point, metric)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let wires = SEGMENTS.iter().filter(|segment| **segment != "air");
    let more = wires.filter_map(|segment| {
        let metric = format!("user.at_{segment}_us");
        Some((over(points, &metric)? - over(first, &metric)?, *segment))
    });
    let more: Vec<(f64, &str)> = more.collect();
    let all: f64 = more.iter().map(|(us, _)| us).sum();
    let (most, segment) = more.into_iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    let (metric, seen_ms) =
        SEEN.iter().find_map(|metric| Some((metric, over(points, metric)? - over(first, metric)?)))?;
    let estimate = |points: &[&PointResult]| {
        let all: Option<Vec<_>> = points.iter().map(|point| results.estimate(point, metric)).collect();
        all.filter(|all| !all.is_empty()).map(|all| Estimate::mean(&all))
    };
    let change = estimate(points).zip(estimate(first)).map(|(row, base)| row.minus(base));
    let interval = change.and_then(|change| change.interval(results.scenario.measure.confidence));
    let shows = interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    let moves = format!("{metric} moves by {} ms", short(round(seen_ms)));
    let tail = if shows {
        format!("{moves}, more than repeats of one setting differ by")
    } else if all.abs() < TTI_US {
        format!(
            "{moves}, and may not at all: the radio hides it, whose blocks leave each {} us and take packets \
             together that come within",
            short(TTI_US)
        )
    } else {
        format!("{moves}: nothing shown")
    };
    Some(format!(
        "{row} against {base}: before the radio a user's packet takes {} us {}, most of it at {} ({} us); {tail}.",
        short(round(all.abs())),
        if all < 0.0 { "less" } else { "more" },
        segment.replace('_', " "),
        short(round(most)),
    ))
}

/// Three digits behind the point are more than is known.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
