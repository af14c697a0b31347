//! Events of a RIC, for logs and tests. They do not affect its behaviour.
use super::{ConnId, Hint, NorthboundReply, Procedure, ProcedureResult, RanInfo, XappInfo, directory};
use crate::{LinkLoss, Time};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use std::sync::Arc;

/// Event of a RIC, for logs and tests.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RicEvent {
    /// A node completed its setup.
    NodeConnected {
        /// Node.
        node: GlobalE2NodeId,
        /// Remote address.
        peer: Arc<str>,
        /// Whether the node was known, so that its subscriptions are restored.
        restored: bool,
    },
    /// A node disconnected. It is remembered for a time.
    NodeLost {
        /// Node.
        node: GlobalE2NodeId,
        /// Reason.
        why: NodeLoss,
    },
    /// A node was removed.
    NodeRemoved(GlobalE2NodeId),
    /// A base station became complete or incomplete.
    Ran(RanInfo),
    /// An xApp completed its setup.
    XappConnected(XappInfo),
    /// An xApp disconnected.
    XappGone(XappInfo),
    /// A peer violated the protocol.
    Fault {
        /// Connection.
        conn: ConnId,
        /// Remote address.
        peer: Arc<str>,
        /// Description of the fault.
        what: String,
    },
    /// Two controllers set the same parameter.
    Conflict {
        /// Node.
        node: GlobalE2NodeId,
        /// Parameter, as named by the policy.
        target: Arc<str>,
        /// Controller that holds the parameter now: `xapp 7`, `iapp://slicing`, `http://10.0.0.7`.
        winner: Arc<str>,
        /// Controller that lost the parameter or was refused.
        loser: Arc<str>,
    },
    /// Probable cause of a problem with a peer. Sent once per problem.
    Hint(Hint),
    /// A global procedure of the RIC ended.
    Procedure {
        /// Node.
        node: GlobalE2NodeId,
        /// Procedure.
        procedure: Procedure,
        /// Result.
        result: ProcedureResult,
    },
    /// Reply of an iApp to [`Ric::northbound`](super::Ric::northbound).
    Reply(NorthboundReply),
    /// Several RICs: an operation that the driver performs at the shared store. The results are passed to
    /// [`Ric::bus`](super::Ric::bus).
    Bus(directory::StoreRequest),
    /// Several RICs: this RIC owns a node from now on.
    Owned {
        /// Node.
        node: GlobalE2NodeId,
        /// Number of times that the node has changed its owner.
        epoch: u64,
        /// Time of the change.
        at: Time,
    },
    /// Several RICs: this RIC no longer owns a node, whose connection is closed. Follows each [`Owned`](Self::Owned),
    /// unless the node has repeated its setup meanwhile.
    Disowned {
        /// Node.
        node: GlobalE2NodeId,
        /// Reason.
        why: String,
        /// Time of the change.
        at: Time,
    },
    /// Several RICs: the lease was acquired or has expired. Without a lease controls are refused.
    Lawful {
        /// Whether the lease is valid.
        lawful: bool,
        /// Time of the change. For an expired lease this is its expiry, even if it was detected later.
        at: Time,
    },
    /// Several RICs: all nodes have been handed over.
    Drained,
    /// Several RICs: the snapshot of an iApp was not stored or not accepted. The iApp starts without it.
    NotTaken {
        /// Name of the iApp.
        iapp: Arc<str>,
        /// Node of the snapshot; `None` if it concerns no node.
        node: Option<GlobalE2NodeId>,
        /// Reason.
        why: super::SnapshotError,
    },
    /// Several RICs: a server of the shared store has become reachable or unreachable, with the reason. The driver
    /// keeps trying.
    Reach(Result<(), String>),
}

/// Reason why a node disconnected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeLoss {
    /// The connection was lost.
    #[error(transparent)]
    Lost(LinkLoss),
    /// The RIC closed the connection.
    #[error("closed: {0}")]
    Closed(String),
    /// The connection serves a different node now.
    #[error("a different node was set up on this connection")]
    Renamed,
}
