//! SD-RAN protocols other than E2, without sockets: FlexRAN and 5G-EmPOWER.
//!
//! | module | content |
//! |---|---|
//! | [`flexran`] | FlexRAN 0.x and Mosaic5G 2.x: messages, agent, session, controller |
//! | [`empower`] | OpenEmpower v1 and v2: messages, agent, session, controller |
//! | [`agent`] | what the agents of all protocols share |
//! | [`controller`] | what the controllers share: connections, a clock that is handed in, counters |
//! | [`arrivals`] | when UEs are activated and deactivated |
//!
//! All machines have one contract. A driver (sockets, virtual time, a test) reports events with `handle(now, Input)`, calls
//! `poll()` for the resulting actions until `None`, and calls `handle(now, Wake)` no later than `wake_at()`.
#![deny(missing_docs)]

pub mod agent;
pub mod arrivals;
pub mod controller;
pub mod empower;
pub mod flexran;

pub use ranlab_machine::Time;
