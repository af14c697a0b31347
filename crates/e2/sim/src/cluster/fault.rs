//! Faults of the store.
use crate::party::PartyId;
use std::time::Duration;

/// A fault of the store, or of its connection to a RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// The leader stops, and restarts after this long.
    KillLeader(Duration),
    /// A replica stops, and restarts.
    KillServer(usize, Duration),
    /// A replica pauses and resumes; its pending requests wait.
    PauseServer(usize, Duration),
    /// A replica is cut off from the other two.
    Isolate(usize, Duration),
    /// The leader is cut off from the other two, for shorter than an election takes.
    IsolateLeader(Duration),
    /// Two of three replicas stop, and restart.
    LoseQuorum(Duration),
    /// A RIC reaches no replica; its writes arrive when it is connected again, or never.
    Unreachable(PartyId, Duration),
    /// A RIC's watch stops without an error.
    SilentWatch(PartyId),
    /// Half of all responses are lost.
    LoseAnswers(Duration),
    /// Replicas, and their watches, are up to two seconds behind their leader.
    Lag(Duration),
}
