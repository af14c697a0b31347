//! The worker's end of a link: a task that carries octets between a socket and two queues.
use std::cell::RefCell;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::crossing::{Counts, Outward, Shared, count, lock};
use super::mouth::Batch;
use super::moving::Seat;
use super::queue::{End, Queue};
use crate::clock::now;
use crate::transport::{FrameReader, ReadOutcome, Stream};

/// Octets that one read of a socket brings at most, where messages are not told apart.
const READ_BYTES: usize = 64 << 10;
/// Moves of one link before the thread's other links have their turn.
const MOVES: usize = 8;
/// How long a link rests that reports to nobody who takes more now: what it says meanwhile comes in fewer reads, and its peer
/// feels it.
const REST: Duration = Duration::from_millis(1);
/// How long what was written last may take to leave once the machine has let go of the link.
const LINGER: Duration = Duration::from_secs(1);

thread_local! {
    /// What a read has brought for the machine, until it is queued; the links of one thread share it.
    static BUFFER: RefCell<BytesMut> = RefCell::new(BytesMut::new());
    /// The same for xApps.
    static BATCH: RefCell<Batch> = RefCell::new(Batch::default());
}

/// Carries one link until both directions have ended.
pub(super) struct Pump {
    socket: Socket,
    shared: Arc<Shared>,
    /// Of the thread that serves it.
    counts: Arc<Counts>,
    /// By what it moves from thread to thread, if it may.
    seat: Option<Seat>,
    /// Tells messages apart, some of which go past the machine; without it, all goes to the machine as it comes.
    reader: Option<FrameReader>,
    /// Taken out of the queue, not yet by the socket; of messages one.
    leaving: BytesMut,
    /// Until when it rests, while it does; kept for the next time.
    rest: Option<Pin<Box<Sleep>>>,
    rests: bool,
    /// Set once the machine has let go.
    linger: Option<Pin<Box<Sleep>>>,
    /// Nothing more comes from the socket.
    heard_all: bool,
    ended: bool,
}

/// Where the link's socket is.
enum Socket {
    Own(Stream),
    /// With what is said to the xApp.
    Shared,
}

impl Pump {
    /// Of a base station's link, with PDUs up to so many octets.
    pub(super) fn new(stream: Stream, max_pdu: usize, shared: Arc<Shared>) -> Self {
        let reader = FrameReader::with_framer(max_pdu, stream.framer()).with_spare();
        Self::with(Socket::Own(stream), Some(reader), shared)
    }

    /// It may move from thread to thread.
    pub(super) fn at(mut self, seat: Seat) -> Self {
        self.seat = Some(seat);
        self
    }

    /// Whether it is served elsewhere from now on: then this task has ended, and another one goes on.
    fn moves(&mut self) -> bool {
        let Some(place) = self.seat.as_mut().and_then(Seat::better) else { return false };
        if self.ended || self.heard_all || self.linger.is_some() {
            return false;
        }
        let Some(seat) = self.seat.take() else { return false };
        let Socket::Own(stream) = std::mem::replace(&mut self.socket, Socket::Shared) else { return false };
        match seat.carry(stream, place) {
            Ok((stream, counts)) => {
                let (reader, leaving) = (self.reader.take(), std::mem::take(&mut self.leaving));
                let shared = self.shared.clone();
                counts.pumps.fetch_add(1, Ordering::Relaxed);
                // It has nothing to tell when it is dropped.
                self.ended = true;
                seat.spawn(place, |seat| Self {
                    socket: Socket::Own(stream),
                    shared,
                    counts,
                    seat: Some(seat),
                    reader,
                    leaving,
                    rest: None,
                    rests: false,
                    linger: None,
                    heard_all: false,
                    ended: false,
                });
                true
            }
            Err(Ok(stream)) => {
                // It stays for good.
                self.socket = Socket::Own(stream);
                false
            }
            Err(Err(error)) => {
                self.end(End::Broken(error.kind(), error.to_string()));
                true
            }
        }
    }

    /// Of an xApp's link.
    pub(super) fn of_xapp(shared: Arc<Shared>) -> Self {
        Self::with(Socket::Shared, None, shared)
    }

    fn with(socket: Socket, reader: Option<FrameReader>, shared: Arc<Shared>) -> Self {
        shared.counts.pumps.fetch_add(1, Ordering::Relaxed);
        let leaving = BytesMut::new();
        Self {
            socket,
            counts: shared.counts.clone(),
            shared,
            seat: None,
            reader,
            leaving,
            rest: None,
            rests: false,
            linger: None,
            heard_all: false,
            ended: false,
        }
    }

    /// Moves what one read brings; `Ready(false)` if nothing more comes that way.
    fn inward(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.heard_all {
            return Poll::Ready(Ok(false));
        }
        {
            let mut queue = lock(&self.shared.inward);
            if queue.is_over() {
                self.heard_all = true;
                return Poll::Ready(Ok(false));
            }
            if queue.is_held() || !queue.has_room() {
                queue.await_room(cx.waker());
                if !queue.has_room() {
                    count(&self.counts.inward_full, 1);
                }
                return Poll::Pending;
            }
        }
        if self.rests {
            if let Some(rest) = &mut self.rest {
                ready!(rest.as_mut().poll(cx));
            }
            self.rests = false;
        }
        let Some(stream) = stream(&self.socket, &self.shared) else { return Poll::Ready(Ok(false)) };
        ready!(stream.poll_readable(cx))?;
        let moved = match &mut self.reader {
            Some(reader) => match reader.fill(stream) {
                Ok(ReadOutcome::Bytes(read)) => {
                    count(&self.counts.inward, read);
                    match deliver(reader, &self.shared, &self.counts) {
                        Delivered::Well => {}
                        Delivered::ToNobody => self.begin_to_rest(),
                        Delivered::Broken => {
                            // The machine meets what is wrong, as if it had read it itself.
                            let rest = self.reader.take().map(FrameReader::into_rest).unwrap_or_default();
                            put(&self.shared, &self.counts, &rest);
                        }
                    }
                    Ok(true)
                }
                Ok(ReadOutcome::WouldBlock) => Ok(true),
                Ok(ReadOutcome::Closed) => Ok(false),
                Err(error) => Err(error),
            },
            None => BUFFER.with_borrow_mut(|buffer| {
                buffer.clear();
                buffer.reserve(READ_BYTES);
                match stream.try_read(buffer) {
                    Ok(0) => Ok(false),
                    Ok(read) => {
                        count(&self.counts.inward, read);
                        put(&self.shared, &self.counts, buffer);
                        Ok(true)
                    }
                    Err(error) if is_in_vain(&error) => Ok(true),
                    Err(error) => Err(error),
                }
            }),
        };
        if let Ok(false) = moved {
            self.heard_all = true;
            lock(&self.shared.inward).finish(End::Closed).wake();
        }
        Poll::Ready(moved)
    }

    fn begin_to_rest(&mut self) {
        count(&self.counts.rests, 1);
        self.rests = true;
        let until = Instant::now() + REST;
        match &mut self.rest {
            Some(rest) => rest.as_mut().reset(until),
            None => self.rest = Some(Box::pin(sleep_until(until))),
        }
    }

    /// Moves octets towards the socket; `Ready(false)` if the machine has let go and all of it has left.
    fn outward(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let queue = match &self.shared.outward {
            Outward::Mouth(mouth) => return mouth.poll(cx),
            Outward::Queue(queue) => queue,
        };
        if self.leaving.is_empty() {
            let mut queue = lock(queue);
            if !queue.is_readable() {
                let nobody_held = queue.await_octets(cx.waker());
                drop(queue);
                nobody_held.wake();
                return Poll::Pending;
            }
            self.leaving.reserve(queue.len());
            let (taken, wake) = queue.read(&mut self.leaving)?;
            drop(queue);
            wake.wake();
            if taken == 0 {
                return Poll::Ready(Ok(false));
            }
        }
        let Some(stream) = stream(&self.socket, &self.shared) else { return Poll::Ready(Ok(false)) };
        ready!(stream.poll_writable(cx))?;
        match stream.try_write_vectored(&[IoSlice::new(&self.leaving)]) {
            Ok(sent) => {
                count(&self.counts.outward, sent);
                self.leaving.advance(sent);
                Poll::Ready(Ok(true))
            }
            Err(error) if is_in_vain(&error) => Poll::Ready(Ok(true)),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Whether the machine has let go; wakes `cx` once it does.
    fn is_let_go(&self, cx: &mut Context<'_>) -> bool {
        match &self.shared.outward {
            // A socket that takes nothing wakes nobody: the end of the link has to.
            Outward::Queue(queue) => {
                let mut queue = lock(queue);
                queue.await_octets(cx.waker()).wake();
                queue.is_over()
            }
            Outward::Mouth(mouth) => mouth.is_over(),
        }
    }

    /// The machine is told why, and the task has nothing more to do.
    fn end(&mut self, why: End) {
        self.ended = true;
        let told = lock(&self.shared.inward).finish(why.clone());
        match &self.shared.outward {
            Outward::Queue(queue) => {
                let mut outward = lock(queue);
                let (ended, unread) = (outward.finish(why), outward.abandon());
                drop(outward);
                ended.wake();
                unread.wake();
            }
            Outward::Mouth(mouth) => mouth.finish(match why {
                End::Closed => End::Broken(io::ErrorKind::BrokenPipe, "the link has ended".to_owned()),
                broken @ End::Broken(..) => broken,
            }),
        }
        told.wake();
    }
}

/// The link's socket.
fn stream<'a>(socket: &'a Socket, shared: &'a Shared) -> Option<&'a Stream> {
    match (socket, &shared.outward) {
        (Socket::Own(stream), _) => Some(stream),
        (Socket::Shared, Outward::Mouth(mouth)) => Some(&mouth.stream),
        (Socket::Shared, Outward::Queue(_)) => None,
    }
}

/// What became of a read.
enum Delivered {
    /// All of it is where it belongs.
    Well,
    /// The same, all at xApps that take no more for now.
    ToNobody,
    /// A message was framed wrongly.
    Broken,
}

/// Gives each whole message of a read to whom it is for: to xApps, or to the machine.
fn deliver(reader: &mut FrameReader, shared: &Shared, counts: &Counts) -> Delivered {
    BATCH.with_borrow_mut(|batch| {
        let now = now();
        let delivered = BUFFER.with_borrow_mut(|for_machine| {
            for_machine.clear();
            // From the look at the routes until all is where it belongs they do not change.
            let routes = lock(&shared.routes);
            let goes_past = !routes.is_empty() && !lock(&shared.inward).is_held();
            let (mut passed, mut handed) = (0, false);
            let well = loop {
                let pdu = match reader.next() {
                    Ok(Some(pdu)) => pdu,
                    Ok(None) => break true,
                    Err(_) => break false,
                };
                let give = |mouth: &_, flow, frame| batch.add(mouth, flow, frame);
                if goes_past && routes.pass(now, &pdu, give) {
                    passed += 1;
                    continue;
                }
                handed = true;
                Queue::frame(reader.framer(), &pdu, for_machine);
                if reader.framer().is_one_per_write() {
                    put(shared, counts, for_machine);
                    for_machine.clear();
                }
            };
            put(shared, counts, for_machine);
            let in_vain = batch.push(now);
            drop(routes);
            if passed > 0 {
                count(&counts.passed, passed);
                shared.passed_at.store(now.as_nanos(), Ordering::Relaxed);
            }
            match (well, in_vain && !handed) {
                (false, _) => Delivered::Broken,
                (true, true) => Delivered::ToNobody,
                (true, false) => Delivered::Well,
            }
        });
        batch.flush(now);
        delivered
    })
}

/// Hands octets to the machine.
fn put(shared: &Shared, counts: &Counts, octets: &[u8]) {
    if !octets.is_empty() {
        count(&counts.crossings, 1);
        let wake = lock(&shared.inward).put(octets);
        wake.wake();
    }
}

fn is_in_vain(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl Future for Pump {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.moves() {
            return Poll::Ready(());
        }
        for _ in 0..MOVES {
            let inward = this.inward(cx);
            let outward = this.outward(cx);
            if let Poll::Ready(Err(error)) = &inward {
                this.end(End::Broken(error.kind(), error.to_string()));
                return Poll::Ready(());
            }
            match outward {
                Poll::Ready(Err(error)) => {
                    this.end(End::Broken(error.kind(), error.to_string()));
                    return Poll::Ready(());
                }
                // The machine has let go, and has heard what there was to hear.
                Poll::Ready(Ok(false)) => {
                    this.end(End::Closed);
                    return Poll::Ready(());
                }
                Poll::Ready(Ok(true)) => continue,
                Poll::Pending => {}
            }
            if !matches!(inward, Poll::Ready(Ok(true))) {
                if this.is_let_go(cx) {
                    let linger = this.linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
                    if linger.as_mut().poll(cx).is_ready() {
                        this.end(End::Closed);
                        return Poll::Ready(());
                    }
                }
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.counts.pumps.fetch_sub(1, Ordering::Relaxed);
        if !self.ended {
            let why = if std::thread::panicking() {
                count(&self.counts.panics, 1);
                "the task that serves its socket has panicked"
            } else {
                "the thread that serves its socket has ended"
            };
            self.end(End::Broken(io::ErrorKind::ConnectionAborted, why.to_owned()));
        }
    }
}
