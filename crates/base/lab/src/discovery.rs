//! Discovers workers through NATS. The campaign sends a request on a subject, and each listening worker answers with
//! its address. The campaign then connects to each worker directly; no experiment data passes through NATS. Environment
//! variables name the credential files
//! ([`NatsConfig::from_environment`](ranlab_transport::nats::NatsConfig::from_environment)) for workers and the
//! campaign, because a scenario must not contain credentials.

#[cfg(feature = "bus")]
use std::sync::Arc;
#[cfg(feature = "bus")]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "bus")]
use ranlab_transport::nats::{NatsConfig, open};

use crate::lab::WorkerLocation;

/// Maximum number of workers that one request finds. Further answers are ignored.
#[cfg(feature = "bus")]
const WORKERS_MAX: usize = crate::PLACES_MAX;
/// Maximum length of an answer, in bytes.
#[cfg(feature = "bus")]
const ANSWER_BYTES: usize = 512;
/// Time for which answers are collected.
#[cfg(feature = "bus")]
const COLLECT: std::time::Duration = std::time::Duration::from_secs(1);
/// Timeout until the server accepts the connection.
#[cfg(feature = "bus")]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// The default group of workers.
pub const GROUP: &str = "workers";

/// Returns whether a name is valid for a group: one token of a NATS subject.
pub fn is_group(name: &str) -> bool {
    (1..=32).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// Reason why workers were not found, or a worker is not announced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// No worker of the group answers.
    #[error(
        "no worker answers at {server}/{group}; start `ranlab worker --listen IP:PORT --bus {server}` on each machine"
    )]
    NoWorker {
        /// Address of the NATS server.
        server: String,
        /// Group of workers.
        group: String,
    },
    /// The NATS server cannot be used.
    #[cfg(feature = "bus")]
    #[error(transparent)]
    Nats(#[from] ranlab_transport::nats::NatsError),
    /// The request cannot be sent.
    #[cfg(feature = "bus")]
    #[error("the NATS server {server} accepts no request: {why}")]
    Request {
        /// Address of the NATS server.
        server: String,
        /// Reason why the request cannot be sent.
        why: String,
    },
    /// No thread or event loop can be created.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// The build has no NATS.
    #[error("this build has no NATS; build with `cargo build -p ranlab --features bus`")]
    NotBuilt,
}

#[cfg(feature = "bus")]
fn subject(group: &str) -> String {
    format!("ranlab.found.{group}")
}

#[cfg(feature = "bus")]
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Returns the workers of a group that answer now, sorted by address so that the order is always the same.
///
/// # Errors
/// The server is not reachable, or no worker answers.
#[cfg(feature = "bus")]
pub fn workers(server: &str, group: &str) -> Result<Vec<WorkerLocation>, DiscoveryError> {
    let answers = runtime()?.block_on(ask(server, group))?;
    let mut all: Vec<WorkerLocation> = answers.iter().filter_map(|answer| read(answer)).collect();
    all.sort_by_key(WorkerLocation::to_string);
    all.dedup();
    all.truncate(WORKERS_MAX);
    if all.is_empty() {
        return Err(DiscoveryError::NoWorker { server: server.to_owned(), group: group.to_owned() });
    }
    Ok(all)
}

/// Parses an answer. Returns `None` unless it is the address of a worker that can be connected to.
#[cfg(feature = "bus")]
fn read(answer: &[u8]) -> Option<WorkerLocation> {
    let text = std::str::from_utf8(answer.get(..ANSWER_BYTES.min(answer.len()))?).ok()?;
    text.parse().ok().filter(|host| matches!(host, WorkerLocation::Tcp { .. }))
}

#[cfg(feature = "bus")]
async fn ask(server: &str, group: &str) -> Result<Vec<bytes::Bytes>, DiscoveryError> {
    let config = NatsConfig::from_environment(server, "ranlab campaign");
    let client = open(&config, |options| options.connection_timeout(PATIENCE)).await?;
    let request = |why: String| DiscoveryError::Request { server: server.to_owned(), why };
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| request(error.to_string()))?;
    let result = client.publish_with_reply(subject(group), inbox, bytes::Bytes::new()).await;
    result.map_err(|error| request(error.to_string()))?;
    let mut all = Vec::new();
    let end = tokio::time::sleep(COLLECT);
    tokio::pin!(end);
    // Twice the maximum, because some workers may answer twice.
    while all.len() < 2 * WORKERS_MAX {
        tokio::select! {
            () = &mut end => break,
            answer = next(&mut answers) => match answer {
                Some(message) => all.push(message.payload),
                None => break,
            },
        }
    }
    Ok(all)
}

#[cfg(feature = "bus")]
async fn next(subscriber: &mut async_nats::Subscriber) -> Option<async_nats::Message> {
    use futures_core::Stream;
    std::future::poll_fn(|context| std::pin::Pin::new(&mut *subscriber).poll_next(context)).await
}

/// Answers discovery requests for this group with this address. Runs in a background thread for the lifetime of the
/// process, and reconnects to a server that is unreachable.
///
/// # Errors
/// The server address is invalid, a credential file is invalid, or the thread cannot be created.
#[cfg(feature = "bus")]
pub fn announce(server: &str, group: &str, worker: &str) -> Result<(), DiscoveryError> {
    let config = NatsConfig::from_environment(server, "ranlab worker");
    let subject = subject(group);
    let worker = bytes::Bytes::copy_from_slice(worker.as_bytes());
    let runtime = runtime()?;
    // The client connects in the background; errors in addresses and files are returned here.
    let before = Arc::new(AtomicBool::new(false));
    let client = runtime.block_on(open(&config, |options| {
        options.retry_on_initial_connect().event_callback(move |event| {
            let before = Arc::clone(&before);
            async move { log_rejection(&event, &before) }
        })
    }));
    let client = client?;
    let answer = async move {
        let Ok(mut requests) = client.subscribe(subject).await else { return };
        while let Some(question) = next(&mut requests).await {
            if let Some(reply) = question.reply {
                // If the reply is lost, the requester asks again.
                let _ = client.publish(reply, worker.clone()).await;
            }
        }
    };
    let spawned =
        std::thread::Builder::new().name("found".to_owned()).spawn(move || runtime.block_on(answer));
    Ok(spawned.map(drop)?)
}

/// Logs once that the server does not accept this worker, which therefore cannot be found. An unreachable server is not
/// logged, because it may start later.
#[cfg(feature = "bus")]
fn log_rejection(event: &async_nats::Event, before: &AtomicBool) {
    let (async_nats::Event::ServerError(_) | async_nats::Event::ClientError(_)) = event else { return };
    let why = event.to_string();
    if why.contains("authorization") && !before.swap(true, Ordering::Relaxed) {
        eprintln!(
            "ranlab worker: campaigns cannot find this worker, because the NATS server rejects it ({why})"
        );
    }
}

/// Always fails, because this build has no NATS.
///
/// # Errors
/// Always.
#[cfg(not(feature = "bus"))]
pub fn workers(_: &str, _: &str) -> Result<Vec<WorkerLocation>, DiscoveryError> {
    Err(DiscoveryError::NotBuilt)
}

/// Always fails, because this build has no NATS.
///
/// # Errors
/// Always.
#[cfg(not(feature = "bus"))]
pub fn announce(_: &str, _: &str, _: &str) -> Result<(), DiscoveryError> {
    Err(DiscoveryError::NotBuilt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_name_is_one_token() {
        assert!(is_group(GROUP) && is_group("lab-7_b"));
        assert!(
            !is_group("")
                && !is_group("a.b")
                && !is_group("a b")
                && !is_group(">")
                && !is_group(&"x".repeat(33))
        );
    }

    #[cfg(feature = "bus")]
    #[test]
    fn answer_must_be_a_connectable_address() {
        assert_eq!(
            read(b"tcp://10.0.0.7:7000"),
            Some(WorkerLocation::Tcp { address: "10.0.0.7:7000".to_owned() })
        );
        let long = format!("tcp://{}:1", "a".repeat(2 * ANSWER_BYTES));
        for wrong in [&b"ssh://a"[..], b"local", b"nats://a:1", b"", b"\xff", long.as_bytes()] {
            assert_eq!(read(wrong), None);
        }
    }
}
