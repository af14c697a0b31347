//! HTTP server of the live status page: `/` and `/web/…` serve the page, `/v1/stream` the events,
//! `/v1/document` the report, `/metrics` the latest values, and `POST /v1/actions/NAME` requests an action.
//!
//! The checks are those of the REST interface of a RIC: the `Host` header names this server, a token is required if there
//! is one, and a body declares JSON.
use super::metrics;
use super::{Board, Unheard};
use crate::guard::{Access, checked_body, problem, unauthorized};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Address and access policy of a live status page.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address to listen on; with port 0 the system chooses a port.
    pub address: SocketAddr,
    /// Accepted requests; an address beyond loopback requires a token.
    pub access: Access,
}

struct Served {
    board: Board,
    config: Config,
}

/// Starts the server, which runs until the runtime ends; returns the bound address.
///
/// # Errors
/// Fails if the address cannot be bound, or is beyond loopback and there is no token.
pub async fn serve(board: Board, config: Config) -> io::Result<SocketAddr> {
    config.access.check_address(config.address)?;
    let address = config.address;
    let served = Arc::new(Served { board, config });
    crate::serve(Router::new().fallback(handle).with_state(served), address).await
}

async fn handle(
    State(served): State<Arc<Served>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    match respond(&served, peer.ip(), &head.method, &head.uri, &head.headers, body).await {
        Ok(response) | Err(response) => response,
    }
}

#[allow(clippy::result_large_err, reason = "one refusal a request")]
async fn respond(
    served: &Served,
    peer: IpAddr,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let Served { board, config } = served;
    config.access.check_host(headers, uri)?;
    let path = uri.path();
    let reads = *method == Method::GET || *method == Method::HEAD;
    let page = crate::page::file_of_board(path);
    if page.is_none() && !config.access.authorizes(peer, headers) {
        return Err(unauthorized());
    }
    if let Some(page) = page.filter(|_| reads) {
        return Ok(page);
    }
    let missing = |what| problem(StatusCode::NOT_FOUND, what);
    match (path, path.strip_prefix("/v1/actions/")) {
        ("/v1/stream", _) if reads => crate::sse::lines(board.listen(), "now"),
        ("/metrics", _) if reads => {
            let text = metrics::of_board(&board.latest("samples"), board.pages(), board.dropped());
            Ok(([(header::CONTENT_TYPE, ranlab_machine::metrics::CONTENT_TYPE)], text).into_response())
        }
        ("/v1/document", _) if reads => {
            let board = board.clone();
            let read = tokio::task::spawn_blocking(move || board.read()).await;
            let failed = |_| problem(StatusCode::INTERNAL_SERVER_ERROR, "the document could not be made");
            let text = read.map_err(failed)?.ok_or_else(|| missing("there is no document yet"))?;
            let form = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
            Ok((form, text).into_response())
        }
        (_, Some(action)) if *method == Method::POST => {
            checked_body(headers, body).await?;
            match board.ask(action) {
                Ok(()) => Ok(StatusCode::NO_CONTENT.into_response()),
                Err(Unheard::NotOffered) => Err(problem(
                    StatusCode::CONFLICT,
                    "this action is not available now; the page lists the available ones",
                )),
                Err(Unheard::Full) => {
                    Err(problem(StatusCode::SERVICE_UNAVAILABLE, "too many requests; try again"))
                }
            }
        }
        _ => Err(missing("there are /, /v1/stream, /v1/document, /metrics, and POST /v1/actions/NAME")),
    }
}
