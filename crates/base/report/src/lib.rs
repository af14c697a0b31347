//! What is made of a campaign's results: the store, comparison, imported results, sizes, figures and the one-file report. Rigs and
//! components need none of it, so a change here compiles the commands again and nothing else.
#![deny(missing_docs)]

pub mod compare;
pub mod import;
#[cfg(feature = "report")]
pub mod report;
pub mod size;
#[cfg(feature = "store")]
pub mod store;
pub mod stored;
