//! Directory of several RICs: which RIC serves which node. It is kept in a replicated key-value store that may stall,
//! lag, and lose responses.
//!
//! **The live E2 connection defines the ownership**; the store is only a directory of it. An ownership interval of a
//! node starts when a RIC accepts its setup. It ends when that RIC has closed the connection or is fenced. The
//! intervals of a node never overlap. This requires only the following of the store and the clocks:
//!
//! 1. Revisions number all writes in one order, and a watch reports the latest value of each key in that order.
//! 2. A reported entry is never revoked.
//! 3. No clock runs faster than another by more than the difference of [`DirectoryTimers::wait`] and
//!    [`DirectoryTimers::lease`]. The absolute time of the clocks is irrelevant.
//!
//! It does *not* require that reads are fresh, that responses arrive, that a write without a response did not happen,
//! or that two writes with the same expected revision exclude each other. (JetStream violates each of these when a
//! quorum is lost.) The rules are:
//!
//! * Each RIC writes heartbeats and looks for them in its own watch. A heartbeat that it sees proves that a quorum
//!   accepted it *after* it was started, and that all older entries have been seen. For
//!   [`lease`](DirectoryTimers::lease) from its start the RIC may control its nodes. After that the RIC is **fenced**
//!   and refuses controls. After [`close_after`](DirectoryTimers::close_after) it closes its nodes.
//! * A RIC accepts a setup if its own claim is the latest that its watch shows, and for every other RIC one of the
//!   following is true. The other RIC has acknowledged the claim in a later heartbeat, so it has closed the node's
//!   connection. Or it has been silent for [`wait`](DirectoryTimers::wait).
//! * A RIC that sees another RIC's claim for one of its nodes closes that connection immediately, and acknowledges
//!   the claim within [`haste`](DirectoryTimers::haste).
//!
//! | file | contents |
//! |---|---|
//! | `value` | keys and values, as readable text |
//! | `config` | names, timers, limits |
//! | `claims` | outstanding claims and their limit |
//! | `view` | entries reported by the watch |
//! | `machine` | the directory, its inputs and outputs |
//! | `drain` | handover of all nodes before a shutdown |
//! | `reach` | whether a server of the store is reachable |
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
    BusWrite, DirectoryInput, DirectoryOutput, NotAdmitted, StoreEvent, StoreRequest, WriteFailure, WriteId,
};
pub use machine::{Directory, DirectoryCounters};
pub use value::{Claim, Presence, node_key};
pub use view::RicSeen;
