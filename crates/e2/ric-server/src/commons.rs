//! HTTP interface of the shared store: `/v1/kv/NAMESPACE/KEY` and `/v1/topics/NAMESPACE/TOPIC`.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use crate::events::{LocalBus, events};
use crate::hosted::HostedXapp;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ranlab_http::guard::problem;
use ranlab_http::server::{Handler, HttpCall, json_response, refused};
use ranlab_machine::lock;
use ranlab_machine::routes::{Document, HttpProblem, Method, Routed};
use ranlab_ric::bus::Bus;
use ranlab_ric::commons::{Access, LocalStore, Store, StoreError, VALUE_BYTES_MAX, is_name};
use ranlab_ric::northbound::{given, parse};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::mpsc;

/// Routes of the shared store, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: SharedData::ROUTES, details: include_str!("../openapi/commons.json") };
/// Maximum number of topics with listeners, and of listeners per topic; further listeners are refused.
///
/// 64 hosted xApps with [`XAPP_LISTENS_MAX`](crate::hosted::XAPP_LISTENS_MAX) listeners each use at most half of this number. The other
/// half is left to the operator.
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
pub struct SharedData(Arc<SharedDataState>);

/// Channel to the bus for messages to other RICs: namespace, topic, message.
pub(crate) type OutboundMessages = mpsc::Sender<(String, String, Bytes)>;

struct SharedDataState {
    store: Box<dyn Store>,
    abroad: OnceLock<OutboundMessages>,
    access: BTreeMap<String, Access>,
    topics: Mutex<Topics>,
}

#[derive(Default)]
struct Topics {
    buses: BTreeMap<String, LocalBus>,
    counts: CommonsCounts,
}

impl Default for SharedData {
    fn default() -> Self {
        Self::local(BTreeMap::new())
    }
}

impl std::fmt::Debug for SharedData {
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

type Call = HttpCall<HostedXapp>;

ranlab_machine::routes! {
    async impl SharedData: Handler<SharedData, HostedXapp>, at "/v1/", faults [400, 401, 403, 404, 405, 421, 503] {
        Get "kv/{namespace}" keys -> 200: Keys, Xapp, "keys of a namespace";
        Get "kv/{namespace}/{key}" value -> 200: Value, Xapp, "value and revision of a key";
        Put "kv/{namespace}/{key}" set_value(NewValue) -> 200: Revision, Xapp or [409, 422],
            "set a key; with a revision, only if it is the current one (0: the key does not exist)";
        Delete "kv/{namespace}/{key}" remove_value ?(revision) -> 204, Xapp or [409],
            "delete a key; with a revision, only if it is the current one";
        Get "topics/{namespace}/{topic}" listen -> 200 as Events, Xapp, "messages of a topic as server-sent events";
        Post "topics/{namespace}/{topic}" publish(Message) -> 200: Published, Xapp or [422],
            "publish a message to the current listeners of a topic";
    }
}

impl SharedData {
    /// Returns a shared store on this backend; `access` grants hosted xApps access beyond their own
    /// namespaces.
    pub fn new(store: Box<dyn Store>, access: BTreeMap<String, Access>) -> Self {
        Self(Arc::new(SharedDataState { store, abroad: OnceLock::new(), access, topics: Mutex::default() }))
    }

    /// Returns a shared store in memory; its values are lost at exit.
    pub fn local(access: BTreeMap<String, Access>) -> Self {
        Self::new(Box::<Mutex<LocalStore>>::default(), access)
    }

    /// Sets the channel for messages to other RICs. Only the first call has an effect.
    #[cfg(feature = "bus")]
    pub(crate) fn carried(&self, abroad: OutboundMessages) {
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

    /// Publishes a message, which must be on one line, at this RIC and to other RICs. Returns the number of listeners
    /// at this RIC.
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

    /// Returns the namespace and the key or topic of a request. Refuses the request if its client has no access.
    fn place<'c>(&self, call: &'c Call) -> Result<(&'c str, &'c str), Response> {
        let namespace = call.parameters.text("namespace");
        let names: Vec<_> = call.route.parameters().map(|name| call.parameters.text(name)).collect();
        let path = call.uri.path();
        if !names.iter().all(|name| is_name(name)) || path.ends_with('/') || path.contains("//") {
            let detail = "unknown resource; a name must have 1 to 128 characters of A-Z, a-z, 0-9, '-', '_', '.' and ':'";
            return Err(problem(StatusCode::NOT_FOUND, detail));
        }
        let writes = call.route.method != Method::Get;
        let may = |name: &str| match self.0.access.get(name) {
            Some(access) => access.allows(name, namespace, writes),
            None => name == namespace,
        };
        let name = names.last().copied().unwrap_or_default();
        let Some(xapp) = call.client.as_ref().map(HostedXapp::name).filter(|xapp| !may(xapp)) else {
            return Ok((namespace, name));
        };
        let what = if writes { "write" } else { "read" };
        let detail = format!(
            "xApp {xapp} may not {what} namespace {namespace:?}; allowed are its namespace {xapp:?} and those in its rule"
        );
        Err(problem(StatusCode::FORBIDDEN, &detail))
    }

    async fn keys(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let (namespace, _) = self.place(&call)?;
        let keys = self.0.store.keys(namespace).await.map_err(of_store)?;
        let key = |(key, revision, bytes): (String, u64, usize)| json!({ "key": key, "revision": revision, "bytes": bytes });
        Ok(json_response(&json!({ "keys": keys.into_iter().map(key).collect::<Vec<_>>() })))
    }

    async fn value(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let (namespace, key) = self.place(&call)?;
        let found = self.0.store.get(namespace, key).await.map_err(of_store)?;
        let entry = found.ok_or_else(|| of_store(StoreError::Missing(key.to_owned())))?;
        let value: Json = serde_json::from_slice(&entry.value)
            .map_err(|error| failed(502, format!("the stored value is not valid JSON: {error}")))?;
        Ok(json_response(&json!({ "key": key, "revision": entry.revision, "value": value })))
    }

    async fn set_value(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let (namespace, key) = self.place(&call)?;
        let Put { value, revision } = parse(&call.body).map_err(|fault| refused(&fault))?;
        let value = bounded(value.to_string())?;
        let revision = self.0.store.put(namespace, key, value, revision).await.map_err(of_store)?;
        Ok(json_response(&json!({ "key": key, "revision": revision })))
    }

    async fn remove_value(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let (namespace, key) = self.place(&call)?;
        let expected = revision(call.uri.query())?;
        self.0.store.delete(namespace, key, expected).await.map_err(of_store)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    async fn publish(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let (namespace, topic) = self.place(&call)?;
        let message: Json = serde_json::from_slice(&call.body)
            .map_err(|error| failed(400, format!("the body is not valid JSON: {error}")))?;
        // Serialised on one line, as server-sent events require.
        let listeners = self.publish_message(namespace, topic, bounded(message.to_string())?);
        Ok(json_response(&json!({ "listeners": listeners })))
    }

    async fn listen(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let (namespace, topic) = self.place(&call)?;
        let kept = call.client.as_ref().map(HostedXapp::listens).transpose()?;
        let name = format!("{namespace}/{topic}");
        let mut topics = lock(&self.0.topics);
        if !topics.buses.contains_key(&name) && topics.buses.len() >= TOPICS_MAX {
            let Topics { buses, counts } = &mut *topics;
            buses.retain(|_, bus| {
                let stays = bus.listeners() > 0;
                counts.missed += if stays { 0 } else { bus.missed() };
                stays
            });
            if buses.len() >= TOPICS_MAX {
                return Err(failed(
                    503,
                    format!("the maximum of {TOPICS_MAX} topics with listeners is reached; try again later"),
                ));
            }
        }
        events(topics.buses.entry(name).or_default(), TOPICS_MAX, kept)
    }
}

/// Returns the revision in the query string.
fn revision(query: Option<&str>) -> Result<Option<u64>, Response> {
    let Some(query) = query.filter(|query| !query.is_empty()) else { return Ok(None) };
    let revision_number = query.strip_prefix("revision=").and_then(|text| text.parse().ok());
    let wrong = || failed(400, format!("unknown query {query:?}; allowed: revision=NUMBER"));
    revision_number.map(Some).ok_or_else(wrong)
}

fn bounded(text: String) -> Result<Bytes, Response> {
    if text.len() > VALUE_BYTES_MAX {
        return Err(failed(
            413,
            format!("the value has {} bytes; at most {VALUE_BYTES_MAX} are allowed", text.len()),
        ));
    }
    Ok(text.into())
}

fn of_store(error: StoreError) -> Response {
    let status = match error {
        StoreError::Missing(_) => 404,
        StoreError::Away(_) => 503,
        _ => 409,
    };
    failed(status, error.to_string())
}

fn failed(status: u16, detail: String) -> Response {
    refused(&HttpProblem::new(status, detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::extract::Request;
    use ranlab_http::server::{Server, Table};
    use std::net::Ipv4Addr;
    use std::task::{Context, Poll, Waker};

    /// Polls a future of the in-memory store, which is ready immediately.
    fn at_once<T>(answer: impl Future<Output = T>) -> T {
        // Reading a request body has a timeout, which needs the runtime's timer.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        match std::pin::pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("the future of the in-memory store must be ready"),
        }
    }

    fn response(commons: &SharedData, xapp: Option<&str>, method: Method, uri: &str, body: &str) -> Response {
        let xapp = xapp.map(str::to_owned);
        let server = Server::new(ranlab_http::guard::Access::default())
            .identify(move |_| xapp.as_deref().map(HostedXapp::of_test))
            .with(Table::routed(Arc::new(commons.clone())));
        let request = Request::builder().method(method.name()).uri(uri).header("host", "localhost");
        let request = request.header("content-type", "application/json");
        let request = request.body(Body::from(body.to_owned())).unwrap();
        at_once(server.answer(Ipv4Addr::LOCALHOST.into(), request))
    }

    fn status(commons: &SharedData, xapp: Option<&str>, method: Method, uri: &str, body: &str) -> u16 {
        response(commons, xapp, method, uri, body).status().as_u16()
    }

    #[test]
    fn xapp_accesses_only_namespaces_of_its_rule() {
        let access = Access { reads: ["shared".to_owned()].into(), writes: ["out".to_owned()].into() };
        let commons = SharedData::local([("one".to_owned(), access)].into());
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
        let commons = SharedData::default();
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
        let commons = SharedData::default();
        let publish = || status(&commons, None, Method::Post, "/v1/topics/n/t", "{\"a\":\n1}");
        assert_eq!(publish(), 200);
        assert_eq!(commons.counts(), CommonsCounts { published: 1, unheard: 1, missed: 0, untold: 0 });
        let listener = response(&commons, None, Method::Get, "/v1/topics/n/t", "");
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
