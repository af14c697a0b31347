//! Faults that a world can have.
use crate::party::PartyId;
use ranlab_e2::Time;
use std::time::Duration;

/// Something that goes wrong, or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A connection of a party breaks (its n-th, round and round); what is under way is lost, each end learns of it in
    /// its own time.
    Cut(PartyId, usize),
    /// A party dies with all that it knew, and comes back. A polite death leaves it to the system to end the
    /// connections in order; otherwise the peers learn in their own time.
    Crash {
        /// Who.
        party: PartyId,
        /// Whether connections close in order.
        polite: bool,
        /// Downtime.
        away: Duration,
    },
    /// A party does nothing for a while, and reads nothing.
    Freeze(PartyId, Duration),
    /// All that a party sends and receives is slow for a while.
    Throttle {
        /// Who.
        party: PartyId,
        /// Per connection and direction.
        bytes_per_second: u64,
        /// For how long.
        lasting: Duration,
    },
    /// All that a party sends and receives comes later for a while.
    Delay {
        /// Who.
        party: PartyId,
        /// By how much.
        by: Duration,
        /// For how long.
        lasting: Duration,
    },
    /// A party's clock jumps forward by this time, like the clock of a machine that was suspended: its timers
    /// expire at once. Its next life has the same clock.
    Jump(PartyId, Duration),
    /// An xApp turns one of its wishes on or off.
    Toggle(PartyId, usize),
}

/// Rates of random faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbance {
    /// From when.
    pub from: Time,
    /// Until when the last fault begins.
    pub until: Time,
    /// Number of faults.
    pub faults: usize,
    /// Longest absence after a crash.
    pub away: Duration,
    /// Longest freeze and throttle.
    pub lasting: Duration,
}
