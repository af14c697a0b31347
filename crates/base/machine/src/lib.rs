//! What every state machine here speaks of, without a clock and without I/O.
//!
//! | item | meaning |
//! |---|---|
//! | [`Machine`], [`Action`] | the contract between a state machine and its driver |
//! | [`Time`] | a moment, as the driver of a machine states it |
//! | [`Frame`] | a PDU to send; receivers may share its body |
//! | [`LinkLoss`] | why a connection is lost |
//! | [`Random`] | a reproducible stream of numbers |
//! | [`codes!`] | constants of a number type, one line each |
#![deny(missing_docs)]

/// Constants of one type, a line for each: name, code, meaning. `Self` stands for a struct of one number.
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
mod frame;
mod loss;
mod random;
mod time;

pub use contract::{Action, Machine};
pub use frame::Frame;
pub use loss::LinkLoss;
pub use random::Random;
pub use time::Time;
