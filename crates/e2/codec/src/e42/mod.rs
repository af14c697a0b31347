//! E42: the protocol between an xApp and the RIC (`docs/reference/e42.md`): E2AP's envelope with procedures of its own, in the
//! numbering that goes with each version of E2AP; answers carry standard E2AP codes.
//!
//! A connection is E42 because of the listener, never because of its bytes: the codes collide with standard ones.
mod codec;

use crate::e2ap::{
    self, ComponentConfigItem, E2SetupFailure, GlobalE2NodeId, RanFunctionId, RanFunctionItem,
    RicControlAckRequest, RicRequestId, RicSubscriptionDetails,
};
use bytes::Bytes;
pub use codec::{decode, encode, encode_as_received, numbering_of};

/// Identifies an xApp at its RIC.
pub type XappId = u16;

/// Procedure of our extension: nodes came or went.
pub const NODE_EVENT: u8 = 200;
/// Element of our extension, in a setup request: the xApp wants [`NODE_EVENT`]s.
pub const WANTS_NODE_EVENTS: u16 = 65_000;

/// A message of E42.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)]
pub enum Message {
    /// An xApp introduces itself.
    SetupRequest(SetupRequest),
    /// The RIC accepts it and tells which nodes are connected.
    SetupResponse(SetupResponse),
    /// The RIC refuses it.
    SetupFailure(E2SetupFailure),
    /// A subscription at a node.
    SubscriptionRequest(SubscriptionRequest),
    /// The end of a subscription.
    SubscriptionDeleteRequest(SubscriptionDeleteRequest),
    /// A control at a node.
    ControlRequest(ControlRequest),
    /// Nodes came or went (our extension; only to who asked).
    NodeEvent(NodeEvent),
    /// A standard message: answers, indications, error indications.
    E2(e2ap::Message),
}

/// See [`Message::SetupRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupRequest {
    /// Service models that the xApp brings: 1 to 256.
    pub functions: Vec<RanFunctionItem>,
    /// Whether it wants [`NodeEvent`]s; never to be asked of FlexRIC, whose decoder counts elements.
    pub wants_node_events: bool,
}

/// See [`Message::SetupResponse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupResponse {
    /// To be repeated in every message of the xApp.
    pub xapp_id: XappId,
    /// Connected nodes.
    pub nodes: Vec<ConnectedNode>,
}

/// A node as the RIC knows it (`E2nodesConnected`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedNode {
    /// Who.
    pub node_id: GlobalE2NodeId,
    /// Its components; not in v1.01.
    pub components: Vec<ComponentConfigItem>,
    /// Its functions.
    pub functions: Vec<RanFunctionItem>,
}

/// See [`Message::SubscriptionRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// Who asks.
    pub xapp_id: XappId,
    /// At which node.
    pub node_id: GlobalE2NodeId,
    /// Chosen by the xApp.
    pub request_id: RicRequestId,
    /// Of which function.
    pub function_id: RanFunctionId,
    /// When and what.
    pub details: RicSubscriptionDetails,
}

/// See [`Message::SubscriptionDeleteRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionDeleteRequest {
    /// Who asks.
    pub xapp_id: XappId,
    /// Of the subscription; unique over all nodes.
    pub request_id: RicRequestId,
    /// Of which function.
    pub function_id: RanFunctionId,
}

/// See [`Message::ControlRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlRequest {
    /// Who asks.
    pub xapp_id: XappId,
    /// At which node.
    pub node_id: GlobalE2NodeId,
    /// Chosen by the xApp.
    pub request_id: RicRequestId,
    /// By which function.
    pub function_id: RanFunctionId,
    /// The insert that this answers.
    pub call_process_id: Option<Bytes>,
    /// Defined by the service model.
    pub header: Bytes,
    /// Defined by the service model.
    pub message: Bytes,
    /// Which answer is wanted.
    pub ack_request: Option<RicControlAckRequest>,
}

/// See [`Message::NodeEvent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    /// To whom.
    pub xapp_id: XappId,
    /// Nodes that came or changed.
    pub connected: Vec<ConnectedNode>,
    /// Nodes that went.
    pub removed: Vec<GlobalE2NodeId>,
}
