//! What goes into an xApp and what comes out.
use crate::{LinkLoss, OutboxFull};
use bytes::Bytes;
use ranlab_wire::e2ap::{ActionFailed, Cause, GlobalE2NodeId, RanFunctionId, RicActionId, RicIndicationType};
use ranlab_wire::e42::XappId;
use ranlab_wire::per::EncodeError;
use std::time::Duration;

/// A subscription of an xApp: the same for its whole life, whatever happens to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionHandle(pub u64);

/// A standing subscription: one at every node that offers a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StandingHandle(pub u64);

/// A control of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlHandle(pub u64);

/// What happened.
#[derive(Debug, Clone)]
pub enum XappInput {
    /// The connection asked for is there.
    Connected,
    /// A whole PDU came.
    Received {
        /// Its octets.
        pdu: Bytes,
    },
    /// The connection is lost, or could not be made. Not to be told after [`XappOutput::Close`].
    Disconnected {
        /// Why, as the driver has seen it.
        why: LinkLoss,
    },
    /// Time has passed.
    Wake,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XappOutput {
    /// Connect; answered by [`XappInput::Connected`] or [`XappInput::Disconnected`].
    Connect {
        /// To where, as it was given to the xApp.
        address: String,
    },
    /// Take frames with [`Xapp::transmit`](super::Xapp::transmit) as long as there are any.
    Transmit,
    /// Close the connection, or stop trying to make it.
    Close {
        /// Why.
        reason: CloseReason,
    },
    /// For whoever embeds the xApp.
    Event(XappEvent),
}

/// Why an xApp closes its connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Connecting took too long.
    #[error("connecting takes too long")]
    ConnectTimeout,
    /// The RIC does not answer the setup.
    #[error("the RIC leaves the E42 setup unanswered")]
    SetupTimeout,
    /// The RIC refuses the setup, and there are others to ask.
    #[error("the RIC refuses the E42 setup; another one is tried")]
    Refused,
    /// The RIC's bytes are no E42, before any setup.
    #[error("the peer does not speak E42: {0}")]
    NotE42(String),
    /// The RIC's PDU is too long.
    #[error("the RIC sent a PDU of {len} octets (limit {limit})")]
    TooLong {
        /// Its octets.
        len: usize,
        /// The bound.
        limit: usize,
    },
    /// The RIC does not read.
    #[error(transparent)]
    OutboxFull(#[from] OutboxFull),
    /// The xApp cannot introduce itself in the numbering configured: the configuration is at fault.
    #[error("the setup cannot be expressed: {0}")]
    SetupImpossible(EncodeError),
}

/// Why there is no connection any more, or none yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisconnectReason {
    /// It was lost or could not be made.
    #[error(transparent)]
    Lost(LinkLoss),
    /// The xApp closed it.
    #[error("closed: {0}")]
    Closed(CloseReason),
}

/// An indication: slices of the received PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndicationView {
    /// Of which function.
    pub function: RanFunctionId,
    /// Of which action.
    pub action: RicActionId,
    /// Running number, if the agent gives one.
    pub sn: Option<u16>,
    /// Report or insert.
    pub kind: RicIndicationType,
    /// Indication header of the service model.
    pub header: Bytes,
    /// Indication message of the service model.
    pub message: Bytes,
    /// Ties an insert to the control that answers it.
    pub call_process_id: Option<Bytes>,
}

/// Why something came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The RIC or the node says so.
    #[error("refused: {0}")]
    Cause(Cause),
    /// Nobody answered.
    #[error("nobody answered")]
    Unanswered,
    /// The connection was lost before the answer came.
    #[error("the connection was lost before the answer came")]
    Disconnected,
}

/// Something worth telling.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum XappEvent {
    /// The RIC accepted the xApp.
    Ready {
        /// Its id there.
        xapp_id: XappId,
    },
    /// With [`Dialect::Auto`](super::Dialect::Auto): whose words the RIC takes, once it has shown that.
    Speaks {
        /// Those that are spoken from now on.
        dialect: super::Dialect,
    },
    /// The RIC refused the xApp.
    SetupFailed {
        /// Why, if it said so.
        cause: Option<Cause>,
        /// When the xApp tries again.
        retry_in: Duration,
    },
    /// The connection is lost or could not be made. Subscriptions live on and are restored.
    Disconnected {
        /// Why.
        why: DisconnectReason,
        /// When the xApp tries again.
        retry_in: Duration,
    },
    /// A node came, or was there already; its functions: [`Xapp::node`](super::Xapp::node).
    NodeAdded {
        /// Which.
        node: GlobalE2NodeId,
    },
    /// A node's functions or components changed.
    NodeChanged {
        /// Which.
        node: GlobalE2NodeId,
    },
    /// A node went.
    NodeRemoved {
        /// Which.
        node: GlobalE2NodeId,
    },
    /// A node does not offer what a standing subscription wants; nothing was requested there.
    NotOffered {
        /// Which.
        node: GlobalE2NodeId,
        /// Why, as a sentence that names what the node offers.
        reason: String,
    },
    /// A subscription was admitted, for the first time or again after it was restored.
    Subscribed {
        /// Which.
        handle: SubscriptionHandle,
        /// At which node.
        node: GlobalE2NodeId,
        /// Actions that were not admitted.
        not_admitted: Vec<ActionFailed>,
    },
    /// A subscription was refused, or has ended without our doing. It is tried again when its node is announced anew.
    SubscriptionFailed {
        /// Which.
        handle: SubscriptionHandle,
        /// At which node.
        node: GlobalE2NodeId,
        /// Why.
        failure: Failure,
    },
    /// A subscription is gone for good: unsubscribed, or a standing one whose node went.
    Unsubscribed {
        /// Which.
        handle: SubscriptionHandle,
        /// At which node.
        node: GlobalE2NodeId,
    },
    /// An indication.
    Indication {
        /// Of which subscription.
        handle: SubscriptionHandle,
        /// Which standing subscription made that, if one did.
        standing: Option<StandingHandle>,
        /// From which node.
        node: GlobalE2NodeId,
        /// What it says.
        indication: IndicationView,
    },
    /// A control was executed.
    ControlAcknowledged {
        /// Which.
        handle: ControlHandle,
        /// Control outcome of the service model.
        outcome: Option<Bytes>,
    },
    /// A control was not executed, or nobody knows.
    ControlFailed {
        /// Which.
        handle: ControlHandle,
        /// Why.
        failure: Failure,
        /// Control outcome of the service model.
        outcome: Option<Bytes>,
    },
    /// The RIC reports an error that belongs to no request.
    ErrorReported {
        /// What.
        cause: Option<Cause>,
    },
}

/// A subscription cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// There are too many.
    #[error("an xApp has at most {0} subscriptions")]
    TooMany(usize),
    /// The node does not offer it.
    #[error("the node offers no such RAN function")]
    UnknownFunction,
    /// The contents cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// A control cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no RIC at the moment.
    #[error("the xApp is not connected to a RIC")]
    NotReady,
    /// The RIC has not told of such a node.
    #[error("there is no such node")]
    UnknownNode,
    /// The node does not offer it.
    #[error("the node offers no such RAN function")]
    UnknownFunction,
    /// Too many wait for their answer.
    #[error("an xApp has at most {0} unanswered controls")]
    TooMany(usize),
    /// The contents cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}
