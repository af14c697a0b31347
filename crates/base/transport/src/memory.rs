//! Pair of bounded in-process pipes, with the readiness of a socket.

use ranlab_machine::lock;
use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker, ready};

use bytes::BytesMut;
use tokio::sync::mpsc;

use super::{Accept, AcceptError, Connection, Stream};

/// One end of a [`duplex`]. Dropping it ends both directions; the peer reads the remaining data, then the end.
#[derive(Debug)]
pub struct MemoryStream {
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
}

/// Returns two connected ends. Each direction holds at most `capacity_bytes` (at least 1).
pub fn duplex(capacity_bytes: usize) -> (MemoryStream, MemoryStream) {
    let there = Arc::new(Pipe::new(capacity_bytes));
    let back = Arc::new(Pipe::new(capacity_bytes));
    let near = MemoryStream { incoming: Arc::clone(&back), outgoing: Arc::clone(&there) };
    (near, MemoryStream { incoming: there, outgoing: back })
}

impl Connection for MemoryStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.incoming.lock();
        if state.closed || !state.bytes.is_empty() {
            return Poll::Ready(Ok(()));
        }
        state.readers.add(cx.waker());
        Poll::Pending
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.outgoing.lock();
        if state.closed || state.bytes.len() < self.outgoing.capacity {
            return Poll::Ready(Ok(()));
        }
        state.writers.add(cx.waker());
        Poll::Pending
    }

    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        let mut state = self.incoming.lock();
        let room = buf.capacity() - buf.len();
        let (front, back) = state.bytes.as_slices();
        let front = &front[..front.len().min(room)];
        let back = &back[..back.len().min(room - front.len())];
        buf.extend_from_slice(front);
        buf.extend_from_slice(back);
        let moved = front.len() + back.len();
        if moved == 0 {
            return if state.closed { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        state.bytes.drain(..moved);
        let writers = mem::take(&mut state.writers);
        drop(state);
        writers.wake();
        Ok(moved)
    }

    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.outgoing.lock();
        if state.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut room = self.outgoing.capacity.saturating_sub(state.bytes.len());
        if room == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let before = room;
        for slice in slices {
            let taken = &slice[..slice.len().min(room)];
            state.bytes.extend(taken);
            room -= taken.len();
        }
        let readers = mem::take(&mut state.readers);
        drop(state);
        readers.wake();
        Ok(before - room)
    }
}

impl Drop for MemoryStream {
    fn drop(&mut self) {
        for pipe in [&self.incoming, &self.outgoing] {
            let mut state = pipe.lock();
            state.closed = true;
            let waiting = [mem::take(&mut state.readers), mem::take(&mut state.writers)];
            drop(state);
            waiting.into_iter().for_each(Waiting::wake);
        }
    }
}

#[derive(Debug)]
struct Pipe {
    state: Mutex<PipeState>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct PipeState {
    bytes: VecDeque<u8>,
    closed: bool,
    /// Tasks that wait for data, and tasks that wait for room.
    readers: Waiting,
    writers: Waiting,
}

/// Waiting tasks. Each is listed once, so the list is bounded by the number of tasks.
#[derive(Debug, Default)]
struct Waiting(Vec<Waker>);

impl Waiting {
    fn add(&mut self, waker: &Waker) {
        if !self.0.iter().any(|waiting| waiting.will_wake(waker)) {
            self.0.push(waker.clone());
        }
    }

    fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}

impl Pipe {
    fn new(capacity: usize) -> Self {
        Self { state: Mutex::default(), capacity: capacity.max(1) }
    }

    fn lock(&self) -> MutexGuard<'_, PipeState> {
        // The state is consistent whenever the lock is released, even by a panic, so poisoning is ignored.
        lock(&self.state)
    }
}

/// Maximum number of connections that a `mem://` listener has not accepted yet.
const BACKLOG: usize = 1024;

/// Names of all listeners. They are global to the process, as ports are global to a machine.
static NAMES: Mutex<Option<HashMap<String, mpsc::Sender<MemoryStream>>>> = Mutex::new(None);

/// Listener of a `mem://` name. Dropping it releases the name.
#[derive(Debug)]
pub(super) struct MemoryArrivals {
    name: String,
    arrivals: Mutex<mpsc::Receiver<MemoryStream>>,
}

/// Creates a listener. Returns `None` if the name is already in use.
pub(super) fn listen(name: &str) -> Option<MemoryArrivals> {
    let mut names = lock(&NAMES);
    let names = names.get_or_insert_default();
    if names.contains_key(name) {
        return None;
    }
    let (sender, receiver) = mpsc::channel(BACKLOG);
    names.insert(name.to_owned(), sender);
    Some(MemoryArrivals { name: name.to_owned(), arrivals: Mutex::new(receiver) })
}

impl Accept for MemoryArrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let mut arrivals = lock(&self.arrivals);
        // The table keeps a sender for the lifetime of the listener, so the channel does not end.
        let stream = ready!(arrivals.poll_recv(cx))
            .ok_or_else(|| AcceptError::Io(io::ErrorKind::BrokenPipe.into()))?;
        Poll::Ready(Ok((Stream::Memory(stream), format!("mem://{}", self.name))))
    }
}

impl Drop for MemoryArrivals {
    fn drop(&mut self) {
        if let Some(names) = lock(&NAMES).as_mut() {
            names.remove(&self.name);
        }
    }
}

/// Connects to a listener. Returns `None` if there is no listener with this name, or its backlog is full.
pub(super) fn connect(name: &str, capacity_bytes: usize) -> Option<MemoryStream> {
    let names = lock(&NAMES);
    let listener = names.as_ref()?.get(name)?;
    let (near, far) = duplex(capacity_bytes);
    listener.try_send(far).ok()?;
    Some(near)
}
