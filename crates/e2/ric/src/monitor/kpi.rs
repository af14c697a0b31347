//! Latest KPIs of nodes, slices and UEs as metrics, in Prometheus text format and in InfluxDB line protocol.
//!
//! A metric is named `ranlab_kpi_MODEL_COLUMN` and has the label `node` and, depending on the row, `ue`,
//! `bearer`, `tunnel`, `queue` or `slice`. Exported are the columns of the narrow table view; text columns
//! among them become labels. The number of series is limited; rows beyond the limit are counted and not
//! exported.
use super::{MonitorHandle, NodeStats, ReportStats};
use ranlab_e2::Time;
use ranlab_e2_codec::e2sm::{Column, Kind, RowKey, Value};
use ranlab_machine::metrics::{Text, labels};
use std::collections::BTreeMap;
use std::time::Duration;

/// Default maximum number of exported series.
pub const SERIES_MAX: usize = 10_000;
/// Age of the last report beyond which values are no longer exported, or ten periods if that is longer.
const STALE: Duration = Duration::from_secs(30);
/// Number of periods without a report after which values are stale.
const STALE_PERIODS: u32 = 10;

/// KPI export of a monitor.
#[derive(Debug, Clone)]
pub struct KpiExport {
    /// Reports of the monitor.
    pub monitor: MonitorHandle,
    /// Maximum number of series.
    pub series_max: usize,
}

/// Metric with its series (labels and value).
#[derive(Debug)]
struct Family {
    kind: &'static str,
    help: String,
    series: BTreeMap<String, f64>,
}

/// Metrics of one scrape.
#[derive(Debug, Default)]
struct Families {
    by_name: BTreeMap<String, Family>,
    count: usize,
    left_out: u64,
}

impl Families {
    fn add(
        &mut self,
        series_max: usize,
        name: &str,
        column: &Column,
        model: &str,
        labels: String,
        value: f64,
    ) {
        let is_counter = column.kind == Kind::Counter;
        let family = match self.by_name.get_mut(name) {
            Some(family) => family,
            None => {
                let unit =
                    if column.unit.is_empty() { String::new() } else { format!(", in {}", column.unit) };
                let help = format!(
                    "{} of the service model {model}{unit}, as the node last reported it.",
                    column.name
                );
                let kind = if is_counter { "counter" } else { "gauge" };
                self.by_name.entry(name.to_owned()).or_insert(Family { kind, help, series: BTreeMap::new() })
            }
        };
        if let Some(known) = family.series.get_mut(&labels) {
            // If a report has several records of one measurement, the last one is the latest.
            *known = value;
        } else if self.count < series_max {
            family.series.insert(labels, value);
            self.count += 1;
        } else {
            self.left_out += 1;
        }
    }
}

impl KpiExport {
    /// Returns the metrics at a time, in Prometheus text format 0.0.4.
    pub fn text(&self, now: Time) -> String {
        let nodes = self.monitor.snapshot();
        let stale = STALE.max(self.monitor.period() * STALE_PERIODS);
        let mut families = Families::default();
        // Rows of nodes and slices come first: they are few, and the limit must not exclude them.
        for of_ues in [false, true] {
            for node in &nodes {
                self.node(node, now, stale, of_ues, &mut families);
            }
        }
        let mut out = Text(String::new());
        let totals = self.monitor.totals();
        let one = |value: u64| [(String::new(), value)];
        out.metric(
            "ranlab_kpi_series",
            "Series of KPIs in this scrape.",
            "gauge",
            one(families.count as u64),
        );
        out.metric(
            "ranlab_kpi_series_left_out",
            "Values left out of this scrape because the number of series has reached its bound (--kpi-series).",
            "gauge",
            one(families.left_out),
        );
        for (name, help, value) in [
            ("reports", "Reports that the monitor received.", totals.reports),
            ("malformed", "Reports that could not be read, or were too long to keep.", totals.malformed),
            ("lost", "Reports missing in sequence numbers.", totals.lost),
        ] {
            out.metric(&format!("ranlab_kpi_{name}_total"), help, "counter", one(value));
        }
        for (name, family) in families.by_name {
            out.metric(&name, &family.help, family.kind, family.series);
        }
        out.0
    }

    fn node(&self, node: &NodeStats, now: Time, stale: Duration, of_ues: bool, families: &mut Families) {
        let name = node.node.to_string();
        for (stats, table) in &node.reports {
            if stats.received.is_none_or(|at| now.since(at) > stale) {
                continue;
            }
            let columns = stats.model.columns();
            let names: Vec<Option<String>> =
                columns.iter().map(|column| metric_name(stats, column)).collect();
            for (key, values) in table.rows().filter(|(key, _)| key.ue().is_some() == of_ues) {
                let labels = row_labels(&name, key, &columns, values);
                for ((column, metric), value) in columns.iter().zip(&names).zip(values) {
                    let number = value.number().filter(|number| number.is_finite());
                    if let (Some(metric), Some(number)) = (metric, number) {
                        let model = stats.model.name();
                        families.add(self.series_max, metric, column, model, labels.clone(), number);
                    }
                }
            }
        }
    }
}

/// Returns the metric name of a column; `None` if it is not exported.
fn metric_name(stats: &ReportStats, column: &Column) -> Option<String> {
    let suffix = match column.kind {
        Kind::Counter => "_total",
        Kind::Gauge => "",
        Kind::Label => return None,
    };
    let plain = |name: &str| -> String {
        let of = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        name.chars().map(of).collect()
    };
    column
        .headline
        .then(|| format!("ranlab_kpi_{}_{}{suffix}", plain(stats.model.name()), plain(&column.name)))
}

/// Returns the numbers of a row's key, by label name.
fn key_labels(key: RowKey) -> [(&'static str, Option<u32>); 5] {
    let (slice, queue) = match key {
        RowKey::Slice { slice } => (Some(slice.into()), None),
        RowKey::Queue { queue, .. } => (None, Some(queue.into())),
        _ => (None, None),
    };
    [
        ("ue", key.ue()),
        ("bearer", key.bearer().map(u32::from)),
        ("tunnel", key.tunnel()),
        ("queue", queue),
        ("slice", slice),
    ]
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
    let numbers: Vec<(&str, String)> =
        key_labels(key).into_iter().filter_map(|(name, number)| Some((name, number?.to_string()))).collect();
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

/// Appends a report in InfluxDB line protocol: one line per row; the measurement is the model, key numbers
/// and texts are tags, numeric columns are fields.
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
            if let Some(number) = number {
                // Writing to a `String` cannot fail.
                let _ = write!(line, ",{name}={number}");
            }
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
