//! E42: FlexRIC's bytes, and round trips.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    ActionToBeSetup, GlobalE2NodeId, Plmn, RanFunctionItem, RicControlAckRequest, RicRequestId,
    RicSubscriptionDetails, Version,
};
use ranlab_e2_codec::e42::{
    self, ConnectedNode, ControlRequest, Message, NodeEvent, SetupRequest, SetupResponse,
    SubscriptionDeleteRequest, SubscriptionRequest,
};

fn bytes(hex: &str) -> Bytes {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn subscription() -> Message {
    Message::SubscriptionRequest(SubscriptionRequest {
        xapp_id: 8,
        node_id: GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32),
        request_id: RicRequestId { requestor: 1, instance: 0 },
        function_id: 142,
        details: RicSubscriptionDetails {
            event_trigger: vec![10, 0, 0, 0].into(),
            actions: vec![ActionToBeSetup::report(0)],
        },
    })
}

#[test]
fn flexric_requests_round_trip() {
    let theirs = bytes(
        "000f0037 000005 003e00020008 000300090005f5105000000005 001d00050000010000 00050002008e \
         001e000e 00040a0000000000130003000000",
    );
    let decoded = e42::decode(&theirs, Version::V2_03).unwrap();
    assert_eq!(decoded.message, subscription());
    // FlexRIC sends the action item with `reject`; the standard requires `ignore`.
    assert_eq!(decoded.notes().count(), 1);
    assert_eq!(e42::encode_as_received(&decoded, Version::V2_03).unwrap(), theirs);
    let theirs = bytes("00100018 000003 003e00020008 001d00050000010000 00050002008e");
    let decoded = e42::decode(&theirs, Version::V2_03).unwrap();
    let delete = SubscriptionDeleteRequest {
        xapp_id: 8,
        request_id: RicRequestId { requestor: 1, instance: 0 },
        function_id: 142,
    };
    assert_eq!(decoded.message, Message::SubscriptionDeleteRequest(delete));
    assert_eq!(e42::encode(&decoded.message, Version::V2_03).unwrap(), theirs);
}

fn every_message() -> Vec<Message> {
    let function = RanFunctionItem {
        id: 142,
        definition: "MAC".into(),
        revision: 0,
        oid: Some("0.0.0.0.0.0.0.0.1.142.0".into()),
    };
    let node = |id| ConnectedNode {
        node_id: GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), id, 32),
        components: Vec::new(),
        functions: vec![function.clone()],
    };
    let nodes = vec![node(1), node(2)];
    vec![
        Message::SetupRequest(SetupRequest { functions: vec![function.clone()], wants_node_events: true }),
        Message::SetupRequest(SetupRequest { functions: vec![function.clone()], wants_node_events: false }),
        Message::SetupResponse(SetupResponse { xapp_id: 7, nodes: nodes.clone() }),
        Message::SetupResponse(SetupResponse { xapp_id: 65_535, nodes: Vec::new() }),
        subscription(),
        Message::ControlRequest(ControlRequest {
            xapp_id: 9,
            node_id: nodes[0].node_id,
            request_id: RicRequestId { requestor: 4, instance: 1 },
            function_id: 140,
            call_process_id: Some("x".into()),
            header: Bytes::new(),
            message: "ping".into(),
            ack_request: Some(RicControlAckRequest::Ack),
        }),
        Message::NodeEvent(NodeEvent {
            xapp_id: 7,
            connected: nodes.clone(),
            removed: vec![nodes[1].node_id, nodes[0].node_id],
        }),
    ]
}

#[test]
fn every_message_round_trips_in_every_numbering() {
    for version in Version::ALL {
        for mut message in every_message() {
            if version != Version::V1_01 {
                let components = |nodes: &mut Vec<ConnectedNode>| {
                    let random = |seed| e42_components(seed, version);
                    nodes.iter_mut().enumerate().for_each(|(i, n)| n.components = random(i as u64));
                };
                match &mut message {
                    Message::SetupResponse(m) => components(&mut m.nodes),
                    Message::NodeEvent(m) => components(&mut m.connected),
                    _ => {}
                }
            }
            let pdu = Bytes::from(e42::encode(&message, version).unwrap());
            let decoded = e42::decode(&pdu, version).unwrap();
            assert_eq!(decoded.message, message, "{version}");
            assert!(!decoded.message.notation(version).is_empty());
            if let Message::SetupRequest(_) = message {
                assert_eq!(e42::numbering_of(&pdu), Some(version));
            }
        }
    }
}

fn e42_components(seed: u64, version: Version) -> Vec<ranlab_e2_codec::e2ap::ComponentConfigItem> {
    match ranlab_e2_codec::e2ap::Message::random("E2setupRequest", seed, version) {
        Some(ranlab_e2_codec::e2ap::Message::E2SetupRequest(m)) => m.components.unwrap_or_default(),
        _ => Vec::new(),
    }
}

#[test]
fn e2_setup_is_refused_as_first_e42_message() {
    assert_eq!(e42::numbering_of(&bytes("000100800000")), None);
    assert_eq!(e42::numbering_of(b"GET / HTTP/1.1"), None);
    assert_eq!(e42::numbering_of(&[]), None);
}
