//! Task of a link on a worker thread. It transfers bytes between a socket and two queues.
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

use super::queue::{End, Queue};
use super::remote_link::{Counts, SendPath, Shared, count, lock};
use super::worker_pool::LinkSlot;
use super::xapp_outbox::Batch;
use crate::transport::now;
use crate::transport::{FrameReader, ReadOutcome, Stream};

/// Maximum number of bytes per read of a socket whose messages are not separated.
const READ_BYTES: usize = 64 << 10;
/// Maximum number of transfers of a link before other links of the thread are served.
const MOVES: usize = 8;
/// Pause in reading from a link whose receivers accept no more indications. After the pause, the data arrives in fewer
/// reads. The pause also applies back-pressure to the peer.
const REST: Duration = Duration::from_millis(1);
/// Time for the last data to be sent after the machine has closed the link.
const LINGER: Duration = Duration::from_secs(1);

thread_local! {
    /// Data of one read until it is queued for the machine. The links of one thread share this buffer.
    static BUFFER: RefCell<BytesMut> = RefCell::new(BytesMut::new());
    /// Indications of one read until they are added to the outboxes of xApps. The links of one thread share this buffer.
    static BATCH: RefCell<Batch> = RefCell::new(Batch::default());
}

/// Task of one link; it ends when both directions have ended.
pub(super) struct LinkTask {
    socket: Socket,
    shared: Arc<Shared>,
    /// Counters of the thread that runs the link.
    counts: Arc<Counts>,
    /// Slot of the link, if the link may move to another thread.
    seat: Option<LinkSlot>,
    /// Splits data into messages, some of which use the fast path. Without a reader, all data is passed to the
    /// machine as it arrives.
    reader: Option<FrameReader>,
    /// Data that was removed from the queue but not accepted by the socket. In a queue of messages, this is at most
    /// one message.
    leaving: BytesMut,
    /// End of the current pause; the allocation is reused.
    rest: Option<Pin<Box<Sleep>>>,
    rests: bool,
    /// Deadline for sending the last data, set once the machine has closed the link.
    linger: Option<Pin<Box<Sleep>>>,
    /// Whether the socket has reached its end.
    heard_all: bool,
    ended: bool,
}

/// Location of the link's socket.
enum Socket {
    Own(Stream),
    /// The socket is in the outbox of the xApp.
    Shared,
}

impl LinkTask {
    /// Creates the task of a base station's link, with PDUs of up to `max_pdu` bytes.
    pub(super) fn new(stream: Stream, max_pdu: usize, shared: Arc<Shared>) -> Self {
        let reader = FrameReader::with_framer(max_pdu, stream.framer()).with_spare();
        Self::with(Socket::Own(stream), Some(reader), shared)
    }

    /// Allows the link to move to other threads.
    pub(super) fn at(mut self, seat: LinkSlot) -> Self {
        self.seat = Some(seat);
        self
    }

    /// Moves the link to a better place, if there is one. Returns whether the link moved. In this case this task
    /// ends, and a task on the other thread continues.
    fn moves(&mut self) -> bool {
        let Some(place) = self.seat.as_mut().and_then(LinkSlot::better) else { return false };
        if self.ended || self.heard_all || self.linger.is_some() {
            return false;
        }
        let Some(seat) = self.seat.take() else { return false };
        let Socket::Own(stream) = std::mem::replace(&mut self.socket, Socket::Shared) else { return false };
        match seat.carry(stream, place) {
            Ok((stream, counts)) => {
                let reader = self.reader.take();
                let leaving = std::mem::take(&mut self.leaving);
                let shared = self.shared.clone();
                counts.pumps.fetch_add(1, Ordering::Relaxed);
                // Marks the task as ended, because a task that has moved must not report the end of the link when dropped.
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
                // The link cannot be moved, so this task continues to serve it.
                self.socket = Socket::Own(stream);
                false
            }
            Err(Err(error)) => {
                self.end(End::Broken(error.kind(), error.to_string()));
                true
            }
        }
    }

    /// Creates the task of an xApp's link.
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

    /// Transfers the data of one read. Returns `Ready(false)` at the end of this direction.
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
                            // The machine receives the invalid data and detects the error itself.
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

    /// Transfers data to the socket. Returns `Ready(false)` once the machine has closed the link and all its data was sent.
    fn outward(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let queue = match &self.shared.outward {
            SendPath::Mouth(mouth) => return mouth.poll(cx),
            SendPath::Queue(queue) => queue,
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

    /// Returns whether the machine has closed the link. If it has not, `cx` is woken when it does.
    fn is_let_go(&self, cx: &mut Context<'_>) -> bool {
        match &self.shared.outward {
            // While the socket accepts no data, it does not wake the task. The end of the link must wake it.
            SendPath::Queue(queue) => {
                let mut queue = lock(queue);
                queue.await_octets(cx.waker()).wake();
                queue.is_over()
            }
            SendPath::Mouth(mouth) => mouth.is_over(),
        }
    }

    /// Reports the reason to the machine and marks the task as ended.
    fn end(&mut self, why: End) {
        self.ended = true;
        let wake_machine = lock(&self.shared.inward).finish(why.clone());
        match &self.shared.outward {
            SendPath::Queue(queue) => {
                let mut outward = lock(queue);
                let ended = outward.finish(why);
                let unread = outward.abandon();
                drop(outward);
                ended.wake();
                unread.wake();
            }
            SendPath::Mouth(mouth) => mouth.finish(match why {
                End::Closed => End::Broken(io::ErrorKind::BrokenPipe, "the link has ended".to_owned()),
                broken @ End::Broken(..) => broken,
            }),
        }
        wake_machine.wake();
    }
}

/// Returns the socket of the link.
fn stream<'a>(socket: &'a Socket, shared: &'a Shared) -> Option<&'a Stream> {
    match (socket, &shared.outward) {
        (Socket::Own(stream), _) => Some(stream),
        (Socket::Shared, SendPath::Mouth(mouth)) => Some(&mouth.stream),
        (Socket::Shared, SendPath::Queue(_)) => None,
    }
}

/// Result of distributing the messages of a read.
enum Delivered {
    /// All messages were delivered.
    Well,
    /// All messages were indications for xApps with loaded outboxes.
    ToNobody,
    /// A message has invalid framing.
    Broken,
}

/// Passes each complete message of a read to the xApps that receive it, or to the machine.
fn deliver(reader: &mut FrameReader, shared: &Shared, counts: &Counts) -> Delivered {
    BATCH.with_borrow_mut(|batch| {
        let now = now();
        let delivered = BUFFER.with_borrow_mut(|for_machine| {
            for_machine.clear();
            // The routes stay locked until all messages are delivered, so that a route cannot change between two of them.
            let routes = lock(&shared.routes);
            let goes_past = !routes.is_empty() && !lock(&shared.inward).is_held();
            let mut passed = 0;
            let mut handed = false;
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

/// Passes bytes to the machine.
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

impl Future for LinkTask {
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
                // The machine has closed the link, and all data was sent.
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

impl Drop for LinkTask {
    fn drop(&mut self) {
        self.counts.pumps.fetch_sub(1, Ordering::Relaxed);
        if !self.ended {
            let why = if std::thread::panicking() {
                count(&self.counts.panics, 1);
                "the task that serves the socket has panicked"
            } else {
                "the thread that serves the socket has ended"
            };
            self.end(End::Broken(io::ErrorKind::ConnectionAborted, why.to_owned()));
        }
    }
}
