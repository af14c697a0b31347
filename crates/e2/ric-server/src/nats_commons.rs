//! Shared store of several RICs on NATS. Each namespace is a JetStream stream with the limits of a namespace, and the
//! subjects of the stream are the keys. Messages under topics are NATS core messages.
//!
//! Values are read from the stream's leader, so every RIC reads the latest write. Without a quorum, reads and
//! writes fail.
#![allow(
    clippy::disallowed_methods,
    reason = "an adapter to a server, in real time, with a thread of its own"
)]

use crate::commons::SharedData;
use crate::nats::{NatsConfig, NatsError, open};
use async_nats::jetstream::context::{GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, LastRawMessageErrorKind, StorageType, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, Message, Subscriber};
use bytes::Bytes;
use futures_core::Stream as _;
use ranlab_machine::lock;
use ranlab_ric::commons::{
    Answer, Entry, KEYS_MAX, NAMESPACE_BYTES_MAX, NAMESPACES_MAX, Store, StoreError, VALUE_BYTES_MAX,
};
use ranlab_transport::nats::PATIENCE;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// Capacity of the message channels in each direction; further messages are dropped and counted.
const WAITING_MAX: usize = 1_024;
/// Bytes that a stream needs per key in addition to the value.
const KEY_BYTES: usize = 512;
/// Number of attempts to remove a key that is changed concurrently.
const TRIES: usize = 4;

/// NATS connection of a shared store. Dropping it ends its thread.
#[derive(Debug)]
pub struct Shared {
    client: Client,
    config: Arc<NatsConfig>,
    commons: Option<oneshot::Sender<SharedData>>,
    _end: oneshot::Sender<()>,
}

impl Shared {
    /// Connects to the servers.
    ///
    /// # Errors
    /// Fails if no server is reachable or the credentials are rejected.
    pub async fn open(config: NatsConfig) -> Result<Self, NatsError> {
        let (begun, begins) = oneshot::channel();
        let (commons, given) = oneshot::channel();
        let (end, ends) = oneshot::channel::<()>();
        let config = Arc::new(config);
        let of_thread = config.clone();
        thread::Builder::new().name("shared".to_owned()).spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(begun.send(Err(NatsError::Thread(error)))),
            };
            runtime.block_on(async move {
                match connect(&of_thread).await {
                    Ok(client) => {
                        // The receiver may have been dropped.
                        let _ = begun.send(Ok(client.clone()));
                        tokio::select! {
                            () = carry(client, &of_thread.bucket, given) => {}
                            _ = ends => {}
                        }
                    }
                    Err(error) => drop(begun.send(Err(error))),
                }
            });
        })?;
        let gone = || NatsError::Thread(std::io::Error::other("the thread of the bus has ended"));
        let client = begins.await.map_err(|_| gone())??;
        Ok(Self { client, config, commons: Some(commons), _end: end })
    }

    /// Returns the store of values.
    pub fn store(&self) -> Box<dyn Store> {
        let mut context = jetstream::new(self.client.clone());
        context.set_timeout(PATIENCE);
        Box::new(NatsStore(Arc::new(Place { context, config: self.config.clone(), made: Mutex::default() })))
    }

    /// Starts forwarding messages between this store and other RICs. Only the first call has an effect.
    pub fn carry(&mut self, commons: &SharedData) {
        if let Some(give) = self.commons.take() {
            // The thread may have ended.
            let _ = give.send(commons.clone());
        }
    }
}

async fn connect(config: &NatsConfig) -> Result<Client, NatsError> {
    // No echo is needed, because listeners at this RIC already receive its messages. Servers that are unreachable at
    // first are retried, as for the directory.
    let set = |options: async_nats::ConnectOptions| {
        options.no_echo().subscription_capacity(WAITING_MAX).retry_on_initial_connect()
    };
    open(config, set).await
}

/// Forwards messages in both directions once `given` provides the store.
async fn carry(client: Client, bucket: &str, given: oneshot::Receiver<SharedData>) {
    let Ok(commons) = given.await else { return std::future::pending().await };
    let (out, mut published) = mpsc::channel(WAITING_MAX);
    commons.carried(out);
    let begins = format!("ranlab.{bucket}.topic.");
    let mut heard = match client.subscribe(format!("{begins}*.*")).await {
        Ok(heard) => Some(heard),
        Err(error) => {
            tracing::warn!(%error, "the subscription to messages of other RICs failed");
            None
        }
    };
    loop {
        tokio::select! {
            message = published.recv() => {
                let Some((namespace, topic, message)) = message else { return };
                let subject = format!("{begins}{}.{}", escaped(&namespace), escaped(&topic));
                if let Err(error) = client.publish(subject, message).await {
                    tracing::debug!(%error, "a message of an xApp was not published");
                }
            }
            message = next(&mut heard) => match message {
                Some(message) => on_message(&commons, &begins, &message),
                None => heard = None,
            },
        }
    }
}

fn on_message(commons: &SharedData, begins: &str, message: &Message) {
    let names = message.subject.strip_prefix(begins).and_then(|rest| rest.split_once('.'));
    let names = names.and_then(|(namespace, topic)| Some((unescaped(namespace)?, unescaped(topic)?)));
    // Other publishers may send anything; listeners must receive only one line of JSON.
    let is_ours = message.payload.len() <= VALUE_BYTES_MAX
        && !message.payload.contains(&b'\n')
        && serde_json::from_slice::<serde::de::IgnoredAny>(&message.payload).is_ok();
    if let Some((namespace, topic)) = names.filter(|_| is_ours) {
        commons.deliver(&namespace, &topic, message.payload.clone());
    }
}

/// Returns the next message; never resolves without a subscription.
async fn next(subscription: &mut Option<Subscriber>) -> Option<Message> {
    match subscription {
        Some(subscription) => poll_fn(|context| Pin::new(&mut *subscription).poll_next(context)).await,
        None => std::future::pending().await,
    }
}

/// Escapes a name as a subject token, which must not contain dots.
fn escaped(name: &str) -> String {
    name.replace('.', "=2E")
}

fn unescaped(part: &str) -> Option<String> {
    let name = part.replace("=2E", ".");
    ranlab_ric::commons::is_name(&name).then_some(name)
}

struct Place {
    context: Context,
    config: Arc<NatsConfig>,
    /// Namespaces known to exist.
    made: Mutex<BTreeSet<String>>,
}

/// Values on NATS servers.
#[derive(Clone)]
struct NatsStore(Arc<Place>);

fn away(why: impl Display) -> StoreError {
    StoreError::Away(why.to_string())
}

impl Place {
    fn stream_of(&self, namespace: &str) -> String {
        format!("{}_shared_{}", self.config.bucket, escaped(namespace))
    }

    fn subject(&self, namespace: &str, key: &str) -> String {
        format!("ranlab.{}.kv.{}.{}", self.config.bucket, escaped(namespace), key_part(key))
    }

    /// Returns the stream of a namespace; `None` if it does not exist.
    async fn there(&self, namespace: &str) -> Result<Option<Stream>, StoreError> {
        match self.context.get_stream(self.stream_of(namespace)).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(why) if why.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                    Ok(None)
                }
                _ => Err(away(error)),
            },
        }
    }

    /// Creates the stream of a namespace if it does not exist.
    async fn made(&self, namespace: &str) -> Result<(), StoreError> {
        if lock(&self.made).contains(namespace) {
            return Ok(());
        }
        if lock(&self.made).len() >= NAMESPACES_MAX {
            return Err(StoreError::Full);
        }
        let config = Config {
            name: self.stream_of(namespace),
            description: Some("what xApps share (ranlab ric --bus)".to_owned()),
            subjects: vec![self.subject(namespace, ">")],
            max_messages: i64::try_from(KEYS_MAX).unwrap_or(i64::MAX),
            max_messages_per_subject: 1,
            max_bytes: i64::try_from(NAMESPACE_BYTES_MAX + KEYS_MAX * KEY_BYTES).unwrap_or(i64::MAX),
            storage: StorageType::File,
            discard: DiscardPolicy::New,
            num_replicas: self.config.replicas,
            ..Config::default()
        };
        self.context.get_or_create_stream(config).await.map_err(away)?;
        lock(&self.made).insert(namespace.to_owned());
        Ok(())
    }

    async fn read_entry(&self, namespace: &str, key: &str) -> Result<Option<Entry>, StoreError> {
        let Some(stream) = self.there(namespace).await? else { return Ok(None) };
        self.last(&stream, &self.subject(namespace, key)).await
    }

    async fn last(&self, stream: &Stream, subject: &str) -> Result<Option<Entry>, StoreError> {
        match stream.get_last_raw_message_by_subject(subject).await {
            Ok(found) => Ok(Some(Entry { revision: found.sequence, value: found.payload })),
            Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => Ok(None),
            Err(error) => Err(away(error)),
        }
    }

    async fn all(&self, namespace: &str) -> Result<Vec<(String, u64, usize)>, StoreError> {
        let Some(stream) = self.there(namespace).await? else { return Ok(Vec::new()) };
        let begins = self.subject(namespace, "");
        let mut subjects = stream.info_with_subjects(format!("{begins}>")).await.map_err(away)?;
        let mut all = Vec::new();
        while let Some(subject) = poll_fn(|context| Pin::new(&mut subjects).poll_next(context)).await {
            let (subject, _) = subject.map_err(away)?;
            let Some(key) = subject.strip_prefix(&begins).and_then(unescaped) else { continue };
            if let Some(entry) = self.last(&stream, &subject).await? {
                all.push((key, entry.revision, entry.value.len()));
            }
        }
        all.sort();
        Ok(all)
    }

    async fn write(
        &self,
        namespace: &str,
        key: &str,
        value: Bytes,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        self.made(namespace).await?;
        let mut message = PublishMessage::build().payload(value);
        if let Some(expected) = expected {
            message = message.expected_last_subject_sequence(expected);
        }
        let written = self.context.send_publish(self.subject(namespace, key), message).await.map_err(away)?;
        let error = match written.await {
            Ok(acknowledged) => return Ok(acknowledged.sequence),
            Err(error) => error,
        };
        match (error.kind(), expected) {
            (PublishErrorKind::WrongLastSequence, Some(expected)) => {
                let is = self.read_entry(namespace, key).await?.map_or(0, |entry| entry.revision);
                Err(StoreError::Revision { is, wanted: expected })
            }
            _ if error.to_string().contains("maximum") => Err(StoreError::Full),
            _ => Err(away(error)),
        }
    }

    async fn remove(&self, namespace: &str, key: &str, expected: Option<u64>) -> Result<(), StoreError> {
        let missing = || StoreError::Missing(key.to_owned());
        let stream = self.there(namespace).await?.ok_or_else(missing)?;
        for _ in 0..TRIES {
            let found = self.last(&stream, &self.subject(namespace, key)).await?.ok_or_else(missing)?;
            if let Some(expected) = expected.filter(|expected| *expected != found.revision) {
                return Err(StoreError::Revision { is: found.revision, wanted: expected });
            }
            // Deletes this revision only: if the key has been set in the meantime, this revision is gone and
            // nothing is deleted.
            if stream.delete_message(found.revision).await.is_ok_and(|removed| removed) {
                return Ok(());
            }
        }
        Err(away(
            "the key was not deleted, because other clients change it repeatedly or the servers do not remove it",
        ))
    }
}

/// Escapes a key as a subject token; `>` and the empty token are reserved for wildcards.
fn key_part(key: &str) -> String {
    if key == ">" { key.to_owned() } else { escaped(key) }
}

impl Store for NatsStore {
    fn get(&self, namespace: &str, key: &str) -> Answer<Option<Entry>> {
        let place = self.0.clone();
        let namespace = namespace.to_owned();
        let key = key.to_owned();
        Box::pin(async move { place.read_entry(&namespace, &key).await })
    }

    fn keys(&self, namespace: &str) -> Answer<Vec<(String, u64, usize)>> {
        let place = self.0.clone();
        let namespace = namespace.to_owned();
        Box::pin(async move { place.all(&namespace).await })
    }

    fn put(&self, namespace: &str, key: &str, value: Bytes, wanted: Option<u64>) -> Answer<u64> {
        let place = self.0.clone();
        let namespace = namespace.to_owned();
        let key = key.to_owned();
        Box::pin(async move { place.write(&namespace, &key, value, wanted).await })
    }

    fn delete(&self, namespace: &str, key: &str, wanted: Option<u64>) -> Answer<()> {
        let place = self.0.clone();
        let namespace = namespace.to_owned();
        let key = key.to_owned();
        Box::pin(async move { place.remove(&namespace, &key, wanted).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_and_topics_round_trip_through_subject_tokens() {
        for name in ["a1", "quota_1.0.0:night", ".x.", "a-b"] {
            assert!(!escaped(name).contains('.'), "{name}");
            assert_eq!(unescaped(&escaped(name)).as_deref(), Some(name));
        }
        for other in ["", "a=b", "=2E", "a b", "*", ">"] {
            assert_eq!(unescaped(other), None, "{other:?}");
        }
    }
}
