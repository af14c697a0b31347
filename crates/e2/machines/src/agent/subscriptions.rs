//! The subscriptions of all controllers.
use super::ControllerId;
use crate::FlowId;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{RanFunctionId, RicActionId, RicRequestId};
use std::collections::BTreeMap;

/// Identifier of a subscription, unique for the lifetime of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u64);

impl SubscriptionId {
    pub(super) fn flow(self) -> FlowId {
        FlowId(self.0)
    }
}

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) controller: ControllerId,
    pub(super) request_id: RicRequestId,
    pub(super) function: RanFunctionId,
    pub(super) actions: Vec<RicActionId>,
    /// Sequence number of the next indication.
    pub(super) next_sn: u16,
    /// Request PDU and its response, to recognize and answer a repeated request.
    pub(super) request: Box<[u8]>,
    pub(super) response: Bytes,
}

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    last: u64,
    by_id: BTreeMap<SubscriptionId, Subscription>,
    by_request: BTreeMap<(ControllerId, RicRequestId), SubscriptionId>,
}

impl Subscriptions {
    pub(super) fn insert(&mut self, subscription: Subscription) -> SubscriptionId {
        self.last += 1;
        let id = SubscriptionId(self.last);
        self.by_request.insert((subscription.controller, subscription.request_id), id);
        self.by_id.insert(id, subscription);
        id
    }

    pub(super) fn remove(&mut self, id: SubscriptionId) -> Option<Subscription> {
        let subscription = self.by_id.remove(&id)?;
        self.by_request.remove(&(subscription.controller, subscription.request_id));
        Some(subscription)
    }

    pub(super) fn of_id(&self, id: SubscriptionId) -> Option<&Subscription> {
        self.by_id.get(&id)
    }

    pub(super) fn of_id_mut(&mut self, id: SubscriptionId) -> Option<&mut Subscription> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn find(&self, controller: ControllerId, request_id: RicRequestId) -> Option<SubscriptionId> {
        self.by_request.get(&(controller, request_id)).copied()
    }

    pub(super) fn of_controller(
        &self,
        controller: ControllerId,
    ) -> impl Iterator<Item = SubscriptionId> + '_ {
        let first = RicRequestId { requestor: 0, instance: 0 };
        let last = RicRequestId { requestor: u16::MAX, instance: u16::MAX };
        self.by_request.range((controller, first)..=(controller, last)).map(|(_, id)| *id)
    }

    pub(super) fn of_function(&self, function: RanFunctionId) -> impl Iterator<Item = SubscriptionId> + '_ {
        self.by_id.iter().filter(move |(_, s)| s.function == function).map(|(id, _)| *id)
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }
}
