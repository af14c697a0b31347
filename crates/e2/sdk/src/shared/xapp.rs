//! xApp on its own thread.
use super::actor::{Actor, Closed, StartError};
use super::events::{EventSink, EventSource, Events};
use super::indications::{Indications, ReportStream};
use super::problems::{ProblemLog, Problems};
use super::queue::Queue;
use super::request::{ReportRequest, RequestError};
use crate::effect::{ControlEffect, EffectFailure, EffectQuery};
use crate::transport::SocketOptions;
use crate::typed::{SubscriptionSpec, TypedControlError, customary};
use crate::xapp::{ControlFailure, SubscriptionError, XappConnectError, XappHandle};
use bytes::Bytes;
use ranlab_e2::xapp::{FunctionRef, NodeInfo, Xapp as Machine, XappConfig, XappEvent};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, RanFunctionItem};
use ranlab_e2_codec::e2sm::common::UeNumbers;
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::{Model, Octets, ServiceModel};
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// Maximum time to delete all subscriptions at the end.
const LEAVE: Duration = Duration::from_secs(1);

/// A running xApp, usable from every thread and runtime. It reconnects to its RIC after a loss and restores its
/// subscriptions.
///
/// The xApp runs on its own thread until the last handle and the last of its [`Indications`] are dropped, or until
/// [`close`](Self::close). At the end it deletes its subscriptions, because some RICs keep the subscriptions of a
/// disconnected xApp. `close` waits until they are deleted; dropping the last handle does not wait. [`XappHandle`] is
/// the handle for programs that run on one thread.
///
/// Dropping a pending call cancels it: a subscription that was not admitted yet is ended. A control may already have
/// been sent.
#[derive(Clone)]
pub struct Xapp {
    actor: Actor<State>,
    events: EventSource<XappEvent>,
    problems: ProblemLog,
}

/// State of an xApp on its thread.
pub(super) struct State {
    pub(super) handle: XappHandle,
    pump: AbortHandle,
    /// The sink is stored here so that listeners end together with the machine.
    _events: EventSink<XappEvent>,
}

impl State {
    /// Ends every subscription and waits up to [`LEAVE`] for the responses.
    async fn leave(self: Rc<Self>) {
        self.pump.abort();
        if self.handle.read(|xapp| xapp.is_ready() && xapp.subscriptions().1 > 0) {
            self.handle.leave(LEAVE).await;
        }
    }
}

/// A node and its RAN functions, as announced by the RIC.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeOffer {
    /// Identity of the node.
    pub node: GlobalE2NodeId,
    /// RAN functions that the node offers.
    pub functions: Vec<RanFunctionItem>,
}

/// Reason why a node cannot be found by its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindNodeError {
    /// There is no node with this name.
    #[error("there is no node \"{name}\"; known nodes: {}", names(nodes))]
    Unknown {
        /// Requested name.
        name: String,
        /// Known nodes.
        nodes: Vec<GlobalE2NodeId>,
    },
    /// The xApp has ended.
    #[error(transparent)]
    Closed(#[from] Closed),
}

fn names(nodes: &[GlobalE2NodeId]) -> String {
    let names: Vec<_> = nodes.iter().map(|node| format!("\"{node}\"")).collect();
    if names.is_empty() { "none yet".to_owned() } else { names.join(", ") }
}

impl Xapp {
    /// Starts an xApp and connects to the RIC at this address, with default settings.
    ///
    /// # Errors
    /// Returns an error like [`XappHandle::connect`].
    pub async fn connect(address: impl Into<String>) -> Result<Self, StartError<XappConnectError>> {
        Self::connect_with(XappConfig::new(address), SocketOptions::default()).await
    }

    /// Starts an xApp and connects to its RIC.
    ///
    /// # Errors
    /// Returns an error like [`XappHandle::connect`].
    pub async fn connect_with(
        config: XappConfig,
        options: SocketOptions,
    ) -> Result<Self, StartError<XappConnectError>> {
        Self::on_thread(async || XappHandle::connect(config, options).await).await
    }

    /// Starts an xApp that retries until it connects, for a RIC that may start later. An event reports the reason of
    /// each failure.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be created.
    pub async fn start(config: XappConfig, options: SocketOptions) -> Result<Self, StartError<Infallible>> {
        Self::on_thread(async || Ok(XappHandle::start(config, options))).await
    }

    async fn on_thread<E: Send + 'static>(
        make: impl AsyncFnOnce() -> Result<XappHandle, E> + Send + 'static,
    ) -> Result<Self, StartError<E>> {
        let (sink, events) = EventSink::new();
        let problems = ProblemLog::default();
        let log = problems.clone();
        let make = move || async move {
            let handle = make().await?;
            let source = handle.clone();
            let pump =
                sink.clone().forward(async move || source.next().await, move |event| log.observe(event));
            Ok(State { handle, pump, _events: sink })
        };
        let actor = Actor::start("ranlab-xapp", make, State::leave).await?;
        Ok(Self { actor, events, problems })
    }

    pub(super) fn actor(&self) -> &Actor<State> {
        &self.actor
    }

    /// Subscribes to all data of a service model every `period`, at every node that offers the model, including nodes
    /// that are announced later.
    ///
    /// # Errors
    ///
    /// Returns an error if the model has no such period, or at the limit of subscriptions.
    pub async fn subscribe(
        &self,
        model: &'static dyn Model,
        period: Duration,
    ) -> Result<Indications, RequestError> {
        self.request(ReportRequest::every(model, period)).await
    }

    /// Subscribes as described by `request`. For a single node, this waits until the node admits the subscription; use
    /// a timeout, because a node that is not connected may never do so.
    ///
    /// # Errors
    /// Returns an error if the subscription cannot be encoded, was refused or was ended.
    pub async fn request(&self, request: ReportRequest) -> Result<Indications, RequestError> {
        let queue = Arc::new(Queue::default());
        let model = request.model();
        let xapp = self.clone();
        let subscribed = self.actor.call(async move |state| {
            let route = state.handle.subscribe_into(request, Arc::clone(&queue)).await?;
            // The value is created on this thread: if the caller has dropped the call, dropping the value ends the
            // subscription.
            Ok(Indications::new(xapp, queue, route, model))
        });
        let subscribed: Result<_, RequestError> =
            subscribed.await.unwrap_or_else(|Closed| Err(SubscriptionError::Ended.into()));
        subscribed.inspect_err(|error| self.problems.note(error.to_string()))
    }

    /// Subscribes at every node that offers a service model, including nodes that are announced later. Reports are
    /// decoded.
    ///
    /// # Errors
    /// Returns an error like [`subscribe`](Self::subscribe).
    pub async fn subscribe_all<M: ServiceModel>(
        &self,
        spec: SubscriptionSpec<M>,
    ) -> Result<ReportStream<M>, RequestError> {
        let encoding = spec.encoding();
        let (trigger, actions) = spec.octets()?;
        let request = ReportRequest::encoded(M::OID, trigger).actions(actions);
        Ok(ReportStream::new(self.request(request).await?, encoding))
    }

    /// Sends a control and waits for its outcome, if the node sends one.
    ///
    /// # Errors
    /// Returns an error if the control cannot be sent or failed.
    pub async fn control(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
    ) -> Result<Option<Bytes>, ControlFailure> {
        let function = function.into();
        let outcome =
            self.actor.call(async move |state| state.handle.control(node, function, header, message).await);
        outcome.await.unwrap_or(Err(ControlFailure::Ended))
    }

    /// Sends a control without waiting for its outcome.
    ///
    /// # Errors
    /// Returns an error if the control cannot be sent.
    pub async fn send_control(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
    ) -> Result<(), ControlFailure> {
        let function = function.into();
        let sent = self
            .actor
            .with(move |state| state.handle.send_control(node, function, header, message, false).map(drop));
        Ok(sent.await.map_err(|Closed| ControlFailure::Ended)??)
    }

    /// Sends a control in the model's default encoding and waits for its outcome, if the node sends one.
    ///
    /// # Errors
    /// Returns an error if the control cannot be encoded or sent, or if it failed.
    pub async fn control_model<M: ServiceModel>(
        &self,
        node: GlobalE2NodeId,
        header: &M::ControlHeader,
        message: &M::Control,
    ) -> Result<Option<M::Outcome>, TypedControlError> {
        let encoding = customary::<M>();
        let header = header.to_octets(encoding)?;
        let message = message.to_octets(encoding)?;
        let outcome = self.control(node, M::OID, header, message).await?;
        Ok(outcome.map(|outcome| M::Outcome::decode_as(encoding, &outcome)).transpose()?)
    }

    /// Sends an RC order for a UE to a node, and waits for its outcome like [`control`](Self::control).
    ///
    /// # Errors
    ///
    /// Returns [`ControlError::Order`](ranlab_e2::xapp::ControlError::Order) if the order contradicts itself or the
    /// node does not offer it. In this case nothing was sent.
    pub async fn order(
        &self,
        node: GlobalE2NodeId,
        order: Order,
        ue: UeNumbers,
    ) -> Result<Option<Bytes>, ControlFailure> {
        let outcome = self.actor.call(async move |state| state.handle.order(node, &order, &ue).await);
        outcome.await.unwrap_or(Err(ControlFailure::Ended))
    }

    /// Sends a control and measures its effect; see [`XappHandle::control_with_effect`].
    ///
    /// # Errors
    /// Returns an error if the control failed or its effect cannot be measured.
    pub async fn control_with_effect(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
        watch: EffectQuery,
    ) -> Result<ControlEffect, EffectFailure> {
        let function = function.into();
        let measured = self.actor.call(async move |state| {
            state.handle.control_with_effect(node, function, header, message, &watch).await
        });
        measured.await.unwrap_or_else(|Closed| Err(ControlFailure::Ended.into()))
    }

    /// Returns the nodes that the RIC has announced, with their functions.
    ///
    /// # Errors
    /// [`Closed`] if the xApp has ended.
    pub async fn nodes(&self) -> Result<Vec<NodeOffer>, Closed> {
        self.read(|xapp| {
            let offer = |(node, info): (&GlobalE2NodeId, &NodeInfo)| NodeOffer {
                node: *node,
                functions: info.functions.clone(),
            };
            xapp.nodes().map(offer).collect()
        })
        .await
    }

    /// Returns the node with this name, in the form in which identities are displayed.
    ///
    /// # Errors
    ///
    /// Returns an error with the known nodes if there is no such node.
    pub async fn node(&self, name: &str) -> Result<GlobalE2NodeId, FindNodeError> {
        let nodes: Vec<_> = self.read(|xapp| xapp.nodes().map(|(node, _)| *node).collect()).await?;
        let found = nodes.iter().find(|node| node.to_string() == name).copied();
        found.ok_or_else(|| FindNodeError::Unknown { name: name.to_owned(), nodes })
    }

    /// Waits for a node that offers a RAN function.
    ///
    /// # Errors
    /// [`Closed`] if the xApp has ended.
    pub async fn node_with(&self, function: impl Into<FunctionRef>) -> Result<GlobalE2NodeId, Closed> {
        let function = function.into();
        let mut events = self.events();
        loop {
            let function = function.clone();
            let found = self.read(move |xapp| {
                xapp.nodes().find(|(_, info)| info.find(&function).is_some()).map(|(node, _)| *node)
            });
            if let Some(node) = found.await? {
                return Ok(node);
            }
            events.next().await.ok_or(Closed)?;
        }
    }

    /// Calls `look` with the machine on its thread, for example to read subscriptions or counters.
    ///
    /// # Errors
    /// [`Closed`] if the xApp has ended.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Machine) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        self.actor.with(|state| state.handle.read(look)).await
    }

    /// Runs an asynchronous function with the local handle on its thread, for operations that this handle does not offer.
    ///
    /// # Errors
    ///
    /// [`Closed`] if the xApp has ended.
    pub async fn local<T: Send + 'static>(
        &self,
        act: impl AsyncFnOnce(&XappHandle) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        self.actor.call(async move |state| act(&state.handle).await).await
    }

    /// Returns all events from now on, except the indications that belong to [`Indications`] values.
    pub fn events(&self) -> Events<XappEvent> {
        self.events.listen()
    }

    /// Returns the number of lost events, other than indications. Events are lost if the thread is too slow.
    ///
    /// # Errors
    ///
    /// [`Closed`] if the xApp has ended.
    pub async fn lagged(&self) -> Result<u64, Closed> {
        self.actor.with(|state| state.handle.lagged()).await
    }

    /// Returns the latest problems.
    pub fn problems(&self) -> Problems {
        self.problems.read()
    }

    /// Deletes the subscriptions at the RIC, which takes at most one second, and ends the thread.
    pub async fn close(&self) {
        self.actor.close().await;
    }
}
