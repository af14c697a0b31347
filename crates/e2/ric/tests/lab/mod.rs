//! Test bed in virtual time: RICs with iApps, and base stations without a radio, with direct transport of
//! messages.
#![allow(dead_code)] // no test uses all of it

#[path = "../../../machines/tests/agent/cell.rs"]
pub(crate) mod cell;

use bytes::Bytes;
use cell::MockCell;
use ranlab_e2::agent::{Agent, AgentConfig, AgentInput, AgentOutput, ControllerId};
use ranlab_e2::functions::{rrc, slice};
use ranlab_e2::ric::*;
use ranlab_e2::{LinkLoss, Time};
use ranlab_e2_codec::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, GlobalE2NodeId,
    InterfaceF1, InterfaceNg,
};
use ranlab_ric::virt::{BrokerTask, TenantBroker, TenantNodeId};
use serde_json::Value as Json;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub(crate) struct Station {
    pub(crate) agent: Agent,
    pub(crate) cell: MockCell,
    pub(crate) id: GlobalE2NodeId,
    /// Index of the RIC at the other end of each connection.
    links: Vec<(ControllerId, usize)>,
}

struct RicSlot {
    address: String,
    ric: Ric,
    iapps: Vec<IAppId>,
}

/// Virtualization controller: addresses of its operators' controllers, and its agents among the base
/// stations.
struct Shared {
    seat: usize,
    desk: TenantBroker,
    operators: Vec<String>,
    faces: BTreeMap<TenantNodeId, usize>,
}

pub(crate) struct Lab {
    rics: Vec<RicSlot>,
    shared: Vec<Shared>,
    pub(crate) stations: Vec<Station>,
    pub(crate) now: Time,
    replies: Vec<NorthboundReply>,
    tokens: u64,
}

impl Lab {
    pub(crate) fn new(iapp: Box<dyn IApp>) -> Self {
        let rics = Vec::new();
        let stations = Vec::new();
        let replies = Vec::new();
        let now = Time::from_nanos(1);
        let shared = Vec::new();
        let mut lab = Self { rics, shared, stations, now, replies, tokens: 0 };
        lab.controller("mem://ric", iapp);
        lab
    }

    /// Adds a further controller, to which the base stations are not yet connected.
    pub(crate) fn controller(&mut self, address: &str, iapp: Box<dyn IApp>) -> usize {
        let mut ric = Ric::new(RicConfig::default());
        let iapps = vec![ric.add_iapp(iapp)];
        self.rics.push(RicSlot { address: address.to_owned(), ric, iapps });
        self.rics.len() - 1
    }

    /// Connects the agents of a virtualization controller to its operators.
    pub(crate) fn share(&mut self, seat: usize, desk: TenantBroker, operators: &[&str]) {
        let operators = operators.iter().map(|address| (*address).to_owned()).collect();
        self.shared.push(Shared { seat, desk, operators, faces: BTreeMap::new() });
    }

    /// Carries out the work of virtualization controllers; returns whether there was nothing to do.
    fn run_errands(&mut self) -> bool {
        let mut quiet = true;
        for n in 0..self.shared.len() {
            while let Some(errand) = self.shared[n].desk.next_errand() {
                quiet = false;
                let shared = &mut self.shared[n];
                match errand {
                    BrokerTask::Open(face) => {
                        let (id, operator) = shared.desk.face(face).unwrap();
                        let at = *shared.faces.entry(face).or_insert_with(|| {
                            let agent = shared.desk.agent(face).unwrap();
                            let cell = MockCell::default();
                            self.stations.push(Station { agent, cell, id, links: Vec::new() });
                            self.stations.len() - 1
                        });
                        let address = shared.operators[operator].clone();
                        self.stations[at].agent.add_controller(self.now, address).unwrap();
                    }
                    BrokerTask::Close(face) => {
                        let agent = &mut self.stations[shared.faces[&face]].agent;
                        for id in agent.controllers().map(|(id, _)| id).collect::<Vec<_>>() {
                            agent.remove_controller(self.now, id).unwrap();
                        }
                    }
                    BrokerTask::Tend(face) => {
                        let agent = &mut self.stations[shared.faces[&face]].agent;
                        shared.desk.tend(face, agent, self.now);
                    }
                    BrokerTask::Rouse => {
                        let RicSlot { ric, iapps, .. } = &mut self.rics[shared.seat];
                        ric.wake_iapp(self.now, iapps[0]);
                    }
                }
            }
        }
        quiet
    }

    /// Adds an iApp to a controller before base stations connect.
    pub(crate) fn iapp(&mut self, seat: usize, iapp: Box<dyn IApp>) -> usize {
        let RicSlot { ric, iapps, .. } = &mut self.rics[seat];
        iapps.push(ric.add_iapp(iapp));
        iapps.len() - 1
    }

    pub(crate) fn station(&mut self, id: GlobalE2NodeId) -> usize {
        self.station_with(id, |_, _| ())
    }

    /// Adds a base station with more RAN functions than its mock.
    pub(crate) fn station_with(
        &mut self,
        id: GlobalE2NodeId,
        more: impl FnOnce(&mut Agent, &MockCell),
    ) -> usize {
        let component = ComponentConfigItem {
            interface: ComponentInterfaceType::Ng,
            id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
            configuration: ComponentConfiguration::default(),
        };
        let mut agent = Agent::new(AgentConfig::new(id, vec![component]));
        let cell = MockCell::default();
        cell.register(&mut agent);
        more(&mut agent, &cell);
        self.adopt(agent, cell, id)
    }

    /// Adds the E2 nodes of a base station: a CU with RRC, and DUs with one carrier each; returns the index
    /// of the first.
    pub(crate) fn parts(&mut self, cu: GlobalE2NodeId, dus: &[GlobalE2NodeId]) -> usize {
        let component = |interface, id| {
            let configuration = ComponentConfiguration::default();
            ComponentConfigItem { interface, id, configuration }
        };
        let f1 = |du: &GlobalE2NodeId| {
            let du_id = du.part_ids().1.unwrap();
            component(ComponentInterfaceType::F1, ComponentId::F1(InterfaceF1 { du_id }))
        };
        let mut agent = Agent::new(AgentConfig::new(cu, dus.iter().map(f1).collect()));
        let cell = MockCell::default();
        agent.register(rrc::function(cell.clone()), Some(cell::RRC)).unwrap();
        let first = self.adopt(agent, cell, cu);
        for du in dus {
            let mut agent = Agent::new(AgentConfig::new(*du, vec![f1(du)]));
            let cell = MockCell::default();
            agent.register(slice::function(cell.clone()), Some(cell::SLICE)).unwrap();
            self.adopt(agent, cell, *du);
        }
        first
    }

    /// Adds a base station with registered functions; if it has a radio, its mock is idle.
    pub(crate) fn adopt(&mut self, mut agent: Agent, cell: MockCell, id: GlobalE2NodeId) -> usize {
        agent.add_controller(self.now, "mem://ric".to_owned()).unwrap();
        self.stations.push(Station { agent, cell, id, links: Vec::new() });
        self.deliver_all();
        self.stations.len() - 1
    }

    /// Transports messages until all queues are empty.
    fn deliver_all(&mut self) {
        loop {
            let mut quiet = true;
            for seat in 0..self.rics.len() {
                while let Some(output) = self.rics[seat].ric.poll() {
                    quiet = false;
                    match output {
                        RicOutput::Transmit(conn) => self.carry_down(seat, conn),
                        RicOutput::Event(RicEvent::Reply(reply)) => self.replies.push(reply),
                        RicOutput::Close { conn, ref reason } => {
                            assert_eq!(reason.to_string(), "the node was removed");
                            self.cut(conn.0 as usize - 1, seat);
                        }
                        RicOutput::Connect { .. } | RicOutput::Event(_) => {}
                    }
                }
            }
            for n in 0..self.stations.len() {
                quiet &= self.carry_up(n);
            }
            quiet &= self.run_errands();
            if quiet {
                return;
            }
        }
    }

    fn carry_down(&mut self, seat: usize, conn: ConnId) {
        let now = self.now;
        let ric = &mut self.rics[seat].ric;
        let frames: VecDeque<Bytes> =
            std::iter::from_fn(|| ric.transmit(now, conn)).map(|frame| frame.to_bytes()).collect();
        let station = &mut self.stations[conn.0 as usize - 1];
        for pdu in frames {
            let (controller, _) = station.links.iter().find(|(_, to)| *to == seat).copied().unwrap();
            station.agent.handle(self.now, AgentInput::Received { controller, pdu });
        }
    }

    /// Returns whether there was nothing to transport.
    fn carry_up(&mut self, n: usize) -> bool {
        let conn = ConnId(n as u64 + 1);
        let mut quiet = true;
        while let Some(output) = self.stations[n].agent.poll() {
            quiet = false;
            match output {
                AgentOutput::Connect { controller, address } => self.connect(n, controller, &address),
                AgentOutput::Transmit { controller } => {
                    let links = &self.stations[n].links;
                    let Some(&(_, seat)) = links.iter().find(|(id, _)| *id == controller) else { continue };
                    while let Some(frame) = self.stations[n].agent.transmit(self.now, controller) {
                        let pdu = frame.to_bytes();
                        self.rics[seat].ric.handle(self.now, RicInput::Received { conn, pdu });
                    }
                }
                AgentOutput::Close { controller, .. } => self.disconnect(n, controller),
                AgentOutput::Event(_) => {}
            }
        }
        quiet
    }

    fn connect(&mut self, n: usize, controller: ControllerId, address: &str) {
        let station = &mut self.stations[n];
        let Some(seat) = self.rics.iter().position(|seat| seat.address == address) else {
            let why = LinkLoss::NotConnected("no program listens".to_owned());
            return station.agent.handle(self.now, AgentInput::Disconnected { controller, why });
        };
        station.links.push((controller, seat));
        let conn = ConnId(n as u64 + 1);
        let peer = format!("mem://{n}");
        self.rics[seat].ric.handle(self.now, RicInput::Connected { conn, side: ListenerProtocol::E2, peer });
        station.agent.handle(self.now, AgentInput::Connected { controller });
    }

    fn disconnect(&mut self, n: usize, controller: ControllerId) {
        let links = &mut self.stations[n].links;
        let Some(place) = links.iter().position(|(id, _)| *id == controller) else { return };
        let (_, seat) = links.remove(place);
        let conn = ConnId(n as u64 + 1);
        let why = LinkLoss::ClosedByPeer;
        self.rics[seat].ric.handle(self.now, RicInput::Disconnected { conn, why });
    }

    /// Cuts a base station's connection to a controller; the agent reconnects.
    pub(crate) fn cut(&mut self, n: usize, seat: usize) {
        let (controller, _) = *self.stations[n].links.iter().find(|(_, to)| *to == seat).unwrap();
        self.disconnect(n, controller);
        let why = LinkLoss::ClosedByPeer;
        self.stations[n].agent.handle(self.now, AgentInput::Disconnected { controller, why });
    }

    pub(crate) fn pass(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            let stations = self.stations.iter().filter_map(|station| station.agent.wake_at());
            let rics = self.rics.iter().filter_map(|seat| seat.ric.wake_at());
            let next = stations.chain(rics).min().filter(|at| *at <= end);
            self.now = next.unwrap_or(end).max(self.now);
            for seat in &mut self.rics {
                seat.ric.handle(self.now, RicInput::Wake);
            }
            for station in &mut self.stations {
                station.agent.handle(self.now, AgentInput::Wake);
            }
            self.deliver_all();
            if next.is_none() {
                return;
            }
        }
    }

    /// Sends a request to the first controller's iApp; returns status and body.
    pub(crate) fn ask(&mut self, method: Method, path: &str, body: &str) -> (u16, Json) {
        self.ask_at((0, 0), method, path, body)
    }

    /// Like [`ask`](Self::ask), for an iApp of one of several controllers.
    pub(crate) fn ask_at(
        &mut self,
        (seat, iapp): (usize, usize),
        method: Method,
        path: &str,
        body: &str,
    ) -> (u16, Json) {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let reply = self.ask_octets(seat, iapp, method, path, body);
        (reply.0, serde_json::from_slice(&reply.1).unwrap())
    }

    /// Like [`ask_at`](Self::ask_at), for a response that is not JSON.
    pub(crate) fn ask_octets(
        &mut self,
        seat: usize,
        iapp: usize,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> (u16, Bytes) {
        self.tokens += 1;
        let token = self.tokens;
        let path = path.to_owned();
        let RicSlot { ric, iapps, .. } = &mut self.rics[seat];
        ric.northbound(self.now, iapps[iapp], NorthboundRequest { token, method, path, body, party: None });
        self.deliver_all();
        let reply = self.replies.pop().unwrap_or_else(|| panic!("no reply to request {token}"));
        assert_eq!((reply.token, self.replies.len()), (token, 0));
        (reply.status, reply.body)
    }

    /// Sends a request with a delayed response, which [`ended`](Self::ended) returns.
    pub(crate) fn begin(&mut self, method: Method, path: &str, body: &str) {
        self.tokens += 1;
        let token = self.tokens;
        let path = path.to_owned();
        let body = Bytes::copy_from_slice(body.as_bytes());
        let RicSlot { ric, iapps, .. } = &mut self.rics[0];
        ric.northbound(self.now, iapps[0], NorthboundRequest { token, method, path, body, party: None });
        self.deliver_all();
        assert_eq!(self.replies.len(), 0, "the request must not be answered immediately");
    }

    /// Sends a request without body and checks the status of the immediate response.
    pub(crate) fn begin_and_end(&mut self, method: Method, path: &str, status: u16) {
        self.tokens += 1;
        let token = self.tokens;
        let path = path.to_owned();
        let RicSlot { ric, iapps, .. } = &mut self.rics[0];
        ric.northbound(
            self.now,
            iapps[0],
            NorthboundRequest { token, method, path, body: Bytes::new(), party: None },
        );
        self.deliver_all();
        let reply = self.replies.pop().unwrap_or_else(|| panic!("no reply to request {token}"));
        assert_eq!((reply.status, reply.body.len()), (status, 0));
    }

    pub(crate) fn ended(&mut self) -> (u16, Json) {
        let reply = self.replies.pop().unwrap_or_else(|| panic!("the request has no reply"));
        assert_eq!((reply.token, self.replies.len()), (self.tokens, 0));
        (reply.status, serde_json::from_slice(&reply.body).unwrap())
    }

    /// Returns the first controller's RIC.
    pub(crate) fn ric(&self) -> &Ric {
        &self.rics[0].ric
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

/// Escapes a node's name for a path.
pub(crate) fn escaped(id: &GlobalE2NodeId) -> String {
    id.to_string().replace(' ', "%20").replace('/', "%2F")
}

/// Sends a GET request to an iApp of one of several controllers, which must succeed.
pub(crate) fn get_json(lab: &mut Lab, whom: (usize, usize), path: &str) -> Json {
    let (status, body) = lab.ask_at(whom, Method::Get, path, "");
    assert_eq!(status, 200, "{path}: {body}");
    body
}

/// Sends a PUT request, which must succeed.
pub(crate) fn order(lab: &mut Lab, whom: (usize, usize), path: &str, body: &str) {
    let (status, answer) = lab.ask_at(whom, Method::Put, path, body);
    assert_eq!(status, 200, "{path} {body}: {answer}");
}
