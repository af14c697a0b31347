//! ranlab's RIC, agent and xApp with models of FlexRIC's programs: none of the models aborts, and all requests
//! complete.
#![cfg(all(feature = "agent", feature = "ric", feature = "xapp"))]
#![allow(clippy::unwrap_used)]
mod flexric_models;
mod ric_world;

use bytes::Bytes;
use flexric_models as flexric;
use ranlab_e2::Time;
use ranlab_e2::ric::*;
use ranlab_e2::xapp::{Dialect, Failure, Xapp, XappConfig, XappEvent, XappInput, XappLimits, XappOutput};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use ric_world::*;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A model of FlexRIC's agent, connected to ranlab's RIC.
struct FlexRicAgent {
    conn: ConnId,
    agent: flexric::Agent,
}

impl FlexRicAgent {
    fn connect(w: &mut World, gnb: u32) -> Self {
        let conn = w.connect(ListenerProtocol::E2);
        w.send(conn, Message::E2SetupRequest(third_party_setup(node(gnb))));
        Self { conn, agent: flexric::Agent::default() }
    }

    /// Completes the setup and waits for the RIC's pause to end.
    fn up(w: &mut World, gnb: u32) -> Self {
        let mut stranger = Self::connect(w, gnb);
        stranger.run(w, 100 * MS);
        assert!(stranger.agent.set_up);
        stranger
    }

    /// Reads and responds for a while. Messages that the RIC sends at one instant form one burst.
    fn run(&mut self, w: &mut World, time: Duration) {
        let end = w.now + time;
        loop {
            while let Some(answer) = self.agent.burst(w.raw(self.conn)) {
                w.send(self.conn, answer);
            }
            if !w.raw_is_empty(self.conn) {
                continue;
            }
            if w.now >= end {
                return;
            }
            w.pass(MS);
        }
    }

    fn indicate(&mut self, w: &mut World) {
        self.agent.indications().into_iter().for_each(|i| w.send(self.conn, i));
    }
}

#[test]
fn agent_that_reads_once_per_burst_gets_each_message_once() {
    let mut w = World::new();
    let mut agent = FlexRicAgent::up(&mut w, 1);
    let xapp = w.xapp();
    for request in 1..=6 {
        w.send42(xapp.0, subscribe(xapp.1, 1, request, 10 + u32::from(request)));
    }
    for request in 7..=9 {
        let e42::Message::ControlRequest(mut m) = control(xapp.1, 1, request) else { panic!() };
        if request == 9 {
            // FlexRIC's agent rejects controls without acknowledgement request, so the RIC adds one. The xApp does
            // not get the response.
            m.ack_request = None;
        }
        w.send42(xapp.0, e42::Message::ControlRequest(m));
    }
    agent.run(&mut w, 10_000 * MS);
    let mut requests: Vec<_> = agent.agent.timers.iter().map(|t| t.0).collect();
    requests.sort();
    requests.dedup();
    assert_eq!((agent.agent.timers.len(), requests.len(), agent.agent.controls), (6, 6, 3));
    assert_eq!(agent.agent.socket.unread(), 0);
    let answers = w.got42(xapp.0);
    assert_eq!(answers.len(), 8, "{answers:?}");
    assert_eq!(w.ric.counters().subscription_retries, 0);
    // The xApp disconnects: its deletions are serialized, too.
    w.disconnect(xapp.0);
    agent.run(&mut w, 10_000 * MS);
    assert!(agent.agent.timers.is_empty() && w.node(1).subscriptions.is_empty());
}

#[test]
fn restored_subscriptions_wait_until_setup_response_is_read() {
    let mut w = World::new();
    let mut agent = FlexRicAgent::up(&mut w, 1);
    let xapp = w.xapp();
    for request in 1..=3 {
        w.send42(xapp.0, subscribe(xapp.1, 1, request, 10 + u32::from(request)));
    }
    agent.run(&mut w, 100 * MS);
    w.disconnect(agent.conn);
    let mut again = FlexRicAgent::up(&mut w, 1);
    again.run(&mut w, 100 * MS);
    assert_eq!((again.agent.timers.len(), again.agent.socket.unread()), (3, 0));
    assert!(w.node(1).subscriptions.iter().all(|s| s.state == "active"));
}

#[test]
fn unanswered_request_is_replaced_instead_of_repeated() {
    let mut w = World::new();
    let agent = FlexRicAgent::up(&mut w, 1);
    let xapp = w.xapp();
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    // The agent reads everything and sends no response for 3 s.
    w.pass(3_000 * MS);
    let got = w.got(agent.conn);
    let [Message::RicSubscriptionRequest(r), Message::RicSubscriptionDeleteRequest(d)] = &got[..] else {
        panic!("{got:?}")
    };
    assert_eq!(r.request_id, d.request_id);
    // A late response to the request has no effect; the response to the deletion has.
    w.send(agent.conn, admitted(r.request_id));
    assert!(w.got(agent.conn).is_empty());
    w.send(agent.conn, deleted(r.request_id));
    let got = w.got(agent.conn);
    let [Message::RicSubscriptionRequest(second)] = &got[..] else { panic!("{got:?}") };
    assert_ne!(second.request_id, r.request_id);
    w.send(agent.conn, admitted(second.request_id));
    assert!(matches!(w.got42(xapp.0)[..], [e42::Message::E2(Message::RicSubscriptionResponse(_))]));
    w.send(agent.conn, indication(second.request_id, 1, 10));
    assert_eq!(w.got42(xapp.0).len(), 1);
    w.assert_no_leak();
}

#[test]
fn deletion_failure_without_request_id_belongs_to_outstanding_deletion() {
    let mut w = World::new();
    let agent = FlexRicAgent::up(&mut w, 1);
    let xapp = w.xapp();
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    w.pass(3_000 * MS);
    let got = w.got(agent.conn);
    let [_, Message::RicSubscriptionDeleteRequest(_)] = &got[..] else { panic!("{got:?}") };
    // OCUDU writes zeros. On its response, the RIC replaces the request at once, instead of after another 2 s.
    let nothing = RicSubscriptionDeleteFailure {
        request_id: RicRequestId { requestor: 0, instance: 0 },
        function_id: 0,
        cause: Cause::Misc(CauseMisc::ControlProcessingOverload),
        diagnostics: None,
    };
    w.send(agent.conn, Message::RicSubscriptionDeleteFailure(nothing.clone()));
    let got = w.got(agent.conn);
    let [Message::RicSubscriptionRequest(second)] = &got[..] else { panic!("{got:?}") };
    w.send(agent.conn, admitted(second.request_id));
    assert!(matches!(w.got42(xapp.0)[..], [e42::Message::E2(Message::RicSubscriptionResponse(_))]));
    // No deletion is outstanding, so a further failure has no effect.
    w.send(agent.conn, Message::RicSubscriptionDeleteFailure(nothing));
    assert!(w.node(1).subscriptions.iter().all(|s| s.state == "active"));
    assert_eq!(w.ric.counters().answers_stray, 1);
}

#[test]
fn stray_subscriptions_are_deleted_one_at_a_time() {
    let mut w = World::new();
    let mut agent = FlexRicAgent::up(&mut w, 1);
    // Subscriptions left by an earlier RIC.
    agent.agent.timers = (0..20).map(|n| (rid(2_000 + n), 142)).collect();
    for _ in 0..10 {
        agent.indicate(&mut w);
        agent.run(&mut w, 100 * MS);
    }
    assert!(agent.agent.timers.is_empty(), "{:?}", agent.agent.timers);
    assert_eq!((agent.agent.socket.unread(), w.ric.counters().strays_deleted), (0, 20));
    assert!(!w.closed.contains_key(&agent.conn));
}

#[test]
fn subscriptions_of_earlier_ric_run_are_ended() {
    let mut earlier = World::new();
    let mut agent = FlexRicAgent::up(&mut earlier, 1);
    let xapp = earlier.xapp();
    for request in 1..=3 {
        earlier.send42(xapp.0, subscribe(xapp.1, 1, request, 10 * u32::from(request)));
    }
    agent.run(&mut earlier, 100 * MS);
    assert_eq!(agent.agent.timers.len(), 3);
    // A later run of the RIC gets the same subscriptions before the first report arrives.
    let mut w = World::with(RicConfig::default().with(|it| it.first_instance = 7_000));
    let timers = std::mem::take(&mut agent.agent.timers);
    let mut agent = FlexRicAgent::up(&mut w, 1);
    agent.agent.timers = timers;
    let xapp = w.xapp();
    for request in 1..=3 {
        w.send42(xapp.0, subscribe(xapp.1, 1, request, 10 * u32::from(request)));
    }
    for _ in 0..5 {
        agent.indicate(&mut w);
        agent.run(&mut w, 100 * MS);
    }
    assert_eq!(agent.agent.timers.len(), 3, "{:?}", agent.agent.timers);
    assert!(agent.agent.timers.iter().all(|(id, _)| id.instance == 7_000));
}

#[test]
fn deletion_of_stray_subscription_is_not_retried_forever() {
    let mut w = World::new();
    let agent = FlexRicAgent::up(&mut w, 1);
    for _ in 0..1_000 {
        w.send(agent.conn, indication(rid(2_000), 1, 10));
        w.pass(MS);
    }
    assert_eq!(w.got(agent.conn).len(), 1);
    assert_eq!(w.ric.counters().indications_stray, 1_000);
}

#[test]
fn indications_before_setup_wait_for_handshake_timer() {
    let mut w = World::new();
    let conn = w.connect(ListenerProtocol::E2);
    for n in 0..100 {
        w.send(conn, indication(rid(1_021), n, 100));
        w.pass(10 * MS);
    }
    assert!(w.got(conn).is_empty() && !w.closed.contains_key(&conn));
    assert_eq!(w.ric.counters().indications_early, 100);
    w.pass(RicTimers::default().handshake);
    assert!(w.closed.contains_key(&conn));
    // An agent that notices in time completes its setup.
    let agent = w.connect(ListenerProtocol::E2);
    w.send(agent, indication(rid(1_021), 1, 100));
    w.send(agent, Message::E2SetupRequest(third_party_setup(node(1))));
    assert!(matches!(w.got(agent)[..], [Message::E2SetupResponse(_)]));
}

#[test]
fn repeated_faults_of_one_host_are_rate_limited() {
    let mut w = World::new();
    let reported = u64::from(Limits::default().faults_per_second);
    for _ in 0..500 {
        let conn = w.connect_from(ListenerProtocol::E2, "192.0.2.1");
        w.send_bytes(conn, vec![0xff; 64]);
        assert!(w.closed.contains_key(&conn));
    }
    let faults = |w: &World| w.events.iter().filter(|e| matches!(e, RicEvent::Fault { .. })).count() as u64;
    assert_eq!((faults(&w), w.ric.counters().faults_hushed), (reported, 500 - reported));
    // Faults of another host are reported, as are those of the same host one second later.
    for (host, wait) in [("192.0.2.2", 0), ("192.0.2.1", 1_000)] {
        w.pass(wait * MS);
        let conn = w.connect_from(ListenerProtocol::E2, host);
        w.send_bytes(conn, vec![0xff; 64]);
        assert!(matches!(w.got(conn)[..], [Message::ErrorIndication(_)]));
    }
}

#[test]
fn unmodified_xapp_never_gets_empty_component() {
    let mut w = World::new();
    w.connect_v1(2);
    FlexRicAgent::up(&mut w, 1);
    let conn = w.connect(ListenerProtocol::E42);
    w.send42(conn, e42_setup(false));
    let mut xapp = flexric::Xapp::default();
    w.got42(conn).into_iter().for_each(|m| xapp.take(m));
    assert_eq!(xapp.nodes, 2);
}

#[test]
fn subscription_end_is_sent_only_to_xapps_with_node_events() {
    for wants_events in [false, true] {
        let mut w = World::new();
        let agent = w.agent(1);
        let stock = w.xapp();
        let ours = w.xapp_that(wants_events);
        let request_id = w.subscribed(stock, agent, 1, 1);
        w.send42(ours.0, subscribe(ours.1, 1, 1, 10));
        w.got42(ours.0);
        let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
        let subscriptions = vec![SubscriptionWithCause { request_id, function_id: 142, cause }];
        w.send(
            agent,
            Message::RicSubscriptionDeleteRequired(RicSubscriptionDeleteRequired { subscriptions }),
        );
        let mut xapp = flexric::Xapp::default();
        w.got42(stock.0).into_iter().for_each(|m| xapp.take(m));
        assert_eq!(w.got42(ours.0).len(), usize::from(wants_events));
        assert!(w.ric.snapshot().xapps.iter().all(|x| x.subscriptions.is_empty()));
    }
}

/// ranlab's xApp connected to a model of FlexRIC's iApp. Messages sent at one instant form one burst.
struct Meeting {
    xapp: Xapp,
    iapp: flexric::IApp,
    now: Time,
    connected: bool,
    events: Vec<XappEvent>,
}

impl Meeting {
    fn new(nodes: u32) -> Self {
        Self::with_dialect(Dialect::FlexRic, nodes)
    }

    fn with_dialect(dialect: Dialect, nodes: u32) -> Self {
        let config = XappConfig::new("ric").with(|it| it.dialect = dialect);
        let nodes = (1..=nodes).map(connected).collect();
        let xapp = Xapp::new(config);
        let iapp = flexric::IApp::new(nodes);
        Self { xapp, iapp, now: Time::ZERO, connected: false, events: Vec::new() }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.xapp.handle(self.now, XappInput::Wake);
        loop {
            self.run();
            let Some(at) = self.xapp.wake_at().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.xapp.handle(self.now, XappInput::Wake);
        }
        self.now = end;
    }

    fn run(&mut self) {
        loop {
            let mut sent = Vec::new();
            while let Some(output) = self.xapp.poll() {
                match output {
                    XappOutput::Connect { .. } => {
                        self.connected = true;
                        self.xapp.handle(self.now, XappInput::Connected);
                    }
                    XappOutput::Close { reason } => panic!("{reason}"),
                    XappOutput::Event(event) => self.events.push(event),
                    XappOutput::Transmit => {
                        sent.extend(
                            std::iter::from_fn(|| self.xapp.transmit(self.now)).map(|f| f.to_bytes()),
                        );
                    }
                }
            }
            if sent.is_empty() {
                return;
            }
            if let Some(answer) = self.iapp.burst(sent) {
                let pdu = e42::encode(&answer, Version::V2_03).unwrap().into();
                self.xapp.handle(self.now, XappInput::Received { pdu });
            }
        }
    }

    fn watch_all(&mut self) {
        for (function, period) in [(142, 10_u32), (143, 20)] {
            let trigger = Bytes::copy_from_slice(&period.to_le_bytes());
            self.xapp.subscribe_all(function, trigger, vec![ActionToBeSetup::report(0)]).unwrap();
        }
    }
}

fn connected(gnb: u32) -> e42::ConnectedNode {
    let setup = setup_of(node(gnb));
    e42::ConnectedNode {
        node_id: setup.node_id,
        components: setup.components.unwrap(),
        functions: setup.functions.unwrap(),
    }
}

#[test]
fn our_xapp_sends_flexric_one_request_at_a_time_and_cleans_up() {
    let mut m = Meeting::new(5);
    m.watch_all();
    m.pass(100 * MS);
    assert_eq!((m.iapp.subscriptions.len(), m.xapp.subscriptions()), (10, (10, 10)));
    for _ in 0..4 {
        let header = Bytes::from_static(&[1, 0, 0, 0]);
        m.xapp.control(m.now, node(1), 142, header, Bytes::from_static(&[42, 0, 0, 0]), false).unwrap();
    }
    m.pass(100 * MS);
    assert_eq!((m.iapp.socket.unread(), m.xapp.counters().controls), (0, 4));
    assert!(
        !m.events.iter().any(|e| matches!(e, XappEvent::ControlAcknowledged { .. })),
        "a control that requests no acknowledgement must not be reported as acknowledged"
    );
    m.pass(60_000 * MS);
    m.xapp.unsubscribe_everything(m.now);
    m.pass(100 * MS);
    assert!(m.iapp.subscriptions.is_empty(), "{:?}", m.iapp.subscriptions);
    assert_eq!((m.xapp.subscriptions(), m.iapp.socket.unread()), ((0, 0), 0));
}

#[test]
fn leaving_xapp_deletes_only_own_subscriptions_at_existing_nodes() {
    let mut m = Meeting::new(3);
    m.watch_all();
    m.pass(100 * MS);
    // An unmodified xApp uses the same request ids, with instance 0.
    let stock: Vec<_> = (1..=6).map(|n| (rid(n), 6)).collect();
    m.iapp.subscriptions.extend(stock.iter().map(|key| (*key, (node(1), 142))));
    m.iapp.nodes.remove(1);
    m.xapp.unsubscribe_everything(m.now);
    m.pass(100 * MS);
    assert_eq!(m.xapp.subscriptions(), (0, 0));
    let left: Vec<_> =
        m.iapp.subscriptions.iter().filter(|(_, s)| s.0 != node(2)).map(|(key, _)| *key).collect();
    assert_eq!(left, stock);
}

#[test]
fn our_xapp_keeps_its_id_and_uses_few_others() {
    let mut m = Meeting::new(1);
    m.watch_all();
    m.pass(1_000 * MS * 18 * 3_600);
    let polls = u64::from(XappLimits::default().node_polls);
    assert_eq!(m.iapp.setups as u64, 1 + polls);
    assert!(
        m.iapp.subscriptions.keys().all(|(id, xapp)| *xapp == 7 && id.instance == 7),
        "{:?}",
        m.iapp.subscriptions
    );
    // The setup is repeated after 1, 3, 7, 15, 31 and 61 s.
    let mut m = Meeting::new(1);
    m.pass(60_500 * MS);
    assert_eq!(m.iapp.setups, 6);
    // A new node is discovered, and the next poll follows soon.
    m.iapp.nodes.push(connected(2));
    m.pass(1_000 * MS);
    assert_eq!((m.iapp.setups, m.xapp.nodes().count()), (7, 2));
    m.pass(1_100 * MS);
    assert_eq!(m.iapp.setups, 8);
}

#[test]
fn list_request_makes_flexric_read_an_unread_request() {
    for leaving in [false, true] {
        let mut m = Meeting::new(4);
        if leaving {
            m.watch_all();
            m.pass(40_000 * MS);
            m.xapp.unsubscribe_everything(m.now);
        } else {
            m.pass(MS);
            m.watch_all();
        }
        // A message of another xApp arrives in the same burst and is read first.
        m.iapp.socket.slip_in(e42::encode(&e42_setup(false), Version::V2_03).unwrap().into());
        m.pass(1_500 * MS);
        let expected = if leaving { 0 } else { 8 };
        assert_eq!(
            (m.iapp.subscriptions.len(), m.xapp.subscriptions()),
            (expected, (expected, expected)),
            "{leaving}"
        );
        let setups = m.iapp.setups;
        m.pass(100_000 * MS);
        assert!(
            !leaving || m.iapp.setups == setups,
            "an xApp that leaves must not request the list of nodes any more"
        );
    }
}

#[test]
fn xapp_leaves_within_seconds_despite_active_others() {
    let mut m = Meeting::new(6);
    m.watch_all();
    m.pass(40_000 * MS);
    assert_eq!(m.iapp.subscriptions.len(), 12);
    m.xapp.unsubscribe_everything(m.now);
    for _ in 0..40 {
        // Each message arrives together with one of another xApp.
        m.iapp.socket.slip_in(e42::encode(&e42_setup(false), Version::V2_03).unwrap().into());
        m.pass(100 * MS);
    }
    assert_eq!((m.iapp.subscriptions.len(), m.xapp.subscriptions()), (0, (0, 0)));
}

#[test]
fn request_unanswered_by_flexric_is_deleted_and_replaced() {
    let mut m = Meeting::new(1);
    m.iapp.unanswered = 1;
    m.watch_all();
    m.pass(20_000 * MS);
    assert_eq!((m.iapp.subscriptions.len(), m.xapp.subscriptions()), (2, (2, 2)));
    assert_eq!(m.xapp.counters().subscription_requests, 3);
    assert!(
        m.events
            .iter()
            .any(|e| matches!(e, XappEvent::SubscriptionFailed { failure: Failure::Unanswered, .. }))
    );
}

#[test]
fn unmodified_xapp_gets_only_nodes_that_fit_its_buffer() {
    let mut w = World::new();
    for gnb in 1..=300 {
        w.agent(gnb);
    }
    let listed = |w: &mut World, wants_events: bool| {
        let conn = w.connect(ListenerProtocol::E42);
        w.send42(conn, e42_setup(wants_events));
        let raw = w.raw(conn);
        let message = |pdu: &Bytes| match e42::decode(pdu, Version::V2_03).unwrap().message {
            e42::Message::SetupResponse(m) => m.nodes.len(),
            e42::Message::NodeEvent(m) => m.connected.len(),
            other => panic!("{other:?}"),
        };
        (raw.iter().map(message).sum::<usize>(), raw.iter().map(Bytes::len).max().unwrap())
    };
    let (nodes, longest) = listed(&mut w, false);
    // FlexRIC asserts that a message does not fill its buffer of 32 KiB.
    assert!(
        (10..300).contains(&nodes) && longest < 32 << 10 && longest > 28 << 10,
        "the list must fill a message of 28 to 32 KiB: {nodes} nodes, {longest} bytes"
    );
    assert_eq!(w.ric.counters().nodes_not_listed, 300 - nodes as u64);
    let fault = w.events.iter().find_map(|event| match event {
        RicEvent::Fault { what, .. } => Some(what.clone()),
        _ => None,
    });
    assert!(
        fault
            .unwrap()
            .starts_with(&format!("the xApp receives {nodes} base stations; {} more do not", 300 - nodes))
    );
    assert_eq!(listed(&mut w, true).0, 300);
}

#[test]
fn auto_dialect_uses_flexric_dialect_with_flexric() {
    let mut m = Meeting::with_dialect(Dialect::Auto, 2);
    m.watch_all();
    m.pass(100 * MS);
    assert_eq!(m.xapp.subscriptions(), (4, 4));
    m.pass(2_000 * MS);
    // The model aborts if a setup requests node events; in this dialect the setup requests none.
    let spoken =
        m.events.iter().filter(|event| matches!(event, XappEvent::Speaks { .. })).collect::<Vec<_>>();
    assert_eq!(spoken, [&XappEvent::Speaks { dialect: Dialect::FlexRic }]);
    assert!(m.iapp.setups > 1);
    m.xapp.unsubscribe_everything(m.now);
    m.pass(100 * MS);
    assert!(m.iapp.subscriptions.is_empty());
}

#[test]
fn our_ric_identifies_itself_to_our_xapp_in_flexric_dialect() {
    let mut w = World::new();
    w.agent(1);
    let conn = w.connect(ListenerProtocol::E42);
    let mut xapp = Xapp::new(XappConfig::new("ric").with(|it| it.dialect = Dialect::Auto));
    let mut events = Vec::new();
    xapp.handle(w.now, XappInput::Wake);
    for _ in 0..10 {
        while let Some(output) = xapp.poll() {
            match output {
                XappOutput::Connect { .. } => xapp.handle(w.now, XappInput::Connected),
                XappOutput::Transmit => {
                    let sent: Vec<_> =
                        std::iter::from_fn(|| xapp.transmit(w.now)).map(|f| f.to_bytes()).collect();
                    sent.into_iter().for_each(|pdu| w.send_bytes(conn, pdu));
                }
                XappOutput::Event(event) => events.push(event),
                XappOutput::Close { reason } => panic!("{reason}"),
            }
        }
        for pdu in w.raw(conn) {
            xapp.handle(w.now, XappInput::Received { pdu });
        }
    }
    assert!(events.contains(&XappEvent::Speaks { dialect: Dialect::Ranlab }), "{events:?}");
    let ready = events.iter().filter(|event| matches!(event, XappEvent::Ready { .. })).count();
    assert_eq!((ready, xapp.counters().setups, w.ric.snapshot().xapps.len()), (1, 2, 1));
    // A ranlab xApp is informed of new nodes; a third-party xApp is not.
    let stock = w.xapp();
    w.agent(2);
    assert!(!w.raw(conn).is_empty() && w.raw(stock.0).is_empty());
}
