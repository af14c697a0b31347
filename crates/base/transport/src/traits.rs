//! Interface of transports, built-in and third-party.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use ranlab_machine::Time;

use super::{AcceptError, Address, BindError, ConnectError, Framer, LengthPrefix, SocketOptions, Stream};

/// Future of a connection attempt.
pub type Attempt<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A transport for E2 and related protocols. `tcp://`, `unix://`, `mem://`, `sctp://` and `shim://` are built in.
/// Third-party transports are added with [`register`](super::register). `examples/out-of-tree-transport` is an
/// example; [`suite`](super::suite) checks the requirements.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Returns the scheme: the text before `://` in its addresses.
    fn scheme(&self) -> &str;
    /// Connects. The caller limits the time ([`SocketOptions::connect_timeout`]).
    fn connect<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Stream, ConnectError>;
    /// Listens. Returns [`Listener::new`] with an [`Accept`].
    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Listener, BindError>;
}

/// Source of incoming connections. Dropping it releases the address.
pub trait Accept: fmt::Debug + Send + Sync + 'static {
    /// Returns the next connection and its name for logs: an address that identifies the peer.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>>;
}

/// A connection. Dropping it ends both directions; the peer reads the written data, then the end.
///
/// A connection queues only a bounded amount of data in the transport itself. The owner of the queue above decides
/// what happens at its limit.
pub trait Connection: Any + fmt::Debug + Send + Sync + 'static {
    /// Polls whether a read may return data, the end, or an error; may be ready spuriously. Wakes at least the last
    /// task that called it.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Polls whether a write may be accepted; otherwise like [`poll_readable`](Self::poll_readable).
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Appends available data to `buf`. A stream appends at most the spare capacity. A transport with [message
    /// boundaries](super::MessageBoundaries) adds room for one message and appends it. `Ok(0)` is the end; `WouldBlock` means no data
    /// now.
    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize>;
    /// Writes as many bytes as are accepted now, or a whole message. `WouldBlock` means no room now.
    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Returns the framing of PDUs.
    fn framer(&self) -> &'static dyn Framer {
        &LengthPrefix
    }
    /// Sends the frames that a machine has queued for this link. Returns `false` if the connection has no outbox: the driver
    /// then takes the frames from the machine and writes them here.
    fn flush(&self, _now: Time) -> bool {
        false
    }
    /// Sends a last message through the connection's outbox. Returns `false` if the connection has no outbox.
    fn say(&self, _pdu: &Bytes) -> bool {
        false
    }
}

/// A listener. Dropping it releases the address and removes the file of a Unix socket.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    arrivals: Box<dyn Accept>,
}

impl Listener {
    /// Creates a listener of a transport; `address` is the address to which it is bound.
    pub fn new(address: Address, arrivals: impl Accept) -> Self {
        Self { address, arrivals: Box::new(arrivals) }
    }

    /// Returns the address of the listener. Port 0 is replaced by the port that the kernel chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the source of connections, for a transport on top of this listener.
    pub fn arrivals(&self) -> &dyn Accept {
        &*self.arrivals
    }

    /// Accepts the next connection. Returns it and its name for logs. Cancel-safe.
    pub async fn accept(&self) -> Result<(Stream, String), AcceptError> {
        poll_fn(|cx| self.arrivals.poll_accept(cx)).await
    }
}
