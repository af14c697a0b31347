//! Serialization of procedures at nodes that may handle only one at a time.
//!
//! Such a node may read one message per receive event. If two messages arrive together, it reads the second one only
//! when a third arrives. Therefore a request waits until the previous request got its response or timed out. A
//! request that creates state at the node is never repeated unchanged: the subscription is deleted first, and then
//! requested again under another id.
use super::subscription_table::State;
use super::{ConnId, Ric, Timer};
use crate::Time;
use ranlab_e2_codec::e2ap::*;
use std::collections::{BTreeMap, VecDeque};

/// A request of the RIC to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeProcedure {
    /// Request, modification or deletion of this subscription, according to its state.
    Subscription(RicRequestId),
    /// The control or query with this instance.
    Request(u16),
    /// A global procedure.
    Procedure(TransactionId),
    /// Deletion of a subscription that the RIC does not know.
    Stray(RicRequestId),
}

/// A subscription at a node that the RIC does not know and wants to delete.
#[derive(Debug)]
pub(super) struct UnknownSubscription {
    function: RanFunctionId,
    /// Time at which the deletion may be requested again; `None` while it is queued.
    until: Option<Time>,
}

/// Queue of requests at a node. Its length is bounded by the limits of each request type.
#[derive(Debug, Default)]
pub(super) struct ProcedureQueue {
    one_at_a_time: bool,
    /// Earliest time of the next request: the node must first read a message that has no response.
    not_before: Time,
    busy: Option<NodeProcedure>,
    waiting: VecDeque<NodeProcedure>,
    pub(super) strays: BTreeMap<RicRequestId, UnknownSubscription>,
}

impl ProcedureQueue {
    /// Returns the empty queue of a node that has just connected.
    pub(super) fn begin(one_at_a_time: bool, not_before: Time) -> Self {
        Self { one_at_a_time, not_before, ..Self::default() }
    }

    pub(super) fn one_at_a_time(&self) -> bool {
        self.one_at_a_time
    }

    /// Returns the request that was sent last, if the node gets one request at a time.
    pub(super) fn outstanding(&self) -> Option<NodeProcedure> {
        self.busy
    }

    pub(super) fn waits(&self, errand: NodeProcedure) -> bool {
        self.waiting.contains(&errand)
    }
}

impl Ric {
    /// Returns whether `errand` may be sent now; otherwise it is queued.
    pub(super) fn takes_turn(&mut self, now: Time, place: usize, errand: NodeProcedure) -> bool {
        let Some(node) = self.nodes.at(place).filter(|n| n.turns.one_at_a_time) else { return true };
        let may = now >= node.turns.not_before && node.turns.waiting.is_empty() && !self.is_busy(now, place);
        let Some(node) = self.nodes.at_mut(place) else { return false };
        if may {
            node.turns.busy = Some(errand);
        } else if !node.turns.waits(errand) {
            node.turns.waiting.push_back(errand);
        }
        may
    }

    /// Returns whether a request is outstanding at the node.
    fn is_busy(&self, now: Time, place: usize) -> bool {
        let Some(node) = self.nodes.at(place) else { return false };
        match node.turns.busy {
            None => false,
            Some(NodeProcedure::Subscription(id)) => {
                node.subscriptions.find(id).is_some_and(|s| s.deadline.is_some())
            }
            Some(NodeProcedure::Request(instance)) => node.requests.is_sent(instance),
            Some(NodeProcedure::Procedure(id)) => node.procedures.pending.contains_key(&id),
            Some(NodeProcedure::Stray(id)) => {
                node.turns.strays.get(&id).is_some_and(|s| s.until.is_some_and(|until| now < until))
            }
        }
    }

    /// Records that a response arrived. The next queued request is sent at the end of the current step.
    pub(super) fn free_turn(&mut self, place: usize) {
        if self.nodes.at(place).is_some_and(|n| n.turns.one_at_a_time) {
            self.freed.push(place);
        }
    }

    /// Sends queued requests until one is outstanding.
    pub(super) fn next_turn(&mut self, now: Time, place: usize) {
        while !self.is_busy(now, place) {
            let Some(turns) = self.nodes.at_mut(place).map(|n| &mut n.turns) else { return };
            if now < turns.not_before {
                return;
            }
            turns.busy = turns.waiting.pop_front();
            match turns.busy {
                None => return,
                Some(NodeProcedure::Subscription(id)) => self.run_subscription(now, place, id),
                Some(NodeProcedure::Request(instance)) => self.run_request(place, instance),
                Some(NodeProcedure::Procedure(id)) => self.run_procedure(place, id),
                Some(NodeProcedure::Stray(id)) => self.run_stray(now, place, id),
            }
        }
    }

    fn run_subscription(&mut self, now: Time, place: usize, id: RicRequestId) {
        let Some(slot) = self.nodes.at(place).and_then(|n| n.subscriptions.slot_of(id)) else { return };
        match self.state_of(place, slot) {
            Some(State::Requesting) => self.run_subscription_request(now, place, slot),
            Some(State::Modifying) => self.run_change(now, place, slot),
            Some(State::Deleting) => self.run_delete(now, place, slot),
            _ => {}
        }
    }

    /// Requests the deletion of an unknown subscription at the node. An error indication would not end it, and would
    /// crash FlexRIC's agents.
    pub(super) fn stray(&mut self, now: Time, place: usize, id: RicRequestId, function: RanFunctionId) {
        let limit = self.config.limits.strays_per_node;
        let Some(node) = self.nodes.at_mut(place) else { return };
        // The id belongs to a subscription of another function, which must not be deleted.
        if node.subscriptions.find(id).is_some() {
            return;
        }
        let strays = &mut node.turns.strays;
        strays.retain(|_, s| s.until.is_none_or(|until| now < until));
        if strays.len() >= limit || strays.contains_key(&id) {
            return;
        }
        strays.insert(id, UnknownSubscription { function, until: None });
        if self.takes_turn(now, place, NodeProcedure::Stray(id)) {
            self.run_stray(now, place, id);
        }
    }

    fn run_stray(&mut self, now: Time, place: usize, id: RicRequestId) {
        let until = now + self.config.timers.subscription;
        let Some(node) = self.nodes.at_mut(place) else { return };
        let (Some(conn), Some(stray)) = (node.conn, node.turns.strays.get_mut(&id)) else { return };
        stray.until = Some(until);
        let request = RicSubscriptionDeleteRequest { request_id: id, function_id: stray.function };
        self.counters.strays_deleted += 1;
        self.links.say(conn, &Message::RicSubscriptionDeleteRequest(request));
        self.wake_turns(place, until);
    }

    /// Starts the queue of a node that has connected.
    pub(super) fn begin_turns(&mut self, now: Time, place: usize, id: ConnId) {
        let own = self.nodes.at(place).is_some_and(|n| crate::fingerprint::is_own(&n.info.components));
        let not_before = now + self.config.timers.pause;
        if let Some(node) = self.nodes.at_mut(place).filter(|n| n.conn == Some(id)) {
            node.turns = ProcedureQueue::begin(!own, not_before);
        }
        self.wake_turns(place, not_before);
    }

    /// Schedules a check of the queue at `at`, even if no message of the node arrives.
    fn wake_turns(&mut self, place: usize, at: Time) {
        if self.nodes.at(place).is_some_and(|n| n.turns.one_at_a_time) {
            self.timers.set(at, Timer::Turn { node: place });
        }
    }
}
