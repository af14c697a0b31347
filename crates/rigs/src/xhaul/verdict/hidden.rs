//! Which stage hides what ways to share a card differ by: where rows differ before the radio, and what a user sees of it.

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
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

/// A sentence for each row but the first, over all its points: at which stage its packets take longer, by how much, how much
/// of it reaches the user, and what hides it if nothing does.
pub(super) fn sentences(results: &Results) -> Vec<String> {
    let mut rows: Vec<(String, Vec<&PointResult>)> = Vec::new();
    for point in results.points.iter().filter(|point| mean(point, "user.at_air_us").is_some()) {
        let Some(row) = setting(point, ROW).and_then(Value::text) else { continue };
        match rows.iter_mut().find(|(name, _)| name == row) {
            Some((_, points)) => points.push(point),
            None => rows.push((row.to_owned(), vec![point])),
        }
    }
    let Some(((base, first), others)) = rows.split_first() else { return Vec::new() };
    let over = |points: &[&PointResult], metric: &str| {
        let values: Vec<f64> = points.iter().filter_map(|point| mean(point, metric)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let mut sentences = Vec::new();
    for (row, points) in others {
        let wires = SEGMENTS.iter().filter(|segment| **segment != "air");
        let more = wires.filter_map(|segment| {
            let metric = format!("user.at_{segment}_us");
            Some((over(points, &metric)? - over(first, &metric)?, *segment))
        });
        let more: Vec<(f64, &str)> = more.collect();
        let all: f64 = more.iter().map(|(us, _)| us).sum();
        let Some((most, segment)) = more.into_iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())) else {
            continue;
        };
        let told =
            SEEN.iter().find_map(|metric| Some((metric, over(points, metric)? - over(first, metric)?)));
        let Some((metric, seen_ms)) = told else { continue };
        let estimate = |points: &[&PointResult]| {
            let all: Option<Vec<_>> = points.iter().map(|point| results.estimate(point, metric)).collect();
            all.filter(|all| !all.is_empty()).map(|all| Estimate::mean(&all))
        };
        let change = estimate(points).zip(estimate(first)).map(|(row, base)| row.minus(base));
        let interval = change.and_then(|change| change.interval(results.scenario.measure.confidence));
        let shows = interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        let tail = if shows {
            format!(
                "{metric} moves by {} ms, more than repeats of one setting differ by",
                short(round(seen_ms))
            )
        } else if all.abs() < TTI_US {
            format!(
                "{metric} moves by {} ms, and may not at all: the radio hides it, whose blocks leave \
                 each {} us and take packets together that come within",
                short(round(seen_ms)),
                short(TTI_US)
            )
        } else {
            format!("{metric} moves by {} ms: nothing shown", short(round(seen_ms)))
        };
        sentences.push(format!(
            "{row} against {base}: before the radio a user's packet takes {} us more, most of it at {} ({} us); {tail}.",
            short(round(all)),
            segment.replace('_', " "),
            short(round(most)),
        ));
    }
    sentences
}

/// Three digits behind the point are more than is known.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
