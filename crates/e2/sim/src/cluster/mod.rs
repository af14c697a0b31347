//! Several RICs that act as one RIC, in virtual time. Their machines, base stations and xApps are in a
//! [`World`](crate::World). Next to it, a replicated key-value store elects leaders, lags, stalls, and loses
//! responses.
//!
//! | file | content |
//! |---|---|
//! | `history` | the invariant: ownership intervals of a node are disjoint |
//! | `store` | the store: three replicas, a leader, watches |
//! | `fault` | faults of the store |
//! | `ledger` | an iApp that hands over its orders |
//! | `load` | reads and writes without faults |
//! | `trial` | worlds of three RICs under seeded faults, and their invariants |
//! | `watch` | observation of ownership, acknowledgements and reports |
mod fault;
mod history;
mod ledger;
mod load;
mod store;
mod trial;
mod watch;

pub use fault::StoreFault;
pub use history::{History, Interval};
pub use load::{ClusterLoad, ClusterLoadOutcome, RicLoad};
pub use store::Store;
pub use trial::{ClusterOutcome, ClusterTrial};
