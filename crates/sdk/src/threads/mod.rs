//! Sockets on several threads around one machine.
//!
//! ```text
//!  any thread                          |                                               | the machine's thread
//!  base station --> Pump --------------+-- what the machine has not let past: Queue ---+-> FrameReader -> machine
//!    `- indications that it has: RouteTable -> Mouth (one outbox per xApp) <-----------+-- what the machine says
//!  xApp <-- whoever finds nobody writing -- Mouth
//!  xApp --> Pump ----------------------+-- Queue --------------------------------------+-> FrameReader -> machine
//!  base station <-- Pump --------------+-- Queue <-------------------------------------+-- FrameWriter <- Outbox
//! ```
//! A link belongs to one thread from its first octet to its last. The machine stays on one thread, unchanged, and decides all
//! but one thing by itself: the indications of a subscription that only xApps hear go straight from the thread that reads
//! them into the xApps' outboxes ([`ranlab_e2::ric::Bypass`]), so that most messages never cross. What crosses does so by
//! bounded queues: a full one means that its socket is not read on and its peer held back; towards a base station what does not
//! fit stays in the machine's own [`Outbox`](ranlab_e2::Outbox). Nothing is lost in between, and each time a queue was full is counted.
//!
//! A subscription's indications are in order, whatever way they take: before a route is first taken the link rests until the
//! machine has handled what came before ([`Queue::hold`](queue::Queue::hold)); once it is withdrawn none takes it.
//!
//! A link whose socket can be handed on moves to another thread when another number of threads is needed (`moving`): with its task, so
//! that nothing of it is on two threads.
//!
//! A task that panics ends its link alone, and the machine hears why. A thread that ends takes its links along, and no
//! newcomer is given to it.
mod crossing;
mod mouth;
mod moving;
mod placement;
mod pump;
mod queue;
#[cfg(test)]
mod tests;

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
pub use crossing::Far;
use crossing::{Counts, Held, Mouths, Shared, lock};
use mouth::Mouth;
use moving::{Bench, Hall, Seat};
use placement::{LOOK_AT_LOAD, Load, Place, Placement};
use pump::Pump;
pub use queue::QUEUE_BYTES;

/// Base stations and xApps, as kinds of links.
pub(crate) const STATIONS: usize = 0;
pub(crate) const XAPPS: usize = 1;
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
    /// Octets that its sockets brought.
    pub inward_bytes: u64,
    /// Octets that its sockets took.
    pub outward_bytes: u64,
    /// Times that the queue towards the machine was full: the socket was not read until it had room.
    pub inward_full: u64,
    /// Times that the queue from the machine was full: what came stayed in the machine's outbox.
    pub outward_full: u64,
    /// Indications that went from its base stations straight to xApps.
    pub passed: u64,
    /// Times that it handed the machine something: what came together counts once.
    pub crossings: u64,
    /// Times that a base station's link was read on a millisecond later, because no xApp that it reported to took more.
    pub rests: u64,
    /// Links that ended because their task panicked.
    pub panics: u64,
    /// Links that came from another thread.
    pub moves: u64,
}

/// Threads that serve sockets for a machine on another one. Ends them when dropped.
pub(crate) struct Threads {
    hall: Arc<Hall>,
    mouths: Mouths,
    max_pdu: usize,
    stop: Vec<Arc<Notify>>,
    /// Looks at how much they are loaded.
    looks: Option<JoinHandle<()>>,
}

/// Tells that its thread has ended, however.
struct Last(Arc<Counts>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.dead.store(true, Ordering::Relaxed);
    }
}

impl Threads {
    /// Starts so many threads beside the caller's, for PDUs of up to `max_pdu` octets. Links are on the caller's until it is loaded with more
    /// than `above` of a core, then on so many as are needed; 0: on all of them, evenly. To be called in a runtime, and with `above` in a
    /// `LocalSet`.
    pub(crate) fn start(name: &str, workers: usize, max_pdu: usize, above: f64) -> io::Result<Self> {
        let (mut benches, mut all_stop) = (Vec::new(), Vec::new());
        for number in 1..=workers {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (handle, counts, stop) = (runtime.handle().clone(), Arc::<Counts>::default(), Arc::default());
            let (last, ended) = (Last(Arc::clone(&counts)), Arc::clone(&stop));
            let started = thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || Self::serve(&runtime, above, &ended, &last));
            if let Err(error) = started {
                all_stop.iter().for_each(|stop: &Arc<Notify>| stop.notify_one());
                return Err(error);
            }
            all_stop.push(stop);
            benches.push(Bench { runtime: handle, counts });
        }
        let load = Load::new(above, workers + 1);
        let mut placement = Placement::new(workers);
        placement.set_active(load.active());
        let hall = Arc::new(Hall {
            here: Bench { runtime: Handle::current(), counts: Arc::default() },
            workers: benches,
            placement: Arc::new(Mutex::new(placement)),
            turns: AtomicU64::new(0),
        });
        let looks = (above > 0.0).then(|| tokio::task::spawn_local(Self::look(hall.clone(), load)));
        Ok(Self { hall, mouths: Mouths::default(), max_pdu, stop: all_stop, looks })
    }

    /// Has so many threads serve as their load wants.
    async fn look(hall: Arc<Hall>, mut load: Load) {
        let used = || {
            let workers = hall.workers.iter().map(|worker| worker.counts.cpu.load(Ordering::Relaxed));
            workers.map(Duration::from_nanos).sum::<Duration>() + thread_cpu_time()
        };
        let (mut at, mut before) = (Instant::now(), used());
        loop {
            tokio::time::sleep(LOOK_AT_LOAD).await;
            let (now, used) = (Instant::now(), used());
            let cores = used.saturating_sub(before).as_secs_f64() / now.duration_since(at).as_secs_f64();
            (at, before) = (now, used);
            if load.look(cores) {
                tracing::debug!(threads = load.active(), cores, "another number of threads serves links");
                hall.set_active(load.active());
            }
        }
    }

    /// The life of a worker.
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
        Ok(Listener::new(bound, Arrivals { inner, crew: self.crew(), kind }))
    }

    fn crew(&self) -> Crew {
        Crew { hall: Arc::clone(&self.hall), mouths: Arc::clone(&self.mouths), max_pdu: self.max_pdu }
    }

    /// What each thread carries, the caller's own first.
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

/// Who may serve a newcomer.
#[derive(Debug)]
struct Crew {
    hall: Arc<Hall>,
    mouths: Mouths,
    max_pdu: usize,
}

/// A listener whose newcomers are given to threads.
#[derive(Debug)]
struct Arrivals {
    inner: Listener,
    crew: Crew,
    kind: usize,
}

impl Accept for Arrivals {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<(Stream, String), AcceptError>> {
        let crew = &self.crew;
        let place = lock(&crew.hall.placement).next(self.kind, |worker| crew.hall.is_alive(worker));
        let (stream, peer) = {
            // A socket is watched by the runtime that it is made in: the worker's, from the beginning.
            let _entered = crew.hall.bench(place).runtime.enter();
            ready!(self.inner.arrivals().poll_accept(cx))?
        };
        Poll::Ready(Ok((crew.cross(stream, place, self.kind), peer)))
    }
}

impl Crew {
    /// Has a place serve a link of a kind; returns the machine's end. A worker that has ended breaks it at once.
    fn cross(&self, stream: Stream, place: Place, kind: usize) -> Stream {
        let hall = &self.hall;
        lock(&hall.placement).add(kind, place);
        let counted = Arc::new(Mutex::new(Some(place)));
        let held = Held { placement: Arc::clone(&hall.placement), kind, place: counted.clone() };
        let bench = hall.bench(place);
        let counts = &bench.counts;
        let framer = stream.framer();
        let (pump, shared) = if kind == XAPPS {
            let mouth = Arc::new(Mouth::new(stream, self.max_pdu, Arc::clone(counts)));
            let shared = Shared::of_xapp(mouth, Arc::clone(counts));
            (Pump::of_xapp(Arc::clone(&shared)), shared)
        } else {
            let shared = Shared::new(framer, Arc::clone(counts));
            let turn = hall.turns.load(Ordering::Relaxed);
            let seat = Seat { hall: Arc::clone(hall), kind, place: counted, turn };
            (Pump::new(stream, self.max_pdu, Arc::clone(&shared)).at(seat), shared)
        };
        match place {
            Place::Worker(_) => drop(bench.runtime.spawn(pump)),
            Place::Here => drop(tokio::task::spawn_local(pump)),
        }
        Stream::Far(Far {
            shared,
            framer,
            mouths: Arc::clone(&self.mouths),
            conn: OnceLock::new(),
            _held: held,
        })
    }
}
