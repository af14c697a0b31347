//! Endpoints of the protocols beside E2 as pure machines: time and bytes in, bytes, events and the next deadline out.
//!
//! | module | speaks |
//! |---|---|
//! | [`memif`] | memif, both ends: shared memory with rings of packets |
//! | [`n4`] | PFCP, both ends: session management function and user plane function |
//! | [`southbound`] | what the SD-RAN protocols beside E2 have in common |
//! | [`flexran`] | FlexRAN 0.x and Mosaic5G 2.x, both ends |
//! | [`empower`] | OpenEmpower v1 and v2, both ends |
//!
//! One contract. A driver (sockets, virtual time, a test) tells what happened with `handle(now, Input)`, asks what
//! follows with `poll()` until `None`, and calls `handle(now, Wake)` no later than `wake_at()`.
#![deny(missing_docs)]

pub mod empower;
pub mod flexran;
pub mod memif;
pub mod n4;
pub mod southbound;

pub use ranlab_wire::Time;
