//! Throughput over concurrency, with the fitted scaling law and its numbers.

use crate::expect::short;
use crate::export::{Column, Table};
use crate::results::Results;
use crate::scenario::Plot;
use crate::stats::summarise;
use crate::usl::{self, UslFit, UslFlag};

use super::figure::{Figure, Form, Sample, Series};
use super::pooled::{Group, marks, pool};

/// Points of a drawn curve.
const CURVE_STEPS: u32 = 100;

pub(super) fn scaling(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    let confidence = results.scenario.measure.confidence;
    let mut rows = Vec::new();
    for (color, (name, points)) in groups.iter().enumerate() {
        let pooled = pool(results, figure, plot, points);
        let raw: Vec<(f64, f64)> =
            pooled.iter().flat_map(|(x, values)| values.iter().map(|y| (*x, *y))).collect();
        let sample = |(x, values): &(f64, Vec<f64>)| {
            let summary = summarise(values, confidence)?;
            let (low, high) = summary.interval();
            Some(Sample { x: *x, y: summary.mean, low, high, ends: (low, high) })
        };
        let samples: Vec<Sample> = pooled.iter().filter_map(sample).collect();
        figure.series.push(Series { name: name.clone(), color, form: Form::Whiskers, samples });
        match usl::fit(&raw, confidence, None) {
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
        "Lines: the scaling law X(n) = λn / (1 + σ(n-1) + κn(n-1)) fitted to all repeats; its intervals hold together."
    } else {
        "No scaling law can be fitted to so few points."
    });
    marks(results, plot, groups, figure);
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
    let of =
        |value: f64, (low, high): (f64, f64)| format!("{} ({} to {})", short(value), short(low), short(high));
    let doubts: Vec<String> = fit.flags.iter().map(UslFlag::sentence).collect();
    vec![
        name.to_owned(),
        of(fit.usl.lambda, fit.lambda),
        of(fit.usl.sigma, fit.sigma),
        of(fit.usl.kappa, fit.kappa),
        fit.n_max.map_or_else(|| "no peak".to_owned(), |n_max| format!("{n_max:.1}")),
        short(fit.r_squared),
        doubts.join("; "),
    ]
}
