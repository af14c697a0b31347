//! xApp tests with a scripted RIC in virtual time.
#![cfg(feature = "xapp")]
#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::xapp::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42::{self, ConnectedNode};
use ranlab_machine::Random;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);
const OID: &str = "1.2.3";

struct XappDriver {
    xapp: Xapp,
    now: Time,
    version: Version,
    connects: usize,
    closes: Vec<CloseReason>,
    events: Vec<XappEvent>,
    sent: Vec<e42::Message>,
    deaf: bool,
}

impl XappDriver {
    fn new(config: XappConfig) -> Self {
        let version = config.version;
        let xapp = Xapp::new(config);
        let closes = Vec::new();
        let events = Vec::new();
        let sent = Vec::new();
        let mut bench =
            Self { xapp, now: Time::ZERO, version, connects: 0, closes, events, sent, deaf: false };
        bench.input(XappInput::Wake);
        bench
    }

    /// Creates an xApp whose setup is complete, with these nodes.
    fn up(config: XappConfig, nodes: &[u32]) -> Self {
        let mut bench = Self::new(config);
        bench.set_up(7, nodes);
        bench
    }

    fn set_up(&mut self, xapp_id: u16, nodes: &[u32]) {
        self.input(XappInput::Connected);
        assert!(matches!(self.take()[..], [e42::Message::SetupRequest(_)]));
        self.accept(xapp_id, nodes);
        assert!(self.xapp.is_ready(), "{:?}", self.events);
    }

    fn accept(&mut self, xapp_id: u16, nodes: &[u32]) {
        let nodes = nodes.iter().map(|n| node(*n)).collect();
        self.receive(&e42::Message::SetupResponse(e42::SetupResponse { xapp_id, nodes }));
    }

    fn input(&mut self, input: XappInput) {
        self.xapp.handle(self.now, input);
        self.drain();
    }

    fn receive(&mut self, message: &e42::Message) {
        let pdu = e42::encode(message, self.version).unwrap().into();
        self.input(XappInput::Received { pdu });
    }

    fn answer(&mut self, message: Message) {
        self.receive(&e42::Message::E2(message));
    }

    fn take(&mut self) -> Vec<e42::Message> {
        std::mem::take(&mut self.sent)
    }

    fn events(&mut self) -> Vec<XappEvent> {
        std::mem::take(&mut self.events)
    }

    fn pass(&mut self, d: Duration) {
        let end = self.now + d;
        let mut idle = 0;
        while let Some(at) = self.xapp.wake_at().filter(|at| *at <= end) {
            idle = if at > self.now { 0 } else { idle + 1 };
            assert!(idle < 100, "the xApp requests immediate wake-ups repeatedly at {:?}", self.now);
            self.now = at.max(self.now);
            self.input(XappInput::Wake);
        }
        self.now = end;
    }

    fn drain(&mut self) {
        while let Some(output) = self.xapp.poll() {
            match output {
                XappOutput::Connect { .. } => self.connects += 1,
                XappOutput::Close { reason } => self.closes.push(reason),
                XappOutput::Event(event) => self.events.push(event),
                XappOutput::Transmit if self.deaf => self.xapp.transport_full(),
                XappOutput::Transmit => {
                    while let Some(frame) = self.xapp.transmit(self.now) {
                        let decoded = e42::decode(&frame.to_bytes(), self.version).unwrap();
                        assert!(decoded.deviations.is_empty());
                        self.sent.push(decoded.message);
                    }
                }
            }
        }
    }

    /// Returns the subscription requests sent since the last call, as (request id, node).
    fn requests(&mut self) -> Vec<(u16, GlobalE2NodeId)> {
        let requests = self.take().into_iter().map(|m| match m {
            e42::Message::SubscriptionRequest(m) => (m.request_id.requestor, m.node_id),
            other => panic!("{other:?}"),
        });
        requests.collect()
    }

    fn admit(&mut self, requestor: u16) {
        let function_id = 70;
        let admitted = vec![0];
        let not_admitted = Some(vec![]);
        let request_id = id(requestor);
        let response = RicSubscriptionResponse { request_id, function_id, admitted, not_admitted };
        self.answer(Message::RicSubscriptionResponse(response));
    }

    fn indicate(&mut self, requestor: u16, sn: Option<u16>) {
        self.answer(Message::RicIndication(RicIndication {
            request_id: id(requestor),
            function_id: 70,
            action_id: 0,
            sn,
            kind: RicIndicationType::Report,
            header: Bytes::from_static(b"head"),
            message: Bytes::from_static(b"message"),
            call_process_id: None,
        }));
    }
}

fn id(requestor: u16) -> RicRequestId {
    RicRequestId { requestor, instance: 0 }
}

fn node_id(n: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), n, 32)
}

fn node(n: u32) -> ConnectedNode {
    let function = |id, oid: &str| RanFunctionItem {
        id,
        definition: Bytes::from_static(b"def"),
        revision: 1,
        oid: Some(oid.into()),
    };
    let component = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
        configuration: ComponentConfiguration::default(),
    };
    ConnectedNode { node_id: node_id(n), components: vec![component], functions: vec![function(70, OID)] }
}

fn config() -> XappConfig {
    XappConfig::new("ric")
}

fn flexric() -> XappConfig {
    config().with(|it| it.dialect = Dialect::FlexRic)
}

fn subscribe(bench: &mut XappDriver, n: u32) -> SubscriptionHandle {
    let trigger = Bytes::from_static(&[10, 0, 0, 0]);
    let handle = bench.xapp.subscribe(node_id(n), OID, trigger, vec![ActionToBeSetup::report(0)]).unwrap();
    bench.pass(Duration::ZERO);
    handle
}

fn node_event(connected: &[u32], removed: &[u32]) -> e42::Message {
    let connected = connected.iter().map(|n| node(*n)).collect();
    let removed = removed.iter().map(|n| node_id(*n)).collect();
    e42::Message::NodeEvent(e42::NodeEvent { xapp_id: 7, connected, removed })
}

#[test]
fn only_ranlab_dialect_requests_node_events() {
    for (config, wants) in [(config(), true), (flexric(), false)] {
        let mut bench = XappDriver::new(config);
        bench.input(XappInput::Connected);
        let sent = bench.take();
        let [e42::Message::SetupRequest(m)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(m.wants_node_events, wants);
        bench.accept(9, &[5]);
        let expected = [XappEvent::Ready { xapp_id: 9 }, XappEvent::NodeAdded { node: node_id(5) }];
        assert_eq!(bench.events(), expected);
    }
}

#[test]
fn subscription_delivers_indications_and_counts_gaps() {
    let mut bench = XappDriver::up(config(), &[5]);
    let handle = subscribe(&mut bench, 5);
    assert_eq!(bench.requests(), [(1, node_id(5))]);
    bench.admit(1);
    bench.events();
    for sn in [0, 1, 4] {
        bench.indicate(1, Some(sn));
    }
    let events = bench.events();
    let XappEvent::Indication { handle: h, node, indication, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!((*h, *node, &indication.message[..], events.len()), (handle, node_id(5), &b"message"[..], 3));
    assert_eq!((bench.xapp.lost(handle), bench.xapp.lost_total()), (Some(2), Some(2)));
    bench.indicate(1, None);
    assert_eq!((bench.xapp.lost(handle), bench.xapp.lost_total()), (None, None));
    bench.indicate(99, Some(0));
    assert_eq!(bench.xapp.counters().stray, 1);

    bench.xapp.unsubscribe(handle);
    bench.pass(Duration::ZERO);
    assert!(
        matches!(bench.take()[..], [e42::Message::SubscriptionDeleteRequest(m)] if m.request_id == id(1))
    );
    bench.events();
    let response = RicSubscriptionDeleteResponse { request_id: id(1), function_id: 70 };
    bench.answer(Message::RicSubscriptionDeleteResponse(response));
    assert_eq!(bench.events(), [XappEvent::Unsubscribed { handle, node: node_id(5) }]);
    assert_eq!(bench.xapp.subscriptions(), (0, 0));
}

#[test]
fn indication_is_slice_of_received_pdu() {
    let mut bench = XappDriver::up(config(), &[5]);
    subscribe(&mut bench, 5);
    bench.admit(1);
    bench.events();
    let header = &[][..];
    let message = &[7; 900][..];
    let mut pdu = Vec::new();
    let sn = Some(1);
    let kind = RicIndicationType::Report;
    let request_id = id(1);
    let function_id = 70;
    let action_id = 0;
    let call_process_id = None;
    fast::Indication { request_id, function_id, action_id, sn, kind, header, message, call_process_id }
        .encode(&mut pdu)
        .unwrap();
    let pdu = Bytes::from(pdu);
    bench.input(XappInput::Received { pdu: pdu.clone() });
    let events = bench.events();
    let [XappEvent::Indication { indication, .. }] = &events[..] else { panic!("{events:?}") };
    assert!(pdu.as_ptr_range().contains(&indication.message.as_ptr()));
}

#[test]
fn subscriptions_are_restored_once_with_same_handles() {
    let mut bench = XappDriver::up(config(), &[5, 6]);
    let handles = [subscribe(&mut bench, 5), subscribe(&mut bench, 6)];
    assert_eq!(bench.requests().len(), 2);
    bench.admit(1);
    bench.admit(2);
    bench.input(XappInput::Disconnected { why: ranlab_e2::LinkLoss::ClosedByPeer });
    assert_eq!(bench.xapp.subscriptions(), (0, 2));
    bench.pass(S);
    bench.events();
    // Node 6 connects later.
    bench.set_up(8, &[5]);
    let restored = bench.requests();
    assert_eq!(restored.iter().map(|r| r.1).collect::<Vec<_>>(), [node_id(5)]);
    bench.admit(restored[0].0);
    let resubscribed = XappEvent::Subscribed { handle: handles[0], node: node_id(5), not_admitted: vec![] };
    assert!(bench.events().contains(&resubscribed));
    bench.receive(&node_event(&[6], &[]));
    let late = bench.requests();
    assert_eq!(late.len(), 1);
    bench.admit(late[0].0);
    assert_eq!(bench.xapp.subscriptions(), (2, 2));
    assert_eq!(bench.xapp.node_of(handles[1]), Some(node_id(6)));
    bench.pass(60 * S);
    assert!(bench.requests().is_empty());
}

#[test]
fn reconnect_delay_is_capped_at_one_second() {
    let mut bench = XappDriver::new(config());
    let mut delays = Vec::new();
    for _ in 0..30 {
        bench.input(XappInput::Disconnected { why: ranlab_e2::LinkLoss::ClosedByPeer });
        let delay = bench.xapp.wake_at().unwrap().since(bench.now);
        delays.push(delay);
        bench.pass(delay);
    }
    assert!(delays.iter().all(|d| *d <= S) && delays[29] >= S / 2 && delays[0] <= S / 20);
    assert_eq!(bench.connects, 31);
}

#[test]
fn standing_subscriptions_are_sent_to_new_nodes() {
    let mut bench = XappDriver::up(config(), &[5]);
    let trigger = Bytes::from_static(&[1, 0, 0, 0]);
    let standing = bench.xapp.subscribe_all(OID, trigger, vec![ActionToBeSetup::report(0)]).unwrap();
    bench.pass(Duration::ZERO);
    assert_eq!(bench.requests(), [(1, node_id(5))]);
    bench.admit(1);
    bench.receive(&node_event(&[6], &[]));
    assert_eq!(bench.requests(), [(2, node_id(6))]);
    bench.admit(2);
    bench.receive(&node_event(&[], &[5]));
    assert_eq!(bench.xapp.subscriptions(), (1, 1));
    bench.events();
    bench.xapp.unsubscribe_all(standing);
    bench.pass(Duration::ZERO);
    assert_eq!(bench.take().len(), 1);
    bench.receive(&node_event(&[7], &[]));
    assert!(bench.take().is_empty());
}

#[test]
fn standing_subscriptions_apply_to_named_nodes() {
    let other = node_id(6).to_string();
    for (names, expected) in [
        (vec![other.clone()], vec![node_id(6)]),
        (vec![other.split_once(' ').unwrap().1.to_owned()], vec![node_id(6)]),
        (vec!["unknown".to_owned(), node_id(6).plmn().to_string()], vec![node_id(5), node_id(6)]),
        (vec!["unknown".to_owned()], vec![]),
    ] {
        let mut bench = XappDriver::up(config().with(|it| it.nodes.clone_from(&names)), &[5, 6]);
        bench
            .xapp
            .subscribe_all(OID, Bytes::from_static(&[1, 0, 0, 0]), vec![ActionToBeSetup::report(0)])
            .unwrap();
        bench.pass(Duration::ZERO);
        let nodes: Vec<_> = bench.requests().into_iter().map(|(_, node)| node).collect();
        assert_eq!(nodes, expected, "{names:?}");
    }
}

#[test]
fn nodes_not_listed_again_are_removed_after_grace_time() {
    let mut bench = XappDriver::up(config(), &[5, 6]);
    bench.input(XappInput::Disconnected { why: ranlab_e2::LinkLoss::ClosedByPeer });
    bench.pass(S);
    bench.set_up(8, &[6]);
    bench.events();
    assert_eq!(bench.xapp.nodes().count(), 1);
    bench.pass(S);
    assert!(bench.events().is_empty());
    bench.pass(2 * S);
    assert_eq!(bench.events(), [XappEvent::NodeRemoved { node: node_id(5) }]);
}

#[test]
fn flexric_dialect_polls_for_nodes() {
    let mut bench = XappDriver::up(flexric(), &[5]);
    let trigger = Bytes::from_static(&[1, 0, 0, 0]);
    bench.xapp.subscribe_all(OID, trigger, vec![ActionToBeSetup::report(0)]).unwrap();
    bench.pass(Duration::ZERO);
    bench.requests();
    bench.admit(1);
    bench.events();
    bench.pass(S);
    assert!(matches!(&bench.take()[..], [e42::Message::SetupRequest(m)] if !m.wants_node_events));
    bench.accept(8, &[6]);
    let sent = bench.take();
    let [e42::Message::SubscriptionRequest(m)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((m.node_id, m.xapp_id), (node_id(6), 7));
    let events = bench.events();
    assert!(events.contains(&XappEvent::NodeRemoved { node: node_id(5) }));
    // At FlexRIC, a repeated request would create a second subscription.
    bench.pass(Duration::from_millis(900));
    bench.take();
    bench.pass(6 * S);
    let repeated = bench
        .take()
        .into_iter()
        .filter(|m| matches!(m, e42::Message::SubscriptionRequest(r) if r.request_id == m_id(&sent)));
    assert_eq!(repeated.count(), 0);
}

#[test]
fn setup_is_repeated_if_flexric_does_not_read_the_first_one() {
    let mut bench = XappDriver::new(flexric());
    bench.pass(Duration::ZERO);
    bench.input(XappInput::Connected);
    assert_eq!(bench.take().len(), 1);
    bench.pass(S - Duration::from_millis(1));
    assert!(bench.take().is_empty());
    bench.pass(Duration::from_millis(1));
    assert!(matches!(&bench.take()[..], [e42::Message::SetupRequest(_)]));
    bench.pass(S);
    assert!(bench.take().is_empty(), "the setup must be repeated only once");
    // Both get a response: the id of the first one applies, and the second one is a list of nodes.
    bench.accept(7, &[5]);
    bench.accept(8, &[5, 6]);
    let ready: Vec<_> =
        bench.events().into_iter().filter(|event| matches!(event, XappEvent::Ready { .. })).collect();
    assert_eq!((ready, bench.xapp.nodes().count()), (vec![XappEvent::Ready { xapp_id: 7 }], 2));
    // A ranlab RIC reads every message and gets no second setup.
    let mut bench = XappDriver::new(config());
    bench.pass(Duration::ZERO);
    bench.input(XappInput::Connected);
    bench.take();
    bench.pass(2 * S);
    assert!(bench.take().is_empty());
}

fn m_id(sent: &[e42::Message]) -> RicRequestId {
    match &sent[0] {
        e42::Message::SubscriptionRequest(m) => m.request_id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn unanswered_request_is_repeated_unchanged_then_fails() {
    let mut bench = XappDriver::up(config(), &[5]);
    let handle = subscribe(&mut bench, 5);
    let first = bench.take();
    bench.pass(5 * S);
    assert_eq!(bench.take(), first);
    bench.pass(5 * S);
    assert_eq!(bench.take(), first);
    bench.events();
    bench.pass(5 * S);
    assert!(matches!(bench.take()[..], [e42::Message::SubscriptionDeleteRequest(_)]));
    let failure = Failure::Unanswered;
    assert_eq!(bench.events(), [XappEvent::SubscriptionFailed { handle, node: node_id(5), failure }]);
    // The failed subscription is retried under another id.
    bench.pass(S);
    assert_eq!(bench.requests(), [(2, node_id(5))]);
}

#[test]
fn refused_subscription_is_retried_when_node_is_announced_again() {
    let mut bench = XappDriver::up(config(), &[5]);
    let handle = subscribe(&mut bench, 5);
    bench.take();
    bench.events();
    let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    let failure = RicSubscriptionFailure {
        request_id: id(1),
        function_id: 70,
        not_admitted: None,
        cause: Some(cause),
        diagnostics: None,
    };
    bench.answer(Message::RicSubscriptionFailure(failure.clone()));
    let failed = XappEvent::SubscriptionFailed { handle, node: node_id(5), failure: Failure::Cause(cause) };
    assert_eq!(bench.events(), [failed]);
    bench.pass(60 * S);
    assert!(bench.take().is_empty());
    bench.receive(&node_event(&[], &[5]));
    bench.receive(&node_event(&[5], &[]));
    assert_eq!(bench.requests(), [(2, node_id(5))]);
    // A node that is not ready is retried after a delay.
    let cause = Some(Cause::RicRequest(CauseRicRequest::SystemNotReady));
    bench.answer(Message::RicSubscriptionFailure(RicSubscriptionFailure {
        request_id: id(2),
        cause,
        ..failure
    }));
    bench.pass(S);
    assert_eq!(bench.requests(), [(3, node_id(5))]);
    bench.admit(3);
    // An active subscription ends.
    let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
    let subscriptions = vec![SubscriptionWithCause { request_id: id(3), function_id: 70, cause }];
    bench.answer(Message::RicSubscriptionDeleteRequired(RicSubscriptionDeleteRequired { subscriptions }));
    assert_eq!(bench.xapp.subscriptions(), (0, 1));
}

fn refused(requestor: u16, cause: CauseRicRequest) -> Message {
    Message::RicSubscriptionFailure(RicSubscriptionFailure {
        request_id: id(requestor),
        function_id: 70,
        not_admitted: None,
        cause: Some(Cause::RicRequest(cause)),
        diagnostics: None,
    })
}

#[test]
fn subscription_without_node_response_is_retried() {
    let mut bench = XappDriver::up(config(), &[5]);
    subscribe(&mut bench, 5);
    bench.take();
    bench.answer(refused(1, CauseRicRequest::ControlTimerExpired));
    bench.pass(S);
    assert_eq!(bench.requests(), [(2, node_id(5))]);
}

#[test]
fn request_based_on_outdated_function_list_is_retried() {
    let renumbered = || {
        let mut changed = node(5);
        changed.functions[0].id = 71;
        e42::Message::NodeEvent(e42::NodeEvent { xapp_id: 7, connected: vec![changed], removed: vec![] })
    };
    let mut bench = XappDriver::up(config(), &[5]);
    subscribe(&mut bench, 5);
    bench.take();
    bench.receive(&renumbered());
    bench.answer(refused(1, CauseRicRequest::RanFunctionIdInvalid));
    assert_eq!(bench.requests(), [(2, node_id(5))]);
    // The id now belongs to another function, which admitted the request.
    let mut bench = XappDriver::up(config(), &[5]);
    subscribe(&mut bench, 5);
    bench.take();
    bench.receive(&renumbered());
    bench.admit(1);
    let sent = bench.take();
    assert!(
        matches!(&sent[..], [e42::Message::SubscriptionDeleteRequest(d), e42::Message::SubscriptionRequest(s)]
            if d.request_id == id(1) && s.request_id == id(2) && s.function_id == 71),
        "{sent:?}"
    );
}

#[test]
fn subscription_admitted_after_failure_is_deleted() {
    let mut bench = XappDriver::up(config(), &[5]);
    subscribe(&mut bench, 5);
    bench.answer(refused(1, CauseRicRequest::ActionNotSupported));
    bench.take();
    bench.admit(1);
    let sent = bench.take();
    assert!(
        matches!(&sent[..], [e42::Message::SubscriptionDeleteRequest(d)] if d.request_id == id(1)),
        "{sent:?}"
    );
}

#[test]
fn controls_succeed_fail_or_time_out() {
    let mut bench = XappDriver::up(config(), &[5]);
    let empty = Bytes::new;
    let ping = |bench: &mut XappDriver, ack| {
        let handle =
            bench.xapp.control(bench.now, node_id(5), OID, empty(), Bytes::from_static(b"x"), ack).unwrap();
        bench.drain();
        let sent = bench.take();
        let [e42::Message::ControlRequest(m)] = &sent[..] else { panic!("{sent:?}") };
        (handle, m.request_id)
    };
    bench.events();
    let (handle, request_id) = ping(&mut bench, true);
    let function_id = 70;
    let call_process_id = None;
    let status = None;
    let outcome = Some(Bytes::from_static(b"ok"));
    let acknowledge =
        RicControlAcknowledge { request_id, function_id, call_process_id, status, outcome: outcome.clone() };
    bench.answer(Message::RicControlAcknowledge(acknowledge));
    assert_eq!(bench.events(), [XappEvent::ControlAcknowledged { handle, outcome }]);
    let (handle, request_id) = ping(&mut bench, false);
    let cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
    let call_process_id = None;
    let outcome = None;
    let diagnostics = None;
    let failure = RicControlFailure { request_id, function_id, call_process_id, cause, outcome, diagnostics };
    bench.answer(Message::RicControlFailure(failure));
    let failed = |handle, failure| XappEvent::ControlFailed { handle, failure, outcome: None };
    assert_eq!(bench.events(), [failed(handle, Failure::Cause(cause))]);
    let (handle, _) = ping(&mut bench, true);
    bench.pass(5 * S);
    assert_eq!(bench.events(), [failed(handle, Failure::Unanswered)]);
    let (handle, _) = ping(&mut bench, true);
    bench.input(XappInput::Disconnected { why: ranlab_e2::LinkLoss::ClosedByPeer });
    assert!(bench.events().contains(&failed(handle, Failure::Disconnected)));
    let refused = bench.xapp.control(bench.now, node_id(5), OID, empty(), empty(), true);
    assert_eq!(refused, Err(ControlError::NotReady));
    bench.pass(S);
    bench.set_up(8, &[5]);
    for ack in [false, true] {
        for _ in 0..1_024 {
            ping(&mut bench, ack);
        }
    }
    assert_eq!(
        bench.xapp.control(bench.now, node_id(5), OID, empty(), empty(), true),
        Err(ControlError::TooMany(1_024))
    );
    assert_eq!(
        bench.xapp.control(bench.now, node_id(6), OID, empty(), empty(), true),
        Err(ControlError::UnknownNode)
    );
    assert_eq!(
        bench.xapp.control(bench.now, node_id(5), 1, empty(), empty(), true),
        Err(ControlError::UnknownFunction)
    );
}

/// Time passes between two inputs without a call of the machine. Each request still has its full timeout.
#[test]
fn idle_xapp_gives_each_request_its_full_timeout() {
    const IDLE: Duration = Duration::from_secs(12);
    let control = |bench: &mut XappDriver| {
        let node = node_id(5);
        let now = bench.now;
        let handle =
            bench.xapp.control(now, node, OID, Bytes::new(), Bytes::from_static(b"x"), true).unwrap();
        bench.input(XappInput::Wake);
        let failed = |event: &XappEvent| matches!(event, XappEvent::ControlFailed { .. });
        assert!(!bench.events().iter().any(failed), "a control must not expire before it is sent");
        handle
    };
    for dialect in [Dialect::Ranlab, Dialect::FlexRic] {
        let mut bench = XappDriver::up(config().with(|it| it.dialect = dialect), &[5]);
        bench.take();
        bench.now += IDLE;
        let handle = control(&mut bench);
        bench.pass(5 * S - Duration::from_millis(1));
        let silent = |bench: &mut XappDriver| {
            !bench.events().iter().any(|event| matches!(event, XappEvent::ControlFailed { .. }))
        };
        assert!(silent(&mut bench), "{dialect:?}");
        bench.pass(Duration::from_millis(1));
        let unanswered = XappEvent::ControlFailed { handle, failure: Failure::Unanswered, outcome: None };
        assert!(bench.events().contains(&unanswered), "{dialect:?}");
    }
    let mut bench = XappDriver::up(config(), &[5]);
    bench.now += IDLE;
    let handle =
        bench.xapp.subscribe(node_id(5), OID, Bytes::new(), vec![ActionToBeSetup::report(0)]).unwrap();
    bench.input(XappInput::Wake);
    let [(requestor, _)] = bench.requests()[..] else { panic!("expected exactly one subscription request") };
    bench.pass(Duration::from_millis(4_999));
    assert_eq!(bench.take().len(), 0, "the request must not be repeated before its full timeout");
    bench.admit(requestor);
    bench.events();
    bench.now += IDLE;
    bench.xapp.unsubscribe(handle);
    bench.input(XappInput::Wake);
    assert_eq!(bench.take().len(), 1);
    bench.pass(Duration::from_millis(4_999));
    assert_eq!((bench.take().len(), bench.events().len()), (0, 0));
}

#[test]
fn many_subscriptions_are_sent_in_batches() {
    let mut config = config();
    config.limits.outstanding = 10;
    config.limits.subscriptions = 100;
    let mut bench = XappDriver::up(config, &[5]);
    let trigger = |n: u8| Bytes::copy_from_slice(&[n, 1, 0, 0]);
    for n in 0..100 {
        bench.xapp.subscribe(node_id(5), OID, trigger(n), vec![ActionToBeSetup::report(0)]).unwrap();
    }
    let refused = bench.xapp.subscribe(node_id(5), OID, trigger(0), vec![ActionToBeSetup::report(0)]);
    assert_eq!(refused, Err(SubscribeError::TooMany(100)));
    bench.pass(Duration::ZERO);
    let mut served = 0;
    loop {
        let requests = bench.requests();
        assert!(requests.len() <= 10);
        if requests.is_empty() {
            break;
        }
        for (requestor, _) in requests {
            bench.admit(requestor);
            served += 1;
        }
    }
    assert_eq!((served, bench.xapp.subscriptions()), (100, (100, 100)));
}

#[test]
fn refused_setup_waits_and_stalled_ric_is_disconnected() {
    let mut bench = XappDriver::new(config());
    bench.input(XappInput::Connected);
    bench.take();
    let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
    let time_to_wait = Some(TimeToWait::V2s);
    let transaction_id = Some(0);
    let diagnostics = None;
    let tnl = None;
    let failure = E2SetupFailure { transaction_id, cause, time_to_wait, diagnostics, tnl };
    bench.receive(&e42::Message::SetupFailure(failure));
    bench.pass(2 * S - Duration::from_millis(1));
    assert!(bench.take().is_empty());
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.take().len(), 1);
    bench.input(XappInput::Received { pdu: Bytes::from_static(b"HTTP/1.1") });
    assert!(matches!(bench.closes[..], [CloseReason::NotE42(_)]));
    bench.pass(2 * S);
    bench.set_up(7, &[5]);
    bench.deaf = true;
    while bench.closes.len() == 1 {
        let message = Bytes::from(vec![0; 10_000]);
        bench.xapp.control(bench.now, node_id(5), OID, Bytes::new(), message, false).unwrap();
        bench.pass(Duration::ZERO);
    }
    assert!(matches!(bench.closes[1], CloseReason::OutboxFull(_)));
}

#[test]
fn random_bytes_in_any_state_do_not_crash_xapp() {
    let mut random = Random::new(11);
    for run in 0..200 {
        let config =
            (if run % 2 == 0 { config() } else { flexric() }).with(|it| it.version = Version::ALL[run % 3]);
        let version = config.version;
        let mut bench = XappDriver::new(config);
        for _ in 0..50 {
            match random.next() % 16 {
                0 => bench.input(XappInput::Connected),
                1 => bench.input(XappInput::Disconnected { why: ranlab_e2::LinkLoss::ClosedByPeer }),
                2 => bench.pass(Duration::from_millis(random.next() % 5_000)),
                3 => bench.accept(7, &[(random.next() % 3) as u32]),
                4 => {
                    subscribe(&mut bench, 1);
                }
                5 => bench.admit((random.next() % 5) as u16),
                6 => bench.xapp.unsubscribe(SubscriptionHandle(random.next() % 8)),
                7 => bench.receive(&node_event(&[1], &[2])),
                8 => {
                    let _ = bench.xapp.control(bench.now, node_id(1), OID, Bytes::new(), Bytes::new(), true);
                }
                9 => bench.receive(&node_event(&[], &[1])),
                _ => {
                    let name = Message::NAMES[random.next() as usize % Message::NAMES.len()];
                    let message = Message::random(name, random.next(), version);
                    let mut pdu = message.and_then(|m| encode(&m, version).ok()).unwrap_or_default();
                    for _ in 0..random.next() % 3 {
                        let at = random.next() as usize % pdu.len().max(1);
                        if let Some(octet) = pdu.get_mut(at) {
                            *octet = random.next() as u8;
                        }
                    }
                    bench.input(XappInput::Received { pdu: pdu.into() });
                }
            }
        }
    }
}

#[test]
fn alternative_rics_are_tried_before_time_to_wait_applies() {
    let several = config().with(|it| it.or_at = vec!["b".to_owned(), "c".to_owned()]);
    let mut bench = XappDriver::new(several);
    let lost = || XappInput::Disconnected { why: ranlab_e2::LinkLoss::ClosedByPeer };
    assert_eq!((bench.xapp.address(), bench.xapp.addresses()), ("ric", 3));
    // The first RIC is unreachable. The second accepts the xApp and is lost. The third gets the subscriptions.
    bench.input(lost());
    bench.pass(S);
    bench.set_up(7, &[5]);
    assert_eq!(bench.xapp.address(), "b");
    subscribe(&mut bench, 5);
    let request = bench.requests()[0].0;
    bench.admit(request);
    bench.input(lost());
    bench.pass(S);
    bench.set_up(3, &[5]);
    assert_eq!(bench.requests().len(), 1);
    assert_eq!(bench.xapp.address(), "c");
    // All RICs refuse; the last one sends a time to wait.
    bench.input(lost());
    for address in ["ric", "b", "c"] {
        bench.pass(S);
        assert_eq!(bench.xapp.address(), address);
        bench.input(XappInput::Connected);
        bench.take();
        let transaction_id = Some(0);
        let diagnostics = None;
        let tnl = None;
        let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
        let time_to_wait = Some(TimeToWait::V5s);
        let failure = E2SetupFailure { transaction_id, cause, time_to_wait, diagnostics, tnl };
        bench.receive(&e42::Message::SetupFailure(failure));
        assert_eq!(bench.closes.last(), Some(&CloseReason::Refused));
    }
    let connects = bench.connects;
    bench.pass(4 * S);
    assert_eq!(bench.connects, connects, "the xApp must respect the time to wait of the last RIC");
    bench.pass(2 * S);
    assert_eq!((bench.connects, bench.xapp.address()), (connects + 1, "ric"));
}
