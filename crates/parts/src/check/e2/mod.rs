//! E2AP's procedures, at both ends, and what goes wrong with them.
mod agent;
mod agent_cases;
mod ends;
mod link;
mod ric;
mod ric_abnormal;
mod ric_cases;
mod spoil;

pub use agent::{AgentCheck, agent_checks, check_agent};
pub use ric::RicCheck;
pub use ric_cases::{check_ric, ric_checks};
