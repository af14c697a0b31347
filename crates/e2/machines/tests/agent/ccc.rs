//! CCC at an agent: reports at intervals and on change, accepted and refused writes.
use crate::driver::*;
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::ccc::{self as function, CccStation, Structures};
use ranlab_e2_codec::e2ap::Cause;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::ccc::{self, *};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn id(cell: u64) -> CellId {
    let plmn = PlmnId { mcc: "001".to_owned(), mnc: "01".to_owned() };
    CellId::Nr { plmn, cell: format!("{cell:09X}") }
}

/// A base station of one cell whose structure `O-BWP` has two numbers; the maximum is 9.
#[derive(Clone)]
struct Station(Arc<Mutex<[u64; 2]>>);

impl Station {
    fn bwp(&self) -> Attributes {
        let [start, blocks] = *self.0.lock().unwrap();
        Attributes::from_list([("startRB", json!(start)), ("numberOfRBs", json!(blocks))])
    }
}

impl CccStation for Station {
    fn definition(&self) -> FunctionDefinition {
        let structure = |name: &str| SupportedStructure { name: name.to_owned(), attributes: Vec::new() };
        let mut definition = FunctionDefinition::decode_as(Encoding::Json, &Ccc::DEFINITION.into()).unwrap();
        definition.node = vec![structure(GNB_DU)];
        definition.cells = vec![DescribedCell { cell: id(1), structures: vec![structure(BWP)] }];
        definition
    }

    fn node(&mut self) -> Structures {
        vec![(GNB_DU.to_owned(), Attributes::from_list([("gnbId", json!(5))]))]
    }

    fn cells(&mut self) -> Vec<(CellId, Structures)> {
        vec![(id(1), vec![(BWP.to_owned(), self.bwp())])]
    }

    fn write(
        &mut self,
        _: Time,
        cell: Option<&CellId>,
        writes: &[Write],
    ) -> Vec<Result<(Attributes, Attributes), ccc::Cause>> {
        let write = |write: &Write| {
            if cell != Some(&id(1)) {
                return Err(ccc::Cause::NotSupported);
            }
            let old = self.bwp();
            let start = write.new.attributes.0.get("startRB").and_then(serde_json::Value::as_u64);
            let start = start.filter(|start| *start < 10).ok_or(ccc::Cause::SemanticError)?;
            self.0.lock().unwrap()[0] = start;
            Ok((old, self.bwp()))
        };
        writes.iter().map(write).collect()
    }

    fn tstamp_us(&self, now: Time) -> i64 {
        1_700_000_000_000_000 + (now.as_nanos() / 1_000) as i64
    }
}

fn bench() -> (AgentDriver, Station) {
    let station = Station(Arc::new(Mutex::new([0, 50])));
    let mut agent = Agent::new(config());
    agent.register(function::function(station.clone()), Some(DEFAULT_FUNCTION_ID)).unwrap();
    (AgentDriver::up(agent, Version::V2_03), station)
}

fn asking(trigger: &EventTrigger, action: &ActionDefinition) -> Message {
    let definition = Some(action.to_octets(Encoding::Json).unwrap());
    Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id: request_id(1),
        function_id: DEFAULT_FUNCTION_ID,
        details: RicSubscriptionDetails {
            event_trigger: trigger.to_octets(Encoding::Json).unwrap(),
            actions: vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(0) }],
        },
        start_time: None,
        end_time: None,
    })
}

fn requested(name: &str, report: ReportType) -> ActionDefinition {
    let structure = WantedStructure { report, name: name.to_owned(), attributes: Vec::new() };
    let cells = vec![WantedCell { cell: None, structures: vec![structure] }];
    ActionDefinition { style: CELL_STYLE, format: ActionFormat::Cells { cells } }
}

fn upon_changes(of: &str) -> EventTrigger {
    let attributes = vec![AttributeName { name: of.to_owned() }];
    let structures = vec![WatchedStructure { name: "O-Bwp".to_owned(), attributes }];
    EventTrigger {
        format: TriggerFormat::Cells { cells: vec![WatchedCell { cell: Some(id(1)), structures }] },
    }
}

/// Returns reason and contents of the indications.
fn indications(messages: Vec<Message>) -> Vec<(Reason, Vec<Reported>)> {
    let read = |message| {
        let Message::RicIndication(m) = message else { panic!("{message:?}") };
        let header = IndicationHeader::decode_as(Encoding::Json, &m.header).unwrap();
        assert!(header.format.unix_us().unwrap() >= 1_700_000_000_000_000);
        match IndicationMessage::decode_as(Encoding::Json, &m.message).unwrap().format {
            MessageFormat::Cells { mut cells } => (header.format.reason, cells.remove(0).structures),
            MessageFormat::Node { structures } => (header.format.reason, structures),
        }
    };
    messages.into_iter().map(read).collect()
}

fn writing(cell: u64, style: i64, values: &[u64]) -> Message {
    let write = |start: &u64| Write {
        name: BWP.to_owned(),
        old: Values::default(),
        new: Attributes::from_list([("startRB", json!(start))]).into(),
    };
    let cells = vec![CellControlled { cell: id(cell), structures: values.iter().map(write).collect() }];
    let message = ControlMessage { format: ControlFormat::Cells { cells } };
    Message::RicControlRequest(RicControlRequest {
        request_id: request_id(9),
        function_id: DEFAULT_FUNCTION_ID,
        call_process_id: None,
        header: ControlHeader { format: ControlStyleHeader { style } }.to_octets(Encoding::Json).unwrap(),
        message: message.to_octets(Encoding::Json).unwrap(),
        ack_request: ACK,
    })
}

#[test]
fn complete_configuration_is_reported_at_intervals() {
    let (mut bench, station) = bench();
    let definition = station.definition().to_octets(Encoding::Json).unwrap();
    let action = Ccc::action(&definition, 50 * MS).unwrap().unwrap();
    let answers = bench.ask(C0, &asking(&Ccc::periodic(50 * MS).unwrap(), &action));
    assert!(matches!(answers[..], [Message::RicSubscriptionResponse(_)]), "{answers:?}");
    bench.pass(160 * MS);
    let values = Values::from(station.bwp());
    let all = Reported { change: ChangeType::None, name: BWP.to_owned(), values, old: None };
    assert_eq!(indications(bench.take(C0)), vec![(Reason::Periodic, vec![all]); 3]);
}

#[test]
fn watched_changes_are_reported_once_with_old_values() {
    for (report, left) in [(ReportType::All, 2), (ReportType::Change, 1)] {
        let (mut bench, station) = bench();
        let answers = bench.ask(C0, &asking(&upon_changes("startRB"), &requested(BWP, report)));
        assert!(matches!(answers[..1], [Message::RicSubscriptionResponse(_)]), "{answers:?}");
        let begun = indications(answers[1..].to_vec());
        assert_eq!((begun.len(), begun[0].0), (1, Reason::UponSubscription));
        station.0.lock().unwrap()[1] = 60;
        bench.pass(300 * MS);
        assert_eq!(bench.take(C0), [], "this attribute is not watched");
        station.0.lock().unwrap()[0] = 7;
        bench.pass(300 * MS);
        let reports = indications(bench.take(C0));
        let [(Reason::UponChange, structures)] = &reports[..] else { panic!("{reports:?}") };
        let [Reported { change: ChangeType::Modification, values, old: Some(old), .. }] = &structures[..]
        else {
            panic!("{structures:?}")
        };
        assert_eq!((values.attributes.0.len(), &values.attributes.0["startRB"]), (left, &json!(7)));
        assert_eq!(old.attributes.0["startRB"], json!(0));
    }
}

#[test]
fn valid_structures_are_written_and_outcome_lists_each() {
    let (mut bench, station) = bench();
    let answers = bench.ask(C0, &writing(1, CELL_STYLE, &[3, 11]));
    let [Message::RicControlAcknowledge(m)] = &answers[..] else { panic!("{answers:?}") };
    let outcome = ccc::ControlOutcome::decode_as(Encoding::Json, m.outcome.as_ref().unwrap()).unwrap();
    let OutcomeFormat::Cells { cells, received: Some(_) } = outcome.format else { panic!() };
    let Outcomes { accepted, failed } = &cells[0].outcomes;
    assert_eq!((accepted.len(), failed.len()), (1, 1));
    assert_eq!(accepted[0].current.attributes, station.bwp());
    assert_eq!(failed[0].cause, ccc::Cause::SemanticError);
    let failed = CauseRicRequest::ControlFailedToExecute;
    for (request, cause, explained) in [
        (writing(1, CELL_STYLE, &[11]), failed, true),
        (writing(2, CELL_STYLE, &[1]), failed, true),
        (writing(1, NODE_STYLE, &[1]), CauseRicRequest::ControlMessageInvalid, false),
        (writing(1, CELL_STYLE, &[1; 65]), CauseRicRequest::ControlMessageInvalid, false),
    ] {
        let answers = bench.ask(C0, &request);
        let [Message::RicControlFailure(m)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!((m.cause, m.outcome.is_some()), (Cause::RicRequest(cause), explained));
    }
    let c1 = bench.add("b");
    bench.set_up(c1);
    assert!(matches!(bench.ask(c1, &writing(1, CELL_STYLE, &[5]))[..], [Message::RicControlFailure(_)]));
    assert_eq!(station.0.lock().unwrap()[0], 3);
}

#[test]
fn unknown_structures_are_refused() {
    let (mut bench, _) = bench();
    let periodic = Ccc::periodic(50 * MS).unwrap();
    let node = ActionDefinition { style: NODE_STYLE, ..requested(BWP, ReportType::All) };
    let too_fast = EventTrigger { format: TriggerFormat::Periodic { period: 0 } };
    use CauseRicRequest::*;
    for (trigger, action, cause) in [
        (&periodic, requested("O-RUInfo", ReportType::All), ActionNotSupported),
        (&periodic, node, ActionNotSupported),
        // Version 2.03 has no cause for event triggers.
        (&too_fast, requested(BWP, ReportType::All), ActionNotSupported),
    ] {
        let answers = bench.ask(C0, &asking(trigger, &action));
        let [Message::RicSubscriptionFailure(m)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(m.cause, Some(Cause::RicRequest(cause)));
    }
}
