//! The northbound face over HTTP: `/healthz` and `/v1/nodes`.
use crate::desk::{self, Desk, problem};
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

/// Serves until the RIC ends; returns the address, with the port that the system chose if it was 0.
pub async fn serve(ric: RicHandle, address: SocketAddr) -> io::Result<SocketAddr> {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/v1/nodes", get(nodes))
        .fallback(async || {
            problem(StatusCode::NOT_FOUND, "no such resource; there are /healthz and /v1/nodes")
        })
        .with_state(Desk::open(ric));
    desk::serve(router, address).await
}

async fn snapshot(desk: Desk<RicHandle>) -> Result<RicSnapshot, Response> {
    desk.ask(|ric| ric.read(|ric| ric.snapshot())).await
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
