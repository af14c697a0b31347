//! Errors of PFCP messages.
use super::{Cause, Header};

/// Bytes that are not a valid PFCP message, or a message that must be refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The datagram is too short for a header. It cannot be answered.
    #[error("a header needs {need} bytes, the datagram has {have}")]
    Truncated {
        /// Number of bytes needed.
        need: usize,
        /// Number of bytes available.
        have: usize,
    },
    /// The version is not supported. The response is Version Not Supported (§7.6.2).
    #[error("version {version} is not supported; only version 1 is")]
    Version {
        /// Version in the header.
        version: u8,
        /// Sequence number for the response.
        sequence: u32,
    },
    /// The announced length exceeds the datagram (§7.6.3).
    #[error("the header announces {announced} bytes, the datagram has {have}")]
    Length {
        /// Header (its length is not kept). Used to answer a request with cause 68, Invalid length.
        header: Header,
        /// Number of bytes after the first four, according to the header.
        announced: usize,
        /// Number of received bytes after the first four.
        have: usize,
    },
    /// The message type is unknown (§7.6.4). The message is discarded.
    #[error("unknown message type {}", header.message_type)]
    UnknownMessage {
        /// Header of the message.
        header: Header,
    },
    /// A session message without SEID, or a node message with SEID.
    #[error("message type {}: the S flag must be {}", header.message_type, u8::from(header.seid.is_none()))]
    SeidFlag {
        /// Header of the message.
        header: Header,
    },
    /// An information element invalidates the message (§7.6.6 and following).
    #[error("message type {}: {fault}", header.message_type)]
    Element {
        /// Header of the message, for the response.
        header: Header,
        /// Information element with its fault.
        fault: Fault,
    },
}

impl DecodeError {
    /// Returns header, Cause and Offending IE of the response. Returns `None` if the message must be discarded, or answered with Version
    /// Not Supported.
    pub fn refusal(&self) -> Option<(Header, Cause, Option<u16>)> {
        match self {
            Self::Length { header, .. } | Self::SeidFlag { header } => {
                Some((*header, Cause::INVALID_LENGTH, None))
            }
            Self::Element { header, fault } => Some((*header, fault.kind.cause(), Some(fault.ie_type))),
            Self::Truncated { .. } | Self::Version { .. } | Self::UnknownMessage { .. } => None,
        }
    }
}

/// An information element and its fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("information element {ie_type} {kind}")]
pub struct Fault {
    /// Type of the innermost affected element, for Offending IE.
    pub ie_type: u16,
    /// Kind of the fault.
    pub kind: FaultKind,
}

/// Fault of an information element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// A mandatory element is absent.
    #[error("is mandatory and missing")]
    MissingMandatory,
    /// An element is absent, although the value of another element requires it.
    #[error("is missing although another element requires it")]
    MissingConditional,
    /// The element is too short for its content, or extends beyond the enclosing element.
    #[error("has an invalid length")]
    Length,
    /// The element has an invalid value.
    #[error("has an invalid value")]
    Value,
}

impl FaultKind {
    /// Returns the corresponding cause (§8.2.1).
    pub fn cause(self) -> Cause {
        match self {
            Self::MissingMandatory => Cause::MANDATORY_IE_MISSING,
            Self::MissingConditional => Cause::CONDITIONAL_IE_MISSING,
            Self::Length => Cause::INVALID_LENGTH,
            Self::Value => Cause::MANDATORY_IE_INCORRECT,
        }
    }

    /// Returns this fault for an element.
    pub fn on_element(self, ie_type: u16) -> Fault {
        Fault { ie_type, kind: self }
    }
}

/// A message that cannot be encoded, because the caller passed invalid content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The SEID is missing in a session message (use 0 if the peer's SEID is unknown), or given for a node message.
    #[error("message type {message_type}: a SEID must be {}", if *needed { "given" } else { "absent" })]
    Seid {
        /// Type of the message.
        message_type: u8,
        /// Whether a SEID is required.
        needed: bool,
    },
    /// A message or an element exceeds its 16-bit length field.
    #[error("{len} bytes do not fit into a 16-bit length field")]
    TooLong {
        /// Length of the message or element, in bytes.
        len: usize,
    },
}
