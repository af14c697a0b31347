//! Console iApp: the REST API of any RIC. It lists nodes, subscribes, decodes indications and sends controls
//! through the registry of service models. It stores only the subscriptions that were requested here.
//!
//! Indications go to [listeners](Feed::listen). [`nodes`] and the metrics of the RIC server describe the RIC itself and need no
//! iApp.
pub mod cluster;
mod control;
mod effect;
mod json;
mod lease;
mod models;
pub mod nodes;
mod offers;
mod oran;
pub mod overview;
mod rmr;
mod subscriptions;

pub use oran::Notification;
pub use overview::Overview;
pub use ranlab_machine::feed::{Feed, FeedCounts, FeedReceiver, Filter, Line};
pub use rmr::{Rmr, RmrCounts};

use crate::northbound::{Call, Completion, Fault, Handler, missing};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{
    IApp, IAppInput, IAppOutbox, NodeInfo, NorthboundReply, RequestHandle, SubscriptionHandle,
};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, RanFunctionId};
use ranlab_e2_codec::e2sm::{self, Model, by_oid};
use ranlab_machine::routes::{Document, Routed};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Routes of this iApp, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: Console::ROUTES, details: include_str!("../../openapi/console.json") };
/// Name of this iApp, in northbound paths.
pub const NAME: &str = "console";
/// Maximum number of subscriptions; further requests get status 503.
pub const SUBSCRIPTIONS_MAX: usize = 1_024;

ranlab_machine::routes! {
    impl Console: Handler<Console>, at "/v1/", faults [401, 403, 405, 421, 503, 504] {
        Get "models" models -> 200: Models, Operator,
            "known service models: support of periodic reports and of controls in JSON, and columns with unit and kind (counter, gauge, label)";
        Get "offers" offers -> 200: Offers, Operator,
            "capabilities of base stations from their RAN function definitions: report styles with measurements, control actions, structures";
        Get "offers/{node}" offers_of_node -> 200: NodeOffers, Operator, "capabilities of one base station";
        Post "leases" renew_leases(Leases) -> 200: Renewed, Operator or [400, 422],
            "renew the leases of subscriptions by their lease_s from now; subscriptions without lease, and unknown ones, are listed as unknown";
        Get "subscriptions" subscriptions -> 200: Subscriptions, Operator, "subscriptions created here";
        Post "subscriptions" subscribe(NewSubscription) -> 201: Subscription, Operator or [400, 404, 409, 422],
            "create a subscription; the response follows that of the base station, within 8 s";
        Get "subscriptions/{id}" subscription -> 200: Subscription, Operator or [400], "a subscription created here";
        Delete "subscriptions/{id}" unsubscribe -> 204, Operator or [400, 409], "delete a subscription created here";
        Post "control" control(Control) -> 200: Acknowledged, Xapp or [400, 404, 409, 422],
            "send a control; the response follows that of the base station, within 5 s";
        Get "oran/subscriptions" @ "/ric/v1/subscriptions" oran_subscriptions -> 200: OranSubscriptions, Operator,
            "subscriptions in the form of O-RAN SC's subscription manager";
        Post "oran/subscriptions/{peer}" @ "/ric/v1/subscriptions" oran_subscribe(OranSubscription) -> 201: OranSubscribed,
            Operator or [400, 404],
            "create subscriptions as with O-RAN SC's subscription manager; the client is notified at its own address and HTTPPort, /ric/v1/subscriptions/response";
        Delete "oran/subscriptions/{id}" @ "/ric/v1/subscriptions/{id}" oran_unsubscribe -> 204, Operator or [400],
            "delete the subscriptions of a request";
        Post "rmr/{meid}" @ "" rmr_control(E2ap as Raw) -> 200 as Raw, Operator or [400, 409],
            "send a control as E2AP PDU, which RMR transports";
    }
}

/// Target of a request: a RAN function of a node, and the service model that decodes it.
#[derive(Debug, Clone, Copy)]
struct Target {
    node: GlobalE2NodeId,
    function: RanFunctionId,
    model: Option<&'static dyn Model>,
}

/// Northbound request that waits for the outcome of a control.
#[derive(Debug)]
struct Waiting {
    token: u64,
    model: Option<&'static dyn Model>,
    /// Known reason of a refusal.
    refusal: Option<&'static str>,
    /// Measurement of the control's effect, if requested.
    effect: Option<u64>,
}

/// Console of a RIC.
#[derive(Debug)]
pub struct Console {
    models: Vec<&'static dyn Model>,
    nodes: BTreeMap<GlobalE2NodeId, NodeInfo>,
    subscriptions: BTreeMap<u32, subscriptions::ConsoleSubscription>,
    by_handle: BTreeMap<SubscriptionHandle, u32>,
    last_id: u32,
    groups: BTreeMap<u32, oran::SubscriptionGroup>,
    last_group: u32,
    controls: BTreeMap<RequestHandle, Waiting>,
    effects: BTreeMap<u64, effect::Effect>,
    last_effect: u64,
    feed: Feed,
    overview: Overview,
    /// Time of the next lease check.
    leases_at: Option<Time>,
    notifications: Arc<Mutex<oran::Notifications>>,
    rmr: Rmr,
    rmr_controls: BTreeMap<RequestHandle, rmr::RmrControl>,
}

/// Outputs of a [`Console`]: its feed, overview, and messages to O-RAN SC xApps.
#[derive(Debug, Clone)]
pub struct ConsoleHandle {
    /// Decoded indications.
    pub feed: Feed,
    /// Activity of all nodes and xApps.
    pub overview: Overview,
    /// RMR messages to O-RAN SC xApps.
    pub rmr: Rmr,
    notifications: Arc<Mutex<oran::Notifications>>,
}

impl ConsoleHandle {
    /// Polls for the next notification to an O-RAN SC xApp.
    pub fn poll_notification(&self, cx: &mut Context<'_>) -> Poll<Notification> {
        crate::lock(&self.notifications).poll(cx)
    }
}

impl Console {
    /// Returns a console and its handle.
    pub fn new() -> (Self, ConsoleHandle) {
        let feed = Feed::default();
        let overview = Overview::default();
        let rmr = Rmr::default();
        let notifications = Arc::default();
        let handle = ConsoleHandle {
            feed: feed.clone(),
            overview: overview.clone(),
            rmr: rmr.clone(),
            notifications: Arc::clone(&notifications),
        };
        let console = Self {
            models: e2sm::models().collect(),
            nodes: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            by_handle: BTreeMap::new(),
            last_id: 0,
            groups: BTreeMap::new(),
            last_group: 0,
            controls: BTreeMap::new(),
            effects: BTreeMap::new(),
            last_effect: 0,
            feed,
            overview,
            leases_at: None,
            notifications,
            rmr,
            rmr_controls: BTreeMap::new(),
        };
        (console, handle)
    }

    fn models(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(models::all(&self.models)))
    }

    fn offers(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(offers::all(self.nodes.values())))
    }

    fn offers_of_node(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(offers::one(self.node(call.parameters.text("node"))?)))
    }

    /// Returns the node with this name, in ranlab's or O-RAN SC's notation.
    fn node(&self, name: &str) -> Result<&NodeInfo, Fault> {
        let is = |node: &&NodeInfo| node.id.to_string() == name || nodes::inventory_name(&node.id) == name;
        self.nodes.values().find(is).ok_or_else(|| {
            let names: Vec<String> = self.nodes.keys().map(|node| format!("\"{node}\"")).collect();
            let there = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
            missing("node", name, &there)
        })
    }

    /// Resolves a node name, and a model name or RAN function id.
    fn target(&self, node: &str, sm: Option<&str>, function: Option<RanFunctionId>) -> Result<Target, Fault> {
        let named = sm.map(|name| {
            let found = self.models.iter().copied().find(|model| model.name().eq_ignore_ascii_case(name));
            let list = || e2sm::names(self.models.iter().copied());
            found.ok_or_else(|| missing("service model", name, &list()))
        });
        let named = named.transpose()?;
        let info = self.node(node)?;
        let offered = match (function, named) {
            (Some(id), _) => info.function(id),
            (None, Some(model)) => {
                info.functions.iter().find(|f| f.oid.as_deref().is_some_and(|oid| model.is_called(oid)))
            }
            (None, None) => {
                return Err(Fault::new(422, "sm (a service model) or function (a number) is required"));
            }
        };
        let Some(offered) = offered else {
            return Err(Fault::new(
                409,
                format!("{node:?} does not have this RAN function; it has {}", offers(info)),
            ));
        };
        if !info.connected {
            return Err(Fault::new(503, format!("{node:?} is not connected")));
        }
        let model = named.or_else(|| by_oid(offered.oid.as_deref()?));
        Ok(Target { node: info.id, function: offered.id, model })
    }
}

/// Lists the RAN functions of a node by display name.
fn offers(info: &NodeInfo) -> String {
    let name = |f: &ranlab_e2_codec::e2ap::RanFunctionItem| {
        let known = f.oid.as_deref().and_then(by_oid);
        known.map_or_else(
            || format!("{} ({})", f.id, f.oid.as_deref().unwrap_or("no OID")),
            |m| format!("{} ({m})", f.id),
        )
    };
    let all: Vec<String> = info.functions.iter().map(name).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Returns the reply to a request that was answered later.
fn reply(token: u64, status: u16, body: &Json) -> NorthboundReply {
    NorthboundReply { token, status, body: body.to_string().into() }
}

/// Returns a reply whose body is not JSON.
fn reply_octets(token: u64, status: u16, body: Option<Bytes>) -> NorthboundReply {
    NorthboundReply { token, status, body: body.unwrap_or_default() }
}

impl IApp for Console {
    fn name(&self) -> &str {
        NAME
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => {
                self.nodes.insert(node.id, node.clone());
            }
            IAppInput::NodeRemoved(node) => {
                self.nodes.remove(&node.id);
            }
            IAppInput::Subscribed { subscription, not_admitted, .. } => {
                self.subscribed(now, subscription, not_admitted, out);
            }
            IAppInput::SubscriptionFailed { subscription, cause }
            | IAppInput::SubscriptionEnded { subscription, cause } => {
                self.ended(now, subscription, cause, out);
            }
            IAppInput::Indication { subscription, indication, .. } => {
                self.on_indication(now, subscription, &indication, out);
            }
            IAppInput::ControlDone { request, outcome } => match self.rmr_controls.remove(&request) {
                Some(control) => out.reply(control.answered(outcome)),
                None => self.controlled(request, outcome, out),
            },
            IAppInput::Timer(lease::TIMER) => self.end_leases(now, out),
            IAppInput::Timer(effect) => self.effect_expired(effect, out),
            IAppInput::Northbound(request) => crate::northbound::serve(self, now, request, out),
            _ => {}
        }
    }
}
