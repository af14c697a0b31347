//! Writes log lines to stderr. `-v`, `-vv` or `RANLAB_LOG` select the levels. `RANLAB_LOG_FORMAT=json` selects JSON instead
//! of text.

use std::io::{self, IsTerminal};

use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

use crate::exit::Failure;

/// Environment variable that selects log levels, which may differ between crates. It overrides `-v`.
const VARIABLE: &str = "RANLAB_LOG";

/// Environment variable that selects the format of log lines.
const FORMAT_VARIABLE: &str = "RANLAB_LOG_FORMAT";

/// Returns the layer that writes log lines in this format (`text` or `json`), or `None` for another format.
fn lines(format: &str) -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
    let plain = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    match format {
        "text" => Some(plain.with_ansi(io::stderr().is_terminal()).boxed()),
        "json" => Some(plain.json().flatten_event(true).boxed()),
        _ => None,
    }
}

/// Starts logging. Without `-v`, logs only errors that are not reported otherwise. Worker processes inherit `RANLAB_LOG`.
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
            "{VARIABLE}={text} is invalid ({error}); allowed are error, warn, info, debug, trace, and by part as in \
             ranlab_transport=debug,ranlab_e2_lab=info"
        ))
    })?;
    let format = std::env::var(FORMAT_VARIABLE).unwrap_or_else(|_| "text".to_owned());
    let lines = lines(&format).ok_or_else(|| {
        Failure::Usage(format!("{FORMAT_VARIABLE}={format} is unknown; allowed are text and json"))
    })?;
    let subscriber = tracing_subscriber::registry().with(lines).with(filter);
    // A process that runs several verbs has already set a subscriber.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_have_two_forms() {
        assert!(lines("text").is_some() && lines("json").is_some() && lines("JSON").is_none());
    }
}
