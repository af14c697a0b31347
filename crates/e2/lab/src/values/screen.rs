//! The latest values as text: one line for each UE of each base station.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use ranlab_sdk::wire::e2sm::common::UeJoin;
use ranlab_sdk::wire::e2sm::{Column, Kind, RowKey, Table, Value};

use super::{ActionKey, Latest, ModelIndex, NODES_MAX, Values, Watched};

/// Maximum number of lines if the output is not a terminal.
const LINES_MAX: usize = 200;
/// Minimum width of a column of values.
const WIDTH_MIN: usize = 6;
/// Heading of the column with notes on the reliability of values.
const MARKS: &str = "note";
/// Text for an unknown value.
const UNKNOWN: &str = "-";

/// Available space for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Number of available lines.
    pub lines: usize,
    /// Number of available characters per line.
    pub columns: usize,
}

/// State of the display. Counters are displayed as growth per second since the last displayed value.
#[derive(Default)]
pub struct Screen {
    before: HashMap<Shown, Counted>,
    /// Current time, in microseconds since the Unix epoch; without it ages are not shown.
    now_us: Option<i64>,
}

/// Identity of a displayed row.
type Shown = (GlobalE2NodeId, ModelIndex, RowKey);

/// Time of a row, its numbers, and their growth per second. The growth is `None` if the value is new or has decreased
/// (wrapped or restarted).
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
            // There is no new report, so the displayed growth is still valid.
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

/// A line before layout: its identity, and the text of each column.
struct ScreenLine {
    node: String,
    ue: String,
    /// Notes on the reliability of the values: age if stale, and lost reports.
    marks: String,
    cells: Vec<String>,
}

/// Displayed number of each UE identity. All identities of a UE have the same number.
type Numbers = BTreeMap<(GlobalE2NodeId, String), u32>;

impl Screen {
    /// Sets the current time, in microseconds since the Unix epoch.
    pub fn set_now(&mut self, now_us: i64) {
        self.now_us = Some(now_us);
    }

    /// Returns a table for a terminal: three header lines, then as many UEs as fit, then the number of omitted lines.
    /// Columns that do not fit are omitted from the right. The table is empty before the first report.
    pub fn table(&mut self, values: &Values, room: Room) -> Vec<String> {
        let (visible, left_out) = self.visible_lines(values, room.lines.saturating_sub(4));
        if visible.is_empty() {
            return Vec::new();
        }
        let mut columns = headings(values);
        for (at, column) in columns.iter_mut().enumerate() {
            let cells = visible.iter().filter_map(|line| line.cells.get(at)).map(String::len);
            column.width = cells.chain([column.name.len(), column.unit.len(), WIDTH_MIN]).max().unwrap_or(0);
        }
        let width = |of: fn(&ScreenLine) -> &String, least: usize| {
            visible.iter().map(|line| of(line).len()).max().unwrap_or(0).max(least)
        };
        let node = width(|line| &line.node, 4);
        let ue = width(|line| &line.ue, 2);
        let marks = width(|line| &line.marks, 0);
        // The column for notes is shown only while a value is doubtful.
        let marks = if marks == 0 { 0 } else { marks.max(MARKS.len()) };
        let mut used = node + ue + 1 + if marks == 0 { 0 } else { marks + 1 };
        let fit = columns.iter().take_while(|column| {
            used += column.width + 1;
            used <= room.columns
        });
        let fit = fit.count();
        let start = |node_text: &str, ue_text: &str, mark: &str| {
            let gap = if marks == 0 { "" } else { " " };
            format!("{node_text:<node$} {ue_text:>ue$}{gap}{mark:>marks$}")
        };
        let mark = if marks == 0 { "" } else { MARKS };
        let mut lines = vec![start("", "", ""), start("node", "ue", mark), start("", "", "")];
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
        for row in &visible {
            let mut line = start(if row.node == last { "" } else { &row.node }, &row.ue, &row.marks);
            last = &row.node;
            for (column, cell) in columns[..fit].iter().zip(&row.cells) {
                line.push_str(&format!(" {cell:>width$}", width = column.width));
            }
            lines.push(line);
        }
        lines.extend(rest(values.beyond, left_out, columns.len() - fit));
        lines
    }

    /// Returns self-contained lines for a file or a pipe.
    pub fn lines(&mut self, values: &Values) -> Vec<String> {
        let (visible, left_out) = self.visible_lines(values, LINES_MAX);
        let columns = headings(values);
        let line = |row: ScreenLine| {
            let mut line = format!("{}  ue {}", row.node, row.ue);
            if !row.marks.is_empty() {
                line.push_str(&format!("  ({})", row.marks));
            }
            let mut model = "";
            for (column, cell) in columns.iter().zip(&row.cells).filter(|(_, cell)| *cell != UNKNOWN) {
                if column.model != model {
                    line.push_str(&format!("  {}", column.model));
                    model = column.model;
                }
                let space = if column.unit.is_empty() { "" } else { " " };
                line.push_str(&format!(" {}={cell}{space}{}", column.name, column.unit));
            }
            line
        };
        visible.into_iter().map(line).chain(rest(values.beyond, left_out, 0)).collect()
    }

    /// Decodes all latest reports. Returns at most `room` lines, and the number of omitted lines.
    fn visible_lines(&mut self, values: &Values, room: usize) -> (Vec<ScreenLine>, usize) {
        let before = std::mem::take(&mut self.before);
        let read: BTreeMap<&GlobalE2NodeId, Vec<Vec<Read>>> =
            values.latest.iter().map(|(node, reports)| (node, tables(values, reports))).collect();
        let numbers = numbers(values, &read);
        let mut visible = Vec::new();
        let mut left_out = 0;
        for (node, tables) in &read {
            let rows: Vec<_> = tables.iter().map(|tables| by_ue(tables, values.ue)).collect();
            let ues: BTreeSet<Option<u32>> = rows.iter().flat_map(BTreeMap::keys).copied().collect();
            for ue in ues {
                // A UE with several bearers or tunnels has one line for each.
                let of_ue = |model: ModelIndex| rows[model].get(&ue).map_or(&[][..], Vec::as_slice);
                let lines = (0..rows.len()).map(|model| of_ue(model).len()).max().unwrap_or(0);
                for line in 0..lines {
                    if visible.len() >= room {
                        left_out += 1;
                        continue;
                    }
                    let of_line: Vec<_> = (0..rows.len()).map(|model| of_ue(model).get(line)).collect();
                    let cells = self.cells(values, node, tables, &of_line, &before);
                    let ue = label(values, node, ue, &of_line[..], lines, &numbers);
                    let marks = self.marks(values, node, &of_line);
                    visible.push(ScreenLine { node: node.to_string(), ue, marks, cells });
                }
            }
        }
        (visible, left_out)
    }

    /// Returns the cells of a line: one text for each column marked `headline`, over all models.
    fn cells(
        &mut self,
        values: &Values,
        node: &GlobalE2NodeId,
        tables: &[Vec<Read>],
        of_line: &[Option<&RowOf<'_>>],
        before: &HashMap<Shown, Counted>,
    ) -> Vec<String> {
        let mut cells = Vec::new();
        for (model, Watched { columns, .. }) in values.models.iter().enumerate() {
            let Some(RowOf { key, row, .. }) = of_line[model] else {
                cells.extend(columns.iter().filter(|c| c.headline).map(|_| UNKNOWN.to_owned()));
                continue;
            };
            let shown = (*node, model, *key);
            let tstamp_us = tables[model].iter().filter_map(|(_, table)| table.tstamp_us).max();
            let counted = Counted::new(tstamp_us.unwrap_or_default(), row, before.get(&shown));
            cells.extend(texts(columns, row, &counted));
            self.before.insert(shown, counted);
        }
        cells
    }

    /// Returns the age of a line's oldest report if it is stale, and the lost reports of its base station.
    fn marks(&self, values: &Values, node: &GlobalE2NodeId, of_line: &[Option<&RowOf<'_>>]) -> String {
        let oldest = of_line.iter().flatten().map(|row| row.received_us).min();
        let age_us = self.now_us.zip(oldest).map(|(now, then)| now.saturating_sub(then));
        let stale = age_us.filter(|age| *age > values.stale_after_us);
        let stale = stale.map(|age| format!("stale {} s", age / 1_000_000));
        let lost = values.lost.get(node).filter(|lost| **lost > 0).map(|lost| format!("{lost} lost"));
        stale.into_iter().chain(lost).collect::<Vec<_>>().join(", ")
    }
}

/// Arrival time of a report, and its table.
type Read = (i64, Table);

/// Returns the tables of a base station's latest reports, by model.
fn tables(values: &Values, reports: &BTreeMap<(ModelIndex, ActionKey), Latest>) -> Vec<Vec<Read>> {
    let of_model = |(model, of): (ModelIndex, &Watched)| {
        let kept = reports.iter().filter(|((index, _), _)| *index == model);
        kept.map(|(_, kept)| (kept.received_us, of.read(kept))).collect()
    };
    values.models.iter().enumerate().map(of_model).collect()
}

fn numbers(values: &Values, read: &BTreeMap<&GlobalE2NodeId, Vec<Vec<Read>>>) -> Numbers {
    let mut join = UeJoin::default();
    for (node, tables) in read {
        for (of, tables) in values.models.iter().zip(tables) {
            tables.iter().for_each(|(_, table)| of.add_ids(node, table, &mut join));
        }
    }
    let mut numbers = Numbers::new();
    for ue in join.ues() {
        let number = ue.number();
        numbers.extend(ue.nodes.into_iter().map(|(node, ids)| ((node, ids), number)));
    }
    numbers
}

/// Returns the label of a UE: its number, which is the same at all nodes of the base station. If the UE has several
/// lines, the bearer or tunnel of this line follows.
fn label(
    values: &Values,
    node: &GlobalE2NodeId,
    ue: Option<u32>,
    of_line: &[Option<&RowOf<'_>>],
    lines: usize,
    numbers: &Numbers,
) -> String {
    let models = values.models.iter().zip(of_line);
    let ids = models.filter_map(|(of, row)| of.ids(row.as_ref()?.row)).next();
    let shared = ids.and_then(|ids| numbers.get(&(*node, ids.to_owned())).copied());
    let mut label = shared.or(ue).map_or_else(|| UNKNOWN.to_owned(), |ue| ue.to_string());
    let keys = of_line.iter().flatten().map(|row| row.key);
    let part = keys.filter_map(|key| key.bearer().map(u32::from).or_else(|| key.tunnel())).next();
    if let Some(part) = part.filter(|_| lines > 1) {
        label.push_str(&format!("/{part}"));
    }
    label
}

/// Heading and width of a displayed column.
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

/// A row with the arrival time of its report.
struct RowOf<'a> {
    key: RowKey,
    row: &'a [Value],
    received_us: i64,
}

type RowsByUe<'a> = BTreeMap<Option<u32>, Vec<RowOf<'a>>>;

fn by_ue(tables: &[Read], only: Option<u32>) -> RowsByUe<'_> {
    let mut rows = RowsByUe::new();
    for (received_us, table) in tables {
        for (key, row) in table.rows().filter(|(key, _)| only.is_none() || key.ue() == only) {
            rows.entry(key.ue()).or_default().push(RowOf { key, row, received_us: *received_us });
        }
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

/// Formats a number in few characters, with an SI prefix from one million on. Smaller whole numbers have no decimals;
/// other numbers have at least three digits.
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
    let all = "--record and --format ndjson contain all values";
    match (beyond, lines, columns) {
        (true, ..) => {
            Some(format!("… more than {NODES_MAX} base stations, of which not all are shown; {all}"))
        }
        (_, 1.., _) => Some(format!("… {lines} more lines; --ue shows one UE, {all}")),
        (_, _, 1..) => Some(format!("… {columns} more columns require a wider terminal")),
        _ => None,
    }
}
