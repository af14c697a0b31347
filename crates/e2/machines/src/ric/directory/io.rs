//! Inputs and outputs of a directory.
use crate::Time;
use crate::ric::ConnId;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;

/// Identifier of a write, unique for the lifetime of a RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteId(pub u64);

/// A write to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusWrite {
    /// Identifier, returned with the result.
    pub id: WriteId,
    /// Key: letters, digits and `-_/=.`.
    pub key: String,
    /// Value, as text.
    pub value: Bytes,
    /// Revision that the key must have, 0 if it must not exist. `None` writes unconditionally.
    pub expected: Option<u64>,
}

/// Reason why a write has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteFailure {
    /// The key has a revision other than the expected one. Nothing was written.
    #[error("the key has a newer revision than expected")]
    Revised,
    /// The store has no leader or is unreachable. Nothing was written.
    #[error("the store does not accept writes")]
    Unavailable,
    /// No response arrived. The value may be written, now or later.
    #[error("no response arrived")]
    Unknown,
}

/// Operation that a driver performs at the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreRequest {
    /// Write a value. [`StoreEvent::Written`] may follow.
    Write(BusWrite),
    /// Watch all keys. Replaces an earlier watch.
    Watch,
}

/// Notification from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreEvent {
    /// A watch has started. The existing entries follow in the order of their revisions, then
    /// [`Complete`](Self::Complete), then changes.
    Began,
    /// A key has this value. The value is empty if the key was deleted.
    Entry {
        /// Key.
        key: String,
        /// Revision: number of the write among all writes.
        revision: u64,
        /// Value.
        value: Bytes,
    },
    /// All entries that existed when the watch started have been reported. Optional: a heartbeat written after the
    /// start of the watch proves the same.
    Complete,
    /// A write has completed or failed.
    Written {
        /// Write.
        id: WriteId,
        /// New revision, or the reason of the failure.
        outcome: Result<u64, WriteFailure>,
    },
    /// The driver is connected to a server of the store. The watch must be restarted.
    There,
    /// The driver is not connected, and keeps trying. Sent for each failed attempt.
    Away {
        /// Reason, as text.
        why: String,
    },
}

/// Input of a directory.
#[derive(Debug, Clone)]
pub enum DirectoryInput {
    /// A node requests a setup on a connection.
    Asked {
        /// Connection.
        conn: ConnId,
        /// Node.
        node: GlobalE2NodeId,
    },
    /// A connection was closed, or serves a different node now.
    Left {
        /// Connection.
        conn: ConnId,
    },
    /// Notification from the store.
    Bus(StoreEvent),
    /// Start to hand over all nodes.
    Drain,
    /// The RIC shuts down. Its last heartbeat follows.
    End,
    /// The time has advanced; nothing else happened.
    Wake,
}

/// Reason why a setup is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The store has no quorum, or this RIC is not connected to it.
    #[error("this RIC has no connection to a quorum of the store")]
    NoQuorum,
    /// The directory's decision took too long.
    #[error("the directory did not decide in time")]
    TooLong,
    /// The RIC is draining.
    #[error("this RIC is draining; {}", .elsewhere.as_deref().unwrap_or("no other RIC accepts base stations"))]
    Drained {
        /// Address of another RIC that accepts base stations.
        elsewhere: Option<String>,
    },
    /// Another RIC uses the same name.
    #[error("another RIC uses the name of this RIC")]
    Ousted,
}

/// Output of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryOutput {
    /// Operation for the store.
    Bus(StoreRequest),
    /// Accept the setup: this RIC owns the node from now on.
    Admit {
        /// Connection.
        conn: ConnId,
        /// Node.
        node: GlobalE2NodeId,
        /// Number of times that the node has changed its owner.
        epoch: u64,
    },
    /// Refuse the setup.
    Refuse {
        /// Connection.
        conn: ConnId,
        /// Reason.
        why: NotAdmitted,
    },
    /// Close the connection: this RIC no longer owns the node.
    Close {
        /// Connection.
        conn: ConnId,
        /// Node.
        node: GlobalE2NodeId,
        /// Reason.
        why: String,
    },
    /// The claim for a node has changed. The key has the format of [`node_key`](super::node_key).
    Moved {
        /// Key.
        key: String,
    },
    /// Other RICs appeared, disappeared, or changed their addresses.
    Rics,
    /// The lease was acquired or has expired.
    Lawful {
        /// Whether the RIC may control its nodes.
        lawful: bool,
        /// Time of the change.
        at: Time,
    },
    /// All nodes have been handed over.
    Drained,
    /// A server of the store has become reachable or unreachable, with the reason. Sent once per change.
    Reach(Result<(), String>),
}
