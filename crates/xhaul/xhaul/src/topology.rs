//! User-defined network: nodes, directed lines and demands, which are routed into a [`Network`].

use std::collections::VecDeque;

use super::error::NetworkError;
use super::network::{DelayWindow, Flow, Network, Port, Shared, Stage, StageId};
use super::pattern::Pattern;
use super::scenario::{Node, Role, add_stage, find_node, host_stages};
use super::scheduler::{Scheduler, TokenBucket};
use super::time::{Duration, Ps};

/// Nodes, lines and demands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Topology {
    /// Hosts, switches and ends.
    pub nodes: Vec<Node>,
    /// Directed lines. A cable consists of two lines.
    pub lines: Vec<Line>,
    /// Traffic between nodes.
    pub demands: Vec<Demand>,
}

/// One direction of a cable, with the port that sends into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Rate of the line, in bit/s.
    pub rate_bps: u64,
    /// Signal time of the line, in ps.
    pub propagation_ps: Ps,
    /// Time from a frame's reception by the far end to its next queue.
    pub processing: Duration,
    /// Bytes after which the far end may forward a frame that is still arriving. `None`: store and forward.
    pub cut_through_bytes: Option<u32>,
    /// Scheduler, which selects the next frame.
    pub scheduler: Scheduler,
    /// Maximum bytes in the queue of a class.
    pub queue_bytes_max: u64,
    /// Start and end of a time in which the line is cut, in ps.
    pub cut_ps: Option<(Ps, Ps)>,
}

/// Frames from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Name of the demand.
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
    /// Delays with which frames meet their receive window.
    pub window: Option<DelayWindow>,
    /// Number of paths over which each frame is sent (IEEE 802.1CB). The paths have no common line or switch. 1: no redundancy.
    pub paths: usize,
    /// Nodes on the path in order, without the two ends. Empty: a shortest path is used.
    pub route: Vec<String>,
}

/// Reason why a topology is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// The name of a node is missing or used twice.
    #[error("{of} names the node \"{name}\": there must be exactly one node with this name")]
    Node {
        /// Name of the referring element.
        of: String,
        /// Name of the node.
        name: String,
    },
    /// There is no path between two nodes over switches.
    #[error("flow {flow}: no path from {from} to {to} over links and switches")]
    NoWay {
        /// Name of the flow.
        flow: String,
        /// Name of the sender.
        from: String,
        /// Name of the receiver.
        to: String,
    },
    /// There are fewer disjoint paths than requested.
    #[error(
        "flow {flow}: {paths} paths are required that share no link and no switch, but only {found} exist between {from} and {to}"
    )]
    Paths {
        /// Name of the flow.
        flow: String,
        /// Number of existing paths.
        found: usize,
        /// Number of requested paths.
        paths: usize,
        /// Node at which the paths separate.
        from: String,
        /// Node at which the paths join.
        to: String,
    },
    /// The resulting network is invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl Topology {
    /// Routes the demands and returns the network. The lines are its first stages, in their order.
    pub fn network(&self) -> Result<Network, TopologyError> {
        let mut router = Router::new(self)?;
        for demand in &self.demands {
            router.route(demand)?;
        }
        router.network.check()?;
        Ok(router.network)
    }
}

/// Line, defined by the indices of its two nodes.
#[derive(Debug, Clone, Copy)]
struct Edge {
    from: usize,
    to: usize,
    stage: StageId,
}

struct Router<'t> {
    topology: &'t Topology,
    network: Network,
    edges: Vec<Edge>,
    /// For each node that is a host, its stages for receiving and sending.
    hosts: Vec<Option<(StageId, StageId)>>,
}

impl<'t> Router<'t> {
    fn new(topology: &'t Topology) -> Result<Self, TopologyError> {
        let mut router = Self { topology, network: Network::default(), edges: Vec::new(), hosts: Vec::new() };
        for line in &topology.lines {
            let name = format!("{}>{}", line.from, line.to);
            let from = router.node(&name, &line.from)?;
            let to = router.node(&name, &line.to)?;
            let stage = router.add(Stage::Port(Port {
                name,
                rate_bps: line.rate_bps,
                propagation_ps: line.propagation_ps,
                forwarding: line.processing.clone(),
                cut_through_bytes: line.cut_through_bytes,
                scheduler: line.scheduler.clone(),
                queue_bytes_max: line.queue_bytes_max,
                cut_ps: line.cut_ps,
            }));
            router.edges.push(Edge { from, to, stage });
        }
        for node in &topology.nodes {
            router.node("the network", &node.name)?;
            let stages = host_stages(&mut router.network, node);
            router.hosts.push(stages);
        }
        Ok(router)
    }

    fn add(&mut self, stage: Stage) -> StageId {
        add_stage(&mut self.network, stage)
    }

    fn node(&self, of: &str, name: &str) -> Result<usize, TopologyError> {
        let missing = || TopologyError::Node { of: of.to_owned(), name: name.to_owned() };
        find_node(&self.topology.nodes, name).ok_or_else(missing)
    }

    fn route(&mut self, demand: &Demand) -> Result<(), TopologyError> {
        let of = format!("flow {}", demand.name);
        let from = self.node(&of, &demand.from)?;
        let to = self.node(&of, &demand.to)?;
        let (ways, shared) = match demand.paths {
            0 | 1 => (vec![self.along(demand, from, to)?], Shared::default()),
            _ => self.disjoint(demand, from, to)?,
        };
        let host_out = self.hosts[from].map(|(_, out)| out);
        let host_in = self.hosts[to].map(|(inwards, _)| inwards);
        let whole = |way: Vec<usize>| -> Vec<StageId> {
            let lines = way.into_iter().map(|edge| self.edges[edge].stage);
            host_out.into_iter().chain(lines).chain(host_in).collect()
        };
        let mut paths: Vec<Vec<StageId>> = ways.into_iter().map(whole).collect();
        let path = if paths.is_empty() { Vec::new() } else { paths.remove(0) };
        let shared = match paths.is_empty() {
            true => Shared::default(),
            false => Shared {
                head: shared.head + usize::from(host_out.is_some()),
                tail: shared.tail + usize::from(host_in.is_some()),
            },
        };
        self.network.flows.push(Flow {
            name: demand.name.clone(),
            class: demand.class,
            path,
            replicas: paths,
            shared,
            pattern: demand.pattern.clone(),
            offset_ps: demand.offset_ps,
            clock: self.topology.nodes[from].clock,
            regulator: demand.regulator,
            budget_ps: demand.budget_ps,
            window: demand.window,
        });
        Ok(())
    }

    /// Returns the lines of a shortest path over the nodes of the demand's route.
    fn along(&self, demand: &Demand, from: usize, to: usize) -> Result<Vec<usize>, TopologyError> {
        let of = format!("flow {}", demand.name);
        let mut way = Vec::new();
        let mut at = from;
        let stops: Result<Vec<usize>, _> = demand.route.iter().map(|name| self.node(&of, name)).collect();
        for next in stops?.into_iter().chain([to]) {
            let part = self.shortest(at, next, &[]).filter(|part| !part.is_empty());
            way.extend(part.ok_or_else(|| self.no_way(demand, at, next))?);
            at = next;
        }
        Ok(way)
    }

    fn no_way(&self, demand: &Demand, from: usize, to: usize) -> TopologyError {
        let name = |node: usize| self.topology.nodes[node].name.clone();
        TopologyError::NoWay { flow: demand.name.clone(), from: name(from), to: name(to) }
    }

    fn is_switch(&self, node: usize) -> bool {
        matches!(self.topology.nodes[node].role, Role::Switch { .. })
    }

    /// Returns a shortest path over switches that uses no line in `closed`. Among equal paths, returns the path whose lines are listed
    /// first.
    fn shortest(&self, from: usize, to: usize, closed: &[usize]) -> Option<Vec<usize>> {
        let mut reached: Vec<Option<usize>> = vec![None; self.topology.nodes.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            let open = |&(index, edge): &(usize, &Edge)| edge.from == node && !closed.contains(&index);
            for (index, edge) in self.edges.iter().enumerate().filter(open) {
                let passes = edge.to == to || self.is_switch(edge.to);
                if passes && edge.to != from && reached[edge.to].is_none() {
                    reached[edge.to] = Some(index);
                    queue.push_back(edge.to);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = to;
        while at != from {
            let edge = reached[at]?;
            way.push(edge);
            at = self.edges[edge].from;
        }
        way.reverse();
        Some(way)
    }

    /// Returns the lines of paths that share no line and no switch. Exceptions are lines that every path needs at its start and end.
    fn disjoint(
        &self,
        demand: &Demand,
        from: usize,
        to: usize,
    ) -> Result<(Vec<Vec<usize>>, Shared), TopologyError> {
        let head = self.forced(from, to, true);
        let tail = self.forced(to, from, false);
        let part = head.last().map_or(from, |&edge| self.edges[edge].to);
        let meet = tail.last().map_or(to, |&edge| self.edges[edge].from);
        let mut branches = super::disjoint::paths(&self.links(part, meet), part, meet, demand.paths);
        if branches.len() < demand.paths {
            let name = |node: usize| self.topology.nodes[node].name.clone();
            return Err(TopologyError::Paths {
                flow: demand.name.clone(),
                found: branches.len(),
                paths: demand.paths,
                from: name(part),
                to: name(meet),
            });
        }
        branches.sort_by_key(Vec::len);
        let end: Vec<usize> = tail.iter().rev().copied().collect();
        let ways = branches.into_iter().map(|branch| [&head[..], &branch, &end].concat()).collect();
        Ok((ways, Shared { head: head.len(), tail: tail.len() }))
    }

    /// Returns the lines (index, from, to) that a path between two nodes may use.
    fn links(&self, from: usize, to: usize) -> Vec<(usize, usize, usize)> {
        let inner = |node: usize| node == from || node == to || self.is_switch(node);
        let edges = self.edges.iter().enumerate();
        let usable = edges.filter(|(_, edge)| inner(edge.from) && inner(edge.to));
        usable.map(|(index, edge)| (index, edge.from, edge.to)).collect()
    }

    /// Returns the lines at `node` that every path must use because it has no alternative, in order. Follows the lines forwards from the
    /// sender, or backwards from the receiver.
    fn forced(&self, node: usize, far: usize, forwards: bool) -> Vec<usize> {
        let mut forced = Vec::new();
        let mut at = node;
        let mut visited = vec![node];
        loop {
            let near = |edge: &Edge| if forwards { edge.from } else { edge.to };
            let next = |edge: &Edge| if forwards { edge.to } else { edge.from };
            let usable = |&(_, edge): &(usize, &Edge)| {
                near(edge) == at
                    && !visited.contains(&next(edge))
                    && (self.is_switch(next(edge)) || next(edge) == far)
            };
            let mut choices = self.edges.iter().enumerate().filter(usable);
            let (Some((index, edge)), None) = (choices.next(), choices.next()) else { return forced };
            if next(edge) == far {
                return forced;
            }
            forced.push(index);
            at = next(edge);
            visited.push(at);
        }
    }
}
