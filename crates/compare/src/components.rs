//! Components and rigs of this crate.

use ranlab_lab::component::{Component, ComponentType, Domain, RigType, Started};
use ranlab_lab::experiment::harness::RunningExperiment;
use ranlab_lab::worker::WorkerTrust;

use crate::{PingFlexranPart, base_station, e2_rtt, ping_flexran, southbound};

/// Components and rigs that need the E2 and FlexRAN domains.
pub static COMPARE: Domain = Domain {
    name: "compare",
    components: &[ComponentType::new::<PingFlexranPart>()],
    rigs: &[
        RigType { place: 10, make: |lab| Box::new(RunningExperiment::new(lab, base_station::BaseStation)) },
        RigType { place: 30, make: |lab| Box::new(RunningExperiment::new(lab, e2_rtt::E2Rtt)) },
        RigType { place: 70, make: |lab| Box::new(RunningExperiment::new(lab, southbound::SdRan)) },
    ],
};

impl Component for PingFlexranPart {
    const TYPE: &'static str = "ping_flexran";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(ping_flexran::PingingFlexran::start(self.clone()).await?))
    }
}
