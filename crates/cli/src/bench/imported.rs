//! Reads results of other tools: CSV tables, and JSON files of hyperfine.
use std::path::Path;

use ranlab_campaign::results::Results;
use ranlab_report::import;

use super::stored::text_of;
use crate::exit::Failure;

/// Returns whether a path names a CSV table.
pub(super) fn is_table(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
}

/// Reads a CSV table as results. The columns in `axes` are settings regardless of their content.
pub(super) fn table(path: &Path, axes: &[String]) -> Result<Results, Failure> {
    import::csv(&text_of(path)?, &title(path), axes)
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// Reads results of hyperfine.
pub(super) fn hyperfine(path: &Path, text: &str) -> Result<Results, Failure> {
    import::hyperfine(text, &title(path))
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// Returns whether results were imported from another tool.
pub(super) fn is(results: &Results) -> bool {
    results.scenario.rig == import::RIG
}

fn title(path: &Path) -> String {
    path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}
