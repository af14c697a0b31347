//! HTTP streams of the console's indications, and its notifications to O-RAN SC subscribers.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use ranlab_http::guard::problem;
use ranlab_http::sse::{self, Framing};
use ranlab_machine::feed::{Feed, FeedReceiver, Filter};
use ranlab_ric::console::{ConsoleHandle, Notification, Overview, overview as looks};
use ranlab_sdk::RicHandle;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Delay between a response and the first notification. A client needs the response first, because it contains the id
/// of the subscription.
const AFTER_ANSWER: Duration = Duration::from_millis(300);
/// Timeout of a notification.
const NOTIFY_PATIENCE: Duration = Duration::from_secs(2);

/// Returns the requested stream. The query parameters `node`, `sm` and `subscription` (comma-separated) are filters;
/// `format` is `ndjson` or `sse`.
pub(crate) fn indications(feed: &Feed, uri: &Uri, headers: &HeaderMap) -> Result<Response, Response> {
    let (filter, framing) = parameters(uri, headers).map_err(|why| problem(StatusCode::BAD_REQUEST, &why))?;
    sse::stream(feed.listen(filter), framing, "indication")
}

/// Returns the overview as server-sent events. `listener` is `None` if there are too many listeners.
pub(crate) fn overview(listener: Option<FeedReceiver>) -> Result<Response, Response> {
    sse::lines(listener, "overview")
}

/// Updates the overview periodically while the RIC exists; needs a `LocalSet`.
pub(crate) fn refresh_periodically(ric: RicHandle, overview: Overview) {
    tokio::task::spawn_local(async move {
        let mut tick = tokio::time::interval(looks::LOOK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now = ranlab_sdk::now();
            overview.set_clock(now, ranlab_sdk::unix_time());
            ric.read(|ric| overview.refresh(now, ric));
        }
    });
}

fn parameters(uri: &Uri, headers: &HeaderMap) -> Result<(Filter, Framing), String> {
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
                return Err(format!("unknown parameter {name:?}; allowed: node, sm, subscription, format"));
            }
        }
    }
    Ok((filter, framing))
}

/// Decodes a query value; `+` and `%20` are spaces.
fn decoded(text: &str) -> Option<String> {
    // A slash is escaped, because it would separate two segments.
    let text = text.replace('+', "%20").replace('/', "%2F");
    ranlab_ric::northbound::segments(&text).ok().map(|mut segments| segments.pop().unwrap_or_default())
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
                    Err(_) => tracing::warn!(%to, "a subscriber did not accept a notification in time"),
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
