//! Bytes and types: a decoder returns a typed value or a typed error; no clock, no I/O, no panic, bounded allocation.
//!
//! | module | language |
//! |---|---|
//! | [`per`] | ASN.1 aligned PER (X.691), the engine under everything O-RAN |
//! | [`e2ap`] | E2AP v1.01, v2.03, v3.01: 16 procedures, 39 messages, one set of types |
//! | [`ap`] | S1AP, X2AP, NGAP, XnAP, F1AP, E1AP: the envelope of all their messages, and a few of them |
//! | [`e42`] | FlexRIC's xApp protocol, in the three numberings |
//! | [`e2sm`] | the service models: what a RAN function's octet strings mean |
//! | [`flat`] | FlatBuffers: E2AP, E42 and HW for those who prefer them to PER |
//! | [`rmr`] | RMR: between O-RAN SC's platform and its xApps |
//! | [`rnib`] | the list of base stations that O-RAN SC's xApps read |
#![deny(missing_docs)]

pub mod ap;
pub mod e2ap;
pub mod e2sm;
pub mod e42;
pub mod flat;
pub mod per;
pub mod rmr;
pub mod rnib;

pub use bytes::Bytes;
