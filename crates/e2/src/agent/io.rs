//! What goes into an agent and what comes out.
use super::SubscriptionId;
use crate::{LinkLoss, OutboxFull, Time};
use bytes::Bytes;
use ranlab_wire::e2ap::{
    Cause, CriticalityDiagnostics, GlobalRicId, RanFunctionId, RanFunctionIdCauseItem, RicRequestId,
};
use ranlab_wire::per::EncodeError;
use std::fmt;
use std::time::Duration;

/// A controller of an agent: the number of its addition. The first that is still there is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControllerId(pub u32);

impl fmt::Display for ControllerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "controller {}", self.0)
    }
}

/// What happened.
#[derive(Debug, Clone)]
pub enum AgentInput {
    /// The connection asked for is there.
    Connected {
        /// Whose.
        controller: ControllerId,
    },
    /// A whole PDU came.
    Received {
        /// From whom.
        controller: ControllerId,
        /// Its octets.
        pdu: Bytes,
    },
    /// The connection is lost, or could not be made. Not to be told after [`AgentOutput::Close`].
    Disconnected {
        /// Whose.
        controller: ControllerId,
        /// Why, as the driver has seen it.
        why: LinkLoss,
    },
    /// Time has passed.
    Wake,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOutput {
    /// Connect; answered by [`AgentInput::Connected`] or [`AgentInput::Disconnected`].
    Connect {
        /// For whom.
        controller: ControllerId,
        /// To where, as it was given to the agent.
        address: String,
    },
    /// Take frames with [`Agent::transmit`](super::Agent::transmit) as long as there are any.
    Transmit {
        /// For whom.
        controller: ControllerId,
    },
    /// Close the connection, or stop trying to make it, after sending what [`Agent::transmit`](super::Agent::transmit)
    /// gave before.
    Close {
        /// Whose.
        controller: ControllerId,
        /// Why.
        reason: CloseReason,
    },
    /// For whoever embeds the agent.
    Event(AgentEvent),
}

/// Why an agent closes a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Connecting took too long.
    #[error("connecting takes too long")]
    ConnectTimeout,
    /// The controller leaves a procedure unanswered.
    #[error("the controller leaves the {0} unanswered")]
    Unanswered(Procedure),
    /// The controller's bytes are no E2AP, before any setup.
    #[error("the controller does not speak E2AP: {0}")]
    NotE2ap(String),
    /// The controller's PDU is too long.
    #[error("the controller sent a PDU of {len} octets (limit {limit})")]
    TooLong {
        /// Its octets.
        len: usize,
        /// The bound.
        limit: usize,
    },
    /// The controller does not read.
    #[error(transparent)]
    OutboxFull(#[from] OutboxFull),
    /// The controller sent the agent elsewhere.
    #[error("the controller asks to connect to {0} instead")]
    Redirected(String),
    /// The controller refused the setup, and may be elsewhere, too.
    #[error("the controller refuses here: its next address is tried")]
    NextAddress,
    /// The controller refused an update of the node.
    #[error("the controller refuses the {0}")]
    Refused(Procedure),
    /// The node cannot introduce itself in the version configured: the configuration is at fault.
    #[error("the setup cannot be expressed: {0}")]
    SetupImpossible(EncodeError),
    /// The controller was removed.
    #[error("the controller was removed")]
    Removed,
}

/// Why there is no connection any more, or none yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DisconnectReason {
    /// It was lost or could not be made.
    #[error(transparent)]
    Lost(LinkLoss),
    /// The agent closed it.
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
    /// RIC subscription modification required.
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

/// Something worth telling.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A controller was added, by the embedder or by a controller.
    ControllerAdded {
        /// Which.
        controller: ControllerId,
        /// Where it is.
        address: String,
    },
    /// A controller was removed; nothing more comes from it.
    ControllerRemoved {
        /// Which.
        controller: ControllerId,
    },
    /// A controller accepted the node.
    SetupComplete {
        /// Which.
        controller: ControllerId,
        /// Its identity.
        ric_id: GlobalRicId,
        /// Functions that it does not want.
        rejected: Vec<RanFunctionIdCauseItem>,
    },
    /// A controller refused the node.
    SetupFailed {
        /// Which.
        controller: ControllerId,
        /// Why, if it said so.
        cause: Option<Cause>,
        /// When the agent tries again.
        retry_in: Duration,
    },
    /// A connection is lost or could not be made.
    Disconnected {
        /// Whose.
        controller: ControllerId,
        /// Why.
        why: DisconnectReason,
        /// When the agent tries again.
        retry_in: Duration,
    },
    /// A subscription was admitted.
    Subscribed {
        /// By whom.
        controller: ControllerId,
        /// Its number in the agent.
        subscription: SubscriptionId,
        /// The controller's request id.
        request_id: RicRequestId,
        /// Of which function.
        function: RanFunctionId,
    },
    /// A subscription is gone: deleted, reset, or its connection lost.
    Unsubscribed {
        /// By whom.
        controller: ControllerId,
        /// Its number in the agent.
        subscription: SubscriptionId,
    },
    /// The interface was reset.
    Reset {
        /// Towards whom.
        controller: ControllerId,
        /// Whether the controller wanted it.
        by_controller: bool,
        /// Why.
        cause: Cause,
    },
    /// A controller reports an error.
    ErrorReported {
        /// Which.
        controller: ControllerId,
        /// What.
        cause: Option<Cause>,
        /// About which message.
        diagnostics: Option<CriticalityDiagnostics>,
    },
    /// A controller refused a procedure.
    ProcedureRefused {
        /// Which.
        controller: ControllerId,
        /// What.
        procedure: Procedure,
        /// Why, if it said so.
        cause: Option<Cause>,
    },
    /// A controller sent what is no message, or none that fits.
    PduRefused {
        /// Which.
        controller: ControllerId,
        /// What was wrong with it.
        reason: String,
    },
}

/// A RAN function cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The id is taken.
    #[error("RAN function id {0} is taken")]
    IdTaken(RanFunctionId),
    /// The id is too large.
    #[error("RAN function id {0} is outside 0..4095")]
    IdOutOfRange(RanFunctionId),
    /// There are too many.
    #[error("an agent has at most {0} RAN functions")]
    TooMany(usize),
    /// Its description cannot be sent.
    #[error("a RAN function needs an OID of 1 to 1000 characters and a revision of at most 4095")]
    BadDescription,
}

/// A controller cannot be added, removed or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// There are too many.
    #[error("an agent has at most {0} controllers")]
    TooMany(usize),
    /// It is there already.
    #[error("{0} has that address already")]
    AlreadyThere(ControllerId),
    /// There is no such controller.
    #[error("there is no {0}")]
    Unknown(ControllerId),
    /// It has no address, or too many.
    #[error("a controller has 1 to {0} addresses")]
    Addresses(usize),
    /// Its address is empty or too long.
    #[error("a controller's address has 1 to {0} octets")]
    BadAddress(usize),
    /// It is not set up.
    #[error("{0} is not set up")]
    NotSetUp(ControllerId),
}

/// Why a setup failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupFailure {
    /// The controller refused it.
    Refused {
        /// Why, if it said so.
        cause: Option<Cause>,
        /// When the agent tries again.
        retry_at: Time,
    },
    /// The controller did not answer; each time the agent gives the association up and connects again.
    Unanswered {
        /// Setups in a row without an answer.
        times: u32,
    },
    /// The controller answered with bytes that are not an E2AP message.
    Unreadable {
        /// The fault, with the element's name.
        reason: String,
    },
}
