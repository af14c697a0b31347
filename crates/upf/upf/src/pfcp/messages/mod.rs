//! The messages (TS 29.244 §7.3 to §7.5) and their codec.
mod node;
mod session;

pub use node::*;
pub use session::*;

use super::ie::{IeValue, Reader, Writer};
use super::{DecodeError, EncodeError, Fault, Header, Random};

/// Declares the message types: `number CONSTANT Name "description";`.
macro_rules! messages {
    ($( $number:literal $constant:ident $name:ident $doc:literal; )*) => {
        /// Message types (§7.3).
        pub mod message_type {
            $( #[doc = $doc] pub const $constant: u8 = $number; )*
        }

        /// PFCP message.
        #[derive(Debug, Clone, PartialEq, Eq)]
        // The variants are not boxed, because messages exist only briefly on the stack. A box would cost more than the copy.
        #[allow(clippy::large_enum_variant)]
        pub enum Message {
            $( #[doc = $doc] $name($name), )*
        }

        impl Message {
            /// All message types with their names.
            pub const TYPES: &[(u8, &str)] = &[$( ($number, stringify!($name)), )*];

            /// Returns the message type; see [`message_type`].
            pub fn message_type(&self) -> u8 {
                match self {
                    $( Self::$name(_) => $number, )*
                }
            }

            /// Returns a random valid message of a type, or `None` if the type is unknown.
            pub fn random(message_type: u8, random: &mut Random) -> Option<Self> {
                match message_type {
                    $( $number => Some(Self::$name(IeValue::random(random))), )*
                    _ => None,
                }
            }

            fn put(&self, writer: &mut Writer) {
                match self {
                    $( Self::$name(message) => message.put(writer), )*
                }
            }

            fn take(message_type: u8, elements: &[u8]) -> Option<Result<Self, Fault>> {
                let reader = &mut Reader::new(elements);
                match message_type {
                    $( $number => Some(IeValue::take(reader).map(Self::$name)), )*
                    _ => None,
                }
            }
        }

        $(
            impl From<$name> for Message {
                fn from(message: $name) -> Self {
                    Self::$name(message)
                }
            }
        )*
    };
}

messages! {
    1 HEARTBEAT_REQUEST HeartbeatRequest "Heartbeat request.";
    2 HEARTBEAT_RESPONSE HeartbeatResponse "Heartbeat response.";
    3 PFD_MANAGEMENT_REQUEST PfdManagementRequest "PFD management request.";
    4 PFD_MANAGEMENT_RESPONSE PfdManagementResponse "PFD management response.";
    5 ASSOCIATION_SETUP_REQUEST AssociationSetupRequest "Association setup request.";
    6 ASSOCIATION_SETUP_RESPONSE AssociationSetupResponse "Association setup response.";
    7 ASSOCIATION_UPDATE_REQUEST AssociationUpdateRequest "Association update request.";
    8 ASSOCIATION_UPDATE_RESPONSE AssociationUpdateResponse "Association update response.";
    9 ASSOCIATION_RELEASE_REQUEST AssociationReleaseRequestMessage "Association release request.";
    10 ASSOCIATION_RELEASE_RESPONSE AssociationReleaseResponse "Association release response.";
    11 VERSION_NOT_SUPPORTED_RESPONSE VersionNotSupportedResponse "Version not supported response.";
    12 NODE_REPORT_REQUEST NodeReportRequest "Node report request: user plane paths that failed or recovered.";
    13 NODE_REPORT_RESPONSE NodeReportResponse "Node report response.";
    14 SESSION_SET_DELETION_REQUEST SessionSetDeletionRequest "Session set deletion request.";
    15 SESSION_SET_DELETION_RESPONSE SessionSetDeletionResponse "Session set deletion response.";
    50 SESSION_ESTABLISHMENT_REQUEST SessionEstablishmentRequest "Session establishment request.";
    51 SESSION_ESTABLISHMENT_RESPONSE SessionEstablishmentResponse "Session establishment response.";
    52 SESSION_MODIFICATION_REQUEST SessionModificationRequest "Session modification request.";
    53 SESSION_MODIFICATION_RESPONSE SessionModificationResponse "Session modification response.";
    54 SESSION_DELETION_REQUEST SessionDeletionRequest "Session deletion request.";
    55 SESSION_DELETION_RESPONSE SessionDeletionResponse "Session deletion response.";
    56 SESSION_REPORT_REQUEST SessionReportRequest "Session report request.";
    57 SESSION_REPORT_RESPONSE SessionReportResponse "Session report response.";
}

/// Message with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// Header, as it was received.
    pub header: Header,
    /// Message.
    pub message: Message,
}

impl Pdu {
    /// Creates a message to a session or a node. For a session, `seid` is `Some`, and 0 if the peer's SEID is unknown. For a node, it is
    /// `None`.
    pub fn new(message: impl Into<Message>, seid: Option<u64>, sequence: u32) -> Self {
        let message = message.into();
        Self { header: Header::new(message.message_type(), seid, sequence), message }
    }

    /// Appends the message to `out`. Leaves `out` unchanged on an error.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let header = Header { message_type: self.message.message_type(), ..self.header };
        let needed = Header::needs_seid(header.message_type);
        if needed != header.seid.is_some() {
            return Err(EncodeError::Seid { message_type: header.message_type, needed });
        }
        let start = out.len();
        let mut writer = Writer { out: std::mem::take(out), too_long: None };
        header.put(&mut writer.out);
        self.message.put(&mut writer);
        writer.length(start + 2, start + 4);
        *out = writer.out;
        match writer.too_long {
            Some(len) => {
                out.truncate(start);
                Err(EncodeError::TooLong { len })
            }
            None => Ok(()),
        }
    }
}

/// Encodes a message; see [`Pdu::encode`].
pub fn encode(message: impl Into<Message>, seid: Option<u64>, sequence: u32) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    Pdu::new(message, seid, sequence).encode(&mut out)?;
    Ok(out)
}

/// Decodes the first message of a datagram. Also returns the bytes after the message. They are another message if [`Header::follow_on`] is
/// set, otherwise padding.
///
/// Memory is allocated in proportion to the received bytes, whatever lengths the message announces.
pub fn decode(datagram: &[u8]) -> Result<(Pdu, &[u8]), DecodeError> {
    let (header, elements, rest) = Header::read(datagram)?;
    let unknown = DecodeError::UnknownMessage { header };
    if !Message::TYPES.iter().any(|(number, _)| *number == header.message_type) {
        return Err(unknown);
    }
    if Header::needs_seid(header.message_type) != header.seid.is_some() {
        return Err(DecodeError::SeidFlag { header });
    }
    match Message::take(header.message_type, elements) {
        Some(Ok(message)) => Ok((Pdu { header, message }, rest)),
        Some(Err(fault)) => Err(DecodeError::Element { header, fault }),
        None => Err(unknown),
    }
}
