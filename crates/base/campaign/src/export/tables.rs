//! The tables that an export contains: points, repeats, series, distributions, verdicts.

use std::collections::BTreeSet;

use crate::answer::{Answer, Bound};
use crate::expect::Judged;
use crate::results::{Finished, PointResult, Results};
use crate::value::Value;

use super::{Column, Table};

/// Returns a table with one row per point. A row has every swept setting, the outcome, the number of repeats, and the
/// mean and half width of the interval of each metric. If a metric is a bound at some point, a row also has `exact`,
/// `at_least` or `at_most`. Durations are in seconds; the names of their columns end in `_s`.
pub fn points(results: &Results) -> Table {
    let all: Vec<&PointResult> = results.points.iter().collect();
    let mut table = Table::default();
    table.columns.push(("point".to_owned(), ints(&all, |point| Some(point.point.index as i64))));
    axes(&mut table, results, &all);
    table.columns.push((
        "outcome".to_owned(),
        Column::Text(
            all.iter().map(|point| point.outcome().map(|outcome| outcome.name().to_owned())).collect(),
        ),
    ));
    table.columns.push((
        "reason".to_owned(),
        Column::Text(
            all.iter()
                .map(|point| Some(point.reason().to_owned()).filter(|reason| !reason.is_empty()))
                .collect(),
        ),
    ));
    table.columns.push(("repeats".to_owned(), ints(&all, |point| Some(point.runs.len() as i64))));
    for metric in results.metric_names() {
        let answers: Vec<_> = all.iter().map(|point| results.answer(point, &metric)).collect();
        let floats = |of: fn(&Answer) -> Option<f64>| {
            Column::Float(answers.iter().map(|answer| answer.as_ref().and_then(of)).collect())
        };
        table.columns.push((metric.clone(), floats(|answer| Some(answer.value))));
        table.columns.push((format!("{metric}_ci"), floats(|answer| answer.half_width)));
        if answers.iter().flatten().any(|answer| answer.bound != Bound::Exact) {
            let bound = |answer: &Option<Answer>| Some(answer.as_ref()?.bound.name().to_owned());
            let bounds = answers.iter().map(bound).collect();
            table.columns.push((format!("{metric}_bound"), Column::Text(bounds)));
        }
    }
    table
}

/// Returns a table with one row for each finished repeat and all its metrics, including repeats that do not count.
pub fn repeats(results: &Results) -> Table {
    let all: Vec<(&PointResult, &Finished)> =
        results.points.iter().flat_map(|point| point.runs.iter().map(move |run| (point, run))).collect();
    let points: Vec<&PointResult> = all.iter().map(|(point, _)| *point).collect();
    let runs: Vec<&Finished> = all.iter().map(|(_, run)| *run).collect();
    let mut table = Table::default();
    table.columns.push(("point".to_owned(), ints(&runs, |run| Some(run.point as i64))));
    axes(&mut table, results, &points);
    table.columns.push(("repeat".to_owned(), ints(&runs, |run| Some(run.repeat.into()))));
    table.columns.push(("position".to_owned(), ints(&runs, |run| Some(run.position.into()))));
    table.columns.push(("outcome".to_owned(), texts(&runs, |run| run.outcome.name().to_owned())));
    table.columns.push((
        "counts".to_owned(),
        Column::Bool(runs.iter().map(|run| Some(run.outcome.counts())).collect()),
    ));
    table.columns.push(("reason".to_owned(), texts(&runs, |run| run.reason.clone())));
    table
        .columns
        .push(("started_unix_ms".to_owned(), ints(&runs, |run| i64::try_from(run.started_unix_ms).ok())));
    let elapsed = runs.iter().map(|run| Some(run.elapsed.as_secs_f64())).collect();
    table.columns.push(("elapsed_s".to_owned(), Column::Float(elapsed)));
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.recording.metrics.keys()).collect();
    for name in names {
        let values = runs.iter().map(|run| run.recording.metrics.get(name).copied()).collect();
        table.columns.push((name.clone(), Column::Float(values)));
    }
    table
}

/// Returns a table with every sample of every series: point, repeat, metric, time from the start of recording, value.
pub fn series(results: &Results) -> Table {
    let mut rows = Long::default();
    for run in results.points.iter().flat_map(|point| &point.runs) {
        for (metric, samples) in &run.recording.series {
            for (at, value) in samples {
                rows.push(run, metric, at.as_secs_f64(), *value);
            }
        }
    }
    rows.table("at_s", "value")
}

/// Returns a table with the values of every distribution and their counts.
pub fn distributions(results: &Results) -> Table {
    let mut rows = Long::default();
    for run in results.points.iter().flat_map(|point| &point.runs) {
        for (metric, distribution) in &run.recording.distributions {
            for (value, count) in &distribution.counts {
                rows.push(run, metric, *value as f64, *count as f64);
            }
        }
    }
    rows.table("value", "count")
}

/// Returns a table with the expected and the measured values.
pub fn verdicts(judged: &[Judged]) -> Table {
    let text = |of: fn(&Judged) -> &str| texts(judged, |row| of(row).to_owned());
    Table {
        columns: vec![
            ("metric".to_owned(), text(|row| &row.metric)),
            ("where".to_owned(), text(|row| &row.place)),
            ("paper".to_owned(), text(|row| &row.paper)),
            ("ours".to_owned(), text(|row| &row.ours)),
            ("class".to_owned(), text(|row| row.class.name())),
            ("verdict".to_owned(), text(|row| row.verdict.name())),
            ("reason".to_owned(), text(|row| &row.reason)),
            ("source".to_owned(), text(|row| &row.source)),
        ],
    }
}

/// Columns of a table with one row for each sample.
#[derive(Default)]
struct Long {
    points: Vec<Option<i64>>,
    repeats: Vec<Option<i64>>,
    metrics: Vec<Option<String>>,
    first: Vec<Option<f64>>,
    second: Vec<Option<f64>>,
}

impl Long {
    fn push(&mut self, run: &Finished, metric: &str, first: f64, second: f64) {
        self.points.push(Some(run.point as i64));
        self.repeats.push(Some(run.repeat.into()));
        self.metrics.push(Some(metric.to_owned()));
        self.first.push(Some(first));
        self.second.push(Some(second));
    }

    fn table(self, first: &str, second: &str) -> Table {
        Table {
            columns: vec![
                ("point".to_owned(), Column::Int(self.points)),
                ("repeat".to_owned(), Column::Int(self.repeats)),
                ("metric".to_owned(), Column::Text(self.metrics)),
                (first.to_owned(), Column::Float(self.first)),
                (second.to_owned(), Column::Float(self.second)),
            ],
        }
    }
}

fn ints<T>(rows: &[T], of: impl Fn(&T) -> Option<i64>) -> Column {
    Column::Int(rows.iter().map(of).collect())
}

fn texts<T>(rows: &[T], of: impl Fn(&T) -> String) -> Column {
    Column::Text(rows.iter().map(|row| Some(of(row))).collect())
}

/// Adds a column for each axis, of the narrowest type that fits all its values.
fn axes(table: &mut Table, results: &Results, points: &[&PointResult]) {
    let paths = results.scenario.sweep.axes.iter().map(|axis| &axis.path);
    for path in paths {
        let values: Vec<Option<&Value>> = points.iter().map(|point| point.point.settings.get(path)).collect();
        let (name, column) = column(path, &values);
        table.columns.push((name, column));
    }
}

fn column(path: &str, values: &[Option<&Value>]) -> (String, Column) {
    let all = |test: fn(&Value) -> bool| values.iter().flatten().all(|value| test(value));
    if all(|value| matches!(value, Value::Bool(_))) {
        let of = |value: &Value| if let Value::Bool(bool) = value { Some(*bool) } else { None };
        return (path.to_owned(), Column::Bool(values.iter().map(|value| value.and_then(of)).collect()));
    }
    if all(|value| matches!(value, Value::Int(_))) {
        let of = |value: &Value| if let Value::Int(int) = value { Some(*int) } else { None };
        return (path.to_owned(), Column::Int(values.iter().map(|value| value.and_then(of)).collect()));
    }
    let numbers = || Column::Float(values.iter().map(|value| value.and_then(Value::number)).collect());
    if all(|value| matches!(value, Value::Span(_))) {
        return (format!("{path}_s"), numbers());
    }
    if all(|value| matches!(value, Value::Int(_) | Value::Float(_))) {
        return (path.to_owned(), numbers());
    }
    (path.to_owned(), Column::Text(values.iter().map(|value| value.map(Value::to_string)).collect()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn column_has_narrowest_type_for_its_values() {
        let int = Value::Int(1);
        let float = Value::Float(0.5);
        let text = Value::from("x");
        let span = Value::Span(Duration::from_millis(50));
        let of =
            |values: &[&Value]| column("a", &values.iter().map(|value| Some(*value)).collect::<Vec<_>>());
        assert_eq!(of(&[&int, &int]).1, Column::Int(vec![Some(1), Some(1)]));
        assert_eq!(of(&[&int, &float]).1, Column::Float(vec![Some(1.0), Some(0.5)]));
        assert_eq!(of(&[&span]), ("a_s".to_owned(), Column::Float(vec![Some(0.05)])));
        let mixed = Column::Text(vec![Some("x".to_owned()), Some("1".to_owned())]);
        assert_eq!(of(&[&text, &int]).1, mixed);
    }
}
