use super::*;
use crate::Time;
use crate::southbound::{
    AgentEvent, AgentInput, Radio, ReportPeriod, SouthboundAgent, StreamFaults, StreamPair, Ue, UeChange,
    UeEvent,
};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn settings() -> FlexranAgentSettings {
    FlexranAgentSettings {
        station: 7,
        pci: 3,
        period: ReportPeriod::Override(Duration::from_millis(50)),
        dialect: FlexranDialect::V0,
        max_ues: 200,
        phase: Duration::ZERO,
    }
}

fn pair(faults: StreamFaults, seed: u64) -> StreamPair<FlexranAgent, FlexranSession> {
    StreamPair::new(
        FlexranAgent::new(settings()),
        FlexranSession::new(SessionSettings::default()),
        faults,
        seed,
    )
}

fn event(imsi: u64, change: UeChange) -> AgentInput<'static> {
    AgentInput::Ue(UeEvent { at: Time::ZERO, imsi, change })
}

fn up(imsi: u64) -> AgentInput<'static> {
    event(imsi, UeChange::Activated(Ue { imsi, tmsi: 1, radio: Radio::default() }))
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

#[test]
fn the_five_phases_happen_in_order() {
    let mut pair = pair(StreamFaults::delay(MS), 1);
    pair.run_until(at(5));
    assert!(pair.agent.is_reporting());
    let known = pair.controller_events.iter().any(
        |event| matches!(event, FlexranEvent::Known(reply) if reply.enb_id == Some(7) && reply.cell_config.len() == 1),
    );
    assert!(known);
    // Hello there, hello back, requests there: 3 ms; replies back, request for statistics there: 5 ms.
    let expected = AgentEvent::Initialised { to_requests: 3 * MS, to_reporting: 5 * MS };
    assert_eq!(pair.agent_events, [expected]);

    pair.tell_agent(up(1));
    pair.tell_agent(up(2));
    pair.run_until(at(50));
    let rounds: Vec<usize> = pair
        .controller_events
        .iter()
        .filter_map(|event| match event {
            FlexranEvent::LogicalChannels(reply) => Some(reply.lc_ue_config.len()),
            _ => None,
        })
        .collect();
    assert_eq!(rounds, [0, 2, 2], "each round names all UEs");
    pair.controller_events.clear();
    pair.run_until(at(1_050));
    let reports = |pair: &StreamPair<FlexranAgent, FlexranSession>, ues: usize| {
        let full = |event: &&FlexranEvent| matches!(event, FlexranEvent::Statistics(reply) if reply.ue_report.len() == ues);
        pair.controller_events.iter().filter(full).count()
    };
    assert_eq!(reports(&pair, 2), 20, "twenty a second");
    pair.tell_agent(event(1, UeChange::Deactivated));
    pair.controller_events.clear();
    pair.run_until(at(1_200));
    assert_eq!(reports(&pair, 1), 3);
    assert_eq!(pair.agent.counters().rounds, 3, "the end of a UE has a round too");
}

#[test]
fn the_offered_load_is_that_of_marc() {
    // Recorded at the published controller: 72.4 Mbit/s at 1,000 messages/s from base stations with 100 UEs, 23.7 Mbit/s
    // at 651 messages/s with 50 UEs. One base station stands for all.
    for (ues, messages_per_s, mbit) in [(100, 1000.0, 72.4), (50, 651.0, 23.7)] {
        let mut pair = pair(StreamFaults::delay(MS), 1);
        (0..ues).for_each(|imsi| pair.tell_agent(up(imsi)));
        pair.run_until(at(1_000));
        let (octets, sent) = (pair.octets.0, pair.agent.counters().sent);
        pair.run_until(at(11_000));
        let sent = pair.agent.counters().sent - sent;
        assert_eq!(sent, 200, "twenty a second for ten seconds");
        let octets_per_message = (pair.octets.0 - octets) as f64 / sent as f64;
        let offered = octets_per_message * 8.0 * messages_per_s / 1e6;
        assert!((offered / mbit - 1.0).abs() < 0.03, "{offered} Mbit/s against {mbit}");
    }
}

#[test]
fn the_controllers_period_counts_if_it_is_honoured() {
    let agent = FlexranAgent::new(FlexranAgentSettings { period: ReportPeriod::Honour, ..settings() });
    let controller = FlexranSession::new(SessionSettings::default());
    let mut pair = StreamPair::new(agent, controller, StreamFaults::delay(MS), 1);
    pair.run_until(at(1_005));
    assert!((249..=251).contains(&pair.agent.counters().reports), "{:?}", pair.agent.counters());
    // Another period on request, and none when control is with the base station.
    pair.controller.request_statistics(Duration::from_millis(100));
    pair.run_until(at(2_007));
    assert!((259..=262).contains(&pair.agent.counters().reports));
    pair.tell_agent(AgentInput::Delegated(true));
    let before = pair.agent.counters().reports;
    pair.run_until(at(3_000));
    assert_eq!(pair.agent.counters().reports, before);
    pair.tell_agent(AgentInput::Delegated(false));
    pair.run_until(at(4_000));
    assert!(pair.agent.counters().reports >= before + 9);
}

#[test]
fn commands_reach_the_base_station() {
    let mut pair = pair(StreamFaults { piece_bytes: 1_000, ..StreamFaults::delay(MS) }, 1);
    pair.tell_agent(up(1));
    pair.run_until(at(10));
    pair.agent_events.clear();
    pair.controller.delegate("scheduler.so", vec![0_u8; 203_698].into());
    pair.controller.hand_over(61, 9);
    pair.controller.slice(&[(1, 4), (2, 3)]);
    pair.controller.echo(5, Some(77), Some(vec![7; 1_500].into()));
    pair.run_until(at(30));
    assert_eq!(pair.agent.counters().discarded_bytes, 203_698);
    let expected = [
        AgentEvent::Handover { rnti: 61, target_station: None, target_pci: 9 },
        AgentEvent::Slice { slice: 1, rbgs: 4 },
        AgentEvent::Slice { slice: 2, rbgs: 3 },
    ];
    assert_eq!(pair.agent_events, expected);
    let echo = |event: &FlexranEvent| {
        matches!(event, FlexranEvent::Echo(reply)
            if reply.latency == Some(77) && reply.payload.as_ref().is_some_and(|payload| payload[..] == [7; 1_500]))
    };
    assert!(pair.controller_events.iter().any(echo));
    assert_eq!(pair.agent.counters().faults, 0);
}

#[test]
fn resets_and_cuts_at_any_octet_lose_no_agent_and_no_ue() {
    let mut resets = 0;
    for seed in 0..20 {
        let faults = StreamFaults {
            jitter: 2 * MS,
            piece_bytes: 400,
            reset_permille: 10,
            reconnect: Duration::from_millis(20),
            ..StreamFaults::delay(MS)
        };
        let mut pair = pair(faults, seed);
        for imsi in 0..30 {
            pair.tell_agent(up(imsi));
            pair.run_until(pair.now + 50 * MS);
        }
        pair.run_until(pair.now + 500 * MS);
        resets += pair.resets;
        let after = pair.agent.counters().connections;
        assert!((pair.resets..=pair.resets + 1).contains(&after));
        assert_eq!((pair.agent.ues(), pair.agent.counters().faults), (30, 0), "seed {seed}");
        let initialised = pair.agent.counters().initialised;
        assert!(initialised > 0 && initialised <= after);
    }
    assert!(resets > 20, "{resets}");
}

#[test]
fn damage_is_told_and_never_a_panic() {
    let mut told = 0;
    for seed in 0..40 {
        let faults = StreamFaults { piece_bytes: 200, damage_permille: 50, ..StreamFaults::delay(MS) };
        let mut pair = pair(faults, seed);
        (0..20).for_each(|imsi| pair.tell_agent(up(imsi)));
        pair.run_until(at(2_000));
        let faults = |event: &&FlexranEvent| matches!(event, FlexranEvent::Fault(_));
        told += pair.controller_events.iter().filter(faults).count();
    }
    assert!(told > 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut pair = pair(StreamFaults { piece_bytes: 99, jitter: MS, ..StreamFaults::delay(MS) }, seed);
        (0..5).for_each(|imsi| pair.tell_agent(up(imsi)));
        pair.run_until(at(500));
        (pair.octets, pair.controller_events.len(), *pair.agent.counters())
    };
    assert_eq!(run(3), run(3));
}

#[test]
fn more_ues_than_a_body_holds_is_a_fault_that_is_told() {
    let agent = FlexranAgent::new(FlexranAgentSettings { max_ues: 4_000, ..settings() });
    let mut pair =
        StreamPair::new(agent, FlexranSession::new(SessionSettings::default()), StreamFaults::delay(MS), 1);
    (0..2_700).for_each(|imsi| pair.tell_agent(up(imsi)));
    pair.run_until(at(200));
    let told = |event: &AgentEvent| matches!(event, AgentEvent::Fault(what) if what.contains("240000"));
    assert!(pair.agent_events.iter().any(told));
    assert_eq!(pair.agent.ues(), 2_700);
    pair.tell_agent(up(9_999_999));
    pair.tell_agent(up(9_999_999));
    pair.tell_agent(event(123_456_789, UeChange::Deactivated));
    assert_eq!(pair.agent.counters().refused_ues, 2);
}

#[test]
fn every_report_is_of_the_ues_and_the_subframe_that_it_is_made_in() {
    let mut pair = pair(StreamFaults::delay(MS), 1);
    (0..5).for_each(|imsi| pair.tell_agent(up(imsi)));
    // Longer than the frames' numbers go without beginning again.
    pair.run_until(at(11_000));
    let check = |pair: &mut StreamPair<FlexranAgent, FlexranSession>, ues: usize, cqi: u32| {
        let mut frames = std::collections::BTreeSet::new();
        for event in pair.controller_events.drain(..) {
            let FlexranEvent::Statistics(reply) = event else { continue };
            assert_eq!(reply.ue_report.len(), ues);
            let sfn = reply.cell_report[0].noise_inter_report.as_ref().unwrap().sfn_sf.unwrap();
            for ue in &reply.ue_report {
                let (dl, ul) = (ue.dl_cqi_report.as_ref().unwrap(), ue.ul_cqi_report.as_ref().unwrap());
                assert_eq!((dl.sfn_sn, ul.sfn_sn), (Some(sfn), Some(sfn)));
            }
            let last = reply.ue_report.last().unwrap().dl_cqi_report.as_ref().unwrap();
            let reported = last.csi_report[0].report.clone();
            assert_eq!(
                reported,
                Some(ranlab_wire::flexran::Csi::P10(ranlab_wire::flexran::CsiP10 { wb_cqi: Some(cqi) }))
            );
            frames.insert(sfn);
        }
        frames.len()
    };
    assert!(check(&mut pair, 5, 15) > 190, "twenty a second, each of its own frame");
    pair.tell_agent(event(4, UeChange::Updated(Radio { cqi: 7, ..Radio::default() })));
    pair.run_until(at(12_000));
    assert!(check(&mut pair, 5, 7) >= 19);
    pair.tell_agent(event(4, UeChange::Deactivated));
    pair.run_until(at(13_000));
    assert!(check(&mut pair, 4, 15) >= 19);
}
