//! Text forms of addresses, and errors about invalid texts.
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// An invalid text, with the allowed forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} \"{text}\"; allowed are {allowed}")]
pub struct TextError {
    text: String,
    what: &'static str,
    allowed: &'static str,
}

impl TextError {
    pub fn new(text: &str, what: &'static str, allowed: &'static str) -> Self {
        Self { text: text.to_owned(), what, allowed }
    }
}

/// The reason why a text is not a socket address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocketAddressError {
    /// The port or the address is missing.
    #[error("\"{text}\" has no {lacking}: expected ADDRESS:PORT, for example {example}")]
    Lacking {
        /// The text that is not an address.
        text: String,
        /// The missing part.
        lacking: &'static str,
        /// The completed text.
        example: String,
    },
    /// The text begins with a scheme.
    #[error("\"{text}\" has a scheme: expected ADDRESS:PORT without one, for example {example}")]
    Scheme {
        /// The text that is not an address.
        text: String,
        /// The text without the scheme, if that is an address.
        example: String,
    },
    /// A host name other than localhost.
    #[error("\"{text}\" has a host name: expected an IP address or localhost, for example {example}")]
    Name {
        /// The text that is not an address.
        text: String,
        /// An address with the same port.
        example: String,
    },
    /// Any other text.
    #[error(
        "\"{text}\" is not an address: expected ADDRESS:PORT, for example 127.0.0.1:8080, localhost:8080 or [::1]:8080"
    )]
    Malformed {
        /// The text that is not an address.
        text: String,
    },
}

/// Parses `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`.
///
/// # Errors
/// The text has none of these forms. The error contains a valid example.
pub fn socket_address(text: &str) -> Result<SocketAddr, SocketAddressError> {
    let text = text.trim();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let of = |text: &str| text.to_owned();
    if let Some((_, rest)) = text.split_once("://") {
        let without = rest.trim_end_matches('/');
        let example = if socket_address(without).is_ok() { without } else { "127.0.0.1:8080" };
        return Err(SocketAddressError::Scheme { text: of(text), example: of(example) });
    }
    let lacking = |lacking, example| SocketAddressError::Lacking { text: of(text), lacking, example };
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Err(lacking("port", SocketAddr::new(ip, 8080).to_string()));
    }
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Err(lacking("address", format!("127.0.0.1:{port}")));
    }
    if text.eq_ignore_ascii_case("localhost") {
        return Err(lacking("port", "localhost:8080".to_owned()));
    }
    let malformed = || SocketAddressError::Malformed { text: of(text) };
    let (host, port) = text.rsplit_once(':').ok_or_else(malformed)?;
    let port: u16 = port.parse().map_err(|_| malformed())?;
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    let is_name = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
        && host.contains(|c: char| c.is_ascii_alphabetic());
    match is_name {
        true => Err(SocketAddressError::Name { text: of(text), example: format!("127.0.0.1:{port}") }),
        false => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_addresses_are_read_with_localhost() {
        for (text, read) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("LocalHost:1", "127.0.0.1:1"),
            ("[::1]:8080", "[::1]:8080"),
            ("0.0.0.0:0", "0.0.0.0:0"),
        ] {
            assert_eq!(socket_address(text).unwrap().to_string(), read);
        }
    }

    #[test]
    fn invalid_socket_address_error_contains_example() {
        use SocketAddressError as Error;
        let wrong = |text| socket_address(text).unwrap_err();
        assert!(
            matches!(wrong("46001"), Error::Lacking { lacking: "address", example, .. } if example == "127.0.0.1:46001")
        );
        assert!(matches!(wrong(":46001"), Error::Lacking { lacking: "address", .. }));
        assert!(
            matches!(wrong("10.3.0.2"), Error::Lacking { lacking: "port", example, .. } if example == "10.3.0.2:8080")
        );
        assert!(matches!(wrong("localhost"), Error::Lacking { lacking: "port", .. }));
        assert!(
            matches!(wrong("http://127.0.0.1:80/"), Error::Scheme { example, .. } if example == "127.0.0.1:80")
        );
        assert!(matches!(wrong("upf.lab:8805"), Error::Name { example, .. } if example == "127.0.0.1:8805"));
        for text in ["", "x", "1.2.3:80", "127.0.0.1:65536", "a:b:c", "::1:80:x"] {
            assert!(matches!(wrong(text), Error::Malformed { .. }), "{text}: {}", wrong(text));
        }
    }
}
