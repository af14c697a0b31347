//! The agent: the E2 interface of a base station towards one or more controllers.
//!
//! ```text
//! base station ── RanFunction* ── Agent ══ E2 ══ controller 0 (default: sees all UEs)
//!                                       ══ E2 ══ controller 1 (sees the UEs associated to it)
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `function`, `context` | interface for service models: callbacks, and operations that are available in them |
//! | `setup` | connecting, E2 setup, refusals, reconnecting |
//! | `global` | reset, service update, configuration update, removal, errors |
//! | `connection_update` | connections that a controller adds and removes |
//! | `functional`, `controls` | subscription, deletion, control, modification, query; deferred controls |
//! | `link`, `subscriptions`, `ues` | state per controller, per subscription, per UE |
mod cause;
mod config;
mod connection_update;
mod context;
mod controls;
mod core;
mod function;
mod functional;
mod global;
mod io;
mod link;
mod machine;
mod setup;
mod subscriptions;
mod tnl;
mod ues;

pub use config::*;
pub use context::{ContextError, FunctionContext, Indication};
pub use core::ADDRESS_LEN_MAX;
pub use function::*;
pub use io::*;
pub use subscriptions::SubscriptionId;
pub use ues::{UeError, UeFilter, UeId};

use self::core::{Core, Deferred, Offer};
use self::link::State;
use crate::{Frame, OutboxCounters, Time};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    Cause, ComponentConfigItem, E2RemovalRequest, GlobalE2NodeId, Message, RanFunctionId, ResetRequest,
    RicRequestId, Version,
};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Largest RAN function id and revision.
const FUNCTION_ID_MAX: u16 = 4095;
/// Maximum length of an OID.
const OID_LEN_MAX: usize = 1000;
/// Maximum number of addresses per controller.
pub const ADDRESSES_MAX: usize = 16;

/// E2 agent of a base station. It is a sans-I/O state machine; see the crate documentation.
pub struct Agent {
    core: Core,
    functions: BTreeMap<RanFunctionId, Box<dyn RanFunction>>,
}

impl Agent {
    /// Creates an agent without functions and controllers.
    pub fn new(config: AgentConfig) -> Self {
        Self { core: Core::new(config), functions: BTreeMap::new() }
    }

    /// Registers a RAN function under `preferred_id`, or under the lowest free id from 1 on. The next
    /// [`handle`](Self::handle) announces it to connected controllers by a RIC service update.
    pub fn register(
        &mut self,
        function: Box<dyn RanFunction>,
        preferred_id: Option<RanFunctionId>,
    ) -> Result<RanFunctionId, RegisterError> {
        self.add(function, preferred_id, false)
    }

    /// Registers a function like [`register`](Self::register), but hides it from peers that may not support it. The
    /// setup request omits it. A RIC service update announces it only to controllers whose setup response accepts
    /// `id`.
    pub fn register_reserved(
        &mut self,
        function: Box<dyn RanFunction>,
        id: RanFunctionId,
    ) -> Result<RanFunctionId, RegisterError> {
        self.add(function, Some(id), true)
    }

    fn add(
        &mut self,
        function: Box<dyn RanFunction>,
        preferred_id: Option<RanFunctionId>,
        reserved: bool,
    ) -> Result<RanFunctionId, RegisterError> {
        let limit = self.core.config.limits.functions.min(256);
        if self.functions.len() >= limit {
            return Err(RegisterError::TooMany(limit));
        }
        let free = |id: &RanFunctionId| !self.functions.contains_key(id);
        let id = preferred_id.or_else(|| (1..=FUNCTION_ID_MAX).find(free));
        let id = id.ok_or(RegisterError::TooMany(limit))?;
        if id > FUNCTION_ID_MAX {
            return Err(RegisterError::IdOutOfRange(id));
        }
        if !free(&id) {
            return Err(RegisterError::IdTaken(id));
        }
        let description = checked(function.description())?;
        self.core.offers.insert(id, Offer { description, reserved, wake: None });
        self.functions.insert(id, function);
        self.functions_changed();
        Ok(id)
    }

    /// Removes a RAN function and ends its subscriptions.
    pub fn deregister(&mut self, id: RanFunctionId) -> Option<Box<dyn RanFunction>> {
        let subscriptions: Vec<_> = self.core.subscriptions.of_function(id).collect();
        for subscription in subscriptions {
            self.end_subscription(subscription);
        }
        let function = self.functions.remove(&id)?;
        self.core.controls.forget(|control| control.function_id == id);
        self.core.offers.remove(&id);
        self.functions_changed();
        Some(function)
    }

    /// Reads the description of a function again. If its revision has changed, controllers get a RIC service update
    /// that lists the function as modified.
    pub fn refresh(&mut self, id: RanFunctionId) -> Result<(), RegisterError> {
        let Some(function) = self.functions.get(&id) else { return Ok(()) };
        let description = checked(function.description())?;
        if let Some(offer) = self.core.offers.get_mut(&id) {
            offer.description = description;
        }
        self.functions_changed();
        Ok(())
    }

    /// Replaces the components of the node. Controllers get the difference in an E2 node configuration update.
    pub fn set_components(&mut self, components: Vec<ComponentConfigItem>) {
        self.core.config.components = components;
        self.core.links.iter_mut().for_each(|l| l.components_changed = l.version != Version::V1_01);
    }

    /// Adds a controller and connects to it. The agent does not interpret `address`; only the driver does.
    pub fn add_controller(&mut self, now: Time, address: String) -> Result<ControllerId, ControllerError> {
        self.core.add_controller(now, address)
    }

    /// Adds a controller with alternative addresses, for RICs that share their nodes. The node uses one address at a
    /// time. It switches to the next one if the connection is lost or fails, or if the setup is refused. The first
    /// address is the controller's name.
    pub fn add_controller_at_one_of(
        &mut self,
        now: Time,
        addresses: Vec<String>,
    ) -> Result<ControllerId, ControllerError> {
        if addresses.is_empty() || addresses.len() > ADDRESSES_MAX {
            return Err(ControllerError::Addresses(ADDRESSES_MAX));
        }
        if addresses.iter().any(|address| address.is_empty() || address.len() > ADDRESS_LEN_MAX) {
            return Err(ControllerError::BadAddress(ADDRESS_LEN_MAX));
        }
        let mut addresses = addresses.into_iter();
        let first = addresses.next().unwrap_or_default();
        let id = self.core.add_controller(now, first)?;
        if let Some(link) = self.core.link_mut(id) {
            link.or_at(addresses);
        }
        Ok(id)
    }

    /// Removes a controller, with the E2 removal procedure where the version has it.
    pub fn remove_controller(&mut self, now: Time, controller: ControllerId) -> Result<(), ControllerError> {
        self.core.now = now.max(self.core.now);
        self.core.remove_controller(now, controller)?;
        self.run_deferred_work();
        Ok(())
    }

    /// Resets the interface towards a controller, which ends all its subscriptions.
    pub fn reset(
        &mut self,
        now: Time,
        controller: ControllerId,
        cause: Cause,
    ) -> Result<(), ControllerError> {
        self.core.now = now.max(self.core.now);
        let Some(link) = self.core.link_mut(controller) else {
            return Err(ControllerError::Unknown(controller));
        };
        if link.state != State::Up {
            return Err(ControllerError::NotSetUp(controller));
        }
        let cause = cause::fit(cause, link.version);
        let (transaction, transaction_id) = Core::transaction_of(link);
        self.end_subscriptions_of(controller);
        let request = Message::ResetRequest(ResetRequest { transaction_id, cause });
        self.core.start(now, controller, Procedure::Reset, transaction, &request);
        self.core.event(AgentEvent::Reset { controller, by_controller: false, cause });
        self.run_deferred_work();
        Ok(())
    }

    /// Adds a UE. It belongs to the first controller.
    pub fn ue_arrived(&mut self, ue: UeId) -> Result<(), UeError> {
        self.core.ues.arrive(ue, self.core.config.limits.ues)
    }

    /// Removes a UE and its associations.
    pub fn ue_left(&mut self, ue: UeId) {
        self.core.ues.leave(ue);
    }

    /// Exposes a UE to a further controller.
    pub fn associate_ue(&mut self, ue: UeId, controller: ControllerId) -> Result<(), UeError> {
        if self.core.link(controller).is_none() {
            return Err(UeError::UnknownController(controller));
        }
        self.core.ues.associate(ue, controller)
    }

    /// Hides a UE from a further controller. The first controller still sees it.
    pub fn dissociate_ue(&mut self, ue: UeId, controller: ControllerId) {
        self.core.ues.dissociate(ue, controller);
    }

    /// Returns all UEs.
    pub fn ues(&self) -> UeFilter<'_> {
        self.core.ues.all()
    }

    /// Returns the UEs exposed to a controller.
    pub fn ues_of(&self, controller: ControllerId) -> UeFilter<'_> {
        self.core.ues.visible_to(controller, self.core.first())
    }

    /// Processes an input.
    pub fn handle(&mut self, now: Time, input: AgentInput) {
        self.core.now = now.max(self.core.now);
        match input {
            AgentInput::Connected { controller } => self.core.on_connected(now, controller),
            AgentInput::Received { controller, pdu } => self.on_received(controller, pdu),
            AgentInput::Disconnected { controller, why } => self.on_disconnected(controller, why),
            AgentInput::Wake => {}
        }
        self.run_deferred_work();
        self.expire();
        self.run_deferred_work();
    }

    /// Calls [`RanFunction::on_wake`] of a function. Use this when an external event occurs that the function waits for.
    pub fn wake_function(&mut self, now: Time, function: RanFunctionId) {
        self.core.now = now.max(self.core.now);
        self.call(function, None, |f, ctx| f.on_wake(ctx));
        self.run_deferred_work();
    }

    /// Returns the next output. Call it until it returns `None`.
    pub fn poll(&mut self) -> Option<AgentOutput> {
        let output = self.core.outputs.pop_front()?;
        match output {
            AgentOutput::Transmit { controller } => {
                if let Some(link) = self.core.link_mut(controller) {
                    link.announced = false;
                }
            }
            AgentOutput::Close { controller, .. } => {
                if let Some(link) = self.core.link_mut(controller) {
                    link.outbox.clear();
                }
                self.core.links.retain(|l| l.id != controller || l.state != State::Gone);
            }
            _ => {}
        }
        Some(output)
    }

    /// Returns the next frame for a controller.
    pub fn transmit(&mut self, now: Time, controller: ControllerId) -> Option<Frame> {
        self.core.link_mut(controller)?.outbox.pop(now)
    }

    /// Reports that the transport accepts no more data for now. Queued frames are copied to their own memory.
    pub fn transport_full(&mut self, controller: ControllerId) {
        if let Some(link) = self.core.link_mut(controller) {
            link.outbox.detach();
        }
    }

    /// Returns the latest time for the next call of [`handle`](Self::handle). A time in the past means immediately.
    pub fn wake_at(&self) -> Option<Time> {
        let links = self.core.links.iter().filter_map(link::Link::deadline);
        links.chain(self.core.offers.values().filter_map(|o| o.wake)).min()
    }

    /// Returns the counters.
    pub fn counters(&self) -> AgentCounters {
        self.core.counters
    }

    /// Returns the counters of the messages sent to a controller.
    pub fn outbox_counters(&self, controller: ControllerId) -> Option<OutboxCounters> {
        self.core.link(controller).map(|l| l.outbox.counters())
    }

    /// Returns whether a controller is connected and has accepted the setup.
    pub fn is_up(&self, controller: ControllerId) -> bool {
        self.core.link(controller).is_some_and(|l| l.state == State::Up)
    }

    /// Returns the reason why the last setup with a controller failed, or `None` after a successful one.
    pub fn setup_failure(&self, controller: ControllerId) -> Option<SetupFailure> {
        self.core.link(controller).and_then(|l| l.setup_failure.clone())
    }

    /// Returns whether a controller has identified itself as a ranlab RIC.
    pub fn is_ours(&self, controller: ControllerId) -> bool {
        self.core.link(controller).is_some_and(|l| l.knows_reserved)
    }

    /// Returns the identity of the node.
    pub fn node_id(&self) -> GlobalE2NodeId {
        self.core.config.node_id
    }

    /// Returns the controllers and their addresses, in the order in which they were added.
    pub fn controllers(&self) -> impl Iterator<Item = (ControllerId, &str)> {
        self.core.links.iter().filter(|l| l.state != State::Gone).map(|l| (l.id, l.address.as_str()))
    }

    /// Returns the number of subscriptions.
    pub fn subscriptions(&self) -> usize {
        self.core.subscriptions.len()
    }

    fn functions_changed(&mut self) {
        self.core.links.iter_mut().for_each(|l| l.functions_changed = true);
    }

    /// Runs a callback of a function.
    fn call<R>(
        &mut self,
        id: RanFunctionId,
        controller: Option<ControllerId>,
        f: impl FnOnce(&mut dyn RanFunction, &mut FunctionContext<'_>) -> R,
    ) -> Option<R> {
        let function = self.functions.get_mut(&id)?;
        let mut ctx = FunctionContext { core: &mut self.core, function: id, controller };
        Some(f(function.as_mut(), &mut ctx))
    }

    /// Ends a subscription: discards its queued indications and notifies its function.
    fn end_subscription(&mut self, id: SubscriptionId) {
        let Some(subscription) = self.core.subscriptions.remove(id) else { return };
        let controller = subscription.controller;
        if let Some(link) = self.core.link_mut(controller) {
            link.outbox.forget(id.flow());
            link.pending.retain(|p| p.procedure != Procedure::ModificationRequired(id));
        }
        self.call(subscription.function, Some(controller), |f, ctx| f.on_subscription_delete(ctx, id));
        self.core.event(AgentEvent::Unsubscribed { controller, subscription: id });
    }

    fn end_subscriptions_of(&mut self, controller: ControllerId) {
        self.core.controls.forget(|control| control.controller == controller);
        let all: Vec<_> = self.core.subscriptions.of_controller(controller).collect();
        all.into_iter().for_each(|id| self.end_subscription(id));
    }

    /// Performs the work that was delayed until no callback was running.
    fn run_deferred_work(&mut self) {
        while let Some(deferred) = self.core.deferred.pop_front() {
            match deferred {
                Deferred::TakeDown(controller, reason) => self.take_down(controller, reason),
                Deferred::Forget(controller) => self.forget(controller),
            }
        }
    }

    /// Wakes functions and expires links whose deadlines have passed.
    fn expire(&mut self) {
        let now = self.core.now;
        // Iterates by id rather than over a list. A function that requests an immediate wake-up is called in the next
        // round.
        let mut after = Bound::Unbounded;
        while let Some((&id, offer)) = self
            .core
            .offers
            .range_mut((after, Bound::Unbounded))
            .find(|(_, offer)| offer.wake.is_some_and(|at| at <= now))
        {
            offer.wake = None;
            after = Bound::Excluded(id);
            self.call(id, None, |f, ctx| f.on_wake(ctx));
        }
        let due = self.core.links.iter().filter(|l| l.deadline().is_some_and(|deadline| deadline <= now));
        let due: Vec<_> = due.map(|l| l.id).collect();
        due.into_iter().for_each(|id| self.expire_link(id));
    }
}

/// Returns the description if it can be encoded.
fn checked(description: FunctionDescription) -> Result<FunctionDescription, RegisterError> {
    let printable = description.oid.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    let fits = (1..=OID_LEN_MAX).contains(&description.oid.len());
    if printable && fits && description.revision <= FUNCTION_ID_MAX {
        Ok(description)
    } else {
        Err(RegisterError::BadDescription)
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("core", &self.core).field("functions", &self.functions.keys()).finish()
    }
}
