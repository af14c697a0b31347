//! Events of a machine for other threads.
use std::sync::Arc;
use tokio::sync::broadcast::{self, error::RecvError, error::TryRecvError};
use tokio::task::{AbortHandle, spawn_local};

/// Maximum number of unread events of a listener. At the limit, the oldest event is dropped and counted.
pub const EVENTS_MAX: usize = 1_024;

/// Events of one listener on another thread; each listener receives every event.
pub struct Events<E> {
    receiver: broadcast::Receiver<Arc<E>>,
    lagged: u64,
}

impl<E> Events<E> {
    /// Returns the next event, or `None` once the machine has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<Arc<E>> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(count)) => self.lagged += count,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Returns the next event if one is available.
    pub fn try_next(&mut self) -> Option<Arc<E>> {
        loop {
            match self.receiver.try_recv() {
                Ok(event) => return Some(event),
                Err(TryRecvError::Lagged(count)) => self.lagged += count,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }

    /// Returns the number of events that this listener has lost because it was too slow.
    pub fn lagged(&self) -> u64 {
        self.lagged
    }
}

/// Source of events, stored in handles. The source does not keep the machine alive.
pub(super) struct EventSource<E>(broadcast::WeakSender<Arc<E>>);

impl<E> Clone for EventSource<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E> EventSource<E> {
    pub(super) fn listen(&self) -> Events<E> {
        let receiver = match self.0.upgrade() {
            Some(sender) => sender.subscribe(),
            // The machine has ended, so the stream ends at once.
            None => broadcast::channel(1).1,
        };
        Events { receiver, lagged: 0 }
    }
}

/// Sending end of [`EventSource`], for the thread of the machine. The events end with its last clone.
pub(super) struct EventSink<E>(broadcast::Sender<Arc<E>>);

impl<E> Clone for EventSink<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: 'static> EventSink<E> {
    pub(super) fn new() -> (Self, EventSource<E>) {
        let sender = broadcast::Sender::new(EVENTS_MAX);
        let source = EventSource(sender.downgrade());
        (Self(sender), source)
    }

    /// Forwards events in a task until it is aborted or the thread ends. `observe` is called with each event first.
    pub(super) fn forward(
        self,
        next: impl AsyncFn() -> E + 'static,
        observe: impl Fn(&E) + 'static,
    ) -> AbortHandle {
        let task = spawn_local(async move {
            loop {
                let event = next().await;
                observe(&event);
                // If there are no listeners, sending fails and the event is dropped.
                let _ = self.0.send(Arc::new(event));
            }
        });
        task.abort_handle()
    }
}
