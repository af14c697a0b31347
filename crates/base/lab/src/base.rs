//! Components of no domain: running processes, third-party programs and the gateway between transports.

use std::path::Path;

use crate::component::{Component, ComponentType, Domain, Foreign, Started, Waits};
use crate::worker::Trust;
use crate::{AttachPart, Each, Gateway, GatewayPart, ProgramPart, attach, program};

/// What every program has.
pub static BASE: Domain = Domain {
    name: "base",
    components: &[
        ComponentType::new::<AttachPart>(),
        ComponentType::new::<ProgramPart>(),
        ComponentType::new::<GatewayPart>(),
    ],
    rigs: &[],
};

impl Component for AttachPart {
    const TYPE: &'static str = "attach";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(attach::Attached::new(self.clone())?))
    }
}

impl Component for GatewayPart {
    const TYPE: &'static str = "gateway";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(Gateway::start(self).await?))
    }
}

impl Component for ProgramPart {
    const TYPE: &'static str = "program";

    async fn start(&self, _trust: Trust) -> Started {
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
