//! Content of a figure, independent of its source and of its drawing.

use serde::ser::{Serialize, SerializeMap, Serializer};

use ranlab_campaign::export::{Column, Table};
use ranlab_campaign::search::TrialOutcome;

/// A figure. The page draws its JSON form (`web/document.js`).
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Figure {
    /// Title above the figure: a sentence with units.
    pub title: String,
    /// Caption below the figure: notes for the reader.
    pub caption: String,
    /// Reason why the figure is not drawn; empty if it is drawn.
    pub missing: String,
    /// Horizontal axis.
    pub x: Across,
    /// Label of the horizontal axis, with the unit.
    pub x_label: String,
    /// Label of the vertical axis, with the unit.
    pub y_label: String,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// Whether the horizontal and the vertical axis begin at 0.
    pub zero: (bool, bool),
    /// Data series.
    pub series: Vec<Series>,
    /// Expected values at single positions.
    pub marks: Vec<Mark>,
    /// Expected bounds, as horizontal lines.
    pub bounds: Vec<Bound>,
    /// Result of a search: a vertical line in its interval.
    pub answer: Option<Answer>,
    /// Numbers that belong to the figure and are read better in a table.
    #[serde(serialize_with = "rows")]
    pub table: Table,
}

/// Serializes a table as `{"head": […], "rows": [[…]]}` without empty columns, or as `null` if it has no column.
fn rows<S: Serializer>(table: &Table, serializer: S) -> Result<S::Ok, S::Error> {
    if table.columns.is_empty() {
        return serializer.serialize_none();
    }
    let has_value = |column: &&(String, Column)| (0..table.rows()).any(|row| !column.1.cell(row).is_empty());
    let shown: Vec<&(String, Column)> = table.columns.iter().filter(has_value).collect();
    let head: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    let row = |row| shown.iter().map(|(_, column)| column.cell(row)).collect::<Vec<String>>();
    let rows: Vec<Vec<String>> = (0..table.rows()).map(row).collect();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("head", &head)?;
    map.serialize_entry("rows", &rows)?;
    map.end()
}

/// Kind of the horizontal axis.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Across {
    /// An axis of numbers.
    Numbers {
        /// Whether the axis is logarithmic.
        log: bool,
    },
    /// Names, each at its index.
    Names(Vec<String>),
}

/// Samples that belong together.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Series {
    /// Name in the legend, or at the end of its line.
    pub name: String,
    /// Form of the drawing.
    pub form: Form,
    /// Index of the colour; series with the same colour share a legend entry.
    pub color: usize,
    /// Samples in ascending order of x.
    pub samples: Vec<Sample>,
}

/// Form of a series' drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line through means in a band.
    Band,
    /// Points with whiskers.
    Whiskers,
    /// A plain line.
    Line,
    /// An area on top of the previous ones: `low` and `high` are its edges, `y` is its height.
    Area,
    /// A line with upward steps.
    Steps,
    /// Bars with whiskers.
    Bars,
    /// Bars in steps: `low` and `high` are the edges of a bar, and `y` is its height.
    Falls,
    /// Boxes from quartile to quartile.
    Boxes,
    /// Cells of a heat map: `y` is the row's index, and both `ends` are the value that the colour shows.
    Cells,
    /// A line of equal value.
    Contour,
    /// Faint points at the measured positions.
    Dots,
    /// A faint line that leads the eye.
    Guide,
    /// Trials of a search. A circle means passed, a cross failed, a triangle that not all of the load was sent. Bold
    /// marks had the full duration.
    Trials {
        /// Results of the trials.
        gave: TrialOutcome,
        /// Whether the trials had the full duration.
        full: bool,
    },
}

impl Form {
    /// Returns the name that the page uses.
    fn name(self) -> &'static str {
        match self {
            Self::Band => "band",
            Self::Whiskers => "whiskers",
            Self::Line => "line",
            Self::Area => "area",
            Self::Steps => "steps",
            Self::Bars => "bars",
            Self::Falls => "falls",
            Self::Boxes => "boxes",
            Self::Cells => "cells",
            Self::Contour => "contour",
            Self::Dots => "dots",
            Self::Guide => "guide",
            Self::Trials { .. } => "trials",
        }
    }

    /// Whether each sample has an interval or edges.
    fn ranged(self) -> bool {
        matches!(self, Self::Band | Self::Whiskers | Self::Bars | Self::Falls | Self::Boxes | Self::Area)
    }
}

/// A drawn value with its position and interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Horizontal position: number, or index of the name.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Lower end of the interval; of a box, the first quartile.
    pub low: f64,
    /// Upper end of the interval; of a box, the third quartile.
    pub high: f64,
    /// Whiskers of a box. For a cell, both are the value that the colour shows.
    pub ends: (f64, f64),
}

impl Sample {
    /// Creates a point without an interval.
    pub(super) fn at(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y, ends: (y, y) }
    }
}

/// Serialized as `{"name": "trials", "gave": "pass", "full": true}`; only trials have the last two keys.
impl Serialize for Form {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name())?;
        if let Self::Trials { gave, full } = self {
            let gave = match gave {
                TrialOutcome::Pass => "pass",
                TrialOutcome::Fail => "fail",
                TrialOutcome::Unsent => "unsent",
            };
            map.serialize_entry("gave", gave)?;
            map.serialize_entry("full", full)?;
        }
        map.end()
    }
}

/// Serialized as `[x, y]`, `[x, y, low, high]` or `[x, y, low, high, least, most]`, depending on the available
/// information.
impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = [self.x, self.y, self.low, self.high, self.ends.0, self.ends.1];
        let length = match (self.ends == (self.low, self.high), self.low == self.y && self.high == self.y) {
            (true, true) => 2,
            (true, false) => 4,
            (false, _) => 6,
        };
        serializer.collect_seq(&all[..length])
    }
}

/// A value that is expected at one position.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Mark {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Colour of the series that the value belongs to; `None` if it belongs to no single series.
    pub color: Option<usize>,
    /// Whether the value is published in the work that the scenario reproduces; otherwise it is the user's own.
    pub published: bool,
}

/// A bound that applies to the whole figure.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Bound {
    /// Vertical position.
    pub y: f64,
    /// Colour of the series that the bound belongs to; `None` if it belongs to no single series.
    pub color: Option<usize>,
    /// Label at the line.
    pub name: String,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Answer {
    /// Horizontal position.
    pub x: f64,
    /// Interval of the result.
    pub interval: (f64, f64),
    /// Label at the line.
    pub name: String,
}

/// Returns the word for the source of an expected value.
pub(super) fn whose(published: bool) -> &'static str {
    if published { "published" } else { "expected" }
}

impl Figure {
    /// Returns the drawn data as numbers: series, horizontal position (for names, their text), value, interval.
    /// Expected values come last.
    pub fn drawn(&self) -> Table {
        // Series, x, y, and the interval of y.
        type Row = (String, Option<f64>, Option<f64>, Option<(f64, f64)>);
        let mut rows: Vec<Row> = Vec::new();
        for series in &self.series {
            let name = series.name.lines().next().unwrap_or_default();
            let cells = series.form == Form::Cells;
            for s in &series.samples {
                let y = if cells { s.ends.0 } else { s.y };
                let row = series.name.lines().nth(1 + s.y.max(0.0) as usize).filter(|_| cells);
                let name = row.map_or_else(|| name.to_owned(), |row| format!("{name} at {row}"));
                rows.push((name, Some(s.x), Some(y), series.form.ranged().then_some((s.low, s.high))));
            }
        }
        let marks = self.marks.iter();
        rows.extend(marks.map(|mark| (whose(mark.published).to_owned(), Some(mark.x), Some(mark.y), None)));
        rows.extend(self.bounds.iter().map(|bound| (bound.name.clone(), None, Some(bound.y), None)));
        rows.extend(self.answer.iter().map(|found| (found.name.clone(), Some(found.x), None, None)));
        let x = match &self.x {
            Across::Numbers { .. } => Column::Float(rows.iter().map(|row| row.1).collect()),
            Across::Names(names) => {
                Column::Text(rows.iter().map(|row| names.get(row.1? as usize).cloned()).collect())
            }
        };
        let float = |of: fn(&Row) -> Option<f64>| Column::Float(rows.iter().map(of).collect());
        Table {
            columns: vec![
                ("series".to_owned(), Column::Text(rows.iter().map(|row| Some(row.0.clone())).collect())),
                (self.x_label.clone(), x),
                (self.y_label.clone(), float(|row| row.2)),
                ("low".to_owned(), float(|row| row.3.map(|range| range.0))),
                ("high".to_owned(), float(|row| row.3.map(|range| range.1))),
            ],
        }
    }
}
