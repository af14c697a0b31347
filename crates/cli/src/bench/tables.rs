//! `--csv` and `--parquet`: exports of a campaign as tables for other tools.
use std::path::{Path, PathBuf};

use ranlab_campaign::export::{self, FileKind};
use ranlab_campaign::results::Results;

use crate::exit::Failure;

/// Requested tables.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Tables {
    /// Also write tables/{points,repeats,series,distributions}.csv
    #[arg(long)]
    csv: bool,
    /// Also write these tables as Apache Parquet, for data frames and DuckDB
    #[arg(long)]
    parquet: bool,
}

impl Tables {
    /// Returns whether any table is requested.
    pub(super) fn any(self) -> bool {
        self.csv || self.parquet
    }

    /// Writes the requested tables below the report's folder; returns their paths.
    pub(super) fn write(self, results: &Results, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
        let folder = folder.join("tables");
        let requested = [(self.csv, FileKind::Csv), (self.parquet, FileKind::Parquet)];
        let mut written = Vec::new();
        for (_, kind) in requested.into_iter().filter(|(requested, _)| *requested) {
            let files = export::write(results, kind, &folder).map_err(|error| {
                Failure::Environment(format!("{} cannot be written: {error}", folder.display()))
            })?;
            written.extend(files);
        }
        Ok(written)
    }
}
