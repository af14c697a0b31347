//! Every bound of the RIC by name, its timers, and what was counted.
use crate::OutboxLimits;
use std::time::Duration;

/// Bounds of a RIC. At each one the request at hand is refused (or, for indications, the oldest gives way), counted in
/// [`RicCounters`] and visible in the snapshot; nothing else is affected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Octets of a PDU; a longer one closes its connection.
    pub pdu_bytes: usize,
    /// E2 connections; a further one is closed.
    pub e2_connections: usize,
    /// E42 connections; a further one is closed.
    pub e42_connections: usize,
    /// xApps set up at once; a further one gets an E42 setup failure. Kept below 65,000: ids are 16 bits wide.
    pub xapps: usize,
    /// Nodes known, connected or not. The node that is lost longest gives way; without one the new node is refused.
    pub nodes: usize,
    /// RAN functions per node, at most 256; further ones are rejected in the setup response (excessive-functions).
    pub functions_per_node: usize,
    /// Distinct subscriptions at one node; at most 64,000.
    pub subscriptions_per_node: usize,
    /// Owners of one subscription.
    pub sinks_per_subscription: usize,
    /// Subscriptions of one xApp or iApp over all nodes.
    pub subscriptions_per_owner: usize,
    /// Subscriptions of a node that the RIC does not know and that it has asked the node to delete, not answered; further
    /// ones wait until their indications come again.
    pub strays_per_node: usize,
    /// Octets of a subscription's event trigger and action definitions.
    pub subscription_bytes: usize,
    /// Setups per second on one connection; further ones are refused with a time to wait.
    pub setups_per_second: u32,
    /// Controls and queries under way at one node.
    pub requests_per_node: usize,
    /// Controls and queries of one xApp or iApp under way.
    pub requests_per_owner: usize,
    /// Global procedures that the RIC has under way at one node.
    pub procedures_per_node: usize,
    /// Undecodable or misplaced messages of one connection; then it is closed.
    pub faults_per_connection: u32,
    /// Faults of one host in a second that are told of, and answered by an ErrorIndication; further ones are counted
    /// alone. Who comes back at once after each of its faults makes no storm.
    pub faults_per_second: u32,
    /// Octets of the node list in one E42 setup response or node event.
    pub node_list_bytes: usize,
    /// Calls of iApps within one step of the RIC; what is left waits for the next one.
    pub iapp_calls_per_step: usize,
    /// Waiting messages towards a node.
    pub agent_outbox: OutboxLimits,
    /// Waiting messages towards an xApp.
    pub xapp_outbox: OutboxLimits,
}

/// Nodes unless told otherwise.
const NODES: usize = 4_096;
/// Subscriptions of one owner per node allowed.
const SUBSCRIPTIONS_PER_OWNER_AND_NODE: usize = 4;

impl Limits {
    /// The default bounds, with room for so many nodes. E2 connections are a sixteenth more: a node may come back before
    /// its old connection is known to be gone, and one too many shall hear in words why it is refused.
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
    /// For 4,096 nodes.
    fn default() -> Self {
        Self::for_nodes(NODES)
    }
}

/// How long the RIC waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RicTimers {
    /// For a setup after a connection; then it is closed.
    pub handshake: Duration,
    /// For the answer to a subscription or its deletion; then it is repeated.
    pub subscription: Duration,
    /// How often a subscription or its deletion is sent before it fails. One that an owner already has is repeated
    /// without end.
    pub subscription_tries: u32,
    /// For the answer to a control or query; then it fails. Never repeated: a control need not be idempotent.
    pub request: Duration,
    /// For the answer to a global procedure; then it is repeated.
    pub procedure: Duration,
    /// How often a global procedure is sent before it fails.
    pub procedure_tries: u32,
    /// For a node that takes one procedure at a time to read the setup's answer, before the next message.
    pub pause: Duration,
    /// Least time from reading a request of an xApp without our extension to sending its answer; zero: none. FlexRIC's
    /// library sends a request first and then notes that it waits: an answer that comes before crashes it. Setups are
    /// answered at once.
    pub e42_hold: Duration,
    /// How long a connection may take nothing before the RIC reports that ([`RicEvent::Fault`](super::RicEvent::Fault)), once
    /// until it takes something again.
    pub stall: Duration,
    /// How long a node must have been silent before another connection may take its identity.
    pub node_silent: Duration,
    /// How long nobody less important sets again what an xApp has set; see [`XappPolicy::targets`](super::XappPolicy::targets).
    pub hold: Duration,
    /// How long a lost node and its subscriptions are remembered.
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
            e42_hold: Duration::from_millis(1),
            stall: Duration::from_secs(3),
            node_silent: Duration::from_secs(10),
            hold: Duration::from_secs(10),
            node_retention: Duration::from_secs(600),
        }
    }
}

/// What a RIC has seen and decided since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // the groups below say it; the fields repeat their names
pub struct RicCounters {
    // Traffic.
    pub indications: u64,
    pub indications_forwarded: u64,
    pub indications_to_iapps: u64,
    /// For no subscription that the RIC has.
    pub indications_stray: u64,
    /// Subscriptions that the RIC does not know, whose deletion it asked for.
    pub strays_deleted: u64,
    /// Before a setup: ignored.
    pub indications_early: u64,
    /// On the way to peers that did not take them in time.
    pub indications_dropped: u64,
    pub controls: u64,
    /// Controls refused because another xApp holds what they set.
    pub controls_in_conflict: u64,
    /// Parameters that a more important xApp took from another.
    pub controls_overridden: u64,
    pub queries: u64,
    pub answers_stray: u64,
    // Peers.
    pub setups: u64,
    pub setups_refused: u64,
    pub nodes_lost: u64,
    pub nodes_removed: u64,
    pub xapp_setups: u64,
    pub xapp_setups_refused: u64,
    pub xapps_gone: u64,
    /// Nodes that a node list had no room or no words for.
    pub nodes_not_listed: u64,
    // Subscriptions.
    pub subscriptions: u64,
    pub subscriptions_merged: u64,
    pub subscriptions_refused: u64,
    pub subscriptions_failed: u64,
    pub subscriptions_restored: u64,
    pub subscriptions_ended: u64,
    pub subscription_retries: u64,
    /// Deletions that the node never answered.
    pub deletes_unanswered: u64,
    // Faults and bounds.
    pub undecodable: u64,
    /// Well-formed messages that do not fit the connection's state.
    pub misplaced: u64,
    pub error_indications_received: u64,
    pub connections_refused: u64,
    pub closed_for_faults: u64,
    /// Faults neither answered nor told of: [`Limits::faults_per_second`].
    pub faults_hushed: u64,
    pub closed_for_size: u64,
    pub closed_unread: u64,
    pub handshakes_expired: u64,
    pub requests_refused: u64,
    pub requests_expired: u64,
    pub procedures_expired: u64,
    /// Steps in which the iApps had more to do than [`Limits::iapp_calls_per_step`] allows.
    pub iapp_steps_cut: u64,
}

impl RicCounters {
    /// Adds what went past the machine: indications, and how often to an xApp.
    pub(super) fn count_passed(&mut self, (indications, forwarded): (u64, u64)) {
        self.indications += indications;
        self.indications_forwarded += forwarded;
    }
}
