//! Results of campaigns as columns.
use crate::errors::{Class, Fault};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ranlab_campaign::export::{self, Column, FileKind, Table};
use ranlab_campaign::results::Results;
use ranlab_report::store::{Load, Store};
use std::path::{Path, PathBuf};

/// File name of a campaign's store.
const STORE: &str = "campaign.sqlite";

fn results(path: &Path) -> Result<Results, Fault> {
    let file = if path.is_dir() { path.join(STORE) } else { path.to_owned() };
    if !file.exists() {
        let what =
            format!("there is no campaign at {}; name a folder that `bench run` wrote", file.display());
        return Err(Fault::config(what));
    }
    let read = Store::read(&file).and_then(|store| store.results(Load::All));
    read.map_err(|error| Fault::new(Class::Environment, error))
}

fn columns<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in &table.columns {
        match column {
            Column::Bool(values) => columns.set_item(name, values)?,
            Column::Int(values) => columns.set_item(name, values)?,
            Column::Float(values) => columns.set_item(name, values)?,
            Column::Text(values) => columns.set_item(name, values)?,
        }
    }
    Ok(columns)
}

/// Returns the tables of a campaign, each as a list per column. `None` denotes a missing value.
#[pyfunction]
pub(crate) fn read_campaign(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let results = py.detach(|| results(&path))?;
    let tables = PyDict::new(py);
    type Make = fn(&Results) -> Table;
    let made: [(&str, Make); 4] = [
        ("points", export::points),
        ("repeats", export::repeats),
        ("series", export::series),
        ("distributions", export::distributions),
    ];
    for (name, make) in made {
        let table = py.detach(|| make(&results));
        tables.set_item(name, columns(py, &table)?)?;
    }
    Ok(tables)
}

/// Writes the tables to a folder as Parquet or CSV files. Returns their paths.
#[pyfunction]
pub(crate) fn write_tables(
    py: Python<'_>,
    path: PathBuf,
    folder: PathBuf,
    parquet: bool,
) -> PyResult<Vec<PathBuf>> {
    let kind = if parquet { FileKind::Parquet } else { FileKind::Csv };
    let written = py.detach(|| {
        let results = results(&path)?;
        export::write(&results, kind, &folder).map_err(|error| Fault::new(Class::Environment, error))
    });
    Ok(written?)
}
