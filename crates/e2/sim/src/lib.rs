//! Simulator that runs the RIC, agent and xApp state machines in virtual time, without tokio, a wall clock or a
//! dependence on hash order.
//!
//! A [`World`] holds RICs, agents and xApps, the connections between them, and one heap of planned events,
//! ordered by time and by the order of planning. The same seed gives the same world, which [`World::digest`]
//! verifies.
//!
//! ```text
//! agenda --(time, seq)--> World --handle--> machine --poll--> World --plan--> agenda
//! ```
//!
//! | file | content |
//! |---|---|
//! | `agenda`, `chance` | the heap; seeded random numbers; the digest |
//! | `world`, `machine` | the driver; the machines behind one interface |
//! | `party`, `host`, `parties` | the parties, their incarnations, functions that add them to a world |
//! | `link` | connections: ordered, reliable, bounded, slow, breakable |
//! | `fault`, `trouble` | faults, planned or random |
//! | `tracer_function`, `watcher`, `impostor` | a RAN function whose reports contain their origin; an iApp; an attacker |
//! | `ledger`, `judge`, `check` | invariants of deliveries and of the parties' states |
//! | `steps` | stepping interface for callers that combine a world with other models |
//! | `scenario` | the standard trial |
//! | `cluster` | several RICs as one: the store that they share, and their trial |
//!
//! A broken invariant is a [`Violation`]; it names the seed and the command that replays it.
mod action;
mod agenda;
mod chance;
mod check;
pub mod cluster;
mod fault;
mod host;
mod impostor;
mod judge;
mod ledger;
mod link;
mod machine;
mod parties;
mod party;
mod scenario;
mod steps;
mod tracer_function;
mod trouble;
mod watcher;
mod world;

pub use agenda::EventQueue;
pub use chance::{Digest, SeededRng};
pub use check::LossReport;
pub use fault::{Disturbance, Fault};
pub use host::SubscriptionGoal;
pub use link::LinkProfile;
pub use party::PartyId;
pub use scenario::{Directory, Outcome, Trial};
pub use steps::Step;
pub use tracer_function::{BEAT_LEN, TracerFunction, TracerLog, TracerReport, oid_mark, trigger};
pub use watcher::Watcher;
pub use world::{Violation, World};
