//! A link whose socket is served beside the machine: to the machine's thread it is a connection like any other.
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use ranlab_e2::ric::{Bypass, ConnId, Ric, Route, RouteTable};
use ranlab_e2::{Frame, Time};

use super::mouth::{Mouth, ToMouth};
use super::placement::{Place, Placement};
use super::queue::{End, Queue};
use crate::transport::{Connection, Framer};

/// Kinds of listeners that are counted apart: base stations' and xApps'.
pub(super) const KINDS: usize = 2;

/// Locks what no panic can leave half changed.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one worker has done.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Its thread has ended.
    pub(super) dead: AtomicBool,
    /// Links whose task has not ended.
    pub(super) pumps: AtomicUsize,
    /// Octets out of its sockets, and into them.
    pub(super) inward: AtomicU64,
    pub(super) outward: AtomicU64,
    /// Times that a queue towards the machine, or from it, was found full.
    pub(super) inward_full: AtomicU64,
    pub(super) outward_full: AtomicU64,
    /// Indications that went straight to xApps.
    pub(super) passed: AtomicU64,
    /// Times that the machine was handed something.
    pub(super) crossings: AtomicU64,
    /// Times that a link rested because nobody took what it reports.
    pub(super) rests: AtomicU64,
    /// Links that ended with a panic of their task.
    pub(super) panics: AtomicU64,
    /// Links that came from another thread.
    pub(super) moves: AtomicU64,
    /// CPU time that the thread has used, in nanoseconds.
    pub(super) cpu: AtomicU64,
}

/// Adds to a count that is only looked at.
pub(super) fn count(of: &AtomicU64, by: usize) {
    of.fetch_add(by as u64, Ordering::Relaxed);
}

/// What both ends of a link share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Towards the machine.
    pub(super) inward: Mutex<Queue>,
    pub(super) outward: Outward,
    /// What goes past the machine. Held while a read's messages are given to whom they are for.
    pub(super) routes: Mutex<RouteTable<Arc<Mouth>>>,
    /// When something last did, in nanoseconds.
    pub(super) passed_at: AtomicU64,
    pub(super) counts: Arc<Counts>,
}

/// How the machine says something to a peer.
#[derive(Debug)]
pub(super) enum Outward {
    /// To a base station: the machine alone does.
    Queue(Mutex<Queue>),
    /// To an xApp: as others do.
    Mouth(Arc<Mouth>),
}

impl Shared {
    /// Of a base station's link.
    pub(super) fn new(framer: &'static dyn Framer, counts: Arc<Counts>) -> Arc<Self> {
        let outward = Outward::Queue(Mutex::new(Queue::new(framer.is_one_per_write())));
        Self::with(framer, counts, outward)
    }

    /// Of an xApp's link.
    pub(super) fn of_xapp(mouth: Arc<Mouth>, counts: Arc<Counts>) -> Arc<Self> {
        Self::with(mouth.stream.framer(), counts, Outward::Mouth(mouth))
    }

    fn with(framer: &'static dyn Framer, counts: Arc<Counts>, outward: Outward) -> Arc<Self> {
        Arc::new(Self {
            inward: Mutex::new(Queue::new(framer.is_one_per_write())),
            outward,
            routes: Mutex::default(),
            passed_at: AtomicU64::new(0),
            counts,
        })
    }
}

/// The xApps' links of one RIC, by the machine's numbers.
pub(super) type Mouths = Arc<Mutex<BTreeMap<ConnId, Weak<Mouth>>>>;

/// A link's place in the count of links, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) placement: Arc<Mutex<Placement<KINDS>>>,
    pub(super) kind: usize,
    /// Changed under the lock of `placement` alone; `None` once it is counted no more.
    pub(super) place: Arc<Mutex<Option<Place>>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut placement = lock(&self.placement);
        if let Some(place) = lock(&self.place).take() {
            placement.remove(self.kind, place);
        }
    }
}

/// The machine's end of a link whose socket is served beside it.
#[derive(Debug)]
pub struct Far {
    pub(super) shared: Arc<Shared>,
    pub(super) framer: &'static dyn Framer,
    pub(super) mouths: Mouths,
    pub(super) conn: OnceLock<ConnId>,
    pub(super) _held: Held,
}

impl Far {
    /// The machine learns what this link does by itself.
    pub(crate) fn meet(&self, ric: &mut Ric, conn: ConnId) {
        match &self.shared.outward {
            Outward::Mouth(mouth) => {
                if self.conn.set(conn).is_ok() {
                    lock(&self.mouths).insert(conn, Arc::downgrade(mouth));
                }
                ric.let_out(conn, |limits| {
                    mouth.bound(limits);
                    Box::new(ToMouth(mouth.clone()))
                });
            }
            Outward::Queue(_) => {
                let (shared, mouths) = (self.shared.clone(), self.mouths.clone());
                ric.let_pass(conn, Box::new(Pass { shared, mouths }));
            }
        }
    }

    /// Sends what the machine has put into the link's outbox, if the link has one of its own.
    pub(crate) fn leave(&self, now: Time) -> bool {
        let Outward::Mouth(mouth) = &self.shared.outward else { return false };
        mouth.flush(now);
        true
    }

    /// Says something last, if the link has an outbox of its own.
    pub(crate) fn say(&self, pdu: &Bytes) -> bool {
        let Outward::Mouth(mouth) = &self.shared.outward else { return false };
        // Whoever does not take what waits already does not want to know.
        if mouth.say(Frame::whole(pdu.clone())).is_ok() {
            mouth.flush(crate::clock::now());
        }
        true
    }
}

/// What the machine tells a base station's link of its subscriptions.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) shared: Arc<Shared>,
    pub(super) mouths: Mouths,
}

impl Bypass for Pass {
    fn set(&mut self, route: &Route) {
        let lanes = {
            let mouths = lock(&self.mouths);
            let of = |conn: ConnId| mouths.get(&conn).and_then(Weak::upgrade);
            route.sinks.iter().map(|sink| of(sink.conn)).collect::<Option<Vec<_>>>()
        };
        let mut routes = lock(&self.shared.routes);
        routes.set(route, lanes);
        // What came before may still be on its way through the machine, and is to leave first.
        lock(&self.shared.inward).hold();
    }

    fn clear(&mut self, id: ranlab_wire::e2ap::RicRequestId) {
        lock(&self.shared.routes).clear(id);
    }

    fn clear_all(&mut self) {
        lock(&self.shared.routes).clear_all();
    }

    fn last(&self) -> Option<Time> {
        let at = self.shared.passed_at.load(Ordering::Relaxed);
        (at > 0).then(|| Time::from_nanos(at))
    }
}

impl Drop for Pass {
    /// The machine has forgotten the connection.
    fn drop(&mut self) {
        self.clear_all();
    }
}

impl Connection for Far {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut queue = lock(&self.shared.inward);
        if queue.is_readable() {
            return Poll::Ready(Ok(()));
        }
        let wake = queue.await_octets(cx.waker());
        drop(queue);
        wake.wake();
        Poll::Pending
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Outward::Queue(queue) = &self.shared.outward else { return Poll::Ready(Ok(())) };
        let mut queue = lock(queue);
        if queue.is_writable() {
            return Poll::Ready(Ok(()));
        }
        queue.await_room(cx.waker());
        Poll::Pending
    }

    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        let (moved, wake) = lock(&self.shared.inward).read(buf)?;
        wake.wake();
        Ok(moved)
    }

    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        // An xApp's link has its own outbox, which frames what is put there.
        let Outward::Queue(queue) = &self.shared.outward else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let written = lock(queue).write(slices);
        match written {
            Ok((taken, wake)) => {
                wake.wake();
                Ok(taken)
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    count(&self.shared.counts.outward_full, 1);
                }
                Err(error)
            }
        }
    }

    fn framer(&self) -> &'static dyn Framer {
        self.framer
    }
}

impl Drop for Far {
    /// What was written is still sent; what comes is no longer wanted.
    fn drop(&mut self) {
        if let Some(conn) = self.conn.get() {
            lock(&self.mouths).remove(conn);
        }
        lock(&self.shared.routes).clear_all();
        match &self.shared.outward {
            Outward::Queue(queue) => {
                let ended = lock(queue).finish(End::Closed);
                ended.wake();
            }
            Outward::Mouth(mouth) => mouth.finish(End::Closed),
        }
        let unread = lock(&self.shared.inward).abandon();
        unread.wake();
    }
}
