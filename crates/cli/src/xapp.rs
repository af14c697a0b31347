//! `ranlab xapp`: xApps that measure.
use ranlab_sdk::transport::{self, SocketOptions};

use crate::args::Address;
use crate::exit::Failure;
use crate::output::Format;

pub mod monitor;
pub mod ping;

/// Arguments of `xapp`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// Measure round trips through a base station's HW function
    Ping(ping::Arguments),
    /// Watch the statistics of every base station: rates, losses, age
    Monitor(monitor::Arguments),
}

/// Runs the xApp that is asked for.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    match arguments.kind {
        Kind::Ping(arguments) => ranlab_sdk::run(ping::run(arguments, format)),
        Kind::Monitor(arguments) => ranlab_sdk::run(monitor::run(arguments, format)),
    }
}

/// An xApp tries for ever; a typing error should not.
async fn must_listen(address: &Address) -> Result<(), Failure> {
    transport::connect(address, &SocketOptions::default()).await?;
    Ok(())
}
