//! Access policy of all HTTP endpoints, and the format of refusals.
//!
//! * An endpoint listens on an address beyond loopback only with a token or a list of trusted addresses.
//! * The `Host` header of every request must name this server (an IP address, `localhost` or an allowed name).
//!   This rejects DNS names of an attacker that resolve to this machine. A request whose `Origin` is another
//!   server is rejected as well. A third-party web page therefore cannot control base stations through its
//!   visitor's browser.
//! * If there is a token, every request must contain it, except requests from trusted addresses.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use crate::token::{Token, TrustedNetworks};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// Maximum size of a request body, in bytes.
pub const BODY_MAX: usize = 64 << 10;
/// Maximum time until a client has sent the body of its request.
pub const BODY_TIME: Duration = Duration::from_secs(30);

/// Access policy of an HTTP endpoint.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Further host names of this machine; IP addresses and `localhost` are always allowed.
    pub hosts: Vec<String>,
    /// Bearer token that requests have to carry.
    pub token: Option<Token>,
    /// Addresses whose requests need no token.
    pub trust: Option<TrustedNetworks>,
    /// Whether xApps that are not trusted run on this machine. If so, loopback addresses need the token too, even trusted ones.
    pub hosts_xapps: bool,
}

impl Access {
    /// Returns a policy with the token of a file.
    ///
    /// # Errors
    /// The file contains no token.
    pub fn read(
        hosts: &[String],
        token: Option<&Path>,
        trust: Option<TrustedNetworks>,
    ) -> Result<Self, String> {
        Ok(Self {
            hosts: hosts.to_vec(),
            token: token.map(Token::read).transpose()?,
            trust,
            hosts_xapps: false,
        })
    }

    /// Refuses an address beyond loopback if there is neither a token nor a list of trusted addresses.
    pub fn check_address(&self, address: SocketAddr) -> io::Result<()> {
        if address.ip().is_loopback() || self.token.is_some() || self.trust.is_some() {
            return Ok(());
        }
        let why = format!(
            "{address} is reachable from other machines: give a token (--http-token-file FILE; with --web: \
             --web-token-file FILE) or a list of trusted addresses (--trust), or listen at 127.0.0.1:{}",
            address.port()
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    /// Rejects a request (of any method) that names another server or comes from another origin.
    pub fn check_host(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Response> {
        check_host(headers, uri, &self.hosts)
    }

    /// Returns whether a request from this address is authorized.
    pub fn authorizes(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        if self.hosts_xapps && peer.to_canonical().is_loopback() {
            return self.token.as_ref().is_none_or(|token| token.is_borne(headers));
        }
        may_ask(self.token.as_ref(), self.trust.as_ref(), peer, headers)
    }

    /// Rejects a request that fails [`check_host`](Self::check_host) or is not authorized.
    pub fn check(&self, peer: IpAddr, headers: &HeaderMap, uri: &Uri) -> Result<(), Response> {
        self.check_host(headers, uri)?;
        if self.authorizes(peer, headers) { Ok(()) } else { Err(unauthorized()) }
    }
}

/// Returns whether a request is authorized: by the token, by its address, or because the endpoint is on
/// loopback.
fn may_ask(
    token: Option<&Token>,
    trust: Option<&TrustedNetworks>,
    peer: IpAddr,
    headers: &HeaderMap,
) -> bool {
    match (token, trust) {
        (None, None) => true,
        (None, trust) => TrustedNetworks::holds(trust, peer),
        (Some(token), trust) => token.is_borne(headers) || trust.is_some_and(|trust| trust.lists(peer)),
    }
}

/// Returns a response with status 401 and the header that names the expected credentials.
pub fn unauthorized() -> Response {
    let mut refused = problem(
        StatusCode::UNAUTHORIZED,
        "missing or invalid bearer token: send Authorization: Bearer TOKEN",
    );
    refused.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    refused
}

/// Returns the body of a request if its content type is JSON, and rejects any other. An HTML form of a third-party page
/// cannot send this type.
pub async fn checked_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    let form = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = form.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let detail = "the body's content type must be application/json";
        return Err(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    limited_body(body).await
}

/// Returns the body of a request of any content type.
pub async fn limited_body(body: Body) -> Result<Bytes, Response> {
    let too_large =
        |_| problem(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body has more than {BODY_MAX} bytes"));
    let late = |_| {
        let detail = format!("the body was not received within {} s", BODY_TIME.as_secs());
        problem(StatusCode::REQUEST_TIMEOUT, &detail)
    };
    tokio::time::timeout(BODY_TIME, to_bytes(body, BODY_MAX)).await.map_err(late)?.map_err(too_large)
}

/// Returns an error response in the form of RFC 9457.
pub fn problem(status: StatusCode, detail: &str) -> Response {
    let body = serde_json::json!({ "title": status.canonical_reason(), "status": status.as_u16(), "detail": detail });
    (status, [("content-type", "application/problem+json")], body.to_string()).into_response()
}

/// Removes the port from a `Host` value, and the brackets from an IPv6 address.
fn without_port(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn check_host(headers: &HeaderMap, uri: &Uri, allowed: &[String]) -> Result<(), Response> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = uri.authority().map(|authority| authority.as_str()).or_else(|| text(header::HOST));
    let host = host.unwrap_or_default();
    let name = without_port(host);
    let is_known = name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
    if !is_known {
        let detail = format!(
            "host {name:?} is not allowed; allowed are an address, localhost or a name given with --host"
        );
        return Err(problem(StatusCode::MISDIRECTED_REQUEST, &detail));
    }
    let is_own = |origin: &str| origin.split_once("://").is_some_and(|(_, own)| own == host);
    if headers.get_all(header::ORIGIN).iter().any(|origin| !origin.to_str().is_ok_and(is_own)) {
        return Err(problem(StatusCode::FORBIDDEN, "requests from pages of another origin are refused"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_must_name_this_server() {
        let uri: Uri = "/v1/nodes".parse().unwrap();
        let status_of = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            let checked = check_host(&headers, &uri, &["ric.lab".to_owned()]);
            checked.map_or_else(|refused| refused.status().as_u16(), |()| 200)
        };
        for host in ["127.0.0.1:8090", "[::1]:8090", "localhost", "LOCALHOST:1", "10.0.0.7", "ric.lab:80"] {
            assert_eq!(status_of(host, None), 200, "{host}");
        }
        for host in ["", "evil.example", "evil.example:8090", "127.0.0.1.evil.example", "localhost.evil"] {
            assert_eq!(status_of(host, None), 421, "{host}");
        }
        assert_eq!(status_of("127.0.0.1:8090", Some("http://127.0.0.1:8090")), 200);
        for origin in
            ["null", "http://evil.example", "http://127.0.0.1:80", "http://127.0.0.1:8090.evil.example"]
        {
            assert_eq!(status_of("127.0.0.1:8090", Some(origin)), 403, "{origin}");
        }
        assert_eq!(check_host(&HeaderMap::new(), &uri, &[]).unwrap_err().status(), 421);
    }
}
