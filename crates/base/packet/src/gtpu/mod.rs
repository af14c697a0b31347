//! GTP-U (TS 29.281), the tunnel between base station and user plane function.
//!
//! * [`Packet`]: a datagram decoded in place: header, extension headers, payload. [`Header`] writes one.
//! * [`Message`]: content of the signalling messages (echo, error indication, end marker …).
//! * [`PduSession`]: the PDU session container (TS 38.415), which contains the QoS flow.
//! * [`GpduTemplate`]: the header of a G-PDU in which only TEID and length change.
//!
//! Decoding allocates nothing and never panics; every fault is a [`GtpuError`].
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
/// Size of a header without optional fields, bytes.
pub const HEADER_LEN: usize = 8;
/// Maximum number of extension headers per packet. Limits the processing time of a packet.
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

/// Bytes that are not valid GTP-U, or a value that GTP-U cannot carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GtpuError {
    /// The datagram ends before the element does.
    #[error("{what} needs {need} bytes, the datagram has {have}")]
    Truncated {
        /// Element being read.
        what: &'static str,
        /// Number of bytes that the element needs.
        need: usize,
        /// Number of bytes available.
        have: usize,
    },
    /// Version other than 1.
    #[error("the GTP version is {0}; only version 1 is allowed")]
    Version(u8),
    /// Protocol type 0: GTP' (charging), a different protocol.
    #[error("protocol type 0 is GTP', not GTP")]
    ProtocolType,
    /// The announced length differs from the datagram's length.
    #[error("the header announces {announced} bytes, the datagram has {have}")]
    Length {
        /// Announced bytes after the first eight.
        announced: usize,
        /// Received bytes after the first eight.
        have: usize,
    },
    /// Extension header of length zero: the chain would never end.
    #[error("extension header {0:#04x} has length zero")]
    EmptyExtension(u8),
    /// More extension headers than [`MAX_EXTENSIONS`].
    #[error("the packet has more than {MAX_EXTENSIONS} extension headers")]
    TooManyExtensions,
    /// A mandatory information element is absent or has an invalid length.
    #[error("message type {message_type}: {element} is missing or malformed")]
    Element {
        /// Type of the message.
        message_type: u8,
        /// Name of the information element.
        element: &'static str,
    },
    /// PDU session container of a type that TS 38.415 does not define.
    #[error("a PDU session container has PDU type {0}; 0 (DL) and 1 (UL) are allowed")]
    PduType(u8),
    /// Message type that TS 29.281 does not define.
    #[error("unknown message type {0}")]
    UnknownMessage(u8),
    /// Length that does not fit the length field, or an extension header whose length is not 4n - 2 bytes.
    #[error("{what} of {len} bytes cannot be encoded")]
    Unencodable {
        /// Element being written.
        what: &'static str,
        /// Length of the element, bytes.
        len: usize,
    },
}

/// Returns the first `N` bytes and the rest.
fn split<'a, const N: usize>(
    what: &'static str,
    octets: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), GtpuError> {
    octets.split_first_chunk().ok_or(GtpuError::Truncated { what, need: N, have: octets.len() })
}
