//! Fast path: indications that a driver forwards without calling the RIC machine.
//!
//! Most indications only need a new request id (4 bytes) and a queue. A driver with several threads can do this on
//! the receiving thread. The machine reports which subscriptions may be forwarded to which xApps ([`Bypass`]).
//! Messages from the machine to those xApps use the same queue ([`ExternalOutbox`]), so each subscription has one queue and
//! one order. Everything else goes to the machine as usual. **The machine always produces correct results; the fast
//! path only costs less.** The driver may therefore ignore a route at any time. The machine withdraws a route before
//! it does anything that the route would contradict.
use super::subscription_table::{FIRST_REQUESTOR, State};
use super::timers::Timer;
use super::{ConnId, Owner, Ric};
use crate::{FlowId, Frame, Outbox, OutboxCounters, OutboxFull, OutboxLimits, Time};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{RanFunctionId, RicRequestId, fast};
use ranlab_e2_codec::flat::Coding;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one subscription's indications on the fast path. Several threads may read and write them.
#[derive(Debug, Default)]
pub struct BypassCounters {
    indications: AtomicU64,
    forwarded: AtomicU64,
    /// Time of the last indication, in nanoseconds; 0 before the first.
    last: AtomicU64,
}

impl BypassCounters {
    fn count(&self, now: Time, receivers: usize) {
        self.indications.fetch_add(1, Ordering::Relaxed);
        self.forwarded.fetch_add(receivers as u64, Ordering::Relaxed);
        self.last.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Returns the number of indications on the fast path.
    pub fn indications(&self) -> u64 {
        self.indications.load(Ordering::Relaxed)
    }

    /// Returns the number of forwarded copies: an indication counts once per receiving xApp.
    pub fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// Returns the time of the last indication.
    pub fn last(&self) -> Option<Time> {
        Some(self.last.load(Ordering::Relaxed)).filter(|last| *last > 0).map(Time::from_nanos)
    }
}

/// An xApp that receives the indications of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteSink {
    /// Connection of the xApp, which has an [`ExternalOutbox`].
    pub conn: ConnId,
    /// Flow id of the subscription in the xApp's outbox.
    pub flow: FlowId,
    /// Encoded request id of the xApp.
    pub patch: [u8; 4],
}

/// A subscription whose indications may take the fast path.
#[derive(Debug, Clone)]
pub struct Route {
    /// Request id at the base station.
    pub request_id: RicRequestId,
    /// RAN function that sends the indications.
    pub function: RanFunctionId,
    /// Receivers: at least one, all of them xApps.
    pub sinks: Vec<RouteSink>,
    /// Counters.
    pub passed: Arc<BypassCounters>,
}

/// Fast path of one base station's connection, which the machine configures.
///
/// When a route is set, earlier indications may still wait for the machine. They must be forwarded before the
/// indications that take the route.
pub trait Bypass: Debug + Send {
    /// Sets the route of a subscription. Replaces an earlier route with the same request id.
    fn set(&mut self, route: &Route);
    /// Removes the route of a request id. After this call returns, no indication with this id takes the fast path.
    fn clear(&mut self, id: RicRequestId);
    /// Removes all routes.
    fn clear_all(&mut self);
    /// Returns the time of the last indication that took the fast path.
    fn last(&self) -> Option<Time>;
}

/// An [`Outbox`] outside of the machine, shared with the fast path. The rules of [`Outbox`] apply.
pub trait ExternalOutbox: Debug + Send {
    /// Queues a message like [`Outbox::push_held`]. The machine announces the transmission when it is due.
    ///
    /// # Errors
    /// Returns an error if the peer does not read from the connection.
    fn push_held(&mut self, frame: Frame, due: Time) -> Result<(), OutboxFull>;
    /// Queues an indication like [`Outbox::push_indication`].
    fn push_indication(&mut self, now: Time, flow: FlowId, frame: Frame);
    /// Discards a flow like [`Outbox::forget`].
    fn forget(&mut self, flow: FlowId);
    /// Returns counters like [`Outbox::counters`].
    fn counters(&self) -> OutboxCounters;
    /// Returns the queued size like [`Outbox::queued_bytes`].
    fn queued_bytes(&self) -> usize;
    /// Returns the time since which the transport has accepted nothing, or `None` if it accepts data.
    fn blocked_since(&self) -> Option<Time>;
}

/// Send queue of a connection: the machine's own, or one outside of the machine.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // nearly all are the large variant, which every message uses
pub(super) enum OutboxLocation {
    Own(Outbox),
    Beside(Box<dyn ExternalOutbox>),
}

impl OutboxLocation {
    pub(super) fn push_held(&mut self, frame: Frame, due: Time) -> Result<(), OutboxFull> {
        match self {
            Self::Own(outbox) => outbox.push_held(frame, due),
            Self::Beside(outlet) => outlet.push_held(frame, due),
        }
    }

    pub(super) fn push_indication(&mut self, now: Time, flow: FlowId, frame: Frame) {
        match self {
            Self::Own(outbox) => outbox.push_indication(now, flow, frame),
            Self::Beside(outlet) => outlet.push_indication(now, flow, frame),
        }
    }

    /// Releases held messages like [`Outbox::release`]. An external outbox does so itself when its connection closes.
    pub(super) fn release(&mut self) {
        if let Self::Own(outbox) = self {
            outbox.release();
        }
    }

    /// Returns [`ExternalOutbox::blocked_since`] of an external outbox, or `None` for the machine's own outbox.
    pub(super) fn outlet_blocked_since(&self) -> Option<Option<Time>> {
        match self {
            Self::Own(_) => None,
            Self::Beside(outlet) => Some(outlet.blocked_since()),
        }
    }

    /// Returns the next frame of the machine's own outbox.
    pub(super) fn pop(&mut self, now: Time) -> Option<Frame> {
        match self {
            Self::Own(outbox) => outbox.pop(now),
            Self::Beside(_) => None,
        }
    }

    pub(super) fn detach(&mut self) {
        if let Self::Own(outbox) = self {
            outbox.detach();
        }
    }

    pub(super) fn forget(&mut self, flow: FlowId) {
        match self {
            Self::Own(outbox) => outbox.forget(flow),
            Self::Beside(outlet) => outlet.forget(flow),
        }
    }

    pub(super) fn counters(&self) -> OutboxCounters {
        match self {
            Self::Own(outbox) => outbox.counters(),
            Self::Beside(outlet) => outlet.counters(),
        }
    }

    pub(super) fn queued_bytes(&self) -> usize {
        match self {
            Self::Own(outbox) => outbox.queued_bytes(),
            Self::Beside(outlet) => outlet.queued_bytes(),
        }
    }
}

/// Routes of one connection, for use by a [`Bypass`]. It finds a subscription by the first bytes of an indication, as
/// the machine does. `L` is the driver's type of an xApp's outbox.
#[derive(Debug)]
pub struct RouteTable<L> {
    /// Routes by requestor id.
    entries: Vec<Option<Entry<L>>>,
    used: usize,
}

#[derive(Debug)]
struct Entry<L> {
    instance: u16,
    function: RanFunctionId,
    lanes: Vec<(L, FlowId, [u8; 4])>,
    passed: Arc<BypassCounters>,
}

impl<L> Default for RouteTable<L> {
    fn default() -> Self {
        Self { entries: Vec::new(), used: 0 }
    }
}

impl<L> RouteTable<L> {
    /// Sets a route. `lanes` are the outboxes of its sinks, in the same order. Without outboxes, the route is removed.
    pub fn set(&mut self, route: &Route, lanes: Option<Vec<L>>) {
        self.clear(route.request_id);
        let Some(lanes) = lanes.filter(|lanes| lanes.len() == route.sinks.len() && !lanes.is_empty()) else {
            return;
        };
        let Some(place) = place_of(route.request_id) else { return };
        if self.entries.len() <= place {
            self.entries.resize_with(place + 1, || None);
        }
        let lanes = lanes.into_iter().zip(&route.sinks).map(|(lane, sink)| (lane, sink.flow, sink.patch));
        self.used += usize::from(self.entries[place].is_none());
        self.entries[place] = Some(Entry {
            instance: route.request_id.instance,
            function: route.function,
            lanes: lanes.collect(),
            passed: route.passed.clone(),
        });
    }

    /// Removes the route of a request id.
    pub fn clear(&mut self, id: RicRequestId) {
        let entry = place_of(id).and_then(|place| self.entries.get_mut(place));
        if let Some(entry) = entry
            && entry.as_ref().is_some_and(|it| it.instance == id.instance)
        {
            *entry = None;
            self.used -= 1;
        }
    }

    /// Removes all routes.
    pub fn clear_all(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of routes.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Returns whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Passes an indication to the outbox of each sink of its route. Returns `false` if the PDU is not an indication or
    /// has no route; the machine must then handle it.
    pub fn pass(&self, now: Time, pdu: &Bytes, mut give: impl FnMut(&L, FlowId, Frame)) -> bool {
        if self.used == 0 {
            return false;
        }
        let Some(head) = fast::Head::peek(pdu) else { return false };
        let entry = place_of(head.request_id).and_then(|place| self.entries.get(place)?.as_ref());
        let Some(entry) =
            entry.filter(|it| it.instance == head.request_id.instance && it.function == head.function_id)
        else {
            return false;
        };
        for (lane, flow, patch) in &entry.lanes {
            // The request id is at the same position for every receiver, so patching fails for all receivers or for
            // none.
            let Some(frame) = Frame::patched(pdu, head.request_id_at, patch) else { return false };
            give(lane, *flow, frame);
        }
        entry.passed.count(now, entry.lanes.len());
        true
    }
}

fn place_of(id: RicRequestId) -> Option<usize> {
    id.requestor.checked_sub(FIRST_REQUESTOR).map(usize::from)
}

impl Ric {
    /// Moves the send queue of an xApp's connection to the outbox that `make` creates with the given limits.
    /// [`transmit`](Self::transmit) then returns nothing for this connection, and `RicOutput::Transmit` means that
    /// the outbox has data. Call this before anything is sent.
    pub fn let_out(&mut self, conn: ConnId, make: impl FnOnce(OutboxLimits) -> Box<dyn ExternalOutbox>) {
        let limits = self.config.limits.xapp_outbox;
        self.bypassed = true;
        let check = self.links.now() + self.config.timers.stall;
        if let Some(it) = self.links.conn_mut(conn) {
            it.outbox = OutboxLocation::Beside(make(limits));
            self.timers.set(check, Timer::Stalled(conn));
        }
    }

    /// Sets the fast path of a base station's connection.
    pub fn let_pass(&mut self, conn: ConnId, bypass: Box<dyn Bypass>) {
        if let Some(conn) = self.links.conn_mut(conn) {
            conn.bypass = Some(bypass);
        }
    }

    /// Sets a fast-path route for a subscription, if only xApps receive it.
    pub(super) fn route(&mut self, place: usize, slot: u16) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let Some(conn) = node.conn else { return };
        let Some(request_id) = node.subscriptions.request_id(slot) else { return };
        let Some(subscription) = node.subscriptions.at_mut(slot) else { return };
        let reports = matches!(subscription.state, State::Active | State::Modifying);
        if !reports || subscription.heard.silent || subscription.sinks.is_empty() {
            return;
        }
        if self.links.conn(conn).is_none_or(|it| it.bypass.is_none() || !is_plain(it.coding)) {
            return;
        }
        let mut sinks = Vec::with_capacity(subscription.sinks.len());
        for sink in &subscription.sinks {
            let Owner::Xapp { conn, .. } = sink.owner else { return };
            let beside = |it: &super::links::Conn| {
                matches!(it.outbox, OutboxLocation::Beside(_)) && is_plain(it.coding)
            };
            if !self.links.conn(conn).is_some_and(beside) {
                return;
            }
            sinks.push(RouteSink { conn, flow: sink.flow, patch: sink.patch });
        }
        let passed = subscription.heard.passed.get_or_insert_default().clone();
        let route = Route { request_id, function: subscription.function, sinks, passed };
        if let Some(bypass) = self.links.open_conn(conn).and_then(|it| it.bypass.as_mut()) {
            bypass.set(&route);
        }
    }

    /// Removes the fast-path route of a subscription. After this call returns, all its indications go to the machine.
    pub(super) fn unroute(&mut self, place: usize, slot: u16) {
        let Some(node) = self.nodes.at(place) else { return };
        let (Some(conn), Some(id)) = (node.conn, node.subscriptions.request_id(slot)) else { return };
        if let Some(bypass) = self.links.conn_mut(conn).and_then(|it| it.bypass.as_mut()) {
            bypass.clear(id);
        }
    }

    /// Removes the fast-path routes of all subscriptions at a base station.
    pub(super) fn unroute_all(&mut self, conn: ConnId) {
        if let Some(bypass) = self.links.conn_mut(conn).and_then(|it| it.bypass.as_mut()) {
            bypass.clear_all();
        }
    }
}

/// Returns whether the encoding is PER; the fast path requires PER on both sides.
fn is_plain(coding: Option<Coding>) -> bool {
    coding.unwrap_or_default() == Coding::Per
}
