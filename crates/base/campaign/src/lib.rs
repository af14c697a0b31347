//! The experiment engine, without radio terms.
//!
//! A campaign measures the points of a scenario, which are the combinations of the values of its axes. At each point, a
//! [`Rig`](rig::Rig) starts the system under test and loads it. Each point is measured in several repeats. A repeat is
//! one measurement window, or a search that consists of many trials.
#![deny(missing_docs)]

pub mod answer;
pub mod behaviour;
pub mod description;
pub mod expect;
pub mod export;
pub mod metric;
pub mod mock;
pub mod named;
pub mod objective;
pub mod outcome;
pub mod plan;
pub mod point;
pub mod record;
pub mod renamed;
pub mod results;
pub mod rig;
pub mod run;
pub mod scaling;
pub mod scenario;
pub mod schema;
pub mod search;
pub mod stats;
pub mod table;
pub mod trials;
pub mod usl;
pub mod value;
