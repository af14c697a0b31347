//! Several RICs as one: who serves which node, told over a replicated key-value store that may stall, lag, and lose answers.
//!
//! **The live E2 connection is the ownership**; the store is a directory of it. An ownership interval of a node begins when a RIC
//! accepts its setup and ends when that RIC has closed the connection or is fenced. Intervals of one node are disjoint in every
//! history. What is asked of the store for that is little:
//!
//! 1. revisions number all writes in one order, and a watch tells the latest value of each key in that order;
//! 2. what a watch tells is not taken back;
//! 3. of the clocks, that none runs more than the difference of [`DirectoryTimers::wait`] and [`DirectoryTimers::lease`] faster
//!    than another. What they show does not matter.
//!
//! It is *not* asked that a read is fresh, that an answer comes, that a write without one did not happen, nor that two writes under
//! the same expected revision exclude each other (JetStream breaks each of these when a quorum is lost). So:
//!
//! * Every RIC writes a sign of life and looks for it in its own watch. Seeing it proves that a quorum took it *after* it was begun,
//!   and that everything older has been seen: for [`lease`](DirectoryTimers::lease) from its beginning the RIC may command what it
//!   holds. Beyond, it is **fenced** and refuses controls; after [`close_after`](DirectoryTimers::close_after) it closes its nodes.
//! * A setup is accepted once the RIC's own claim is the latest that its watch shows, and every other RIC either has said, in a
//!   later sign of life, that it has seen that claim (and so has closed what it held), or has been silent for
//!   [`wait`](DirectoryTimers::wait).
//! * Who sees another's claim for what it holds closes that connection at once, and says so within
//!   [`haste`](DirectoryTimers::haste).
//!
//! | file | room |
//! |---|---|
//! | `value` | keys and values: text that explains itself |
//! | `config` | names, timers, bounds |
//! | `claims` | claims under way, as many at a time as the store serves |
//! | `view` | what the watch has told |
//! | `machine` | the directory, its inputs and outputs |
//! | `drain` | handing nodes over before an orderly end |
//! | `reach` | whether there is a server at all |
mod claims;
mod config;
mod drain;
mod io;
mod machine;
mod reach;
#[cfg(test)]
mod tests;
mod value;
mod view;

pub use config::{ClaimLimits, DirectoryConfig, DirectoryTimers, NAME_LEN_MAX, NoName};
pub use io::{
    BusAsk, BusNews, BusWrite, DirectoryInput, DirectoryOutput, NotAdmitted, WriteFailure, WriteId,
};
pub use machine::{Directory, DirectoryCounters};
pub use value::{Claim, Presence, node_key};
pub use view::RicSeen;
