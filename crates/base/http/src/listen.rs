//! Accepts connections of HTTP clients. Limits their number and the time until a request's head has arrived; adds TLS.
use crate::https;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ranlab_machine::lock;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Maximum number of connections of a listener. Further connections wait in the kernel.
pub const CONNECTIONS_MAX: usize = 512;
/// Maximum number of connections from one address. Further connections are closed, so that the remaining capacity stays
/// available to other addresses.
pub const CONNECTIONS_OF_ADDRESS_MAX: usize = 256;
/// Maximum time until a client has sent the head of its next request. Also the time for which an unused connection stays open.
pub const HEAD_TIME: Duration = Duration::from_secs(30);
/// Maximum time of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection, for example because all descriptors are in use.
const REST: Duration = Duration::from_millis(100);

/// Connections that this process closed because their address had too many.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of connections that this process closed because their address had [`CONNECTIONS_OF_ADDRESS_MAX`].
pub fn refused_connections() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// Serves until the runtime ends; returns the bound address. `answer` gets the address of the client.
pub(crate) async fn serve<F, R>(address: SocketAddr, answer: F) -> io::Result<SocketAddr>
where
    F: Fn(SocketAddr, Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    tokio::spawn(accept(listener, answer));
    Ok(bound)
}

async fn accept<F, R>(listener: TcpListener, answer: F)
where
    F: Fn(SocketAddr, Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let by_address = Arc::new(Mutex::new(HashMap::new()));
    // The semaphore is never closed.
    while let Ok(permit) = room.clone().acquire_owned().await {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "HTTP: a connection could not be accepted");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let Some(share) = Share::take(&by_address, peer.ip()) else {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%peer, "HTTP: closed, because this address has {CONNECTIONS_OF_ADDRESS_MAX} connections");
            continue;
        };
        let answer = answer.clone();
        tokio::spawn(async move {
            let _held = (permit, share);
            secure(socket, peer, move |request| answer(peer, request)).await;
        });
    }
}

/// Performs the TLS handshake if the process uses HTTPS, and answers the requests.
async fn secure<R>(socket: TcpStream, peer: SocketAddr, answer: impl Fn(Request) -> R + Send + Sync + 'static)
where
    R: Future<Output = Response> + Send + 'static,
{
    // With Nagle's algorithm, a small answer waits for the acknowledgement of the previous answer.
    let _ = socket.set_nodelay(true);
    match tokio::time::timeout(HANDSHAKE, https::handshake(socket)).await {
        Ok(Ok(stream)) => connection(stream, answer).await,
        Ok(Err(error)) => tracing::debug!(%peer, %error, "HTTPS: handshake failed"),
        Err(_) => tracing::debug!(%peer, "HTTPS: the handshake takes too long"),
    }
}

/// Answers the requests of a connection until it ends.
pub async fn connection<R>(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    answer: impl Fn(Request) -> R + Send + Sync + 'static,
) where
    R: Future<Output = Response> + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let answer = answer(request.map(Body::new));
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "HTTP: connection ended");
    }
}

type Connections = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// A counted connection of an address. Dropping it reduces the count.
struct Share {
    by_address: Connections,
    address: IpAddr,
}

impl Share {
    fn take(by_address: &Connections, address: IpAddr) -> Option<Self> {
        let address = address.to_canonical();
        let mut counts = lock(by_address);
        let count = counts.entry(address).or_insert(0);
        if *count >= CONNECTIONS_OF_ADDRESS_MAX {
            return None;
        }
        *count += 1;
        Some(Self { by_address: by_address.clone(), address })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = lock(&self.by_address);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn server() -> SocketAddr {
        let answer = |peer: SocketAddr, _| async move { peer.ip().to_string().into_response() };
        serve("127.0.0.1:0".parse().unwrap(), answer).await.unwrap()
    }

    async fn get(socket: &mut TcpStream) -> io::Result<String> {
        socket.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
        let mut text = String::new();
        socket.read_to_string(&mut text).await?;
        Ok(text)
    }

    #[tokio::test]
    async fn address_is_limited_to_its_share_of_connections() {
        let address = server().await;
        let before = refused_connections();
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS_OF_ADDRESS_MAX {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let mut further = TcpStream::connect(address).await.unwrap();
        let refused = get(&mut further).await;
        assert!(refused.as_ref().map_or(true, String::is_empty), "{refused:?}");
        assert_eq!(refused_connections() - before, 1);
        // Another address is not affected.
        let other = tokio::net::TcpSocket::new_v4().unwrap();
        other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let mut other = other.connect(address).await.unwrap();
        assert!(get(&mut other).await.unwrap().ends_with("127.0.0.2"));
        // A connection that ends makes room.
        drop(idle.pop());
        for _ in 0..100 {
            let mut again = TcpStream::connect(address).await.unwrap();
            if get(&mut again).await.is_ok_and(|text| text.ends_with("127.0.0.1")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("a closed connection must make room for another one");
    }

    #[tokio::test(start_paused = true)]
    async fn client_without_complete_head_is_disconnected() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let served = tokio::spawn(connection(near, |_| async { "answer".into_response() }));
        let begun = tokio::time::Instant::now();
        far.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
        served.await.unwrap();
        let took = begun.elapsed();
        assert!(took >= HEAD_TIME && took < 2 * HEAD_TIME, "{took:?}");
    }
}
