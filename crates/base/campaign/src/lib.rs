//! The experiment engine, without radio terms: it handles points, rigs and samples.
#![deny(missing_docs)]

pub mod answer;
pub mod behaviour;
pub mod compare;
pub mod description;
pub mod expect;
pub mod export;
pub mod import;
pub mod metric;
pub mod mock;
mod named;
pub mod objective;
pub mod outcome;
pub mod plan;
pub mod point;
pub mod record;
#[cfg(feature = "report")]
pub mod report;
pub mod results;
pub mod rig;
pub mod run;
pub mod scaling;
pub mod scenario;
pub mod schema;
pub mod search;
pub mod size;
pub mod stats;
#[cfg(feature = "store")]
pub mod store;
pub mod stored;
pub mod table;
pub mod tried;
pub mod usl;
pub mod value;
