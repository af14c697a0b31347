//! Bearer token of HTTP requests (RFC 6750).
use axum::http::{HeaderMap, header};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Minimum length of a token, in bytes.
const TOKEN_MIN: usize = 16;
/// Maximum length of a token, in bytes; a longer file is not a token file.
const TOKEN_MAX: usize = 4 << 10;

/// Secret token; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Trusted addresses beyond loopback, which need no token.
#[derive(Clone)]
pub struct TrustedNetworks(Arc<dyn Fn(IpAddr) -> bool + Send + Sync>);

impl fmt::Debug for TrustedNetworks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl TrustedNetworks {
    /// Returns the set of addresses for which `holds` returns true.
    pub fn new(holds: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    /// Returns whether an address is in the set.
    pub fn lists(&self, address: IpAddr) -> bool {
        (self.0)(address.to_canonical())
    }

    /// Returns whether an address is in the set or a loopback address.
    pub fn holds(trust: Option<&Self>, address: IpAddr) -> bool {
        address.to_canonical().is_loopback() || trust.is_some_and(|trust| trust.lists(address))
    }
}

impl Token {
    /// Reads a token from a file, without surrounding white space.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not contain a valid token; the message does not contain the
    /// content.
    pub fn read(file: &Path) -> Result<Self, String> {
        let wrong = |why: String| format!("{}: {why}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let token = text.trim();
        if !(TOKEN_MIN..=TOKEN_MAX).contains(&token.len())
            || !token.bytes().all(|octet| octet.is_ascii_graphic())
        {
            return Err(wrong(format!(
                "a token is {TOKEN_MIN} to {TOKEN_MAX} characters of ASCII without spaces"
            )));
        }
        Ok(Self(token.to_owned()))
    }

    /// Generates a random token; also returns its text.
    ///
    /// # Errors
    /// Fails if the system provides no randomness.
    pub fn made() -> std::io::Result<(Self, String)> {
        use std::io::Read;
        let mut octets = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut octets)?;
        let text: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        Ok((Self(text.clone()), text))
    }

    /// Returns whether a request carries the token. The time taken does not depend on where a wrong token
    /// differs.
    pub fn is_borne(&self, headers: &HeaderMap) -> bool {
        let told = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
        let (scheme, told) = told.split_at_checked(7).unwrap_or_default();
        let known = self.0.as_bytes();
        let mut differences =
            u8::from(!scheme.eq_ignore_ascii_case(b"bearer ")) | u8::from(told.len() != known.len());
        // Compares every byte, regardless of the length.
        for (at, octet) in told.iter().enumerate() {
            differences |= octet ^ known[at % known.len()];
        }
        std::hint::black_box(differences) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn borne(token: &Token, told: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, told.parse().unwrap());
        token.is_borne(&headers)
    }

    #[test]
    fn token_must_match_completely() {
        let token = Token("0123456789abcdef".to_owned());
        assert!(borne(&token, "Bearer 0123456789abcdef") && borne(&token, "bearer 0123456789abcdef"));
        for wrong in [
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcdee",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0123456789abcdef",
            "Bearer ",
            "Bearer",
            "",
        ] {
            assert!(!borne(&token, wrong), "{wrong}");
        }
        assert!(!token.is_borne(&HeaderMap::new()));
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn invalid_token_file_is_rejected_without_showing_it() {
        let folder = std::env::temp_dir().join(format!("ranlab-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("token");
        for wrong in ["", "short\n", "secret words with spaces in them\n", "geheimnisvöllerschlüssel"] {
            std::fs::write(&file, wrong).unwrap();
            let said = Token::read(&file).unwrap_err();
            assert!(said.ends_with("characters of ASCII without spaces"), "{said}");
        }
        std::fs::write(&file, "  0123456789abcdef\n").unwrap();
        assert_eq!(Token::read(&file), Ok(Token("0123456789abcdef".to_owned())));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Token::read(&file).is_err());
    }
}
