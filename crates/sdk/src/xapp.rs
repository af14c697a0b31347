//! An xApp on a socket.
use crate::driver::{Action, Driver, Machine};
use crate::events::Events;
use crate::transport::SocketOptions;
use bytes::Bytes;
use ranlab_e2::xapp::{
    ControlError, ControlHandle, FunctionRef, StandingHandle, SubscribeError, SubscriptionHandle, Xapp,
    XappConfig, XappEvent, XappInput, XappOutput,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use ranlab_wire::e2ap::{ActionToBeSetup, GlobalE2NodeId};
use std::rc::Rc;
use std::time::Duration;

impl Machine for Xapp {
    type Key = ();
    type Event = XappEvent;

    fn received(&mut self, now: Time, (): (), pdu: Bytes) {
        self.handle(now, XappInput::Received { pdu });
    }
    fn disconnected(&mut self, now: Time, (): (), why: LinkLoss) {
        tracing::debug!(%why, "disconnected from the RIC");
        self.handle(now, XappInput::Disconnected);
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
/// Who does not take events with [`next`](Self::next) stops the reading, so nothing piles up here; the RIC then drops the
/// oldest indications, visible as [`Xapp::lost`].
///
/// Lives on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
#[derive(Clone)]
pub struct XappHandle {
    driver: Rc<Driver<Xapp>>,
    events: Events<XappEvent>,
}

impl XappHandle {
    /// Starts an xApp; it connects by itself.
    pub fn start(config: XappConfig, options: SocketOptions) -> Self {
        let events = Events::default();
        let sink: Events<XappEvent> = events.clone();
        let max_pdu = config.limits.pdu_bytes;
        let xapp = Xapp::new(config);
        let driver = Driver::start(xapp, options, max_pdu, move |event| sink.push(event));
        driver.with(|xapp, now| xapp.handle(now, XappInput::Wake));
        Self { driver: Rc::new(driver), events }
    }

    /// Subscribes at a node; the outcome is an event.
    pub fn subscribe(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<SubscriptionHandle, SubscribeError> {
        self.act(|xapp| xapp.subscribe(node, function, event_trigger, actions))
    }

    /// Subscribes at every node that offers a function, those that come later included.
    pub fn subscribe_all(
        &self,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<StandingHandle, SubscribeError> {
        self.act(|xapp| xapp.subscribe_all(function, event_trigger, actions))
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, handle: SubscriptionHandle) {
        self.act(|xapp| xapp.unsubscribe(handle));
    }

    /// Ends all subscriptions and waits for the RIC's answers, at most so long; how many are left. Events that come
    /// meanwhile are lost.
    pub async fn leave(&self, patience: Duration) -> usize {
        self.act(Xapp::unsubscribe_everything);
        let left = || self.read(|xapp| xapp.subscriptions().1);
        let gone = async {
            while left() > 0 {
                self.next().await;
            }
        };
        // What is left is told by the number.
        let _ = tokio::time::timeout(patience, gone).await;
        left()
    }

    /// Sends a control; with `ack`, an event tells how it ended.
    pub fn control(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
        ack: bool,
    ) -> Result<ControlHandle, ControlError> {
        self.act(|xapp| xapp.control(node, function, header, message, ack))
    }

    /// Looks at the machine: nodes, subscriptions, losses, counters.
    pub fn read<T>(&self, look: impl FnOnce(&Xapp) -> T) -> T {
        self.driver.read(look)
    }

    /// The next event. Cancel-safe.
    pub async fn next(&self) -> XappEvent {
        loop {
            if let Some(event) = self.try_next() {
                return event;
            }
            self.events.ready().await;
        }
    }

    /// The next event, if one is there already.
    pub fn try_next(&self) -> Option<XappEvent> {
        let event = self.events.take();
        if self.events.may_resume() {
            self.events.resumed();
            self.driver.resume();
        }
        event
    }

    fn act<T>(&self, change: impl FnOnce(&mut Xapp) -> T) -> T {
        self.driver.with(|xapp, now| {
            let value = change(xapp);
            xapp.handle(now, XappInput::Wake);
            value
        })
    }
}
