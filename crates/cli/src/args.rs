//! Types of arguments that several verbs take; each error names what is allowed.
//!
//! Use them with clap as they are: `#[arg(long, value_parser = args::duration)] duration: Duration`,
//! `#[arg(long)] connect: Address`.
use std::time::Duration;

use ranlab_campaign::value::{UNITS_ALLOWED, parse_span};

pub use ranlab_sdk::transport::Address;

/// The longest duration of any argument.
pub const MAX_DURATION: Duration = Duration::from_secs(366 * 86_400);

/// Why a text is no argument of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// Not a number and a unit.
    #[error("\"{0}\" is not a duration; write a number and one of {UNITS_ALLOWED}, e.g. 10s, 50ms or 10min")]
    Duration(String),
    /// Beyond [`MAX_DURATION`].
    #[error("\"{0}\" is too long; at most 366d is allowed")]
    TooLong(String),
}

/// `10s`, `50ms`, `0.5s`, `10min`: as scenarios write it.
pub fn duration(text: &str) -> Result<Duration, ArgumentError> {
    let span = parse_span(text).ok_or_else(|| ArgumentError::Duration(text.to_owned()))?;
    if span > MAX_DURATION { Err(ArgumentError::TooLong(text.to_owned())) } else { Ok(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        let known = [
            ("10s", 10_000_000),
            ("50ms", 50_000),
            ("10min", 600_000_000),
            ("0.05s", 50_000),
            ("250us", 250),
            ("1h", 3_600_000_000),
            ("0s", 0),
            ("10 s", 10_000_000),
            ("1d", 86_400_000_000),
        ];
        for (text, micros) in known {
            assert_eq!(duration(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in ["10", "s", "", "-1s", "1e9s", "10m", "1.2.3s", "١s", "infs", "nans"] {
            let error = duration(text).unwrap_err().to_string();
            assert!(error.contains("ns, us, ms, s, min, h, d"), "{text}: {error}");
        }
        assert_eq!(duration("367d"), Err(ArgumentError::TooLong("367d".into())));
    }
}
