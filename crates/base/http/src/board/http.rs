//! HTTP server of the live status page. The access policy is that of the REST interface of a RIC.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use super::metrics;
use super::{ActionRejected, StatusBoard};
use crate::guard::{Access, problem};
use crate::server::{Handler, HttpCall, Server, Table, not_found};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Address and access policy of a live status page.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address to listen on; with port 0 the system chooses a port.
    pub address: SocketAddr,
    /// Accepted requests; an address beyond loopback requires a token.
    pub access: Access,
}

ranlab_machine::routes! {
    async impl StatusBoard: Handler<StatusBoard>, at "", faults [401, 403, 405, 421, 503] {
        Get "/" page -> 200 as Page, Anyone, "the page";
        Get "/web/{file}" page_file = page -> 200 as File, Anyone, "scripts, styles and icon of the page";
        Get "/v1/stream" stream -> 200 as Events, Operator, "state of the command, then its changes";
        Get "/v1/document" document = report -> 200, Operator or [404], "report of the command";
        Get "/metrics" values -> 200 as Text, Operator, "latest values, in Prometheus text format 0.0.4";
        Post "/v1/actions/{name}" action(Anything) -> 204, Operator or [409], "request an action";
    }
}

/// Starts the server, which runs until the runtime ends; returns the bound address.
///
/// # Errors
/// Fails if the address cannot be bound, or is beyond loopback and there is no token.
pub async fn serve(board: StatusBoard, config: Config) -> io::Result<SocketAddr> {
    Arc::new(Server::new(config.access).with(Table::routed(Arc::new(board)))).serve(config.address).await
}

impl StatusBoard {
    async fn page(self: Arc<Self>, call: HttpCall) -> Result<Response, Response> {
        crate::page::file_of_board(call.uri.path()).ok_or_else(not_found)
    }

    async fn stream(self: Arc<Self>, _: HttpCall) -> Result<Response, Response> {
        crate::sse::lines(self.listen(), "now")
    }

    async fn values(self: Arc<Self>, _: HttpCall) -> Result<Response, Response> {
        let text = metrics::of_board(&self.latest("samples"), self.pages(), self.dropped());
        Ok(([(header::CONTENT_TYPE, ranlab_machine::metrics::CONTENT_TYPE)], text).into_response())
    }

    async fn report(self: Arc<Self>, _: HttpCall) -> Result<Response, Response> {
        let read = tokio::task::spawn_blocking(move || self.read()).await;
        let failed = |_| problem(StatusCode::INTERNAL_SERVER_ERROR, "the document could not be created");
        let missing = || problem(StatusCode::NOT_FOUND, "there is no document yet");
        let text = read.map_err(failed)?.ok_or_else(missing)?;
        let form = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
        Ok((form, text).into_response())
    }

    async fn action(self: Arc<Self>, call: HttpCall) -> Result<Response, Response> {
        match self.ask(call.parameters.text("name")) {
            Ok(()) => Ok(StatusCode::NO_CONTENT.into_response()),
            Err(ActionRejected::NotOffered) => Err(problem(
                StatusCode::CONFLICT,
                "this action is not available now; the page lists the available ones",
            )),
            Err(ActionRejected::Full) => {
                Err(problem(StatusCode::SERVICE_UNAVAILABLE, "too many requests; try again"))
            }
        }
    }
}
