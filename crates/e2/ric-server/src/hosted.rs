//! HTTP access of hosted xApps: each has its own token and socket, a short list of allowed paths, and a rate
//! limit.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ranlab_e2::Time;
use ranlab_http::guard::problem;
use ranlab_http::listen::connection;
use ranlab_http::server::{Client, Server};
use ranlab_http::token::Token;
use ranlab_machine::lock;
use ranlab_machine::routes::Who;
use ranlab_ric::hosting::HostingHandle;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of concurrent requests of one xApp.
pub const XAPP_REQUESTS_MAX: usize = 8;
/// Maximum mean rate of requests of one xApp, per second. Requests beyond this limit or [`XAPP_REQUESTS_MAX`] get
/// status 429.
pub const XAPP_REQUESTS_PER_S: f64 = 200.0;
/// Maximum number of topics that one xApp listens to at the same time; further ones get status 429.
pub const XAPP_LISTENS_MAX: usize = 8;
/// Maximum number of connections to one xApp's socket; further ones wait.
pub const XAPP_CONNECTIONS_MAX: usize = 16;
/// Delay between two accepted connections of one xApp.
const CONNECTION_REST: Duration = Duration::from_millis(5);
/// Delay of a refusal, so that an xApp that repeats invalid requests uses little CPU time of the RIC.
const REFUSAL_REST: Duration = Duration::from_millis(100);
/// Prefixes of the paths that hosted xApps may use. The list is used only for paths without a route, because the route
/// table decides on all others. Such a path gets status 404 if it has one of the prefixes, and is refused otherwise.
const OPEN: [&str; 3] = ["/v1/control", "/v1/kv", "/v1/topics"];

/// Hosted xApps of a RIC.
#[derive(Clone)]
pub struct Hosted {
    /// Mailbox for the operator's requests about hosted xApps.
    pub desk: HostingHandle,
    /// HTTP endpoint of each xApp.
    xapps: Arc<Vec<XappEndpoint>>,
}

/// HTTP endpoint of one xApp.
pub struct XappEndpoint {
    name: String,
    token: Token,
    socket: UnixListener,
    turns: Arc<Semaphore>,
    listens: Arc<Semaphore>,
    pace: Mutex<RateLimiter>,
}

/// Token bucket of requests.
#[derive(Debug)]
struct RateLimiter {
    left: f64,
    at: Time,
}

impl RateLimiter {
    /// Takes one request from the bucket, which holds at most the requests of one second.
    fn take(&mut self, now: Time) -> bool {
        let passed = now.since(self.at).as_secs_f64();
        self.left = (self.left + passed * XAPP_REQUESTS_PER_S).min(XAPP_REQUESTS_PER_S);
        self.at = now;
        let may = self.left >= 1.0;
        self.left -= f64::from(u8::from(may));
        may
    }
}

impl XappEndpoint {
    /// Returns the endpoint of the xApp `name`.
    pub fn new(name: String, token: Token, socket: UnixListener) -> Self {
        let pace = RateLimiter { left: XAPP_REQUESTS_PER_S, at: ranlab_sdk::now() };
        Self {
            name,
            token,
            socket,
            turns: Arc::new(Semaphore::new(XAPP_REQUESTS_MAX)),
            listens: Arc::new(Semaphore::new(XAPP_LISTENS_MAX)),
            pace: Mutex::new(pace),
        }
    }
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.xapps.iter().map(|door| &door.name)).finish()
    }
}

/// Hosted xApp that sent a request.
pub struct HostedXapp(Arc<Vec<XappEndpoint>>, usize);

impl Hosted {
    /// Returns the hosted xApps with these endpoints.
    pub fn new(desk: HostingHandle, xapps: Vec<XappEndpoint>) -> Self {
        Self { desk, xapps: Arc::new(xapps) }
    }

    /// Returns the xApp whose token a request carries.
    pub(crate) fn asker(&self, headers: &HeaderMap) -> Option<HostedXapp> {
        let place = self.xapps.iter().position(|door| door.token.is_borne(headers))?;
        Some(HostedXapp(self.xapps.clone(), place))
    }

    /// Returns duplicates of the sockets.
    pub(crate) fn sockets(&self) -> Vec<io::Result<UnixListener>> {
        self.xapps.iter().map(|door| door.socket.try_clone()).collect()
    }
}

impl HostedXapp {
    /// Returns the name of the xApp.
    pub(crate) fn name(&self) -> &str {
        &self.0[self.1].name
    }

    /// Returns the name of the xApp in the RIC's rules.
    pub(crate) fn party(&self) -> String {
        format!("xapp://{}", self.name())
    }

    /// Acquires a listener slot, to be held while the xApp listens to a topic.
    pub(crate) fn listens(&self) -> Result<OwnedSemaphorePermit, Response> {
        let listens = self.0[self.1].listens.clone();
        listens.try_acquire_owned().map_err(|_| {
            let detail = format!("an xApp may listen to at most {XAPP_LISTENS_MAX} topics at once");
            problem(StatusCode::TOO_MANY_REQUESTS, &detail)
        })
    }
}

#[cfg(test)]
impl HostedXapp {
    /// Returns an xApp with this name.
    pub(crate) fn of_test(name: &str) -> Self {
        use std::os::linux::net::SocketAddrExt;
        static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let address = format!("ranlab-test-{}-{number}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(address).unwrap();
        let socket = UnixListener::bind_addr(&address).unwrap();
        let (token, _) = Token::made().unwrap();
        Self(Arc::new(vec![XappEndpoint::new(name.to_owned(), token, socket)]), 0)
    }
}

impl Client for HostedXapp {
    type Turn = OwnedSemaphorePermit;

    fn admit(&self, method: &str, path: &str, who: Option<Who>) -> Result<OwnedSemaphorePermit, Response> {
        let door = &self.0[self.1];
        let unknown_is_open = || OPEN.iter().any(|open| path.starts_with(open));
        if !who.map_or_else(unknown_is_open, |who| who != Who::Operator) {
            let detail = format!(
                "xApp {} may not request {method} {path}; a hosted xApp may request {}, and subscribes over E42",
                door.name,
                OPEN.join(", ")
            );
            return Err(problem(StatusCode::FORBIDDEN, &detail));
        }
        let busy = || {
            let detail = format!(
                "an xApp may have {XAPP_REQUESTS_MAX} pending requests and send {XAPP_REQUESTS_PER_S} per second; try again"
            );
            problem(StatusCode::TOO_MANY_REQUESTS, &detail)
        };
        if !lock(&door.pace).take(ranlab_sdk::now()) {
            return Err(busy());
        }
        door.turns.clone().try_acquire_owned().map_err(|_| busy())
    }
}

/// Serves each xApp's own socket; requests count as coming from this machine.
pub(crate) fn serve_sockets(
    server: &Arc<Server<HostedXapp>>,
    sockets: Vec<io::Result<UnixListener>>,
) -> io::Result<()> {
    for socket in sockets {
        let socket = socket?;
        socket.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(socket)?;
        tokio::spawn(accept(listener, server.clone()));
    }
    Ok(())
}

/// Accepts connections, and serves a limited number of them at a time.
async fn accept(listener: tokio::net::UnixListener, server: Arc<Server<HostedXapp>>) {
    let room = Arc::new(Semaphore::new(XAPP_CONNECTIONS_MAX));
    // The semaphore is never closed.
    while let Ok(permit) = room.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let server = server.clone();
                tokio::spawn(async move {
                    let _held = permit;
                    connection(stream, move |request| unhurried(server.clone(), request)).await;
                });
            }
            Err(error) => tracing::warn!(%error, "a connection of a hosted xApp could not be accepted"),
        }
        tokio::time::sleep(CONNECTION_REST).await;
    }
}

/// Delays refusals, because a client tends to retry immediately.
async fn unhurried(server: Arc<Server<HostedXapp>>, request: Request) -> Response {
    let response = server.answer(Ipv4Addr::LOCALHOST.into(), request).await;
    if matches!(
        response.status(),
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::MISDIRECTED_REQUEST
    ) {
        tokio::time::sleep(REFUSAL_REST).await;
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_bucket_limits_rate_and_burst() {
        let begun = Time::ZERO;
        let mut pace = RateLimiter { left: XAPP_REQUESTS_PER_S, at: begun };
        let taken = (0..1_000).filter(|_| pace.take(begun)).count();
        assert_eq!(taken, XAPP_REQUESTS_PER_S as usize);
        let later = begun + Duration::from_millis(100);
        assert_eq!((0..1_000).filter(|_| pace.take(later)).count(), 20);
        let much_later = later + Duration::from_secs(3_600);
        assert_eq!((0..1_000).filter(|_| pace.take(much_later)).count(), XAPP_REQUESTS_PER_S as usize);
    }
}
