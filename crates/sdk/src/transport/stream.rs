//! One connection, whatever carries it.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

use super::{Framer, LengthPrefix, MemoryStream};

/// Room made by [`Stream::try_read`] if the caller's buffer has none.
const LEAST_ROOM_BYTES: usize = 4 << 10;

/// A byte stream with readiness. Dropping it closes both directions.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix stream socket.
    Unix(UnixStream),
    /// A pipe within the process.
    Memory(MemoryStream),
}

impl Stream {
    /// The peer's address, if the stream has one: TCP alone.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            _ => None,
        }
    }

    /// Resolves once a read may give something: bytes, the end, or an error. May resolve in vain; cancel-safe. Any number
    /// of tasks may wait, and all of them are woken.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
            Self::Memory(_) => poll_fn(|cx| self.poll_readable(cx)).await,
        }
    }

    /// Resolves once a write may be taken; as [`readable`](Self::readable) otherwise.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.writable().await,
            Self::Unix(stream) => stream.writable().await,
            Self::Memory(_) => poll_fn(|cx| self.poll_writable(cx)).await,
        }
    }

    /// As [`readable`](Self::readable), without its list of waiting tasks: on a socket a task that begins to wait takes
    /// the place of the one before.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
            Self::Memory(stream) => stream.poll_readable(cx).map(Ok),
        }
    }

    /// As [`poll_readable`](Self::poll_readable).
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(cx),
            Self::Unix(stream) => stream.poll_write_ready(cx),
            Self::Memory(stream) => stream.poll_writable(cx).map(Ok),
        }
    }

    /// How messages are marked on it.
    pub fn framer(&self) -> &'static dyn Framer {
        &LengthPrefix
    }

    /// Appends what is there to `buf`, at most its spare capacity (room is made if it has none). `Ok(0)` is the
    /// peer's end; `WouldBlock` asks to wait for [`Self::readable`].
    pub fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        if buf.spare_capacity_mut().is_empty() {
            buf.reserve(LEAST_ROOM_BYTES);
        }
        let room = buf.spare_capacity_mut().len();
        match self {
            Self::Tcp(stream) => {
                drain(room, |attempt| stream.try_io(Interest::READABLE, attempt), || stream.try_read_buf(buf))
            }
            Self::Unix(stream) => {
                drain(room, |attempt| stream.try_io(Interest::READABLE, attempt), || stream.try_read_buf(buf))
            }
            Self::Memory(stream) => stream.try_read(buf),
        }
    }

    /// Writes as many of the bytes as the stream takes now. `WouldBlock` asks to wait for [`Self::writable`].
    pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let all = slices.iter().map(|slice| slice.len()).sum();
        match self {
            Self::Tcp(stream) => drain(
                all,
                |attempt| stream.try_io(Interest::WRITABLE, attempt),
                || stream.try_write_vectored(slices),
            ),
            Self::Unix(stream) => drain(
                all,
                |attempt| stream.try_io(Interest::WRITABLE, attempt),
                || stream.try_write_vectored(slices),
            ),
            Self::Memory(stream) => stream.try_write_vectored(slices),
        }
    }
}

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
