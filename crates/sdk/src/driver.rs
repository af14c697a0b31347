//! Sockets and tasks around one machine, on one thread.
//!
//! ```text
//!  socket --readable--> FrameReader --PDU--> machine.handle      (the link's task, whole batches)
//!                                               | poll
//!  socket <--writev-- FrameWriter <--Frame-- machine.transmit    (the same task, no hop in between)
//! ```
//! The task that reads from one link writes to all links that the batch concerns: a forwarded message costs one read,
//! one decision and one write, and no wake-up in between. Only a link that takes no more waits for its own readiness.
use crate::alarm::Alarm;
use crate::clock::now;
use crate::transport::{self, FrameReader, FrameWriter, ReadOutcome, Stream};
use bytes::Bytes;
use ranlab_e2::{Frame, Time};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Debug, Display};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::spawn_local;

/// Bytes taken out of a machine's outbox ahead of the socket: what is out here can no more be dropped for age.
const AHEAD_BYTES: usize = 64 << 10;
/// Frames given to one write.
const AHEAD_FRAMES: usize = 64;

/// How long a closed link may take to send its last words.
const LINGER: Duration = Duration::from_secs(1);

/// What a machine wants done.
pub(crate) enum Action<K, E> {
    /// Frames wait for a link.
    Transmit(K),
    /// End a link, after what waits for it is sent. The machine hears no more of it.
    Close { key: K, reason: String },
    /// Open a link.
    Connect { key: K, address: String },
    /// Tell the user.
    Event(E),
}

/// The contract of all machines (`ranlab_e2`), as a driver sees it.
pub(crate) trait Machine: 'static {
    /// Names a link.
    type Key: Copy + Ord + Debug + 'static;
    /// What users are told.
    type Event: 'static;
    fn received(&mut self, now: Time, key: Self::Key, pdu: Bytes);
    fn disconnected(&mut self, now: Time, key: Self::Key, why: &str);
    fn wake(&mut self, now: Time);
    fn wake_at(&self) -> Option<Time>;
    fn poll(&mut self) -> Option<Action<Self::Key, Self::Event>>;
    fn transmit(&mut self, now: Time, key: Self::Key) -> Option<Frame>;
    fn transport_full(&mut self, key: Self::Key);
    /// A link that was asked for with [`Action::Connect`] is there.
    fn connected(&mut self, _now: Time, _key: Self::Key) {}
    /// A link that was to be closed is forgotten.
    fn closed(&mut self, _now: Time, _key: Self::Key) {}
    /// The peer broke the framing: bytes to send before the link is closed.
    fn farewell(&mut self, _why: &str) -> Option<Bytes> {
        None
    }
}

/// A driver that ends with its owner, though the tasks of its links hold it too.
pub(crate) struct Owned<M: Machine>(Rc<Driver<M>>);

impl<M: Machine> std::ops::Deref for Owned<M> {
    type Target = Rc<Driver<M>>;
    fn deref(&self) -> &Rc<Driver<M>> {
        &self.0
    }
}

impl<M: Machine> Drop for Owned<M> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A machine, its links and its timer.
pub(crate) struct Driver<M: Machine> {
    inner: RefCell<Inner<M>>,
    timer: Notify,
    /// While set, nothing is read: the user has not taken what came before.
    paused: Rc<Cell<bool>>,
    stopped: Cell<bool>,
    options: transport::SocketOptions,
    max_pdu: usize,
}

struct Inner<M: Machine> {
    machine: M,
    links: BTreeMap<M::Key, Link>,
    armed: Option<Time>,
    events: Box<dyn FnMut(M::Event)>,
}

struct Link {
    stream: Rc<Stream>,
    writer: FrameWriter,
    /// Taken out of the machine, not yet by the socket.
    ahead: VecDeque<Frame>,
    ahead_bytes: usize,
    state: Rc<LinkState>,
}

/// What the link's own task must know.
#[derive(Default)]
struct LinkState {
    task: RefCell<Option<Waker>>,
    blocked: Cell<bool>,
    closed: Cell<bool>,
}

/// What the link's own task waits for.
enum Next {
    Closed,
    Writable(io::Result<()>),
    Readable(io::Result<()>),
}

impl LinkState {
    /// Something about the link is not as it was when its task last looked.
    fn changed(&self) {
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
    }

    fn poll(&self, stream: &Stream, paused: bool, cx: &mut Context<'_>) -> Poll<Next> {
        let mut task = self.task.borrow_mut();
        if task.as_ref().is_none_or(|task| !task.will_wake(cx.waker())) {
            *task = Some(cx.waker().clone());
        }
        if self.closed.get() {
            return Poll::Ready(Next::Closed);
        }
        // First: who sends without end shall not keep us from answering it.
        if self.blocked.get()
            && let Poll::Ready(writable) = stream.poll_writable(cx)
        {
            return Poll::Ready(Next::Writable(writable));
        }
        if paused { Poll::Pending } else { stream.poll_readable(cx).map(Next::Readable) }
    }
}

impl<M: Machine> Driver<M> {
    /// A driver around `machine`; `events` hears what the machine tells, on this thread, and sets `paused` when it
    /// has heard too much (then [`resume`](Self::resume)).
    pub(crate) fn start(
        machine: M,
        options: transport::SocketOptions,
        max_pdu: usize,
        paused: Rc<Cell<bool>>,
        events: impl FnMut(M::Event) + 'static,
    ) -> Owned<M> {
        let inner = Inner { machine, links: BTreeMap::new(), armed: None, events: Box::new(events) };
        let driver = Rc::new(Self {
            inner: RefCell::new(inner),
            timer: Notify::new(),
            paused,
            stopped: Cell::new(false),
            options,
            max_pdu,
        });
        spawn_local(Self::keep_time(Rc::downgrade(&driver)));
        Owned(driver)
    }

    /// Lets go of all links and starts nothing more.
    fn stop(&self) {
        let links = std::mem::take(&mut self.inner.borrow_mut().links);
        links.into_values().for_each(Link::close);
        self.stopped.set(true);
        self.timer.notify_one();
    }

    /// Lets `change` act on the machine, then does what follows from it.
    pub(crate) fn with<T>(self: &Rc<Self>, change: impl FnOnce(&mut M, Time) -> T) -> T {
        let now = now();
        let (value, mut after) = {
            let mut inner = self.inner.borrow_mut();
            let value = change(&mut inner.machine, now);
            (value, inner.settle(now))
        };
        self.follow_up(&mut after);
        value
    }

    /// Reads the machine, without consequences.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        look(&self.inner.borrow().machine)
    }

    /// Resumes reading on all links, after `paused` had stopped it.
    pub(crate) fn resume(&self) {
        self.paused.set(false);
        self.inner.borrow().links.values().for_each(|link| link.state.changed());
    }

    /// Adds an open stream as a link. The machine must know `key` already.
    pub(crate) fn attach(self: &Rc<Self>, key: M::Key, stream: Stream) {
        let stream = Rc::new(stream);
        let state = Rc::new(LinkState::default());
        let link = Link {
            stream: stream.clone(),
            writer: FrameWriter::new(self.max_pdu),
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            state: state.clone(),
        };
        self.inner.borrow_mut().links.insert(key, link);
        spawn_local(self.clone().serve(key, stream, state));
    }

    /// Forgets a link that ended by itself, and tells the machine. A link that the machine has closed is forgotten
    /// already, and its key may belong to a newer one.
    fn detach(self: &Rc<Self>, key: M::Key, state: &Rc<LinkState>, why: &str) {
        let current = {
            let mut inner = self.inner.borrow_mut();
            let current = inner.links.get(&key).is_some_and(|link| Rc::ptr_eq(&link.state, state));
            if current {
                inner.links.remove(&key);
            }
            current
        };
        if current {
            self.with(|machine, now| machine.disconnected(now, key, why));
        }
    }

    /// The life of one link: reads, and writes again after it was full.
    async fn serve(self: Rc<Self>, key: M::Key, stream: Rc<Stream>, state: Rc<LinkState>) {
        let mut reader = FrameReader::new(self.max_pdu);
        let why = loop {
            // A pipe within the process may always be readable: others shall have their turn.
            tokio::task::consume_budget().await;
            match poll_fn(|cx| state.poll(&stream, self.paused.get(), cx)).await {
                Next::Closed => break "closed by us".to_owned(),
                Next::Writable(Err(error)) | Next::Readable(Err(error)) => break error.to_string(),
                Next::Writable(Ok(())) => {
                    state.blocked.set(false);
                    self.flush(key);
                }
                Next::Readable(Ok(())) => match self.read_batch(key, &stream, &mut reader) {
                    Ok(true) => {}
                    Ok(false) => break "closed by the peer".to_owned(),
                    Err(why) => break why,
                },
            }
        };
        self.detach(key, &state, &why);
    }

    /// One read and all that follows from it; `false` at the end of the stream.
    fn read_batch(
        self: &Rc<Self>,
        key: M::Key,
        stream: &Stream,
        reader: &mut FrameReader,
    ) -> Result<bool, String> {
        match reader.fill(stream) {
            Ok(ReadOutcome::Bytes(_)) => {}
            Ok(ReadOutcome::WouldBlock) => return Ok(true),
            Ok(ReadOutcome::Closed) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
        let now = now();
        let (outcome, mut after) = {
            let mut inner = self.inner.borrow_mut();
            let outcome = loop {
                match reader.next() {
                    Ok(Some(pdu)) => inner.machine.received(now, key, pdu),
                    Ok(None) => break Ok(true),
                    Err(error) => break Err(error.to_string()),
                }
            };
            if let Err(why) = &outcome {
                inner.say_farewell(key, why);
            }
            (outcome, inner.settle(now))
        };
        self.follow_up(&mut after);
        outcome
    }

    fn flush(self: &Rc<Self>, key: M::Key) {
        self.inner.borrow_mut().flush(key, now());
    }

    /// What cannot be done while the machine is borrowed.
    fn follow_up(self: &Rc<Self>, after: &mut After<M>) {
        for (key, address) in after.connects.drain(..) {
            spawn_local(self.clone().connect(key, address));
        }
        for event in after.events.drain(..) {
            // The listener may act on the machine in turn, so it is called outside of any borrow but its own.
            let mut events = std::mem::replace(&mut self.inner.borrow_mut().events, Box::new(|_| {}));
            events(event);
            self.inner.borrow_mut().events = events;
        }
        if after.rearm {
            self.timer.notify_one();
        }
    }

    async fn connect(self: Rc<Self>, key: M::Key, address: String) {
        if self.stopped.get() {
            return;
        }
        let stream = match address.parse::<transport::Address>() {
            Ok(address) => transport::connect(&address, &self.options).await.map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match stream {
            Ok(_) if self.stopped.get() => {}
            Ok(stream) => {
                self.attach(key, stream);
                self.with(|machine, now| machine.connected(now, key));
            }
            Err(why) => self.with(|machine, now| machine.disconnected(now, key, &why)),
        }
    }

    /// Wakes the machine at its deadlines, as long as somebody holds the driver.
    async fn keep_time(driver: std::rc::Weak<Self>) {
        let mut alarm = Alarm::default();
        loop {
            let Some(this) = driver.upgrade().filter(|this| !this.stopped.get()) else { return };
            let deadline = {
                let mut inner = this.inner.borrow_mut();
                inner.armed = inner.machine.wake_at();
                inner.armed
            };
            match deadline {
                Some(at) if at <= now() => {
                    this.with(|machine, now| machine.wake(now));
                    drop(this);
                    tokio::task::yield_now().await;
                }
                Some(at) => {
                    tokio::select! {
                        () = alarm.wait(at) => this.with(|machine, now| machine.wake(now)),
                        () = this.timer.notified() => {}
                    }
                }
                None => this.timer.notified().await,
            }
        }
    }
}

/// What follows from a change once the machine is free again.
struct After<M: Machine> {
    connects: Vec<(M::Key, String)>,
    events: Vec<M::Event>,
    rearm: bool,
}

impl<M: Machine> Inner<M> {
    /// Asks the machine what follows, and writes to all links concerned.
    fn settle(&mut self, now: Time) -> After<M> {
        let mut after = After { connects: Vec::new(), events: Vec::new(), rearm: false };
        loop {
            let mut closed: Vec<M::Key> = Vec::new();
            while let Some(action) = self.machine.poll() {
                match action {
                    // At once: what the machine wants sent before it closes a link is gone after the next poll. A
                    // machine says this once per link and batch, so a batch is one write.
                    Action::Transmit(key) => self.flush(key, now),
                    Action::Close { key, reason } => {
                        tracing::debug!(?key, reason, "closing");
                        closed.push(key);
                    }
                    Action::Connect { key, address } => after.connects.push((key, address)),
                    Action::Event(event) => after.events.push(event),
                }
            }
            if closed.is_empty() {
                break;
            }
            for key in closed {
                if let Some(link) = self.links.remove(&key) {
                    link.close();
                }
                self.machine.closed(now, key);
            }
        }
        let next = self.machine.wake_at();
        after.rearm = next.is_some_and(|at| self.armed.is_none_or(|armed| at < armed));
        after
    }

    /// Writes what waits for a link, as far as the socket takes it.
    fn flush(&mut self, key: M::Key, now: Time) {
        let Some(link) = self.links.get_mut(&key) else { return };
        if link.state.blocked.get() {
            return;
        }
        loop {
            while link.ahead_bytes < AHEAD_BYTES && link.ahead.len() < AHEAD_FRAMES {
                let Some(frame) = self.machine.transmit(now, key) else { break };
                link.ahead_bytes += frame.len();
                link.ahead.push_back(frame);
            }
            if link.ahead.is_empty() && link.writer.rest_bytes() == 0 {
                return;
            }
            match link.write() {
                Ok(true) => {}
                Ok(false) => {
                    link.ahead.iter_mut().for_each(Frame::detach);
                    self.machine.transport_full(key);
                    return;
                }
                Err(error) => {
                    tracing::debug!(?key, %error, "write failed");
                    // The reader sees the end of the stream and tells the machine.
                    link.ahead.clear();
                    link.ahead_bytes = 0;
                    link.state.closed.set(true);
                    link.state.changed();
                    return;
                }
            }
        }
    }

    fn say_farewell(&mut self, key: M::Key, why: &impl Display) {
        let Some(pdu) = self.machine.farewell(&why.to_string()) else { return };
        if let Some(link) = self.links.get_mut(&key) {
            link.ahead_bytes += pdu.len();
            link.ahead.push_back(Frame::whole(pdu));
            // If the socket is full, the peer does not read, and so does not want to know.
            let _ = link.write();
        }
    }
}

impl Link {
    /// Lets go of the socket, once what was to be sent is sent or the peer has had time to take it.
    fn close(mut self) {
        self.state.closed.set(true);
        self.state.changed();
        if self.ahead.is_empty() && self.writer.rest_bytes() == 0 {
            return;
        }
        spawn_local(tokio::time::timeout(LINGER, async move {
            while !self.ahead.is_empty() || self.writer.rest_bytes() > 0 {
                if self.stream.writable().await.is_err() || self.write().is_err() {
                    return;
                }
            }
        }));
    }

    /// One write of what is ahead; `false` if the socket takes no more.
    fn write(&mut self) -> Result<bool, transport::WriteError> {
        if self.ahead.len() <= 2 { self.write_some::<2>() } else { self.write_some::<AHEAD_FRAMES>() }
    }

    fn write_some<const FRAMES: usize>(&mut self) -> Result<bool, transport::WriteError> {
        let mut frames = [const { transport::Frame { head: &[], body: &EMPTY } }; FRAMES];
        let count = self.ahead.len().min(FRAMES);
        for (slot, frame) in frames.iter_mut().zip(&self.ahead) {
            *slot = transport::Frame { head: frame.head(), body: frame.body() };
        }
        let outcome = self.writer.write(&self.stream, &frames[..count])?;
        for frame in self.ahead.drain(..outcome.taken) {
            self.ahead_bytes -= frame.len();
        }
        if outcome.blocked {
            self.state.blocked.set(true);
            self.state.changed();
        }
        Ok(!outcome.blocked)
    }
}

static EMPTY: Bytes = Bytes::new();
