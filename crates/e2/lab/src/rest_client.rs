//! A minimal HTTP client for the REST API of this project's controllers.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;

use ranlab_http::https::{self, Connection};
use ranlab_http::token;
use ranlab_lab::setting_by_text;

/// Timeout of a response.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of a response, in bytes.
const ANSWER_MAX: u64 = 16 << 20;

/// Address of a controller: `http://HOST:PORT` or `https://HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestUrl {
    is_secure: bool,
    host: String,
    port: u16,
    /// File with the token that requests carry, if any.
    token_file: Option<PathBuf>,
}
setting_by_text!(RestUrl);

impl RestUrl {
    /// Returns the address of a port on this machine.
    pub fn loopback(port: u16) -> Self {
        Self { is_secure: false, host: "127.0.0.1".to_owned(), port, token_file: None }
    }

    /// Sends the token in a file with each request. The file is read for each request, because the token may be replaced.
    #[must_use]
    pub fn with_token(self, token_file: Option<PathBuf>) -> Self {
        Self { token_file, ..self }
    }
}

impl FromStr for RestUrl {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is not the address of a controller: expected http://HOST:PORT, https://HOST:PORT or HOST:PORT, for example http://127.0.0.1:8091"
            )
        };
        let (is_secure, authority) = match text.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("http://").unwrap_or(text)),
        };
        let (host, port) = authority.trim_end_matches('/').rsplit_once(':').ok_or_else(wrong)?;
        let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_graphic() && c != '/');
        let port = port.parse().ok().filter(|_| is_host).ok_or_else(wrong)?;
        Ok(Self { is_secure, host: host.to_owned(), port, token_file: None })
    }
}

impl fmt::Display for RestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// Reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// The controller is unreachable or does not respond.
    #[error("{0} does not answer: {1}")]
    Away(RestUrl, std::io::Error),
    /// The server is not a controller.
    #[error("the server at {0} is not a controller")]
    NoController(RestUrl),
    /// The controller rejected the request.
    #[error("{detail}")]
    Refused {
        /// HTTP status of the response.
        status: u16,
        /// Description of the error.
        detail: String,
    },
}

impl RestUrl {
    /// Sends a request. Returns the body of the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the controller is unreachable or rejects the request.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Json>) -> Result<Json, RestError> {
        let away = |error| RestError::Away(self.clone(), error);
        let exchange = async {
            let mut stream = self.request(method, path, body).await?;
            let mut answer = Vec::new();
            (&mut stream).take(ANSWER_MAX).read_to_end(&mut answer).await?;
            Ok(answer)
        };
        let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
        let answer = tokio::time::timeout(PATIENCE, exchange).await;
        let answer = answer.unwrap_or_else(|_| Err(late())).map_err(away)?;
        let (status, body) = parsed(&answer).ok_or_else(|| RestError::NoController(self.clone()))?;
        judged(status, body)
    }

    /// Subscribes to the controller's bus, a stream of JSON objects with one object per line.
    ///
    /// # Errors
    ///
    /// Returns an error if the controller is unreachable or has no bus.
    pub async fn events(&self) -> Result<Events, RestError> {
        let away = |error| RestError::Away(self.clone(), error);
        let begun = async {
            let stream = self.request("GET", "/v1/events", None).await?;
            let mut lines = BufReader::new(stream).lines();
            let status = lines.next_line().await?.unwrap_or_default();
            Ok((status, lines))
        };
        let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
        let begun = tokio::time::timeout(PATIENCE, begun).await.unwrap_or_else(|_| Err(late()));
        let (status, lines) = begun.map_err(away)?;
        match status.split(' ').nth(1).and_then(|code| code.parse().ok()) {
            Some(200) => Ok(Events(lines)),
            Some(status) => {
                Err(RestError::Refused { status, detail: format!("{self} has no bus: HTTP {status}") })
            }
            None => Err(RestError::NoController(self.clone())),
        }
    }

    /// Sends an HTTP/1.0 request, so that the response ends with the connection.
    async fn request(&self, method: &str, path: &str, body: Option<&Json>) -> std::io::Result<Connection> {
        let Self { host, port, .. } = self;
        let mut stream: Connection = match self.is_secure {
            true => https::connect(host, *port).await?,
            false => Box::new(TcpStream::connect(format!("{host}:{port}")).await?),
        };
        let bearer = match &self.token_file {
            Some(file) => {
                format!("Authorization: Bearer {}\r\n", token::first(file).map_err(std::io::Error::other)?)
            }
            None => String::new(),
        };
        let body = body.map(Json::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {host}:{port}\r\n{bearer}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(stream)
    }
}

/// Converts status and body of a response to a result.
pub(crate) fn judged(status: u16, body: Json) -> Result<Json, RestError> {
    if (200..300).contains(&status) {
        return Ok(body);
    }
    let detail = body["detail"].as_str().map_or_else(|| format!("HTTP {status}"), str::to_owned);
    Err(RestError::Refused { status, detail })
}

/// Parses status and body of a response.
fn parsed(answer: &[u8]) -> Option<(u16, Json)> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_slice(&answer[end + 4..]).unwrap_or_else(|_| json!({}))))
}

/// Messages of a controller's bus.
pub struct Events(Lines<BufReader<Connection>>);

impl Events {
    /// Returns the next message, or `None` at the end of the stream. Cancel-safe.
    pub async fn next(&mut self) -> Option<Json> {
        while let Ok(Some(line)) = self.0.next_line().await {
            if let Some(message) = line.strip_prefix("data: ") {
                return serde_json::from_str(message).ok();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controller_address_requires_host_and_port() {
        for text in ["http://127.0.0.1:8091", "https://[::1]:8091", "http://ric.lab:80"] {
            assert_eq!(text.parse::<RestUrl>().unwrap().to_string(), text);
        }
        assert_eq!("127.0.0.1:8091".parse::<RestUrl>().unwrap().to_string(), "http://127.0.0.1:8091");
        for text in ["http://", "http://:80", "http://a", "http://a:b", "http://a/x:80", "http://a:1/x"] {
            assert!(text.parse::<RestUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn http_response_is_parsed_into_status_and_body() {
        let answer = b"HTTP/1.0 409 Conflict\r\ncontent-type: x\r\n\r\n{\"detail\":\"120 %\"}";
        assert_eq!(parsed(answer), Some((409, json!({ "detail": "120 %" }))));
        assert_eq!(parsed(b"HTTP/1.1 200 OK\r\n\r\n"), Some((200, json!({}))));
        assert_eq!(parsed(b"SSH-2.0-x\r\n\r\n"), None);
    }
}
