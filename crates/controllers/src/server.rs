//! SD-RAN policies on TCP: connections, cycles, and answers over HTTP.
use crate::southbound::{Action, Clock, ConnectionId, ControllerCounters};
use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ranlab_machines::Time;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};

/// Octets read at once.
const READ_BYTES: usize = 64 << 10;
/// Messages that wait to be written to one agent; beyond, it does not read and is cut off.
const UNWRITTEN_MESSAGES: usize = 1_024;
/// How long a connection waits before it asks again whether it may read.
const HELD_BACK: Duration = Duration::from_millis(1);
/// Questions over HTTP that may wait; beyond, the answer is 503.
const QUESTIONS_MAX: usize = 64;
/// Connections at most; beyond, newcomers are closed at once.
const MAX_CONNECTIONS: usize = 65_536;

/// The time of the process, in the machines' type.
pub(crate) fn now() -> Time {
    Time::from_nanos(ranlab_sdk::now().as_nanos())
}

/// The machine's clock: work costs what it costs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WallClock;

impl Clock for WallClock {
    fn now(&mut self) -> Time {
        now()
    }
    fn message(&mut self, _octets: usize) {}
    fn visit(&mut self, _ues: usize) {}
    fn spend(&mut self, time: Duration) {
        if time.is_zero() {
            return;
        }
        let end = now() + time;
        while now() < end {
            std::hint::spin_loop();
        }
    }
}

/// When a policy wants to run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At once: there is more to do.
    Again,
    /// Then, or when something comes.
    Until(Time),
    /// Then, whatever comes.
    Tick(Time),
}

/// A policy as the server sees it.
pub(crate) trait Policy: 'static {
    fn connected(&mut self, id: ConnectionId, source: &str);
    fn received(&mut self, id: ConnectionId, octets: &[u8]);
    fn closed(&mut self, id: ConnectionId);
    fn may_read(&mut self, id: ConnectionId) -> bool;
    fn poll(&mut self) -> Option<(ConnectionId, Action)>;
    fn not_reading(&mut self);
    fn run(&mut self) -> Pace;
    fn counters(&self) -> ControllerCounters;
    fn answer(&mut self, method: &str, path: &str, body: &str) -> Option<serde_json::Value>;
}

/// A running controller; dropping the last handle does not end it, the runtime's end does.
pub(crate) struct Server<P> {
    pub(crate) policy: Rc<RefCell<P>>,
    writers: Rc<RefCell<BTreeMap<ConnectionId, mpsc::Sender<Vec<u8>>>>>,
    wake: Rc<Notify>,
    pub(crate) address: SocketAddr,
}

impl<P> Clone for Server<P> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.clone(),
            writers: self.writers.clone(),
            wake: self.wake.clone(),
            address: self.address,
        }
    }
}

impl<P: Policy> Server<P> {
    /// Listens and serves in tasks of this thread.
    pub(crate) async fn start(policy: P, address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let server = Self {
            address: listener.local_addr()?,
            policy: Rc::new(RefCell::new(policy)),
            writers: Rc::new(RefCell::new(BTreeMap::new())),
            wake: Rc::new(Notify::new()),
        };
        tokio::task::spawn_local(server.clone().accept(listener));
        tokio::task::spawn_local(server.clone().work());
        Ok(server)
    }

    async fn accept(self, listener: TcpListener) {
        let mut id = 0;
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            if self.writers.borrow().len() >= MAX_CONNECTIONS {
                tracing::warn!(%peer, "more than {MAX_CONNECTIONS} connections");
                continue;
            }
            let _ = stream.set_nodelay(true);
            let (writer, outgoing) = mpsc::channel(UNWRITTEN_MESSAGES);
            self.writers.borrow_mut().insert(id, writer);
            self.policy.borrow_mut().connected(id, &peer.ip().to_string());
            self.wake.notify_one();
            let server = self.clone();
            tokio::task::spawn_local(async move {
                server.serve(id, &stream, outgoing).await;
                server.writers.borrow_mut().remove(&id);
                server.policy.borrow_mut().closed(id);
                server.wake.notify_one();
            });
            id += 1;
        }
    }

    async fn serve(&self, id: ConnectionId, stream: &TcpStream, mut outgoing: mpsc::Receiver<Vec<u8>>) {
        let mut buffer = vec![0; READ_BYTES];
        let mut unwritten: Vec<u8> = Vec::new();
        loop {
            let may_read = self.policy.borrow_mut().may_read(id);
            tokio::select! {
                ready = stream.readable(), if may_read => {
                    if ready.is_err() {
                        return;
                    }
                    match stream.try_read(&mut buffer) {
                        Ok(0) => return,
                        Ok(len) => {
                            self.policy.borrow_mut().received(id, &buffer[..len]);
                            self.wake.notify_one();
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(_) => return,
                    }
                }
                message = outgoing.recv(), if unwritten.len() < READ_BYTES => match message {
                    Some(octets) => {
                        unwritten.extend_from_slice(&octets);
                        if write(stream, &mut unwritten).is_err() {
                            return;
                        }
                    }
                    None => return,
                },
                ready = stream.writable(), if !unwritten.is_empty() => {
                    if ready.is_err() || write(stream, &mut unwritten).is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(HELD_BACK), if !may_read => {}
            }
        }
    }

    async fn work(self) {
        loop {
            let pace = self.policy.borrow_mut().run();
            self.act();
            match pace {
                Pace::Again => tokio::task::yield_now().await,
                Pace::Tick(at) => tokio::time::sleep(at.since(now())).await,
                Pace::Until(at) => {
                    tokio::select! {
                        () = tokio::time::sleep(at.since(now())) => {}
                        () = self.wake.notified() => {}
                    }
                }
            }
        }
    }

    fn act(&self) {
        loop {
            // The policy is let go before the writers are touched.
            let Some((id, action)) = self.policy.borrow_mut().poll() else { return };
            let mut writers = self.writers.borrow_mut();
            match action {
                Action::Close => {
                    writers.remove(&id);
                }
                Action::Send(octets) => {
                    let full = writers.get(&id).is_some_and(|writer| writer.try_send(octets).is_err());
                    if full {
                        writers.remove(&id);
                        self.policy.borrow_mut().not_reading();
                    }
                }
            }
        }
    }

    /// Answers questions over HTTP; the address is the one bound.
    pub(crate) async fn serve_http(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let (ask, mut questions) = mpsc::channel::<Question>(QUESTIONS_MAX);
        let server = self.clone();
        tokio::task::spawn_local(async move {
            while let Some(question) = questions.recv().await {
                let answer = {
                    let mut policy = server.policy.borrow_mut();
                    match question.path.as_str() {
                        "/healthz" => Some(serde_json::json!({ "status": "ok" })),
                        "/v1/counters" => {
                            let counters = policy.counters();
                            let overload = crate::southbound::overload(&counters);
                            let guidelines = crate::southbound::guidelines(&counters);
                            Some(serde_json::json!({
                                "counters": counters, "overload": overload, "guidelines": guidelines,
                            }))
                        }
                        path => policy.answer(&question.method, path, &question.body),
                    }
                };
                // Who asked may have gone; then nobody wants the answer.
                let _ = question.asker.send(answer);
            }
        });
        let router = Router::new().fallback(answer).with_state(ask);
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "HTTP ended");
            }
        });
        Ok(bound)
    }
}

fn write(stream: &TcpStream, unwritten: &mut Vec<u8>) -> io::Result<()> {
    while !unwritten.is_empty() {
        match stream.try_write(unwritten) {
            Ok(written) => {
                unwritten.drain(..written);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct Question {
    method: String,
    path: String,
    body: String,
    asker: oneshot::Sender<Option<serde_json::Value>>,
}

async fn answer(
    State(ask): State<mpsc::Sender<Question>>,
    method: Method,
    uri: Uri,
    body: String,
) -> Response {
    let busy =
        || (StatusCode::SERVICE_UNAVAILABLE, "too many questions at once; try again\n").into_response();
    let (asker, answer) = oneshot::channel();
    let question = Question { method: method.to_string(), path: uri.path().to_owned(), body, asker };
    if ask.try_send(question).is_err() {
        return busy();
    }
    match answer.await {
        Ok(Some(value)) => axum::Json(value).into_response(),
        Ok(None) => (
            StatusCode::NOT_FOUND,
            "no such resource; there are /healthz and /v1/counters besides the controller's own\n",
        )
            .into_response(),
        Err(_) => busy(),
    }
}
