//! Nodes announced by the RIC.
use super::subscriptions::Phase;
use super::*;
use ranlab_e2_codec::e2sm::{by_oid, complete};

/// A node as announced by the RIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInfo {
    /// Components of the node.
    pub components: Vec<ComponentConfigItem>,
    /// RAN functions of the node.
    pub functions: Vec<RanFunctionItem>,
}

impl NodeInfo {
    /// Returns the id of a function at this node.
    pub fn find(&self, function: &FunctionRef) -> Option<RanFunctionId> {
        self.function(function).map(|f| f.id)
    }

    /// Returns the announced data of a function.
    pub fn function(&self, function: &FunctionRef) -> Option<&RanFunctionItem> {
        let called = |oid: &str, by: &str| oid == by || by_oid(by).is_some_and(|model| model.is_called(oid));
        let is_it = |f: &&RanFunctionItem| match function {
            FunctionRef::Id(id) => f.id == *id,
            FunctionRef::Oid(oid) => f.oid.as_deref().is_some_and(|it| called(it, oid)),
        };
        self.functions.iter().find(is_it)
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) info: NodeInfo,
    /// Whether the node was only listed on an earlier connection. No request is sent to it until it is listed again.
    pub(super) stale: bool,
    /// Number of the last announcement of this node, counted over all nodes.
    pub(super) announced: u64,
}

impl Xapp {
    /// Processes a listed node. Returns whether it is new or changed.
    pub(super) fn node_listed(&mut self, listed: ConnectedNode) -> bool {
        let node = listed.node_id;
        let info = NodeInfo { components: listed.components, functions: listed.functions };
        let full = self.nodes.len() >= self.config.limits.nodes;
        self.announcements += 1;
        let announced = self.announcements;
        match self.nodes.get_mut(&node) {
            None if full => {
                self.counters.nodes_ignored += 1;
                return false;
            }
            None => {
                self.nodes.insert(node, Node { info, stale: false, announced });
                self.event(XappEvent::NodeAdded { node });
            }
            Some(known) => {
                let changed = known.info != info;
                let was_stale = known.stale;
                (known.info, known.stale, known.announced) = (info, false, announced);
                if changed {
                    self.event(XappEvent::NodeChanged { node });
                } else if !was_stale {
                    return false;
                }
            }
        }
        let standing: Vec<_> = self.standing.keys().copied().collect();
        standing.into_iter().for_each(|standing| self.stand_at(standing, node));
        // Failed subscriptions are retried, because the node was announced again.
        for handle in self.subscriptions.of_node(&node) {
            if self.subscriptions.get(handle).is_some_and(|s| s.phase == Phase::Idle) {
                self.subscriptions.want(handle);
            }
        }
        true
    }

    /// Removes a node.
    pub(super) fn node_gone(&mut self, node: &GlobalE2NodeId) {
        if self.nodes.remove(node).is_none() {
            return;
        }
        for handle in self.subscriptions.of_node(node) {
            let Some(subscription) = self.subscriptions.get(handle) else { continue };
            let leaves = subscription.standing.is_some() || subscription.is_leaving();
            if let Some((id, _)) = subscription.request {
                self.requests.free(id, Target::Subscription(handle));
            }
            if leaves {
                self.subscriptions.remove(handle);
                self.event(XappEvent::Unsubscribed { handle, node: *node });
            } else {
                self.subscriptions.park(handle);
            }
        }
        self.event(XappEvent::NodeRemoved { node: *node });
    }

    /// Removes the nodes that were not listed again after a reconnect.
    pub(super) fn drop_stale(&mut self) {
        self.relisted_by = None;
        let stale: Vec<_> = self.nodes.iter().filter(|(_, n)| n.stale).map(|(id, _)| *id).collect();
        stale.iter().for_each(|node| self.node_gone(node));
    }

    /// Creates the subscriptions of a standing subscription at one node, if the node offers the function and they do
    /// not exist yet.
    pub(super) fn stand_at(&mut self, standing: StandingHandle, node: GlobalE2NodeId) {
        let Some(entry) = self.standing.get(&standing) else { return };
        if !self.config.applies_to(&node) {
            return;
        }
        let offers = |n: &Node| !n.stale && n.info.find(&entry.function).is_some();
        if !self.nodes.get(&node).is_some_and(offers) {
            return;
        }
        let made =
            |h: &SubscriptionHandle| self.subscriptions.get(*h).is_some_and(|s| s.standing == Some(standing));
        if self.subscriptions.of_node(&node).iter().any(made) {
            return;
        }
        let function = entry.function.clone();
        let Some(item) = self.nodes.get(&node).and_then(|n| n.info.function(&function)) else { return };
        let planned = match &entry.wanted {
            NodeSubscriptions::Planned(planner) => planner.plan(&node, item),
            NodeSubscriptions::Same(details) => {
                let mut details = details.clone();
                let subscriptions =
                    if complete(&node, item, &mut details) { vec![details] } else { Vec::new() };
                Ok(Planned { subscriptions, left_out: None })
            }
        };
        let (planned, left_out) = match planned {
            Ok(planned) => (planned.subscriptions, planned.left_out),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        if let Some(PlanError(reason)) = left_out {
            self.event(XappEvent::NotOffered { node, reason });
        }
        for details in planned {
            if self.subscriptions.len() >= self.config.limits.subscriptions {
                self.counters.standing_ignored += 1;
                return;
            }
            self.subscriptions.add(node, function.clone(), details, Some(standing));
        }
    }
}
