//! Grouped information elements (TS 29.244 §7.4.4 and §7.5).
mod applications;
mod report;
mod rules;
mod update;

pub use applications::*;
pub use report::*;
pub use rules::*;
pub use update::*;
