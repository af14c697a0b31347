//! E2 agent on sockets, for embedding in a base station.
use crate::events::{EventHub, OTHERS_MAX};
use crate::handle::Handle;
use crate::transport::driver::{Driver, ReadInterest};
use crate::transport::{Address, MAX_PDU_BYTES, SocketOptions};
use ranlab_e2::agent::{Agent, AgentEvent, ControllerError, ControllerId, DisconnectReason};
use ranlab_e2_codec::e2ap::Cause;
use std::rc::Rc;

/// A running agent. Use [`with`](Handle::with) to register functions, associate UEs, or reset.
pub type AgentHandle = Handle<Agent>;

impl AgentHandle {
    /// Starts an agent whose RAN functions have been registered.
    pub fn start(agent: Agent, options: SocketOptions) -> Self {
        let events = Rc::new(EventHub::keeping(OTHERS_MAX));
        let sink = Rc::clone(&events);
        let driver = Driver::start(agent, options, MAX_PDU_BYTES, move |event| {
            sink.push(event);
            ReadInterest::GoesOn
        });
        Self::new(driver, events, ())
    }

    /// Adds a controller and connects to it. The connection is re-established, with jittered back-off, until the
    /// controller is removed. Events report the result of each attempt. To wait for the result of the first attempt,
    /// use [`connect`](Self::connect).
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

    /// Adds a controller and waits until it accepts the node. If the first attempt fails, the controller is not retried.
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
        /// Cause of the refusal, if the controller sent one.
        cause: Option<Cause>,
    },
    /// The agent was closed.
    #[error("the agent was closed")]
    Ended,
}

pub(crate) fn because(cause: Option<Cause>) -> String {
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}
