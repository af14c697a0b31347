//! Results of a user-defined network: metrics of each flow, and their sums.

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{LimitViolation, Outcome, RigError, Run};
use ranlab_xhaul::{
    Bound, BoundError, Curves, Delays, Flow, Network, Plan, Ps, Report, Scheduler, Stage, bounds, named,
    numbered,
};

use crate::rig::budget::used;
use crate::rig::pcap::Framing;
use crate::rig::predictions::{capture, run_phases, us};
use crate::rig::setup::Setup;

/// Maximum number of flows for which all metrics are stored. With more flows, only the budget, the bound, the maximum delay and the losses
/// of each flow are stored.
const WHOLE_FLOWS_MAX: usize = 60;
/// Maximum number of flows with stored metrics. A repeat has at most 1,000 metrics.
const FLOWS_MAX: usize = 200;

/// Counters of a flow over all phases.
#[derive(Debug, Default)]
struct Found {
    delays: Delays,
    sent: u64,
    lost: u64,
    duplicates: u64,
    early: u64,
    late: u64,
}

/// Returns the prefix of a flow's metrics: `flow.` and the flow's name in letters, digits and underscores.
pub(in crate::rig) fn prefix(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    format!("flow.{}", name.chars().map(plain).collect::<String>())
}

/// Simulates every flow, or only calculates its bounds (tier `bound`). Records the results.
pub(in crate::rig) fn record(
    setup: &Setup,
    plan: &Plan,
    framings: &[Framing],
    run: &Run<'_>,
    recorder: &mut Recorder,
) -> Result<Outcome, RigError> {
    let proven = match bounds(&plan.network, Curves::Steps) {
        Ok(proven) => Some(proven),
        Err(BoundError::Network(error)) => return Err(RigError::Rig(error.to_string())),
        Err(_) => None,
    };
    let found =
        if setup.tier == "bound" { None } else { Some(simulate(setup, plan, framings, run, recorder)?) };
    let whole = plan.network.flows.len() <= WHOLE_FLOWS_MAX;
    let mut totals = Totals::default();
    for (index, flow) in plan.network.flows.iter().enumerate() {
        let one = One {
            flow,
            found: found.as_ref().and_then(|all| all.get(index)),
            bound: proven.as_ref().and_then(|all| all.get(index)),
        };
        one.check()?;
        totals.add(&one);
        if index < FLOWS_MAX {
            one.record(whole, recorder);
        }
    }
    totals.record(recorder);
    Ok(recorder.judge(totals.limits(found.is_some())))
}

fn simulate(
    setup: &Setup,
    plan: &Plan,
    framings: &[Framing],
    run: &Run<'_>,
    recorder: &mut Recorder,
) -> Result<Vec<Found>, RigError> {
    let first = u64::from(run.repeat) * setup.sim.phases;
    let begun = std::time::Instant::now();
    let duration_ps = crate::rig::ps(run.duration);
    let moved = |phase: u64| shifted(&plan.network, phase, run.seed);
    let reports = run_phases(setup, &moved, duration_ps, run.seed, first, &run.stop)?;
    let elapsed_s = begun.elapsed().as_secs_f64();
    let events: u64 = reports.iter().map(|report| report.events).sum();
    let digest = reports.iter().fold(0_u64, |digest, report| digest.rotate_left(5) ^ report.digest);
    recorder.scalar("sim.events", events as f64);
    recorder.scalar("sim.mevents_per_s", events as f64 / elapsed_s.max(1e-9) / 1e6);
    // A metric's value has 53 significant bits.
    recorder.scalar("sim.digest", (digest >> 12) as f64);
    if let (Some(file), 0) = (&setup.sim.pcap, first) {
        capture(framings, plan, ranlab_xhaul::Options { duration_ps, seed: run.seed }, file)?;
    }
    let mut all: Vec<Found> = plan.network.flows.iter().map(|_| Found::default()).collect();
    for report in &reports {
        add(&mut all, report);
    }
    Ok(all)
}

fn add(all: &mut [Found], report: &Report) {
    for (found, flow) in all.iter_mut().zip(&report.flows) {
        found.delays.merge(&flow.delays);
        found.sent += flow.sent;
        found.lost += flow.dropped + flow.unfinished;
        found.duplicates += flow.duplicates;
        found.early += flow.early;
        found.late += flow.late;
    }
}

/// Returns the network with its sources shifted to another phase. The first phase has the offsets in the file. Flows through gates keep
/// their schedule.
fn shifted(network: &Network, phase: u64, seed: u64) -> Network {
    let mut moved = network.clone();
    if phase == 0 {
        return moved;
    }
    let seed = numbered(seed, phase);
    let gated = |flow: &Flow| {
        flow.paths().flatten().any(|&stage| {
            matches!(&network.stages[usize::from(stage)], Stage::Port(port) if matches!(port.scheduler, Scheduler::Gates(_)))
        })
    };
    for flow in moved.flows.iter_mut().filter(|flow| !gated(flow)) {
        flow.offset_ps += named(seed, &flow.name) % flow.pattern.cycle_ps();
    }
    moved
}

/// A flow with its results.
struct One<'a> {
    flow: &'a Flow,
    found: Option<&'a Found>,
    bound: Option<&'a Bound>,
}

impl One<'_> {
    /// Returns an error if a simulated delay exceeds the proven bound, because then the simulation or the bound is wrong.
    fn check(&self) -> Result<(), RigError> {
        let (Some(found), Some(bound)) = (self.found, self.bound) else { return Ok(()) };
        if found.delays.max_ps() <= bound.delay_ps {
            return Ok(());
        }
        Err(RigError::Rig(format!(
            "{}: the simulated delay of {} us exceeds the proven bound of {} us: either the simulation or the bound is wrong",
            self.flow.name,
            us(found.delays.max_ps()),
            us(bound.delay_ps)
        )))
    }

    /// Returns the maximum delay: the simulated one, or the bound if there is no simulation.
    fn longest_ps(&self) -> Option<Ps> {
        let simulated = self.found.filter(|found| found.delays.count() > 0);
        simulated.map(|found| found.delays.max_ps()).or_else(|| self.bound.map(|bound| bound.delay_ps))
    }

    fn misses_budget(&self) -> bool {
        let early = self.found.is_some_and(|found| found.early > 0);
        let window = self.flow.window;
        let proven_early = self.found.is_none()
            && self.bound.zip(window).is_some_and(|(bound, window)| window.is_early(bound.least_ps));
        let late =
            self.longest_ps().zip(self.flow.budget_ps).is_some_and(|(longest, budget)| longest > budget);
        early || proven_early || late
    }

    fn record(&self, whole: bool, recorder: &mut Recorder) {
        let prefix = prefix(&self.flow.name);
        let mut scalar = |name: &str, value: f64| recorder.scalar(&format!("{prefix}.{name}"), value);
        if let Some(budget_ps) = self.flow.budget_ps {
            scalar("budget_us", us(budget_ps));
        }
        if let Some(bound) = self.bound {
            scalar("bound_us", us(bound.delay_ps));
        }
        let Some(found) = self.found else { return };
        scalar("delay_us_max", us(found.delays.max_ps()));
        scalar("lost", found.lost as f64);
        if !whole {
            return;
        }
        if let Some(bound) = self.bound {
            scalar("least_us", us(bound.least_ps));
        }
        scalar("sent", found.sent as f64);
        scalar("delay_us_min", us(found.delays.min_ps()));
        scalar("delay_us_mean", found.delays.mean_ps() / 1e6);
        scalar("pdv_us_max", us(found.delays.pdv_ps(1.0)));
        if !self.flow.replicas.is_empty() {
            scalar("duplicates", found.duplicates as f64);
        }
        if self.flow.window.is_some() {
            let count = found.delays.count().max(1) as f64;
            scalar("window_early", found.early as f64 / count);
            scalar("window_late", found.late as f64 / count);
        }
    }
}

/// Sums over all flows.
#[derive(Debug, Default)]
struct Totals {
    flows: u64,
    missed: Vec<String>,
    losing: Vec<String>,
    lost: u64,
    of_budget: f64,
    bound_of_budget: Option<f64>,
    unproven: bool,
}

impl Totals {
    fn add(&mut self, one: &One<'_>) {
        self.flows += 1;
        if one.misses_budget() {
            self.missed.push(one.flow.name.clone());
        }
        if let Some(found) = one.found.filter(|found| found.lost > 0) {
            self.lost += found.lost;
            self.losing.push(one.flow.name.clone());
        }
        self.unproven |= one.bound.is_none();
        let limits = (one.flow.budget_ps, one.flow.window);
        let proven = one.bound.and_then(|bound| used(limits, bound.least_ps, bound.delay_ps));
        let measured = one.found.filter(|found| found.delays.count() > 0);
        let simulated = measured.and_then(|found| used(limits, found.delays.min_ps(), found.delays.max_ps()));
        if let Some(share) = simulated.or(proven) {
            self.of_budget = self.of_budget.max(share);
        }
        if let Some(share) = proven {
            self.bound_of_budget = Some(self.bound_of_budget.map_or(share, |most| most.max(share)));
        }
    }

    fn record(&self, recorder: &mut Recorder) {
        recorder.scalar("network.flows", self.flows as f64);
        recorder.scalar("network.missed", self.missed.len() as f64);
        recorder.scalar("network.lost", self.lost as f64);
        recorder.scalar("network.of_budget", self.of_budget);
        if let Some(share) = self.bound_of_budget.filter(|_| !self.unproven) {
            recorder.scalar("network.bound_of_budget", share);
        }
    }

    fn limits(&self, simulated: bool) -> Vec<(Outcome, Option<LimitViolation>)> {
        let names = |names: &[String]| {
            let more = names.len().saturating_sub(3);
            let first = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            if more > 0 { format!("{first} and {more} more") } else { first }
        };
        let missed = self.missed.len() as f64;
        let how = if simulated {
            "of flows that miss their budget"
        } else {
            "of flows whose bound is above their budget"
        };
        let lost = LimitViolation::above(
            &format!("number of frames lost by {}", names(&self.losing)),
            self.lost as f64,
            0.0,
        );
        let late = LimitViolation::above(&format!("number {how} ({})", names(&self.missed)), missed, 0.0);
        vec![(Outcome::Degraded, lost), (Outcome::MissesBudget, late)]
    }
}
