//! Scenario of a radio network (cells, hosts, switches, links, streams), and the plan that is derived from it.

use std::fmt;

use super::air::AirInterface;
use super::control::{TAG_BYTES, control_pattern};
use super::error::NetworkError;
use super::network::{Flow, Host, Network, Port, Shared, Stage, StageId};
use super::pattern::Pattern;
use super::scheduler::{Scheduler, TokenBucket};
use super::split::{Carrier, IF4P5_PRACH_BYTES, Load, Split, SplitError};
use super::tdd::{Direction, Tdd};
use super::time::{Clock, Duration, Ps};

/// Signal time in one metre of cable, in ps.
const PS_PER_METRE: Ps = 5_000;
/// Load of a port above which a plan warns, percent.
const BUSY_PERCENT: u64 = 80;
/// Number of frames in a host's ring.
const RING_FRAMES: u32 = 1024;

/// Nodes, links and flows of a network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scenario {
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Full-duplex cables between the nodes.
    pub links: Vec<Link>,
    /// Cells. Each cell sends downlink and uplink traffic between its CU and its DU.
    pub cells: Vec<Cell>,
    /// All other traffic: background, users' packets between server and CU.
    pub streams: Vec<Stream>,
    /// Maximum Ethernet payload, in bytes.
    pub mtu: u32,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Unique name of the node.
    pub name: String,
    /// Handling of frames.
    pub role: Role,
    /// Clock of the node. The node's traffic follows it.
    pub clock: Clock,
}

/// Handling of frames by a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// Node that sends and receives without delay: a tester, or a host that is not modelled.
    End,
    /// Node that sends and receives through software.
    Host {
        /// Cost of sharing the network card for each incoming and each outgoing frame.
        sharing: [Duration; 2],
        /// Additional time per frame.
        service: Duration,
        /// Wake-up latency of the thread that handles frames.
        wakeup: Duration,
        /// Work of higher priority on the core that handles frames: (period, busy time, offset), in ps.
        contention: Option<(Ps, Ps, Ps)>,
    },
    /// Node that forwards frames.
    Switch {
        /// Time from a frame's reception to its next queue.
        forwarding: Duration,
        /// Bytes after which the switch forwards a frame that is still arriving. `None`: store and forward.
        cut_through_bytes: Option<u32>,
    },
}

/// Full-duplex cable between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name of the first endpoint.
    pub a: String,
    /// Name of the second endpoint.
    pub b: String,
    /// Rate in each direction, in bit/s.
    pub rate_bps: u64,
    /// Length of the cable, in metres.
    pub metres: u32,
    /// Scheduler of both endpoints.
    pub scheduler: Scheduler,
    /// Maximum bytes in the queue of a class at each endpoint.
    pub queue_bytes_max: u64,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Name of the cell.
    pub name: String,
    /// Carrier of the cell.
    pub carrier: Carrier,
    /// Split in the downlink, and the users' load with it.
    pub downlink: Split,
    /// Split in the uplink, and the users' load with it.
    pub uplink: Split,
    /// Name of the distributed unit's node.
    pub du: String,
    /// Name of the central unit's node.
    pub cu: String,
    /// Traffic class, 0 to 7.
    pub class: u8,
    /// Start of the cell's TTIs, in ps.
    pub offset_ps: Ps,
    /// TDD pattern. `None`: both directions are sent all the time (FDD).
    pub tdd: Option<Tdd>,
    /// Whether the cell's frames have an 802.1Q tag.
    pub tagged: bool,
    /// Time by which control messages of split 7.2x precede the data of their slot, in ps. `None`: no control messages.
    pub control_ahead_ps: Option<Ps>,
}

/// Frames from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// Name of the stream.
    pub name: String,
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Traffic class, 0 to 7.
    pub class: u8,
    /// Pattern of the frames.
    pub pattern: Pattern,
    /// Start of the pattern, in ps.
    pub offset_ps: Ps,
    /// Token bucket that asynchronous shapers enforce.
    pub regulator: Option<TokenBucket>,
    /// One-way delay budget, in ps.
    pub budget_ps: Option<Ps>,
    /// Radio link after the receiving node.
    pub air: Option<AirInterface>,
    /// Names of the hosts on the path, in order, which forward the stream's traffic in software. A host that is passed a second time (a
    /// response on its way back) counts once.
    pub via: Vec<String>,
    /// Radio link before the sending node, i.e. a UE's uplink.
    pub air_first: Option<AirInterface>,
}

/// Network of a scenario, and facts that are known before a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Network for simulation and bounds.
    pub network: Network,
    /// Load of each flow that a cell creates, in the network's order. The flows of streams follow these flows.
    pub loads: Vec<Load>,
    /// Warnings about probable problems.
    pub warnings: Vec<String>,
}

/// Reason why a scenario cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The name of a node is missing or used twice.
    #[error("{what} names the node {name}: there must be exactly one node with this name")]
    Node {
        /// Name of the referring element.
        what: String,
        /// Name of the node.
        name: String,
    },
    /// There is no path between two nodes over switches.
    #[error("{flow}: no path from {from} to {to} over links and switches")]
    NoWay {
        /// Name of the flow.
        flow: String,
        /// Name of the sender.
        from: String,
        /// Name of the receiver.
        to: String,
    },
    /// The load of the cell cannot be calculated.
    #[error("cell {cell}: {source}")]
    Split {
        /// Name of the cell.
        cell: String,
        /// Reason of the failed calculation.
        source: SplitError,
    },
    /// The load of a link exceeds its capacity, so a run would be useless.
    #[error("port {port} is offered {offered_bps} bit/s, but its rate is {rate_bps} bit/s")]
    Capacity {
        /// Name of the port.
        port: String,
        /// Offered load on the wire, in bit/s.
        offered_bps: u64,
        /// Rate of the port, in bit/s.
        rate_bps: u64,
    },
    /// The resulting network is invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl Scenario {
    /// Calculates rates, paths and budgets, and checks the load of all links before a run.
    pub fn plan(&self) -> Result<Plan, ScenarioError> {
        let mut builder = Builder::new(self)?;
        for cell in &self.cells {
            builder.cell(cell)?;
        }
        for cell in &self.cells {
            builder.control(cell)?;
        }
        for stream in &self.streams {
            builder.stream(stream)?;
        }
        let Builder { network, loads, warnings, .. } = builder;
        Plan::new(network, loads, warnings)
    }
}

impl Plan {
    /// Creates a plan from a network. Checks the network, and the loads of its ports.
    pub fn new(network: Network, loads: Vec<Load>, mut warnings: Vec<String>) -> Result<Self, ScenarioError> {
        network.check()?;
        for (stage, offered_bps, rate_bps) in network.port_loads() {
            let port = || network.stages[usize::from(stage)].name().to_owned();
            if offered_bps > rate_bps {
                return Err(ScenarioError::Capacity { port: port(), offered_bps, rate_bps });
            }
            let percent = u128::from(offered_bps) * 100 / u128::from(rate_bps);
            if percent >= u128::from(BUSY_PERCENT) {
                warnings.push(format!("port {} is loaded to {percent} %", port()));
            }
        }
        Ok(Self { network, loads, warnings })
    }
}

/// Adds a stage to a network.
pub(crate) fn add_stage(network: &mut Network, stage: Stage) -> StageId {
    network.stages.push(stage);
    // `Network::check` rejects a network with more stages than stage numbers, before any stage number is used.
    (network.stages.len() - 1) as StageId
}

/// Adds the stages of a host for receiving and sending. `None`: the node is not a host.
pub(crate) fn host_stages(network: &mut Network, node: &Node) -> Option<(StageId, StageId)> {
    let Role::Host { sharing, service, wakeup, contention } = &node.role else { return None };
    let mut add = |way: &str, sharing: &Duration| {
        let host = Host {
            name: format!("{} {way}", node.name),
            service: service.clone(),
            sharing: sharing.clone(),
            coalescing_ps: 0,
            wakeup: wakeup.clone(),
            contention: *contention,
            queue_frames_max: RING_FRAMES,
        };
        add_stage(network, Stage::Host(host))
    };
    Some((add("in", &sharing[0]), add("out", &sharing[1])))
}

/// Returns the index of the node with this name. `None` if no node or several nodes have it.
pub(crate) fn find_node(nodes: &[Node], name: &str) -> Option<usize> {
    let mut found = nodes.iter().enumerate().filter(|(_, node)| node.name == name);
    found.next().map(|(index, _)| index).filter(|_| found.next().is_none())
}

struct Builder<'s> {
    scenario: &'s Scenario,
    network: Network,
    loads: Vec<Load>,
    warnings: Vec<String>,
    /// For each node that is a host, its stages for receiving and sending.
    hosts: Vec<Option<(StageId, StageId)>>,
    /// For each link, its nodes and the stages from a to b and back.
    links: Vec<(usize, usize, StageId, StageId)>,
}

impl<'s> Builder<'s> {
    fn new(scenario: &'s Scenario) -> Result<Self, ScenarioError> {
        let mut builder = Self {
            scenario,
            network: Network::default(),
            loads: Vec::new(),
            warnings: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
        };
        for node in &scenario.nodes {
            builder.node("the scenario", &node.name)?;
            let stages = host_stages(&mut builder.network, node);
            builder.hosts.push(stages);
        }
        for link in &scenario.links {
            let what = format!("link {}-{}", link.a, link.b);
            let a = builder.node(&what, &link.a)?;
            let b = builder.node(&what, &link.b)?;
            let there = builder.port(link, a, b);
            let back = builder.port(link, b, a);
            builder.links.push((a, b, there, back));
        }
        Ok(builder)
    }

    fn node(&self, what: &str, name: &str) -> Result<usize, ScenarioError> {
        let missing = || ScenarioError::Node { what: what.to_owned(), name: name.to_owned() };
        find_node(&self.scenario.nodes, name).ok_or_else(missing)
    }

    fn add(&mut self, stage: Stage) -> StageId {
        add_stage(&mut self.network, stage)
    }

    fn port(&mut self, link: &Link, from: usize, to: usize) -> StageId {
        let nodes = &self.scenario.nodes;
        let (forwarding, cut_through_bytes) = match &nodes[to].role {
            Role::Switch { forwarding, cut_through_bytes } => (forwarding.clone(), *cut_through_bytes),
            _ => (Duration::Constant(0), None),
        };
        self.add(Stage::Port(Port {
            name: format!("{}>{}", nodes[from].name, nodes[to].name),
            rate_bps: link.rate_bps,
            propagation_ps: Ps::from(link.metres) * PS_PER_METRE,
            forwarding,
            cut_through_bytes,
            scheduler: link.scheduler.clone(),
            queue_bytes_max: link.queue_bytes_max,
            cut_ps: None,
        }))
    }

    fn cell(&mut self, cell: &Cell) -> Result<(), ScenarioError> {
        let ways = [
            (Direction::Down, cell.downlink, &cell.cu, &cell.du),
            (Direction::Up, cell.uplink, &cell.du, &cell.cu),
        ];
        for (direction, split, from, to) in ways {
            let way = if direction == Direction::Down { "DL" } else { "UL" };
            let load = match &cell.tdd {
                Some(tdd) => split.load_in(&cell.carrier, self.scenario.mtu, tdd, direction),
                None => split.load(&cell.carrier, self.scenario.mtu),
            };
            let load = load.map_err(|source| ScenarioError::Split { cell: cell.name.clone(), source })?;
            let load = if cell.tagged { load.tagged() } else { load };
            if let Some(over) = load.fragmented_by {
                self.warnings.push(format!(
                    "cell {} {way}: packets are {over} bytes longer than the MTU of {} and are fragmented",
                    cell.name, self.scenario.mtu
                ));
            }
            let prach = IF4P5_PRACH_BYTES + 12;
            if way == "UL" && matches!(split, Split::If4p5 { udp: false }) && self.scenario.mtu < prach {
                self.warnings.push(format!("cell {} UL: PRACH needs an MTU of {prach} bytes", cell.name));
            }
            let stream = Stream {
                name: format!("{} {way}", cell.name),
                from: from.clone(),
                to: to.clone(),
                class: cell.class,
                pattern: load.pattern.clone(),
                offset_ps: cell.offset_ps + cell.control_ahead_ps.unwrap_or(0),
                regulator: None,
                budget_ps: Some(load.budget_ps),
                air: None,
                via: Vec::new(),
                air_first: None,
            };
            self.stream(&stream)?;
            self.loads.push(load);
        }
        Ok(())
    }

    /// Adds the control messages of a cell: both directions of its data, towards the radio unit.
    fn control(&mut self, cell: &Cell) -> Result<(), ScenarioError> {
        if cell.control_ahead_ps.is_none() {
            return Ok(());
        }
        for (direction, way) in [(Direction::Down, "DL"), (Direction::Up, "UL")] {
            let mut pattern = control_pattern(&cell.carrier, cell.tdd.as_ref(), direction);
            if cell.tagged {
                pattern.lengthen(TAG_BYTES);
            }
            self.stream(&Stream {
                name: format!("control {} {way}", cell.name),
                from: cell.cu.clone(),
                to: cell.du.clone(),
                class: cell.class,
                pattern,
                offset_ps: cell.offset_ps,
                regulator: None,
                budget_ps: None,
                air: None,
                via: Vec::new(),
                air_first: None,
            })?;
        }
        Ok(())
    }

    fn stream(&mut self, stream: &Stream) -> Result<(), ScenarioError> {
        let mut path: Vec<StageId> = Vec::new();
        path.extend(stream.air_first.clone().map(|air| self.add(Stage::Air(air))));
        let from = self.node(&stream.name, &stream.from)?;
        path.extend(self.hosts[from].map(|(_, out)| out));
        let mut at = from;
        let last = self.node(&stream.name, &stream.to)?;
        for name in stream.via.iter().chain([&stream.to]) {
            let next = self.node(&stream.name, name)?;
            let ports = self.way(at, next).ok_or_else(|| ScenarioError::NoWay {
                flow: stream.name.clone(),
                from: self.scenario.nodes[at].name.clone(),
                to: name.clone(),
            })?;
            let (inwards, out) = self.hosts[next].unzip();
            let further = ports.into_iter().chain(inwards).chain(out.filter(|_| next != last));
            for stage in further {
                if !path.contains(&stage) {
                    path.push(stage);
                }
            }
            at = next;
        }
        path.extend(stream.air.clone().map(|air| self.add(Stage::Air(air))));
        self.network.flows.push(Flow {
            name: stream.name.clone(),
            class: stream.class,
            path,
            replicas: Vec::new(),
            shared: Shared::default(),
            pattern: stream.pattern.clone(),
            offset_ps: stream.offset_ps,
            clock: self.scenario.nodes[from].clock,
            regulator: stream.regulator,
            budget_ps: stream.budget_ps,
            window: None,
        });
        Ok(())
    }

    /// Returns the ports of a shortest path over switches. Among equal paths, returns the path whose links are listed first.
    fn way(&self, from: usize, to: usize) -> Option<Vec<StageId>> {
        let mut reached: Vec<Option<Vec<StageId>>> = vec![None; self.scenario.nodes.len()];
        reached[from] = Some(Vec::new());
        let mut edge = vec![from];
        while !edge.is_empty() && reached[to].is_none() {
            let mut next = Vec::new();
            for node in edge {
                for &(a, b, there, back) in &self.links {
                    let (other, port) = match node {
                        _ if node == a => (b, there),
                        _ if node == b => (a, back),
                        _ => continue,
                    };
                    let passes =
                        other == to || matches!(self.scenario.nodes[other].role, Role::Switch { .. });
                    if passes && reached[other].is_none() {
                        let mut path = reached[node].clone()?;
                        path.push(port);
                        reached[other] = Some(path);
                        next.push(other);
                    }
                }
            }
            edge = next;
        }
        reached.swap_remove(to).filter(|path| !path.is_empty())
    }
}

impl fmt::Display for Plan {
    /// Writes the flows with rates and budgets, the ports with loads, and the warnings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbit = |bps: u64| bps as f64 / 1e6;
        writeln!(f, "{:20} class  payload     wire  at once  budget", "flow")?;
        for (index, flow) in self.network.flows.iter().enumerate() {
            let payload = self
                .loads
                .get(index)
                .map_or_else(|| "-".into(), |load| format!("{:.1}", mbit(load.payload_bps)));
            let wire = flow.pattern.mean_bps().map_or_else(|| "-".into(), |bps| format!("{:.1}", mbit(bps)));
            let budget =
                flow.budget_ps.map_or_else(|| "-".into(), |ps| format!("{} us", ps / super::time::US));
            let frames = flow.pattern.at_once();
            writeln!(f, "{:20} {:5} {payload:>8} {wire:>8} {frames:8}  {budget}", flow.name, flow.class)?;
        }
        writeln!(f, "{:20}  offered  carries  Mbit/s", "port")?;
        for (stage, offered, rate) in self.network.port_loads() {
            let name = self.network.stages[usize::from(stage)].name();
            writeln!(f, "{name:20} {:8.1} {:8.1}", mbit(offered), mbit(rate))?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}
