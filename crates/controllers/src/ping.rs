//! Round trips through a node's HW function, on the driver's clock.
use crate::lock;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{ControlDetails, IApp, IAppInput, IAppOutbox, NodeInfo, SubscriptionHandle};
use ranlab_wire::e2ap::{
    ActionToBeSetup, GlobalE2NodeId, RanFunctionId, RicControlAckRequest, RicSubscriptionDetails,
};
use ranlab_wire::e2sm::hw::{self, HwTrigger};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How to ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingConfig {
    /// Octets of payload, at most [`hw::PAYLOAD_SIZE_MAX`].
    pub size: usize,
    /// How many.
    pub count: u32,
    /// Time between two of them; zero: each follows the echo of the one before.
    pub interval: Duration,
    /// When an echo is given up.
    pub timeout: Duration,
}

impl Default for PingConfig {
    /// 1,000 pings of 1500 octets, one after the other.
    fn default() -> Self {
        Self { size: 1_500, count: 1_000, interval: Duration::ZERO, timeout: Duration::from_secs(1) }
    }
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PingResult {
    /// Pings sent.
    pub sent: u32,
    /// Round trip of each one that came back, in order.
    pub rtts: Vec<Duration>,
    /// Whether no more will follow.
    pub done: bool,
}

/// Reads the results of a [`Ping`].
#[derive(Debug, Clone, Default)]
pub struct PingHandle(Arc<Mutex<PingResult>>);

impl PingHandle {
    /// So far.
    pub fn result(&self) -> PingResult {
        lock(&self.0).clone()
    }

    /// Whether no more will follow; cheaper than the result.
    pub fn is_done(&self) -> bool {
        lock(&self.0).done
    }
}

/// Pings the first node that offers the HW function.
#[derive(Debug)]
pub struct Ping {
    config: PingConfig,
    result: Arc<Mutex<PingResult>>,
    payload: Bytes,
    target: Option<(GlobalE2NodeId, RanFunctionId)>,
    subscription: Option<SubscriptionHandle>,
    /// The one under way, and when it was sent.
    waiting: Option<(u32, Time)>,
    next: u32,
}

impl Ping {
    /// A ping and the door to its results.
    pub fn new(config: PingConfig) -> (Self, PingHandle) {
        let handle = PingHandle::default();
        let payload = Bytes::from(vec![0x5a; config.size.min(hw::PAYLOAD_SIZE_MAX)]);
        let result = handle.0.clone();
        let ping = Self { config, result, payload, target: None, subscription: None, waiting: None, next: 0 };
        (ping, handle)
    }

    fn aim(&mut self, node: &NodeInfo, out: &mut IAppOutbox) {
        let Some(function) = node.function_by_oid(hw::OID).filter(|_| node.connected) else { return };
        if self.target.is_some() {
            return;
        }
        let mut trigger = Vec::new();
        if ranlab_wire::e2sm::per::encode(&HwTrigger::OnControl, &mut trigger).is_err() {
            return;
        }
        let details = RicSubscriptionDetails {
            event_trigger: trigger.into(),
            actions: vec![ActionToBeSetup::report(0)],
        };
        self.target = Some((node.id, function.id));
        self.subscription = Some(out.subscribe(node.id, function.id, details));
    }

    fn send(&mut self, now: Time, out: &mut IAppOutbox) {
        let Some((node, function)) = self.target else { return };
        if self.next == self.config.count {
            lock(&self.result).done = true;
            return;
        }
        let ping = hw::Ping { seq: self.next, t_send_ns: now.as_nanos(), payload: self.payload.clone() };
        let mut message = Vec::with_capacity(self.payload.len() + 32);
        if ranlab_wire::e2sm::per::encode(&ping, &mut message).is_err() {
            return;
        }
        let details = ControlDetails {
            call_process_id: None,
            header: Bytes::new(),
            message: message.into(),
            ack_request: Some(RicControlAckRequest::NoAck),
        };
        out.control(node, function, details);
        out.wake_at(now + self.config.timeout.max(self.config.interval), u64::from(self.next));
        self.waiting = Some((self.next, now));
        self.next += 1;
        lock(&self.result).sent += 1;
    }

    fn echoed(&mut self, now: Time, message: &[u8], out: &mut IAppOutbox) {
        let Ok(ping) = ranlab_wire::e2sm::per::decode::<hw::Ping>(Bytes::copy_from_slice(message)) else {
            return;
        };
        let Some((_, sent)) = self.waiting.filter(|(seq, _)| *seq == ping.seq) else { return };
        self.waiting = None;
        lock(&self.result).rtts.push(now - sent);
        if self.config.interval.is_zero() {
            self.send(now, out);
        } else {
            // The token of no ping: a pause, not a time-out.
            out.wake_at(sent + self.config.interval, u64::MAX);
        }
    }
}

impl IApp for Ping {
    fn name(&self) -> &str {
        "ping"
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => self.aim(node, out),
            IAppInput::Subscribed { .. } => self.send(now, out),
            IAppInput::Indication { indication, .. } => self.echoed(now, indication.message, out),
            IAppInput::Timer(u64::MAX) => self.send(now, out),
            // The echo of this one has not come. A timer of an earlier one is void.
            IAppInput::Timer(token) if self.waiting.is_some_and(|(seq, _)| u64::from(seq) == token) => {
                self.waiting = None;
                self.send(now, out);
            }
            IAppInput::SubscriptionFailed { subscription, .. }
            | IAppInput::SubscriptionEnded { subscription, .. }
                if self.subscription == Some(subscription) =>
            {
                (self.target, self.subscription, self.waiting) = (None, None, None);
            }
            _ => {}
        }
    }
}
