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
//! | [`flexran`] | FlexRAN 0.x and Mosaic5G 2.x: from a controller to its agents |
//! | [`rmr`] | RMR: between O-RAN SC's platform and its xApps |
//! | [`rnib`] | the list of base stations that O-RAN SC's xApps read |
//! | [`empower`] | OpenEmpower v1 and v2: from a 5G-EmPOWER controller to its base stations |
#![deny(missing_docs)]

pub mod ap;
pub mod e2ap;
pub mod e2sm;
pub mod e42;
pub mod empower;
pub mod flat;
pub mod flexran;
pub mod per;
pub mod rmr;
pub mod rnib;

pub use bytes::Bytes;
