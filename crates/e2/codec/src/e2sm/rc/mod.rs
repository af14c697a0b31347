//! RC: what a node does with its UEs, reported, asked for and ordered; O-RAN's E2SM-RC 1.03.
//!
//! What is reported and ordered are RAN parameters: numbers of a tree whose meaning a table of the text gives for each
//! style and action. [`commands`] has the trees of those orders that the field knows (slices' shares of resources,
//! handover, mapping of QoS flows), [`reports`] those of the reports and inserts, [`policy`] those of policies. The octets of 5.00 are the same, but for reports on demand, which it moved. All in
//! aligned PER.

pub mod commands;
mod control;
mod function;
mod indication;
pub mod interface;
pub mod messages;
mod model;
pub mod neighbours;
mod parameter;
pub mod policy;
pub mod reports;
mod rows;
mod subscription;

pub use control::*;
pub use function::*;
pub use indication::*;
pub use model::Rc;
pub use parameter::*;
pub use rows::ParameterRow;
pub use subscription::*;

/// The OID by which nodes offer the model, the same from 1.03 to 5.00.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.3";
/// The RAN function id that nodes give it.
pub const DEFAULT_FUNCTION_ID: u16 = 3;
/// Elements of most lists, at most.
pub const LIST_MAX: u64 = 65_535;
/// Styles of a kind and actions in a control, at most.
pub const STYLES_MAX: u64 = 63;
