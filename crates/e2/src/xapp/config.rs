//! What an xApp is told at its birth, and what it counts.
use super::Dialect;
use crate::{OutboxLimits, RECONNECT_DELAY_MAX};
use bytes::Bytes;
use ranlab_wire::e2ap::{RanFunctionItem, Version};
use ranlab_wire::e2sm::{MODELS, hw};
use ranlab_wire::flat::Coding;
use std::time::Duration;

/// RICs that an xApp may be given besides the first.
pub const ADDRESSES_MAX: usize = 15;

/// What an [`Xapp`](super::Xapp) is and how it behaves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct XappConfig {
    /// Where the RIC is; the driver's business.
    pub address: String,
    /// Other RICs of those that share their nodes out (`docs/explanation/several-rics.md`): the xApp is at one of them at a time, and turns to
    /// the next when the connection is lost, cannot be made, or the setup is refused. At most [`ADDRESSES_MAX`]; further ones
    /// are not tried.
    pub or_at: Vec<String>,
    /// The numbering spoken; it fixes the connection's.
    pub version: Version,
    /// How PDUs are octets.
    pub coding: Coding,
    /// Whose E42.
    pub dialect: Dialect,
    /// Service models that it brings: 1 to 256.
    pub service_models: Vec<RanFunctionItem>,
    /// Seed of the jitter.
    pub seed: u64,
    /// Bounds.
    pub limits: XappLimits,
    /// Time-outs and retries.
    pub timers: XappTimers,
}

impl XappConfig {
    /// An xApp in our dialect, numbering of v2.03, that brings the customary service models and HW: a RIC of somebody else's
    /// may end itself at others.
    pub fn new(address: impl Into<String>) -> Self {
        let brought = MODELS.iter().filter(|model| model.customary() || model.oid() == hw::OID);
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
            seed: 1,
            limits: XappLimits::default(),
            timers: XappTimers::default(),
        }
    }
}

/// Bounds of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XappLimits {
    /// Subscriptions at all nodes, at most 60,000 (request ids have 16 bits).
    pub subscriptions: usize,
    /// Standing subscriptions.
    pub standing: usize,
    /// Subscription requests and deletions that wait for their answer; further ones wait their turn. In FlexRIC's
    /// dialect one, controls and repeated setups included: its RIC reads one message each time that octets come.
    pub outstanding: usize,
    /// Controls that wait for their answer; beyond, [`ControlError::TooMany`](super::ControlError::TooMany).
    pub controls: usize,
    /// FlexRIC's dialect: how often the setup is repeated on one connection. Each time takes one of the 65,529 xApp ids
    /// that a FlexRIC has for its whole life; after the last one it aborts.
    pub node_polls: u32,
    /// Nodes remembered; those beyond are not told of.
    pub nodes: usize,
    /// Octets of a received PDU; a longer one closes the connection.
    pub pdu_bytes: usize,
    /// What may wait for the RIC.
    pub outbox: OutboxLimits,
}

impl Default for XappLimits {
    /// 32,768 subscriptions, 64 standing ones, 256 outstanding, 1,024 controls, 256 polls, 16,384 nodes, PDUs of 1 MiB.
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

/// Time-outs and retries of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XappTimers {
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long the RIC may take to answer the setup.
    pub setup_timeout: Duration,
    /// How long any other request may remain unanswered: more than a RIC's own patience with a node.
    pub request_timeout: Duration,
    /// How often an unanswered subscription or deletion is repeated; never in FlexRIC's dialect, where a repeated
    /// request is a second subscription, and a repeated deletion the end of the RIC.
    pub request_retries: u32,
    /// When a subscription is tried again whose node was not ready.
    pub not_ready_delay: Duration,
    /// How long after a reconnect the RIC may take to list the nodes that it listed before.
    pub relist_grace: Duration,
    /// FlexRIC's dialect: when the setup is first repeated to learn of nodes. The time doubles with each list that says
    /// nothing new, and starts again with one that does.
    pub node_poll: Duration,
    /// The greatest time between two such setups.
    pub node_poll_max: Duration,
    /// While all that is subscribed is deleted at the end: when a deletion without an answer is pushed by a setup. Before,
    /// a request waits as long as [`node_poll`](Self::node_poll).
    pub leaving_push: Duration,
    /// Delay before the second attempt to connect; doubles with each further one. Jitter takes up to half of it away.
    pub reconnect_min: Duration,
    /// Greatest delay; at most [`RECONNECT_DELAY_MAX`].
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

/// What an xApp did since its birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XappCounters {
    /// PDUs received.
    pub received: u64,
    /// Indications handed out.
    pub indications: u64,
    /// Indications, answers and ends of what the xApp has not, or not any more.
    pub stray: u64,
    /// PDUs that were no message, or none for an xApp.
    pub refused_pdus: u64,
    /// Subscription requests sent, repeated ones included.
    pub subscription_requests: u64,
    /// Controls sent.
    pub controls: u64,
    /// Setups that the RIC accepted, repeated ones included.
    pub setups: u64,
    /// Attempts to connect.
    pub connects: u64,
    /// Nodes not told of because there were too many.
    pub nodes_ignored: u64,
    /// Standing subscriptions not made because there were too many subscriptions.
    pub standing_ignored: u64,
}
