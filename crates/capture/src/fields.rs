//! The key fields of a message: what a reader of a trace looks for.
use std::fmt::Display;

use ranlab_wire::e2ap::{ActionFailed, Message, RicRequestId, RicSubscriptionDetails};
use ranlab_wire::e42;

/// Names and values, in the order of interest.
pub type Fields = Vec<(&'static str, String)>;

/// Identities that are listed before the rest is only counted.
const MAX_LISTED: usize = 4;

/// The key fields of an E42 message, or of a standard one.
pub fn of(message: &e42::Message) -> Fields {
    let mut f = Builder::default();
    match message {
        e42::Message::SetupRequest(m) => {
            f.put("functions", m.functions.len());
            if m.wants_node_events {
                f.put("wants_node_events", true);
            }
        }
        e42::Message::SetupResponse(m) => {
            f.put("xapp", m.xapp_id).put("nodes", m.nodes.len());
            f.list("node", m.nodes.iter().map(|node| node.node_id));
        }
        e42::Message::SetupFailure(m) => {
            f.some("transaction", m.transaction_id).put("cause", m.cause);
        }
        e42::Message::SubscriptionRequest(m) => {
            f.put("xapp", m.xapp_id).put("node", m.node_id).request(m.request_id, m.function_id);
            f.details(&m.details);
        }
        e42::Message::SubscriptionDeleteRequest(m) => {
            f.put("xapp", m.xapp_id).request(m.request_id, m.function_id);
        }
        e42::Message::ControlRequest(m) => {
            f.put("xapp", m.xapp_id).put("node", m.node_id).request(m.request_id, m.function_id);
            f.payload(&m.header, &m.message).size("call_process_bytes", m.call_process_id.as_deref());
            f.some("ack", m.ack_request.map(|ack| ack.name()));
        }
        e42::Message::NodeEvent(m) => {
            f.put("xapp", m.xapp_id);
            f.list("connected", m.connected.iter().map(|node| node.node_id));
            f.list("removed", m.removed.iter());
        }
        e42::Message::E2(m) => of_e2(m, &mut f),
    }
    f.0
}

fn of_e2(message: &Message, f: &mut Builder) {
    match message {
        Message::E2SetupRequest(m) => {
            f.some("transaction", m.transaction_id).put("node", m.node_id).count("functions", &m.functions);
            f.count("components", &m.components).count("components", &m.components_v1);
        }
        Message::E2SetupResponse(m) => {
            f.some("transaction", m.transaction_id);
            f.put("ric", format_args!("{} {}", m.ric_id.plmn, m.ric_id.ric_id.value));
            f.count("accepted", &m.accepted).count("rejected", &m.rejected);
            f.count("components", &m.components).count("components", &m.components_v1);
        }
        Message::E2SetupFailure(m) => {
            f.some("transaction", m.transaction_id).put("cause", m.cause);
            f.some("time_to_wait", m.time_to_wait.map(|time| time.name()));
        }
        Message::ErrorIndication(m) => {
            f.some("transaction", m.transaction_id).some("request", m.request_id.map(request));
            f.some("function", m.function_id).some("cause", m.cause);
        }
        Message::ResetRequest(m) => {
            f.some("transaction", m.transaction_id).put("cause", m.cause);
        }
        Message::ResetResponse(m) => {
            f.some("transaction", m.transaction_id);
        }
        Message::RicServiceQuery(m) => {
            f.some("transaction", m.transaction_id).count("accepted", &m.accepted);
        }
        Message::RicServiceUpdate(m) => {
            f.some("transaction", m.transaction_id).count("added", &m.added);
            f.count("modified", &m.modified).count("deleted", &m.deleted);
        }
        Message::RicServiceUpdateAcknowledge(m) => {
            f.some("transaction", m.transaction_id)
                .count("accepted", &m.accepted)
                .count("rejected", &m.rejected);
        }
        Message::RicServiceUpdateFailure(m) => {
            f.some("transaction", m.transaction_id).some("cause", m.cause).count("rejected", &m.rejected);
        }
        _ => of_configuration(message, f),
    }
}

/// Components, connections and removal.
fn of_configuration(message: &Message, f: &mut Builder) {
    match message {
        Message::E2NodeConfigurationUpdate(m) => {
            f.some("transaction", m.transaction_id).some("node", m.node_id).count("added", &m.added);
            f.count("updated", &m.updated).count("removed", &m.removed);
        }
        Message::E2NodeConfigurationUpdateAcknowledge(m) => {
            f.some("transaction", m.transaction_id).count("added", &m.added);
            f.count("updated", &m.updated).count("removed", &m.removed);
        }
        Message::E2NodeConfigurationUpdateFailure(m) => {
            f.some("transaction", m.transaction_id).put("cause", m.cause);
            f.some("time_to_wait", m.time_to_wait.map(|time| time.name()));
        }
        Message::E2ConnectionUpdate(m) => {
            f.some("transaction", m.transaction_id).count("add", &m.add);
            f.count("remove", &m.remove).count("modify", &m.modify);
        }
        Message::E2ConnectionUpdateAcknowledge(m) => {
            f.some("transaction", m.transaction_id).count("setup", &m.setup).count("failed", &m.failed);
        }
        Message::E2ConnectionUpdateFailure(m) => {
            f.some("transaction", m.transaction_id).some("cause", m.cause);
            f.some("time_to_wait", m.time_to_wait.map(|time| time.name()));
        }
        Message::E2RemovalRequest(m) => {
            f.some("transaction", m.transaction_id);
        }
        Message::E2RemovalResponse(m) => {
            f.some("transaction", m.transaction_id);
        }
        Message::E2RemovalFailure(m) => {
            f.some("transaction", m.transaction_id).put("cause", m.cause);
        }
        _ => of_functional(message, f),
    }
}

/// Subscription, indication, control and query.
fn of_functional(message: &Message, f: &mut Builder) {
    match message {
        Message::RicSubscriptionRequest(m) => {
            f.request(m.request_id, m.function_id).details(&m.details);
        }
        Message::RicSubscriptionResponse(m) => {
            f.request(m.request_id, m.function_id).list("admitted_action", m.admitted.iter());
            f.failed("not_admitted", m.not_admitted.as_deref());
        }
        Message::RicSubscriptionFailure(m) => {
            f.request(m.request_id, m.function_id).some("cause", m.cause);
            f.failed("not_admitted", m.not_admitted.as_deref());
        }
        Message::RicSubscriptionDeleteRequest(m) => {
            f.request(m.request_id, m.function_id);
        }
        Message::RicSubscriptionDeleteResponse(m) => {
            f.request(m.request_id, m.function_id);
        }
        Message::RicSubscriptionDeleteFailure(m) => {
            f.request(m.request_id, m.function_id).put("cause", m.cause);
        }
        Message::RicSubscriptionDeleteRequired(m) => {
            f.list("request", m.subscriptions.iter().map(|s| request(s.request_id)));
            f.some("cause", m.subscriptions.first().map(|s| s.cause));
        }
        Message::RicIndication(m) => {
            f.request(m.request_id, m.function_id).put("action", m.action_id).some("sn", m.sn);
            f.put("type", m.kind.name()).payload(&m.header, &m.message);
            f.size("call_process_bytes", m.call_process_id.as_deref());
        }
        Message::RicControlRequest(m) => {
            f.request(m.request_id, m.function_id).payload(&m.header, &m.message);
            f.size("call_process_bytes", m.call_process_id.as_deref());
            f.some("ack", m.ack_request.map(|ack| ack.name()));
        }
        Message::RicControlAcknowledge(m) => {
            f.request(m.request_id, m.function_id).some("status", m.status.map(|status| status.name()));
            f.size("outcome_bytes", m.outcome.as_deref());
        }
        Message::RicControlFailure(m) => {
            f.request(m.request_id, m.function_id).put("cause", m.cause);
            f.size("outcome_bytes", m.outcome.as_deref());
        }
        Message::RicQueryRequest(m) => {
            f.request(m.request_id, m.function_id).size("header_bytes", Some(&m.header));
            f.size("definition_bytes", Some(&m.definition));
        }
        Message::RicQueryResponse(m) => {
            f.request(m.request_id, m.function_id).size("outcome_bytes", Some(&m.outcome));
        }
        Message::RicQueryFailure(m) => {
            f.request(m.request_id, m.function_id).put("cause", m.cause);
        }
        _ => of_modification(message, f),
    }
}

fn of_modification(message: &Message, f: &mut Builder) {
    match message {
        Message::RicSubscriptionModificationRequest(m) => {
            f.request(m.request_id, m.function_id).size("trigger_bytes", m.event_trigger.as_deref());
            f.count("remove", &m.remove).count("modify", &m.modify).count("add", &m.add);
        }
        Message::RicSubscriptionModificationResponse(m) => {
            f.request(m.request_id, m.function_id)
                .count("removed", &m.removed)
                .count("modified", &m.modified);
            f.count("added", &m.added).failed("remove_failed", m.remove_failed.as_deref());
            f.failed("modify_failed", m.modify_failed.as_deref());
            f.failed("add_failed", m.add_failed.as_deref());
        }
        Message::RicSubscriptionModificationFailure(m) => {
            f.request(m.request_id, m.function_id).put("cause", m.cause);
        }
        Message::RicSubscriptionModificationRequired(m) => {
            f.request(m.request_id, m.function_id).count("modify", &m.modify);
            f.failed("remove", m.remove.as_deref());
        }
        Message::RicSubscriptionModificationConfirm(m) => {
            f.request(m.request_id, m.function_id)
                .count("modified", &m.modified)
                .count("removed", &m.removed);
            f.failed("modify_refused", m.modify_refused.as_deref());
            f.failed("remove_refused", m.remove_refused.as_deref());
        }
        Message::RicSubscriptionModificationRefuse(m) => {
            f.request(m.request_id, m.function_id).put("cause", m.cause);
        }
        // The other 33 have their arms above.
        _ => {}
    }
}

#[derive(Default)]
struct Builder(Fields);

impl Builder {
    fn put(&mut self, name: &'static str, value: impl Display) -> &mut Self {
        self.0.push((name, value.to_string()));
        self
    }

    fn some(&mut self, name: &'static str, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    fn count<T>(&mut self, name: &'static str, list: &Option<Vec<T>>) -> &mut Self {
        self.some(name, list.as_ref().map(Vec::len))
    }

    fn size(&mut self, name: &'static str, octets: Option<&[u8]>) -> &mut Self {
        self.some(name, octets.map(<[u8]>::len))
    }

    fn payload(&mut self, header: &[u8], message: &[u8]) -> &mut Self {
        self.put("header_bytes", header.len()).put("message_bytes", message.len())
    }

    fn request(&mut self, id: RicRequestId, function: u16) -> &mut Self {
        self.put("request", request(id)).put("function", function)
    }

    fn details(&mut self, details: &RicSubscriptionDetails) {
        self.put("trigger_bytes", details.event_trigger.len());
        let action = |a: &ranlab_wire::e2ap::ActionToBeSetup| format!("{}:{}", a.id, a.kind.name());
        self.list("action", details.actions.iter().map(action));
    }

    fn failed(&mut self, name: &'static str, actions: Option<&[ActionFailed]>) {
        let Some(actions) = actions.filter(|actions| !actions.is_empty()) else { return };
        self.list(name, actions.iter().map(|action| format!("{} ({})", action.id, action.cause)));
    }

    /// The first few, then how many more.
    fn list(&mut self, name: &'static str, items: impl ExactSizeIterator<Item = impl Display>) {
        let all = items.len();
        let mut text: Vec<String> = items.take(MAX_LISTED).map(|item| item.to_string()).collect();
        if all > MAX_LISTED {
            text.push(format!("and {} more", all - MAX_LISTED));
        }
        if !text.is_empty() {
            self.put(name, text.join(","));
        }
    }
}

pub fn request(id: RicRequestId) -> String {
    format!("{}/{}", id.requestor, id.instance)
}
