//! Load figures of nodes and xApps. Only shared pointers are cloned, so that even a large fleet can be monitored once
//! per second.
use super::subscription_table::State;
use super::{ConnId, NodeInfo, Owner, Ric, XappInfo};
use crate::{OutboxCounters, Time};
use std::sync::Arc;
use std::time::Duration;

/// Number of periods without a report after which a subscription counts as silent, if [`SILENT_MIN`] has passed, too.
const SILENT_PERIODS: u32 = 3;
const SILENT_MIN: Duration = Duration::from_secs(1);

/// Load of a node.
#[derive(Debug, Clone)]
pub struct NodeLoad {
    /// Node.
    pub info: Arc<NodeInfo>,
    /// Number of subscriptions.
    pub subscriptions: usize,
    /// Number of periodic subscriptions without a report for too long.
    pub silent: usize,
    /// Number of indications received for the current subscriptions.
    pub indications: u64,
    /// Number of outstanding controls and queries.
    pub requests: usize,
    /// Size of the send queue, in bytes.
    pub queued_bytes: usize,
}

/// Load of an xApp.
#[derive(Debug, Clone)]
pub struct XappLoad {
    /// xApp.
    pub info: XappInfo,
    /// Number of subscriptions.
    pub subscriptions: usize,
    /// Number of outstanding controls.
    pub requests: usize,
    /// Counters of the send queue.
    pub outbox: OutboxCounters,
    /// Size of the send queue, in bytes.
    pub queued_bytes: usize,
}

impl Ric {
    /// Returns the load of each node, connected or remembered, in the order of ids. The cost is proportional to the
    /// number of subscriptions.
    pub fn node_loads(&self, now: Time) -> impl Iterator<Item = NodeLoad> {
        self.nodes.in_order().map(move |node| {
            let mut subscriptions = 0;
            let mut silent = 0;
            let mut indications = 0;
            for (_, s) in node.subscriptions.iter() {
                subscriptions += 1;
                indications += s.heard.indications();
                let late = match (s.period, s.heard.last()) {
                    (Some(period), Some(last)) => now.since(last) > (period * SILENT_PERIODS).max(SILENT_MIN),
                    (_, None) => s.heard.due.is_some_and(|due| due < now),
                    (None, _) => false,
                };
                silent += usize::from(late && s.state == State::Active);
            }
            NodeLoad {
                info: node.info.clone(),
                subscriptions,
                silent,
                indications,
                requests: node.requests.len(),
                queued_bytes: node.conn.map_or(0, |conn| self.queue(conn).1),
            }
        })
    }

    /// Returns the load of each xApp, in the order of ids.
    pub fn xapp_loads(&self) -> impl Iterator<Item = XappLoad> {
        self.xapps.in_order().map(|(place, x)| {
            let owner = Owner::Xapp { place, conn: x.conn };
            let (outbox, queued_bytes) = self.queue(x.conn);
            XappLoad {
                info: x.info.clone(),
                subscriptions: self.owned.owned_by(owner).count(),
                requests: self.requests_by.get(&owner).copied().unwrap_or(0),
                outbox,
                queued_bytes,
            }
        })
    }

    /// Returns the counters of a connection's send queue, and its size in bytes.
    fn queue(&self, conn: ConnId) -> (OutboxCounters, usize) {
        let outbox = self.links.conn(conn).map(|conn| &conn.outbox);
        outbox.map_or_else(Default::default, |outbox| (outbox.counters(), outbox.queued_bytes()))
    }
}
