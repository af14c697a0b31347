//! TLS transport: `tls://`. Both sides show a certificate (mutual TLS), and ranlab's framing is used inside.
mod identity;
mod stream;

use ranlab_machine::lock;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection};
use tokio::sync::mpsc;

use super::{Accept, AcceptError, Address, BindError, ConnectError, Listener, SocketOptions, Stream, tcp};
pub use identity::{Identity, IdentityError, WatchedIdentity, https_client, https_server, identify};
use stream::{Secured, refusal};

/// Maximum time of a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection.
const REST: Duration = Duration::from_millis(100);
/// Maximum number of simultaneous handshakes. Further connections wait in the kernel.
const HANDSHAKES: usize = 64;

pub(super) async fn connect(
    address: &Address,
    place: (&str, u16),
    options: &SocketOptions,
) -> Result<Stream, ConnectError> {
    let trouble = |source| ConnectError::Io { address: address.clone(), source };
    let identity = identity::own().map_err(|why| ConnectError::unsupported(address, why))?.get();
    let name = ServerName::try_from(place.0.to_owned()).map_err(|error| trouble(refusal(&error)))?;
    let Stream::Tcp(socket) = tcp::connect(address, place, options).await? else {
        return Err(trouble(std::io::ErrorKind::Unsupported.into()));
    };
    let session = ClientConnection::new(identity.client.clone(), name);
    let session = session.map_err(|error| trouble(refusal(&error)))?;
    let secured = Secured::new(socket, session.into());
    secured.shake_hands(true).await.map_err(trouble)?;
    Ok(Stream::Other(Box::new(secured)))
}

pub(super) async fn listen(
    address: &Address,
    place: (&str, u16),
    options: &SocketOptions,
) -> Result<Listener, BindError> {
    let identity = identity::own().map_err(|why| BindError::unsupported(address, why))?;
    let listener = tcp::listen(address, place, options).await?;
    let port = match listener.address() {
        Address::Tcp { port, .. } => *port,
        _ => place.1,
    };
    let (done, shown) = mpsc::channel(HANDSHAKES);
    let bound = Address::Tls { host: place.0.to_owned(), port };
    let listener = Arc::new(Mutex::new(Some(listener)));
    tokio::spawn(ask(Arc::clone(&listener), identity, done));
    Ok(Listener::new(bound, TlsListener { listener, shown: Mutex::new(shown) }))
}

type Newcomer = Result<(Stream, String), AcceptError>;

/// Connections with a completed handshake.
#[derive(Debug)]
struct TlsListener {
    /// TCP listener. Dropping `TlsListener` removes it, so that the address is free immediately.
    listener: Arc<Mutex<Option<Listener>>>,
    shown: Mutex<mpsc::Receiver<Newcomer>>,
}

impl Accept for TlsListener {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Newcomer> {
        let mut shown = lock(&self.shown);
        shown.poll_recv(cx).map(|newcomer| {
            let ended = || Err(AcceptError::Io(std::io::ErrorKind::ConnectionAborted.into()));
            newcomer.unwrap_or_else(ended)
        })
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        drop(lock(&self.listener).take());
    }
}

/// Performs the handshakes of new connections, several in parallel, as long as the listener is in use.
async fn ask(
    listener: Arc<Mutex<Option<Listener>>>,
    identity: WatchedIdentity,
    done: mpsc::Sender<Newcomer>,
) {
    // Each handshake in progress reserves a slot in the queue of completed handshakes.
    while let Ok(permit) = done.clone().reserve_owned().await {
        let accepted = poll_fn(|cx| match &*lock(&listener) {
            Some(listener) => listener.arrivals().poll_accept(cx).map(Some),
            None => Poll::Ready(None),
        });
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = done.closed() => None,
        };
        match accepted {
            None => return,
            Some(Err(error)) => {
                permit.send(Err(error));
                tokio::time::sleep(REST).await;
            }
            Some(Ok((Stream::Tcp(socket), peer))) => {
                // The files may have been replaced.
                let Ok(session) = ServerConnection::new(identity.get().server) else { return };
                tokio::spawn(let_in(Secured::new(socket, session.into()), peer, permit));
            }
            Some(Ok(_)) => {}
        }
    }
}

async fn let_in(secured: Secured, peer: String, permit: mpsc::OwnedPermit<Newcomer>) {
    let peer = peer.replacen("tcp://", "tls://", 1);
    match tokio::time::timeout(HANDSHAKE, secured.shake_hands(false)).await {
        Ok(Ok(())) => {
            let name = secured.peer_name().map_or_else(String::new, |name| format!(" as {name}"));
            permit.send(Ok((Stream::Other(Box::new(secured)), format!("{peer}{name}"))));
        }
        Ok(Err(error)) => tracing::warn!(peer, %error, "refused"),
        Err(_) => tracing::warn!(peer, "refused: the handshake takes too long"),
    }
}
