//! Codecs of E2 and related protocols. A decoder returns a typed value or a typed error. No clock, no I/O, no panic,
//! bounded allocation.
//!
//! | module | protocol |
//! |---|---|
//! | [`per`] | ASN.1 aligned PER (X.691), the encoding of all O-RAN protocols |
//! | [`e2ap`] | E2AP v1.01, v2.03, v3.01: 16 procedures, 39 messages, one set of types |
//! | [`ap`] | S1AP, X2AP, NGAP, XnAP, F1AP, E1AP: the envelope of all messages, and some complete messages |
//! | [`e42`] | FlexRIC's xApp protocol, in the three numberings |
//! | [`e2sm`] | the service models: contents of a RAN function's octet strings |
//! | [`flat`] | FlatBuffers: E2AP, E42 and HW as an alternative to PER |
//! | [`rmr`] | RMR: message transport between O-RAN SC's platform and its xApps |
//! | [`rnib`] | R-NIB: the list of base stations of O-RAN SC |
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
