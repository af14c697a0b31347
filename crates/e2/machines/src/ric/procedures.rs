//! Outstanding global procedures of the RIC at a node.
use crate::Time;
use ranlab_e2_codec::e2ap::*;
use std::collections::BTreeMap;

/// A global procedure that the RIC starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Procedure {
    /// Reset. Subscriptions are requested again.
    Reset,
    /// Connection update: the node adds, modifies or removes connections to controllers.
    ConnectionUpdate,
    /// Removal: the node disconnects and is forgotten.
    Removal,
}

/// Result of a global procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcedureResult {
    /// The node executed it.
    Done,
    /// The node set up some of the connections, but not these.
    Partly(Vec<E2ConnectionSetupFailedItem>),
    /// The node refused.
    Refused(Option<Cause>),
    /// The node did not respond.
    TimedOut,
    /// The node disconnected.
    Lost,
}

/// Reason why the RIC could not start a procedure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcedureError {
    /// The node is not connected.
    #[error("no node {0} is connected")]
    NoNode(GlobalE2NodeId),
    /// The limit of outstanding procedures is reached.
    #[error("{0} procedures are outstanding at the node, which is the maximum")]
    TooMany(usize),
    /// The node's version does not define the procedure.
    #[error("{0}")]
    NotInVersion(#[from] ranlab_e2_codec::per::EncodeError),
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) procedure: Procedure,
    pub(super) message: Message,
    pub(super) tries: u32,
    pub(super) deadline: Time,
}

/// Outstanding procedures of the RIC at one node, by transaction id. v1.01 has no such ids on the wire; a response
/// then belongs to the oldest procedure of its type.
#[derive(Debug, Default)]
pub(super) struct Procedures {
    pub(super) pending: BTreeMap<TransactionId, Pending>,
    last: TransactionId,
}

impl Procedures {
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn next_id(&mut self) -> TransactionId {
        loop {
            self.last = (self.last + 1) % 256;
            if !self.pending.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    pub(super) fn take(
        &mut self,
        id: Option<TransactionId>,
        procedure: Procedure,
    ) -> Option<(TransactionId, Pending)> {
        let matches = |(key, p): (&TransactionId, &Pending)| {
            (p.procedure == procedure && id.is_none_or(|id| id == *key)).then_some(*key)
        };
        let key = self.pending.iter().find_map(matches)?;
        Some((key, self.pending.remove(&key)?))
    }
}
