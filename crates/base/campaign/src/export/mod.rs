//! Exports results as tables for other tools: CSV for people, Parquet for data frames.

mod parquet;
mod rows;
mod tables;

pub use parquet::{ROW_GROUP_ROWS, parquet};
pub use rows::RowWriter;
pub use tables::{distributions, points, repeats, series, verdicts};

use std::fmt;
use std::path::{Path, PathBuf};

use crate::named::named;
use crate::results::Results;
use crate::table::line;

named! {
    /// File formats of exported tables.
    pub enum FileKind {
        /// Comma-separated values, RFC 4180.
        Csv = "csv",
        /// A file in the format Apache Parquet.
        Parquet = "parquet",
    }
}

/// Writes `points`, `repeats`, and, if the results were loaded with them, `series` and `distributions` into a directory,
/// which is created. Returns the written files.
///
/// # Errors
/// Returns an error if writing fails.
pub fn write(results: &Results, kind: FileKind, directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory)?;
    type Make = fn(&Results) -> Table;
    let tables: [(&str, Make); 4] =
        [("points", points), ("repeats", repeats), ("series", series), ("distributions", distributions)];
    let mut written = Vec::new();
    for (name, make) in tables {
        let table = make(results);
        if table.rows() == 0 {
            continue;
        }
        let (ending, bytes) = match kind {
            FileKind::Csv => ("csv", table.csv().into_bytes()),
            FileKind::Parquet => ("parquet", parquet(&table)),
        };
        let path = directory.join(format!("{name}.{ending}"));
        std::fs::write(&path, bytes)?;
        written.push(path);
    }
    Ok(written)
}

/// A table by columns, all of one length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Name and values of each column.
    pub columns: Vec<(String, Column)>,
}

/// Type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Truth values.
    Bool,
    /// Whole numbers.
    Int,
    /// Whole numbers, zero or above.
    Unsigned,
    /// Floating-point numbers.
    Float,
    /// Text.
    Text,
}

/// A column before its values are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Unique name in the table.
    pub name: String,
    /// Type of the column's values.
    pub of: Type,
    /// Unit of the column's values; empty without a unit.
    pub unit: String,
}

impl Heading {
    /// Creates a column without a unit.
    pub fn new(name: impl Into<String>, of: Type) -> Self {
        Self { name: name.into(), of, unit: String::new() }
    }
}

/// One value of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Value of a [`Type::Bool`] column.
    Bool(bool),
    /// Value of a [`Type::Int`] column.
    Int(i64),
    /// Value of a [`Type::Unsigned`] column.
    Unsigned(u64),
    /// Value of a [`Type::Float`] column.
    Float(f64),
    /// Value of a [`Type::Text`] column.
    Text(&'a str),
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Values of one type; `None` is a missing value.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Truth values.
    Bool(Vec<Option<bool>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Floating-point numbers.
    Float(Vec<Option<f64>>),
    /// Text.
    Text(Vec<Option<String>>),
}

impl Column {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the type of the values.
    pub fn value_type(&self) -> Type {
        match self {
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Float(_) => Type::Float,
            Self::Text(_) => Type::Text,
        }
    }

    /// Returns the value of a row; `None` if it is missing, or after the last row.
    pub fn get(&self, row: usize) -> Option<Cell<'_>> {
        match self {
            Self::Bool(values) => values.get(row)?.map(Cell::Bool),
            Self::Int(values) => values.get(row)?.map(Cell::Int),
            Self::Float(values) => values.get(row)?.map(Cell::Float),
            Self::Text(values) => values.get(row)?.as_deref().map(Cell::Text),
        }
    }

    /// Formats the value of a row for CSV; a missing value is empty.
    pub fn cell(&self, row: usize) -> String {
        csv_field(self.get(row))
    }
}

/// Formats a value for CSV; a missing value is empty.
fn csv_field(cell: Option<Cell<'_>>) -> String {
    cell.map_or_else(String::new, |cell| cell.to_string())
}

impl Table {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Returns the table as CSV with a heading (RFC 4180).
    pub fn csv(&self) -> String {
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut csv = line(&heading);
        for row in 0..self.rows() {
            let cells: Vec<String> = self.columns.iter().map(|(_, column)| column.cell(row)).collect();
            csv.push_str(&line(&cells));
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_values_are_empty_cells() {
        let table = Table {
            columns: vec![
                ("a".to_owned(), Column::Int(vec![Some(1), None])),
                ("b".to_owned(), Column::Text(vec![Some("x, y".to_owned()), None])),
                ("c".to_owned(), Column::Float(vec![None, Some(0.5)])),
                ("d".to_owned(), Column::Bool(vec![Some(true), None])),
            ],
        };
        assert_eq!(table.csv(), "a,b,c,d\r\n1,\"x, y\",,true\r\n,,0.5,\r\n");
        assert_eq!(Table::default().csv(), "\r\n");
    }
}
