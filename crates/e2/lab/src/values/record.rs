//! Records statistics in a file, for use in data frames.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use ranlab_campaign::export::{self, Cell, FileKind, Heading, RowWriter};
use ranlab_sdk::wire::e2sm::{Model, Type, Value};

use super::{Line, identity};

/// Number of columns that all rows have. They precede the columns of the models.
const COMMON: usize = 7;

/// Reason why statistics cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file name's extension is not supported.
    #[error("{} has an unsupported extension; allowed are .csv and .parquet", .0.display())]
    Form(PathBuf),
    /// The file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Medium {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Recorder that writes a row for each UE, bearer or tunnel of each report. The columns are `time_us` (time at which
/// the base station measured), `received_us`, `node`, `sm`, `ue`, `bearer` and `tunnel`. They are followed by the
/// columns of each model as `MODEL_COLUMN`, which are empty in rows of other models.
///
/// A CSV file can be read at any time. A Parquet file is readable only after [`finish`](Self::finish) has written its
/// footer.
pub struct Recorder {
    path: PathBuf,
    rows: RowWriter<BufWriter<File>>,
    models: Vec<(&'static dyn Model, usize)>,
    written: u64,
}

impl Recorder {
    /// Creates the file, `.csv` or `.parquet`. An existing file is overwritten.
    ///
    /// # Errors
    ///
    /// Returns an error if the extension is not supported, or the file cannot be created.
    pub fn create(path: &Path, models: &[&'static dyn Model]) -> Result<Self, RecordError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let kind = FileKind::from_name(&ending.to_ascii_lowercase());
        let kind = kind.ok_or_else(|| RecordError::Form(path.to_owned()))?;
        let mut headings = vec![
            Heading { unit: "us".to_owned(), ..Heading::new("time_us", export::Type::Int) },
            Heading { unit: "us".to_owned(), ..Heading::new("received_us", export::Type::Int) },
            Heading::new("node", export::Type::Text),
            Heading::new("sm", export::Type::Text),
            Heading::new("ue", export::Type::Unsigned),
            Heading::new("bearer", export::Type::Unsigned),
            Heading::new("tunnel", export::Type::Unsigned),
        ];
        debug_assert_eq!(headings.len(), COMMON);
        let mut at = Vec::new();
        for &model in models {
            at.push((model, headings.len()));
            headings.extend(model.columns().into_iter().map(|column| Heading {
                name: format!("{model}_{}", column.name),
                of: export_type(column.of),
                unit: column.unit.to_owned(),
            }));
        }
        let medium = |source| RecordError::Medium { path: path.to_owned(), source };
        let out = BufWriter::new(File::create(path).map_err(medium)?);
        let about = "statistics of E2 nodes; times are microseconds since 1970-01-01 UTC";
        let rows = RowWriter::new(out, kind, about, headings).map_err(medium)?;
        Ok(Self { path: path.to_owned(), rows, models: at, written: 0 })
    }

    /// Appends a row. Rows of models that are not recorded are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn row(&mut self, line: &Line<'_>) -> Result<(), RecordError> {
        let Some((_, first)) = self.models.iter().find(|(model, _)| *model == line.model) else {
            return Ok(());
        };
        let number = |(_, value): (_, Option<u32>)| value.map(|value| Cell::Unsigned(value.into()));
        let [ue, bearer, tunnel] = identity(line.key).map(number);
        let common: [Option<Cell<'_>>; COMMON] = [
            line.tstamp_us.map(Cell::Int),
            Some(Cell::Int(line.received_us)),
            Some(Cell::Text(&line.node)),
            Some(Cell::Text(line.model.name())),
            ue,
            bearer,
            tunnel,
        ];
        let before = std::iter::repeat_n(None, first - COMMON);
        let values = line.values.iter().map(cell);
        self.rows.row(common.into_iter().chain(before).chain(values)).map_err(medium(&self.path))?;
        self.written += 1;
        Ok(())
    }

    /// Flushes buffered rows.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.rows.flush().map_err(medium(&self.path))
    }

    /// Completes the file. Returns the number of rows.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn finish(self) -> Result<u64, RecordError> {
        self.rows.finish().map_err(medium(&self.path))?;
        Ok(self.written)
    }
}

fn medium(path: &Path) -> impl FnOnce(io::Error) -> RecordError {
    move |source| RecordError::Medium { path: path.to_owned(), source }
}

fn export_type(of: Type) -> export::Type {
    match of {
        Type::Unsigned => export::Type::Unsigned,
        Type::Signed => export::Type::Int,
        Type::Float => export::Type::Float,
        Type::Text => export::Type::Text,
    }
}

/// Converts a value to a cell, or returns `None` for a missing value.
fn cell(value: &Value) -> Option<Cell<'_>> {
    Some(match value {
        Value::Single(value) if value.is_nan() => return None,
        Value::Double(value) if value.is_nan() => return None,
        Value::Unsigned(value) => Cell::Unsigned(*value),
        Value::Signed(value) => Cell::Int(*value),
        Value::Single(value) => Cell::Float((*value).into()),
        Value::Double(value) => Cell::Float(*value),
        Value::Text(value) => Cell::Text(value),
    })
}
