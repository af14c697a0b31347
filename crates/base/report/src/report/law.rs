//! Figures of throughput over concurrency, with the fitted scaling law and its numbers.

use serde::{Serialize, Serializer};

use ranlab_campaign::expect::short;
use ranlab_campaign::export::{Column, Table};
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::scenario::{Plot, PlotKind};
use ranlab_campaign::stats::summarise;
use ranlab_campaign::usl::{self, ERROR_MODEL, UslError, UslFit, UslFlag};

use super::figure::{Figure, Form, Sample, Series};
use super::pooled::{Group, groups, marks, number, pool};

/// Number of points of a drawn curve.
const CURVE_STEPS: u32 = 100;

/// A fitted law of a plot's series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Law {
    /// Common settings of the points; empty if the plot has one series.
    pub series: String,
    /// Metric on the vertical axis.
    pub metric: String,
    /// Setting on the horizontal axis.
    pub across: String,
    /// The law, or the reason why it cannot be fitted.
    #[serde(serialize_with = "fit_or_why")]
    pub fit: Result<UslFit, UslError>,
}

fn fit_or_why<S: Serializer>(fit: &Result<UslFit, UslError>, serializer: S) -> Result<S::Ok, S::Error> {
    match fit {
        Ok(fit) => fit.serialize(serializer),
        Err(error) => serializer.collect_map([("error", error.to_string())]),
    }
}

impl Law {
    /// Describes the fit in a sentence.
    pub fn sentence(&self) -> String {
        let name = if self.series.is_empty() { String::new() } else { format!(" of {}", self.series) };
        let subject = format!("scaling law of {} over {}{name}", self.metric, self.across);
        match &self.fit {
            Err(error) => format!("{subject}: no law can be fitted, because {error}"),
            Ok(fit) => {
                let doubts: String = fit.flags.iter().map(|flag| format!("; {}", flag.sentence())).collect();
                format!(
                    "{subject}: lambda {}, sigma {}, kappa {} (simultaneous {} % intervals); best {}: {}; R² {}; {}{doubts}",
                    with_interval(fit.usl.lambda, fit.lambda),
                    with_interval(fit.usl.sigma, fit.sigma),
                    with_interval(fit.usl.kappa, fit.kappa),
                    short(fit.confidence * 100.0),
                    self.across,
                    fit.peak.words(),
                    short(fit.r_squared),
                    fit.error_model
                )
            }
        }
    }
}

/// Returns the laws of all plots of type `usl`.
pub fn laws(results: &Results) -> Vec<Law> {
    let plots = results.scenario.plots.iter().filter(|plot| plot.kind == PlotKind::Usl);
    let of = |plot: &Plot| -> Vec<Law> {
        let series = groups(results, plot);
        let law = |(name, points): &Group<'_>| Law {
            series: if series.len() == 1 { String::new() } else { name.clone() },
            metric: plot.y.clone(),
            across: plot.x.clone(),
            fit: usl::fit(&every_repeat(points, plot), results.scenario.measure.confidence, None),
        };
        series.iter().map(law).collect()
    };
    plots.flat_map(of).collect()
}

/// Returns every repeat's value with its horizontal position.
fn every_repeat(points: &[&PointResult], plot: &Plot) -> Vec<(f64, f64)> {
    let of = |point: &&PointResult| -> Vec<(f64, f64)> {
        let x = number(point, &plot.x);
        point.values(&plot.y).into_iter().filter_map(|y| Some((x?, y))).collect()
    };
    points.iter().flat_map(of).collect()
}

pub(super) fn scaling(results: &Results, plot: &Plot, all: &[Group<'_>], figure: &mut Figure) {
    let confidence = results.scenario.measure.confidence;
    let mut rows = Vec::new();
    for (color, (name, points)) in all.iter().enumerate() {
        let pooled = pool(results, figure, plot, points);
        let sample = |(x, values): &(f64, Vec<f64>)| {
            let summary = summarise(values, confidence)?;
            let (low, high) = summary.interval();
            Some(Sample { x: *x, y: summary.mean, low, high, ends: (low, high) })
        };
        let samples: Vec<Sample> = pooled.iter().filter_map(sample).collect();
        figure.series.push(Series { name: name.clone(), color, form: Form::Whiskers, samples });
        match usl::fit(&every_repeat(points, plot), confidence, None) {
            Ok(fit) => {
                let samples = curve(&fit);
                figure.series.push(Series {
                    name: format!("law of {name}"),
                    color,
                    form: Form::Line,
                    samples,
                });
                rows.push(row(name, &fit));
            }
            Err(error) => rows.push(vec![name.clone(), format!("no law: {error}")]),
        }
    }
    let heading = ["series", "λ (one alone)", "σ (contention)", "κ (crosstalk)", "best n", "R²", "beware"];
    let column = |index: usize| rows.iter().map(|row| row.get(index).cloned()).collect();
    figure.table.columns = heading
        .iter()
        .enumerate()
        .map(|(index, name)| ((*name).to_owned(), Column::Text(column(index))))
        .collect();
    if rows.is_empty() {
        figure.table = Table::default();
    }
    let percent = short(confidence * 100.0);
    figure.caption.push_str(&format!("Whiskers: {percent} % interval of the mean over repeats. "));
    figure.caption.push_str(if figure.series.iter().any(|series| series.form == Form::Line) {
        "Lines: the scaling law X(n) = λn / (1 + σ(n-1) + κn(n-1)) fitted to all repeats; its intervals are simultaneous. "
    } else {
        "No scaling law can be fitted to so few points. "
    });
    figure.caption.push_str(&format!("Errors: {ERROR_MODEL}."));
    marks(results, plot, all, figure);
}

fn curve(fit: &UslFit) -> Vec<Sample> {
    let (from, to) = fit.measured;
    let at = |step: u32| {
        let x = from + (to - from) * f64::from(step) / f64::from(CURVE_STEPS);
        Sample::at(x, fit.usl.at(x))
    };
    (0..=CURVE_STEPS).map(at).collect()
}

fn row(name: &str, fit: &UslFit) -> Vec<String> {
    let doubts: Vec<String> = fit.flags.iter().map(UslFlag::sentence).collect();
    vec![
        name.to_owned(),
        with_interval(fit.usl.lambda, fit.lambda),
        with_interval(fit.usl.sigma, fit.sigma),
        with_interval(fit.usl.kappa, fit.kappa),
        fit.peak.words(),
        short(fit.r_squared),
        doubts.join("; "),
    ]
}

/// Formats a value with its interval: `0.02 (0.0199 to 0.0201)`.
fn with_interval(value: f64, (low, high): (f64, f64)) -> String {
    format!("{} ({} to {})", short(value), short(low), short(high))
}
