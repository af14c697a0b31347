//! Configuration and counters of an xApp.
use super::Dialect;
use crate::{OutboxLimits, RECONNECT_DELAY_MAX};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, RanFunctionItem, Version};
use ranlab_e2_codec::e2sm::models;
use ranlab_e2_codec::flat::Coding;
use std::time::Duration;

/// Maximum number of alternative RIC addresses.
pub const ADDRESSES_MAX: usize = 15;

/// Configuration of an [`Xapp`](super::Xapp).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct XappConfig {
    /// Address of the RIC. Only the driver interprets it.
    pub address: String,
    /// Addresses of alternative RICs that share their nodes (`docs/explanation/several-rics.md`). The xApp uses one
    /// RIC at a time. It switches to the next one if the connection is lost or fails, or if the setup is refused.
    /// Addresses beyond [`ADDRESSES_MAX`] are ignored.
    pub or_at: Vec<String>,
    /// E2AP version, which is fixed for the lifetime of a connection.
    pub version: Version,
    /// Encoding of PDUs.
    pub coding: Coding,
    /// E42 dialect of the RIC.
    pub dialect: Dialect,
    /// Service models of the xApp, 1 to 256.
    pub service_models: Vec<RanFunctionItem>,
    /// Names of the nodes to which standing subscriptions apply, in the form that [`GlobalE2NodeId::is_named`] accepts. An empty list
    /// selects all nodes.
    pub nodes: Vec<String>,
    /// Seed of the reconnect jitter.
    pub seed: u64,
    /// Limits.
    pub limits: XappLimits,
    /// Timeouts and retries.
    pub timers: XappTimers,
}

impl XappConfig {
    /// Returns the configuration of an xApp for a ranlab RIC, v2.03, with the usual service models and the echo model.
    /// Other RICs may abort on service models that they do not know.
    pub fn new(address: impl Into<String>) -> Self {
        let brought = models().filter(|model| model.customary() || model.echoes());
        let service_models = brought.map(|model| RanFunctionItem {
            id: model.default_function_id(),
            definition: Bytes::from_static(model.definition()),
            revision: model.revision(),
            oid: Some(model.oid().to_owned()),
        });
        Self {
            address: address.into(),
            or_at: Vec::new(),
            version: Version::V2_03,
            coding: Coding::Per,
            dialect: Dialect::Ranlab,
            service_models: service_models.collect(),
            nodes: Vec::new(),
            seed: 1,
            limits: XappLimits::default(),
            timers: XappTimers::default(),
        }
    }

    /// Returns whether standing subscriptions apply to a node.
    pub(super) fn applies_to(&self, node: &GlobalE2NodeId) -> bool {
        self.nodes.is_empty() || self.nodes.iter().any(|name| node.is_named(name))
    }
}

/// Limits of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XappLimits {
    /// Maximum number of subscriptions over all nodes, at most 60,000 (request ids have 16 bits).
    pub subscriptions: usize,
    /// Maximum number of standing subscriptions.
    pub standing: usize,
    /// Maximum number of subscription requests and deletions without a response; further ones are queued. In
    /// FlexRIC's dialect the limit is one, including controls and repeated setups, because its RIC reads one message
    /// per receive event.
    pub outstanding: usize,
    /// Maximum number of controls without a response. Further ones fail with
    /// [`ControlError::TooMany`](super::ControlError::TooMany).
    pub controls: usize,
    /// FlexRIC's dialect: maximum number of repeated setups per connection. Each one uses up one of the 65,529 xApp
    /// ids that FlexRIC has for its lifetime; it aborts after the last one.
    pub node_polls: u32,
    /// Maximum number of nodes; further ones are ignored.
    pub nodes: usize,
    /// Maximum length of a received PDU, in bytes. A longer PDU closes the connection.
    pub pdu_bytes: usize,
    /// Limits of the send queue.
    pub outbox: OutboxLimits,
}

impl Default for XappLimits {
    /// Returns 32,768 subscriptions, 64 standing ones, 256 outstanding, 1,024 controls, 256 polls, 16,384 nodes and
    /// PDUs of 1 MiB.
    fn default() -> Self {
        Self {
            subscriptions: 32_768,
            standing: 64,
            outstanding: 256,
            controls: 1_024,
            node_polls: 256,
            nodes: 16_384,
            pdu_bytes: 1 << 20,
            outbox: OutboxLimits::default(),
        }
    }
}

/// Timeouts and retries of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XappTimers {
    /// Maximum time to connect.
    pub connect_timeout: Duration,
    /// Maximum time to wait for the response to a setup request.
    pub setup_timeout: Duration,
    /// Maximum time to wait for the response to any other request. Must exceed the time that a RIC waits for a node.
    pub request_timeout: Duration,
    /// Number of times that a subscription or deletion without a response is repeated. Always 0 in FlexRIC's dialect,
    /// where a repeated request creates a second subscription and a repeated deletion crashes the RIC.
    pub request_retries: u32,
    /// Delay before the retry of a subscription whose node was not ready.
    pub not_ready_delay: Duration,
    /// Time after a reconnect within which the RIC must list the previously known nodes again.
    pub relist_grace: Duration,
    /// FlexRIC's dialect: delay before the first repeated setup, which discovers new nodes. The delay doubles with
    /// each unchanged list and is reset by a changed one.
    pub node_poll: Duration,
    /// Upper bound of the delay between repeated setups.
    pub node_poll_max: Duration,
    /// FlexRIC's dialect: delay before a setup is sent to make the RIC read a deletion without a response, while all
    /// subscriptions are being deleted. Other requests wait for [`node_poll`](Self::node_poll).
    pub leaving_push: Duration,
    /// Delay before the second connection attempt. It doubles with each further attempt; jitter subtracts up to half
    /// of it.
    pub reconnect_min: Duration,
    /// Upper bound of the reconnect delay, at most [`RECONNECT_DELAY_MAX`].
    pub reconnect_max: Duration,
}

changed_by!(XappConfig, XappLimits, XappTimers);

impl Default for XappTimers {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            setup_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(5),
            request_retries: 2,
            not_ready_delay: Duration::from_millis(500),
            relist_grace: Duration::from_secs(2),
            node_poll: Duration::from_secs(1),
            node_poll_max: Duration::from_secs(30),
            leaving_push: Duration::from_millis(100),
            reconnect_min: Duration::from_millis(50),
            reconnect_max: RECONNECT_DELAY_MAX,
        }
    }
}

/// Counters of an xApp since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XappCounters {
    /// PDUs received.
    pub received: u64,
    /// Indications passed to the application.
    pub indications: u64,
    /// Indications, responses and end notifications that match no current subscription or request.
    pub stray: u64,
    /// PDUs that could not be decoded or that an xApp does not expect.
    pub refused_pdus: u64,
    /// Subscription requests sent, including repeated ones.
    pub subscription_requests: u64,
    /// Controls sent.
    pub controls: u64,
    /// Setups accepted by the RIC, including repeated ones.
    pub setups: u64,
    /// Connection attempts.
    pub connects: u64,
    /// Nodes ignored because the limit was reached.
    pub nodes_ignored: u64,
    /// Standing subscriptions not created at a node because the limit of subscriptions was reached.
    pub standing_ignored: u64,
}
