//! Runs an agent with any controllers. It must not panic, and all tables must stay within a small `AgentLimits`.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use ranlab_e2::OutboxLimits;
use ranlab_e2::agent::{Agent, AgentConfig, AgentInput, AgentLimits, AgentOutput, ControllerId};
use ranlab_e2::functions::association::Association;
use ranlab_e2::functions::hw::Hw;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Message, Plmn, Version};
use ranlab_fuzz::{Keys, Script};

fn limits() -> AgentLimits {
    AgentLimits::default().with(|it| {
        it.subscriptions_per_controller = 4;
        it.actions_per_subscription = 3;
        it.controllers = 3;
        it.functions = 4;
        it.ues = 4;
        it.pdu_bytes = 4 << 10;
        it.outbox = OutboxLimits::default().with(|it| {
            it.control_bytes = 8 << 10;
            it.indication_bytes = 4 << 10;
            it.indication_age = std::time::Duration::from_millis(100);
        });
    })
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script::new(input);
    let components = match Message::random("E2setupRequest", 1, Version::V2_03) {
        Some(Message::E2SetupRequest(m)) => m.components.unwrap_or_default(),
        _ => Vec::new(),
    };
    let node_id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32);
    let mut agent = Agent::new(AgentConfig::new(node_id, components).with(|it| it.limits = limits()));
    agent.register(Box::new(Hw::new()), None).expect("the limits should allow it");
    agent.register(Box::new(Association::open()), None).expect("the limits should allow it");
    agent.add_controller(script.now(), "first".to_owned()).expect("the limits should allow it");
    let mut world = World { agent, links: BTreeMap::new() };
    world.drive(&script);
    while let Some(op) = script.step() {
        world.step(&mut script, op);
        let controllers = world.agent.controllers().count();
        assert!(controllers <= limits().controllers);
        assert!(world.agent.subscriptions() <= limits().subscriptions_per_controller * limits().controllers);
    }
});

#[derive(Default)]
struct Link {
    connected: bool,
    keys: Keys,
}

struct World {
    agent: Agent,
    links: BTreeMap<ControllerId, Link>,
}

impl World {
    fn step(&mut self, script: &mut Script<'_>, op: u8) {
        let count = self.links.len().max(1);
        let chosen = self.links.iter_mut().nth(usize::from(op >> 4) % count);
        match (op & 0xf, chosen) {
            (0, _) | (_, None) => {
                script.pass_time();
                self.agent.handle(script.now(), AgentInput::Wake);
            }
            (1, Some((&controller, _))) => {
                self.links.remove(&controller);
                self.agent.handle(
                    script.now(),
                    AgentInput::Disconnected { controller, why: ranlab_e2::LinkLoss::ClosedByPeer },
                );
            }
            (2, Some((&controller, _))) => self.agent.transport_full(controller),
            // The controller does not read its messages.
            (3, _) => return,
            (_, Some((&controller, link))) if !link.connected => {
                link.connected = true;
                self.agent.handle(script.now(), AgentInput::Connected { controller });
            }
            (op, Some((&controller, link))) => {
                let pdu = match op {
                    4 | 5 => script.e2ap_named("E2setupResponse", &link.keys),
                    6 | 7 => script.e2ap_named("RICsubscriptionRequest", &link.keys),
                    8 => script.e2ap_named("RICcontrolRequest", &link.keys),
                    _ => script.e2ap(&link.keys),
                };
                self.agent.handle(script.now(), AgentInput::Received { controller, pdu });
            }
        }
        self.drive(script);
    }

    fn drive(&mut self, script: &Script<'_>) {
        while let Some(output) = self.agent.poll() {
            match output {
                AgentOutput::Connect { controller, .. } => {
                    self.links.insert(controller, Link::default());
                }
                AgentOutput::Transmit { controller } => {
                    while let Some(frame) = self.agent.transmit(script.now(), controller) {
                        if let Some(link) = self.links.get_mut(&controller) {
                            link.keys.learn(&frame.to_bytes());
                        }
                    }
                }
                AgentOutput::Close { controller, .. } => {
                    self.links.remove(&controller);
                }
                AgentOutput::Event(_) => {}
            }
        }
    }
}
