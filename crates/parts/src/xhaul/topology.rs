//! Namespaces and what connects them.

use std::net::Ipv4Addr;

use ranlab_host::netns::{QueueCounters, RankOrder, Testbed};
use ranlab_net::stamped::enter_namespace;

use super::{Classes, LiveSharing, Way, XhaulPart, lab_trouble};
use crate::worker::Trouble;
use crate::{environment, rig};

/// The midhaul's and the backhaul's interface of every node.
pub(super) const MIDHAUL: &str = "mh0";
const BACKHAUL: &str = "bh0";

/// The most urgent class of IEEE 802.1Q.
const CLASS_MAX: u8 = 7;

/// An interface in a namespace.
type End = (String, String);

/// A node's namespace and addresses.
#[derive(Debug, Clone)]
pub(super) struct Node {
    name: &'static str,
    pub(super) namespace: String,
    /// On the midhaul, or of the server on the backhaul.
    pub(super) ip: Ipv4Addr,
}

/// The network.
#[derive(Debug)]
pub(super) struct Lab {
    testbed: Testbed,
    nodes: Vec<Node>,
    /// What is held to the links' rate.
    links: Vec<End>,
    /// The midhaul switch's port towards each node.
    ports: Vec<(&'static str, End)>,
    /// The CU's own side of the cable to that switch, if its containers share one.
    card: Option<End>,
    count: usize,
}

impl Lab {
    pub(super) fn build(part: &XhaulPart) -> Result<Self, Trouble> {
        let testbed = Testbed::new().map_err(lab_trouble)?;
        let mut lab =
            Self { testbed, nodes: Vec::new(), links: Vec::new(), ports: Vec::new(), card: None, count: 0 };
        let has = |ways: &[Way]| part.flows.0.iter().any(|flow| ways.contains(&flow.way));
        let neighbour = has(&[Way::NeighbourDown, Way::NeighbourUp]);
        let background = has(&[Way::BackgroundDown, Way::BackgroundUp]);
        let user = has(&[Way::User, Way::Echo]);
        let (mut edges, mut containers) = (vec![("du", 1)], vec![("v1", 11)]);
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
            lab.switched("mhsw", &edges, &containers, MIDHAUL, part.sharing.0)?;
        } else {
            for (edge, container) in edges.iter().zip(&containers) {
                lab.cable((edge.0, MIDHAUL), (container.0, MIDHAUL))?;
            }
        }
        for &(name, _) in edges.iter().chain(&containers) {
            lab.give_address(name, MIDHAUL, None)?;
        }
        if user {
            lab.backhaul(part)?;
        }
        Ok(lab)
    }

    /// The server, and routes through the first vBBU.
    fn backhaul(&mut self, part: &XhaulPart) -> Result<(), Trouble> {
        self.node("server", Ipv4Addr::new(10, 78, 0, 1))?;
        if part.backhaul_switch {
            self.switched("bhsw", &[("server", 1)], &[("v1", 11)], BACKHAUL, part.sharing.0)?;
        } else {
            self.cable(("server", BACKHAUL), ("v1", BACKHAUL))?;
        }
        self.give_address("server", BACKHAUL, None)?;
        self.give_address("v1", BACKHAUL, Some(Ipv4Addr::new(10, 78, 0, 11)))?;
        let v1 = self.get("v1")?.namespace.clone();
        in_namespace(&v1, || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").map_err(environment))?;
        let route = |from: &str, to: &str, via: &str| {
            let namespace = &self.get(from)?.namespace;
            self.testbed.ip(namespace, &["route", "add", to, "via", via]).map_err(lab_trouble)
        };
        route("server", "10.77.0.0/24", "10.78.0.11")?;
        route("du", "10.78.0.0/24", "10.77.0.11")
    }

    fn make(&mut self, name: &str) -> Result<String, Trouble> {
        self.count += 1;
        self.testbed.namespace(name).map_err(lab_trouble)
    }

    fn node(&mut self, name: &'static str, ip: Ipv4Addr) -> Result<(), Trouble> {
        let namespace = self.make(name)?;
        self.nodes.push(Node { name, namespace, ip });
        Ok(())
    }

    /// A node by name.
    pub(super) fn get(&self, name: &str) -> Result<&Node, Trouble> {
        self.nodes
            .iter()
            .find(|node| node.name == name)
            .ok_or_else(|| rig(format!("the network has no node {name}")))
    }

    /// How many namespaces there are.
    pub(super) fn namespaces(&self) -> usize {
        self.count
    }

    /// A cable between two nodes, both ends shaped later.
    fn cable(&mut self, a: (&str, &str), b: (&str, &str)) -> Result<(), Trouble> {
        let (from, to) = (self.get(a.0)?.namespace.clone(), self.get(b.0)?.namespace.clone());
        self.pair((&from, a.1), (&to, b.1))
    }

    fn pair(&mut self, a: (&str, &str), b: (&str, &str)) -> Result<(), Trouble> {
        self.testbed.veth(a, b).map_err(lab_trouble)?;
        for (namespace, interface) in [a, b] {
            self.links.push((namespace.to_owned(), interface.to_owned()));
        }
        Ok(())
    }

    fn ip(&self, namespace: &str, arguments: &[&str]) -> Result<(), Trouble> {
        self.testbed.ip(namespace, arguments).map_err(lab_trouble)
    }

    fn bridge(&self, namespace: &str) -> Result<(), Trouble> {
        self.ip(namespace, &["link", "add", "br0", "type", "bridge", "stp_state", "0"])?;
        self.ip(namespace, &["link", "set", "br0", "up"])
    }

    /// A switch in a namespace of its own, with the edges' ports, and the containers behind it as they share a card.
    fn switched(
        &mut self,
        name: &str,
        edges: &[(&'static str, u8)],
        containers: &[(&'static str, u8)],
        interface: &str,
        sharing: LiveSharing,
    ) -> Result<(), Trouble> {
        let switch = self.make(name)?;
        self.bridge(&switch)?;
        let own = sharing == LiveSharing::OwnPorts;
        let direct = edges.iter().chain(if own { containers } else { &[] });
        for (node, _) in direct {
            let namespace = self.get(node)?.namespace.clone();
            let port = format!("p-{node}");
            self.pair((&switch, &port), (&namespace, interface))?;
            self.ip(&switch, &["link", "set", &port, "master", "br0"])?;
            if interface == MIDHAUL {
                self.ports.push((node, (switch.clone(), port)));
            }
        }
        if own {
            return Ok(());
        }
        let cu = self.make(&format!("cu-{name}"))?;
        self.pair((&switch, "p-cu"), (&cu, "nic"))?;
        if interface == MIDHAUL {
            self.card = Some((cu.clone(), "nic".to_owned()));
        }
        self.ip(&switch, &["link", "set", "p-cu", "master", "br0"])?;
        if sharing == LiveSharing::Bridge {
            self.bridge(&cu)?;
            self.ip(&cu, &["link", "set", "nic", "master", "br0"])?;
        }
        for (node, _) in containers {
            if interface == MIDHAUL {
                self.ports.push((node, (switch.clone(), "p-cu".to_owned())));
            }
            let namespace = self.get(node)?.namespace.clone();
            let inner = format!("c-{node}");
            match upper_device(sharing, &inner) {
                Some(made) => {
                    self.ip(&cu, &made).map_err(|trouble| lacking(sharing, trouble))?;
                    self.ip(&cu, &["link", "set", &inner, "netns", &namespace, "name", interface])?;
                    self.ip(&namespace, &["link", "set", interface, "up"])?;
                }
                None => {
                    // Within the host: no cable, so no rate.
                    self.testbed.veth((&cu, &inner), (&namespace, interface)).map_err(lab_trouble)?;
                    self.ip(&cu, &["link", "set", &inner, "master", "br0"])?;
                }
            }
        }
        Ok(())
    }

    fn give_address(&self, node: &str, interface: &str, ip: Option<Ipv4Addr>) -> Result<(), Trouble> {
        let node = self.get(node)?;
        let address = format!("{}/24", ip.unwrap_or(node.ip));
        self.ip(&node.namespace, &["addr", "add", &address, "dev", interface])
    }

    /// Holds every cable to its rate, both ways, in the order that is asked for.
    pub(super) fn shape(&self, part: &XhaulPart) -> Result<(), Trouble> {
        let (rate_bps, queue_bytes) = (part.rate_bps, part.queue_bytes);
        let classes = part.classes.as_ref().map(|classes| classes.0);
        self.links.iter().try_for_each(|(namespace, interface)| {
            let at = (namespace.as_str(), interface.as_str());
            match classes {
                None => self.testbed.shape(at, rate_bps, queue_bytes),
                Some(classes) => {
                    let (rank, ranks) = self.ranks(classes);
                    let turns = |(own, other)| RankOrder::Turns { own, other };
                    let order = classes.turns.map_or(RankOrder::Strict, turns);
                    self.testbed.prioritise(at, rate_bps, queue_bytes, order, rank, &ranks)
                }
            }
            .map_err(lab_trouble)
        })
    }

    /// The rank of everything, and of those whose nodes have another.
    fn ranks(&self, classes: Classes) -> (u8, Vec<(Ipv4Addr, u8)>) {
        let rank = |class: u8| CLASS_MAX.saturating_sub(class);
        let of = |node: &Node| match node.name {
            "du2" | "v2" => Some((node.ip, rank(classes.neighbour))),
            "tester" | "v3" => Some((node.ip, rank(classes.background))),
            _ => None,
        };
        (rank(classes.cell), self.nodes.iter().filter_map(of).collect())
    }

    /// The midhaul switch's namespace and port towards a node.
    pub(super) fn port(&self, node: &str) -> Option<&(String, String)> {
        self.ports.iter().find(|(of, _)| *of == node).map(|(_, port)| port)
    }

    /// Queues that all of the CU's traffic shares, or the first vBBU's own: towards the midhaul, and from it.
    pub(super) fn queues(&self) -> Option<[QueueCounters; 2]> {
        let down = match &self.card {
            Some((namespace, interface)) => (namespace.as_str(), interface.as_str()),
            None => (self.get("v1").ok()?.namespace.as_str(), MIDHAUL),
        };
        let (namespace, interface) = self.port("v1")?;
        Some([self.testbed.queue(down).ok()?, self.testbed.queue((namespace, interface)).ok()?])
    }

    /// The hardware address of a node's midhaul interface.
    pub(super) fn hardware(&self, node: &str) -> Result<[u8; 6], Trouble> {
        self.testbed.address(&self.get(node)?.namespace, MIDHAUL).map_err(lab_trouble)
    }
}

/// What `ip` is told so that the kernel's own device divides the card `nic`; `None` where a bridge does.
fn upper_device(sharing: LiveSharing, inner: &str) -> Option<[&str; 10]> {
    let (kind, mode) = match sharing {
        LiveSharing::Macvlan => ("macvlan", "bridge"),
        LiveSharing::Ipvlan => ("ipvlan", "l2"),
        LiveSharing::Bridge | LiveSharing::OwnPorts => return None,
    };
    Some(["link", "add", "link", "nic", "name", inner, "type", kind, "mode", mode])
}

/// What a kernel without the device says, in words that help.
fn lacking(sharing: LiveSharing, trouble: Trouble) -> Trouble {
    let module = match sharing {
        LiveSharing::Macvlan => "macvlan (CONFIG_MACVLAN)",
        LiveSharing::Ipvlan => "ipvlan (CONFIG_IPVLAN)",
        LiveSharing::Bridge | LiveSharing::OwnPorts => return trouble,
    };
    let unknown = ["Unknown device type", "Operation not supported"];
    if !unknown.iter().any(|said| trouble.what.contains(said)) {
        return trouble;
    }
    environment(format!(
        "live: this kernel has no {module}: another `sut.sharing`, or a kernel with it ({})",
        trouble.what
    ))
}

/// Does something in a namespace, in a thread of its own: what it opens stays there.
pub(super) fn in_namespace<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, Trouble> + Send,
) -> Result<T, Trouble> {
    let file = Testbed::file(namespace);
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            enter_namespace(&file).map_err(|error| environment(format!("{}: {error}", file.display())))?;
            work()
        });
        inside.join().map_err(|_| rig("a thread of the laboratory died"))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_divided_by_the_kernels_own_devices() {
        let told = |sharing| upper_device(sharing, "c-v1").map(|words| words.join(" "));
        let macvlan = "link add link nic name c-v1 type macvlan mode bridge";
        assert_eq!(told(LiveSharing::Macvlan).as_deref(), Some(macvlan));
        assert_eq!(
            told(LiveSharing::Ipvlan).as_deref(),
            Some("link add link nic name c-v1 type ipvlan mode l2")
        );
        assert_eq!((told(LiveSharing::Bridge), told(LiveSharing::OwnPorts)), (None, None));
    }

    #[test]
    fn a_kernel_without_the_device_is_named() {
        let said = |what: &str| lacking(LiveSharing::Ipvlan, environment(what)).what;
        let told = said("`ip -n x link add` failed: Error: Unknown device type.");
        assert!(
            told.contains("this kernel has no ipvlan (CONFIG_IPVLAN)") && told.contains("ip -n x"),
            "{told}"
        );
        assert_eq!(said("`ip` failed: File exists"), "`ip` failed: File exists");
    }
}
