//! A secret that whoever asks over HTTP has to know (RFC 6750).
use axum::http::{HeaderMap, header};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Octets of the shortest token.
const TOKEN_MIN: usize = 16;
/// Octets of the longest token: beyond, the file is something else.
const TOKEN_MAX: usize = 4 << 10;

/// The secret. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Addresses beyond this machine that are heard without a secret.
#[derive(Clone)]
pub struct Trust(Arc<dyn Fn(IpAddr) -> bool + Send + Sync>);

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl Trust {
    /// Those of which `holds` says so.
    pub fn new(holds: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    /// Whether an address is one of them.
    pub(crate) fn lists(&self, address: IpAddr) -> bool {
        (self.0)(address.to_canonical())
    }

    /// Whether it is, or this machine's loopback.
    pub(crate) fn holds(trust: Option<&Self>, address: IpAddr) -> bool {
        address.to_canonical().is_loopback() || trust.is_some_and(|trust| trust.lists(address))
    }
}

impl Token {
    /// From a file that holds nothing else; spaces and line feeds around it are left out.
    ///
    /// # Errors
    /// The file cannot be read, or what it holds is no token; in words that do not show it.
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

    /// A new one, of the system's randomness; and its text, for who is to know it.
    ///
    /// # Errors
    /// The system gives none.
    pub fn made() -> std::io::Result<(Self, String)> {
        use std::io::Read;
        let mut octets = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut octets)?;
        let text: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        Ok((Self(text.clone()), text))
    }

    /// Whether a request bears it. What differs, and how early, is not told by the time that it takes.
    pub(crate) fn is_borne(&self, headers: &HeaderMap) -> bool {
        let told = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
        let (scheme, told) = told.split_at_checked(7).unwrap_or_default();
        let known = self.0.as_bytes();
        let mut differences =
            u8::from(!scheme.eq_ignore_ascii_case(b"bearer ")) | u8::from(told.len() != known.len());
        // All of what was told is looked at, whatever its length.
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
    fn a_token_is_borne_whole_or_not_at_all() {
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
    fn a_file_that_is_no_token_is_refused_without_showing_it() {
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
