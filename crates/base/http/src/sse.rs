//! Lines of a listener as an HTTP stream.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use crate::guard::problem;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ranlab_machine::feed::{FeedReceiver, Line};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Framing of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One JSON object per line.
    Ndjson,
    /// Server-sent events.
    Events,
}

impl Framing {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Events => "text/event-stream",
        }
    }
}

/// Returns the lines of a listener, with `event` as the default name of server-sent events. If `listener` is `None`,
/// there are too many listeners, and the response has status 503.
pub fn stream(
    listener: Option<FeedReceiver>,
    framing: Framing,
    event: &'static str,
) -> Result<Response, Response> {
    let full = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many listeners; try again later");
    let events = EventStream { listener: listener.ok_or_else(full)?, framing, event };
    let headers = [(header::CONTENT_TYPE, framing.content_type()), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(events)).into_response())
}

/// Like [`stream`], as server-sent events.
pub fn lines(listener: Option<FeedReceiver>, event: &'static str) -> Result<Response, Response> {
    stream(listener, Framing::Events, event)
}

struct EventStream {
    listener: FeedReceiver,
    framing: Framing,
    /// Default name of server-sent events.
    event: &'static str,
}

impl EventStream {
    fn framed(&self, line: Line) -> Bytes {
        let (event, data) = match line {
            Line::Indication(data) => (self.event, data),
            Line::Ended(data) => ("ended", data),
            Line::Named(event, data) => (event, data),
            Line::Dropped(lines) => ("dropped", format!("{{\"dropped\":{lines}}}").into()),
            Line::LetGo => ("let_go", "{\"let_go\":\"nothing was read for 10 s\"}".into()),
        };
        match self.framing {
            Framing::Ndjson => [&data, &b"\n"[..]].concat().into(),
            Framing::Events => [b"event: ", event.as_bytes(), b"\ndata: ", &data, b"\n\n"].concat().into(),
        }
    }
}

impl futures_core::Stream for EventStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let line = self.listener.poll_next(cx);
        line.map(|line| line.map(|line| Ok(self.framed(line))))
    }
}
