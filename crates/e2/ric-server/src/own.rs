//! Routes of the RIC itself: probes, the page, metrics, nodes, streams, the cluster, and access to any iApp.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

use crate::events::{LocalBus, events};
use crate::hosted::HostedXapp;
use crate::rest::{RestConfig, ask};
use crate::{metrics, nodeb, stream};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ranlab_http::ThreadBridge;
use ranlab_http::guard::{problem, unauthorized};
use ranlab_http::server::{Handler, HttpCall, json_response, not_found};
use ranlab_machine::routes::{Document, Routed, decode};
use ranlab_ric::console::{self, cluster};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::{NodeSnapshot, RicSnapshot, XappSnapshot};
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, RicRequestId};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

/// Routes of the RIC itself, and the additions to their OpenAPI description.
pub const DOCUMENT: Document = Document { routes: Own::ROUTES, details: include_str!("../openapi/ric.json") };
/// Routes of a bus, and the additions to their OpenAPI description.
pub const EVENTS: Document =
    Document { routes: Events::ROUTES, details: include_str!("../openapi/ric.json") };
/// Maximum time for the RIC's thread to answer `/readyz`.
const READY_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of concurrent listeners of a bus.
const LISTENERS_MAX: usize = 64;

type Call = HttpCall<HostedXapp>;

/// Server of the routes of the RIC itself.
pub(crate) struct Own {
    pub(crate) desk: ThreadBridge<RicHandle>,
    pub(crate) config: RestConfig,
    /// OpenAPI description of all routes.
    pub(crate) description: Json,
}

ranlab_machine::routes! {
    async impl Own: Handler<Own, HostedXapp>, at "", faults [401, 403, 405, 421, 503] {
        Get "/" page -> 200 as Page, Anyone, "the web page, without token; it prompts for the token of the API";
        Get "/web/{file}" page_file -> 200 as File, Anyone or [401], "scripts, styles and icon of the page";
        Get "/healthz" health -> 200, Anyone, "health check, without token";
        Get "/readyz" ready -> 200, Anyone, "readiness: whether base stations and xApps are served; without token";
        Get "/openapi.json" description -> 200, Operator, "this description";
        Get "/metrics" metrics -> 200 as Text, Operator, "counters, in Prometheus text format 0.0.4";
        Get "/v1/ric/cluster" cluster ?(after) -> 200: Cluster, Operator or [409],
            "cluster of RICs: members, and the RIC that serves each base station; 409 if this RIC is not in a cluster";
        Post "/v1/ric/drain" drain(Anything) -> 202, Operator or [409],
            "drain this RIC of a cluster: hand its base stations over and accept no further ones; 409 if no other RIC would take them";
        Get "/v1/nodes" ric_nodes -> 200: RicNodes, Operator,
            "base stations with their functions, subscriptions, counters and hints";
        Get "/v1/ric/nodes" ric_nodes_too = ric_nodes -> 200: RicNodes, Operator,
            "base stations with their functions, subscriptions, counters and hints; also available if the iApp has a resource nodes";
        Get "/v1/ric/nodes/{name}" ric_node -> 200: RicNode, Operator, "one base station, by its id";
        Get "/v1/overview" overview -> 200 as Events, Operator,
            "activity of all nodes and xApps, as server-sent events named overview, about one per second with changes only. The first one is complete (begin is true). Nodes: new [key, id, kind, models separated by commas, peer], set [key, state, rate, subscriptions, requests, bytes queued, longest delay of a report in microseconds or null], gone [key]; states are 0 away, 1 idle, 2 reporting, 3 silent. At most 10,000 nodes and 256 xApps are listed individually; totals cover all. A slow client loses the oldest events and receives the event dropped; it then has to reconnect";
        Get "/v1/xapps" xapps -> 200: Xapps, Operator, "connected xApps of E42 and their subscriptions";
        Get "/v1/iapps" iapps -> 200, Operator, "iApps inside the RIC";
        Get "/v1/iapps/{name}" iapp -> 200: Any, Operator or [400, 504], "root resource of an iApp";
        Post "/v1/iapps/{name}" ask_iapp = iapp(Anything) -> 200: Any, Operator or [400, 409, 422, 504],
            "send a request to the iApp";
        Get "/v1/iapps/{name}/{*resource}" iapp_resource = iapp -> 200: Any, Operator or [400, 504], "a resource of an iApp";
        Post "/v1/iapps/{name}/{*resource}" ask_iapp_resource = iapp(Anything) -> 200: Any, Operator or [400, 409, 422, 504],
            "send a request to the iApp";
        Put "/v1/iapps/{name}/{*resource}" put_iapp_resource = iapp(Anything) -> 200: Any, Operator or [400, 409, 422, 504],
            "create or replace a resource of an iApp";
        Delete "/v1/iapps/{name}/{*resource}" delete_iapp_resource = iapp -> 200: Any, Operator or [400, 409, 413, 415, 422, 504],
            "delete a resource of an iApp";
        Get "/v1/indications" indications ?(node, sm, subscription, format) -> 200 as Lines, Operator or [400],
            "decoded indications of the subscriptions created here, as they arrive: one object per line, or server-sent events. A slow client loses the oldest ones and receives their number ({\"dropped\":n}); a client that reads nothing for 10 s is disconnected";
        Get "/v1/nodeb/states" nodeb_states -> 200: NodebStates, Operator,
            "base stations in the form of O-RAN SC's E2 manager";
        Get "/v1/nodeb/{name}" nodeb -> 200: Any, Operator, "one base station, by its inventory name";
    }
}

/// Bus of an iApp.
pub(crate) struct Events(pub(crate) LocalBus);

ranlab_machine::routes! {
    async impl Events: Handler<Events, HostedXapp>, at "", faults [405, 421, 503] {
        Get "/v1/events" events -> 200 as Events, Operator or [404],
            "the bus as server-sent events: each has a subject (ranlab.rlc, ranlab.traffic) and an object; only with --bus local";
    }
}

impl Events {
    async fn events(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        events(&self.0, LISTENERS_MAX, ())
    }
}

impl Own {
    async fn page(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        ranlab_http::page::file("/").ok_or_else(not_found)
    }

    async fn page_file(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let file = ranlab_http::page::file(call.uri.path());
        file.ok_or_else(|| if call.is_authorized { not_found() } else { unauthorized() })
    }

    async fn health(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        // Without a token, a probe learns only that the process responds, and nothing about the network.
        if !call.is_authorized {
            return Ok(json_response(&json!({ "status": "ok" })));
        }
        let snapshot = self.snapshot().await?;
        let nodes = snapshot.nodes.iter().filter(|node| node.info.connected).count();
        Ok(json_response(&json!({ "status": "ok", "nodes": nodes, "xapps": snapshot.xapps.len() })))
    }

    /// Returns 503 with a reason if the RIC's thread is busy, if the RIC is draining, or if it has lost its cluster.
    async fn ready(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        let look = |ric: &RicHandle| {
            ric.read(|ric| ric.directory().map(|it| (it.is_draining(), it.is_lawful(ranlab_sdk::now()))))
        };
        let unready = |reason: &str| Err(problem(StatusCode::SERVICE_UNAVAILABLE, reason));
        match tokio::time::timeout(READY_WAIT, self.desk.ask(look)).await {
            Err(_) => unready("the RIC did not respond within 1 s"),
            Ok(cluster) => match cluster? {
                Some((true, _)) => unready("this RIC is handing over its base stations"),
                Some((_, false)) => unready("the directory of the cluster is not reachable"),
                _ => Ok(json_response(&json!({ "status": "ready" }))),
            },
        }
    }

    async fn description(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        Ok(json_response(&self.description))
    }

    async fn metrics(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        let console = &self.config.console;
        let feeds = [console.feed.counts(), console.overview.counts()];
        let mut text = metrics::text(&self.snapshot().await?, &feeds, &console.rmr.counts());
        text.push_str(&metrics::threads(&self.desk.ask(RicHandle::threads).await?));
        text.push_str(&metrics::commons(&self.config.commons.counts()));
        if let Some(hosted) = &self.config.hosted {
            text.push_str(&metrics::hosted(&hosted.desk.statuses()));
        }
        if let Some(kpis) = self.config.kpis.clone() {
            // Writing thousands of series takes milliseconds. It runs on another thread, so that the RIC's thread can serve its links.
            let kpis = tokio::task::spawn_blocking(move || kpis.text(ranlab_sdk::now())).await;
            let failed = |_| problem(StatusCode::INTERNAL_SERVER_ERROR, "the KPIs could not be written");
            text.push_str(&kpis.map_err(failed)?);
        }
        if let Some(published) = &self.config.published {
            text.push_str(&metrics::published(published.counts()));
        }
        Ok(([(header::CONTENT_TYPE, ranlab_machine::metrics::CONTENT_TYPE)], text).into_response())
    }

    async fn cluster(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let after = call.uri.query().and_then(|query| query.strip_prefix("after=")).unwrap_or_default();
        let after = decode(after).unwrap_or_else(|| after.to_owned());
        let look = move |ric: &RicHandle| ric.read(|ric| cluster::cluster(ric, ranlab_sdk::now(), &after));
        let overview = self.desk.ask(look).await?;
        overview
            .map(|overview| json_response(&overview))
            .ok_or_else(|| refused_drain(&cluster::NotDrained::Alone))
    }

    /// Starts draining a cluster member.
    async fn drain(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        let result = self.desk.ask(|ric| ric.with(cluster::drain)).await?;
        result.map(|()| StatusCode::ACCEPTED.into_response()).map_err(|why| refused_drain(&why))
    }

    async fn ric_nodes(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        let look =
            |ric: &RicHandle| ric.read(|ric| console::nodes::nodes(&ric.snapshot(), ranlab_sdk::now()));
        Ok(json_response(&self.desk.ask(look).await?))
    }

    async fn ric_node(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let name = call.parameters.text("name").to_owned();
        let found = self.desk.ask(move |ric| {
            ric.read(|ric| {
                let node = ric.find_node(|id| id.to_string() == name)?;
                Some(console::nodes::one(&node, &ric.hints(), ranlab_sdk::now()))
            })
        });
        let unknown = || problem(StatusCode::NOT_FOUND, "unknown node; /v1/ric/nodes lists the nodes");
        found.await?.map(|node| json_response(&node)).ok_or_else(unknown)
    }

    async fn overview(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        let overview = self.config.console.overview.clone();
        let listen = move |ric: &RicHandle| ric.read(|ric| overview.listen(ranlab_sdk::now(), ric));
        stream::overview(self.desk.ask(listen).await?)
    }

    async fn xapps(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        let now = ranlab_sdk::now();
        let subscription = |(request, node): &(RicRequestId, GlobalE2NodeId)| json!({ "requestor": request.requestor, "instance": request.instance, "node": node.to_string() });
        let xapp = |xapp: &XappSnapshot| {
            json!({
                "id": xapp.info.id,
                "peer": &*xapp.info.peer,
                "tenant": xapp.info.tenant.name(),
                "e2ap": xapp.info.version.to_string(),
                "since_s": now.since(xapp.info.since).as_secs(),
                "subscriptions": xapp.subscriptions.iter().map(subscription).collect::<Vec<_>>(),
                "pending_controls": xapp.requests,
            })
        };
        let snapshot = self.snapshot().await?;
        Ok(json_response(&json!({ "xapps": snapshot.xapps.iter().map(xapp).collect::<Vec<_>>() })))
    }

    async fn iapps(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        Ok(json_response(&json!({ "iapps": self.snapshot().await?.iapps })))
    }

    async fn iapp(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let path = call.parameters.text("resource").to_owned();
        ask(&self.desk, &call, call.parameters.text("name"), path).await
    }

    async fn indications(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        stream::indications(&self.config.console.feed, &call.uri, &call.headers)
    }

    /// Returns the base stations in the form of O-RAN SC's E2 manager.
    async fn nodeb_states(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        Ok(json_response(&console::nodes::states(&self.snapshot().await?)))
    }

    async fn nodeb(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        let name = call.parameters.text("name");
        let snapshot = self.snapshot().await?;
        let named = |node: &&NodeSnapshot| console::nodes::inventory_name(&node.info.id) == name;
        let Some(node) = snapshot.nodes.iter().find(named) else {
            return Err(problem(StatusCode::NOT_FOUND, "unknown node; /v1/nodeb/states lists the nodes"));
        };
        let changed = nodeb::unix_ns(ranlab_sdk::now(), node.info.since);
        let info = nodeb::info(&node.info, self.config.termination.as_deref(), changed);
        Ok(json_response(&nodeb::json(&info)))
    }

    async fn snapshot(&self) -> Result<RicSnapshot, Response> {
        self.desk.ask(|ric| ric.read(|ric| ric.snapshot())).await
    }
}

fn refused_drain(why: &cluster::NotDrained) -> Response {
    problem(StatusCode::CONFLICT, &why.to_string())
}
