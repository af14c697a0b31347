//! E2 service models: what a RAN function's octet strings mean.
//!
//! Each model has its own folder with the same rooms: `mod.rs` holds the meaning (types, units, identity), `plain.rs`
//! the packed-struct encoding of FlexRIC and OpenAirInterface where that exists, `per.rs` the aligned-PER one.
//! What the packed-struct encodings share (framing, errors, event trigger) is in [`plain`], what the PER encodings share in [`per`].
//!
//! RAN functions are found by OID; the function ids here are the customary defaults of the peers.

pub mod gtp;
pub mod hw;
pub mod mac;
pub mod pdcp;
pub mod per;
pub mod plain;
pub mod rlc;
