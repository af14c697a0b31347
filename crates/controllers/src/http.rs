//! The northbound face over HTTP: `/healthz`, `/v1/nodes`, and `/v1/iapps/NAME/…`, which is each iApp's own.
use crate::desk::{self, Desk};
use crate::guard::problem;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::{Method, NodeSnapshot, NorthboundReply, RanInfo, RicSnapshot};
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// How long an iApp may take to reply; beyond, the answer is 504.
const REPLY_PATIENCE: Duration = Duration::from_secs(5);

/// Serves until the RIC ends; returns the address, with the port that the system chose if it was 0.
pub async fn serve(ric: RicHandle, address: SocketAddr) -> io::Result<SocketAddr> {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/v1/nodes", get(nodes))
        .route("/v1/iapps", get(iapps))
        .route("/v1/iapps/{name}", get(iapp).post(iapp))
        .route("/v1/iapps/{name}/{*path}", get(iapp).post(iapp))
        .fallback(async || {
            problem(
                StatusCode::NOT_FOUND,
                "no such resource; there are /healthz, /v1/nodes, /v1/iapps and /v1/iapps/NAME/...",
            )
        })
        .with_state(Desk::open(ric));
    desk::serve(router, address).await
}

async fn snapshot(desk: Desk<RicHandle>) -> Result<RicSnapshot, Response> {
    desk.ask(|ric| ric.read(|ric| ric.snapshot())).await
}

async fn iapps(State(desk): State<Desk<RicHandle>>) -> Response {
    match snapshot(desk).await {
        Ok(snapshot) => Json(serde_json::json!({ "iapps": snapshot.iapps })).into_response(),
        Err(problem) => problem,
    }
}

/// How asking an iApp ended.
pub(crate) enum Answer {
    Reply(NorthboundReply),
    NoSuch(Vec<String>),
    Late,
}

/// Hands a request to an iApp, and its reply back.
async fn iapp(
    State(desk): State<Desk<RicHandle>>,
    Path(names): Path<Vec<String>>,
    method: axum::http::Method,
    body: Bytes,
) -> Response {
    let method = if method == axum::http::Method::POST { Method::Post } else { Method::Get };
    let mut names = names.into_iter();
    let (name, path) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let question = Question { iapp: name.clone(), method, path, body };
    match ask(&desk, question).await {
        Ok(Answer::Reply(reply)) => replied(reply),
        Ok(Answer::NoSuch(there)) => {
            let detail = format!("no iApp is called {name:?}; there are: {}", there.join(", "));
            problem(StatusCode::NOT_FOUND, &detail)
        }
        Ok(Answer::Late) => problem(StatusCode::GATEWAY_TIMEOUT, "the iApp does not reply"),
        Err(busy) => busy,
    }
}

/// What is asked of an iApp.
pub(crate) struct Question {
    pub(crate) iapp: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
}

/// Asks an iApp, and waits for its reply.
pub(crate) async fn ask(desk: &Desk<RicHandle>, question: Question) -> Result<Answer, Response> {
    desk.ask_for(move |ric: &RicHandle, answer| {
        let ric = ric.clone();
        tokio::task::spawn_local(async move {
            let Question { iapp, method, path, body } = question;
            let outcome = match ric.read(|ric| ric.iapp(&iapp)) {
                None => Answer::NoSuch(ric.read(|ric| ric.snapshot().iapps)),
                Some(id) => {
                    let reply = ric.northbound(id, method, &path, body);
                    match tokio::time::timeout(REPLY_PATIENCE, reply).await {
                        Ok(Some(reply)) => Answer::Reply(reply),
                        _ => Answer::Late,
                    }
                }
            };
            // Who asked may have gone; then nobody wants the answer.
            let _ = answer.send(outcome);
        });
    })
    .await
}

/// An iApp's reply over HTTP.
pub(crate) fn replied(reply: NorthboundReply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let form = if status.is_success() { "application/json" } else { "application/problem+json" };
    (status, [("content-type", form)], reply.body).into_response()
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    nodes: usize,
    xapps: usize,
}

async fn health(State(desk): State<Desk<RicHandle>>) -> Response {
    match snapshot(desk).await {
        Ok(s) => {
            let nodes = s.nodes.iter().filter(|n| n.info.connected).count();
            Json(Health { status: "ok", nodes, xapps: s.xapps.len() }).into_response()
        }
        Err(problem) => problem,
    }
}

#[derive(Serialize)]
struct Network {
    nodes: Vec<Node>,
    base_stations: Vec<BaseStation>,
}

#[derive(Serialize)]
struct Node {
    id: String,
    kind: String,
    connected: bool,
    e2ap: String,
    peer: String,
    functions: Vec<Function>,
    components: Vec<&'static str>,
    subscriptions: usize,
}

#[derive(Serialize)]
struct Function {
    id: u16,
    oid: Option<String>,
    revision: u16,
}

#[derive(Serialize)]
struct BaseStation {
    id: String,
    complete: bool,
    parts: Vec<String>,
}

async fn nodes(State(desk): State<Desk<RicHandle>>) -> Response {
    match snapshot(desk).await {
        Ok(s) => Json(Network {
            nodes: s.nodes.iter().map(Node::from).collect(),
            base_stations: s.rans.iter().map(BaseStation::from).collect(),
        })
        .into_response(),
        Err(problem) => problem,
    }
}

impl From<&NodeSnapshot> for Node {
    fn from(node: &NodeSnapshot) -> Self {
        let info = &node.info;
        let function = |f: &ranlab_wire::e2ap::RanFunctionItem| Function {
            id: f.id,
            oid: f.oid.clone(),
            revision: f.revision,
        };
        Self {
            id: info.id.to_string(),
            kind: format!("{:?}", info.kind).to_lowercase(),
            connected: info.connected,
            e2ap: info.version.to_string(),
            peer: info.peer.to_string(),
            functions: info.functions.iter().map(function).collect(),
            components: info.components.iter().map(|c| c.interface.name()).collect(),
            subscriptions: node.subscriptions.len(),
        }
    }
}

impl From<&RanInfo> for BaseStation {
    fn from(ran: &RanInfo) -> Self {
        Self {
            id: ran.id.to_string(),
            complete: ran.complete,
            parts: ran.parts.iter().map(|(id, _)| id.to_string()).collect(),
        }
    }
}
