//! Tests with a simulated CPU cost per message. They reproduce the mechanisms of Table II of the MARC paper on any machine.
use super::*;
use crate::agent::{
    AgentEvent, AgentInput, AgentOutput, Radio, ReportPeriod, SouthboundAgent, Ue, UeChange, UeEvent,
};
use crate::controller::overload;
use crate::controller::tests::PricedClock;
use crate::flexran::{FlexranAgent, FlexranAgentSettings, FlexranDialect};

/// A controller with agents, but without sockets. Messages arrive immediately.
struct World {
    controller: FlexranController,
    agents: Vec<FlexranAgent>,
    clock: PricedClock,
    busy: Duration,
    initialised: Vec<Option<Duration>>,
}

impl World {
    fn new(settings: FlexranControllerSettings, agents: u64, ues: u64) -> Self {
        let mut world = Self {
            controller: FlexranController::new(settings),
            agents: Vec::new(),
            // The cost is as measured with the published build, about 30 us per report of 100 UEs.
            clock: PricedClock {
                now: Time::ZERO,
                per_message: Duration::from_micros(3),
                per_octet_ns: 3,
                per_ue_ns: 20,
            },
            busy: Duration::ZERO,
            initialised: Vec::new(),
        };
        (0..agents).for_each(|index| world.join(index, ues));
        world
    }

    fn join(&mut self, index: u64, ues: u64) {
        let mut agent = FlexranAgent::new(FlexranAgentSettings {
            station: index,
            pci: index as u16,
            period: ReportPeriod::Override(Duration::from_millis(50)),
            dialect: FlexranDialect::V0,
            max_ues: 1_000,
            phase: Duration::from_micros(index * 997 % 50_000),
        });
        let now = self.clock.now;
        agent.handle(now, AgentInput::Connecting);
        agent.handle(now, AgentInput::Connected);
        for ue in 0..ues {
            let imsi = index * 10_000 + ue;
            let change = UeChange::Activated(Ue { imsi, tmsi: 0, rnti: None, radio: Radio::default() });
            agent.handle(now, AgentInput::Ue(UeEvent { at: now, imsi, change }));
        }
        self.controller.connected(index);
        self.agents.push(agent);
        self.initialised.push(None);
    }

    fn exchange(&mut self, now: Time) {
        loop {
            let mut moved = false;
            for (index, agent) in self.agents.iter_mut().enumerate() {
                if agent.wake_at().is_some_and(|at| at <= now) {
                    agent.handle(now, AgentInput::Wake);
                }
                while let Some(output) = agent.poll() {
                    match output {
                        AgentOutput::Send { octets, .. } => self.controller.received(index as u64, &octets),
                        AgentOutput::Event(AgentEvent::Initialised { to_reporting, .. }) => {
                            self.initialised[index] = Some(to_reporting);
                        }
                        _ => {}
                    }
                }
            }
            while let Some((id, action)) = self.controller.poll() {
                if let Action::Send(octets) = action {
                    self.agents[id as usize].handle(now, AgentInput::Received(&octets));
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Runs cycles for a time. A long cycle delays the next one.
    fn run(&mut self, time: Duration) {
        let end = self.clock.now + time;
        while self.clock.now < end {
            let began = self.clock.now;
            self.exchange(began);
            self.controller.cycle(&mut self.clock);
            self.busy += self.clock.now.since(began);
            let next = began + Duration::from_millis(1);
            self.clock.now = self.clock.now.max(next);
        }
    }

    fn load(&mut self, time: Duration) -> f64 {
        let busy = self.busy;
        self.run(time);
        (self.busy - busy).as_secs_f64() / time.as_secs_f64()
    }
}

fn settings(share: f64) -> FlexranControllerSettings {
    FlexranControllerSettings { rib_share: RibShare::Fixed(share), ..FlexranControllerSettings::default() }
}

const S: Duration = Duration::from_secs(1);

#[test]
fn rib_contains_configurations_and_reports_of_agents() {
    let mut world = World::new(settings(0.8), 3, 10);
    world.run(S);
    let rib = world.controller.rib();
    assert_eq!((rib.agents().len(), rib.ues()), (3, 30));
    let agent = &rib.agents()[&1];
    assert_eq!((agent.config.enb_id, agent.alive, agent.cells.len()), (Some(1), true, 1));
    assert!(agent.reports >= 18);
    let ue = agent.ues.values().next().unwrap();
    assert!(ue.report.is_some() && ue.logical_channels.len() == 3);
    let seen = *world.controller.seen();
    assert_eq!((seen.agents, seen.ues, seen.reporting, seen.mean_cqi), (3, 30, 30, 15.0));
    assert!(overload(world.controller.counters()).is_empty());
    world.controller.closed(1);
    world.run(S / 10);
    // As in the published controller, dead agents stay in the RIB. With `keeps_dead: false`, they are removed.
    assert_eq!((world.controller.rib().agents().len(), world.controller.seen().agents), (3, 2));
    let mut removing = World::new(FlexranControllerSettings { keeps_dead: false, ..settings(0.8) }, 3, 1);
    removing.run(S);
    removing.controller.closed(1);
    removing.run(S / 10);
    assert_eq!(removing.controller.rib().agents().len(), 2);
}

#[test]
fn insufficient_share_causes_leak_starvation_and_delay() {
    // The load of 1,000 messages per second of 30 us each is 3 % of a core.
    let mut enough = World::new(settings(0.2), 50, 100);
    enough.run(2 * S);
    let cpu_enough = enough.load(2 * S);
    assert!(enough.initialised.iter().all(|delay| delay.is_some_and(|delay| delay < S)));
    assert_eq!(enough.controller.counters().leaked_bytes, 0);

    let short = FlexranControllerSettings { queue_messages: 1_000, ..settings(0.015) };
    let mut overloaded = World::new(short, 50, 100);
    overloaded.run(2 * S);
    let cpu_short = overloaded.load(3 * S);
    let counters = *overloaded.controller.counters();
    let signs = overload(&counters);
    assert!(signs.contains(&"drops") && signs.contains(&"memory grows"), "{signs:?} {counters:?}");
    assert!(signs.contains(&"starves its applications"), "{signs:?}");
    assert!(cpu_short < cpu_enough, "the CPU usage must fall from {cpu_enough} to {cpu_short}");
    // The memory continues to grow.
    overloaded.run(2 * S);
    assert!(overloaded.controller.counters().leaked_bytes > counters.leaked_bytes + 1_000_000);
    // A new agent waits behind the queue, if its message is accepted.
    overloaded.join(50, 0);
    overloaded.run(S);
    assert_eq!(overloaded.initialised[50], None);
    enough.join(50, 0);
    enough.run(S / 10);
    assert!(enough.initialised[50].is_some_and(|delay| delay < S / 20));
}

#[test]
fn adaptive_rib_share_grows_with_the_load() {
    let adaptive = FlexranControllerSettings { rib_share: RibShare::Adaptive, ..settings(0.2) };
    let mut world = World::new(adaptive, 50, 100);
    // With ten times the cost, the load is 30 % of a core, which exceeds the share of 20 %.
    world.clock.per_message = Duration::from_micros(30);
    world.clock.per_octet_ns = 30;
    world.run(3 * S);
    assert!(world.controller.share() > 0.3, "{}", world.controller.share());
    assert!(world.controller.counters().queued < 100);
    assert_eq!(world.controller.counters().dropped, 0);
    let mut fixed = World::new(settings(0.2), 50, 100);
    fixed.clock.per_message = Duration::from_micros(30);
    fixed.clock.per_octet_ns = 30;
    fixed.run(3 * S);
    assert!(fixed.controller.counters().queued > 500, "{}", fixed.controller.counters().queued);
}

#[test]
fn bounded_queue_applies_back_pressure_without_loss() {
    let bounded =
        FlexranControllerSettings { queue: QueueKind::Bounded, queue_messages: 100, ..settings(0.01) };
    let mut controller = FlexranController::new(bounded);
    controller.connected(0);
    for _ in 0..99 {
        assert!(controller.may_read());
        controller.received(0, &[0, 0, 0, 1, 0]);
    }
    assert!(!controller.may_read());
    assert_eq!((controller.counters().dropped, controller.counters().back_pressure), (0, 1));
}

#[test]
fn adaptive_period_grows_while_the_queue_is_long() {
    let fast = Duration::from_millis(5);
    let slow = Duration::from_millis(200);
    let mut monitor = Monitor::new(RatePolicy::Adaptive { fast, slow });
    let mut rib = Rib::new(true);
    let known = FlexranEvent::Known(crate::flexran::protocol::EnbConfigReply::default());
    rib.take(7, Time::ZERO, known);
    let mut clock =
        PricedClock { now: Time::ZERO, per_message: Duration::ZERO, per_octet_ns: 0, per_ue_ns: 0 };
    assert_eq!(monitor.run(&rib, 0, &mut clock), [(7, fast)]);
    assert_eq!(monitor.run(&rib, 5_000, &mut clock), [(7, slow)]);
    clock.now += Duration::from_millis(500);
    assert!(monitor.run(&rib, 0, &mut clock).is_empty(), "the period must not be shortened at once");
    clock.now += Duration::from_millis(600);
    assert_eq!(monitor.run(&rib, 0, &mut clock), [(7, fast)]);
}

#[test]
fn connection_without_first_message_is_closed_after_timeout() {
    let mut world = World::new(settings(0.8), 1, 1);
    // The second connection sends the beginning of a frame, the third one sends nothing.
    let begun = 10;
    let idle = 11;
    world.controller.connected(begun);
    world.controller.connected(idle);
    world.controller.received(begun, &[0, 0, 0, 9, 8]);
    let mut closed = Vec::new();
    for _ in 0..FIRST_MESSAGE_WITHIN.as_secs() + 1 {
        world.controller.received(0, &[0, 0, 0, 1, 0]);
        world.controller.cycle(&mut world.clock);
        world.clock.now += S;
        while let Some((id, action)) = world.controller.poll() {
            closed.extend((action == Action::Close).then_some(id));
        }
    }
    assert_eq!((closed.as_slice(), world.controller.counters().silent), ([begun, idle].as_slice(), 2));
}
