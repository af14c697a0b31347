//! An agent on sockets: what a base station embeds.
use crate::driver::{Action, Driver, Machine, Reading};
use crate::events::{EventStream, Hub};
use crate::transport::{Address, MAX_PDU_BYTES, SocketOptions};
use bytes::Bytes;
use futures_core::Stream;
use ranlab_e2::agent::{
    Agent, AgentEvent, AgentInput, AgentOutput, ControllerError, ControllerId, DisconnectReason,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use ranlab_wire::e2ap::Cause;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

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

/// A running agent. Dropping every handle of it ends it.
///
/// Lives on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
#[derive(Clone)]
pub struct AgentHandle {
    driver: Rc<Driver<Agent>>,
    events: Rc<Hub<AgentEvent>>,
}

impl AgentHandle {
    /// Starts an agent whose RAN functions are registered.
    pub fn start(agent: Agent, options: SocketOptions) -> Self {
        let events = Rc::new(Hub::new());
        let sink = Rc::clone(&events);
        let driver = Driver::start(agent, options, MAX_PDU_BYTES, move |event| {
            sink.push(event);
            Reading::GoesOn
        });
        Self { driver: Rc::new(driver), events }
    }

    /// Connects to a controller and stays connected, with jittered back-off, until it is removed. How each attempt ends is
    /// an event; [`connect`](Self::connect) tells how the first one does.
    pub fn add_controller(&self, address: &Address) -> Result<ControllerId, ControllerError> {
        self.driver.with(|agent, now| agent.add_controller(now, address.to_string()))
    }

    /// As [`add_controller`](Self::add_controller), once the controller has accepted the node; if the first attempt fails
    /// there is no second.
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

    /// The next event. Cancel-safe. Nobody is obliged to listen: of what nobody takes the latest 1,024 stay. Whoever calls
    /// this takes from the same queue; further listeners have [`events`](Self::events).
    pub async fn next(&self) -> AgentEvent {
        self.events.next().await
    }

    /// All events from now on, for one more listener.
    pub fn events(&self) -> EventStream<AgentEvent> {
        self.events.listen()
    }

    /// Events that [`next`](Self::next) has missed because nobody took them.
    pub fn lagged(&self) -> u64 {
        self.events.own.lagged()
    }
}

/// As [`AgentHandle::next`]; it does not end.
impl Stream for AgentHandle {
    type Item = AgentEvent;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        self.events.own.poll(cx)
    }
}

/// Why an agent has no controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentConnectError {
    /// It cannot have one more.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// There is no connection.
    #[error("no connection to the controller: {0}")]
    Unreachable(DisconnectReason),
    /// The controller does not take the node.
    #[error("the controller refuses the node{}", because(*.cause))]
    Refused {
        /// Why, if it said so.
        cause: Option<Cause>,
    },
}

pub(crate) fn because(cause: Option<Cause>) -> String {
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}
