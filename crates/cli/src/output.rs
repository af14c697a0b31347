//! The standard output: text for people, JSON for programs.
use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use serde::Serialize;

use crate::exit::Failure;

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line as things happen, the same object as with `json` at the end.
    Ndjson,
}

/// Whether the verb's last object is written: an error after it has its place in it, or follows on the standard error alone.
static FINISHED: AtomicBool = AtomicBool::new(false);

/// Forgets what an earlier verb of this process wrote.
pub fn begin() {
    FINISHED.store(false, Ordering::Relaxed);
}

/// Writes `{"error": ...}` in JSON if a verb failed before it wrote its object.
pub fn error_object(format: Format, failure: &Failure) {
    let Some(error) = failure.json().filter(|_| !FINISHED.load(Ordering::Relaxed)) else { return };
    // The exit code and the standard error say what failed, even where this cannot be written.
    let _ = Output::new(format).finish(&serde_json::json!({ "error": error }));
}

/// A buffered standard output; what is not yet written when it is dropped is written then, without a check.
#[derive(Debug)]
pub struct Output {
    format: Format,
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// The output of this process.
    pub fn new(format: Format) -> Self {
        Self { format, out: BufWriter::new(io::stdout().lock()) }
    }

    /// One line of text; nothing in the other formats.
    pub fn text(&mut self, line: impl fmt::Display) -> Result<(), Failure> {
        match self.format {
            Format::Text => self.written(|out| writeln!(out, "{line}")),
            Format::Json | Format::Ndjson => Ok(()),
        }
    }

    /// One object of a stream; nothing in the other formats.
    pub fn item(&mut self, item: &impl Serialize) -> Result<(), Failure> {
        match self.format {
            Format::Ndjson => self.object(item),
            Format::Text | Format::Json => Ok(()),
        }
    }

    /// Hands on what was written: what happens slowly shall be seen at once.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.written(|out| out.flush())
    }

    /// The object that a verb ends with, and everything before it; only the latter in text.
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
