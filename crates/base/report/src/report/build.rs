//! Builds the figures of a campaign from its results.

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_campaign::answer::Answer;
use ranlab_campaign::expect::short;
use ranlab_campaign::export::{Column, Table};
use ranlab_campaign::record::Distribution;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::scaling::growth;
use ranlab_campaign::scenario::{Plot, PlotKind};
use ranlab_campaign::stats::{quartiles, summarise};
use ranlab_campaign::value::Value;

use super::figure::{Across, Figure, Form, Sample, Series};
use super::pooled::{Group, groups, limits, marks, name_at, number, percentile, places, pool, together};
use super::words::{self, label, quantity, why_nothing};
use super::{contour, latency, law, trials, waterfall};

/// Maximum number of series in a figure; more are not distinguishable. The figure states how many it omits.
const SERIES_MAX: usize = 8;
/// Maximum number of samples of a drawn line; longer lines are thinned evenly.
const LINE_SAMPLES_MAX: usize = 2_000;
/// Ends of the whiskers of a distribution's box.
const WHISKERS: (f64, f64) = (0.01, 0.99);

/// A figure and its plot; `None` for figures of a search, which show its trials.
pub(super) type Drawn = (Figure, Option<Plot>);

/// Returns every figure: first the results and trials of a search, then the figures of the scenario. A scenario without
/// plots gets one figure over the first axis.
pub fn figures(results: &Results) -> Vec<Figure> {
    drawn(results).into_iter().map(|(figure, _)| figure).collect()
}

pub(super) fn drawn(results: &Results) -> Vec<Drawn> {
    let mut plots = results.scenario.plots.clone();
    if plots.is_empty() {
        plots.extend(default_plot(results));
    }
    let plots: Vec<Plot> = plots.into_iter().flat_map(|plot| apart(results, plot)).collect();
    let searched = trials::figures(results).into_iter().chain(latency::figures(results));
    let trials = searched.map(|figure| (figure, None));
    trials.chain(plots.into_iter().map(|plot| (build(results, &plot), Some(plot)))).collect()
}

/// Returns a plot for each value of a separately measured setting, unless the plot selects one of them. Values without
/// points get no plot.
fn apart(results: &Results, plot: Plot) -> Vec<Plot> {
    let mut all = vec![plot];
    for axis in results.scenario.sweep.axes.iter().filter(|axis| axis.apart) {
        let mut values: Vec<&Value> = Vec::new();
        for value in &axis.values {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let one = |plot: Plot| -> Vec<Plot> {
            if values.len() < 2 || plot.filter.contains_key(&axis.path) {
                return vec![plot];
            }
            let of = |&value: &&Value| {
                let mut own = plot.clone();
                own.filter.insert(axis.path.clone(), value.clone());
                if !own.title.is_empty() {
                    own.title = format!("{}, {} = {value}", own.title, axis.path);
                }
                shows(results, &own).then_some(own)
            };
            let own: Vec<Plot> = values.iter().filter_map(of).collect();
            // If nothing was measured, the requested plot shows that.
            if own.is_empty() { vec![plot.clone()] } else { own }
        };
        all = all.into_iter().flat_map(one).collect();
    }
    all
}

/// Whether a plot has data to show or a gap to explain. A plot has neither if its points have results, but no values of
/// this metric.
fn shows(results: &Results, plot: &Plot) -> bool {
    let points: Vec<&PointResult> = results.matching(&plot.filter).collect();
    let mean = matches!(plot.kind, PlotKind::Lines | PlotKind::Points | PlotKind::Bars | PlotKind::Heat);
    let metric = plot.z.as_ref().filter(|_| plot.kind == PlotKind::Heat).unwrap_or(&plot.y);
    let measured = points.iter().any(|point| point.outcome().is_some_and(|outcome| outcome.counts()));
    let has = points.iter().any(|point| point.summary(metric, 0.95).is_some());
    !points.is_empty() && (has || !mean || !measured)
}

fn default_plot(results: &Results) -> Option<Plot> {
    let x = results.points.first()?.point.axes.first().map(|(path, _)| path.clone())?;
    let measured = results.metric_names();
    let found = ["search.load", "search.best"].map(str::to_owned);
    let names = results.metrics.iter().flat_map(|metric| {
        let names = metric.names();
        // The 99th percentile is the most informative number of a distribution.
        names.iter().find(|name| name.ends_with("_p99")).or_else(|| names.first()).cloned()
    });
    let y = found.into_iter().chain(names).find(|name| measured.contains(name))?;
    let numeric = results.points.iter().all(|point| number(point, &x).is_some());
    let kind = if numeric { PlotKind::Lines } else { PlotKind::Bars };
    let group_by = None;
    let z = None;
    let levels = Vec::new();
    let filter = BTreeMap::new();
    let title = String::new();
    let log = String::new();
    let zero = "xy".to_owned();
    let stack = Vec::new();
    Some(Plot { title, kind, x, y, group_by, z, levels, stack, log, zero, filter })
}

fn build(results: &Results, plot: &Plot) -> Figure {
    let sentence = words::title(results, plot);
    let mut figure = Figure {
        title: if plot.title.is_empty() { sentence.clone() } else { plot.title.clone() },
        // If the author gave a short title, the sentence with units moves to the caption.
        caption: if plot.title.is_empty() { String::new() } else { format!("{sentence}. ") },
        missing: String::new(),
        x: Across::Numbers { log: plot.log.contains('x') },
        x_label: label(results, &plot.x, false),
        y_label: label(results, &plot.y, false),
        log_y: plot.log.contains('y'),
        zero: (plot.zero.contains('x'), plot.zero.contains('y')),
        series: Vec::new(),
        marks: Vec::new(),
        bounds: Vec::new(),
        answer: None,
        table: Table::default(),
    };
    let groups = groups(results, plot);
    if groups.len() > SERIES_MAX {
        figure.caption.push_str(&format!("Only {SERIES_MAX} of {} series are shown. ", groups.len()));
    }
    let groups = &groups[..groups.len().min(SERIES_MAX)];
    match plot.kind {
        PlotKind::Heat => heat(results, plot, &mut figure),
        PlotKind::Cdf => cdf(plot, groups, &mut figure),
        PlotKind::Series => over_time(plot, groups, &mut figure),
        PlotKind::Areas => stacked(results, plot, &mut figure),
        PlotKind::Waterfall => waterfall::falls(results, plot, groups, &mut figure),
        PlotKind::Usl => law::scaling(results, plot, groups, &mut figure),
        PlotKind::Iso => contour::iso(results, plot, &mut figure),
        PlotKind::Lines | PlotKind::Points | PlotKind::Bars | PlotKind::Box => {
            means(results, plot, groups, &mut figure)
        }
    }
    if !matches!(plot.kind, PlotKind::Areas | PlotKind::Waterfall) {
        clip(results, plot, &mut figure);
    }
    without_value(&mut figure);
    let shown =
        plot.z.as_ref().filter(|_| matches!(plot.kind, PlotKind::Heat | PlotKind::Iso)).unwrap_or(&plot.y);
    if let Some(metric) = results.metric(shown) {
        figure.caption.push_str(&format!(" {}: {}.", metric.name, metric.comment));
    }
    if figure.series.iter().all(|series| series.samples.is_empty()) {
        let points: Vec<&PointResult> = results.matching(&plot.filter).collect();
        let measured = points.iter().any(|point| point.outcome().is_some_and(|outcome| outcome.counts()));
        figure.missing = if measured {
            format!("no repeat has a `{shown}` that can be drawn")
        } else {
            why_nothing(&points)
        };
    }
    figure
}

/// Lists in the caption the series and the named horizontal positions that have no value. Removes such a series, unless
/// it has an expected value.
fn without_value(figure: &mut Figure) {
    fn has(series: &Series) -> bool {
        !series.samples.is_empty()
    }
    if !figure.series.iter().any(has) || figure.series.iter().any(|series| series.form == Form::Cells) {
        return;
    }
    let empty = figure.series.iter().filter(|series| !has(series)).map(|series| series.name.clone());
    let mut missing: Vec<String> = empty.collect();
    if let Across::Names(names) = &figure.x {
        let samples = || figure.series.iter().flat_map(|series| &series.samples);
        let met = |at: usize| samples().any(|sample| sample.x == at as f64);
        missing.extend(names.iter().enumerate().filter(|(at, _)| !met(*at)).map(|(_, name)| name.clone()));
    }
    let colors = figure.marks.iter().map(|mark| mark.color).chain(figure.bounds.iter().map(|it| it.color));
    let expected: Vec<usize> = colors.flatten().collect();
    figure.series.retain(|series| has(series) || expected.contains(&series.color));
    if !missing.is_empty() {
        figure.caption.push_str(&format!(" Without a value: {}.", missing.join(", ")));
    }
}

/// Clips intervals to the possible range of the quantity. If a value itself is outside the range, the range does not
/// apply, and that end is not clipped.
fn clip(results: &Results, plot: &Plot, figure: &mut Figure) {
    let Some((least, most)) = results.metric(&plot.y).map(|metric| metric.range()) else { return };
    let samples = || figure.series.iter().flat_map(|series| &series.samples);
    let least = if samples().any(|s| s.y < least) { f64::NEG_INFINITY } else { least };
    let most = if samples().any(|s| s.y > most) { f64::INFINITY } else { most };
    for s in figure.series.iter_mut().flat_map(|series| &mut series.samples) {
        (s.low, s.high) = (s.low.max(least), s.high.min(most));
        // The whiskers have to stay within the range as well.
        s.ends = (s.ends.0.max(least), s.ends.1.min(most));
    }
}

/// Uses names on the horizontal axis if some point has no number for it.
fn across(results: &Results, plot: &Plot, figure: &mut Figure) {
    let by_name = matches!(plot.kind, PlotKind::Bars | PlotKind::Box)
        || results
            .matching(&plot.filter)
            .any(|point| point.point.settings.contains_key(&plot.x) && number(point, &plot.x).is_none());
    if by_name {
        figure.x = Across::Names(names(results, plot, &plot.x));
        figure.x_label = label(results, &plot.x, true);
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
    let own = results.metric(&plot.y).is_some_and(|metric| metric.names().iter().all(|name| *name != plot.y));
    for (color, (name, points)) in groups.iter().enumerate() {
        let sample = |(x, here): &(f64, Vec<&PointResult>)| {
            if form == Form::Boxes {
                let [min, low, y, high, max] =
                    if own { box_of(here, &plot.y)? } else { quartiles(&together(results, here, &plot.y))? };
                return Some(Sample { x: *x, y, low, high, ends: (min, max) });
            }
            if let [point] = here[..] {
                return results.answer(point, &plot.y).map(|answer| drawn_answer(*x, &answer));
            }
            let summary = summarise(&together(results, here, &plot.y), confidence)?;
            let (low, high) = summary.interval();
            Some(Sample { x: *x, y: summary.mean, low, high, ends: (low, high) })
        };
        let samples = places(figure, plot, points).iter().filter_map(sample).collect();
        figure.series.push(Series { name: name.clone(), color, form, samples });
    }
    explain(results, plot, groups, figure, form, own);
    if plot.kind == PlotKind::Lines {
        figure.table = growths(results, plot, groups, figure);
    }
    marks(results, plot, groups, figure);
    if plot.kind != PlotKind::Box {
        limits(results, plot, groups, figure);
    }
}

/// Converts a result to a sample; an open end is drawn at the value.
fn drawn_answer(x: f64, answer: &Answer) -> Sample {
    let (low, high) = answer.ends();
    let low = low.unwrap_or(answer.value);
    let high = high.unwrap_or(answer.value);
    Sample { x, y: answer.value, low, high, ends: (low, high) }
}

/// Returns the quartiles of a distribution's values over all repeats, and the ends of its whiskers.
fn box_of(points: &[&PointResult], name: &str) -> Option<[f64; 5]> {
    let mut all = Distribution::default();
    points.iter().filter_map(|point| point.distribution(name)).for_each(|own| all.merge(&own));
    (all.count() > 0)
        .then(|| [WHISKERS.0, 0.25, 0.5, 0.75, WHISKERS.1].map(|share| all.quantile(share) as f64))
}

/// Adds the meaning of the drawn intervals, the number of repeats, and the handling of distributions.
fn explain(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &mut Figure, form: Form, own: bool) {
    let points = || groups.iter().flat_map(|(_, points)| points);
    let counting = |point: &PointResult| point.runs.iter().filter(|run| run.outcome.counts()).count();
    let most = points().map(|point| counting(point)).max().unwrap_or(0);
    let least = points().map(|point| counting(point)).filter(|count| *count > 0).min().unwrap_or(0);
    let repeats = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let percent = short(results.scenario.measure.confidence * 100.0);
    let statistic = percentile(results, &plot.y)
        .map(|(_, suffix)| words::statistic(suffix).trim_end().trim_end_matches(" of"));
    let each = statistic.map_or_else(String::new, |words| format!(" of each repeat's own {words},"));
    figure.caption.push_str(&match form {
        Form::Boxes if own => format!(
            "Boxes: quartiles of all single values of {repeats} repeats, their histograms merged; whiskers: {} to {} %.",
            short(WHISKERS.0 * 100.0),
            short(WHISKERS.1 * 100.0)
        ),
        Form::Boxes => format!("Boxes: quartiles over {repeats} repeats; whiskers: smallest and largest."),
        _ if most < 2 => "One repeat: nothing is known about its spread.".to_owned(),
        Form::Band => format!("Line and band: mean{each} and its {percent} % interval over {repeats} repeats."),
        _ => format!("Mean{each} and its {percent} % interval over {repeats} repeats."),
    });
    let several =
        |(_, points): &Group<'_>| places(figure, plot, points).iter().any(|(_, here)| here.len() > 1);
    if groups.iter().any(several) {
        let how = if statistic.is_some() { ", their histograms merged repeat by repeat" } else { "" };
        let text = format!(" Points that differ only in settings not shown here are combined{how}.");
        figure.caption.push_str(&text);
    }
}

/// Returns the growth of each series: the exponent of a power law through its points, if x is a number.
fn growths(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &Figure) -> Table {
    let mut names = Vec::new();
    let mut exponents = Vec::new();
    if !matches!(figure.x, Across::Numbers { .. }) {
        return Table::default();
    }
    for (name, points) in groups {
        let pooled = pool(results, figure, plot, points);
        let samples: Vec<(f64, f64)> =
            pooled.iter().flat_map(|(x, values)| values.iter().map(|y| (*x, *y))).collect();
        // A power law fits any two loads exactly, so at least three are needed.
        if pooled.iter().filter(|(x, values)| *x > 0.0 && !values.is_empty()).count() < 3 {
            continue;
        }
        if let Some(growth) = growth(&samples, 0.95) {
            names.push(Some(name.clone()));
            exponents.push(Some(Answer::symmetric_of(growth.exponent, growth.half_width).text()));
        }
    }
    if names.is_empty() {
        return Table::default();
    }
    let exponent = format!("growth: exponent e of {} ∝ {}^e", plot.y, plot.x);
    Table { columns: vec![("series".to_owned(), Column::Text(names)), (exponent, Column::Text(exponents))] }
}

fn heat(results: &Results, plot: &Plot, figure: &mut Figure) {
    let Some(z) = &plot.z else { return };
    let columns = names(results, plot, &plot.x);
    let rows = names(results, plot, &plot.y);
    // Points that share a cell are pooled.
    let mut cells: BTreeMap<(usize, usize), Vec<&PointResult>> = BTreeMap::new();
    for point in results.matching(&plot.filter) {
        let column = columns.iter().position(|own| *own == name_at(point, &plot.x));
        let row = rows.iter().position(|own| *own == name_at(point, &plot.y));
        if let (Some(column), Some(row)) = (column, row) {
            cells.entry((column, row)).or_default().push(point);
        }
    }
    let sample = |((column, row), here): ((usize, usize), Vec<&PointResult>)| {
        let value = summarise(&together(results, &here, z), 0.95)?.mean;
        Some(Sample { ends: (value, value), ..Sample::at(column as f64, row as f64) })
    };
    let samples = cells.into_iter().filter_map(sample).collect();
    figure.x = Across::Names(columns);
    figure.x_label = label(results, &plot.x, true);
    figure.y_label = label(results, &plot.y, true);
    // The series name carries all labels, one per line: first the label of the colour, then the names of the rows.
    let name = std::iter::once(label(results, z, false)).chain(rows).collect::<Vec<_>>().join("\n");
    figure.series.push(Series { name, color: 0, form: Form::Cells, samples });
    figure.caption.push_str(&format!("Colour and number: mean over repeats of {}.", quantity(results, z)));
}

fn cdf(plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    figure.x_label = std::mem::replace(&mut figure.y_label, "share of all values".to_owned());
    figure.log_y = false;
    for (color, (name, points)) in groups.iter().enumerate() {
        let mut all = Distribution::default();
        for distribution in points.iter().filter_map(|point| point.distribution(&plot.y)) {
            all.merge(&distribution);
        }
        let total = all.count().max(1) as f64;
        let mut seen = 0;
        let samples = all.counts.iter().map(|(value, count)| {
            seen += count;
            Sample::at(*value as f64, seen as f64 / total)
        });
        let samples = thin(samples.collect());
        figure.series.push(Series { name: name.clone(), color, form: Form::Steps, samples });
    }
    figure.caption.push_str("The histograms of all repeats are merged.");
}

fn over_time(plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    figure.x_label = "time (s)".to_owned();
    for (color, (name, points)) in groups.iter().enumerate() {
        // Draws only one repeat, because a mean over different times is meaningless.
        let run = points.iter().flat_map(|point| &point.runs).find(|run| run.outcome.counts());
        let series = run.and_then(|run| run.recording.series.get(&plot.y)).into_iter().flatten();
        let samples = series.map(|(at, y): &(Duration, f64)| Sample::at(at.as_secs_f64(), *y));
        let samples = thin(samples.collect());
        figure.series.push(Series { name: name.clone(), color, form: Form::Line, samples });
    }
    figure.caption.push_str("Each line shows one repeat: the first valid repeat of its series.");
}

/// Stacks the series of one repeat at the times of all series. Each series keeps its value until its next sample.
fn stacked(results: &Results, plot: &Plot, figure: &mut Figure) {
    figure.x_label = "time (s)".to_owned();
    figure.y_label = words::in_unit("stacked", &words::unit(results, &plot.y, false));
    // Stacked heights start at 0 and add up on a linear axis only.
    (figure.zero.1, figure.log_y) = (true, false);
    let counting = |point: &&PointResult| point.runs.iter().any(|run| run.outcome.counts());
    let points = || results.matching(&plot.filter);
    let Some(point) = points().find(counting) else { return };
    let Some(run) = point.runs.iter().find(|run| run.outcome.counts()) else { return };
    let series = |name: &str| run.recording.series.get(name).map_or(&[][..], Vec::as_slice);
    let mut times: Vec<Duration> = plot.stacked().flat_map(series).map(|(at, _)| *at).collect();
    times.sort();
    times.dedup();
    let mut edge = vec![0.0; times.len()];
    for (color, name) in plot.stacked().enumerate() {
        let own = series(name);
        if own.is_empty() {
            figure.caption.push_str(&format!("Nothing was recorded of `{name}`. "));
        }
        let height = |at: &Duration| match own.partition_point(|(time, _)| time <= at) {
            0 => 0.0,
            after => own[after - 1].1.max(0.0),
        };
        let samples = times.iter().zip(&mut edge).map(|(at, edge)| {
            let y = height(at);
            let low = *edge;
            *edge += y;
            Sample { x: at.as_secs_f64(), y, low, high: *edge, ends: (low, *edge) }
        });
        let samples = thin(samples.collect());
        figure.series.push(Series { name: words::layer(results, name), color, form: Form::Area, samples });
    }
    let of = if point.point.axes.is_empty() { String::new() } else { format!(" at {}", point.point.label()) };
    let text = format!("Only repeat {}{of}; the areas are stacked.", run.repeat + 1);
    figure.caption.push_str(&text);
    if points().filter(counting).count() > 1 {
        figure.caption.push_str(" Other points are not shown.");
    }
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

#[cfg(test)]
mod tests {
    use super::super::figure::Bound;
    use super::*;

    fn figure(x: Across, bars: &[(&str, &[(f64, f64)])]) -> Figure {
        let series = bars.iter().enumerate().map(|(color, (name, samples))| {
            let samples = samples.iter().map(|&(x, y)| Sample::at(x, y)).collect();
            Series { name: (*name).to_owned(), color, form: Form::Bars, samples }
        });
        let title = "t".to_owned();
        let caption = String::new();
        let missing = String::new();
        let x_label = "x".to_owned();
        let y_label = "y".to_owned();
        let table = Table::default();
        let marks = Vec::new();
        let bounds = Vec::new();
        let answer = None;
        let series = series.collect();
        let log_y = false;
        let zero = (true, true);
        Figure {
            title,
            caption,
            missing,
            x,
            x_label,
            y_label,
            log_y,
            zero,
            series,
            marks,
            bounds,
            answer,
            table,
        }
    }

    #[test]
    fn missing_values_are_named_where_expected() {
        let names = || Across::Names(vec!["10ms".to_owned(), "1ms".to_owned()]);
        let all: [(&str, &[(f64, f64)]); 3] = [("a", &[]), ("b", &[(0.0, 1.0)]), ("c", &[])];
        let mut shown = figure(names(), &all);
        shown.bounds.push(Bound { y: 2.0, color: Some(2), name: "published ≤ 2".to_owned() });
        without_value(&mut shown);
        let left: Vec<&str> = shown.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!((left, shown.caption.as_str()), (vec!["b", "c"], " Without a value: a, c, 1ms."));
        // A figure without any value is explained elsewhere, so no names are listed.
        let mut nothing = figure(names(), &[("a", &[]), ("c", &[])]);
        without_value(&mut nothing);
        assert_eq!((nothing.series.len(), nothing.caption.as_str()), (2, ""));
    }

    #[test]
    fn labels_of_close_bounds_do_not_overlap() {
        let mut close = figure(Across::Names(vec!["n".to_owned()]), &[("a", &[(0.0, 1.0)])]);
        let bound = |y: f64| Bound { y, color: None, name: format!("published {y}") };
        close.bounds = [0.95, 1.0, 1.05].map(bound).into();
        let svg = super::super::draw::svg(&close).unwrap();
        let number = |text: &str, name: &str| -> f64 {
            text.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let names: Vec<(f64, f64)> = svg
            .split("<text")
            .filter(|text| text.contains("published "))
            .map(|text| (number(text, "x"), number(text, "y")))
            .collect();
        assert_eq!(names.len(), 3, "{svg}");
        for (at, a) in names.iter().enumerate() {
            for b in &names[at + 1..] {
                assert!((a.0 - b.0).abs() > 60.0 || (a.1 - b.1).abs() >= 15.0, "{a:?} covers {b:?}");
            }
        }
    }
}
