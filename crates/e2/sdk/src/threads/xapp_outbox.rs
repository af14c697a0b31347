//! Outbox of an xApp's link. The machine and all threads that serve base stations write to it.
//!
//! A thread that adds data to an empty outbox writes it to the socket immediately. If another thread is already
//! writing, that thread also writes the new data. Therefore no thread waits for the system call of another thread,
//! and no thread is woken without need. The messages of a subscription keep the order in which they were added. Only
//! the link's task waits for a full socket to become writable.
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use ranlab_e2::ric::ExternalOutbox;
use ranlab_e2::{FlowId, Frame, Outbox, OutboxCounters, OutboxFull, OutboxLimits, Time};

use super::queue::{End, store};
use super::remote_link::{Counts, count, lock};
use crate::transport::driver::write_buffer::WriteBuffer;
use crate::transport::now;
use crate::transport::{Stream, WriteError};

/// Maximum number of writes that a thread makes for data of other threads before the link's task continues.
const ROUNDS: usize = 16;

/// Outbox of one xApp.
#[derive(Debug)]
pub(super) struct XappOutbox {
    pub(super) stream: Stream,
    state: Mutex<XappOutboxState>,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct XappOutboxState {
    outbox: Outbox,
    /// Frames to write, or `None` while a thread is writing.
    ahead: Option<Box<WriteBuffer>>,
    /// Whether the socket is full.
    blocked: bool,
    /// Time since which the socket has accepted no data.
    blocked_since: Option<Time>,
    /// Number of queued bytes of indications above which the outbox counts as loaded.
    loaded_at: usize,
    /// Whether the link's task must continue the writing, because a thread has reached its maximum number of writes.
    goes_on: bool,
    end: Option<End>,
    /// Waker of the link's task.
    task: Option<Waker>,
}

impl XappOutboxState {
    /// Returns whether all data has been written.
    fn has_left(&self) -> bool {
        self.outbox.is_empty() && self.ahead.as_ref().is_some_and(|ahead| ahead.is_empty())
    }
}

impl XappOutbox {
    pub(super) fn new(stream: Stream, max_pdu: usize, counts: Arc<Counts>) -> Self {
        let state = XappOutboxState {
            outbox: Outbox::default(),
            ahead: Some(Box::new(WriteBuffer::new(max_pdu, stream.framer()))),
            blocked: false,
            blocked_since: None,
            loaded_at: usize::MAX,
            goes_on: false,
            end: None,
            task: None,
        };
        Self { stream, state: Mutex::new(state), counts }
    }

    /// Sets the limits. Must be called before data is added.
    pub(super) fn bound(&self, limits: OutboxLimits) {
        let mut state = lock(&self.state);
        state.outbox = Outbox::new(limits);
        state.loaded_at = limits.indication_bytes / 2;
    }

    /// Adds indications, or discards them if the link has ended. The caller must then call [`flush`](Self::flush).
    /// Returns whether the outbox is loaded, so that further indications would soon be dropped.
    pub(super) fn push(&self, now: Time, frames: &mut Vec<(FlowId, Frame)>) -> bool {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            frames.clear();
            return false;
        }
        for (flow, frame) in frames.drain(..) {
            state.outbox.push_indication(now, flow, frame);
        }
        state.blocked && state.outbox.queued_bytes() >= state.loaded_at
    }

    /// Writes queued data, unless another thread is writing or the socket is full.
    pub(super) fn flush(&self, now: Time) {
        let mut state = lock(&self.state);
        if state.blocked {
            return;
        }
        let Some(mut ahead) = state.ahead.take() else { return };
        for _ in 0..ROUNDS {
            ahead.refill(|| state.outbox.pop(now));
            if ahead.is_empty() {
                state.ahead = Some(ahead);
                if state.end.is_some() {
                    wake(state.task.take());
                }
                return;
            }
            drop(state);
            let written = catch_unwind(AssertUnwindSafe(|| ahead.write(&self.stream)));
            state = lock(&self.state);
            let blocked = match written {
                Ok(Ok((octets, blocked))) => {
                    count(&self.counts.outward, octets);
                    if octets > 0 {
                        state.blocked_since = None;
                    }
                    blocked
                }
                Ok(Err(error)) => {
                    let (kind, why) = error_parts(error);
                    return Self::broken(&mut state, ahead, kind, why);
                }
                Err(_) => {
                    count(&self.counts.panics, 1);
                    let why = "the write to the xApp's socket has panicked".to_owned();
                    return Self::broken(&mut state, ahead, io::ErrorKind::Other, why);
                }
            };
            if blocked {
                ahead.detach();
                state.outbox.detach();
                state.blocked = true;
                state.blocked_since.get_or_insert(now);
                state.ahead = Some(ahead);
                return wake(state.task.take());
            }
        }
        state.ahead = Some(ahead);
        state.goes_on = true;
        wake(state.task.take());
    }

    fn broken(state: &mut XappOutboxState, mut ahead: Box<WriteBuffer>, kind: io::ErrorKind, why: String) {
        ahead.clear();
        state.ahead = Some(ahead);
        state.outbox.clear();
        state.end = Some(End::Broken(kind, why));
        wake(state.task.take());
    }

    /// Polls the work of the link's task. Returns `Ready(true)` after progress, and `Ready(false)` once the machine
    /// has closed the link and all data has been written.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let blocked = {
            let mut state = lock(&self.state);
            store(&mut state.task, cx.waker());
            match &state.end {
                Some(End::Broken(kind, why)) => return Poll::Ready(Err(io::Error::new(*kind, why.clone()))),
                Some(End::Closed) if state.has_left() => return Poll::Ready(Ok(false)),
                _ => {}
            }
            if !state.blocked && !std::mem::take(&mut state.goes_on) {
                return Poll::Pending;
            }
            state.blocked
        };
        if blocked {
            ready!(self.stream.poll_writable(cx))?;
            lock(&self.state).blocked = false;
        }
        self.flush(now());
        Poll::Ready(Ok(true))
    }

    /// Ends the link, either after writing the queued data or immediately. Only the first call has an effect.
    pub(super) fn finish(&self, end: End) {
        let mut state = lock(&self.state);
        let broken = matches!(end, End::Broken(..));
        state.end.get_or_insert(end);
        if broken {
            state.outbox.clear();
        }
        // Held responses are released, so that they are sent before the link ends.
        state.outbox.release();
        state.goes_on = true;
        wake(state.task.take());
    }

    /// Returns whether the link has ended. Its task may then end as well.
    pub(super) fn is_over(&self) -> bool {
        lock(&self.state).end.is_some()
    }

    /// Adds a message. The caller must then call [`flush`](Self::flush).
    pub(super) fn say(&self, frame: Frame) -> Result<(), OutboxFull> {
        self.say_at(frame, Time::ZERO)
    }

    /// Adds a message that is held until `due` and then flushed.
    fn say_at(&self, frame: Frame, due: Time) -> Result<(), OutboxFull> {
        let mut state = lock(&self.state);
        if state.end.is_some() { Ok(()) } else { state.outbox.push_held(frame, due) }
    }
}

fn wake(task: Option<Waker>) {
    if let Some(task) = task {
        task.wake();
    }
}

fn error_parts(error: WriteError) -> (io::ErrorKind, String) {
    match error {
        WriteError::Io(error) => (error.kind(), error.to_string()),
        ours => (io::ErrorKind::InvalidInput, ours.to_string()),
    }
}

/// The machine's access to the outbox.
#[derive(Debug)]
pub(super) struct ToOutbox(pub(super) Arc<XappOutbox>);

impl ExternalOutbox for ToOutbox {
    fn push_held(&mut self, frame: Frame, due: Time) -> Result<(), OutboxFull> {
        self.0.say_at(frame, due)
    }

    fn push_indication(&mut self, now: Time, flow: FlowId, frame: Frame) {
        let mut state = lock(&self.0.state);
        if state.end.is_none() {
            state.outbox.push_indication(now, flow, frame);
        }
    }

    fn forget(&mut self, flow: FlowId) {
        lock(&self.0.state).outbox.forget(flow);
    }

    fn counters(&self) -> OutboxCounters {
        lock(&self.0.state).outbox.counters()
    }

    fn queued_bytes(&self) -> usize {
        lock(&self.0.state).outbox.queued_bytes()
    }

    fn blocked_since(&self) -> Option<Time> {
        lock(&self.0.state).blocked_since
    }
}

/// Indications for one xApp.
type Frames = Vec<(FlowId, Frame)>;

/// Indications of one read, grouped by receiving xApp.
#[derive(Debug, Default)]
pub(super) struct Batch {
    to: Vec<(Arc<XappOutbox>, Frames)>,
    /// Empty lists for reuse.
    spare: Vec<Frames>,
}

impl Batch {
    pub(super) fn add(&mut self, mouth: &Arc<XappOutbox>, flow: FlowId, frame: Frame) {
        match self.to.iter_mut().find(|(to, _)| Arc::ptr_eq(to, mouth)) {
            Some((_, frames)) => frames.push((flow, frame)),
            None => {
                let mut frames = self.spare.pop().unwrap_or_default();
                frames.push((flow, frame));
                self.to.push((mouth.clone(), frames));
            }
        }
    }

    /// Adds all indications to their outboxes. The caller must then call [`flush`](Self::flush). Returns whether all
    /// of these outboxes are loaded.
    pub(super) fn push(&mut self, now: Time) -> bool {
        let loaded =
            self.to.iter_mut().filter_map(|(mouth, frames)| mouth.push(now, frames).then_some(())).count();
        loaded > 0 && loaded == self.to.len()
    }

    pub(super) fn flush(&mut self, now: Time) {
        for (mouth, frames) in self.to.drain(..) {
            self.spare.push(frames);
            mouth.flush(now);
        }
    }
}
