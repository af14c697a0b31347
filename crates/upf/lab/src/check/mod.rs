//! Conformance checks of a UPF, clause by clause.

mod capture;
mod clauses;
mod clauses_applications;
mod clauses_paths;
mod clauses_peers;
mod clauses_rules;
mod clauses_usage;
mod exchange;
mod packets;
mod scene;
mod upf;

pub use upf::{UpfCheck, check_upf, upf_checks};
