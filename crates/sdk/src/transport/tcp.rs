//! `tcp://`

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};

use super::{Accept, AcceptError, Address, BindError, ConnectError, Listener, SocketOptions, Stream};

/// Addresses of one host name that are tried, at most.
const MAX_CANDIDATES: usize = 4;
/// Connections that the kernel completes before they are accepted.
const BACKLOG: u32 = 1024;

pub(super) async fn connect(
    address: &Address,
    (host, port): (&str, u16),
    options: &SocketOptions,
) -> Result<Stream, ConnectError> {
    let unknown = |source| ConnectError::UnknownHost { address: address.clone(), source };
    let candidates: Vec<SocketAddr> =
        lookup_host((host, port)).await.map_err(unknown)?.take(MAX_CANDIDATES).collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name resolves to nothing");
    for candidate in candidates {
        match tcp_to(candidate, options).await {
            Ok(stream) => return Ok(Stream::Tcp(stream)),
            Err(error) => last = error,
        }
    }
    Err(ConnectError::of(address, last))
}

async fn tcp_to(candidate: SocketAddr, options: &SocketOptions) -> io::Result<TcpStream> {
    let socket = if candidate.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    options.apply_tcp_buffers(&socket)?;
    options.apply_tcp(&socket)?;
    not_to_itself(socket.connect(candidate).await?)
}

/// Someone who retries a port of the ephemeral range (36421 is in Linux's) in the end is given that very port as
/// the local one and connects to itself. Resets such a stream, so that the port is free for a listener at once.
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
        let (stream, peer) = ready!(self.listener.poll_accept(cx)).map_err(AcceptError::of)?;
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
    let nothing = || unknown(io::Error::new(io::ErrorKind::NotFound, "the name resolves to nothing"));
    let place = lookup_host((host, port)).await.map_err(unknown)?.next().ok_or_else(nothing)?;
    let listener = tcp_at(place, options).map_err(|error| BindError::of(address, error))?;
    let port = listener.local_addr().map_or(port, |bound| bound.port());
    let options = options.clone();
    Ok(Listener::new(Address::Tcp { host: host.to_owned(), port }, TcpArrivals { listener, options }))
}

fn tcp_at(place: SocketAddr, options: &SocketOptions) -> io::Result<TcpListener> {
    let socket = if place.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted RIC must get its port back while old connections linger in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    options.apply_tcp_buffers(&socket)?;
    socket.bind(place)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_to_itself_counts_as_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // Bind the local end to the very port that is connected to: what the ephemeral range does by chance.
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let place = socket.local_addr().unwrap();
            let error = not_to_itself(socket.connect(place).await.unwrap()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        });
    }
}
