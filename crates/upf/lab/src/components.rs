//! Components of the UPF domain: the UPF itself, and the load generator.

pub(crate) mod load;
pub(crate) mod upf;

use crate::upf::N6;
use crate::{Upf, UpfComponent, UpfLoadComponent, rig};
use ranlab_lab::component::{Component, ComponentType, Domain, RigType, Started};
use ranlab_lab::environment;
use ranlab_lab::experiment::harness::RunningExperiment;
use ranlab_lab::worker::{ComponentError, WorkerTrust};

/// Components and rigs of the UPF domain.
pub static UPF: Domain = Domain {
    name: "upf",
    components: &[ComponentType::new::<UpfComponent>(), ComponentType::new::<UpfLoadComponent>()],
    rigs: &[RigType { place: 90, make: |lab| Box::new(RunningExperiment::new(lab, rig::Upf)) }],
};

impl Component for UpfComponent {
    const TYPE: &'static str = "upf";

    async fn start(&self, trust: WorkerTrust) -> Started {
        if trust != WorkerTrust::Full && matches!(self.n6, N6::Tun(_)) {
            return Err(environment("a worker over TCP does not open a TUN device of its machine"));
        }
        Ok(Box::new(Upf::start(self)?))
    }
}

impl Component for UpfLoadComponent {
    const TYPE: &'static str = "upf_load";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(load::RunningLoad::new(self)?))
    }

    fn divide(&self, places: usize) -> Result<Vec<Self>, ComponentError> {
        self.shares(places)
    }
}
