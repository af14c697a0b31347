//! RC reports and inserts at an agent: receivers and times of events, and handovers that wait for a response.
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::rc::{self, PROCESSES_MAX, RcControl, RcEvent, RcMobility};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::rc::interface::*;
use ranlab_e2_codec::e2sm::rc::messages::CopiedMessage;
use ranlab_e2_codec::e2sm::rc::neighbours::*;
use ranlab_e2_codec::e2sm::rc::reports::{self, HandedOver, process_octets};
use ranlab_e2_codec::e2sm::rc::*;
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);
const MS: Duration = Duration::from_millis(1);

const fn cell(cell: u64) -> NrCgi {
    NrCgi { plmn: PLMN, cell }
}

/// A base station of cell 1 with UEs 1 and 2; cell 9 accepts no UE.
#[derive(Default)]
struct Cell {
    decided: Vec<(u32, NrCgi)>,
    events: Vec<RcEvent>,
    handed_over: Vec<(u32, NrCgi)>,
}

#[derive(Clone, Default)]
struct Station(Arc<Mutex<Cell>>);

impl RcControl for Station {
    fn execute(&mut self, _: Time, number: u32, order: &Order) -> Result<(), Refusal> {
        let Order::Handover(to) = order else { panic!("{order:?}") };
        if to.cell == 9 {
            return Err(Refusal::new(Reason::Invalid, "no cell 9"));
        }
        let outcome = HandedOver { ue: Name::du(number + 100), old: Name::du(number), cell: Cgi::Nr(*to) };
        let mut cell = self.0.lock().unwrap();
        cell.handed_over.push((number, *to));
        cell.events.push(RcEvent::HandedOver { number, told: Box::new(outcome) });
        Ok(())
    }

    fn knows_rrc(&self) -> bool {
        true
    }

    fn mobility(&mut self) -> Option<&mut dyn RcMobility> {
        Some(self)
    }
}

impl RcMobility for Station {
    fn name(&self, number: u32) -> Name {
        Name::du(number)
    }

    fn ues(&mut self) -> Vec<(u32, Cgi)> {
        [1, 2].map(|number| (number, Cgi::Nr(cell(1)))).into()
    }

    fn slices(&mut self, _: u32) -> Vec<Snssai> {
        Vec::new()
    }

    fn cells(&mut self) -> Vec<Cgi> {
        vec![Cgi::Nr(cell(1))]
    }

    fn neighbours(&mut self, of: &Cgi) -> Option<NeighbourRelations> {
        (*of == Cgi::Nr(cell(1))).then(relations)
    }

    fn events(&mut self, _: Time) -> Vec<RcEvent> {
        std::mem::take(&mut self.0.lock().unwrap().events)
    }

    fn decisions(&mut self, _: Time) -> Vec<(u32, NrCgi)> {
        std::mem::take(&mut self.0.lock().unwrap().decided)
    }

    fn decides(&self) -> bool {
        true
    }
}

/// Returns relations with cell 2 as the only neighbour.
fn relations() -> NeighbourRelations {
    let neighbour = NrNeighbour {
        cell: cell(2),
        pci: 2,
        tac: [0, 0, 1],
        duplex: Duplex::Tdd,
        frequency: NrFrequency {
            arfcn: 632_628,
            bands: vec![NrBand { band: 78, supplementary: Vec::new() }],
            shift: None,
        },
        connected: Truth::True,
        handover: Truth::False,
        version: 1,
    };
    let pci = ServingPci::Nr(1);
    let arfcn = ServingArfcn::Nr(632_628);
    NeighbourRelations { pci, arfcn, neighbours: vec![Neighbour::Nr(neighbour)] }
}

fn bench() -> (AgentDriver, Station) {
    let station = Station::default();
    let mut agent = Agent::new(config());
    agent.register(rc::function(station.clone()), Some(DEFAULT_FUNCTION_ID)).unwrap();
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    (1..=2).for_each(|ue| bench.agent.ue_arrived(UeId(ue)).unwrap());
    (bench, station)
}

/// Returns a subscription with one action of this type.
pub(crate) fn asking(
    requestor: u16,
    trigger: &EventTrigger,
    kind: RicActionType,
    action: &ActionDefinition,
    subsequent: Option<RicSubsequentAction>,
) -> Message {
    let definition = Some(action.to_octets(Encoding::Per).unwrap());
    let action = ActionToBeSetup { kind, definition, subsequent, ..ActionToBeSetup::report(0) };
    Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id: request_id(requestor),
        function_id: DEFAULT_FUNCTION_ID,
        details: RicSubscriptionDetails {
            event_trigger: trigger.to_octets(Encoding::Per).unwrap(),
            actions: vec![action],
        },
        start_time: None,
        end_time: None,
    })
}

pub(crate) fn report(requestor: u16, trigger: &EventTrigger, style: i64, parameters: &[u32]) -> Message {
    let action = ActionDefinition::report(style, parameters.iter().copied());
    asking(requestor, trigger, RicActionType::Report, &action, None)
}

pub(crate) fn insert(requestor: u16, kind: RicSubsequentActionType, time_to_wait: RicTimeToWait) -> Message {
    let subsequent = Some(RicSubsequentAction { kind, time_to_wait });
    let action = ActionDefinition::handover_request();
    asking(requestor, &EventTrigger::handovers(), RicActionType::Insert, &action, subsequent)
}

pub(crate) fn admitted(answers: &[Message]) -> bool {
    matches!(answers, [Message::RicSubscriptionResponse(_)])
}

/// Returns the cause of a refused subscription or of its single action.
pub(crate) fn refused(answers: &[Message]) -> Cause {
    match answers {
        [Message::RicSubscriptionFailure(m)] => {
            let of_action = m.not_admitted.iter().flatten().next().map(|action| action.cause);
            m.cause.or(of_action).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the contents of the indications among messages.
fn indications(messages: Vec<Message>) -> Vec<(IndicationHeaderFormat, IndicationFormat, Option<Bytes>)> {
    let read = |message| match message {
        Message::RicIndication(m) => {
            let header = IndicationHeader::decode_as(Encoding::Per, &m.header).unwrap().format;
            let message = IndicationMessage::decode_as(Encoding::Per, &m.message).unwrap().format;
            assert_eq!(m.kind == RicIndicationType::Insert, m.call_process_id.is_some());
            (header, message, m.call_process_id)
        }
        other => panic!("{other:?}"),
    };
    messages.into_iter().map(read).collect()
}

/// Returns the control that responds to call process `process`.
fn answer(process: u32, ue: u32, decision: Option<Decision>, to: Option<u64>) -> Message {
    let header = ActionHeader { ue: Name::du(ue), style: 3, action: 1, decision };
    let header = ControlHeader { format: HeaderFormat::Action(header) };
    let parameters = to.map(|to| reports::handover_request(cell(to))).unwrap_or_default();
    Message::RicControlRequest(RicControlRequest {
        request_id: request_id(9),
        function_id: DEFAULT_FUNCTION_ID,
        call_process_id: Some(process_octets(process)),
        header: header.to_octets(Encoding::Per).unwrap(),
        message: ControlMessage::from(parameters).to_octets(Encoding::Per).unwrap(),
        ack_request: ACK,
    })
}

/// Returns the cause of a refused control, or `None` for an acknowledgement.
fn cause(answers: &[Message]) -> Option<CauseRicRequest> {
    match answers {
        [Message::RicControlAcknowledge(_)] => None,
        [Message::RicControlFailure(RicControlFailure { cause: Cause::RicRequest(cause), .. })] => {
            Some(*cause)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn rrc_states_are_reported_with_id_of_matching_condition() {
    let (mut bench, station) = bench();
    let change = |condition, to, ue: Option<u32>| UeChange {
        condition,
        trigger: ChangeOf::RrcState(vec![StateChange { to, or: None }]),
        ues: ue.map(|ue| {
            let ue = UeKind::One(OneUe { ue: Name::du(ue), test: None });
            vec![UeCondition { id: 1, ue, or: None }]
        }),
        or: Some(LogicalOr::True),
    };
    let changes = vec![change(5, RrcState::Idle, Some(2)), change(6, RrcState::Connected, None)];
    let trigger = EventTrigger { format: TriggerFormat::Ues(changes) };
    station.0.lock().unwrap().events.push(RcEvent::State { number: 1, state: RrcState::Connected });
    assert!(admitted(&bench.ask(C0, &report(1, &trigger, 4, &[202, 3]))));
    bench.pass(30 * MS);
    assert_eq!(bench.take(C0), [], "a state from before the subscription must not be reported");
    let event = |number, state| RcEvent::State { number, state };
    let happened = [event(1, RrcState::Idle), event(2, RrcState::Idle), event(3, RrcState::Connected)];
    station.0.lock().unwrap().events.extend(happened);
    bench.pass(20 * MS);
    let received: Vec<_> =
        indications(bench.take(C0)).into_iter().map(|(header, message, _)| (header, message)).collect();
    let expected = |condition, ue, state| {
        let header = IndicationHeaderFormat::Report(ReportHeader { condition: Some(condition) });
        let parameters = reports::state_changed(state);
        (header, IndicationFormat::Ues(vec![UeParameters { ue: Name::du(ue), parameters }]))
    };
    assert_eq!(received, [expected(5, 2, RrcState::Idle), expected(6, 3, RrcState::Connected)]);
}

#[test]
fn copied_messages_have_id_of_matching_condition() {
    let (mut bench, station) = bench();
    let event = |condition, said: CopiedMessage, ue: Option<u32>| MessageEvent {
        condition,
        message: MessageType::Rrc(said.id(true)),
        direction: None,
        ues: ue.map(|ue| {
            let ue = UeKind::One(OneUe { ue: Name::du(ue), test: None });
            vec![UeCondition { id: 1, ue, or: None }]
        }),
        events: None,
        or: Some(LogicalOr::True),
    };
    let messages =
        vec![event(5, CopiedMessage::Release, Some(2)), event(6, CopiedMessage::SetupComplete, None)];
    let format = TriggerFormat::Messages(MessageTrigger { messages, ues: None });
    assert!(admitted(&bench.ask(C0, &report(1, &EventTrigger { format }, 1, &[1, 3, 4, 6]))));
    let said = |number, said| RcEvent::Message { number, said };
    let state = RcEvent::State { number: 2, state: RrcState::Idle };
    let happened = [
        said(1, CopiedMessage::Release),
        said(2, CopiedMessage::Release),
        state,
        said(1, CopiedMessage::SetupComplete),
        said(1, CopiedMessage::ReconfigurationComplete),
    ];
    station.0.lock().unwrap().events.extend(happened);
    bench.pass(20 * MS);
    let copy = |condition, ue, said| {
        let header = IndicationHeaderFormat::Report(ReportHeader { condition: Some(condition) });
        let copy = reports::message_copy(said, &Name::du(ue), &Cgi::Nr(cell(1)), &[3, 4, 6]);
        assert_eq!(copy.len(), 3);
        (header, IndicationFormat::Parameters(copy), None)
    };
    let expected = [copy(5, 2, CopiedMessage::Release), copy(6, 1, CopiedMessage::SetupComplete)];
    assert_eq!(indications(bench.take(C0)), expected);
}

#[test]
fn neighbour_changes_are_reported_to_subscribers_of_the_cell() {
    let (mut bench, station) = bench();
    let elsewhere = |cell| {
        let one = CellCondition { id: 1, cell: CellKind::One(Cgi::Nr(cell)), or: None };
        let change = NodeChange { condition: 7, change: 2, cells: Some(vec![one]), or: None };
        EventTrigger { format: TriggerFormat::Node(vec![change]) }
    };
    assert!(admitted(&bench.ask(C0, &report(1, &EventTrigger::neighbours(), 3, &[1]))));
    assert!(admitted(&bench.ask(C0, &report(2, &elsewhere(cell(9)), 3, &[1]))));
    assert!(admitted(&bench.ask(C0, &report(3, &elsewhere(cell(1)), 3, &[1]))));
    bench.pass(50 * MS);
    assert_eq!(bench.take(C0), []);
    station.0.lock().unwrap().events.push(RcEvent::Neighbours(Cgi::Nr(cell(1))));
    bench.pass(20 * MS);
    let change = |condition| {
        let header = IndicationHeaderFormat::Report(ReportHeader { condition: Some(condition) });
        let cell = Cgi::Nr(cell(1));
        let neighbours = Some(relations());
        let change = CellChange { cell, context: None, deleted: None, neighbours };
        (header, IndicationFormat::Cells(vec![change]), None)
    };
    assert_eq!(indications(bench.take(C0)), [change(1), change(7)]);
}

#[test]
fn second_controller_gets_messages_of_its_ues_including_release() {
    let (mut bench, station) = bench();
    let c1 = bench.add("b");
    bench.set_up(c1);
    bench.agent.associate_ue(UeId(2), c1).unwrap();
    assert!(admitted(&bench.ask(c1, &report(1, &EventTrigger::messages(true), 1, &[4]))));
    (1..=2).for_each(|ue| bench.agent.ue_left(UeId(ue)));
    let gone = |number| {
        let said = RcEvent::Message { number, said: CopiedMessage::Release };
        [said, RcEvent::State { number, state: RrcState::Idle }]
    };
    station.0.lock().unwrap().events.extend([gone(1), gone(2), gone(2)].concat());
    bench.pass(20 * MS);
    let reports = indications(bench.take(c1));
    let [(_, IndicationFormat::Parameters(copy), _)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(reports::copied_from(copy), Some(Name::du(2)));
}

#[test]
fn connected_ues_are_reported_once_on_demand() {
    let (mut bench, _) = bench();
    let answers = bench.ask(C0, &report(1, &EventTrigger::on_demand(), 5, &[1]));
    assert!(admitted(&answers[..1]), "the subscription response must be sent before the report: {answers:?}");
    bench.pass(100 * MS);
    assert_eq!(bench.take(C0), [], "a report on demand must be sent only once");
    let reports = indications(answers[1..].to_vec());
    let [(_, IndicationFormat::OnDemand(report), None)] = &reports[..] else { panic!("{reports:?}") };
    let ues: Vec<_> = report.ues.iter().map(|it| (it.ue.number(), it.cell)).collect();
    assert_eq!(ues, [(1, Cgi::Nr(cell(1))), (2, Cgi::Nr(cell(1)))]);
    let cells: Vec<_> = report.cells.iter().map(|it| (it.cell, it.neighbours.clone())).collect();
    assert_eq!(cells, [(Cgi::Nr(cell(1)), Some(relations()))]);
}

#[test]
fn handover_without_subscription_proceeds_and_is_reported() {
    let (mut bench, station) = bench();
    assert!(admitted(&bench.ask(C0, &report(1, &EventTrigger::handovers(), 2, &[1, 2, 3, 4, 5, 6]))));
    station.0.lock().unwrap().decided.push((1, cell(2)));
    bench.pass(20 * MS);
    assert_eq!(station.0.lock().unwrap().handed_over, [(1, cell(2))]);
    let reports = indications(bench.take(C0));
    let [(_, IndicationFormat::Ues(ues), None)] = &reports[..] else { panic!("{reports:?}") };
    let outcome = HandedOver { ue: Name::du(101), old: Name::du(1), cell: Cgi::Nr(cell(2)) };
    assert_eq!((ues[0].ue.number(), ues[0].parameters.len()), (1, 5));
    assert_eq!(HandedOver::read(&ues[0].parameters), Some(outcome));
}

#[test]
fn response_accepts_rejects_or_redirects_waiting_handover() {
    use Decision::{Accept, Reject};
    for (decision, to, expected) in [
        (Some(Accept), None, vec![(1, cell(2))]),
        (None, Some(2), vec![(1, cell(2))]),
        (Some(Accept), Some(3), vec![(1, cell(3))]),
        (Some(Reject), None, vec![]),
    ] {
        let (mut bench, station) = bench();
        let subscription = insert(1, RicSubsequentActionType::Continue, RicTimeToWait::W1s);
        assert!(admitted(&bench.ask(C0, &subscription)));
        station.0.lock().unwrap().decided.push((1, cell(2)));
        bench.pass(100 * MS);
        let inserts = indications(bench.take(C0));
        let [(IndicationHeaderFormat::Insert(header), IndicationFormat::Insert(parameters), process)] =
            &inserts[..]
        else {
            panic!("{inserts:?}")
        };
        assert_eq!((header.ue.number(), header.style, header.indication), (1, 3, 1));
        assert_eq!(reports::target_cell(parameters), Ok(cell(2)));
        assert_eq!(*process, Some(process_octets(1)));
        assert_eq!(station.0.lock().unwrap().handed_over, [], "the handover must wait for the response");
        assert_eq!(cause(&bench.ask(C0, &answer(1, 1, decision, to))), None);
        assert_eq!(station.0.lock().unwrap().handed_over, expected);
        let late = bench.ask(C0, &answer(1, 1, decision, to));
        assert_eq!(
            cause(&late),
            Some(CauseRicRequest::RicCallProcessIdInvalid),
            "a second response to a decided handover must be refused"
        );
        bench.pass(2_000 * MS);
        assert_eq!(
            station.0.lock().unwrap().handed_over,
            expected,
            "the handover must be executed only once"
        );
    }
}

#[test]
fn subsequent_action_applies_to_handover_without_response() {
    for (kind, goes_on) in [(RicSubsequentActionType::Continue, true), (RicSubsequentActionType::Wait, false)]
    {
        let (mut bench, station) = bench();
        assert!(admitted(&bench.ask(C0, &insert(1, kind, RicTimeToWait::W50ms))));
        station.0.lock().unwrap().decided.push((2, cell(2)));
        bench.pass(40 * MS);
        assert_eq!(station.0.lock().unwrap().handed_over, []);
        bench.pass(60 * MS);
        let expected = if goes_on { vec![(2, cell(2))] } else { vec![] };
        assert_eq!(station.0.lock().unwrap().handed_over, expected, "{kind:?}");
        // No handover waits after the subscriber has disconnected.
        station.0.lock().unwrap().decided.push((1, cell(3)));
        bench.pass(20 * MS);
        bench.ask(C0, &deletion(1, DEFAULT_FUNCTION_ID));
        assert_eq!(station.0.lock().unwrap().handed_over.contains(&(1, cell(3))), goes_on, "{kind:?}");
    }
}

#[test]
fn invalid_responses_leave_handover_pending() {
    let (mut bench, station) = bench();
    let c1 = bench.add("b");
    bench.set_up(c1);
    bench.agent.associate_ue(UeId(1), c1).unwrap();
    assert!(admitted(&bench.ask(C0, &insert(1, RicSubsequentActionType::Wait, RicTimeToWait::W60s))));
    station.0.lock().unwrap().decided.push((1, cell(2)));
    bench.pass(20 * MS);
    use CauseRicRequest::*;
    let garbled = |message: Message| match message {
        Message::RicControlRequest(m) => {
            Message::RicControlRequest(RicControlRequest { message: Bytes::from_static(&[0xff]), ..m })
        }
        other => other,
    };
    let accept = Some(Decision::Accept);
    for (by, control, expected) in [
        (C0, answer(7, 1, accept, None), RicCallProcessIdInvalid),
        (C0, answer(1, 2, accept, None), RicCallProcessIdInvalid),
        (c1, answer(1, 1, accept, None), RicCallProcessIdInvalid),
        (C0, garbled(answer(1, 1, accept, None)), ControlMessageInvalid),
    ] {
        assert_eq!(cause(&bench.ask(by, &control)), Some(expected));
    }
    // The base station refuses the cell: the procedure ends and the UE stays.
    assert_eq!(cause(&bench.ask(C0, &answer(1, 1, accept, Some(9)))), Some(ControlFailedToExecute));
    assert_eq!(cause(&bench.ask(C0, &answer(1, 1, accept, None))), Some(RicCallProcessIdInvalid));
    assert_eq!(station.0.lock().unwrap().handed_over, []);
}

#[test]
fn handovers_beyond_limit_proceed_without_insert() {
    let (mut bench, station) = bench();
    assert!(admitted(&bench.ask(C0, &insert(1, RicSubsequentActionType::Wait, RicTimeToWait::W60s))));
    station.0.lock().unwrap().decided.extend((0..=PROCESSES_MAX).map(|_| (1, cell(2))));
    bench.pass(20 * MS);
    assert_eq!(station.0.lock().unwrap().handed_over.len(), 1);
}

#[test]
fn second_controller_gets_state_of_its_ues_including_release() {
    let (mut bench, station) = bench();
    let c1 = bench.add("b");
    bench.set_up(c1);
    bench.agent.associate_ue(UeId(2), c1).unwrap();
    assert!(admitted(&bench.ask(c1, &report(1, &EventTrigger::states(), 4, &[202]))));
    // The agent has removed the UE before the base station reports the event.
    (1..=2).for_each(|ue| bench.agent.ue_left(UeId(ue)));
    let gone = |number| RcEvent::State { number, state: RrcState::Idle };
    station.0.lock().unwrap().events.extend([gone(1), gone(2)]);
    bench.pass(20 * MS);
    let reports = indications(bench.take(c1));
    let [(_, IndicationFormat::Ues(ues), _)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(ues[0].ue.number(), 2);
}

#[test]
fn unsupported_requests_are_refused_with_cause() {
    let (mut bench, _) = bench();
    use CauseRicRequest::*;
    let node = TriggerFormat::Node(vec![NodeChange { condition: 1, change: 1, cells: None, or: None }]);
    let elsewhere = ProcessTrigger { process: 3, breakpoint: 2, node: None, ues: None };
    let group = UeChange {
        condition: 1,
        trigger: ChangeOf::RrcState(vec![StateChange { to: RrcState::Any, or: None }]),
        ues: Some(vec![UeCondition { id: 1, ue: UeKind::Group(tests()), or: None }]),
        or: None,
    };
    let message = |message, direction, events| {
        let event = MessageEvent { condition: 1, message, direction, ues: None, events, or: None };
        TriggerFormat::Messages(MessageTrigger { messages: vec![event], ues: None })
    };
    let release = |nr| MessageType::Rrc(CopiedMessage::Release.id(nr));
    let measured = RrcMessage { class: RrcClass::Nr(NrClass::UlDcch), message: 1 };
    let between = InterfaceMessage { interface: Interface::Ng, id: None, message: None };
    // Version 2.03 has no cause for event triggers.
    let triggers = [
        node,
        TriggerFormat::Process(elsewhere),
        TriggerFormat::Ues(vec![group]),
        message(release(false), None, None),
        message(release(true), Some(Direction::Incoming), None),
        message(release(true), None, Some(vec![UeEvent { event: 1, or: None }])),
        message(MessageType::Rrc(measured), None, None),
        message(MessageType::Interface(between), None, None),
    ];
    for format in triggers {
        let answers = bench.ask(C0, &report(1, &EventTrigger { format }, 4, &[202]));
        assert_eq!(refused(&answers), Cause::RicRequest(ActionNotSupported), "{answers:?}");
    }
    for (trigger, style, parameters) in [
        (EventTrigger::states(), 2, [202]),
        (EventTrigger::states(), 4, [1]),
        (EventTrigger::handovers(), 2, [202]),
        (EventTrigger::messages(true), 1, [2]),
        (EventTrigger::messages(true), 3, [3]),
        (EventTrigger::neighbours(), 4, [202]),
    ] {
        let answers = bench.ask(C0, &report(1, &trigger, style, &parameters));
        assert_eq!(refused(&answers), Cause::RicRequest(ActionNotSupported), "{trigger:?}");
    }
    let action = ActionDefinition::handover_request();
    let answers = bench.ask(C0, &asking(1, &EventTrigger::states(), RicActionType::Insert, &action, None));
    assert_eq!(refused(&answers), Cause::RicRequest(ActionNotSupported));
}

fn tests() -> Vec<ParameterTest> {
    vec![ParameterTest { id: 1, tested: TestedAs::Key(Value::Bool(true)) }]
}
