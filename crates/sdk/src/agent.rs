//! An agent on sockets: what a base station embeds.
use crate::driver::{Action, Driver, Machine};
use crate::events::Events;
use crate::transport::{Address, MAX_PDU_BYTES, SocketOptions};
use bytes::Bytes;
use ranlab_e2::agent::{Agent, AgentEvent, AgentInput, AgentOutput, ControllerError, ControllerId};
use ranlab_e2::{Frame, LinkLoss, Time};
use std::rc::Rc;

impl Machine for Agent {
    type Key = ControllerId;
    type Event = AgentEvent;

    fn received(&mut self, now: Time, controller: ControllerId, pdu: Bytes) {
        self.handle(now, AgentInput::Received { controller, pdu });
    }
    fn disconnected(&mut self, now: Time, controller: ControllerId, why: LinkLoss) {
        tracing::debug!(%controller, %why, "disconnected");
        self.handle(now, AgentInput::Disconnected { controller });
    }
    fn connected(&mut self, now: Time, controller: ControllerId) {
        self.handle(now, AgentInput::Connected { controller });
    }
    fn wake(&mut self, now: Time) {
        self.handle(now, AgentInput::Wake);
    }
    fn wake_at(&self) -> Option<Time> {
        Self::wake_at(self)
    }
    fn poll(&mut self) -> Option<Action<ControllerId, AgentEvent>> {
        Some(match Self::poll(self)? {
            AgentOutput::Connect { controller, address } => Action::Connect { key: controller, address },
            AgentOutput::Transmit { controller } => Action::Transmit(controller),
            AgentOutput::Close { controller, reason } => {
                Action::Close { key: controller, reason: reason.to_string() }
            }
            AgentOutput::Event(event) => Action::Event(event),
        })
    }
    fn transmit(&mut self, now: Time, controller: ControllerId) -> Option<Frame> {
        Self::transmit(self, now, controller)
    }
    fn transport_full(&mut self, controller: ControllerId) {
        Self::transport_full(self, controller);
    }
}

/// A running agent. Dropping every handle of it ends it.
///
/// Lives on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
#[derive(Clone)]
pub struct AgentHandle {
    driver: Rc<Driver<Agent>>,
    events: Events<AgentEvent>,
}

impl AgentHandle {
    /// Starts an agent whose RAN functions are registered.
    pub fn start(agent: Agent, options: SocketOptions) -> Self {
        let events = Events::default();
        let sink: Events<AgentEvent> = events.clone();
        let driver = Driver::start(agent, options, MAX_PDU_BYTES, move |event| sink.push_latest(event));
        Self { driver: Rc::new(driver), events }
    }

    /// Connects to a controller and stays connected, with jittered back-off, until it is removed.
    pub fn add_controller(&self, address: &Address) -> Result<ControllerId, ControllerError> {
        self.driver.with(|agent, now| agent.add_controller(now, address.to_string()))
    }

    /// Takes leave of a controller.
    pub fn remove_controller(&self, controller: ControllerId) -> Result<(), ControllerError> {
        self.driver.with(|agent, now| agent.remove_controller(now, controller))
    }

    /// Acts on the machine: register functions, associate UEs, reset.
    pub fn with<T>(&self, change: impl FnOnce(&mut Agent, Time) -> T) -> T {
        self.driver.with(change)
    }

    /// Looks at the machine: counters, UEs, controllers.
    pub fn read<T>(&self, look: impl FnOnce(&Agent) -> T) -> T {
        self.driver.read(look)
    }

    /// The next event. Cancel-safe.
    pub async fn next(&self) -> AgentEvent {
        loop {
            self.events.ready().await;
            if let Some(event) = self.events.take() {
                return event;
            }
        }
    }
}
