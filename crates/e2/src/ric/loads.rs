//! What a RIC's nodes and xApps do, in numbers: for whoever looks every second however many there are. Nothing is cloned
//! but names that are shared.
use super::subscription_table::State;
use super::{ConnId, NodeInfo, Owner, Ric, XappInfo};
use crate::{OutboxCounters, Time};
use std::sync::Arc;
use std::time::Duration;

/// Periods without a report, and no less time than this, after which a subscription is called silent.
const SILENT_PERIODS: u32 = 3;
const SILENT_MIN: Duration = Duration::from_secs(1);

/// What goes on at a node.
#[derive(Debug, Clone)]
pub struct NodeLoad {
    /// The node.
    pub info: Arc<NodeInfo>,
    /// Its subscriptions.
    pub subscriptions: usize,
    /// Those that were asked for at intervals and of which no report came for too long.
    pub silent: usize,
    /// Indications of the subscriptions that it has.
    pub indications: u64,
    /// Controls and queries under way.
    pub requests: usize,
    /// Octets that wait for it to read.
    pub queued_bytes: usize,
}

/// What an xApp takes.
#[derive(Debug, Clone)]
pub struct XappLoad {
    /// The xApp.
    pub info: XappInfo,
    /// Its subscriptions.
    pub subscriptions: usize,
    /// Its controls under way.
    pub requests: usize,
    /// What its outbox has taken and dropped.
    pub outbox: OutboxCounters,
    /// Octets that wait for it to read.
    pub queued_bytes: usize,
}

impl Ric {
    /// The load of each node, connected or remembered, in order of their ids. Looks at each subscription once.
    pub fn node_loads(&self, now: Time) -> impl Iterator<Item = NodeLoad> {
        self.nodes.in_order().map(move |node| {
            let (mut subscriptions, mut silent, mut indications) = (0, 0, 0);
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

    /// The load of each xApp, in order of their ids.
    pub fn xapp_loads(&self) -> impl Iterator<Item = XappLoad> {
        self.xapps.in_order().map(|(place, x)| {
            let owner = Owner::Xapp { place, conn: x.conn };
            let (outbox, queued_bytes) = self.queue(x.conn);
            XappLoad {
                info: x.info.clone(),
                subscriptions: self.owned.of(owner).count(),
                requests: self.requests_by.get(&owner).copied().unwrap_or(0),
                outbox,
                queued_bytes,
            }
        })
    }

    /// What a connection's outbox has taken and dropped, and the octets that wait there.
    fn queue(&self, conn: ConnId) -> (OutboxCounters, usize) {
        let outbox = self.links.conn(conn).map(|conn| &conn.outbox);
        outbox.map_or_else(Default::default, |outbox| (outbox.counters(), outbox.queued_bytes()))
    }
}
