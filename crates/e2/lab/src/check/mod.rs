//! Conformance checks of agents and RICs, clause by clause, with a capture of each failure.
mod e2;

pub use e2::{AgentCheck, RicCheck, agent_checks, check_agent, check_ric, ric_checks};
