//! The verbs `ric` and `xapp`.

pub mod ric;
mod ric_hint;
pub mod xapp;
