//! Tests radios under a FlexRAN-style controller, in virtual time: remote scheduling, policies, slices, handover.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use ranlab_e2_codec::e2ap::Plmn;
use ranlab_machine::Time;
use ranlab_radio::user_plane::{Carrier, Direction};
use ranlab_ran::radio::{
    FlowPlan, Radio, RadioConfig, RadioMeter, SharedRadio, TrafficKind, UeMovement, hand_over,
};
use ranlab_sdran::agent::{
    AgentEvent, AgentInput, AgentOutput, Radio as RadioState, ReportPeriod, SouthboundAgent, Ue, UeChange,
    UeEvent,
};
use ranlab_sdran::controller::{Action, Clock};
use ranlab_sdran::flexran::controller::{
    Command, FlexranController, FlexranControllerSettings, QueueKind, RatePolicy, RibShare,
};
use ranlab_sdran::flexran::protocol::{
    Policy, Slice, SliceAlgorithm, SliceDlUlConfig, SliceParameters, SliceStatic,
};
use ranlab_sdran::flexran::{FlexranAgent, FlexranAgentSettings, FlexranDialect};
use ranlab_sdran_lab::fleet::station;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);

/// Clock in virtual time, in which each message takes 1 us.
struct Virtual(Time);

impl Clock for Virtual {
    fn now(&mut self) -> Time {
        self.0
    }
    fn message(&mut self, _: usize) {
        self.0 += Duration::from_micros(1);
    }
    fn visit(&mut self, _: usize) {}
    fn spend(&mut self, time: Duration) {
        self.0 += time;
    }
}

struct Station {
    agent: FlexranAgent,
    radio: SharedRadio,
    /// Bytes on their way to the base station, with their times of arrival.
    inbound: VecDeque<(Time, Vec<u8>)>,
    outbound: VecDeque<(Time, Vec<u8>)>,
    refused: Vec<String>,
}

/// Base stations with radios, and a FlexRAN-style controller, with a one-way delay between them.
struct World {
    now: Time,
    delay: Duration,
    controller: FlexranController,
    stations: Vec<Station>,
    handovers: u32,
}

impl World {
    fn new(delay: Duration, radios: &[RadioConfig]) -> Self {
        Self::under(FlexranControllerSettings::default(), delay, radios)
    }

    /// Creates base stations under a controller with the given settings.
    fn under(applications: FlexranControllerSettings, delay: Duration, radios: &[RadioConfig]) -> Self {
        let settings = FlexranControllerSettings {
            rib_share: RibShare::Fixed(0.8),
            queue: QueueKind::Bounded,
            rate: RatePolicy::Fixed(4 * MS),
            ..applications
        };
        let controller = FlexranController::new(settings);
        let mut world = Self { now: Time::ZERO, delay, controller, stations: Vec::new(), handovers: 0 };
        radios.iter().for_each(|radio| world.join(radio));
        world.pass(SECOND);
        world
    }

    fn join(&mut self, config: &RadioConfig) {
        let index = self.stations.len() as u16;
        let radio = Radio::new(config, (index, 7), PLMN, 0, 0).unwrap();
        let radio: SharedRadio = Arc::new(Mutex::new(radio));
        let settings = FlexranAgentSettings {
            station: u64::from(index) + 1,
            pci: index + 1,
            period: ReportPeriod::Honour,
            dialect: FlexranDialect::V0,
            max_ues: 100,
            phase: Duration::ZERO,
        };
        let mut agent = FlexranAgent::over(settings, station(&radio));
        agent.handle(self.now, AgentInput::Connecting);
        agent.handle(self.now, AgentInput::Connected);
        self.controller.connected(index.into());
        let inbound = VecDeque::new();
        let outbound = VecDeque::new();
        let refused = Vec::new();
        self.stations.push(Station { agent, radio, inbound, outbound, refused });
    }

    fn notify_agent(&mut self, index: usize, moved: Vec<UeMovement>) {
        for moved in moved {
            let (imsi, change) = match moved {
                UeMovement::Came { ue, rnti } => {
                    let radio = RadioState::default();
                    let came = Ue { imsi: ue.into(), tmsi: ue, rnti: Some(rnti), radio };
                    (ue, UeChange::Activated(came))
                }
                UeMovement::Went { ue, .. } => (ue, UeChange::Deactivated),
            };
            let event = UeEvent { at: self.now, imsi: imsi.into(), change };
            self.stations[index].agent.handle(self.now, AgentInput::Ue(event));
        }
    }

    fn step(&mut self) {
        let now = self.now;
        for index in 0..self.stations.len() {
            let moved = self.stations[index].radio.lock().unwrap().pass(now);
            self.notify_agent(index, moved);
            let there = &mut self.stations[index];
            while there.inbound.front().is_some_and(|(at, _)| *at <= now) {
                let (_, octets) = there.inbound.pop_front().unwrap();
                there.agent.handle(now, AgentInput::Received(&octets));
            }
            there.agent.handle(now, AgentInput::Wake);
            self.listen(index);
            let there = &mut self.stations[index];
            while there.outbound.front().is_some_and(|(at, _)| *at <= now) {
                let (_, octets) = there.outbound.pop_front().unwrap();
                self.controller.received(index as u64, &octets);
            }
        }
        self.controller.cycle(&mut Virtual(now));
        while let Some((id, action)) = self.controller.poll() {
            if let Action::Send(octets) = action {
                self.stations[id as usize].inbound.push_back((now + self.delay, octets));
            }
        }
    }

    fn listen(&mut self, index: usize) {
        while let Some(output) = self.stations[index].agent.poll() {
            match output {
                AgentOutput::Send { octets, .. } => {
                    let at = self.now + self.delay;
                    self.stations[index].outbound.push_back((at, octets));
                }
                AgentOutput::Event(AgentEvent::Refused(what)) => self.stations[index].refused.push(what),
                AgentOutput::Event(AgentEvent::Handover { rnti, target_pci, .. }) => {
                    let target = usize::from(target_pci) - 1;
                    let ended = hand_over(&self.stations[index].radio, &self.stations[target].radio, rnti);
                    let refusal = match ended {
                        Ok(moved) => {
                            self.handovers += 1;
                            self.notify_agent(index, vec![moved.source]);
                            self.notify_agent(target, moved.target);
                            None
                        }
                        Err(why) => Some(why),
                    };
                    let ended = AgentInput::HandoverEnded { rnti, refusal };
                    self.stations[index].agent.handle(self.now, ended);
                }
                AgentOutput::Event(_) | AgentOutput::Close => {}
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += MS;
            self.step();
        }
    }

    /// Sends a command and waits for its outcome.
    fn order(&mut self, station: Option<u64>, order: &Command) -> Result<(), String> {
        let ticket = self.controller.order(station, order).map_err(|error| error.to_string())?;
        for _ in 0..1_000 {
            self.pass(MS);
            if let Some(ended) = self.controller.outcome(ticket) {
                return ended;
            }
        }
        panic!("{order:?} has no end");
    }

    /// Returns the radio measurements of one second.
    fn measure(&mut self, station: usize) -> RadioMeter {
        self.stations[station].radio.lock().unwrap().begin();
        self.pass(SECOND);
        self.stations[station].radio.lock().unwrap().meter()
    }

    /// Returns the number of a radio's subframes without a timely decision.
    fn misses(&self, station: usize) -> u64 {
        let radio = self.stations[station].radio.lock().unwrap();
        radio.cell().slice_stats(Direction::Down).1.iter().map(|slice| slice.deadline_misses).sum()
    }
}

fn full(carrier: Carrier, ues: u32) -> RadioConfig {
    RadioConfig { flows: vec![FlowPlan::new(TrafficKind::Full)], ..RadioConfig::new(carrier, ues) }
}

fn shares(meter: &RadioMeter) -> Vec<f64> {
    let all: u64 = meter.ues.iter().map(|ue| ue.bytes).sum();
    meter.ues.iter().map(|ue| ue.bytes as f64 / all as f64).collect()
}

#[test]
fn remote_scheduling_equals_local_scheduling() {
    // Both technologies are tested: LTE, and NR with two slots per subframe, some of which are uplink slots.
    for carrier in [Carrier::lte(25), Carrier::n78(106)] {
        let mut world = World::new(Duration::from_micros(500), &[full(carrier, 3)]);
        let local = world.measure(0);
        assert_eq!(world.order(None, &Command::Schedule(true)), Ok(()));
        world.pass(SECOND / 10);
        let missed = world.misses(0);
        let (decided, scheduled) = world.controller.scheduled();
        assert_eq!(scheduled, 1);
        let remote = world.measure(0);
        assert!(
            world.controller.scheduled().0 - decided >= 990,
            "the controller must decide on each subframe"
        );
        assert_eq!(world.misses(0), missed, "no decision may be late");
        let total = |meter: &RadioMeter| meter.ues.iter().map(|ue| ue.bytes).sum::<u64>() as f64;
        let ratio = total(&remote) / total(&local);
        assert!((0.9..=1.1).contains(&ratio), "{carrier:?}: {ratio}");
        assert!(
            shares(&remote).iter().all(|share| (share - 1.0 / 3.0).abs() < 0.02),
            "{:?}",
            shares(&remote)
        );
        // Policies only apply to base stations whose own scheduler is used.
        let policy = Policy::of_behavior("round_robin_dl").to_string();
        let why = world.order(None, &Command::Policy(policy.clone())).unwrap_err();
        assert!(why.contains("/dl_sched/0"), "{why}");
        assert_eq!(world.order(Some(1), &Command::Schedule(false)), Ok(()));
        assert_eq!(world.order(Some(1), &Command::Policy(policy)), Ok(()));
        let missed = world.misses(0);
        let decided = world.controller.scheduled();
        assert!(total(&world.measure(0)) / total(&local) > 0.9);
        assert_eq!(
            (world.misses(0), world.controller.scheduled()),
            (missed, decided),
            "the controller no longer schedules"
        );
        assert_eq!((world.stations[0].refused.len(), world.stations[0].agent.counters().faults), (0, 0));
    }
}

#[test]
fn late_decisions_are_counted_and_leave_subframes_unused() {
    let mut world = World::new(3 * MS, &[full(Carrier::lte(25), 2)]);
    // The round-trip time is six milliseconds, but decisions are made only four subframes ahead.
    assert_eq!(world.order(None, &Command::Schedule(true)), Ok(()));
    world.pass(SECOND / 10);
    let missed = world.misses(0);
    let refused = world.stations[0].agent.counters().refused_commands;
    let meter = world.measure(0);
    assert!(meter.ues.iter().all(|ue| ue.bytes == 0), "{meter:?}");
    assert!(world.misses(0) - missed >= 990);
    assert!(world.stations[0].agent.counters().refused_commands - refused >= 990);
    assert!(world.stations[0].refused.last().unwrap().contains("cannot be allocated"));
}

#[test]
fn policy_and_mosaic_slices_apply_or_are_rejected() {
    let mut world = World::new(MS, &[full(Carrier::lte(25), 2)]);
    let policy = |shares: [u32; 2]| {
        let policy = Policy { shares_ppm: Some(shares.to_vec()), ..Policy::default() };
        Command::Policy(policy.to_string())
    };
    assert_eq!(world.order(None, &policy([720_000, 280_000])), Ok(()));
    world.pass(SECOND / 10);
    let got = shares(&world.measure(0));
    assert!((got[0] - 0.72).abs() < 0.02, "{got:?}");
    let why = world.order(None, &policy([720_000, 380_000])).unwrap_err();
    assert!(why.contains("110.0 %"), "{why}");
    let groups = |id, pos_low, pos_high| Slice {
        id: Some(id),
        params: Some(SliceParameters::Fixed(SliceStatic {
            pos_low: Some(pos_low),
            pos_high: Some(pos_high),
        })),
        ..Slice::default()
    };
    let slices = |slices: Vec<Slice>| {
        let algorithm = Some(SliceAlgorithm::Static.into());
        Command::Slice(SliceDlUlConfig { algorithm, slices, scheduler: None })
    };
    let why = world.order(Some(1), &slices(vec![groups(1, 0, 12), groups(2, 12, 12)])).unwrap_err();
    assert!(why.contains("same resource blocks"), "{why}");
    let got = shares(&world.measure(0));
    assert!((got[0] - 0.72).abs() < 0.02, "rejected slices must not change the shares: {got:?}");
    // Slice 1 has five groups of two resource blocks. Slice 2 has eight groups of two, except that the last one is smaller.
    assert_eq!(world.order(Some(1), &slices(vec![groups(1, 0, 4), groups(2, 5, 12)])), Ok(()));
    assert_eq!(world.order(Some(1), &Command::Associate(vec![(1, 1), (2, 2)])), Ok(()));
    assert!(world.order(Some(1), &Command::Associate(vec![(1, 9)])).is_err());
    let got = shares(&world.measure(0));
    assert!((got[0] - 0.4).abs() < 0.02, "{got:?}");
}

#[test]
fn handed_over_ue_keeps_traffic_and_is_reported() {
    let mut world = World::new(MS, &[full(Carrier::lte(25), 2), full(Carrier::lte(25), 1)]);
    let ues = |world: &World, station: u64| -> Vec<u32> {
        world.controller.rib().agents()[&station].ues.keys().copied().collect()
    };
    assert_eq!((ues(&world, 0), ues(&world, 1)), (vec![1, 2], vec![1]));
    assert_eq!(world.order(Some(1), &Command::HandOver(2, 2)), Ok(()));
    world.pass(10 * MS);
    assert_eq!((ues(&world, 0), ues(&world, 1), world.handovers), (vec![1], vec![1, 2], 1));
    let source = world.measure(0);
    let target = world.measure(1);
    assert_eq!((source.ues.len(), target.ues.len()), (1, 2));
    // UE 2 of the first cell keeps its number. It gets half of the resources of the second cell.
    assert_eq!(target.ues.iter().map(|ue| ue.ue).collect::<Vec<_>>(), [2, 1_025]);
    assert!(shares(&target).iter().all(|share| (share - 0.5).abs() < 0.03), "{target:?}");
    let reported = world.controller.rib().agents()[&1].ues[&2].report.is_some();
    assert!(reported, "the target cell must report the UE");
    // An impossible handover is rejected with a reason.
    assert!(world.order(Some(1), &Command::HandOver(2, 2)).unwrap_err().contains("without a known UE"));
    assert!(world.order(Some(1), &Command::HandOver(1, 9)).unwrap_err().contains("base station 9"));
    assert!(world.order(Some(1), &Command::HandOver(1, 1)).unwrap_err().contains("in that cell"));
    assert_eq!(world.order(Some(2), &Command::HandOver(2, 1)), Ok(()), "the UE must be able to return");
    world.pass(10 * MS);
    assert_eq!((ues(&world, 0).len(), ues(&world, 1).len(), world.handovers), (2, 1, 2));
}

#[test]
fn applications_configure_every_new_base_station() {
    let policy = Policy { shares_ppm: Some(vec![720_000, 280_000]), ..Policy::default() };
    let standing = vec![Command::Policy(policy.to_string()), Command::Schedule(true)];
    let settings = || FlexranControllerSettings { standing: standing.clone(), ..Default::default() };
    let radios = [full(Carrier::lte(25), 4), full(Carrier::lte(25), 4)];
    let mut world = World::under(settings(), Duration::from_micros(500), &radios);
    assert_eq!(
        world.controller.scheduled().1,
        2,
        "the controller must schedule every base station when it connects"
    );
    // The controller allocates 6 or 7 resource blocks to each of the four UEs. The second slice has only 7 resource blocks, which is about
    // half of what its UEs are allocated.
    let meter = world.measure(0);
    assert!((0.75..0.85).contains(&meter.prb_use), "{}", meter.prb_use);
    let rotate = Some(100 * MS);
    let mut world =
        World::under(FlexranControllerSettings { rotate, ..settings() }, Duration::from_micros(500), &radios);
    let before = world.handovers;
    world.pass(2 * SECOND);
    assert!((18..=20).contains(&(world.handovers - before)), "{}", world.handovers - before);
    let rib = world.controller.rib();
    assert_eq!(rib.ues(), 8, "no UE may be lost");
    assert!(world.stations.iter().all(|station| station.agent.counters().faults == 0));
}
