//! Latency after a search: percentiles of a distribution over shares of the load that was found.

use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::scenario::{After, Search};
use ranlab_campaign::stats::summarise;

use super::figure::{Across, Figure, Form, Sample, Series};
use super::words::{capital, quantity, statistic};
use ranlab_campaign::export::Table;

/// Percentiles that are drawn, each in a separate figure.
const DRAWN: [&str; 4] = ["p50", "p75", "p99", "p999"];
/// Maximum number of points drawn together; more are not distinguishable.
const POINTS_MAX: usize = 8;

/// Returns a figure for each percentile, with a line for each point. Returns no figures without such measurements.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let load = results.scenario.search.as_ref().and_then(Search::load);
    let Some(load) = load.filter(|load| !load.after.shares.is_empty()) else { return Vec::new() };
    let with = |point: &&PointResult| {
        load.after.shares.iter().any(|share| value(point, &load.after, *share, "n").is_some())
    };
    let points: Vec<&PointResult> = results.points.iter().filter(with).collect();
    if points.is_empty() {
        return Vec::new();
    }
    DRAWN.into_iter().map(|suffix| figure(results, &points, &load.after, suffix)).collect()
}

fn value(point: &PointResult, after: &After, share: f64, suffix: &str) -> Option<f64> {
    summarise(&point.values(&format!("{}_{suffix}", after.name(share))), 0.95).map(|own| own.mean)
}

fn figure(results: &Results, points: &[&PointResult], after: &After, suffix: &str) -> Figure {
    let left_out = points.len().saturating_sub(POINTS_MAX);
    let series = points.iter().take(POINTS_MAX).enumerate().map(|(color, point)| {
        let name = if points.len() == 1 { String::new() } else { point.point.label() };
        Series { name, form: Form::Band, color, samples: samples(results, point, after, suffix) }
    });
    let series: Vec<Series> = series.collect();
    let words = results.metric(&after.metric).map_or("", |metric| metric.comment.as_str());
    let mut caption = format!(
        "{}: {words}. A full trial at each share of the load that the search at this point found.",
        after.metric
    );
    if left_out > 0 {
        caption.push_str(&format!(" {left_out} more points are not drawn; the tables have them."));
    }
    let quantity = quantity(results, &after.metric);
    let log_y =
        series.iter().flat_map(|series| &series.samples).all(|sample| sample.y > 0.0 && sample.low > 0.0);
    Figure {
        title: format!(
            "{} against the share of the load found",
            capital(&format!("{}{quantity}", statistic(suffix)))
        ),
        caption,
        missing: String::new(),
        x: Across::Numbers { log: false },
        x_label: "share of the load found (%)".to_owned(),
        y_label: format!("{}{quantity}", statistic(suffix)),
        log_y,
        zero: (true, false),
        series,
        marks: Vec::new(),
        bounds: Vec::new(),
        answer: None,
        table: Table::default(),
    }
}

fn samples(results: &Results, point: &PointResult, after: &After, suffix: &str) -> Vec<Sample> {
    let mut shares = after.shares.clone();
    shares.sort_by(f64::total_cmp);
    let confidence = results.scenario.measure.confidence;
    let of = |share: &f64| {
        let own = summarise(&point.values(&format!("{}_{suffix}", after.name(*share))), confidence)?;
        let (low, high) = own.interval();
        let low = low.max(0.0);
        Some(Sample { x: share * 100.0, y: own.mean, low, high, ends: (low, high) })
    };
    shares.iter().filter_map(of).collect()
}
