//! Store of several RICs on NATS servers: a JetStream key-value bucket. This module only transports requests
//! and updates; all decisions are made by the directory ([`ranlab_e2::ric::directory`]).
//!
//! All values are read through the watch of the bucket, so a replica cannot reply with outdated values.
#![allow(
    clippy::disallowed_methods,
    reason = "an adapter to a server, in real time, with a thread of its own"
)]

use async_nats::Client;
use async_nats::jetstream::stream::{self, DiscardPolicy, StorageType};
use async_nats::jetstream::{self, kv};
use bytes::Bytes;
use futures_core::Stream;
use ranlab_e2::ric::directory::{BusWrite, StoreEvent, StoreRequest, WriteFailure};
use ranlab_sdk::RicHandle;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

mod connection;
mod publish;

use connection::{EventForwarder, connect};
use ranlab_transport::nats::{PATIENCE, pause};

pub use publish::publish;
pub use ranlab_transport::nats::{NatsConfig, NatsError, open};

/// Maximum number of concurrent writes; further ones wait.
const WRITES_MAX: usize = 256;
/// Capacity of the channels between the RIC and the bus thread; senders wait for room.
const WAITING_MAX: usize = 1_024;
/// Timeout for starting a watch, and the amount by which it grows with each attempt. It is short, so that another
/// server can be tried before the lease expires.
const BEGINNING: Duration = Duration::from_millis(400);
/// Maximum timeout for starting a watch.
const BEGINNING_MAX: Duration = Duration::from_secs(2);
/// Number of failed watches after which their count restarts at 1. If the count is a power of two, the connection moves
/// to another server.
const SILENT_MAX: u32 = 64;
/// Maximum size of the bucket, in bytes; a base station needs some hundred bytes.
const BUCKET_BYTES: i64 = 256 << 20;

/// State kept between attempts to open the bucket.
struct BucketOpening {
    config: NatsConfig,
    heard: EventForwarder,
    client: Option<Client>,
}

impl BucketOpening {
    /// Makes one attempt to open the bucket.
    async fn open(&mut self) -> Result<kv::Store, NatsError> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => self.client.insert(connect(&self.config, self.heard.clone()).await?).clone(),
        };
        let mut context = jetstream::new(client);
        context.set_timeout(PATIENCE);
        bucket(&context, &self.config).await.map_err(|why| NatsError::Bucket {
            bucket: self.config.bucket.clone(),
            servers: self.config.servers.clone(),
            why,
        })
    }
}

/// Opens the bucket, or creates it. If another RIC creates it at the same time, it uses the same parameters.
async fn bucket(context: &jetstream::Context, config: &NatsConfig) -> Result<kv::Store, String> {
    if let Ok(store) = context.get_key_value(&config.bucket).await {
        return Ok(store);
    }
    // Creates the underlying stream directly: `create_key_value` first queries the account, and the response
    // of a NATS 2.9 cluster lacks a field that this client requires.
    let made = stream::Config {
        name: format!("KV_{}", config.bucket),
        description: Some("who serves which base station (ranlab ric --bus)".to_owned()),
        subjects: vec![format!("$KV.{}.>", config.bucket)],
        max_messages_per_subject: 1,
        max_bytes: BUCKET_BYTES,
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        num_replicas: config.replicas,
        ..stream::Config::default()
    };
    context.create_stream(made).await.map_err(|error| {
        let hint = if config.replicas > 1 { "; at a single server: --bus-replicas 1" } else { "" };
        format!("{error}{hint}")
    })?;
    context.get_key_value(&config.bucket).await.map_err(|error| error.to_string())
}

/// Connection of a RIC to its bucket; dropping it disconnects.
#[derive(Debug)]
pub struct ClusterMembership([tokio::task::JoinHandle<()>; 2]);

impl Drop for ClusterMembership {
    fn drop(&mut self) {
        self.0.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Connects a RIC ([`RicConfig::directory`](ranlab_e2::ric::RicConfig::directory)) to its bucket, until the
/// returned value is dropped. Needs a `LocalSet`.
///
/// While no server is reachable, the RIC receives [`StoreEvent::Away`] and accepts no base stations; connection
/// attempts continue at intervals of up to one second.
///
/// # Errors
/// Fails on permanent errors: invalid addresses or files, or rejected credentials.
pub async fn join(ric: RicHandle, config: NatsConfig) -> Result<ClusterMembership, NatsError> {
    let (asks, requests) = mpsc::channel(WAITING_MAX);
    let (news, mut events) = mpsc::channel(WAITING_MAX);
    let (begun, begins) = oneshot::channel();
    thread::Builder::new().name("bus".to_owned()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(begun.send(Err(NatsError::Thread(error)))),
        };
        runtime.block_on(attend(config, requests, news, begun));
    })?;
    let gone = || NatsError::Thread(std::io::Error::other("the thread of the bus has ended"));
    begins.await.map_err(|_| gone())??;
    let asking = ric.clone();
    // The bus thread ends when this channel closes.
    let out =
        tokio::task::spawn_local(async move { while asks.send(asking.next_ask().await).await.is_ok() {} });
    let back = tokio::task::spawn_local(async move {
        let mut all = Vec::new();
        while events.recv_many(&mut all, WAITING_MAX).await > 0 {
            ric.bus(all.drain(..));
        }
    });
    Ok(ClusterMembership([out, back]))
}

/// Retries until the bucket is open, then transports requests and updates. `begun` receives the result of the
/// first attempt: an error only if it is permanent.
async fn attend(
    config: NatsConfig,
    mut requests: mpsc::Receiver<StoreRequest>,
    news: mpsc::Sender<StoreEvent>,
    begun: oneshot::Sender<Result<(), NatsError>>,
) {
    let joined = Arc::new(AtomicBool::new(false));
    let forwarder =
        EventForwarder { news: news.clone(), joined: joined.clone(), tries: Arc::new(AtomicUsize::new(0)) };
    let mut opening = BucketOpening { config, heard: forwarder, client: None };
    let mut begun = Some(begun);
    let mut tries = 1;
    let store = loop {
        let Some(tried) = meanwhile(&mut requests, &news, opening.open()).await else { return };
        let error = match tried {
            Ok(store) => break store,
            Err(error) => error,
        };
        match (begun.take(), error.lasts()) {
            (Some(begun), true) => return drop(begun.send(Err(error))),
            (Some(begun), false) => drop(begun.send(Ok(()))),
            _ => {}
        }
        tracing::debug!(%error, tries, "the bus cannot be reached");
        tries += 1;
        let why = error.to_string();
        let waited =
            async { news.send(StoreEvent::Away { why }).await.map(|()| tokio::time::sleep(pause(tries))) };
        let Ok(sleep) = waited.await else { return };
        if meanwhile(&mut requests, &news, sleep).await.is_none() {
            return;
        }
    };
    if let Some(begun) = begun {
        // The receiver may have been dropped.
        let _ = begun.send(Ok(()));
    }
    joined.store(true, Ordering::Relaxed);
    if news.send(StoreEvent::There).await.is_ok() {
        carry(store, opening.client, requests, news).await;
    }
}

/// Waits for a future while there is no store. Write requests fail in the meantime. Returns `None` if the request
/// channel is closed.
async fn meanwhile<T>(
    requests: &mut mpsc::Receiver<StoreRequest>,
    news: &mpsc::Sender<StoreEvent>,
    awaited: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(awaited);
    loop {
        tokio::select! {
            done = &mut awaited => return Some(done),
            ask = requests.recv() => {
                if let StoreRequest::Write(BusWrite { id, .. }) = ask? {
                    let outcome = Err(WriteFailure::Unavailable);
                    news.send(StoreEvent::Written { id, outcome }).await.ok()?;
                }
            }
        }
    }
}

/// Transports requests and updates until the request channel is closed.
async fn carry(
    store: kv::Store,
    client: Option<Client>,
    mut requests: mpsc::Receiver<StoreRequest>,
    news: mpsc::Sender<StoreEvent>,
) {
    let store = Arc::new(store);
    let room = Arc::new(Semaphore::new(WRITES_MAX));
    let mut watch: Option<kv::Watch> = None;
    let mut complete = false;
    let mut silent = 0_u32;
    loop {
        tokio::select! {
            ask = requests.recv() => match ask {
                None => return,
                Some(StoreRequest::Write(write)) => {
                    let Ok(permit) = room.clone().acquire_owned().await else { return };
                    tokio::spawn(write_entry(store.clone(), news.clone(), write, permit));
                }
                // The previous watch is kept until a new one exists. Its consumer may survive a change of the stream's
                // leader, but a new consumer needs a leader.
                Some(StoreRequest::Watch) => match begin(&store, (BEGINNING * (silent + 1)).min(BEGINNING_MAX)).await {
                    Some(begun) => {
                        (watch, complete, silent) = (Some(begun), false, 0);
                        if news.send(StoreEvent::Began).await.is_err() {
                            return;
                        }
                    }
                    None => {
                        silent = silent % SILENT_MAX + 1;
                        // Reconnects at growing intervals, because another server does not help if the stream has no leader.
                        if let Some(client) = client.as_ref().filter(|_| silent.is_power_of_two()) {
                            // Fails only if this thread ends.
                            let _ = client.force_reconnect().await;
                        }
                    }
                },
            },
            entry = next(&mut watch) => match entry {
                Some(Ok(entry)) => {
                    let now_complete = entry.seen_current && !complete;
                    complete |= now_complete;
                    let value = match entry.operation {
                        kv::Operation::Put => entry.value,
                        kv::Operation::Delete | kv::Operation::Purge => Bytes::new(),
                    };
                    let event = StoreEvent::Entry { key: entry.key, revision: entry.revision, value };
                    if news.send(event).await.is_err() {
                        return;
                    }
                    if now_complete && news.send(StoreEvent::Complete).await.is_err() {
                        return;
                    }
                }
                Some(Err(error)) => {
                    // The directory notices the missing heartbeats and requests a new watch.
                    tracing::info!(%error, "the watch of the bucket has ended");
                    watch = None;
                }
                None => watch = None,
            },
        }
    }
}

/// Writes an entry and reports the outcome. The permit bounds the number of concurrent writes.
async fn write_entry(
    store: Arc<kv::Store>,
    news: mpsc::Sender<StoreEvent>,
    write: BusWrite,
    permit: OwnedSemaphorePermit,
) {
    let id = write.id;
    let outcome = put(&store, write).await;
    // The RIC may have been dropped.
    let _ = news.send(StoreEvent::Written { id, outcome }).await;
    drop(permit);
}

/// Starts a watch of all keys; `None` on an error or timeout.
async fn begin(store: &kv::Store, patience: Duration) -> Option<kv::Watch> {
    match tokio::time::timeout(patience, store.watch_with_history(">")).await {
        Ok(Ok(watch)) => return Some(watch),
        Ok(Err(error)) => tracing::info!(%error, "the watch of the bucket cannot be started"),
        Err(_) => tracing::info!("the watch of the bucket did not start in time"),
    }
    None
}

/// Returns the next entry of a watch; never resolves without a watch.
async fn next(watch: &mut Option<kv::Watch>) -> Option<Result<kv::Entry, kv::WatcherError>> {
    match watch {
        Some(watch) => poll_fn(|context| Pin::new(&mut *watch).poll_next(context)).await,
        None => std::future::pending().await,
    }
}

/// Writes a value. Unless the server explicitly rejects it, the write may still take effect, now or later.
async fn put(store: &kv::Store, write: BusWrite) -> Result<u64, WriteFailure> {
    match write.expected {
        None => store.put(write.key, write.value).await.map_err(|error| {
            tracing::debug!(%error, "a write failed");
            WriteFailure::Unknown
        }),
        Some(revision) => store.update(write.key, write.value, revision).await.map_err(|error| {
            tracing::debug!(%error, "a write failed");
            match error.kind() {
                kv::UpdateErrorKind::WrongLastRevision => WriteFailure::Revised,
                _ => WriteFailure::Unknown,
            }
        }),
    }
}
