//! What a figure shows, apart from how it is drawn.

use std::collections::BTreeMap;

use crate::expect::{short, with_interval};
use crate::export::{Column, Table};
use crate::results::{PointResult, Results};
use crate::scaling::growth;
use crate::scenario::{Law, Plot, PlotKind};
use crate::stats::{quartiles, summarise};
use crate::value::Value;

use super::{contour, law};

/// The most series of a figure; more cannot be told apart. The rest is left out and said.
const SERIES_MAX: usize = 8;
/// The most samples of a drawn line; longer ones are thinned evenly.
const LINE_SAMPLES_MAX: usize = 2_000;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Above it.
    pub title: String,
    /// Below it: what a reader must know.
    pub caption: String,
    /// Across.
    pub x: Across,
    /// Label with the unit.
    pub x_label: String,
    /// Label with the unit.
    pub y_label: String,
    /// Logarithmic upwards.
    pub log_y: bool,
    /// What is shown.
    pub series: Vec<Series>,
    /// A paper's values.
    pub marks: Vec<Mark>,
    /// Numbers that belong to the figure and are read better in a table.
    pub table: Table,
}

/// What lies across.
#[derive(Debug, Clone, PartialEq)]
pub enum Across {
    /// Numbers.
    Numbers {
        /// Logarithmic.
        log: bool,
    },
    /// Names, each at its index.
    Names(Vec<String>),
}

/// Samples that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// How it is drawn.
    pub form: Form,
    /// Which colour; series of one colour share an entry in the legend.
    pub color: usize,
    /// In the order of x.
    pub samples: Vec<Sample>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line through means in a band.
    Band,
    /// Points with whiskers.
    Whiskers,
    /// A plain line.
    Line,
    /// Steps upwards.
    Steps,
    /// Bars with whiskers.
    Bars,
    /// Boxes from quartile to quartile.
    Boxes,
    /// Cells of a heat map: `y` is the row's index, `value` the colour.
    Cells,
    /// A line of equal value: neither axis begins at 0 for it.
    Contour,
    /// Faint points: where it was measured.
    Dots,
}

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Across: number or index of the name.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Lower end of the interval; of a box, the first quartile.
    pub low: f64,
    /// Upper end of the interval; of a box, the third quartile.
    pub high: f64,
    /// Whiskers of a box; the colour's value of a cell, twice.
    pub ends: (f64, f64),
}

/// A paper's value.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Across.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Colour of the series that it belongs to; `None`: of all or none.
    pub color: Option<usize>,
}

impl Figure {
    /// What is drawn, as numbers: series, place across (a name's own text), value, interval; the paper's values last.
    pub fn drawn(&self) -> Table {
        // Series, x, y, and the interval of y.
        type Row = (String, f64, f64, Option<(f64, f64)>);
        let mut rows: Vec<Row> = Vec::new();
        for series in &self.series {
            let name = series.name.lines().next().unwrap_or_default();
            let ranged =
                !matches!(series.form, Form::Line | Form::Steps | Form::Contour | Form::Dots | Form::Cells);
            for s in &series.samples {
                let y = if series.form == Form::Cells { s.ends.0 } else { s.y };
                let row =
                    series.name.lines().nth(1 + s.y.max(0.0) as usize).filter(|_| series.form == Form::Cells);
                let name = row.map_or_else(|| name.to_owned(), |row| format!("{name} at {row}"));
                rows.push((name, s.x, y, ranged.then_some((s.low, s.high))));
            }
        }
        rows.extend(self.marks.iter().map(|mark| ("paper".to_owned(), mark.x, mark.y, None)));
        let x = match &self.x {
            Across::Numbers { .. } => Column::Float(rows.iter().map(|row| Some(row.1)).collect()),
            Across::Names(names) => {
                Column::Text(rows.iter().map(|row| names.get(row.1 as usize).cloned()).collect())
            }
        };
        let float = |of: fn(&Row) -> Option<f64>| Column::Float(rows.iter().map(of).collect());
        Table {
            columns: vec![
                ("series".to_owned(), Column::Text(rows.iter().map(|row| Some(row.0.clone())).collect())),
                (self.x_label.clone(), x),
                (self.y_label.clone(), float(|row| Some(row.2))),
                ("low".to_owned(), float(|row| row.3.map(|range| range.0))),
                ("high".to_owned(), float(|row| row.3.map(|range| range.1))),
            ],
        }
    }
}

/// Every figure of the scenario; one over the first axis if it asks for none.
pub fn figures(results: &Results) -> Vec<Figure> {
    let mut plots = results.scenario.plots.clone();
    if plots.is_empty() {
        plots.extend(default_plot(results));
    }
    plots.iter().map(|plot| build(results, plot)).collect()
}

fn default_plot(results: &Results) -> Option<Plot> {
    let x = results.points.first()?.point.axes.first().map(|(path, _)| path.clone())?;
    let measured = results.metric_names();
    let names = results.metrics.iter().flat_map(|metric| {
        let names = metric.names();
        // Of a distribution the tail says most.
        names.iter().find(|name| name.ends_with("_p99")).or_else(|| names.first()).cloned()
    });
    let y = names.into_iter().find(|name| measured.contains(name))?;
    let numeric = results.points.iter().all(|point| number(point, &x).is_some());
    let kind = if numeric { PlotKind::Lines } else { PlotKind::Bars };
    let (group_by, z, levels, filter) = (None, None, Vec::new(), BTreeMap::new());
    Some(Plot { title: String::new(), kind, x, y, group_by, z, levels, log: String::new(), filter })
}

fn build(results: &Results, plot: &Plot) -> Figure {
    let mut figure = Figure {
        title: if plot.title.is_empty() { default_title(plot) } else { plot.title.clone() },
        caption: String::new(),
        x: Across::Numbers { log: plot.log.contains('x') },
        x_label: axis_label(results, &plot.x, false),
        y_label: label(results, &plot.y),
        log_y: plot.log.contains('y'),
        series: Vec::new(),
        marks: Vec::new(),
        table: Table::default(),
    };
    let groups = groups(results, plot);
    if groups.len() > SERIES_MAX {
        figure.caption = format!("Only {SERIES_MAX} of {} series are shown. ", groups.len());
    }
    let groups = &groups[..groups.len().min(SERIES_MAX)];
    match plot.kind {
        PlotKind::Heat => heat(results, plot, &mut figure),
        PlotKind::Cdf => cdf(plot, groups, &mut figure),
        PlotKind::Series => over_time(plot, groups, &mut figure),
        PlotKind::Usl => law::scaling(results, plot, groups, &mut figure),
        PlotKind::Iso => contour::iso(results, plot, &mut figure),
        PlotKind::Lines | PlotKind::Points | PlotKind::Bars | PlotKind::Box => {
            means(results, plot, groups, &mut figure)
        }
    }
    let shown =
        plot.z.as_ref().filter(|_| matches!(plot.kind, PlotKind::Heat | PlotKind::Iso)).unwrap_or(&plot.y);
    if let Some(metric) = results.metric(shown) {
        figure.caption.push_str(&format!(" {}: {}.", metric.name, metric.comment));
    }
    if figure.series.iter().all(|series| series.samples.is_empty()) {
        figure.caption.push_str(" Nothing to show: no point of this figure has been measured. ");
    }
    figure
}

fn default_title(plot: &Plot) -> String {
    match (&plot.kind, &plot.z) {
        (PlotKind::Heat | PlotKind::Iso, Some(z)) => format!("{z} over {} and {}", plot.x, plot.y),
        (PlotKind::Cdf, _) => format!("Distribution of {}", plot.y),
        (PlotKind::Series, _) => format!("{} over time", plot.y),
        _ => format!("{} over {}", plot.y, plot.x),
    }
}

pub(super) fn label(results: &Results, name: &str) -> String {
    match results.unit(name) {
        "" => name.to_owned(),
        unit => format!("{name} [{unit}]"),
    }
}

/// The same of what is swept, in the rig's words; drawn by name, a length of time brings its unit itself.
pub(super) fn axis_label(results: &Results, name: &str, named: bool) -> String {
    let Some(axis) = results.scenario.sweep.axes.iter().find(|axis| axis.path == name) else {
        return label(results, name);
    };
    let span = axis.values.iter().all(|value| matches!(value, Value::Span(_)));
    let unit = if span && !named { "s" } else { &axis.unit };
    if unit.is_empty() { axis.words() } else { format!("{} [{unit}]", axis.words()) }
}

pub(super) type Group<'a> = (String, Vec<&'a PointResult>);

fn groups<'a>(results: &'a Results, plot: &'a Plot) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for point in results.matching(&plot.filter) {
        let name = match &plot.group_by {
            Some(path) => {
                let value = point.point.settings.get(path).map_or_else(|| "-".to_owned(), Value::to_string);
                format!("{path} = {value}")
            }
            None => plot.y.clone(),
        };
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

/// Names across if any point has no number there.
fn across(results: &Results, plot: &Plot, figure: &mut Figure) {
    let by_name = matches!(plot.kind, PlotKind::Bars | PlotKind::Box)
        || results
            .matching(&plot.filter)
            .any(|point| point.point.settings.contains_key(&plot.x) && number(point, &plot.x).is_none());
    if by_name {
        figure.x = Across::Names(names(results, plot, &plot.x));
        figure.x_label = axis_label(results, &plot.x, true);
    }
}

fn names(results: &Results, plot: &Plot, path: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for point in results.matching(&plot.filter) {
        let name = name_at(point, path);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn name_at(point: &PointResult, path: &str) -> String {
    point
        .point
        .settings
        .get(path)
        .map_or_else(|| number(point, path).map_or_else(String::new, short), Value::to_string)
}

fn place(figure: &Figure, point: &PointResult, path: &str) -> Option<f64> {
    match &figure.x {
        Across::Numbers { .. } => number(point, path),
        Across::Names(names) => {
            let name = name_at(point, path);
            names.iter().position(|own| *own == name).map(|index| index as f64)
        }
    }
}

fn means(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    across(results, plot, figure);
    let confidence = results.scenario.measure.confidence;
    let form = match plot.kind {
        PlotKind::Bars => Form::Bars,
        PlotKind::Box => Form::Boxes,
        PlotKind::Points => Form::Whiskers,
        _ if matches!(figure.x, Across::Names(_)) => Form::Whiskers,
        _ => Form::Band,
    };
    let mut pools = false;
    for (color, (name, points)) in groups.iter().enumerate() {
        let sample = |(x, values): &(f64, Vec<f64>)| {
            let x = *x;
            if form == Form::Boxes {
                let [min, low, y, high, max] = quartiles(values)?;
                return Some(Sample { x, y, low, high, ends: (min, max) });
            }
            let summary = summarise(values, confidence)?;
            let (low, high) = summary.interval();
            Some(Sample { x, y: summary.mean, low, high, ends: (low, high) })
        };
        let (pooled, several) = pool(figure, plot, points);
        pools |= several;
        let mut samples: Vec<Sample> = pooled.iter().filter_map(sample).collect();
        samples.sort_by(|a, b| a.x.total_cmp(&b.x));
        figure.series.push(Series { name: name.clone(), color, form, samples });
    }
    let what = match form {
        Form::Boxes => "Boxes: quartiles over repeats; whiskers: smallest and largest.".to_owned(),
        Form::Band => format!("Band: {} % interval of the mean over repeats.", short(confidence * 100.0)),
        _ => format!("Whiskers: {} % interval of the mean over repeats.", short(confidence * 100.0)),
    };
    figure.caption.push_str(&what);
    if pools {
        figure.caption.push_str(" Points that differ only in what is not shown here are taken together.");
    }
    if plot.kind == PlotKind::Lines {
        figure.table = growths(plot, groups, figure);
    }
    marks(results, plot, groups, figure);
}

/// How each series grows: the exponent of a power law through its points, where x is a number.
fn growths(plot: &Plot, groups: &[Group<'_>], figure: &Figure) -> Table {
    let (mut names, mut exponents) = (Vec::new(), Vec::new());
    if !matches!(figure.x, Across::Numbers { .. }) {
        return Table::default();
    }
    for (name, points) in groups {
        let (pooled, _) = pool(figure, plot, points);
        let samples: Vec<(f64, f64)> =
            pooled.iter().flat_map(|(x, values)| values.iter().map(|y| (*x, *y))).collect();
        // Two loads always lie on a power law.
        if pooled.iter().filter(|(x, values)| *x > 0.0 && !values.is_empty()).count() < 3 {
            continue;
        }
        if let Some(growth) = growth(&samples, 0.95) {
            names.push(Some(name.clone()));
            exponents.push(Some(with_interval(growth.exponent, growth.half_width)));
        }
    }
    if names.is_empty() {
        return Table::default();
    }
    let exponent = format!("growth: exponent e of {} ∝ {}^e", plot.y, plot.x);
    Table { columns: vec![("series".to_owned(), Column::Text(names)), (exponent, Column::Text(exponents))] }
}

/// Values over repeats by place across, and whether several points share a place.
pub(super) fn pool(figure: &Figure, plot: &Plot, points: &[&PointResult]) -> (Vec<(f64, Vec<f64>)>, bool) {
    let (mut pooled, mut several): (Vec<(f64, Vec<f64>)>, bool) = (Vec::new(), false);
    for point in points {
        let Some(x) = place(figure, point, &plot.x) else { continue };
        let values = point.values(&plot.y);
        match pooled.iter_mut().find(|(own, _)| *own == x) {
            Some((_, own)) => {
                own.extend(values);
                several = true;
            }
            None => pooled.push((x, values)),
        }
    }
    (pooled, several)
}

/// A paper's values for this metric at points of this figure.
pub(super) fn marks(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    for expect in results.scenario.expects.iter().filter(|expect| expect.metric == plot.y) {
        let Law::Value { value, .. } = expect.law else { continue };
        let mut places: Vec<(f64, Option<usize>)> = Vec::new();
        for (color, (_, points)) in groups.iter().enumerate() {
            for point in points.iter().filter(|point| point.point.matches(&expect.filter)) {
                let Some(x) = place(figure, point, &plot.x) else { continue };
                match places.iter_mut().find(|(own, _)| *own == x) {
                    // A value that several series share has the colour of none.
                    Some((_, own)) if *own != Some(color) => *own = None,
                    Some(_) => {}
                    None => places.push((x, Some(color))),
                }
            }
        }
        figure.marks.extend(places.into_iter().map(|(x, color)| Mark { x, y: value, color }));
    }
}

fn heat(results: &Results, plot: &Plot, figure: &mut Figure) {
    let Some(z) = &plot.z else { return };
    let (columns, rows) = (names(results, plot, &plot.x), names(results, plot, &plot.y));
    // Points that share a cell are taken together.
    let mut cells: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for point in results.matching(&plot.filter) {
        let value = point.summary(z, 0.95).map(|summary| summary.mean);
        let column = columns.iter().position(|own| *own == name_at(point, &plot.x));
        let row = rows.iter().position(|own| *own == name_at(point, &plot.y));
        if let (Some(value), Some(column), Some(row)) = (value, column, row) {
            let (sum, count) = cells.entry((column, row)).or_default();
            (*sum, *count) = (*sum + value, *count + 1.0);
        }
    }
    let sample = |((column, row), (sum, count)): ((usize, usize), (f64, f64))| {
        let (x, y, value) = (column as f64, row as f64, sum / count);
        Sample { x, y, low: y, high: y, ends: (value, value) }
    };
    let samples = cells.into_iter().map(sample).collect();
    figure.x = Across::Names(columns);
    figure.x_label = axis_label(results, &plot.x, true);
    figure.y_label = axis_label(results, &plot.y, true);
    // Rows are named by the series: its name is the colour's label, its rows follow, one a line.
    let name = std::iter::once(label(results, z)).chain(rows).collect::<Vec<_>>().join("\n");
    figure.series.push(Series { name, color: 0, form: Form::Cells, samples });
    figure.caption.push_str(&format!("Colour and number: mean of {z}."));
}

fn cdf(plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    figure.x_label = std::mem::replace(&mut figure.y_label, "share of all values".to_owned());
    figure.log_y = false;
    for (color, (name, points)) in groups.iter().enumerate() {
        let mut all = crate::record::Distribution::default();
        for distribution in points.iter().filter_map(|point| point.distribution(&plot.y)) {
            all.merge(&distribution);
        }
        let total = all.count().max(1) as f64;
        let mut seen = 0;
        let samples = all.counts.iter().map(|(value, count)| {
            seen += count;
            let y = seen as f64 / total;
            Sample { x: *value as f64, y, low: y, high: y, ends: (y, y) }
        });
        figure.series.push(Series {
            name: name.clone(),
            color,
            form: Form::Steps,
            samples: thin(samples.collect()),
        });
    }
    figure.caption.push_str("All repeats together.");
}

fn over_time(plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    figure.x_label = "time [s]".to_owned();
    for (color, (name, points)) in groups.iter().enumerate() {
        // Repeats are shown one by one only if there is a single group; a mean of different times means nothing.
        let run = points.iter().flat_map(|point| &point.runs).find(|run| run.outcome.counts());
        let samples =
            run.and_then(|run| run.recording.series.get(&plot.y)).map_or_else(Vec::new, |samples| {
                let sample = |(at, y): &(std::time::Duration, f64)| Sample {
                    x: at.as_secs_f64(),
                    y: *y,
                    low: *y,
                    high: *y,
                    ends: (*y, *y),
                };
                samples.iter().map(sample).collect()
            });
        figure.series.push(Series { name: name.clone(), color, form: Form::Line, samples: thin(samples) });
    }
    figure.caption.push_str("First repeat that counts of the first point of each series.");
}

pub(super) fn thin(samples: Vec<Sample>) -> Vec<Sample> {
    let step = samples.len().div_ceil(LINE_SAMPLES_MAX).max(1);
    let last = samples.len().saturating_sub(1);
    samples
        .into_iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at == last)
        .map(|(_, sample)| sample)
        .collect()
}
