//! Inputs, outputs and events of an xApp.
use crate::{LinkLoss, OutboxFull};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    ActionFailed, Cause, GlobalE2NodeId, RanFunctionId, RicActionId, RicIndicationType,
};
use ranlab_e2_codec::e2sm::rc::OrderError;
use ranlab_e2_codec::e42::XappId;
use ranlab_e2_codec::per::EncodeError;
use std::time::Duration;

/// Identifier of a subscription. It stays valid across reconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionHandle(pub u64);

/// Identifier of a standing subscription, which creates a subscription at every node that offers a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StandingHandle(pub u64);

/// Identifier of a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlHandle(pub u64);

/// Input of an xApp.
#[derive(Debug, Clone)]
pub enum XappInput {
    /// The requested connection has been established.
    Connected,
    /// A complete PDU was received.
    Received {
        /// Bytes of the PDU.
        pdu: Bytes,
    },
    /// The connection was lost or could not be established. Must not be passed after [`XappOutput::Close`].
    Disconnected {
        /// Reason observed by the driver.
        why: LinkLoss,
    },
    /// The time has advanced; nothing else happened.
    Wake,
}

/// Output of an xApp: an action for the driver, or an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XappOutput {
    /// Connect. The driver reports the result as [`XappInput::Connected`] or [`XappInput::Disconnected`].
    Connect {
        /// Address as passed to the xApp.
        address: String,
    },
    /// Send the frames that [`Xapp::transmit`](super::Xapp::transmit) returns.
    Transmit,
    /// Close the connection, or stop connecting.
    Close {
        /// Reason.
        reason: CloseReason,
    },
    /// Event for the application.
    Event(XappEvent),
}

/// Reason why an xApp closes its connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Connecting took longer than the timeout.
    #[error("the connection attempt timed out")]
    ConnectTimeout,
    /// The RIC did not respond to the setup.
    #[error("the RIC did not respond to the E42 setup")]
    SetupTimeout,
    /// The RIC refused the setup, and alternative RICs are configured.
    #[error("the RIC refused the E42 setup; another RIC will be tried")]
    Refused,
    /// The RIC sent bytes that are not E42 before any setup completed.
    #[error("the peer does not send E42: {0}")]
    NotE42(String),
    /// The PDU of the RIC exceeds the limit.
    #[error("the RIC sent a PDU of {len} bytes (limit {limit})")]
    TooLong {
        /// Length of the PDU, in bytes.
        len: usize,
        /// Limit, in bytes.
        limit: usize,
    },
    /// The RIC does not read from the connection.
    #[error(transparent)]
    OutboxFull(#[from] OutboxFull),
    /// The setup request cannot be encoded in the configured version; the configuration is invalid.
    #[error("the setup request cannot be encoded: {0}")]
    SetupImpossible(EncodeError),
}

/// Reason why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisconnectReason {
    /// The connection was lost or could not be established.
    #[error(transparent)]
    Lost(LinkLoss),
    /// The xApp closed the connection.
    #[error("closed: {0}")]
    Closed(CloseReason),
}

/// An indication. Its fields are slices of the received PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndicationView {
    /// RAN function.
    pub function: RanFunctionId,
    /// Action.
    pub action: RicActionId,
    /// Sequence number, if the agent sends one.
    pub sn: Option<u16>,
    /// Type: report or insert.
    pub kind: RicIndicationType,
    /// Indication header of the service model.
    pub header: Bytes,
    /// Indication message of the service model.
    pub message: Bytes,
    /// Identifier that links an insert to the control that responds to it.
    pub call_process_id: Option<Bytes>,
}

/// Reason why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The RIC or the node sent a cause.
    #[error("refused: {0}")]
    Cause(Cause),
    /// No response arrived in time.
    #[error("no response")]
    Unanswered,
    /// The connection was lost before the response arrived.
    #[error("the connection was lost before the response arrived")]
    Disconnected,
}

/// Event of an xApp.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum XappEvent {
    /// The RIC accepted the setup.
    Ready {
        /// Id assigned by the RIC.
        xapp_id: XappId,
    },
    /// With [`Dialect::Auto`](super::Dialect::Auto): the dialect of the RIC was detected.
    Speaks {
        /// Dialect used from now on.
        dialect: super::Dialect,
    },
    /// The RIC refused the setup.
    SetupFailed {
        /// Cause, if the RIC sent one.
        cause: Option<Cause>,
        /// Time until the next attempt.
        retry_in: Duration,
    },
    /// The connection was lost or could not be established. Subscriptions are kept and restored later.
    Disconnected {
        /// Reason.
        why: DisconnectReason,
        /// Time until the next attempt.
        retry_in: Duration,
    },
    /// A node was added. [`Xapp::node`](super::Xapp::node) returns its functions.
    NodeAdded {
        /// Node.
        node: GlobalE2NodeId,
    },
    /// The functions or components of a node changed.
    NodeChanged {
        /// Node.
        node: GlobalE2NodeId,
    },
    /// A node was removed.
    NodeRemoved {
        /// Node.
        node: GlobalE2NodeId,
    },
    /// A node does not offer all data that a standing subscription requests. The xApp subscribes to the data that it does offer, if any.
    NotOffered {
        /// Node.
        node: GlobalE2NodeId,
        /// Reason, as a sentence that names what the node offers.
        reason: String,
    },
    /// A subscription was admitted, for the first time or after it was restored.
    Subscribed {
        /// Subscription.
        handle: SubscriptionHandle,
        /// Node.
        node: GlobalE2NodeId,
        /// Actions that were not admitted.
        not_admitted: Vec<ActionFailed>,
    },
    /// A subscription was refused, or was ended by the RIC or the node. It is retried when its node is announced
    /// again.
    SubscriptionFailed {
        /// Subscription.
        handle: SubscriptionHandle,
        /// Node.
        node: GlobalE2NodeId,
        /// Reason.
        failure: Failure,
    },
    /// A subscription ended permanently: it was unsubscribed, or it belonged to a standing subscription and its node was removed.
    Unsubscribed {
        /// Subscription.
        handle: SubscriptionHandle,
        /// Node.
        node: GlobalE2NodeId,
    },
    /// An indication was received.
    Indication {
        /// Subscription.
        handle: SubscriptionHandle,
        /// Standing subscription that created it, if any.
        standing: Option<StandingHandle>,
        /// Node.
        node: GlobalE2NodeId,
        /// Contents.
        indication: IndicationView,
    },
    /// A control was executed.
    ControlAcknowledged {
        /// Control.
        handle: ControlHandle,
        /// Control outcome of the service model.
        outcome: Option<Bytes>,
    },
    /// A control was refused, or its result is unknown.
    ControlFailed {
        /// Control.
        handle: ControlHandle,
        /// Reason.
        failure: Failure,
        /// Control outcome of the service model.
        outcome: Option<Bytes>,
    },
    /// The RIC sent an error indication that refers to no request.
    ErrorReported {
        /// Cause, if the RIC sent one.
        cause: Option<Cause>,
    },
}

/// Reason why a subscription cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The limit of subscriptions is reached.
    #[error("an xApp can have at most {0} subscriptions")]
    TooMany(usize),
    /// The node does not offer the function.
    #[error("the node offers no such RAN function")]
    UnknownFunction,
    /// The contents cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Reason why a control cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The xApp is not connected to a RIC.
    #[error("the xApp is not connected to a RIC")]
    NotReady,
    /// The RIC has not announced this node.
    #[error("there is no such node")]
    UnknownNode,
    /// The node does not offer the function.
    #[error("the node offers no such RAN function")]
    UnknownFunction,
    /// The order contradicts itself, or the node does not offer it.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The limit of controls without a response is reached.
    #[error("an xApp can have at most {0} unanswered controls")]
    TooMany(usize),
    /// The contents cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}
