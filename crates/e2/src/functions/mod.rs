//! RAN functions that come with the crate; the base station behind them is a small trait per service model.
//!
//! | module | function | service |
//! |---|---|---|
//! | [`hw`] | HW, id 140 | report, insert, control, policy: echoes and measures |
//! | [`stats`] | statistics models and any other periodic report | report |
//! | [`mod@slice`] | SLICE, id 137 | report, control: how the carrier is shared |
//! | [`traffic`] | TRAFFIC, id 138 | report, control: queues, filters and pacer of a bearer |
//! | [`rrc`] | RRC, id 136 | report, control: who attaches, leaves and is handed over |
//! | [`kpm`] | KPM, id 2 | report: measurements of 3GPP, by node, by UE, by condition |
//! | [`rc`] | RC, id 3 | report, insert, control, policy: RRC, handovers, quotas of slices |
//! | [`ccc`] | CCC, id 4 | report, control: the configuration of cells and of the node |
//! | [`ni`] | NI, id 1 | report: copies of the messages of interfaces |
//! | [`association`] | id 139 | control: which controllers the agent has, and which UEs they see |
pub mod association;
pub mod ccc;
mod controlled;
pub mod hw;
pub mod kpm;
pub mod ni;
mod periods;
pub mod rc;
pub mod rrc;
pub mod slice;
pub mod stats;
pub mod traffic;
