//! Faults of the shared store.
use crate::party::PartyId;
use std::time::Duration;

/// A fault of the store, or of a RIC's connection to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// The leader stops, and restarts after this time.
    KillLeader(Duration),
    /// A replica stops, and restarts after this time.
    KillServer(usize, Duration),
    /// A replica pauses, and resumes after this time. Its pending requests wait.
    PauseServer(usize, Duration),
    /// A replica is cut off from the other two for this time.
    Isolate(usize, Duration),
    /// The leader is cut off from the other two, for less time than an election takes.
    IsolateLeader(Duration),
    /// Two of three replicas stop, and restart after this time.
    LoseQuorum(Duration),
    /// A RIC cannot reach any replica for this time. Its writes arrive when it is connected again, or never.
    Unreachable(PartyId, Duration),
    /// A RIC's watch stops without an error.
    SilentWatch(PartyId),
    /// Half of all responses are lost for this time.
    LoseAnswers(Duration),
    /// Replicas and their watches are up to two seconds behind their leader for this time.
    Lag(Duration),
}
