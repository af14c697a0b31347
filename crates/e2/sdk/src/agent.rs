//! E2 agent on sockets, for embedding in a base station.
use crate::driver::{Action, Driver, Machine, Reading};
use crate::events::{Hub, OTHERS_MAX};
use crate::handle::Handle;
use crate::transport::{Address, MAX_PDU_BYTES, SocketOptions};
use bytes::Bytes;
use ranlab_e2::agent::{
    Agent, AgentEvent, AgentInput, AgentOutput, ControllerError, ControllerId, DisconnectReason,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use ranlab_e2_codec::e2ap::Cause;
use std::rc::Rc;

impl Machine for Agent {
    type Key = ControllerId;
    type Event = AgentEvent;

    fn received(&mut self, now: Time, controller: ControllerId, pdu: Bytes) {
        self.handle(now, AgentInput::Received { controller, pdu });
    }
    fn disconnected(&mut self, now: Time, controller: ControllerId, why: LinkLoss) {
        tracing::debug!(%controller, %why, "disconnected");
        self.handle(now, AgentInput::Disconnected { controller, why });
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

/// A running agent. Use [`with`](Handle::with) to register functions, associate UEs, or reset.
pub type AgentHandle = Handle<Agent>;

impl AgentHandle {
    /// Starts an agent whose RAN functions have been registered.
    pub fn start(agent: Agent, options: SocketOptions) -> Self {
        let events = Rc::new(Hub::keeping(OTHERS_MAX));
        let sink = Rc::clone(&events);
        let driver = Driver::start(agent, options, MAX_PDU_BYTES, move |event| {
            sink.push(event);
            Reading::GoesOn
        });
        Self::new(driver, events, ())
    }

    /// Adds a controller and connects to it. The connection is re-established, with jittered back-off, until the
    /// controller is removed. Events report the result of each attempt; [`connect`](Self::connect) returns that of
    /// the first one.
    pub fn add_controller(&self, address: &Address) -> Result<ControllerId, ControllerError> {
        self.with(|agent, now| agent.add_controller(now, address.to_string()))
    }

    /// Adds a controller with alternative addresses; see [`Agent::add_controller_at_one_of`].
    pub fn add_controller_at_one_of<'a>(
        &self,
        addresses: impl IntoIterator<Item = &'a Address>,
    ) -> Result<ControllerId, ControllerError> {
        let addresses = addresses.into_iter().map(ToString::to_string).collect();
        self.with(|agent, now| agent.add_controller_at_one_of(now, addresses))
    }

    /// Adds a controller and waits until it accepts the node. If the first attempt fails, there is no second one.
    pub async fn connect(&self, address: &Address) -> Result<ControllerId, AgentConnectError> {
        let mut events = self.events();
        let controller = self.add_controller(address)?;
        while let Some(event) = events.next().await {
            let error = match event {
                AgentEvent::SetupComplete { controller: it, .. } if it == controller => {
                    return Ok(controller);
                }
                AgentEvent::SetupFailed { controller: it, cause, .. } if it == controller => {
                    AgentConnectError::Refused { cause }
                }
                AgentEvent::Disconnected { controller: it, why, .. } if it == controller => {
                    AgentConnectError::Unreachable(why)
                }
                _ => continue,
            };
            self.remove_controller(controller)?;
            return Err(error);
        }
        Err(AgentConnectError::Controller(ControllerError::Unknown(controller)))
    }

    /// Removes a controller.
    pub fn remove_controller(&self, controller: ControllerId) -> Result<(), ControllerError> {
        self.with(|agent, now| agent.remove_controller(now, controller))
    }
}

/// Reason why an agent could not connect to a controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentConnectError {
    /// The controller could not be added.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// No connection could be established.
    #[error("no connection to the controller: {0}")]
    Unreachable(DisconnectReason),
    /// The controller refused the setup.
    #[error("the controller refuses the node{}", because(*.cause))]
    Refused {
        /// Cause, if the controller sent one.
        cause: Option<Cause>,
    },
}

pub(crate) fn because(cause: Option<Cause>) -> String {
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}
