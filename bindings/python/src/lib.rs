//! ranlab for Python: conversions and threads, no decisions; what the SDK, the parts and the command line do is theirs.
//!
//! Each object has a thread of its own with a runtime ([`actor`]); whoever calls from Python waits without the interpreter's
//! lock, and Ctrl-C ends the waiting. Nothing panics on a caller's mistake: errors are classes of `ranlab.errors`.
mod actor;
mod campaign;
mod convert;
mod errors;
mod models;
mod parts;
mod queue;
mod xapp;

use pyo3::prelude::*;
use std::io::Write;
use std::path::PathBuf;

/// Does what the command line says, with `program` for processes of it; returns the exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<String>, program: Option<PathBuf>) -> u8 {
    py.detach(|| {
        if let Some(program) = program {
            ranlab_cli::program::is(program);
        }
        let arguments = std::iter::once("ranlab".to_owned()).chain(arguments);
        let code = ranlab_cli::exit::code(ranlab_cli::verbs::run(arguments));
        // Rust's own end, which would do it, is not that of a Python process. Nobody may be there to read any more.
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
    module.add_function(wrap_pyfunction!(models::encode_control, module)?)?;
    module.add_function(wrap_pyfunction!(campaign::read_campaign, module)?)?;
    module.add_function(wrap_pyfunction!(campaign::write_tables, module)?)?;
    Ok(())
}
