//! Subscriptions in the form of O-RAN SC's subscription manager: several per request, bytes as arrays of numbers, and one notification per
//! outcome. Member names are accepted in the spelling of the manager's API and in the spelling of `ricxappframe`.
use super::Console;
use super::subscriptions::{ActionKind, SubscriptionOwner};
use crate::northbound::{Call, Completion, Fault, given};
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, Cause, RanFunctionId, RicSubscriptionDetails};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// Maximum number of subscriptions per request.
const DETAILS_MAX: usize = 16;
/// Maximum number of stored requests.
const GROUPS_MAX: usize = 1_024;
/// Maximum number of queued notifications. At the limit, the oldest are dropped.
const NOTIFICATIONS_MAX: usize = 1_024;

#[derive(Debug, Deserialize)]
struct OranSubscriptionBody {
    #[serde(alias = "client_endpoint", rename = "ClientEndpoint", deserialize_with = "given")]
    endpoint: Option<Endpoint>,
    #[serde(alias = "meid", rename = "Meid")]
    meid: String,
    #[serde(alias = "ran_function_id", rename = "RANFunctionID")]
    function: RanFunctionId,
    #[serde(alias = "subscription_details", rename = "SubscriptionDetails")]
    details: Vec<Details>,
}

/// Client endpoint for notifications. The host is ignored; notifications go to the address that the request
/// came from.
#[derive(Debug, Clone, Deserialize)]
struct Endpoint {
    #[serde(alias = "host", rename = "Host", default)]
    host: Option<String>,
    #[serde(alias = "http_port", rename = "HTTPPort", default)]
    http_port: Option<u16>,
    #[serde(alias = "rmr_port", rename = "RMRPort", default)]
    rmr_port: Option<u16>,
}

#[derive(Debug, Deserialize)]
struct Details {
    #[serde(alias = "xapp_event_instance_id", rename = "XappEventInstanceId")]
    xapp_instance: u32,
    #[serde(alias = "event_triggers", rename = "EventTriggers")]
    triggers: Vec<u8>,
    #[serde(alias = "action_to_be_setup_list", rename = "ActionToBeSetupList")]
    actions: Vec<Action>,
}

#[derive(Debug, Deserialize)]
struct Action {
    #[serde(alias = "action_id", rename = "ActionID")]
    id: u8,
    #[serde(alias = "action_type", rename = "ActionType")]
    kind: ActionKind,
    #[serde(alias = "action_definition", rename = "ActionDefinition", default)]
    definition: Option<Vec<u8>>,
}

/// Queue of notifications to be sent.
#[derive(Debug, Default)]
pub(super) struct Notifications {
    waiting: VecDeque<Notification>,
    waker: Option<Waker>,
}

impl Notifications {
    fn push(&mut self, notification: Notification) {
        if self.waiting.len() >= NOTIFICATIONS_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(notification);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Notification> {
        if let Some(notification) = self.waiting.pop_front() {
            return Poll::Ready(notification);
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Request and its subscriptions.
#[derive(Debug)]
pub(super) struct SubscriptionGroup {
    asker: IpAddr,
    meid: String,
    endpoint: Endpoint,
    /// Pairs of the client's instance id and the id of the console's subscription.
    instances: Vec<(u32, u32)>,
}

/// Notification of an outcome, to be posted to `/ric/v1/subscriptions/response` at the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// Address of the client, with the port named in its request.
    pub to: SocketAddr,
    /// Body of the notification.
    pub body: Json,
}

impl Console {
    pub(super) fn oran_subscriptions(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        let group = |(id, group): (&u32, &SubscriptionGroup)| {
            let ours: Vec<u32> = group.instances.iter().map(|(_, ours)| *ours).collect();
            json!({
                "SubscriptionId": id.to_string(),
                "Meid": group.meid,
                "ClientEndpoint": [endpoint(&group.endpoint)],
                "SubscriptionInstances": ours,
            })
        };
        Ok(Completion::Answer(self.groups.iter().map(group).collect()))
    }

    pub(super) fn oran_subscribe(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let asker = call.parameters.text("peer");
        let asker: IpAddr =
            asker.parse().map_err(|_| Fault::new(400, format!("{asker:?} is not a client address")))?;
        // O-RAN SC's manager responds with 400 to every violation of its API description.
        let body: OranSubscriptionBody =
            call.body().map_err(|fault: Fault| Fault::new(400, fault.detail()))?;
        let wrong = |detail: String| Fault::new(400, detail);
        let endpoint = body.endpoint.ok_or_else(|| wrong("ClientEndpoint is missing".to_owned()))?;
        if body.details.is_empty() || body.details.len() > DETAILS_MAX {
            return Err(wrong(format!("SubscriptionDetails must have 1 to {DETAILS_MAX} elements")));
        }
        if body
            .details
            .iter()
            .any(|details| details.actions.is_empty() || details.actions.len() > DETAILS_MAX)
        {
            return Err(wrong(format!("ActionToBeSetupList must have 1 to {DETAILS_MAX} elements")));
        }
        let target =
            self.target(&body.meid, None, Some(body.function)).map_err(|fault| match fault.status() {
                503 => fault,
                _ => Fault::new(404, fault.detail()),
            })?;
        if self.groups.len() >= GROUPS_MAX {
            // A request without subscriptions has no effect and may be evicted.
            let empty = self.groups.iter().find(|(_, group)| group.instances.is_empty()).map(|(id, _)| *id);
            let full =
                || Fault::new(503, format!("the maximum of {GROUPS_MAX} subscription requests is reached"));
            self.groups.remove(&empty.ok_or_else(full)?);
        }
        self.last_group = self.last_group.wrapping_add(1);
        let id = self.last_group;
        let meid = body.meid;
        let mut instances = Vec::new();
        for Details { xapp_instance, triggers, actions } in body.details {
            let details = RicSubscriptionDetails {
                event_trigger: triggers.into(),
                actions: actions.into_iter().map(action).collect(),
            };
            match self.open(target, details, SubscriptionOwner::Group(id), call.out) {
                Ok(ours) => instances.push((xapp_instance, ours)),
                Err(fault) => {
                    instances.iter().for_each(|(_, ours)| self.end(*ours, call.out));
                    return Err(fault);
                }
            }
        }
        let group = SubscriptionGroup { asker, meid, endpoint, instances };
        let answer: Vec<Json> =
            group.instances.iter().map(|(theirs, _)| instance(*theirs, 0, None)).collect();
        self.groups.insert(id, group);
        let answer = json!({ "SubscriptionId": id.to_string(), "SubscriptionInstances": answer });
        Ok(Completion::Answer(answer))
    }

    pub(super) fn oran_unsubscribe(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let id: u32 = call.parameters.number("id", "subscription", u32::MAX)?;
        let text = call.parameters.text("id");
        let unknown = || Fault::new(404, format!("unknown SubscriptionId {text:?}"));
        let group = self.groups.remove(&id).ok_or_else(unknown)?;
        group.instances.iter().for_each(|(_, ours)| self.end(*ours, call.out));
        Ok(Completion::Answer(Json::Null))
    }

    /// Returns the RMR address of a request's client, and the node name that it used.
    pub(super) fn rmr_of(&self, id: u32) -> Option<(SocketAddr, &str)> {
        let group = self.groups.get(&id)?;
        Some((SocketAddr::new(group.asker, group.endpoint.rmr_port?), &group.meid))
    }

    /// Queues the notification that a subscription of a request was admitted or has ended.
    pub(super) fn tell_group(&mut self, id: u32, ours: u32, ended: Option<Cause>) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let Some(place) = group.instances.iter().position(|(_, it)| *it == ours) else { return };
        let (theirs, _) = group.instances[place];
        if ended.is_some() {
            group.instances.remove(place);
        }
        let answer = json!({ "SubscriptionId": id.to_string(), "SubscriptionInstances": [instance(theirs, ours, ended)] });
        if let Some(http_port) = group.endpoint.http_port {
            let to = SocketAddr::new(group.asker, http_port);
            crate::lock(&self.notifications).push(Notification { to, body: answer });
        }
    }
}

fn action(action: Action) -> ActionToBeSetup {
    ActionToBeSetup {
        kind: action.kind.into(),
        definition: action.definition.map(Bytes::from),
        ..ActionToBeSetup::report(action.id)
    }
}

fn endpoint(endpoint: &Endpoint) -> Json {
    json!({ "Host": endpoint.host, "HTTPPort": endpoint.http_port, "RMRPort": endpoint.rmr_port })
}

fn instance(theirs: u32, ours: u32, ended: Option<Cause>) -> Json {
    let mut instance = json!({ "XappEventInstanceId": theirs, "E2EventInstanceId": ours });
    if let Some(cause) = ended {
        instance["ErrorCause"] = cause.to_string().into();
        instance["ErrorSource"] = "E2Node".into();
    }
    instance
}
