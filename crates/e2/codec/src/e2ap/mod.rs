//! E2AP (O-RAN.WG3.E2AP) v1.01, v2.03 and v3.01 with one set of Rust types; the version is a value per connection.
//!
//! * [`Message`]: the 39 messages; [`encode`], [`decode`], [`Decoded`] (with deviations from the standard).
//! * [`fast`]: allocation-free RICindication and RICcontrolRequest, equivalent to the general codec.
//! * [`Rejection`]: reason why bytes were refused, with cause and criticality diagnostics for the response.
//!
//! Encoding a field that a version does not define fails with
//! [`EncodeError::NotInVersion`](crate::per::EncodeError::NotInVersion).
#[macro_use]
mod container;
mod cause;
mod component;
mod component_v1;
mod criticality;
pub mod fast;
mod identity;
pub mod ids;
mod messages;
mod node;
mod pdu;
mod rejection;
mod subscription;
mod tnl;
mod version;

pub use cause::*;
pub(crate) use component::RanFunctionIdCodec;
pub use component::*;
pub use component_v1::*;
pub use container::{Deviation, IeDiagnostic, IeSpec, Presence, ReceivedIe};
pub(crate) use container::{Replay, decode_container, encode_container, show_container};
pub use criticality::*;
pub use identity::{NodeIdentity, NodeIdentityError};
pub use messages::*;
pub use node::*;
pub use pdu::*;
pub(crate) use pdu::{envelope_notation, put_envelope, take_envelope};
pub use rejection::{RejectReason, Rejection};
pub use subscription::*;
pub use tnl::*;
pub use version::Version;
