//! Subscriptions at one node, by the request id that the RIC assigned.
use super::bypass::BypassCounters;
use super::change::SubscriptionChange;
use super::{ConnId, Owner, Tenant};
use crate::{FlowId, Time};
use ranlab_e2_codec::e2ap::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Requestor id of the first slot; the others follow. FlexRIC uses the same first number.
pub(super) const FIRST_REQUESTOR: u16 = 1_021;

/// One owner of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sink {
    pub(super) owner: Owner,
    /// Request id of the owner.
    pub(super) request_id: RicRequestId,
    /// Encoded request id of the owner. It replaces the request id in forwarded indications.
    pub(super) patch: [u8; 4],
    pub(super) flow: FlowId,
    /// Whether the owner has received its response.
    pub(super) answered: bool,
}

impl Sink {
    pub(super) fn conn(&self) -> Option<ConnId> {
        match self.owner {
            Owner::Xapp { conn, .. } => Some(conn),
            Owner::IApp(_) => None,
        }
    }
}

/// State of a subscription at its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The node is disconnected.
    Waiting,
    /// Waiting for the response to the request.
    Requesting,
    /// Admitted.
    Active,
    /// Admitted; waiting for the response to a modification.
    Modifying,
    /// Waiting for the response to the deletion: it has no owner, or will be requested again.
    Deleting,
}

/// Response of a node to a subscription request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) admitted: Vec<RicActionId>,
    pub(super) not_admitted: Option<Vec<ActionFailed>>,
}

impl Response {
    /// Completes the response to a request of these actions. Actions in neither list of the node count as not
    /// admitted. This applies only if the lists are too short, because OCUDU lists several admitted actions under one
    /// identifier.
    pub(super) fn complete(mut self, requested: &[ActionToBeSetup]) -> Self {
        let refused = self.not_admitted.get_or_insert_default();
        if self.admitted.len() + refused.len() < requested.len() {
            let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
            let ids = requested.iter().map(|action| action.id);
            let missing =
                ids.filter(|id| !self.admitted.contains(id) && refused.iter().all(|it| it.id != *id));
            let missing: Vec<_> = missing.map(|id| ActionFailed { id, cause }).collect();
            refused.extend(missing);
        }
        self.not_admitted = self.not_admitted.filter(|refused| !refused.is_empty());
        self
    }
}

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) tenant: Tenant,
    pub(super) function: RanFunctionId,
    /// OID of the function. After a reconnect, the same id may belong to a different function.
    pub(super) oid: Option<String>,
    pub(super) details: RicSubscriptionDetails,
    pub(super) state: State,
    pub(super) tries: u32,
    pub(super) deadline: Option<Time>,
    pub(super) sinks: Vec<Sink>,
    /// Former owners that wait for the response to their deletion.
    pub(super) leavers: Vec<Sink>,
    pub(super) response: Option<Response>,
    /// Outstanding modification.
    pub(super) change: Option<SubscriptionChange>,
    /// Report period, if known.
    pub(super) period: Option<Duration>,
    /// Received indications.
    pub(super) heard: IndicationStats,
}

/// Statistics of the indications of a subscription.
#[derive(Debug, Default)]
pub(super) struct IndicationStats {
    indications: u64,
    /// Time of the last indication.
    last: Option<Time>,
    /// Time at which the subscription counts as silent without a further indication.
    pub(super) due: Option<Time>,
    /// Whether it was reported as silent.
    pub(super) silent: bool,
    /// Counters of the fast path.
    pub(super) passed: Option<Arc<BypassCounters>>,
}

impl IndicationStats {
    /// Returns the number of received indications, including those on the fast path.
    pub(super) fn indications(&self) -> u64 {
        self.indications + self.passed.as_ref().map_or(0, |passed| passed.indications())
    }

    /// Returns the number of indications on the fast path and of their forwarded copies.
    pub(super) fn forwarded_past(&self) -> (u64, u64) {
        self.passed.as_ref().map_or((0, 0), |passed| (passed.indications(), passed.forwarded()))
    }

    /// Returns the time of the last indication.
    pub(super) fn last(&self) -> Option<Time> {
        self.last.max(self.passed.as_ref().and_then(|passed| passed.last()))
    }
}

impl Subscription {
    /// Counts an indication. Returns whether it ends a reported silence.
    pub(super) fn on_indication(&mut self, now: Time) -> bool {
        self.heard.indications += 1;
        self.heard.last = Some(now);
        std::mem::take(&mut self.heard.silent)
    }

    /// Returns the subscription request.
    pub(super) fn request(&self, request_id: RicRequestId) -> Message {
        Message::RicSubscriptionRequest(RicSubscriptionRequest {
            request_id,
            function_id: self.function,
            details: self.details.clone(),
            start_time: None,
            end_time: None,
        })
    }

    /// Returns whether a request can share this subscription. Inserts are never shared, because each requires exactly
    /// one response.
    fn serves(&self, tenant: &Tenant, function: RanFunctionId, details: &RicSubscriptionDetails) -> bool {
        !matches!(self.state, State::Deleting | State::Modifying)
            && self.function == function
            && self.tenant == *tenant
            && self.details == *details
            && details.actions.iter().all(|a| a.kind != RicActionType::Insert)
    }
}

#[derive(Debug)]
struct Slot {
    generation: u16,
    subscription: Option<Subscription>,
}

/// Slots, found by request id: requestor = 1021 + slot; instance = first instance + number of times the slot was used
/// before. Therefore a late message for a removed subscription never matches another one.
#[derive(Debug, Default)]
pub(super) struct SubscriptionTable {
    slots: Vec<Slot>,
    /// Free slots, least recently used first.
    free: VecDeque<u16>,
    used: usize,
    first_generation: u16,
}

impl SubscriptionTable {
    /// Creates an empty table with this first instance.
    pub(super) fn starting_at(first_generation: u16) -> Self {
        Self { first_generation, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    pub(super) fn slot_of(&self, id: RicRequestId) -> Option<u16> {
        let slot = id.requestor.checked_sub(FIRST_REQUESTOR)?;
        let entry = self.slots.get(usize::from(slot))?;
        (entry.generation == id.instance && entry.subscription.is_some()).then_some(slot)
    }

    pub(super) fn find(&self, id: RicRequestId) -> Option<&Subscription> {
        let entry = self.slots.get(usize::from(id.requestor.checked_sub(FIRST_REQUESTOR)?))?;
        entry.subscription.as_ref().filter(|_| entry.generation == id.instance)
    }

    pub(super) fn request_id(&self, slot: u16) -> Option<RicRequestId> {
        let instance = self.slots.get(usize::from(slot))?.generation;
        Some(RicRequestId { requestor: FIRST_REQUESTOR + slot, instance })
    }

    pub(super) fn find_mut(&mut self, id: RicRequestId) -> Option<&mut Subscription> {
        let entry = self.slots.get_mut(usize::from(id.requestor.checked_sub(FIRST_REQUESTOR)?))?;
        entry.subscription.as_mut().filter(|_| entry.generation == id.instance)
    }

    pub(super) fn at(&self, slot: u16) -> Option<&Subscription> {
        self.slots.get(usize::from(slot))?.subscription.as_ref()
    }

    pub(super) fn at_mut(&mut self, slot: u16) -> Option<&mut Subscription> {
        self.slots.get_mut(usize::from(slot))?.subscription.as_mut()
    }

    pub(super) fn insert(&mut self, subscription: Subscription) -> u16 {
        self.used += 1;
        if let Some(slot) = self.free.pop_front() {
            self.slots[usize::from(slot)].subscription = Some(subscription);
            return slot;
        }
        self.slots.push(Slot { generation: self.first_generation, subscription: Some(subscription) });
        (self.slots.len() - 1) as u16 // subscriptions_per_node is below 64,000
    }

    pub(super) fn remove(&mut self, slot: u16) -> Option<Subscription> {
        let entry = self.slots.get_mut(usize::from(slot))?;
        let subscription = entry.subscription.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push_back(slot);
        self.used -= 1;
        Some(subscription)
    }

    /// Assigns a new request id to a subscription, so that messages with the old id are not attributed to it.
    pub(super) fn renew(&mut self, slot: u16) {
        if let Some(entry) = self.slots.get_mut(usize::from(slot)) {
            entry.generation = entry.generation.wrapping_add(1);
        }
    }

    pub(super) fn equal(
        &self,
        tenant: &Tenant,
        function: RanFunctionId,
        details: &RicSubscriptionDetails,
    ) -> Option<u16> {
        self.iter().find(|(_, s)| s.serves(tenant, function, details)).map(|(slot, _)| slot)
    }

    /// Returns the subscriptions in the order of slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, &Subscription)> {
        self.slots.iter().enumerate().filter_map(|(i, s)| Some((i as u16, s.subscription.as_ref()?)))
    }

    pub(super) fn slots(&self) -> Vec<u16> {
        self.iter().map(|(slot, _)| slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(
        admitted: &[RicActionId],
        refused: &[RicActionId],
        requested: &[RicActionId],
    ) -> Vec<RicActionId> {
        let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        let not_admitted = refused.iter().map(|&id| ActionFailed { id, cause }).collect();
        let response = Response { admitted: admitted.to_vec(), not_admitted: Some(not_admitted) };
        let requested: Vec<_> = requested.iter().map(|&id| ActionToBeSetup::report(id)).collect();
        let refused = response.complete(&requested).not_admitted;
        refused.into_iter().flatten().map(|it| it.id).collect()
    }

    #[test]
    fn actions_in_neither_list_are_not_admitted() {
        assert_eq!(complete(&[1], &[], &[1, 2]), [2]);
        assert_eq!(complete(&[1], &[3], &[1, 2, 3]), [3, 2]);
        assert!(complete(&[1, 2], &[], &[1, 2]).is_empty());
        // Lists of the right length with wrong identifiers come from OCUDU.
        assert!(complete(&[0, 2], &[], &[1, 2]).is_empty());
    }
}
