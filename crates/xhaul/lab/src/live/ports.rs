//! Physical ports of the network: the card of the CU and the far end of its cable, with virtual functions. Also slow motion for emulated
//! machines.

use super::topology::LiveTopology;
use super::{LiveFlow, XhaulComponent, lab_trouble};
use ranlab_lab::environment;
use ranlab_lab::field::JsonField;
use ranlab_lab::worker::{ComponentError, Report};

/// Ports at both ends of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CablePorts {
    /// Port of the CU.
    near: String,
    /// Port of the switch or of the other host.
    far: String,
    /// Whether the ports belong to the midhaul. Otherwise they belong to the backhaul.
    midhaul: bool,
}

/// Physical ports of a scenario.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) midhaul: Option<CablePorts>,
    pub(super) backhaul: Option<CablePorts>,
}

impl Ports {
    /// Reads the ports from a component's configuration.
    pub(super) fn read(part: &XhaulComponent) -> Result<Self, ComponentError> {
        let of = |name: &str, given: &Option<String>| {
            given.as_deref().map(|text| CablePorts::read(name, text)).transpose()
        };
        let ports = Self {
            midhaul: of("midhaul_ports", &part.midhaul_ports)?,
            backhaul: of("backhaul_ports", &part.backhaul_ports)?,
        };
        let mut names: Vec<_> = [&ports.midhaul, &ports.backhaul]
            .into_iter()
            .flatten()
            .flat_map(|ports| [&ports.near, &ports.far])
            .collect();
        let given = names.len();
        names.sort_unstable();
        names.dedup();
        if names.len() < given {
            return Err(environment(
                "live: a port is given twice in `live.midhaul_ports` and `live.backhaul_ports`",
            ));
        }
        Ok(ports)
    }
}

impl CablePorts {
    fn read(key: &str, text: &str) -> Result<Self, ComponentError> {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        let [near, far] = <[String; 2]>::try_from(words).map_err(|words| {
            environment(format!(
                "live: `live.{key}` has {} ports; two are needed: the port of the CU, and the port at the other end of its cable",
                words.len()
            ))
        })?;
        Ok(Self { near, far, midhaul: key == "midhaul_ports" })
    }
}

impl LiveTopology {
    /// Returns whether the network uses physical ports of this machine.
    pub(super) fn borrows(&self) -> bool {
        self.borrowed.0 > 0
    }

    /// Connects two nodes by a physical cable. Moves both ports to the namespaces of the nodes. The rate is limited later.
    pub(super) fn borrowed_cable(
        &mut self,
        ports: &CablePorts,
        near: &str,
        far: &str,
        interface: &str,
    ) -> Result<(), ComponentError> {
        let near = self.get(near)?.namespace.clone();
        let far = self.get(far)?.namespace.clone();
        self.borrow(ports, (&near, interface), (&far, interface))
    }

    /// Moves both ports of a cable to their namespaces, and waits until the link is up. If only one end has a namespace, moves only the
    /// port of this end.
    pub(super) fn borrow(
        &mut self,
        ports: &CablePorts,
        near: (&str, &str),
        far: (&str, &str),
    ) -> Result<(), ComponentError> {
        let ends = [(&ports.near, near), (&ports.far, far)];
        let here = ends.into_iter().filter(|(_, (namespace, _))| !namespace.is_empty()).collect::<Vec<_>>();
        for (port, (namespace, interface)) in &here {
            self.testbed.take(port, namespace, interface).map_err(lab_trouble)?;
            self.borrowed.0 += 1;
            self.held((namespace, interface));
        }
        let end = |(namespace, interface): (&str, &str)| (namespace.to_owned(), interface.to_owned());
        if ports.midhaul && here.len() == ends.len() {
            self.cable = Some([end(near), end(far)]);
        }
        // With two machines, the far end is set up first, so it cannot wait for the link.
        if self.apart.is_some_and(|end| end.far) {
            return Ok(());
        }
        for (_, (namespace, interface)) in here {
            self.testbed.await_carrier(namespace, interface).map_err(lab_trouble)?;
        }
        Ok(())
    }

    /// Creates a virtual function of a physical port for each container. Frames from the containers share the rate of the port, which the
    /// card limits. The far end is limited to the rate of the link.
    pub(super) fn functions(
        &mut self,
        ports: &CablePorts,
        containers: &[(&'static str, u8)],
        interface: &str,
        cu: &str,
        switch: &str,
    ) -> Result<(), ComponentError> {
        let mut to = Vec::new();
        for (node, _) in containers {
            to.push(self.get(node)?.namespace.clone());
        }
        let to: Vec<_> = to.iter().map(|namespace| (namespace.as_str(), interface)).collect();
        self.testbed.functions(&ports.near, (cu, "nic"), &to).map_err(lab_trouble)?;
        self.borrowed.1 += to.len();
        let far = [(switch, "p-cu")];
        let ends = to.iter().chain(far.iter().filter(|(switch, _)| !switch.is_empty()));
        for (namespace, interface) in ends {
            self.testbed.await_carrier(namespace, interface).map_err(lab_trouble)?;
        }
        Ok(())
    }

    /// Reports the physical resources that were used, and whether the machine is emulated.
    pub(super) fn report_ports(&self, part: &XhaulComponent, report: &mut Report) {
        let (ports, functions) = self.borrowed;
        report.numbers.insert("live.ports".to_owned(), ports as f64);
        report.numbers.insert("live.functions".to_owned(), functions as f64);
        let emulated = part.slowdown > 1 || part.instructions || ranlab_host::Facts::read().emulated;
        if part.instructions {
            for (time, count) in
                [("cost_ns_dl", "cost_instructions_dl"), ("cost_ns_ul", "cost_instructions_ul")]
            {
                if let Some(cost) = report.numbers.remove(time) {
                    report.numbers.insert(count.to_owned(), cost);
                }
            }
        }
        report.numbers.insert("live.emulated".to_owned(), f64::from(u8::from(emulated)));
    }
}

impl XhaulComponent {
    /// Returns whether physical ports are configured.
    pub(crate) const fn borrows(&self) -> bool {
        self.midhaul_ports.is_some() || self.backhaul_ports.is_some()
    }

    /// Returns the configuration, slowed down by the configured factor.
    pub(super) fn slowed(&self) -> Self {
        let times = u64::from(self.slowdown.max(1));
        let flow = |flow: &LiveFlow| LiveFlow {
            period_ns: flow.period_ns.saturating_mul(times),
            timer_ns: flow.timer_ns.saturating_mul(times),
            budget_ns: flow.budget_ns.map(|ns| ns.saturating_mul(times)),
            ..flow.clone()
        };
        let mut slowed = Self {
            rate_bps: (self.rate_bps / times).max(1),
            busy_ns: self
                .busy_ns
                .as_ref()
                .map(|JsonField((period, busy))| JsonField((period * times, busy * times))),
            launch_lead_ns: self.launch_lead_ns.map(|ns| ns.saturating_mul(times)),
            flows: JsonField(self.flows.0.iter().map(flow).collect()),
            ..self.clone()
        };
        if let Some(JsonField(classes)) = &mut slowed.classes {
            classes.order = classes.order.slowed(times);
        }
        slowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_must_be_two_distinct_interfaces() {
        let part = |midhaul: &str, backhaul: Option<&str>| XhaulComponent {
            midhaul_ports: Some(midhaul.to_owned()),
            backhaul_ports: backhaul.map(str::to_owned),
            ..XhaulComponent::default()
        };
        let fine = Ports::read(&part("a b", Some("c  d"))).unwrap();
        assert_eq!(
            fine.backhaul,
            Some(CablePorts { near: "c".to_owned(), far: "d".to_owned(), midhaul: false })
        );
        assert_eq!(Ports::read(&XhaulComponent::default()).unwrap(), Ports::default());
        for (part, word) in [
            (part("a", None), "1 ports"),
            (part("a b c", None), "3 ports"),
            (part("a b", Some("c a")), "twice"),
            (part("a a", None), "twice"),
        ] {
            let why = Ports::read(&part).unwrap_err().what;
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn slow_motion_keeps_relative_loads() {
        let flow = LiveFlow {
            role: "cell_dl".to_owned(),
            way: super::super::Segment::CellDown,
            raw: true,
            payloads: vec![600; 14],
            period_ns: 1_000_000,
            releases: 1,
            timer_ns: 0,
            budget_ns: Some(250_000),
        };
        let part = XhaulComponent { slowdown: 50, flows: JsonField(vec![flow]), ..XhaulComponent::default() };
        let slow = part.slowed();
        assert_eq!(
            (slow.rate_bps, slow.flows.0[0].period_ns, slow.flows.0[0].budget_ns),
            (20_000_000, 50_000_000, Some(12_500_000))
        );
        assert_eq!(XhaulComponent { slowdown: 1, ..part.clone() }.slowed().flows, part.flows);
    }
}
