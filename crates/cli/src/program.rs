//! The program whose processes hold parts: this one, unless whoever embeds the verbs names another.
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the program that has the verbs, where this process' own file does not; the first one named stays.
pub fn is(program: PathBuf) {
    // The first one stays.
    let _ = PROGRAM.set(program);
}

/// The program.
///
/// # Errors
/// This process' file is not known.
pub fn path() -> io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |program| Ok(program.clone()))
}
