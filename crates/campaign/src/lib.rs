//! The experimenter, ignorant of radio: knows points, rigs and samples.
#![deny(missing_docs)]

pub mod mock;
pub mod plan;
pub mod record;
pub mod results;
pub mod rig;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod search;
pub mod stats;
pub mod usl;
pub mod value;
