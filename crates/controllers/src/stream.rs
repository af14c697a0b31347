//! HTTP streams of the console's indications, and its notifications to O-RAN SC subscribers.
#![allow(clippy::result_large_err, reason = "one refusal a request")]

use crate::console::{
    ConsoleHandle, Feed, Filter, Line, Listener, Notification, Overview, overview as looks,
};
use crate::guard::problem;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use ranlab_sdk::RicHandle;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Delay between a response and the first notification: clients learn the id of a subscription only from the
/// response.
const AFTER_ANSWER: Duration = Duration::from_millis(300);
/// Timeout of a notification.
const NOTIFY_PATIENCE: Duration = Duration::from_secs(2);

/// Framing of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// One JSON object per line.
    Ndjson,
    /// Server-sent events.
    Events,
}

/// Returns the requested stream: `node`, `sm`, `subscription` (comma-separated) are filters, `format` is
/// `ndjson` or `sse`.
pub(crate) fn indications(feed: &Feed, uri: &Uri, headers: &HeaderMap) -> Result<Response, Response> {
    let (filter, framing) = asked(uri, headers).map_err(|why| problem(StatusCode::BAD_REQUEST, &why))?;
    let full = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many listen already; try again");
    let listener = feed.listen(filter).ok_or_else(full)?;
    let form = if framing == Framing::Events { "text/event-stream" } else { "application/x-ndjson" };
    let headers = [(header::CONTENT_TYPE, form), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(Told { listener, framing, event: "indication" })).into_response())
}

/// Returns the overview as server-sent events; `None` as listener: too many listeners.
pub(crate) fn overview(listener: Option<Listener>) -> Result<Response, Response> {
    told(listener, "overview")
}

/// Returns the lines of a listener as server-sent events, with `event` as the default name; `None` as
/// listener: too many listeners.
pub(crate) fn told(listener: Option<Listener>, event: &'static str) -> Result<Response, Response> {
    let full = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many listen already; try again");
    let told = Told { listener: listener.ok_or_else(full)?, framing: Framing::Events, event };
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(told)).into_response())
}

/// Updates the overview periodically while the RIC exists; needs a `LocalSet`.
pub(crate) fn look(ric: RicHandle, overview: Overview) {
    tokio::task::spawn_local(async move {
        let mut tick = tokio::time::interval(looks::LOOK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now = ranlab_sdk::now();
            overview.set_clock(now, ranlab_sdk::unix_time());
            ric.read(|ric| overview.look(now, ric));
        }
    });
}

fn asked(uri: &Uri, headers: &HeaderMap) -> Result<(Filter, Framing), String> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut framing = if accept.contains("text/event-stream") { Framing::Events } else { Framing::Ndjson };
    let mut filter = Filter::default();
    for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value).ok_or_else(|| format!("{value:?} is not valid UTF-8 after decoding"))?;
        match name {
            "node" => filter.node = Some(value),
            "sm" => filter.sm = Some(value),
            "subscription" => {
                let wrong = |part: &str| format!("{part:?} is not a subscription id");
                for part in value.split(',') {
                    filter.subscriptions.insert(part.parse().map_err(|_| wrong(part))?);
                }
            }
            "format" if value == "ndjson" => framing = Framing::Ndjson,
            "format" if value == "sse" => framing = Framing::Events,
            "format" => return Err(format!("{value:?} is not a valid format; allowed: ndjson, sse")),
            _ => {
                return Err(format!(
                    "{name:?} is not asked here; allowed are node, sm, subscription and format"
                ));
            }
        }
    }
    Ok((filter, framing))
}

/// Decodes a query value; `+` and `%20` are spaces.
fn decoded(text: &str) -> Option<String> {
    // A literal slash would split the segment.
    let text = text.replace('+', "%20").replace('/', "%2F");
    crate::north::segments(&text).ok().map(|mut segments| segments.pop().unwrap_or_default())
}

struct Told {
    listener: Listener,
    framing: Framing,
    /// Default name of server-sent events.
    event: &'static str,
}

impl Told {
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

impl futures_core::Stream for Told {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let line = self.listener.poll_next(cx);
        line.map(|line| line.map(|line| Ok(self.framed(line))))
    }
}

/// Posts notifications to O-RAN SC subscribers while the runtime exists.
pub(crate) fn notify(console: ConsoleHandle) {
    tokio::spawn(async move {
        loop {
            let notification = std::future::poll_fn(|cx| console.poll_notification(cx)).await;
            tokio::spawn(async move {
                tokio::time::sleep(AFTER_ANSWER).await;
                let to = notification.to;
                match tokio::time::timeout(NOTIFY_PATIENCE, post(notification)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!(%to, %error, "a notification to a subscriber failed"),
                    Err(_) => tracing::warn!(%to, "a subscriber takes no notification"),
                }
            });
        }
    });
}

async fn post(Notification { to, body }: Notification) -> io::Result<()> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(to).await?;
    let head = format!(
        "POST /ric/v1/subscriptions/response HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    // The response is ignored, but it must be read: closing earlier could discard the request.
    stream.read(&mut [0; 512]).await.map(drop)
}
