//! HTTP interface of the shared store: `/v1/kv/NAMESPACE/KEY` and `/v1/topics/NAMESPACE/TOPIC`.
#![allow(clippy::result_large_err, reason = "one refusal a request")]

use crate::hosted::Asker;
use crate::rest::{LocalBus, events};
use axum::body::Bytes;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use ranlab_http::guard::problem;
use ranlab_machine::lock;
use ranlab_ric::bus::Bus;
use ranlab_ric::commons::{Access, LocalStore, Store, StoreError, VALUE_BYTES_MAX, is_name};
use ranlab_ric::north::{Fault, body, given, segments};
use ranlab_sdk::e2::ric::{Method, NorthboundRequest};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// OpenAPI 3.1 description of these resources.
pub const OPENAPI: &str = include_str!("../openapi/commons.json");
/// Maximum number of topics with listeners, and of listeners per topic; further listeners are refused.
///
/// Each hosted xApp may hold up to [`XAPP_LISTENS_MAX`](crate::hosted::XAPP_LISTENS_MAX) of them, and the
/// operator as many.
const TOPICS_MAX: usize = 1_024;

/// Message counters of the shared store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommonsCounts {
    /// Messages published.
    pub published: u64,
    /// Messages published to topics without listeners.
    pub unheard: u64,
    /// Messages lost because a listener did not read fast enough.
    pub missed: u64,
    /// Messages not forwarded to other RICs because the bus was slow or unreachable.
    pub untold: u64,
}

/// Handle of the shared store; clones refer to the same store.
#[derive(Clone)]
pub struct Commons(Arc<Inside>);

/// Channel to the bus for messages to other RICs: namespace, topic, message.
pub(crate) type Abroad = mpsc::Sender<(String, String, Bytes)>;

struct Inside {
    store: Box<dyn Store>,
    abroad: OnceLock<Abroad>,
    access: BTreeMap<String, Access>,
    topics: Mutex<Topics>,
}

#[derive(Default)]
struct Topics {
    buses: BTreeMap<String, LocalBus>,
    counts: CommonsCounts,
}

impl Default for Commons {
    fn default() -> Self {
        Self::local(BTreeMap::new())
    }
}

impl std::fmt::Debug for Commons {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commons").field("access", &self.0.access).finish_non_exhaustive()
    }
}

/// Request body that sets a value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Put {
    value: Json,
    #[serde(default, deserialize_with = "given")]
    revision: Option<u64>,
}

/// Resource that a path identifies.
#[derive(Debug, PartialEq, Eq)]
enum Resource {
    Keys(String),
    Key(String, String),
    Topic(String, String),
}

impl Resource {
    fn from_path(path: &str) -> Result<Self, Fault> {
        let missing = || {
            Fault::new(404, "no such resource; names are 1 to 128 of A-Z, a-z, 0-9, '-', '_', '.' and ':'")
        };
        let parts = segments(path)?;
        if parts.iter().skip(2).any(|part| !is_name(part)) || path.ends_with('/') || path.contains("//") {
            return Err(missing());
        }
        match <[String; 3]>::try_from(parts.clone()) {
            Ok([_, kind, namespace]) if kind == "kv" => return Ok(Self::Keys(namespace)),
            _ => {}
        }
        match <[String; 4]>::try_from(parts) {
            Ok([_, kind, namespace, key]) if kind == "kv" => Ok(Self::Key(namespace, key)),
            Ok([_, kind, namespace, topic]) if kind == "topics" => Ok(Self::Topic(namespace, topic)),
            _ => Err(missing()),
        }
    }

    fn namespace(&self) -> &str {
        match self {
            Self::Keys(namespace) | Self::Key(namespace, _) | Self::Topic(namespace, _) => namespace,
        }
    }
}

/// Returns whether a path belongs to the shared store.
pub(crate) fn is_of(path: &str) -> bool {
    path.starts_with("/v1/kv/") || path.starts_with("/v1/topics/")
}

impl Commons {
    /// Returns a shared store on this backend; `access` grants hosted xApps access beyond their own
    /// namespaces.
    pub fn new(store: Box<dyn Store>, access: BTreeMap<String, Access>) -> Self {
        Self(Arc::new(Inside { store, abroad: OnceLock::new(), access, topics: Mutex::default() }))
    }

    /// Returns a shared store in memory; its values are lost at exit.
    pub fn local(access: BTreeMap<String, Access>) -> Self {
        Self::new(Box::<Mutex<LocalStore>>::default(), access)
    }

    /// Forwards messages published here to other RICs; only the first channel is used.
    #[cfg(feature = "bus")]
    pub(crate) fn carried(&self, abroad: Abroad) {
        let _ = self.0.abroad.set(abroad);
    }

    /// Returns the message counters.
    pub fn counts(&self) -> CommonsCounts {
        let topics = lock(&self.0.topics);
        let missed: u64 = topics.buses.values().map(LocalBus::missed).sum();
        CommonsCounts { missed: topics.counts.missed + missed, ..topics.counts }
    }

    /// Returns the backend.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    /// Publishes a message, on one line, at this RIC and to other RICs; returns the number of listeners at
    /// this RIC.
    pub(crate) fn publish_message(&self, namespace: &str, topic: &str, message: Bytes) -> usize {
        let untold = self.0.abroad.get().is_some_and(|abroad| {
            abroad.try_send((namespace.to_owned(), topic.to_owned(), message.clone())).is_err()
        });
        let listeners = self.deliver(namespace, topic, message);
        let counts = &mut lock(&self.0.topics).counts;
        counts.published += 1;
        counts.unheard += u64::from(listeners == 0);
        counts.untold += u64::from(untold);
        listeners
    }

    /// Delivers a message to the listeners of a topic at this RIC and returns their number.
    pub(crate) fn deliver(&self, namespace: &str, topic: &str, message: Bytes) -> usize {
        let mut topics = lock(&self.0.topics);
        topics.buses.get_mut(&format!("{namespace}/{topic}")).map_or(0, |bus| {
            bus.publish(topic, message);
            bus.listeners()
        })
    }

    /// Handles a request; `xapp` is the requesting hosted xApp, or `None` for the operator.
    pub(crate) async fn answer(
        &self,
        xapp: Option<&Asker>,
        method: Method,
        uri: &Uri,
        body: Bytes,
    ) -> Result<Response, Response> {
        let resource = self.allowed(xapp.map(Asker::name), method, uri.path()).map_err(refused)?;
        let kept = match &resource {
            Resource::Topic(..) if method == Method::Get => xapp.map(Asker::listens).transpose()?,
            _ => None,
        };
        self.asked(resource, method, uri, &body, kept).await.map_err(refused)
    }

    /// Parses a path and checks that the requester has access to it.
    fn allowed(&self, xapp: Option<&str>, method: Method, path: &str) -> Result<Resource, Fault> {
        let resource = Resource::from_path(path)?;
        let writes = method != Method::Get;
        let namespace = resource.namespace();
        let may = |name: &str| match self.0.access.get(name) {
            Some(access) => access.allows(name, namespace, writes),
            None => name == namespace,
        };
        let Some(name) = xapp.filter(|name| !may(name)) else { return Ok(resource) };
        let what = if writes { "write" } else { "read" };
        let detail = format!(
            "xApp {name} may not {what} namespace {namespace:?}; its own is {name:?}, and its rule may name others"
        );
        Err(Fault::new(403, detail))
    }

    async fn asked(
        &self,
        resource: Resource,
        method: Method,
        uri: &Uri,
        octets: &Bytes,
        listens: Option<OwnedSemaphorePermit>,
    ) -> Result<Response, Fault> {
        match (resource, method) {
            (Resource::Keys(namespace), Method::Get) => self.keys(&namespace).await,
            (Resource::Key(namespace, key), Method::Get) => self.get(&namespace, &key).await,
            (Resource::Key(namespace, key), Method::Put) => self.put(&namespace, &key, octets).await,
            (Resource::Key(namespace, key), Method::Delete) => {
                let wanted = revision(uri.query())?;
                self.0.store.delete(&namespace, &key, wanted).await.map_err(of_store)?;
                Ok(StatusCode::NO_CONTENT.into_response())
            }
            (Resource::Topic(namespace, topic), Method::Get) => {
                self.listen(&format!("{namespace}/{topic}"), listens)
            }
            (Resource::Topic(namespace, topic), Method::Post) => self.publish(&namespace, &topic, octets),
            (Resource::Keys(_), _) => Err(Fault::method("GET")),
            (Resource::Key(..), _) => Err(Fault::method("GET, PUT, DELETE")),
            (Resource::Topic(..), _) => Err(Fault::method("GET, POST")),
        }
    }

    async fn keys(&self, namespace: &str) -> Result<Response, Fault> {
        let keys = self.0.store.keys(namespace).await.map_err(of_store)?;
        let key = |(key, revision, bytes): (String, u64, usize)| json!({ "key": key, "revision": revision, "bytes": bytes });
        Ok(json_response(&json!({ "keys": keys.into_iter().map(key).collect::<Vec<_>>() })))
    }

    async fn get(&self, namespace: &str, key: &str) -> Result<Response, Fault> {
        let found = self.0.store.get(namespace, key).await.map_err(of_store)?;
        let entry = found.ok_or_else(|| of_store(StoreError::Missing(key.to_owned())))?;
        let value: Json = serde_json::from_slice(&entry.value)
            .map_err(|error| Fault::new(502, format!("the stored value is not valid JSON: {error}")))?;
        Ok(json_response(&json!({ "key": key, "revision": entry.revision, "value": value })))
    }

    async fn put(&self, namespace: &str, key: &str, octets: &Bytes) -> Result<Response, Fault> {
        let request = NorthboundRequest {
            token: 0,
            method: Method::Put,
            path: String::new(),
            body: octets.clone(),
            party: None,
        };
        let Put { value, revision } = body(&request)?;
        let value = bounded(value.to_string())?;
        let revision = self.0.store.put(namespace, key, value, revision).await.map_err(of_store)?;
        Ok(json_response(&json!({ "key": key, "revision": revision })))
    }

    fn publish(&self, namespace: &str, topic: &str, octets: &Bytes) -> Result<Response, Fault> {
        let message: Json = serde_json::from_slice(octets)
            .map_err(|error| Fault::new(400, format!("the body is not valid JSON: {error}")))?;
        // Serialised on one line, as server-sent events require.
        let listeners = self.publish_message(namespace, topic, bounded(message.to_string())?);
        Ok(json_response(&json!({ "listeners": listeners })))
    }

    fn listen(&self, name: &str, kept: Option<OwnedSemaphorePermit>) -> Result<Response, Fault> {
        let mut topics = lock(&self.0.topics);
        if !topics.buses.contains_key(name) && topics.buses.len() >= TOPICS_MAX {
            let Topics { buses, counts } = &mut *topics;
            buses.retain(|_, bus| {
                let stays = bus.listeners() > 0;
                counts.missed += if stays { 0 } else { bus.missed() };
                stays
            });
            if buses.len() >= TOPICS_MAX {
                return Err(Fault::new(
                    503,
                    format!("{TOPICS_MAX} topics are listened to already; try again"),
                ));
            }
        }
        let bus = topics.buses.entry(name.to_owned()).or_default();
        // The listener limit is reached.
        events(bus, TOPICS_MAX, kept).or_else(Ok)
    }
}

/// Returns the revision in the query string.
fn revision(query: Option<&str>) -> Result<Option<u64>, Fault> {
    let Some(query) = query.filter(|query| !query.is_empty()) else { return Ok(None) };
    let wanted = query.strip_prefix("revision=").and_then(|text| text.parse().ok());
    let wrong = || Fault::new(400, format!("{query:?} is not asked here; allowed is revision=NUMBER"));
    wanted.map(Some).ok_or_else(wrong)
}

fn bounded(text: String) -> Result<Bytes, Fault> {
    if text.len() > VALUE_BYTES_MAX {
        return Err(Fault::new(413, format!("{} bytes; at most {VALUE_BYTES_MAX} are allowed", text.len())));
    }
    Ok(text.into())
}

fn of_store(error: StoreError) -> Fault {
    let status = match error {
        StoreError::Missing(_) => 404,
        StoreError::Away(_) => 503,
        _ => 409,
    };
    Fault::new(status, error.to_string())
}

fn json_response(value: &Json) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

fn refused(fault: Fault) -> Response {
    problem(StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::BAD_REQUEST), fault.detail())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    /// Polls a future of the in-memory store, which is ready immediately.
    fn at_once<T>(answer: impl Future<Output = T>) -> T {
        match std::pin::pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("it is not there"),
        }
    }

    fn status(commons: &Commons, xapp: Option<&str>, method: Method, uri: &str, body: &str) -> u16 {
        let uri: Uri = uri.parse().unwrap();
        let body = Bytes::copy_from_slice(body.as_bytes());
        let answer = commons.allowed(xapp, method, uri.path());
        let asked = |resource| at_once(commons.asked(resource, method, &uri, &body, None));
        answer.and_then(asked).unwrap_or_else(refused).status().as_u16()
    }

    #[test]
    fn xapp_access_follows_its_rule() {
        let access = Access { reads: ["shared".to_owned()].into(), writes: ["out".to_owned()].into() };
        let commons = Commons::local([("one".to_owned(), access)].into());
        let put = |xapp, namespace: &str| {
            status(&commons, xapp, Method::Put, &format!("/v1/kv/{namespace}/k"), "{\"value\": 1}")
        };
        let get =
            |xapp, namespace: &str| status(&commons, xapp, Method::Get, &format!("/v1/kv/{namespace}/k"), "");
        assert_eq!((put(Some("one"), "one"), put(Some("one"), "out"), put(None, "shared")), (200, 200, 200));
        assert_eq!(
            (put(Some("one"), "shared"), put(Some("one"), "two"), put(Some("two"), "one")),
            (403, 403, 403)
        );
        assert_eq!(
            (get(Some("one"), "shared"), get(Some("one"), "two"), get(Some("two"), "one")),
            (200, 403, 403)
        );
        assert_eq!(get(Some("two"), "two"), 404);
        assert_eq!(status(&commons, Some("two"), Method::Get, "/v1/topics/one/t", ""), 403);
        assert_eq!(status(&commons, Some("one"), Method::Post, "/v1/topics/shared/t", "1"), 403);
    }

    #[test]
    fn invalid_requests_change_nothing() {
        let commons = Commons::default();
        let ask = |method, uri: &str, body: &str| status(&commons, None, method, uri, body);
        assert_eq!(ask(Method::Put, "/v1/kv/n/k", "{\"value\": [1], \"revision\": 0}"), 200);
        for (method, uri, body, expected) in [
            (Method::Put, "/v1/kv/n/k", "{\"value\": 2, \"revision\": 0}", 409),
            (Method::Put, "/v1/kv/n/k", "{\"revision\": 1}", 422),
            (Method::Put, "/v1/kv/n/k", "[2]", 422),
            (Method::Put, "/v1/kv/n/k", "no", 400),
            (Method::Delete, "/v1/kv/n/k?revision=7", "", 409),
            (Method::Delete, "/v1/kv/n/k?revision=-1", "", 400),
            (Method::Delete, "/v1/kv/n/other", "", 404),
            (Method::Put, "/v1/kv/n/%2e%2e", "{\"value\": 2}", 404),
            (Method::Put, "/v1/kv/n/a%2fb", "{\"value\": 2}", 404),
            (Method::Get, "/v1/kv/n/k/more", "", 404),
            (Method::Get, "/v1/topics/n", "", 404),
            (Method::Put, "/v1/kv/n", "{\"value\": 2}", 405),
        ] {
            assert_eq!(ask(method, uri, body), expected, "{method:?} {uri} {body}");
        }
        let long = format!("{{\"value\": \"{}\"}}", "x".repeat(VALUE_BYTES_MAX));
        assert_eq!(ask(Method::Put, "/v1/kv/n/k", &long), 413);
        let held = at_once(commons.store().get("n", "k")).unwrap().unwrap();
        assert_eq!((&held.value[..], held.revision), (&b"[1]"[..], 1));
        assert_eq!(ask(Method::Delete, "/v1/kv/n/k?revision=1", ""), 204);
    }

    #[test]
    fn messages_reach_listeners_and_losses_are_counted() {
        let commons = Commons::default();
        let publish = || status(&commons, None, Method::Post, "/v1/topics/n/t", "{\"a\":\n1}");
        assert_eq!(publish(), 200);
        assert_eq!(commons.counts(), CommonsCounts { published: 1, unheard: 1, missed: 0, untold: 0 });
        let uri: Uri = "/v1/topics/n/t".parse().unwrap();
        let listener = at_once(commons.answer(None, Method::Get, &uri, Bytes::new())).unwrap();
        (0..2_000).for_each(|_| assert_eq!(publish(), 200));
        assert_eq!(
            commons.counts(),
            CommonsCounts { published: 2_001, unheard: 1, missed: 2_000 - 1_024, untold: 0 }
        );
        drop(listener);
        publish();
        assert_eq!(commons.counts().unheard, 2);
        // Topics without listeners are evicted.
        for topic in 0..3 * TOPICS_MAX {
            assert_eq!(status(&commons, None, Method::Get, &format!("/v1/topics/n/t{topic}"), ""), 200);
        }
        assert!(lock(&commons.0.topics).buses.len() <= TOPICS_MAX);
        assert_eq!(commons.counts().missed, 2_000 - 1_024);
    }
}
