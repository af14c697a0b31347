//! E42, the protocol between an xApp and the RIC (`docs/reference/e42.md`): E2AP's envelope with additional procedures,
//! in the numbering of each E2AP version. Responses have standard E2AP codes.
//!
//! A connection uses E42 if it was accepted by an E42 listener. The bytes do not identify E42, because its codes
//! collide with standard codes.
mod codec;

use crate::e2ap::{
    self, ComponentConfigItem, E2SetupFailure, GlobalE2NodeId, RanFunctionId, RanFunctionItem,
    RicControlAckRequest, RicRequestId, RicSubscriptionDetails,
};
use bytes::Bytes;
pub use codec::{decode, encode, encode_as_received, numbering_of};

/// Identifier of an xApp at its RIC.
pub type XappId = u16;

/// Procedure code of ranlab's extension, which reports that nodes have connected or disconnected.
pub const NODE_EVENT: u8 = 200;
/// Element of ranlab's extension in a setup request, by which an xApp requests [`NODE_EVENT`]s.
pub const WANTS_NODE_EVENTS: u16 = 65_000;

/// E42 message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)]
pub enum Message {
    /// Registration of an xApp.
    SetupRequest(SetupRequest),
    /// Acceptance by the RIC, with the connected nodes.
    SetupResponse(SetupResponse),
    /// Rejection by the RIC.
    SetupFailure(E2SetupFailure),
    /// Subscription at a node.
    SubscriptionRequest(SubscriptionRequest),
    /// Deletion of a subscription.
    SubscriptionDeleteRequest(SubscriptionDeleteRequest),
    /// Control at a node.
    ControlRequest(ControlRequest),
    /// Nodes connected or disconnected (our extension; sent only on request).
    NodeEvent(NodeEvent),
    /// Standard message: response, indication or error indication.
    E2(e2ap::Message),
}

/// Contents of a [`Message::SetupRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupRequest {
    /// Service models of the xApp: 1 to 256.
    pub functions: Vec<RanFunctionItem>,
    /// Whether the xApp requests [`NodeEvent`]s. Must not be set towards FlexRIC, whose decoder counts the elements.
    pub wants_node_events: bool,
}

/// Contents of a [`Message::SetupResponse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupResponse {
    /// Identifier that every message of the xApp must contain.
    pub xapp_id: XappId,
    /// Connected nodes.
    pub nodes: Vec<ConnectedNode>,
}

/// Node as known to the RIC (`E2nodesConnected`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedNode {
    /// Identity of the node.
    pub node_id: GlobalE2NodeId,
    /// Components of the node; not in v1.01.
    pub components: Vec<ComponentConfigItem>,
    /// RAN functions of the node.
    pub functions: Vec<RanFunctionItem>,
}

/// Contents of a [`Message::SubscriptionRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// Sending xApp.
    pub xapp_id: XappId,
    /// Target node.
    pub node_id: GlobalE2NodeId,
    /// Request id, chosen by the xApp.
    pub request_id: RicRequestId,
    /// RAN function.
    pub function_id: RanFunctionId,
    /// Event trigger and actions.
    pub details: RicSubscriptionDetails,
}

/// Contents of a [`Message::SubscriptionDeleteRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionDeleteRequest {
    /// Sending xApp.
    pub xapp_id: XappId,
    /// Request id of the subscription; unique over all nodes.
    pub request_id: RicRequestId,
    /// RAN function.
    pub function_id: RanFunctionId,
}

/// Contents of a [`Message::ControlRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlRequest {
    /// Sending xApp.
    pub xapp_id: XappId,
    /// Target node.
    pub node_id: GlobalE2NodeId,
    /// Request id, chosen by the xApp.
    pub request_id: RicRequestId,
    /// RAN function.
    pub function_id: RanFunctionId,
    /// Call process id of the insert that this control answers.
    pub call_process_id: Option<Bytes>,
    /// Control header, defined by the service model.
    pub header: Bytes,
    /// Control message, defined by the service model.
    pub message: Bytes,
    /// Requested acknowledgment.
    pub ack_request: Option<RicControlAckRequest>,
}

/// Contents of a [`Message::NodeEvent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    /// Receiving xApp.
    pub xapp_id: XappId,
    /// Nodes that connected or changed.
    pub connected: Vec<ConnectedNode>,
    /// Nodes that disconnected.
    pub removed: Vec<GlobalE2NodeId>,
}
