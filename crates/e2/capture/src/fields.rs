//! The key fields of a message in a trace.
use std::fmt::Display;

use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    ActionFailed, Cause, GlobalE2NodeId, GlobalRicId, Message, Rejection, RicControlAckRequest,
    RicControlStatus, RicIndicationType, RicRequestId, RicSubscriptionDetails, TimeToWait,
};
use ranlab_e2_codec::e42;

/// Names and values of fields, most interesting first.
pub(super) type Fields = Vec<(&'static str, String)>;

/// Maximum number of listed identities. Further identities are only counted.
const MAX_LISTED: usize = 4;

/// Matches a message against a table of message types and their fields, one message type per line.
macro_rules! fields {
    ($message:expr, $f:ident; $( $variant:path = |$m:ident| $( $name:literal: $value:expr ),*; )+) => {
        match $message { $( $variant($m) => { let _ = $m; $( Field::put(&$value, $name, $f); )* } )+ }
    };
}

/// The key fields of an E42 message, or of a standard one.
pub(super) fn from_message(message: &e42::Message) -> Fields {
    use e42::Message as M;
    let mut fields = Fields::new();
    let f = &mut fields;
    fields! { message, f;
        M::SetupRequest = |m| "functions": m.functions, "wants_node_events": m.wants_node_events;
        M::SetupResponse = |m| "xapp": m.xapp_id, "nodes": m.nodes, "node": nodes(&m.nodes);
        M::SetupFailure = |m| "transaction": m.transaction_id, "cause": m.cause;
        M::SubscriptionRequest = |m| "xapp": m.xapp_id, "node": m.node_id, "request": m.request_id,
            "function": m.function_id, "action": m.details;
        M::SubscriptionDeleteRequest = |m| "xapp": m.xapp_id, "request": m.request_id, "function": m.function_id;
        M::ControlRequest = |m| "xapp": m.xapp_id, "node": m.node_id, "request": m.request_id,
            "function": m.function_id, "header_bytes": m.header, "message_bytes": m.message,
            "call_process_bytes": m.call_process_id, "ack": m.ack_request;
        M::NodeEvent = |m| "xapp": m.xapp_id, "connected": nodes(&m.connected), "removed": list(&m.removed);
        M::E2 = |m| "": m;
    }
    fields
}

impl Field for &Message {
    fn put(&self, _: &'static str, f: &mut Fields) {
        use Message as M;
        fields! { self, f;
            M::E2SetupRequest = |m| "transaction": m.transaction_id, "node": m.node_id, "functions": m.functions,
                "components": m.components, "components": m.components_v1;
            M::E2SetupResponse = |m| "transaction": m.transaction_id, "ric": m.ric_id, "accepted": m.accepted,
                "rejected": m.rejected, "components": m.components, "components": m.components_v1;
            M::E2SetupFailure = |m| "transaction": m.transaction_id, "cause": m.cause, "time_to_wait": m.time_to_wait;
            M::ErrorIndication = |m| "transaction": m.transaction_id, "request": m.request_id,
                "function": m.function_id, "cause": m.cause;
            M::ResetRequest = |m| "transaction": m.transaction_id, "cause": m.cause;
            M::ResetResponse = |m| "transaction": m.transaction_id;
            M::RicServiceQuery = |m| "transaction": m.transaction_id, "accepted": m.accepted;
            M::RicServiceUpdate = |m| "transaction": m.transaction_id, "added": m.added, "modified": m.modified,
                "deleted": m.deleted;
            M::RicServiceUpdateAcknowledge = |m| "transaction": m.transaction_id, "accepted": m.accepted,
                "rejected": m.rejected;
            M::RicServiceUpdateFailure = |m| "transaction": m.transaction_id, "cause": m.cause, "rejected": m.rejected;
            M::E2NodeConfigurationUpdate = |m| "transaction": m.transaction_id, "node": m.node_id, "added": m.added,
                "updated": m.updated, "removed": m.removed;
            M::E2NodeConfigurationUpdateAcknowledge = |m| "transaction": m.transaction_id, "added": m.added,
                "updated": m.updated, "removed": m.removed;
            M::E2NodeConfigurationUpdateFailure = |m| "transaction": m.transaction_id, "cause": m.cause,
                "time_to_wait": m.time_to_wait;
            M::E2ConnectionUpdate = |m| "transaction": m.transaction_id, "add": m.add, "remove": m.remove,
                "modify": m.modify;
            M::E2ConnectionUpdateAcknowledge = |m| "transaction": m.transaction_id, "setup": m.setup, "failed": m.failed;
            M::E2ConnectionUpdateFailure = |m| "transaction": m.transaction_id, "cause": m.cause, "time_to_wait": m.time_to_wait;
            M::E2RemovalRequest = |m| "transaction": m.transaction_id;
            M::E2RemovalResponse = |m| "transaction": m.transaction_id;
            M::E2RemovalFailure = |m| "transaction": m.transaction_id, "cause": m.cause;
            M::RicSubscriptionRequest = |m| "request": m.request_id, "function": m.function_id, "action": m.details;
            M::RicSubscriptionResponse = |m| "request": m.request_id, "function": m.function_id,
                "admitted_action": list(&m.admitted), "not_admitted": failed(&m.not_admitted);
            M::RicSubscriptionFailure = |m| "request": m.request_id, "function": m.function_id, "cause": m.cause,
                "not_admitted": failed(&m.not_admitted);
            M::RicSubscriptionDeleteRequest = |m| "request": m.request_id, "function": m.function_id;
            M::RicSubscriptionDeleteResponse = |m| "request": m.request_id, "function": m.function_id;
            M::RicSubscriptionDeleteFailure = |m| "request": m.request_id, "function": m.function_id, "cause": m.cause;
            M::RicSubscriptionDeleteRequired = |m| "request": list(m.subscriptions.iter().map(|s| request(s.request_id))),
                "cause": m.subscriptions.first().map(|s| s.cause);
            M::RicIndication = |m| "request": m.request_id, "function": m.function_id, "action": m.action_id, "sn": m.sn,
                "type": m.kind, "header_bytes": m.header, "message_bytes": m.message,
                "call_process_bytes": m.call_process_id;
            M::RicControlRequest = |m| "request": m.request_id, "function": m.function_id, "header_bytes": m.header,
                "message_bytes": m.message, "call_process_bytes": m.call_process_id, "ack": m.ack_request;
            M::RicControlAcknowledge = |m| "request": m.request_id, "function": m.function_id, "status": m.status,
                "outcome_bytes": m.outcome;
            M::RicControlFailure = |m| "request": m.request_id, "function": m.function_id, "cause": m.cause,
                "outcome_bytes": m.outcome;
            M::RicQueryRequest = |m| "request": m.request_id, "function": m.function_id, "header_bytes": m.header,
                "definition_bytes": m.definition;
            M::RicQueryResponse = |m| "request": m.request_id, "function": m.function_id, "outcome_bytes": m.outcome;
            M::RicQueryFailure = |m| "request": m.request_id, "function": m.function_id, "cause": m.cause;
            M::RicSubscriptionModificationRequest = |m| "request": m.request_id, "function": m.function_id,
                "trigger_bytes": m.event_trigger, "remove": m.remove, "modify": m.modify, "add": m.add;
            M::RicSubscriptionModificationResponse = |m| "request": m.request_id, "function": m.function_id,
                "removed": m.removed, "modified": m.modified, "added": m.added, "remove_failed": failed(&m.remove_failed),
                "modify_failed": failed(&m.modify_failed), "add_failed": failed(&m.add_failed);
            M::RicSubscriptionModificationFailure = |m| "request": m.request_id, "function": m.function_id,
                "cause": m.cause;
            M::RicSubscriptionModificationRequired = |m| "request": m.request_id, "function": m.function_id,
                "modify": m.modify, "remove": failed(&m.remove);
            M::RicSubscriptionModificationConfirm = |m| "request": m.request_id, "function": m.function_id,
                "modified": m.modified, "removed": m.removed, "modify_refused": failed(&m.modify_refused),
                "remove_refused": failed(&m.remove_refused);
            M::RicSubscriptionModificationRefuse = |m| "request": m.request_id, "function": m.function_id,
                "cause": m.cause;
        }
    }
}

/// Returns the fields that were readable before the error in a rejected message.
pub(super) fn of_rejected(rejection: &Rejection) -> Fields {
    let mut fields = Fields::new();
    rejection.envelope.map(|(_, code, _)| code).put("procedure", &mut fields);
    rejection.transaction_id.put("transaction", &mut fields);
    rejection.request_id.put("request", &mut fields);
    rejection.function_id.put("function", &mut fields);
    fields
}

/// Conversion of a value to its text. Lists and byte strings are shown by their length; absent values give no text.
trait Field {
    fn put(&self, name: &'static str, f: &mut Fields);
}

macro_rules! field_text {
    ($( $t:ty = |$v:ident| $text:expr; )+) => { $(
        impl Field for $t {
            fn put(&self, name: &'static str, f: &mut Fields) {
                let $v = self;
                f.push((name, $text.to_string()));
            }
        }
    )+ };
}

field_text! {
    u8 = |v| v;
    u16 = |v| v;
    Cause = |v| v;
    GlobalE2NodeId = |v| v;
    GlobalRicId = |v| format_args!("{} {}", v.plmn, v.ric_id.value);
    RicRequestId = |v| request(*v);
    RicControlAckRequest = |v| v.name();
    RicControlStatus = |v| v.name();
    RicIndicationType = |v| v.name();
    TimeToWait = |v| v.name();
    Bytes = |v| v.len();
}

impl Field for bool {
    fn put(&self, name: &'static str, f: &mut Fields) {
        f.extend(self.then(|| (name, self.to_string())));
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, name: &'static str, f: &mut Fields) {
        if let Some(value) = self {
            value.put(name, f);
        }
    }
}

impl<T> Field for Vec<T> {
    fn put(&self, name: &'static str, f: &mut Fields) {
        f.push((name, self.len().to_string()));
    }
}

impl Field for RicSubscriptionDetails {
    fn put(&self, name: &'static str, f: &mut Fields) {
        self.event_trigger.put("trigger_bytes", f);
        list(self.actions.iter().map(|action| format!("{}:{}", action.id, action.kind.name()))).put(name, f);
    }
}

/// List whose elements are shown one by one. An empty list gives no field.
struct Listed(String);

impl Field for Listed {
    fn put(&self, name: &'static str, f: &mut Fields) {
        f.extend((!self.0.is_empty()).then(|| (name, self.0.clone())));
    }
}

/// Lists the first [`MAX_LISTED`] items, then the number of further items.
fn list(items: impl IntoIterator<Item = impl Display, IntoIter: ExactSizeIterator>) -> Listed {
    let items = items.into_iter();
    let more = items.len().saturating_sub(MAX_LISTED);
    let mut text: Vec<String> = items.take(MAX_LISTED).map(|item| item.to_string()).collect();
    text.extend((more > 0).then(|| format!("and {more} more")));
    Listed(text.join(","))
}

fn nodes(nodes: &[e42::ConnectedNode]) -> Listed {
    list(nodes.iter().map(|node| node.node_id))
}

fn failed(actions: &Option<Vec<ActionFailed>>) -> Listed {
    let actions = actions.as_deref().unwrap_or_default();
    list(actions.iter().map(|action| format!("{} ({})", action.id, action.cause)))
}

fn request(id: RicRequestId) -> String {
    format!("{}/{}", id.requestor, id.instance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2ap::{self, RicSubscriptionResponse, Version};

    /// Requests are listed by request and function. Other messages are listed by their transaction, in versions that
    /// have one.
    #[test]
    fn every_message_has_its_key_fields() {
        let mut field_count = 0;
        for version in Version::ALL {
            for name in Message::NAMES {
                for seed in 0..20 {
                    let Some(message) = Message::random(name, seed, version) else { continue };
                    let envelope = e42::Message::E2(message);
                    let names: Vec<_> = from_message(&envelope).into_iter().map(|(name, _)| name).collect();
                    let of_request = name.starts_with("RIC") && !name.starts_with("RICservice");
                    if *name == "RICsubscriptionDeleteRequired" {
                        assert_eq!(names, ["request", "cause"]);
                    } else if of_request {
                        assert_eq!(names[..2], ["request", "function"], "{name}");
                    } else if version > Version::V1_01 && *name != "ErrorIndication" {
                        assert_eq!(names[0], "transaction", "{name}");
                    }
                    field_count += names.len();
                }
            }
        }
        assert!(field_count > 4000, "{field_count}");
    }

    #[test]
    fn long_lists_and_byte_strings_are_abbreviated() {
        let message = RicSubscriptionResponse {
            request_id: RicRequestId { requestor: 7, instance: 1 },
            function_id: 142,
            admitted: (0..10).collect(),
            not_admitted: None,
        };
        let fields = from_message(&e42::Message::E2(Message::RicSubscriptionResponse(message)));
        assert_eq!(
            fields,
            [("request", "7/1"), ("function", "142"), ("admitted_action", "0,1,2,3,and 6 more")]
                .map(|(name, value)| (name, value.to_owned()))
        );
    }

    #[test]
    fn readable_fields_of_broken_message_are_reported() {
        let message = Message::random("RICsubscriptionDeleteRequest", 1, Version::V2_03).unwrap();
        let whole = Bytes::from(e2ap::encode(&message, Version::V2_03).unwrap());
        let rejection = e2ap::decode(&whole.slice(..whole.len() - 3), Version::V2_03).unwrap_err();
        assert_eq!(of_rejected(&rejection)[0], ("procedure", "9".to_owned()));
    }
}
