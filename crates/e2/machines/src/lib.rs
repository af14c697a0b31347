//! E2 protocol logic as sans-I/O state machines. Inputs are the time and received bytes; outputs are bytes, events
//! and the next deadline.
//!
//! All three machines have the same interface. A driver (the `sdk` on sockets, the `sim` in virtual time, a C
//! program):
//!
//! 1. reports what happened with `handle(now, Input)`: connected, received, disconnected, or only that time has
//!    passed;
//! 2. calls `poll()` until it returns `None`, and executes its outputs: connect, close, events, and
//!    `Transmit(connection)`;
//! 3. after `Transmit`, takes frames with `transmit(now, connection)` as long as the transport accepts them (the rest
//!    stays in the machine's bounded [`Outbox`], which drops the oldest indications first);
//! 4. calls `handle(now, Wake)` no later than `wake_at()`.
//!
//! | machine | feature | protocol |
//! |---|---|---|
//! | `agent::Agent` | `agent` | E2 from a base station towards one or several controllers |
//! | `ric::Ric` | `ric` | E2 towards base stations, E42 towards xApps, `IApp`s inside |
//! | `xapp::Xapp` | `xapp` | E42 from an xApp towards a RIC |
//!
//! The agent does not depend on the RIC, nor the RIC on the agent.
#![deny(missing_docs)]

/// Adds `with` to configurations and limits that may get more fields. Callers change some fields and keep the other
/// defaults.
macro_rules! changed_by {
    ($($config:ty),+) => {$(
        impl $config {
            /// Returns a changed copy: `default().with(|it| it.field = value)`.
            pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
                change(&mut self);
                self
            }
        }
    )+};
}

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(any(feature = "agent", feature = "xapp"))]
mod backoff;
#[cfg(any(feature = "agent", feature = "ric", feature = "xapp"))]
mod coding;
pub mod effect;
#[cfg(any(feature = "agent", feature = "ric"))]
pub mod fingerprint;
#[cfg(feature = "agent")]
pub mod functions;
mod outbox;
#[cfg(feature = "ric")]
pub mod ric;
#[cfg(feature = "xapp")]
pub mod xapp;

#[cfg(any(feature = "agent", feature = "xapp"))]
pub use backoff::RECONNECT_DELAY_MAX;
pub use outbox::{FlowId, Outbox, OutboxCounters, OutboxFull, OutboxLimits};
pub use ranlab_machine::{Frame, LinkLoss, Time};
