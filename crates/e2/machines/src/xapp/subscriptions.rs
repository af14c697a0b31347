//! Subscriptions of the xApp and their states.
use super::*;
use std::collections::BTreeSet;

/// State of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// No request is outstanding: it is queued, has failed, or its node is not connected.
    Idle,
    /// Waiting for the response to the request.
    Requested { retries_left: u32 },
    /// Admitted.
    Active,
    /// Waiting for the response to the deletion.
    Deleting { retries_left: u32 },
}

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) node: GlobalE2NodeId,
    pub(super) function: FunctionRef,
    pub(super) details: RicSubscriptionDetails,
    pub(super) standing: Option<StandingHandle>,
    pub(super) phase: Phase,
    /// Request id and function id of the last request.
    pub(super) request: Option<(u16, RanFunctionId)>,
    /// Announcement of the node on which the last request was based.
    pub(super) announced: u64,
    pub(super) deadline: Option<Time>,
    /// Whether the subscription was unsubscribed and its deletion is still queued.
    pub(super) unwanted: bool,
    /// Whether the subscription is deleted only to be requested again, because its request got no response.
    pub(super) renewing: bool,
    pub(super) gaps: Gaps,
}

impl Subscription {
    pub(super) fn is_leaving(&self) -> bool {
        self.unwanted || matches!(self.phase, Phase::Deleting { .. }) && !self.renewing
    }
}

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    last: u64,
    by_handle: BTreeMap<SubscriptionHandle, Subscription>,
    by_node: BTreeMap<GlobalE2NodeId, BTreeSet<SubscriptionHandle>>,
    /// Subscriptions queued for a request or deletion.
    wanting: BTreeSet<SubscriptionHandle>,
    /// Number of outstanding requests and deletions.
    outstanding: usize,
    deadlines: BTreeSet<(Time, SubscriptionHandle)>,
}

impl Subscriptions {
    pub(super) fn add(
        &mut self,
        node: GlobalE2NodeId,
        function: FunctionRef,
        details: RicSubscriptionDetails,
        standing: Option<StandingHandle>,
    ) -> SubscriptionHandle {
        self.last += 1;
        let handle = SubscriptionHandle(self.last);
        let phase = Phase::Idle;
        let gaps = Gaps::default();
        let subscription = Subscription {
            node,
            function,
            details,
            standing,
            phase,
            request: None,
            announced: 0,
            deadline: None,
            unwanted: false,
            renewing: false,
            gaps,
        };
        self.by_handle.insert(handle, subscription);
        self.by_node.entry(node).or_default().insert(handle);
        self.wanting.insert(handle);
        handle
    }

    pub(super) fn get(&self, handle: SubscriptionHandle) -> Option<&Subscription> {
        self.by_handle.get(&handle)
    }

    pub(super) fn get_mut(&mut self, handle: SubscriptionHandle) -> Option<&mut Subscription> {
        self.by_handle.get_mut(&handle)
    }

    pub(super) fn len(&self) -> usize {
        self.by_handle.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SubscriptionHandle, &Subscription)> {
        self.by_handle.iter().map(|(handle, s)| (*handle, s))
    }

    pub(super) fn of_node(&self, node: &GlobalE2NodeId) -> Vec<SubscriptionHandle> {
        self.by_node.get(node).map(|set| set.iter().copied().collect()).unwrap_or_default()
    }

    pub(super) fn remove(&mut self, handle: SubscriptionHandle) -> Option<Subscription> {
        self.set(handle, Phase::Idle, None);
        self.wanting.remove(&handle);
        let subscription = self.by_handle.remove(&handle)?;
        if let Some(set) = self.by_node.get_mut(&subscription.node) {
            set.remove(&handle);
            if set.is_empty() {
                self.by_node.remove(&subscription.node);
            }
        }
        Some(subscription)
    }

    /// Sets phase and deadline and updates all indexes.
    pub(super) fn set(&mut self, handle: SubscriptionHandle, phase: Phase, deadline: Option<Time>) {
        let Some(s) = self.by_handle.get_mut(&handle) else { return };
        let under_way = |p| matches!(p, Phase::Requested { .. } | Phase::Deleting { .. });
        self.outstanding += usize::from(under_way(phase));
        self.outstanding -= usize::from(under_way(s.phase));
        if let Some(at) = s.deadline {
            self.deadlines.remove(&(at, handle));
        }
        if let Some(at) = deadline {
            self.deadlines.insert((at, handle));
        }
        (s.phase, s.deadline) = (phase, deadline);
    }

    /// Queues a request or deletion.
    pub(super) fn want(&mut self, handle: SubscriptionHandle) {
        self.wanting.insert(handle);
    }

    /// Sets the phase to idle without queueing a request.
    pub(super) fn park(&mut self, handle: SubscriptionHandle) {
        self.wanting.remove(&handle);
        self.set(handle, Phase::Idle, None);
        if let Some(s) = self.by_handle.get_mut(&handle) {
            s.renewing = false;
            s.request = None;
        }
    }

    /// Removes and returns the next queued subscription.
    pub(super) fn next_turn(&mut self, limit: usize) -> Option<SubscriptionHandle> {
        if self.outstanding < limit { self.wanting.pop_first() } else { None }
    }

    pub(super) fn has_turn(&self, limit: usize) -> bool {
        self.outstanding < limit && !self.wanting.is_empty()
    }

    /// Returns the number of outstanding requests and deletions.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    pub(super) fn expired(&self, now: Time) -> Option<SubscriptionHandle> {
        self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, handle)| *handle)
    }

    /// Resets all subscriptions after a disconnect and queues their requests. Returns those that were being deleted.
    pub(super) fn start_over(&mut self) -> Vec<(SubscriptionHandle, GlobalE2NodeId)> {
        let all: Vec<_> = self.by_handle.keys().copied().collect();
        let mut left = Vec::new();
        for handle in all {
            self.park(handle);
            let Some(s) = self.by_handle.get(&handle) else { continue };
            if s.unwanted {
                left.push((handle, s.node));
                self.remove(handle);
            }
        }
        left
    }
}
