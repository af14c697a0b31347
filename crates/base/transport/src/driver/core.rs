//! State that the tasks of a driver share.
use super::link::{Link, LinkState, Next};
use super::{Action, Machine, ReadInterest};
use crate::alarm::Alarm;
use crate::clock::now;
use crate::{Address, FrameReader, Framer, Listener, ReadOutcome, SocketOptions, Stream, Unframed};
use ranlab_machine::{Frame, LinkLoss, Time};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};

/// Interval at which a link that may not be read checks whether it may be read again.
const HELD_BACK: Duration = Duration::from_millis(1);
/// Pause in accepting connections when the process has no file descriptors left.
const ACCEPT_REST: Duration = Duration::from_millis(100);
/// Pause after each connection at a listener with a limited number of links. It bounds the cost of a peer that
/// reconnects repeatedly.
const BOUNDED_REST: Duration = Duration::from_millis(20);
/// Minimum interval between two log lines about refused connections at a listener.
const REFUSAL_LOG_INTERVAL: Duration = Duration::from_secs(1);

type Events<E> = Box<dyn FnMut(E) -> ReadInterest>;

/// Callback for each new link, with the machine and the stream of the link.
pub(super) type OnAttach<M> = Box<dyn FnMut(&mut M, <M as Machine>::Key, &Stream)>;

/// A machine with its links and its timer.
pub(super) struct MachineCell<M: Machine> {
    inner: RefCell<Inner<M>>,
    timer: Notify,
    /// Whether reading is paused, because the application has not consumed earlier events.
    paused: Cell<bool>,
    stopped: Cell<bool>,
    listeners: RefCell<Vec<JoinHandle<()>>>,
    options: SocketOptions,
    max_pdu: usize,
}

struct Inner<M: Machine> {
    machine: M,
    links: BTreeMap<M::Key, Link>,
    armed: Option<Time>,
    events: Events<M::Event>,
    on_attach: Option<OnAttach<M>>,
}

/// Rate-limits the log line for refused connections.
#[derive(Default)]
struct RefusalLog {
    logged_at: Option<Time>,
    unlogged: u64,
}

impl RefusalLog {
    fn log(&mut self, peer: &str) {
        if self.logged_at.is_some_and(|logged_at| now().since(logged_at) < REFUSAL_LOG_INTERVAL) {
            self.unlogged += 1;
            return;
        }
        let before = std::mem::take(&mut self.unlogged);
        self.logged_at = Some(now());
        tracing::warn!(
            peer,
            before,
            "connection refused: the peer is not allowed, or the limit of connections is reached"
        );
    }
}

impl<M: Machine> MachineCell<M> {
    pub(super) fn start(
        machine: M,
        options: SocketOptions,
        max_pdu: usize,
        events: Events<M::Event>,
    ) -> Rc<Self> {
        let core = Rc::new(Self {
            inner: RefCell::new(Inner {
                machine,
                links: BTreeMap::new(),
                armed: None,
                events,
                on_attach: None,
            }),
            timer: Notify::new(),
            paused: Cell::new(false),
            stopped: Cell::new(false),
            listeners: RefCell::default(),
            options,
            max_pdu,
        });
        spawn_local(Self::keep_time(Rc::downgrade(&core)));
        core
    }

    pub(super) fn on_attach(&self, report: OnAttach<M>) {
        self.inner.borrow_mut().on_attach = Some(report);
    }

    /// Closes all links and accepts no new links.
    pub(super) fn stop(&self) {
        self.listeners.take().iter().for_each(JoinHandle::abort);
        let links = std::mem::take(&mut self.inner.borrow_mut().links);
        links.into_values().for_each(Link::close);
        self.stopped.set(true);
        self.timer.notify_one();
    }

    pub(super) fn with<T>(self: &Rc<Self>, change: impl FnOnce(&mut M, Time) -> T) -> T {
        let now = now();
        let (value, mut after) = {
            let mut inner = self.inner.borrow_mut();
            let value = change(&mut inner.machine, now);
            (value, inner.poll_outputs(now))
        };
        self.follow_up(&mut after);
        value
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        look(&self.inner.borrow().machine)
    }

    pub(super) fn resume(&self) {
        self.paused.set(false);
        self.inner.borrow().links.values().for_each(|link| link.state.changed());
    }

    pub(super) fn attach(self: &Rc<Self>, key: M::Key, stream: Stream) {
        let stream = Rc::new(stream);
        let state = Rc::new(LinkState::default());
        let link = Link::new(stream.clone(), state.clone(), self.max_pdu, Self::framer(&stream));
        {
            let mut inner = self.inner.borrow_mut();
            let inner = &mut *inner;
            if let Some(report) = &mut inner.on_attach {
                report(&mut inner.machine, key, &stream);
            }
            inner.links.insert(key, link);
        }
        spawn_local(self.clone().serve(key, stream, state));
    }

    fn framer(stream: &Stream) -> &'static dyn Framer {
        if M::FRAMES_ITSELF { &Unframed } else { stream.framer() }
    }

    pub(super) fn options(&self) -> &SocketOptions {
        &self.options
    }

    pub(super) fn links(&self) -> usize {
        self.inner.borrow().links.len()
    }

    /// Accepts connections at a listener, up to a limit of simultaneous links.
    pub(super) fn listen(
        self: &Rc<Self>,
        listener: Listener,
        most: Option<usize>,
        admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key> + 'static,
    ) -> Address {
        let bound = listener.address().clone();
        let task = spawn_local(Self::accept(Rc::downgrade(self), listener, most, admit));
        self.listeners.borrow_mut().push(task);
        bound
    }

    async fn accept(
        core: Weak<Self>,
        listener: Listener,
        most: Option<usize>,
        mut admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key>,
    ) {
        let mut taken = Vec::new();
        let mut refused = RefusalLog::default();
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_REST).await;
                    continue;
                }
            };
            let Some(core) = core.upgrade() else { return };
            let admitted = {
                let inner = &mut *core.inner.borrow_mut();
                let has_room = most.is_none_or(|most| {
                    taken.retain(|key| inner.links.contains_key(key));
                    taken.len() < most
                });
                has_room.then(|| admit(&mut inner.machine, now(), &peer)).flatten()
            };
            match admitted {
                Some(key) => {
                    taken.extend(most.map(|_| key));
                    core.attach(key, stream);
                }
                None => refused.log(&peer),
            }
            core.with(|_, _| ());
            drop(core);
            if most.is_some() {
                tokio::time::sleep(BOUNDED_REST).await;
            }
        }
    }

    /// Removes a link whose connection has ended, and informs the machine. Does nothing if the machine has already closed
    /// the link, because the key may then belong to a newer link.
    fn detach(self: &Rc<Self>, key: M::Key, state: &Rc<LinkState>, why: LinkLoss) {
        let current = {
            let mut inner = self.inner.borrow_mut();
            let current = inner.links.get(&key).is_some_and(|link| Rc::ptr_eq(&link.state, state));
            if current {
                inner.links.remove(&key);
            }
            current
        };
        if current {
            tracing::debug!(?key, %why, "disconnected");
            self.with(|machine, now| machine.disconnected(now, key, why));
        }
    }

    /// Runs the task of a link. The task reads, and also writes when a socket that was full accepts data again.
    async fn serve(self: Rc<Self>, key: M::Key, stream: Rc<Stream>, state: Rc<LinkState>) {
        let mut reader = FrameReader::with_framer(self.max_pdu, Self::framer(&stream));
        let why = loop {
            // An in-process pipe may always be readable; this lets other tasks run.
            tokio::task::consume_budget().await;
            let next = if self.inner.borrow_mut().machine.may_read(key) {
                poll_fn(|cx| state.poll(&stream, self.paused.get(), cx)).await
            } else {
                match tokio::time::timeout(HELD_BACK, poll_fn(|cx| state.poll(&stream, true, cx))).await {
                    Ok(next) => next,
                    Err(_) => continue,
                }
            };
            match next {
                // A failed write has closed the link.
                Next::Closed => break LinkLoss::Broken("it cannot be written to".to_owned()),
                Next::Writable(Err(error)) | Next::Readable(Err(error)) => {
                    break LinkLoss::Broken(error.to_string());
                }
                Next::Writable(Ok(())) => {
                    state.blocked.set(false);
                    self.inner.borrow_mut().flush(key, now());
                }
                Next::Readable(Ok(())) => match self.read_batch(key, &stream, &mut reader) {
                    Ok(()) => {}
                    Err(why) => break why,
                },
            }
        };
        self.detach(key, &state, why);
    }

    /// Reads once and processes the messages.
    fn read_batch(
        self: &Rc<Self>,
        key: M::Key,
        stream: &Stream,
        reader: &mut FrameReader,
    ) -> Result<(), LinkLoss> {
        match reader.fill(stream) {
            Ok(ReadOutcome::Bytes(_)) => {}
            Ok(ReadOutcome::WouldBlock) => return Ok(()),
            Ok(ReadOutcome::Closed) => return Err(LinkLoss::ClosedByPeer),
            Err(error) => return Err(LinkLoss::Broken(error.to_string())),
        }
        let now = now();
        let (outcome, mut after) = {
            let mut inner = self.inner.borrow_mut();
            let outcome = loop {
                match reader.next() {
                    Ok(Some(pdu)) => inner.machine.received(now, key, pdu),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error.to_string()),
                }
            };
            if let Err(why) = &outcome {
                inner.say_farewell(key, why);
            }
            (outcome, inner.poll_outputs(now))
        };
        self.follow_up(&mut after);
        outcome.map_err(LinkLoss::Framing)
    }

    /// Performs the actions that are not possible while the machine is borrowed.
    fn follow_up(self: &Rc<Self>, after: &mut FollowUp<M>) {
        for (key, address) in after.connects.drain(..) {
            spawn_local(self.clone().connect(key, address));
        }
        for event in after.events.drain(..) {
            // The callback may use the machine, so the machine is not borrowed during the call.
            let none: Events<M::Event> = Box::new(|_| ReadInterest::GoesOn);
            let mut events = std::mem::replace(&mut self.inner.borrow_mut().events, none);
            self.paused.set(events(event) == ReadInterest::Pauses);
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
        let stream = match address.parse::<Address>() {
            Ok(address) => crate::connect(&address, &self.options)
                .await
                .map_err(|error| LinkLoss::NotConnected(error.to_string())),
            Err(error) => Err(LinkLoss::BadAddress(error.to_string())),
        };
        match stream {
            Ok(_) if self.stopped.get() => {}
            Ok(stream) => {
                self.attach(key, stream);
                self.with(|machine, now| machine.connected(now, key));
            }
            Err(why) => {
                tracing::debug!(?key, %why, "cannot connect");
                self.with(|machine, now| machine.disconnected(now, key, why));
            }
        }
    }

    /// Wakes the machine at its deadlines until the driver is dropped.
    async fn keep_time(core: Weak<Self>) {
        let mut alarm = Alarm::default();
        loop {
            let Some(this) = core.upgrade().filter(|this| !this.stopped.get()) else { return };
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

/// Actions to perform after the machine is no longer borrowed.
struct FollowUp<M: Machine> {
    connects: Vec<(M::Key, String)>,
    events: Vec<M::Event>,
    rearm: bool,
}

impl<M: Machine> Inner<M> {
    /// Polls the outputs of the machine, and writes to the links.
    fn poll_outputs(&mut self, now: Time) -> FollowUp<M> {
        let mut after = FollowUp { connects: Vec::new(), events: Vec::new(), rearm: false };
        loop {
            let mut closed: Vec<M::Key> = Vec::new();
            while let Some(action) = self.machine.poll() {
                match action {
                    // Writes at once, because messages queued before a close are lost after the next poll. A machine
                    // emits `Transmit` once per link and batch, so each batch is one write.
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

    /// Writes the queued frames of a link until the socket is full.
    fn flush(&mut self, key: M::Key, now: Time) {
        let Some(link) = self.links.get_mut(&key) else { return };
        if link.stream.flush(now) {
            return;
        }
        if link.state.blocked.get() {
            return;
        }
        loop {
            link.ahead.refill(|| self.machine.transmit(now, key));
            if link.ahead.is_empty() {
                return;
            }
            match link.write() {
                Ok(true) => {}
                Ok(false) => {
                    link.ahead.detach();
                    self.machine.transport_full(key);
                    return;
                }
                Err(error) => {
                    tracing::debug!(?key, %error, "write failed");
                    // The reading task detects the end of the stream and informs the machine.
                    link.ahead.clear();
                    link.state.closed.set(true);
                    link.state.changed();
                    return;
                }
            }
        }
    }

    fn say_farewell(&mut self, key: M::Key, why: &str) {
        tracing::warn!(?key, why, "a peer violated the framing");
        let Some(pdu) = self.machine.farewell(why) else { return };
        if let Some(link) = self.links.get_mut(&key) {
            if link.stream.say(&pdu) {
                return;
            }
            link.ahead.push(Frame::whole(pdu));
            // If the socket is full, the peer does not read, and the message is dropped.
            let _ = link.write();
        }
    }
}
