//! Content of a report as one JSON document. `web/report.js` shows it, either from a saved page or live. It contains
//! the question, the time and place of the measurement, the result, its qualifications, the figures, and every point.

use serde::Serialize;
use std::cmp::Ordering;

use ranlab_campaign::answer::Bound;
use ranlab_campaign::expect::{Judged, Verdict, short};
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::Outcome;
use ranlab_campaign::scenario::{Axis, Plot, PlotKind, Search};
use ranlab_campaign::value::Value;

use super::figure::Figure;
use super::{Drawn, findings, words};

/// Content of the page in addition to the results.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Warnings that change the meaning of the figures, one sentence each, shown above them.
    pub warnings: Vec<String>,
    /// Further remarks on machine and measurement, shown below the main figure.
    pub remarks: Vec<String>,
    /// The rig's assessment of its results, in words: shown above all other content.
    pub verdict: Vec<String>,
    /// Command that repeats the measurement (`ranlab bench run file.toml`).
    pub command: String,
    /// Drawings of the system as SVG, shown above the figures.
    pub pictures: Vec<String>,
}

/// Format name that a page checks first.
const FORMAT: &str = "ranlab-report/1";
/// Maximum number of values (points times metrics) in a document; the CSV has all.
const VALUES_MAX: usize = 100_000;
/// Metrics that the table of points shows at first.
const SHOWN_MAX: usize = 6;

/// A report. Sentences mark `names` with back quotes; they contain no markup.
#[derive(Debug, Clone, Serialize)]
pub struct Document {
    format: &'static str,
    /// Question that the campaign answers.
    pub title: String,
    /// Whether the campaign is a smoke run, whose numbers do not count.
    pub quick: bool,
    /// Time, machine and version of the measurement.
    pub meta: Vec<String>,
    /// Command that repeats the measurement.
    pub command: String,
    /// Results that the scenario requested.
    pub answers: Vec<String>,
    /// Warnings that change the meaning of numbers.
    pub warnings: Vec<String>,
    pictures: Vec<String>,
    figures: Vec<FigureView>,
    cards: Vec<CountCard>,
    findings: Vec<String>,
    remarks: Vec<String>,
    about: Vec<String>,
    expected: Vec<Row>,
    axes: Vec<AxisValues>,
    metrics: Vec<MetricAxis>,
    /// Metrics that the document leaves out, because it would become too large.
    left_out: usize,
    /// Confidence level of the intervals, 0 to 1.
    confidence: f64,
    /// Number of metrics in `metrics` that the table shows at first.
    shown: usize,
    points: Vec<Point>,
    meanings: Vec<[String; 3]>,
    machine: serde_json::Value,
    versions: serde_json::Value,
    scenario: serde_json::Value,
}

/// A figure with its plot and its expectations.
#[derive(Debug, Clone, Serialize)]
struct FigureView {
    #[serde(flatten)]
    figure: Figure,
    plot: Option<PlotSelection>,
    expected: Vec<usize>,
}

/// Axes and grouping of a plot. A reader of the page can change them.
#[derive(Debug, Clone, Serialize)]
struct PlotSelection {
    x: String,
    y: String,
    by: Option<String>,
}

/// A number of items, with its label.
#[derive(Debug, Clone, Serialize)]
struct CountCard {
    count: usize,
    words: String,
    class: &'static str,
}

/// An expectation with its verdict.
#[derive(Debug, Clone, Serialize)]
struct Row {
    #[serde(flatten)]
    judged: Judged,
    unit: String,
    published: bool,
}

/// A setting that varies, and its values in the plan's order.
#[derive(Debug, Clone, Serialize)]
struct AxisValues {
    path: String,
    label: String,
    /// Name without a unit, shown before a value.
    name: String,
    values: Vec<(String, Option<f64>)>,
}

#[derive(Debug, Clone, Serialize)]
struct MetricAxis {
    name: String,
    label: String,
    unit: String,
}

/// A point: its position on each axis, and a value for each metric. The value is `null`, the mean of one repeat, or
/// `[mean, half width, repeats]`.
#[derive(Debug, Clone, Serialize)]
struct Point {
    at: Vec<Option<usize>>,
    outcome: &'static str,
    reason: String,
    repeats: usize,
    values: Vec<serde_json::Value>,
}

impl Document {
    /// Creates the document of results, with their figures.
    pub fn new(results: &Results, judged: &[Judged], drawn: &[Drawn], context: &Context) -> Self {
        let scenario = &results.scenario;
        let mut answers = context.verdict.clone();
        answers.extend(findings::answers(results, judged));
        let warnings = context.warnings.iter().cloned().chain(findings::doubts(results)).collect();
        let (metrics, left_out, shown) = metrics(results);
        let axes = axes(results);
        let points =
            results.points.iter().map(|point| self::point(results, point, &axes, &metrics)).collect();
        let figures = drawn.iter().map(|drawn| self::shown(results, judged, drawn)).collect();
        let row = |judged: &Judged| Row {
            judged: judged.clone(),
            unit: results.unit(&judged.metric).to_owned(),
            published: judged.class.published(),
        };
        let meaning = |metric: &ranlab_campaign::rig::Metric| {
            [metric.name.clone(), metric.unit.clone(), metric.comment.clone()]
        };
        Self {
            format: FORMAT,
            title: scenario.title.clone(),
            quick: scenario.quick,
            meta: meta(results),
            command: context.command.clone(),
            answers,
            warnings,
            pictures: context.pictures.clone(),
            figures,
            cards: cards(results, judged),
            findings: findings::findings(results),
            remarks: context.remarks.clone(),
            about: about(results),
            expected: judged.iter().map(row).collect(),
            axes,
            metrics,
            left_out,
            confidence: scenario.measure.confidence,
            shown,
            points,
            meanings: results.metrics.iter().map(meaning).collect(),
            machine: results.host.clone(),
            versions: results.versions.clone(),
            scenario: serde_json::to_value(scenario).unwrap_or_default(),
        }
    }

    /// Returns the document as JSON, for live and saved pages.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the document as one HTML file that needs no server.
    pub fn html(&self) -> String {
        let mut words = vec![self.title.clone()];
        words.extend(self.meta.iter().chain(&self.answers).chain(&self.warnings).cloned());
        words.push(
            "The page is drawn by its own script, which this browser does not run. The same folder contains the figures as \
             figure-1.svg and so on, and the numbers as points.csv and verdicts.csv."
                .to_owned(),
        );
        ranlab_page::saved(&self.title, &self.json(), &words)
    }
}

fn meta(results: &Results) -> Vec<String> {
    let mut meta = vec![words::when(results), words::machine(&results.host)];
    if let Some(version) = results.versions["ranlab"].as_str() {
        meta.push(format!("ranlab {version}, rig {}", results.scenario.rig));
    }
    meta.retain(|part| !part.is_empty());
    meta
}

/// Returns the reproduced work, the author's text, and the summary of the measurement.
fn about(results: &Results) -> Vec<String> {
    let scenario = &results.scenario;
    let mut about = Vec::new();
    if let Some(paper) = &scenario.paper {
        let part = match (&paper.figure, &paper.table) {
            (Some(figure), _) => format!(", figure {figure}"),
            (None, Some(table)) => format!(", table {table}"),
            (None, None) => String::new(),
        };
        about.push(format!("Repeats the measurement of {}{part}.", paper.work));
    }
    if !scenario.about.is_empty() {
        about.push(scenario.about.clone());
    }
    about.push(summary(results));
    about
}

fn shown(results: &Results, judged: &[Judged], (figure, plot): &Drawn) -> FigureView {
    let by_points = |plot: &&Plot| {
        matches!(
            plot.kind,
            PlotKind::Lines | PlotKind::Points | PlotKind::Bars | PlotKind::Box | PlotKind::Usl
        )
    };
    let selection = plot.as_ref().filter(by_points).map(|plot| PlotSelection {
        x: plot.x.clone(),
        y: plot.y.clone(),
        by: plot.group_by.clone(),
    });
    let speaks = |plot: &Plot, index: usize| {
        let expect = &results.scenario.expects[index];
        let of = expect.metric == plot.y || plot.z.as_ref() == Some(&expect.metric);
        let elsewhere =
            |(path, value): (&String, &Value)| plot.filter.get(path).is_some_and(|own| !own.same(value));
        of && !expect.filter.iter().any(elsewhere)
    };
    let expects = judged.len().min(results.scenario.expects.len());
    let expected = plot.iter().flat_map(|plot| (0..expects).filter(|index| speaks(plot, *index))).collect();
    FigureView { figure: figure.clone(), plot: selection, expected }
}

fn axes(results: &Results) -> Vec<AxisValues> {
    let axis = |axis: &Axis| {
        let mut values: Vec<(String, Option<f64>)> = Vec::new();
        for value in results.points.iter().filter_map(|point| point.point.settings.get(&axis.path)) {
            let value = (value.to_string(), value.number());
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let label = words::label(results, &axis.path, false);
        let name = axis.name().unwrap_or(&axis.path).to_owned();
        AxisValues { path: axis.path.clone(), label, name, values }
    };
    results.scenario.sweep.axes.iter().map(axis).collect()
}

/// Returns the metrics of figures and expectations first, then one or two of each group that the rig declares, then the other
/// metrics. Also returns the number of omitted metrics, and the number of metrics that a table shows at first.
fn metrics(results: &Results) -> (Vec<MetricAxis>, usize, usize) {
    let scenario = &results.scenario;
    let measured = results.metric_names();
    let needed =
        scenario.plots.iter().flat_map(|plot| [Some(plot.y.clone()), plot.z.clone()].into_iter().flatten());
    let needed = needed.chain(scenario.expects.iter().map(|expect| expect.metric.clone()));
    let declared = results.metrics.iter().flat_map(|metric| {
        let names = metric.names();
        if names.len() > 1 {
            vec![format!("{}_p50", metric.name), format!("{}_p99", metric.name)]
        } else {
            names
        }
    });
    let mut names: Vec<String> = Vec::new();
    for name in needed.chain(declared) {
        if measured.contains(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    let shown = names.len().min(SHOWN_MAX);
    let rest: Vec<String> = measured.into_iter().filter(|name| !names.contains(name)).collect();
    names.extend(rest);
    let most = (VALUES_MAX / results.points.len().max(1)).max(1);
    let left_out = names.len().saturating_sub(most);
    names.truncate(most);
    let upwards = |name: String| MetricAxis {
        label: words::capital(&words::quantity(results, &name)),
        unit: results.unit(&name).to_owned(),
        name,
    };
    let shown = shown.min(names.len());
    (names.into_iter().map(upwards).collect(), left_out, shown)
}

fn point(results: &Results, point: &PointResult, axes: &[AxisValues], metrics: &[MetricAxis]) -> Point {
    let at = |axis: &AxisValues| {
        let own = point.point.settings.get(&axis.path)?.to_string();
        axis.values.iter().position(|(value, _)| *value == own)
    };
    let value = |metric: &MetricAxis| match results.answer(point, &metric.name) {
        None => serde_json::Value::Null,
        Some(answer) if answer.n == 1 && answer.bound == Bound::Exact && answer.interval.is_none() => {
            answer.value.into()
        }
        // The value is an array of the mean, the half width and the number of repeats. For an asymmetric interval, its
        // text and its ends follow.
        Some(answer) if answer.half_width.is_some() => {
            serde_json::json!([answer.value, answer.half_width, answer.n])
        }
        Some(answer) => {
            let (low, high) = answer.ends();
            serde_json::json!([answer.value, null, answer.n, answer.text(), low, high])
        }
    };
    let outcome = point.outcome();
    Point {
        at: axes.iter().map(at).collect(),
        outcome: outcome.map_or("not measured", Outcome::name),
        reason: if outcome == Some(Outcome::Ok) { String::new() } else { point.reason().to_owned() },
        repeats: point.runs.len(),
        values: metrics.iter().map(value).collect(),
    }
}

fn cards(results: &Results, judged: &[Judged]) -> Vec<CountCard> {
    let mut cards = Vec::new();
    for (outcome, count) in results.outcomes() {
        let words = outcome_words(outcome);
        let words = if count == 1 { words.replacen("points", "point", 1) } else { words.to_owned() };
        cards.push(CountCard { count, words, class: "" });
    }
    for verdict in Verdict::ALL {
        let count = judged.iter().filter(|judged| judged.verdict == verdict).count();
        if count > 0 {
            let name = verdict.name();
            let (statements, verb) = match (verdict, count) {
                (_, 1) => ("statement", name),
                (Verdict::Unmeasurable | Verdict::Inconclusive | Verdict::Stale, _) => ("statements", name),
                (_, _) => ("statements", name.trim_end_matches('s')),
            };
            cards.push(CountCard { count, words: format!("{statements} {verb}"), class: name });
        }
    }
    cards
}

fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "points ok",
        Outcome::Degraded => "points degraded",
        Outcome::MissesBudget => "points that miss a budget",
        Outcome::Overloaded => "points overloaded",
        Outcome::SutFailed => "points where the system failed",
        Outcome::Timeout => "points timed out",
        Outcome::Invalid => "points invalid",
        Outcome::Unmeasurable => "points unmeasurable",
    }
}

/// Describes an axis and its values, each value once.
fn in_words(axis: &Axis) -> String {
    // Points that are listed individually may repeat a value.
    let mut values: Vec<&Value> = Vec::new();
    for value in &axis.values {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let numeric = values.iter().all(|value| value.number().is_some());
    if numeric {
        values.sort_by(|a, b| a.number().partial_cmp(&b.number()).unwrap_or(Ordering::Equal));
    }
    match values.as_slice() {
        [one] => format!("{} {one}", axis.words()),
        [first, .., last] if numeric => format!("{} from {first} to {last}", axis.words()),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!("{}: {}", axis.words(), names.join(", "))
        }
    }
}

/// Summarises the measurement in words that are understandable without a paper.
fn summary(results: &Results) -> String {
    let scenario = &results.scenario;
    let axes: Vec<String> = scenario.sweep.axes.iter().map(in_words).collect();
    let searched =
        scenario.search.as_ref().and_then(Search::load).map(|load| {
            format!("{} searched between {} and {}", load.axis, short(load.min), short(load.max))
        });
    let varied: Vec<String> = axes.into_iter().chain(searched).collect();
    let varied = if varied.is_empty() { "nothing varied".to_owned() } else { varied.join("; ") };
    let times = match scenario.measure.repeats {
        1 => "once".to_owned(),
        repeats => format!("{repeats} times"),
    };
    let runs: usize = results.points.iter().map(|point| point.runs.len()).sum();
    let measured = results.points.iter().filter(|point| !point.runs.is_empty()).count();
    format!(
        "{measured} of {} settings were measured: {varied}. Each {times} for {}, {runs} repeats in {} order by seed {}, \
         with rig “{}”.",
        results.points.len(),
        ranlab_campaign::value::format_span(scenario.measure.duration),
        if scenario.measure.order == ranlab_campaign::scenario::Order::Random {
            "shuffled"
        } else {
            "the given"
        },
        scenario.measure.seed,
        scenario.rig,
    )
}
