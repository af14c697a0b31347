//! xApps and iApps at a RIC: ids, node lists, node events, controls, queries.
#![cfg(feature = "ric")]
#![allow(clippy::unwrap_used)] // includes iApps for tests
mod ric_world;

use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use ric_world::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn every_version_gets_response_in_its_version() {
    for version in Version::ALL {
        let mut w = World::new();
        w.agent(1);
        let conn = w.connect(ListenerProtocol::E42);
        w.versions.insert(conn, version);
        w.send42(conn, e42_setup(false));
        let got = w.got42(conn);
        let [e42::Message::SetupResponse(response)] = &got[..] else { panic!("{got:?}") };
        assert_eq!((response.xapp_id, response.nodes.len()), (7, 1));
        assert_eq!(response.nodes[0].functions.len(), 2);
    }
}

#[test]
fn ids_start_at_seven_and_skip_used_ones() {
    let mut w = World::new();
    let (keeper, id) = w.xapp();
    assert_eq!(id, 7);
    assert_eq!(w.xapp().1, 8);
    for _ in 0..65_600 {
        let (conn, id) = w.xapp();
        assert!(id > 8);
        w.disconnect(conn);
    }
    assert_eq!(w.ric.snapshot().xapps.len(), 2);
    w.send42(keeper, e42_setup(false));
    assert!(matches!(&w.got42(keeper)[..], [e42::Message::SetupResponse(r)] if r.xapp_id == 7));
    assert_eq!(w.ric.counters().xapps_gone, 65_600);
}

#[test]
fn xapps_beyond_limit_or_rejected_by_policy_are_refused() {
    struct Nobody;
    impl XappPolicy for Nobody {
        fn admit(&self, _: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
            Err(Cause::Misc(CauseMisc::OmIntervention))
        }
    }
    let config = RicConfig::default().with(|it| it.policy = Box::new(Nobody));
    let bounded = RicConfig::default().with(|it| it.limits = Limits::default().with(|it| it.xapps = 0));
    for config in [config, bounded] {
        let mut w = World::with(config);
        let conn = w.connect(ListenerProtocol::E42);
        w.send42(conn, e42_setup(false));
        assert!(matches!(w.got42(conn)[..], [e42::Message::SetupFailure(_)]));
        w.pass(Duration::from_secs(6));
        assert!(w.closed.contains_key(&conn));
    }
}

#[test]
fn node_events_go_to_xapps_that_requested_them() {
    let mut w = World::new();
    let with_events = w.xapp_that(true);
    let other = w.xapp_that(false);
    let agent = w.agent(1);
    let got = w.got42(with_events.0);
    let [e42::Message::NodeEvent(event)] = &got[..] else { panic!("{got:?}") };
    assert_eq!((event.xapp_id, event.connected[0].node_id), (with_events.1, node(1)));
    // A node that reconnects is announced only to xApps that connected meanwhile.
    w.pass(Duration::from_millis(1));
    w.disconnect(agent);
    w.pass(Duration::from_millis(1));
    let late = w.xapp_that(true);
    w.agent(1);
    assert!(w.got42(with_events.0).is_empty());
    assert!(matches!(w.got42(late.0)[..], [e42::Message::NodeEvent(_)]));
    let agent = w.agent(2);
    w.got42(with_events.0);
    w.send(agent, Message::E2RemovalRequest(E2RemovalRequest { transaction_id: Some(1) }));
    let got = w.got42(with_events.0);
    assert!(matches!(&got[..], [e42::Message::NodeEvent(e)] if e.removed == [node(2)]), "{got:?}");
    assert!(w.got42(other.0).is_empty());
}

#[test]
fn long_node_list_continues_in_events() {
    let limits = Limits::default().with(|it| it.node_list_bytes = 1_000);
    let mut w = World::with(RicConfig::default().with(|it| it.limits = limits));
    for gnb in 0..50 {
        w.agent(gnb);
    }
    let conn = w.connect(ListenerProtocol::E42);
    w.send42(conn, e42_setup(true));
    let got = w.got42(conn);
    let listed: usize = got
        .iter()
        .map(|m| match m {
            e42::Message::SetupResponse(r) => r.nodes.len(),
            e42::Message::NodeEvent(e) => e.connected.len(),
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(got.len(), 5);
    assert_eq!(listed as u64 + w.ric.counters().nodes_not_listed, 50);
}

#[test]
fn connection_that_reads_nothing_for_seconds_is_reported_once() {
    let mut w = World::holding(Duration::ZERO, RicConfig::default());
    let agent = w.agent(1);
    let xapp = w.xapp();
    let id = w.subscribed(xapp, agent, 1, 1);
    let reports = |w: &mut World| {
        let is_stall = |event: &RicEvent| {
            matches!(event, RicEvent::Fault { conn, what, .. }
            if *conn == xapp.0 && what.contains("accepts no messages for 3.0 s"))
        };
        std::mem::take(&mut w.events).iter().filter(|event| is_stall(event)).count()
    };
    reports(&mut w);
    w.deaf.push(xapp.0);
    for sn in 0..50 {
        w.send(agent, indication(id, sn, 100));
        w.pass(Duration::from_millis(100));
    }
    assert_eq!(reports(&mut w), 1);
    // The connection accepts data and then stalls again.
    w.deaf.clear();
    w.take(xapp.0);
    w.send(agent, indication(id, 50, 100));
    w.pass(Duration::from_secs(10));
    assert_eq!(reports(&mut w), 0);
    w.deaf.push(xapp.0);
    w.send(agent, indication(id, 51, 100));
    w.pass(Duration::from_secs(4));
    assert_eq!(reports(&mut w), 1);
}

/// FlexRIC's xApps crash on a response that arrives before their library has recorded the request.
#[test]
fn responses_to_flexric_xapps_are_held() {
    const US: Duration = Duration::from_micros(1);
    for bypass in [false, true] {
        let mut w = World::holding(500 * US, RicConfig::default());
        w.beside = bypass.then(Default::default);
        let agent = w.agent(1);
        let (conn, id) = w.xapp_that(false);
        let (ours, our_id) = w.xapp_that(true);
        let acknowledge = |w: &mut World| {
            for message in w.got(agent) {
                let Message::RicControlRequest(m) = message else { continue };
                let answer = RicControlAcknowledge {
                    request_id: m.request_id,
                    function_id: m.function_id,
                    call_process_id: None,
                    status: None,
                    outcome: None,
                };
                w.send(agent, Message::RicControlAcknowledge(answer));
            }
        };
        let ids = |w: &mut World, conn| -> Vec<u16> {
            let id = |message| match message {
                e42::Message::E2(Message::RicControlAcknowledge(m)) => m.request_id.requestor,
                e42::Message::E2(Message::RicControlFailure(m)) => m.request_id.requestor,
                e42::Message::E2(Message::RicSubscriptionDeleteFailure(m)) => m.request_id.requestor,
                e42::Message::SetupResponse(_) => 0,
                other => panic!("{other:?}"),
            };
            w.got42(conn).into_iter().map(id).collect()
        };
        // Several requests wait in parallel; the RIC's own refusals (2, 3) are held, too.
        w.send42(conn, control(id, 1, 1));
        acknowledge(&mut w);
        w.send42(conn, control(id, 9, 2));
        w.send42(conn, delete(id, 3));
        w.pass(499 * US);
        assert_eq!(ids(&mut w, conn), [0_u16; 0], "bypass {bypass}");
        // The response to a setup is not held itself, but the order of responses is kept.
        w.send42(conn, e42_setup(false));
        assert_eq!(ids(&mut w, conn), [0_u16; 0]);
        w.pass(US);
        assert_eq!(ids(&mut w, conn), [1, 2, 3, 0]);
        // A response that takes longer anyway is not held.
        w.send42(conn, control(id, 1, 4));
        w.pass(500 * US);
        acknowledge(&mut w);
        assert_eq!(ids(&mut w, conn), [4]);
        w.send42(ours, control(our_id, 1, 5));
        acknowledge(&mut w);
        assert_eq!(ids(&mut w, ours), [5], "responses must not be held for xApps that support the extension");
        w.assert_no_leak();
    }
}

fn control_of(got: &[Message]) -> &RicControlRequest {
    match got {
        [Message::RicControlRequest(r)] => r,
        other => panic!("{other:?}"),
    }
}

#[test]
fn control_responses_go_to_owner_and_missing_ones_time_out() {
    let mut w = World::new();
    let agent = w.agent(1);
    let (conn, id) = w.xapp();
    w.send42(conn, control(id, 1, 9));
    let got = w.got(agent);
    let request = control_of(&got);
    let outcome = Some(Bytes::from_static(b"done"));
    let acknowledge = RicControlAcknowledge {
        request_id: request.request_id,
        function_id: 142,
        call_process_id: None,
        status: None,
        outcome: outcome.clone(),
    };
    w.send(agent, Message::RicControlAcknowledge(acknowledge.clone()));
    let got = w.got42(conn);
    let [e42::Message::E2(Message::RicControlAcknowledge(a))] = &got[..] else { panic!("{got:?}") };
    assert_eq!((a.request_id, &a.outcome), (rid(9), &outcome));
    // A repeated response is ignored.
    w.send(agent, Message::RicControlAcknowledge(acknowledge));
    assert!(w.got42(conn).is_empty() && w.ric.counters().answers_stray == 1);
    w.send42(conn, control(id, 1, 10));
    w.pass(Duration::from_secs(6));
    let got = w.got42(conn);
    let [e42::Message::E2(Message::RicControlFailure(f))] = &got[..] else { panic!("{got:?}") };
    assert_eq!(f.cause, Cause::RicRequest(CauseRicRequest::ControlTimerExpired));
    w.send42(conn, control(id, 1, 11));
    w.disconnect(agent);
    assert!(matches!(w.got42(conn)[..], [e42::Message::E2(Message::RicControlFailure(_))]));
    w.send42(conn, control(id, 1, 12));
    assert!(matches!(w.got42(conn)[..], [e42::Message::E2(Message::RicControlFailure(_))]));
    assert!(w.ric.snapshot().nodes[0].requests == 0);
}

#[test]
fn controls_beyond_limit_per_node_are_refused() {
    let limits = Limits::default().with(|it| it.requests_per_node = 3);
    let mut w = World::with(RicConfig::default().with(|it| it.limits = limits));
    let agent = w.agent(1);
    let (conn, id) = w.xapp();
    for n in 0..5 {
        let e42::Message::ControlRequest(mut m) = control(id, 1, n) else { panic!() };
        m.ack_request = (n > 0).then_some(RicControlAckRequest::Ack).or(Some(RicControlAckRequest::NoAck));
        w.send42(conn, e42::Message::ControlRequest(m));
    }
    // The first control waits for no response and is dropped; the fifth is refused.
    assert_eq!(w.got(agent).len(), 4);
    let got = w.got42(conn);
    let [e42::Message::E2(Message::RicControlFailure(f))] = &got[..] else { panic!("{got:?}") };
    assert_eq!((f.request_id, f.cause), (rid(4), Cause::Misc(CauseMisc::ControlProcessingOverload)));
    // Controls of a disconnected xApp are dropped.
    w.disconnect(conn);
    assert_eq!(w.node(1).requests, 0);
}

/// iApp that subscribes to function 142 at every node and records its inputs.
struct Notes(Arc<Mutex<Vec<String>>>, Option<SubscriptionHandle>);

impl IApp for Notes {
    fn name(&self) -> &str {
        "notes"
    }
    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        let note = match input {
            IAppInput::NodeAdded(n) => {
                let f = n.function_by_oid("0.0.0.142").unwrap();
                self.1 = Some(out.subscribe(n.id, f.id, details(10)));
                "added".into()
            }
            IAppInput::NodeChanged(n) => format!("changed, connected {}", n.connected),
            IAppInput::NodeRemoved(_) => "removed".into(),
            IAppInput::RanComplete(_) => "complete".into(),
            IAppInput::Subscribed { subscription, admitted, .. } => {
                assert_eq!(Some(subscription), self.1);
                format!("subscribed {admitted:?}")
            }
            IAppInput::Indication { indication, node, pdu, .. } => {
                assert!(pdu.unwrap().len() > indication.message.len());
                format!("indication {:?} of {}", indication.sn, node.id)
            }
            IAppInput::Northbound(request) => {
                let body = request.body.clone();
                out.reply(NorthboundReply { token: request.token, status: 200, body });
                out.wake_at(now + Duration::from_secs(1), 5);
                let hello = ControlDetails {
                    call_process_id: None,
                    header: Bytes::new(),
                    message: Bytes::new(),
                    ack_request: Some(RicControlAckRequest::Ack),
                };
                out.control(node(1), 142, hello);
                out.query(node(1), 142, Bytes::new(), Bytes::new());
                "northbound".into()
            }
            IAppInput::ControlDone { outcome, .. } => {
                format!("control {}", matches!(outcome, Outcome::Done(_)))
            }
            IAppInput::QueryDone { outcome, .. } => format!("query {}", matches!(outcome, Outcome::Done(_))),
            IAppInput::SubscriptionEnded { .. } => "ended".into(),
            IAppInput::Timer(token) => format!("timer {token}"),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(note);
    }
}

#[test]
fn iapp_is_called_for_relevant_inputs() {
    let mut w = World::new();
    let notes = Arc::new(Mutex::new(Vec::new()));
    let iapp = w.ric.add_iapp(Box::new(Notes(notes.clone(), None)));
    let inputs = || std::mem::take(&mut *notes.lock().unwrap());
    let agent = w.agent_then_nothing(1);
    assert_eq!(inputs(), ["added", "complete"]);
    let id = w.admit_any(agent);
    assert_eq!(inputs(), ["subscribed [0]"]);
    w.send(agent, indication(id, 4, 100));
    assert_eq!(inputs(), ["indication Some(4) of gnb 505.01 1"]);
    // An xApp with the same subscription shares it with the iApp.
    let xapp = w.xapp();
    inputs();
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    assert_eq!((w.got(agent).len(), w.got42(xapp.0).len()), (0, 1));
    w.send(agent, indication(id, 5, 100));
    assert_eq!((inputs().len(), w.got42(xapp.0).len()), (1, 1));

    let request = NorthboundRequest {
        token: 9,
        method: Method::Get,
        path: "/".into(),
        body: Bytes::from_static(b"x"),
        party: None,
    };
    w.ric.northbound(w.now, iapp, request);
    w.pump();
    assert!(w.events.iter().any(|e| matches!(e, RicEvent::Reply(r) if r.token == 9 && r.status == 200)));
    // v2.03 has no queries.
    assert_eq!(inputs(), ["northbound", "query false"]);
    let got = w.got(agent);
    let request_id = control_of(&got).request_id;
    w.send(
        agent,
        Message::RicControlAcknowledge(RicControlAcknowledge {
            request_id,
            function_id: 142,
            call_process_id: None,
            status: None,
            outcome: None,
        }),
    );
    assert_eq!(inputs(), ["control true"]);
    w.pass(Duration::from_secs(2));
    assert_eq!(inputs(), ["timer 5"]);
    w.disconnect(agent);
    assert_eq!(inputs()[0], "changed, connected false");
    w.pass(Duration::from_secs(601));
    let inputs = inputs();
    assert!(inputs.contains(&"ended".to_owned()) && inputs.contains(&"removed".to_owned()), "{inputs:?}");
}

#[test]
fn v3_node_answers_query() {
    let mut w = World::with(RicConfig::default().with(|it| it.version = Version::V3_01));
    let notes = Arc::new(Mutex::new(Vec::new()));
    let iapp = w.ric.add_iapp(Box::new(Notes(notes.clone(), None)));
    let agent = w.connect(ListenerProtocol::E2);
    w.versions.insert(agent, Version::V3_01);
    w.send(agent, setup_request(1));
    w.raw(agent);
    w.ric.northbound(
        w.now,
        iapp,
        NorthboundRequest {
            token: 1,
            method: Method::Get,
            path: "/".into(),
            body: Bytes::new(),
            party: None,
        },
    );
    w.pump();
    let got = w.got(agent);
    let [Message::RicControlRequest(_), Message::RicQueryRequest(q)] = &got[..] else { panic!("{got:?}") };
    let request_id = q.request_id;
    let function_id = q.function_id;
    let outcome = Bytes::from_static(b"answer");
    w.send(agent, Message::RicQueryResponse(RicQueryResponse { request_id, function_id, outcome }));
    assert!(notes.lock().unwrap().contains(&"query true".to_owned()));
}
