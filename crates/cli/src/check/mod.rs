//! `ranlab check`: conformance, clause by clause, with a capture of every failure.
mod capture;
mod clauses;
mod upf;

use clap::Subcommand;

use crate::exit::Failure;
use crate::output::Format;

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A user plane function: N4, and N3 where --n3 is given
    Upf(upf::Arguments),
}

/// Runs the verb.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    match arguments.what {
        What::Upf(arguments) => upf::run(&arguments, format),
    }
}
