//! xApp on a socket.
use crate::agent::because;
use crate::events::{EventQueue, PendingReplies};
use crate::shared::{Item, Queue};
use crate::transport::driver::{Driver, ReadInterest};
use crate::transport::{Address, AddressError, SocketOptions};
use bytes::Bytes;
use futures_core::Stream;
use ranlab_e2::Time;
use ranlab_e2::xapp::{
    ADDRESSES_MAX, ControlError, ControlHandle, DisconnectReason, Failure, FunctionRef, Planner,
    StandingHandle, SubscribeError, SubscriptionHandle, Xapp, XappConfig, XappEvent, XappInput,
};
use ranlab_e2_codec::e2ap::{ActionFailed, ActionToBeSetup, Cause, GlobalE2NodeId, RanFunctionId};
use ranlab_e2_codec::e2sm::common::UeNumbers;
use ranlab_e2_codec::e2sm::rc::commands::Order;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A running xApp. It reconnects to its RIC after a loss and restores its subscriptions. It ends when all its handles
/// are dropped.
///
/// If the application does not consume indications, the handle stops reading from the socket (back-pressure). The RIC
/// then drops the oldest indications, which [`Xapp::lost`] counts. Up to 1,024 other events wait for
/// [`next`](Self::next). At this limit the oldest event is dropped and counted ([`lagged`](Self::lagged)). An
/// application that only uses [`Reports`](crate::Reports) need not call `next`. Reading continues while the
/// application awaits a response.
///
/// The handle must be used on one thread, inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
#[derive(Clone)]
pub struct XappHandle {
    driver: Rc<Driver<Xapp>>,
    mail: Rc<EventRouter>,
}

impl XappHandle {
    /// Starts an xApp and connects to its RIC, or to one of several alternative RICs. Returns an error if the address
    /// is invalid or unreachable, or if the RIC rejects the setup. Later disconnects are retried automatically.
    pub async fn connect(config: XappConfig, options: SocketOptions) -> Result<Self, XappConnectError> {
        for address in std::iter::once(&config.address).chain(&config.or_at) {
            address.parse::<Address>()?;
        }
        let mut left = config.or_at.len().min(ADDRESSES_MAX);
        let xapp = Self::start(config, options);
        let mut refused = None;
        loop {
            let error = match xapp.next().await {
                XappEvent::Ready { .. } => return Ok(xapp),
                XappEvent::SetupFailed { cause, .. } if left > 0 => {
                    // The connection is being closed, and the next RIC is tried.
                    refused = Some(XappConnectError::Refused { cause });
                    continue;
                }
                XappEvent::SetupFailed { cause, .. } => XappConnectError::Refused { cause },
                XappEvent::Disconnected { why, .. } => {
                    refused.take().unwrap_or(XappConnectError::Unreachable(why))
                }
                _ => continue,
            };
            if left == 0 {
                return Err(error);
            }
            left -= 1;
        }
    }

    /// Starts an xApp that retries until it connects, for a RIC that may start later. An event reports the reason of
    /// each failure.
    pub fn start(config: XappConfig, options: SocketOptions) -> Self {
        let mail = Rc::new(EventRouter::default());
        let sink = Rc::clone(&mail);
        let max_pdu = config.limits.pdu_bytes;
        let driver = Driver::start(Xapp::new(config), options, max_pdu, move |event| sink.deliver(event));
        driver.with(|xapp, now| xapp.handle(now, XappInput::Wake));
        Self { driver: Rc::new(driver), mail }
    }

    /// Subscribes at a node, and waits until the subscription is admitted or refused. If the node is not connected,
    /// the call waits for the node without a timeout.
    pub async fn subscribe(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<Subscription, SubscriptionError> {
        // The wait is registered before the request is sent, because the result may be among the first events that follow.
        let outcome = self.act(|xapp, _| {
            let handle = xapp.subscribe(node, function, event_trigger, actions)?;
            Ok::<_, SubscribeError>(self.mail.subscriptions.wait(handle))
        })?;
        self.admitted(outcome).await
    }

    /// Subscribes at a node; an event reports the result.
    pub fn request_subscription(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<SubscriptionHandle, SubscribeError> {
        self.act(|xapp, _| xapp.subscribe(node, function, event_trigger, actions))
    }

    /// Subscribes at every node that offers a function, including nodes that are announced later. Indications are
    /// delivered as events with encoded contents; [`subscribe_all`](Self::subscribe_all) decodes them.
    pub fn subscribe_all_raw(
        &self,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<StandingHandle, SubscribeError> {
        self.act(|xapp, _| xapp.subscribe_all(function, event_trigger, actions))
    }

    /// Subscribes like [`subscribe_all_raw`](Self::subscribe_all_raw), but a planner creates the subscriptions for
    /// each node, for example [`KpmPlan`](ranlab_e2::xapp::KpmPlan).
    pub fn subscribe_all_planned(
        &self,
        function: impl Into<FunctionRef>,
        planner: Arc<dyn Planner>,
    ) -> Result<StandingHandle, SubscribeError> {
        self.act(|xapp, _| xapp.subscribe_all_planned(function, planner))
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, handle: SubscriptionHandle) {
        self.act(|xapp, _| xapp.unsubscribe(handle));
    }

    /// Ends a standing subscription and all subscriptions that it created.
    pub fn unsubscribe_all(&self, standing: StandingHandle) {
        self.act(|xapp, _| xapp.unsubscribe_all(standing));
    }

    /// Ends all subscriptions and waits for the responses of the RIC, up to a timeout. Returns the number of
    /// remaining subscriptions. Events that arrive meanwhile are lost.
    pub async fn leave(&self, patience: Duration) -> usize {
        self.act(|xapp, now| xapp.unsubscribe_everything(now));
        let left = || self.read(|xapp| xapp.subscriptions().1);
        let gone = self.answer(async {
            while left() > 0 {
                self.next().await;
            }
        });
        // The returned number shows whether this timed out.
        let _ = tokio::time::timeout(patience, gone).await;
        left()
    }

    /// Sends a control and waits for its outcome, if the node sends one.
    pub async fn control(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
    ) -> Result<Option<Bytes>, ControlFailure> {
        // The wait is registered before the request is sent, because the result may be among the first events that follow.
        let outcome = self.act(|xapp, now| {
            let handle = xapp.control(now, node, function, header, message, true)?;
            Ok::<_, ControlError>(self.mail.controls.wait(handle))
        })?;
        self.answer(outcome).await.unwrap_or(Err(ControlFailure::Ended))
    }

    /// Sends an RC order for a UE to a node, and waits for its outcome like [`control`](Self::control).
    ///
    /// # Errors
    ///
    /// Returns [`ControlError::Order`] if the order contradicts itself or the node does not offer it. In this case
    /// nothing was sent.
    pub async fn order(
        &self,
        node: GlobalE2NodeId,
        order: &Order,
        ue: &UeNumbers,
    ) -> Result<Option<Bytes>, ControlFailure> {
        let outcome = self.act(|xapp, now| {
            let handle = xapp.order(now, node, order, ue, true)?;
            Ok::<_, ControlError>(self.mail.controls.wait(handle))
        })?;
        self.answer(outcome).await.unwrap_or(Err(ControlFailure::Ended))
    }

    /// Sends a control. With `ack`, an event reports the result.
    pub fn send_control(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
        ack: bool,
    ) -> Result<ControlHandle, ControlError> {
        self.act(|xapp, now| xapp.control(now, node, function, header, message, ack))
    }

    /// Calls `look` with the machine, for example to read nodes, subscriptions or counters.
    pub fn read<T>(&self, look: impl FnOnce(&Xapp) -> T) -> T {
        self.driver.read(look)
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&self) -> XappEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Returns the next event if one is available.
    pub fn try_next(&self) -> Option<XappEvent> {
        let event = self.mail.own.take();
        self.taken();
        event
    }

    /// Returns the number of events, other than indications, that were lost because they were not read in time.
    pub fn lagged(&self) -> u64 {
        self.mail.own.lagged()
    }

    fn poll_event(&self, cx: &mut Context<'_>) -> Poll<XappEvent> {
        match self.mail.own.poll(cx) {
            Poll::Ready(Some(event)) => {
                self.taken();
                Poll::Ready(event)
            }
            _ => Poll::Pending,
        }
    }

    /// Resumes the reading if enough events have been consumed.
    pub(crate) fn taken(&self) {
        if self.mail.may_resume() {
            self.driver.resume();
        }
    }

    /// Waits for `answer` while reading continues.
    async fn answer<T>(&self, answer: impl Future<Output = T>) -> T {
        let _awaited = PendingGuard::begin(&self.mail.awaited);
        self.taken();
        answer.await
    }

    /// Subscribes like [`subscribe_all_raw`](Self::subscribe_all_raw), with a separate queue for the indications.
    pub(crate) fn subscribe_routed(
        &self,
        function: &str,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<(StandingHandle, Rc<EventQueue<XappEvent>>), SubscribeError> {
        let standing = self.subscribe_all_raw(function, event_trigger, actions)?;
        Ok((standing, self.route(standing.into())))
    }

    /// Subscribes like [`request_subscription`](Self::request_subscription), with a separate queue for the
    /// indications.
    pub(crate) fn subscribe_one_routed(
        &self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<RoutedSubscription, SubscribeError> {
        let (handle, outcome) = self.subscribe_with_outcome(node, function, event_trigger, actions)?;
        Ok(RoutedSubscription { handle, inbox: self.route(handle.into()), outcome })
    }

    /// Subscribes like [`request_subscription`](Self::request_subscription), and also returns the pending result,
    /// which is registered before the request is sent.
    pub(crate) fn subscribe_with_outcome(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<(SubscriptionHandle, SubscriptionOutcome), SubscribeError> {
        self.act(|xapp, _| {
            let handle = xapp.subscribe(node, function, event_trigger, actions)?;
            let outcome: SubscriptionOutcome = Box::pin(self.mail.subscriptions.wait(handle));
            Ok((handle, outcome))
        })
    }

    /// Waits until a subscription is admitted or refused.
    pub(crate) async fn admitted(
        &self,
        outcome: impl Future<Output = Option<Result<Subscription, SubscriptionError>>>,
    ) -> Result<Subscription, SubscriptionError> {
        self.answer(outcome).await.unwrap_or(Err(SubscriptionError::Ended))
    }

    fn route(&self, of: Route) -> Rc<EventQueue<XappEvent>> {
        let inbox = Rc::new(EventQueue::new(is_indication));
        self.mail.routes.borrow_mut().push((of, Sink::Local(Rc::clone(&inbox))));
        inbox
    }

    /// Sends the indications of a subscription to a queue for another thread.
    pub(crate) fn route_shared(&self, route: Route, queue: Arc<Queue>) {
        self.mail.routes.borrow_mut().push((route, Sink::Shared(queue)));
    }

    /// Ends a subscription and its queue.
    pub(crate) fn end_route(&self, route: Route) {
        match route {
            Route::Standing(standing) => self.unsubscribe_all(standing),
            Route::One(handle) => self.unsubscribe(handle),
        }
        self.unroute(route);
    }

    pub(crate) fn unroute(&self, route: Route) {
        self.mail.routes.borrow_mut().retain(|(of, sink)| {
            if *of == route {
                sink.end();
            }
            *of != route
        });
        self.taken();
    }

    fn act<T>(&self, change: impl FnOnce(&mut Xapp, Time) -> T) -> T {
        self.driver.with(|xapp, now| {
            let value = change(xapp, now);
            xapp.handle(now, XappInput::Wake);
            value
        })
    }
}

/// Stream of the events that [`XappHandle::next`] returns; it does not end.
impl Stream for XappHandle {
    type Item = XappEvent;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<XappEvent>> {
        self.poll_event(cx).map(Some)
    }
}

/// An admitted subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Handle of the subscription, as used in events.
    pub handle: SubscriptionHandle,
    /// Actions that were not admitted.
    pub not_admitted: Vec<ActionFailed>,
}

/// Reason why an xApp could not connect to a RIC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XappConnectError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No connection could be established.
    #[error("no connection to the RIC: {0}")]
    Unreachable(DisconnectReason),
    /// The RIC refused the setup.
    #[error("the RIC refuses the xApp{}", because(*.cause))]
    Refused {
        /// Cause of the refusal, if the RIC sent one.
        cause: Option<Cause>,
    },
}

/// Reason why a subscription failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// The subscription cannot be requested.
    #[error(transparent)]
    Impossible(#[from] SubscribeError),
    /// The subscription was refused for now. It is retried when its node is announced again, unless
    /// [`XappHandle::unsubscribe`] is called.
    #[error("the subscription failed: {failure}")]
    Failed {
        /// Handle of the failed subscription.
        handle: SubscriptionHandle,
        /// Reason of the failure.
        failure: Failure,
    },
    /// The subscription was ended before it was admitted.
    #[error("the subscription was ended before it was admitted")]
    Ended,
}

/// Reason why a control failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlFailure {
    /// The control cannot be sent.
    #[error(transparent)]
    Impossible(#[from] ControlError),
    /// The control was refused, or its result is unknown.
    #[error("the control failed: {failure}")]
    Failed {
        /// Reason of the failure.
        failure: Failure,
        /// Control outcome of the service model.
        outcome: Option<Bytes>,
    },
    /// The xApp ended before the response arrived.
    #[error("the xApp ended before the response arrived")]
    Ended,
}

/// A requested subscription with a separate queue for its indications.
pub(crate) struct RoutedSubscription {
    pub(crate) handle: SubscriptionHandle,
    pub(crate) inbox: Rc<EventQueue<XappEvent>>,
    /// Pending result of the request, registered before the request was sent.
    pub(crate) outcome: SubscriptionOutcome,
}

/// Resolves with the response to a subscription request, or with `None` if the xApp ends first.
pub(crate) type SubscriptionOutcome =
    Pin<Box<dyn Future<Output = Option<Result<Subscription, SubscriptionError>>>>>;

fn is_indication(event: &XappEvent) -> bool {
    matches!(event, XappEvent::Indication { .. })
}

/// Subscriptions whose indications have a separate queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Standing(StandingHandle),
    One(SubscriptionHandle),
}

impl From<StandingHandle> for Route {
    fn from(standing: StandingHandle) -> Self {
        Self::Standing(standing)
    }
}

impl From<SubscriptionHandle> for Route {
    fn from(handle: SubscriptionHandle) -> Self {
        Self::One(handle)
    }
}

/// Queue for the indications of a subscription.
enum Sink {
    /// Queue on this thread. While it is full, the socket is not read.
    Local(Rc<EventQueue<XappEvent>>),
    /// Queue for another thread. While it is full, the oldest indications are dropped.
    Shared(Arc<Queue>),
}

impl Sink {
    fn push(&self, event: XappEvent) {
        match (self, event) {
            (Self::Local(inbox), event) => inbox.push(event),
            (Self::Shared(queue), XappEvent::Indication { handle, node, indication, .. }) => {
                queue.push(Item { node, subscription: handle, indication });
            }
            // Other events never reach this queue, because only indications have a route.
            (Self::Shared(_), _) => {}
        }
    }

    fn end(&self) {
        if let Self::Shared(queue) = self {
            // The reader may have ended the queue before, so the result is ignored.
            let _ = queue.end();
        }
    }
}

/// Routes the events of the machine to the waiting call, the queue of the subscription, or the handle's own queue.
struct EventRouter {
    own: EventQueue<XappEvent>,
    routes: RefCell<Vec<(Route, Sink)>>,
    subscriptions: PendingReplies<SubscriptionHandle, Result<Subscription, SubscriptionError>>,
    controls: PendingReplies<ControlHandle, Result<Option<Bytes>, ControlFailure>>,
    /// Number of responses that callers currently await.
    awaited: Cell<usize>,
    paused: Cell<bool>,
}

impl Default for EventRouter {
    fn default() -> Self {
        Self {
            own: EventQueue::new(is_indication),
            routes: RefCell::default(),
            subscriptions: PendingReplies::default(),
            controls: PendingReplies::default(),
            awaited: Cell::new(0),
            paused: Cell::new(false),
        }
    }
}

impl EventRouter {
    fn deliver(&self, event: XappEvent) -> ReadInterest {
        if let XappEvent::Indication { handle, standing, .. } = &event {
            let routes = self.routes.borrow();
            let of = standing.map_or_else(|| Route::from(*handle), Route::from);
            match routes.iter().find(|(it, _)| *it == of) {
                Some((_, sink)) => sink.push(event),
                None => self.own.push(event),
            }
        } else if let Some(event) = self.answered(event) {
            self.own.push(event);
        }
        let pauses = self.awaited.get() == 0 && self.any(|inbox| inbox.reading() == ReadInterest::Pauses);
        self.paused.set(pauses);
        if pauses { ReadInterest::Pauses } else { ReadInterest::GoesOn }
    }

    /// Passes a response to the waiting call. Returns other events.
    fn answered(&self, event: XappEvent) -> Option<XappEvent> {
        match event {
            XappEvent::Subscribed { handle, not_admitted, .. } if self.subscriptions.is_awaited(handle) => {
                self.subscriptions.resolve(handle, Ok(Subscription { handle, not_admitted }));
            }
            XappEvent::SubscriptionFailed { handle, failure, .. }
                if self.subscriptions.is_awaited(handle) =>
            {
                self.subscriptions.resolve(handle, Err(SubscriptionError::Failed { handle, failure }));
            }
            XappEvent::Unsubscribed { handle, .. } if self.subscriptions.is_awaited(handle) => {
                self.subscriptions.resolve(handle, Err(SubscriptionError::Ended));
            }
            XappEvent::ControlAcknowledged { handle, outcome } if self.controls.is_awaited(handle) => {
                self.controls.resolve(handle, Ok(outcome));
            }
            XappEvent::ControlFailed { handle, failure, outcome } if self.controls.is_awaited(handle) => {
                self.controls.resolve(handle, Err(ControlFailure::Failed { failure, outcome }));
            }
            other => return Some(other),
        }
        None
    }

    fn any(&self, is: impl Fn(&EventQueue<XappEvent>) -> bool) -> bool {
        let routed = |(_, sink): &(Route, Sink)| matches!(sink, Sink::Local(inbox) if is(inbox));
        is(&self.own) || self.routes.borrow().iter().any(routed)
    }

    /// Returns whether reading has stopped and may resume.
    fn may_resume(&self) -> bool {
        let resumes = self.paused.get() && (self.awaited.get() > 0 || !self.any(|inbox| !inbox.is_low()));
        self.paused.set(self.paused.get() && !resumes);
        resumes
    }
}

impl Drop for EventRouter {
    fn drop(&mut self) {
        self.routes.get_mut().iter().for_each(|(_, sink)| sink.end());
    }
}

/// Guard that counts one awaited response until dropped.
struct PendingGuard<'a>(&'a Cell<usize>);

impl<'a> PendingGuard<'a> {
    fn begin(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
