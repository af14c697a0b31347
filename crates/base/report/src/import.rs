//! Imports results of other tools: hyperfine's JSON, and tables as CSV.

mod csv;
mod hyperfine;

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_campaign::description::{RepeatTime, RigDescription};
use ranlab_campaign::metric::{Better, Metric, MetricKind};
use ranlab_campaign::outcome::Outcome;
use ranlab_campaign::plan::Point;
use ranlab_campaign::record::Recording;
use ranlab_campaign::results::{Finished, Results};
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

pub use csv::{ROWS_MAX, csv};
pub use hyperfine::{hyperfine, is_hyperfine};

/// Name of the rig of imported results, which cannot be run.
pub const RIG: &str = "imported";
/// Maximum number of columns or parameters of an imported result.
pub const COLUMNS_MAX: usize = 100;

/// Reason why results cannot be imported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file has no measurement.
    #[error("it has no rows: expected a header and at least one row of values")]
    Empty,
    /// The file exceeds a limit.
    #[error("it has more than {1} {0}; at most {1} are read")]
    TooMany(&'static str, usize),
    /// A quoted field has no closing quote.
    #[error("line {0}: a quoted field is not closed")]
    OpenQuote(usize),
    /// A row has another number of fields than the header.
    #[error("line {line}: {found} fields where the header has {expected}")]
    Fields {
        /// Line in the file, from 1.
        line: usize,
        /// Number of fields in the row.
        found: usize,
        /// Number of fields in the header.
        expected: usize,
    },
    /// The value of a metric is not a number.
    #[error("line {line}: \"{value}\" in column \"{column}\" is not a finite number")]
    NotANumber {
        /// Line in the file, from 1.
        line: usize,
        /// Name of the column.
        column: String,
        /// Content of the field.
        value: String,
    },
    /// Two columns have the same name, or a column has none.
    #[error("the header has no name, or the same name twice: \"{0}\"")]
    Header(String),
    /// There is no column with the given name.
    #[error("there is no column \"{0}\"; there are: {1}")]
    NoColumn(String, String),
    /// All columns are settings.
    #[error("no column is a metric: expected a column of numbers that is not a setting")]
    NoMetric,
    /// The file is not a valid export of hyperfine.
    #[error("it is not a result of hyperfine: {0}")]
    Hyperfine(String),
    /// The scenario that describes the import is invalid.
    #[error("it cannot be described as a campaign: {0}")]
    Scenario(String),
}

/// Measurement of another tool.
#[derive(Debug, Clone, Default, PartialEq)]
struct Row {
    settings: BTreeMap<String, Value>,
    metrics: BTreeMap<String, f64>,
}

/// Imported rows, before they become a campaign.
#[derive(Debug, Clone, Default)]
struct Imported {
    title: String,
    /// Settings that vary, in the order of the file.
    axes: Vec<String>,
    metrics: Vec<Metric>,
    rows: Vec<Row>,
    /// Setting and metric of a scaling law, if the table has both.
    law: Option<(String, String)>,
}

impl Imported {
    /// Converts the rows to results. Rows with equal axes are repeats, in the order of the file.
    fn results(self) -> Result<Results, ImportError> {
        let rig = self.rig();
        let scenario = Scenario::parse(&self.scenario(), "import", &Overrides::default(), &[rig])
            .map_err(|error| ImportError::Scenario(error.to_string()))?;
        let mut points: Vec<Point> = Vec::new();
        let mut repeats: Vec<u32> = Vec::new();
        let mut finished = Vec::new();
        for (position, row) in self.rows.into_iter().enumerate() {
            let axes: Vec<(String, Value)> = self
                .axes
                .iter()
                .filter_map(|path| Some((path.clone(), row.settings.get(path)?.clone())))
                .collect();
            let index = points.iter().position(|point| point.axes == axes).unwrap_or_else(|| {
                let index = points.len();
                points.push(Point { index, axes, settings: row.settings.clone() });
                repeats.push(0);
                index
            });
            finished.push(Finished {
                point: index,
                repeat: repeats[index],
                position: u32::try_from(position).unwrap_or(u32::MAX),
                outcome: Outcome::Ok,
                reason: String::new(),
                recording: Recording { metrics: row.metrics, ..Recording::default() },
                started_unix_ms: 0,
                elapsed: Duration::ZERO,
            });
            repeats[index] += 1;
        }
        let mut results = Results::new(scenario, self.metrics, points, finished);
        results.versions = serde_json::json!({ "measured": "by another tool" });
        Ok(results)
    }

    fn values(&self, path: &str) -> Vec<&Value> {
        let mut values: Vec<&Value> = Vec::new();
        for value in self.rows.iter().filter_map(|row| row.settings.get(path)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// Returns a rig with these settings and metrics, for the scenario's parser.
    fn rig(&self) -> RigDescription {
        let key = |path: &String| {
            let number =
                self.values(path).iter().all(|value| value.number().is_some() && value.span().is_none());
            let kind = if number { Kind::any_number() } else { Kind::Text };
            Key::new(path, kind, "").optional()
        };
        RigDescription {
            name: RIG.to_owned(),
            aliases: Vec::new(),
            comment: "results that another tool measured".to_owned(),
            keys: self.axes.iter().map(key).collect(),
            metrics: self.metrics.clone(),
            needs: Vec::new(),
            set_up: Duration::ZERO,
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: "",
        }
    }

    fn scenario(&self) -> String {
        let quoted = |text: &str| Value::Text(text.to_owned()).to_toml();
        let mut text = format!("title = {}\nrig = \"{RIG}\"\n", quoted(&self.title));
        if !self.axes.is_empty() {
            text.push_str("[sweep.axes]\n");
        }
        for path in &self.axes {
            let values: Vec<String> = self.values(path).iter().map(|value| value.to_toml()).collect();
            text.push_str(&format!("{} = [{}]\n", quoted(path), values.join(", ")));
        }
        if let Some((across, metric)) = &self.law {
            let plot = format!("[[plot]]\ntype = \"usl\"\nx = {}\ny = {}\n", quoted(across), quoted(metric));
            text.push_str(&plot);
            let others: Vec<&String> = self.axes.iter().filter(|path| *path != across).collect();
            if let [other] = others[..] {
                text.push_str(&format!("group_by = {}\n", quoted(other)));
            }
        }
        text
    }
}

/// Returns the metric for a column name. Its direction is known only if the name implies it.
fn metric(name: &str) -> Metric {
    let lower = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let ends = |units: &[&str]| units.iter().any(|unit| lower.ends_with(unit));
    let better =
        if has(&["throughput", "per_s", "/s", "ops", "qps", "rps", "bps", "pps", "bandwidth", "goodput"]) {
            Better::Higher
        } else if has(&["time", "latency", "delay", "duration", "rtt", "loss", "error", "drop"])
            || ends(&["_s", "_ms", "_us", "_ns"])
        {
            Better::Lower
        } else {
            Better::Neither
        };
    Metric::new(name, "", MetricKind::Scalar, better, "").signed()
}

#[cfg(test)]
mod tests;
