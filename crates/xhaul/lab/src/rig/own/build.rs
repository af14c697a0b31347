//! Conversion of a network file to a routed network.

use std::collections::BTreeMap;
use std::path::Path;

use ranlab_xhaul::{
    CLASSES, Clock, Demand, Duration, GateEntry, Gates, Line, Load, Network, Node, Ps, Role, Scheduler,
    Stage, TokenBucket, Topology,
};

use super::file::{self, File, PortRow, unknown};
use super::{Own, OwnError, captures, flows, strict, tables};
use crate::rig::budget::Profile;
use crate::rig::pcap::Framing;
use crate::rig::setup::Setup;

const PS_PER_METRE: f64 = 5_000.0;
/// Round-robin quanta of the most urgent class and of the others, in bytes.
const QUANTA: (u32, u32) = (9_216, 1_538);
const SCHEDULERS: [&str; 7] = ["fifo", "strict", "preemption", "gates", "drr", "cbs", "ats"];
/// Maximum switches of a ring, or of a tree.
const SWITCHES_MAX: usize = 512;

/// Builds a routed network from a network file.
pub(super) struct Builder<'s> {
    pub(super) setup: &'s Setup,
    pub(super) path: &'s Path,
    pub(super) topology: Topology,
    /// Scheduler name of each line. `None`: the scheduler of `sut.scheduler`.
    named: Vec<Option<String>>,
    pub(super) loads: Vec<Load>,
    pub(super) warnings: Vec<String>,
    /// Headers of the frames of the cells' flows, which come first.
    pub(super) framings: Vec<Framing>,
    /// Names of the flows whose budget is a profile.
    pub(super) profiles: Vec<(String, Profile)>,
}

/// Attributes of a cable, as the file states them.
#[derive(Debug, Clone, Default)]
struct Cable<'f> {
    mbps: Option<f64>,
    metres: Option<f64>,
    delay_ps: Option<Ps>,
    processing_ps: Option<Ps>,
    scheduler: Option<&'f str>,
    queue_bytes: Option<u64>,
}

/// Reads and routes a network.
pub(super) fn own(path: &Path, setup: &Setup) -> Result<Own, OwnError> {
    let file = file::read(path)?;
    strict::check(&file)?;
    let topology = Topology::default();
    let mut builder = Builder {
        setup,
        path,
        topology,
        named: Vec::new(),
        loads: Vec::new(),
        warnings: Vec::new(),
        framings: Vec::new(),
        profiles: Vec::new(),
    };
    builder.nodes(&file)?;
    builder.links(&file)?;
    builder.csv_links(&file)?;
    flows::cells(&mut builder, &file)?;
    flows::flows(&mut builder, &file)?;
    flows::streams(&mut builder, &file)?;
    captures::add(&mut builder, &file)?;
    strict::names(&builder.topology.demands)?;
    builder.cuts(&file)?;
    if builder.topology.demands.is_empty() {
        return Err(value("the network", "it has no cell, flow, stream or capture".to_owned()));
    }
    builder.schedule(&file)?;
    let Builder { topology, loads, mut warnings, mut framings, profiles, .. } = builder;
    let network = topology.network()?;
    for (name, profile) in profiles {
        let flow = network.flows.iter().find(|flow| flow.name == name);
        warnings.extend(flow.and_then(|flow| profile.warning(&network, flow)));
    }
    let others = network.flows.iter().skip(framings.len());
    framings.extend(others.map(|flow| Framing::packets(true, flow.class)).collect::<Vec<_>>());
    Ok(Own { topology, network, loads, warnings, framings })
}

pub(super) fn value(of: impl Into<String>, why: String) -> OwnError {
    OwnError::Value { of: of.into(), why }
}

impl Builder<'_> {
    fn nodes(&mut self, file: &File) -> Result<(), OwnError> {
        for row in &file.switches {
            let forwarding = row.forwarding.map_or(self.setup.net.forwarding_ps, |time| time.0);
            self.switch(&row.name, forwarding, row.cut_through_bytes)?;
        }
        for row in &file.nodes {
            let role = match row.service {
                Some(time) => Role::Host {
                    sharing: [Duration::Constant(0), Duration::Constant(0)],
                    service: Duration::Constant(time.0),
                    wakeup: Duration::Constant(0),
                    contention: None,
                },
                None => Role::End,
            };
            self.node(&row.name, role)?;
        }
        for row in &file.rings {
            let name = |index: usize| format!("{}{}", row.name, index % row.switches + 1);
            if !(3..=SWITCHES_MAX).contains(&row.switches) {
                return Err(value(
                    format!("ring \"{}\"", row.name),
                    format!("a ring must have 3 to {SWITCHES_MAX} switches, not {}", row.switches),
                ));
            }
            let forwarding = row.forwarding.map_or(self.setup.net.forwarding_ps, |time| time.0);
            for index in 0..row.switches {
                self.switch(&name(index), forwarding, None)?;
            }
            for index in 0..row.switches {
                let cable = Cable {
                    mbps: row.mbps,
                    metres: row.metres,
                    scheduler: row.scheduler.as_deref(),
                    ..Cable::default()
                };
                self.cable(&name(index), &name(index + 1), &cable)?;
            }
        }
        file.trees.iter().try_for_each(|row| self.tree(row))
    }

    /// Adds a tree of switches. NAME1 is the root, and the switches are numbered level by level.
    fn tree(&mut self, row: &file::TreeRow) -> Result<(), OwnError> {
        let of = format!("tree \"{}\"", row.name);
        let mut count = 0_usize;
        let mut level = 1_usize;
        for _ in 0..row.levels.min(SWITCHES_MAX) {
            count = count.saturating_add(level);
            level = level.saturating_mul(row.branches);
        }
        if !(1..=SWITCHES_MAX).contains(&count) || row.branches == 0 || row.levels > SWITCHES_MAX {
            return Err(value(
                of,
                format!(
                    "a tree must have 1 to {SWITCHES_MAX} switches, and at least one level and one branch"
                ),
            ));
        }
        let forwarding = row.forwarding.map_or(self.setup.net.forwarding_ps, |time| time.0);
        let name = |index: usize| format!("{}{}", row.name, index + 1);
        for index in 0..count {
            self.switch(&name(index), forwarding, None)?;
            if index > 0 {
                let cable = Cable {
                    mbps: row.mbps,
                    metres: row.metres,
                    scheduler: row.scheduler.as_deref(),
                    ..Cable::default()
                };
                self.cable(&name((index - 1) / row.branches), &name(index), &cable)?;
            }
        }
        Ok(())
    }

    fn switch(&mut self, name: &str, forwarding_ps: Ps, cut: Option<u32>) -> Result<(), OwnError> {
        let cut_through_bytes = cut.filter(|&bytes| bytes > 0).or(self.setup.net.cut_through_bytes);
        self.node(name, Role::Switch { forwarding: Duration::Constant(forwarding_ps), cut_through_bytes })
    }

    fn node(&mut self, name: &str, role: Role) -> Result<(), OwnError> {
        if self.has(name) {
            return Err(value(format!("node \"{name}\""), "the name is used twice".to_owned()));
        }
        self.topology.nodes.push(Node { name: name.to_owned(), role, clock: Clock::default() });
        Ok(())
    }

    /// Returns whether a node exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.topology.nodes.iter().any(|node| node.name == name)
    }

    /// Adds a node that only sends and receives, unless a node with this name exists.
    pub(super) fn end(&mut self, name: &str) {
        if !self.has(name) {
            let node = Node { name: name.to_owned(), role: Role::End, clock: Clock::default() };
            self.topology.nodes.push(node);
        }
    }

    fn links(&mut self, file: &File) -> Result<(), OwnError> {
        for row in &file.links {
            self.end(&row.a);
            self.end(&row.b);
            let cable = Cable {
                mbps: row.mbps,
                metres: row.metres,
                delay_ps: row.delay.map(|time| time.0),
                processing_ps: row.processing.map(|time| time.0),
                scheduler: row.scheduler.as_deref(),
                queue_bytes: row.queue_bytes,
            };
            self.cable(&row.a, &row.b, &cable)?;
        }
        Ok(())
    }

    /// Connects a node to a switch by a separate fibre.
    pub(super) fn fibre(
        &mut self,
        a: &str,
        b: &str,
        mbps: Option<f64>,
        metres: Option<f64>,
    ) -> Result<(), OwnError> {
        self.cable(a, b, &Cable { mbps, metres, ..Cable::default() })
    }

    fn cable(&mut self, a: &str, b: &str, cable: &Cable<'_>) -> Result<(), OwnError> {
        let of = || format!("link {a}-{b}");
        if a == b {
            return Err(value(of(), "the two ends of a link must be different nodes".to_owned()));
        }
        if cable.metres.is_some() && cable.delay_ps.is_some() {
            return Err(value(
                of(),
                "`metres` and `delay` both set the propagation delay: only one of them is allowed".to_owned(),
            ));
        }
        let metres = cable.metres.unwrap_or_else(|| f64::from(self.setup.net.metres));
        if !(0.0..=200_000.0).contains(&metres) {
            return Err(value(of(), format!("`metres` must be 0 to 200000, not {metres}")));
        }
        let rate_bps = cable.mbps.map_or(Ok(self.setup.net.rate_bps), |mbps| rate(&of(), mbps))?;
        for (from, to) in [(a, b), (b, a)] {
            let (forwarding_ps, cut_through_bytes) = self.forwarding(to);
            self.topology.lines.push(Line {
                from: from.to_owned(),
                to: to.to_owned(),
                rate_bps,
                propagation_ps: cable.delay_ps.unwrap_or_else(|| (metres * PS_PER_METRE).round() as Ps),
                processing: Duration::Constant(cable.processing_ps.unwrap_or(forwarding_ps)),
                cut_through_bytes,
                scheduler: Scheduler::Fifo,
                queue_bytes_max: cable.queue_bytes.unwrap_or(self.setup.net.queue_bytes),
                cut_ps: None,
            });
            self.named.push(cable.scheduler.map(str::to_owned));
        }
        Ok(())
    }

    /// Returns the forwarding time and the cut-through of a node, if the node is a switch.
    fn forwarding(&self, name: &str) -> (Ps, Option<u32>) {
        match self.topology.nodes.iter().find(|node| node.name == name).map(|node| &node.role) {
            Some(Role::Switch { forwarding, cut_through_bytes }) => (forwarding.max_ps(), *cut_through_bytes),
            _ => (0, None),
        }
    }

    /// Adds the links of a CSV table. A node with incoming and outgoing links is a switch, unless it is an endpoint of a stream.
    fn csv_links(&mut self, file: &File) -> Result<(), OwnError> {
        let Some(name) = &file.csv.links else { return Ok(()) };
        let rows = tables::links(&file::beside(self.path, name))?;
        let streams = match &file.csv.streams {
            Some(name) => tables::streams(&file::beside(self.path, name))?,
            None => Vec::new(),
        };
        let ends: Vec<&str> = streams.iter().flat_map(|row| [row.src.as_str(), row.dst.as_str()]).collect();
        let mut pairs = Vec::new();
        for row in &rows {
            let known = self.topology.nodes.iter().map(|node| node.name.as_str()).chain(ends.iter().copied());
            let both = tables::ends(&row.link, known);
            pairs.push(both.ok_or_else(|| {
                value(format!("link \"{}\"", row.link), "the name of a link must be FROM-TO".to_owned())
            })?);
        }
        for (from, to) in &pairs {
            for node in [from, to] {
                let passes =
                    pairs.iter().any(|(_, to)| to == node) && pairs.iter().any(|(from, _)| from == node);
                if !self.has(node) && passes && !ends.contains(&node.as_str()) {
                    self.switch(node, 0, None)?;
                }
                self.end(node);
            }
        }
        for (row, (from, to)) in rows.iter().zip(&pairs) {
            let cut_through_bytes = self.forwarding(to).1;
            self.topology.lines.push(Line {
                from: from.clone(),
                to: to.clone(),
                rate_bps: row.rate_bps,
                propagation_ps: tables::ps("t_prop_ns", row.t_prop_ns)?,
                processing: Duration::Constant(tables::ps("t_proc_ns", row.t_proc_ns)?),
                cut_through_bytes,
                scheduler: Scheduler::Fifo,
                queue_bytes_max: self.setup.net.queue_bytes,
                cut_ps: None,
            });
            self.named.push(None);
        }
        Ok(())
    }

    fn cuts(&mut self, file: &File) -> Result<(), OwnError> {
        for row in &file.cuts {
            let of = format!("cut {}-{}", row.a, row.b);
            let until = row.until.map_or(Ps::MAX, |time| time.0);
            if until <= row.from.0 {
                return Err(value(of, "`until` must be later than `from`".to_owned()));
            }
            let both = |line: &&mut Line| {
                (line.from == row.a && line.to == row.b) || (line.from == row.b && line.to == row.a)
            };
            let mut cut = 0;
            for line in self.topology.lines.iter_mut().filter(both) {
                line.cut_ps = Some((row.from.0, until));
                cut += 1;
            }
            if cut == 0 {
                return Err(value(of, "there is no such link".to_owned()));
            }
        }
        Ok(())
    }

    /// Sets the scheduler of every port. The settings of shapers follow from the traffic that the port has to pass.
    fn schedule(&mut self, file: &File) -> Result<(), OwnError> {
        let mut lists = BTreeMap::new();
        if let Some(name) = &file.csv.gates {
            let path = file::beside(self.path, name);
            let rows = tables::gates(&path)?;
            lists = tables::schedules(&rows)
                .map_err(|why| OwnError::Content { file: path.display().to_string(), why })?;
        }
        let network = self.topology.network()?;
        let own = file.ports.iter().map(|row| Ok((self.line(&row.from, &row.to)?, row)));
        let own: BTreeMap<usize, &PortRow> = own.collect::<Result<_, OwnError>>()?;
        let mut of_links = BTreeMap::new();
        for (link, gates) in lists {
            let nodes = self.topology.nodes.iter().map(|node| node.name.as_str());
            let missing = || value(format!("gates of link \"{link}\""), "there is no such link".to_owned());
            let (from, to) = tables::ends(&link, nodes).ok_or_else(missing)?;
            of_links.insert(self.line(&from, &to).map_err(|_| missing())?, gates);
        }
        for index in 0..self.topology.lines.len() {
            let row = own.get(&index).copied();
            let named = row.and_then(|row| row.scheduler.clone()).or_else(|| self.named[index].clone());
            let line = &self.topology.lines[index];
            let of = format!("port {}>{}", line.from, line.to);
            let gated = row.is_some_and(|row| !row.gates.is_empty());
            let name = match named {
                Some(name) => name,
                None if gated => "gates".to_owned(),
                None => self.setup.scheduler.clone(),
            };
            if let Some(mbps) = row.and_then(|row| row.mbps) {
                self.topology.lines[index].rate_bps = rate(&of, mbps)?;
            }
            if let Some(bytes) = row.and_then(|row| row.queue_bytes) {
                self.topology.lines[index].queue_bytes_max = bytes;
            }
            let scheduler = match of_links.remove(&index) {
                Some(_) if gated => {
                    return Err(value(
                        of,
                        "the port has two gate lists: one in [[ports]] and one in the table of [csv]"
                            .to_owned(),
                    ));
                }
                Some(gates) => gates,
                None => scheduler(&of, &name, row, &network, index)?,
            };
            if scheduler == Scheduler::Asynchronous {
                self.regulate(&network, index);
            }
            self.topology.lines[index].scheduler = scheduler;
        }
        Ok(())
    }

    fn line(&self, from: &str, to: &str) -> Result<usize, OwnError> {
        let found = self.topology.lines.iter().position(|line| line.from == from && line.to == to);
        found.ok_or_else(|| value(format!("port {from}>{to}"), "there is no such link".to_owned()))
    }

    /// Gives a regulator to each flow that passes a stage and has no regulator; see [`bucket`].
    fn regulate(&mut self, network: &Network, stage: usize) {
        for (demand, flow) in self.topology.demands.iter_mut().zip(&network.flows) {
            let passes = flow.paths().flatten().any(|&own| usize::from(own) == stage);
            if passes && demand.regulator.is_none() {
                demand.regulator = bucket(demand);
            }
        }
    }
}

/// Returns a token bucket with the size of one release and 1.2 times the rate at which the demand sends during its releases. `None` if the
/// pattern has no releases.
fn bucket(demand: &Demand) -> Option<TokenBucket> {
    let (burst_bytes, gap_ps) = crate::rig::build::burst(&demand.pattern);
    let sending_bps = u128::from(burst_bytes) * 8 * u128::from(ranlab_xhaul::S) / u128::from(gap_ps.max(1));
    let rate_bps = u64::try_from(sending_bps * 6 / 5).ok()?;
    (burst_bytes > 0).then_some(TokenBucket { burst_bytes, rate_bps: rate_bps.max(1) })
}

fn rate(of: &str, mbps: f64) -> Result<u64, OwnError> {
    if (1.0..=800_000.0).contains(&mbps) {
        return Ok((mbps * 1e6).round() as u64);
    }
    Err(value(of, format!("`mbps` must be 1 to 800000, not {mbps}")))
}

/// Returns the scheduler of a port. The defaults are the same as in the built-in network.
fn scheduler(
    of: &str,
    name: &str,
    row: Option<&PortRow>,
    network: &Network,
    stage: usize,
) -> Result<Scheduler, OwnError> {
    let passing = || {
        let passes =
            move |flow: &&ranlab_xhaul::Flow| flow.paths().flatten().any(|&own| usize::from(own) == stage);
        network.flows.iter().filter(passes)
    };
    let top = passing().map(|flow| flow.class).max().unwrap_or(7);
    Ok(match name {
        "fifo" => Scheduler::Fifo,
        "strict" => Scheduler::StrictPriority,
        "ats" => Scheduler::Asynchronous,
        "preemption" => Scheduler::Preemption {
            express_from: row.and_then(|row| row.express_from).unwrap_or(top).clamp(1, 7),
        },
        "drr" => {
            let mut quanta = [QUANTA.1; CLASSES];
            quanta[usize::from(top).min(CLASSES - 1)] = QUANTA.0;
            Scheduler::DeficitRoundRobin { quanta: row.and_then(|row| row.quanta).unwrap_or(quanta) }
        }
        "cbs" => Scheduler::CreditBased { idle_bps: slopes(of, row, network, stage, top)? },
        "gates" => {
            let rows = row.map(|row| &row.gates[..]).unwrap_or_default();
            if rows.is_empty() {
                return Err(value(
                    of,
                    "scheduler \"gates\" needs a gate list: `gates` of [[ports]], or `gates` of [csv]"
                        .to_owned(),
                ));
            }
            let entry = |row: &file::GateRow| {
                let class = row.open.iter().find(|&&class| usize::from(class) >= CLASSES);
                match class {
                    Some(class) => Err(value(of, format!("`open`: a class must be 0 to 7, not {class}"))),
                    None => {
                        let open = row.open.iter().fold(0_u8, |open, class| open | 1 << class);
                        Ok(GateEntry { duration_ps: row.duration.0, open })
                    }
                }
            };
            let entries = rows.iter().map(entry).collect::<Result<_, _>>()?;
            Scheduler::Gates(Gates { entries, clock: Clock::default() })
        }
        other => return Err(value(of, unknown("scheduler", other, SCHEDULERS.into_iter()))),
    })
}

/// Returns the idle slopes of a port from the file. The default is twice the mean rate of the port's highest-priority class.
fn slopes(
    of: &str,
    row: Option<&PortRow>,
    network: &Network,
    stage: usize,
    top: u8,
) -> Result<[Option<u64>; CLASSES], OwnError> {
    let mut idle_bps = [None; CLASSES];
    let rows = row.map(|row| &row.idle_mbps[..]).unwrap_or_default();
    for row in rows {
        let class = idle_bps.get_mut(usize::from(row.class));
        *class
            .ok_or_else(|| value(of, format!("`idle_mbps`: a class must be 0 to 7, not {}", row.class)))? =
            Some(rate(of, row.mbps)?);
    }
    if rows.is_empty() {
        let passes =
            |flow: &&ranlab_xhaul::Flow| flow.paths().flatten().any(|&own| usize::from(own) == stage);
        let own = network.flows.iter().filter(|flow| flow.class == top).filter(passes);
        let need: u64 = own.filter_map(|flow| flow.pattern.mean_bps()).sum();
        let Some(Stage::Port(port)) = network.stages.get(stage) else { return Ok(idle_bps) };
        idle_bps[usize::from(top).min(CLASSES - 1)] = Some((2 * need).clamp(1, port.rate_bps));
    }
    Ok(idle_bps)
}
