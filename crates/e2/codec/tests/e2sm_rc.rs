//! RC: comparison with the bytes of another codec, round trips, and orders of known implementations.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

mod golden;

use std::fmt::Debug;
use std::path::Path;

use bytes::Bytes;
use golden::vector;
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId};
use ranlab_e2_codec::e2sm::rc::commands::{FlowMapping, NotAnOrder, ORDERS, Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::messages::CopiedMessage;
use ranlab_e2_codec::e2sm::rc::neighbours::*;
use ranlab_e2_codec::e2sm::rc::*;
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel, SmError, per};
use ranlab_e2_codec::per::{DecodeFault, Per};

/// Number of random values of each type.
const SEEDS: u64 = 300;

fn agrees<T: Octets + Per + Debug>(name: &str) {
    golden::agrees::<T>(name, |value, n| value.show(n));
}

#[test]
fn rc_vectors_of_pycrate_and_asn1tools_round_trip() {
    agrees::<ControlHeader>("rc_ctrl_hdr_2_6");
    agrees::<ControlHeader>("rc_ctrl_hdr_3_1");
    for name in ["1_2", "2_6_full", "2_6_short", "3_1"] {
        agrees::<ControlMessage>(&format!("rc_ctrl_msg_{name}"));
    }
    agrees::<ControlOutcome>("rc_ctrl_outcome_f1");
    agrees::<EventTrigger>("rc_event_trigger_f4");
    agrees::<ActionDefinition>("rc_actdef_f1");
    agrees::<IndicationHeader>("rc_ind_hdr_f1");
    agrees::<IndicationMessage>("rc_ind_msg_f2");
}

#[test]
fn flexric_definition_round_trips() {
    let octets = vector("flexric_v2_rc_ranfunc.bin");
    let definition = FunctionDefinition::decode_as(Encoding::Per, &octets).unwrap();
    assert_eq!(definition.to_octets(Encoding::Per).unwrap(), octets);
    assert_eq!(definition.name.oid, OID);
}

#[test]
fn modified_text_vectors_round_trip() {
    fn again<T: Per + Debug>(name: &str) -> T {
        let octets = vector(name);
        let (value, text) = per::decode_either::<T>(&octets).unwrap();
        assert_eq!(text, per::Text::Modified, "{name}");
        let mut written = Vec::new();
        per::encode_in(&value, text, &mut written).unwrap();
        assert_eq!(written, octets, "{name}");
        value
    }
    again::<ControlHeader>("flexric_modified_rc_ctrl_hdr_2_6.bin");
    again::<IndicationHeader>("flexric_modified_rc_ind_hdr_f1.bin");
}

fn comes_back<T: Per + Octets + PartialEq + Debug>() {
    for seed in 0..SEEDS {
        let value: T = per::sample(seed).unwrap();
        let octets = value.to_octets(Encoding::Per).unwrap();
        assert_eq!(T::decode_as(Encoding::Per, &octets).as_ref(), Ok(&value), "seed {seed}");
        for end in (0..octets.len()).step_by(1 + octets.len() / 50) {
            assert!(per::decode::<T>(octets.slice(..end)).is_err(), "seed {seed}, {end}");
        }
    }
}

#[test]
fn random_values_round_trip_and_prefixes_fail() {
    comes_back::<EventTrigger>();
    comes_back::<ActionDefinition>();
    comes_back::<IndicationHeader>();
    comes_back::<IndicationMessage>();
    comes_back::<ControlHeader>();
    comes_back::<ControlMessage>();
    comes_back::<ControlOutcome>();
    comes_back::<CallProcessId>();
    comes_back::<FunctionDefinition>();
}

#[test]
fn parameter_tree_that_is_too_deep_is_refused() {
    let deep = |levels| {
        let leaf = Parameter::key(1, Value::Bool(true));
        let tree = (0..levels).fold(leaf, |inner, _| Parameter::structure(1, vec![inner]));
        ControlMessage::from(vec![tree]).to_octets(Encoding::Per).unwrap()
    };
    assert!(ControlMessage::decode_as(Encoding::Per, &deep(10)).is_ok());
    let refused = ControlMessage::decode_as(Encoding::Per, &deep(2_000)).unwrap_err();
    assert!(
        matches!(&refused, SmError::Decode(e) if matches!(e.fault, DecodeFault::TooDeep(_))),
        "{refused}"
    );
}

fn read(name: &str, style: i64, action: u16) -> Result<Order, NotAnOrder> {
    let message = ControlMessage::decode_as(Encoding::Per, &vector(name)).unwrap();
    Order::read(&ControlHeader::action(UeId::du(7), style, action), &message)
}

#[test]
fn control_orders_are_decoded_in_every_known_form() {
    let plmn = Plmn::new(1, 1, 2);
    let slice = Snssai { sst: 1, sd: Some(1) };
    let quotas = Order::SliceQuotas(vec![SliceQuota { plmn, slice, min: 10, max: 50, dedicated: 5 }]);
    assert_eq!(read("rc_ctrl_msg_2_6_full.bin", 2, 6).as_ref(), Ok(&quotas));
    assert_eq!(read("rc_ctrl_msg_2_6_short.bin", 2, 6).as_ref(), Ok(&quotas));
    let handover = Order::Handover(NrCgi { plmn, cell: 0x66_c001 });
    assert_eq!(read("rc_ctrl_msg_3_1.bin", 3, 1).as_ref(), Ok(&handover));
    let flow = |qfi, indication| FlowMapping { qfi, indication };
    let flows = Order::QosFlows { drb: 4, flows: vec![flow(10, 1), flow(11, 0)] };
    assert_eq!(read("rc_ctrl_msg_1_2.bin", 1, 2).as_ref(), Ok(&flows));
    for (order, name) in [(quotas, "2_6_full"), (handover.clone(), "3_1"), (flows, "1_2")] {
        let octets = order.message().to_octets(Encoding::Per).unwrap();
        assert_eq!(octets, vector(&format!("rc_ctrl_msg_{name}.bin")), "{name}");
    }
    // The same cell in eight bytes, as OpenAirInterface expects it.
    let octets = Bytes::from_static(&[0x00, 0xf1, 0x10, 0x00, 0x06, 0x6c, 0x00, 0x10]);
    let short = ControlMessage::from(vec![Parameter::element(4, Value::Octets(octets))]);
    assert_eq!(Order::read(&ControlHeader::action(UeId::du(7), 3, 1), &short), Ok(handover));
}

#[test]
fn invalid_order_fails_with_the_missing_part() {
    let unknown = NotAnOrder::Unknown { style: 9, action: 1 };
    assert_eq!(read("rc_ctrl_msg_3_1.bin", 9, 1), Err(unknown));
    assert_eq!(read("rc_ctrl_msg_3_1.bin", 2, 6), Err(NotAnOrder::Missing(1)));
    assert_eq!(read("rc_ctrl_msg_2_6_full.bin", 3, 1), Err(NotAnOrder::Missing(4)));
    let slice = Snssai { sst: 1, sd: None };
    let quota = SliceQuota { plmn: Plmn::new(1, 1, 2), slice, min: 0, max: 101, dedicated: 0 };
    let message = Order::SliceQuotas(vec![quota]).message();
    let refused = Order::read(&ControlHeader::action(UeId::du(7), 2, 6), &message);
    assert_eq!(refused, Err(NotAnOrder::OutOfRange { id: 12, value: 101, low: 0, high: 100 }));
}

#[test]
fn our_rc_definition_matches_its_file() {
    let definition = FunctionDefinition::of_station(true);
    let octets = definition.to_octets(Encoding::Per).unwrap();
    assert_eq!(FunctionDefinition::decode_as(Encoding::Per, &octets).as_ref(), Ok(&definition));
    assert!(octets.len() < 1_023, "FlexRIC ends at {} octets", octets.len());
    if std::env::var_os("RANLAB_BLESS").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/e2sm/rc/definition.per");
        std::fs::write(file, &octets).unwrap();
    }
    assert_eq!(octets, Rc::DEFINITION, "RANLAB_BLESS=1 writes the file again");
    assert_eq!(FunctionDefinition::of_station(false), FunctionDefinition::of_controls(&ORDERS));
}

#[test]
fn monitor_subscribes_to_supported_states() {
    let action = Rc::action(&Bytes::from_static(Rc::DEFINITION), std::time::Duration::ZERO).unwrap().unwrap();
    assert_eq!(action, ActionDefinition::report(4, [202]));
    // A prepared handover is call process 3 at breakpoint 1; each is encoded less one. The insert has style 3 and
    // format 3.
    let octets = EventTrigger::handovers().to_octets(Encoding::Per).unwrap();
    assert_eq!(octets[..], [0x08, 0, 0, 2, 0, 0, 0]);
    let octets = ActionDefinition::handover_request().to_octets(Encoding::Per).unwrap();
    assert_eq!(octets[..], [0, 1, 3, 0x40, 0, 0, 0, 0, 0, 0]);
    // Style 3, one policy: reject every handover, for any UE.
    let octets = ActionDefinition::handover_policy(Decision::Reject, None, vec![]).to_octets(Encoding::Per);
    assert_eq!(octets.unwrap()[..], [0, 1, 3, 0x20, 0, 0, 0x20, 0, 0, 1, 1, 0x40]);
    let of = |trigger: &EventTrigger| {
        let none = std::time::Duration::ZERO;
        Rc::action_at(trigger, &Bytes::from_static(Rc::DEFINITION), none).unwrap().unwrap()
    };
    for name in reports::TRIGGERS {
        let trigger = EventTrigger::named(name).unwrap();
        let (expected, numbers): (_, &[u32]) = match name {
            "states" => (4, &[202]),
            "handovers" => (2, &[1, 2, 3, 4, 6]),
            "neighbours" => (3, &[1]),
            _ => (1, &[3, 4, 6]),
        };
        assert_eq!(of(&trigger), ActionDefinition::report(expected, numbers.iter().copied()), "{name}");
    }
    let none = FunctionDefinition::of_station(false).to_octets(Encoding::Per).unwrap();
    assert!(matches!(Rc::action(&none, std::time::Duration::ZERO), Err(SmError::Absent(_))));
}

#[test]
fn reports_and_queries_round_trip() {
    let cell = NrCgi { plmn: Plmn::new(1, 1, 2), cell: 0x20 };
    let outcome = reports::HandedOver { ue: UeId::du(9), old: UeId::du(7), cell: Cgi::Nr(cell) };
    assert_eq!(reports::HandedOver::read(&outcome.parameters(&[1, 2, 3, 4, 6])), Some(outcome.clone()));
    assert_eq!(outcome.parameters(&[3, 5]), [Parameter::element(3, Value::Int(0))]);
    assert_eq!(reports::HandedOver::read(&outcome.parameters(&[1, 2])), None);
    for (state, number) in [(RrcState::Connected, 0), (RrcState::Inactive, 1), (RrcState::Idle, 2)] {
        let parameters = reports::state_changed(state);
        assert_eq!(parameters, [Parameter::element(202, Value::Int(number))]);
        assert_eq!(reports::state_of(&parameters), Some(state));
    }
    // The vector has the same bytes for "connected".
    let octets = vector("rc_ind_msg_f2.bin");
    let message = IndicationMessage::decode_as(Encoding::Per, &octets).unwrap();
    let IndicationFormat::Ues(ues) = message.format else { panic!() };
    assert_eq!(reports::state_of(&ues[0].parameters), Some(RrcState::Connected));
    assert_eq!(reports::target_cell(&reports::handover_request(cell)), Ok(cell));
    assert_eq!(reports::target_cell(&[]), Err(NotAnOrder::Missing(4)));
    let trigger = EventTrigger::states().to_octets(Encoding::Per).unwrap();
    assert_eq!(trigger, vector("rc_event_trigger_f4.bin"));
}

#[test]
fn policies_round_trip() {
    use policy::{PolicyEffect, Test};
    let slice = Snssai { sst: 1, sd: Some(0x10203) };
    let quota = SliceQuota { plmn: Plmn::new(1, 1, 2), slice, min: 0, max: 20, dedicated: 0 };
    let tests = [
        Test::Slice(slice),
        Test::Slice(Snssai { sst: 2, sd: None }),
        Test::Ue(UeId::du(7)),
        Test::ConnectedUes(Comparison::LessThan, 3),
    ];
    for test in &tests {
        for or in [false, true] {
            assert_eq!(Test::read(&test.parameter(or)), Ok((test.clone(), or)));
        }
    }
    let condition: policy::Condition = tests.into_iter().map(|test| (test, true)).collect();
    let cell = NrCgi { plmn: Plmn::new(1, 1, 2), cell: 0x20 };
    for (style, policies) in [
        (
            2,
            vec![
                (PolicyEffect::Obey(Order::SliceQuotas(vec![quota])), condition),
                (PolicyEffect::Obey(Order::SliceQuotas(vec![quota, quota])), vec![]),
            ],
        ),
        (
            3,
            vec![
                (PolicyEffect::Decide(Decision::Reject), vec![]),
                (PolicyEffect::Obey(Order::Handover(cell)), vec![]),
            ],
        ),
    ] {
        let octets = ActionDefinition::policies(style, policies.clone()).to_octets(Encoding::Per).unwrap();
        let read = ActionDefinition::decode_as(Encoding::Per, &octets).unwrap();
        let ActionFormat::Policy(of) = &read.format else { panic!() };
        assert_eq!(policy::read(read.style, of), Ok(policies.clone()));
        assert!(policy::read(1, of).is_err(), "style 1 must have no policies");
    }
}

#[test]
fn message_copies_and_neighbours_become_rows() {
    let rows = |message: IndicationMessage| {
        let header =
            IndicationHeader { format: IndicationHeaderFormat::Report(ReportHeader { condition: Some(1) }) };
        let octets = message.to_octets(Encoding::Per).unwrap();
        let message = IndicationMessage::decode_as(Encoding::Per, &octets).unwrap();
        let mut table = ranlab_e2_codec::e2sm::Table::default();
        Rc::tabulate(&header, &message, &mut table);
        let row = |(_, values): (_, &[ranlab_e2_codec::e2sm::Value])| {
            values[..5].iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
        };
        table.rows().map(row).collect::<Vec<_>>()
    };
    let cell = NrCgi { plmn: Plmn::new(1, 1, 2), cell: 0x20 };
    let copy = reports::message_copy(CopiedMessage::SetupComplete, &UeId::du(7), &Cgi::Nr(cell), &[3, 4]);
    let texts = rows(IndicationMessage { format: IndicationFormat::Parameters(copy) });
    assert_eq!(texts, ["gnb-du 7|report|3|RRC Message|10000000", "gnb-du 7|report|4|UE ID|1007"]);
    let frequency =
        NrFrequency { arfcn: 428_000, bands: vec![NrBand { band: 1, supplementary: vec![] }], shift: None };
    let neighbour = NrNeighbour {
        cell,
        pci: 2,
        tac: [0, 0, 1],
        duplex: Duplex::Fdd,
        frequency,
        connected: Truth::True,
        handover: Truth::False,
        version: 1,
    };
    let neighbours = NeighbourRelations {
        pci: ServingPci::Nr(1),
        arfcn: ServingArfcn::Nr(428_000),
        neighbours: vec![Neighbour::Nr(neighbour)],
    };
    let change =
        CellChange { cell: Cgi::Nr(cell), context: None, deleted: None, neighbours: Some(neighbours) };
    let texts = rows(IndicationMessage { format: IndicationFormat::Cells(vec![change]) });
    let name = |row: &str| row.split('|').skip(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(name(&texts[0]), ["Cell changed", "001.01 000000020"]);
    assert_eq!(name(&texts[1]), ["Neighbour", "001.01 000000020, PCI 2, not handed over to yet"]);
    for nr in [true, false] {
        for copied in CopiedMessage::ALL {
            assert_eq!(CopiedMessage::from_trigger(copied.id(nr), nr), Some(copied));
            assert_eq!(CopiedMessage::from_trigger(copied.id(nr), !nr), None);
        }
        let trigger = EventTrigger::messages(nr).to_octets(Encoding::Per).unwrap();
        assert_eq!(EventTrigger::decode_as(Encoding::Per, &trigger), Ok(EventTrigger::messages(nr)));
    }
    let trigger = EventTrigger::neighbours().to_octets(Encoding::Per).unwrap();
    assert_eq!(EventTrigger::decode_as(Encoding::Per, &trigger), Ok(EventTrigger::neighbours()));
}

#[test]
fn indication_rows_name_ue_and_event() {
    let octets = vector("rc_ind_msg_f2.bin");
    let message = IndicationMessage::decode_as(Encoding::Per, &octets).unwrap();
    let report =
        |condition| IndicationHeader { format: IndicationHeaderFormat::Report(ReportHeader { condition }) };
    let words = |header: &IndicationHeader, message: &IndicationMessage| {
        let mut table = ranlab_e2_codec::e2sm::Table::default();
        Rc::tabulate(header, message, &mut table);
        let row = |(_, values): (_, &[ranlab_e2_codec::e2sm::Value])| {
            values[1..5].iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
        };
        table.rows().map(row).collect::<Vec<_>>()
    };
    assert_eq!(words(&report(Some(1)), &message), ["report|202|RRC State Changed To|0"]);
    let cell = NrCgi { plmn: Plmn::new(1, 1, 2), cell: 0x20 };
    let asked = IndicationMessage { format: IndicationFormat::Insert(reports::handover_request(cell)) };
    let rows = words(&IndicationHeader::handover_request(UeId::du(7)), &asked);
    assert_eq!(rows, ["insert|1.2.3.4|Target Primary Cell ID|0000f1100000000200"]);
}

#[test]
fn impossible_quotas_are_refused() {
    use ranlab_e2_codec::e2sm::rc::commands::OrderFault;
    let quota = |sst, min, max, dedicated| SliceQuota {
        plmn: Plmn::new(310, 410, 3),
        slice: Snssai::new(sst, Some(0xff_ffff)),
        min,
        max,
        dedicated,
    };
    let check = |quotas: &[SliceQuota]| Order::SliceQuotas(quotas.to_vec()).check();
    assert_eq!(check(&[quota(1, 30, 100, 10), quota(2, 70, 80, 0)]), Ok(()));
    assert_eq!(quota(1, 0, 1, 0).slice, Snssai { sst: 1, sd: None });
    assert!(matches!(check(&[quota(1, 60, 30, 0)]), Err(OrderFault::MinAboveMax { min: 60, max: 30, .. })));
    assert!(matches!(check(&[quota(1, 10, 30, 20)]), Err(OrderFault::DedicatedAboveMin { .. })));
    assert!(matches!(check(&[quota(1, 0, 200, 0)]), Err(OrderFault::Percent { value: 200, .. })));
    let sum = check(&[quota(1, 60, 100, 0), quota(2, 50, 100, 0)]);
    assert!(matches!(sum, Err(OrderFault::Sum { what: "minimum", sum: 110 })), "{sum:?}");
    assert!(matches!(check(&[quota(1, 0, 9, 0), quota(1, 0, 8, 0)]), Err(OrderFault::Twice { .. })));
    let cell = NrCgi { plmn: Plmn::new(1, 1, 2), cell: 1 << 36 };
    assert!(matches!(Order::Handover(cell).check(), Err(OrderFault::Cell(_))));
    // PLMN 310-410 is encoded as 13 40 01 in the order, as by OCUDU.
    let message = Order::SliceQuotas(vec![quota(1, 0, 9, 0)]).message();
    let octets = message.to_octets(Encoding::Per).unwrap();
    assert!(octets.windows(3).any(|it| it == [0x13, 0x40, 0x01]), "{octets:02x?}");
}
