//! Reason why bytes were refused, with all data for the response to the peer.
use super::*;
use crate::per::{DecodeError, DecodeFault};

/// Reason of a [`Rejection`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The bytes are not a message.
    #[error("{0}")]
    Syntax(DecodeError),
    /// The version does not define the procedure.
    #[error("procedure code {0} has no message of this type in this version")]
    UnknownProcedure(u8),
    /// The message is followed by further bytes.
    #[error("{0} bytes follow the message")]
    TrailingOctets(usize),
}

/// Bytes from a peer that are not a valid message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Rejection {
    /// Reason.
    pub reason: RejectReason,
    /// Message type, procedure code and criticality, if they could be read.
    pub envelope: Option<(TriggeringMessage, u8, Criticality)>,
    /// Request id, if it could be read.
    pub request_id: Option<RicRequestId>,
    /// RAN function, if it could be read.
    pub function_id: Option<RanFunctionId>,
    /// Transaction id, if it could be read.
    pub transaction_id: Option<TransactionId>,
    /// Elements with errors.
    pub ies: Vec<IeDiagnostic>,
}

impl Rejection {
    pub(crate) fn of_envelope(error: DecodeError, _pdu: &[u8]) -> Self {
        let reason = RejectReason::Syntax(error);
        Self {
            reason,
            envelope: None,
            request_id: None,
            function_id: None,
            transaction_id: None,
            ies: Vec::new(),
        }
    }

    pub(crate) fn new(
        reason: RejectReason,
        envelope: (TriggeringMessage, u8, Criticality),
        ies: Vec<IeDiagnostic>,
        pdu: &[u8],
    ) -> Self {
        let keys = Keys::scan(pdu);
        Self {
            reason,
            envelope: Some(envelope),
            request_id: keys.request_id,
            function_id: keys.function_id,
            transaction_id: keys.transaction_id,
            ies,
        }
    }

    /// Returns the cause that the standard assigns (clause 10).
    pub fn cause(&self) -> Cause {
        Cause::Protocol(match &self.reason {
            RejectReason::Syntax(e) => match e.fault {
                DecodeFault::Missing(_) | DecodeFault::UnknownIe(_) => {
                    CauseProtocol::AbstractSyntaxErrorReject
                }
                DecodeFault::DuplicateIe(_) => CauseProtocol::FalselyConstructedMessage,
                _ => CauseProtocol::TransferSyntaxError,
            },
            RejectReason::UnknownProcedure(_) => match self.envelope {
                Some((_, _, Criticality::Reject)) | None => CauseProtocol::AbstractSyntaxErrorReject,
                Some(_) => CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify,
            },
            RejectReason::TrailingOctets(_) => CauseProtocol::TransferSyntaxError,
        })
    }

    /// Returns whether the sender requests no response, because the procedure may be ignored if it is not
    /// comprehended (clause 10.3.4.1).
    pub fn is_ignorable(&self) -> bool {
        let ignore = matches!(self.envelope, Some((_, _, Criticality::Ignore)));
        ignore && matches!(self.reason, RejectReason::UnknownProcedure(_))
    }

    /// Returns the diagnostics for a response.
    pub fn diagnostics(&self) -> CriticalityDiagnostics {
        let items = self.ies.iter().take(MAX_DIAGNOSTICS).map(|d| CriticalityDiagnosticsIe {
            criticality: d.criticality,
            id: d.id,
            error: d.error,
        });
        let ies: Vec<_> = items.collect();
        CriticalityDiagnostics {
            procedure_code: self.envelope.map(|(_, code, _)| code),
            triggering_message: self.envelope.map(|(kind, _, _)| kind),
            procedure_criticality: self.envelope.map(|(_, _, criticality)| criticality),
            request_id: self.request_id,
            ies: if ies.is_empty() { None } else { Some(ies) },
        }
    }

    /// Returns the error indication for a response.
    pub fn error_indication(&self, version: Version) -> ErrorIndication {
        ErrorIndication {
            transaction_id: if version == Version::V1_01 { None } else { self.transaction_id },
            request_id: self.request_id,
            function_id: self.function_id,
            cause: Some(self.cause()),
            diagnostics: self.envelope.map(|_| self.diagnostics()),
        }
    }

    /// Returns whether a later version may be able to decode the message: something was unknown, but nothing was
    /// invalid.
    pub(crate) fn may_be_newer(&self) -> bool {
        match &self.reason {
            RejectReason::UnknownProcedure(code) => (14..=16).contains(code),
            RejectReason::Syntax(e) => {
                matches!(e.fault, DecodeFault::UnknownAlternative(_) | DecodeFault::UnknownIe(_))
            }
            RejectReason::TrailingOctets(_) => false,
        }
    }
}

/// Identifiers read from a message whose remainder may be invalid.
#[derive(Default)]
struct Keys {
    request_id: Option<RicRequestId>,
    function_id: Option<RanFunctionId>,
    transaction_id: Option<TransactionId>,
}

impl Keys {
    /// Reads the elements as far as they can be delimited.
    fn scan(pdu: &[u8]) -> Self {
        let mut keys = Self::default();
        let Some((_, body)) = pdu.get(3..).and_then(take_length) else { return keys };
        let Some([_, count @ ..]) = body.get(..3) else { return keys };
        let mut rest = &body[3..];
        for _ in 0..u16::from_be_bytes([count[0], count[1]]) {
            let [hi, lo, _, tail @ ..] = rest else { break };
            let Some((n, tail)) = take_length(tail) else { break };
            let Some((value, tail)) = tail.split_at_checked(n) else { break };
            rest = tail;
            match (u16::from_be_bytes([*hi, *lo]), value) {
                (ids::RIC_REQUEST_ID, &[0, a, b, c, d]) => {
                    let requestor = u16::from_be_bytes([a, b]);
                    let instance = u16::from_be_bytes([c, d]);
                    keys.request_id = Some(RicRequestId { requestor, instance });
                }
                (ids::RAN_FUNCTION_ID, &[a @ 0..16, b]) => {
                    keys.function_id = Some(u16::from_be_bytes([a, b]))
                }
                (ids::TRANSACTION_ID, &[0, id]) => keys.transaction_id = Some(u16::from(id)),
                _ => {}
            }
        }
        keys
    }
}

/// Returns a length below one fragment unit, and the remaining bytes.
fn take_length(octets: &[u8]) -> Option<(usize, &[u8])> {
    match octets {
        [n @ 0..0x80, rest @ ..] => Some((usize::from(*n), rest)),
        [n @ 0x80..0xc0, m, rest @ ..] => Some((usize::from(n & 0x3f) << 8 | usize::from(*m), rest)),
        _ => None,
    }
}
