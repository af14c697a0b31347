//! E2 behaviour as pure machines: time and bytes in, bytes, events and the next deadline out.
//!
//! Three machines, one contract. A driver (the `sdk` on sockets, the `sim` in virtual time, a C program on anything)
//!
//! 1. tells what happened: `handle(now, Input)`: connected, received, disconnected, or only that time has passed;
//! 2. asks what follows: `poll()` until `None`: connect, close, events, and `Transmit(connection)`, after which it
//! 3. takes frames with `transmit(now, connection)` as long as the transport takes them (what does not fit stays in the
//!    machine's bounded [`Outbox`], where the oldest indications give way), and
//! 4. calls `handle(now, Wake)` no later than `wake_at()`.
//!
//! | machine | feature | speaks |
//! |---|---|---|
//! | `agent::Agent` | `agent` | E2 from a base station towards one or several controllers |
//! | `ric::Ric` | `ric` | E2 towards base stations, E42 towards xApps, `IApp`s inside |
//! | `xapp::Xapp` | `xapp` | E42 from an xApp towards a RIC |
//!
//! The agent never imports the RIC, nor the RIC the agent.
#![deny(missing_docs)]

/// Configs and bounds that may grow: who makes one changes what he knows, the rest keeps its default.
macro_rules! changed_by {
    ($($config:ty),+) => {$(
        impl $config {
            /// With a change: `default().with(|it| it.field = value)`.
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
pub mod effect;
mod frame;
#[cfg(feature = "agent")]
pub mod functions;
mod loss;
mod outbox;
#[cfg(any(feature = "agent", feature = "ric"))]
pub mod peer;
#[cfg(feature = "ric")]
pub mod ric;
#[cfg(feature = "xapp")]
pub mod xapp;

#[cfg(any(feature = "agent", feature = "xapp"))]
pub use backoff::RECONNECT_DELAY_MAX;
pub use frame::Frame;
pub use loss::LinkLoss;
pub use outbox::{FlowId, Outbox, OutboxCounters, OutboxFull, OutboxLimits};
pub use ranlab_wire::Time;
