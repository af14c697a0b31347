//! Latest KPIs of nodes, slices and UEs as metrics, in Prometheus text format and in InfluxDB line protocol.
//!
//! A metric is named `ranlab_kpi_MODEL_COLUMN` and has the label `node` and, depending on the row, `ue`, `bearer`,
//! `tunnel`, `queue` or `slice`. The columns of the narrow table view are exported. Text columns among them become
//! labels. The number of series is limited; rows beyond the limit are counted and not exported.
use super::{MonitorHandle, NodeStats, ReportStats};
use ranlab_e2::Time;
use ranlab_e2_codec::e2sm::{Column, Kind, Model, RowKey, Value};
use ranlab_machine::metrics::{Text, labels};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

/// Default maximum number of exported series.
pub const SERIES_MAX: usize = 10_000;
/// Minimum age of the last report at which values are no longer exported. For long report periods, [`STALE_PERIODS`]
/// applies.
const STALE: Duration = Duration::from_secs(30);
/// Number of periods without a report after which values are no longer exported.
const STALE_PERIODS: u32 = 10;

/// KPI export of a monitor.
#[derive(Debug, Clone)]
pub struct KpiExport {
    /// Reports of the monitor.
    pub monitor: MonitorHandle,
    /// Maximum number of series.
    pub series_max: usize,
}

/// Export of a model's columns.
struct ModelExport {
    model: &'static dyn Model,
    /// Position among the models, in the order of `--kpi`.
    position: usize,
    columns: Vec<Column>,
    metrics: Vec<Metric>,
}

/// A metric: its name, its type, and the column that it shows.
struct Metric {
    name: String,
    kind: &'static str,
    help: String,
    column: usize,
}

impl ModelExport {
    fn new(model: &'static dyn Model, position: usize) -> Self {
        let columns = model.columns();
        let metrics = columns.iter().enumerate();
        let metrics = metrics.filter_map(|(index, column)| Metric::new(model, column, index)).collect();
        Self { model, position, columns, metrics }
    }
}

impl Metric {
    /// Returns `None` for a column that is not exported.
    fn new(model: &dyn Model, column: &Column, index: usize) -> Option<Self> {
        let model = model.name();
        let name = metric_name(model, column)?;
        let unit = if column.unit.is_empty() { String::new() } else { format!(", in {}", column.unit) };
        let kind = if column.kind == Kind::Counter { "counter" } else { "gauge" };
        let help =
            format!("{} of the service model {model}{unit}, as the node last reported it.", column.name);
        Some(Self { name, kind, help, column: index })
    }
}

/// A row that is exported.
struct Line<'a> {
    export: &'a ModelExport,
    labels: String,
    values: &'a [Value],
    is_of_ue: bool,
    /// Number of earlier rows with the same key. KPM has a row for each measurement.
    rank: usize,
}

/// A value that is exported.
struct Sample<'a> {
    line: &'a Line<'a>,
    metric: &'a Metric,
    value: f64,
    /// Position of the metric among the metrics of its row.
    position: usize,
}

impl Sample<'_> {
    /// Returns the rank of a sample when the number of series is limited. Samples of nodes and slices come first. Then follows the first
    /// metric of each model for all UEs, then the second metric, and so on. Each metric is completed before the next one begins, so that
    /// sums over nodes are correct.
    fn priority(&self) -> (bool, usize, usize) {
        (self.line.is_of_ue, self.line.rank + self.position, self.line.export.position)
    }
}

impl KpiExport {
    /// Returns the metrics at a time, in Prometheus text format 0.0.4.
    pub fn text(&self, now: Time) -> String {
        let nodes = self.monitor.snapshot();
        let stale = STALE.max(self.monitor.period() * STALE_PERIODS);
        let mut exports: Vec<ModelExport> = Vec::new();
        for (stats, _) in nodes.iter().flat_map(|node| &node.reports) {
            if !exports.iter().any(|export| export.model.oid() == stats.model.oid()) {
                exports.push(ModelExport::new(stats.model, exports.len()));
            }
        }
        let mut lines = Vec::new();
        for node in &nodes {
            let is_fresh = |stats: &ReportStats| stats.received.is_some_and(|at| now.since(at) <= stale);
            add_lines(node, is_fresh, &exports, &mut lines);
        }
        let mut samples: Vec<Sample<'_>> = lines.iter().flat_map(samples).collect();
        let left_out = samples.len().saturating_sub(self.series_max);
        if left_out > 0 {
            samples.sort_by_key(Sample::priority);
            samples.truncate(self.series_max);
        }
        let mut out = Text(String::new());
        self.counts(&mut out, samples.len(), left_out);
        let mut families: BTreeMap<&str, Vec<&Sample<'_>>> = BTreeMap::new();
        for sample in &samples {
            families.entry(&sample.metric.name).or_default().push(sample);
        }
        for (name, samples) in families {
            let Some(Metric { help, kind, .. }) = samples.first().map(|first| first.metric) else { continue };
            let samples = samples.iter().map(|sample| (sample.line.labels.as_str(), sample.value));
            out.metric(name, help, kind, samples);
        }
        out.0
    }

    fn counts(&self, out: &mut Text, series: usize, left_out: usize) {
        let totals = self.monitor.totals();
        let one = |value: u64| [("", value)];
        out.metric("ranlab_kpi_series", "Series of KPIs in this scrape.", "gauge", one(series as u64));
        out.metric(
            "ranlab_kpi_series_left_out",
            "Values left out of this scrape because the number of series has reached its bound (--kpi-series).",
            "gauge",
            one(left_out as u64),
        );
        for (name, help, value) in [
            ("reports", "Reports that the monitor received.", totals.reports),
            ("malformed", "Reports that could not be read, or were too long to keep.", totals.malformed),
            ("lost", "Reports missing in sequence numbers.", totals.lost),
        ] {
            out.metric(&format!("ranlab_kpi_{name}_total"), help, "counter", one(value));
        }
    }
}

/// Appends the rows of a node's latest reports.
fn add_lines<'a>(
    node: &'a NodeStats,
    is_fresh: impl Fn(&ReportStats) -> bool,
    exports: &'a [ModelExport],
    lines: &mut Vec<Line<'a>>,
) {
    let name = node.node.to_string();
    let mut known: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for (stats, table) in node.reports.iter().filter(|(stats, _)| is_fresh(stats)) {
        let Some(export) = exports.iter().find(|export| export.model.oid() == stats.model.oid()) else {
            continue;
        };
        let mut last = None;
        let mut rank = 0;
        for (key, values) in table.rows() {
            rank = if last == Some(key) { rank + 1 } else { 0 };
            last = Some(key);
            let labels = row_labels(&name, key, &export.columns, values);
            // A report may have several records of one measurement: the last one is the latest.
            match known.entry((export.position, labels)) {
                Entry::Occupied(line) => {
                    if let Some(line) = lines.get_mut(*line.get()) {
                        line.values = values;
                    }
                }
                Entry::Vacant(place) => {
                    let labels = place.key().1.clone();
                    place.insert(lines.len());
                    lines.push(Line { export, labels, values, is_of_ue: key.ue().is_some(), rank });
                }
            }
        }
    }
}

/// Returns the exported values of a row.
fn samples<'a>(line: &'a Line<'a>) -> impl Iterator<Item = Sample<'a>> {
    line.export.metrics.iter().enumerate().filter_map(move |(position, metric)| {
        let value = line.values.get(metric.column)?.number().filter(|number| number.is_finite())?;
        Some(Sample { line, metric, value, position })
    })
}

/// Returns the metric name of a column; `None` if it is not exported.
fn metric_name(model: &str, column: &Column) -> Option<String> {
    let suffix = match column.kind {
        Kind::Counter => "_total",
        Kind::Gauge => "",
        Kind::Label => return None,
    };
    let plain = |name: &str| -> String {
        let of = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        name.chars().map(of).collect()
    };
    column.headline.then(|| format!("ranlab_kpi_{}_{}{suffix}", plain(model), plain(&column.name)))
}

/// Returns the numbers of a row's key, by label name.
fn key_labels(key: RowKey) -> impl Iterator<Item = (&'static str, u32)> {
    let (slice, queue) = match key {
        RowKey::Slice { slice } => (Some(slice.into()), None),
        RowKey::Queue { queue, .. } => (None, Some(queue.into())),
        _ => (None, None),
    };
    let numbers = [
        ("ue", key.ue()),
        ("bearer", key.bearer().map(u32::from)),
        ("tunnel", key.tunnel()),
        ("queue", queue),
        ("slice", slice),
    ];
    numbers.into_iter().filter_map(|(name, number)| Some((name, number?))).chain(key.other())
}

/// Returns the text columns that identify what a row measures. The first KPM column repeats the UE, which is
/// in the key.
fn text_labels<'a>(columns: &'a [Column], values: &'a [Value]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let text = |(column, value): (&'a Column, &'a Value)| match value {
        Value::Text(text) if column.headline && column.kind == Kind::Label && column.name != "of" => {
            Some((column.name.as_ref(), text.as_ref()))
        }
        _ => None,
    };
    columns.iter().zip(values).filter_map(text)
}

fn row_labels(node: &str, key: RowKey, columns: &[Column], values: &[Value]) -> String {
    let numbers: Vec<_> = key_labels(key).map(|(name, number)| (name, number.to_string())).collect();
    let mut pairs = vec![("node", node)];
    pairs.extend(numbers.iter().map(|(name, number)| (*name, number.as_str())));
    for (name, text) in text_labels(columns, values).filter(|(_, text)| !text.is_empty()) {
        pairs.push((if name == "value_unit" { "unit" } else { name }, text));
        // The slice in a KPM label becomes a label, so that queries can aggregate by slice.
        let slice = text.split(' ').find_map(|part| part.strip_prefix("slice="));
        if let Some(slice) = slice.filter(|_| name == "label") {
            pairs.push(("slice", slice));
        }
    }
    labels(&pairs)
}

/// Appends a report in InfluxDB line protocol, with one line per row. The measurement is the model. Key numbers and
/// texts are tags, numeric columns are fields.
pub(super) fn lines(
    out: &mut String,
    node: &str,
    model: &str,
    columns: &[Column],
    rows: impl Iterator<Item = (RowKey, impl AsRef<[Value]>)>,
    tstamp_us: Option<i64>,
) {
    use std::fmt::Write;
    let escaped = |text: &str| {
        let text = text.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=").replace(' ', "\\ ");
        text.replace(['\n', '\r'], "_")
    };
    for (key, values) in rows {
        let values = values.as_ref();
        let mut line = format!("ranlab_{},node={}", escaped(model), escaped(node));
        for (name, number) in key_labels(key) {
            // Writing to a `String` cannot fail.
            let _ = write!(line, ",{name}={number}");
        }
        for (name, text) in text_labels(columns, values).filter(|(_, text)| !text.is_empty()) {
            let _ = write!(line, ",{}={}", escaped(name), escaped(text));
        }
        let mut fields = 0;
        for (column, value) in columns.iter().zip(values) {
            let number = value.number().filter(|number| number.is_finite());
            let Some(number) = number.filter(|_| column.kind != Kind::Label) else { continue };
            let _ = write!(line, "{}{}={number}", if fields == 0 { ' ' } else { ',' }, escaped(&column.name));
            fields += 1;
        }
        if fields > 0 {
            out.push_str(&line);
            if let Some(us) = tstamp_us {
                let _ = write!(out, " {us}000");
            }
            out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests;
