//! RC at an agent: executed controls, and causes of refusals.
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::rc::{self, RcControl};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::common::{NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::per::{Text, decode_in, encode_in};
use ranlab_e2_codec::e2sm::rc::commands::{FlowMapping, Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::{
    ControlHeader, ControlMessage, ControlOutcome, DEFAULT_FUNCTION_ID, OutcomeFormat, OutcomeValue, Value,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::sync::{Arc, Mutex};

const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);

/// UEs and the orders for them.
type Obeyed = Arc<Mutex<Vec<(u32, Order)>>>;

/// A station that refuses handovers to cell 9.
struct Station(Obeyed);

impl RcControl for Station {
    fn execute(&mut self, _: Time, number: u32, order: &Order) -> Result<(), Refusal> {
        if matches!(order, Order::Handover(NrCgi { cell: 9, .. })) {
            return Err(Refusal::new(Reason::Invalid, "no cell 9"));
        }
        self.0.lock().unwrap().push((number, order.clone()));
        Ok(())
    }
}

fn bench() -> (AgentDriver, Obeyed) {
    let obeyed = Obeyed::default();
    let mut agent = Agent::new(config());
    agent.register(rc::function(Station(Arc::clone(&obeyed))), Some(DEFAULT_FUNCTION_ID)).unwrap();
    let mut bench = AgentDriver::up(agent, Version::V2_03);
    (1..=2).for_each(|ue| bench.agent.ue_arrived(UeId(ue)).unwrap());
    (bench, obeyed)
}

fn control(header: &ControlHeader, message: &ControlMessage) -> RicControlRequest {
    RicControlRequest {
        request_id: request_id(1),
        function_id: DEFAULT_FUNCTION_ID,
        call_process_id: None,
        header: header.to_octets(Encoding::Per).unwrap(),
        message: message.to_octets(Encoding::Per).unwrap(),
        ack_request: ACK,
    }
}

fn ordering(ue: u32, order: &Order) -> RicControlRequest {
    let (style, action) = order.action();
    control(&ControlHeader::action(Name::du(ue), style, action), &order.message())
}

fn handover(cell: u64) -> Order {
    Order::Handover(NrCgi { plmn: PLMN, cell })
}

fn quotas(max: u8) -> Order {
    let slice = Snssai { sst: 1, sd: None };
    Order::SliceQuotas(vec![SliceQuota { plmn: PLMN, slice, min: 0, max, dedicated: 0 }])
}

/// Returns cause and outcome text of a refusal, or `None` for an acknowledgement.
fn refused(answers: &[Message]) -> Option<(CauseRicRequest, Option<String>)> {
    match answers {
        [Message::RicControlAcknowledge(_)] => None,
        [Message::RicControlFailure(m)] => {
            let Cause::RicRequest(cause) = m.cause else { panic!("{m:?}") };
            let text = m.outcome.as_ref().map(|outcome| {
                let outcome = ControlOutcome::decode_as(Encoding::Per, outcome).unwrap();
                let OutcomeFormat::Values(values) = outcome.format else { panic!() };
                let [OutcomeValue { id: rc::REASON, value: Value::Text(why) }] = &values[..] else {
                    panic!()
                };
                why.clone()
            });
            Some((cause, text))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn controls_are_executed_and_acknowledged() {
    let (mut bench, obeyed) = bench();
    for order in [quotas(50), handover(5)] {
        assert_eq!(refused(&bench.ask(C0, &Message::RicControlRequest(ordering(2, &order)))), None);
    }
    assert_eq!(*obeyed.lock().unwrap(), [(2, quotas(50)), (2, handover(5))]);
}

#[test]
fn each_refusal_has_its_cause() {
    let (mut bench, obeyed) = bench();
    let flows = Order::QosFlows { drb: 1, flows: vec![FlowMapping { qfi: 1, indication: 0 }] };
    let unknown = control(&ControlHeader::action(Name::du(1), 4, 1), &handover(5).message());
    let lacking = control(&ControlHeader::action(Name::du(1), 3, 1), &quotas(50).message());
    let waiting =
        RicControlRequest { call_process_id: Some(Bytes::from_static(&[1])), ..ordering(1, &handover(5)) };
    let garbled = RicControlRequest { message: Bytes::from_static(&[0xff]), ..ordering(1, &handover(5)) };
    use CauseRicRequest::*;
    for (request, cause, why) in [
        (unknown, ActionNotSupported, None),
        (ordering(1, &flows), ActionNotSupported, None),
        (lacking, ControlMessageInvalid, None),
        (ordering(1, &quotas(101)), ControlMessageInvalid, None),
        (garbled, ControlMessageInvalid, None),
        (waiting, RicCallProcessIdInvalid, None),
        (ordering(1, &handover(9)), ControlFailedToExecute, Some("no cell 9")),
    ] {
        let expected = Some((cause, why.map(str::to_owned)));
        assert_eq!(refused(&bench.ask(C0, &Message::RicControlRequest(request))), expected);
    }
    assert!(obeyed.lock().unwrap().is_empty());
}

/// FlexRIC 2.0's RIC and xApps abort on a refusal; their controls follow its modified ASN.1.
#[test]
fn refused_control_of_flexric_is_acknowledged_with_reason() {
    let (mut bench, obeyed) = bench();
    let flows = Order::QosFlows { drb: 5, flows: vec![FlowMapping { qfi: 10, indication: 1 }] };
    for (order, reason) in [(flows, None), (handover(9), Some("not executed: no cell 9"))] {
        let (style, action) = order.action();
        let in_modified = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut octets = Vec::new();
            write(&mut octets);
            Bytes::from(octets)
        };
        let header = ControlHeader::action(Name::du(1), style, action);
        let request = RicControlRequest {
            header: in_modified(&|out| encode_in(&header, Text::Modified, out).unwrap()),
            message: in_modified(&|out| encode_in(&order.message(), Text::Modified, out).unwrap()),
            ..ordering(1, &order)
        };
        let answers = bench.ask(C0, &Message::RicControlRequest(request));
        let [Message::RicControlAcknowledge(m)] = &answers[..] else { panic!("{answers:?}") };
        let mut text = Text::Modified;
        let outcome = decode_in::<ControlOutcome>(m.outcome.as_ref().unwrap(), &mut text).unwrap();
        assert_eq!(text, Text::Modified);
        let OutcomeFormat::Values(values) = outcome.format else { panic!() };
        let [OutcomeValue { id: rc::REASON, value: Value::Text(why) }] = &values[..] else { panic!() };
        assert!(why.starts_with(reason.unwrap_or("not executed: ")), "{why}");
    }
    assert!(obeyed.lock().unwrap().is_empty());
}

#[test]
fn second_controller_controls_own_ues_but_not_carrier() {
    let (mut bench, obeyed) = bench();
    let c1 = bench.add("b");
    bench.set_up(c1);
    bench.agent.associate_ue(UeId(2), c1).unwrap();
    let cause = |answers: &[Message]| refused(answers).map(|(cause, _)| cause);
    let failed = Some(CauseRicRequest::ControlFailedToExecute);
    assert_eq!(cause(&bench.ask(c1, &Message::RicControlRequest(ordering(2, &quotas(50))))), failed);
    assert_eq!(cause(&bench.ask(c1, &Message::RicControlRequest(ordering(1, &handover(5))))), failed);
    assert_eq!(cause(&bench.ask(c1, &Message::RicControlRequest(ordering(2, &handover(5))))), None);
    assert_eq!(*obeyed.lock().unwrap(), [(2, handover(5))]);
}
