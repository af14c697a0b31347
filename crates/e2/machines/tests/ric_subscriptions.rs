//! Subscriptions at a RIC: ownership, merging, fan-out, restoring, deletion, and silence.
#![cfg(feature = "ric")]
mod ric_world;

use ranlab_e2::OutboxLimits;
use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use ric_world::*;
use std::time::Duration;

fn e2(message: &e42::Message) -> &Message {
    match message {
        e42::Message::E2(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn xapp_gets_indications_under_its_own_request_id() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp();
    let id = w.subscribed(xapp, agent, 1, 1);
    assert_eq!(id, RicRequestId { requestor: 1021, instance: 0 });
    w.send(agent, indication(id, 1, 3_000));
    let got = w.got42(xapp.0);
    assert_eq!(*e2(&got[0]), indication(rid(1), 1, 3_000));
    w.send42(xapp.0, delete(xapp.1, 1));
    let got = w.got(agent);
    assert!(matches!(&got[..], [Message::RicSubscriptionDeleteRequest(r)] if r.request_id == id));
    w.send(agent, deleted(id));
    let got = w.got42(xapp.0);
    assert!(
        matches!(e2(&got[0]), Message::RicSubscriptionDeleteResponse(r) if r.request_id == rid(1) && r.function_id == 142)
    );
    assert!(w.node(1).subscriptions.is_empty());
    // A late indication matches no subscription, and the RIC requests its deletion at the node.
    w.send(agent, indication(id, 2, 10));
    let got = w.got(agent);
    assert!(matches!(&got[..], [Message::RicSubscriptionDeleteRequest(r)] if r.request_id == id), "{got:?}");
    assert!(w.got42(xapp.0).is_empty());
    assert!(w.ric.wake_at().is_none());
}

#[test]
fn equal_subscriptions_are_merged() {
    let mut w = World::new();
    let agent = w.agent(1);
    let a = w.xapp();
    let b = w.xapp();
    let id = w.subscribed(a, agent, 1, 1);
    w.send42(b.0, subscribe(b.1, 1, 4, 10));
    assert!(w.got(agent).is_empty());
    let got = w.got42(b.0);
    assert!(matches!(e2(&got[0]), Message::RicSubscriptionResponse(r) if r.request_id == rid(4)));
    w.send(agent, indication(id, 1, 100));
    assert_eq!(*e2(&w.got42(a.0)[0]), indication(rid(1), 1, 100));
    assert_eq!(*e2(&w.got42(b.0)[0]), indication(rid(4), 1, 100));
    w.assert_no_leak();
    w.send42(a.0, delete(a.1, 1));
    assert!(w.got(agent).is_empty());
    assert!(matches!(e2(&w.got42(a.0)[0]), Message::RicSubscriptionDeleteResponse(_)));
    w.disconnect(b.0);
    assert!(matches!(w.got(agent)[..], [Message::RicSubscriptionDeleteRequest(_)]));
    w.send(agent, deleted(id));
    w.assert_no_leak();
    assert_eq!(w.ric.counters().subscriptions_merged, 1);
}

#[test]
fn different_subscriptions_and_inserts_are_not_merged() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp();
    w.subscribed(xapp, agent, 1, 1);
    w.send42(xapp.0, subscribe(xapp.1, 1, 2, 20));
    assert_eq!(w.admit(agent).requestor, 1022);
    for request in [3, 4] {
        let e42::Message::SubscriptionRequest(mut m) = subscribe(xapp.1, 1, request, 30) else { panic!() };
        m.details.actions[0].kind = RicActionType::Insert;
        w.send42(xapp.0, e42::Message::SubscriptionRequest(m));
        w.admit(agent);
    }
    assert_eq!(w.node(1).subscriptions.len(), 4);
}

#[test]
fn tenants_do_not_share_subscriptions_or_nodes() {
    struct TwoTenants;
    impl XappPolicy for TwoTenants {
        fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
            let first = peer.peer == "peer-3:3";
            Ok(XappGrant {
                tenant: Tenant::new(if first { "first" } else { "second" }),
                nodes: if first { NodeFilter::All } else { NodeFilter::Nodes(vec![node(1)]) },
                limits: XappLimits::default().with(|it| {
                    it.subscriptions = 2;
                    it.requests = 1;
                }),
                ..XappGrant::default()
            })
        }
    }
    let mut w = World::with(RicConfig::default().with(|it| it.policy = Box::new(TwoTenants)));
    let agent = w.agent(1);
    let other = w.agent(2);
    let a = w.xapp();
    let b = w.xapp();
    let id = w.subscribed(a, agent, 1, 1);
    w.send42(b.0, subscribe(b.1, 1, 1, 10));
    let second = w.admit(agent);
    assert_ne!(id, second);
    w.got42(b.0);
    w.send(agent, indication(id, 1, 10));
    assert_eq!((w.got42(a.0).len(), w.got42(b.0).len()), (1, 0));
    w.send42(b.0, subscribe(b.1, 2, 2, 10));
    let got = w.got42(b.0);
    let Message::RicSubscriptionFailure(f) = e2(&got[0]) else { panic!("{got:?}") };
    assert_eq!(f.cause, Some(Cause::E2Node(CauseE2Node::ComponentUnknown)));
    w.send42(b.0, control(b.1, 2, 3));
    assert!(matches!(e2(&w.got42(b.0)[0]), Message::RicControlFailure(_)));
    assert!(w.got(other).is_empty());
    // A repeated setup lists only one node.
    w.send42(b.0, e42_setup(false));
    let got = w.got42(b.0);
    assert!(matches!(&got[..], [e42::Message::SetupResponse(r)] if r.nodes.len() == 1 && r.xapp_id == b.1));
    // The grant limits subscriptions.
    w.send42(b.0, subscribe(b.1, 1, 5, 50));
    w.send42(b.0, subscribe(b.1, 1, 6, 60));
    w.admit_any(agent);
    let got = w.got42(b.0);
    assert!(
        got.iter().any(|m| matches!(e2(m), Message::RicSubscriptionFailure(f) if f.request_id == rid(6)))
    );
}

#[test]
fn subscriptions_are_restored_with_their_node() {
    let mut w = World::new();
    let agent = w.agent(1);
    let a = w.xapp();
    let b = w.xapp();
    w.subscribed(a, agent, 1, 1);
    w.send42(b.0, subscribe(b.1, 1, 1, 10));
    w.got42(b.0);
    w.disconnect(agent);
    assert_eq!(w.node(1).subscriptions[0].state, "waiting");
    let again = w.connect(ListenerProtocol::E2);
    w.send(again, setup_request(1));
    let got = w.got(again);
    let [Message::E2SetupResponse(_), Message::RicSubscriptionRequest(r)] = &got[..] else {
        panic!("{got:?}")
    };
    w.send(again, admitted(r.request_id));
    assert!(w.got42(a.0).is_empty() && w.got42(b.0).is_empty());
    w.send(again, indication(r.request_id, 1, 10));
    assert_eq!((w.got42(a.0).len(), w.got42(b.0).len()), (1, 1));
    assert_eq!(w.ric.counters().subscriptions_restored, 1);
    // The subscription is also restored after a second setup on the connection, after a reset by the node, and after a reset by the RIC.
    w.send(again, setup_request(1));
    let id = w.admit_any(again);
    let cause = Cause::Misc(CauseMisc::Unspecified);
    w.send(again, Message::ResetRequest(ResetRequest { transaction_id: Some(1), cause }));
    assert_eq!(w.admit_any(again), id);
    w.ric.reset_node(w.now, &node(1), cause).unwrap();
    w.pump();
    let got = w.got(again);
    let [Message::ResetRequest(reset)] = &got[..] else { panic!("{got:?}") };
    let response = ResetResponse { transaction_id: reset.transaction_id, diagnostics: None };
    w.send(again, Message::ResetResponse(response));
    assert_eq!(w.admit_any(again), id);
    assert_eq!(w.ric.counters().subscriptions_restored, 4);
    w.assert_no_leak();
}

#[test]
fn subscription_ends_with_its_function() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp_that(true);
    w.subscribed(xapp, agent, 1, 1);
    w.disconnect(agent);
    let again = w.connect(ListenerProtocol::E2);
    let mut setup = setup_of(node(1));
    setup.functions = Some(vec![function(143)]);
    w.send(again, Message::E2SetupRequest(setup));
    let got = w.got42(xapp.0);
    let Message::RicSubscriptionDeleteRequired(m) = e2(&got[0]) else { panic!("{got:?}") };
    assert_eq!(m.subscriptions[0].request_id, rid(1));
    assert!(w.node(1).subscriptions.is_empty());
    w.assert_no_leak();
}

#[test]
fn unanswered_subscription_fails_after_three_tries() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp();
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    w.pass(Duration::from_millis(5_900));
    assert_eq!((w.got(agent).len(), w.got42(xapp.0).len()), (3, 0));
    w.pass(Duration::from_millis(200));
    let got = w.got42(xapp.0);
    assert!(matches!(e2(&got[0]), Message::RicSubscriptionFailure(f) if f.request_id == rid(1)), "{got:?}");
    // The node may nevertheless have the subscription. Its deletion is requested three times, too.
    w.pass(Duration::from_secs(60));
    assert_eq!(w.got(agent).len(), 3);
    assert!(w.node(1).subscriptions.is_empty());
    assert_eq!(w.ric.counters().deletes_unanswered, 1);
}

#[test]
fn each_refused_subscription_has_the_right_cause() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp();
    let mut ask = |m: e42::Message| {
        w.send42(xapp.0, m);
        let got = w.got42(xapp.0);
        match e2(&got[0]) {
            Message::RicSubscriptionFailure(f) => f.cause.unwrap(),
            Message::RicSubscriptionDeleteFailure(f) => f.cause,
            Message::RicControlFailure(f) => f.cause,
            other => panic!("{other:?}"),
        }
    };
    let unknown_id = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);
    assert_eq!(ask(subscribe(xapp.1 + 1, 1, 1, 10)), unknown_id);
    assert_eq!(ask(delete(xapp.1 + 1, 1)), unknown_id);
    assert_eq!(ask(control(xapp.1 + 1, 1, 1)), unknown_id);
    assert_eq!(ask(delete(xapp.1, 1)), unknown_id);
    assert_eq!(ask(subscribe(xapp.1, 9, 1, 10)), Cause::E2Node(CauseE2Node::ComponentUnknown));
    let e42::Message::SubscriptionRequest(mut m) = subscribe(xapp.1, 1, 1, 10) else { panic!() };
    m.function_id = 999;
    let invalid = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
    assert_eq!(ask(e42::Message::SubscriptionRequest(m)), invalid);
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    let id = w.admit(agent);
    assert_eq!(w.got42(xapp.0).len(), 1);
    // A repeated request gets the response again; a different one with the same id is refused.
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    assert!(matches!(e2(&w.got42(xapp.0)[0]), Message::RicSubscriptionResponse(_)));
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 20));
    assert!(matches!(e2(&w.got42(xapp.0)[0]), Message::RicSubscriptionFailure(_)));
    // An xApp cannot delete the subscription of another.
    let thief = w.xapp();
    w.send42(thief.0, delete(thief.1, 1));
    assert!(matches!(e2(&w.got42(thief.0)[0]), Message::RicSubscriptionDeleteFailure(_)));
    w.send(agent, indication(id, 1, 10));
    assert_eq!(w.got42(xapp.0).len(), 1);
}

#[test]
fn deletion_waits_for_response_to_outstanding_request() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp();
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    w.send42(xapp.0, delete(xapp.1, 1));
    let id = w.admit(agent);
    assert!(matches!(w.got(agent)[..], [Message::RicSubscriptionDeleteRequest(_)]));
    w.send(agent, deleted(id));
    let got = w.got42(xapp.0);
    assert!(matches!(e2(&got[0]), Message::RicSubscriptionDeleteResponse(_)) && got.len() == 1, "{got:?}");
    w.assert_no_leak();
    assert!(w.node(1).subscriptions.is_empty());
}

#[test]
fn node_can_refuse_and_end_subscriptions() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp_that(true);
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    let got = w.got(agent);
    let [Message::RicSubscriptionRequest(r)] = &got[..] else { panic!("{got:?}") };
    let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    w.send(
        agent,
        Message::RicSubscriptionFailure(RicSubscriptionFailure {
            request_id: r.request_id,
            function_id: 142,
            not_admitted: None,
            cause: Some(cause),
            diagnostics: None,
        }),
    );
    let got = w.got42(xapp.0);
    assert!(matches!(e2(&got[0]), Message::RicSubscriptionFailure(f) if f.cause == Some(cause)));
    let request_id = w.subscribed(xapp, agent, 1, 2);
    let subscriptions = vec![SubscriptionWithCause { request_id, function_id: 142, cause }];
    w.send(agent, Message::RicSubscriptionDeleteRequired(RicSubscriptionDeleteRequired { subscriptions }));
    assert!(matches!(e2(&w.got42(xapp.0)[0]), Message::RicSubscriptionDeleteRequired(_)));
    assert!(matches!(w.got(agent)[..], [Message::RicSubscriptionDeleteRequest(_)]));
    w.assert_no_leak();
}

#[test]
fn number_of_subscriptions_is_limited() {
    let limits = Limits::default().with(|it| {
        it.subscriptions_per_node = 5;
        it.sinks_per_subscription = 3;
    });
    let mut w = World::with(RicConfig::default().with(|it| it.limits = limits));
    let agent = w.agent(1);
    let xapp = w.xapp();
    for n in 0..100 {
        w.send42(xapp.0, subscribe(xapp.1, 1, n, u32::from(n)));
    }
    assert_eq!((w.got(agent).len(), w.got42(xapp.0).len()), (5, 95));
    for n in 100..110 {
        w.send42(xapp.0, subscribe(xapp.1, 1, n, 0));
    }
    assert_eq!(w.got42(xapp.0).len(), 8);
    assert_eq!(w.ric.counters().subscriptions_refused, 103);
    w.assert_no_leak();
}

#[test]
fn stalled_xapp_loses_only_its_own_indications() {
    let xapp_outbox = OutboxLimits::default().with(|it| it.control_bytes = 100_000);
    let limits = Limits::default().with(|it| it.xapp_outbox = xapp_outbox);
    let mut w = World::with(RicConfig::default().with(|it| it.limits = limits));
    let agent = w.agent(1);
    let deaf = w.xapp();
    let other = w.xapp();
    let id = w.subscribed(deaf, agent, 1, 1);
    w.send42(other.0, subscribe(other.1, 1, 1, 10));
    w.got42(other.0);
    w.deaf.push(deaf.0);
    for sn in 0..2_000 {
        w.send(agent, indication(id, sn, 3_300));
    }
    assert_eq!(w.got42(other.0).len(), 2_000);
    let snapshot = w.ric.snapshot();
    let conn = snapshot.connections.iter().find(|c| c.id == deaf.0).unwrap();
    assert!(conn.queued_bytes <= 2 << 20 && conn.outbox.dropped_full > 1_000, "{conn:?}");
    // Unread control messages close the connection.
    for n in 0..100_000 {
        w.send42(deaf.0, subscribe(deaf.1, 9, n as u16, 10));
        if w.closed.contains_key(&deaf.0) {
            break;
        }
    }
    assert!(w.closed[&deaf.0].contains("has not read"), "{:?}", w.closed);
    w.assert_no_leak();
}

#[test]
fn indication_with_unusual_encoding_is_delivered() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp();
    let id = w.subscribed(xapp, agent, 1, 1);
    let mut bytes = encode(&indication(id, 1, 10), Version::V2_03).unwrap();
    // The request id (9 bytes) and the function id (6 bytes) are swapped.
    let request = bytes[7..16].to_vec();
    let function = bytes[16..22].to_vec();
    bytes.splice(7..22, function.into_iter().chain(request));
    w.send_bytes(agent, bytes);
    let got = w.got42(xapp.0);
    assert_eq!(*e2(&got[0]), indication(rid(1), 1, 10));
}

#[test]
fn repeated_request_is_not_refused_while_node_is_disconnected() {
    let mut w = World::new();
    let agent = w.agent(1);
    let xapp = w.xapp();
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    w.disconnect(agent);
    // After a refusal the xApp would use another id, and would own two subscriptions once the node reconnects.
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    assert!(w.got42(xapp.0).is_empty());
    let agent = w.agent_then_nothing(1);
    w.admit_any(agent);
    assert!(matches!(e2(&w.got42(xapp.0)[0]), Message::RicSubscriptionResponse(r) if r.request_id == rid(1)));
    w.assert_no_leak();
}
