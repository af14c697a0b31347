//! The xApp: E42 towards a RIC (`docs/reference/e42.md`).
//!
//! What is subscribed stays subscribed: through lost connections, restarts of the RIC, and nodes that go and come.
//!
//! | file | room |
//! |---|---|
//! | `session` | connecting, the setup, losing it, messages by kind |
//! | `dialect` | what differs between RICs, in one table |
//! | `nodes` | the nodes that the RIC tells of; standing subscriptions |
//! | `poll` | FlexRIC's dialect: repeating the setup to learn of nodes |
//! | `subscriptions` | how far each subscription has come; gaps in the sequence numbers |
//! | `requests` | request ids, time-outs, answers |
mod config;
mod dialect;
mod io;
mod nodes;
mod plan;
mod poll;
mod requests;
mod session;
mod subscriptions;

pub use config::*;
pub use dialect::{Dialect, UnknownDialect};
pub use io::*;
pub use nodes::NodeInfo;
pub use plan::{KpmPlan, PlanError, Planner};

use self::nodes::Node;
use self::poll::Poll;
use self::requests::{Requests, Target};
use self::subscriptions::{Phase, Subscriptions};
use crate::backoff::{Backoff, Random};
use crate::{Frame, Outbox, OutboxCounters, Time};
use bytes::Bytes;
use ranlab_wire::e2ap::*;
use ranlab_wire::e42::{self, ConnectedNode, XappId};
use ranlab_wire::flat::{self, Coding};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A RAN function of a node. Ids are the node's choice: better an OID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionRef {
    /// By its id.
    Id(RanFunctionId),
    /// By the OID of its service model.
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

/// Where the connection stands.
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
    wanted: Wanted,
}

/// What a standing subscription makes at a node.
#[derive(Debug)]
enum Wanted {
    /// The same at each node, as far as the model allows it.
    Same(RicSubscriptionDetails),
    /// What a planner makes of the node's function.
    Planned(Arc<dyn Planner>),
}

/// E42 from an xApp: a pure machine, see the crate's contract. It connects when it is first handled.
#[derive(Debug)]
pub struct Xapp {
    config: XappConfig,
    /// What the config says, or what the RIC showed.
    dialect: Dialect,
    now: Time,
    state: State,
    /// At which of its RICs it is, 0: the first.
    place: usize,
    /// RICs that have refused the setup, one after the other.
    refused: usize,
    xapp_id: XappId,
    outbox: Outbox,
    /// Whether `Transmit` is among the outputs already.
    announced: bool,
    outputs: VecDeque<XappOutput>,
    nodes: BTreeMap<GlobalE2NodeId, Node>,
    /// How often a node was announced.
    announcements: u64,
    standing: BTreeMap<StandingHandle, Standing>,
    last_standing: u64,
    subscriptions: Subscriptions,
    requests: Requests,
    counters: XappCounters,
    backoff: Backoff,
    random: Random,
    /// No setup before: the RIC's time to wait.
    not_before: Time,
    /// FlexRIC's dialect: repeating the setup.
    poll: Poll,
    /// FlexRIC's dialect: when a first setup without an answer is sent once more.
    setup_push: Option<Time>,
    /// FlexRIC's dialect: controls that wait for their turn.
    held: VecDeque<(ControlHandle, Bytes)>,
    /// When nodes that were not listed again are given up.
    relisted_by: Option<Time>,
    /// The connection is of no use any more.
    doomed: Option<CloseReason>,
}

impl Xapp {
    /// An xApp without subscriptions.
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
            random: Random::new(config.seed),
            not_before: Time::ZERO,
            poll: Poll::default(),
            setup_push: None,
            held: VecDeque::new(),
            relisted_by: None,
            doomed: None,
            config,
        }
    }

    /// Subscribes at a node, now or when the RIC tells of it. The request goes out at the next
    /// [`handle`](Self::handle); the outcome is an event.
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

    /// Subscribes at every node that offers a function, those that come later included.
    pub fn subscribe_all(
        &mut self,
        function: impl Into<FunctionRef>,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<StandingHandle, SubscribeError> {
        let wanted = Wanted::Same(self.checked(event_trigger, actions)?);
        self.stand(function.into(), wanted)
    }

    /// As [`subscribe_all`](Self::subscribe_all), with subscriptions that a planner makes for each node. A node that does
    /// not offer what is wanted is reported by [`XappEvent::NotOffered`].
    pub fn subscribe_all_planned(
        &mut self,
        function: impl Into<FunctionRef>,
        planner: Arc<dyn Planner>,
    ) -> Result<StandingHandle, SubscribeError> {
        self.stand(function.into(), Wanted::Planned(planner))
    }

    fn stand(&mut self, function: FunctionRef, wanted: Wanted) -> Result<StandingHandle, SubscribeError> {
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

    /// What a subscription asks for, if it can be encoded.
    fn checked(
        &self,
        event_trigger: Bytes,
        actions: Vec<ActionToBeSetup>,
    ) -> Result<RicSubscriptionDetails, SubscribeError> {
        let details = RicSubscriptionDetails { event_trigger, actions };
        let (request_id, function_id) = (RicRequestId::default(), 0);
        let (start_time, end_time) = (None, None);
        let request = RicSubscriptionRequest { request_id, function_id, details, start_time, end_time };
        let message = Message::RicSubscriptionRequest(request);
        encode(&message, self.config.version)?;
        match message {
            Message::RicSubscriptionRequest(request) => Ok(request.details),
            // It is what it was made of two lines above.
            _ => Err(SubscribeError::UnknownFunction),
        }
    }

    /// Ends a subscription: none of its indications is handed out any more, and [`XappEvent::Unsubscribed`] follows. Unknown
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

    /// Ends a standing subscription and all that it made.
    pub fn unsubscribe_all(&mut self, standing: StandingHandle) {
        self.standing.remove(&standing);
        let made = self.subscriptions.iter().filter(|(_, s)| s.standing == Some(standing));
        let made: Vec<_> = made.map(|(handle, _)| handle).collect();
        made.into_iter().for_each(|handle| self.unsubscribe(handle));
    }

    /// Ends everything that is subscribed; an [`XappEvent::Unsubscribed`] follows for each. A RIC like FlexRIC's may not
    /// clean up after an xApp that just leaves.
    pub fn unsubscribe_everything(&mut self, now: Time) {
        self.advance(now);
        self.standing.clear();
        self.poll.retire(self.now);
        let all: Vec<_> = self.subscriptions.iter().map(|(handle, _)| handle).collect();
        all.into_iter().for_each(|handle| self.unsubscribe(handle));
    }

    /// Sends a control at `now`, from when its time-out counts. With `ack`, [`XappEvent::ControlAcknowledged`] or
    /// [`XappEvent::ControlFailed`] follows; without, at most the latter.
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

    /// As [`control`](Self::control), in answer to an insert: with its call process id.
    #[allow(clippy::too_many_arguments)] // The fields of a control request.
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
        // The acknowledgement tells that the next has its turn, and FlexRIC's agents take no control without.
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

    /// Tells the xApp what happened.
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

    /// Moves the machine's time forward. Every call that starts a time-out does this before anything else: the time of the
    /// last [`handle`](Self::handle) may be long past.
    fn advance(&mut self, now: Time) {
        self.now = now.max(self.now);
    }

    /// What follows; to be called until `None`.
    pub fn poll(&mut self) -> Option<XappOutput> {
        let output = self.outputs.pop_front()?;
        if output == XappOutput::Transmit {
            self.announced = false;
        }
        Some(output)
    }

    /// The next frame for the RIC.
    pub fn transmit(&mut self, now: Time) -> Option<Frame> {
        self.outbox.pop(now)
    }

    /// The transport takes no more for now: what stays gets octets of its own.
    pub fn transport_full(&mut self) {
        self.outbox.detach();
    }

    /// When [`handle`](Self::handle) must be called at the latest; a time that has passed means now.
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
                let asked = [self.subscriptions.next_deadline(), self.requests.next_deadline()];
                own.into_iter().chain(asked).flatten().min()
            }
        }
    }

    /// Whether the RIC accepted the xApp and is there.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Up)
    }

    /// The nodes that the RIC told of.
    pub fn nodes(&self) -> impl Iterator<Item = (&GlobalE2NodeId, &NodeInfo)> {
        self.nodes.iter().filter(|(_, n)| !n.stale).map(|(id, n)| (id, &n.info))
    }

    /// What the RIC told of a node.
    pub fn node(&self, node: &GlobalE2NodeId) -> Option<&NodeInfo> {
        self.nodes.get(node).filter(|n| !n.stale).map(|n| &n.info)
    }

    /// Subscriptions: how many are active, and how many there are.
    pub fn subscriptions(&self) -> (usize, usize) {
        let active = self.subscriptions.iter().filter(|(_, s)| s.phase == Phase::Active).count();
        (active, self.subscriptions.len())
    }

    /// The node of a subscription.
    pub fn node_of(&self, handle: SubscriptionHandle) -> Option<GlobalE2NodeId> {
        self.subscriptions.get(handle).map(|s| s.node)
    }

    /// The action definition of a subscription.
    pub fn action_definition(&self, handle: SubscriptionHandle, action: RicActionId) -> Option<&Bytes> {
        let actions = &self.subscriptions.get(handle)?.details.actions;
        actions.iter().find(|it| it.id == action)?.definition.as_ref()
    }

    /// Indications of a subscription that are missing, by the gaps in their sequence numbers; `None` if the agent gives
    /// none, or if there is no such subscription.
    pub fn lost(&self, handle: SubscriptionHandle) -> Option<u64> {
        self.subscriptions.get(handle).and_then(|s| s.gaps.lost())
    }

    /// As [`lost`](Self::lost), of all subscriptions there are; `None` if one is unknown.
    pub fn lost_total(&self) -> Option<u64> {
        self.subscriptions.iter().map(|(_, s)| s.gaps.lost()).sum()
    }

    /// Indications whose sequence number came before, of all subscriptions there are.
    pub fn repeated_total(&self) -> u64 {
        self.subscriptions.iter().map(|(_, s)| s.gaps.repeated()).sum()
    }

    /// What the xApp did.
    pub fn counters(&self) -> XappCounters {
        self.counters
    }

    /// What went towards the RIC.
    pub fn outbox_counters(&self) -> OutboxCounters {
        self.outbox.counters()
    }

    fn event(&mut self, event: XappEvent) {
        self.outputs.push_back(XappOutput::Event(event));
    }
}
