//! TCP transport: `tcp://`.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};

use super::{Accept, AcceptError, Address, BindError, ConnectError, Listener, SocketOptions, Stream};

/// Maximum number of resolved addresses that are tried per host name.
const MAX_CANDIDATES: usize = 4;
/// Maximum number of established connections that are not accepted yet.
const BACKLOG: u32 = 1024;

pub(super) async fn connect(
    address: &Address,
    (host, port): (&str, u16),
    options: &SocketOptions,
) -> Result<Stream, ConnectError> {
    let unknown = |source| ConnectError::UnknownHost { address: address.clone(), source };
    let candidates: Vec<SocketAddr> =
        lookup_host((host, port)).await.map_err(unknown)?.take(MAX_CANDIDATES).collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for candidate in candidates {
        match tcp_to(candidate, options).await {
            Ok(stream) => return Ok(Stream::Tcp(stream)),
            Err(error) => last = error,
        }
    }
    Err(ConnectError::from_io(address, last))
}

async fn tcp_to(candidate: SocketAddr, options: &SocketOptions) -> io::Result<TcpStream> {
    let socket = if candidate.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    options.apply_tcp_buffers(&socket)?;
    options.apply_tcp(&socket)?;
    not_to_itself(socket.connect(candidate).await?)
}

/// Detects a self-connection. A client that retries a port in the ephemeral range (which includes 36421 on Linux) may
/// get that port as its local one and connect to itself. Resets such a stream, so that the port is free for a
/// listener immediately.
fn not_to_itself(stream: TcpStream) -> io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? {
        SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

#[derive(Debug)]
struct TcpArrivals {
    listener: TcpListener,
    options: SocketOptions,
}

impl Accept for TcpArrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let (stream, peer) = ready!(self.listener.poll_accept(cx)).map_err(AcceptError::from_io)?;
        self.options.apply_tcp_buffers(&stream).map_err(AcceptError::Io)?;
        self.options.apply_tcp(&stream).map_err(AcceptError::Io)?;
        Poll::Ready(Ok((Stream::Tcp(stream), format!("tcp://{peer}"))))
    }
}

pub(super) async fn listen(
    address: &Address,
    (host, port): (&str, u16),
    options: &SocketOptions,
) -> Result<Listener, BindError> {
    let unknown = |source| BindError::UnknownHost { address: address.clone(), source };
    let nothing = || unknown(io::Error::new(io::ErrorKind::NotFound, "the host name has no address"));
    let place = lookup_host((host, port)).await.map_err(unknown)?.next().ok_or_else(nothing)?;
    let listener = tcp_at(place, options).map_err(|error| BindError::from_io(address, error))?;
    let port = listener.local_addr().map_or(port, |bound| bound.port());
    let options = options.clone();
    Ok(Listener::new(Address::Tcp { host: host.to_owned(), port }, TcpArrivals { listener, options }))
}

fn tcp_at(place: SocketAddr, options: &SocketOptions) -> io::Result<TcpListener> {
    let socket = if place.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted RIC must be able to bind its port while old connections are in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    options.apply_tcp_buffers(&socket)?;
    socket.bind(place)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_connection_counts_as_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // Binds the local end to the target port, which happens by chance in the ephemeral range.
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let place = socket.local_addr().unwrap();
            let error = not_to_itself(socket.connect(place).await.unwrap()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        });
    }
}
