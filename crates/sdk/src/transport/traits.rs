//! What carries octets or messages: ours, and what strangers bring.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;

use super::{AcceptError, Address, BindError, ConnectError, Framer, LengthPrefix, SocketOptions, Stream};

/// An attempt that takes its time.
pub type Attempt<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A way to carry E2 and its kin: `tcp://`, `unix://`, `mem://`, `sctp://` and `shim://` are ours, any other is a
/// stranger's own, who brings it by [`register`](super::register). `examples/out-of-tree-transport` is one; [`suite`](super::suite) checks what all keep.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// What stands before `://` in its addresses.
    fn scheme(&self) -> &str;
    /// Connects. The caller bounds the time ([`SocketOptions::connect_timeout`]).
    fn connect<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Stream, ConnectError>;
    /// Listens: [`Listener::new`] around an [`Accept`].
    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Listener, BindError>;
}

/// Where connections of one transport arrive. Dropping it frees the place.
pub trait Accept: fmt::Debug + Send + Sync + 'static {
    /// The next newcomer and how to name it in a log: as an address, with whatever tells peers apart.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>>;
}

/// One connection of one transport. Dropping it ends both directions: the peer reads what was written, then the end.
///
/// Nothing is queued here beyond what the transport holds itself, a bounded amount: whoever owns the queue above decides
/// what happens at its bound.
pub trait Connection: fmt::Debug + Send + Sync + 'static {
    /// Ready once a read may give something: bytes, the end, or an error; may be ready in vain. Wakes the last task that
    /// asked, at least.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Ready once a write may be taken; as [`poll_readable`](Self::poll_readable) otherwise.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Appends what is there to `buf`: of a stream at most its spare capacity, of messages ([`Messages`](super::Messages))
    /// one, with room made for it. `Ok(0)` is the peer's end; `WouldBlock` asks to wait.
    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize>;
    /// Writes as many of the bytes as are taken now; a message whole or not at all. `WouldBlock` asks to wait.
    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    /// How PDUs are marked on it.
    fn framer(&self) -> &'static dyn Framer {
        &LengthPrefix
    }
}

/// A place where peers arrive. Dropping it frees the place; a Unix socket's file goes with it.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    arrivals: Box<dyn Accept>,
}

impl Listener {
    /// A listener of a transport's own; `address` is the one bound.
    pub fn new(address: Address, arrivals: impl Accept) -> Self {
        Self { address, arrivals: Box::new(arrivals) }
    }

    /// Where it listens; port 0 has become the port that the kernel chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Where newcomers come from, for what stands on top of this listener.
    pub(crate) fn arrivals(&self) -> &dyn Accept {
        &*self.arrivals
    }

    /// The next newcomer and how to name it in a log. Cancel-safe.
    pub async fn accept(&self) -> Result<(Stream, String), AcceptError> {
        poll_fn(|cx| self.arrivals.poll_accept(cx)).await
    }
}
