//! Faults of PFCP messages.
use super::{Cause, Header};

/// Bytes that are not a valid PFCP message, or a message that must be refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Too short for a header; no answer is possible.
    #[error("a header needs {need} bytes, the datagram has {have}")]
    Truncated {
        /// Needed bytes.
        need: usize,
        /// Available bytes.
        have: usize,
    },
    /// Unsupported version; the answer is Version Not Supported (§7.6.2).
    #[error("version {version}; 1 is the only one allowed")]
    Version {
        /// Announced version.
        version: u8,
        /// Sequence number of the answer.
        sequence: u32,
    },
    /// The announced length exceeds the datagram (§7.6.3).
    #[error("the header announces {announced} bytes, the datagram has {have}")]
    Length {
        /// The rest of the header, to answer a request with cause 68.
        header: Header,
        /// Announced bytes after the first four.
        announced: usize,
        /// Received bytes after the first four.
        have: usize,
    },
    /// Unknown message type (§7.6.4); the message is discarded.
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
    /// An information element that invalidates the message (§7.6.6 and following).
    #[error("message type {}: {fault}", header.message_type)]
    Element {
        /// Header of the message, for the answer.
        header: Header,
        /// The element and its fault.
        fault: Fault,
    },
}

impl DecodeError {
    /// Returns header, Cause and Offending IE of the answer. Returns `None` if the message must be discarded or
    /// answered with Version Not Supported.
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
    /// The innermost affected element, for Offending IE.
    pub ie_type: u16,
    /// Fault.
    pub kind: FaultKind,
}

/// Fault of an information element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// A mandatory element is absent.
    #[error("is mandatory and missing")]
    MissingMandatory,
    /// An element that the value of another element requires is absent.
    #[error("is missing although another element asks for it")]
    MissingConditional,
    /// Shorter than its content, or beyond the end of the enclosing element.
    #[error("has an invalid length")]
    Length,
    /// Invalid value.
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

/// A message that cannot be encoded: fault of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A session message requires a SEID (0 if the peer's is unknown); a node message must not have one.
    #[error("message type {message_type}: a SEID must be {}", if *needed { "given" } else { "absent" })]
    Seid {
        /// Message type.
        message_type: u8,
        /// Whether a SEID is required.
        needed: bool,
    },
    /// A message or an element exceeds its 16-bit length field.
    #[error("{len} bytes do not fit a 16-bit length field")]
    TooLong {
        /// Its length, bytes.
        len: usize,
    },
}
