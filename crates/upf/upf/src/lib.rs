//! The user plane function (UPF), without sockets: time and bytes are arguments.
//!
//! | module | content |
//! |---|---|
//! | [`pfcp`] | the protocol of N4 (TS 29.244): messages and elements as types |
//! | [`n4`] | both ends of N4 as state machines: session management function and user plane function |
//! | [`forwarding`] | what happens to a packet: detection, rates, usage, buffering; programs for XDP |
#![deny(missing_docs)]

pub mod forwarding;
pub mod n4;
pub mod pfcp;

pub use ranlab_machine::Time;
