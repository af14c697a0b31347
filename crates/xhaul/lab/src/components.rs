//! Component of the transport network: a switched network in network namespaces.

use std::path::Path;
use std::time::Duration;

use crate::{XhaulComponent, live, rig};
use ranlab_lab::component::{Component, ComponentType, Domain, Foreign, LEAVE_WAIT, RigType, Started, Waits};
use ranlab_lab::experiment::harness::RunningExperiment;
use ranlab_lab::worker::WorkerTrust;

/// Components and rigs of the xhaul domain.
pub static XHAUL: Domain = Domain {
    name: "xhaul",
    components: &[ComponentType::new::<XhaulComponent>()],
    rigs: &[RigType { place: 100, make: |lab| Box::new(RunningExperiment::new(lab, rig::Xhaul)) }],
};

/// Timeout for the start if physical network cards are used. Cards are reset and create virtual functions, which takes long on an emulated
/// machine. The next constant is the timeout for returning the cards.
const CARDS_START_WAIT: Duration = Duration::from_secs(300);
const CARDS_END_WAIT: Duration = Duration::from_secs(60);

impl Component for XhaulComponent {
    const TYPE: &'static str = "xhaul";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(live::RunningNetwork::start(self)?))
    }

    fn waits(&self) -> Waits {
        if !self.borrows() {
            return Waits::default();
        }
        Waits { start: CARDS_START_WAIT, end: LEAVE_WAIT.max(CARDS_END_WAIT), restore: CARDS_END_WAIT }
    }

    fn foreign(&self) -> Foreign<'_> {
        if self.vbbu.is_some() { Foreign::Commands } else { Foreign::Nothing }
    }

    fn admit(&mut self, folder: Option<&Path>) -> bool {
        if let Some(own) = &mut self.vbbu {
            own.0.log = folder.map(Path::to_path_buf);
        }
        false
    }
}
