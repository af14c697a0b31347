//! Indications that go past the machine.
//!
//! What most indications need of a RIC is four octets and a queue. A driver with several threads may do that where the octets
//! come in: the machine says which subscriptions go straight to which xApps ([`Bypass`]), and what it itself has for those
//! xApps goes the same way ([`Outlet`]), so that a subscription has one queue and one order. All else, and whatever the driver
//! would rather not decide, it gives to the machine as ever: **what is heard of the machine is always right, what goes past it
//! is only cheaper.** So a route may be missing at any time, and the machine withdraws one before anything that it would
//! contradict.
use super::subscription_table::{FIRST_REQUESTOR, State};
use super::timers::Timer;
use super::{ConnId, Owner, Ric};
use crate::{FlowId, Frame, Outbox, OutboxCounters, OutboxFull, OutboxLimits, Time};
use bytes::Bytes;
use ranlab_wire::e2ap::{RanFunctionId, RicRequestId, fast};
use ranlab_wire::flat::Coding;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What went past the machine of one subscription; who counts and who looks may be on different threads.
#[derive(Debug, Default)]
pub struct Passed {
    indications: AtomicU64,
    forwarded: AtomicU64,
    /// Nanoseconds; 0 before the first.
    last: AtomicU64,
}

impl Passed {
    fn count(&self, now: Time, receivers: usize) {
        self.indications.fetch_add(1, Ordering::Relaxed);
        self.forwarded.fetch_add(receivers as u64, Ordering::Relaxed);
        self.last.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Indications that went past.
    pub fn indications(&self) -> u64 {
        self.indications.load(Ordering::Relaxed)
    }

    /// The same, once for each xApp that one went to.
    pub fn forwarded(&self) -> u64 {
        self.forwarded.load(Ordering::Relaxed)
    }

    /// When the last one went.
    pub fn last(&self) -> Option<Time> {
        Some(self.last.load(Ordering::Relaxed)).filter(|last| *last > 0).map(Time::from_nanos)
    }
}

/// One xApp that takes a subscription's indications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteSink {
    /// Its connection; it has an [`Outlet`].
    pub conn: ConnId,
    /// What its outbox calls the subscription.
    pub flow: FlowId,
    /// The octets of its own request id.
    pub patch: [u8; 4],
}

/// A subscription whose indications may go past the machine.
#[derive(Debug, Clone)]
pub struct Route {
    /// As the base station has it.
    pub request_id: RicRequestId,
    /// The function that reports.
    pub function: RanFunctionId,
    /// Who takes it: one at least, xApps all.
    pub sinks: Vec<RouteSink>,
    /// Where it is counted.
    pub passed: Arc<Passed>,
}

/// What carries indications of one base station's connection past the machine, as the machine tells it.
///
/// An indication that came in before a route was set and has not been handled by the machine must leave before those that
/// take the route.
pub trait Bypass: Debug + Send {
    /// Indications of this subscription may go straight from now on; in place of what its id was set to.
    fn set(&mut self, route: &Route);
    /// None of this id may any more: once this returns, no further one goes past the machine.
    fn clear(&mut self, id: RicRequestId);
    /// None of any.
    fn clear_all(&mut self);
    /// When anything went past the machine for the last time.
    fn last(&self) -> Option<Time>;
}

/// An [`Outbox`] that is not the machine's own: what goes past it goes through there, too. The same rules hold.
pub trait Outlet: Debug + Send {
    /// As [`Outbox::push_held`]. The machine announces the transmission once it is due.
    ///
    /// # Errors
    /// The peer takes nothing.
    fn push_held(&mut self, frame: Frame, due: Time) -> Result<(), OutboxFull>;
    /// As [`Outbox::push_indication`].
    fn push_indication(&mut self, now: Time, flow: FlowId, frame: Frame);
    /// As [`Outbox::forget`].
    fn forget(&mut self, flow: FlowId);
    /// As [`Outbox::counters`].
    fn counters(&self) -> OutboxCounters;
    /// As [`Outbox::queued_bytes`].
    fn queued_bytes(&self) -> usize;
    /// Since when the transport has accepted nothing; `None` if it accepts.
    fn blocked_since(&self) -> Option<Time>;
}

/// Where a connection's messages wait.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // nearly all are the large one, on the way of each message
pub(super) enum Way {
    Own(Outbox),
    Beside(Box<dyn Outlet>),
}

impl Way {
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

    /// As [`Outbox::release`]. An outlet does so itself once its connection closes.
    pub(super) fn release(&mut self) {
        if let Self::Own(outbox) = self {
            outbox.release();
        }
    }

    /// Since when the transport of an outlet has accepted nothing; `None` for the machine's own outbox.
    pub(super) fn outlet_blocked_since(&self) -> Option<Option<Time>> {
        match self {
            Self::Own(_) => None,
            Self::Beside(outlet) => Some(outlet.blocked_since()),
        }
    }

    /// The next frame of the machine's own outbox.
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

/// The routes of one connection, for who carries: finds a subscription by an indication's first octets, as the machine does.
/// `L` is what an xApp's outbox is there.
#[derive(Debug)]
pub struct RouteTable<L> {
    /// By the requestor of the id.
    entries: Vec<Option<Entry<L>>>,
    used: usize,
}

#[derive(Debug)]
struct Entry<L> {
    instance: u16,
    function: RanFunctionId,
    lanes: Vec<(L, FlowId, [u8; 4])>,
    passed: Arc<Passed>,
}

impl<L> Default for RouteTable<L> {
    fn default() -> Self {
        Self { entries: Vec::new(), used: 0 }
    }
}

impl<L> RouteTable<L> {
    /// Sets a route whose sinks are these lanes, in their order; without one of them there is no route.
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

    /// Removes what an id was set to.
    pub fn clear(&mut self, id: RicRequestId) {
        let entry = place_of(id).and_then(|place| self.entries.get_mut(place));
        if let Some(entry) = entry
            && entry.as_ref().is_some_and(|it| it.instance == id.instance)
        {
            *entry = None;
            self.used -= 1;
        }
    }

    /// Removes all.
    pub fn clear_all(&mut self) {
        *self = Self::default();
    }

    /// Routes that there are.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Gives an indication to each lane of its route; `false` if it has none, or is no indication, and the machine is to have
    /// it.
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
            // The place is the same for each: what cannot be patched for one is given to none.
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
    /// From now on, messages for this connection of an xApp wait in `make`'s outbox, which keeps the given bounds, and no more
    /// in the machine's: [`transmit`](Self::transmit) has none, and `RicOutput::Transmit` says that something waits there.
    /// To be called before anything was sent.
    pub fn let_out(&mut self, conn: ConnId, make: impl FnOnce(OutboxLimits) -> Box<dyn Outlet>) {
        let limits = self.config.limits.xapp_outbox;
        self.bypassed = true;
        let check = self.links.now() + self.config.timers.stall;
        if let Some(it) = self.links.conn_mut(conn) {
            it.outbox = Way::Beside(make(limits));
            self.timers.set(check, Timer::Stalled(conn));
        }
    }

    /// This carries indications of a base station's connection past the machine, as it is told to.
    pub fn let_pass(&mut self, conn: ConnId, bypass: Box<dyn Bypass>) {
        if let Some(conn) = self.links.conn_mut(conn) {
            conn.bypass = Some(bypass);
        }
    }

    /// Lets a subscription's indications past the machine, if nobody in it wants them.
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
            let beside = |it: &super::links::Conn| matches!(it.outbox, Way::Beside(_)) && is_plain(it.coding);
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

    /// Has a subscription's indications come to the machine again; once this returns, none goes past it.
    pub(super) fn unroute(&mut self, place: usize, slot: u16) {
        let Some(node) = self.nodes.at(place) else { return };
        let (Some(conn), Some(id)) = (node.conn, node.subscriptions.request_id(slot)) else { return };
        if let Some(bypass) = self.links.conn_mut(conn).and_then(|it| it.bypass.as_mut()) {
            bypass.clear(id);
        }
    }

    /// The same of all that a connection's base station reports.
    pub(super) fn unroute_all(&mut self, conn: ConnId) {
        if let Some(bypass) = self.links.conn_mut(conn).and_then(|it| it.bypass.as_mut()) {
            bypass.clear_all();
        }
    }
}

/// What goes past the machine is in PER on both sides.
fn is_plain(coding: Option<Coding>) -> bool {
    coding.unwrap_or_default() == Coding::Per
}
