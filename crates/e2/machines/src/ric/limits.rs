//! Limits, timers and counters of the RIC.
use crate::OutboxLimits;
use std::time::Duration;

/// Limits of a RIC. At a limit, the current request is refused or, for indications, the oldest one is dropped. The
/// event is counted in [`RicCounters`] and visible in the snapshot. Other peers are not affected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum length of a PDU, in bytes. A longer one closes its connection.
    pub pdu_bytes: usize,
    /// Maximum number of E2 connections. Further ones are closed.
    pub e2_connections: usize,
    /// Maximum number of E42 connections. Further ones are closed.
    pub e42_connections: usize,
    /// Maximum number of xApps. Further ones get an E42 setup failure. Must be below 65,000, because ids have 16
    /// bits.
    pub xapps: usize,
    /// Maximum number of known nodes, connected or not. A new node replaces the one that has been disconnected for
    /// the longest time; if all are connected, it is refused.
    pub nodes: usize,
    /// Maximum number of RAN functions per node, at most 256. Further ones are rejected in the setup response
    /// (excessive-functions).
    pub functions_per_node: usize,
    /// Maximum number of distinct subscriptions per node, at most 64,000.
    pub subscriptions_per_node: usize,
    /// Maximum number of owners per subscription.
    pub sinks_per_subscription: usize,
    /// Maximum number of subscriptions per xApp or iApp, over all nodes.
    pub subscriptions_per_owner: usize,
    /// Maximum number of outstanding deletions per node for subscriptions that the RIC does not know. Further ones
    /// wait for the next indication of such a subscription.
    pub strays_per_node: usize,
    /// Maximum size of a subscription's event trigger and action definitions, in bytes.
    pub subscription_bytes: usize,
    /// Maximum number of setups per second on one connection. Further ones are refused with a time to wait.
    pub setups_per_second: u32,
    /// Maximum number of outstanding controls and queries per node.
    pub requests_per_node: usize,
    /// Maximum number of outstanding controls and queries per xApp or iApp.
    pub requests_per_owner: usize,
    /// Maximum number of outstanding global procedures of the RIC per node.
    pub procedures_per_node: usize,
    /// Maximum number of undecodable or unexpected messages per connection. Beyond it, the connection is closed.
    pub faults_per_connection: u32,
    /// Maximum number of faults per host and second that are reported and answered with an ErrorIndication. Further
    /// ones are only counted, so a peer that reconnects after each fault does not flood the log.
    pub faults_per_second: u32,
    /// Maximum size of the node list in one E42 setup response or node event, in bytes.
    pub node_list_bytes: usize,
    /// Maximum number of iApp calls within one step of the RIC. The rest is deferred to the next step.
    pub iapp_calls_per_step: usize,
    /// Limits of the send queue to a node.
    pub agent_outbox: OutboxLimits,
    /// Limits of the send queue to an xApp.
    pub xapp_outbox: OutboxLimits,
}

/// Default maximum number of nodes.
const NODES: usize = 4_096;
/// Maximum number of subscriptions of one owner, per allowed node.
const SUBSCRIPTIONS_PER_OWNER_AND_NODE: usize = 4;

impl Limits {
    /// Returns the default limits for a number of nodes. The limit of E2 connections is 1/16 higher, because a node may
    /// reconnect before the loss of its old connection is detected. A surplus node can then be refused with a cause.
    pub fn for_nodes(nodes: usize) -> Self {
        Self {
            pdu_bytes: 1 << 20,
            e2_connections: nodes.saturating_add(nodes / 16 + 1),
            e42_connections: 1_024,
            xapps: 1_024,
            nodes,
            functions_per_node: 256,
            subscriptions_per_node: 1_024,
            sinks_per_subscription: 64,
            subscriptions_per_owner: nodes.max(NODES).saturating_mul(SUBSCRIPTIONS_PER_OWNER_AND_NODE),
            strays_per_node: 8,
            subscription_bytes: 64 << 10,
            setups_per_second: 5,
            requests_per_node: 256,
            requests_per_owner: 1_024,
            procedures_per_node: 8,
            faults_per_connection: 8,
            faults_per_second: 16,
            node_list_bytes: 512 << 10,
            iapp_calls_per_step: 10_000,
            agent_outbox: OutboxLimits::default(),
            xapp_outbox: OutboxLimits { control_bytes: 4 << 20, ..OutboxLimits::default() },
        }
    }
}

impl Default for Limits {
    /// Returns the limits for 4,096 nodes.
    fn default() -> Self {
        Self::for_nodes(NODES)
    }
}

/// Timers of a RIC.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RicTimers {
    /// Maximum time from a connection to its setup. After that, the connection is closed.
    pub handshake: Duration,
    /// Maximum time to wait for the response to a subscription or deletion. After that, it is repeated.
    pub subscription: Duration,
    /// Number of times that a subscription or deletion is sent before it fails. A subscription that was active before
    /// is repeated without limit.
    pub subscription_tries: u32,
    /// Maximum time to wait for the response to a control or query. After that, it fails. It is never repeated,
    /// because a control need not be idempotent.
    pub request: Duration,
    /// Maximum time to wait for the response to a global procedure. After that, it is repeated.
    pub procedure: Duration,
    /// Number of times that a global procedure is sent before it fails.
    pub procedure_tries: u32,
    /// Pause after the setup response to a node that handles one procedure at a time.
    pub pause: Duration,
    /// Minimum time from the request of a FlexRIC xApp to its response; zero disables it. FlexRIC's library sends a
    /// request before it records that it waits for the response, and crashes if the response arrives earlier. Setups
    /// get a response immediately.
    pub e42_hold: Duration,
    /// Time without any accepted data after which a connection is reported as stalled
    /// ([`RicEvent::Fault`](super::RicEvent::Fault)), once until it accepts data again.
    pub stall: Duration,
    /// Time without messages from a node after which another connection may take over its identity.
    pub node_silent: Duration,
    /// Time for which a parameter is protected from controllers with a lower or equal priority; see
    /// [`XappPolicy::targets`](super::XappPolicy::targets).
    pub hold: Duration,
    /// Time for which a disconnected node and its subscriptions are remembered.
    pub node_retention: Duration,
}

changed_by!(Limits, RicTimers);

impl Default for RicTimers {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            subscription: Duration::from_secs(2),
            subscription_tries: 3,
            request: Duration::from_secs(5),
            procedure: Duration::from_secs(5),
            procedure_tries: 3,
            pause: Duration::from_millis(50),
            e42_hold: Duration::from_micros(500),
            stall: Duration::from_secs(3),
            node_silent: Duration::from_secs(10),
            hold: Duration::from_secs(10),
            node_retention: Duration::from_secs(600),
        }
    }
}

/// Counters of a RIC since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // described by their names and the groups below
pub struct RicCounters {
    // Messages of the data path:
    pub indications: u64,
    pub indications_forwarded: u64,
    pub indications_to_iapps: u64,
    /// Indications of unknown subscriptions.
    pub indications_stray: u64,
    /// Unknown subscriptions whose deletion the RIC requested.
    pub strays_deleted: u64,
    /// Indications before a setup, which are ignored.
    pub indications_early: u64,
    /// Indications dropped because the receiver did not read them in time.
    pub indications_dropped: u64,
    pub controls: u64,
    /// Controls refused because another controller holds a parameter that they set.
    pub controls_in_conflict: u64,
    /// Parameters taken over by a controller with a higher priority.
    pub controls_overridden: u64,
    pub queries: u64,
    pub answers_stray: u64,
    // Setups and disconnects of peers:
    pub setups: u64,
    pub setups_refused: u64,
    pub nodes_lost: u64,
    pub nodes_removed: u64,
    pub xapp_setups: u64,
    pub xapp_setups_refused: u64,
    pub xapps_gone: u64,
    /// Nodes omitted from a node list, because it was full or the version cannot encode them.
    pub nodes_not_listed: u64,
    // Subscriptions at nodes:
    pub subscriptions: u64,
    pub subscriptions_merged: u64,
    pub subscriptions_refused: u64,
    pub subscriptions_failed: u64,
    pub subscriptions_restored: u64,
    pub subscriptions_ended: u64,
    pub subscription_retries: u64,
    /// Deletions without a response.
    pub deletes_unanswered: u64,
    // Faults of peers and reached limits:
    pub undecodable: u64,
    /// Well-formed messages that are not expected in the state of the connection.
    pub misplaced: u64,
    pub error_indications_received: u64,
    pub connections_refused: u64,
    pub closed_for_faults: u64,
    /// Faults beyond [`Limits::faults_per_second`], which are neither reported nor answered.
    pub faults_hushed: u64,
    pub closed_for_size: u64,
    pub closed_unread: u64,
    pub handshakes_expired: u64,
    pub requests_refused: u64,
    pub requests_expired: u64,
    pub procedures_expired: u64,
    /// Steps in which iApp calls were deferred because of [`Limits::iapp_calls_per_step`].
    pub iapp_steps_cut: u64,
}

impl RicCounters {
    /// Adds the counters of the fast path: indications, and copies forwarded to xApps.
    pub(super) fn count_passed(&mut self, (indications, forwarded): (u64, u64)) {
        self.indications += indications;
        self.indications_forwarded += forwarded;
    }
}
