//! Rig `xhaul`: do functional splits survive a switched network and a shared network card? One scenario, three answers:
//! `sim` (what happens to every frame), `bound` (what can never be exceeded), `live` (namespaces on this machine).

mod answer;
mod build;
mod describe;
mod live;
mod pcap;
mod setup;
mod verdict;

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Breach, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_model::xhaul::{Plan, Ps, ScenarioError};

use crate::noise;
use ranlab_parts::Part;
use ranlab_parts::worker::Worker;
use ranlab_parts::{Host, Lab};
use setup::{Setup, Values};

pub(crate) use verdict::verdict;

/// The name in scenarios.
pub(crate) const NAME: &str = "xhaul";

/// How often it is checked that the live network lives.
const CHECK: Duration = Duration::from_secs(1);

/// The rig.
pub(crate) struct Xhaul {
    lab: Lab,
    /// The network of namespaces, where the answer is live.
    network: Option<Worker>,
}

impl Xhaul {
    pub(crate) fn new(lab: &Lab) -> Self {
        Self { lab: lab.clone(), network: None }
    }
}

/// Rates, patterns, budgets and loads of a point as text, or why it cannot run.
pub(crate) fn preview(settings: &Values) -> Result<String, String> {
    let setup = Setup::of(settings)?;
    build::plan(&setup).map(|plan| plan.to_string()).map_err(|error| error.to_string())
}

/// What a point becomes.
enum Planned {
    Runs(Box<Setup>, Box<Plan>),
    /// More is offered to a port than it carries: so many times its rate.
    Beyond(f64),
}

fn planned(run: &Run<'_>) -> Result<Planned, RigError> {
    let mut setup = Setup::read(&|path| run.value(path).cloned()).map_err(RigError::Rig)?;
    setup.pcap = setup.pcap.map(|file| pcap::of_point(&file, run.point.index));
    match build::plan(&setup) {
        Ok(plan) => Ok(Planned::Runs(Box::new(setup), Box::new(plan))),
        Err(ScenarioError::Capacity { offered_bps, rate_bps, .. }) => {
            Ok(Planned::Beyond(offered_bps as f64 / rate_bps.max(1) as f64))
        }
        Err(error) => Err(RigError::Rig(error.to_string())),
    }
}

fn ps(duration: Duration) -> Ps {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 1000).saturating_mul(1000)
}

impl Rig for Xhaul {
    fn describe(&self) -> RigDescription {
        describe::description()
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.tear_down();
        let Planned::Runs(setup, plan) = planned(run)? else { return Ok(()) };
        if setup.tier == "live" {
            let part = Part::Xhaul(Box::new(live::part(&setup, &plan, run.duration)?));
            self.network = Some(Worker::start(&self.lab, &Host::Local, "network", part, &run.stop)?);
        }
        Ok(())
    }

    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        // A simulation begins in its steady state: phases are searched, not waited for.
        let Some(network) = &mut self.network else { return Ok(()) };
        if !run.warm_up.is_zero() {
            network.begin(&run.stop)?;
            run.stop.sleep(run.warm_up)?;
            network.end(&run.stop)?;
        }
        Ok(())
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        let (setup, plan) = match planned(run)? {
            Planned::Runs(setup, plan) => (setup, plan),
            Planned::Beyond(times) => {
                recorder.scalar("port_load_max", times);
                return Ok(
                    recorder.judge([(Outcome::Overloaded, Breach::above("port_load_max", times, 1.0))])
                );
            }
        };
        let loads = plan.network.port_loads();
        let load = loads.iter().map(|(_, offered, rate)| *offered as f64 / (*rate).max(1) as f64);
        recorder.scalar("port_load_max", load.fold(0.0, f64::max));
        match setup.tier.as_str() {
            "bound" => answer::bound(&plan, recorder),
            "live" => self.live(run, recorder),
            _ => {
                // Repeats are other phases: what they differ by is what phases do.
                let first = u64::from(run.repeat) * setup.phases;
                answer::simulate(&setup, &plan, (ps(run.duration), run.seed, first), &run.stop, recorder)
            }
        }
    }

    fn tear_down(&mut self) {
        self.network = None;
    }
}

impl Xhaul {
    fn live(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        let Some(network) = &mut self.network else {
            return Err(RigError::Rig("nothing is up".to_owned()));
        };
        network.begin(&run.stop)?;
        let mut left = run.duration;
        while !left.is_zero() {
            let slice = left.min(CHECK);
            run.stop.sleep(slice)?;
            left -= slice;
            network.look(&run.stop)?;
        }
        let report = network.end(&run.stop)?;
        // A program beside our own probe may have found nothing.
        network.look(&run.stop)?;
        live::record(&report, recorder);
        let short = [
            "cell_dl.lost_ratio",
            "cell_dl.late_ratio",
            "cell_ul.lost_ratio",
            "cell_ul.late_ratio",
            "user.lost_ratio",
            "user.late_ratio",
        ];
        let above = |name: &str| Breach::above(name, report.numbers.get(name).copied().unwrap_or(0.0), 0.0);
        let outcome = recorder.judge(short.map(|name| (Outcome::Degraded, above(name))));
        Ok(noise::judge(run, recorder, &[(&network.host, &report)]).unwrap_or(outcome))
    }
}

#[cfg(test)]
mod tests;
