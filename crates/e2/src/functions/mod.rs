//! RAN functions that come with the crate; the base station behind them is a small trait per service model.
//!
//! | module | function | service |
//! |---|---|---|
//! | [`hw`] | HW, id 140 | report, insert, control, policy: echoes and measures |
//! | [`stats`] | statistics models and any other periodic report | report |
//! | [`association`] | id 139 | control: which controllers the agent has, and which UEs they see |
pub mod association;
pub mod hw;
mod periods;
pub mod stats;
