//! PFCP (TS 29.244), the protocol between session management function and user plane function.
//!
//! * [`Message`]: the typed messages; [`encode`], [`decode`], [`Pdu`].
//! * `groups`, `values`: the information elements. Unknown ones are kept as [`RawIe`] and encoded again.
//! * [`DecodeError`]: the reason for a refusal, with the cause and offending element of the answer.
//! * [`Template`]: a message encoded once and patched; [`Response`]: a response decoded in place. Both serve the hot
//!   path.
//! * [`Random`]: random valid messages from a seed.
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
pub use ie::{IeValue, Ies, RawIe, Reader, Writer};
pub use messages::*;
pub use random::Random;
pub use template::{Part, Slot, Template};
pub use values::*;

/// UDP port of PFCP (TS 29.244 §6.1).
pub const PORT: u16 = 8805;
/// Highest sequence number: 24 bits.
pub const MAX_SEQUENCE: u32 = 0x00ff_ffff;
/// Maximum length of a list made by [`Random`].
const MAX_RANDOM_LIST: usize = 3;
