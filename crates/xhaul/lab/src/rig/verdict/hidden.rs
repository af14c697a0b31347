//! Compares delays before the radio with those that a user observes. Shows where the radio hides differences between sharing mechanisms.

use std::collections::BTreeMap;

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::scenario::Law;
use ranlab_campaign::stats::Number;
use ranlab_campaign::value::Value;

use super::super::predictions::SEGMENTS;
use super::{mean, setting};

/// Axis of the published testbed rows.
const ROW: &str = "net.testbed";
/// Metrics that a user observes, in ms.
const SEEN: [&str; 2] = ["jitter_ms_median", "rtt_ms"];
/// Interval of a base station's transmissions: packets that arrive within one interval leave together.
const TTI_US: f64 = 1000.0;

/// Relative change that counts as no change. It is one fourth of the smallest difference between the published rows, which is 0.2 ms of 1
/// ms.
const MARGIN: f64 = 0.05;

/// Name of a row, and its points.
type Row<'a> = (String, Vec<&'a PointResult>);

/// Returns a sentence for each row compared with the first row, and for each pair of rows in an expectation. A sentence covers all points
/// of the two rows. It names the stages that add delay, the amount, the part that the user observes, and the cause that hides the
/// difference.
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
    let sentence_of = |(row, base): &(String, String)| {
        let (points, first) = of(row).zip(of(base))?;
        sentence(results, row, points, base, first)
    };
    pairs(results, &rows).iter().filter_map(sentence_of).collect()
}

/// Returns the pairs of rows to compare.
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

/// Describes the difference between two rows by stage. Returns `None` without measurements.
fn sentence(
    results: &Results,
    row: &str,
    points: &[&PointResult],
    base: &str,
    first: &[&PointResult],
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
    let number = |points: &[&PointResult]| {
        let all: Option<Vec<_>> = points.iter().map(|point| results.number(point, metric)).collect();
        all.filter(|all| !all.is_empty()).map(|all| Number::mean(&all))
    };
    let (own, other) = number(points).zip(number(first))?;
    let interval = own.minus(&other).estimate.interval(results.scenario.measure.confidence);
    let tail = tail((metric, seen_ms), interval, MARGIN * other.estimate.value.abs(), all);
    Some(format!(
        "{row} against {base}: before the radio a user's packet takes {} us {}, most of it at {} ({} us); {tail}.",
        short(round(all.abs())),
        if all < 0.0 { "less" } else { "more" },
        segment.replace('_', " "),
        short(round(most)),
    ))
}

/// Describes which part of the difference before the radio the user observes, and what hides the other part. `ms` is the observed change
/// with its interval. A change up to `margin` counts as none.
fn tail((metric, ms): (&str, f64), interval: Option<(f64, f64)>, margin: f64, before_us: f64) -> String {
    let moves = format!("{metric} moves by {} ms", short(round(ms)));
    let within = interval.filter(|(low, high)| *low > -margin && *high < margin);
    let none = match (interval, within) {
        (_, Some((low, high))) => format!(
            "{moves} ({} to {}), less than the {} % that are called a difference here",
            short(round(low)),
            short(round(high)),
            short(MARGIN * 100.0)
        ),
        (Some((low, high)), None) if low > 0.0 || high < 0.0 => {
            return format!("{moves}, more than repeats of one setting differ by");
        }
        _ => format!("{moves}, and may not at all"),
    };
    if before_us.abs() >= TTI_US {
        return format!("{none}: nothing shown");
    }
    format!(
        "{none}: the radio hides it, whose blocks leave each {} us and take packets together that come within",
        short(TTI_US)
    )
}

/// Rounds to three decimals, which matches the accuracy.
fn round(value: f64) -> f64 {
    // Avoids negative zero.
    (value * 1000.0).round() / 1000.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn radio_hides_small_changes_and_large_changes_are_shown() {
        let tail_of = |interval, us| tail(("rtt_ms", 0.02), interval, 0.05, us);
        let none = tail_of(Some((-0.01, 0.03)), 9.0);
        assert!(none.starts_with("rtt_ms moves by 0.02 ms (-0.01 to 0.03), less than the 5 %"), "{none}");
        assert!(none.contains("the radio hides it"), "{none}");
        // The change differs significantly from 0, but is too small to count.
        assert!(tail_of(Some((0.01, 0.03)), 9.0).contains("less than the 5 %"));
        assert!(tail_of(Some((0.01, 0.09)), 9.0).ends_with("more than repeats of one setting differ by"));
        assert!(tail_of(Some((-0.01, 0.09)), 9.0).contains("may not at all: the radio hides it"));
        assert!(tail_of(None, 9.0).contains("may not at all"));
        assert!(tail_of(Some((-0.01, 0.09)), 2000.0).ends_with("may not at all: nothing shown"));
    }
}
