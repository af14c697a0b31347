//! ranlab for Python: conversions and threads. The logic is in the SDK, the components and the command line.
//!
//! Each object has its own thread with a runtime (`ranlab_sdk::Actor`). A Python thread waits without the interpreter
//! lock, and Ctrl-C ends the wait ([`wait`](mod@wait)). Errors of the caller never panic. They raise exceptions of
//! `ranlab.errors`.
mod campaign;
mod convert;
mod errors;
mod models;
mod parts;
mod wait;
mod xapp;

use pyo3::prelude::*;
use std::io::Write;
use std::path::PathBuf;

/// Runs the command line. `program` is started for worker processes. Returns the exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<String>, program: Option<PathBuf>) -> u8 {
    py.detach(|| {
        if let Some(program) = program {
            ranlab_cli::program::is(program);
        }
        let arguments = std::iter::once("ranlab".to_owned()).chain(arguments);
        let code = ranlab_cli::exit::code(ranlab_cli::verbs::run(arguments));
        // Standard output is flushed here, because a Python process does not run Rust's exit handlers. A closed pipe is
        // not an error.
        let _ = std::io::stdout().flush();
        code
    })
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<parts::Ric>()?;
    module.add_class::<parts::Fleet>()?;
    module.add_class::<xapp::Xapp>()?;
    module.add_class::<xapp::Stream>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(models::models, module)?)?;
    module.add_function(wrap_pyfunction!(campaign::read_campaign, module)?)?;
    module.add_function(wrap_pyfunction!(campaign::write_tables, module)?)?;
    Ok(())
}
