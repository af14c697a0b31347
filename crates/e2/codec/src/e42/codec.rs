//! Codec of E42. Its message tables have the form of E2AP's tables, with identifiers that depend on the numbering.
use super::*;
use crate::e2ap::{
    self, ComponentAdditionItems, Criticality, Decoded, FunctionList, IeSpec, Presence, RanFunctionIdCodec,
    RanFunctionItems, RejectReason, Rejection, Replay, TriggeringMessage, Version, decode_container,
    encode_container, put_envelope, show_container, take_envelope,
};
use crate::per::{
    Codec, DecodeError, DecodeFault, EncodeError, Int, List, Notation, Per, Reader, Source, Unconstrained,
    Writer,
};

/// Returns the first E42 procedure code of a numbering.
const fn first_code(version: Version) -> u8 {
    match version {
        Version::V1_01 => 12,
        Version::V2_03 => 14,
        Version::V3_01 => 17,
    }
}

/// Returns the identifier of XAPP-ID in a numbering; E2nodesConnected has the next identifier.
const fn xapp_id_ie(version: Version) -> u16 {
    match version {
        Version::V1_01 => 49,
        Version::V2_03 => 62,
        Version::V3_01 => 98,
    }
}

/// Returns the numbering of a connection, derived from its first message: an E42 setup request starts with
/// RANfunctionsAdded.
pub fn numbering_of(first: &[u8]) -> Option<Version> {
    let [0x00, code, _, rest @ ..] = first else { return None };
    let ([0..0x80, body @ ..] | [0x80..=0xbf, _, body @ ..] | [0xc1..=0xc4, body @ ..]) = rest else {
        return None;
    };
    let starts_with_functions = matches!(body, [_, _, _, 0, 10, ..]);
    Version::ALL.into_iter().find(|&v| starts_with_functions && first_code(v) == *code)
}

impl Message {
    /// Returns the message's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SetupRequest(_) => "E42setupRequest",
            Self::SetupResponse(_) => "E42setupResponse",
            Self::SetupFailure(_) => "E42setupFailure",
            Self::SubscriptionRequest(_) => "E42RICsubscriptionRequest",
            Self::SubscriptionDeleteRequest(_) => "E42RICsubscriptionDeleteRequest",
            Self::ControlRequest(_) => "E42RICcontrolRequest",
            Self::NodeEvent(_) => "E42nodeEvent",
            Self::E2(message) => message.name(),
        }
    }

    /// Returns kind, procedure code and criticality in a numbering.
    fn envelope(&self, version: Version) -> (TriggeringMessage, u8, Criticality) {
        use TriggeringMessage::{Initiating, Successful, Unsuccessful};
        let first = first_code(version);
        match self {
            Self::SetupRequest(_) => (Initiating, first, Criticality::Reject),
            Self::SetupResponse(_) => (Successful, first, Criticality::Reject),
            Self::SetupFailure(_) => (Unsuccessful, first, Criticality::Reject),
            Self::SubscriptionRequest(_) => (Initiating, first + 1, Criticality::Reject),
            Self::SubscriptionDeleteRequest(_) => (Initiating, first + 2, Criticality::Reject),
            Self::ControlRequest(_) => (Initiating, first + 3, Criticality::Reject),
            Self::NodeEvent(_) => (Initiating, NODE_EVENT, Criticality::Ignore),
            Self::E2(message) => message.envelope(),
        }
    }

    /// Returns the PDU in ASN.1 value notation.
    pub fn notation(&self, version: Version) -> String {
        if let Self::E2(message) = self {
            return message.notation();
        }
        let (kind, code, criticality) = self.envelope(version);
        e2ap::envelope_notation(kind, code, criticality, self.name(), |n| self.show_value(version, n))
    }

    fn specs(&self, version: Version) -> Vec<IeSpec> {
        match self {
            Self::SetupRequest(_) => setup_request_specs(),
            Self::SetupResponse(_) => setup_response_specs(version),
            Self::SubscriptionRequest(_) => subscription_specs(version),
            Self::SubscriptionDeleteRequest(_) => delete_specs(version),
            Self::ControlRequest(_) => control_specs(version),
            Self::NodeEvent(_) => node_event_specs(version),
            Self::SetupFailure(_) | Self::E2(_) => Vec::new(),
        }
    }

    /// Returns the number of occurrences of an element in the message.
    fn count(&self, version: Version, id: u16) -> usize {
        let nodes = xapp_id_ie(version) + 1;
        match self {
            Self::SetupRequest(m) if id == WANTS_NODE_EVENTS => usize::from(m.wants_node_events),
            Self::SetupResponse(m) if id == nodes => m.nodes.len(),
            Self::ControlRequest(m) if id == 20 => usize::from(m.call_process_id.is_some()),
            Self::ControlRequest(m) if id == 21 => usize::from(m.ack_request.is_some()),
            Self::NodeEvent(m) if id == nodes => m.connected.len(),
            Self::NodeEvent(m) if id == 3 => m.removed.len(),
            _ => 1,
        }
    }

    /// Writes the `nth` element `id`.
    fn put(&self, version: Version, id: u16, nth: usize, w: &mut Writer) -> Result<(), EncodeError> {
        let is_xapp_id = id == xapp_id_ie(version);
        match self {
            Self::SetupRequest(_) if id == WANTS_NODE_EVENTS => FlagCodec::encode(&1u8, w),
            Self::SetupRequest(m) => Functions::encode(&m.functions, w),
            Self::SetupResponse(m) if is_xapp_id => XappIdCodec::encode(&m.xapp_id, w),
            Self::SetupResponse(m) => m.nodes[nth].encode(w),
            Self::NodeEvent(m) if is_xapp_id => XappIdCodec::encode(&m.xapp_id, w),
            Self::NodeEvent(m) if id == 3 => m.removed[nth].encode(w),
            Self::NodeEvent(m) => m.connected[nth].encode(w),
            Self::SubscriptionRequest(m) => match id {
                3 => m.node_id.encode(w),
                29 => m.request_id.encode(w),
                5 => RanFunctionIdCodec::encode(&m.function_id, w),
                30 => m.details.encode(w),
                _ => XappIdCodec::encode(&m.xapp_id, w),
            },
            Self::SubscriptionDeleteRequest(m) => match id {
                29 => m.request_id.encode(w),
                5 => RanFunctionIdCodec::encode(&m.function_id, w),
                _ => XappIdCodec::encode(&m.xapp_id, w),
            },
            Self::ControlRequest(m) => match (id, &m.call_process_id, &m.ack_request) {
                (3, ..) => m.node_id.encode(w),
                (29, ..) => m.request_id.encode(w),
                (5, ..) => RanFunctionIdCodec::encode(&m.function_id, w),
                (20, Some(cpid), _) => Unconstrained::encode(cpid, w),
                (22, ..) => Unconstrained::encode(&m.header, w),
                (23, ..) => Unconstrained::encode(&m.message, w),
                (21, _, Some(ack)) => ack.encode(w),
                _ => XappIdCodec::encode(&m.xapp_id, w),
            },
            Self::SetupFailure(_) | Self::E2(_) => Ok(()),
        }
    }

    fn encode_value(&self, version: Version, w: &mut Writer) -> Result<(), EncodeError> {
        match self {
            Self::SetupFailure(m) => return m.encode(w),
            Self::E2(_) => return Ok(()),
            _ => {}
        }
        w.bit(false);
        let mut written = std::collections::BTreeMap::new();
        encode_container(
            w,
            &self.specs(version),
            |id| self.count(version, id),
            |id, w| {
                let nth: &mut usize = written.entry(id).or_default();
                *nth += 1;
                self.put(version, id, *nth - 1, w)
            },
        )
    }

    fn show_value(&self, version: Version, n: &mut Notation) {
        let mut shown = std::collections::BTreeMap::new();
        show_container(
            n,
            &self.specs(version),
            |id| self.count(version, id),
            |id, n| {
                let nth: &mut usize = shown.entry(id).or_default();
                *nth += 1;
                self.show_element(version, id, *nth - 1, n);
            },
        );
    }

    fn show_element(&self, version: Version, id: u16, nth: usize, n: &mut Notation) {
        let nodes = xapp_id_ie(version) + 1;
        match self {
            Self::SetupRequest(m) if id == 10 => Functions::show(&m.functions, n),
            Self::SetupRequest(_) => n.value(1),
            Self::SetupResponse(m) if id == nodes => m.nodes[nth].show(n),
            Self::SetupResponse(SetupResponse { xapp_id, .. }) => n.value(xapp_id),
            Self::NodeEvent(m) if id == nodes => m.connected[nth].show(n),
            Self::NodeEvent(m) if id == 3 => m.removed[nth].show(n),
            Self::NodeEvent(NodeEvent { xapp_id, .. }) => n.value(xapp_id),
            Self::SubscriptionRequest(m) => match id {
                3 => m.node_id.show(n),
                29 => m.request_id.show(n),
                5 => n.value(m.function_id),
                30 => m.details.show(n),
                _ => n.value(m.xapp_id),
            },
            Self::SubscriptionDeleteRequest(m) => match id {
                29 => m.request_id.show(n),
                5 => n.value(m.function_id),
                _ => n.value(m.xapp_id),
            },
            Self::ControlRequest(m) => match (id, &m.call_process_id, &m.ack_request) {
                (3, ..) => m.node_id.show(n),
                (29, ..) => m.request_id.show(n),
                (5, ..) => n.value(m.function_id),
                (20, Some(cpid), _) => n.octets(cpid),
                (22, ..) => n.octets(&m.header),
                (23, ..) => n.octets(&m.message),
                (21, _, Some(ack)) => ack.show(n),
                _ => n.value(m.xapp_id),
            },
            Self::SetupFailure(_) | Self::E2(_) => {}
        }
    }
}

type XappIdCodec = Int<0, 65535>;
type FlagCodec = Int<0, 1>;
type Functions = FunctionList<RanFunctionItems>;
type Components = List<1, 1024, ComponentAdditionItems>;

const fn spec(id: u16, name: &'static str, presence: Presence) -> IeSpec {
    IeSpec { id, criticality: Criticality::Reject, presence: [presence; 3], name }
}

fn setup_request_specs() -> Vec<IeSpec> {
    let wants = IeSpec {
        criticality: Criticality::Ignore,
        ..spec(WANTS_NODE_EVENTS, "WantsNodeEvents", Presence::Optional)
    };
    vec![spec(10, "RANfunctions-List", Presence::Mandatory), wants]
}

fn setup_response_specs(version: Version) -> Vec<IeSpec> {
    let id = xapp_id_ie(version);
    vec![spec(id, "XAPP-ID", Presence::Mandatory), spec(id + 1, "E2nodesConnected", Presence::Optional)]
}

fn delete_specs(version: Version) -> Vec<IeSpec> {
    vec![
        spec(xapp_id_ie(version), "XAPP-ID", Presence::Mandatory),
        spec(29, "RICrequestID", Presence::Mandatory),
        spec(5, "RANfunctionID", Presence::Mandatory),
    ]
}

fn subscription_specs(version: Version) -> Vec<IeSpec> {
    let mut specs = delete_specs(version);
    specs.insert(1, spec(3, "GlobalE2node-ID", Presence::Mandatory));
    specs.push(spec(30, "RICsubscriptionDetails", Presence::Mandatory));
    specs
}

fn control_specs(version: Version) -> Vec<IeSpec> {
    let mut specs = delete_specs(version);
    specs.insert(1, spec(3, "GlobalE2node-ID", Presence::Mandatory));
    specs.push(spec(20, "RICcallProcessID", Presence::Optional));
    specs.push(spec(22, "RICcontrolHeader", Presence::Mandatory));
    specs.push(spec(23, "RICcontrolMessage", Presence::Mandatory));
    specs.push(spec(21, "RICcontrolAckRequest", Presence::Optional));
    specs
}

fn node_event_specs(version: Version) -> Vec<IeSpec> {
    let mut specs = setup_response_specs(version);
    specs.push(spec(3, "GlobalE2node-ID", Presence::Optional));
    specs
}

impl ConnectedNode {
    fn specs(version: Version) -> Vec<IeSpec> {
        let mut specs = vec![
            spec(3, "GlobalE2node-ID", Presence::Mandatory),
            spec(10, "RANfunctions-List", Presence::Mandatory),
        ];
        if version != Version::V1_01 {
            specs.insert(1, spec(50, "E2nodeComponentConfigAddition-List", Presence::Mandatory));
        }
        specs
    }
}

impl Per for ConnectedNode {
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        // The type has no extension marker, so no preamble bit precedes the container.
        encode_container(
            w,
            &Self::specs(w.version()),
            |_| 1,
            |id, w| match id {
                3 => self.node_id.encode(w),
                50 => Components::encode(&self.components, w),
                _ => Functions::encode(&self.functions, w),
            },
        )
    }
    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
        let mut node_id = None;
        let mut components = Vec::new();
        let mut functions = Vec::new();
        decode_container(r, &Self::specs(r.version()), &[], |id, r| {
            match id {
                3 => node_id = Some(GlobalE2NodeId::decode(r)?),
                50 => components = Components::decode(r)?,
                _ => functions = Functions::decode(r)?,
            }
            Ok(())
        })?;
        let missing = || r.fault(DecodeFault::Missing("GlobalE2node-ID"));
        Ok(Self { node_id: node_id.ok_or_else(missing)?, components, functions })
    }
    fn show(&self, n: &mut Notation) {
        let version = if self.components.is_empty() { Version::V1_01 } else { Version::V2_03 };
        show_container(
            n,
            &Self::specs(version),
            |_| 1,
            |id, n| match id {
                3 => self.node_id.show(n),
                50 => Components::show(&self.components, n),
                _ => Functions::show(&self.functions, n),
            },
        );
    }
}

/// Encodes a message in a numbering.
pub fn encode(message: &Message, version: Version) -> Result<Vec<u8>, EncodeError> {
    if let Message::E2(message) = message {
        return e2ap::encode(message, version);
    }
    let (kind, code, criticality) = message.envelope(version);
    let mut w = Writer::new(Vec::with_capacity(128), version);
    put_envelope(&mut w, kind, code, criticality, |w| message.encode_value(version, w))?;
    Ok(w.into_vec())
}

/// Encodes a received message again, with its unknown elements.
pub fn encode_as_received(decoded: &Decoded<Message>, version: Version) -> Result<Vec<u8>, EncodeError> {
    let message = &decoded.message;
    if let Message::E2(inner) = message {
        let Decoded { criticality, deviations, diagnostics, .. } = decoded.clone();
        let inner = Decoded { message: inner.clone(), criticality, deviations, diagnostics };
        return e2ap::encode_as_received(&inner, version);
    }
    let (kind, code, _) = message.envelope(version);
    let replay = Replay::new(decoded.deviations.clone());
    let mut w = Writer::new(Vec::with_capacity(128), version).with_replay(replay);
    put_envelope(&mut w, kind, code, decoded.criticality, |w| message.encode_value(version, w))?;
    Ok(w.into_vec())
}

/// Decodes the message in `pdu` in a numbering; octet strings are slices of `pdu`.
pub fn decode(pdu: &Bytes, version: Version) -> Result<Decoded<Message>, Rejection> {
    let mut r = Reader::new(pdu.clone(), version);
    let envelope = take_envelope(&mut r).map_err(|e| Rejection::of_envelope(e, pdu))?;
    let (kind, code, criticality) = envelope;
    let ours = code == NODE_EVENT || (first_code(version)..first_code(version) + 4).contains(&code);
    if !ours {
        let d = e2ap::decode(pdu, version)?;
        let message = Message::E2(d.message);
        return Ok(Decoded { message, criticality, deviations: d.deviations, diagnostics: d.diagnostics });
    }
    let value = r.open(|r| decode_value(kind, code, r));
    let left = r.remaining();
    let (deviations, diagnostics) = r.into_observations();
    match value {
        Ok(Some(message)) if left == 0 => Ok(Decoded { message, criticality, deviations, diagnostics }),
        Ok(Some(_)) => Err(Rejection::new(RejectReason::TrailingOctets(left), envelope, diagnostics, pdu)),
        Ok(None) => Err(Rejection::new(RejectReason::UnknownProcedure(code), envelope, diagnostics, pdu)),
        Err(e) => Err(Rejection::new(RejectReason::Syntax(e), envelope, diagnostics, pdu)),
    }
}

fn decode_value<S: Source>(
    kind: TriggeringMessage,
    code: u8,
    r: &mut S,
) -> Result<Option<Message>, DecodeError> {
    use TriggeringMessage::{Initiating, Successful, Unsuccessful};
    let first = first_code(r.version());
    if (kind, code) == (Unsuccessful, first) {
        return Per::decode(r).map(Message::SetupFailure).map(Some);
    }
    let known = matches!((kind, code), (Initiating, NODE_EVENT) | (Successful, _))
        || (kind == Initiating && (first..first + 4).contains(&code));
    if !known || (kind == Successful && code != first) {
        return Ok(None);
    }
    let extended = r.extended()?;
    let message = match (kind, code.wrapping_sub(first)) {
        (Successful, _) => take_setup_response(r)?,
        (_, 0) => take_setup_request(r)?,
        (_, 1) => take_subscription(r)?,
        (_, 2) => take_delete(r)?,
        (_, 3) => take_control(r)?,
        _ => take_node_event(r)?,
    };
    if extended {
        r.additions(0, |_, _| Ok(()))?;
    }
    Ok(Some(message))
}

fn take_setup_request<S: Source>(r: &mut S) -> Result<Message, DecodeError> {
    let mut functions = Vec::new();
    let mut wants_node_events = false;
    decode_container(r, &setup_request_specs(), &[], |id, r| {
        match id {
            WANTS_NODE_EVENTS => {
                let flag: u8 = FlagCodec::decode(r)?;
                wants_node_events = flag == 1;
            }
            _ => functions = Functions::decode(r)?,
        }
        Ok(())
    })?;
    Ok(Message::SetupRequest(SetupRequest { functions, wants_node_events }))
}

fn take_setup_response<S: Source>(r: &mut S) -> Result<Message, DecodeError> {
    let version = r.version();
    let nodes_ie = xapp_id_ie(version) + 1;
    let mut xapp_id = 0;
    let mut nodes = Vec::new();
    decode_container(r, &setup_response_specs(version), &[nodes_ie], |id, r| {
        if id == nodes_ie {
            nodes.push(ConnectedNode::decode(r)?)
        } else {
            xapp_id = XappIdCodec::decode(r)?
        }
        Ok(())
    })?;
    Ok(Message::SetupResponse(SetupResponse { xapp_id, nodes }))
}

fn take_node_event<S: Source>(r: &mut S) -> Result<Message, DecodeError> {
    let version = r.version();
    let nodes_ie = xapp_id_ie(version) + 1;
    let mut event = NodeEvent { xapp_id: 0, connected: Vec::new(), removed: Vec::new() };
    decode_container(r, &node_event_specs(version), &[nodes_ie, 3], |id, r| {
        match id {
            3 => event.removed.push(GlobalE2NodeId::decode(r)?),
            _ if id == nodes_ie => event.connected.push(ConnectedNode::decode(r)?),
            _ => event.xapp_id = XappIdCodec::decode(r)?,
        }
        Ok(())
    })?;
    Ok(Message::NodeEvent(event))
}

fn take_subscription<S: Source>(r: &mut S) -> Result<Message, DecodeError> {
    let mut xapp_id = 0;
    let mut node_id = None;
    let mut request_id = None;
    let mut function_id = 0;
    let mut details = None;
    decode_container(r, &subscription_specs(r.version()), &[], |id, r| {
        match id {
            3 => node_id = Some(GlobalE2NodeId::decode(r)?),
            29 => request_id = Some(RicRequestId::decode(r)?),
            5 => function_id = RanFunctionIdCodec::decode(r)?,
            30 => details = Some(RicSubscriptionDetails::decode(r)?),
            _ => xapp_id = XappIdCodec::decode(r)?,
        }
        Ok(())
    })?;
    // The container has all mandatory elements, or there was an error above.
    let missing = |name| move || DecodeError { fault: DecodeFault::Missing(name), octet: 0, field: name };
    Ok(Message::SubscriptionRequest(SubscriptionRequest {
        xapp_id,
        node_id: node_id.ok_or_else(missing("GlobalE2node-ID"))?,
        request_id: request_id.ok_or_else(missing("RICrequestID"))?,
        function_id,
        details: details.ok_or_else(missing("RICsubscriptionDetails"))?,
    }))
}

fn take_delete<S: Source>(r: &mut S) -> Result<Message, DecodeError> {
    let mut m = SubscriptionDeleteRequest { xapp_id: 0, request_id: RicRequestId::default(), function_id: 0 };
    decode_container(r, &delete_specs(r.version()), &[], |id, r| {
        match id {
            29 => m.request_id = RicRequestId::decode(r)?,
            5 => m.function_id = RanFunctionIdCodec::decode(r)?,
            _ => m.xapp_id = XappIdCodec::decode(r)?,
        }
        Ok(())
    })?;
    Ok(Message::SubscriptionDeleteRequest(m))
}

fn take_control<S: Source>(r: &mut S) -> Result<Message, DecodeError> {
    let mut xapp_id = 0;
    let mut node_id = None;
    let mut request_id = RicRequestId::default();
    let mut function_id = 0;
    let mut call_process_id = None;
    let mut header = Bytes::new();
    let mut message = Bytes::new();
    let mut ack_request = None;
    decode_container(r, &control_specs(r.version()), &[], |id, r| {
        match id {
            3 => node_id = Some(GlobalE2NodeId::decode(r)?),
            29 => request_id = RicRequestId::decode(r)?,
            5 => function_id = RanFunctionIdCodec::decode(r)?,
            20 => call_process_id = Some(r.octets()?),
            22 => header = r.octets()?,
            23 => message = r.octets()?,
            21 => ack_request = Some(RicControlAckRequest::decode(r)?),
            _ => xapp_id = XappIdCodec::decode(r)?,
        }
        Ok(())
    })?;
    let missing = || r.fault(DecodeFault::Missing("GlobalE2node-ID"));
    Ok(Message::ControlRequest(ControlRequest {
        xapp_id,
        node_id: node_id.ok_or_else(missing)?,
        request_id,
        function_id,
        call_process_id,
        header,
        message,
        ack_request,
    }))
}
