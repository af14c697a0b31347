//! PFCP (TS 29.244), what a session management function tells a user plane function.
//!
//! * [`Message`]: the typed messages; [`encode`], [`decode`], [`Pdu`].
//! * `groups`, `values`: their information elements. What is not known here is kept as [`RawIe`] and written again.
//! * [`DecodeError`]: why a message was refused, with the cause and offending element that an answer needs.
//! * [`Template`]: a message encoded once and patched; [`Response`]: a response read in place. The hot path.
//! * [`Random`]: any valid message from a seed.
mod error;
mod fast;
mod groups;
mod header;
mod ie;
mod messages;
mod random;
mod template;
#[cfg(test)]
mod tests;
mod values;

pub use error::{DecodeError, EncodeError, Fault, FaultKind};
pub use fast::{CreatedPdrs, CreatedTunnel, Response, refusal};
pub use groups::*;
pub use header::{Header, NODE_HEADER_LEN, SEID_AT, SESSION_HEADER_LEN};
pub use ie::{Ies, RawIe, Reader, Value, Writer};
pub use messages::*;
pub use random::Random;
pub use template::{Part, Slot, Template};
pub use values::*;

/// UDP port of PFCP (TS 29.244 §6.1).
pub const PORT: u16 = 8805;
/// Greatest sequence number: 24 bits.
pub const MAX_SEQUENCE: u32 = 0x00ff_ffff;
/// Longest list that [`Random`] makes.
const MAX_RANDOM_LIST: usize = 3;
