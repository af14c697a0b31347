//! The store of several RICs at NATS servers: a JetStream key-value bucket. It only carries: what is asked goes out, what the bucket
//! tells comes in, and every decision is the directory's ([`ranlab_e2::ric::directory`]).
//!
//! Nothing is ever read but through the watch, so it does not matter that a replica may answer with old values.
#![allow(
    clippy::disallowed_methods,
    reason = "an adapter to a server, in real time, with a thread of its own"
)]

use async_nats::jetstream::stream::{self, DiscardPolicy, StorageType};
use async_nats::jetstream::{self, kv};
use async_nats::{Client, ConnectOptions};
use bytes::Bytes;
use futures_core::Stream;
use ranlab_e2::ric::directory::{BusAsk, BusNews, BusWrite, WriteFailure};
use ranlab_sdk::RicHandle;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Writes under way; further ones wait.
const WRITES_MAX: usize = 256;
/// News that wait for the RIC, and asks that wait for the thread; beyond, whoever brings more waits.
const WAITING_MAX: usize = 1_024;
/// How long the servers may take for one request.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How often a connection is tried; a silent server is noticed after three.
const PING: Duration = Duration::from_secs(1);
/// How long the first bucket may take: a cluster that has just begun elects first.
const FIRST: Duration = Duration::from_secs(15);
/// Between two tries for it.
const RETRY: Duration = Duration::from_millis(500);
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
    /// A file with the certificates that servers' are signed by.
    pub ca: Option<PathBuf>,
    /// Files with the client's own certificate and key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Why there is no bus.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// The servers' addresses are none.
    #[error("--bus takes nats://HOST:PORT or tls://HOST:PORT, with commas between several; {0:?} is none")]
    Address(String),
    /// A password on the command line is everybody's.
    #[error(
        "--bus takes no password: everybody on this machine would see it; --bus-password-file names a file"
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
    /// The servers are not there, or do not let us in.
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

pub(crate) fn checked(servers: &str) -> Result<Vec<String>, NatsError> {
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

fn read(file: &Path) -> Result<String, NatsError> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| NatsError::File { file: file.to_owned(), why: error.to_string() })?;
    let text = text.trim().to_owned();
    if text.is_empty() || text.contains('\n') {
        let why = "one line USER:PASSWORD or a token is expected".to_owned();
        return Err(NatsError::File { file: file.to_owned(), why });
    }
    Ok(text)
}

pub(crate) async fn options(config: &NatsConfig) -> Result<ConnectOptions, NatsError> {
    let mut options = ConnectOptions::new()
        .name(&config.name)
        .ping_interval(PING)
        .connection_timeout(PATIENCE * 2)
        .request_timeout(Some(PATIENCE));
    if let Some(file) = &config.credentials {
        let wrong = |error: std::io::Error| NatsError::File { file: file.clone(), why: error.to_string() };
        options = options.credentials_file(file).await.map_err(wrong)?;
    }
    if let Some(file) = &config.password {
        let text = read(file)?;
        options = match text.split_once(':') {
            Some((user, password)) => options.user_and_password(user.to_owned(), password.to_owned()),
            None => options.token(text),
        };
    }
    if let Some(file) = &config.ca {
        options = options.add_root_certificates(file.clone()).require_tls(true);
    }
    if let Some((certificate, key)) = &config.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
    }
    Ok(options)
}

async fn open(config: &NatsConfig) -> Result<kv::Store, NatsError> {
    let servers = checked(&config.servers)?;
    let unreachable = |why: String| NatsError::Unreachable { servers: config.servers.clone(), why };
    let addresses: Result<Vec<async_nats::ServerAddr>, _> = servers.iter().map(|it| it.parse()).collect();
    let addresses = addresses.map_err(|error| unreachable(error.to_string()))?;
    let options = options(config).await?;
    let client: Client = options.connect(addresses).await.map_err(|error| unreachable(error.to_string()))?;
    let mut context = jetstream::new(client);
    context.set_timeout(PATIENCE);
    let until = tokio::time::Instant::now() + FIRST;
    loop {
        let why = match bucket(&context, config).await {
            Ok(store) => return Ok(store),
            Err(why) => why,
        };
        if tokio::time::Instant::now() >= until {
            let (bucket, servers) = (config.bucket.clone(), config.servers.clone());
            return Err(NatsError::Bucket { bucket, servers, why });
        }
        tokio::time::sleep(RETRY).await;
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
/// kept. Needs a `LocalSet`.
///
/// # Errors
/// The servers are not there or let nobody in, or there is no bucket to be had.
pub async fn join(ric: RicHandle, config: NatsConfig) -> Result<Joined, NatsError> {
    let (asks, asked) = mpsc::channel(WAITING_MAX);
    let (news, mut told) = mpsc::channel(WAITING_MAX);
    let (begun, begins) = oneshot::channel();
    thread::Builder::new().name("bus".to_owned()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(begun.send(Err(NatsError::Thread(error)))),
        };
        runtime.block_on(async move {
            match open(&config).await {
                Ok(store) => {
                    // Whoever waits for it may have gone.
                    let _ = begun.send(Ok(()));
                    carry(store, asked, news).await;
                }
                Err(error) => drop(begun.send(Err(error))),
            }
        });
    })?;
    let gone = || NatsError::Thread(std::io::Error::other("it has ended"));
    begins.await.map_err(|_| gone())??;
    let asking = ric.clone();
    // The other thread ends when nobody asks any more.
    let out =
        tokio::task::spawn_local(async move { while asks.send(asking.next_ask().await).await.is_ok() {} });
    let back = tokio::task::spawn_local(async move {
        while let Some(news) = told.recv().await {
            ric.bus(news);
        }
    });
    Ok(Joined([out, back]))
}

/// Carries asks out and news in until nobody asks any more.
async fn carry(store: kv::Store, mut asked: mpsc::Receiver<BusAsk>, news: mpsc::Sender<BusNews>) {
    let (store, room) = (Arc::new(store), Arc::new(Semaphore::new(WRITES_MAX)));
    let mut watch: Option<kv::Watch> = None;
    let mut complete = false;
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
                Some(BusAsk::Watch) => {
                    complete = false;
                    let begun = tokio::time::timeout(PATIENCE, store.watch_with_history(">")).await;
                    watch = match begun {
                        Ok(Ok(watch)) => Some(watch),
                        Ok(Err(error)) => { tracing::info!(%error, "no watch"); None }
                        Err(_) => { tracing::info!("no watch in time"); None }
                    };
                    if watch.is_some() && news.send(BusNews::Began).await.is_err() {
                        return;
                    }
                }
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

    #[test]
    fn a_secret_is_one_line_and_stays_out_of_errors() {
        let folder = std::env::temp_dir().join(format!("ranlab-nats-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("secret");
        std::fs::write(&file, "user:hidden\n").unwrap();
        assert_eq!(read(&file).unwrap(), "user:hidden");
        std::fs::write(&file, "user:hidden\nmore\n").unwrap();
        assert!(!read(&file).unwrap_err().to_string().contains("hidden"));
        assert!(read(&folder.join("none")).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
