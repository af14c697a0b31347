//! Hosted xApps at the RIC's HTTP: each by a token and a socket of its own, where it may ask for little, and not too often.
#![allow(clippy::result_large_err, reason = "one refusal a request")]

use crate::guard::problem;
use crate::hosting::Desk;
use crate::lock;
use crate::token::Token;
use axum::Router;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests of one xApp that are answered at once ...
pub const XAPP_REQUESTS_MAX: usize = 8;
/// ... and in a second, in the long run; beyond either, the answer is 429.
pub const XAPP_REQUESTS_PER_S: f64 = 200.0;
/// What an xApp may ask for: the beginnings of paths.
const OPEN: [&str; 3] = ["/v1/control", "/v1/kv", "/v1/topics"];

/// xApps that the RIC starts.
#[derive(Clone)]
pub struct Hosted {
    /// Where the operator asks about them.
    pub desk: Desk,
    /// They.
    xapps: Arc<Vec<Door>>,
}

/// One xApp's door.
pub struct Door {
    name: String,
    token: Token,
    socket: UnixListener,
    turns: Arc<Semaphore>,
    pace: Mutex<Pace>,
}

/// How many requests may still come now.
#[derive(Debug)]
struct Pace {
    left: f64,
    at: Instant,
}

impl Pace {
    /// Whether one may come; a second's worth may come at once.
    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * XAPP_REQUESTS_PER_S).min(XAPP_REQUESTS_PER_S);
        self.at = now;
        let may = self.left >= 1.0;
        self.left -= f64::from(u8::from(may));
        may
    }
}

impl Door {
    /// A door for the xApp of that name.
    pub fn new(name: String, token: Token, socket: UnixListener) -> Self {
        let pace = Pace { left: XAPP_REQUESTS_PER_S, at: Instant::now() };
        Self {
            name,
            token,
            socket,
            turns: Arc::new(Semaphore::new(XAPP_REQUESTS_MAX)),
            pace: Mutex::new(pace),
        }
    }
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.xapps.iter().map(|door| &door.name)).finish()
    }
}

/// A hosted xApp that asks.
pub(crate) struct Asker(Arc<Vec<Door>>, usize);

impl Hosted {
    /// Those with these doors.
    pub fn new(desk: Desk, xapps: Vec<Door>) -> Self {
        Self { desk, xapps: Arc::new(xapps) }
    }

    /// Which xApp bears its token.
    pub(crate) fn asker(&self, headers: &HeaderMap) -> Option<Asker> {
        let place = self.xapps.iter().position(|door| door.token.is_borne(headers))?;
        Some(Asker(self.xapps.clone(), place))
    }

    /// Copies of their sockets.
    pub(crate) fn sockets(&self) -> Vec<io::Result<UnixListener>> {
        self.xapps.iter().map(|door| door.socket.try_clone()).collect()
    }
}

impl Asker {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.0[self.1].name
    }

    /// As the RIC's rules name it.
    pub(crate) fn party(&self) -> String {
        format!("xapp://{}", self.name())
    }

    /// Whether it may ask for this now; the turn is given back when it is answered.
    pub(crate) fn may(&self, method: &Method, path: &str) -> Result<OwnedSemaphorePermit, Response> {
        let door = &self.0[self.1];
        let open = OPEN
            .iter()
            .any(|open| path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        if !open && path != "/healthz" {
            let detail = format!(
                "xApp {} may not ask for {method} {path}; a hosted xApp asks for {}, and subscribes over E42",
                door.name,
                OPEN.join(", ")
            );
            return Err(problem(StatusCode::FORBIDDEN, &detail));
        }
        let busy = || {
            let detail = format!(
                "an xApp asks {XAPP_REQUESTS_MAX} things at once and {XAPP_REQUESTS_PER_S} a second at most; try again"
            );
            problem(StatusCode::TOO_MANY_REQUESTS, &detail)
        };
        if !lock(&door.pace).take(Instant::now()) {
            return Err(busy());
        }
        door.turns.clone().try_acquire_owned().map_err(|_| busy())
    }
}

/// Serves the same at each xApp's own socket, as if it came from this machine.
pub(crate) fn serve_sockets(router: &Router, sockets: Vec<io::Result<UnixListener>>) -> io::Result<()> {
    for socket in sockets {
        let socket = socket?;
        socket.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(socket)?;
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let router = router.clone().layer(MockConnectInfo(here));
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "HTTP of a hosted xApp ended");
            }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn who_asks_too_often_waits_and_no_longer_than_a_second_pays_for() {
        let begun = Instant::now();
        let mut pace = Pace { left: XAPP_REQUESTS_PER_S, at: begun };
        let taken = (0..1_000).filter(|_| pace.take(begun)).count();
        assert_eq!(taken, XAPP_REQUESTS_PER_S as usize);
        let later = begun + Duration::from_millis(100);
        assert_eq!((0..1_000).filter(|_| pace.take(later)).count(), 20);
        let much_later = later + Duration::from_secs(3_600);
        assert_eq!((0..1_000).filter(|_| pace.take(much_later)).count(), XAPP_REQUESTS_PER_S as usize);
    }
}
