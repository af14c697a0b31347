//! The verbs `upf` and `load upf`.

pub mod load;
pub mod upf;
