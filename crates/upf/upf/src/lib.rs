//! Protocol and packet processing of a user plane function (UPF), without sockets. Time and bytes are passed as arguments.
//!
//! | module | content |
//! |---|---|
//! | [`pfcp`] | protocol of N4 (TS 29.244): messages and information elements as types |
//! | [`n4`] | both endpoints of N4 as state machines: session management function and user plane function |
//! | [`forwarding`] | packet processing: detection, rates, usage, buffering; programs for XDP |
#![deny(missing_docs)]

pub mod forwarding;
pub mod n4;
pub mod pfcp;

pub use ranlab_machine::Time;
