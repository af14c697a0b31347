//! Faults of the store.
use crate::party::PartyId;
use std::time::Duration;

/// Something that goes wrong at the store, or between it and a RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// The leader dies, and comes back after this long.
    KillLeader(Duration),
    /// A replica dies, and comes back.
    KillServer(usize, Duration),
    /// A replica stops and goes on; what waits for it waits.
    PauseServer(usize, Duration),
    /// A replica is cut off from the other two.
    Isolate(usize, Duration),
    /// The leader is cut off from the other two, for shorter than an election takes.
    IsolateLeader(Duration),
    /// Two of three die, and come back.
    LoseQuorum(Duration),
    /// A RIC reaches no replica; what it writes arrives when it does again, or never.
    Unreachable(PartyId, Duration),
    /// A RIC's watch stops without an error.
    SilentWatch(PartyId),
    /// Half of all answers get lost.
    LoseAnswers(Duration),
    /// Replicas, and their watches, are up to two seconds behind their leader.
    Lag(Duration),
}
