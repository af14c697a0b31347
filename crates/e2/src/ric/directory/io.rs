//! What goes into a directory and what comes out.
use crate::Time;
use crate::ric::ConnId;
use bytes::Bytes;
use ranlab_wire::e2ap::GlobalE2NodeId;

/// A write under way; never used twice in the life of a RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteId(pub u64);

/// A write to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusWrite {
    /// Comes back with the outcome.
    pub id: WriteId,
    /// Letters, digits and `-_/=.`.
    pub key: String,
    /// The value: text.
    pub value: Bytes,
    /// The revision that the key must have, 0 for none; whatever it has, if absent.
    pub expected: Option<u64>,
}

/// Why a write has no revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteFailure {
    /// The key has another revision than the expected one: nothing was written.
    #[error("the key was revised meanwhile")]
    Revised,
    /// The store has no leader, or cannot be reached: nothing was written.
    #[error("the store takes no writes")]
    Unavailable,
    /// No answer came. It may be written, now or later.
    #[error("no answer came")]
    Unknown,
}

/// What a driver is asked to do at the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusAsk {
    /// Write; [`BusNews::Written`] follows, or nothing.
    Write(BusWrite),
    /// Watch all keys, in place of the watch that there may be.
    Watch,
}

/// What a driver tells of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusNews {
    /// A watch begins: what there is follows, in the order of its revisions, then [`Complete`](Self::Complete), then changes.
    Began,
    /// A key has this value. A key that was deleted has an empty one.
    Entry {
        /// Which.
        key: String,
        /// Number of the write among all writes.
        revision: u64,
        /// What was written.
        value: Bytes,
    },
    /// All that there was when the watch began has been told. A store that cannot say so need not: a sign of life that was written
    /// after the beginning says it as well.
    Complete,
    /// What became of a write.
    Written {
        /// Which.
        id: WriteId,
        /// Its revision.
        outcome: Result<u64, WriteFailure>,
    },
    /// The driver has a server and the store there; what was watched is to be watched anew.
    There,
    /// The driver has none, or has lost it, and goes on trying. Each try that fails is told.
    Away {
        /// Why, in words.
        why: String,
    },
}

/// What a directory is told.
#[derive(Debug, Clone)]
pub enum DirectoryInput {
    /// A node asks to be set up on a connection.
    Asked {
        /// Where.
        conn: ConnId,
        /// Who.
        node: GlobalE2NodeId,
    },
    /// That connection is gone, or serves another node.
    Left {
        /// Which.
        conn: ConnId,
    },
    /// News of the store.
    Bus(BusNews),
    /// Begin to hand all nodes over.
    Drain,
    /// The RIC ends: what follows is its last sign of life.
    End,
    /// Time has passed.
    Wake,
}

/// Why a node is not set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The store has no quorum, or this RIC is not part of it.
    #[error("this RIC has no part in a quorum")]
    NoQuorum,
    /// The directory took too long.
    #[error("the directory took too long")]
    TooLong,
    /// The RIC hands its nodes over.
    #[error("this RIC is drained; {}", .elsewhere.as_deref().unwrap_or("no other one is there"))]
    Drained {
        /// Where another RIC takes base stations.
        elsewhere: Option<String>,
    },
    /// Another RIC has this one's name.
    #[error("another RIC has this one's name")]
    Ousted,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryOutput {
    /// For the store.
    Bus(BusAsk),
    /// Accept the setup: the node is this RIC's from now on.
    Admit {
        /// On which connection.
        conn: ConnId,
        /// Whose.
        node: GlobalE2NodeId,
        /// How often the node has changed hands.
        epoch: u64,
    },
    /// Refuse the setup.
    Refuse {
        /// On which connection.
        conn: ConnId,
        /// Why.
        why: NotAdmitted,
    },
    /// Close the connection: the node is this RIC's no more.
    Close {
        /// Which.
        conn: ConnId,
        /// Whose.
        node: GlobalE2NodeId,
        /// Why.
        why: String,
    },
    /// The claim for a node has changed; the key is [`node_key`](super::node_key)'s.
    Moved {
        /// Which key.
        key: String,
    },
    /// RICs came, went, or moved.
    Rics,
    /// The RIC may command what it holds, or may no more.
    Lawful {
        /// Whether it may.
        lawful: bool,
        /// From when.
        at: Time,
    },
    /// All nodes are handed over.
    Drained,
    /// A server of the store is there, or there is none any more and why. Told once for each time.
    Reach(Result<(), String>),
}
