//! Bus within the process, and its messages as server-sent events.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ranlab_http::guard::problem;
use ranlab_ric::bus::Bus;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Maximum number of queued events per listener; further ones are dropped.
const EVENTS_MAX: usize = 1_024;
/// Maximum number of queued bytes per listener; further events are dropped.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Bus within the process; listeners receive its messages at `/v1/events` as server-sent events, with the
/// subject as `event:`.
#[derive(Debug, Clone, Default)]
pub struct LocalBus(Arc<Mutex<Listeners>>);

#[derive(Debug, Default)]
struct Listeners {
    senders: Vec<Sender>,
    missed: u64,
}

/// Queue of one listener, and the number of bytes in it.
#[derive(Debug)]
struct Sender(mpsc::Sender<Bytes>, Arc<AtomicUsize>);

impl LocalBus {
    /// Returns the number of messages that listeners missed because they did not read.
    pub fn missed(&self) -> u64 {
        ranlab_machine::lock(&self.0).missed
    }

    /// Returns the number of listeners.
    pub(crate) fn listeners(&self) -> usize {
        ranlab_machine::lock(&self.0).senders.iter().filter(|sender| !sender.0.is_closed()).count()
    }

    /// Adds a listener, unless there are already `most` listeners. The listener keeps `kept` until it is dropped.
    fn listen<K>(&self, most: usize, kept: K) -> Option<Listener<K>> {
        let mut listeners = ranlab_machine::lock(&self.0);
        listeners.senders.retain(|sender| !sender.0.is_closed());
        if listeners.senders.len() >= most {
            return None;
        }
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let waiting = Arc::<AtomicUsize>::default();
        listeners.senders.push(Sender(sender, waiting.clone()));
        Some(Listener { events, waiting, _kept: kept })
    }
}

impl Bus for LocalBus {
    fn publish(&mut self, subject: &str, message: Bytes) {
        let mut listeners = ranlab_machine::lock(&self.0);
        if listeners.senders.is_empty() {
            return;
        }
        // The message is JSON on one line, as server-sent events require.
        let event = Bytes::from([b"event: ", subject.as_bytes(), b"\ndata: ", &message, b"\n\n"].concat());
        let mut missed = 0;
        listeners.senders.retain(|Sender(sender, waiting)| {
            let before = waiting.fetch_add(event.len(), Relaxed);
            let sent = if before > 0 && before + event.len() > WAITING_BYTES_MAX {
                Err(mpsc::error::TrySendError::Full(event.clone()))
            } else {
                sender.try_send(event.clone())
            };
            let Err(why) = sent else { return true };
            waiting.fetch_sub(event.len(), Relaxed);
            let is_there = matches!(why, mpsc::error::TrySendError::Full(_));
            missed += u64::from(is_there);
            is_there
        });
        listeners.missed += missed;
    }
}

struct Listener<K> {
    events: mpsc::Receiver<Bytes>,
    waiting: Arc<AtomicUsize>,
    _kept: K,
}

impl<K: Unpin> futures_core::Stream for Listener<K> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.events.poll_recv(cx);
        if let Poll::Ready(Some(event)) = &next {
            self.waiting.fetch_sub(event.len(), Relaxed);
        }
        next.map(|event| event.map(Ok))
    }
}

/// Returns the future events of a bus as a response, or status 503 if there are already `most` listeners. The response keeps `kept` until
/// it ends.
pub(crate) fn events<K: Unpin + Send + 'static>(
    bus: &LocalBus,
    most: usize,
    kept: K,
) -> Result<Response, Response> {
    let full = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many listeners; try again later");
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(bus.listen(most, kept).ok_or_else(full)?)).into_response())
}
