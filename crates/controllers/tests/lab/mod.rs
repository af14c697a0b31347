//! A RIC with one iApp and base stations without a radio, in virtual time: octets go from machine to machine.
#![allow(dead_code)] // no test uses all of it

#[path = "../../../e2/tests/agent/cell.rs"]
pub(crate) mod cell;

use bytes::Bytes;
use cell::MockCell;
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent, AgentConfig, AgentInput, AgentOutput, ControllerId};
use ranlab_e2::ric::*;
use ranlab_wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, GlobalE2NodeId,
    InterfaceNg,
};
use serde_json::Value as Json;
use std::collections::VecDeque;
use std::time::Duration;

pub(crate) struct Station {
    pub(crate) agent: Agent,
    pub(crate) cell: MockCell,
    pub(crate) id: GlobalE2NodeId,
    /// Connections that it has opened.
    links: Vec<ControllerId>,
}

pub(crate) struct Lab {
    ric: Ric,
    iapp: IAppId,
    pub(crate) stations: Vec<Station>,
    pub(crate) now: Time,
    replies: Vec<NorthboundReply>,
    tokens: u64,
}

impl Lab {
    pub(crate) fn new(iapp: Box<dyn IApp>) -> Self {
        let mut ric = Ric::new(RicConfig::default());
        let iapp = ric.add_iapp(iapp);
        let (stations, replies) = (Vec::new(), Vec::new());
        Self { ric, iapp, stations, now: Time::from_nanos(1), replies, tokens: 0 }
    }

    pub(crate) fn station(&mut self, id: GlobalE2NodeId) -> usize {
        let component = ComponentConfigItem {
            interface: ComponentInterfaceType::Ng,
            id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
            configuration: ComponentConfiguration::default(),
        };
        let mut agent = Agent::new(AgentConfig::new(id, vec![component]));
        let cell = MockCell::default();
        cell.register(&mut agent);
        self.adopt(agent, cell, id)
    }

    /// A base station whose functions are registered; with a radio of its own its mock is idle.
    pub(crate) fn adopt(&mut self, mut agent: Agent, cell: MockCell, id: GlobalE2NodeId) -> usize {
        agent.add_controller(self.now, "mem://ric".to_owned()).unwrap();
        self.stations.push(Station { agent, cell, id, links: Vec::new() });
        self.settle();
        self.stations.len() - 1
    }

    /// Carries octets until nobody has any more to say.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            while let Some(output) = self.ric.poll() {
                quiet = false;
                match output {
                    RicOutput::Transmit(conn) => self.carry_down(conn),
                    RicOutput::Event(RicEvent::Reply(reply)) => self.replies.push(reply),
                    RicOutput::Close { .. } => panic!("the RIC closes: {output:?}"),
                    RicOutput::Event(_) => {}
                }
            }
            for n in 0..self.stations.len() {
                quiet &= self.carry_up(n);
            }
            if quiet {
                return;
            }
        }
    }

    fn carry_down(&mut self, conn: ConnId) {
        let frames: VecDeque<Bytes> =
            std::iter::from_fn(|| self.ric.transmit(self.now, conn)).map(|frame| frame.to_bytes()).collect();
        for pdu in frames {
            let station = &mut self.stations[conn.0 as usize - 1];
            station.agent.handle(self.now, AgentInput::Received { controller: station.links[0], pdu });
        }
    }

    /// Whether it had nothing to say.
    fn carry_up(&mut self, n: usize) -> bool {
        let (conn, mut quiet) = (ConnId(n as u64 + 1), true);
        while let Some(output) = self.stations[n].agent.poll() {
            quiet = false;
            match output {
                AgentOutput::Connect { controller, .. } => {
                    self.stations[n].links.push(controller);
                    let peer = format!("mem://{n}");
                    self.ric.handle(self.now, RicInput::Connected { conn, side: Side::E2, peer });
                    self.stations[n].agent.handle(self.now, AgentInput::Connected { controller });
                }
                AgentOutput::Transmit { controller } => {
                    while let Some(frame) = self.stations[n].agent.transmit(self.now, controller) {
                        self.ric.handle(self.now, RicInput::Received { conn, pdu: frame.to_bytes() });
                    }
                }
                AgentOutput::Close { .. } => panic!("a station closes: {output:?}"),
                AgentOutput::Event(_) => {}
            }
        }
        quiet
    }

    pub(crate) fn pass(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            let stations = self.stations.iter().filter_map(|station| station.agent.wake_at());
            let next = stations.chain(self.ric.wake_at()).min().filter(|at| *at <= end);
            self.now = next.unwrap_or(end).max(self.now);
            self.ric.handle(self.now, RicInput::Wake);
            for station in &mut self.stations {
                station.agent.handle(self.now, AgentInput::Wake);
            }
            self.settle();
            if next.is_none() {
                return;
            }
        }
    }

    /// Status and body of the answer to a request.
    pub(crate) fn ask(&mut self, method: Method, path: &str, body: &str) -> (u16, Json) {
        self.tokens += 1;
        let (token, path) = (self.tokens, path.to_owned());
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.ric.northbound(self.now, self.iapp, NorthboundRequest { token, method, path, body });
        self.settle();
        let reply = self.replies.pop().unwrap_or_else(|| panic!("no reply to request {token}"));
        assert_eq!((reply.token, self.replies.len()), (token, 0));
        (reply.status, serde_json::from_slice(&reply.body).unwrap())
    }

    pub(crate) fn get(&mut self, path: &str) -> Json {
        let (status, body) = self.ask(Method::Get, path, "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) fn put(&mut self, path: &str, body: &str) {
        let (status, answer) = self.ask(Method::Put, path, body);
        assert_eq!(status, 200, "{path} {body}: {answer}");
    }
}

/// A node's name in a path.
pub(crate) fn escaped(id: &GlobalE2NodeId) -> String {
    id.to_string().replace(' ', "%20").replace('/', "%2F")
}
