//! What can be wrong with a PFCP message.
use super::{Cause, Header};

/// Octets that are no PFCP message, or one that must be refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Too short for a header; nothing can be answered.
    #[error("a header needs {need} octets, the datagram has {have}")]
    Truncated {
        /// Octets needed.
        need: usize,
        /// Octets there.
        have: usize,
    },
    /// To be answered with Version Not Supported (§7.6.2).
    #[error("version {version}; 1 is the only one allowed")]
    Version {
        /// The version announced.
        version: u8,
        /// The sequence number to answer with.
        sequence: u32,
    },
    /// The announced length exceeds the datagram (§7.6.3).
    #[error("the header announces {announced} octets, the datagram has {have}")]
    Length {
        /// The rest of the header, to answer a request with cause 68.
        header: Header,
        /// Octets after the first four, as announced.
        announced: usize,
        /// Octets after the first four, as received.
        have: usize,
    },
    /// A message type that this implementation does not know (§7.6.4): dropped.
    #[error("unknown message type {}", header.message_type)]
    UnknownMessage {
        /// Its header.
        header: Header,
    },
    /// A session's message without SEID, or a node's message with one.
    #[error("message type {}: the S flag must be {}", header.message_type, u8::from(header.seid.is_none()))]
    SeidFlag {
        /// Its header.
        header: Header,
    },
    /// An information element that makes the message unusable (§7.6.6 and following).
    #[error("message type {}: {fault}", header.message_type)]
    Element {
        /// Header of the message, to answer it.
        header: Header,
        /// The element and what is wrong with it.
        fault: Fault,
    },
}

impl DecodeError {
    /// Cause and Offending IE that an answer to this message has to carry; `None` where no response is due but a drop
    /// or a Version Not Supported.
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

/// An information element and what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("information element {ie_type} {kind}")]
pub struct Fault {
    /// The innermost element concerned: what Offending IE names.
    pub ie_type: u16,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What can be wrong with an information element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// Always to be present, and is not.
    #[error("is mandatory and missing")]
    MissingMandatory,
    /// To be present because of another element's value, and is not.
    #[error("is missing although another element asks for it")]
    MissingConditional,
    /// Shorter than its content, or beyond the end of what contains it.
    #[error("has an invalid length")]
    Length,
    /// A value that the element must not have.
    #[error("has an invalid value")]
    Value,
}

impl FaultKind {
    /// The cause that names it (§8.2.1).
    pub fn cause(self) -> Cause {
        match self {
            Self::MissingMandatory => Cause::MANDATORY_IE_MISSING,
            Self::MissingConditional => Cause::CONDITIONAL_IE_MISSING,
            Self::Length => Cause::INVALID_LENGTH,
            Self::Value => Cause::MANDATORY_IE_INCORRECT,
        }
    }

    /// The fault of a certain element.
    pub fn of(self, ie_type: u16) -> Fault {
        Fault { ie_type, kind: self }
    }
}

/// A message that cannot be written: the caller's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A session's message needs a SEID (0 where the peer's is unknown); a node's message must have none.
    #[error("message type {message_type}: a SEID must be {}", if *needed { "given" } else { "absent" })]
    Seid {
        /// The message.
        message_type: u8,
        /// Whether one is needed.
        needed: bool,
    },
    /// A message or an element longer than its 16-bit length field can say.
    #[error("{len} octets do not fit a 16-bit length field")]
    TooLong {
        /// Its length.
        len: usize,
    },
}
