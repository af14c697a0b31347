//! Runs a RIC with any sequence of peers. It must not panic, and every limit of a small `Limits` is kept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_e2::OutboxLimits;
use ranlab_e2::ric::{ConnId, Limits, ListenerProtocol, Ric, RicConfig, RicInput, RicOutput};
use ranlab_fuzz::{Keys, Script};

/// Number of simultaneous connections. The first half of them are E2.
const SLOTS: usize = 6;

fuzz_target!(|input: &[u8]| {
    let limits = Limits::default().with(|it| {
        it.e2_connections = 2;
        it.e42_connections = 2;
        it.xapps = 2;
        it.nodes = 3;
        it.functions_per_node = 8;
        it.subscriptions_per_node = 3;
        it.sinks_per_subscription = 2;
        it.subscriptions_per_owner = 4;
        it.requests_per_node = 3;
        it.requests_per_owner = 2;
        it.agent_outbox = OutboxLimits::default().with(|it| {
            it.control_bytes = 8 << 10;
            it.indication_bytes = 4 << 10;
        });
        it.xapp_outbox = OutboxLimits::default().with(|it| {
            it.control_bytes = 64 << 10;
            it.indication_bytes = 4 << 10;
        });
    });
    let mut world = World {
        ric: Ric::new(RicConfig::default().with(|it| it.limits = limits.clone())),
        slots: [None; SLOTS],
        keys: Default::default(),
        next: 0,
    };
    let mut script = Script::new(input);
    while let Some(op) = script.step() {
        world.step(&mut script, op);
        world.check(&limits);
    }
});

struct World {
    ric: Ric,
    slots: [Option<ConnId>; SLOTS],
    keys: [Keys; SLOTS],
    next: u64,
}

impl World {
    fn step(&mut self, script: &mut Script<'_>, op: u8) {
        let slot = usize::from(op >> 4) % SLOTS;
        let side = if slot < SLOTS / 2 { ListenerProtocol::E2 } else { ListenerProtocol::E42 };
        match (op & 0xf, self.slots[slot]) {
            (0, _) => {
                script.pass_time();
                self.ric.handle(script.now(), RicInput::Wake);
            }
            (1, Some(conn)) => {
                self.slots[slot] = None;
                self.ric.handle(
                    script.now(),
                    RicInput::Disconnected { conn, why: ranlab_e2::LinkLoss::ClosedByPeer },
                );
            }
            (2, Some(conn)) => self.ric.transport_full(conn),
            // The peer does not read its messages.
            (3, _) => return,
            (_, None) => self.connect(script, slot, side),
            (op, Some(conn)) => {
                let seen = &self.keys[slot];
                let pdu = match (side, op) {
                    (ListenerProtocol::E42, 4..12) => script.e42(seen),
                    (ListenerProtocol::E2, 4 | 5) => script.e2ap_named("E2setupRequest", seen),
                    (ListenerProtocol::E2, 6) => script.e2ap_named("RICindication", seen),
                    (ListenerProtocol::E2, 7) => script.e2ap_named("RICsubscriptionResponse", seen),
                    _ => script.e2ap(seen),
                };
                self.ric.handle(script.now(), RicInput::Received { conn, pdu });
            }
        }
        self.drive(script);
    }

    fn connect(&mut self, script: &Script<'_>, slot: usize, side: ListenerProtocol) {
        self.next += 1;
        let conn = ConnId(self.next);
        self.slots[slot] = Some(conn);
        self.ric.handle(script.now(), RicInput::Connected { conn, side, peer: format!("peer {slot}") });
    }

    fn drive(&mut self, script: &Script<'_>) {
        while let Some(output) = self.ric.poll() {
            match output {
                RicOutput::Transmit(conn) => {
                    while let Some(frame) = self.ric.transmit(script.now(), conn) {
                        if let Some(slot) = self.slots.iter().position(|s| *s == Some(conn)) {
                            self.keys[slot].learn(&frame.to_bytes());
                        }
                    }
                }
                RicOutput::Close { conn, .. } => {
                    if let Some(slot) = self.slots.iter().position(|s| *s == Some(conn)) {
                        self.slots[slot] = None;
                    }
                    while self.ric.transmit(script.now(), conn).is_some() {}
                    self.ric.handle(
                        script.now(),
                        RicInput::Disconnected { conn, why: ranlab_e2::LinkLoss::ClosedByPeer },
                    );
                }
                RicOutput::Connect { .. } | RicOutput::Event(_) => {}
            }
        }
    }

    fn check(&self, limits: &Limits) {
        let seen = self.ric.snapshot();
        assert!(seen.nodes.len() <= limits.nodes && seen.xapps.len() <= limits.xapps);
        for node in &seen.nodes {
            assert!(node.subscriptions.len() <= limits.subscriptions_per_node);
            assert!(node.requests <= limits.requests_per_node);
            for subscription in &node.subscriptions {
                assert!(subscription.xapps.len() + subscription.iapps <= limits.sinks_per_subscription);
            }
        }
        for xapp in &seen.xapps {
            assert!(xapp.subscriptions.len() <= limits.subscriptions_per_owner);
            assert!(xapp.requests <= limits.requests_per_owner);
        }
        for conn in &seen.connections {
            let outbox =
                if conn.side == ListenerProtocol::E2 { limits.agent_outbox } else { limits.xapp_outbox };
            assert!(conn.queued_bytes <= outbox.control_bytes + outbox.indication_bytes);
        }
    }
}
