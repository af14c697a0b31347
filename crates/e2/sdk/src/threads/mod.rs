//! Sockets on several threads for one machine.
//!
//! ```text
//!  any thread                           |                                         | the machine's thread
//!  base station --> LinkTask -----------+-- messages without a route: Queue ------+-> FrameReader -> machine
//!    `- routed indications: RouteTable -> XappOutbox (one per xApp) <-------------+-- messages of the machine
//!  xApp <-- first thread that adds data -- XappOutbox
//!  xApp --> LinkTask -------------------+-- Queue --------------------------------+-> FrameReader -> machine
//!  base station <-- LinkTask -----------+-- Queue <-------------------------------+-- FrameWriter <- Outbox
//! ```
//! The machine stays on one thread and makes all decisions with one exception. Indications of a subscription that only
//! xApps receive are forwarded by the thread that reads them, directly into the outboxes of the xApps
//! ([`ranlab_e2::ric::Bypass`]). Most messages therefore never change threads. All others pass through bounded queues.
//! If a queue is full, its socket is not read, which applies back-pressure to the peer. Messages to a base station that
//! its queue does not accept stay in the machine's [`Outbox`](ranlab_e2::Outbox). No data is lost between them, and
//! each full queue is counted. A link is served by one thread at a time.
//!
//! The indications of a subscription stay in order on both paths. Before a route is used for the first time, the link
//! waits until the machine has handled all earlier messages ([`Queue::hold`](queue::Queue::hold)). After a route is
//! withdrawn, no indication uses it.
//!
//! If the number of active threads changes, a link moves to another thread if its socket allows this (`worker_pool`).
//! Its task moves with it, so no part of a link is on two threads.
//!
//! A task that panics ends only its own link, and the machine gets the reason. A thread that ends takes its links
//! with it and gets no new ones.
mod link_task;
mod placement;
mod queue;
mod remote_link;
#[cfg(test)]
mod tests;
mod worker_pool;
mod xapp_outbox;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::{Duration, Instant};

use ranlab_net::thread_cpu_time;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::transport::{Accept, AcceptError, Address, BindError, Listener, SocketOptions, Stream};
use link_task::LinkTask;
use placement::{LOOK_AT_LOAD, Load, Place, Placement};
pub use queue::QUEUE_BYTES;
pub use remote_link::RemoteLink;
use remote_link::{Counts, LinkCountGuard, Shared, XappOutboxes, lock};
use worker_pool::{LinkSlot, WorkerPool, WorkerThread};
use xapp_outbox::XappOutbox;

/// Index of the link kind for base stations. The other link kind is xApps.
pub(crate) const STATIONS: usize = 0;
pub(crate) const XAPPS: usize = 1;
/// Time that a worker grants its links at shutdown to send their queued data.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Interval at which a worker checks whether its shutdown is complete.
const LOOK: Duration = Duration::from_millis(10);

/// Load of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadReport {
    /// Number of links of the thread.
    pub links: usize,
    /// Whether the thread accepts new links. The machine's own thread always does.
    pub alive: bool,
    /// Bytes read from the thread's sockets.
    pub inward_bytes: u64,
    /// Bytes written to the thread's sockets.
    pub outward_bytes: u64,
    /// Number of times that the queue to the machine was full. A socket is not read while its queue is full.
    pub inward_full: u64,
    /// Number of times that the queue from the machine was full. Messages stay in the machine's outbox while it is full.
    pub outward_full: u64,
    /// Number of indications forwarded directly from base stations to xApps.
    pub passed: u64,
    /// Number of times that data was passed to the machine. A batch counts once.
    pub crossings: u64,
    /// Number of times that reading from a base station was delayed by a millisecond, because none of the receiving
    /// xApps accepted more data.
    pub rests: u64,
    /// Number of links that ended because their task panicked.
    pub panics: u64,
    /// Number of links moved from another thread.
    pub moves: u64,
}

/// Threads that serve sockets for a machine on another thread. Dropping the value ends the threads.
pub(crate) struct Threads {
    hall: Arc<WorkerPool>,
    mouths: XappOutboxes,
    max_pdu: usize,
    stop: Vec<Arc<Notify>>,
    /// Task that measures the load.
    looks: Option<JoinHandle<()>>,
}

/// Guard that marks its thread as ended when dropped, even after a panic.
struct Last(Arc<Counts>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.dead.store(true, Ordering::Relaxed);
    }
}

impl Threads {
    /// Starts `workers` threads in addition to the calling thread, for PDUs of up to `max_pdu` bytes. The calling
    /// thread serves links until its load exceeds `above` of a core; then as many threads as needed serve them. With
    /// `above` = 0, links are spread evenly over all threads. Must be called inside a runtime, and with `above` > 0
    /// inside a `LocalSet`.
    pub(crate) fn start(name: &str, workers: usize, max_pdu: usize, above: f64) -> io::Result<Self> {
        let mut benches = Vec::new();
        let mut all_stop = Vec::new();
        for number in 1..=workers {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let handle = runtime.handle().clone();
            let counts = Arc::<Counts>::default();
            let stop = Arc::default();
            let last = Last(Arc::clone(&counts));
            let ended = Arc::clone(&stop);
            let started = thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || Self::serve(&runtime, above, &ended, &last));
            if let Err(error) = started {
                all_stop.iter().for_each(|stop: &Arc<Notify>| stop.notify_one());
                return Err(error);
            }
            all_stop.push(stop);
            benches.push(WorkerThread { runtime: handle, counts });
        }
        let load = Load::new(above, workers + 1);
        let mut placement = Placement::new(workers);
        placement.set_active(load.active());
        let hall = Arc::new(WorkerPool {
            here: WorkerThread { runtime: Handle::current(), counts: Arc::default() },
            workers: benches,
            placement: Arc::new(Mutex::new(placement)),
            turns: AtomicU64::new(0),
        });
        let looks = (above > 0.0).then(|| tokio::task::spawn_local(Self::adapt_to_load(hall.clone(), load)));
        Ok(Self { hall, mouths: XappOutboxes::default(), max_pdu, stop: all_stop, looks })
    }

    /// Adapts the number of active threads to the load.
    async fn adapt_to_load(hall: Arc<WorkerPool>, mut load: Load) {
        let used = || {
            let workers = hall.workers.iter().map(|worker| worker.counts.cpu.load(Ordering::Relaxed));
            workers.map(Duration::from_nanos).sum::<Duration>() + thread_cpu_time()
        };
        let mut at = Instant::now();
        let mut before = used();
        loop {
            tokio::time::sleep(LOOK_AT_LOAD).await;
            let now = Instant::now();
            let used = used();
            let cores = used.saturating_sub(before).as_secs_f64() / now.duration_since(at).as_secs_f64();
            (at, before) = (now, used);
            if load.add_measurement(cores) {
                tracing::debug!(
                    threads = load.active(),
                    cores,
                    "the number of threads that serve links has changed"
                );
                hall.set_active(load.active());
            }
        }
    }

    /// Main function of a worker.
    fn serve(runtime: &Runtime, above: f64, stop: &Notify, last: &Last) {
        if above > 0.0 {
            let counts = Arc::clone(&last.0);
            runtime.spawn(async move {
                loop {
                    let used = u64::try_from(thread_cpu_time().as_nanos()).unwrap_or(u64::MAX);
                    counts.cpu.store(used, Ordering::Relaxed);
                    tokio::time::sleep(LOOK_AT_LOAD).await;
                }
            });
        }
        runtime.block_on(async {
            stop.notified().await;
            let over = async {
                while last.0.pumps.load(Ordering::Relaxed) > 0 {
                    tokio::time::sleep(LOOK).await;
                }
            };
            // Stops waiting after `LAST_WORDS`: a peer that has not read the data by then is not expected to read it.
            let _ = tokio::time::timeout(LAST_WORDS, over).await;
        });
    }

    /// Opens a listener and assigns each new connection to a thread. Link kinds are balanced separately.
    pub(crate) async fn listener(
        &self,
        kind: usize,
        address: &Address,
        options: &SocketOptions,
    ) -> Result<Listener, BindError> {
        let inner = Listener::bind(address, options).await?;
        let bound = inner.address().clone();
        Ok(Listener::new(bound, Arrivals { inner, crew: self.crew(), kind }))
    }

    fn crew(&self) -> ThreadChoice {
        ThreadChoice { hall: Arc::clone(&self.hall), mouths: Arc::clone(&self.mouths), max_pdu: self.max_pdu }
    }

    /// Returns the load of each thread, starting with the calling thread.
    pub(crate) fn report(&self) -> Vec<ThreadReport> {
        let placement = lock(&self.hall.placement);
        let report = |place, counts: &Counts| {
            let seen = |of: &AtomicU64| of.load(Ordering::Relaxed);
            ThreadReport {
                links: placement.links(place),
                alive: !counts.dead.load(Ordering::Relaxed),
                inward_bytes: seen(&counts.inward),
                outward_bytes: seen(&counts.outward),
                inward_full: seen(&counts.inward_full),
                outward_full: seen(&counts.outward_full),
                passed: seen(&counts.passed),
                crossings: seen(&counts.crossings),
                rests: seen(&counts.rests),
                panics: seen(&counts.panics),
                moves: seen(&counts.moves),
            }
        };
        let own = report(Place::Here, &self.hall.here.counts);
        let workers = self.hall.workers.iter().enumerate();
        std::iter::once(own)
            .chain(workers.map(|(number, worker)| report(Place::Worker(number), &worker.counts)))
            .collect()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.iter().for_each(|stop| stop.notify_one());
        if let Some(looks) = &self.looks {
            looks.abort();
        }
    }
}

/// Choice of a thread for each new connection.
#[derive(Debug)]
struct ThreadChoice {
    hall: Arc<WorkerPool>,
    mouths: XappOutboxes,
    max_pdu: usize,
}

/// A listener whose connections are assigned to threads.
#[derive(Debug)]
struct Arrivals {
    inner: Listener,
    crew: ThreadChoice,
    kind: usize,
}

impl Accept for Arrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let crew = &self.crew;
        let place = lock(&crew.hall.placement).next(self.kind, |worker| crew.hall.is_alive(worker));
        let (stream, peer) = {
            // A socket is registered with the runtime in which it is created, so the worker's runtime must be entered.
            let _entered = crew.hall.bench(place).runtime.enter();
            ready!(self.inner.arrivals().poll_accept(cx))?
        };
        Poll::Ready(Ok((crew.cross(stream, place, self.kind), peer)))
    }
}

impl ThreadChoice {
    /// Assigns a link to a place, and returns the machine's end of it. If the worker has ended, the link breaks
    /// immediately.
    fn cross(&self, stream: Stream, place: Place, kind: usize) -> Stream {
        let hall = &self.hall;
        lock(&hall.placement).add(kind, place);
        let counted = Arc::new(Mutex::new(Some(place)));
        let held = LinkCountGuard { placement: Arc::clone(&hall.placement), kind, place: counted.clone() };
        let bench = hall.bench(place);
        let counts = &bench.counts;
        let framer = stream.framer();
        let (pump, shared) = if kind == XAPPS {
            let mouth = Arc::new(XappOutbox::new(stream, self.max_pdu, Arc::clone(counts)));
            let shared = Shared::of_xapp(mouth, Arc::clone(counts));
            (LinkTask::of_xapp(Arc::clone(&shared)), shared)
        } else {
            let shared = Shared::new(framer, Arc::clone(counts));
            let turn = hall.turns.load(Ordering::Relaxed);
            let seat = LinkSlot { hall: Arc::clone(hall), kind, place: counted, turn };
            (LinkTask::new(stream, self.max_pdu, Arc::clone(&shared)).at(seat), shared)
        };
        match place {
            Place::Worker(_) => drop(bench.runtime.spawn(pump)),
            Place::Here => drop(tokio::task::spawn_local(pump)),
        }
        Stream::Other(Box::new(RemoteLink {
            shared,
            framer,
            mouths: Arc::clone(&self.mouths),
            conn: OnceLock::new(),
            _held: held,
        }))
    }
}
