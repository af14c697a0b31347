//! Standard output: text, or JSON for programs.
use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use serde::Serialize;

use crate::exit::Failure;

/// Output format, `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Text.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per line while running, then the same object as with `json`.
    Ndjson,
}

/// Whether the final object has been written. An earlier error becomes part of this object; a later error appears only on
/// stderr.
static FINISHED: AtomicBool = AtomicBool::new(false);

/// Resets the state that an earlier verb of this process has left.
pub fn begin() {
    FINISHED.store(false, Ordering::Relaxed);
}

/// Writes `{"error": ...}` in a JSON format if a verb failed before it wrote its final object.
pub fn error_object(format: Format, failure: &Failure) {
    let Some(error) = failure.json().filter(|_| !FINISHED.load(Ordering::Relaxed)) else { return };
    // Exit code and stderr report the failure even if this write fails.
    let _ = Output::new(format).finish(&serde_json::json!({ "error": error }));
}

/// Buffered stdout; dropping it writes the remaining data without checking for errors.
#[derive(Debug)]
pub struct Output {
    format: Format,
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Returns the output of this process.
    pub fn new(format: Format) -> Self {
        Self { format, out: BufWriter::new(io::stdout().lock()) }
    }

    /// Writes a line in text format; nothing in other formats.
    pub fn text(&mut self, line: impl fmt::Display) -> Result<(), Failure> {
        match self.format {
            Format::Text => self.written(|out| writeln!(out, "{line}")),
            Format::Json | Format::Ndjson => Ok(()),
        }
    }

    /// Writes an object of a stream in ndjson format; nothing in other formats.
    pub fn item(&mut self, item: &impl Serialize) -> Result<(), Failure> {
        match self.format {
            Format::Ndjson => self.object(item),
            Format::Text | Format::Json => Ok(()),
        }
    }

    /// Flushes the buffer, so that slow output is visible immediately.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.written(|out| out.flush())
    }

    /// Writes the final object of a verb, unless the format is text, and flushes.
    pub fn finish(&mut self, summary: &impl Serialize) -> Result<(), Failure> {
        match self.format {
            Format::Text => {}
            Format::Json | Format::Ndjson => {
                FINISHED.store(true, Ordering::Relaxed);
                self.object(summary)?;
            }
        }
        self.written(|out| out.flush())
    }

    fn object(&mut self, object: &impl Serialize) -> Result<(), Failure> {
        self.written(|out| {
            serde_json::to_writer(&mut *out, object).map_err(io::Error::from)?;
            out.write_all(b"\n")
        })
    }

    fn written(
        &mut self,
        write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        write(&mut self.out).map_err(|error| Failure::of_output(&error))
    }
}
