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
use tokio::time::{Sleep, sleep};

use super::crossing::{Shared, count, lock};
use super::queue::End;
use crate::transport::Stream;

/// Octets that one read of a socket brings at most.
const READ_BYTES: usize = 64 << 10;
/// Moves of one link before the thread's other links have their turn.
const MOVES: usize = 8;
/// How long what was written last may take to leave once the machine has let go of the link.
const LINGER: Duration = Duration::from_secs(1);

thread_local! {
    /// What a read has brought, until it is queued; the links of one thread share it.
    static BUFFER: RefCell<BytesMut> = RefCell::new(BytesMut::new());
}

/// Carries one link until both directions have ended.
pub(super) struct Pump {
    stream: Stream,
    shared: Arc<Shared>,
    /// Taken out of the queue, not yet by the socket; of messages one.
    leaving: BytesMut,
    /// Set once the machine has let go.
    linger: Option<Pin<Box<Sleep>>>,
    /// Nothing more comes from the socket.
    heard_all: bool,
    ended: bool,
}

impl Pump {
    pub(super) fn new(stream: Stream, shared: Arc<Shared>) -> Self {
        shared.counts.pumps.fetch_add(1, Ordering::Relaxed);
        Self { stream, shared, leaving: BytesMut::new(), linger: None, heard_all: false, ended: false }
    }

    /// Moves octets of one read towards the machine; `Ready(false)` if nothing more comes that way.
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
            if !queue.has_room() {
                queue.await_room(cx.waker());
                count(&self.shared.counts.inward_full, 1);
                return Poll::Pending;
            }
        }
        ready!(self.stream.poll_readable(cx))?;
        BUFFER.with_borrow_mut(|buffer| {
            buffer.clear();
            buffer.reserve(READ_BYTES);
            match self.stream.try_read(buffer) {
                Ok(0) => {
                    self.heard_all = true;
                    lock(&self.shared.inward).finish(End::Closed).wake();
                    Poll::Ready(Ok(false))
                }
                Ok(read) => {
                    count(&self.shared.counts.inward, read);
                    let wake = lock(&self.shared.inward).put(buffer);
                    wake.wake();
                    Poll::Ready(Ok(true))
                }
                Err(error) if is_in_vain(&error) => Poll::Ready(Ok(true)),
                Err(error) => Poll::Ready(Err(error)),
            }
        })
    }

    /// Moves octets towards the socket; `Ready(false)` if the machine has let go and all of it has left.
    fn outward(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.leaving.is_empty() {
            let mut queue = lock(&self.shared.outward);
            if !queue.is_readable() {
                queue.await_octets(cx.waker());
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
        ready!(self.stream.poll_writable(cx))?;
        match self.stream.try_write_vectored(&[IoSlice::new(&self.leaving)]) {
            Ok(sent) => {
                count(&self.shared.counts.outward, sent);
                self.leaving.advance(sent);
                Poll::Ready(Ok(true))
            }
            Err(error) if is_in_vain(&error) => Poll::Ready(Ok(true)),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// The machine is told why, and the task has nothing more to do.
    fn end(&mut self, why: End) {
        self.ended = true;
        let told = lock(&self.shared.inward).finish(why.clone());
        let mut outward = lock(&self.shared.outward);
        let ended = outward.finish(why);
        let unread = outward.abandon();
        drop(outward);
        told.wake();
        ended.wake();
        unread.wake();
    }
}

fn is_in_vain(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl Future for Pump {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
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
                let let_go = {
                    let mut queue = lock(&this.shared.outward);
                    // A socket that takes nothing wakes nobody: the end of the link has to.
                    queue.await_octets(cx.waker());
                    queue.is_over()
                };
                if let_go {
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
        self.shared.counts.pumps.fetch_sub(1, Ordering::Relaxed);
        if !self.ended {
            let why = if std::thread::panicking() {
                count(&self.shared.counts.panics, 1);
                "the task that serves its socket has panicked"
            } else {
                "the thread that serves its socket has ended"
            };
            self.end(End::Broken(io::ErrorKind::ConnectionAborted, why.to_owned()));
        }
    }
}
