//! Conformance, clause by clause, with a capture of every failure.
mod capture;
mod clauses;
mod e2;
mod harness;
mod packets;
mod upf;

pub use e2::{AgentCheck, RicCheck, check_agent, check_ric};
pub use harness::{TestCase, TestResult, Verdict, junit, junit_of};
pub use upf::{UpfCheck, check_upf};
