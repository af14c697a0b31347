//! Subscriptions of an iApp at every node that offers the required models. The cost per event is independent of the number of nodes.
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{IAppInput, IAppOutbox, NodeInfo, SubscriptionHandle};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, GlobalE2NodeId, RanFunctionId, RicSubscriptionDetails};
use ranlab_e2_codec::e2sm::{Context, complete};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Delay between attempts to subscribe.
pub(crate) const RETRY: Duration = Duration::from_secs(5);
/// Timer of the attempts to subscribe.
pub(crate) const RETRY_TIMER: u64 = 0;

/// Index of a required model.
pub(crate) type ModelIndex = usize;

/// Model offered by a node.
#[derive(Debug)]
pub(crate) struct OfferedModel {
    pub(crate) model: ModelIndex,
    pub(crate) function: RanFunctionId,
    pub(crate) subscription: Option<SubscriptionHandle>,
    definition: Bytes,
    details: RicSubscriptionDetails,
}

#[derive(Debug)]
pub(crate) struct TrackedNode {
    pub(crate) connected: bool,
    pub(crate) offers: Vec<OfferedModel>,
}

/// Subscriptions of an iApp.
#[derive(Debug)]
pub(crate) struct SubscriptionTracker {
    /// Required models, each by its object identifier and with its event trigger.
    wanted: Vec<(&'static str, Bytes)>,
    pub(crate) nodes: BTreeMap<GlobalE2NodeId, TrackedNode>,
    pub(crate) subscriptions: BTreeMap<SubscriptionHandle, (GlobalE2NodeId, ModelIndex)>,
    /// Nodes with failed or ended subscriptions, retried when the timer expires.
    pub(crate) retry: BTreeSet<GlobalE2NodeId>,
    retry_set: bool,
    #[cfg(test)]
    pub(crate) nodes_looked_at: u64,
}

impl SubscriptionTracker {
    pub(crate) fn new(wanted: Vec<(&'static str, Bytes)>) -> Self {
        Self {
            wanted,
            nodes: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            retry: BTreeSet::new(),
            retry_set: false,
            #[cfg(test)]
            nodes_looked_at: 0,
        }
    }

    /// Returns node and model of a subscription.
    pub(crate) fn node_of(&self, subscription: SubscriptionHandle) -> Option<(GlobalE2NodeId, ModelIndex)> {
        self.subscriptions.get(&subscription).copied()
    }

    /// Returns the RAN function by which a connected node offers a model.
    pub(crate) fn function(&self, node: &GlobalE2NodeId, model: ModelIndex) -> Option<RanFunctionId> {
        let watched = self.nodes.get(node).filter(|watched| watched.connected)?;
        watched.offers.iter().find(|offer| offer.model == model).map(|offer| offer.function)
    }

    /// Returns the context for decoding a model's reports from a node.
    pub(crate) fn context(&self, node: &GlobalE2NodeId, model: ModelIndex) -> Option<Context> {
        let offer = self.nodes.get(node)?.offers.iter().find(|offer| offer.model == model)?;
        let action = offer.details.actions.first().and_then(|action| action.definition.clone());
        Some(Context::new(offer.definition.clone(), action.unwrap_or_default()))
    }

    /// Updates the subscriptions for an input; returns the new ones.
    pub(crate) fn handle(
        &mut self,
        now: Time,
        input: &IAppInput<'_>,
        out: &mut IAppOutbox,
    ) -> Vec<(GlobalE2NodeId, ModelIndex)> {
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => return self.learn(node, out),
            IAppInput::NodeRemoved(node) => self.forget(node.id),
            IAppInput::SubscriptionFailed { subscription, .. }
            | IAppInput::SubscriptionEnded { subscription, .. } => self.ended(now, *subscription, out),
            IAppInput::Timer(RETRY_TIMER) => {
                self.retry_set = false;
                let retry = std::mem::take(&mut self.retry);
                return retry.into_iter().flat_map(|id| self.subscribe_missing(id, out)).collect();
            }
            _ => {}
        }
        Vec::new()
    }

    fn learn(&mut self, node: &NodeInfo, out: &mut IAppOutbox) -> Vec<(GlobalE2NodeId, ModelIndex)> {
        let before = self.nodes.remove(&node.id).map(|watched| watched.offers).unwrap_or_default();
        let offers = self.wanted.iter().enumerate().filter_map(|(model, (oid, trigger))| {
            let item = node.function_by_oid(oid)?;
            let mut details = RicSubscriptionDetails {
                event_trigger: trigger.clone(),
                actions: vec![ActionToBeSetup::report(0)],
            };
            if !complete(&node.id, item, &mut details) {
                return None;
            }
            // The subscription of an earlier offer is kept. If the node has withdrawn the RAN function, the RIC reports
            // that the subscription has ended.
            let subscription = before.iter().find(|o| o.model == model).and_then(|o| o.subscription);
            let definition = item.definition.clone();
            Some(OfferedModel { model, function: item.id, subscription, definition, details })
        });
        let watched = TrackedNode { connected: node.connected, offers: offers.collect() };
        self.nodes.insert(node.id, watched);
        self.subscribe_missing(node.id, out)
    }

    /// Sends the missing subscriptions of a node.
    fn subscribe_missing(
        &mut self,
        id: GlobalE2NodeId,
        out: &mut IAppOutbox,
    ) -> Vec<(GlobalE2NodeId, ModelIndex)> {
        #[cfg(test)]
        {
            self.nodes_looked_at += 1;
        }
        let mut begun = Vec::new();
        let watched = self.nodes.get_mut(&id).filter(|watched| watched.connected);
        let offers = watched.into_iter().flat_map(|watched| &mut watched.offers);
        for offer in offers.filter(|offer| offer.subscription.is_none()) {
            let handle = out.subscribe(id, offer.function, offer.details.clone());
            offer.subscription = Some(handle);
            self.subscriptions.insert(handle, (id, offer.model));
            begun.push((id, offer.model));
        }
        begun
    }

    fn ended(&mut self, now: Time, subscription: SubscriptionHandle, out: &mut IAppOutbox) {
        let Some((id, model)) = self.subscriptions.remove(&subscription) else { return };
        if let Some(watched) = self.nodes.get_mut(&id) {
            let held = watched.offers.iter_mut().find(|o| o.subscription == Some(subscription));
            // Without a match, the node has withdrawn the model; a later offer starts from scratch.
            debug_assert!(held.as_ref().is_none_or(|offer| offer.model == model));
            if let Some(offer) = held {
                offer.subscription = None;
            }
            self.retry.insert(id);
        }
        if !self.retry_set {
            self.retry_set = true;
            out.wake_at(now + RETRY, RETRY_TIMER);
        }
    }

    fn forget(&mut self, id: GlobalE2NodeId) {
        let offers = self.nodes.remove(&id).map(|watched| watched.offers).unwrap_or_default();
        for subscription in offers.iter().filter_map(|offer| offer.subscription) {
            self.subscriptions.remove(&subscription);
        }
        self.retry.remove(&id);
    }
}
