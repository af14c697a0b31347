//! Faults that a world can have.
use crate::party::PartyId;
use ranlab_e2::Time;
use std::time::Duration;

/// A fault, or a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The n-th connection of a party breaks (modulo their number). Data in flight is lost, and each endpoint
    /// detects it at its own time.
    Cut(PartyId, usize),
    /// A party dies with all its state, and restarts. In a polite death the system closes the connections in
    /// order; otherwise the peers detect it at their own time.
    Crash {
        /// The party.
        party: PartyId,
        /// Whether connections close in order.
        polite: bool,
        /// Downtime.
        away: Duration,
    },
    /// A party pauses for a while, and reads nothing.
    Freeze(PartyId, Duration),
    /// All messages of a party are slow for a while.
    Throttle {
        /// The party.
        party: PartyId,
        /// Per connection and direction.
        bytes_per_second: u64,
        /// Duration.
        lasting: Duration,
    },
    /// All messages of a party are delayed for a while.
    Delay {
        /// The party.
        party: PartyId,
        /// Additional delay.
        by: Duration,
        /// Duration.
        lasting: Duration,
    },
    /// A party's clock jumps forward by this time, like the clock of a machine that was suspended: its timers
    /// expire at once. Its next incarnation has the same clock.
    Jump(PartyId, Duration),
    /// An xApp turns one of its requests on or off.
    Toggle(PartyId, usize),
}

/// Rates of random faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbance {
    /// Start of the first fault.
    pub from: Time,
    /// Latest start of a fault.
    pub until: Time,
    /// Number of faults.
    pub faults: usize,
    /// Longest absence after a crash.
    pub away: Duration,
    /// Longest freeze and throttle.
    pub lasting: Duration,
}
