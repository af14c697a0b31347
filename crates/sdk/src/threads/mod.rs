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
//! A task that panics ends its link alone, and the machine hears why. A thread that ends takes its links along, and no
//! newcomer is given to it.
mod crossing;
mod moderation;
mod mouth;
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
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

use crate::transport::{Accept, AcceptError, Address, BindError, Listener, SocketOptions, Stream};
pub use crossing::Far;
use crossing::{Counts, Held, KINDS, Mouths, Shared, lock};
use moderation::Moderated;
pub use moderation::{MODERATION, MODERATION_MAX};
pub(crate) use moderation::{asked, before_park};
use mouth::Mouth;
use placement::{Place, Placement};
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
    /// Times that it had nothing more to do and was about to wait for its sockets.
    pub wakes: u64,
    /// Times of those that it waited a little before it looked at them, to find more there ([`MODERATION`]).
    pub waits: u64,
    /// Links that ended because their task panicked.
    pub panics: u64,
}

/// Threads that serve sockets for a machine on another one. Ends them when dropped.
pub(crate) struct Threads {
    workers: Arc<[Worker]>,
    placement: Arc<Mutex<Placement<KINDS>>>,
    mouths: Mouths,
    max_pdu: usize,
    stop: Vec<Arc<Notify>>,
    /// What the machine's own thread carries.
    here: Arc<Counts>,
    /// That thread waits like the others, where its runtime can.
    _moderated: Option<Moderated>,
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
    /// Starts so many threads beside the caller's, for PDUs of up to `max_pdu` octets. Those that wake often wait for so long.
    pub(crate) fn start(name: &str, workers: usize, max_pdu: usize, wait: Duration) -> io::Result<Self> {
        let mut threads = Self {
            workers: Arc::default(),
            placement: Arc::new(Mutex::new(Placement::new(workers))),
            mouths: Mouths::default(),
            max_pdu,
            stop: Vec::new(),
            here: Arc::default(),
            _moderated: None,
        };
        let mut started = Vec::new();
        for number in 1..=workers {
            let runtime = Builder::new_current_thread().enable_all().on_thread_park(before_park).build()?;
            let (handle, counts, stop) = (runtime.handle().clone(), Arc::<Counts>::default(), Arc::default());
            let (last, ended) = (Last(Arc::clone(&counts)), Arc::clone(&stop));
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || Self::serve(&runtime, wait, &ended, &last))?;
            threads.stop.push(stop);
            started.push(Worker { runtime: handle, counts });
        }
        threads.workers = started.into();
        let spawn = |task| drop(tokio::task::spawn_local(task));
        threads._moderated = Moderated::begin(wait, &threads.here, spawn);
        Ok(threads)
    }

    /// The life of a worker.
    fn serve(runtime: &Runtime, wait: Duration, stop: &Notify, last: &Last) {
        asked();
        let _moderated = Moderated::begin(wait, &last.0, |task| drop(runtime.spawn(task)));
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
        Crew {
            workers: Arc::clone(&self.workers),
            placement: Arc::clone(&self.placement),
            mouths: Arc::clone(&self.mouths),
            max_pdu: self.max_pdu,
            here: Arc::clone(&self.here),
        }
    }

    /// What each thread carries, the caller's own first.
    pub(crate) fn report(&self) -> Vec<ThreadReport> {
        let placement = lock(&self.placement);
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
                wakes: seen(&counts.wakes),
                waits: seen(&counts.waits),
                panics: seen(&counts.panics),
            }
        };
        let own = report(Place::Here, &self.here);
        let workers = self.workers.iter().enumerate();
        std::iter::once(own)
            .chain(workers.map(|(number, worker)| report(Place::Worker(number), &worker.counts)))
            .collect()
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

/// Who may serve a newcomer.
#[derive(Debug)]
struct Crew {
    workers: Arc<[Worker]>,
    placement: Arc<Mutex<Placement<KINDS>>>,
    mouths: Mouths,
    max_pdu: usize,
    here: Arc<Counts>,
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
        let place = lock(&crew.placement).next(self.kind, |worker| crew.workers[worker].is_alive());
        let (stream, peer) = {
            // A socket is watched by the runtime that it is made in: the worker's, from the beginning.
            let _entered = crew.worker(place).map(|worker| worker.runtime.enter());
            ready!(self.inner.arrivals().poll_accept(cx))?
        };
        Poll::Ready(Ok((crew.cross(stream, place, self.kind), peer)))
    }
}

impl Crew {
    fn worker(&self, place: Place) -> Option<&Worker> {
        match place {
            Place::Here => None,
            Place::Worker(number) => Some(&self.workers[number]),
        }
    }

    /// Has a place serve a link of a kind; returns the machine's end. A worker that has ended breaks it at once.
    fn cross(&self, stream: Stream, place: Place, kind: usize) -> Stream {
        lock(&self.placement).add(kind, place);
        let held = Held { placement: Arc::clone(&self.placement), kind, place };
        let worker = self.worker(place);
        let counts = worker.map_or(&self.here, |worker| &worker.counts);
        let framer = stream.framer();
        let (pump, shared) = if kind == XAPPS {
            let mouth = Arc::new(Mouth::new(stream, self.max_pdu, Arc::clone(counts)));
            let shared = Shared::of_xapp(mouth, Arc::clone(counts));
            (Pump::of_xapp(Arc::clone(&shared)), shared)
        } else {
            let shared = Shared::new(framer, Arc::clone(counts));
            (Pump::new(stream, self.max_pdu, Arc::clone(&shared)), shared)
        };
        match worker {
            Some(worker) => drop(worker.runtime.spawn(pump)),
            None => drop(tokio::task::spawn_local(pump)),
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
