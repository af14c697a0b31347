//! Bearer tokens of HTTP requests (RFC 6750).
use axum::http::{HeaderMap, header};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use ranlab_transport::Watched;

/// Minimum length of a token, in bytes.
const TOKEN_MIN: usize = 16;
/// Maximum length of a token, in bytes; a longer file is not a token file.
const TOKEN_MAX: usize = 4 << 10;

/// Maximum number of tokens in a file.
const TOKENS_MAX: usize = 4;

/// Secret tokens. A request must contain one of them. They are never printed.
#[derive(Clone)]
pub struct Token(Source);

#[derive(Clone)]
enum Source {
    Fixed(Arc<str>),
    File(Arc<Watched<Arc<[String]>, String>>),
}

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
    /// Reads tokens from a file, one per line, without surrounding white space. All of them are valid, so that
    /// clients can change from an old token to a new one at different times. A changed file takes effect within a second.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not contain 1 to 4 valid tokens; the message does not contain the
    /// content.
    pub fn read(file: &Path) -> Result<Self, String> {
        let read = {
            let file = file.to_owned();
            move || tokens(&file)
        };
        Ok(Self(Source::File(Arc::new(Watched::open(vec![file.to_owned()], read)?))))
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
        Ok((Self(Source::Fixed(text.as_str().into())), text))
    }

    /// Returns whether a request contains one of the tokens. The time does not reveal how much of a wrong token is correct.
    pub fn is_borne(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
        let (scheme, given) = given.split_at_checked(7).unwrap_or_default();
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
        match &self.0 {
            Source::Fixed(known) => is_equal(given, known) & is_bearer,
            // All tokens are compared, even after a match, so that the time is the same.
            Source::File(file) => {
                file.get().iter().fold(false, |is_known, known| is_known | is_equal(given, known)) & is_bearer
            }
        }
    }
}

/// Compares all bytes of `given`, so that the time does not depend on the first difference.
fn is_equal(given: &[u8], known: &str) -> bool {
    let known = known.as_bytes();
    let mut differences = u8::from(given.len() != known.len());
    for (at, byte) in given.iter().enumerate() {
        differences |= byte ^ known[at % known.len()];
    }
    std::hint::black_box(differences) == 0
}

/// Returns the first token of a file, which a client sends.
///
/// # Errors
/// Fails like [`Token::read`].
pub fn first(file: &Path) -> Result<String, String> {
    // `tokens` returns at least one.
    Ok(tokens(file)?.first().cloned().unwrap_or_default())
}

/// Reads the tokens of a file.
fn tokens(file: &Path) -> Result<Arc<[String]>, String> {
    let wrong = |why: String| format!("{}: {why}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let tokens: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_valid = |token: &&str| {
        (TOKEN_MIN..=TOKEN_MAX).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if !(1..=TOKENS_MAX).contains(&tokens.len()) || !tokens.iter().all(is_valid) {
        return Err(wrong(format!(
            "a token file has 1 to {TOKENS_MAX} lines, each a token of {TOKEN_MIN} to {TOKEN_MAX} characters of ASCII without spaces"
        )));
    }
    Ok(tokens.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn borne(token: &Token, given: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, given.parse().unwrap());
        token.is_borne(&headers)
    }

    #[test]
    fn token_must_match_completely() {
        let token = Token(Source::Fixed("0123456789abcdef".into()));
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
        let five = "0123456789abcdef\n".repeat(5);
        for wrong in [
            "",
            "short\n",
            "0123456789abcdef\nshort\n",
            &five,
            "geheimnisvöllerschlüssel",
            "words and more words",
        ] {
            std::fs::write(&file, wrong).unwrap();
            let why = Token::read(&file).unwrap_err();
            assert!(why.ends_with("characters of ASCII without spaces"), "{why}");
        }
        std::fs::write(&file, "  0123456789abcdef\n").unwrap();
        assert!(borne(&Token::read(&file).unwrap(), "Bearer 0123456789abcdef"));
        std::fs::write(&file, "0123456789abcdef\n\nfedcba9876543210\n").unwrap();
        let both = Token::read(&file).unwrap();
        assert!(borne(&both, "Bearer 0123456789abcdef") && borne(&both, "Bearer fedcba9876543210"));
        assert!(
            !borne(&both, "Bearer 0123456789abcdeffedcba9876543210") && !borne(&both, "fedcba9876543210")
        );
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Token::read(&file).is_err());
    }
}
