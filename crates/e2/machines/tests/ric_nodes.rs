//! Nodes at a RIC: setup in every version, takeover, disconnect, global procedures, and misbehaving peers.
#![cfg(feature = "ric")]
mod ric_world;

use ranlab_e2::LinkLoss;
use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ric_world::*;
use std::time::Duration;

#[test]
fn setup_response_has_standard_encoding() {
    let mut w = World::new();
    let agent = w.connect(ListenerProtocol::E2);
    w.send(agent, Message::E2SetupRequest(third_party_setup(node(5))));
    let got = w.got(agent);
    let [Message::E2SetupResponse(response)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(response.transaction_id, Some(7));
    let accepted = response.accepted.as_ref().unwrap();
    assert_eq!(accepted[0], RanFunctionIdItem { id: 142, revision: 3 });
    assert_eq!((accepted.len(), &response.rejected), (2, &None));
    assert_eq!(response.components.as_ref().unwrap()[0].ack.outcome, UpdateOutcome::Success);
    assert_eq!(w.node(5).info.kind, NodeKind::Whole);
    assert!(w.ric.snapshot().rans[0].complete);
}

#[test]
fn every_version_gets_responses_in_its_version() {
    for version in Version::ALL {
        let mut w = World::with(RicConfig::default().with(|it| it.version = version));
        let agent = w.connect(ListenerProtocol::E2);
        w.versions.insert(agent, version);
        let mut setup = setup_of(node(1));
        if version == Version::V1_01 {
            (setup.transaction_id, setup.components) = (None, None);
        }
        w.send(agent, Message::E2SetupRequest(setup));
        assert!(matches!(w.got(agent)[..], [Message::E2SetupResponse(_)]), "{version}");
        assert_eq!(w.node(1).info.version, version);
        // A node that is not known to be a ranlab node gets time to read.
        w.pass(RicTimers::default().pause);
        // A v2.03 xApp works with an agent of any version.
        let xapp = w.xapp();
        let id = w.subscribed(xapp, agent, 1, 1);
        w.send(agent, indication(id, 1, 10));
        assert_eq!(w.got42(xapp.0).len(), 1);
    }
}

#[test]
fn v1_is_detected_and_v3_is_learned_from_its_procedures() {
    let mut w = World::new();
    let agent = w.agent(1);
    w.versions.insert(agent, Version::V3_01);
    w.send(
        agent,
        Message::RicSubscriptionModificationRequired(RicSubscriptionModificationRequired {
            request_id: rid(9),
            function_id: 142,
            modify: None,
            remove: None,
        }),
    );
    assert!(matches!(w.got(agent)[..], [Message::RicSubscriptionModificationRefuse(_)]));
    assert_eq!(w.node(1).info.version, Version::V3_01);
}

#[test]
fn messages_before_setup_are_refused_and_connection_closed() {
    let mut inputs: Vec<Vec<u8>> = vec![
        vec![0xff; 64],
        vec![0],
        Vec::new(),
        b"GET / HTTP/1.1\r\nHost: ric\r\n\r\n".to_vec(),
        vec![0; 33_000],
        vec![0x00, 99, 0x00, 0x03, 0, 0, 0],
    ];
    let setup = encode(&setup_request(1), Version::V2_03).unwrap();
    inputs.push(setup[..setup.len() / 2].to_vec());
    let mut miscounted = setup.clone();
    miscounted[6] ^= 0x0f;
    inputs.push(miscounted);
    let reset = ResetRequest { transaction_id: Some(0), cause: Cause::Misc(CauseMisc::Unspecified) };
    inputs.push(encode(&Message::ResetRequest(reset), Version::V2_03).unwrap());
    let mut w = World::new();
    let bystander = w.agent(77);
    for side in [ListenerProtocol::E2, ListenerProtocol::E42] {
        for input in &inputs {
            let conn = w.connect(side);
            w.send_bytes(conn, input.clone());
            let got = w.got(conn);
            assert!(matches!(got[..], [Message::ErrorIndication(_)]), "{side:?} {input:x?}: {got:?}");
            assert!(w.closed.contains_key(&conn), "{side:?} {input:x?}");
        }
    }
    for input in [setup, encode(&indication(rid(1), 1, 10), Version::V2_03).unwrap()] {
        let conn = w.connect(ListenerProtocol::E42);
        w.send_bytes(conn, input);
        assert!(matches!(w.got(conn)[..], [Message::ErrorIndication(_)]) && w.closed.contains_key(&conn));
    }
    w.send(bystander, setup_request(77));
    assert!(matches!(w.got(bystander)[..], [Message::E2SetupResponse(_)]));
}

#[test]
fn connection_without_setup_is_closed_after_timeout() {
    let mut w = World::new();
    let quiet = w.connect(ListenerProtocol::E2);
    let agent = w.agent(1);
    w.pass(Duration::from_secs(6));
    assert!(w.closed.contains_key(&quiet) && !w.closed.contains_key(&agent));
    assert_eq!(w.ric.counters().handshakes_expired, 1);
}

#[test]
fn connection_is_closed_after_its_eighth_fault() {
    let mut w = World::new();
    let agent = w.agent(1);
    for n in 1..=8 {
        assert!(!w.closed.contains_key(&agent));
        w.send_bytes(agent, vec![0xff; 64]);
        assert!(matches!(w.got(agent)[..], [Message::ErrorIndication(_)]), "{n}");
    }
    assert!(w.closed.contains_key(&agent));
    assert_eq!(w.ric.counters().undecodable, 8);
    assert!(!w.node(1).info.connected);
}

#[test]
fn oversized_pdu_closes_connection() {
    let mut w = World::new();
    let agent = w.agent(1);
    w.send_bytes(agent, vec![0; (1 << 20) + 1]);
    assert!(w.closed[&agent].contains("1048577 bytes"));
}

#[test]
fn identity_of_silent_node_can_be_taken_over() {
    let mut w = World::new();
    let first = w.agent(1);
    let second = w.connect(ListenerProtocol::E2);
    w.send(second, setup_request(1));
    let got = w.got(second);
    let [Message::E2SetupFailure(failure)] = &got[..] else { panic!("{got:?}") };
    assert_eq!((failure.transaction_id, failure.time_to_wait), (Some(7), Some(TimeToWait::V10s)));
    w.pass(Duration::from_secs(4));
    w.send(first, setup_request(1));
    w.pass(Duration::from_secs(8));
    let third = w.connect(ListenerProtocol::E2);
    w.send(third, setup_request(1));
    assert!(matches!(w.got(third)[..], [Message::E2SetupFailure(_)]));
    w.pass(Duration::from_secs(3));
    w.send(third, setup_request(1));
    assert!(matches!(w.got(third)[..], [Message::E2SetupResponse(_)]));
    assert!(w.closed.contains_key(&first));
    assert!(w.node(1).info.connected);
}

#[test]
fn repeated_setups_are_refused_with_time_to_wait() {
    let mut w = World::new();
    let agent = w.connect(ListenerProtocol::E2);
    for _ in 0..100 {
        w.send(agent, setup_request(1));
    }
    let refused = w.got(agent).iter().filter(|m| matches!(m, Message::E2SetupFailure(_))).count();
    assert_eq!((refused, w.ric.counters().setups), (95, 5));
    w.pass(Duration::from_secs(1));
    w.send(agent, setup_request(1));
    assert!(matches!(w.got(agent)[..], [Message::E2SetupResponse(_)]));
}

#[test]
fn nodes_and_connections_are_limited() {
    let limits = Limits::default().with(|it| {
        it.nodes = 2;
        it.e2_connections = 3;
    });
    let mut w = World::with(RicConfig::default().with(|it| it.limits = limits));
    let _ = w.agent(1);
    let lost = w.agent(2);
    let third = w.connect(ListenerProtocol::E2);
    w.send(third, setup_request(3));
    assert!(matches!(w.got(third)[..], [Message::E2SetupFailure(_)]));
    let fourth = w.connect(ListenerProtocol::E2);
    assert!(w.closed.contains_key(&fourth));
    // A disconnected node is replaced by a connected one.
    w.disconnect(lost);
    w.send(third, setup_request(3));
    assert!(matches!(w.got(third)[..], [Message::E2SetupResponse(_)]));
    assert_eq!(w.ric.snapshot().nodes.len(), 2);
    assert_eq!((w.ric.counters().connections_refused, w.ric.counters().nodes_removed), (1, 1));
    assert_eq!(w.ric.nodes_connected(), 2);
}

#[test]
fn limits_scale_with_number_of_nodes() {
    let few = Limits::for_nodes(10);
    let many = Limits::for_nodes(20_000);
    assert_eq!(Limits::default(), Limits::for_nodes(Limits::default().nodes));
    assert!(
        few.nodes == 10 && few.e2_connections > 10,
        "more connections than nodes must be allowed, so that the eleventh node gets a reason for its refusal"
    );
    assert_eq!(few.subscriptions_per_owner, Limits::default().subscriptions_per_owner);
    assert!(many.nodes == 20_000 && many.e2_connections > 20_000 && many.subscriptions_per_owner >= 80_000);
}

#[test]
fn excess_and_duplicate_functions_are_rejected_individually() {
    let limits = Limits::default().with(|it| it.functions_per_node = 2);
    let mut w = World::with(RicConfig::default().with(|it| it.limits = limits));
    let agent = w.connect(ListenerProtocol::E2);
    let mut setup = setup_of(node(1));
    setup.functions = Some(vec![function(1), function(1), function(2), function(3)]);
    w.send(agent, Message::E2SetupRequest(setup));
    let got = w.got(agent);
    let [Message::E2SetupResponse(response)] = &got[..] else { panic!("{got:?}") };
    let rejected: Vec<_> = response.rejected.iter().flatten().map(|r| r.id).collect();
    assert_eq!((response.accepted.as_ref().unwrap().len(), rejected), (2, vec![1, 3]));
}

#[test]
fn service_update_changes_functions() {
    let mut w = World::new();
    let agent = w.agent(1);
    let mut modified = function(142);
    modified.revision = 9;
    w.send(
        agent,
        Message::RicServiceUpdate(RicServiceUpdate {
            transaction_id: Some(3),
            added: Some(vec![function(144)]),
            modified: Some(vec![modified]),
            deleted: Some(vec![RanFunctionIdItem { id: 143, revision: 3 }]),
        }),
    );
    let got = w.got(agent);
    let [Message::RicServiceUpdateAcknowledge(ack)] = &got[..] else { panic!("{got:?}") };
    assert_eq!((ack.transaction_id, ack.accepted.as_ref().unwrap().len()), (Some(3), 2));
    let offered: Vec<_> = w.node(1).info.functions.iter().map(|f| (f.id, f.revision)).collect();
    assert_eq!(offered, [(142, 9), (144, 3)]);
}

#[test]
fn configuration_update_changes_components() {
    let mut w = World::new();
    let agent = w.agent(1);
    let f1 = ComponentConfigItem {
        interface: ComponentInterfaceType::F1,
        id: ComponentId::F1(InterfaceF1 { du_id: 1 }),
        configuration: ComponentConfiguration::default(),
    };
    let update = |added, removed| {
        Message::E2NodeConfigurationUpdate(E2NodeConfigurationUpdate {
            transaction_id: Some(4),
            node_id: None,
            added,
            updated: None,
            removed,
            tnl_removed: None,
        })
    };
    w.send(agent, update(Some(vec![f1.clone()]), None));
    assert!(matches!(w.got(agent)[..], [Message::E2NodeConfigurationUpdateAcknowledge(_)]));
    assert_eq!((w.node(1).info.kind, w.ric.snapshot().rans[0].complete), (NodeKind::Cu, false));
    let unknown = ComponentRemovalItem {
        interface: ComponentInterfaceType::F1,
        id: ComponentId::F1(InterfaceF1 { du_id: 2 }),
    };
    w.send(agent, update(None, Some(vec![unknown])));
    assert!(matches!(w.got(agent)[..], [Message::E2NodeConfigurationUpdateFailure(_)]));
}

#[test]
fn node_can_remove_itself_and_be_removed() {
    let mut w = World::new();
    let agent = w.agent(1);
    w.send(agent, Message::E2RemovalRequest(E2RemovalRequest { transaction_id: Some(1) }));
    assert!(matches!(w.got(agent)[..], [Message::E2RemovalResponse(_)]));
    assert!(w.closed.contains_key(&agent) && w.ric.snapshot().nodes.is_empty());

    let agent = w.agent(2);
    w.ric.remove_node(w.now, &node(2)).unwrap();
    w.pump();
    let got = w.got(agent);
    let [Message::E2RemovalRequest(request)] = &got[..] else { panic!("{got:?}") };
    let response = E2RemovalResponse { transaction_id: request.transaction_id, diagnostics: None };
    w.send(agent, Message::E2RemovalResponse(response));
    assert!(w.ric.snapshot().nodes.is_empty());
}

#[test]
fn procedures_of_ric_are_repeated_and_expire() {
    let mut w = World::new();
    let agent = w.agent(1);
    let add = E2ConnectionUpdateItem {
        tnl: TnlInformation {
            address: ranlab_e2_codec::per::BitString::from_octets(&[127, 0, 0, 1]),
            port: None,
        },
        usage: TnlUsage::Both,
    };
    w.ric.update_connections(w.now, &node(1), &[add], &[]).unwrap();
    w.pump();
    w.pass(Duration::from_secs(60));
    assert_eq!(w.got(agent).len(), 3);
    let timed_out = |e: &RicEvent| matches!(e, RicEvent::Procedure { result: ProcedureResult::TimedOut, .. });
    assert!(w.events.iter().any(timed_out));
    for _ in 0..8 {
        w.ric.reset_node(w.now, &node(1), Cause::Misc(CauseMisc::OmIntervention)).unwrap();
    }
    let cause = Cause::Misc(CauseMisc::OmIntervention);
    assert_eq!(w.ric.reset_node(w.now, &node(1), cause), Err(ProcedureError::TooMany(8)));
    assert!(matches!(w.ric.remove_node(w.now, &node(9)), Err(ProcedureError::NoNode(_))));
}

#[test]
fn disconnected_node_is_forgotten_after_retention() {
    let mut w = World::new();
    let agent = w.agent(1);
    w.disconnect(agent);
    w.pass(Duration::from_secs(599));
    assert!(!w.node(1).info.connected);
    w.pass(Duration::from_secs(2));
    assert!(w.ric.snapshot().nodes.is_empty() && w.ric.wake_at().is_none());
}

#[test]
fn disconnect_event_has_reason() {
    let mut w = World::new();
    let lost = |w: &mut World| -> Vec<(GlobalE2NodeId, NodeLoss)> {
        let events = std::mem::take(&mut w.events);
        events
            .into_iter()
            .filter_map(|e| if let RicEvent::NodeLost { node, why } = e { Some((node, why)) } else { None })
            .collect()
    };
    let conn = w.agent(1);
    w.disconnect(conn);
    assert_eq!(lost(&mut w), [(node(1), NodeLoss::Lost(LinkLoss::ClosedByPeer))]);
    let conn = w.agent(2);
    w.send_bytes(conn, vec![0; Limits::default().pdu_bytes + 1]);
    let [(who, NodeLoss::Closed(why))] = &lost(&mut w)[..] else { panic!() };
    assert!(*who == node(2) && why.starts_with("the peer sent a PDU of 1048577 bytes"), "{why}");
    let conn = w.agent(3);
    w.send(conn, Message::E2SetupRequest(setup_of(node(4))));
    assert_eq!(lost(&mut w), [(node(3), NodeLoss::Renamed)]);
    w.send(conn, Message::E2RemovalRequest(E2RemovalRequest { transaction_id: Some(1) }));
    let [(who, NodeLoss::Closed(why))] = &lost(&mut w)[..] else { panic!() };
    assert_eq!((*who, &why[..]), (node(4), "the node was removed"));
}

#[test]
fn messages_that_only_rics_send_are_refused() {
    let mut w = World::new();
    let agent = w.agent(1);
    let query = RicServiceQuery { transaction_id: Some(1), accepted: None };
    w.send(agent, Message::RicServiceQuery(query));
    let got = w.got(agent);
    let [Message::ErrorIndication(e)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(e.cause, Some(Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState)));
}
