//! Pools the points of a figure: groups by series and by horizontal position, and common values of several points.

use std::collections::BTreeMap;

use ranlab_campaign::expect::short;
use ranlab_campaign::record::Distribution;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::MetricKind;
use ranlab_campaign::scenario::{Law, Plot};
use ranlab_campaign::value::Value;

use super::figure::{Across, Bound, Figure, Mark, whose};
use super::words::group;

/// Maximum number of lines for expected bounds in a figure.
const BOUNDS_MAX: usize = 3;
/// Maximum number of lines for limits of the metric in a figure.
const LIMITS_MAX: usize = 3;
/// Maximum ratio of a drawn limit to the drawn values. A higher limit would flatten the figure, so it is stated in
/// words.
const LIMIT_TIMES_MAX: f64 = 5.0;

pub(super) type Group<'a> = (String, Vec<&'a PointResult>);

pub(super) fn groups<'a>(results: &'a Results, plot: &'a Plot) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for point in results.matching(&plot.filter) {
        let name = plot.group_by.as_ref().map_or_else(|| plot.y.clone(), |path| group(results, path, point));
        match groups.iter_mut().find(|(own, _)| *own == name) {
            Some((_, points)) => points.push(point),
            None => groups.push((name, vec![point])),
        }
    }
    groups
}

pub(super) fn number(point: &PointResult, name: &str) -> Option<f64> {
    point
        .point
        .settings
        .get(name)
        .map_or_else(|| point.summary(name, 0.95).map(|summary| summary.mean), Value::number)
}

pub(super) fn name_at(point: &PointResult, path: &str) -> String {
    point
        .point
        .settings
        .get(path)
        .map_or_else(|| number(point, path).map_or_else(String::new, short), Value::to_string)
}

pub(super) fn place(figure: &Figure, point: &PointResult, path: &str) -> Option<f64> {
    match &figure.x {
        Across::Numbers { .. } => number(point, path),
        Across::Names(names) => {
            let name = name_at(point, path);
            names.iter().position(|own| *own == name).map(|index| index as f64)
        }
    }
}

/// Groups points by their horizontal position, ascending; points at the same position are pooled.
pub(super) fn places<'a>(
    figure: &Figure,
    plot: &Plot,
    points: &[&'a PointResult],
) -> Vec<(f64, Vec<&'a PointResult>)> {
    let mut places: Vec<(f64, Vec<&PointResult>)> = Vec::new();
    for point in points {
        let Some(x) = place(figure, point, &plot.x) else { continue };
        match places.iter_mut().find(|(own, _)| *own == x) {
            Some((_, here)) => here.push(point),
            None => places.push((x, vec![point])),
        }
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places
}

/// Returns the values of a metric over all repeats, by horizontal position.
pub(super) fn pool(
    results: &Results,
    figure: &Figure,
    plot: &Plot,
    points: &[&PointResult],
) -> Vec<(f64, Vec<f64>)> {
    places(figure, plot, points).iter().map(|(x, here)| (*x, together(results, here, &plot.y))).collect()
}

/// Splits a name such as `rtt_us_p99` into its distribution and the percentile `p99`.
pub(super) fn percentile<'a>(results: &'a Results, name: &'a str) -> Option<(&'a str, &'a str)> {
    let metric = results.metric(name).filter(|metric| metric.kind == MetricKind::Histogram)?;
    Some((&metric.name, name.strip_prefix(&metric.name)?.strip_prefix('_')?))
}

/// Returns the values of a metric over the repeats of pooled points. A percentile of several points is computed from
/// their merged distributions, repeat by repeat. It is never a mean of percentiles. The result is empty if a
/// distribution is missing.
pub(super) fn together(results: &Results, points: &[&PointResult], name: &str) -> Vec<f64> {
    if results.fingerprint(name) {
        return Vec::new();
    }
    let Some((base, suffix)) = percentile(results, name).filter(|_| points.len() > 1) else {
        return points.iter().flat_map(|point| point.values(name)).collect();
    };
    let mut merged: BTreeMap<u32, Distribution> = BTreeMap::new();
    for run in points.iter().flat_map(|point| &point.runs).filter(|run| run.outcome.counts()) {
        match run.recording.distributions.get(base) {
            Some(own) => merged.entry(run.repeat).or_default().merge(own),
            None if run.recording.metrics.contains_key(name) => return Vec::new(),
            None => {}
        }
    }
    merged.values().filter_map(|all| all.named(suffix)).collect()
}

/// Adds the expectations of the drawn metric at points of the figure: marks for single values, lines for bounds.
pub(super) fn marks(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    for expect in results.scenario.expects.iter().filter(|expect| expect.metric == plot.y) {
        let published = expect.class.published();
        let mut places: Vec<(f64, Option<usize>)> = Vec::new();
        for (color, (_, points)) in groups.iter().enumerate() {
            for point in points.iter().filter(|point| point.point.matches(&expect.filter)) {
                let Some(x) = place(figure, point, &plot.x) else { continue };
                match places.iter_mut().find(|(own, _)| *own == x) {
                    // A value that several series share has a neutral colour.
                    Some((_, own)) if *own != Some(color) => *own = None,
                    Some(_) => {}
                    None => places.push((x, Some(color))),
                }
            }
        }
        match &expect.law {
            Law::Value { value, .. } => {
                let mark = |(x, color)| Mark { x, y: *value, color, published };
                figure.marks.extend(places.into_iter().map(mark));
            }
            Law::Bounds { at_least, at_most } if !places.is_empty() => {
                for (y, sign) in [(at_least, "≥"), (at_most, "≤")] {
                    let Some(y) = *y else { continue };
                    let name = format!("{} {sign} {}", whose(published), short(y));
                    let color =
                        places[0].1.filter(|color| places.iter().all(|(_, own)| *own == Some(*color)));
                    let bound = Bound { y, color: color.filter(|_| groups.len() > 1), name };
                    if figure.bounds.len() < BOUNDS_MAX && !figure.bounds.contains(&bound) {
                        figure.bounds.push(bound);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Adds the limits of the drawn metric: as lines, or in words if they are far above the values.
pub(super) fn limits(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    let Some(limit) = results.metric(&plot.y).and_then(|metric| metric.limit.as_ref()) else { return };
    let mut found: Vec<(f64, Vec<usize>)> = Vec::new();
    for (color, (_, points)) in groups.iter().enumerate() {
        let values = points.iter().flat_map(|point| point.values(limit)).filter(|value| value.is_finite());
        for value in values {
            match found.iter_mut().find(|(own, _)| *own == value) {
                Some((_, colors)) if !colors.contains(&color) => colors.push(color),
                Some(_) => {}
                None => found.push((value, vec![color])),
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    // Reduces a name to the word without prefix and unit: `cell_dl.budget_us` becomes "budget".
    let word = limit.rsplit('.').next().unwrap_or(limit);
    let word = word.rsplit_once('_').map_or(word, |(word, _)| word);
    let drawn = figure.series.iter().flat_map(|series| &series.samples).map(|sample| sample.high);
    let most = drawn.fold(0.0, f64::max);
    let near = |value: f64| figure.log_y || value <= most * LIMIT_TIMES_MAX;
    let far: Vec<String> = found.iter().filter(|(y, _)| !near(*y)).map(|(y, _)| short(*y)).collect();
    let lines = found.iter().filter(|(y, _)| near(*y)).take(LIMITS_MAX).map(|(y, colors)| Bound {
        y: *y,
        color: (colors.len() == 1 && groups.len() > 1).then(|| colors[0]),
        name: format!("{word} {}", short(*y)),
    });
    let lines: Vec<Bound> = lines.collect();
    figure.bounds.extend(lines);
    if !far.is_empty() {
        figure.caption.push_str(&format!(" Far above the drawn range: {word} {}.", far.join(", ")));
    }
}
