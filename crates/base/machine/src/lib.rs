//! Common types of all state machines, without a clock and without I/O.
//!
//! | item | meaning |
//! |---|---|
//! | [`Machine`], [`Action`] | the contract between a state machine and its driver |
//! | [`Time`] | point in time, passed by the driver of a machine |
//! | [`Frame`] | a PDU to send; receivers may share its body |
//! | [`LinkLoss`] | reason for the loss of a connection |
//! | [`Random`] | a reproducible stream of numbers |
//! | [`feed`] | lines for listeners, each with a bounded queue |
//! | [`metrics`] | metrics as Prometheus text |
//! | [mod@routes], [`routes!`] | routes of an HTTP interface, declared once |
//! | [`lock`] | a mutex that stays usable after a panic of its holder |
//! | [`mod@support`], [`elements!`] | elements of messages that are acted on, refused or ignored |
//! | [`codes!`] | constants of a number type, one line each |
#![deny(missing_docs)]

/// Defines constants of one type, one line each with name, code and description. `Self` stands for a struct with one
/// number.
///
/// ```
/// pub struct Cause(pub u8);
/// impl Cause {
///     ranlab_machine::codes! { Self:
///         ACCEPTED = 1 "The request is accepted.";
///         REJECTED = 64 "The request is rejected.";
///     }
/// }
/// assert_eq!(Cause::REJECTED.0, 64);
/// ```
#[macro_export]
macro_rules! codes {
    (Self: $($name:ident = $code:literal $what:literal;)+) => {
        $(#[doc = $what] pub const $name: Self = Self($code);)+
    };
    ($type:ty: $($name:ident = $code:literal $what:literal;)+) => {
        $(#[doc = $what] pub const $name: $type = $code;)+
    };
}

mod contract;
mod early;
pub mod feed;
mod frame;
mod lock;
mod loss;
pub mod metrics;
mod random;
pub mod routes;
pub mod support;
mod time;

pub use contract::{Action, Machine};
pub use frame::Frame;
pub use lock::lock;
pub use loss::LinkLoss;
pub use random::Random;
pub use time::Time;
