//! E2AP-PDU: the envelope of the 39 messages, and the functions [`encode`] and [`decode`].
use super::*;
use crate::per::{Codec, DecodeError, EncodeError, Int, Notation, Per, Reader, Source, Writer};
use bytes::Bytes;

/// Defines every message with its type, procedure code, procedure criticality and the versions that define it.
macro_rules! messages {
    ($( $v:ident($t:ty) $asn:literal = $kind:ident $code:literal $crit:ident since $since:ident ),+ $(,)?) => {
        /// One of the 39 messages of E2AP.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(clippy::large_enum_variant)]
        pub enum Message { $( #[doc = concat!("`", $asn, "`.")] $v($t), )+ }

        impl Message {
            /// ASN.1 names of all messages.
            pub const NAMES: &'static [&'static str] = &[$( $asn ),+];

            /// Returns the ASN.1 name.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$v(_) => $asn, )+ }
            }

            /// Returns message type, procedure code and procedure criticality.
            pub fn envelope(&self) -> (TriggeringMessage, u8, Criticality) {
                match self { $( Self::$v(_) => (TriggeringMessage::$kind, $code, Criticality::$crit), )+ }
            }

            /// Returns the first version that defines this message.
            pub fn since(&self) -> Version {
                match self { $( Self::$v(_) => Version::$since, )+ }
            }

            fn encode_value(&self, w: &mut Writer) -> Result<(), EncodeError> {
                match self { $( Self::$v(m) => m.encode(w), )+ }
            }

            fn decode_value<S: Source>(kind: TriggeringMessage, code: u8, r: &mut S) -> Result<Option<Self>, DecodeError> {
                let version = r.version();
                Ok(match (kind, code) {
                    $( (TriggeringMessage::$kind, $code) if version >= Version::$since => Some(Self::$v(Per::decode(r)?)), )+
                    _ => None,
                })
            }

            /// Returns a random valid message of the given name if the version defines it, for tests and fuzzing.
            pub fn random(name: &str, seed: u64, version: Version) -> Option<Self> {
                let mut source = crate::per::Random::new(seed, version);
                match name {
                    $( $asn if version >= Version::$since => Per::decode(&mut source).ok().map(Self::$v), )+
                    _ => None,
                }
            }

            fn show_value(&self, n: &mut Notation) {
                match self { $( Self::$v(m) => m.show(n), )+ }
            }
        }
    };
}

messages! {
    E2SetupRequest(E2SetupRequest) "E2setupRequest" = Initiating 1 Reject since V1_01,
    E2SetupResponse(E2SetupResponse) "E2setupResponse" = Successful 1 Reject since V1_01,
    E2SetupFailure(E2SetupFailure) "E2setupFailure" = Unsuccessful 1 Reject since V1_01,
    ErrorIndication(ErrorIndication) "ErrorIndication" = Initiating 2 Ignore since V1_01,
    ResetRequest(ResetRequest) "ResetRequest" = Initiating 3 Reject since V1_01,
    ResetResponse(ResetResponse) "ResetResponse" = Successful 3 Reject since V1_01,
    RicControlRequest(RicControlRequest) "RICcontrolRequest" = Initiating 4 Reject since V1_01,
    RicControlAcknowledge(RicControlAcknowledge) "RICcontrolAcknowledge" = Successful 4 Reject since V1_01,
    RicControlFailure(RicControlFailure) "RICcontrolFailure" = Unsuccessful 4 Reject since V1_01,
    RicIndication(RicIndication) "RICindication" = Initiating 5 Ignore since V1_01,
    RicServiceQuery(RicServiceQuery) "RICserviceQuery" = Initiating 6 Ignore since V1_01,
    RicServiceUpdate(RicServiceUpdate) "RICserviceUpdate" = Initiating 7 Reject since V1_01,
    RicServiceUpdateAcknowledge(RicServiceUpdateAcknowledge) "RICserviceUpdateAcknowledge" = Successful 7 Reject since V1_01,
    RicServiceUpdateFailure(RicServiceUpdateFailure) "RICserviceUpdateFailure" = Unsuccessful 7 Reject since V1_01,
    RicSubscriptionRequest(RicSubscriptionRequest) "RICsubscriptionRequest" = Initiating 8 Reject since V1_01,
    RicSubscriptionResponse(RicSubscriptionResponse) "RICsubscriptionResponse" = Successful 8 Reject since V1_01,
    RicSubscriptionFailure(RicSubscriptionFailure) "RICsubscriptionFailure" = Unsuccessful 8 Reject since V1_01,
    RicSubscriptionDeleteRequest(RicSubscriptionDeleteRequest) "RICsubscriptionDeleteRequest" = Initiating 9 Reject since V1_01,
    RicSubscriptionDeleteResponse(RicSubscriptionDeleteResponse) "RICsubscriptionDeleteResponse" = Successful 9 Reject since V1_01,
    RicSubscriptionDeleteFailure(RicSubscriptionDeleteFailure) "RICsubscriptionDeleteFailure" = Unsuccessful 9 Reject since V1_01,
    E2NodeConfigurationUpdate(E2NodeConfigurationUpdate) "E2nodeConfigurationUpdate" = Initiating 10 Reject since V1_01,
    E2NodeConfigurationUpdateAcknowledge(E2NodeConfigurationUpdateAcknowledge) "E2nodeConfigurationUpdateAcknowledge" = Successful 10 Reject since V1_01,
    E2NodeConfigurationUpdateFailure(E2NodeConfigurationUpdateFailure) "E2nodeConfigurationUpdateFailure" = Unsuccessful 10 Reject since V1_01,
    E2ConnectionUpdate(E2ConnectionUpdate) "E2connectionUpdate" = Initiating 11 Reject since V1_01,
    E2ConnectionUpdateAcknowledge(E2ConnectionUpdateAcknowledge) "E2connectionUpdateAcknowledge" = Successful 11 Reject since V1_01,
    E2ConnectionUpdateFailure(E2ConnectionUpdateFailure) "E2connectionUpdateFailure" = Unsuccessful 11 Reject since V1_01,
    RicSubscriptionDeleteRequired(RicSubscriptionDeleteRequired) "RICsubscriptionDeleteRequired" = Initiating 12 Ignore since V2_03,
    E2RemovalRequest(E2RemovalRequest) "E2RemovalRequest" = Initiating 13 Reject since V2_03,
    E2RemovalResponse(E2RemovalResponse) "E2RemovalResponse" = Successful 13 Reject since V2_03,
    E2RemovalFailure(E2RemovalFailure) "E2RemovalFailure" = Unsuccessful 13 Reject since V2_03,
    RicSubscriptionModificationRequest(RicSubscriptionModificationRequest) "RICsubscriptionModificationRequest" = Initiating 14 Reject since V3_01,
    RicSubscriptionModificationResponse(RicSubscriptionModificationResponse) "RICsubscriptionModificationResponse" = Successful 14 Reject since V3_01,
    RicSubscriptionModificationFailure(RicSubscriptionModificationFailure) "RICsubscriptionModificationFailure" = Unsuccessful 14 Reject since V3_01,
    RicSubscriptionModificationRequired(RicSubscriptionModificationRequired) "RICsubscriptionModificationRequired" = Initiating 15 Reject since V3_01,
    RicSubscriptionModificationConfirm(RicSubscriptionModificationConfirm) "RICsubscriptionModificationConfirm" = Successful 15 Reject since V3_01,
    RicSubscriptionModificationRefuse(RicSubscriptionModificationRefuse) "RICsubscriptionModificationRefuse" = Unsuccessful 15 Reject since V3_01,
    RicQueryRequest(RicQueryRequest) "RICqueryRequest" = Initiating 16 Reject since V3_01,
    RicQueryResponse(RicQueryResponse) "RICqueryResponse" = Successful 16 Reject since V3_01,
    RicQueryFailure(RicQueryFailure) "RICqueryFailure" = Unsuccessful 16 Reject since V3_01,
}

impl Message {
    /// Returns the PDU in ASN.1 value notation.
    pub fn notation(&self) -> String {
        let (kind, code, criticality) = self.envelope();
        envelope_notation(kind, code, criticality, self.name(), |n| self.show_value(n))
    }
}

/// Writes a PDU in ASN.1 value notation, with the contents that `value` writes.
pub(crate) fn envelope_notation(
    kind: TriggeringMessage,
    code: u8,
    criticality: Criticality,
    name: &str,
    value: impl FnOnce(&mut Notation),
) -> String {
    Notation::collect(|n| {
        n.text(match kind {
            TriggeringMessage::Initiating => "initiatingMessage : ",
            TriggeringMessage::Successful => "successfulOutcome : ",
            TriggeringMessage::Unsuccessful => "unsuccessfulOutcome : ",
        });
        n.braces(|n| {
            n.field("procedureCode", |n| n.value(code));
            n.field("criticality", |n| n.text(criticality.name()));
            n.field("value", |n| {
                n.value(format_args!("{name}: "));
                value(n);
            });
        });
    })
}

/// A decoded message, with its differences from the standard encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded<M = Message> {
    /// The message.
    pub message: M,
    /// Criticality of the procedure as received.
    pub criticality: Criticality,
    /// Containers that deviate from the standard; empty for nearly all messages.
    pub deviations: Vec<Deviation>,
    /// Skipped elements whose sender requests a report.
    pub diagnostics: Vec<IeDiagnostic>,
}

impl<M> Decoded<M> {
    /// Returns descriptions of the differences from the standard encoding.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.deviations.iter().flat_map(|d| d.notes.iter().map(String::as_str))
    }
}

/// Encodes a message.
pub fn encode(message: &Message, version: Version) -> Result<Vec<u8>, EncodeError> {
    encode_into(message, version, Vec::with_capacity(128))
}

/// Encodes a message like [`encode`], appending to the given buffer.
pub fn encode_into(message: &Message, version: Version, buf: Vec<u8>) -> Result<Vec<u8>, EncodeError> {
    if version < message.since() {
        return Err(EncodeError::NotInVersion { element: message.name(), version: version.name() });
    }
    let (kind, code, criticality) = message.envelope();
    let mut w = Writer::new(buf, version);
    put_envelope(&mut w, kind, code, criticality, |w| message.encode_value(w))?;
    Ok(w.into_vec())
}

/// Encodes a message as it was received, including criticality and order of its elements, and unknown ones.
pub fn encode_as_received(decoded: &Decoded, version: Version) -> Result<Vec<u8>, EncodeError> {
    let message = &decoded.message;
    let (kind, code, _) = message.envelope();
    let mut w =
        Writer::new(Vec::with_capacity(128), version).with_replay(Replay::new(decoded.deviations.clone()));
    put_envelope(&mut w, kind, code, decoded.criticality, |w| message.encode_value(w))?;
    Ok(w.into_vec())
}

/// Decodes a message. Octet strings are slices of `pdu`.
pub fn decode(pdu: &Bytes, version: Version) -> Result<Decoded, Rejection> {
    let mut r = Reader::new(pdu.clone(), version);
    let envelope = take_envelope(&mut r).map_err(|e| Rejection::of_envelope(e, pdu))?;
    let (kind, code, criticality) = envelope;
    let value = r.open(|r| Message::decode_value(kind, code, r));
    let left = r.remaining();
    let (deviations, diagnostics) = r.into_observations();
    match value {
        Ok(Some(message)) if left == 0 => Ok(Decoded { message, criticality, deviations, diagnostics }),
        Ok(Some(_)) => Err(Rejection::new(RejectReason::TrailingOctets(left), envelope, diagnostics, pdu)),
        Ok(None) => Err(Rejection::new(RejectReason::UnknownProcedure(code), envelope, diagnostics, pdu)),
        Err(e) => Err(Rejection::new(RejectReason::Syntax(e), envelope, diagnostics, pdu)),
    }
}

/// Decodes like [`decode`]; a v2.03 message with unknown contents is also tried as v3.01, which extends v2.03.
/// Returns the version that succeeded.
pub fn decode_upgrading(pdu: &Bytes, version: Version) -> Result<(Decoded, Version), Rejection> {
    match decode(pdu, version) {
        Err(first) if version == Version::V2_03 && first.may_be_newer() => {
            match decode(pdu, Version::V3_01) {
                Ok(decoded) => Ok((decoded, Version::V3_01)),
                Err(_) => Err(first),
            }
        }
        other => other.map(|decoded| (decoded, version)),
    }
}

pub(crate) fn put_envelope(
    w: &mut Writer,
    kind: TriggeringMessage,
    code: u8,
    criticality: Criticality,
    value: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    w.bit(false);
    w.bits(kind as u64, 2);
    w.constrained("procedureCode", u64::from(code), 0, 255)?;
    w.bits(criticality as u64, 2);
    w.open(value)
}

pub(crate) fn take_envelope(r: &mut Reader) -> Result<(TriggeringMessage, u8, Criticality), DecodeError> {
    let (_, kind) = r.index(3, 0, true).map_err(|e| e.within("E2AP-PDU"))?;
    let kind = match kind {
        0 => TriggeringMessage::Initiating,
        1 => TriggeringMessage::Successful,
        _ => TriggeringMessage::Unsuccessful,
    };
    let code: u8 = Int::<0, 255>::decode(r).map_err(|e| e.within("procedureCode"))?;
    let criticality = Criticality::decode(r).map_err(|e| e.within("criticality"))?;
    Ok((kind, code, criticality))
}
