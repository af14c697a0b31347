//! One connection, whatever carries it.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

use super::{Connection, Framer, MemoryStream};
use crate::threads::Far;

/// Room made by [`Stream::try_read`] if the caller's buffer has none.
const LEAST_ROOM_BYTES: usize = 4 << 10;

/// A connection with readiness. Dropping it closes both directions.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix stream socket.
    Unix(UnixStream),
    /// A pipe within the process.
    Memory(MemoryStream),
    /// A socket that is served beside the machine, perhaps by another thread ([`RicHandle::start_on`](crate::RicHandle::start_on)).
    Far(Far),
    /// A stranger's own.
    Other(Box<dyn Connection>),
}

impl Stream {
    /// The peer's address, if the stream has one: TCP alone.
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
            Self::Far(far) => far,
            Self::Other(connection) => &**connection,
        }
    }

    /// Resolves once a read may give something: bytes, the end, or an error. May resolve in vain; cancel-safe. Any number
    /// of tasks may wait, and all of them are woken (of a stranger's connection the last one, at least).
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
            _ => poll_fn(|cx| self.poll_readable(cx)).await,
        }
    }

    /// Resolves once a write may be taken; as [`readable`](Self::readable) otherwise.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.writable().await,
            Self::Unix(stream) => stream.writable().await,
            _ => poll_fn(|cx| self.poll_writable(cx)).await,
        }
    }

    /// As [`readable`](Self::readable), without its list of waiting tasks: on a socket a task that begins to wait takes
    /// the place of the one before.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection().poll_readable(cx)
    }

    /// As [`poll_readable`](Self::poll_readable).
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection().poll_writable(cx)
    }

    /// How PDUs are marked on it.
    pub fn framer(&self) -> &'static dyn Framer {
        self.connection().framer()
    }

    /// Appends what is there to `buf`, at most its spare capacity (room is made if it has none). `Ok(0)` is the
    /// peer's end; `WouldBlock` asks to wait for [`Self::readable`].
    pub fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        if buf.spare_capacity_mut().is_empty() {
            buf.reserve(LEAST_ROOM_BYTES);
        }
        self.connection().try_read(buf)
    }

    /// Writes as many of the bytes as the stream takes now. `WouldBlock` asks to wait for [`Self::writable`].
    pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.connection().try_write_vectored(slices)
    }
}

/// Sockets of tokio.
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

/// Makes one attempt, and notes a short one as the end of readiness.
///
/// Under edge-triggered epoll a transfer shorter than asked for has drained (or filled) the socket: epoll(7),
/// question 9. Telling tokio so saves the system call that would only have said `EAGAIN`.
fn drain(
    asked: usize,
    with_readiness: impl FnOnce(&mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize>,
    mut attempt: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    let mut short = None;
    let result = with_readiness(&mut || match attempt() {
        Ok(moved) if moved > 0 && moved < asked => {
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
