//! GTP-U (TS 29.281), the tunnel between base station and user plane function.
//!
//! * [`Packet`]: a datagram read in place: header, extension headers, payload. [`Header`] writes one.
//! * [`Message`]: what the signalling messages say (echo, error indication, end marker …).
//! * [`PduSession`]: the PDU session container (TS 38.415) that carries the QoS flow.
//! * [`GpduTemplate`]: the head of a G-PDU of which only TEID and length change.
//!
//! Reading allocates nothing and never panics; whatever is wrong is a [`GtpuError`].
mod container;
mod header;
mod message;
mod template;

pub use container::{DlPduSession, PduSession, UlPduSession, UlTimes};
pub use header::{Extension, Extensions, Header, Packet};
pub use message::{Message, decode_message, encode_message};
pub use template::GpduTemplate;

/// UDP port of GTP-U (TS 29.281 §4.4.2).
pub const PORT: u16 = 2152;
/// Octets of a header without any optional field.
pub const HEADER_LEN: usize = 8;
/// Extension headers that one packet may carry before it is refused: a chain costs its reader time.
pub const MAX_EXTENSIONS: usize = 8;

/// Message types (TS 29.281 §6.1).
pub mod message_type {
    ranlab_machine::codes! { u8:
        ECHO_REQUEST = 1 "Echo Request.";
        ECHO_RESPONSE = 2 "Echo Response.";
        ERROR_INDICATION = 26 "Error Indication.";
        SUPPORTED_EXTENSION_HEADERS = 31 "Supported Extension Headers Notification.";
        END_MARKER = 254 "End Marker.";
        G_PDU = 255 "G-PDU: a user's packet.";
    }
}

/// Extension header types (TS 29.281 §5.2.1).
pub mod extension_type {
    ranlab_machine::codes! { u8:
        NONE = 0x00 "No further extension header.";
        UDP_PORT = 0x40 "UDP port that triggered an error indication.";
        PDU_SESSION_CONTAINER = 0x85 "PDU session container.";
        PDCP_PDU_NUMBER = 0xc0 "PDCP PDU number.";
    }
}

/// Octets that are no GTP-U, or a value that GTP-U cannot carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GtpuError {
    /// The datagram ends before the element does.
    #[error("{what} needs {need} octets, the datagram has {have}")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Octets needed.
        need: usize,
        /// Octets there.
        have: usize,
    },
    /// Version 1 is the only one.
    #[error("version {0}; 1 is the only one allowed")]
    Version(u8),
    /// Protocol type 0 is GTP' (charging), which is another protocol.
    #[error("protocol type 0 is GTP', not GTP")]
    ProtocolType,
    /// The announced length is not the datagram's.
    #[error("the header announces {announced} octets, the datagram has {have}")]
    Length {
        /// Octets after the first eight, as announced.
        announced: usize,
        /// Octets after the first eight, as received.
        have: usize,
    },
    /// An extension header of length zero: its chain would have no end.
    #[error("extension header {0:#04x} has length zero")]
    EmptyExtension(u8),
    /// More extension headers than [`MAX_EXTENSIONS`].
    #[error("more than {MAX_EXTENSIONS} extension headers")]
    TooManyExtensions,
    /// An information element that the message must have is absent or has a wrong length.
    #[error("message type {message_type}: {element} is missing or malformed")]
    Element {
        /// Type of the message.
        message_type: u8,
        /// The element.
        element: &'static str,
    },
    /// A PDU session container of a type that TS 38.415 does not define.
    #[error("PDU type {0} in a PDU session container; 0 (DL) and 1 (UL) are allowed")]
    PduType(u8),
    /// A type of message that TS 29.281 does not define.
    #[error("unknown message type {0}")]
    UnknownMessage(u8),
    /// More octets than the length field can say, or an extension header that is not 4n - 2 octets long.
    #[error("{what} of {len} octets cannot be encoded")]
    Unencodable {
        /// What was to be written.
        what: &'static str,
        /// Its length.
        len: usize,
    },
}

/// The first `N` octets and the rest.
fn split<'a, const N: usize>(
    what: &'static str,
    octets: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), GtpuError> {
    octets.split_first_chunk().ok_or(GtpuError::Truncated { what, need: N, have: octets.len() })
}
