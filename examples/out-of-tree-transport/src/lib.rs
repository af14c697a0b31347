//! Third-party transport over ring buffers of whole messages, with addresses `ring://NAME`.
use ranlab_sdk::bytes::{Bytes, BytesMut};
use ranlab_sdk::transport::{
    Accept, AcceptError, Address, Attempt, BindError, ConnectError, Connection, Framer, Listener,
    MessageBoundaries, SocketOptions, Stream, Transport,
};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Capacity of a ring, in messages. A writer waits while the ring is full.
const MESSAGES: usize = 32;
/// Maximum number of connections that wait to be accepted. Further connections are refused.
const NEWCOMERS: usize = 64;

/// Ring transport, with its listeners by name.
#[derive(Debug, Clone, Default)]
pub struct Ring(Arc<Mutex<BTreeMap<String, Arc<Place>>>>);

/// Queue of connections that wait for a listener.
#[derive(Debug, Default)]
struct Place(Mutex<(VecDeque<End>, Option<Waker>)>);

/// Accepting side of a listener. Dropping it frees the name.
#[derive(Debug)]
struct Arrivals {
    ring: Ring,
    name: String,
    place: Arc<Place>,
}

/// Messages in flight in one direction.
#[derive(Debug, Default)]
struct Way {
    messages: VecDeque<Bytes>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Endpoint of a connection.
#[derive(Debug)]
struct End {
    incoming: Arc<Mutex<Way>>,
    outgoing: Arc<Mutex<Way>>,
}

/// Locks a mutex even if a thread panicked while holding it, because the locked data is always consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the text after `ring://`.
fn name_of(address: &Address) -> &str {
    if let Address::Other { place, .. } = address { place } else { "" }
}

impl Transport for Ring {
    fn scheme(&self) -> &str {
        "ring"
    }

    fn connect<'a>(
        &'a self,
        address: &'a Address,
        _: &'a SocketOptions,
    ) -> Attempt<'a, Stream, ConnectError> {
        Box::pin(async move {
            let refused = || ConnectError::Refused { address: address.clone() };
            let place = lock(&self.0).get(name_of(address)).cloned().ok_or_else(refused)?;
            let there = Arc::default();
            let back = Arc::default();
            let near = End { incoming: Arc::clone(&back), outgoing: Arc::clone(&there) };
            let mut waiting = lock(&place.0);
            if waiting.0.len() >= NEWCOMERS {
                return Err(refused());
            }
            waiting.0.push_back(End { incoming: there, outgoing: back });
            waiting.1.take().into_iter().for_each(Waker::wake);
            Ok(Stream::Other(Box::new(near)))
        })
    }

    fn listen<'a>(&'a self, address: &'a Address, _: &'a SocketOptions) -> Attempt<'a, Listener, BindError> {
        Box::pin(async move {
            let name = name_of(address).to_owned();
            let place = Arc::new(Place::default());
            let mut places = lock(&self.0);
            if places.contains_key(&name) {
                return Err(BindError::InUse { address: address.clone() });
            }
            places.insert(name.clone(), Arc::clone(&place));
            Ok(Listener::new(address.clone(), Arrivals { ring: self.clone(), name, place }))
        })
    }
}

impl Accept for Arrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let mut waiting = lock(&self.place.0);
        match waiting.0.pop_front() {
            Some(end) => Poll::Ready(Ok((Stream::Other(Box::new(end)), format!("ring://{}", self.name)))),
            None => {
                waiting.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        lock(&self.ring.0).remove(&self.name);
    }
}

impl Connection for End {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut way = lock(&self.incoming);
        if way.closed || !way.messages.is_empty() {
            return Poll::Ready(Ok(()));
        }
        way.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut way = lock(&self.outgoing);
        if way.closed || way.messages.len() < MESSAGES {
            return Poll::Ready(Ok(()));
        }
        way.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        let mut way = lock(&self.incoming);
        match way.messages.pop_front() {
            Some(message) => {
                way.writer.take().into_iter().for_each(Waker::wake);
                buf.extend_from_slice(&message);
                Ok(message.len())
            }
            None if way.closed => Ok(0),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut way = lock(&self.outgoing);
        if way.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if way.messages.len() >= MESSAGES {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let message: Bytes = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let written = message.len();
        way.messages.push_back(message);
        way.reader.take().into_iter().for_each(Waker::wake);
        Ok(written)
    }

    fn framer(&self) -> &'static dyn Framer {
        &MessageBoundaries
    }
}

impl Drop for End {
    fn drop(&mut self) {
        for way in [&self.incoming, &self.outgoing] {
            let mut way = lock(way);
            way.closed = true;
            let waiting = [way.reader.take(), way.writer.take()];
            waiting.into_iter().flatten().for_each(Waker::wake);
        }
    }
}
