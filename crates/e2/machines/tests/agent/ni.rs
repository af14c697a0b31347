//! NI at an agent: which controller receives which messages, and refusals.
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::ni::{self as function, InterfaceMessage, NiStation};
use ranlab_e2_codec::ap::messages::{self, NgIds};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::ni::*;
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_e2_codec::per::ShortBits;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);
const TIME_US: i64 = 1_700_000_000_123_456;

fn gnb(number: u64) -> NodeId {
    let gnb_id = ShortBits::new(number, 32);
    NodeId::NgRan(GlobalNgRanNodeId::Gnb(GlobalGnbId { plmn: PLMN, gnb_id }))
}

/// gNB 1 with UEs 1 and 2, and an Xn interface to gNB 2.
#[derive(Clone, Default)]
struct Station(Arc<Mutex<Vec<InterfaceMessage>>>);

impl NiStation for Station {
    fn interfaces(&self) -> Vec<Interface> {
        vec![Interface::Ng, Interface::Xn]
    }

    fn node(&self) -> NodeId {
        gnb(1)
    }

    fn may_reach(&self, interface: Interface, node: &NodeId) -> bool {
        (interface, *node) == (Interface::Xn, gnb(2))
    }

    fn ues(&mut self) -> Vec<u32> {
        vec![1, 2]
    }

    fn messages(&mut self, _: Time) -> Vec<InterfaceMessage> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Station {
    fn passes(&self, direction: Direction, ue: u32, message: &ranlab_e2_codec::ap::Message) -> Bytes {
        let octets = message.to_octets().unwrap();
        let far = (message.interface == Interface::Xn).then(|| gnb(2));
        let interface = message.interface;
        let passed = InterfaceMessage {
            interface,
            far,
            direction,
            tstamp_us: TIME_US,
            ue: Some(ue),
            leaves: false,
            octets,
        };
        let copy = passed.octets.clone();
        self.0.lock().unwrap().push(passed);
        copy
    }
}

fn bench() -> (AgentDriver, Station) {
    let station = Station::default();
    let mut agent = Agent::new(config());
    agent.register(function::function(station.clone()), Some(DEFAULT_FUNCTION_ID)).unwrap();
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    (1..=2).for_each(|ue| bench.agent.ue_arrived(UeId(ue)).unwrap());
    (bench, station)
}

fn ask(event: MessageEvent, action: ActionToBeSetup) -> Message {
    Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id: request_id(1),
        function_id: DEFAULT_FUNCTION_ID,
        details: RicSubscriptionDetails {
            event_trigger: EventTrigger::Message(event).to_octets(Encoding::Per).unwrap(),
            actions: vec![action],
        },
        start_time: None,
        end_time: None,
    })
}

fn report(definition: &ActionDefinition) -> ActionToBeSetup {
    let definition = Some(definition.to_octets(Encoding::Per).unwrap());
    ActionToBeSetup { definition, ..ActionToBeSetup::report(1) }
}

/// Returns headers and bytes of the indications within 20 ms.
fn indications(bench: &mut AgentDriver) -> Vec<(MessageHeader, Bytes)> {
    let read = |message| {
        let Message::RicIndication(m) = message else { panic!("{message:?}") };
        let IndicationHeader::Message(header) =
            IndicationHeader::decode_as(Encoding::Per, &m.header).unwrap();
        let IndicationMessage::Message(octets) =
            IndicationMessage::decode_as(Encoding::Per, &m.message).unwrap();
        (header, octets)
    };
    bench.pass(Duration::from_millis(20));
    bench.take(C0).into_iter().map(read).collect()
}

fn procedure(interface: Interface, code: u8, kind: Kind) -> MessageType {
    MessageType::new(interface, ranlab_e2_codec::e2sm::ni::Procedure { code, kind })
}

fn ids(ran: u32) -> NgIds {
    NgIds { amf: ran.into(), ran }
}

#[test]
fn messages_match_by_interface_direction_procedure_and_elements() {
    let any = MessageEvent::any(Interface::Ng, gnb(1));
    let test = |id, test, value| Some(vec![ElementTest { id, test, value }]);
    let release = procedure(Interface::Ng, 41, Kind::Successful);
    for (event, expected) in [
        (any.clone(), vec![0, 1, 2, 3]),
        (MessageEvent { direction: Direction::Incoming, ..any.clone() }, vec![2]),
        (MessageEvent { message: release, ..any.clone() }, vec![3]),
        (MessageEvent { tests: test(85, Test::Equal, Value::Int(2)), ..any.clone() }, vec![1]),
        (MessageEvent { tests: test(85, Test::Less, Value::Int(2)), ..any.clone() }, vec![0, 3]),
        (MessageEvent { tests: test(38, Test::Present, Value::Bool(true)), ..any.clone() }, vec![0, 1]),
        (
            MessageEvent {
                tests: test(38, Test::Contains, Value::Octets(Bytes::from_static(&[0, 0x20]))),
                ..any.clone()
            },
            vec![1],
        ),
        (MessageEvent::any(Interface::Xn, gnb(2)), vec![4]),
        (MessageEvent::any(Interface::Xn, gnb(1)), vec![4]),
    ] {
        let (mut bench, station) = bench();
        station.passes(Direction::Outgoing, 1, &messages::ng_release_request(ids(1)).unwrap());
        let answer = bench.ask(C0, &ask(event.clone(), report(&ActionDefinition::complete())));
        assert!(matches!(answer[..], [Message::RicSubscriptionResponse(_)]), "{answer:?}");
        let cell = ranlab_e2_codec::e2sm::common::NrCgi { plmn: PLMN, cell: 16 };
        let comes = |ran| messages::initial_ue_message(ran, PLMN, ran, &cell, 1).unwrap();
        let passed = [
            station.passes(Direction::Outgoing, 1, &comes(1)),
            station.passes(Direction::Outgoing, 2, &comes(2)),
            station.passes(Direction::Incoming, 1, &messages::ng_release_command(ids(1)).unwrap()),
            station.passes(Direction::Outgoing, 1, &messages::ng_release_complete(ids(1)).unwrap()),
            station.passes(Direction::Incoming, 2, &messages::xn_release(2, 7).unwrap()),
        ];
        let reports = indications(&mut bench);
        let octets: Vec<_> = reports.iter().map(|(_, octets)| octets.clone()).collect();
        let expected: Vec<_> = expected.into_iter().map(|at: usize| passed[at].clone()).collect();
        assert_eq!(octets, expected, "{event:?}");
        for (header, _) in reports {
            let far = if header.interface == Interface::Xn { gnb(2) } else { gnb(1) };
            assert_eq!((header.interface, header.node), (event.interface, far));
            let time = ranlab_e2_codec::e2sm::kpm::TimeStamp::V3(u64::from_be_bytes(header.time.unwrap()));
            assert_eq!(time.unix_us(), Some(TIME_US));
        }
    }
}

#[test]
fn style_2_reports_only_requested_element() {
    let (mut bench, station) = bench();
    bench.ask(C0, &ask(MessageEvent::any(Interface::Ng, gnb(1)), report(&ActionDefinition::partial(15))));
    let request = messages::ng_release_request(ids(1)).unwrap();
    station.passes(Direction::Outgoing, 1, &request);
    station.passes(Direction::Outgoing, 1, &messages::ng_release_complete(ids(1)).unwrap());
    let octets: Vec<_> = indications(&mut bench).into_iter().map(|(_, octets)| octets).collect();
    assert_eq!(
        octets,
        [request.ie(15).unwrap().value.clone()],
        "the second message must not be reported, because it has no element Cause"
    );
}

/// Returns the cause of a refused subscription, its single action, or a refused control.
fn refusal(answers: &[Message]) -> Cause {
    match answers {
        [Message::RicSubscriptionFailure(m)] => {
            let of_action = m.not_admitted.iter().flatten().next().map(|action| action.cause);
            m.cause.or(of_action).unwrap()
        }
        [Message::RicControlFailure(m)] => m.cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn unsupported_requests_are_refused_with_cause() {
    use CauseRicRequest::*;
    let any = MessageEvent::any(Interface::Ng, gnb(1));
    let test = |id, test, value| Some(vec![ElementTest { id, test, value }]);
    let whole = ActionDefinition::complete();
    for event in [
        MessageEvent::any(Interface::F1, gnb(1)),
        MessageEvent::any(Interface::Ng, gnb(3)),
        MessageEvent { message: MessageType::any(Interface::Xn), ..any.clone() },
        MessageEvent { tests: test(15, Test::Equal, Value::Int(1)), ..any.clone() },
        MessageEvent { tests: test(85, Test::Equal, Value::Bool(true)), ..any.clone() },
    ] {
        let (mut bench, _) = bench();
        let refused = refusal(&bench.ask(C0, &ask(event.clone(), report(&whole))));
        // `event-trigger-not-supported` exists since E2AP 3.01; earlier versions use this cause instead.
        assert_eq!(refused, Cause::RicRequest(ActionNotSupported), "{event:?}");
    }
    let policy = ActionDefinition { style: 1, format: ActionFormat::Groups(None) };
    let styled = |style| ActionDefinition { style, ..whole.clone() };
    let insert = ActionToBeSetup { kind: RicActionType::Insert, ..report(&whole) };
    for action in [report(&policy), report(&styled(PARTIAL)), report(&styled(7)), insert] {
        let (mut bench, _) = bench();
        let refused = refusal(&bench.ask(C0, &ask(any.clone(), action)));
        assert_eq!(refused, Cause::RicRequest(ActionNotSupported));
    }
    let header = ControlHeader::Message(Injection {
        interface: Interface::Ng,
        node: gnb(1),
        direction: Direction::Outgoing,
        priority: None,
    });
    let header = header.to_octets(Encoding::Per).unwrap();
    let message = ControlMessage::Message(Bytes::from_static(b"x")).to_octets(Encoding::Per).unwrap();
    let process = CallProcessId::Number(1).to_octets(Encoding::Per).unwrap();
    for (call_process_id, message, cause) in [
        (None, message.clone(), ActionNotSupported),
        (None, Bytes::new(), ControlMessageInvalid),
        (Some(process), message, RicCallProcessIdInvalid),
    ] {
        let (mut bench, _) = bench();
        let function_id = DEFAULT_FUNCTION_ID;
        let header = header.clone();
        let ack_request = ACK;
        let request = RicControlRequest {
            request_id: request_id(1),
            function_id,
            call_process_id,
            header,
            message,
            ack_request,
        };
        let refused = refusal(&bench.ask(C0, &Message::RicControlRequest(request)));
        assert_eq!(refused, Cause::RicRequest(cause));
    }
}
