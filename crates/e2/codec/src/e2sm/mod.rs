//! E2 service models: what a RAN function's octet strings mean.
//!
//! A model is a type that implements [`ServiceModel`] in a folder of its own, and a line of [`MODELS`]. What lists models
//! (functions of agents, monitors, `--sm`, scenario keys, recorders) reads that registry and works on [`Model`]; what knows
//! a model uses its types. A folder has these rooms: `mod.rs` holds the meaning (types, units, identity), and with
//! each field its place in the packed struct of FlexRIC and OpenAirInterface where that exists, `per.rs` the aligned-PER
//! encoding. A further [`Encoding`] is a further room. What the packed-struct encodings share (framing, errors, event trigger) is in [`plain`],
//! what the PER encodings share in [`per`], what the statistics models share in [`list`].
//!
//! The models of O-RAN ([`kpm`]) share the names of cells and UEs ([`common`]); theirs have more rooms, one for each octet string.
//!
//! RAN functions are found by OID; the function ids here are the customary defaults of the peers.

pub mod association;
pub mod ccc;
pub mod cell;
pub mod common;
mod context;
pub mod control;
pub mod gtp;
pub mod hw;
pub mod kpm;
pub mod list;
pub mod mac;
mod model;
pub mod ni;
mod octets;
mod offer;
pub mod pdcp;
pub mod per;
pub mod plain;
pub mod rc;
pub mod rlc;
pub mod rrc;
pub mod slice;
mod statistics;
mod table;
mod timing;
pub mod traffic;

pub use crate::per::Form;
pub use context::Context;
pub use model::{Model, Payload, ServiceModel, UnknownModel, by_oid, complete, customary, names};
pub use octets::{Encoding, Octets, SmError};
pub use offer::Offer;
pub use table::{Column, Field, Kind, Row, RowKey, Table, Type, Value};
pub use timing::{AGE_MAX_US, CLOCK_ERROR_US, ReportTime, Stamp, StampKind, Timing};

/// The service models of this crate, a line each.
#[rustfmt::skip]
pub static MODELS: &[&dyn Model] = &[
    &hw::Hw,
    &mac::Mac,
    &rlc::Rlc,
    &pdcp::Pdcp,
    &gtp::Gtp,
    &cell::CellStats,
    &rrc::Rrc,
    &slice::SliceModel,
    &traffic::Traffic,
    &kpm::Kpm,
    &rc::Rc,
    &ccc::Ccc,
    &ni::Ni,
];
