//! One link: what waits to be written, and what its task waits for.
use super::ahead::Ahead;
use crate::transport::{self, Framer, Stream};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::spawn_local;

/// How long a closed link may take to send its last words.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Link {
    pub(super) stream: Rc<Stream>,
    /// Taken out of the machine, not yet by the socket.
    pub(super) ahead: Ahead,
    pub(super) state: Rc<LinkState>,
}

/// What the link's own task must know.
#[derive(Default)]
pub(super) struct LinkState {
    task: RefCell<Option<Waker>>,
    pub(super) blocked: Cell<bool>,
    pub(super) closed: Cell<bool>,
}

/// What the link's own task waits for.
pub(super) enum Next {
    Closed,
    Writable(io::Result<()>),
    Readable(io::Result<()>),
}

impl LinkState {
    /// Something about the link is not as it was when its task last looked.
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
        // First: who sends without end shall not keep us from answering it.
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
        Self { stream, ahead: Ahead::new(max_pdu, framer), state }
    }

    /// Lets go of the socket, once what was to be sent is sent or the peer has had time to take it.
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

    /// One write of what is ahead; `false` if the socket takes no more.
    pub(super) fn write(&mut self) -> Result<bool, transport::WriteError> {
        let (_, blocked) = self.ahead.write(&self.stream)?;
        if blocked {
            self.state.blocked.set(true);
            self.state.changed();
        }
        Ok(!blocked)
    }
}
