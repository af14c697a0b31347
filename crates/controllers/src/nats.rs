//! The store of several RICs at NATS servers: a JetStream key-value bucket. It only carries: what is asked goes out, what the bucket
//! tells comes in, and every decision is the directory's ([`ranlab_e2::ric::directory`]).
//!
//! Nothing is ever read but through the watch, so it does not matter that a replica may answer with old values.
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

/// Writes under way; further ones wait.
const WRITES_MAX: usize = 256;
/// News that wait for the RIC, and asks that wait for the thread; beyond, whoever brings more waits.
const WAITING_MAX: usize = 1_024;
/// How long the servers may take for one request.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How long a watch may take to begin. One that does not in time may be due to a server that is silent, and another one is turned to
/// before the lease runs out; each further one may take so much longer.
const BEGINNING: Duration = Duration::from_millis(400);
/// How long it may take in the end.
const BEGINNING_MAX: Duration = Duration::from_secs(2);
/// Watches in a row that did not begin are counted up to here, and then from one; at each power of two another server is turned to.
const SILENT_MAX: u32 = 64;
/// Octets of the bucket: some hundreds for each base station.
const BUCKET_BYTES: i64 = 256 << 20;

/// Which servers, and how to be let in.
#[derive(Debug, Clone, Default)]
pub struct NatsConfig {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`, with commas between several.
    pub servers: String,
    /// The bucket.
    pub bucket: String,
    /// Replicas of the bucket, if it has to be made: 3, or 1 at a single server.
    pub replicas: usize,
    /// What the client is called.
    pub name: String,
    /// A file with a user's JWT and seed, as `nsc` writes it.
    pub credentials: Option<PathBuf>,
    /// A file with `USER:PASSWORD`, or a token.
    pub password: Option<PathBuf>,
    /// A file with the seed of an nkey, as `nk` writes it.
    pub nkey: Option<PathBuf>,
    /// A file with the certificates that servers' are signed by.
    pub ca: Option<PathBuf>,
    /// Files with the client's own certificate and key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Why there is no bus.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// The servers' addresses are none.
    #[error(
        "NATS servers are nats://HOST:PORT or tls://HOST:PORT, with commas between several; {0:?} is none"
    )]
    Address(String),
    /// A password on the command line is everybody's.
    #[error(
        "an address of NATS servers takes no password: everybody on this machine would see it; a file has it \
         (ranlab ric --bus-password-file, elsewhere RANLAB_BUS_PASSWORD_FILE)"
    )]
    Secret,
    /// A file of secrets cannot be read.
    #[error("{}: {why}", .file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The servers do not let us in.
    #[error("the NATS servers at {servers} do not let us in: {why}")]
    Refused {
        /// Which.
        servers: String,
        /// Why.
        why: String,
    },
    /// The servers are not there.
    #[error("no NATS server at {servers}: {why}")]
    Unreachable {
        /// Which.
        servers: String,
        /// Why.
        why: String,
    },
    /// The bucket cannot be had.
    #[error("no bucket {bucket} at {servers}: {why}")]
    Bucket {
        /// Which.
        bucket: String,
        /// Where.
        servers: String,
        /// Why.
        why: String,
    },
    /// The system gives no thread.
    #[error("no thread for the bus: {0}")]
    Thread(#[from] std::io::Error),
}

impl NatsConfig {
    /// Servers of a program that has no flags for files: environment variables name them, `RANLAB_BUS_CREDENTIALS_FILE`,
    /// `RANLAB_BUS_PASSWORD_FILE`, `RANLAB_BUS_NKEY_FILE`, `RANLAB_BUS_CA_FILE`, and `RANLAB_BUS_CERTIFICATE_FILE` with
    /// `RANLAB_BUS_KEY_FILE`. One that is empty names none.
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
    /// Whether trying again does not mend it.
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

/// The way to a bucket, from one try to the next.
struct Opening {
    config: NatsConfig,
    heard: Heard,
    client: Option<Client>,
}

impl Opening {
    /// One try.
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

/// The bucket, made if it is not there. Whoever makes it at the same time makes the same.
async fn bucket(context: &jetstream::Context, config: &NatsConfig) -> Result<kv::Store, String> {
    if let Ok(store) = context.get_key_value(&config.bucket).await {
        return Ok(store);
    }
    // The stream that a bucket is, made as such: `create_key_value` first asks what the account may, and a cluster of servers 2.9
    // leaves out of its answer what this client requires.
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

/// A RIC's way to its bucket; it ends with this.
#[derive(Debug)]
pub struct Joined([tokio::task::JoinHandle<()>; 2]);

impl Drop for Joined {
    fn drop(&mut self) {
        self.0.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Joins a RIC ([`RicConfig::directory`](ranlab_e2::ric::RicConfig::directory)) to its bucket, for as long as what this returns is
/// kept. Servers that are not there yet are waited for: the RIC is told ([`BusNews::Away`]), takes no base stations, and they are
/// tried again, every second in the end. Needs a `LocalSet`.
///
/// # Errors
/// What trying again does not mend: addresses or files are none, or the servers let this client not in.
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
    // The other thread ends when nobody asks any more.
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

/// Tries until the bucket is there, and carries from then on. `begun` hears of the first try: a failure if no other one can mend it.
async fn attend(
    config: NatsConfig,
    mut asked: mpsc::Receiver<BusAsk>,
    news: mpsc::Sender<BusNews>,
    begun: oneshot::Sender<Result<(), NatsError>>,
) {
    let joined = Arc::new(AtomicBool::new(false));
    let heard = Heard { news: news.clone(), joined: joined.clone(), tries: Arc::new(AtomicUsize::new(0)) };
    let (mut opening, mut begun, mut tries) = (Opening { config, heard, client: None }, Some(begun), 1);
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
        // Whoever waits for it may have gone.
        let _ = begun.send(Ok(()));
    }
    joined.store(true, Ordering::Relaxed);
    if news.send(BusNews::There).await.is_ok() {
        carry(store, opening.client, asked, news).await;
    }
}

/// Waits for something while there is no store: what is asked for then is not done. `None`: nobody asks any more.
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

/// Carries asks out and news in until nobody asks any more.
async fn carry(
    store: kv::Store,
    client: Option<Client>,
    mut asked: mpsc::Receiver<BusAsk>,
    news: mpsc::Sender<BusNews>,
) {
    let (store, room) = (Arc::new(store), Arc::new(Semaphore::new(WRITES_MAX)));
    let mut watch: Option<kv::Watch> = None;
    let (mut complete, mut silent) = (false, 0_u32);
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
                        // The RIC may be gone.
                        let _ = news.send(BusNews::Written { id, outcome }).await;
                        drop(permit);
                    });
                }
                // The old one stays until there is another: its consumer may outlive a leader, and a new one needs one.
                Some(BusAsk::Watch) => match begin(&store, (BEGINNING * (silent + 1)).min(BEGINNING_MAX)).await {
                    Some(begun) => {
                        (watch, complete, silent) = (Some(begun), false, 0);
                        if news.send(BusNews::Began).await.is_err() {
                            return;
                        }
                    }
                    None => {
                        silent = silent % SILENT_MAX + 1;
                        // Less and less often: there may be no leader, which no other server mends.
                        if let Some(client) = client.as_ref().filter(|_| silent.is_power_of_two()) {
                            // It ends with this thread.
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
                    let (key, revision) = (entry.key, entry.revision);
                    if news.send(BusNews::Entry { key, revision, value }).await.is_err() {
                        return;
                    }
                    if now_complete && news.send(BusNews::Complete).await.is_err() {
                        return;
                    }
                }
                Some(Err(error)) => {
                    // The directory misses its own signs of life, and asks for another one.
                    tracing::info!(%error, "the watch has ended");
                    watch = None;
                }
                None => watch = None,
            },
        }
    }
}

/// A watch of all keys, unless it takes too long.
async fn begin(store: &kv::Store, patience: Duration) -> Option<kv::Watch> {
    match tokio::time::timeout(patience, store.watch_with_history(">")).await {
        Ok(Ok(watch)) => return Some(watch),
        Ok(Err(error)) => tracing::info!(%error, "no watch"),
        Err(_) => tracing::info!("no watch in time"),
    }
    None
}

/// The next entry of a watch; never, without one.
async fn next(watch: &mut Option<kv::Watch>) -> Option<Result<kv::Entry, kv::WatcherError>> {
    match watch {
        Some(watch) => poll_fn(|context| Pin::new(&mut *watch).poll_next(context)).await,
        None => std::future::pending().await,
    }
}

/// Whatever is not surely refused may be written, now or later.
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
