//! RAN functions included in this crate. The base station behind each of them is a small trait.
//!
//! | module | function | service |
//! |---|---|---|
//! | [`hw`] | HW, id 140 | report, insert, control, policy: echo and measurement |
//! | [`stats`] | statistics models and any other periodic report | report |
//! | [`mod@slice`] | SLICE, id 137 | report, control: how slices share the carrier |
//! | [`traffic`] | TRAFFIC, id 138 | report, control: queues, filters and pacer of a bearer |
//! | [`rrc`] | RRC, id 136 | report, control: attach, detach and handover of UEs |
//! | [`kpm`] | KPM, id 2 | report: 3GPP measurements per node, per UE, or by condition |
//! | [`rc`] | RC, id 3 | report, insert, control, policy: RRC, handovers, quotas of slices |
//! | [`ccc`] | CCC, id 4 | report, control: the configuration of cells and of the node |
//! | [`ni`] | NI, id 1 | report: copies of the messages of interfaces |
//! | [`association`] | id 139 | control: controllers of the agent, and the UEs that each of them sees |
//!
//! [`elements`] lists which elements of subscriptions and controls are acted on, refused or ignored.
pub mod association;
pub mod ccc;
mod command_function;
pub mod elements;
pub mod hw;
pub mod kpm;
pub mod ni;
mod periods;
pub mod rc;
pub mod rrc;
pub mod slice;
pub mod stats;
pub mod traffic;
