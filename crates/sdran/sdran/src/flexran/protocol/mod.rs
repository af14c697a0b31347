//! FlexRAN, the protocol between a FlexRAN controller and its agents. Supported are version 0.x of OpenAirInterface and the MARC benchmark,
//! and the additions of Mosaic5G 2.x (handover, slicing, measurements, delegation requests).
//!
//! The agent connects over TCP to port [`PORT`]. **The controller sends first**. A frame consists of the length of the body (32 bits,
//! big-endian, excluding itself) and one protobuf (proto2) [`Envelope`]. Controllers close the connection on a body of more than
//! [`MAX_BODY_BYTES`]. At about 90 bytes per UE, this is the size of a report of some 2,650 UEs.
//!
//! | phase | controller | agent |
//! |---|---|---|
//! | 1 initialisation | [`Hello`] initiating, xid 0 | [`Hello`] successful; any other direction is ignored |
//! | 2 configuration | base station, UE and LC requests at once, xid 0, 1, 2 | three replies; only [`EnbConfigReply`] registers the agent |
//! | 3 reporting | [`StatsRequest`], once | [`StatsReply`], periodic |
//! | 4 activation | [`LcConfigRequest`], xid 2 | [`UeStateChange`], then the LCs of **all** UEs |
//! | 5 deactivation | [`LcConfigRequest`], xid 2 | [`UeStateChange`], then the LCs of all UEs |
//!
//! The decoder allocates at most [`DECODED_BYTES_PER_BODY_BYTE`] bytes for each byte of the body, because the smallest element has two
//! bytes.
#[macro_use]
mod table;
mod config;
mod control;
mod groups;
mod message;
mod policy;
mod stats;
mod values;

pub use config::*;
pub use control::*;
pub use groups::{prbs_of_bitmap, prbs_of_groups, rbg_prbs, rbgs};
pub use message::*;
pub use policy::{POLICY_SLICES_MAX, Policy, PolicyError};
pub use stats::*;
pub use values::*;

use bytes::Bytes;
use prost::Message as _;

/// TCP port of the controller.
pub const PORT: u16 = 2210;
/// Size of the length field before a body, in bytes.
pub const LENGTH_BYTES: usize = 4;
/// Maximum body size, in bytes. Both published controllers close the connection on a larger body.
pub const MAX_BODY_BYTES: usize = 240_000;
/// Maximum memory of a decoded message for each byte of its body, in bytes.
pub const DECODED_BYTES_PER_BODY_BYTE: usize = 1_024;

/// Bytes that are not valid FlexRAN, or a message that cannot be encoded in FlexRAN.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlexranError {
    /// The announced body is larger than controllers accept.
    #[error("a body has {0} bytes; at most {MAX_BODY_BYTES} are allowed")]
    TooLong(usize),
    /// The body is not valid protobuf of this protocol.
    #[error("the body is not a FlexRAN message: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// The envelope is empty, or contains a message that this protocol does not define.
    #[error("the envelope contains no message of FlexRAN 0.x or Mosaic5G 2.x")]
    NoMessage,
    /// The length before the body differs from the body's length.
    #[error("the frame announces {announced} bytes, but {have} bytes follow")]
    Length {
        /// Length according to the length field, in bytes.
        announced: usize,
        /// Actual length of the body, in bytes.
        have: usize,
    },
}

/// Returns the size in bytes of the frame at the start of `octets`, including the length field. `None`: the length field is not complete
/// yet.
pub fn frame_bytes(octets: &[u8]) -> Result<Option<usize>, FlexranError> {
    let Some(length) = octets.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let body = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if body > MAX_BODY_BYTES { Err(FlexranError::TooLong(body)) } else { Ok(Some(LENGTH_BYTES + body)) }
}

/// Decodes one complete frame.
pub fn decode_frame(frame: &[u8]) -> Result<Envelope, FlexranError> {
    let have = frame.len().saturating_sub(LENGTH_BYTES);
    match frame_bytes(frame)? {
        Some(total) if total == frame.len() => decode(Bytes::copy_from_slice(&frame[LENGTH_BYTES..])),
        Some(total) => Err(FlexranError::Length { announced: total - LENGTH_BYTES, have }),
        None => Err(FlexranError::Length { announced: 0, have }),
    }
}

/// Decodes a body. A shared object in the body is not copied; it is a slice of `body`.
pub fn decode(body: Bytes) -> Result<Envelope, FlexranError> {
    if body.len() > MAX_BODY_BYTES {
        return Err(FlexranError::TooLong(body.len()));
    }
    let envelope = Envelope::decode(body)?;
    if envelope.msg.is_none() { Err(FlexranError::NoMessage) } else { Ok(envelope) }
}

/// Appends a frame. If the body is too long, nothing is appended.
pub fn encode_frame(envelope: &Envelope, out: &mut Vec<u8>) -> Result<(), FlexranError> {
    let body = envelope.encoded_len();
    if body > MAX_BODY_BYTES {
        return Err(FlexranError::TooLong(body));
    }
    out.reserve(LENGTH_BYTES + body);
    // The length is at most 240,000, so it fits into 32 bits.
    out.extend_from_slice(&(body as u32).to_be_bytes());
    envelope.encode_raw(out);
    Ok(())
}

impl Envelope {
    /// Wraps a message in an envelope.
    pub fn new(direction: Direction, message: impl Into<Message>) -> Self {
        Self { msg_dir: Some(direction.into()), msg: Some(message.into()) }
    }

    /// Wraps a message in an envelope without a direction, like the replies and events of MARC's agents.
    pub fn undirected(message: impl Into<Message>) -> Self {
        Self { msg_dir: None, msg: Some(message.into()) }
    }

    /// Returns the direction, or [`Direction::NotSet`] if it is absent.
    pub fn direction(&self) -> Option<Direction> {
        Direction::from_number(self.msg_dir.unwrap_or(0))
    }
}

impl Header {
    /// Returns the header that published controllers and agents write.
    pub fn new(kind: Kind, xid: u32) -> Self {
        Self { version: Some(0), kind: Some(kind.into()), xid: Some(xid) }
    }
}

/// Returns system frame number (10 bits) and subframe (4 bits) in the encoding of FlexRAN. The value repeats after 10.24 s.
pub fn sfn_sf(ms_since_start: u64) -> u32 {
    let frame = (ms_since_start / 10) % 1024;
    let subframe = ms_since_start % 10;
    // The value has at most 14 bits.
    ((frame << 4) | subframe) as u32
}

/// Returns the milliseconds within the period of 10.24 s, or `None` if the subframe does not exist.
pub fn ms_of_sfn_sf(sfn_sf: u32) -> Option<u32> {
    let frame = sfn_sf >> 4;
    let subframe = sfn_sf & 15;
    (frame < 1024 && subframe < 10).then_some(frame * 10 + subframe)
}

#[cfg(test)]
mod tests;
