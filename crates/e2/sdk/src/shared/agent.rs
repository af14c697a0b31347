//! Agent of a base station on its own thread.
use super::actor::{Actor, Closed, StartError};
use super::events::{EventSink, EventSource, Events};
use crate::agent::{AgentConnectError, AgentHandle};
use crate::transport::{Address, SocketOptions};
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent as Machine, AgentConfig, AgentEvent, ControllerId, RanFunction, RegisterError};
use ranlab_e2_codec::e2ap::{ComponentConfigItem, GlobalE2NodeId, RanFunctionId};
use std::rc::Rc;
use tokio::task::AbortHandle;

/// A running agent of a base station, usable from every thread and runtime. Connections to controllers are
/// re-established until the controller is removed.
///
/// The agent runs on its own thread until the last handle is dropped, or until [`close`](Self::close). [`AgentHandle`]
/// is the handle for programs that run on one thread.
#[derive(Clone)]
pub struct Agent {
    actor: Actor<State>,
    events: EventSource<AgentEvent>,
}

struct State {
    handle: AgentHandle,
    pump: AbortHandle,
    /// The sink is stored here so that listeners end together with the machine.
    _events: EventSink<AgentEvent>,
}

/// An agent that is being configured.
pub struct AgentBuilder {
    config: AgentConfig,
    functions: Vec<(Box<dyn RanFunction>, Option<RanFunctionId>)>,
    options: SocketOptions,
}

impl AgentBuilder {
    /// Adds a component of the node. E2AP v2.03 and later require at least one.
    pub fn component(mut self, component: ComponentConfigItem) -> Self {
        self.config.components.push(component);
        self
    }

    /// Adds a RAN function under this id.
    pub fn function(mut self, id: RanFunctionId, function: impl RanFunction + 'static) -> Self {
        self.functions.push((Box::new(function), Some(id)));
        self
    }

    /// Changes the configuration.
    pub fn with(mut self, change: impl FnOnce(&mut AgentConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets the socket options.
    pub fn options(mut self, options: SocketOptions) -> Self {
        self.options = options;
        self
    }

    /// Starts the agent.
    ///
    /// # Errors
    ///
    /// Returns an error if a function cannot be registered, or if the thread cannot be created.
    pub async fn start(self) -> Result<Agent, StartError<RegisterError>> {
        let mut machine = Machine::new(self.config);
        for (function, id) in self.functions {
            machine.register(function, id).map_err(StartError::Failed)?;
        }
        let (sink, events) = EventSink::new();
        let options = self.options;
        let make = move || async move {
            let handle = AgentHandle::start(machine, options);
            let source = handle.clone();
            let pump = sink.clone().forward(async move || source.next().await, |_| ());
            Ok(State { handle, pump, _events: sink })
        };
        let end = async |state: Rc<State>| state.pump.abort();
        Ok(Agent { actor: Actor::start("ranlab-agent", make, end).await?, events })
    }
}

impl Agent {
    /// Configures the agent of a node.
    pub fn builder(node: GlobalE2NodeId) -> AgentBuilder {
        let config = AgentConfig::new(node, Vec::new());
        AgentBuilder { config, functions: Vec::new(), options: SocketOptions::default() }
    }

    /// Adds a controller and connects to it. Events report the result of each attempt. To wait for the result of the
    /// first attempt, use [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// Returns an error like [`AgentHandle::add_controller`].
    pub async fn add_controller(&self, address: &Address) -> Result<ControllerId, AgentConnectError> {
        let address = address.clone();
        let added = self.actor.with(move |state| state.handle.add_controller(&address)).await;
        Ok(added.map_err(|Closed| AgentConnectError::Ended)??)
    }

    /// Adds a controller and waits until it accepts the node. If the first attempt fails, the controller is not retried.
    ///
    /// # Errors
    ///
    /// Returns an error like [`AgentHandle::connect`].
    pub async fn connect(&self, address: &Address) -> Result<ControllerId, AgentConnectError> {
        let address = address.clone();
        let connected = self.actor.call(async move |state| state.handle.connect(&address).await).await;
        connected.unwrap_or(Err(AgentConnectError::Ended))
    }

    /// Removes a controller.
    ///
    /// # Errors
    /// Returns an error if the controller does not exist.
    pub async fn remove_controller(&self, controller: ControllerId) -> Result<(), AgentConnectError> {
        let removed = self.actor.with(move |state| state.handle.remove_controller(controller)).await;
        Ok(removed.map_err(|Closed| AgentConnectError::Ended)??)
    }

    /// Calls `change` with the machine on its thread, for example to register functions or to associate UEs.
    ///
    /// # Errors
    /// [`Closed`] if the agent has ended.
    pub async fn with<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Machine, Time) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        self.actor.with(|state| state.handle.with(change)).await
    }

    /// Calls `look` with the machine on its thread, for example to read counters.
    ///
    /// # Errors
    /// [`Closed`] if the agent has ended.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Machine) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        self.actor.with(|state| state.handle.read(look)).await
    }

    /// Returns all events from now on.
    pub fn events(&self) -> Events<AgentEvent> {
        self.events.listen()
    }

    /// Closes all connections and ends the thread.
    pub async fn close(&self) {
        self.actor.close().await;
    }
}
