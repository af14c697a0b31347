//! One link: what waits to be written, and what its task waits for.
use crate::transport::{self, FrameWriter, Framer, Stream};
use bytes::Bytes;
use ranlab_e2::Frame;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::spawn_local;

/// Frames given to one write.
pub(super) const AHEAD_FRAMES: usize = 64;

/// How long a closed link may take to send its last words.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Link {
    pub(super) stream: Rc<Stream>,
    pub(super) writer: FrameWriter,
    /// Taken out of the machine, not yet by the socket.
    pub(super) ahead: VecDeque<Frame>,
    pub(super) ahead_bytes: usize,
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
        let writer = FrameWriter::with_framer(max_pdu, framer);
        Self { stream, writer, ahead: VecDeque::new(), ahead_bytes: 0, state }
    }

    /// Lets go of the socket, once what was to be sent is sent or the peer has had time to take it.
    pub(super) fn close(mut self) {
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
    pub(super) fn write(&mut self) -> Result<bool, transport::WriteError> {
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
