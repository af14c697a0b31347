//! Snapshot of a RIC as plain values, for northbound interfaces and tests.
use super::directory::DirectoryCounters;
use super::links::Role;
use super::subscription_table::State;
use super::{
    ConnId, Hint, ListenerProtocol, NodeInfo, Owner, RanInfo, Ric, RicCounters, SnapshotCounters, Tenant,
};
use crate::{OutboxCounters, Time};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, RanFunctionId, RicRequestId, Version};
use ranlab_e2_codec::e42::XappId;
use std::sync::Arc;
use std::time::Duration;

/// Data of an xApp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XappInfo {
    /// Id of the xApp.
    pub id: XappId,
    /// Remote address.
    pub peer: Arc<str>,
    /// Tenant of the xApp.
    pub tenant: Tenant,
    /// E2AP version that its messages are based on.
    pub version: Version,
    /// Time of the setup.
    pub since: Time,
}

/// A node and its activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// Node.
    pub info: Arc<NodeInfo>,
    /// Subscriptions at the node.
    pub subscriptions: Vec<SubscriptionSnapshot>,
    /// Number of outstanding controls and queries.
    pub requests: usize,
    /// Number of outstanding global procedures of the RIC.
    pub procedures: usize,
}

/// A subscription at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSnapshot {
    /// Request id of the RIC at the node.
    pub request_id: RicRequestId,
    /// RAN function.
    pub function: RanFunctionId,
    /// State: `waiting` for the node, `requesting`, `active` or `deleting`.
    pub state: &'static str,
    /// xApps that own it, with their request ids.
    pub xapps: Vec<(XappId, RicRequestId)>,
    /// Number of iApps that own it.
    pub iapps: usize,
    /// Report period, if known.
    pub period: Option<Duration>,
    /// Number of received indications.
    pub indications: u64,
    /// Time of the last indication.
    pub heard: Option<Time>,
}

/// An xApp and its activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XappSnapshot {
    /// xApp.
    pub info: XappInfo,
    /// Subscriptions, by the xApp's request ids.
    pub subscriptions: Vec<(RicRequestId, GlobalE2NodeId)>,
    /// Number of outstanding controls.
    pub requests: usize,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnSnapshot {
    /// Id of the connection.
    pub id: ConnId,
    /// Protocol.
    pub side: ListenerProtocol,
    /// Remote address.
    pub peer: Arc<str>,
    /// E2AP version.
    pub version: Version,
    /// Whether the setup is complete.
    pub set_up: bool,
    /// Counters of the send queue.
    pub outbox: OutboxCounters,
    /// Size of the send queue, in bytes.
    pub queued_bytes: usize,
}

/// State of a RIC at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RicSnapshot {
    /// Nodes, connected or remembered, in the order of ids.
    pub nodes: Vec<NodeSnapshot>,
    /// Base stations with a connected node.
    pub rans: Vec<RanInfo>,
    /// xApps in the order of ids.
    pub xapps: Vec<XappSnapshot>,
    /// iApps in the order in which they were added.
    pub iapps: Vec<String>,
    /// Connections in the order of ids.
    pub connections: Vec<ConnSnapshot>,
    /// Counters.
    pub counters: RicCounters,
    /// Hints, the oldest first.
    pub hints: Vec<Hint>,
    /// State of a RIC that is one of several; `None` for a single RIC.
    pub cluster: Option<ClusterSnapshot>,
}

/// State of a RIC that is one of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSnapshot {
    /// Whether a server of the shared store is reachable.
    pub reached: bool,
    /// Whether the lease is valid, so that the RIC may control its nodes.
    pub lawful: bool,
    /// Number of owned nodes.
    pub held: usize,
    /// Counters of the directory.
    pub counters: DirectoryCounters,
    /// Counters of iApp snapshots.
    pub snapshots: SnapshotCounters,
}

impl Ric {
    /// Returns the number of connected nodes. The cost is proportional to the number of nodes.
    pub fn nodes_connected(&self) -> usize {
        self.nodes.in_order().filter(|node| node.conn.is_some()).count()
    }

    /// Returns the complete state. Expensive: the cost is proportional to the size of the state.
    pub fn snapshot(&self) -> RicSnapshot {
        let connections = self.links.sorted().into_iter().map(|(id, c)| ConnSnapshot {
            id,
            side: c.side,
            peer: c.peer.clone(),
            version: c.version,
            set_up: c.role != Role::New,
            outbox: c.outbox.counters(),
            queued_bytes: c.outbox.queued_bytes(),
        });
        RicSnapshot {
            nodes: self.node_snapshots(),
            rans: self.ran_db.snapshot(),
            xapps: self.xapp_snapshots(),
            iapps: self.iapps.iter().map(|i| i.name().to_owned()).collect(),
            connections: connections.collect(),
            counters: self.counters(),
            hints: self.links.hints.all(),
            cluster: self.directory().map(|directory| ClusterSnapshot {
                reached: directory.reached() == Some(true),
                lawful: directory.is_lawful(self.links.now()),
                held: directory.held().count(),
                counters: directory.counters(),
                snapshots: self.iapp_snapshots().unwrap_or_default(),
            }),
        }
    }

    fn node_snapshots(&self) -> Vec<NodeSnapshot> {
        self.nodes.in_order().map(|node| self.node_snapshot(node)).collect()
    }

    /// Returns the first node, in the order of ids, for which `is` returns true. The cost is proportional to the
    /// state of that node.
    pub fn find_node(&self, is: impl Fn(&GlobalE2NodeId) -> bool) -> Option<NodeSnapshot> {
        self.nodes.in_order().find(|node| is(&node.info.id)).map(|node| self.node_snapshot(node))
    }

    /// Returns the hints, the oldest first.
    pub fn hints(&self) -> Vec<Hint> {
        self.links.hints.all()
    }

    fn node_snapshot(&self, node: &super::nodes::Node) -> NodeSnapshot {
        let subscription = |(slot, s): (u16, &super::subscription_table::Subscription)| {
            let mut xapps = Vec::new();
            let mut iapps = 0;
            for sink in &s.sinks {
                match sink.owner {
                    Owner::IApp(_) => iapps += 1,
                    Owner::Xapp { place, .. } => {
                        xapps.extend(self.xapps.at(place).map(|x| (x.info.id, sink.request_id)));
                    }
                }
            }
            let request_id = node.subscriptions.request_id(slot).unwrap_or_default();
            SubscriptionSnapshot {
                request_id,
                function: s.function,
                state: s.state.name(),
                xapps,
                iapps,
                period: s.period,
                indications: s.heard.indications(),
                heard: s.heard.last(),
            }
        };
        NodeSnapshot {
            info: node.info.clone(),
            subscriptions: node.subscriptions.iter().map(subscription).collect(),
            requests: node.requests.len(),
            procedures: node.procedures.len(),
        }
    }

    fn xapp_snapshots(&self) -> Vec<XappSnapshot> {
        let xapps = self.xapps.in_order().map(|(place, x)| {
            let owner = Owner::Xapp { place, conn: x.conn };
            let ids = self.owned.owned_by(owner);
            let node = |place: usize| self.nodes.at(place).map(|n| n.info.id);
            XappSnapshot {
                info: x.info.clone(),
                subscriptions: ids.filter_map(|(id, at)| Some((id, node(at.0)?))).collect(),
                requests: self.requests_by.get(&owner).copied().unwrap_or(0),
            }
        });
        xapps.collect()
    }
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Requesting => "requesting",
            Self::Active => "active",
            Self::Modifying => "modifying",
            Self::Deleting => "deleting",
        }
    }
}
