//! Message bus on a Redis server: `PUBLISH` and `SUBSCRIBE`, each in its own thread because Redis calls
//! block.
#![allow(
    clippy::disallowed_methods,
    reason = "an adapter to a server, in real time, with threads of its own"
)]

use bytes::Bytes;
use ranlab_ric::bus::Bus;
use ranlab_ric::monitor::Messages;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Maximum number of queued messages; further ones are dropped.
const WAITING_MAX: usize = 4_096;
/// Delay between connection attempts.
pub(crate) const RETRY: Duration = Duration::from_secs(1);
/// Timeout of a connection attempt or of one message.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Error of a Redis connection.
#[derive(Debug, thiserror::Error)]
#[error("no Redis server at {url}: {source}")]
pub struct RedisBusError {
    url: String,
    source: redis::RedisError,
}

pub(crate) fn open(url: &str) -> Result<(redis::Client, redis::Connection), RedisBusError> {
    let error = |source| RedisBusError { url: url.to_owned(), source };
    let client = redis::Client::open(url).map_err(error)?;
    let connection = client.get_connection_with_timeout(PATIENCE).map_err(error)?;
    Ok((client, connection))
}

/// Bus on a Redis server. While the server is unreachable, messages are dropped and counted.
pub struct RedisBus {
    messages: SyncSender<(String, Bytes)>,
    missed: Arc<AtomicU64>,
}

impl RedisBus {
    /// Connects to the server.
    ///
    /// # Errors
    /// Fails if the server is not reachable.
    pub fn connect(url: &str) -> Result<Self, RedisBusError> {
        let (client, connection) = open(url)?;
        let (messages, waiting) = sync_channel(WAITING_MAX);
        let missed = Arc::new(AtomicU64::new(0));
        let lost = missed.clone();
        let count = move |taken: bool| {
            lost.fetch_add(u64::from(!taken), Relaxed);
        };
        // The thread ends with the bus.
        thread::spawn(move || publish_all(&client, Some(connection), waiting.into_iter(), count));
        Ok(Self { messages, missed })
    }

    /// Returns the number of dropped messages.
    pub fn missed(&self) -> u64 {
        self.missed.load(Relaxed)
    }
}

impl Bus for RedisBus {
    fn publish(&mut self, subject: &str, message: Bytes) {
        if self.messages.try_send((subject.to_owned(), message)).is_err() {
            self.missed.fetch_add(1, Relaxed);
        }
    }
}

/// Publishes the monitor's reports from a separate thread, until the monitor is dropped. Connects again if the server
/// is unreachable at first or the connection is lost. Messages that do not reach the server are counted.
///
/// # Errors
/// Fails if the address is invalid.
pub fn publish(url: &str, messages: Messages) -> Result<(), RedisBusError> {
    let error = |source| RedisBusError { url: url.to_owned(), source };
    let client = redis::Client::open(url).map_err(error)?;
    let handle = messages.handle();
    thread::spawn(move || {
        let connection = client.get_connection_with_timeout(PATIENCE).ok();
        let messages = messages.map(|message| (message.subject, message.json));
        publish_all(&client, connection, messages, |taken| handle.count_result(taken));
    });
    Ok(())
}

fn publish_all(
    client: &redis::Client,
    mut connection: Option<redis::Connection>,
    messages: impl Iterator<Item = (String, Bytes)>,
    count: impl Fn(bool),
) {
    for (subject, message) in messages {
        let sent = connection
            .as_mut()
            .map(|connection| redis::cmd("PUBLISH").arg(&subject).arg(&message[..]).query::<i64>(connection));
        let taken = matches!(sent, Some(Ok(_)));
        count(taken);
        if !taken {
            thread::sleep(RETRY);
            connection = client.get_connection_with_timeout(PATIENCE).ok();
        }
    }
}

/// Calls `each` with every message under these subjects, in a separate thread, until `each` returns `false`. A lost
/// connection is restored.
///
/// # Errors
/// Fails if the server is not reachable.
pub fn listen(
    url: &str,
    subjects: &[&str],
    mut each: impl FnMut(&[u8]) -> bool + Send + 'static,
) -> Result<(), RedisBusError> {
    let (client, connection) = open(url)?;
    let subjects: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
    thread::spawn(move || {
        let mut connection = Some(connection);
        loop {
            if let Some(connection) = &mut connection {
                let mut subscriber = connection.as_pubsub();
                let subscribed = subjects.iter().all(|subject| subscriber.subscribe(subject).is_ok());
                while subscribed && let Ok(message) = subscriber.get_message() {
                    if !each(message.get_payload_bytes()) {
                        return;
                    }
                }
            }
            thread::sleep(RETRY);
            connection = client.get_connection_with_timeout(PATIENCE).ok();
        }
    });
    Ok(())
}
