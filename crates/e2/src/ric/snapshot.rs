//! What a RIC looks like from outside: plain values for northbound interfaces and tests.
use super::directory::DirectoryCounters;
use super::links::Role;
use super::subscription_table::State;
use super::{ConnId, Hint, NodeInfo, Owner, RanInfo, Ric, RicCounters, Side, SnapshotCounters, Tenant};
use crate::{OutboxCounters, Time};
use ranlab_wire::e2ap::{GlobalE2NodeId, RanFunctionId, RicRequestId, Version};
use ranlab_wire::e42::XappId;
use std::sync::Arc;
use std::time::Duration;

/// What the RIC knows of an xApp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XappInfo {
    /// Its id.
    pub id: XappId,
    /// From where it connected.
    pub peer: Arc<str>,
    /// On whose behalf it acts.
    pub tenant: Tenant,
    /// The numbering that it speaks.
    pub version: Version,
    /// Since when.
    pub since: Time,
}

/// A node and what goes on there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// The node.
    pub info: Arc<NodeInfo>,
    /// Its subscriptions.
    pub subscriptions: Vec<SubscriptionSnapshot>,
    /// Controls and queries under way.
    pub requests: usize,
    /// Global procedures of the RIC's under way.
    pub procedures: usize,
}

/// A subscription at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSnapshot {
    /// The RIC's request id there.
    pub request_id: RicRequestId,
    /// Of which function.
    pub function: RanFunctionId,
    /// `waiting` for the node, `requesting`, `active` or `deleting`.
    pub state: &'static str,
    /// Owners that are xApps, with their own request ids.
    pub xapps: Vec<(XappId, RicRequestId)>,
    /// Owners that are iApps.
    pub iapps: usize,
    /// How often it asks for a report, if that is known.
    pub period: Option<Duration>,
    /// Indications that came.
    pub indications: u64,
    /// When the last one came.
    pub heard: Option<Time>,
}

/// An xApp and what it owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XappSnapshot {
    /// The xApp.
    pub info: XappInfo,
    /// Its subscriptions, by its own request ids.
    pub subscriptions: Vec<(RicRequestId, GlobalE2NodeId)>,
    /// Its controls under way.
    pub requests: usize,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnSnapshot {
    /// Which.
    pub id: ConnId,
    /// What it carries.
    pub side: Side,
    /// From where.
    pub peer: Arc<str>,
    /// What its peer speaks.
    pub version: Version,
    /// Whether its peer is set up.
    pub set_up: bool,
    /// What its outbox has taken and dropped.
    pub outbox: OutboxCounters,
    /// Octets that wait for the peer to read.
    pub queued_bytes: usize,
}

/// A RIC at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RicSnapshot {
    /// Nodes, connected or remembered, in order of their ids.
    pub nodes: Vec<NodeSnapshot>,
    /// Base stations with a connected part.
    pub rans: Vec<RanInfo>,
    /// xApps in order of their ids.
    pub xapps: Vec<XappSnapshot>,
    /// iApps in order of their coming.
    pub iapps: Vec<String>,
    /// Connections in order of their numbers.
    pub connections: Vec<ConnSnapshot>,
    /// What was counted.
    pub counters: RicCounters,
    /// What is likely wrong, the oldest first.
    pub hints: Vec<Hint>,
    /// Its part among several RICs, if it is one of them.
    pub cluster: Option<ClusterSnapshot>,
}

/// A RIC's part among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSnapshot {
    /// Whether a server of their store is there.
    pub reached: bool,
    /// Whether it may command what it holds.
    pub lawful: bool,
    /// Nodes that are its own.
    pub held: usize,
    /// What its directory did.
    pub counters: DirectoryCounters,
    /// What became of what iApps hand over.
    pub snapshots: SnapshotCounters,
}

impl Ric {
    /// Nodes connected now. Looks at each node once and at nothing else.
    pub fn nodes_connected(&self) -> usize {
        self.nodes.in_order().filter(|node| node.conn.is_some()).count()
    }

    /// All that there is to see. Costs as much as there is; not for every message.
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

    /// A node of which `is` says that it is meant, the first one in order of their ids. Costs as much as there is of it.
    pub fn find_node(&self, is: impl Fn(&GlobalE2NodeId) -> bool) -> Option<NodeSnapshot> {
        self.nodes.in_order().find(|node| is(&node.info.id)).map(|node| self.node_snapshot(node))
    }

    /// What is likely wrong, the oldest first.
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
            let ids = self.owned.of(owner);
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
