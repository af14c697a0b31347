//! Inputs, outputs and events of an agent.
use super::SubscriptionId;
use crate::{LinkLoss, OutboxFull, Time};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    Cause, CriticalityDiagnostics, GlobalRicId, RanFunctionId, RanFunctionIdCauseItem, RicRequestId,
};
use ranlab_e2_codec::per::EncodeError;
use std::fmt;
use std::time::Duration;

/// Identifier of a controller, assigned in the order of addition. The first one that is still present is the default
/// controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControllerId(pub u32);

impl fmt::Display for ControllerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "controller {}", self.0)
    }
}

/// Input of an agent.
#[derive(Debug, Clone)]
pub enum AgentInput {
    /// A requested connection has been established.
    Connected {
        /// Controller.
        controller: ControllerId,
    },
    /// A complete PDU was received.
    Received {
        /// Controller that sent it.
        controller: ControllerId,
        /// Bytes of the PDU.
        pdu: Bytes,
    },
    /// The connection was lost or could not be established. Must not be passed after [`AgentOutput::Close`].
    Disconnected {
        /// Controller.
        controller: ControllerId,
        /// Reason observed by the driver.
        why: LinkLoss,
    },
    /// The time has advanced; nothing else happened.
    Wake,
}

/// Output of an agent: an action for the driver, or an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOutput {
    /// Connect. The driver reports the result as [`AgentInput::Connected`] or [`AgentInput::Disconnected`].
    Connect {
        /// Controller.
        controller: ControllerId,
        /// Address as passed to the agent.
        address: String,
    },
    /// Send the frames that [`Agent::transmit`](super::Agent::transmit) returns.
    Transmit {
        /// Controller.
        controller: ControllerId,
    },
    /// Close the connection, or stop connecting, after sending all frames that
    /// [`Agent::transmit`](super::Agent::transmit) returned before.
    Close {
        /// Controller.
        controller: ControllerId,
        /// Reason.
        reason: CloseReason,
    },
    /// Event for the application.
    Event(AgentEvent),
}

/// Reason why an agent closes a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Connecting took longer than the timeout.
    #[error("the connection attempt timed out")]
    ConnectTimeout,
    /// The controller did not respond to a procedure.
    #[error("the controller did not respond to the {0}")]
    Unanswered(Procedure),
    /// The controller sent bytes that are not E2AP before any setup completed.
    #[error("the controller does not send E2AP: {0}")]
    NotE2ap(String),
    /// The PDU of the controller exceeds the limit.
    #[error("the controller sent a PDU of {len} bytes (limit {limit})")]
    TooLong {
        /// Length of the PDU, in bytes.
        len: usize,
        /// Limit, in bytes.
        limit: usize,
    },
    /// The controller does not read from the connection.
    #[error(transparent)]
    OutboxFull(#[from] OutboxFull),
    /// The controller redirected the agent to another address.
    #[error("the controller redirected the agent to {0}")]
    Redirected(String),
    /// The controller refused the setup and has further addresses to try.
    #[error("the controller refused the setup at this address; its next address will be tried")]
    NextAddress,
    /// The controller refused an update of the node.
    #[error("the controller refused the {0}")]
    Refused(Procedure),
    /// The setup request cannot be encoded in the configured version; the configuration is invalid.
    #[error("the setup request cannot be encoded: {0}")]
    SetupImpossible(EncodeError),
    /// The controller was removed.
    #[error("the controller was removed")]
    Removed,
}

/// Reason why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisconnectReason {
    /// The connection was lost or could not be established.
    #[error(transparent)]
    Lost(LinkLoss),
    /// The agent closed the connection.
    #[error("closed: {0}")]
    Closed(CloseReason),
}

/// A procedure that an agent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Procedure {
    /// E2 setup.
    Setup,
    /// RIC service update.
    ServiceUpdate,
    /// E2 node configuration update.
    ConfigurationUpdate,
    /// Reset.
    Reset,
    /// E2 removal.
    Removal,
    /// RIC subscription modification required, for one subscription.
    ModificationRequired(SubscriptionId),
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Setup => "E2 setup",
            Self::ServiceUpdate => "RIC service update",
            Self::ConfigurationUpdate => "E2 node configuration update",
            Self::Reset => "reset",
            Self::Removal => "E2 removal",
            Self::ModificationRequired(_) => "RIC subscription modification required",
        })
    }
}

/// Event of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A controller was added by the application or by another controller.
    ControllerAdded {
        /// Controller.
        controller: ControllerId,
        /// Address.
        address: String,
    },
    /// A controller was removed. No further event refers to it.
    ControllerRemoved {
        /// Controller.
        controller: ControllerId,
    },
    /// A controller accepted the setup.
    SetupComplete {
        /// Controller.
        controller: ControllerId,
        /// Identity of the RIC.
        ric_id: GlobalRicId,
        /// Functions that the controller rejected.
        rejected: Vec<RanFunctionIdCauseItem>,
    },
    /// A controller refused the setup.
    SetupFailed {
        /// Controller.
        controller: ControllerId,
        /// Cause, if the controller sent one.
        cause: Option<Cause>,
        /// Time until the next attempt.
        retry_in: Duration,
    },
    /// A connection was lost or could not be established.
    Disconnected {
        /// Controller.
        controller: ControllerId,
        /// Reason.
        why: DisconnectReason,
        /// Time until the next attempt.
        retry_in: Duration,
    },
    /// A subscription was admitted.
    Subscribed {
        /// Controller.
        controller: ControllerId,
        /// Id of the subscription in the agent.
        subscription: SubscriptionId,
        /// Request id chosen by the controller.
        request_id: RicRequestId,
        /// RAN function.
        function: RanFunctionId,
    },
    /// A subscription ended: it was deleted, the interface was reset, or the connection was lost.
    Unsubscribed {
        /// Controller.
        controller: ControllerId,
        /// Id of the subscription in the agent.
        subscription: SubscriptionId,
    },
    /// The interface was reset.
    Reset {
        /// Controller.
        controller: ControllerId,
        /// Whether the controller initiated the reset.
        by_controller: bool,
        /// Cause.
        cause: Cause,
    },
    /// A controller sent an error indication.
    ErrorReported {
        /// Controller.
        controller: ControllerId,
        /// Cause, if the controller sent one.
        cause: Option<Cause>,
        /// Diagnostics about the message that caused the error.
        diagnostics: Option<CriticalityDiagnostics>,
    },
    /// A controller refused a procedure.
    ProcedureRefused {
        /// Controller.
        controller: ControllerId,
        /// Refused procedure.
        procedure: Procedure,
        /// Cause, if the controller sent one.
        cause: Option<Cause>,
    },
    /// A controller sent a PDU that cannot be decoded or is not expected.
    PduRefused {
        /// Controller.
        controller: ControllerId,
        /// Description of the fault.
        reason: String,
    },
}

/// Reason why a RAN function cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another function has this id.
    #[error("RAN function id {0} is already in use")]
    IdTaken(RanFunctionId),
    /// The id exceeds the maximum.
    #[error("RAN function id {0} is outside 0..4095")]
    IdOutOfRange(RanFunctionId),
    /// The limit of functions is reached.
    #[error("an agent can have at most {0} RAN functions")]
    TooMany(usize),
    /// The description cannot be encoded.
    #[error("a RAN function must have an OID of 1 to 1000 characters and a revision of at most 4095")]
    BadDescription,
}

/// Reason why a controller cannot be added, removed or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// The limit of controllers is reached.
    #[error("an agent can have at most {0} controllers")]
    TooMany(usize),
    /// The controller was added before.
    #[error("{0} already has this address")]
    AlreadyThere(ControllerId),
    /// The controller does not exist.
    #[error("{0} does not exist")]
    Unknown(ControllerId),
    /// The list of addresses is empty or too long.
    #[error("a controller must have 1 to {0} addresses")]
    Addresses(usize),
    /// The address is empty or too long.
    #[error("a controller's address must have 1 to {0} bytes")]
    BadAddress(usize),
    /// The setup with the controller is not complete.
    #[error("{0} is not set up")]
    NotSetUp(ControllerId),
}

/// Reason why a setup failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupFailure {
    /// The controller refused the setup.
    Refused {
        /// Cause, if the controller sent one.
        cause: Option<Cause>,
        /// Time of the next attempt.
        retry_at: Time,
    },
    /// The controller did not respond. After each timeout the agent closes the association and connects again.
    Unanswered {
        /// Number of setups in a row without a response.
        times: u32,
    },
    /// The controller answered with bytes that are not an E2AP message, or with the transaction id of another request.
    Unreadable {
        /// Description of the fault, with the name of the element.
        reason: String,
    },
}
