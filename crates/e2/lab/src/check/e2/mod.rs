//! Conformance checks of E2AP procedures and abnormal conditions, for RICs and agents.
mod agent;
mod agent_cases;
mod ends;
mod link;
mod malformed;
mod ric;
mod ric_abnormal;
mod ric_cases;

pub use agent::{AgentCheck, agent_checks, check_agent};
pub use ric::RicCheck;
pub use ric_cases::{check_ric, ric_checks};
