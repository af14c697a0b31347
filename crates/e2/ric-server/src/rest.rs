//! HTTP server of a RIC: REST API and the page at `/`. It serves the route tables of [`ranlab_ric::console`], of one iApp, of
//! hosted xApps, of the shared store, of A1 policies, and of the RIC itself (`own`).
//!
//! A request must name this server in `Host`, and must carry the token if there is one. Its body must be declared as
//! JSON, which an HTML form cannot do.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use crate::a1::{self, A1};
use crate::commons::{self, SharedData};
use crate::hosted::{Hosted, HostedXapp, serve_sockets};
use crate::own::{self, Own};
use crate::stream;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ranlab_http::ThreadBridge;
use ranlab_http::guard::{Access, problem};
use ranlab_http::openapi::openapi;
use ranlab_http::server::{HttpCall, Server, Table};
use ranlab_machine::routes::{Document, Route};
use ranlab_ric::console::{self, Console, ConsoleHandle};
use ranlab_ric::hosting;
use ranlab_ric::monitor::{KpiExport, PublicationHandle};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::{Method, NorthboundReply};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use crate::events::LocalBus;
pub use ranlab_http::guard::BODY_MAX;

/// Timeout for the reply of an iApp, after which the status is 504. It exceeds the time limits of a base station: 5 s
/// for a control, and three times 2 s for a subscription.
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
    pub commons: SharedData,
    /// A1 policies, if policy types are installed.
    pub a1: Option<A1>,
    /// Counters of published statistics.
    pub published: Option<PublicationHandle>,
    /// KPIs exported at `/metrics`.
    pub kpis: Option<KpiExport>,
    /// Address for RMR messages; O-RAN SC's E2 manager calls it the address of the E2 termination.
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
    /// Routes of the iApp.
    pub document: Document,
    /// Bus whose messages are sent at `/v1/events`.
    pub events: Option<LocalBus>,
}

/// Starts the server, which runs until the RIC ends; returns the bound address.
///
/// # Errors
/// Fails if the address cannot be bound, or is beyond loopback and there is no token.
pub async fn serve(ric: RicHandle, config: RestConfig) -> io::Result<SocketAddr> {
    let address = config.address;
    let mut access = config.access.clone();
    access.check_address(address)?;
    access.hosts_xapps = config.hosted.is_some();
    if access.hosts_xapps && access.token.is_none() {
        let why = "hosted xApps could send requests as the operator: --http-token-file is required";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let desk = ThreadBridge::open(ric);
    let sockets = config.hosted.as_ref().map(Hosted::sockets).unwrap_or_default();
    let server = Arc::new(server(desk, config, access));
    serve_sockets(&server, sockets)?;
    server.serve(address).await
}

/// Returns the server with all route tables, in order of precedence.
fn server(desk: ThreadBridge<RicHandle>, config: RestConfig, access: Access) -> Server<HostedXapp> {
    let iapp = |name: &'static str, document: Document| {
        let desk = desk.clone();
        let answer = move |_, call: HttpCall<HostedXapp>| {
            let desk = desk.clone();
            let answer: ranlab_http::server::Answered =
                Box::pin(async move { forward(&desk, name, &call).await });
            answer
        };
        (document, Table::new(document.routes, answer))
    };
    let selected = config.iapp.clone();
    let mut all: Vec<_> = selected.iter().map(|own| iapp(own.iapp, own.document)).collect();
    let events = selected.and_then(|own| own.events).map(|bus| Arc::new(own::Events(bus)));
    all.extend(events.map(|events| (own::EVENTS, Table::routed(events))));
    all.push(iapp(console::NAME, console::DOCUMENT));
    all.push((commons::DOCUMENT, Table::routed(Arc::new(config.commons.clone()))));
    all.extend(config.hosted.as_ref().map(|_| iapp(hosting::NAME, hosting::DOCUMENT)));
    all.extend(config.a1.clone().map(|policies| (a1::DOCUMENT, Table::routed(Arc::new(policies)))));
    // The RIC's own routes have the lowest precedence. In the OpenAPI description they are first, or directly after the
    // routes of the selected iApp.
    let place = usize::from(config.iapp.is_some());
    let mut documents: Vec<_> = all.iter().map(|(document, _)| *document).collect();
    documents.insert(place, own::DOCUMENT);
    let description = openapi(&documents);
    let hosted = config.hosted.clone();
    let server = Server::new(access)
        .identify(move |headers| hosted.as_ref().and_then(|hosted| hosted.asker(headers)))
        // `ricxappframe` subscribes at the base path.
        .alias("/ric/v1", "/ric/v1/subscriptions");
    let server = all.into_iter().fold(server, |server, (_, table)| server.with(table));
    server.with(Table::routed(Arc::new(Own { desk, config, description })))
}

/// Sends a request to the route of an iApp, and waits for the reply.
async fn forward(
    desk: &ThreadBridge<RicHandle>,
    iapp: &str,
    call: &HttpCall<HostedXapp>,
) -> Result<Response, Response> {
    let text = |name| match name {
        // Notifications go to the address of the client.
        "peer" => call.peer.to_canonical().to_string(),
        name => call.parameters.text(name).to_owned(),
    };
    ask(desk, call, iapp, call.route.resource_with(text)).await
}

/// Sends a request to an iApp, and waits for the reply.
pub(crate) async fn ask(
    desk: &ThreadBridge<RicHandle>,
    call: &HttpCall<HostedXapp>,
    iapp: &str,
    path: String,
) -> Result<Response, Response> {
    let http = || format!("http://{}", call.peer.to_canonical());
    let party = call.client.as_ref().map_or_else(http, HostedXapp::party);
    let Route { method, .. } = *call.route;
    let question = NorthboundJob { iapp: iapp.to_owned(), party, method, path, body: call.body.clone() };
    match question.ask(desk).await? {
        Answer::Reply(reply) => Ok(replied(reply)),
        Answer::NoSuch(there) => {
            let detail = format!("unknown iApp; available: {}", there.join(", "));
            Err(problem(StatusCode::NOT_FOUND, &detail))
        }
        Answer::Late => Err(problem(StatusCode::GATEWAY_TIMEOUT, "the base station did not respond in time")),
    }
}

/// Result of a request to an iApp.
enum Answer {
    Reply(NorthboundReply),
    NoSuch(Vec<String>),
    Late,
}

/// Request to an iApp.
struct NorthboundJob {
    iapp: String,
    /// Name of the requester in the RIC's rules.
    party: String,
    method: Method,
    path: String,
    body: Bytes,
}

impl NorthboundJob {
    /// Sends a request to an iApp and waits for the reply.
    async fn ask(self, desk: &ThreadBridge<RicHandle>) -> Result<Answer, Response> {
        desk.ask_for(move |ric: &RicHandle, answer| {
            let ric = ric.clone();
            tokio::task::spawn_local(async move {
                let Self { iapp, party, method, path, body } = self;
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

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_http::audit::breaches;
    use ranlab_http::token::Token;
    use ranlab_ric::hosting::HostingHandle;
    use ranlab_ric::{association, slicing, traffic, virt};
    use ranlab_sdk::e2::ric::RicConfig;
    use ranlab_sdk::transport::SocketOptions;
    use std::collections::BTreeMap;
    use std::net::Ipv4Addr;

    #[test]
    fn every_route_refuses_foreign_hosts_and_missing_tokens() {
        ranlab_sdk::run(async {
            let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
            let console = console(&ric);
            let desk = ThreadBridge::open(ric);
            let (token, text) = Token::made().unwrap();
            for (iapp, document) in [
                (slicing::NAME, slicing::DOCUMENT),
                (traffic::NAME, traffic::DOCUMENT),
                (association::NAME, association::DOCUMENT),
                (virt::NAME, virt::DOCUMENT),
            ] {
                let commons = SharedData::default();
                let config = RestConfig {
                    address: (Ipv4Addr::LOCALHOST, 0).into(),
                    access: Access { token: Some(token.clone()), ..Access::default() },
                    iapp: Some(Resources { iapp, document, events: Some(LocalBus::default()) }),
                    console: console.clone(),
                    hosted: Some(Hosted::new(HostingHandle::default(), Vec::new())),
                    commons: commons.clone(),
                    a1: Some(A1::new(BTreeMap::new(), commons)),
                    published: None,
                    kpis: None,
                    termination: None,
                };
                let access = config.access.clone();
                let server = server(desk.clone(), config, access);
                let counts = [console::DOCUMENT, own::DOCUMENT, document].map(|all| all.routes.len());
                assert!(server.routes().count() > counts.iter().sum::<usize>(), "{iapp}");
                let (breaches, requests) = breaches(&server, &text).await;
                assert!(breaches.is_empty() && requests > 1_000, "{requests}: {breaches:?}");
            }
        });
    }
}
