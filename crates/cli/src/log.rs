//! What happens inside, as lines on the standard error: `-v`, `-vv`, or `RANLAB_LOG`.

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

use crate::exit::Failure;

/// The environment variable that says more exactly than `-v` what is told.
const VARIABLE: &str = "RANLAB_LOG";

/// Starts telling. Without `-v` only what went wrong in a way that nothing else reports; workers inherit the variable.
pub fn start(verbose: u8) -> Result<(), Failure> {
    let level = match verbose {
        0 => "error",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let text = std::env::var(VARIABLE).unwrap_or_else(|_| level.to_owned());
    let filter: Targets = text.parse().map_err(|error| {
        Failure::Usage(format!(
            "{VARIABLE}={text} cannot be read ({error}); allowed are error, warn, info, debug, trace, and by part as in \
             ranlab_sdk=debug,ranlab_emulator=info"
        ))
    })?;
    let lines =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let subscriber = tracing_subscriber::registry().with(lines).with(filter);
    // Whoever runs verbs twice in one process has said so already.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}
