//! An xApp on a socket.
use crate::agent::because;
use crate::driver::{Action, Driver, Machine, Reading};
use crate::events::{Inbox, Waiting};
use crate::transport::{Address, AddressError, SocketOptions};
use bytes::Bytes;
use futures_core::Stream;
use ranlab_e2::xapp::{
    ADDRESSES_MAX, ControlError, ControlHandle, DisconnectReason, Failure, FunctionRef, Planner,
    StandingHandle, SubscribeError, SubscriptionHandle, Xapp, XappConfig, XappEvent, XappInput, XappOutput,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use ranlab_wire::e2ap::{ActionFailed, ActionToBeSetup, Cause, GlobalE2NodeId, RanFunctionId};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

impl Machine for Xapp {
    type Key = ();
    type Event = XappEvent;

    fn received(&mut self, now: Time, (): (), pdu: Bytes) {
        self.handle(now, XappInput::Received { pdu });
    }
    fn disconnected(&mut self, now: Time, (): (), why: LinkLoss) {
        tracing::debug!(%why, "disconnected from the RIC");
        self.handle(now, XappInput::Disconnected { why });
    }
    fn connected(&mut self, now: Time, (): ()) {
        self.handle(now, XappInput::Connected);
    }
    fn wake(&mut self, now: Time) {
        self.handle(now, XappInput::Wake);
    }
    fn wake_at(&self) -> Option<Time> {
        Self::wake_at(self)
    }
    fn poll(&mut self) -> Option<Action<(), XappEvent>> {
        Some(match Self::poll(self)? {
            XappOutput::Connect { address } => Action::Connect { key: (), address },
            XappOutput::Transmit => Action::Transmit(()),
            XappOutput::Close { reason } => Action::Close { key: (), reason: reason.to_string() },
            XappOutput::Event(event) => Action::Event(event),
        })
    }
    fn transmit(&mut self, now: Time, (): ()) -> Option<Frame> {
        Self::transmit(self, now)
    }
    fn transport_full(&mut self, (): ()) {
        Self::transport_full(self);
    }
}

/// A running xApp: connected to its RIC, and again after a loss, its subscriptions restored. Dropping every handle of it
/// ends it.
///
/// Who does not take indications stops the reading, so nothing piles up here; the RIC then drops the oldest ones, visible
/// as [`Xapp::lost`]. Other events wait for [`next`](Self::next) up to 1,024; beyond, the oldest is dropped and counted
/// ([`lagged`](Self::lagged)), so who has [`Reports`](crate::Reports) need not look at them. While somebody awaits an
/// answer, reading goes on.
///
/// Lives on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
#[derive(Clone)]
pub struct XappHandle {
    driver: Rc<Driver<Xapp>>,
    mail: Rc<Mail>,
}

impl XappHandle {
    /// Starts an xApp and connects, to one of its RICs if it has several. If nobody answers there, the address is none or the RIC refuses, that is told at
    /// once; a connection that is lost later is made again.
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
                    // The connection is closed, and another one tried.
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

    /// Starts an xApp that connects by itself and does not give up: for a RIC that is still to come. Each failure is an
    /// event that says why.
    pub fn start(config: XappConfig, options: SocketOptions) -> Self {
        let mail = Rc::new(Mail::default());
        let sink = Rc::clone(&mail);
        let max_pdu = config.limits.pdu_bytes;
        let driver = Driver::start(Xapp::new(config), options, max_pdu, move |event| sink.deliver(event));
        driver.with(|xapp, now| xapp.handle(now, XappInput::Wake));
        Self { driver: Rc::new(driver), mail }
    }

    /// Subscribes at a node, and waits until it is admitted or refused: as long as it takes, if the node is still to come.
    pub async fn subscribe(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<Subscription, SubscriptionError> {
        // The waiter is registered before the request leaves: its end may be among the first events that follow.
        let outcome = self.act(|xapp, _| {
            let handle = xapp.subscribe(node, function, event_trigger, actions)?;
            Ok::<_, SubscribeError>(self.mail.subscriptions.wait(handle))
        })?;
        self.admitted(outcome).await
    }

    /// As [`subscribe`](Self::subscribe); the outcome is an event.
    pub fn request_subscription(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<SubscriptionHandle, SubscribeError> {
        self.act(|xapp, _| xapp.subscribe(node, function, event_trigger, actions))
    }

    /// Subscribes at every node that offers a function, those that come later included; indications are events. With
    /// values rather than octets: [`subscribe_all`](Self::subscribe_all).
    pub fn subscribe_all_raw(
        &self,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<StandingHandle, SubscribeError> {
        self.act(|xapp, _| xapp.subscribe_all(function, event_trigger, actions))
    }

    /// As [`subscribe_all_raw`](Self::subscribe_all_raw), with subscriptions that a planner makes for each node, for example
    /// [`KpmPlan`](ranlab_e2::xapp::KpmPlan).
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

    /// Ends a standing subscription and all that it made.
    pub fn unsubscribe_all(&self, standing: StandingHandle) {
        self.act(|xapp, _| xapp.unsubscribe_all(standing));
    }

    /// Ends all subscriptions and waits for the RIC's answers, at most so long; how many are left. Events that come
    /// meanwhile are lost.
    pub async fn leave(&self, patience: Duration) -> usize {
        self.act(|xapp, now| xapp.unsubscribe_everything(now));
        let left = || self.read(|xapp| xapp.subscriptions().1);
        let gone = self.answer(async {
            while left() > 0 {
                self.next().await;
            }
        });
        // What is left is told by the number.
        let _ = tokio::time::timeout(patience, gone).await;
        left()
    }

    /// Sends a control and waits for its outcome: the node's words, if it has any.
    pub async fn control(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
    ) -> Result<Option<Bytes>, ControlFailure> {
        // The waiter is registered before the request leaves: its end may be among the first events that follow.
        let outcome = self.act(|xapp, now| {
            let handle = xapp.control(now, node, function, header, message, true)?;
            Ok::<_, ControlError>(self.mail.controls.wait(handle))
        })?;
        self.answer(outcome).await.unwrap_or(Err(ControlFailure::Ended))
    }

    /// Sends a control; with `ack`, an event tells how it ended.
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

    /// Looks at the machine: nodes, subscriptions, losses, counters.
    pub fn read<T>(&self, look: impl FnOnce(&Xapp) -> T) -> T {
        self.driver.read(look)
    }

    /// The next event. Cancel-safe.
    pub async fn next(&self) -> XappEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// The next event, if one is there already.
    pub fn try_next(&self) -> Option<XappEvent> {
        let event = self.mail.own.take();
        self.taken();
        event
    }

    /// Events other than indications that are lost because nobody took them.
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

    /// Something was taken: reads on if it had stopped for that.
    pub(crate) fn taken(&self) {
        if self.mail.may_resume() {
            self.driver.resume();
        }
    }

    /// Reads on until `answer` is there.
    async fn answer<T>(&self, answer: impl Future<Output = T>) -> T {
        let _awaited = Awaited::begin(&self.mail.awaited);
        self.taken();
        answer.await
    }

    /// As [`subscribe_all_raw`](Self::subscribe_all_raw), with a queue of its own for the indications.
    pub(crate) fn subscribe_routed(
        &self,
        function: &str,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<(StandingHandle, Rc<Inbox<XappEvent>>), SubscribeError> {
        let standing = self.subscribe_all_raw(function, event_trigger, actions)?;
        Ok((standing, self.route(standing.into())))
    }

    /// As [`request_subscription`](Self::request_subscription), with a queue of its own for the indications.
    pub(crate) fn subscribe_one_routed(
        &self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<RoutedSubscription, SubscribeError> {
        self.act(|xapp, _| {
            let handle = xapp.subscribe(node, function, event_trigger, actions)?;
            let outcome = Box::pin(self.mail.subscriptions.wait(handle));
            Ok(RoutedSubscription { handle, inbox: self.route(handle.into()), outcome })
        })
    }

    /// Waits until a subscription is admitted or refused.
    pub(crate) async fn admitted(
        &self,
        outcome: impl Future<Output = Option<Result<Subscription, SubscriptionError>>>,
    ) -> Result<Subscription, SubscriptionError> {
        self.answer(outcome).await.unwrap_or(Err(SubscriptionError::Ended))
    }

    fn route(&self, of: Route) -> Rc<Inbox<XappEvent>> {
        let inbox = Rc::new(Inbox::new(is_indication));
        self.mail.routes.borrow_mut().push((of, Rc::clone(&inbox)));
        inbox
    }

    pub(crate) fn unroute(&self, route: Route) {
        self.mail.routes.borrow_mut().retain(|(of, _)| *of != route);
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

/// As [`XappHandle::next`]; it does not end.
impl Stream for XappHandle {
    type Item = XappEvent;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<XappEvent>> {
        self.poll_event(cx).map(Some)
    }
}

/// A subscription that was admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Names it in events.
    pub handle: SubscriptionHandle,
    /// Actions that were not admitted.
    pub not_admitted: Vec<ActionFailed>,
}

/// Why an xApp has no RIC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XappConnectError {
    /// That is no address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no connection.
    #[error("no connection to the RIC: {0}")]
    Unreachable(DisconnectReason),
    /// The RIC does not take the xApp.
    #[error("the RIC refuses the xApp{}", because(*.cause))]
    Refused {
        /// Why, if it said so.
        cause: Option<Cause>,
    },
}

/// Why there is no subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// It cannot be asked for.
    #[error(transparent)]
    Impossible(#[from] SubscribeError),
    /// It came to nothing, for now: [`XappHandle::unsubscribe`] keeps it from being tried again when its node is
    /// announced anew.
    #[error("the subscription failed: {failure}")]
    Failed {
        /// Which.
        handle: SubscriptionHandle,
        /// Why.
        failure: Failure,
    },
    /// It was ended before it was admitted.
    #[error("the subscription was ended before it was admitted")]
    Ended,
}

/// Why a control was not executed, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlFailure {
    /// It cannot be sent.
    #[error(transparent)]
    Impossible(#[from] ControlError),
    /// It came to nothing, or nobody knows.
    #[error("the control failed: {failure}")]
    Failed {
        /// Why.
        failure: Failure,
        /// Control outcome of the service model.
        outcome: Option<Bytes>,
    },
    /// The xApp ended before the answer came.
    #[error("the xApp ended before the answer came")]
    Ended,
}

/// A requested subscription with a separate queue for its indications.
pub(crate) struct RoutedSubscription {
    pub(crate) handle: SubscriptionHandle,
    pub(crate) inbox: Rc<Inbox<XappEvent>>,
    /// How the request ended; registered before the request left.
    pub(crate) outcome: SubscriptionOutcome,
}

/// Resolves when a subscription was answered; `None`: the xApp ended before.
pub(crate) type SubscriptionOutcome =
    Pin<Box<dyn Future<Output = Option<Result<Subscription, SubscriptionError>>>>>;

fn is_indication(event: &XappEvent) -> bool {
    matches!(event, XappEvent::Indication { .. })
}

/// Whose indications have a queue of their own.
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

/// Where the machine's events go: to who awaits an answer, to the queue that a subscription has, else to the handle's own
/// queue.
struct Mail {
    own: Inbox<XappEvent>,
    routes: RefCell<Vec<(Route, Rc<Inbox<XappEvent>>)>>,
    subscriptions: Waiting<SubscriptionHandle, Result<Subscription, SubscriptionError>>,
    controls: Waiting<ControlHandle, Result<Option<Bytes>, ControlFailure>>,
    /// Answers that are awaited now.
    awaited: Cell<usize>,
    paused: Cell<bool>,
}

impl Default for Mail {
    fn default() -> Self {
        Self {
            own: Inbox::new(is_indication),
            routes: RefCell::default(),
            subscriptions: Waiting::default(),
            controls: Waiting::default(),
            awaited: Cell::new(0),
            paused: Cell::new(false),
        }
    }
}

impl Mail {
    fn deliver(&self, event: XappEvent) -> Reading {
        if let XappEvent::Indication { handle, standing, .. } = &event {
            let routes = self.routes.borrow();
            let of = standing.map_or_else(|| Route::from(*handle), Route::from);
            let route = routes.iter().find(|(it, _)| *it == of);
            route.map_or(&self.own, |(_, inbox)| inbox).push(event);
        } else if let Some(event) = self.answered(event) {
            self.own.push(event);
        }
        let pauses = self.awaited.get() == 0 && self.any(|inbox| inbox.reading() == Reading::Pauses);
        self.paused.set(pauses);
        if pauses { Reading::Pauses } else { Reading::GoesOn }
    }

    /// Gives an answer to who awaits it; else gives it back.
    fn answered(&self, event: XappEvent) -> Option<XappEvent> {
        match event {
            XappEvent::Subscribed { handle, not_admitted, .. } if self.subscriptions.is_awaited(handle) => {
                self.subscriptions.tell(handle, Ok(Subscription { handle, not_admitted }));
            }
            XappEvent::SubscriptionFailed { handle, failure, .. }
                if self.subscriptions.is_awaited(handle) =>
            {
                self.subscriptions.tell(handle, Err(SubscriptionError::Failed { handle, failure }));
            }
            XappEvent::Unsubscribed { handle, .. } if self.subscriptions.is_awaited(handle) => {
                self.subscriptions.tell(handle, Err(SubscriptionError::Ended));
            }
            XappEvent::ControlAcknowledged { handle, outcome } if self.controls.is_awaited(handle) => {
                self.controls.tell(handle, Ok(outcome));
            }
            XappEvent::ControlFailed { handle, failure, outcome } if self.controls.is_awaited(handle) => {
                self.controls.tell(handle, Err(ControlFailure::Failed { failure, outcome }));
            }
            other => return Some(other),
        }
        None
    }

    fn any(&self, is: impl Fn(&Inbox<XappEvent>) -> bool) -> bool {
        is(&self.own) || self.routes.borrow().iter().any(|(_, inbox)| is(inbox))
    }

    /// Whether reading has stopped and may go on.
    fn may_resume(&self) -> bool {
        let resumes = self.paused.get() && (self.awaited.get() > 0 || !self.any(|inbox| !inbox.is_low()));
        self.paused.set(self.paused.get() && !resumes);
        resumes
    }
}

/// One more answer is awaited, as long as this lives.
struct Awaited<'a>(&'a Cell<usize>);

impl<'a> Awaited<'a> {
    fn begin(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
