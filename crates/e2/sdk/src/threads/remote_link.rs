//! A link whose socket is served by another thread. The machine's thread uses it like any other connection.
use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use ranlab_e2::ric::{Bypass, ConnId, Ric, Route, RouteTable};
use ranlab_e2::{Frame, Time};
pub(super) use ranlab_machine::lock;

use super::placement::{Place, Placement};
use super::queue::{End, Queue};
use super::xapp_outbox::{ToOutbox, XappOutbox};
use crate::transport::{Connection, Framer, Stream};

/// Number of link kinds that are counted separately: base stations and xApps.
pub(super) const KINDS: usize = 2;

/// Counters of one worker.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Whether the thread has ended.
    pub(super) dead: AtomicBool,
    /// Number of links whose task is running.
    pub(super) pumps: AtomicUsize,
    /// Bytes read from the thread's sockets, and bytes written to them.
    pub(super) inward: AtomicU64,
    pub(super) outward: AtomicU64,
    /// Number of times that a queue to the machine, or a queue from it, was full.
    pub(super) inward_full: AtomicU64,
    pub(super) outward_full: AtomicU64,
    /// Number of indications forwarded directly to xApps.
    pub(super) passed: AtomicU64,
    /// Number of times that data was passed to the machine.
    pub(super) crossings: AtomicU64,
    /// Number of pauses of links because no receiver accepted their indications.
    pub(super) rests: AtomicU64,
    /// Number of links that ended with a panic of their task.
    pub(super) panics: AtomicU64,
    /// Number of links moved from another thread.
    pub(super) moves: AtomicU64,
    /// CPU time of the thread, in nanoseconds.
    pub(super) cpu: AtomicU64,
}

/// Increases the counter `of` by `by`.
pub(super) fn count(of: &AtomicU64, by: usize) {
    of.fetch_add(by as u64, Ordering::Relaxed);
}

/// State shared by both ends of a link.
#[derive(Debug)]
pub(super) struct Shared {
    /// Queue to the machine.
    pub(super) inward: Mutex<Queue>,
    pub(super) outward: SendPath,
    /// Routes of the fast path. The routes stay locked while the messages of a read are distributed.
    pub(super) routes: Mutex<RouteTable<Arc<XappOutbox>>>,
    /// Time of the last indication on the fast path, in nanoseconds.
    pub(super) passed_at: AtomicU64,
    pub(super) counts: Arc<Counts>,
}

/// Direction from the machine to the peer.
#[derive(Debug)]
pub(super) enum SendPath {
    /// Queue to a base station, which only the machine writes.
    Queue(Mutex<Queue>),
    /// Outbox of an xApp, which several threads write.
    Mouth(Arc<XappOutbox>),
}

impl Shared {
    /// Creates the state of a base station's link.
    pub(super) fn new(framer: &'static dyn Framer, counts: Arc<Counts>) -> Arc<Self> {
        let outward = SendPath::Queue(Mutex::new(Queue::new(framer.is_one_per_write())));
        Self::with(framer, counts, outward)
    }

    /// Creates the state of an xApp's link.
    pub(super) fn of_xapp(mouth: Arc<XappOutbox>, counts: Arc<Counts>) -> Arc<Self> {
        Self::with(mouth.stream.framer(), counts, SendPath::Mouth(mouth))
    }

    fn with(framer: &'static dyn Framer, counts: Arc<Counts>, outward: SendPath) -> Arc<Self> {
        Arc::new(Self {
            inward: Mutex::new(Queue::new(framer.is_one_per_write())),
            outward,
            routes: Mutex::default(),
            passed_at: AtomicU64::new(0),
            counts,
        })
    }
}

/// Outboxes of a RIC's xApp links, by connection id.
pub(super) type XappOutboxes = Arc<Mutex<BTreeMap<ConnId, Weak<XappOutbox>>>>;

/// Entry of a link in the link counts. Dropping the entry removes the link from the counts.
#[derive(Debug)]
pub(super) struct LinkCountGuard {
    pub(super) placement: Arc<Mutex<Placement<KINDS>>>,
    pub(super) kind: usize,
    /// Place of the link, or `None` once the link is no longer counted. Changed only under the lock of `placement`.
    pub(super) place: Arc<Mutex<Option<Place>>>,
}

impl Drop for LinkCountGuard {
    fn drop(&mut self) {
        let mut placement = lock(&self.placement);
        if let Some(place) = lock(&self.place).take() {
            placement.remove(self.kind, place);
        }
    }
}

/// Machine's end of a link whose socket is served by another thread.
#[derive(Debug)]
pub struct RemoteLink {
    pub(super) shared: Arc<Shared>,
    pub(super) framer: &'static dyn Framer,
    pub(super) mouths: XappOutboxes,
    pub(super) conn: OnceLock<ConnId>,
    pub(super) _held: LinkCountGuard,
}

impl RemoteLink {
    /// Returns the link of a stream whose socket another thread serves.
    pub(crate) fn from_stream(stream: &Stream) -> Option<&Self> {
        let Stream::Other(connection) = stream else { return None };
        (&**connection as &dyn Any).downcast_ref()
    }

    /// Registers the fast path of this link with the RIC.
    pub(crate) fn register_fast_path(&self, ric: &mut Ric, conn: ConnId) {
        match &self.shared.outward {
            SendPath::Mouth(mouth) => {
                if self.conn.set(conn).is_ok() {
                    lock(&self.mouths).insert(conn, Arc::downgrade(mouth));
                }
                ric.let_out(conn, |limits| {
                    mouth.bound(limits);
                    Box::new(ToOutbox(mouth.clone()))
                });
            }
            SendPath::Queue(_) => {
                let shared = self.shared.clone();
                let mouths = self.mouths.clone();
                ric.let_pass(conn, Box::new(BypassRoutes { shared, mouths }));
            }
        }
    }
}

/// Fast path of a base station's link, configured by the machine.
#[derive(Debug)]
pub(super) struct BypassRoutes {
    pub(super) shared: Arc<Shared>,
    pub(super) mouths: XappOutboxes,
}

impl Bypass for BypassRoutes {
    fn set(&mut self, route: &Route) {
        let lanes = {
            let mouths = lock(&self.mouths);
            let of = |conn: ConnId| mouths.get(&conn).and_then(Weak::upgrade);
            route.sinks.iter().map(|sink| of(sink.conn)).collect::<Option<Vec<_>>>()
        };
        let mut routes = lock(&self.shared.routes);
        routes.set(route, lanes);
        // The writer is held, because earlier indications may still be queued for the machine and must be sent first.
        lock(&self.shared.inward).hold();
    }

    fn clear(&mut self, id: ranlab_e2_codec::e2ap::RicRequestId) {
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

impl Drop for BypassRoutes {
    /// Ends the fast path after the machine has removed the connection.
    fn drop(&mut self) {
        self.clear_all();
    }
}

impl Connection for RemoteLink {
    fn flush(&self, now: Time) -> bool {
        let SendPath::Mouth(mouth) = &self.shared.outward else { return false };
        mouth.flush(now);
        true
    }

    fn say(&self, pdu: &Bytes) -> bool {
        let SendPath::Mouth(mouth) = &self.shared.outward else { return false };
        // If the outbox is full, the peer does not read, so the message is dropped.
        if mouth.say(Frame::whole(pdu.clone())).is_ok() {
            mouth.flush(crate::transport::now());
        }
        true
    }

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
        let SendPath::Queue(queue) = &self.shared.outward else { return Poll::Ready(Ok(())) };
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
        // The outbox of an xApp link frames its messages itself, so only queues need framing here.
        let SendPath::Queue(queue) = &self.shared.outward else {
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

impl Drop for RemoteLink {
    /// Data that was written is still sent; received data is discarded.
    fn drop(&mut self) {
        if let Some(conn) = self.conn.get() {
            lock(&self.mouths).remove(conn);
        }
        lock(&self.shared.routes).clear_all();
        match &self.shared.outward {
            SendPath::Queue(queue) => {
                let ended = lock(queue).finish(End::Closed);
                ended.wake();
            }
            SendPath::Mouth(mouth) => mouth.finish(End::Closed),
        }
        let unread = lock(&self.shared.inward).abandon();
        unread.wake();
    }
}
