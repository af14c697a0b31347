//! Subscriptions of the xApp and their states.
use super::*;
use std::collections::BTreeSet;

/// Largest gap that still counts as a loss if the next sequence number is zero. After a larger gap, zero means that
/// the agent has restarted.
const RESTART_GAP: u16 = 1_024;

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

/// Lost and repeated indications, derived from sequence numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gaps {
    last: Option<u16>,
    lost: u64,
    /// Bit n is set if the number n before the last one was received.
    seen: u64,
    /// Distance between the first and the last number since the restart.
    span: u32,
    repeated: u64,
    /// Whether the agent sends no sequence numbers.
    unknown: bool,
}

impl Gaps {
    pub(super) fn see(&mut self, sn: Option<u16>) {
        let Some(sn) = sn else {
            self.unknown = true;
            return;
        };
        if let Some(last) = self.last {
            let behind = u32::from(last.wrapping_sub(sn));
            // Zero means a restart rather than a repetition or a reordered indication (FlexRIC's RIC does not
            // preserve the order).
            if let Some(bit) = 1_u64.checked_shl(behind).filter(|_| sn != 0) {
                if self.seen & bit != 0 {
                    self.repeated += 1;
                    return;
                }
                if behind <= self.span {
                    self.lost = self.lost.saturating_sub(1);
                    self.seen |= bit;
                    return;
                }
            }
            let missing = sn.wrapping_sub(last).wrapping_sub(1);
            // A step backwards means that the agent has restarted, as does zero after a gap larger than
            // [`RESTART_GAP`].
            let restart = missing >= 1 << 15 || (sn == 0 && missing > RESTART_GAP);
            self.lost += if restart { 0 } else { u64::from(missing) };
            let step = u32::from(missing) + 1;
            self.seen = if restart { 0 } else { self.seen.checked_shl(step).unwrap_or(0) };
            self.span = if restart { 0 } else { self.span.saturating_add(step) };
        }
        self.seen |= 1;
        self.last = Some(sn);
    }

    /// Restarts the count for a new subscription.
    pub(super) fn restart(&mut self) {
        (self.last, self.seen, self.span) = (None, 0, 0);
    }

    pub(super) fn lost(&self) -> Option<u64> {
        (!self.unknown).then_some(self.lost)
    }

    pub(super) fn repeated(&self) -> u64 {
        self.repeated
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_gaps_are_counted_across_wrap_but_not_across_restart() {
        let lost = |numbers: &[u16]| {
            let mut gaps = Gaps::default();
            numbers.iter().for_each(|n| gaps.see(Some(*n)));
            gaps.lost()
        };
        assert_eq!(lost(&[5, 6, 9, 10]), Some(2));
        assert_eq!(lost(&[65_534, 1]), Some(2));
        assert_eq!(lost(&[40_000, 0, 1]), Some(0));
        assert_eq!(lost(&[100, 3, 4]), Some(0));
        // Reordered but none lost; a number that never arrives counts as lost.
        assert_eq!(lost(&[1, 2, 5, 3, 4, 6]), Some(0));
        assert_eq!(lost(&[1, 4, 2, 5, 8, 7, 9]), Some(2));
        assert_eq!(lost(&[65_534, 1, 65_535, 2]), Some(1));
        let repeated = |numbers: &[u16]| {
            let mut gaps = Gaps::default();
            numbers.iter().for_each(|n| gaps.see(Some(*n)));
            (gaps.repeated(), gaps.lost())
        };
        assert_eq!(repeated(&[7, 7, 8]), (1, Some(0)));
        assert_eq!(repeated(&[65_534, 65_535, 0, 65_535, 1, 2]), (1, Some(0)));
        assert_eq!(repeated(&[5, 6, 9, 10, 6, 11]), (1, Some(2)));
        assert_eq!(
            repeated(&[1, 2, 3, 0, 1, 2]),
            (0, Some(0)),
            "number 0 must count as a restart of the numbering, and no number as repeated"
        );
        let mut gaps = Gaps::default();
        gaps.see(None);
        assert_eq!(gaps.lost(), None);
    }
}
