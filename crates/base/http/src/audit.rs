//! Audit of a server. To each route of the server, it sends requests that the access policy must refuse.
use crate::server::{Client, Server};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use ranlab_machine::routes::{Route, Who};
use std::net::{IpAddr, Ipv4Addr};

/// Methods of the requests. Each route supports only one of them.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
/// Address of another machine.
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Request whose response violates the access policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// Method and path.
    pub request: String,
    /// Reason why the request must be refused.
    pub fault: &'static str,
    /// Status that the policy requires.
    pub wanted: u16,
    /// Status of the response.
    pub got: u16,
}

/// Sends requests of an attacker on another machine to every route, with every method. Returns the requests whose status
/// violates the policy, and the number of requests. The server must have the token `token`.
pub async fn breaches<C: Client>(server: &Server<C>, token: &str) -> (Vec<Breach>, usize) {
    let mut all = Vec::new();
    let mut count = 0;
    let bearer = format!("Bearer {token}");
    let wrong = format!("{bearer}x");
    for route in server.routes() {
        for method in METHODS {
            let is_open = open(server, route);
            let cases = [
                ("foreign host", "evil.example", None, Some(&bearer), 421),
                ("foreign origin", "localhost", Some("http://evil.example"), Some(&bearer), 403),
                ("no token", "localhost", None, None, if is_open { 0 } else { 401 }),
                ("wrong token", "localhost", None, Some(&wrong), if is_open { 0 } else { 401 }),
            ];
            for (fault, host, origin, bearer, wanted) in cases {
                let path = route.path.replace("{*", "").replace(['{', '}'], "");
                let mut request = Request::builder().method(method).uri(&path).header(header::HOST, host);
                for (name, value) in [
                    (header::ORIGIN, origin),
                    (header::AUTHORIZATION, bearer.map(String::as_str)),
                    (header::CONTENT_TYPE, Some("application/json")),
                ] {
                    if let Some(value) = value {
                        request = request.header(name, value);
                    }
                }
                let Ok(request) = request.body(Body::from("{}")) else { continue };
                // A route that is open to anyone needs no token. It is not requested here, because its response may take long.
                if wanted == 0 {
                    continue;
                }
                count += 1;
                let got = server.answer(STRANGER, request).await.status().as_u16();
                if got != wanted {
                    all.push(Breach { request: format!("{method} {path}"), fault, wanted, got });
                }
            }
        }
    }
    (all, count)
}

/// Returns whether the path has a route that is open to anyone.
fn open<C: Client>(server: &Server<C>, route: &Route) -> bool {
    server.routes().any(|other| other.path == route.path && other.who == Who::Anyone)
}
