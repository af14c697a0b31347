//! Store of several RICs on NATS servers: a JetStream key-value bucket. This module only transports requests
//! and updates; all decisions are made by the directory ([`ranlab_e2::ric::directory`]).
//!
//! All reads go through the watch, so outdated replies of a replica do no harm.
#![allow(
    clippy::disallowed_methods,
    reason = "an adapter to a server, in real time, with a thread of its own"
)]

use async_nats::Client;
use async_nats::jetstream::stream::{self, DiscardPolicy, StorageType};
use async_nats::jetstream::{self, kv};
use bytes::Bytes;
use futures_core::Stream;
use ranlab_e2::ric::directory::{BusAsk, BusNews, BusWrite, WriteFailure};
use ranlab_sdk::RicHandle;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};

mod connection;
mod publish;

use connection::{Heard, connect, pause};

pub use connection::open;
pub use publish::publish;

/// Maximum number of concurrent writes; further ones wait.
const WRITES_MAX: usize = 256;
/// Capacity of the channels between the RIC and the bus thread; senders wait for room.
const WAITING_MAX: usize = 1_024;
/// Timeout of one request to the servers.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// Timeout for starting a watch. After a timeout, which a silent server may have caused, another server is
/// tried before the lease expires; the timeout grows by this amount with each attempt.
const BEGINNING: Duration = Duration::from_millis(400);
/// Maximum timeout for starting a watch.
const BEGINNING_MAX: Duration = Duration::from_secs(2);
/// Number of failed watches after which counting restarts at 1; at each power of two, the connection moves to
/// another server.
const SILENT_MAX: u32 = 64;
/// Maximum size of the bucket, in bytes; a base station needs some hundred bytes.
const BUCKET_BYTES: i64 = 256 << 20;

/// Servers, bucket and credentials.
#[derive(Debug, Clone, Default)]
pub struct NatsConfig {
    /// Addresses `nats://HOST:PORT` or `tls://HOST:PORT`, separated by commas.
    pub servers: String,
    /// Name of the bucket.
    pub bucket: String,
    /// Number of replicas if the bucket has to be created: 3, or 1 on a single server.
    pub replicas: usize,
    /// Name of this client.
    pub name: String,
    /// File with a user's JWT and seed, as written by `nsc`.
    pub credentials: Option<PathBuf>,
    /// File with `USER:PASSWORD` or a token.
    pub password: Option<PathBuf>,
    /// File with the seed of an nkey, as written by `nk`.
    pub nkey: Option<PathBuf>,
    /// File with the CA certificates for the servers' certificates.
    pub ca: Option<PathBuf>,
    /// Files with the client certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Error of the bus.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// Invalid server addresses.
    #[error(
        "NATS servers are nats://HOST:PORT or tls://HOST:PORT, separated by commas; {0:?} is not a valid address"
    )]
    Address(String),
    /// A password in an address is visible to all users of this machine.
    #[error(
        "an address of NATS servers takes no password, which all users of this machine could see; use a file \
         (ranlab ric --bus-password-file, elsewhere RANLAB_BUS_PASSWORD_FILE)"
    )]
    Secret,
    /// A file with credentials cannot be read.
    #[error("{}: {why}", .file.display())]
    File {
        /// Path.
        file: PathBuf,
        /// Cause.
        why: String,
    },
    /// The servers reject the credentials.
    #[error("the NATS servers at {servers} do not let us in: {why}")]
    Refused {
        /// Addresses.
        servers: String,
        /// Cause.
        why: String,
    },
    /// No server is reachable.
    #[error("no NATS server at {servers}: {why}")]
    Unreachable {
        /// Addresses.
        servers: String,
        /// Cause.
        why: String,
    },
    /// The bucket cannot be opened or created.
    #[error("no bucket {bucket} at {servers}: {why}")]
    Bucket {
        /// Name of the bucket.
        bucket: String,
        /// Addresses.
        servers: String,
        /// Cause.
        why: String,
    },
    /// A thread cannot be started.
    #[error("no thread for the bus: {0}")]
    Thread(#[from] std::io::Error),
}

impl NatsConfig {
    /// Returns a configuration with credentials from environment variables, for programs without flags for
    /// them.
    ///
    /// The variables name files: `RANLAB_BUS_CREDENTIALS_FILE`, `RANLAB_BUS_PASSWORD_FILE`,
    /// `RANLAB_BUS_NKEY_FILE`, `RANLAB_BUS_CA_FILE`, and `RANLAB_BUS_CERTIFICATE_FILE` with
    /// `RANLAB_BUS_KEY_FILE`. An empty variable is ignored.
    pub fn from_environment(servers: &str, name: &str) -> Self {
        let file = |what: &str| {
            let value = std::env::var_os(format!("RANLAB_BUS_{what}_FILE"))?;
            (!value.is_empty()).then(|| PathBuf::from(value))
        };
        Self {
            servers: servers.to_owned(),
            name: name.to_owned(),
            credentials: file("CREDENTIALS"),
            password: file("PASSWORD"),
            nkey: file("NKEY"),
            ca: file("CA"),
            certificate: file("CERTIFICATE").zip(file("KEY")),
            ..Self::default()
        }
    }
}

impl NatsError {
    /// Returns whether the error is permanent, so that a retry cannot succeed.
    fn lasts(&self) -> bool {
        !matches!(self, Self::Unreachable { .. } | Self::Bucket { .. })
    }
}

fn checked(servers: &str) -> Result<Vec<String>, NatsError> {
    let all: Vec<_> = servers.split(',').map(|it| it.trim().to_owned()).collect();
    for server in &all {
        let wrong = || NatsError::Address(server.split('@').next_back().unwrap_or_default().to_owned());
        let place =
            server.strip_prefix("nats://").or_else(|| server.strip_prefix("tls://")).ok_or_else(wrong)?;
        if place.contains('@') {
            return Err(NatsError::Secret);
        }
        let port = place.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        port.and_then(|port| port.parse::<u16>().ok()).ok_or_else(wrong)?;
    }
    Ok(all)
}

/// State kept between attempts to open the bucket.
struct Opening {
    config: NatsConfig,
    heard: Heard,
    client: Option<Client>,
}

impl Opening {
    /// Makes one attempt.
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

/// Opens the bucket, or creates it. A concurrent creation has the same parameters.
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
pub struct Joined([tokio::task::JoinHandle<()>; 2]);

impl Drop for Joined {
    fn drop(&mut self) {
        self.0.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Connects a RIC ([`RicConfig::directory`](ranlab_e2::ric::RicConfig::directory)) to its bucket, until the
/// returned value is dropped. Needs a `LocalSet`.
///
/// While no server is reachable, the RIC receives [`BusNews::Away`] and accepts no base stations; connection
/// attempts continue at intervals of up to one second.
///
/// # Errors
/// Fails on permanent errors: invalid addresses or files, or rejected credentials.
pub async fn join(ric: RicHandle, config: NatsConfig) -> Result<Joined, NatsError> {
    let (asks, asked) = mpsc::channel(WAITING_MAX);
    let (news, mut told) = mpsc::channel(WAITING_MAX);
    let (begun, begins) = oneshot::channel();
    thread::Builder::new().name("bus".to_owned()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(begun.send(Err(NatsError::Thread(error)))),
        };
        runtime.block_on(attend(config, asked, news, begun));
    })?;
    let gone = || NatsError::Thread(std::io::Error::other("it has ended"));
    begins.await.map_err(|_| gone())??;
    let asking = ric.clone();
    // The bus thread ends when this channel closes.
    let out =
        tokio::task::spawn_local(async move { while asks.send(asking.next_ask().await).await.is_ok() {} });
    let back = tokio::task::spawn_local(async move {
        let mut all = Vec::new();
        while told.recv_many(&mut all, WAITING_MAX).await > 0 {
            ric.bus(all.drain(..));
        }
    });
    Ok(Joined([out, back]))
}

/// Retries until the bucket is open, then transports requests and updates. `begun` receives the result of the
/// first attempt: an error only if it is permanent.
async fn attend(
    config: NatsConfig,
    mut asked: mpsc::Receiver<BusAsk>,
    news: mpsc::Sender<BusNews>,
    begun: oneshot::Sender<Result<(), NatsError>>,
) {
    let joined = Arc::new(AtomicBool::new(false));
    let heard = Heard { news: news.clone(), joined: joined.clone(), tries: Arc::new(AtomicUsize::new(0)) };
    let mut opening = Opening { config, heard, client: None };
    let mut begun = Some(begun);
    let mut tries = 1;
    let store = loop {
        let Some(tried) = meanwhile(&mut asked, &news, opening.open()).await else { return };
        let error = match tried {
            Ok(store) => break store,
            Err(error) => error,
        };
        match (begun.take(), error.lasts()) {
            (Some(begun), true) => return drop(begun.send(Err(error))),
            (Some(begun), false) => drop(begun.send(Ok(()))),
            _ => {}
        }
        tracing::debug!(%error, tries, "no bus");
        tries += 1;
        let why = error.to_string();
        let waited =
            async { news.send(BusNews::Away { why }).await.map(|()| tokio::time::sleep(pause(tries))) };
        let Ok(sleep) = waited.await else { return };
        if meanwhile(&mut asked, &news, sleep).await.is_none() {
            return;
        }
    };
    if let Some(begun) = begun {
        // The receiver may have been dropped.
        let _ = begun.send(Ok(()));
    }
    joined.store(true, Ordering::Relaxed);
    if news.send(BusNews::There).await.is_ok() {
        carry(store, opening.client, asked, news).await;
    }
}

/// Waits for a future while there is no store; write requests fail in the meantime. `None`: the request
/// channel is closed.
async fn meanwhile<T>(
    asked: &mut mpsc::Receiver<BusAsk>,
    news: &mpsc::Sender<BusNews>,
    awaited: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(awaited);
    loop {
        tokio::select! {
            done = &mut awaited => return Some(done),
            ask = asked.recv() => {
                if let BusAsk::Write(BusWrite { id, .. }) = ask? {
                    let outcome = Err(WriteFailure::Unavailable);
                    news.send(BusNews::Written { id, outcome }).await.ok()?;
                }
            }
        }
    }
}

/// Transports requests and updates until the request channel is closed.
async fn carry(
    store: kv::Store,
    client: Option<Client>,
    mut asked: mpsc::Receiver<BusAsk>,
    news: mpsc::Sender<BusNews>,
) {
    let (store, room) = (Arc::new(store), Arc::new(Semaphore::new(WRITES_MAX)));
    let mut watch: Option<kv::Watch> = None;
    let mut complete = false;
    let mut silent = 0_u32;
    loop {
        tokio::select! {
            ask = asked.recv() => match ask {
                None => return,
                Some(BusAsk::Write(write)) => {
                    let Ok(permit) = room.clone().acquire_owned().await else { return };
                    let (store, news) = (store.clone(), news.clone());
                    tokio::spawn(async move {
                        let id = write.id;
                        let outcome = put(&store, write).await;
                        // The RIC may have been dropped.
                        let _ = news.send(BusNews::Written { id, outcome }).await;
                        drop(permit);
                    });
                }
                // The previous watch stays until a new one exists: its consumer may survive a change of
                // leader, and creating one needs a leader.
                Some(BusAsk::Watch) => match begin(&store, (BEGINNING * (silent + 1)).min(BEGINNING_MAX)).await {
                    Some(begun) => {
                        (watch, complete, silent) = (Some(begun), false, 0);
                        if news.send(BusNews::Began).await.is_err() {
                            return;
                        }
                    }
                    None => {
                        silent = silent % SILENT_MAX + 1;
                        // At growing intervals: if the stream has no leader, another server does not help.
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
                    let news_entry = BusNews::Entry { key: entry.key, revision: entry.revision, value };
                    if news.send(news_entry).await.is_err() {
                        return;
                    }
                    if now_complete && news.send(BusNews::Complete).await.is_err() {
                        return;
                    }
                }
                Some(Err(error)) => {
                    // The directory notices the missing heartbeats and requests a new watch.
                    tracing::info!(%error, "the watch has ended");
                    watch = None;
                }
                None => watch = None,
            },
        }
    }
}

/// Starts a watch of all keys; `None` on an error or timeout.
async fn begin(store: &kv::Store, patience: Duration) -> Option<kv::Watch> {
    match tokio::time::timeout(patience, store.watch_with_history(">")).await {
        Ok(Ok(watch)) => return Some(watch),
        Ok(Err(error)) => tracing::info!(%error, "no watch"),
        Err(_) => tracing::info!("no watch in time"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port_and_no_password() {
        assert_eq!(checked("nats://a:1, tls://[::1]:2").unwrap(), ["nats://a:1", "tls://[::1]:2"]);
        for wrong in ["", "a:1", "nats://a", "nats://:1", "nats://a:x", "redis://a:1", "nats://a:1,"] {
            assert!(matches!(checked(wrong), Err(NatsError::Address(_))), "{wrong}");
        }
        let error = checked("nats://user:secret@a:1").unwrap_err();
        assert!(matches!(error, NatsError::Secret) && !error.to_string().contains("secret@"), "{error}");
        assert!(!checked("foo://user:secret@a:1").unwrap_err().to_string().contains("secret"));
    }
}
