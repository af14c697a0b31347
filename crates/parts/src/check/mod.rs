//! Conformance, clause by clause, with a capture of every failure.
mod capture;
mod clauses;
mod packets;
mod upf;

pub use upf::{UpfCheck, Verdict, check_upf};
