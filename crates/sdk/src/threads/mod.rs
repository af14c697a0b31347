//! Sockets on several threads around one machine.
//!
//! ```text
//!  worker thread                       | bounded queues, one per link and direction | the machine's thread
//!  socket --try_read--> Pump ----------+----------- inward (Queue) ----------------+-> FrameReader -> machine
//!  socket <-try_write-- Pump <---------+----------- outward (Queue) <--------------+-- FrameWriter <- Outbox
//! ```
//! A link belongs to one thread from its first octet to its last, so its order is the socket's. The machine stays on one
//! thread, unchanged: to it such a link is a connection whose transport happens to be a queue. A full queue is therefore
//! what a full socket is. Towards the machine the socket is not read on, and its peer held back; from the machine what
//! does not fit stays in the machine's own [`Outbox`](ranlab_e2::Outbox), which drops by its rules. Nothing is lost in
//! between, and each time a queue was found full is counted.
//!
//! A task that panics ends its link alone, and the machine hears why. A thread that ends takes its links along, and no
//! newcomer is given to it.
mod crossing;
mod placement;
mod pump;
mod queue;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

use crate::transport::{Accept, AcceptError, Address, BindError, Listener, SocketOptions, Stream};
use crossing::{Counted, Counts, Held, KINDS, Near, Shared, lock};
use placement::{Place, Placement};
use pump::Pump;
pub use queue::QUEUE_BYTES;

/// How long a worker that is to end waits for what its links have still to send.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often it looks whether they are done.
const LOOK: Duration = Duration::from_millis(10);

/// What one thread carries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadReport {
    /// Links that it serves now.
    pub links: usize,
    /// Whether it serves newcomers; the machine's own thread always does.
    pub alive: bool,
    /// Octets that its sockets brought for the machine; 0 of the machine's own thread, as all that follows.
    pub inward_bytes: u64,
    /// Octets that its sockets took.
    pub outward_bytes: u64,
    /// Times that the queue towards the machine was full: the socket was not read until it had room.
    pub inward_full: u64,
    /// Times that the queue from the machine was full: what came stayed in the machine's outbox.
    pub outward_full: u64,
    /// Links that ended because their task panicked.
    pub panics: u64,
}

/// Threads that serve sockets for a machine on another one. Ends them when dropped.
pub(crate) struct Threads {
    workers: Arc<[Worker]>,
    placement: Arc<Mutex<Placement<KINDS>>>,
    stop: Vec<Arc<Notify>>,
}

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    counts: Arc<Counts>,
}

/// Tells that its thread has ended, however.
struct Last(Arc<Counts>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.dead.store(true, Ordering::Relaxed);
    }
}

impl Threads {
    /// Starts so many threads beside the caller's.
    pub(crate) fn start(name: &str, workers: usize) -> io::Result<Self> {
        let placement = Arc::new(Mutex::new(Placement::new(workers)));
        let mut threads = Self { workers: Arc::default(), placement, stop: Vec::new() };
        let mut started = Vec::new();
        for number in 1..=workers {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (handle, counts, stop) = (runtime.handle().clone(), Arc::<Counts>::default(), Arc::default());
            let (last, ended) = (Last(Arc::clone(&counts)), Arc::clone(&stop));
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || Self::serve(&runtime, &ended, &last))?;
            threads.stop.push(stop);
            started.push(Worker { runtime: handle, counts });
        }
        threads.workers = started.into();
        Ok(threads)
    }

    /// The life of a worker.
    fn serve(runtime: &Runtime, stop: &Notify, last: &Last) {
        runtime.block_on(async {
            stop.notified().await;
            let over = async {
                while last.0.pumps.load(Ordering::Relaxed) > 0 {
                    tokio::time::sleep(LOOK).await;
                }
            };
            // Who has not taken it by now will not.
            let _ = tokio::time::timeout(LAST_WORDS, over).await;
        });
    }

    /// Listens, and gives each newcomer to a thread. `kind` is counted by itself.
    pub(crate) async fn listener(
        &self,
        kind: usize,
        address: &Address,
        options: &SocketOptions,
    ) -> Result<Listener, BindError> {
        let inner = Listener::bind(address, options).await?;
        let bound = inner.address().clone();
        let (workers, placement) = (Arc::clone(&self.workers), Arc::clone(&self.placement));
        Ok(Listener::new(bound, Arrivals { inner, workers, placement, kind }))
    }

    /// What each thread carries, the caller's own first.
    pub(crate) fn report(&self) -> Vec<ThreadReport> {
        let placement = lock(&self.placement);
        let own = ThreadReport {
            links: placement.links(Place::Here),
            alive: true,
            inward_bytes: 0,
            outward_bytes: 0,
            inward_full: 0,
            outward_full: 0,
            panics: 0,
        };
        let seen = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let workers = self.workers.iter().enumerate().map(|(number, worker)| ThreadReport {
            links: placement.links(Place::Worker(number)),
            alive: worker.is_alive(),
            inward_bytes: seen(&worker.counts.inward),
            outward_bytes: seen(&worker.counts.outward),
            inward_full: seen(&worker.counts.inward_full),
            outward_full: seen(&worker.counts.outward_full),
            panics: seen(&worker.counts.panics),
        });
        std::iter::once(own).chain(workers).collect()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.iter().for_each(|stop| stop.notify_one());
    }
}

impl Worker {
    fn is_alive(&self) -> bool {
        !self.counts.dead.load(Ordering::Relaxed)
    }
}

/// A listener whose newcomers are given to threads.
#[derive(Debug)]
struct Arrivals {
    inner: Listener,
    workers: Arc<[Worker]>,
    placement: Arc<Mutex<Placement<KINDS>>>,
    kind: usize,
}

impl Accept for Arrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let place = lock(&self.placement).next(self.kind, |worker| self.workers[worker].is_alive());
        let worker = match place {
            Place::Here => None,
            Place::Worker(number) => Some(&self.workers[number]),
        };
        let (stream, peer) = {
            // A socket is watched by the runtime that it is made in: the worker's, from the beginning.
            let _entered = worker.map(|worker| worker.runtime.enter());
            ready!(self.inner.arrivals().poll_accept(cx))?
        };
        lock(&self.placement).add(self.kind, place);
        let held = Held { placement: Arc::clone(&self.placement), kind: self.kind, place };
        let stream = match worker {
            None => Stream::Other(Box::new(Counted { stream, _held: held })),
            Some(worker) => cross(stream, worker, held),
        };
        Poll::Ready(Ok((stream, peer)))
    }
}

/// Has a worker serve a link; returns the machine's end. A worker that has ended breaks it at once.
fn cross(stream: Stream, worker: &Worker, held: Held) -> Stream {
    let framer = stream.framer();
    let shared = Shared::new(framer, Arc::clone(&worker.counts));
    worker.runtime.spawn(Pump::new(stream, Arc::clone(&shared)));
    Stream::Other(Box::new(Near { shared, framer, _held: held }))
}
