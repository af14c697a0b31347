//! Rig `xhaul`: functional splits over a switched network and a shared network card. One scenario, three
//! tiers: `sim` (simulates every frame), `bound` (network calculus: limits that are never exceeded), `live`
//! (namespaces on this machine).

mod budget;
mod build;
mod describe;
mod emulated;
mod live;
mod own;
mod pcap;
mod predictions;
mod settings;
mod setup;
mod sharing;
mod split_hosts;
mod vbbu;
mod verdict;

pub use own::PATHS;

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_campaign::plan::Point;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{LimitViolation, Outcome, RigDescription, RigError, Run};
use ranlab_campaign::value::Value;
use ranlab_lab::worker::Report;
use ranlab_lab::{AnyComponent, JsonField};
use ranlab_xhaul::{Plan, Ps, ScenarioError};

use ranlab_lab::experiment::harness::{self, Deployment, Experiment, Judged, Window};
use setup::Setup;

/// Role of the component that runs the network of tier `live`.
const NETWORK: &str = "network";

/// Rig `xhaul`.
pub(crate) struct Xhaul;

/// Plan of a point.
enum Planned {
    Runs(Box<Setup>, Box<Plan>),
    /// Network of the user, described by a network file.
    Own(Box<Setup>, Box<Plan>, Vec<pcap::Framing>),
    /// The offered load of a port is above its rate; contains the ratio of load to rate.
    Beyond(f64),
}

fn planned(run: &Run<'_>) -> Result<Planned, RigError> {
    let mut setup = Setup::read(run)?;
    setup.sim.pcap = setup.sim.pcap.map(|file| pcap::of_point(&file, run.point.index));
    let planned = match own::read(run, &setup) {
        Some(own) => {
            let own = own.map_err(|error| RigError::Rig(error.to_string()))?;
            Plan::new(own.network, own.loads, own.warnings)
                .map(|plan| Planned::Own(Box::new(setup), Box::new(plan), own.framings))
        }
        None => build::plan(&setup).map(|plan| Planned::Runs(Box::new(setup), Box::new(plan))),
    };
    match planned {
        Ok(planned) => Ok(planned),
        Err(ScenarioError::Capacity { offered_bps, rate_bps, .. }) => {
            Ok(Planned::Beyond(offered_bps as f64 / rate_bps.max(1) as f64))
        }
        Err(error) => Err(RigError::Rig(error.to_string())),
    }
}

fn ps(duration: Duration) -> Ps {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 1000).saturating_mul(1000)
}

impl Experiment for Xhaul {
    fn describe(&self) -> RigDescription {
        describe::description()
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        match planned(run)? {
            Planned::Runs(setup, plan) if setup.tier == "live" => {
                let mut part = live::component(&setup, &plan, run.duration)?;
                part.vbbu = vbbu::own(run, &setup)?.map(JsonField);
                if split_hosts::wanted(run) {
                    return split_hosts::bring_up(run, stage, &setup, &part);
                }
                stage.sut(NETWORK, "sut.at", AnyComponent::from(part)).map(drop)
            }
            // A simulation needs no warm-up. It begins in its steady state, and phases are varied explicitly.
            Planned::Runs(..) | Planned::Own(..) | Planned::Beyond(_) => Ok(()),
        }
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let (setup, plan) = match planned(run)? {
            Planned::Runs(setup, plan) => (setup, plan),
            Planned::Own(setup, plan, framings) => {
                load(&plan, recorder);
                return own::predictions::record(&setup, &plan, &framings, run, recorder);
            }
            Planned::Beyond(times) => {
                recorder.scalar("port_load_max", times);
                return Ok(recorder
                    .judge([(Outcome::Overloaded, LimitViolation::above("port_load_max", times, 1.0))]));
            }
        };
        load(&plan, recorder);
        match setup.tier.as_str() {
            "bound" => predictions::bound(&setup, &plan, recorder),
            "live" => {
                let whole = if split_hosts::wanted(run) {
                    split_hosts::joined(window)?
                } else {
                    window.report(NETWORK)?.clone()
                };
                let report = emulated::counts(&whole).unwrap_or(whole);
                harness::copy_all(recorder, &report);
                Ok(outcome(&report, recorder))
            }
            _ => {
                // Each repeat uses different phases, so that repeats show the effect of the phases.
                let first = u64::from(run.repeat) * setup.sim.phases;
                predictions::simulate(&setup, &plan, (ps(run.duration), run.seed, first), &run.stop, recorder)
            }
        }
    }

    fn verdict(&self, results: &Results) -> Vec<String> {
        verdict::verdict(results)
    }

    /// Draws the network of a network file.
    fn picture(&self, settings: &BTreeMap<String, Value>) -> Option<String> {
        let point = Point { index: 0, axes: Vec::new(), settings: settings.clone() };
        let run = Run::new(&point, 0, 0, Duration::ZERO);
        let own = own::read(&run, &Setup::read(&run).ok()?)?.ok()?;
        Some(own::draw::svg(&own.topology, &own.network))
    }

    /// Returns rates, patterns, budgets and loads of a point.
    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        let point = Point { index: 0, axes: Vec::new(), settings: settings.clone() };
        let run = Run::new(&point, 0, 0, Duration::ZERO);
        let read = Setup::read(&run).and_then(|setup| vbbu::own(&run, &setup).map(|_| setup));
        Some(match read {
            Ok(setup) => match own::read(&run, &setup) {
                Some(own) => own.map_err(|error| error.to_string()).and_then(|own| {
                    let plan = Plan::new(own.network, own.loads, own.warnings);
                    plan.map(|plan| plan.to_string()).map_err(|error| error.to_string())
                }),
                None => build::plan(&setup).map(|plan| plan.to_string()).map_err(|error| error.to_string()),
            },
            Err(RigError::Rig(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// Records the load of the busiest port.
fn load(plan: &Plan, recorder: &mut Recorder) {
    let loads = plan.network.port_loads();
    let load = loads.iter().map(|(_, offered, rate)| *offered as f64 / (*rate).max(1) as f64);
    recorder.scalar("port_load_max", load.fold(0.0, f64::max));
}

/// Determines the outcome. A measured flow with lost or late frames does not meet the requirement.
fn outcome(report: &Report, recorder: &mut Recorder) -> Outcome {
    let above = |name: &str| LimitViolation::above(name, *report.numbers.get(name)?, 0.0);
    let short = ["cell_dl", "cell_ul", "user"]
        .into_iter()
        .flat_map(|role| [format!("{role}.lost_ratio"), format!("{role}.late_ratio")]);
    recorder.judge(short.map(|name| (Outcome::Degraded, above(&name))).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
