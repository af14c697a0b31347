//! Reads the file of `hyperfine --export-json`: the times of each command, with its parameters.

use std::collections::BTreeMap;

use serde::Deserialize;

use ranlab_campaign::metric::{Better, Metric, MetricKind};
use ranlab_campaign::results::Results;
use ranlab_campaign::value::Value;

use super::{COLUMNS_MAX, ImportError, Imported, ROWS_MAX, Row};

/// Setting that contains the command line: the system under test.
const COMMAND: &str = "sut.command";
/// Metric for the wall time of a run.
const TIME: &str = "time_s";

#[derive(Deserialize)]
struct File {
    results: Vec<Measured>,
}

#[derive(Deserialize)]
struct Measured {
    command: String,
    #[serde(default)]
    times: Vec<f64>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

/// Whether a document has the form of hyperfine's export.
pub fn is_hyperfine(json: &serde_json::Value) -> bool {
    json["results"].as_array().is_some_and(|all| all.iter().any(|one| one.get("command").is_some()))
}

/// Reads hyperfine's JSON. Several commands differ by their parameters or, without any, by the command line. The command line
/// of a single command is a setting of the system under test.
///
/// # Errors
/// Returns an error if the text is not a hyperfine file, or lacks the times of single runs.
pub fn hyperfine(text: &str, title: &str) -> Result<Results, ImportError> {
    let file: File = serde_json::from_str(text).map_err(|error| ImportError::Hyperfine(error.to_string()))?;
    if file.results.iter().map(|own| own.times.len()).sum::<usize>() > ROWS_MAX {
        return Err(ImportError::TooMany("times", ROWS_MAX));
    }
    let mut rows = Vec::new();
    for own in &file.results {
        if own.times.is_empty() {
            return Err(ImportError::Hyperfine(format!(
                "`times` of \"{}\" is missing or empty",
                own.command
            )));
        }
        if let Some(wrong) = own.times.iter().find(|time| !time.is_finite() || **time < 0.0) {
            return Err(ImportError::Hyperfine(format!(
                "{wrong} is not a time, in `times` of \"{}\"",
                own.command
            )));
        }
        let mut settings: BTreeMap<String, Value> =
            own.parameters.iter().map(|(name, value)| (name.clone(), parameter(value))).collect();
        settings.insert(COMMAND.to_owned(), Value::Text(own.command.clone()));
        let row = |time: &f64| Row { settings: settings.clone(), metrics: [(TIME.to_owned(), *time)].into() };
        rows.extend(own.times.iter().map(row));
    }
    if rows.is_empty() {
        return Err(ImportError::Empty);
    }
    let mut imported = Imported {
        title: title.to_owned(),
        axes: Vec::new(),
        metrics: vec![Metric::new(TIME, "s", MetricKind::Scalar, Better::Lower, "wall time of a run")],
        rows,
        law: None,
    };
    let names = file.results.iter().flat_map(|own| own.parameters.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    if names.len() > COLUMNS_MAX {
        return Err(ImportError::TooMany("parameters", COLUMNS_MAX));
    }
    imported.axes = names.into_iter().filter(|name| imported.values(name).len() > 1).cloned().collect();
    let identities = |own: &Measured| own.parameters.clone();
    let distinct: std::collections::BTreeSet<_> = file.results.iter().map(identities).collect();
    if distinct.len() < file.results.len() {
        imported.axes.push(COMMAND.to_owned());
    }
    imported.results()
}

/// Reads a parameter as the number that it spells, or as text.
fn parameter(text: &str) -> Value {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    match (text.parse::<i64>(), number) {
        (Ok(int), _) => Value::Int(int),
        (_, Some(number)) => Value::Float(number),
        _ => Value::Text(text.to_owned()),
    }
}
