use super::*;
use crate::agent::{
    AgentEvent, Radio, SouthboundAgent, SouthboundController, StreamFaults, StreamPair, Ue, UeChange, UeEvent,
};

const MS: Duration = Duration::from_millis(1);

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn settings() -> EmpowerAgentSettings {
    EmpowerAgentSettings::new(Mac::local(1), 3)
}

fn event(imsi: u64, change: UeChange) -> AgentInput<'static> {
    AgentInput::Ue(UeEvent { at: Time::ZERO, imsi, change })
}

fn up(imsi: u64) -> AgentInput<'static> {
    let radio = Radio { rsrp_dbm: -90, rsrq_db: -5, prbs: 2, ..Radio::default() };
    event(imsi, UeChange::Activated(Ue { imsi, tmsi: 1, rnti: None, radio }))
}

fn v1(faults: StreamFaults, seed: u64) -> StreamPair<EmpowerAgent1, EmpowerSession1> {
    let controller = EmpowerSession1::new(EmpowerSessionSettings::default());
    StreamPair::new(EmpowerAgent1::new(settings()), controller, faults, seed)
}

fn v2(faults: StreamFaults, seed: u64) -> StreamPair<EmpowerAgent2, EmpowerSession2> {
    let controller = EmpowerSession2::new(EmpowerSessionSettings::default());
    StreamPair::new(EmpowerAgent2::new(settings()), controller, faults, seed)
}

fn measured(events: &[EmpowerEvent]) -> usize {
    events.iter().filter(|event| matches!(event, EmpowerEvent::UeMeasured { .. })).count()
}

fn five_phases<A: SouthboundAgent, C: SouthboundController<Event = EmpowerEvent>>(
    mut pair: StreamPair<A, C>,
) {
    pair.run_until(at(20));
    assert!(pair.agent.is_reporting(), "{:?}", pair.controller_events);
    assert!(
        pair.controller_events.iter().any(|event| matches!(event, EmpowerEvent::Capabilities { pci: 3, .. }))
    );
    pair.tell_agent(up(7));
    pair.tell_agent(up(8));
    pair.run_until(at(100));
    let ups = |event: &&EmpowerEvent| matches!(event, EmpowerEvent::UeUp(_));
    assert_eq!(pair.controller_events.iter().filter(ups).count(), 2);
    pair.controller_events.clear();
    pair.run_until(at(10_100));
    // Each UE sends one message twice a second.
    assert_eq!(measured(&pair.controller_events), 40);
    assert!(!pair.controller_events.contains(&EmpowerEvent::Discarded));
    pair.tell_agent(event(7, UeChange::Deactivated));
    pair.controller_events.clear();
    pair.run_until(at(11_100));
    let downs = |event: &EmpowerEvent| matches!(event, EmpowerEvent::UeDown(ue) if ue.imsi == 7);
    assert!(pair.controller_events.iter().any(downs));
    assert_eq!(measured(&pair.controller_events), 2);
    assert_eq!(pair.agent.counters().faults, 0);
    // While the base station has control, hellos continue and measurements stop.
    pair.tell_agent(AgentInput::Delegated(true));
    pair.controller_events.clear();
    pair.run_until(at(30_000));
    assert_eq!(measured(&pair.controller_events), 0);
    assert_eq!(pair.resets, 0, "hellos must keep the connection open");
}

#[test]
fn version_1_completes_all_five_phases() {
    five_phases(v1(StreamFaults::delay(MS), 1));
}

#[test]
fn version_2_completes_all_five_phases() {
    five_phases(v2(StreamFaults::delay(MS), 1));
}

#[test]
fn initialisation_time_ends_at_requests_and_reports() {
    let mut pair = v1(StreamFaults::delay(MS), 1);
    pair.run_until(at(20));
    // The hello, the request, the response, and the further requests need 1 ms each, which is 4 ms in total.
    let expected = AgentEvent::Initialised { to_requests: 4 * MS, to_reporting: 4 * MS };
    assert_eq!(
        pair.agent_events.iter().filter(|event| matches!(event, AgentEvent::Initialised { .. })).count(),
        1
    );
    assert!(pair.agent_events.contains(&expected), "{:?}", pair.agent_events);
}

#[test]
fn version_1_supports_slices_and_handovers() {
    let mut pair = v1(StreamFaults::delay(MS), 1);
    pair.tell_agent(up(7));
    pair.run_until(at(20));
    pair.agent_events.clear();
    pair.controller.set_slice(8, 2, &[61]);
    pair.controller.request_slice(8);
    pair.controller.hand_over(61, Mac::local(2), 4);
    pair.controller.remove_slice(8);
    pair.run_until(at(40));
    let expected = [
        AgentEvent::Refused("the base station does not support RntiList of TLV".to_owned()),
        AgentEvent::Slice { slice: 8, rbgs: 2 },
        AgentEvent::Handover { rnti: 61, target_station: Some(0x024d_0000_0002), target_pci: 4 },
        AgentEvent::Slice { slice: 8, rbgs: 0 },
    ];
    assert_eq!(pair.agent_events, expected);
    assert!(pair.controller_events.contains(&EmpowerEvent::Slice { dscp: 8, rbgs: 2 }));
    let ue = Ue { imsi: 9, tmsi: 1, rnti: None, radio: Radio::default() };
    pair.tell_agent(event(9, UeChange::Arrived { ue, station: 0x024d_0000_0005, pci: 2, rnti: 70 }));
    pair.run_until(at(60));
    assert!(pair.controller_events.contains(&EmpowerEvent::HandedOver { origin_rnti: 70, target_rnti: 62 }));
    // Only the eight announced slices are accepted. A ninth slice is refused.
    (20..30).for_each(|dscp| pair.controller.set_slice(dscp, 1, &[]));
    pair.agent_events.clear();
    pair.run_until(at(80));
    assert_eq!(pair.agent_events.len(), 7);
}

#[test]
fn measurements_of_version_2_end_on_request() {
    let mut pair = v2(StreamFaults::delay(MS), 1);
    pair.tell_agent(up(7));
    pair.run_until(at(2_000));
    assert!(measured(&pair.controller_events) >= 3);
    let level = |event: &EmpowerEvent| matches!(event, EmpowerEvent::UeMeasured { rsrp: 51, rsrq: 30, .. });
    assert!(pair.controller_events.iter().any(level));
    pair.controller.stop_measurements();
    pair.run_until(at(2_010));
    pair.controller_events.clear();
    pair.run_until(at(5_000));
    assert_eq!(measured(&pair.controller_events), 0);
    assert!(pair.controller_events.iter().any(|event| matches!(event, EmpowerEvent::CellMeasured { .. })));
}

/// An agent connects, and sends nothing after its first hello.
#[test]
fn silence_of_three_intervals_ends_the_connection() {
    let mut session = EmpowerSession1::new(EmpowerSessionSettings::default());
    let mut agent = EmpowerAgent1::new(settings());
    use crate::agent::{AgentOutput, ControllerInput, ControllerOutput};
    agent.handle(at(0), AgentInput::Connecting);
    agent.handle(at(0), AgentInput::Connected);
    while let Some(output) = agent.poll() {
        if let AgentOutput::Send { octets, .. } = output {
            session.handle(at(0), ControllerInput::Received(&octets));
        }
    }
    assert_eq!(session.wake_at(), Some(at(6_000)));
    session.handle(at(5_999), ControllerInput::Wake);
    while let Some(output) = session.poll() {
        assert_ne!(output, ControllerOutput::Close);
    }
    session.handle(at(6_000), ControllerInput::Wake);
    let mut closed = false;
    while let Some(output) = session.poll() {
        closed |= output == ControllerOutput::Close;
    }
    assert!(closed);
}

#[test]
fn agents_reconnect_after_resets_cuts_and_damage() {
    let mut connections = 0;
    for seed in 0..15 {
        let faults = StreamFaults {
            jitter: 2 * MS,
            piece_bytes: 60,
            reset_permille: 5,
            damage_permille: if seed % 3 == 0 { 5 } else { 0 },
            reconnect: 20 * MS,
            ..StreamFaults::delay(MS)
        };
        let mut one = v1(faults, seed);
        let mut two = v2(faults, seed);
        for imsi in 0..20 {
            one.tell_agent(up(imsi));
            two.tell_agent(up(imsi));
            one.run_until(one.now + 300 * MS);
            two.run_until(two.now + 300 * MS);
        }
        assert_eq!((one.agent.ues(), two.agent.ues()), (20, 20));
        if seed % 3 != 0 {
            assert_eq!((one.agent.counters().faults, two.agent.counters().faults), (0, 0));
            assert!(one.agent.counters().initialised > 0 && two.agent.counters().initialised > 0);
        }
        connections += one.agent.counters().connections;
    }
    assert!(connections > 20, "{connections}");
}

#[test]
fn report_with_unknown_xid_is_discarded() {
    use crate::agent::{ControllerInput, ControllerOutput};
    use crate::empower::protocol::v1::*;
    let mut session = EmpowerSession1::new(EmpowerSessionSettings::default());
    let header =
        Header { enb: Mac::local(1).into(), cell: 3, xid: 0, reserved: 0, sender: Sender::Agent, seq: 1 };
    let timing = Timing::Scheduled { interval_ms: 2000 };
    let hello = Pdu { header, timing, opcode: Opcode::Unspecified, body: Body::Hello(0) };
    let report = RrcMeasureReport { measure_id: 1, pci: 3, rsrp: 60, rsrq: 3 };
    let body = Body::UeMeasureReport(vec![Tlv::RrcMeasureReport(report)]);
    let header = Header { xid: 999, ..header };
    let mut octets = Vec::new();
    hello.encode(&mut octets).unwrap();
    Pdu { header, timing: Timing::Triggered, opcode: Opcode::Success, body }.encode(&mut octets).unwrap();
    session.handle(at(0), ControllerInput::Received(&octets));
    let mut events = Vec::new();
    while let Some(output) = session.poll() {
        if let ControllerOutput::Event(event) = output {
            events.push(event);
        }
    }
    assert!(matches!(events[..], [EmpowerEvent::Hello { .. }, EmpowerEvent::Discarded]), "{events:?}");
}

/// MARC's agents process the first message of a read, and discard the others. Cell 0 in their headers identifies these agents.
#[test]
fn one_message_agent_gets_one_request_at_a_time() {
    use crate::agent::{ControllerInput, ControllerOutput};
    use crate::empower::protocol::v1::*;
    let pieces = |cell: u16| {
        let mut session = EmpowerSession1::new(EmpowerSessionSettings::default());
        let mut requests: Vec<Vec<&str>> = Vec::new();
        let header = |xid| {
            let enb = Mac::local(1).into();
            Header { enb, cell, xid, reserved: 0, sender: Sender::Agent, seq: 5 }
        };
        let caps = CellCaps { pci: 3, features: Features::ALL, ..CellCaps::default() };
        let ran = RanCaps { pci: 3, layer2: 1, ..RanCaps::default() };
        let slice = SliceId { plmn: [0; 4], dscp: 0, padding: [0; 3] };
        let say = |session: &mut EmpowerSession1, timing, body, now| {
            let mut octets = Vec::new();
            (Pdu { header: header(1), timing, opcode: Opcode::Unspecified, body })
                .encode(&mut octets)
                .unwrap();
            session.handle(now, ControllerInput::Received(&octets));
        };
        let mut record_requests = |session: &mut EmpowerSession1| {
            let mut piece = Vec::new();
            while let Some(output) = session.poll() {
                let ControllerOutput::Send(octets) = output else { continue };
                piece.push(match decode(&octets).unwrap().body {
                    Body::CapsRequest(_) => "capabilities",
                    Body::UeReportRequest(_) => "ues",
                    Body::SliceRequest(_, tlvs) if tlvs.is_empty() => "slice",
                    Body::SliceRequest(..) => "set",
                    Body::CellMeasureRequest(_) => "cell",
                    _ => "other",
                });
            }
            requests.push(piece);
        };
        say(&mut session, Timing::Scheduled { interval_ms: 2_000 }, Body::Hello(0), at(0));
        record_requests(&mut session);
        say(
            &mut session,
            Timing::Single,
            Body::CapsResponse(vec![Tlv::CellCaps(caps), Tlv::RanCaps(ran)]),
            at(1),
        );
        record_requests(&mut session);
        say(&mut session, Timing::Triggered, Body::UeReport(Vec::new()), at(2));
        record_requests(&mut session);
        // An agent that does not respond gets the next request after a timeout.
        if cell == 1 {
            session.handle(at(400), ControllerInput::Wake);
            record_requests(&mut session);
            session.handle(at(502), ControllerInput::Wake);
        } else {
            say(&mut session, Timing::Single, Body::SliceResponse(slice, Vec::new()), at(3));
        }
        record_requests(&mut session);
        requests
    };
    assert_eq!(pieces(0), [&["capabilities"][..], &["ues"], &["slice"], &["set", "cell"]]);
    assert_eq!(pieces(1), [&["capabilities"][..], &["ues"], &["slice"], &[], &["set", "cell"]]);
    assert_eq!(
        pieces(3)[..2],
        [&["capabilities"][..], &["ues", "slice", "set", "cell"]],
        "other agents must get all requests at once"
    );
}
