//! Results of simulation and network calculus, by role and by segment.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{LimitViolation, Outcome, RigError, Stop};
use ranlab_xhaul::{
    Bound, BoundError, Curves, DelayWindow, Delays, Direction, Flow, Network, Options, Pattern, Plan, Ps,
    Report, Scheduler, Search, Segment, Simulation, Split, Stage, bounds, named, numbered, worst_phase,
};

use crate::live::{numbers, seen_by_user};

use super::budget::used;
use super::build::USER;
use super::pcap::{self, CONTROL, Framing};
use super::setup::{Setup, User};

/// Roles of flows. A flow's role follows from its name.
pub(super) const ROLES: [&str; 7] =
    ["cell_dl", "cell_ul", "neighbour_dl", "neighbour_ul", "background_dl", "background_ul", "user"];
/// Segments of a path: host software, queues, links, cables and forwarding, the far side of the CU, the core,
/// the radio.
pub(super) const SEGMENTS: [&str; 7] =
    ["host", "midhaul_queue", "midhaul_line", "midhaul_transit", "backhaul", "core", "air"];

/// Returns the role of a flow. `None` for a flow without results.
pub(super) fn role(flow: &str) -> Option<&'static str> {
    let down = flow.ends_with("DL") || flow.ends_with("down");
    let index = match flow {
        USER => 6,
        _ if flow.starts_with("cell") => 0,
        _ if flow.starts_with("neighbour backhaul") => return None,
        _ if flow.starts_with("neighbour") => 2,
        _ if flow.starts_with("background") => 4,
        _ => return None,
    };
    Some(ROLES[if index == 6 { 6 } else { index + usize::from(!down) }])
}

/// Combined results of all flows of a role.
#[derive(Debug, Default)]
struct Found {
    delays: Delays,
    sent: u64,
    dropped: u64,
    unfinished: u64,
    segments_ps: [u128; SEGMENTS.len()],
    budget_ps: Option<Ps>,
    window: Option<DelayWindow>,
    /// Frames before and after their receive window.
    early: u64,
    late: u64,
    /// Delays of the wired part, for flows that end at the radio.
    wired: Option<Delays>,
}

/// Simulates each phase from `first_phase` on. Records the results of every role, with its bound if there is one.
pub(super) fn simulate(
    setup: &Setup,
    plan: &Plan,
    (duration_ps, seed, first_phase): (Ps, u64, u64),
    stop: &Stop,
    recorder: &mut Recorder,
) -> Result<Outcome, RigError> {
    let begun = std::time::Instant::now();
    let moved = |phase| shifted(setup, &plan.network, phase, seed);
    let reports = run_phases(setup, &moved, duration_ps, seed, first_phase, stop)?;
    let elapsed_s = begun.elapsed().as_secs_f64();
    let mut found: BTreeMap<&'static str, Found> = BTreeMap::new();
    let mut events = 0;
    let mut digest = 0_u64;
    for report in &reports {
        events += report.events;
        digest = digest.rotate_left(5) ^ report.digest;
        for (index, flow) in report.flows.iter().enumerate() {
            let Some(role) = role(&flow.name) else { continue };
            let found = found.entry(role).or_default();
            found.delays.merge(&flow.delays);
            if let Some(wired) = &flow.wired {
                found.wired.get_or_insert_default().merge(wired);
            }
            found.sent += flow.sent;
            found.dropped += flow.dropped;
            found.unfinished += flow.unfinished;
            found.budget_ps = plan.network.flows[index].budget_ps;
            found.window = plan.network.flows[index].window;
            found.early += flow.early;
            found.late += flow.late;
            for segment in &flow.segments {
                add_segment(found, &plan.network, segment);
            }
        }
    }
    let shares = found.values().filter(|found| found.delays.count() > 0).filter_map(|found| {
        used((found.budget_ps, found.window), found.delays.min_ps(), found.delays.max_ps())
    });
    record_share("network.of_budget", shares, recorder);
    recorder.scalar("sim.events", events as f64);
    recorder.scalar("sim.mevents_per_s", events as f64 / elapsed_s.max(1e-9) / 1e6);
    // A metric's value has 53 significant bits.
    recorder.scalar("sim.digest", (digest >> 12) as f64);
    for (role, found) in &found {
        record(role, found, recorder);
    }
    if let Some(found) = found.get("user") {
        users(setup, found, recorder);
    }
    prove(setup, plan, recorder, Some(&found))?;
    // Repeats differ only in the phases, so there is one capture per point.
    if let (Some(file), 0) = (&setup.sim.pcap, first_phase) {
        capture(&pcap::framings(setup, plan), plan, Options { duration_ps, seed }, file)?;
    }
    if setup.sim.search_rounds > 0 {
        search(setup, &plan.network, duration_ps, seed, recorder);
    }
    Ok(recorder.judge(found.iter().flat_map(|(role, found)| short(role, found))))
}

/// Records the delays that a user observes, and their part before the radio.
fn users(setup: &Setup, found: &Found, recorder: &mut Recorder) {
    let echo = matches!(setup.user, User::Ping { .. });
    seen_by_user(&found.delays, echo, &mut |name, value| recorder.scalar(name, value));
    if !echo {
        for jitter_ps in found.delays.jitter_notes_ps() {
            recorder.value("jitter_ns", (jitter_ps / 1e3).round() as u64);
        }
    }
    // For an echo, nothing is recorded, because this delay also includes the radio of the uplink.
    let Some(wired) = found.wired.as_ref().filter(|wired| wired.count() > 0 && !echo) else { return };
    recorder.scalar("wire_delay_us_mean", wired.mean_ps() / 1e6);
    recorder.scalar("wire_delay_us_p99", us(wired.quantile_ps(0.99)));
    recorder.scalar("wire_ipdv_us_mean", wired.ipdv_ps().0 / 1e6);
    let notes = wired.jitter_notes_ps();
    let jitter_ps = notes.iter().sum::<f64>() / notes.len().max(1) as f64;
    recorder.scalar("wire_jitter_us", jitter_ps / 1e6);
}

/// Writes the deliveries of the first phase to a capture file.
pub(super) fn capture(
    framings: &[Framing],
    plan: &Plan,
    options: Options,
    file: &str,
) -> Result<(), RigError> {
    let simulation =
        Simulation::new(&plan.network, options).map_err(|error| RigError::Rig(error.to_string()))?;
    let (_, deliveries) = simulation.run_keeping(pcap::DELIVERIES_MAX);
    let written = std::fs::File::create(file).and_then(|out| pcap::write(out, framings, plan, &deliveries));
    written.map_err(|error| RigError::Environment(format!("`sim.pcap` {file}: {error}")))
}

/// Records only the bounds.
pub(super) fn bound(setup: &Setup, plan: &Plan, recorder: &mut Recorder) -> Result<Outcome, RigError> {
    let proven = prove(setup, plan, recorder, None)?;
    let limits = proven.iter().flat_map(|(role, proven)| {
        let above =
            |limit: Ps| LimitViolation::above(&format!("{role}.bound_us"), us(proven.most_ps), us(limit));
        let early = proven.window.filter(|window| window.is_early(proven.least_ps));
        let early = early.and_then(|window| {
            LimitViolation::below(
                &format!("{role}.least_us"),
                us(proven.least_ps),
                window.from_ps as f64 / 1e6,
            )
        });
        [(Outcome::MissesBudget, proven.budget_ps.and_then(above)), (Outcome::MissesBudget, early)]
    });
    let limits: Vec<_> = limits.collect();
    Ok(recorder.judge(limits))
}

/// Reports the frames of a flow that are lost, or whose delay is above the budget.
fn short(role: &str, found: &Found) -> [(Outcome, Option<LimitViolation>); 4] {
    let above = |outcome: Outcome, what: &str, frames: u64| {
        (outcome, LimitViolation::above(&format!("number of {role} frames {what}"), frames as f64, 0.0))
    };
    let windowed = found.window.is_some();
    let early = if windowed { "before their receive window" } else { "early" };
    let late = if windowed { "after their receive window" } else { "beyond their budget" };
    let beyond = if windowed { found.late } else { found.delays.own_misses() };
    [
        above(Outcome::Degraded, "dropped", found.dropped),
        above(Outcome::Degraded, "unfinished", found.unfinished),
        above(Outcome::MissesBudget, late, beyond),
        above(Outcome::MissesBudget, early, found.early),
    ]
}

/// Runs all phases and returns their reports in order, independent of the number of threads.
pub(super) fn run_phases(
    setup: &Setup,
    network_at: &(dyn Fn(u64) -> Network + Sync),
    duration_ps: Ps,
    seed: u64,
    first_phase: u64,
    stop: &Stop,
) -> Result<Vec<Report>, RigError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if setup.sim.threads == 0 { cores } else { setup.sim.threads };
    let next = AtomicUsize::new(0);
    let phases = setup.sim.phases.max(1) as usize;
    let one = |phase: usize| {
        let moved = network_at(first_phase + phase as u64);
        let options = Options { duration_ps, seed: seed.wrapping_add(phase as u64) };
        let simulation =
            Simulation::new(&moved, options).map_err(|error| RigError::Rig(error.to_string()))?;
        Ok((phase, simulation.run()))
    };
    let work = || {
        let mut done = Vec::new();
        loop {
            let phase = next.fetch_add(1, Ordering::Relaxed);
            if phase >= phases {
                return Ok(done);
            }
            if stop.now() {
                return Err(RigError::Stopped);
            }
            done.push(one(phase)?);
        }
    };
    let mut reports = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads.clamp(1, phases)).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::with_capacity(phases);
        for handle in handles {
            let part: Result<Vec<(usize, Report)>, RigError> =
                handle.join().map_err(|_| RigError::Rig("a simulation thread panicked".to_owned()))?;
            all.extend(part?);
        }
        Ok::<_, RigError>(all)
    })?;
    reports.sort_by_key(|(phase, _)| *phase);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

/// Returns the network with its sources shifted to another phase. The first phase has the offsets in the scenario. Cells are shifted
/// together. Sources that follow a gate schedule are not shifted.
fn shifted(setup: &Setup, network: &Network, phase: u64, seed: u64) -> Network {
    let mut moved = network.clone();
    if phase == 0 {
        return moved;
    }
    // The seed depends on the flow's name, so that an additional flow does not change the phases of other flows.
    let seed = numbered(seed, phase);
    let together = named(seed, "cells") % setup.cycle_ps();
    let gated = setup.scheduler == "gates";
    for flow in &mut moved.flows {
        let own = named(seed, &flow.name) % flow.pattern.cycle_ps();
        flow.offset_ps = match role(&flow.name) {
            Some("cell_dl" | "cell_ul") if gated => flow.offset_ps,
            Some("cell_dl" | "cell_ul") => flow.offset_ps + together,
            // Control messages keep their distance to their data.
            _ if flow.name.starts_with(CONTROL) && gated => flow.offset_ps,
            _ if flow.name.starts_with(CONTROL) => flow.offset_ps + together,
            _ => own,
        };
    }
    moved
}

fn add_segment(found: &mut Found, network: &Network, segment: &Segment) {
    let stage = &network.stages[usize::from(segment.stage)];
    let name = stage.name();
    let all = segment.waiting_ps + segment.service_ps + segment.transit_ps;
    match stage {
        Stage::Air(_) => found.segments_ps[6] += all,
        Stage::Host(_) if name.starts_with("echo") => found.segments_ps[5] += all,
        Stage::Host(_) => found.segments_ps[0] += all,
        Stage::Port(_) if ["backhaul", "echo", "server"].iter().any(|far| name.contains(far)) => {
            found.segments_ps[4] += all;
        }
        Stage::Port(_) => {
            found.segments_ps[1] += segment.waiting_ps;
            found.segments_ps[2] += segment.service_ps;
            found.segments_ps[3] += segment.transit_ps;
        }
    }
}

pub(super) fn us(ps: Ps) -> f64 {
    ps as f64 / 1e6
}

fn record(role: &str, found: &Found, recorder: &mut Recorder) {
    let delays = &found.delays;
    let lost = found.dropped + found.unfinished;
    numbers(delays, (found.sent, lost), found.budget_ps, &mut |name, value| {
        recorder.scalar(&format!("{role}.{name}"), value);
    });
    let count = delays.count().max(1) as f64;
    if found.window.is_some() && delays.count() > 0 {
        let on_time = delays.count() - found.early - found.late;
        for (name, frames) in [("early", found.early), ("on_time", on_time), ("late", found.late)] {
            recorder.scalar(&format!("{role}.window_{name}"), frames as f64 / count);
        }
    }
    for (name, ps) in SEGMENTS.iter().zip(found.segments_ps) {
        recorder.scalar(&format!("{role}.at_{name}_us"), ps as f64 / 1e6 / count);
    }
    for (ps, count) in delays.buckets() {
        recorder.values(&format!("{role}_ns"), ps / 1000, count);
    }
}

/// Returns the network with only the wired part of each flow, for which bounds exist. The steps of an echo
/// become separate flows that may arrive at any time.
pub(super) fn wired(network: &Network) -> (Network, Vec<Option<usize>>) {
    let mut wired = Network { stages: network.stages.clone(), flows: Vec::new() };
    let mut kept = Vec::new();
    for (index, flow) in network.flows.iter().enumerate() {
        let is_air = |&stage: &u16| matches!(network.stages[usize::from(stage)], Stage::Air(_));
        let echo = flow.path.first().is_some_and(is_air);
        let path: Vec<u16> = flow.path.iter().copied().filter(|stage| !is_air(stage)).collect();
        let mut whole = Flow { path, ..flow.clone() };
        if !echo {
            wired.flows.push(whole);
            kept.push(Some(index));
            continue;
        }
        if let Pattern::Periodic { period_ps, jitter_ps, .. } = &mut whole.pattern {
            *jitter_ps = *period_ps / 2;
        }
        for &stage in &whole.path {
            wired.flows.push(Flow { path: vec![stage], ..whole.clone() });
            kept.push(None);
        }
    }
    (wired, kept)
}

/// Records each role's bound, and the maximum simulated delay as a share of it. Some patterns and regulators have no bound. A simulated
/// maximum above its bound is an error of the program and is reported as such.
fn prove(
    setup: &Setup,
    plan: &Plan,
    recorder: &mut Recorder,
    simulated: Option<&BTreeMap<&'static str, Found>>,
) -> Result<BTreeMap<&'static str, Proven>, RigError> {
    let (network, kept) = wired(&plan.network);
    let proven = match bounds(&network, Curves::Steps) {
        Ok(proven) => proven,
        Err(BoundError::Network(error)) => return Err(RigError::Rig(error.to_string())),
        // This pattern or regulator has no bound, or a stage is fully loaded.
        Err(_) => return Ok(BTreeMap::new()),
    };
    let mut most: BTreeMap<&'static str, Proven> = BTreeMap::new();
    let proven = kept.into_iter().zip(proven).filter_map(|(kept, bound)| Some((kept?, bound)));
    for (index, Bound { delay_ps, least_ps, .. }) in proven {
        let flow = &plan.network.flows[index];
        if let Some(role) = role(&flow.name) {
            let first = Proven { most_ps: 0, least_ps, budget_ps: flow.budget_ps, window: flow.window };
            let proven = most.entry(role).or_insert(first);
            proven.most_ps = proven.most_ps.max(delay_ps);
            proven.least_ps = proven.least_ps.min(least_ps);
        }
    }
    let shares = most
        .values()
        .filter_map(|proven| used((proven.budget_ps, proven.window), proven.least_ps, proven.most_ps));
    record_share("network.bound_of_budget", shares, recorder);
    for (&role, proven) in &most {
        let bound_ps = proven.most_ps;
        recorder.scalar(&format!("{role}.bound_us"), us(bound_ps));
        recorder.scalar(&format!("{role}.least_us"), us(proven.least_ps));
        if let Some(budget_ps) = proven.budget_ps {
            recorder.scalar(&format!("{role}.budget_us"), us(budget_ps));
        }
        on_time(setup, role, proven, recorder);
        // The bound covers only the wired part of flows over the radio.
        let Some(found) = simulated.and_then(|found| found.get(role)).filter(|_| role != "user") else {
            continue;
        };
        let reached = found.delays.max_ps();
        if reached > bound_ps {
            return Err(RigError::Rig(format!(
                "{role}: the simulated delay of {} us exceeds the proven bound of {} us: either the simulation or the bound is wrong",
                us(reached),
                us(bound_ps)
            )));
        }
        recorder.scalar(&format!("{role}.of_bound"), reached as f64 / bound_ps.max(1) as f64);
    }
    Ok(most)
}

/// Records the largest used share of a budget.
fn record_share(name: &str, shares: impl Iterator<Item = f64>, recorder: &mut Recorder) {
    if let Some(share) = shares.reduce(f64::max) {
        recorder.scalar(name, share);
    }
}

/// Proven delays of a role's flows, and the limits of these flows.
struct Proven {
    most_ps: Ps,
    least_ps: Ps,
    budget_ps: Option<Ps>,
    window: Option<DelayWindow>,
}

/// Records the range of sending times with which all frames of a cell meet their receive window. If the scenario sets a sending time, also
/// records the receive window that it requires.
fn on_time(setup: &Setup, role: &str, proven: &Proven, recorder: &mut Recorder) {
    let (way, name, window) = match role {
        "cell_dl" => (Direction::Down, "t1a", setup.cells.limits.down),
        "cell_ul" => (Direction::Up, "ta3", setup.cells.limits.up),
        _ => return,
    };
    if !matches!(setup.cells.down, Split::SevenTwo { .. }) {
        return;
    }
    let signed_us = |ps: i64| ps as f64 / 1e6;
    if let Some((least, most)) = window.sending(way, (proven.least_ps, proven.most_ps)) {
        recorder.scalar(&format!("{role}.{name}_us_min"), signed_us(least));
        recorder.scalar(&format!("{role}.{name}_us_max"), signed_us(most));
    }
    let Some(sent) = window.sent_ps.map(us) else { return };
    let (received, from, to) = match way {
        Direction::Down => ("t2a", sent - us(proven.most_ps), sent - us(proven.least_ps)),
        Direction::Up => ("ta4", sent + us(proven.least_ps), sent + us(proven.most_ps)),
    };
    recorder.scalar(&format!("{role}.{received}_us_min"), from);
    recorder.scalar(&format!("{role}.{received}_us_max"), to);
}

/// Searches the worst phases for the cells' uplink and downlink.
fn search(setup: &Setup, network: &Network, duration_ps: Ps, seed: u64, recorder: &mut Recorder) {
    let gated = network
        .stages
        .iter()
        .any(|stage| matches!(stage, Stage::Port(port) if matches!(port.scheduler, Scheduler::Gates(_))));
    for searched in ["cell_dl", "cell_ul"] {
        let named = |flow: &&(usize, &str)| role(flow.1) == Some(searched);
        let flows: Vec<(usize, &str)> =
            network.flows.iter().enumerate().map(|(index, flow)| (index, flow.name.as_str())).collect();
        let Some((flow, _)) = flows.iter().find(named) else { continue };
        let free: Vec<usize> = flows
            .iter()
            .filter(|(_, name)| !(gated && name.starts_with("cell")))
            .map(|(index, _)| *index)
            .collect();
        let options = Search {
            starts: 4,
            rounds: setup.sim.search_rounds,
            duration_ps: duration_ps.min(DURATION_MAX),
            seed,
        };
        if let Ok(worst) = worst_phase(network, *flow, &free, options) {
            recorder.scalar(&format!("{searched}.worst_us"), us(worst.delay_ps));
        }
    }
}

/// Maximum duration of a run in a phase search. Ten LTE TTIs include all patterns that repeat per TTI.
const DURATION_MAX: Ps = 10 * ranlab_xhaul::MS;
