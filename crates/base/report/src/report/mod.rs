//! Builds the figures and the self-contained page of a campaign from its results.

mod axis;
mod beside;
mod build;
mod contour;
mod document;
mod draw;
mod figure;
mod findings;
mod latency;
mod law;
mod legend;
mod live;
mod pooled;
mod trials;
mod waterfall;
mod words;

use std::path::{Path, PathBuf};

use ranlab_campaign::expect::judge;
use ranlab_campaign::results::Results;

pub use beside::beside;
pub use build::figures;
use build::{Drawn, drawn};
pub use document::{Context, Document};
pub use draw::{DrawError, png, svg};

pub use figure::{Across, Answer, Bound, Figure, Form, Mark, Sample, Series};
pub use law::{Law, laws};
pub use live::LiveCampaign;
pub use ranlab_page::escape;

/// Files of a written report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The report as an HTML page.
    pub html: PathBuf,
    /// Every point as CSV.
    pub csv: PathBuf,
    /// Each figure as SVG and as PNG.
    pub figures: Vec<PathBuf>,
    /// CSV of every other table: the verdicts, and for each figure the drawn data and the table below it.
    pub tables: Vec<PathBuf>,
}

/// The report could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A file could not be written.
    #[error("`{file}` cannot be written: {source}")]
    File {
        /// Path of the file.
        file: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A figure could not be drawn, which is a defect of this program.
    #[error(transparent)]
    Draw(#[from] DrawError),
}

/// Creates the document of a report: judged and drawn results.
pub fn document(results: &Results, context: &Context) -> Document {
    Document::new(results, &judge(results), &drawn(results), context)
}

/// Writes `report.html`, `points.csv`, `verdicts.csv`, `figure-N.{svg,png,csv}` and `figure-N-table.csv` into a directory, which is
/// created. A figure without points is not drawn; the page states the reason. Distributions and series (including the trials of a search)
/// are drawn if the results were loaded with them.
///
/// # Errors
/// Returns an error if a file cannot be written or a figure cannot be drawn.
pub fn write(results: &Results, context: &Context, directory: &Path) -> Result<Written, ReportError> {
    let save = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        let failed = |source| ReportError::File { file: path.display().to_string(), source };
        std::fs::write(&path, bytes).map_err(failed)?;
        Ok::<_, ReportError>(path)
    };
    let failed = |source| ReportError::File { file: directory.display().to_string(), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let judged = judge(results);
    let drawn = drawn(results);
    let mut written = Vec::with_capacity(drawn.len() * 2);
    let mut tables = Vec::new();
    for (index, (figure, _)) in drawn.iter().enumerate() {
        if !figure.missing.is_empty() {
            continue;
        }
        let drawing = svg(figure)?;
        written.push(save(&format!("figure-{}.svg", index + 1), draw::standalone(&drawing).as_bytes())?);
        written.push(save(&format!("figure-{}.png", index + 1), &png(figure)?)?);
        tables.push(save(&format!("figure-{}.csv", index + 1), figure.drawn().csv().as_bytes())?);
        if !figure.table.columns.is_empty() {
            let name = format!("figure-{}-table.csv", index + 1);
            tables.push(save(&name, figure.table.csv().as_bytes())?);
        }
    }
    for (index, picture) in context.pictures.iter().enumerate() {
        written.push(save(&format!("picture-{}.svg", index + 1), picture.as_bytes())?);
    }
    if !judged.is_empty() {
        tables.push(save("verdicts.csv", ranlab_campaign::export::verdicts(&judged).csv().as_bytes())?);
    }
    let page = Document::new(results, &judged, &drawn, context).html();
    let html = save("report.html", page.as_bytes())?;
    let csv = save("points.csv", ranlab_campaign::table::csv(results).as_bytes())?;
    Ok(Written { html, csv, figures: written, tables })
}
