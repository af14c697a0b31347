//! Evaluation of a campaign's results: the store, comparison, imported results, sizes, figures and the one-file report. Rigs and
//! components do not depend on it, so a change here recompiles only the commands.
#![deny(missing_docs)]

pub mod compare;
pub mod import;
#[cfg(feature = "report")]
pub mod report;
pub mod size;
#[cfg(feature = "store")]
pub mod store;
pub mod stored;
