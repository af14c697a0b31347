//! An iApp's resources over HTTP, for programs and not for browsers: `/v1/…`, `/openapi.json`, `/healthz` and `/v1/events`.
//!
//! A request means this server (`guard`), and says that its body is JSON, which no form can.
#![allow(clippy::result_large_err, reason = "one refusal a request")]

use crate::bus::Bus;
use crate::desk::{self, Desk};
use crate::guard::{check_host, problem};
use crate::http::{Answer, Question, ask, replied};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::Method as Wanted;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Octets of the longest body.
pub const BODY_MAX: usize = 64 << 10;
/// Who may listen to the events of a bus at once.
const LISTENERS_MAX: usize = 64;
/// Events that wait for one of them; beyond, it misses some.
const EVENTS_MAX: usize = 1_024;

/// How to serve.
#[derive(Debug, Clone)]
pub struct RestConfig {
    /// Where to listen.
    pub address: SocketAddr,
    /// Further names of this machine by which it may be asked; addresses and `localhost` are allowed anyway.
    pub hosts: Vec<String>,
    /// The iApp's name.
    pub iapp: &'static str,
    /// Its description (OpenAPI 3.1).
    pub openapi: &'static str,
    /// Whose messages `/v1/events` tells.
    pub events: Option<LocalBus>,
}

struct Served {
    desk: Desk<RicHandle>,
    config: RestConfig,
    routes: Routes,
}

/// Which methods are described for which paths.
struct Routes(Vec<(String, String)>);

impl Routes {
    /// From a description in OpenAPI.
    fn described(openapi: &str) -> Self {
        let described: serde_json::Value = serde_json::from_str(openapi).unwrap_or_default();
        let paths = described["paths"].as_object().into_iter().flatten();
        let methods = |item: &serde_json::Value| {
            let all = ["get", "put", "delete"].into_iter().filter(|method| !item[method].is_null());
            all.map(str::to_uppercase).collect::<Vec<_>>().join(", ")
        };
        Self(paths.map(|(path, item)| (path.clone(), methods(item))).collect())
    }

    /// The methods of a path; `None` if there is no such path.
    fn of(&self, path: &str) -> Option<&str> {
        let fits = |pattern: &str| {
            let (pattern, path) = (pattern.split('/'), path.split('/'));
            pattern.clone().count() == path.clone().count()
                && pattern.zip(path).all(|(wanted, is)| wanted.starts_with('{') || wanted == is)
        };
        self.0.iter().find(|(pattern, _)| fits(pattern)).map(|(_, methods)| methods.as_str())
    }
}

/// Serves until the RIC ends; returns the address, with the port that the system chose if it was 0.
///
/// # Errors
/// It cannot listen there.
pub async fn serve(ric: RicHandle, config: RestConfig) -> io::Result<SocketAddr> {
    let address = config.address;
    let routes = Routes::described(config.openapi);
    let served = Arc::new(Served { desk: Desk::open(ric), config, routes });
    desk::serve(Router::new().fallback(handle).with_state(served), address).await
}

async fn handle(State(served): State<Arc<Served>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    match respond(&served, &head.method, &head.uri, &head.headers, body).await {
        Ok(response) | Err(response) => response,
    }
}

async fn respond(
    served: &Served,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let config = &served.config;
    check_host(headers, uri, &config.hosts)?;
    let wanted = match *method {
        Method::GET | Method::HEAD => Some(Wanted::Get),
        Method::PUT => Some(Wanted::Put),
        Method::DELETE => Some(Wanted::Delete),
        _ => None,
    };
    let name = if wanted == Some(Wanted::Get) { "GET" } else { method.as_str() };
    if let Some(allow) = served.routes.of(uri.path())
        && !allow.split(", ").any(|allowed| allowed == name)
    {
        return Err(not_allowed(allow));
    }
    match uri.path() {
        "/healthz" => return Ok(json("{\"status\":\"ok\"}")),
        "/openapi.json" => return Ok(json(config.openapi)),
        "/v1/events" => return config.events.as_ref().map_or_else(|| Err(not_found()), events),
        _ => {}
    }
    let path = uri.path().strip_prefix("/v1/").ok_or_else(not_found)?;
    let wanted = wanted.ok_or_else(not_found)?;
    let body = if wanted == Wanted::Put { checked_body(headers, body).await? } else { Bytes::new() };
    let question = Question { iapp: config.iapp.to_owned(), method: wanted, path: path.to_owned(), body };
    match ask(&served.desk, question).await? {
        Answer::Reply(reply) => Ok(replied(reply)),
        Answer::NoSuch(_) => Err(problem(StatusCode::NOT_FOUND, "the controller is not there")),
        Answer::Late => Err(problem(StatusCode::GATEWAY_TIMEOUT, "the base station does not answer")),
    }
}

fn json(body: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn not_found() -> Response {
    problem(StatusCode::NOT_FOUND, "no such resource; /openapi.json says what there is")
}

fn not_allowed(allow: &str) -> Response {
    let mut refused = problem(StatusCode::METHOD_NOT_ALLOWED, &format!("allowed here: {allow}"));
    if let Ok(allow) = allow.parse() {
        refused.headers_mut().insert(header::ALLOW, allow);
    }
    refused
}

async fn checked_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    let form = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = form.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let detail = "the body's content type must be application/json";
        return Err(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let detail = format!("a body has at most {BODY_MAX} octets");
    to_bytes(body, BODY_MAX).await.map_err(|_| problem(StatusCode::PAYLOAD_TOO_LARGE, &detail))
}

/// A bus in this process: whoever asks for `/v1/events` hears it, as server-sent events (`event:` is the subject).
#[derive(Debug, Clone, Default)]
pub struct LocalBus(Arc<Mutex<Listeners>>);

#[derive(Debug, Default)]
struct Listeners {
    senders: Vec<mpsc::Sender<Bytes>>,
    missed: u64,
}

impl LocalBus {
    /// Messages that a listener could not take, as it did not read.
    pub fn missed(&self) -> u64 {
        crate::lock(&self.0).missed
    }

    fn listen(&self) -> Option<Listener> {
        let mut listeners = crate::lock(&self.0);
        listeners.senders.retain(|sender| !sender.is_closed());
        if listeners.senders.len() >= LISTENERS_MAX {
            return None;
        }
        let (sender, listener) = mpsc::channel(EVENTS_MAX);
        listeners.senders.push(sender);
        Some(Listener(listener))
    }
}

impl Bus for LocalBus {
    fn publish(&mut self, subject: &str, message: Bytes) {
        let mut listeners = crate::lock(&self.0);
        if listeners.senders.is_empty() {
            return;
        }
        // The message is JSON on one line, as an event must be.
        let event = Bytes::from([b"event: ", subject.as_bytes(), b"\ndata: ", &message, b"\n\n"].concat());
        let mut missed = 0;
        listeners.senders.retain(|sender| match sender.try_send(event.clone()) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                missed += 1;
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        });
        listeners.missed += missed;
    }
}

struct Listener(mpsc::Receiver<Bytes>);

impl futures_core::Stream for Listener {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}

fn events(bus: &LocalBus) -> Result<Response, Response> {
    let full = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many listen already; try again");
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(bus.listen().ok_or_else(full)?)).into_response())
}
