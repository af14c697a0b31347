//! Builds the model's network from a setup: nodes, links, cells and streams.

use ranlab_xhaul::{
    CLASSES, Cell, Clock, Duration, Flow, GateEntry, Gates, Link, Node, Pattern, Plan, Ps, Role, S, Scenario,
    ScenarioError, Scheduler, Stream, TokenBucket, US, wire_bytes,
};

use super::setup::{Setup, USER_BYTES, User};

/// Time by which the window of the highest-priority class is longer than the bursts of a cycle. It covers forwarding, cables and one frame.
const WINDOW_SLACK_PS: Ps = 27_200_000;
/// Size of IPv4 and UDP headers, in bytes.
const IP_UDP_BYTES: u32 = 28;
/// Round-robin quanta of the highest-priority class and of the others, in bytes.
const QUANTA: (u32, u32) = (9_216, 1_538);

/// Rate between a card's embedded switch and its virtual functions. This connection is not a network link, so the model's maximum is used.
const INSIDE_BPS: u64 = ranlab_xhaul::RATE_BPS_MAX;
/// Switches inside the CU's cards: towards the midhaul, and towards the backhaul.
const CARDS: [&str; 2] = ["CU-card", "CU-card2"];

/// Name of the flows of the other vBBU's users. These flows have no role.
const NEIGHBOUR_USER: &str = "neighbour backhaul";

/// Name of the measured flow.
pub(super) const USER: &str = "user";

/// Returns the network and its properties that are known before a run.
pub(super) fn plan(setup: &Setup) -> Result<Plan, ScenarioError> {
    // The first plan has no gates and no shapers. It determines the traffic that they have to pass. The second plan has them.
    let mut plan = scenario(setup, &Scheduler::StrictPriority).plan()?;
    let scheduler = match setup.scheduler.as_str() {
        "strict" => Scheduler::StrictPriority,
        "preemption" => Scheduler::Preemption { express_from: setup.cells.class.clamp(1, 7) },
        "drr" => {
            let mut quanta = [QUANTA.1; CLASSES];
            quanta[usize::from(setup.cells.class).min(CLASSES - 1)] = QUANTA.0;
            Scheduler::DeficitRoundRobin { quanta }
        }
        "cbs" => {
            let mut idle_bps = [None; CLASSES];
            let need = plan.loads.first().map_or(0, |load| load.wire_bps) * setup.cells.count * 2;
            idle_bps[usize::from(setup.cells.class).min(CLASSES - 1)] =
                Some(need.clamp(1, setup.net.rate_bps));
            Scheduler::CreditBased { idle_bps }
        }
        "ats" => Scheduler::Asynchronous,
        "gates" => Scheduler::Gates(gates(setup, &plan)),
        _ => Scheduler::Fifo,
    };
    if scheduler != Scheduler::StrictPriority {
        plan = scenario(setup, &scheduler).plan()?;
    }
    shape(setup, &mut plan);
    if let Some(profile) = setup.cells.limits.profile {
        let cells = plan.network.flows.iter().filter(|flow| is_cell(flow));
        let warnings: Vec<String> = cells.filter_map(|flow| profile.warning(&plan.network, flow)).collect();
        plan.warnings.extend(warnings);
    }
    plan.network.check().map_err(ScenarioError::Network)?;
    Ok(plan)
}

/// Sets the shaping: symbols at their due times, TTIs in sequence, and the rate for asynchronous shapers.
fn shape(setup: &Setup, plan: &mut Plan) {
    let limits = &setup.cells.limits;
    plan.warnings.extend(limits.warning(setup.cells.down));
    for flow in plan.network.flows.iter_mut().filter(|flow| is_cell(flow)) {
        limits.apply(flow, setup.cells.down);
        if setup.cells.spread {
            spread(&mut flow.pattern);
        }
        if setup.scheduler == "ats" {
            let (burst_bytes, gap_ps) = burst(&flow.pattern);
            // Rate while the cell sends. With TDD, this is the rate within the cell's symbols.
            let sending_bps = u128::from(burst_bytes) * 8 * u128::from(S) / u128::from(gap_ps.max(1));
            let rate_bps = u64::try_from(sending_bps * 6 / 5).unwrap_or(u64::MAX);
            flow.regulator = Some(TokenBucket { burst_bytes, rate_bps: rate_bps.max(1) });
        }
    }
}

/// Sends the symbols of a TTI at their due times.
pub(super) fn spread(pattern: &mut Pattern) {
    match pattern {
        Pattern::Periodic { releases, frames, .. } if *releases == 1 && frames.len().is_multiple_of(14) => {
            frames.truncate(frames.len() / 14);
            *releases = 14;
        }
        Pattern::Tdd { together, .. } => *together = 1,
        _ => {}
    }
}

fn is_cell(flow: &Flow) -> bool {
    flow.name.starts_with("cell")
}

/// Returns the bytes of a release, and the time to the next one.
pub(super) fn burst(pattern: &Pattern) -> (u32, Ps) {
    match pattern {
        Pattern::Periodic { period_ps, releases, frames, .. } => {
            (frames.iter().sum(), period_ps / u64::from((*releases).max(1)))
        }
        Pattern::Tdd { period_ps, slots, together, frames } => {
            let group = (*together).max(1);
            (frames.iter().sum::<u32>() * group, period_ps * u64::from(group) / (slots.len() as u64).max(1))
        }
        _ => (0, S),
    }
}

/// Returns a cell's period and the maximum number of releases in it. For a TDD pattern, the number includes the releases of both
/// directions.
fn releases(pattern: &Pattern) -> Option<(Ps, u32)> {
    match pattern {
        Pattern::Periodic { period_ps, releases, .. } => Some((*period_ps, *releases)),
        // At most 1280 slots.
        Pattern::Tdd { period_ps, slots, together, .. } => {
            Some((*period_ps, slots.len() as u32 / (*together).max(1)))
        }
        _ => None,
    }
}

/// Returns a gate control list: a window for the cells' class, long enough for all bursts of a period, and
/// the rest for all other classes.
fn gates(setup: &Setup, plan: &Plan) -> Gates {
    let first = plan.network.flows.iter().find(|flow| is_cell(flow));
    let known = first.and_then(|flow| Some((flow, releases(&flow.pattern)?)));
    let Some((flow, (period_ps, releases))) = known else {
        return Gates { entries: vec![GateEntry { duration_ps: US, open: 0xFF }], clock: Clock::default() };
    };
    let together = match flow.pattern {
        Pattern::Tdd { together, .. } => together > 1,
        _ => releases == 1,
    };
    let spread = setup.cells.spread && together;
    let windows = if spread { releases * 14 } else { releases };
    let bytes = u64::from(burst(&flow.pattern).0) / if spread { 14 } else { 1 };
    let sending = bytes * 8 * (S / 1_000_000) / (setup.net.rate_bps / 1_000_000).max(1);
    let window = sending * setup.cells.count + WINDOW_SLACK_PS;
    let own = 1_u8 << setup.cells.class.min(7);
    // Smallest number of windows after which the pattern repeats exactly.
    let common = greatest_common_divisor(period_ps, u64::from(windows)).max(1);
    let cycle = period_ps / common;
    let windows = u64::from(windows) / common;
    let at = |index: u64| index * cycle / windows;
    let mut entries = Vec::new();
    for index in 0..windows {
        let length = at(index + 1) - at(index);
        // Leaves a minimum of time for all other classes.
        let window = window.min(length * 19 / 20);
        entries.push(GateEntry { duration_ps: window, open: own });
        entries.push(GateEntry { duration_ps: length - window, open: !own });
    }
    Gates { entries, clock: Clock::default() }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

struct Topology<'s> {
    setup: &'s Setup,
    /// Scheduler between switches and shared hosts. If it is a gate schedule, edge links use strict priority.
    trunk: Scheduler,
    scenario: Scenario,
}

fn scenario(setup: &Setup, trunk: &Scheduler) -> Scenario {
    let mut topology = Topology {
        setup,
        trunk: trunk.clone(),
        scenario: Scenario { mtu: setup.net.mtu, ..Scenario::default() },
    };
    topology.cu();
    topology.backhaul();
    topology.cells();
    topology.neighbour();
    topology.background();
    topology.user();
    topology.scenario
}

impl Topology<'_> {
    fn node(&mut self, name: &str, role: Role) {
        let known = self.scenario.nodes.iter().any(|node| node.name == name);
        if !known {
            self.scenario.nodes.push(Node { name: name.to_owned(), role, clock: Clock::default() });
        }
    }

    fn link(&mut self, a: &str, b: &str, shared: bool) {
        let gated = matches!(self.trunk, Scheduler::Gates(_));
        let scheduler = if gated && !shared { Scheduler::StrictPriority } else { self.trunk.clone() };
        self.scenario.links.push(Link {
            a: a.to_owned(),
            b: b.to_owned(),
            rate_bps: self.setup.net.rate_bps,
            metres: self.setup.net.metres,
            scheduler,
            queue_bytes_max: self.setup.net.queue_bytes,
        });
    }

    fn switch(&self) -> Role {
        Role::Switch {
            forwarding: Duration::Constant(self.setup.net.forwarding_ps),
            cut_through_bytes: self.setup.net.cut_through_bytes,
        }
    }

    fn host(&self) -> Role {
        Role::Host {
            sharing: self.setup.sharing_cost.clone(),
            service: Duration::Constant(self.setup.host_service_ps),
            wakeup: self.setup.wakeup.clone(),
            contention: self.setup.contention,
        }
    }

    /// Adds the CU and the midhaul switches in front of it.
    fn cu(&mut self) {
        let switch = self.switch();
        let host = self.host();
        self.node("CU", host);
        for index in 1..=self.setup.net.midhaul_switches {
            self.node(&format!("midhaul{index}"), switch.clone());
            if index > 1 {
                self.link(&format!("midhaul{}", index - 1), &format!("midhaul{index}"), true);
            }
        }
        if self.setup.net.midhaul_switches > 0 {
            let last = format!("midhaul{}", self.setup.net.midhaul_switches);
            self.plug(&last, CARDS[0]);
        }
    }

    /// Connects the CU to a switch, through the card's embedded switch if containers use its functions.
    fn plug(&mut self, switch: &str, card: &str) {
        if !self.setup.own_functions() {
            return self.link(switch, "CU", true);
        }
        self.node(card, Role::Switch { forwarding: Duration::Constant(0), cut_through_bytes: None });
        self.link(switch, card, true);
        self.inside(card, "CU");
    }

    /// Returns the CU port of a container: the shared port, or a separate one. A virtual function has separate queues, so its frames do not
    /// wait for other containers' software.
    fn port_of(&mut self, name: &str) -> String {
        let shared = !self.setup.own_ports() && !self.setup.own_functions();
        if shared || self.setup.net.midhaul_switches == 0 {
            return "CU".to_owned();
        }
        let own = format!("CU-{name}");
        let host = self.host();
        self.node(&own, host);
        if self.setup.own_functions() {
            self.inside(CARDS[0], &own);
        } else {
            self.link(&format!("midhaul{}", self.setup.net.midhaul_switches), &own, true);
        }
        own
    }

    /// Connects a virtual function to the switch in its card, unless they are already connected.
    fn inside(&mut self, card: &str, function: &str) {
        if self.scenario.links.iter().any(|link| link.a == card && link.b == function) {
            return;
        }
        self.scenario.links.push(Link {
            a: card.to_owned(),
            b: function.to_owned(),
            rate_bps: INSIDE_BPS,
            metres: 0,
            scheduler: Scheduler::Fifo,
            queue_bytes_max: self.setup.net.queue_bytes,
        });
    }

    /// Connects a DU or the tester to the first switch, or to the CU if there is no switch.
    fn edge(&mut self, name: &str, cu: &str) {
        self.node(name, Role::End);
        if self.setup.net.midhaul_switches > 0 {
            self.link(name, "midhaul1", false);
        } else {
            self.link(name, cu, false);
        }
    }

    fn backhaul(&mut self) {
        if self.setup.user == User::None {
            return;
        }
        let far = if matches!(self.setup.user, User::Ping { .. }) { "echo" } else { "server" };
        let role = match self.setup.user {
            User::Ping { .. } => Role::Host {
                sharing: [Duration::Constant(0), Duration::Constant(0)],
                service: Duration::Constant(self.setup.turnaround_ps / 2),
                wakeup: Duration::Constant(0),
                contention: None,
            },
            _ => Role::End,
        };
        self.node(far, role);
        if self.setup.net.backhaul_switch {
            let switch = self.switch();
            self.node("backhaul", switch);
            self.plug("backhaul", CARDS[1]);
            self.link("backhaul", far, false);
        } else {
            self.link("CU", far, false);
        }
    }

    fn cells(&mut self) {
        let cells = &self.setup.cells;
        let tti = self.setup.tti_ps();
        for index in 1..=cells.count {
            let du = format!("DU{index}");
            self.edge(&du, "CU");
            let offset_ps = if cells.staggered { tti * (index - 1) / cells.count } else { 0 };
            self.scenario.cells.push(Cell {
                name: format!("cell{index}"),
                carrier: cells.carrier,
                downlink: cells.down,
                uplink: cells.up,
                du,
                cu: "CU".to_owned(),
                class: cells.class,
                offset_ps,
                tdd: cells.tdd.clone(),
                tagged: cells.vlan.is_some(),
                control_ahead_ps: cells.control_ahead_ps,
            });
        }
    }

    fn neighbour(&mut self) {
        let Some((downlink, uplink, class)) = self.setup.neighbour else { return };
        let cu = self.port_of("neighbour");
        self.edge("DU-neighbour", &cu);
        self.scenario.cells.push(Cell {
            name: "neighbour".to_owned(),
            carrier: ranlab_xhaul::Carrier::LTE_5,
            downlink,
            uplink,
            du: "DU-neighbour".to_owned(),
            cu: cu.clone(),
            class,
            offset_ps: 13 * US,
            tdd: None,
            tagged: false,
            control_ahead_ps: None,
        });
        if !self.setup.net.backhaul_switch || self.setup.user == User::None {
            return;
        }
        let two = matches!(downlink, ranlab_xhaul::Split::Two { .. });
        if let Some((bps, timer_ps)) = self.setup.neighbour_user {
            // For lower-layer splits (6 to 8), user packets end at the CU, where radio symbols begin.
            let (to, frame) = match two {
                true => ("DU-neighbour", self.f1u_wire(u32::from(USER_BYTES) + IP_UDP_BYTES)),
                false => (cu.as_str(), wire_bytes(u32::from(USER_BYTES) + IP_UDP_BYTES)),
            };
            let gap_ps = gap_ps(u32::from(USER_BYTES), bps);
            let pattern = Pattern::Timer { timer_ps, gap_ps, frame };
            self.neighbours_server(&cu, to, pattern, class);
        } else if let ranlab_xhaul::Split::Two { user_bps, user_bytes } = downlink {
            let wire = wire_bytes(u32::from(user_bytes) + IP_UDP_BYTES);
            let gap = gap_ps(u32::from(user_bytes), user_bps);
            self.neighbours_server(&cu, &cu, Pattern::constant(gap, wire), 0);
        }
    }

    /// Adds the traffic of the other vBBU's users, through its container.
    fn neighbours_server(&mut self, cu: &str, to: &str, pattern: Pattern, class: u8) {
        self.node("server-neighbour", Role::End);
        self.link("server-neighbour", "backhaul", false);
        if self.setup.own_functions() {
            self.inside(CARDS[1], cu);
        }
        // A container with its own midhaul port shares the backhaul of the CU's host.
        let through = if self.setup.own_ports() { "CU" } else { cu };
        let to = if to == cu { through } else { to };
        self.stream(NEIGHBOUR_USER, "server-neighbour", to, class, pattern);
        if let Some(stream) = self.scenario.streams.last_mut().filter(|_| to != through) {
            stream.via = vec![through.to_owned()];
        }
    }

    fn background(&mut self) {
        let background = &self.setup.background;
        let up = background.up;
        let down = background.down;
        let class = background.class;
        if !up && !down {
            return;
        }
        let cu = self.port_of("background");
        self.edge("tester", &cu);
        let pattern = Pattern::constant(gap_ps(background.frame, background.bps), background.frame + 20);
        if up {
            self.stream("background up", "tester", &cu, class, pattern.clone());
        }
        if down {
            self.stream("background down", &cu, "tester", class, pattern);
        }
    }

    fn stream(&mut self, name: &str, from: &str, to: &str, class: u8, pattern: Pattern) {
        self.scenario.streams.push(Stream {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            class,
            pattern,
            offset_ps: 3 * US,
            regulator: None,
            budget_ps: None,
            air: None,
            via: Vec::new(),
            air_first: None,
        });
    }

    /// Adds the measured flow.
    ///
    /// With split 2, the packets of the flow are frames of the cell, with F1-U headers and in the cell's class. The DU schedules the radio.
    ///
    /// If the CU schedules the radio, the packets end at the CU. Their bits are then part of the symbols that the cell sends continuously.
    /// The DU transmits these symbols when they are due, i.e. after the split's budget.
    fn user(&mut self) {
        let (mut down, mut up) = self.setup.air.clone().unzip();
        let class = self.setup.cells.class;
        let at_cu = self.setup.scheduled_at_cu();
        let (pattern, from, to, via, ip) = match self.setup.user {
            User::None => return,
            User::Udp { bps, bytes, timer_ps } => {
                let ip = u32::from(bytes) + IP_UDP_BYTES;
                let frame = self.user_wire(ip);
                let gap_ps = gap_ps(u32::from(bytes), bps);
                let pattern = match timer_ps {
                    0 => Pattern::constant(gap_ps, frame),
                    timer_ps => Pattern::Timer { timer_ps, gap_ps, frame },
                };
                if at_cu {
                    (pattern, "server", "CU", vec![], ip)
                } else {
                    (pattern, "server", "DU1", vec!["CU"], ip)
                }
            }
            User::Ping { bytes, interval_ps } => {
                let ip = u32::from(bytes).saturating_sub(18);
                let frame = self.user_wire(ip);
                let pattern = Pattern::constant(interval_ps, frame);
                if at_cu {
                    (pattern, "CU", "CU", vec!["echo"], ip)
                } else {
                    (pattern, "DU1", "DU1", vec!["CU", "echo", "CU"], ip)
                }
            }
        };
        // F1-U headers end before the radio.
        let stripped_bytes = pattern.frames(0).first().map_or(0, |&frame| frame - wire_bytes(ip));
        for air in [&mut down, &mut up].into_iter().flatten() {
            air.stripped_bytes = stripped_bytes;
            if at_cu {
                air.processing_ps += self.setup.cells.down.budget_ps();
            }
        }
        let air_first = if matches!(self.setup.user, User::Ping { .. }) { up } else { None };
        self.stream(USER, from, to, class, pattern);
        if let Some(stream) = self.scenario.streams.last_mut() {
            stream.via = via.into_iter().map(str::to_owned).collect();
            (stream.air, stream.air_first, stream.budget_ps) = (down, air_first, None);
        }
    }

    /// Returns the bytes on the wire of a user's IP packet, summed over all fragments.
    fn user_wire(&self, ip: u32) -> u32 {
        if !matches!(self.setup.cells.down, ranlab_xhaul::Split::Two { .. }) {
            return wire_bytes(ip);
        }
        self.f1u_wire(ip)
    }

    /// Returns the bytes on the wire of a user's IP packet with F1-U headers, summed over all fragments.
    fn f1u_wire(&self, ip: u32) -> u32 {
        let packet = ip + ranlab_xhaul::F1U_BYTES;
        let second =
            if packet > self.setup.net.mtu { wire_bytes(packet - self.setup.net.mtu + 20) } else { 0 };
        wire_bytes(packet.min(self.setup.net.mtu)) + second
    }
}

/// Returns the time between frames of `bytes` bytes at this rate.
fn gap_ps(bytes: u32, bps: u64) -> Ps {
    ((u128::from(bytes) * 8 * u128::from(S)) / u128::from(bps.max(1))).max(1) as Ps
}
