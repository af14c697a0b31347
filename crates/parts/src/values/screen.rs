//! The latest values as text: one line for each UE of each base station.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ranlab_sdk::Bytes;
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use ranlab_sdk::wire::e2sm::{Column, Kind, RowKey, Table, Value};

use super::{ModelIndex, NODES_MAX, Values, Watched};

/// Default maximum number of lines.
const LINES_MAX: usize = 200;
/// Minimum width of a column of values.
const WIDTH_MIN: usize = 6;
/// Text for an unknown value.
const UNKNOWN: &str = "-";

/// Available space for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Lines.
    pub lines: usize,
    /// Characters per line.
    pub columns: usize,
}

/// The last displayed values. Counters are displayed as growth per second.
#[derive(Default)]
pub struct Screen {
    before: HashMap<Shown, Counted>,
}

/// Identity of a displayed row.
type Shown = (GlobalE2NodeId, ModelIndex, RowKey);

/// Its time, its numbers, and their growth per second. The growth is `None` if the value is new or decreased (wrapped
/// or restarted).
#[derive(Clone)]
struct Counted {
    tstamp_us: i64,
    numbers: Vec<f64>,
    growth: Vec<Option<f64>>,
}

impl Counted {
    fn new(tstamp_us: i64, row: &[Value], before: Option<&Self>) -> Self {
        let numbers: Vec<f64> = row.iter().filter_map(Value::number).collect();
        let growth = match before {
            // No new report; the displayed values are still valid.
            Some(before) if before.tstamp_us == tstamp_us => before.growth.clone(),
            Some(before) => {
                let seconds = (tstamp_us - before.tstamp_us) as f64 / 1e6;
                let pairs = numbers.iter().zip(&before.numbers);
                pairs
                    .map(|(now, then)| (now >= then && seconds > 0.0).then(|| (now - then) / seconds))
                    .collect()
            }
            None => vec![None; numbers.len()],
        };
        Self { tstamp_us, numbers, growth }
    }
}

/// A line before layout: its identity, and a text for each column.
struct Told {
    node: String,
    ue: String,
    cells: Vec<String>,
}

impl Screen {
    /// Returns a table for a terminal: three header lines, then UEs as far as there is space, then the number of
    /// omitted lines. Columns that do not fit are omitted from the right. Empty before the first report.
    pub fn table(&mut self, values: &Values, room: Room) -> Vec<String> {
        let (told, left_out) = self.look(values, room.lines.saturating_sub(4));
        if told.is_empty() {
            return Vec::new();
        }
        let mut columns = headings(values);
        for (at, column) in columns.iter_mut().enumerate() {
            let cells = told.iter().filter_map(|line| line.cells.get(at)).map(String::len);
            column.width = cells.chain([column.name.len(), column.unit.len(), WIDTH_MIN]).max().unwrap_or(0);
        }
        let width = |of: fn(&Told) -> &String, least: usize| {
            told.iter().map(|line| of(line).len()).max().unwrap_or(0).max(least)
        };
        let (node, ue) = (width(|line| &line.node, 4), width(|line| &line.ue, 2));
        let mut used = node + ue + 1;
        let fit = columns.iter().take_while(|column| {
            used += column.width + 1;
            used <= room.columns
        });
        let fit = fit.count();
        let start = |node_text: &str, ue_text: &str| format!("{node_text:<node$} {ue_text:>ue$}");
        let mut lines = vec![start("", ""), start("node", "ue"), start("", "")];
        let mut model = "";
        for column in &columns[..fit] {
            let name = if column.model == model { "" } else { column.model };
            model = column.model;
            for (line, text) in lines.iter_mut().zip([name, &column.name, &column.unit]) {
                line.push_str(&format!(" {text:>width$}", width = column.width));
            }
        }
        lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
        let mut last = "";
        for told in &told {
            let mut line = start(if told.node == last { "" } else { &told.node }, &told.ue);
            last = &told.node;
            for (column, cell) in columns[..fit].iter().zip(&told.cells) {
                line.push_str(&format!(" {cell:>width$}", width = column.width));
            }
            lines.push(line);
        }
        lines.extend(rest(values.beyond, left_out, columns.len() - fit));
        lines
    }

    /// Returns self-contained lines for a file or a pipe.
    pub fn lines(&mut self, values: &Values) -> Vec<String> {
        let (told, left_out) = self.look(values, LINES_MAX);
        let columns = headings(values);
        let line = |told: Told| {
            let mut line = format!("{}  ue {}", told.node, told.ue);
            let mut model = "";
            for (column, cell) in columns.iter().zip(&told.cells).filter(|(_, cell)| *cell != UNKNOWN) {
                if column.model != model {
                    line.push_str(&format!("  {}", column.model));
                    model = column.model;
                }
                let space = if column.unit.is_empty() { "" } else { " " };
                line.push_str(&format!(" {}={cell}{space}{}", column.name, column.unit));
            }
            line
        };
        told.into_iter().map(line).chain(rest(values.beyond, left_out, 0)).collect()
    }

    /// Decodes the latest reports as far as there is space. Returns the lines, and the number of omitted ones.
    fn look(&mut self, values: &Values, room: usize) -> (Vec<Told>, usize) {
        let before = std::mem::take(&mut self.before);
        let mut told = Vec::new();
        let mut left_out = 0;
        for (node, reports) in &values.latest {
            let of_model = |(model, of): (ModelIndex, &Watched)| {
                let kept = reports.iter().filter(|((index, _), _)| *index == model);
                kept.map(|(_, kept)| read(of, kept)).collect::<Vec<_>>()
            };
            let tables: Vec<_> = values.models.iter().enumerate().map(of_model).collect();
            let rows: Vec<_> = tables.iter().map(|tables| by_ue(tables, values.ue)).collect();
            let ues: BTreeSet<Option<u32>> = rows.iter().flat_map(BTreeMap::keys).copied().collect();
            for ue in ues {
                // A UE with several bearers or tunnels has one line for each.
                let of_ue = |model: ModelIndex| rows[model].get(&ue).map_or(&[][..], Vec::as_slice);
                let lines = (0..rows.len()).map(|model| of_ue(model).len()).max().unwrap_or(0);
                for line in 0..lines {
                    if told.len() >= room {
                        left_out += 1;
                        continue;
                    }
                    let mut cells = Vec::new();
                    for (model, Watched { columns, .. }) in values.models.iter().enumerate() {
                        let Some((key, row)) = of_ue(model).get(line) else {
                            cells.extend(columns.iter().filter(|c| c.headline).map(|_| UNKNOWN.to_owned()));
                            continue;
                        };
                        let shown = (*node, model, *key);
                        let tstamp_us = tables[model].iter().filter_map(|table| table.tstamp_us).max();
                        let tstamp_us = tstamp_us.unwrap_or_default();
                        let counted = Counted::new(tstamp_us, row, before.get(&shown));
                        cells.extend(texts(columns, row, &counted));
                        self.before.insert(shown, counted);
                    }
                    let mut ue = ue.map_or_else(|| UNKNOWN.to_owned(), |ue| ue.to_string());
                    let keys = (0..rows.len()).filter_map(|model| Some(of_ue(model).get(line)?.0));
                    let part =
                        keys.filter_map(|key| key.bearer().map(u32::from).or_else(|| key.tunnel())).next();
                    if let Some(part) = part.filter(|_| lines > 1) {
                        ue.push_str(&format!("/{part}"));
                    }
                    told.push(Told { node: node.to_string(), ue, cells });
                }
            }
        }
        (told, left_out)
    }
}

/// A displayed column.
struct Shape {
    model: &'static str,
    name: String,
    unit: String,
    width: usize,
}

fn headings(values: &Values) -> Vec<Shape> {
    let of = |of: &Watched| {
        let model = of.model.name();
        let headline = of.columns.iter().filter(|column| column.headline);
        let shape = move |column: &Column| {
            let unit =
                if column.kind == Kind::Counter { format!("{}/s", column.unit) } else { column.unit.into() };
            Shape { model, name: column.name.to_string(), unit, width: 0 }
        };
        headline.map(shape).collect::<Vec<_>>()
    };
    values.models.iter().flat_map(of).collect()
}

/// Decodes a stored report. Returns an empty table if it is invalid.
fn read(of: &Watched, kept: &super::Latest) -> Table {
    let octets = |kept: &[u8]| Bytes::copy_from_slice(kept);
    let header = octets(&kept.header);
    let message = octets(&kept.message);
    of.model.table_in(of.encoding, &mut kept.context.clone(), &header, &message).unwrap_or_default()
}

type RowsByUe<'a> = BTreeMap<Option<u32>, Vec<(RowKey, &'a [Value])>>;

fn by_ue(tables: &[Table], only: Option<u32>) -> RowsByUe<'_> {
    let mut rows = RowsByUe::new();
    for (key, values) in
        tables.iter().flat_map(Table::rows).filter(|(key, _)| only.is_none() || key.ue() == only)
    {
        rows.entry(key.ue()).or_default().push((key, values));
    }
    rows
}

/// Returns the texts of a row's headline columns.
fn texts(columns: &[Column], row: &[Value], counted: &Counted) -> Vec<String> {
    let mut growth = counted.growth.iter();
    let mut texts = Vec::new();
    for (column, value) in columns.iter().zip(row) {
        let number = value.number();
        let growth = number.and_then(|_| *growth.next()?);
        if column.headline {
            texts.push(match (column.kind, number) {
                (Kind::Counter, Some(_)) => growth.map_or_else(|| UNKNOWN.to_owned(), short),
                (Kind::Gauge, Some(number)) if number.is_nan() => UNKNOWN.to_owned(),
                (Kind::Gauge, Some(number)) => short(number),
                _ => value.to_string(),
            });
        }
    }
    texts
}

/// Formats a number in few characters: at least three digits, and an SI prefix from one million on.
fn short(number: f64) -> String {
    let size = number.abs();
    let (scaled, prefix) = match size {
        _ if size >= 1e9 => (number / 1e9, "G"),
        _ if size >= 1e6 => (number / 1e6, "M"),
        _ => (number, ""),
    };
    let whole = scaled.fract() == 0.0 && prefix.is_empty();
    let digits = match scaled.abs() {
        scaled if whole || scaled >= 100.0 => 0,
        scaled if scaled >= 10.0 => 1,
        scaled if scaled >= 1.0 => 2,
        _ => 3,
    };
    format!("{scaled:.digits$}{prefix}")
}

/// Returns a note about omitted lines and columns.
fn rest(beyond: bool, lines: usize, columns: usize) -> Option<String> {
    let all = "--record and --format ndjson have all";
    match (beyond, lines, columns) {
        (true, ..) => Some(format!("… more, of {NODES_MAX} base stations and those beyond: {all}")),
        (_, 1.., _) => Some(format!("… {lines} lines more: --ue shows one UE, {all}")),
        (_, _, 1..) => Some(format!("… {columns} columns more: they need a wider terminal")),
        _ => None,
    }
}
