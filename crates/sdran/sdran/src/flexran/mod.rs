//! FlexRAN: an agent like the agent of OpenAirInterface, and the controller's side of a connection.
mod agent;
mod commands;
mod control;
pub mod controller;
pub mod elements;
pub mod protocol;
mod report;
mod session;
mod steering;
mod template;

pub use agent::{FlexranAgent, FlexranAgentSettings, FlexranDialect};
pub use session::{FlexranEvent, FlexranSession, SessionSettings};

#[cfg(test)]
mod published;
#[cfg(test)]
mod tests;
