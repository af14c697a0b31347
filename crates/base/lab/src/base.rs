//! Components that belong to no domain: running processes, third-party programs and the gateway between transports.

use std::path::Path;

use crate::component::{Component, ComponentType, Domain, Foreign, Started, Waits};
use crate::worker::WorkerTrust;
use crate::{AttachComponent, Each, Gateway, GatewayComponent, ProgramComponent, attach, program};

/// Domain that every program includes.
pub static BASE: Domain = Domain {
    name: "base",
    components: &[
        ComponentType::new::<AttachComponent>(),
        ComponentType::new::<ProgramComponent>(),
        ComponentType::new::<GatewayComponent>(),
    ],
    rigs: &[],
};

impl Component for AttachComponent {
    const TYPE: &'static str = "attach";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(attach::Attached::new(self.clone())?))
    }
}

impl Component for GatewayComponent {
    const TYPE: &'static str = "gateway";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(Gateway::start(self).await?))
    }
}

impl Component for ProgramComponent {
    const TYPE: &'static str = "program";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(program::Program::start(self.clone()).await?))
    }

    fn waits(&self) -> Waits {
        Waits { start: self.start_wait(), end: self.end_wait(), ..Waits::default() }
    }

    fn foreign(&self) -> Foreign<'_> {
        if self.commands().is_empty() { Foreign::Nothing } else { Foreign::Commands }
    }

    fn admit(&mut self, folder: Option<&Path>) -> bool {
        self.log = folder.map(|folder| folder.join(format!("{}.log", self.name)));
        self.run.each == Each::Campaign && !self.run.start.is_empty()
    }
}
