//! Several RICs as one in virtual time: their machines, base stations and xApps in a [`World`](crate::World), and beside it a
//! replicated key-value store that elects, lags, stalls, and loses answers.
//!
//! | file | room |
//! |---|---|
//! | `history` | the invariant: ownership intervals of a node are disjoint |
//! | `store` | the store: three replicas, a leader, watches |
//! | `fault` | what goes wrong at the store |
//! | `ledger` | an iApp that hands over what it was ordered |
//! | `load` | what they read and write when nothing goes wrong |
//! | `trial` | worlds of three RICs under seeded faults, and what must hold of them |
//! | `watch` | who looks at what is held, acknowledged and reported |
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
