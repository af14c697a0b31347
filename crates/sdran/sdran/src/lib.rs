//! SD-RAN protocols other than E2, without sockets: FlexRAN and 5G-EmPOWER.
//!
//! | module | content |
//! |---|---|
//! | [`flexran`] | FlexRAN 0.x and Mosaic5G 2.x: messages, agent, session, controller |
//! | [`empower`] | OpenEmpower v1 and v2: messages, agent, session, controller |
//! | [`agent`] | common parts of the agents of all protocols |
//! | [`controller`] | common parts of the controllers: connections, an injected clock, counters |
//! | [`arrivals`] | activation and deactivation of UEs |
//!
//! "Published" controllers and agents are the original programs: FlexRAN, Mosaic5G, 5G-EmPOWER, and the agents of MARC, a benchmark of
//! SD-RAN controllers.
//!
//! All state machines are used in the same way. A driver (sockets, virtual time, a test) passes events to `handle(now, Input)`, and calls
//! `poll()` for the resulting actions until it returns `None`. The driver calls `handle(now, Wake)` no later than `wake_at()`.
#![deny(missing_docs)]

pub mod agent;
pub mod arrivals;
pub mod controller;
pub mod empower;
pub mod flexran;

pub use ranlab_machine::Time;
