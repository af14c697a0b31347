//! One link of a driver: the frames to write, and the state that the link's task waits for.
use super::write_buffer::WriteBuffer;
use crate::{Framer, Stream};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::spawn_local;

/// Time for a closed link to send its queued messages.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Link {
    pub(super) stream: Rc<Stream>,
    /// Frames taken from the protocol machine (`Machine`) but not yet accepted by the socket.
    pub(super) ahead: WriteBuffer,
    pub(super) state: Rc<LinkState>,
}

/// State shared with the task of the link.
#[derive(Default)]
pub(super) struct LinkState {
    task: RefCell<Option<Waker>>,
    pub(super) blocked: Cell<bool>,
    pub(super) closed: Cell<bool>,
}

/// Event for the task of a link.
pub(super) enum Next {
    Closed,
    Writable(io::Result<()>),
    Readable(io::Result<()>),
}

impl LinkState {
    /// Wakes the task after a change of the state.
    pub(super) fn changed(&self) {
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
    }

    pub(super) fn poll(&self, stream: &Stream, paused: bool, cx: &mut Context<'_>) -> Poll<Next> {
        let mut task = self.task.borrow_mut();
        if task.as_ref().is_none_or(|task| !task.will_wake(cx.waker())) {
            *task = Some(cx.waker().clone());
        }
        if self.closed.get() {
            return Poll::Ready(Next::Closed);
        }
        // Checked first, so that a peer that sends continuously cannot block writing.
        if self.blocked.get()
            && let Poll::Ready(writable) = stream.poll_writable(cx)
        {
            return Poll::Ready(Next::Writable(writable));
        }
        if paused { Poll::Pending } else { stream.poll_readable(cx).map(Next::Readable) }
    }
}

impl Link {
    pub(super) fn new(
        stream: Rc<Stream>,
        state: Rc<LinkState>,
        max_pdu: usize,
        framer: &'static dyn Framer,
    ) -> Self {
        Self { stream, ahead: WriteBuffer::new(max_pdu, framer), state }
    }

    /// Closes the socket after the queued messages have been sent, or after a timeout.
    pub(super) fn close(mut self) {
        self.state.closed.set(true);
        self.state.changed();
        if self.ahead.is_empty() {
            return;
        }
        spawn_local(tokio::time::timeout(LINGER, async move {
            while !self.ahead.is_empty() {
                if self.stream.writable().await.is_err() || self.write().is_err() {
                    return;
                }
            }
        }));
    }

    /// Writes once. Returns `false` if the socket is full.
    pub(super) fn write(&mut self) -> Result<bool, crate::WriteError> {
        let (_, blocked) = self.ahead.write(&self.stream)?;
        if blocked {
            self.state.blocked.set(true);
            self.state.changed();
        }
        Ok(!blocked)
    }
}
