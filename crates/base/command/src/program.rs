//! Program that runs the processes of components: this program, unless a program that embeds the verbs names another
//! one.
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program that contains the verbs, if it is not this process' executable; only the first call has
/// an effect.
pub fn is(program: PathBuf) {
    // Only the first call has an effect.
    let _ = PROGRAM.set(program);
}

/// Returns the program.
///
/// # Errors
/// Fails if the executable of this process is unknown.
pub fn path() -> io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |program| Ok(program.clone()))
}
