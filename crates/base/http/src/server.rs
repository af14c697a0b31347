//! One server for all HTTP interfaces: route tables behind one access policy.
//!
//! `ranlab_machine::routes` finds the route of a request, as for callers without HTTP. axum's router is not used, because it
//! would be a second matcher with other rules. It also refuses tables that overlap, but the table of a controller must take
//! precedence over the table of its RIC.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use crate::guard::{Access, checked_body, limited_body, problem, unauthorized};
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::IntoResponse;
use ranlab_machine::routes::{
    Form, HttpProblem, Method, Parameters, Route, RouteError, Routed, Who, find_any,
};
use serde_json::Value as Json;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

pub use axum::response::Response;

/// Future of a handler's response.
pub type Answered = Pin<Box<dyn Future<Output = Result<Response, Response>> + Send>>;
/// Handler of a route.
pub type Handler<T, C = Infallible> = fn(Arc<T>, HttpCall<C>) -> Answered;

/// Request to a route.
pub struct HttpCall<C = Infallible> {
    /// Route of the request.
    pub route: &'static Route,
    /// Parameters of the path.
    pub parameters: Parameters,
    /// Path and query.
    pub uri: Uri,
    /// Headers of the request.
    pub headers: HeaderMap,
    /// Body; empty if the route has none.
    pub body: Bytes,
    /// Address of the client.
    pub peer: IpAddr,
    /// Whether the client may use routes that are not open to anyone.
    pub is_authorized: bool,
    /// The client, if it was identified.
    pub client: Option<C>,
}

/// Identified client, such as a hosted xApp.
pub trait Client: Send + Sync + 'static {
    /// Permit that is held until the response is complete.
    type Turn: Send;

    /// Refuses or admits a request. `who` states the clients that may use its path (`None`: there is no such path).
    ///
    /// # Errors
    /// The client may not use the path, or exceeds a limit.
    fn admit(&self, method: &str, path: &str, who: Option<Who>) -> Result<Self::Turn, Response>;
}

impl Client for Infallible {
    type Turn = ();

    fn admit(&self, _: &str, _: &str, _: Option<Who>) -> Result<(), Response> {
        match *self {}
    }
}

/// Routes, and the handlers of their requests.
pub struct Table<C = Infallible> {
    routes: &'static [Route],
    answer: Box<dyn Fn(usize, HttpCall<C>) -> Answered + Send + Sync>,
}

impl<C: Client> Table<C> {
    /// Returns a table of this type's handlers.
    pub fn routed<T: Routed<Handler = Handler<T, C>> + Send + Sync>(it: Arc<T>) -> Self {
        let answer = move |index: usize, call| T::HANDLERS[index](it.clone(), call);
        Self { routes: T::ROUTES, answer: Box::new(answer) }
    }

    /// Returns a table with a closure that answers all requests. The closure gets the number of the route.
    pub fn new(
        routes: &'static [Route],
        answer: impl Fn(usize, HttpCall<C>) -> Answered + Send + Sync + 'static,
    ) -> Self {
        Self { routes, answer: Box::new(answer) }
    }
}

/// Finds the client that the headers of a request identify.
type Identify<C> = Box<dyn Fn(&HeaderMap) -> Option<C> + Send + Sync>;

/// Server of an HTTP interface.
pub struct Server<C = Infallible> {
    access: Access,
    tables: Vec<Table<C>>,
    /// For each route, in order of precedence: the index of its table, and its index in this table.
    routes: Vec<(usize, usize)>,
    alias: Option<(&'static str, &'static str)>,
    identify: Identify<C>,
}

impl<C: Client> Server<C> {
    /// Returns a server without routes.
    pub fn new(access: Access) -> Self {
        Self { access, tables: Vec::new(), routes: Vec::new(), alias: None, identify: Box::new(|_| None) }
    }

    /// Identifies clients by the headers of their requests.
    #[must_use]
    pub fn identify(self, identify: impl Fn(&HeaderMap) -> Option<C> + Send + Sync + 'static) -> Self {
        Self { identify: Box::new(identify), ..self }
    }

    /// Serves a path under another, undocumented path.
    #[must_use]
    pub fn alias(self, alias: &'static str, path: &'static str) -> Self {
        Self { alias: Some((alias, path)), ..self }
    }

    /// Adds a table. If an earlier table has the same path, the earlier table serves it.
    #[must_use]
    pub fn with(mut self, table: Table<C>) -> Self {
        let known: Vec<_> = self.templates().map(|(_, path)| path).collect();
        let fresh = table.routes.iter().enumerate();
        let fresh = fresh.filter(|(_, route)| !route.path.is_empty() && !known.contains(&route.path));
        let place = self.tables.len();
        self.routes.extend(fresh.map(|(index, _)| (place, index)));
        self.tables.push(table);
        self
    }

    /// Returns the routes.
    pub fn routes(&self) -> impl Iterator<Item = &'static Route> + Clone {
        self.routes.iter().map(|(table, index)| &self.tables[*table].routes[*index])
    }

    fn templates(&self) -> impl Iterator<Item = (&'static Route, &'static str)> + Clone {
        self.routes().map(|route| (route, route.path))
    }

    /// Serves until the runtime ends; returns the bound address.
    ///
    /// # Errors
    /// The address cannot be bound, or is beyond loopback and there is no token.
    pub async fn serve(self: Arc<Self>, address: SocketAddr) -> io::Result<SocketAddr> {
        self.access.check_address(address)?;
        let answer = move |peer: SocketAddr, request| {
            let server = self.clone();
            async move { server.answer(peer.ip(), request).await }
        };
        crate::listen::serve(address, answer).await
    }

    /// Returns the response to a request of the client at the address `peer`.
    pub async fn answer(&self, peer: IpAddr, request: Request) -> Response {
        match self.respond(peer, request).await {
            Ok(response) | Err(response) => response,
        }
    }

    async fn respond(&self, peer: IpAddr, request: Request) -> Result<Response, Response> {
        let (head, body) = request.into_parts();
        let axum::http::request::Parts { method, uri, headers, .. } = head;
        self.access.check_host(&headers, &uri)?;
        let client = (self.identify)(&headers);
        let is_authorized = client.is_some() || self.access.authorizes(peer, &headers);
        let path = match self.alias {
            Some((alias, path)) if uri.path().trim_end_matches('/') == alias => path,
            _ => uri.path(),
        };
        let found = find_any(self.templates(), Method::from_name(method.as_str()), path);
        let who = match &found {
            Ok((place, _)) => self.routes().nth(*place).map(|route| route.who),
            Err(RouteError::Method { who, .. }) => Some(*who),
            Err(_) => None,
        };
        if who != Some(Who::Anyone) && !is_authorized {
            return Err(unauthorized());
        }
        // The permit is held until the response is complete.
        let _turn =
            client.as_ref().map(|client| client.admit(method.as_str(), uri.path(), who)).transpose()?;
        let (place, parameters) = found.map_err(|error| match error {
            RouteError::Unknown { .. } => not_found(),
            error => refused(&error.into()),
        })?;
        let (table, index) = self.routes[place];
        let table = &self.tables[table];
        let route = &table.routes[index];
        let body = match route.body {
            Some((_, Form::Json)) => checked_body(&headers, body).await?,
            Some(_) => limited_body(body).await?,
            None => Bytes::new(),
        };
        let call = HttpCall { route, parameters, uri, headers, body, peer, is_authorized, client };
        (table.answer)(index, call).await
    }
}

/// Returns a response with a JSON value.
pub fn json_response(value: &Json) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Returns the response of an error.
pub fn refused(fault: &HttpProblem) -> Response {
    let status = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = problem(status, fault.detail());
    let allow = fault.allow().and_then(|allow| HeaderValue::try_from(allow.to_string()).ok());
    if let Some(allow) = allow {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Returns a response with status 404, for a path without a route.
pub fn not_found() -> Response {
    problem(StatusCode::NOT_FOUND, "no such resource; /openapi.json lists all resources")
}
