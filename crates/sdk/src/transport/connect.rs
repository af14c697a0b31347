//! From an address to a stream.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpSocket, TcpStream, UnixStream, lookup_host};

use super::transport::carrying;
use super::{Address, SocketOptions, Stream, Unsupported};

/// Addresses of one host name that are tried, at most.
const MAX_CANDIDATES: usize = 4;

/// Why there is no connection: one sentence each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The machine answers, but nobody listens there (or its queue of newcomers is full).
    #[error("nobody listens at {address}")]
    Refused {
        /// Where to.
        address: Address,
    },
    /// No way leads there.
    #[error("{address} is unreachable: {source}")]
    Unreachable {
        /// Where to.
        address: Address,
        /// The system's word.
        source: io::Error,
    },
    /// No answer in time.
    #[error("{address} did not answer within {}", seconds(*.after))]
    TimedOut {
        /// Where to.
        address: Address,
        /// How long was waited.
        after: Duration,
    },
    /// The host name has no address.
    #[error("the host of {address} has no address: {source}")]
    UnknownHost {
        /// Where to.
        address: Address,
        /// The resolver's word.
        source: io::Error,
    },
    /// A Unix path that is not there.
    #[error("there is no socket at {address}")]
    NoSuchPath {
        /// Where to.
        address: Address,
    },
    /// The caller may not.
    #[error("no permission to connect to {address}")]
    Permission {
        /// Where to.
        address: Address,
    },
    /// The transport is not available here.
    #[error("cannot connect to {address}: {why}")]
    Unsupported {
        /// Where to.
        address: Address,
        /// What is missing.
        #[source]
        why: Unsupported,
    },
    /// Anything else, in the system's words.
    #[error("cannot connect to {address}: {source}")]
    Io {
        /// Where to.
        address: Address,
        /// The system's word.
        source: io::Error,
    },
}

/// Connects to `address` within `options.connect_timeout`, resolving names and trying each address found.
pub async fn connect(address: &Address, options: &SocketOptions) -> Result<Stream, ConnectError> {
    let transport = carrying(address).ok_or_else(|| not_mine(address))?;
    let after = options.connect_timeout;
    match tokio::time::timeout(after, transport.connect(address, options)).await {
        Ok(result) => result,
        Err(_) => Err(ConnectError::TimedOut { address: address.clone(), after }),
    }
}

pub(super) async fn tcp(
    address: &Address,
    host: &str,
    port: u16,
    options: &SocketOptions,
) -> Result<TcpStream, ConnectError> {
    let unknown = |source| ConnectError::UnknownHost { address: address.clone(), source };
    let candidates: Vec<SocketAddr> =
        lookup_host((host, port)).await.map_err(unknown)?.take(MAX_CANDIDATES).collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name resolves to nothing");
    for candidate in candidates {
        match tcp_to(candidate, options).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(explain(address, last))
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

pub(super) async fn unix(
    address: &Address,
    path: &Path,
    options: &SocketOptions,
) -> Result<UnixStream, ConnectError> {
    let stream = UnixStream::connect(path).await.map_err(|error| explain(address, error))?;
    options.apply_local_buffers(&stream).map_err(|error| explain(address, error))?;
    Ok(stream)
}

pub(super) fn explain(address: &Address, source: io::Error) -> ConnectError {
    use io::ErrorKind as Kind;
    let address = address.clone();
    match source.kind() {
        Kind::ConnectionRefused => ConnectError::Refused { address },
        // A Unix listener with a full queue says EAGAIN where TCP would let the newcomer wait.
        Kind::WouldBlock => ConnectError::Refused { address },
        Kind::NetworkUnreachable | Kind::HostUnreachable => ConnectError::Unreachable { address, source },
        Kind::PermissionDenied => ConnectError::Permission { address },
        Kind::NotFound if matches!(address, Address::Unix(_)) => ConnectError::NoSuchPath { address },
        _ => ConnectError::Io { address, source },
    }
}

/// The address of a transport that is not here.
pub(super) fn not_mine(address: &Address) -> ConnectError {
    ConnectError::Unsupported { address: address.clone(), why: Unsupported::of(address) }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_is_one_sentence_that_names_the_address() {
        let tcp: Address = "tcp://ric:36421".parse().unwrap();
        let unix: Address = "unix:///run/ric".parse().unwrap();
        let told = |address: &Address, kind: io::ErrorKind| explain(address, kind.into()).to_string();
        assert_eq!(told(&tcp, io::ErrorKind::ConnectionRefused), "nobody listens at tcp://ric:36421");
        assert_eq!(told(&unix, io::ErrorKind::NotFound), "there is no socket at unix:///run/ric");
        assert_eq!(
            told(&unix, io::ErrorKind::PermissionDenied),
            "no permission to connect to unix:///run/ric"
        );
        assert!(told(&tcp, io::ErrorKind::HostUnreachable).starts_with("tcp://ric:36421 is unreachable: "));
        assert!(told(&tcp, io::ErrorKind::Other).starts_with("cannot connect to tcp://ric:36421: "));
        let late = ConnectError::TimedOut { address: tcp, after: Duration::from_millis(1500) };
        assert_eq!(late.to_string(), "tcp://ric:36421 did not answer within 1.5 s");
    }

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
