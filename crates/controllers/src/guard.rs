//! Who is heard over HTTP, and how a refusal is told.
//!
//! A web page of somebody else shall not command base stations through its visitor's browser: a request names this
//! server in its `Host`, by an address or a name that was allowed (no name of the attacker's that leads here), and has no
//! other origin.
#![allow(clippy::result_large_err, reason = "one refusal a request")]

use crate::token::{Token, Trust};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Octets of the longest body.
pub const BODY_MAX: usize = 64 << 10;

/// Refuses an address where others than this machine could ask, unless it is said who may.
pub(crate) fn check_reach(address: SocketAddr, said: bool) -> io::Result<()> {
    if address.ip().is_loopback() || said {
        return Ok(());
    }
    let why = "others than this machine could ask there: it takes a token (--http-token-file, of --web --web-token-file), \
               or a list of who may (--trust)";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Whether somebody is heard: by the token, by address, or because nobody else could come here.
pub(crate) fn may_ask(
    token: Option<&Token>,
    trust: Option<&Trust>,
    peer: IpAddr,
    headers: &HeaderMap,
) -> bool {
    match (token, trust) {
        (None, None) => true,
        (None, trust) => Trust::holds(trust, peer),
        (Some(token), trust) => token.is_borne(headers) || trust.is_some_and(|trust| trust.lists(peer)),
    }
}

pub(crate) fn unauthorized() -> Response {
    let mut refused =
        problem(StatusCode::UNAUTHORIZED, "who asks has to know the token: Authorization: Bearer TOKEN");
    refused.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    refused
}

/// A body that says that it is JSON, which no form of a foreign page can.
pub(crate) async fn checked_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    let form = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = form.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let detail = "the body's content type must be application/json";
        return Err(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let detail = format!("a body has at most {BODY_MAX} octets");
    to_bytes(body, BODY_MAX).await.map_err(|_| problem(StatusCode::PAYLOAD_TOO_LARGE, &detail))
}

/// What is wrong, in the form of RFC 9457.
pub(crate) fn problem(status: StatusCode, detail: &str) -> Response {
    let body = serde_json::json!({ "title": status.canonical_reason(), "status": status.as_u16(), "detail": detail });
    (status, [("content-type", "application/problem+json")], body.to_string()).into_response()
}

/// A `Host` without its port; brackets of IPv6 are taken off.
fn without_port(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

pub(crate) fn check_host(headers: &HeaderMap, uri: &Uri, allowed: &[String]) -> Result<(), Response> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = uri.authority().map(|authority| authority.as_str()).or_else(|| text(header::HOST));
    let host = host.unwrap_or_default();
    let name = without_port(host);
    let is_known = name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
    if !is_known {
        let detail = format!("host {name:?} is not allowed; an address, localhost or a name of --host is");
        return Err(problem(StatusCode::MISDIRECTED_REQUEST, &detail));
    }
    let is_own = |origin: &str| origin.split_once("://").is_some_and(|(_, own)| own == host);
    if headers.get_all(header::ORIGIN).iter().any(|origin| !origin.to_str().is_ok_and(is_own)) {
        return Err(problem(StatusCode::FORBIDDEN, "requests of another origin are refused"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_means_this_server_is_heard() {
        let uri: Uri = "/v1/nodes".parse().unwrap();
        let asked = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            let checked = check_host(&headers, &uri, &["ric.lab".to_owned()]);
            checked.map_or_else(|refused| refused.status().as_u16(), |()| 200)
        };
        for host in ["127.0.0.1:8090", "[::1]:8090", "localhost", "LOCALHOST:1", "10.0.0.7", "ric.lab:80"] {
            assert_eq!(asked(host, None), 200, "{host}");
        }
        for host in ["", "evil.example", "evil.example:8090", "127.0.0.1.evil.example", "localhost.evil"] {
            assert_eq!(asked(host, None), 421, "{host}");
        }
        assert_eq!(asked("127.0.0.1:8090", Some("http://127.0.0.1:8090")), 200);
        for origin in
            ["null", "http://evil.example", "http://127.0.0.1:80", "http://127.0.0.1:8090.evil.example"]
        {
            assert_eq!(asked("127.0.0.1:8090", Some(origin)), 403, "{origin}");
        }
        assert_eq!(check_host(&HeaderMap::new(), &uri, &[]).unwrap_err().status(), 421);
    }
}
