//! Network namespaces of a live network, and the links between them.

use std::net::Ipv4Addr;

use ranlab_host::netns::{Link, QueueCounters, Testbed};
use ranlab_net::stamped::enter_namespace;

use super::ports::{CablePorts, Ports};
use super::split_hosts::OneEnd;
use super::traffic::early_ns;
use super::{Classes, LiveSharing, RankOrder, Segment, XhaulComponent, lab_trouble};
use ranlab_lab::field::JsonField;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

/// Interface names of the midhaul and of the backhaul in every node.
pub(super) use ranlab_lab::vbbu::MIDHAUL;
const BACKHAUL: &str = "bh0";

/// Nodes that are not part of the CU.
const EDGES: [&str; 4] = ["du", "du2", "tester", "server"];

/// Highest priority of IEEE 802.1Q.
const CLASS_MAX: u8 = 7;

/// Namespace and interface.
pub(super) type InterfaceEnd = (String, String);

/// Namespace and addresses of a node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    name: &'static str,
    pub(super) namespace: String,
    /// Address on the midhaul; for the server, its address on the backhaul.
    pub(super) ip: Ipv4Addr,
}

/// Nodes and links of a live network.
#[derive(Debug)]
pub(super) struct LiveTopology {
    pub(super) testbed: Testbed,
    nodes: Vec<Node>,
    /// Interfaces that are limited to the rate of their link.
    links: Vec<InterfaceEnd>,
    /// Ports of the midhaul switch, with the name of the node at each.
    ports: Vec<(&'static str, InterfaceEnd)>,
    /// The CU's end of the cable to the midhaul switch, if the CU's containers share a card.
    card: Option<InterfaceEnd>,
    /// Number of transmit queues per cable.
    queues: usize,
    /// Number of physical ports in use, and of virtual functions created.
    pub(super) borrowed: (usize, usize),
    /// End of the network that is on this machine, if the network spans two machines.
    pub(super) apart: Option<OneEnd>,
    /// Near and far end of the midhaul's cable, if physical ports are used.
    pub(super) cable: Option<[InterfaceEnd; 2]>,
    count: usize,
}

impl LiveTopology {
    pub(super) fn build(part: &XhaulComponent) -> Result<Self, ComponentError> {
        let testbed = Testbed::new().map_err(lab_trouble)?;
        let by_queues = part.classes.as_ref().is_some_and(|classes| classes.0.order.by_device_queues());
        let mut lab = Self {
            testbed,
            nodes: Vec::new(),
            links: Vec::new(),
            ports: Vec::new(),
            card: None,
            queues: if by_queues { usize::from(CLASS_MAX) + 1 } else { 1 },
            borrowed: (0, 0),
            apart: part.end.as_ref().map(|end| end.0),
            cable: None,
            count: 0,
        };
        let given = Ports::read(part)?;
        let has = |ways: &[Segment]| part.flows.0.iter().any(|flow| ways.contains(&flow.way));
        let neighbour = has(&[Segment::NeighbourDown, Segment::NeighbourUp]);
        let background = has(&[Segment::BackgroundDown, Segment::BackgroundUp]);
        let user = has(&[Segment::User, Segment::Echo]);
        let mut edges = vec![("du", 1)];
        let mut containers = vec![("v1", 11)];
        if neighbour {
            edges.push(("du2", 2));
            containers.push(("v2", 12));
        }
        if background {
            edges.push(("tester", 3));
            containers.push(("v3", 13));
        }
        for &(name, last) in edges.iter().chain(&containers) {
            lab.node(name, Ipv4Addr::new(10, 77, 0, last))?;
        }
        if part.midhaul_switch {
            lab.switched("mhsw", &edges, &containers, MIDHAUL, part.sharing.0, given.midhaul.as_ref())?;
        } else if let Some(ports) = &given.midhaul {
            if containers.len() > 1 {
                let why = "live: without a switch, a cable carries only one cell: a neighbour or a background needs `net.midhaul_switches` 1";
                return Err(environment(why));
            }
            lab.borrowed_cable(ports, "v1", "du", MIDHAUL)?;
        } else {
            for (edge, container) in edges.iter().zip(&containers) {
                lab.cable((edge.0, MIDHAUL), (container.0, MIDHAUL))?;
            }
        }
        for &(name, _) in edges.iter().chain(&containers) {
            if lab.here(name) {
                lab.give_address(name, MIDHAUL, None)?;
            }
        }
        if user {
            lab.backhaul(part, given.backhaul.as_ref())?;
        }
        Ok(lab)
    }

    /// Adds the server and the routes through the first vBBU.
    fn backhaul(&mut self, part: &XhaulComponent, given: Option<&CablePorts>) -> Result<(), ComponentError> {
        self.node("server", Ipv4Addr::new(10, 78, 0, 1))?;
        let route = |lab: &Self, from: &str, to: &str, via: &str| {
            let namespace = &lab.get(from)?.namespace;
            lab.testbed.ip(namespace, &["route", "add", to, "via", via]).map_err(lab_trouble)
        };
        if self.here("du") {
            route(self, "du", "10.78.0.0/24", "10.77.0.11")?;
        }
        if !self.here("server") {
            return Ok(());
        }
        if part.backhaul_switch {
            self.switched("bhsw", &[("server", 1)], &[("v1", 11)], BACKHAUL, part.sharing.0, given)?;
        } else if let Some(ports) = given {
            self.borrowed_cable(ports, "v1", "server", BACKHAUL)?;
        } else {
            self.cable(("server", BACKHAUL), ("v1", BACKHAUL))?;
        }
        self.give_address("server", BACKHAUL, None)?;
        self.give_address("v1", BACKHAUL, Some(Ipv4Addr::new(10, 78, 0, 11)))?;
        let v1 = self.get("v1")?.namespace.clone();
        in_namespace(&v1, || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").map_err(environment))?;
        route(self, "server", "10.77.0.0/24", "10.78.0.11")
    }

    fn make(&mut self, name: &str) -> Result<String, ComponentError> {
        self.count += 1;
        self.testbed.namespace(name).map_err(lab_trouble)
    }

    fn node(&mut self, name: &'static str, ip: Ipv4Addr) -> Result<(), ComponentError> {
        // A node on the other machine has an address but no namespace here.
        let namespace = if self.here(name) { self.make(name)? } else { String::new() };
        self.nodes.push(Node { name, namespace, ip });
        Ok(())
    }

    /// Returns whether a node is on this machine.
    pub(super) fn here(&self, name: &str) -> bool {
        self.apart.is_none_or(|end| end.has(name))
    }

    /// Returns a node by name.
    pub(super) fn get(&self, name: &str) -> Result<&Node, ComponentError> {
        self.nodes
            .iter()
            .find(|node| node.name == name)
            .ok_or_else(|| rig(format!("the network has no node {name}")))
    }

    /// Returns the number of namespaces.
    pub(super) fn namespaces(&self) -> usize {
        self.count
    }

    /// Connects two nodes by a cable. [`shape`](Self::shape) limits the rate of both ends later.
    fn cable(&mut self, a: (&str, &str), b: (&str, &str)) -> Result<(), ComponentError> {
        let from = self.get(a.0)?.namespace.clone();
        let to = self.get(b.0)?.namespace.clone();
        self.pair((&from, a.1), (&to, b.1))
    }

    fn pair(&mut self, a: (&str, &str), b: (&str, &str)) -> Result<(), ComponentError> {
        self.testbed.veth_of(self.queues, a, b).map_err(lab_trouble)?;
        self.held(a);
        self.held(b);
        Ok(())
    }

    /// Registers a link's end for rate limiting.
    pub(super) fn held(&mut self, (namespace, interface): (&str, &str)) {
        self.links.push((namespace.to_owned(), interface.to_owned()));
    }

    fn ip(&self, namespace: &str, arguments: &[&str]) -> Result<(), ComponentError> {
        self.testbed.ip(namespace, arguments).map_err(lab_trouble)
    }

    fn bridge(&self, namespace: &str) -> Result<(), ComponentError> {
        self.ip(namespace, &["link", "add", "br0", "type", "bridge", "stp_state", "0"])?;
        self.ip(namespace, &["link", "set", "br0", "up"])
    }

    /// Adds a switch in a separate namespace, with a port for each edge node. Connects the containers as `sut.sharing` defines: through a
    /// software card, or through a physical port whose cable is connected to the switch.
    fn switched(
        &mut self,
        name: &str,
        edges: &[(&'static str, u8)],
        containers: &[(&'static str, u8)],
        interface: &str,
        sharing: LiveSharing,
        given: Option<&CablePorts>,
    ) -> Result<(), ComponentError> {
        // With two machines, the midhaul switch is at the far end of the cable.
        let there = interface == MIDHAUL && self.apart.is_some_and(|end| !end.far);
        let switch = if there { String::new() } else { self.make(name)? };
        if !there {
            self.bridge(&switch)?;
        }
        // A software card has no virtual functions. One switch port per container is their ideal case.
        let own = sharing == LiveSharing::OwnPorts || (sharing == LiveSharing::Functions && given.is_none());
        if let (true, Some(_), false) = (own, given, containers.len() == 1) {
            let why = "live: `sut.sharing` \"dedicated\" gives each container a port, but only one port is given: remove the neighbour and the \
                       background, or set another `sut.sharing`";
            return Err(environment(why));
        }
        let direct = edges.iter().chain(if own && given.is_none() { containers } else { &[] });
        for (node, _) in direct.filter(|_| !there) {
            let namespace = self.get(node)?.namespace.clone();
            let port = format!("p-{node}");
            self.pair((&switch, &port), (&namespace, interface))?;
            self.ip(&switch, &["link", "set", &port, "master", "br0"])?;
            if interface == MIDHAUL {
                self.ports.push((node, (switch.clone(), port)));
            }
        }
        if let (true, Some(ports), [(node, _)]) = (own, given, containers) {
            let namespace = self.get(node)?.namespace.clone();
            self.borrow(ports, (&namespace, interface), (&switch, "p-cu"))?;
            return self.plugged(&[(*node, 0)], interface, &switch);
        }
        if own {
            return Ok(());
        }
        let elsewhere = interface == MIDHAUL && self.apart.is_some_and(|end| end.far);
        let cu = if elsewhere { String::new() } else { self.make(&format!("cu-{name}"))? };
        self.wire(given, (&switch, "p-cu"), (&cu, "nic"))?;
        self.plugged(containers, interface, &switch)?;
        if elsewhere {
            return Ok(());
        }
        if interface == MIDHAUL {
            self.card = Some((cu.clone(), "nic".to_owned()));
        }
        if let (LiveSharing::Functions, Some(ports)) = (sharing, given) {
            return self.functions(ports, containers, interface, &cu, &switch);
        }
        self.shared(&cu, containers, interface, sharing)
    }

    /// Connects the CU's cable to the switch, if the switch is on this machine. The containers' frames arrive at that port.
    fn plugged(
        &mut self,
        containers: &[(&'static str, u8)],
        interface: &str,
        switch: &str,
    ) -> Result<(), ComponentError> {
        if switch.is_empty() {
            return Ok(());
        }
        self.ip(switch, &["link", "set", "p-cu", "master", "br0"])?;
        if interface == MIDHAUL {
            let port = |(node, _): &(&'static str, u8)| (*node, (switch.to_owned(), "p-cu".to_owned()));
            self.ports.extend(containers.iter().map(port));
        }
        Ok(())
    }

    /// Creates the CU's cable, either in software or between physical ports.
    fn wire(
        &mut self,
        given: Option<&CablePorts>,
        far: (&str, &str),
        near: (&str, &str),
    ) -> Result<(), ComponentError> {
        match given {
            Some(ports) => self.borrow(ports, near, far),
            None => self.pair(far, near),
        }
    }

    /// Connects containers to the CU's card `nic`, which the kernel shares.
    fn shared(
        &self,
        cu: &str,
        containers: &[(&'static str, u8)],
        interface: &str,
        sharing: LiveSharing,
    ) -> Result<(), ComponentError> {
        if sharing == LiveSharing::Bridge {
            self.bridge(cu)?;
            self.ip(cu, &["link", "set", "nic", "master", "br0"])?;
        }
        for (node, _) in containers {
            let namespace = self.get(node)?.namespace.clone();
            let inner = format!("c-{node}");
            match upper_device(sharing, &inner) {
                Some(made) => {
                    self.ip(cu, &made).map_err(|trouble| lacking(sharing, trouble))?;
                    self.ip(cu, &["link", "set", &inner, "netns", &namespace, "name", interface])?;
                    self.ip(&namespace, &["link", "set", interface, "up"])?;
                }
                None => {
                    // Inside the host there is no cable and no rate limit.
                    self.testbed.veth((cu, &inner), (&namespace, interface)).map_err(lab_trouble)?;
                    self.ip(cu, &["link", "set", &inner, "master", "br0"])?;
                }
            }
        }
        Ok(())
    }

    fn give_address(&self, node: &str, interface: &str, ip: Option<Ipv4Addr>) -> Result<(), ComponentError> {
        let node = self.get(node)?;
        let address = format!("{}/24", ip.unwrap_or(node.ip));
        self.ip(&node.namespace, &["addr", "add", &address, "dev", interface])
    }

    /// Limits every cable to its rate in both directions, with the configured order of classes.
    pub(super) fn shape(&self, part: &XhaulComponent) -> Result<(), ComponentError> {
        let rate_bps = part.rate_bps;
        let queue_bytes = part.queue_bytes;
        for (namespace, interface) in &self.links {
            let at = (namespace.as_str(), interface.as_str());
            let Some(JsonField(classes)) = &part.classes else {
                self.testbed.shape(at, rate_bps, queue_bytes).map_err(lab_trouble)?;
                continue;
            };
            let (rank, ranks) = self.ranks(classes);
            // The credit-based shaper calculates with the rate that the device reports, not with the rate of our shaper.
            let port_bps =
                in_namespace(namespace, || Ok(ranlab_net::launch::port_bps(interface).unwrap_or(0)))?;
            let order = match &classes.order {
                RankOrder::Gates { .. } if self.edge(at) => RankOrder::Strict,
                order => order.clone(),
            };
            let link = Link { rate_bps, queue_bytes, port_bps, order, rank, ranks: &ranks };
            self.testbed.prioritise(at, &link).map_err(lab_trouble)?;
        }
        if let Some(lead_ns) = part.launch_lead_ns.filter(|_| self.here("v1")) {
            let namespace = &self.get("v1")?.namespace;
            let link = self.links.iter().any(|(of, interface)| of == namespace && interface == MIDHAUL);
            let held = link.then_some(rate_bps);
            self.testbed
                .launch((namespace, MIDHAUL), held, queue_bytes, early_ns(lead_ns))
                .map_err(lab_trouble)?;
        }
        Ok(())
    }

    /// Returns whether a link leads to a node that no other node shares. Such links have no gates, as in the simulation.
    fn edge(&self, (namespace, interface): (&str, &str)) -> bool {
        let edges = self.nodes.iter().filter(|node| EDGES.contains(&node.name));
        edges.into_iter().any(|node| {
            node.namespace == namespace || interface.strip_prefix("p-").is_some_and(|of| of == node.name)
        })
    }

    /// Returns the default rank, and the nodes with a different rank.
    fn ranks(&self, classes: &Classes) -> (u8, Vec<(Ipv4Addr, u8)>) {
        let rank = |class: u8| CLASS_MAX.saturating_sub(class);
        let of = |node: &Node| match node.name {
            "du2" | "v2" => Some((node.ip, rank(classes.neighbour))),
            "tester" | "v3" => Some((node.ip, rank(classes.background))),
            _ => None,
        };
        (rank(classes.cell), self.nodes.iter().filter_map(of).collect())
    }

    /// Returns the midhaul switch's namespace and port towards a node.
    pub(super) fn port(&self, node: &str) -> Option<&(String, String)> {
        self.ports.iter().find(|(of, _)| *of == node).map(|(_, port)| port)
    }

    /// Returns the counters of two queues: towards the midhaul, and from the midhaul. These are the queues that all of the CU's traffic
    /// shares, or else the queues of the first vBBU.
    pub(super) fn queues(&self) -> Option<[QueueCounters; 2]> {
        let down = match &self.card {
            Some((namespace, interface)) => (namespace.as_str(), interface.as_str()),
            None => (self.get("v1").ok()?.namespace.as_str(), MIDHAUL),
        };
        let (namespace, interface) = self.port("v1")?;
        Some([self.testbed.queue(down).ok()?, self.testbed.queue((namespace, interface)).ok()?])
    }

    /// Returns the hardware address of a node's midhaul interface.
    pub(super) fn hardware(&self, node: &str) -> Result<[u8; 6], ComponentError> {
        self.testbed.address(&self.get(node)?.namespace, MIDHAUL).map_err(lab_trouble)
    }
}

/// Returns the arguments of `ip` for a kernel device that shares the card `nic`. `None` if a bridge is used.
fn upper_device(sharing: LiveSharing, inner: &str) -> Option<[&str; 10]> {
    let (kind, mode) = match sharing {
        LiveSharing::Macvlan => ("macvlan", "bridge"),
        LiveSharing::Ipvlan => ("ipvlan", "l2"),
        LiveSharing::Bridge | LiveSharing::OwnPorts | LiveSharing::Functions => return None,
    };
    Some(["link", "add", "link", "nic", "name", inner, "type", kind, "mode", mode])
}

/// Adds the name of the missing kernel module to an error.
fn lacking(sharing: LiveSharing, trouble: ComponentError) -> ComponentError {
    let module = match sharing {
        LiveSharing::Macvlan => "macvlan (CONFIG_MACVLAN)",
        LiveSharing::Ipvlan => "ipvlan (CONFIG_IPVLAN)",
        LiveSharing::Bridge | LiveSharing::OwnPorts | LiveSharing::Functions => return trouble,
    };
    let unknown = ["Unknown device type", "Operation not supported"];
    if !unknown.iter().any(|phrase| trouble.what.contains(phrase)) {
        return trouble;
    }
    environment(format!(
        "live: this kernel has no {module}: set another `sut.sharing`, or use a kernel with this module ({})",
        trouble.what
    ))
}

/// Runs `work` inside a namespace, on a separate thread. Sockets opened there remain in that namespace.
pub(super) fn in_namespace<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, ComponentError> + Send,
) -> Result<T, ComponentError> {
    let file = Testbed::file(namespace);
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            enter_namespace(&file).map_err(|error| environment(format!("{}: {error}", file.display())))?;
            work()
        });
        inside.join().map_err(|_| rig("a thread in a namespace panicked"))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sharing_method_has_its_kernel_device() {
        let arguments = |sharing| upper_device(sharing, "c-v1").map(|words| words.join(" "));
        let macvlan = "link add link nic name c-v1 type macvlan mode bridge";
        assert_eq!(arguments(LiveSharing::Macvlan).as_deref(), Some(macvlan));
        assert_eq!(
            arguments(LiveSharing::Ipvlan).as_deref(),
            Some("link add link nic name c-v1 type ipvlan mode l2")
        );
        assert_eq!((arguments(LiveSharing::Bridge), arguments(LiveSharing::OwnPorts)), (None, None));
    }

    #[test]
    fn missing_kernel_module_is_named() {
        let message_of = |what: &str| lacking(LiveSharing::Ipvlan, environment(what)).what;
        let message = message_of("`ip -n x link add` failed: Error: Unknown device type.");
        assert!(
            message.contains("this kernel has no ipvlan (CONFIG_IPVLAN)") && message.contains("ip -n x"),
            "{message}"
        );
        assert_eq!(message_of("`ip` failed: File exists"), "`ip` failed: File exists");
    }
}
