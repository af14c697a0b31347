//! Conversion of PDUs from and to PER.
use bytes::Bytes;
use planus::{Builder, Offset, ReadAsRoot, UnionOffset};

use super::generated::e2;
use super::{Coding, FlatError};
use crate::e2ap::{
    ActionToBeSetup, Message, RanFunctionId, RicActionType, RicControlAckRequest, RicControlAcknowledge,
    RicIndicationType, RicRequestId, RicSubscriptionDeleteRequest, RicSubscriptionDeleteResponse,
    RicSubscriptionDetails, RicSubscriptionRequest, RicSubscriptionResponse, Version, decode, encode, fast,
};

/// Bytes 4 to 7 of every PDU: the file identifier.
pub const IDENTIFIER: [u8; 4] = *b"RLE2";

/// Maximum number of actions of a subscription, as in PER.
const ACTIONS_MAX: usize = 16;

/// Maximum size of a PDU without its strings, bytes: the initial buffer capacity.
const ROOM: usize = 160;

/// Converts a PDU to FlatBuffers. Never fails: bytes that are not valid E2AP are carried unchanged.
pub fn from_per(pdu: &Bytes, version: Version) -> Bytes {
    let mut builder = Builder::with_capacity(pdu.len() + ROOM);
    let union = hot(&mut builder, pdu, version)
        .or_else(|| cold(&mut builder, pdu, version))
        .unwrap_or_else(|| standard(&mut builder, pdu));
    finish(builder, union)
}

/// Writes an indication as a PDU.
pub fn write_indication(indication: &fast::Indication<'_>) -> Bytes {
    let of_strings = indication.header.len() + indication.message.len();
    let mut builder = Builder::with_capacity(of_strings + ROOM);
    let union = put_indication(&mut builder, indication);
    finish(builder, union)
}

fn finish(mut builder: Builder, union: UnionOffset<e2::Message>) -> Bytes {
    let root = e2::Pdu::create(&mut builder, union);
    let mut octets = builder.finish(root, Some(IDENTIFIER)).to_vec();
    // planus 1.3.0 writes the first two words in the wrong order: the offset, relative to its own position, must be
    // first.
    if let [a, b, c, d, e, f, g, h, ..] = &mut octets[..] {
        let offset = u32::from_le_bytes([*e, *f, *g, *h]) + 4;
        [*a, *b, *c, *d] = offset.to_le_bytes();
        [*e, *f, *g, *h] = IDENTIFIER;
    }
    octets.into()
}

fn standard(builder: &mut Builder, pdu: &[u8]) -> UnionOffset<e2::Message> {
    let table = e2::Standard::create(builder, pdu);
    e2::Message::create_standard(builder, table)
}

fn request(id: RicRequestId) -> e2::RequestId {
    e2::RequestId { requestor: id.requestor, instance: id.instance }
}

fn put_indication(b: &mut Builder, m: &fast::Indication<'_>) -> UnionOffset<e2::Message> {
    let kind = match m.kind {
        RicIndicationType::Report => e2::IndicationKind::Report,
        RicIndicationType::Insert => e2::IndicationKind::Insert,
    };
    let id = request(m.request_id);
    let process = m.call_process_id;
    let table =
        e2::Indication::create(b, id, m.function_id, m.action_id, m.sn, kind, m.header, m.message, process);
    e2::Message::create_indication(b, table)
}

/// Converts indications and controls directly, without an intermediate value.
fn hot(b: &mut Builder, pdu: &[u8], version: Version) -> Option<UnionOffset<e2::Message>> {
    if let Some(indication) = fast::Indication::decode(pdu) {
        return Some(put_indication(b, &indication));
    }
    let m = fast::Control::decode(pdu, version)?;
    let ack = m.ack_request.map(|ack| match ack {
        RicControlAckRequest::NoAck => e2::AckRequest::NoAck,
        RicControlAckRequest::Ack => e2::AckRequest::Ack,
        RicControlAckRequest::NAck => e2::AckRequest::NAck,
    });
    let id = request(m.request_id);
    let table = e2::Control::create(b, id, m.function_id, m.call_process_id, m.header, m.message, ack);
    Some(e2::Message::create_control(b, table))
}

/// Converts a message of any other type that has a table, if the table has all of the message's elements.
fn cold(b: &mut Builder, pdu: &Bytes, version: Version) -> Option<UnionOffset<e2::Message>> {
    let decoded = decode(pdu, version).ok()?;
    if !decoded.deviations.is_empty() || !decoded.diagnostics.is_empty() {
        return None;
    }
    Some(match &decoded.message {
        Message::RicControlAcknowledge(m) if m.status.is_none() => {
            let process = m.call_process_id.as_deref();
            let outcome = m.outcome.as_deref();
            let id = request(m.request_id);
            let table = e2::ControlAcknowledge::create(b, id, m.function_id, process, outcome);
            e2::Message::create_control_acknowledge(b, table)
        }
        Message::RicSubscriptionRequest(m) if m.start_time.is_none() && m.end_time.is_none() => {
            let actions = m.details.actions.iter().map(|it| action(b, it)).collect::<Option<Vec<_>>>()?;
            let id = request(m.request_id);
            let trigger = &m.details.event_trigger[..];
            let table = e2::SubscriptionRequest::create(b, id, m.function_id, trigger, actions);
            e2::Message::create_subscription_request(b, table)
        }
        Message::RicSubscriptionResponse(m) if m.not_admitted.is_none() => {
            let id = request(m.request_id);
            let table = e2::SubscriptionResponse::create(b, id, m.function_id, &m.admitted[..]);
            e2::Message::create_subscription_response(b, table)
        }
        Message::RicSubscriptionDeleteRequest(m) => {
            let id = request(m.request_id);
            let table = e2::SubscriptionDeleteRequest::create(b, id, m.function_id);
            e2::Message::create_subscription_delete_request(b, table)
        }
        Message::RicSubscriptionDeleteResponse(m) => {
            let id = request(m.request_id);
            let table = e2::SubscriptionDeleteResponse::create(b, id, m.function_id);
            e2::Message::create_subscription_delete_response(b, table)
        }
        _ => return None,
    })
}

fn action(b: &mut Builder, action: &ActionToBeSetup) -> Option<Offset<e2::Action>> {
    if action.subsequent.is_some() || action.execution_order.is_some() {
        return None;
    }
    let kind = match action.kind {
        RicActionType::Report => e2::ActionKind::Report,
        RicActionType::Insert => e2::ActionKind::Insert,
        RicActionType::Policy => e2::ActionKind::Policy,
    };
    Some(e2::Action::create(b, action.id, kind, action.definition.as_deref()))
}

/// Converts a PDU to PER.
///
/// # Errors
/// Fails if the bytes are not FlatBuffers of our schema, or contain a value that PER cannot express.
pub fn to_per(pdu: &Bytes, version: Version) -> Result<Bytes, FlatError> {
    let mut out = Vec::new();
    let message = match root(pdu)? {
        e2::MessageRef::Indication(it) => {
            indication_of(it)?.encode(&mut out)?;
            return Ok(out.into());
        }
        e2::MessageRef::Control(it) => {
            control_of(it)?.encode(version, &mut out)?;
            return Ok(out.into());
        }
        e2::MessageRef::Standard(it) => return Ok(pdu.slice_ref(it.pdu()?)),
        e2::MessageRef::ControlAcknowledge(it) => {
            let request_id = request_id(it.request()?);
            let function_id = it.function()?;
            let call_process_id = shared(pdu, it.call_process_id()?);
            let outcome = shared(pdu, it.outcome()?);
            let message =
                RicControlAcknowledge { request_id, function_id, call_process_id, status: None, outcome };
            Message::RicControlAcknowledge(message)
        }
        e2::MessageRef::SubscriptionRequest(it) => Message::RicSubscriptionRequest(subscription(pdu, it)?),
        e2::MessageRef::SubscriptionResponse(it) => {
            let request_id = request_id(it.request()?);
            let function_id = it.function()?;
            let admitted = it.admitted()?;
            few(admitted.len())?;
            let admitted = admitted.to_vec();
            let message = RicSubscriptionResponse { request_id, function_id, admitted, not_admitted: None };
            Message::RicSubscriptionResponse(message)
        }
        e2::MessageRef::SubscriptionDeleteRequest(it) => {
            let request_id = request_id(it.request()?);
            let function_id = it.function()?;
            Message::RicSubscriptionDeleteRequest(RicSubscriptionDeleteRequest { request_id, function_id })
        }
        e2::MessageRef::SubscriptionDeleteResponse(it) => {
            let request_id = request_id(it.request()?);
            let function_id = it.function()?;
            Message::RicSubscriptionDeleteResponse(RicSubscriptionDeleteResponse { request_id, function_id })
        }
    };
    Ok(encode(&message, version)?.into())
}

/// Reads the indication in a PDU in place. Returns `None` for any other message.
///
/// # Errors
/// Fails if the bytes are not FlatBuffers of our schema.
pub fn indication(pdu: &[u8]) -> Result<Option<fast::Indication<'_>>, FlatError> {
    match root(pdu)? {
        e2::MessageRef::Indication(it) => indication_of(it).map(Some),
        _ => Ok(None),
    }
}

/// Reads the control in a PDU in place. Returns `None` for any other message.
///
/// # Errors
/// Fails if the bytes are not FlatBuffers of our schema, or if the RAN function id is out of range.
pub fn control(pdu: &[u8]) -> Result<Option<fast::Control<'_>>, FlatError> {
    match root(pdu)? {
        e2::MessageRef::Control(it) => control_of(it).map(Some),
        _ => Ok(None),
    }
}

fn root(pdu: &[u8]) -> Result<e2::MessageRef<'_>, FlatError> {
    let found = Coding::detect(pdu);
    if found != Coding::Flat {
        return Err(FlatError::Encoding { configured: Coding::Flat, found });
    }
    Ok(e2::PduRef::read_as_root(pdu)?.message()?)
}

fn indication_of(it: e2::IndicationRef<'_>) -> Result<fast::Indication<'_>, FlatError> {
    Ok(fast::Indication {
        request_id: request_id(it.request()?),
        function_id: it.function()?,
        action_id: it.action()?,
        sn: it.sn()?,
        kind: match it.kind()? {
            e2::IndicationKind::Report => RicIndicationType::Report,
            e2::IndicationKind::Insert => RicIndicationType::Insert,
        },
        header: it.header()?,
        message: it.message()?,
        call_process_id: it.call_process_id()?,
    })
}

fn control_of(it: e2::ControlRef<'_>) -> Result<fast::Control<'_>, FlatError> {
    Ok(fast::Control {
        request_id: request_id(it.request()?),
        function_id: it.function()?,
        call_process_id: it.call_process_id()?,
        header: it.header()?,
        message: it.message()?,
        ack_request: it.ack()?.map(|ack| match ack {
            e2::AckRequest::NoAck => RicControlAckRequest::NoAck,
            e2::AckRequest::Ack => RicControlAckRequest::Ack,
            e2::AckRequest::NAck => RicControlAckRequest::NAck,
        }),
    })
}

fn subscription(
    pdu: &Bytes,
    it: e2::SubscriptionRequestRef<'_>,
) -> Result<RicSubscriptionRequest, FlatError> {
    let list = it.actions()?;
    few(list.len())?;
    let mut actions = Vec::with_capacity(list.len());
    for it in list {
        let it = it?;
        actions.push(ActionToBeSetup {
            id: it.id()?,
            kind: match it.kind()? {
                e2::ActionKind::Report => RicActionType::Report,
                e2::ActionKind::Insert => RicActionType::Insert,
                e2::ActionKind::Policy => RicActionType::Policy,
            },
            definition: shared(pdu, it.definition()?),
            subsequent: None,
            execution_order: None,
        });
    }
    let function_id: RanFunctionId = it.function()?;
    Ok(RicSubscriptionRequest {
        request_id: request_id(it.request()?),
        function_id,
        details: RicSubscriptionDetails { event_trigger: pdu.slice_ref(it.trigger()?), actions },
        start_time: None,
        end_time: None,
    })
}

fn request_id(id: e2::RequestIdRef<'_>) -> RicRequestId {
    RicRequestId { requestor: id.requestor(), instance: id.instance() }
}

fn shared(pdu: &Bytes, octets: Option<&[u8]>) -> Option<Bytes> {
    octets.map(|octets| pdu.slice_ref(octets))
}

/// Checks the number of entries of a list before they are read, because all of them can refer to the same long string.
fn few(have: usize) -> Result<(), FlatError> {
    let limit = ACTIONS_MAX;
    if have > limit { Err(FlatError::TooMany { have, limit }) } else { Ok(()) }
}
