//! HTTP server of a RIC: REST API and the page at `/`. It serves the resources of [`ranlab_ric::console`] and of
//! one iApp; this module only dispatches requests.
//!
//! | path | content |
//! |---|---|
//! | `/`, `/web/…` | the page |
//! | `/healthz`, `/readyz` | probes: the process answers; base stations and xApps are served |
//! | `/openapi.json`, `/metrics` | API description, counters |
//! | `/v1/nodes` | base stations; if the iApp has this resource, the RIC's is at `/v1/ric/nodes` only |
//! | `/v1/subscriptions`, `/v1/leases`, `/v1/models`, `/v1/offers`, `/v1/control`, `/v1/indications`, `/v1/overview` | the console |
//! | `/ric/v1/subscriptions` | subscriptions in the form of O-RAN SC's manager |
//! | `/v1/nodeb/states`, `/v1/nodeb/NAME` | base stations in the form of O-RAN SC's E2 manager |
//! | `/v1/ric/cluster`, `/v1/ric/drain` | cluster of RICs: base station claims; draining |
//! | `/v1/host/xapps/NAME/…` | hosted xApps |
//! | `/v1/kv/NAMESPACE/KEY`, `/v1/topics/NAMESPACE/TOPIC` | shared store of xApps |
//! | `/A1-P/v2/…` | policies, if policy types are installed |
//! | `/v1/iapps/NAME/…` | any iApp |
//! | `/v1/…`, `/v1/events` | the selected iApp |
//!
//! A request names this server in `Host` (`guard`), carries the token if there is one, and declares a JSON
//! body, which an HTML form cannot do.
#![allow(clippy::result_large_err, reason = "one refusal a request")]

use crate::a1::{self, A1};
use crate::commons::{self, Commons};
use crate::hosted::{Asker, Hosted, serve_sockets};
use crate::stream;
use crate::{metrics, nodeb};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use ranlab_http::ThreadBridge;
use ranlab_http::describe::{Routes, together};
use ranlab_http::guard::{Access, checked_body, problem, unauthorized};
use ranlab_ric::bus::Bus;
use ranlab_ric::console::{self, Console, ConsoleHandle, cluster};
use ranlab_ric::hosting;
use ranlab_ric::monitor::{KpiExport, PublicationHandle};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::{Method as NorthboundMethod, NodeSnapshot, NorthboundReply, RicSnapshot};
use serde_json::json;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;

pub use ranlab_http::guard::BODY_MAX;
/// Paths that need no token. Without one, their answers contain nothing about the network.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];
/// Maximum time for the RIC's thread to answer `/readyz`.
const READY_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of concurrent listeners of a bus.
const LISTENERS_MAX: usize = 64;
/// Maximum number of queued events per listener; further ones are dropped.
const EVENTS_MAX: usize = 1_024;
/// Maximum number of queued bytes per listener; further events are dropped.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Timeout for the reply of an iApp; then the status is 504. A base station has 5 s for a control, and three
/// times 2 s for a subscription.
const REPLY_PATIENCE: Duration = Duration::from_secs(8);

/// Configuration of the server.
#[derive(Debug, Clone)]
pub struct RestConfig {
    /// Address to listen on.
    pub address: SocketAddr,
    /// Accepted requests; an address beyond loopback requires a token or a list of trusted addresses.
    pub access: Access,
    /// iApp whose resources are served next to the console's.
    pub iapp: Option<Resources>,
    /// Console of the RIC: [`mod@console`].
    pub console: ConsoleHandle,
    /// Hosted xApps and their tokens. With hosted xApps, all other requests need the token, on loopback too.
    pub hosted: Option<Hosted>,
    /// Shared store of xApps.
    pub commons: Commons,
    /// A1 policies, if policy types are installed.
    pub a1: Option<A1>,
    /// Counters of published statistics.
    pub published: Option<PublicationHandle>,
    /// KPIs exported at `/metrics`.
    pub kpis: Option<KpiExport>,
    /// Address for RMR messages, which O-RAN SC's E2 manager calls that of the E2 termination.
    pub termination: Option<String>,
}

/// Adds the console to a RIC, once, regardless of the number of servers; needs a `LocalSet`.
pub fn console(ric: &RicHandle) -> ConsoleHandle {
    let (iapp, handle) = Console::new();
    ric.add_iapp(Box::new(iapp));
    stream::notify(handle.clone());
    stream::refresh_periodically(ric.clone(), handle.overview.clone());
    handle
}

/// Resources of an iApp.
#[derive(Debug, Clone)]
pub struct Resources {
    /// Name of the iApp.
    pub iapp: &'static str,
    /// OpenAPI 3.1 description.
    pub openapi: &'static str,
    /// Bus whose messages are sent at `/v1/events`.
    pub events: Option<LocalBus>,
}

struct Served {
    desk: ThreadBridge<RicHandle>,
    config: RestConfig,
    description: String,
    routes: Routes,
    /// Resources of the selected iApp.
    own: Routes,
}

/// Starts the server, which runs until the RIC ends; returns the bound address.
///
/// # Errors
/// Fails if the address cannot be bound, or is beyond loopback and there is no token.
pub async fn serve(ric: RicHandle, config: RestConfig) -> io::Result<SocketAddr> {
    let address = config.address;
    config.access.check_address(address)?;
    if config.hosted.is_some() && config.access.token.is_none() {
        let why = "xApps that are hosted could ask there as if they were the operator: it takes a token (--http-token-file)";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let openapi = config.iapp.as_ref().map(|own| own.openapi);
    let own = Routes::described(&together(openapi.as_slice()));
    let of_policies = config.a1.as_ref().map(|_| a1::OPENAPI);
    let of_host = config.hosted.as_ref().map(|_| hosting::OPENAPI);
    let description = together(
        &openapi
            .into_iter()
            .chain([console::OPENAPI, commons::OPENAPI])
            .chain(of_host)
            .chain(of_policies)
            .collect::<Vec<_>>(),
    );
    let routes = Routes::described(&description);
    let desk = ThreadBridge::open(ric);
    let description = description.to_string();
    let sockets = config.hosted.as_ref().map(Hosted::sockets).unwrap_or_default();
    let served = Arc::new(Served { desk, config, description, routes, own });
    let router = Router::new().fallback(handle_request).with_state(served);
    serve_sockets(&router, sockets)?;
    ranlab_http::serve(router, address).await
}

async fn handle_request(
    State(served): State<Arc<Served>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    match respond(&served, peer.ip(), &head.method, &head.uri, &head.headers, body).await {
        Ok(response) | Err(response) => response,
    }
}

async fn respond(
    served: &Arc<Served>,
    peer: IpAddr,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let config = &served.config;
    config.access.check_host(headers, uri)?;
    let page = ranlab_http::page::file(uri.path());
    let asker = config.hosted.as_ref().and_then(|hosted| hosted.asker(headers));
    let is_authorized = asker.is_some() || is_heard(config, peer, headers);
    if !PROBES.contains(&uri.path()) && page.is_none() && !is_authorized {
        return Err(unauthorized());
    }
    // Held until the response is complete.
    let _turn = asker.as_ref().map(|asker| asker.may(method, uri.path())).transpose()?;
    let wanted = match *method {
        Method::GET | Method::HEAD => Some(NorthboundMethod::Get),
        Method::PUT => Some(NorthboundMethod::Put),
        Method::POST => Some(NorthboundMethod::Post),
        Method::DELETE => Some(NorthboundMethod::Delete),
        _ => None,
    };
    let name = if wanted == Some(NorthboundMethod::Get) { "GET" } else { method.as_str() };
    if let Some(allow) = served.routes.methods(uri.path())
        && !allow.split(", ").any(|allowed| allowed == name)
    {
        return Err(not_allowed(allow));
    }
    let wanted = wanted.ok_or_else(not_found)?;
    if let Some(page) = page.filter(|_| wanted == NorthboundMethod::Get) {
        return Ok(page);
    }
    if let Some(policies) = config.a1.as_ref().filter(|_| a1::is_of(uri.path())) {
        return policies.answer(wanted, uri, &wanted_body(wanted, headers, body).await?).await;
    }
    if uri.path() == "/v1/ric/drain" && wanted == NorthboundMethod::Post {
        return drain(served, headers, body).await;
    }
    if commons::is_of(uri.path()) {
        let body = wanted_body(wanted, headers, body).await?;
        return config.commons.answer(asker.as_ref(), wanted, uri, body).await;
    }
    if wanted == NorthboundMethod::Get
        && let Some(shown) = shown(served, is_authorized, uri, headers).await?
    {
        return Ok(shown);
    }
    let (iapp, path) = whose(served, wanted, peer, uri.path()).ok_or_else(not_found)?;
    let body = wanted_body(wanted, headers, body).await?;
    let party = asker.as_ref().map_or_else(|| format!("http://{}", peer.to_canonical()), Asker::party);
    let question = Question { iapp, party, method: wanted, path, body };
    match ask(&served.desk, question).await? {
        Answer::Reply(reply) => Ok(replied(reply)),
        Answer::NoSuch(there) => {
            let detail = format!("unknown iApp; available: {}", there.join(", "));
            Err(problem(StatusCode::NOT_FOUND, &detail))
        }
        Answer::Late => Err(problem(StatusCode::GATEWAY_TIMEOUT, "the base station does not answer")),
    }
}

/// Returns whether a request that is not from a hosted xApp is authorized.
fn is_heard(config: &RestConfig, peer: IpAddr, headers: &HeaderMap) -> bool {
    // A loopback address may belong to a hosted xApp.
    let is_hosted = config.hosted.is_some() && peer.to_canonical().is_loopback();
    match &config.access {
        access if !is_hosted => access.authorizes(peer, headers),
        access => access.token.as_ref().is_none_or(|token| token.is_borne(headers)),
    }
}

/// Handles `/readyz`: 503 with a reason if the RIC's thread is busy, or if it leaves its cluster or has lost it.
async fn ready(served: &Arc<Served>) -> Result<Response, Response> {
    let look = |ric: &RicHandle| {
        ric.read(|ric| ric.directory().map(|it| (it.is_draining(), it.is_lawful(ranlab_sdk::now()))))
    };
    let unready = |reason: &str| Err(problem(StatusCode::SERVICE_UNAVAILABLE, reason));
    match tokio::time::timeout(READY_WAIT, served.desk.ask(look)).await {
        Err(_) => unready("the RIC has not answered within 1 s"),
        Ok(cluster) => match cluster? {
            Some((true, _)) => unready("this RIC hands its base stations over"),
            Some((_, false)) => unready("the directory of the cluster is out of reach"),
            _ => Ok(json(json!({ "status": "ready" }).to_string())),
        },
    }
}

/// Handles a request that no iApp is needed for; `None` for other paths.
async fn shown(
    served: &Arc<Served>,
    is_authorized: bool,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Option<Response>, Response> {
    let nodes = uri.path() == "/v1/ric/nodes"
        || served.own.methods("/v1/nodes").is_none() && uri.path() == "/v1/nodes";
    Ok(Some(match uri.path() {
        // Without a token, a probe learns only that the process responds, and nothing about the network.
        "/healthz" if !is_authorized => json(json!({ "status": "ok" }).to_string()),
        "/healthz" => {
            let snapshot = snapshot(served).await?;
            let nodes = snapshot.nodes.iter().filter(|node| node.info.connected).count();
            json(json!({ "status": "ok", "nodes": nodes, "xapps": snapshot.xapps.len() }).to_string())
        }
        "/readyz" => ready(served).await?,
        "/openapi.json" => json(served.description.clone()),
        "/metrics" => {
            let console = &served.config.console;
            let feeds = [console.feed.counts(), console.overview.counts()];
            let mut text = metrics::text(&snapshot(served).await?, &feeds, &console.rmr.counts());
            text.push_str(&metrics::threads(&served.desk.ask(RicHandle::threads).await?));
            text.push_str(&metrics::commons(&served.config.commons.counts()));
            if let Some(hosted) = &served.config.hosted {
                text.push_str(&metrics::hosted(&hosted.desk.statuses()));
            }
            if let Some(kpis) = served.config.kpis.clone() {
                // Thousands of series take milliseconds, in which the RIC's thread has to serve its links.
                let kpis = tokio::task::spawn_blocking(move || kpis.text(ranlab_sdk::now())).await;
                let failed = |_| problem(StatusCode::INTERNAL_SERVER_ERROR, "the KPIs could not be written");
                text.push_str(&kpis.map_err(failed)?);
            }
            if let Some(published) = &served.config.published {
                text.push_str(&metrics::published(published.counts()));
            }
            ([(header::CONTENT_TYPE, ranlab_machine::metrics::CONTENT_TYPE)], text).into_response()
        }
        "/v1/ric/cluster" => {
            let after = uri.query().and_then(|query| query.strip_prefix("after=")).map(decoded);
            let after = after.unwrap_or_default();
            let look =
                move |ric: &RicHandle| ric.read(|ric| cluster::cluster(ric, ranlab_sdk::now(), &after));
            let told = served.desk.ask(look).await?;
            json(told.ok_or_else(|| refused_drain(&cluster::NotDrained::Alone))?.to_string())
        }
        "/v1/iapps" => json(json!({ "iapps": snapshot(served).await?.iapps }).to_string()),
        "/v1/indications" => stream::indications(&served.config.console.feed, uri, headers)?,
        "/v1/overview" => {
            let overview = served.config.console.overview.clone();
            let listen = move |ric: &RicHandle| ric.read(|ric| overview.listen(ranlab_sdk::now(), ric));
            stream::overview(served.desk.ask(listen).await?)?
        }
        "/v1/events" => {
            let bus = served.config.iapp.as_ref().and_then(|own| own.events.as_ref());
            bus.map_or_else(|| Err(not_found()), |bus| events(bus, LISTENERS_MAX, ()))?
        }
        _ if nodes => {
            let told = served
                .desk
                .ask(|ric| ric.read(|ric| console::nodes::nodes(&ric.snapshot(), ranlab_sdk::now())));
            json(told.await?.to_string())
        }
        path => match (path.strip_prefix("/v1/nodeb/"), path.strip_prefix("/v1/ric/nodes/")) {
            (Some(name), _) => nodeb(served, name).await?,
            (None, Some(name)) => one_node(served, name).await?,
            (None, None) => return Ok(None),
        },
    }))
}

async fn snapshot(served: &Served) -> Result<RicSnapshot, Response> {
    served.desk.ask(|ric| ric.read(|ric| ric.snapshot())).await
}

/// Starts draining a cluster member.
async fn drain(served: &Served, headers: &HeaderMap, body: Body) -> Result<Response, Response> {
    // Only the content type matters: an HTML form of a third-party page cannot send it. The body is not used.
    checked_body(headers, body).await?;
    let asked = served.desk.ask(|ric| ric.with(cluster::drain)).await?;
    asked.map(|()| StatusCode::ACCEPTED.into_response()).map_err(|why| refused_drain(&why))
}

fn refused_drain(why: &cluster::NotDrained) -> Response {
    problem(StatusCode::CONFLICT, &why.to_string())
}

/// Returns one node of the RIC by name.
async fn one_node(served: &Served, name: &str) -> Result<Response, Response> {
    let name = decoded(name);
    let found = served.desk.ask(move |ric| {
        ric.read(|ric| {
            let node = ric.find_node(|id| id.to_string() == name)?;
            Some(console::nodes::one(&node, &ric.hints(), ranlab_sdk::now()).to_string())
        })
    });
    let unknown = || problem(StatusCode::NOT_FOUND, "unknown node; /v1/ric/nodes lists the nodes");
    found.await?.map(json).ok_or_else(unknown)
}

/// Returns base stations in the form of O-RAN SC's E2 manager: all, or one by name.
async fn nodeb(served: &Served, name: &str) -> Result<Response, Response> {
    let snapshot = snapshot(served).await?;
    if name == "states" {
        return Ok(json(console::nodes::states(&snapshot).to_string()));
    }
    let named = |node: &&NodeSnapshot| console::nodes::inventory_name(&node.info.id) == name;
    let Some(node) = snapshot.nodes.iter().find(named) else {
        return Err(problem(StatusCode::NOT_FOUND, "unknown node; /v1/nodeb/states lists the nodes"));
    };
    let changed = nodeb::unix_ns(ranlab_sdk::now(), node.info.since);
    let info = nodeb::info(&node.info, served.config.termination.as_deref(), changed);
    Ok(json(nodeb::json(&info).to_string()))
}

/// Returns the iApp that handles a path, and the path within it.
fn whose(served: &Served, method: NorthboundMethod, peer: IpAddr, path: &str) -> Option<(String, String)> {
    if let Some(rest) = path.strip_prefix("/v1/host/xapps").filter(|_| served.config.hosted.is_some()) {
        return Some(("host".to_owned(), rest.trim_start_matches('/').to_owned()));
    }
    if let Some(rest) = path.strip_prefix("/v1/iapps/") {
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        return Some((name.to_owned(), decoded(rest)));
    }
    if let Some(rest) = path.strip_prefix("/ric/v1") {
        // `ricxappframe` subscribes at the base path.
        let rest = rest.trim_matches('/');
        let rest = match (rest, method) {
            // Notifications go to the address of the client.
            ("" | "subscriptions", NorthboundMethod::Post) => {
                format!("oran/subscriptions/{}", peer.to_canonical())
            }
            (rest, _) => format!("oran/{rest}"),
        };
        return Some((console::NAME.to_owned(), rest));
    }
    let rest = path.strip_prefix("/v1/")?;
    let own = served.config.iapp.as_ref().map(|own| own.iapp);
    let of_console =
        served.own.methods(path).is_none() && (own.is_none() || served.routes.methods(path).is_some());
    Some((if of_console { console::NAME } else { own? }.to_owned(), rest.to_owned()))
}

/// Decodes a path for an iApp that takes plain names.
fn decoded(path: &str) -> String {
    ranlab_ric::north::segments(path).map_or_else(|_| path.to_owned(), |segments| segments.join("/"))
}

/// Result of a request to an iApp.
enum Answer {
    Reply(NorthboundReply),
    NoSuch(Vec<String>),
    Late,
}

/// Request to an iApp.
struct Question {
    iapp: String,
    /// Name of the requester in the RIC's rules.
    party: String,
    method: NorthboundMethod,
    path: String,
    body: Bytes,
}

/// Sends a request to an iApp and waits for the reply.
async fn ask(desk: &ThreadBridge<RicHandle>, question: Question) -> Result<Answer, Response> {
    desk.ask_for(move |ric: &RicHandle, answer| {
        let ric = ric.clone();
        tokio::task::spawn_local(async move {
            let Question { iapp, party, method, path, body } = question;
            let outcome = match ric.read(|ric| ric.iapp(&iapp)) {
                None => Answer::NoSuch(ric.read(|ric| ric.snapshot().iapps)),
                Some(id) => {
                    let reply = ric.northbound_for(id, Some(party.into()), method, &path, body);
                    match tokio::time::timeout(REPLY_PATIENCE, reply).await {
                        Ok(Some(reply)) => Answer::Reply(reply),
                        _ => Answer::Late,
                    }
                }
            };
            // The requester may have disconnected.
            let _ = answer.send(outcome);
        });
    })
    .await
}

/// Converts the reply of an iApp to an HTTP response.
fn replied(reply: NorthboundReply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status == StatusCode::NO_CONTENT {
        return status.into_response();
    }
    let form = if status.is_success() { "application/json" } else { "application/problem+json" };
    (status, [("content-type", form)], reply.body).into_response()
}

fn json(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn not_found() -> Response {
    problem(StatusCode::NOT_FOUND, "no such resource; /openapi.json lists all resources")
}

fn not_allowed(allow: &str) -> Response {
    let mut refused = problem(StatusCode::METHOD_NOT_ALLOWED, &format!("allowed here: {allow}"));
    if let Ok(allow) = allow.parse() {
        refused.headers_mut().insert(header::ALLOW, allow);
    }
    refused
}

/// Returns the body if the method has one.
async fn wanted_body(method: NorthboundMethod, headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    let has_body = matches!(method, NorthboundMethod::Put | NorthboundMethod::Post);
    if has_body { checked_body(headers, body).await } else { Ok(Bytes::new()) }
}

/// Bus within the process; listeners receive its messages at `/v1/events` as server-sent events, with the
/// subject as `event:`.
#[derive(Debug, Clone, Default)]
pub struct LocalBus(Arc<Mutex<Listeners>>);

#[derive(Debug, Default)]
struct Listeners {
    senders: Vec<Sender>,
    missed: u64,
}

/// Queue of one listener, and the number of bytes in it.
#[derive(Debug)]
struct Sender(mpsc::Sender<Bytes>, Arc<AtomicUsize>);

impl LocalBus {
    /// Returns the number of messages that listeners missed because they did not read.
    pub fn missed(&self) -> u64 {
        ranlab_machine::lock(&self.0).missed
    }

    /// Returns the number of listeners.
    pub(crate) fn listeners(&self) -> usize {
        ranlab_machine::lock(&self.0).senders.iter().filter(|sender| !sender.0.is_closed()).count()
    }

    /// Adds one of at most `most` listeners, which holds `kept` while it listens.
    fn listen<K>(&self, most: usize, kept: K) -> Option<Listener<K>> {
        let mut listeners = ranlab_machine::lock(&self.0);
        listeners.senders.retain(|sender| !sender.0.is_closed());
        if listeners.senders.len() >= most {
            return None;
        }
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let waiting = Arc::<AtomicUsize>::default();
        listeners.senders.push(Sender(sender, waiting.clone()));
        Some(Listener { events, waiting, _kept: kept })
    }
}

impl Bus for LocalBus {
    fn publish(&mut self, subject: &str, message: Bytes) {
        let mut listeners = ranlab_machine::lock(&self.0);
        if listeners.senders.is_empty() {
            return;
        }
        // The message is JSON on one line, as server-sent events require.
        let event = Bytes::from([b"event: ", subject.as_bytes(), b"\ndata: ", &message, b"\n\n"].concat());
        let mut missed = 0;
        listeners.senders.retain(|Sender(sender, waiting)| {
            let before = waiting.fetch_add(event.len(), Relaxed);
            let sent = if before > 0 && before + event.len() > WAITING_BYTES_MAX {
                Err(mpsc::error::TrySendError::Full(event.clone()))
            } else {
                sender.try_send(event.clone())
            };
            let Err(why) = sent else { return true };
            waiting.fetch_sub(event.len(), Relaxed);
            let is_there = matches!(why, mpsc::error::TrySendError::Full(_));
            missed += u64::from(is_there);
            is_there
        });
        listeners.missed += missed;
    }
}

struct Listener<K> {
    events: mpsc::Receiver<Bytes>,
    waiting: Arc<AtomicUsize>,
    _kept: K,
}

impl<K: Unpin> futures_core::Stream for Listener<K> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.events.poll_recv(cx);
        if let Poll::Ready(Some(event)) = &next {
            self.waiting.fetch_sub(event.len(), Relaxed);
        }
        next.map(|event| event.map(Ok))
    }
}

/// Returns the events of a bus from now on, to one of at most `most` listeners, which holds `kept` meanwhile.
pub(crate) fn events<K: Unpin + Send + 'static>(
    bus: &LocalBus,
    most: usize,
    kept: K,
) -> Result<Response, Response> {
    let full = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many listen already; try again");
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(bus.listen(most, kept).ok_or_else(full)?)).into_response())
}
