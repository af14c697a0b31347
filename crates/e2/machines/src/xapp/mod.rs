//! The xApp: E42 client of a RIC (`docs/reference/e42.md`).
//!
//! Subscriptions are restored after lost connections, restarts of the RIC, and reconnects of nodes.
//!
//! | file | contents |
//! |---|---|
//! | `session` | connecting, setup, disconnects, message dispatch |
//! | `dialect` | differences between RICs, in one table |
//! | `nodes` | nodes announced by the RIC; standing subscriptions |
//! | `poll` | FlexRIC's dialect: repeated setups |
//! | `subscriptions` | state of each subscription |
//! | `gaps` | lost and repeated indications |
//! | `requests` | request ids, timeouts, responses |
mod config;
mod dialect;
mod gaps;
mod io;
mod machine;
mod nodes;
mod orders;
mod plan;
mod poll;
mod requests;
mod session;
mod subscriptions;

pub use config::*;
pub use dialect::{Dialect, UnknownDialect};
pub use io::*;
pub use nodes::NodeInfo;
pub use plan::{KpmPlan, PlanError, Planned, Planner};

use self::gaps::Gaps;
use self::nodes::Node;
use self::poll::Poll;
use self::requests::{Requests, Target};
use self::subscriptions::{Phase, Subscriptions};
use crate::backoff::{Backoff, seeded};
use crate::{Frame, Outbox, OutboxCounters, Time};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42::{self, ConnectedNode, XappId};
use ranlab_e2_codec::flat::{self, Coding};
use ranlab_machine::Random;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A RAN function of a node. Prefer an OID, because each node chooses its own ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionRef {
    /// Selects by id.
    Id(RanFunctionId),
    /// Selects by the OID of the service model.
    Oid(Arc<str>),
}

impl From<RanFunctionId> for FunctionRef {
    fn from(id: RanFunctionId) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for FunctionRef {
    fn from(oid: &str) -> Self {
        Self::Oid(oid.into())
    }
}

/// State of the connection.
#[derive(Debug, Clone, Copy)]
enum State {
    Down { retry_at: Time },
    Connecting { deadline: Time },
    SettingUp { deadline: Time },
    Waiting { until: Time },
    Up,
}

#[derive(Debug)]
struct Standing {
    function: FunctionRef,
    wanted: NodeSubscriptions,
}

/// The subscriptions that a standing subscription creates at a node.
#[derive(Debug)]
enum NodeSubscriptions {
    /// The same subscription at each node, as far as the service model allows.
    Same(RicSubscriptionDetails),
    /// Created by a planner from the function of the node.
    Planned(Arc<dyn Planner>),
}

/// E42 client of an xApp. It is a sans-I/O state machine; see the crate documentation. It connects at the first
/// [`handle`](Self::handle).
#[derive(Debug)]
pub struct Xapp {
    config: XappConfig,
    /// Configured or detected dialect.
    dialect: Dialect,
    now: Time,
    state: State,
    /// Index of the current RIC address.
    place: usize,
    /// Number of RICs in a row that refused the setup.
    refused: usize,
    xapp_id: XappId,
    outbox: Outbox,
    /// Whether a `Transmit` output is already queued.
    announced: bool,
    outputs: VecDeque<XappOutput>,
    nodes: BTreeMap<GlobalE2NodeId, Node>,
    /// Number of node announcements received.
    announcements: u64,
    standing: BTreeMap<StandingHandle, Standing>,
    last_standing: u64,
    subscriptions: Subscriptions,
    requests: Requests,
    counters: XappCounters,
    backoff: Backoff,
    random: Random,
    /// Earliest time of the next setup (time to wait of the RIC).
    not_before: Time,
    /// FlexRIC's dialect: state of the repeated setups.
    poll: Poll,
    /// FlexRIC's dialect: time at which a first setup without a response is repeated once.
    setup_push: Option<Time>,
    /// FlexRIC's dialect: controls queued until the outstanding request completes.
    held: VecDeque<(ControlHandle, Bytes)>,
    /// Time at which nodes that were not listed again are removed.
    relisted_by: Option<Time>,
    /// Reason to close the connection at the next opportunity.
    doomed: Option<CloseReason>,
}

impl Xapp {
    /// Creates an xApp without subscriptions.
    pub fn new(config: XappConfig) -> Self {
        Self {
            dialect: config.dialect,
            now: Time::ZERO,
            state: State::Down { retry_at: Time::ZERO },
            place: 0,
            refused: 0,
            xapp_id: 0,
            outbox: Outbox::new(config.limits.outbox),
            announced: false,
            outputs: VecDeque::new(),
            nodes: BTreeMap::new(),
            announcements: 0,
            standing: BTreeMap::new(),
            last_standing: 0,
            subscriptions: Subscriptions::default(),
            requests: Requests::default(),
            counters: XappCounters::default(),
            backoff: Backoff::new(config.timers.reconnect_min, config.timers.reconnect_max),
            random: seeded(config.seed),
            not_before: Time::ZERO,
            poll: Poll::default(),
            setup_push: None,
            held: VecDeque::new(),
            relisted_by: None,
            doomed: None,
            config,
        }
    }

    /// Subscribes at a node, immediately or when the RIC announces the node. The next [`handle`](Self::handle) sends
    /// the request; the result is an event.
    pub fn subscribe(
        &mut self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<SubscriptionHandle, SubscribeError> {
        let function = function.into();
        let details = self.checked(event_trigger, actions)?;
        let limit = self.config.limits.subscriptions.min(60_000);
        if self.subscriptions.len() >= limit {
            return Err(SubscribeError::TooMany(limit));
        }
        if self.nodes.get(&node).is_some_and(|n| !n.stale && n.info.find(&function).is_none()) {
            return Err(SubscribeError::UnknownFunction);
        }
        Ok(self.subscriptions.add(node, function, details, None))
    }

    /// Subscribes at every node that offers a function, including nodes that are announced later.
    pub fn subscribe_all(
        &mut self,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<StandingHandle, SubscribeError> {
        let wanted = NodeSubscriptions::Same(self.checked(event_trigger, actions)?);
        self.stand(function.into(), wanted)
    }

    /// Subscribes like [`subscribe_all`](Self::subscribe_all), with subscriptions that a planner creates for each
    /// node. [`XappEvent::NotOffered`] reports a node that does not offer the requested data.
    pub fn subscribe_all_planned(
        &mut self,
        function: impl Into<FunctionRef>,
        planner: Arc<dyn Planner>,
    ) -> Result<StandingHandle, SubscribeError> {
        self.stand(function.into(), NodeSubscriptions::Planned(planner))
    }

    fn stand(
        &mut self,
        function: FunctionRef,
        wanted: NodeSubscriptions,
    ) -> Result<StandingHandle, SubscribeError> {
        if self.standing.len() >= self.config.limits.standing {
            return Err(SubscribeError::TooMany(self.config.limits.standing));
        }
        self.last_standing += 1;
        let handle = StandingHandle(self.last_standing);
        self.standing.insert(handle, Standing { function, wanted });
        let nodes: Vec<_> = self.nodes.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.stand_at(handle, node));
        Ok(handle)
    }

    /// Returns the details of a subscription if they can be encoded.
    fn checked(
        &self,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<RicSubscriptionDetails, SubscribeError> {
        let details = RicSubscriptionDetails { event_trigger, actions };
        let request_id = RicRequestId::default();
        let function_id = 0;
        let start_time = None;
        let end_time = None;
        let request = RicSubscriptionRequest { request_id, function_id, details, start_time, end_time };
        let message = Message::RicSubscriptionRequest(request);
        encode(&message, self.config.version)?;
        match message {
            Message::RicSubscriptionRequest(request) => Ok(request.details),
            // Cannot occur: the message was constructed above.
            _ => Err(SubscribeError::UnknownFunction),
        }
    }

    /// Ends a subscription. No further indications are passed on, and [`XappEvent::Unsubscribed`] follows. Unknown
    /// handles are ignored.
    pub fn unsubscribe(&mut self, handle: SubscriptionHandle) {
        let Some(s) = self.subscriptions.get_mut(handle) else { return };
        s.unwanted = true;
        let node = s.node;
        match s.phase {
            Phase::Idle => {
                self.subscriptions.remove(handle);
                self.event(XappEvent::Unsubscribed { handle, node });
            }
            Phase::Active | Phase::Requested { .. } => self.subscriptions.want(handle),
            Phase::Deleting { .. } => {}
        }
    }

    /// Ends a standing subscription and all subscriptions that it created.
    pub fn unsubscribe_all(&mut self, standing: StandingHandle) {
        self.standing.remove(&standing);
        let made = self.subscriptions.iter().filter(|(_, s)| s.standing == Some(standing));
        let made: Vec<_> = made.map(|(handle, _)| handle).collect();
        made.into_iter().for_each(|handle| self.unsubscribe(handle));
    }

    /// Ends all subscriptions; an [`XappEvent::Unsubscribed`] follows for each. Call this before disconnecting from a
    /// FlexRIC, which may keep the subscriptions of a disconnected xApp.
    pub fn unsubscribe_everything(&mut self, now: Time) {
        self.advance(now);
        self.standing.clear();
        self.poll.retire(self.now);
        let all: Vec<_> = self.subscriptions.iter().map(|(handle, _)| handle).collect();
        all.into_iter().for_each(|handle| self.unsubscribe(handle));
    }

    /// Sends a control. Its timeout starts at `now`. With `ack`, [`XappEvent::ControlAcknowledged`] or
    /// [`XappEvent::ControlFailed`] follows; without, only a failure is reported.
    pub fn control(
        &mut self,
        now: Time,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
        ack: bool,
    ) -> Result<ControlHandle, ControlError> {
        self.answer(now, node, function, None, header, message, ack)
    }

    /// Sends a control that responds to an insert, with its call process id.
    #[allow(clippy::too_many_arguments)] // one per field of a control request
    pub fn answer(
        &mut self,
        now: Time,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        call_process_id: Option<Bytes>,
        header: Bytes,
        message: Bytes,
        ack: bool,
    ) -> Result<ControlHandle, ControlError> {
        self.advance(now);
        if !matches!(self.state, State::Up) {
            return Err(ControlError::NotReady);
        }
        let known = self.nodes.get(&node).filter(|n| !n.stale).ok_or(ControlError::UnknownNode)?;
        let function_id = known.info.find(&function.into()).ok_or(ControlError::UnknownFunction)?;
        let limit = self.config.limits.controls;
        // Without an acknowledgement the next queued request could not start, and FlexRIC agents reject controls
        // without one.
        let answered = ack || self.is_one_at_a_time();
        if answered && self.requests.awaited() >= limit {
            return Err(ControlError::TooMany(limit));
        }
        let handle = self.requests.next_control();
        let target = Target::Control(handle);
        let id = self.requests.take_id(target).ok_or(ControlError::TooMany(limit))?;
        let request = e42::Message::ControlRequest(e42::ControlRequest {
            xapp_id: self.xapp_id,
            node_id: node,
            request_id: self.requests.wire_id(id),
            function_id,
            call_process_id,
            header,
            message,
            ack_request: Some(if answered { RicControlAckRequest::Ack } else { RicControlAckRequest::NoAck }),
        });
        match e42::encode(&request, self.config.version) {
            Ok(pdu) if !self.may_ask() => self.held.push_back((handle, pdu.into())),
            Ok(pdu) => self.ask(pdu.into()),
            Err(e) => {
                self.requests.free(id, target);
                return Err(e.into());
            }
        }
        let deadline = answered.then(|| self.now + self.config.timers.request_timeout);
        self.requests.control_sent(id, handle, deadline, ack);
        self.counters.controls += 1;
        Ok(handle)
    }

    /// Processes an input.
    pub fn handle(&mut self, now: Time, input: XappInput) {
        self.advance(now);
        match input {
            XappInput::Connected => self.on_connected(),
            XappInput::Received { pdu } => self.on_received(&pdu),
            XappInput::Disconnected { .. } if matches!(self.state, State::Down { .. }) => {}
            XappInput::Disconnected { why } => self.connection_lost(DisconnectReason::Lost(why)),
            XappInput::Wake => {}
        }
        self.expire();
        self.pump();
        if let Some(reason) = self.doomed.take() {
            self.take_down(reason);
        }
    }

    /// Advances the time of the machine. Every call that starts a timeout does this first, because the last
    /// [`handle`](Self::handle) may be long ago.
    fn advance(&mut self, now: Time) {
        self.now = now.max(self.now);
    }

    /// Returns the next output. Call it until it returns `None`.
    pub fn poll(&mut self) -> Option<XappOutput> {
        let output = self.outputs.pop_front()?;
        if output == XappOutput::Transmit {
            self.announced = false;
        }
        Some(output)
    }

    /// Returns the next frame for the RIC.
    pub fn transmit(&mut self, now: Time) -> Option<Frame> {
        self.outbox.pop(now)
    }

    /// Reports that the transport accepts no more data for now. Queued frames are copied to their own memory.
    pub fn transport_full(&mut self) {
        self.outbox.detach();
    }

    /// Returns the latest time for the next call of [`handle`](Self::handle). A time in the past means immediately.
    pub fn wake_at(&self) -> Option<Time> {
        match self.state {
            State::Down { retry_at: at }
            | State::Connecting { deadline: at }
            | State::Waiting { until: at } => Some(at),
            State::SettingUp { deadline: at } => Some(self.setup_push.map_or(at, |push| push.min(at))),
            State::Up if self.doomed.is_some() => Some(Time::ZERO),
            State::Up if self.has_turn() => Some(Time::ZERO),
            State::Up => {
                let own = [self.poll.wake_at(self.is_owed()), self.relisted_by];
                let deadlines = [self.subscriptions.next_deadline(), self.requests.next_deadline()];
                own.into_iter().chain(deadlines).flatten().min()
            }
        }
    }

    /// Returns whether the xApp is connected and the RIC has accepted its setup.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Up)
    }

    /// Returns the nodes that the RIC announced.
    pub fn nodes(&self) -> impl Iterator<Item = (&GlobalE2NodeId, &NodeInfo)> {
        self.nodes.iter().filter(|(_, n)| !n.stale).map(|(id, n)| (id, &n.info))
    }

    /// Returns the announced data of a node.
    pub fn node(&self, node: &GlobalE2NodeId) -> Option<&NodeInfo> {
        self.nodes.get(node).filter(|n| !n.stale).map(|n| &n.info)
    }

    /// Returns the number of active subscriptions and of all subscriptions.
    pub fn subscriptions(&self) -> (usize, usize) {
        let active = self.subscriptions.iter().filter(|(_, s)| s.phase == Phase::Active).count();
        (active, self.subscriptions.len())
    }

    /// Returns the node of a subscription.
    pub fn node_of(&self, handle: SubscriptionHandle) -> Option<GlobalE2NodeId> {
        self.subscriptions.get(handle).map(|s| s.node)
    }

    /// Returns the definition of an action of a subscription.
    pub fn action_definition(&self, handle: SubscriptionHandle, action: RicActionId) -> Option<&Bytes> {
        let actions = &self.subscriptions.get(handle)?.details.actions;
        actions.iter().find(|it| it.id == action)?.definition.as_ref()
    }

    /// Returns the number of lost indications of a subscription, counted by gaps in their sequence numbers. Returns
    /// `None` if the agent sends no sequence numbers or the subscription does not exist.
    pub fn lost(&self, handle: SubscriptionHandle) -> Option<u64> {
        self.subscriptions.get(handle).and_then(|s| s.gaps.lost())
    }

    /// Returns the number of lost indications over all current subscriptions, or `None` if it is unknown for one of
    /// them.
    pub fn lost_total(&self) -> Option<u64> {
        self.subscriptions.iter().map(|(_, s)| s.gaps.lost()).sum()
    }

    /// Returns the number of indications with a repeated sequence number over all current subscriptions.
    pub fn repeated_total(&self) -> u64 {
        self.subscriptions.iter().map(|(_, s)| s.gaps.repeated()).sum()
    }

    /// Returns the counters.
    pub fn counters(&self) -> XappCounters {
        self.counters
    }

    /// Returns the counters of the messages sent to the RIC.
    pub fn outbox_counters(&self) -> OutboxCounters {
        self.outbox.counters()
    }

    fn event(&mut self, event: XappEvent) {
        self.outputs.push_back(XappOutput::Event(event));
    }
}
