//! Conformance checks, clause by clause, with a capture of each failure.
mod capture;
mod clauses;
mod clauses_applications;
mod clauses_paths;
mod clauses_peers;
mod clauses_rules;
mod clauses_usage;
mod e2;
mod exchange;
mod packets;
mod scene;
mod upf;

pub use e2::{AgentCheck, RicCheck, agent_checks, check_agent, check_ric, ric_checks};
pub use upf::{UpfCheck, check_upf, upf_checks};
