//! RC: control of UEs by reports, inserts, controls and policies. Implements O-RAN's E2SM-RC 1.03.
//!
//! Reports and controls consist of RAN parameters: ids in a tree, which the tables of the specification define for each style and action.
//! [`commands`] has the trees of the controls that existing implementations support (slice quotas, handover, mapping of QoS flows).
//! [`reports`] has the trees of reports and inserts, and [`policy`] those of policies. Version 5.00 has the same encoding, except that it
//! moved on-demand reports. All octet strings use aligned PER.

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
mod request;
mod rows;
mod subscription;
mod targets;

pub use control::*;
pub use function::*;
pub use indication::*;
pub use model::Rc;
pub use parameter::*;
pub use request::*;
pub use rows::ParameterRow;
pub use subscription::*;

/// OID of the model, the same from 1.03 to 5.00.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.3";
/// Usual RAN function id.
pub const DEFAULT_FUNCTION_ID: u16 = 3;
/// Maximum number of elements of most lists.
pub const LIST_MAX: u64 = 65_535;
/// Maximum number of styles of one type, and of actions in a control.
pub const STYLES_MAX: u64 = 63;
