//! What carries octets or messages: ours, and what strangers bring.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use bytes::BytesMut;

use super::builtin::{Memory, Tcp, Unix};
use super::sctp::{Sctp, Shim};
use super::{
    AcceptError, Address, BindError, ConnectError, Framer, LengthPrefix, Listener, SocketOptions, Stream,
};

/// An attempt that takes its time.
pub type Attempt<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A way to carry E2 and its kin: `tcp://`, `unix://`, `mem://`, `sctp://` and `shim://` are ours, any other is a stranger's own, who brings it by
/// [`register`]. `examples/out-of-tree-transport` is one; [`suite`](super::suite) checks what all keep.
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

/// What strangers have brought. Schemes are the process's, as names of memory listeners are: hence one table for all.
static REGISTERED: RwLock<Vec<Arc<dyn Transport>>> = RwLock::new(Vec::new());

/// A transport cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Addresses with this scheme mean another transport already.
    #[error("{0}:// is another transport's scheme already")]
    Taken(String),
    /// No scheme of an address.
    #[error("{0:?} is no scheme: write lower-case letters, digits, + and -, a letter first")]
    Scheme(String),
}

/// Makes a transport known to the process: from now on its addresses parse, and every handle listens and connects there.
pub fn register(transport: impl Transport) -> Result<(), RegisterError> {
    let scheme = transport.scheme().to_owned();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '+' || c == '-';
    if !scheme.starts_with(|c: char| c.is_ascii_lowercase()) || !scheme.chars().all(allowed) {
        return Err(RegisterError::Scheme(scheme));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let ours = ["tcp", "unix", "mem", "sctp", "shim", "tls"];
    if ours.contains(&&*scheme) || registered.iter().any(|other| other.scheme() == scheme) {
        return Err(RegisterError::Taken(scheme));
    }
    registered.push(Arc::new(transport));
    Ok(())
}

/// What a stranger has brought under a scheme.
pub(super) fn registered(scheme: &str) -> Option<Arc<dyn Transport>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.iter().find(|transport| transport.scheme() == scheme).cloned()
}

/// What carries an address here; `None` if nothing does.
pub(super) fn carrying(address: &Address) -> Option<Arc<dyn Transport>> {
    match address {
        Address::Tcp { .. } => Some(Arc::new(Tcp)),
        Address::Unix(_) => Some(Arc::new(Unix)),
        Address::Memory(_) => Some(Arc::new(Memory)),
        Address::Other { scheme, .. } => registered(scheme),
        Address::Sctp { .. } => Some(Arc::new(Sctp)),
        Address::Shim { .. } => Some(Arc::new(Shim)),
        Address::Tls { .. } => None,
    }
}
