//! Tests with a simulated CPU cost per message. They cover the throughput limit, and false declarations of death.
use super::*;
use crate::agent::{AgentInput, AgentOutput, Radio, SouthboundAgent, Ue, UeChange, UeEvent};
use crate::controller::overload;
use crate::controller::tests::PricedClock;
use crate::empower::{EmpowerAgent, EmpowerAgent1, EmpowerAgent2, EmpowerAgentSettings};

struct World {
    controller: EmpowerController,
    agents: Vec<(EmpowerAgent, bool)>,
    clock: PricedClock,
    busy: Duration,
}

impl World {
    fn new(version: EmpowerVersion, agents: u32, ues: u64, message_cost: Duration) -> Self {
        let macs = (0..agents).map(Mac::local).collect();
        let settings = EmpowerControllerSettings {
            version,
            registry: Registry::Registered(macs),
            message_cost,
            ..EmpowerControllerSettings::default()
        };
        let clock = PricedClock {
            now: Time::ZERO,
            per_message: Duration::from_micros(1),
            per_octet_ns: 0,
            per_ue_ns: 0,
        };
        let mut world = Self {
            controller: EmpowerController::new(settings),
            agents: Vec::new(),
            clock,
            busy: Duration::ZERO,
        };
        (0..agents).for_each(|index| world.join(index, ues, &format!("127.0.1.{index}")));
        world
    }

    fn join(&mut self, index: u32, ues: u64, source: &str) {
        let settings = EmpowerAgentSettings::new(Mac::local(index), index as u16 + 1);
        let mut agent = match self.controller.settings.version {
            EmpowerVersion::V1 => EmpowerAgent::V1(EmpowerAgent1::new(settings)),
            EmpowerVersion::V2 => EmpowerAgent::V2(EmpowerAgent2::new(settings)),
        };
        let now = self.clock.now;
        agent.handle(now, AgentInput::Connecting);
        agent.handle(now, AgentInput::Connected);
        for ue in 0..ues {
            let imsi = u64::from(index) * 10_000 + ue;
            let change = UeChange::Activated(Ue { imsi, tmsi: 0, rnti: None, radio: Radio::default() });
            agent.handle(now, AgentInput::Ue(UeEvent { at: now, imsi, change }));
        }
        let id = self.agents.len() as u64;
        self.agents.push((agent, true));
        self.controller.connected(id, source);
    }

    fn run(&mut self, time: Duration) {
        let end = self.clock.now + time;
        while self.clock.now < end {
            let began = self.clock.now;
            for (index, (agent, open)) in self.agents.iter_mut().enumerate() {
                agent.handle(began, AgentInput::Wake);
                while let Some(output) = agent.poll() {
                    if let AgentOutput::Send { octets, .. } = output
                        && *open
                    {
                        self.controller.received(index as u64, &octets);
                    }
                }
            }
            self.controller.work(&mut self.clock, Duration::from_millis(10));
            while let Some((id, action)) = self.controller.poll() {
                let (agent, open) = &mut self.agents[id as usize];
                match action {
                    Action::Send(octets) if *open => {
                        agent.handle(self.clock.now, AgentInput::Received(&octets));
                    }
                    Action::Send(_) => {}
                    Action::Close => {
                        *open = false;
                        agent.handle(self.clock.now, AgentInput::Closed);
                    }
                }
            }
            self.busy += self.clock.now.since(began);
            self.clock.now = self.clock.now.max(began + Duration::from_millis(1));
        }
    }
}

const S: Duration = Duration::from_secs(1);

#[test]
fn both_versions_serve_registered_base_stations() {
    for version in [EmpowerVersion::V1, EmpowerVersion::V2] {
        let mut world = World::new(version, 5, 10, Duration::ZERO);
        world.join(77, 3, "127.0.9.9");
        world.run(5 * S);
        let stations = world.controller.stations();
        let online = stations.values().filter(|station| station.online).count();
        assert_eq!((online, world.controller.counters().refused), (5, 1), "{version:?}");
        let station = &stations[&Mac::local(2)];
        assert_eq!((station.pci, station.ues.len()), (Some(3), 10));
        assert!(station.ues.values().all(|ue| ue.rsrp.is_some() && ue.measured >= 8), "{station:?}");
        assert_eq!(world.controller.counters().discarded, 0);
        assert!(overload(world.controller.counters()).is_empty());
    }
}

#[test]
fn version_2_keeps_one_connection_per_source_address() {
    let mut world = World::new(EmpowerVersion::V2, 0, 0, Duration::ZERO);
    (0..3).for_each(|index| world.controller.register(Mac::local(index)));
    (0..3).for_each(|index| world.join(index, 1, "127.0.0.1"));
    world.run(2 * S);
    assert_eq!(world.controller.stations().values().filter(|station| station.online).count(), 1);
}

#[test]
fn overload_declares_all_base_stations_dead() {
    // There are 2 x 50 UEs with two measurements per second. These 200 messages per second of 3.5 ms each need 70 % of a core. This is a
    // tenth of the published rate at ten times the published cost.
    let cost = Duration::from_micros(3_500);
    let mut stable = World::new(EmpowerVersion::V1, 2, 50, cost);
    stable.run(20 * S);
    let counters = *stable.controller.counters();
    assert_eq!(counters.declared_dead, 0);
    let load = stable.busy.as_secs_f64() / 20.0;
    assert!((0.6..0.95).contains(&load), "{load}");
    // The load of 13 x 50 UEs is more than three times the capacity. Two hellos are therefore processed more than three intervals apart.
    let mut over = World::new(EmpowerVersion::V1, 13, 50, cost);
    over.run(40 * S);
    let counters = *over.controller.counters();
    assert!(counters.declared_dead > 0, "{counters:?}");
    assert!(overload(&counters).contains(&"declares agents dead"));
}
