//! The northbound face over HTTP: `/healthz` and `/v1/nodes`.
//!
//! The RIC lives on one thread and its handle cannot leave it; handlers may run anywhere. So they ask over a bounded
//! channel, and a task on the RIC's thread answers.
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::{NodeSnapshot, RanInfo, RicSnapshot};
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use tokio::sync::{mpsc, oneshot};

/// Questions that may wait; beyond, the answer is 503.
const QUESTIONS_MAX: usize = 64;

type Question = oneshot::Sender<RicSnapshot>;

/// Serves until the RIC ends; returns the address, with the port that the system chose if it was 0.
pub async fn serve(ric: RicHandle, address: SocketAddr) -> io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let (ask, mut questions) = mpsc::channel::<Question>(QUESTIONS_MAX);
    tokio::task::spawn_local(async move {
        while let Some(asker) = questions.recv().await {
            // Who asked may have gone; then nobody wants the answer.
            let _ = asker.send(ric.read(|ric| ric.snapshot()));
        }
    });
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/v1/nodes", get(nodes))
        .fallback(async || {
            problem(StatusCode::NOT_FOUND, "no such resource; there are /healthz and /v1/nodes")
        })
        .with_state(ask);
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "HTTP ended");
        }
    });
    Ok(bound)
}

/// What is wrong, in the form of RFC 9457.
fn problem(status: StatusCode, detail: &str) -> Response {
    let body = serde_json::json!({ "title": status.canonical_reason(), "status": status.as_u16(), "detail": detail });
    (status, [("content-type", "application/problem+json")], body.to_string()).into_response()
}

async fn snapshot(ask: mpsc::Sender<Question>) -> Result<RicSnapshot, Response> {
    let busy = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many questions at once; try again");
    let (asker, answer) = oneshot::channel();
    ask.try_send(asker).map_err(|_| busy())?;
    answer.await.map_err(|_| busy())
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    nodes: usize,
    xapps: usize,
}

async fn health(State(ask): State<mpsc::Sender<Question>>) -> Response {
    match snapshot(ask).await {
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

async fn nodes(State(ask): State<mpsc::Sender<Question>>) -> Response {
    match snapshot(ask).await {
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
