use super::*;
use crate::Time;
use crate::agent::{
    AgentEvent, AgentInput, Allocation, CellControl, Radio, ReportPeriod, SouthboundAgent, StreamFaults,
    StreamPair, Ue, UeChange, UeEvent,
};
use crate::flexran::protocol::*;
use bytes::Bytes;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::slice::{PrbRange, SliceCommand, SliceSet, UeScheduler};
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
    event(imsi, UeChange::Activated(Ue { imsi, tmsi: 1, rnti: None, radio: Radio::default() }))
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

#[test]
fn all_five_phases_complete_in_order() {
    let mut pair = pair(StreamFaults::delay(MS), 1);
    pair.run_until(at(5));
    assert!(pair.agent.is_reporting());
    let known = pair.controller_events.iter().any(
        |event| matches!(event, FlexranEvent::Known(reply) if reply.enb_id == Some(7) && reply.cell_config.len() == 1),
    );
    assert!(known);
    // Hello in both directions and the requests need 3 ms. With the replies and the request for statistics, it is 5 ms.
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
    assert_eq!(rounds, [0, 2, 2], "each round must report all UEs");
    pair.controller_events.clear();
    pair.run_until(at(1_050));
    let reports = |pair: &StreamPair<FlexranAgent, FlexranSession>, ues: usize| {
        let full = |event: &&FlexranEvent| matches!(event, FlexranEvent::Statistics(reply) if reply.ue_report.len() == ues);
        pair.controller_events.iter().filter(full).count()
    };
    assert_eq!(reports(&pair, 2), 20, "an agent must send 20 reports per second");
    pair.tell_agent(event(1, UeChange::Deactivated));
    pair.controller_events.clear();
    pair.run_until(at(1_200));
    assert_eq!(reports(&pair, 1), 3);
    assert_eq!(pair.agent.counters().rounds, 3, "the deactivation of a UE must also cause a round");
}

#[test]
fn offered_load_equals_load_of_marc() {
    // The load was measured at the published controller. With 100 UEs per base station, it was 72.4 Mbit/s at 1,000 messages/s. With 50
    // UEs, it was 23.7 Mbit/s at 651 messages/s. The test uses one base station.
    for (ues, messages_per_s, mbit) in [(100, 1000.0, 72.4), (50, 651.0, 23.7)] {
        let mut pair = pair(StreamFaults::delay(MS), 1);
        (0..ues).for_each(|imsi| pair.tell_agent(up(imsi)));
        pair.run_until(at(1_000));
        let octets = pair.octets.0;
        let sent = pair.agent.counters().sent;
        pair.run_until(at(11_000));
        let sent = pair.agent.counters().sent - sent;
        assert_eq!(sent, 200, "an agent must send 20 reports per second for ten seconds");
        let octets_per_message = (pair.octets.0 - octets) as f64 / sent as f64;
        let offered = octets_per_message * 8.0 * messages_per_s / 1e6;
        assert!(
            (offered / mbit - 1.0).abs() < 0.03,
            "the offered load is {offered} Mbit/s instead of {mbit} as with MARC"
        );
    }
}

#[test]
fn honoured_period_of_controller_sets_report_rate() {
    let agent = FlexranAgent::new(FlexranAgentSettings { period: ReportPeriod::Honour, ..settings() });
    let controller = FlexranSession::new(SessionSettings::default());
    let mut pair = StreamPair::new(agent, controller, StreamFaults::delay(MS), 1);
    pair.run_until(at(1_005));
    assert!((249..=251).contains(&pair.agent.counters().reports), "{:?}", pair.agent.counters());
    // The controller requests another period. Then control is delegated to the base station, which sends no reports.
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

/// Returns slices, each given by number, lowest group and highest group.
fn fixed(slices: &[(u32, u32, u32)]) -> SliceDlUlConfig {
    let slice = |(id, low, high): &(u32, u32, u32)| Slice {
        id: Some(*id),
        params: Some(SliceParameters::Fixed(SliceStatic { pos_low: Some(*low), pos_high: Some(*high) })),
        ..Slice::default()
    };
    let algorithm = Some(SliceAlgorithm::Static.into());
    let slices = slices.iter().map(slice).collect();
    SliceDlUlConfig { algorithm, slices, scheduler: None }
}

#[test]
fn commands_reach_the_base_station() {
    let mut pair = pair(StreamFaults { piece_bytes: 1_000, ..StreamFaults::delay(MS) }, 1);
    pair.tell_agent(up(1));
    pair.run_until(at(10));
    pair.agent_events.clear();
    pair.controller.delegate(0, "scheduler.so", vec![0_u8; 203_698].into());
    pair.controller.hand_over(0, 61, 9);
    pair.controller.slice(0, fixed(&[(1, 0, 3), (2, 4, 6)]));
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
fn resets_and_segmentation_lose_no_agent_or_ue() {
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
fn damage_is_reported_without_panic() {
    let mut faults_reported = 0;
    for seed in 0..40 {
        let faults = StreamFaults { piece_bytes: 200, damage_permille: 50, ..StreamFaults::delay(MS) };
        let mut pair = pair(faults, seed);
        (0..20).for_each(|imsi| pair.tell_agent(up(imsi)));
        pair.run_until(at(2_000));
        let faults = |event: &&FlexranEvent| matches!(event, FlexranEvent::Fault(_));
        faults_reported += pair.controller_events.iter().filter(faults).count();
    }
    assert!(faults_reported > 0);
}

#[test]
fn same_seed_gives_same_run() {
    let run = |seed| {
        let mut pair = pair(StreamFaults { piece_bytes: 99, jitter: MS, ..StreamFaults::delay(MS) }, seed);
        (0..5).for_each(|imsi| pair.tell_agent(up(imsi)));
        pair.run_until(at(500));
        (pair.octets, pair.controller_events.len(), *pair.agent.counters())
    };
    assert_eq!(run(3), run(3));
}

#[test]
fn report_with_too_many_ues_for_a_body_is_a_fault() {
    let agent = FlexranAgent::new(FlexranAgentSettings { max_ues: 4_000, ..settings() });
    let mut pair =
        StreamPair::new(agent, FlexranSession::new(SessionSettings::default()), StreamFaults::delay(MS), 1);
    (0..2_700).for_each(|imsi| pair.tell_agent(up(imsi)));
    pair.run_until(at(200));
    let names_period =
        |event: &AgentEvent| matches!(event, AgentEvent::Fault(what) if what.contains("240000"));
    assert!(pair.agent_events.iter().any(names_period));
    assert_eq!(pair.agent.ues(), 2_700);
    pair.tell_agent(up(9_999_999));
    pair.tell_agent(up(9_999_999));
    pair.tell_agent(event(123_456_789, UeChange::Deactivated));
    assert_eq!(pair.agent.counters().refused_ues, 2);
}

#[test]
fn report_has_current_ues_and_subframe() {
    let mut pair = pair(StreamFaults::delay(MS), 1);
    (0..5).for_each(|imsi| pair.tell_agent(up(imsi)));
    // The time is longer than the period of frame numbers.
    pair.run_until(at(11_000));
    let check = |pair: &mut StreamPair<FlexranAgent, FlexranSession>, ues: usize, cqi: u32| {
        let mut frames = std::collections::BTreeSet::new();
        for event in pair.controller_events.drain(..) {
            let FlexranEvent::Statistics(reply) = event else { continue };
            assert_eq!(reply.ue_report.len(), ues);
            let sfn = reply.cell_report[0].noise_inter_report.as_ref().unwrap().sfn_sf.unwrap();
            for ue in &reply.ue_report {
                let dl = ue.dl_cqi_report.as_ref().unwrap();
                let ul = ue.ul_cqi_report.as_ref().unwrap();
                assert_eq!((dl.sfn_sn, ul.sfn_sn), (Some(sfn), Some(sfn)));
            }
            let last = reply.ue_report.last().unwrap().dl_cqi_report.as_ref().unwrap();
            let reported = last.csi_report[0].report.clone();
            assert_eq!(reported, Some(Csi::P10(CsiP10 { wb_cqi: Some(cqi) })));
            frames.insert(sfn);
        }
        frames.len()
    };
    assert!(
        check(&mut pair, 5, 15) > 190,
        "there must be 20 reports per second, each with its current frame"
    );
    pair.tell_agent(event(4, UeChange::Updated(Radio { cqi: 7, ..Radio::default() })));
    pair.run_until(at(12_000));
    assert!(check(&mut pair, 5, 7) >= 19);
    pair.tell_agent(event(4, UeChange::Deactivated));
    pair.run_until(at(13_000));
    assert!(check(&mut pair, 4, 15) >= 19);
}

/// A cell of 25 resource blocks that accepts every valid command.
#[derive(Debug)]
struct FakeCell(std::rc::Rc<std::cell::RefCell<Fake>>);

#[derive(Debug, Default)]
struct Fake {
    subframe: u64,
    ues: Vec<u16>,
    set: SliceSet,
    homes: std::collections::BTreeMap<u16, u16>,
    decided: Vec<(u64, Vec<Allocation>)>,
}

impl CellControl for FakeCell {
    fn prbs(&self) -> u16 {
        25
    }
    fn subframe(&self) -> u64 {
        self.0.borrow().subframe
    }
    fn ue(&self, rnti: u16) -> Option<Radio> {
        let radio = Radio { cqi: 9, queue_bytes: 1_000 + u32::from(rnti), ..Radio::default() };
        self.0.borrow().ues.contains(&rnti).then_some(radio)
    }
    fn set(&self) -> SliceSet {
        self.0.borrow().set.clone()
    }
    fn slice_of(&self, rnti: u16) -> Option<u16> {
        self.0.borrow().homes.get(&rnti).copied()
    }
    fn command(&mut self, command: &SliceCommand) -> Result<(), Refusal> {
        let next = self.set().after(command, 25)?;
        let mut fake = self.0.borrow_mut();
        fake.set = next;
        if let SliceCommand::Associate(ues) = command {
            fake.homes.extend(ues.iter().map(|ue| (ue.rnti, ue.slice)));
        }
        Ok(())
    }
    fn allocate(&mut self, subframe: u64, allocations: &[Allocation]) -> Result<(), Refusal> {
        let mut fake = self.0.borrow_mut();
        if subframe < fake.subframe {
            return Err(Refusal::new(Reason::Invalid, "too late"));
        }
        fake.decided.push((subframe, allocations.to_vec()));
        Ok(())
    }
}

/// Returns an agent over a cell with two UEs, its controller, and the cell.
fn steered() -> (StreamPair<FlexranAgent, FlexranSession>, std::rc::Rc<std::cell::RefCell<Fake>>) {
    let fake = std::rc::Rc::new(std::cell::RefCell::new(Fake { ues: vec![1, 2], ..Fake::default() }));
    let agent = FlexranAgent::over(settings(), Box::new(FakeCell(fake.clone())));
    let controller = FlexranSession::new(SessionSettings::default());
    let mut pair = StreamPair::new(agent, controller, StreamFaults::delay(MS), 1);
    for rnti in [1, 2] {
        let ue = Ue { imsi: rnti.into(), tmsi: 1, rnti: Some(rnti), radio: Radio::default() };
        pair.tell_agent(event(rnti.into(), UeChange::Activated(ue)));
    }
    pair.run_until(at(100));
    pair.controller_events.clear();
    (pair, fake)
}

/// Returns the outcomes of commands that have a transaction number.
fn outcomes(pair: &mut StreamPair<FlexranAgent, FlexranSession>) -> Vec<(u32, Option<String>)> {
    let ended = |event: FlexranEvent| match event {
        FlexranEvent::Outcome { xid, refusal } => Some((xid, refusal)),
        _ => None,
    };
    pair.controller_events.drain(..).filter_map(ended).collect()
}

/// Advances the cell and the stream together.
fn pass(pair: &mut StreamPair<FlexranAgent, FlexranSession>, fake: &std::cell::RefCell<Fake>, until: u64) {
    while pair.now < at(until) {
        let next = pair.now + MS;
        fake.borrow_mut().subframe = next.as_nanos() / 1_000_000;
        pair.tell_agent(AgentInput::Wake);
        pair.run_until(next);
    }
}

#[test]
fn report_equals_cell_state() {
    let (mut pair, _) = steered();
    pair.run_until(at(300));
    let known = |event: &FlexranEvent| matches!(event, FlexranEvent::Known(reply) if reply.cell_config[0].dl_bandwidth == Some(25));
    let queues: Vec<Option<u32>> = pair
        .controller_events
        .iter()
        .filter_map(|event| match event {
            FlexranEvent::Statistics(reply) => reply.ue_report.last(),
            _ => None,
        })
        .map(|ue| ue.rlc_report.last().unwrap().tx_queue_size)
        .collect();
    assert!(queues.len() >= 3 && queues.iter().all(|queue| *queue == Some(1_002)), "{queues:?}");
    assert!(
        !pair.controller_events.iter().any(known),
        "the configuration must only be reported at the start"
    );
}

#[test]
fn scheduling_controller_gets_triggers_and_its_decisions_apply() {
    let (mut pair, fake) = steered();
    pass(&mut pair, &fake, 200);
    assert_eq!(pair.agent.counters().triggers, 0, "no triggers may be sent before they are requested");
    pair.controller.reconfigure(7, &Policy::of_behavior(Policy::REMOTE).to_string());
    pass(&mut pair, &fake, 300);
    assert_eq!(fake.borrow().set.slices[0].scheduler, UeScheduler::Remote);
    let triggers: Vec<u32> = pair
        .controller_events
        .iter()
        .filter_map(|event| match event {
            FlexranEvent::Other(message) => match &**message {
                Message::SfTrigger(trigger) => trigger.sfn_sf,
                other => panic!("{other:?}"),
            },
            _ => None,
        })
        .collect();
    assert!(
        (95..=100).contains(&triggers.len()),
        "there must be one trigger per subframe, but there are {}",
        triggers.len()
    );
    assert!(triggers.windows(2).all(|two| ms_of_sfn_sf(two[1]) == ms_of_sfn_sf(two[0]).map(|ms| ms + 1)));
    assert_eq!(outcomes(&mut pair), [(7, None)]);
    let decision = |rnti: u32, bitmap, mcs: Option<u32>| DlData {
        rnti: Some(rnti),
        dl_dci: Some(DlDci { rb_bitmap: Some(bitmap), mcs: mcs.into_iter().collect(), ..DlDci::default() }),
        ..DlData::default()
    };
    pair.controller.allocate(sfn_sf(310), vec![decision(1, 0x0f, None), decision(2, 0x1ff0, Some(12))]);
    pair.controller.allocate(sfn_sf(290), vec![decision(1, 1, None)]);
    pair.controller.allocate(sfn_sf(311), vec![decision(1, 3, None), decision(2, 2, None)]);
    pair.controller.allocate(sfn_sf(312), vec![decision(1, 0x2000, None)]);
    pass(&mut pair, &fake, 320);
    let of = |rnti, prbs, mcs| Allocation { rnti, prbs, mcs };
    assert_eq!(fake.borrow().decided, [(310, vec![of(1, 8, None), of(2, 17, Some(12))])]);
    let counters = *pair.agent.counters();
    assert_eq!((counters.decisions, counters.refused_commands, counters.faults), (1, 3, 0));
    assert_eq!(outcomes(&mut pair), [], "decisions have no transaction number, so they must have no outcome");
    // Without its controller, a base station uses its own scheduler.
    pair.reset();
    assert_eq!(fake.borrow().set.slices[0].scheduler, UeScheduler::ProportionalFair);
}

#[test]
fn policies_can_name_pushed_schedulers() {
    let (mut pair, fake) = steered();
    let policy = |name: &str| Policy::of_behavior(name).to_string();
    pair.controller.reconfigure(1, &policy("mine"));
    pair.controller.delegate(2, "mine", Bytes::from_static(b"round_robin_dl"));
    pair.controller.reconfigure(3, &policy("mine"));
    pair.controller.delegate(4, "foreign", vec![0x7f, 0x45, 0x4c, 0x46].into());
    pair.controller.reconfigure(5, &policy("foreign"));
    pair.controller.reconfigure(6, "mac:\n - ul_scheduler:\n");
    pair.run_until(at(150));
    let ended = outcomes(&mut pair);
    let refused: Vec<u32> = ended.iter().filter(|(_, why)| why.is_some()).map(|(xid, _)| *xid).collect();
    assert_eq!((ended.len(), refused), (6, vec![1, 5, 6]), "{ended:?}");
    assert!(ended[0].1.as_ref().unwrap().contains("neither built in nor pushed"), "{ended:?}");
    assert_eq!(fake.borrow().set.slices[0].scheduler, UeScheduler::RoundRobin);
    assert_eq!((pair.agent.counters().discarded_bytes, pair.agent.counters().faults), (18, 0));
}

#[test]
fn slices_reach_cell_or_are_refused_with_reason() {
    let (mut pair, fake) = steered();
    let shares =
        |shares: &[u32]| Policy { shares_ppm: Some(shares.to_vec()), ..Policy::default() }.to_string();
    pair.controller.reconfigure(1, &shares(&[600_000, 400_000]));
    pair.run_until(at(150));
    let ranges = |fake: &std::cell::RefCell<Fake>| -> Vec<PrbRange> {
        let range = |slice: &ranlab_e2_codec::e2sm::slice::Slice| match slice.parameters {
            ranlab_e2_codec::e2sm::slice::SliceParameters::Static(range) => range,
            _ => panic!("{slice:?}"),
        };
        fake.borrow().set.slices.iter().map(range).collect()
    };
    let range = |low, high| PrbRange { low, high };
    assert_eq!(ranges(&fake), [range(0, 14), range(15, 24)]);
    assert_eq!(
        fake.borrow().homes.clone().into_iter().collect::<Vec<_>>(),
        [(1, 0), (2, 1)],
        "UEs must be distributed over the slices"
    );
    pair.controller.reconfigure(2, &shares(&[600_000, 500_000]));
    pair.controller.slice(3, fixed(&[(1, 0, 8), (2, 8, 12)]));
    pair.controller.slice(4, fixed(&[(1, 0, 13)]));
    pair.controller.associate(5, &[(1, 9)]);
    pair.controller.associate(6, &[(99, 1)]);
    pair.run_until(at(200));
    let ended = outcomes(&mut pair);
    assert_eq!(ended[0], (1, None));
    assert!(ended[1..].iter().all(|(_, why)| why.is_some()) && ended.len() == 6, "{ended:?}");
    assert_eq!(
        ranges(&fake),
        [range(0, 14), range(15, 24)],
        "a refused configuration must not change the slices"
    );
    pair.controller.slice(7, fixed(&[(1, 0, 8), (2, 9, 12)]));
    pair.controller.associate(8, &[(1, 2)]);
    pair.run_until(at(250));
    assert_eq!(outcomes(&mut pair), [(7, None), (8, None)]);
    assert_eq!((ranges(&fake), fake.borrow().homes[&1]), (vec![range(0, 17), range(18, 24)], 2));
    assert_eq!(pair.agent.counters().faults, 0);
}
