//! Argument types shared by several verbs; each error names the allowed values.
//!
//! Use them with clap directly: `#[arg(long, value_parser = args::duration)] duration: Duration`,
//! `#[arg(long)] connect: Address`.
use std::time::Duration;

use ranlab_campaign::value::{UNITS_ALLOWED, parse_span};

pub use ranlab_lab::text::socket_address;
pub use ranlab_transport::Address;

/// Identity of this process for `tls://`, as client and server, and for HTTPS: PEM files.
#[cfg(feature = "tls")]
#[derive(Debug, Clone, clap::Args)]
pub struct TlsFiles {
    /// With tls:// addresses: certificate of this process; clients check that it names the host of their address (PEM)
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    tls_certificate: Option<std::path::PathBuf>,
    /// Private key of --tls-certificate (PEM)
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    tls_key: Option<std::path::PathBuf>,
    /// The only authority whose certificates are accepted from the peer (PEM)
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    tls_authority: Option<std::path::PathBuf>,
    /// Speak HTTPS at all HTTP addresses, with this certificate (PEM)
    #[arg(long, global = true, hide = true, value_name = "FILE", requires = "https_key")]
    https_certificate: Option<std::path::PathBuf>,
    /// Private key of --https-certificate (PEM)
    #[arg(long, global = true, hide = true, value_name = "FILE", requires = "https_certificate")]
    https_key: Option<std::path::PathBuf>,
    /// With https:// addresses: authority that must have issued the server's certificate (PEM)
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    https_authority: Option<std::path::PathBuf>,
}

#[cfg(feature = "tls")]
impl TlsFiles {
    /// Sets the identity of the TLS transport and of HTTPS.
    ///
    /// # Errors
    /// Fails if a file is missing or invalid, or key and certificate do not match.
    pub fn identify(&self) -> Result<(), crate::exit::Failure> {
        use ranlab_transport::{Identity, identify};
        let usage = |what: String| Err(crate::exit::Failure::Usage(what));
        let server = self.https_certificate.as_deref().zip(self.https_key.as_deref());
        if let Err(error) = ranlab_http::https::configure(server, self.https_authority.as_deref()) {
            return usage(error.to_string());
        }
        match (&self.tls_certificate, &self.tls_key, &self.tls_authority) {
            (None, None, None) => Ok(()),
            (Some(certificate), Some(key), Some(authority)) => {
                match Identity::watch(certificate, key, authority) {
                    Ok(identity) => {
                        identify(identity);
                        Ok(())
                    }
                    Err(error) => usage(error.to_string()),
                }
            }
            _ => usage("--tls-certificate, --tls-key and --tls-authority belong together".to_owned()),
        }
    }
}

/// Maximum duration of all arguments.
pub const MAX_DURATION: Duration = Duration::from_secs(366 * 86_400);

/// Invalid argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The text is not a number with a unit.
    #[error("\"{0}\" is not a duration; write a number and one of {UNITS_ALLOWED}, e.g. 10s, 50ms or 10min")]
    Duration(String),
    /// The duration exceeds [`MAX_DURATION`].
    #[error("\"{0}\" is too long; at most 366d is allowed")]
    TooLong(String),
}

/// Parses a duration: `10s`, `50ms`, `0.5s`, `10min`, as in scenarios.
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
            ("5m", 300_000_000),
            ("1h", 3_600_000_000),
            ("0s", 0),
            ("0", 0),
            ("10 s", 10_000_000),
            ("1d", 86_400_000_000),
        ];
        for (text, micros) in known {
            assert_eq!(duration(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in ["10", "s", "", "-1s", "1e9s", "10M", "1.2.3s", "١s", "infs", "nans"] {
            let error = duration(text).unwrap_err().to_string();
            assert!(error.contains("ns, us, ms, s, min, h, d"), "{text}: {error}");
        }
        assert_eq!(duration("367d"), Err(ArgumentError::TooLong("367d".into())));
    }
}
