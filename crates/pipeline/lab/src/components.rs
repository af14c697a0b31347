//! Components of packet pipelines: switches, and the tester at their rings.

use std::time::Duration;

use crate::{PipelineComponent, RingTesterComponent, pipeline, plugin, rig, ring, switches};
use ranlab_lab::component::{Component, ComponentType, Domain, Foreign, RigType, Started, Waits};
use ranlab_lab::environment;
use ranlab_lab::experiment::harness::RunningExperiment;
use ranlab_lab::worker::WorkerTrust;

/// Components and rigs of the pipeline domain.
pub static PIPELINE: Domain = Domain {
    name: "pipeline",
    components: &[ComponentType::new::<PipelineComponent>(), ComponentType::new::<RingTesterComponent>()],
    rigs: &[RigType { place: 50, make: |lab| Box::new(RunningExperiment::new(lab, rig::Pipeline)) }],
};

/// Time limit for starting, verifying and configuring a third-party switch.
const SWITCH_START_WAIT: Duration = Duration::from_secs(300);
/// Value of [`PipelineComponent::engine`] for ranlab's engine.
pub(crate) const NATIVE: &str = "native";

fn of_plugin(plugin: Option<&str>) -> Foreign<'_> {
    plugin.map_or(Foreign::Nothing, Foreign::Plugin)
}

impl Component for PipelineComponent {
    const TYPE: &'static str = "pipeline";

    async fn start(&self, trust: WorkerTrust) -> Started {
        Ok(match self.engine.as_str() {
            _ if self.in_ring() => Box::new(ring::device::RingDevice::start(self)?),
            NATIVE => Box::new(pipeline::RunningEngine::start(self)?),
            _ if trust != WorkerTrust::Full => {
                return Err(environment(
                    "a worker over TCP cannot start a switch on its machine: `sut.at` must be local or over ssh",
                ));
            }
            plugin::ENGINE => Box::new(plugin::PluginSwitch::start(self)?),
            _ => Box::new(switches::RunningSwitch::start(self)?),
        })
    }

    fn waits(&self) -> Waits {
        match [NATIVE, ring::device::BARE].contains(&self.engine.as_str()) {
            true => Waits::default(),
            false => Waits { start: SWITCH_START_WAIT, ..Waits::default() },
        }
    }

    fn foreign(&self) -> Foreign<'_> {
        of_plugin(self.plugin.as_deref())
    }
}

impl Component for RingTesterComponent {
    const TYPE: &'static str = "ring_tester";

    async fn start(&self, trust: WorkerTrust) -> Started {
        if trust != WorkerTrust::Full {
            return Err(environment(
                "rings are memory of one machine: a worker over TCP has no tester for them, `sut.at` must be local or over ssh",
            ));
        }
        Ok(match self.plugin {
            Some(_) => Box::new(plugin::PluginTester::start(self)?),
            None => Box::new(ring::RunningTester::start(self)?),
        })
    }

    fn waits(&self) -> Waits {
        match self.plugin {
            Some(_) => Waits { start: SWITCH_START_WAIT, ..Waits::default() },
            None => Waits::default(),
        }
    }

    fn foreign(&self) -> Foreign<'_> {
        of_plugin(self.plugin.as_deref())
    }
}
