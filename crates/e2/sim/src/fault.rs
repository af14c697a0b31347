//! Faults that can occur in a world.
use crate::party::PartyId;
use ranlab_e2::Time;
use std::time::Duration;

/// A fault of a party or connection, or a change of an xApp's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Breaks the n-th connection of a party (modulo the number of its connections). Data in flight is lost, and each
    /// endpoint detects the loss at a different time.
    Cut(PartyId, usize),
    /// Stops a party, which loses all its state, and restarts it. In a polite stop, the system closes the connections
    /// in order. Otherwise each peer detects the loss at a different time.
    Crash {
        /// Party that stops.
        party: PartyId,
        /// Whether connections close in order.
        polite: bool,
        /// Downtime of the party.
        away: Duration,
    },
    /// Pauses a party for a duration. The paused party reads nothing.
    Freeze(PartyId, Duration),
    /// Slows all messages of a party for a duration.
    Throttle {
        /// Party whose messages are slow.
        party: PartyId,
        /// Rate per connection and direction, in bytes per second.
        bytes_per_second: u64,
        /// Duration of the fault.
        lasting: Duration,
    },
    /// Delays all messages of a party for a duration.
    Delay {
        /// Party whose messages are delayed.
        party: PartyId,
        /// Additional delay per message.
        by: Duration,
        /// Duration of the fault.
        lasting: Duration,
    },
    /// Advances a party's clock by a duration, like the clock of a machine that was suspended. The party's timers
    /// expire at once. Its next incarnation has the same clock.
    Jump(PartyId, Duration),
    /// Turns one of an xApp's requests on or off.
    Toggle(PartyId, usize),
}

/// Number and duration of random faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbance {
    /// Start of the first fault.
    pub from: Time,
    /// Latest start of a fault.
    pub until: Time,
    /// Number of faults.
    pub faults: usize,
    /// Longest downtime after a crash.
    pub away: Duration,
    /// Longest duration of a freeze or throttle.
    pub lasting: Duration,
}
