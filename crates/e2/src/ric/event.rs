//! What a RIC tells: for people and tests, no policy depends on it.
use super::{ConnId, Hint, NorthboundReply, Procedure, ProcedureResult, RanInfo, XappInfo, directory};
use crate::{LinkLoss, Time};
use ranlab_wire::e2ap::GlobalE2NodeId;
use std::sync::Arc;

/// What happened, for people and tests; no policy depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RicEvent {
    /// A node was set up.
    NodeConnected {
        /// Who.
        node: GlobalE2NodeId,
        /// From where.
        peer: Arc<str>,
        /// Whether it was known, so that its subscriptions were restored.
        restored: bool,
    },
    /// A node's connection is gone; the node is remembered for a while.
    NodeLost {
        /// Whose.
        node: GlobalE2NodeId,
        /// Why.
        why: NodeLoss,
    },
    /// A node is forgotten.
    NodeRemoved(GlobalE2NodeId),
    /// A base station became complete or incomplete.
    Ran(RanInfo),
    /// An xApp was set up.
    XappConnected(XappInfo),
    /// An xApp is gone.
    XappGone(XappInfo),
    /// A peer sent what it should not.
    Fault {
        /// Where.
        conn: ConnId,
        /// Who.
        peer: Arc<str>,
        /// What.
        what: String,
    },
    /// Two set the same parameter.
    Conflict {
        /// Where.
        node: GlobalE2NodeId,
        /// What, in the policy's words.
        target: Arc<str>,
        /// Who has it now: `xapp 7`, `iapp://slicing`, `http://10.0.0.7`.
        winner: Arc<str>,
        /// Who has it no more, or does not get it.
        loser: Arc<str>,
    },
    /// What is likely wrong with a peer; told when it is new.
    Hint(Hint),
    /// A global procedure of the RIC ended.
    Procedure {
        /// At which node.
        node: GlobalE2NodeId,
        /// Which.
        procedure: Procedure,
        /// How.
        result: ProcedureResult,
    },
    /// An iApp's reply to [`Ric::northbound`](super::Ric::northbound).
    Reply(NorthboundReply),
    /// Among several RICs: something to do at their store, for a driver; [`Ric::bus`](super::Ric::bus) takes the news.
    Bus(directory::BusAsk),
    /// Among several RICs: a node is this one's now.
    Owned {
        /// Which.
        node: GlobalE2NodeId,
        /// How often it has changed hands.
        epoch: u64,
        /// From when, by the machine's time.
        at: Time,
    },
    /// Among several RICs: a node is this one's no more, and its connection closed or gone. One follows each [`Owned`](Self::Owned),
    /// but where the node has set itself up anew meanwhile.
    Disowned {
        /// Which.
        node: GlobalE2NodeId,
        /// Why.
        why: String,
        /// From when.
        at: Time,
    },
    /// Among several RICs: whether this one has a part in the quorum; without it controls are refused.
    Lawful {
        /// Whether it has.
        lawful: bool,
        /// From when: of a lease that has run out, when it did, however late that was noticed.
        at: Time,
    },
    /// Among several RICs: all nodes are handed over.
    Drained,
    /// Among several RICs: what an iApp knows of a node, or of none, is not handed over, or what was handed over is not taken; it begins with
    /// nothing.
    NotTaken {
        /// The iApp's name.
        iapp: Arc<str>,
        /// Which node.
        node: Option<GlobalE2NodeId>,
        /// Why.
        why: super::NotTaken,
    },
    /// Among several RICs: a server of their store is there, or none is any more and why; trying goes on.
    Reach(Result<(), String>),
}

/// Why a node has no connection any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeLoss {
    /// It was lost.
    #[error(transparent)]
    Lost(LinkLoss),
    /// The RIC closed it.
    #[error("closed: {0}")]
    Closed(String),
    /// It serves another node now.
    #[error("its connection was set up for another node")]
    Renamed,
}
