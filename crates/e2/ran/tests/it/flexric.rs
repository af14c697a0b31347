//! An emulated base station with a model of FlexRIC's RIC. The RIC model accepts the base station, and its xApps'
//! requests are executed.
#![allow(clippy::unwrap_used)]
use crate::flexric_models;

use bytes::Bytes;
use ranlab_e2::agent::{Agent, AgentInput, AgentOutput, ControllerId};
use ranlab_e2::ric::{ConnId, ListenerProtocol, Ric, RicConfig, RicInput, RicOutput};
use ranlab_e2::{Time, fingerprint};
use ranlab_e2_codec::e2ap::*;
use ranlab_ran::functions::selectable;
use ranlab_ran::node::{NodeKind, NodeTemplate};
use std::time::Duration;

const C0: ControllerId = ControllerId(0);

fn station(kind: NodeKind, own_functions: bool) -> Agent {
    let template = NodeTemplate {
        kind,
        ues: 4,
        service_models: selectable().filter(|it| it.model().is_some_and(|model| model.customary())).collect(),
        own_functions,
        ..NodeTemplate::default()
    };
    let (mut agent, _) = template.agent(0, Time::ZERO).unwrap();
    agent.add_controller(Time::ZERO, "ric".into()).unwrap();
    agent.handle(Time::ZERO, AgentInput::Connected { controller: C0 });
    agent
}

/// Returns the messages that the agent sends next.
fn next_messages(agent: &mut Agent) -> Vec<Bytes> {
    agent.handle(Time::ZERO, AgentInput::Wake);
    while let Some(output) = agent.poll() {
        assert!(!matches!(output, AgentOutput::Close { .. }), "{output:?}");
    }
    std::iter::from_fn(|| agent.transmit(Time::ZERO, C0)).map(|f| f.to_bytes()).collect()
}

fn deliver(agent: &mut Agent, message: &Message) {
    let pdu = encode(message, Version::V2_03).unwrap().into();
    agent.handle(Time::ZERO, AgentInput::Received { controller: C0, pdu });
}

/// Exchanges messages between the model of FlexRIC's RIC and the agent, until neither has a message to send.
fn talk(agent: &mut Agent, ric: &mut flexric_models::Ric) {
    loop {
        let messages = next_messages(agent);
        if messages.is_empty() {
            return;
        }
        for pdu in messages {
            if let Some(answer) = ric.take(decode(&pdu, Version::V2_03).unwrap().message) {
                deliver(agent, &answer);
            }
        }
    }
}

#[test]
fn flexric_accepts_every_kind_of_base_station() {
    for kind in [NodeKind::Gnb, NodeKind::Split, NodeKind::Enb] {
        let mut agent = station(kind, false);
        let mut ric = flexric_models::Ric::default();
        talk(&mut agent, &mut ric);
        assert!(agent.is_up(C0) && ric.nodes.len() == 1, "{kind:?}");
    }
}

#[test]
fn flexric_monitor_gets_subscription() {
    let mut agent = station(NodeKind::Gnb, false);
    let mut ric = flexric_models::Ric::default();
    talk(&mut agent, &mut ric);
    let request_id = RicRequestId { requestor: 1_021, instance: 0 };
    deliver(
        &mut agent,
        &Message::RicControlRequest(RicControlRequest {
            request_id,
            function_id: 142,
            call_process_id: None,
            header: Bytes::from_static(&[1, 0, 0, 0]),
            message: Bytes::from_static(&[42, 0, 0, 0]),
            ack_request: Some(RicControlAckRequest::Ack),
        }),
    );
    talk(&mut agent, &mut ric);
    let event_trigger = Bytes::from_static(&[1, 0, 0, 0]);
    let actions = vec![ActionToBeSetup::report(0)];
    deliver(
        &mut agent,
        &Message::RicSubscriptionRequest(RicSubscriptionRequest {
            request_id: RicRequestId { requestor: 1_022, instance: 0 },
            function_id: 142,
            details: RicSubscriptionDetails { event_trigger, actions },
            start_time: None,
            end_time: None,
        }),
    );
    talk(&mut agent, &mut ric);
    assert_eq!((ric.acknowledged, ric.subscribed), (1, 1));
}

/// Returns the RAN functions that this project's RIC knows after a few message exchanges.
fn known_to_our_ric(agent: &mut Agent) -> Vec<RanFunctionId> {
    let mut ric = Ric::new(RicConfig::default());
    let conn = ConnId(1);
    ric.handle(
        Time::ZERO,
        RicInput::Connected { conn, side: ListenerProtocol::E2, peer: "station:1".into() },
    );
    for _ in 0..10 {
        for pdu in next_messages(agent) {
            ric.handle(Time::ZERO + Duration::from_millis(1), RicInput::Received { conn, pdu });
        }
        while let Some(output) = ric.poll() {
            assert!(!matches!(output, RicOutput::Close { .. }), "{output:?}");
        }
        while let Some(frame) = ric.transmit(Time::ZERO, conn) {
            agent.handle(Time::ZERO, AgentInput::Received { controller: C0, pdu: frame.to_bytes() });
        }
    }
    ric.snapshot().nodes[0].info.functions.iter().map(|f| f.id).collect()
}

#[test]
fn own_functions_are_offered_to_our_ric_after_setup() {
    let mut agent = station(NodeKind::Gnb, false);
    assert_eq!(known_to_our_ric(&mut agent), [139, 140, 142, 143, 144, 148]);
    // The agent must not offer its own functions at setup on another connection, either.
    agent.handle(
        Time::ZERO,
        AgentInput::Disconnected { controller: C0, why: ranlab_e2::LinkLoss::ClosedByPeer },
    );
    agent.handle(Time::ZERO + Duration::from_secs(2), AgentInput::Wake);
    agent.handle(Time::ZERO + Duration::from_secs(2), AgentInput::Connected { controller: C0 });
    talk(&mut agent, &mut flexric_models::Ric::default());
    assert!(agent.is_up(C0));
}

#[test]
fn own_functions_are_offered_at_setup_if_configured() {
    let mut agent = station(NodeKind::Gnb, true);
    let setup = decode(&next_messages(&mut agent)[0], Version::V2_03).unwrap().message;
    let Message::E2SetupRequest(setup) = setup else { panic!("{setup:?}") };
    let offered: Vec<_> = setup.functions.unwrap().iter().map(|f| f.id).collect();
    assert!(fingerprint::OWN_FUNCTIONS.iter().all(|own| offered.contains(&own.id)), "{offered:?}");
}
