//! Read-only SQL over a campaign's file.

use rusqlite::types::ValueRef;

use ranlab_campaign::value::Value;

use super::{Store, StoreError};

/// Maximum number of rows that a query returns; `more` reports that rows were omitted.
pub const QUERY_ROWS_MAX: usize = 1_000_000;

/// A query's result.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values by row; `None` is SQL's NULL.
    pub rows: Vec<Vec<Option<Value>>>,
    /// Whether rows were omitted beyond [`QUERY_ROWS_MAX`].
    pub more: bool,
}

impl Store {
    /// Answers one SQL query over the tables `campaign`, `points`, `repeats`, `metrics`, `names`, `series`,
    /// `histograms` and the view `results`. Anything that would change the file is refused.
    ///
    /// # Errors
    /// The query is invalid; the error has SQLite's message.
    pub fn query(&self, sql: &str) -> Result<Rows, StoreError> {
        let refuse = |error: rusqlite::Error| StoreError::Query(error.to_string());
        let mut statement = self.connection.prepare(sql).map_err(refuse)?;
        if !statement.readonly() {
            return Err(StoreError::Query(
                "it would change the file; only queries that read are allowed, such as SELECT".to_owned(),
            ));
        }
        let columns: Vec<String> = statement.column_names().iter().map(|&name| name.to_owned()).collect();
        let mut cursor = statement.query([]).map_err(refuse)?;
        let mut rows = Vec::new();
        let mut more = false;
        while let Some(row) = cursor.next().map_err(refuse)? {
            if rows.len() == QUERY_ROWS_MAX {
                more = true;
                break;
            }
            let values = (0..columns.len()).map(|index| row.get_ref(index).map(value_of));
            rows.push(values.collect::<Result<_, _>>().map_err(refuse)?);
        }
        Ok(Rows { columns, rows, more })
    }
}

fn value_of(value: ValueRef<'_>) -> Option<Value> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(int) => Some(Value::Int(int)),
        ValueRef::Real(real) => Some(Value::Float(real)),
        ValueRef::Text(text) => Some(Value::Text(String::from_utf8_lossy(text).into_owned())),
        ValueRef::Blob(blob) => Some(Value::Text(format!("{} bytes", blob.len()))),
    }
}
