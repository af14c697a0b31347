//! E2 service models: contents of a RAN function's octet strings.
//!
//! A model is a type that implements [`ServiceModel`] in its own folder, and a line in the list of [`MODELS`]. A program adds the models of
//! other crates by [`extend`]. Code that works with any model (functions of agents, monitors, `--sm`, scenario keys, recorders) uses
//! [`models`] and [`Model`]. Code for a specific model uses its types. In the folder of a model, `mod.rs` defines types, units and
//! identity. If FlexRIC and OpenAirInterface have a packed struct, `mod.rs` also has the position of each field in it. `per.rs` has the
//! aligned-PER encoding, and each further [`Encoding`] has its own file. [`plain`] is the common part of the packed-struct encodings
//! (framing, errors, event trigger). [`per`] is the common part of the PER encodings, and [`list`] of the statistics models.
//!
//! The models of O-RAN, such as [`kpm`], share the identities of cells and UEs ([`common`]). They have further files,
//! one for each octet string.
//!
//! RAN functions are selected by OID; the function ids here are the usual defaults of other implementations.

pub mod association;
pub mod ccc;
pub mod cell;
pub mod common;
mod context;
pub mod control;
pub mod digest;
pub mod gtp;
pub mod hw;
mod inspect;
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
mod registry;
pub mod rlc;
pub mod rrc;
pub mod slice;
mod statistics;
mod table;
mod timing;
pub mod traffic;

pub use crate::per::Form;
pub use context::Context;
pub use inspect::{Inspect, Payload, inspect};
pub use model::{Model, ServiceModel, UnknownModel, complete, third_party};
pub use octets::{Encoding, Octets, SmError};
pub use offer::Offer;
pub use registry::{AlreadyExtended, by_oid, customary, extend, inspected, models, names};
pub use table::{Column, Field, Kind, Row, RowKey, Table, Type, Value};
pub use timing::{AGE_MAX_US, CLOCK_ERROR_US, ReportTime, Stamp, StampKind, Timing};

/// Defines the tables of models.
macro_rules! models {
    ($($model:path),+ $(,)?) => {
        /// The service models of this crate.
        pub static MODELS: &[&dyn Model] = &[$(&$model),+];
        /// [`MODELS`] with the operations that only test equipment needs. A RIC does not use this table.
        pub static INSPECTED: &[&dyn Inspect] = &[$(&$model),+];
    };
}

// The service models of this crate, one per line.
models! {
    hw::Hw,
    mac::Mac,
    rlc::Rlc,
    pdcp::Pdcp,
    gtp::Gtp,
    cell::CellStats,
    digest::Digest,
    rrc::Rrc,
    slice::SliceModel,
    traffic::Traffic,
    kpm::Kpm,
    rc::Rc,
    ccc::Ccc,
    ni::Ni,
}
