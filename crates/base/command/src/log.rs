//! Log lines on stderr: `-v`, `-vv`, or `RANLAB_LOG`.

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

use crate::exit::Failure;

/// Environment variable that selects log levels in more detail than `-v`.
const VARIABLE: &str = "RANLAB_LOG";

/// Starts logging. Without `-v`, only faults that are not reported otherwise; workers inherit the variable.
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
             ranlab_transport=debug,ranlab_e2_lab=info"
        ))
    })?;
    let lines =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let subscriber = tracing_subscriber::registry().with(lines).with(filter);
    // A process that runs several verbs has already set a subscriber.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}
