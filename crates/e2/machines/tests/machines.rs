//! Agents, RIC and xApp together in virtual time, over links that only lose data when they break.
#![cfg(all(feature = "agent", feature = "ric", feature = "xapp"))]
#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use ranlab_e2::agent::*;
use ranlab_e2::functions::hw::Hw;
use ranlab_e2::functions::stats::{PeriodicReport, StatsSource};
use ranlab_e2::ric::{ConnId, ListenerProtocol, Ric, RicConfig, RicEvent, RicInput, RicOutput};
use ranlab_e2::xapp::*;
use ranlab_e2::{LinkLoss, Time};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::hw::{self, HwTrigger, Ping};
use ranlab_e2_codec::e2sm::{Encoding, Octets, mac};
use ranlab_e2_codec::flat::Coding;
use std::collections::BTreeMap;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const C0: ControllerId = ControllerId(0);

struct Blob;

impl StatsSource for Blob {
    fn fill(&mut self, _: Time, _: UeFilter<'_>, out: &mut Vec<u8>) {
        out.extend([7; 3_000]);
    }
}

/// The peers by number: agents first, the xApp last. Each has a connection to the RIC.
struct World {
    now: Time,
    ric: Ric,
    agents: Vec<Agent>,
    xapp: Xapp,
    conns: Vec<Option<ConnId>>,
    last_conn: u64,
    /// Whether the RIC is down and connections are refused.
    down: bool,
    events: Vec<XappEvent>,
    /// Number of PDUs by side and encoding, as sent.
    seen: BTreeMap<(ListenerProtocol, Coding), usize>,
}

/// Encodings of agents and xApp.
const MIXES: [[Coding; 2]; 4] = [
    [Coding::Per, Coding::Per],
    [Coding::Per, Coding::Flat],
    [Coding::Flat, Coding::Per],
    [Coding::Flat, Coding::Flat],
];

fn agent(n: u32, coding: Coding) -> Agent {
    let component = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
        configuration: ComponentConfiguration::default(),
    };
    let id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), n, 32);
    let mut agent = Agent::new(AgentConfig::new(id, vec![component]).with(|it| {
        it.seed = u64::from(n);
        it.coding = coding;
    }));
    agent
        .register(Box::new(PeriodicReport::for_model(&mac::Mac, Blob)), Some(mac::DEFAULT_FUNCTION_ID))
        .unwrap();
    agent.register(Box::new(Hw::new().encoded(coding)), Some(hw::DEFAULT_FUNCTION_ID)).unwrap();
    agent.add_controller(Time::ZERO, "ric".into()).unwrap();
    agent
}

impl World {
    fn new(agents: u32) -> Self {
        Self::encoding(agents, [Coding::Per; 2])
    }

    fn encoding(agents: u32, [of_agents, of_xapp]: [Coding; 2]) -> Self {
        let agents: Vec<_> = (1..=agents).map(|n| agent(n, of_agents)).collect();
        let conns = vec![None; agents.len() + 1];
        let xapp = XappConfig::new("ric").with(|it| it.coding = of_xapp);
        let ric = Ric::new(RicConfig::default());
        let xapp = Xapp::new(xapp);
        let now = Time::ZERO;
        let last_conn = 0;
        let down = false;
        let events = Vec::new();
        let seen = BTreeMap::new();
        Self { now, ric, agents, xapp, conns, last_conn, down, events, seen }
    }

    fn see(&mut self, peer: usize, pdu: &[u8]) {
        let side = if peer < self.agents.len() { ListenerProtocol::E2 } else { ListenerProtocol::E42 };
        *self.seen.entry((side, Coding::detect(pdu))).or_default() += 1;
    }

    fn set_connected(&mut self, peer: usize, connected: bool) {
        match self.agents.get_mut(peer) {
            Some(a) if connected => a.handle(self.now, AgentInput::Connected { controller: C0 }),
            Some(a) => {
                a.handle(self.now, AgentInput::Disconnected { controller: C0, why: LinkLoss::ClosedByPeer })
            }
            None if connected => self.xapp.handle(self.now, XappInput::Connected),
            None => self.xapp.handle(self.now, XappInput::Disconnected { why: LinkLoss::ClosedByPeer }),
        }
    }

    fn connect(&mut self, peer: usize) {
        if self.down {
            return self.set_connected(peer, false);
        }
        self.last_conn += 1;
        let conn = ConnId(self.last_conn);
        self.conns[peer] = Some(conn);
        let side = if peer < self.agents.len() { ListenerProtocol::E2 } else { ListenerProtocol::E42 };
        self.ric.handle(self.now, RicInput::Connected { conn, side, peer: format!("{peer}") });
        self.set_connected(peer, true);
    }

    /// Breaks a connection at both ends.
    fn cut(&mut self, peer: usize) {
        if let Some(conn) = self.conns[peer].take() {
            self.ric.handle(self.now, RicInput::Disconnected { conn, why: LinkLoss::ClosedByPeer });
            self.set_connected(peer, false);
        }
        self.run();
    }

    /// Processes all pending outputs.
    fn run(&mut self) {
        let mut busy = true;
        while busy {
            busy = false;
            for peer in 0..self.agents.len() {
                while let Some(output) = self.agents[peer].poll() {
                    busy = true;
                    match output {
                        AgentOutput::Connect { .. } => self.connect(peer),
                        AgentOutput::Close { reason, .. } => panic!("agent {peer} closes: {reason}"),
                        AgentOutput::Transmit { .. } => {
                            while let Some(frame) = self.agents[peer].transmit(self.now, C0) {
                                let Some(conn) = self.conns[peer] else { continue };
                                self.see(peer, &frame.to_bytes());
                                self.ric.handle(self.now, RicInput::Received { conn, pdu: frame.to_bytes() });
                            }
                        }
                        AgentOutput::Event(_) => {}
                    }
                }
            }
            while let Some(output) = self.xapp.poll() {
                busy = true;
                match output {
                    XappOutput::Connect { .. } => self.connect(self.agents.len()),
                    XappOutput::Close { reason } => panic!("the xApp closes: {reason}"),
                    XappOutput::Event(event) => self.events.push(event),
                    XappOutput::Transmit => {
                        while let Some(frame) = self.xapp.transmit(self.now) {
                            let Some(conn) = self.conns[self.agents.len()] else { continue };
                            self.see(self.agents.len(), &frame.to_bytes());
                            self.ric.handle(self.now, RicInput::Received { conn, pdu: frame.to_bytes() });
                        }
                    }
                }
            }
            while let Some(output) = self.ric.poll() {
                busy = true;
                match output {
                    RicOutput::Close { conn, reason } => panic!("the RIC closes {conn:?}: {reason}"),
                    RicOutput::Connect { .. } | RicOutput::Event(_) => {}
                    RicOutput::Transmit(conn) => {
                        while let Some(frame) = self.ric.transmit(self.now, conn) {
                            let pdu = frame.to_bytes();
                            let peer = self.conns.iter().position(|c| *c == Some(conn));
                            peer.into_iter().for_each(|peer| self.see(peer, &pdu));
                            match peer {
                                Some(p) if p < self.agents.len() => {
                                    self.agents[p]
                                        .handle(self.now, AgentInput::Received { controller: C0, pdu });
                                }
                                Some(_) => self.xapp.handle(self.now, XappInput::Received { pdu }),
                                None => {}
                            }
                        }
                    }
                }
            }
        }
    }

    fn pass(&mut self, d: Duration) {
        let end = self.now + d;
        // External calls produce outputs, too.
        self.run();
        loop {
            let agents = self.agents.iter().filter_map(Agent::wake_at);
            let next = agents.chain(self.xapp.wake_at()).chain(self.ric.wake_at()).min();
            let Some(at) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            let now = self.now;
            self.agents.iter_mut().for_each(|a| a.handle(now, AgentInput::Wake));
            self.ric.handle(now, RicInput::Wake);
            self.xapp.handle(now, XappInput::Wake);
            self.run();
        }
        self.now = end;
    }

    fn subscribed(&self) -> (usize, usize, usize) {
        let (active, all) = self.xapp.subscriptions();
        (active, all, self.agents.iter().map(Agent::subscriptions).sum())
    }

    fn indications(&mut self) -> usize {
        let events = std::mem::take(&mut self.events);
        events.iter().filter(|e| matches!(e, XappEvent::Indication { .. })).count()
    }
}

fn monitor(world: &mut World) {
    let trigger = Bytes::from_static(&[10, 0, 0, 0]);
    world.xapp.subscribe_all(mac::OID, trigger, vec![ActionToBeSetup::report(0)]).unwrap();
    world.pass(100 * MS);
}

#[test]
fn statistics_reach_xapp_without_gap_in_all_encodings() {
    for mix in MIXES {
        let mut world = World::encoding(10, mix);
        monitor(&mut world);
        assert_eq!(world.subscribed(), (10, 10, 10));
        world.indications();
        world.pass(1_000 * MS);
        assert_eq!((world.indications(), world.xapp.lost_total()), (1_000, Some(0)), "{mix:?}");
        assert_eq!(world.xapp.counters().stray, 0);
        // Each connection uses only its own encoding.
        let seen: Vec<_> = world.seen.into_keys().collect();
        assert_eq!(seen, [(ListenerProtocol::E2, mix[0]), (ListenerProtocol::E42, mix[1])]);
    }
}

#[test]
fn peer_that_changes_encoding_is_rejected_without_affecting_others() {
    let mut world = World::encoding(2, [Coding::Flat, Coding::Per]);
    monitor(&mut world);
    let conn = world.conns[0].unwrap();
    let per = Message::random("RICindication", 1, Version::V2_03).unwrap();
    let pdu = Bytes::from(encode(&per, Version::V2_03).unwrap());
    world.ric.handle(world.now, RicInput::Received { conn, pdu });
    let reason = std::iter::from_fn(|| world.ric.poll()).find_map(|output| match output {
        RicOutput::Event(RicEvent::Fault { what, .. }) => Some(what),
        _ => None,
    });
    assert_eq!(
        reason.as_deref(),
        Some("this connection is configured for FlatBuffers, the peer sends aligned PER")
    );
    world.indications();
    world.pass(100 * MS);
    assert_eq!((world.indications(), world.ric.counters().undecodable), (20, 1));
}

#[test]
fn ping_returns_in_all_encodings() {
    MIXES.into_iter().for_each(ping_comes_back);
}

fn ping_comes_back(mix: [Coding; 2]) {
    let mut world = World::encoding(1, mix);
    world.pass(100 * MS);
    let node = *world.xapp.nodes().next().unwrap().0;
    let trigger = HwTrigger::OnControl.to_octets(Encoding::Per).unwrap();
    let actions = vec![ActionToBeSetup::report(0)];
    world.xapp.subscribe(node, hw::OID, trigger, actions).unwrap();
    world.pass(MS);
    // The service model uses the encoding of the base station, independently of the transport.
    let ping = Ping { seq: 1, t_send_ns: 2, payload: Bytes::from_static(&[9; 1_500]) };
    let ping = ping.to_octets(mix[0].into()).unwrap();
    let handle = world.xapp.control(world.now, node, hw::OID, Bytes::new(), ping.clone(), true).unwrap();
    world.events.clear();
    world.pass(MS);
    let echoed =
        |e: &XappEvent| matches!(e, XappEvent::Indication { indication, .. } if indication.message == ping);
    assert!(world.events.iter().any(echoed), "{mix:?}: {:?}", world.events);
    assert!(world.events.contains(&XappEvent::ControlAcknowledged { handle, outcome: None }));
}

#[test]
fn subscriptions_survive_loss_of_agents_xapps_and_ric() {
    let mut world = World::new(5);
    monitor(&mut world);
    for peer in [0, 3, 5] {
        world.cut(peer);
        world.pass(1_500 * MS);
        assert_eq!(world.subscribed(), (5, 5, 5), "after the loss of {peer}");
    }
    world.indications();
    world.pass(100 * MS);
    assert_eq!(world.indications(), 50);
    // The RIC is restarted after 200 ms. Within 3 s everything is restored, and nothing twice.
    world.ric = Ric::new(RicConfig::default());
    world.down = true;
    (0..6).for_each(|peer| world.cut(peer));
    world.pass(200 * MS);
    world.down = false;
    world.pass(3_000 * MS);
    assert_eq!(world.subscribed(), (5, 5, 5));
    world.indications();
    world.pass(100 * MS);
    assert_eq!((world.indications(), world.xapp.lost_total()), (50, Some(0)));
}
