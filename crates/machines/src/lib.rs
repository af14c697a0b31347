//! Endpoints of the protocols other than E2 as pure machines: time and bytes in, bytes, events and the next
//! deadline out.
//!
//! | module | protocol |
//! |---|---|
//! | [`southbound`] | common parts of the SD-RAN protocols other than E2 |
//! | [`flexran`] | FlexRAN 0.x and Mosaic5G 2.x, both endpoints |
//! | [`empower`] | OpenEmpower v1 and v2, both endpoints |
//!
//! All machines have one contract. A driver (sockets, virtual time, a test) reports events with `handle(now,
//! Input)`, calls `poll()` for the resulting actions until `None`, and calls `handle(now, Wake)` no later
//! than `wake_at()`.
#![deny(missing_docs)]

pub mod empower;
pub mod flexran;
pub mod southbound;

pub use ranlab_machine::Time;
