//! A connection over any transport.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use ranlab_machine::Time;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

use super::{Connection, Framer, MemoryStream};

/// Number of bytes that [`Stream::try_read`] adds to the caller's buffer if this has no spare capacity.
const LEAST_ROOM_BYTES: usize = 4 << 10;

/// A connection with readiness. Dropping it closes both directions.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stream {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A Unix stream socket.
    Unix(UnixStream),
    /// A pipe within this process.
    Memory(MemoryStream),
    /// A connection of a third-party transport, or of a socket that another thread may serve.
    Other(Box<dyn Connection>),
}

impl Stream {
    /// Returns the peer's address. Only TCP streams have an address.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            _ => None,
        }
    }

    fn connection(&self) -> &dyn Connection {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
            Self::Memory(stream) => stream,
            Self::Other(connection) => &**connection,
        }
    }

    /// Waits until a read may return data, the end, or an error. Spurious wake-ups are possible. Cancel-safe. Any
    /// number of tasks may wait, and all are woken (a third-party connection wakes at least the last waiting task).
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
            _ => poll_fn(|cx| self.poll_readable(cx)).await,
        }
    }

    /// Waits until a write may be accepted; otherwise like [`readable`](Self::readable).
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.writable().await,
            Self::Unix(stream) => stream.writable().await,
            _ => poll_fn(|cx| self.poll_writable(cx)).await,
        }
    }

    /// Polls like [`readable`](Self::readable), but without a list of waiting tasks: on a socket, a new waiting task
    /// replaces the previous one.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection().poll_readable(cx)
    }

    /// Polls for writing; otherwise like [`poll_readable`](Self::poll_readable).
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection().poll_writable(cx)
    }

    /// Sends the frames that a machine has queued for this link, if the connection has an outbox ([`Connection::flush`]).
    pub(crate) fn flush(&self, now: Time) -> bool {
        self.connection().flush(now)
    }

    /// Sends a last message, if the connection has an outbox ([`Connection::say`]).
    pub(crate) fn say(&self, pdu: &Bytes) -> bool {
        self.connection().say(pdu)
    }

    /// Returns the framing of PDUs.
    pub fn framer(&self) -> &'static dyn Framer {
        self.connection().framer()
    }

    /// Appends available data to `buf`, at most its spare capacity (room is added if it has none). `Ok(0)` is the end
    /// of the stream; after `WouldBlock`, wait for [`Self::readable`].
    pub fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        if buf.spare_capacity_mut().is_empty() {
            buf.reserve(LEAST_ROOM_BYTES);
        }
        self.connection().try_read(buf)
    }

    /// Writes as many bytes as the stream accepts now. After `WouldBlock`, wait for [`Self::writable`].
    pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.connection().try_write_vectored(slices)
    }
}

/// Implements `Connection` for sockets of tokio.
macro_rules! connection_of_socket {
    ($socket:ty) => {
        impl Connection for $socket {
            fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_read_ready(cx)
            }
            fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_write_ready(cx)
            }
            fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
                let room = buf.spare_capacity_mut().len();
                drain(room, |attempt| self.try_io(Interest::READABLE, attempt), || self.try_read_buf(buf))
            }
            fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
                let all = slices.iter().map(|slice| slice.len()).sum();
                drain(
                    all,
                    |attempt| self.try_io(Interest::WRITABLE, attempt),
                    || <$socket>::try_write_vectored(self, slices),
                )
            }
        }
    };
}
connection_of_socket!(TcpStream);
connection_of_socket!(UnixStream);

/// Makes one attempt, and clears the readiness after a short transfer.
///
/// Under edge-triggered epoll, a short transfer has drained or filled the socket (epoll(7), question 9). Clearing the
/// readiness saves a system call that would only return `EAGAIN`.
fn drain(
    requested: usize,
    with_readiness: impl FnOnce(&mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize>,
    mut attempt: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    let mut short = None;
    let result = with_readiness(&mut || match attempt() {
        Ok(moved) if moved > 0 && moved < requested => {
            short = Some(moved);
            Err(io::ErrorKind::WouldBlock.into())
        }
        other => other,
    });
    match short {
        Some(moved) => Ok(moved),
        None => result,
    }
}
