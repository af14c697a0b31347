//! Configuration and counters of an agent.
use crate::{OutboxLimits, RECONNECT_DELAY_MAX};
use ranlab_e2_codec::e2ap::{ComponentConfigItem, GlobalE2NodeId, Version};
use ranlab_e2_codec::flat::Coding;
use std::time::Duration;

/// Configuration of an [`Agent`](super::Agent).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentConfig {
    /// Identity of the node.
    pub node_id: GlobalE2NodeId,
    /// Components of the node. v2.03 and later require at least one. v1.01 has no such list, so none is sent.
    pub components: Vec<ComponentConfigItem>,
    /// E2AP version. A v2.03 agent switches to v3.01 when a controller uses a feature of v3.01.
    pub version: Version,
    /// Encoding of PDUs towards every controller. A FlatBuffers connection keeps its encoding until it is closed.
    pub coding: Coding,
    /// Seed of the reconnect jitter. Different seeds prevent the agents of a fleet from reconnecting in the same
    /// millisecond.
    pub seed: u64,
    /// Size, in bytes, of each of two buffers for indications. A buffer is reused when all its indications have been
    /// sent, so sending does not allocate. With 0, each indication gets its own allocation, which takes less memory
    /// in a large fleet.
    pub pool_bytes: usize,
    /// Limits.
    pub limits: AgentLimits,
    /// Timeouts and retries.
    pub timers: AgentTimers,
}

impl AgentConfig {
    /// Returns the configuration of a v2.03 agent with default limits and timers.
    pub fn new(node_id: GlobalE2NodeId, components: Vec<ComponentConfigItem>) -> Self {
        Self {
            node_id,
            components,
            version: Version::V2_03,
            coding: Coding::Per,
            seed: 1,
            pool_bytes: 0,
            limits: AgentLimits::default(),
            timers: AgentTimers::default(),
        }
    }
}

/// Limits of an agent. A request beyond a limit is refused and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentLimits {
    /// Maximum number of subscriptions per controller. Further ones fail with cause `function-resource-limit`.
    pub subscriptions_per_controller: usize,
    /// Maximum number of actions per subscription, at most 16. Further ones fail with cause `excessive-actions`.
    pub actions_per_subscription: usize,
    /// Maximum number of controllers. Further ones fail with
    /// [`ControllerError::TooMany`](super::ControllerError::TooMany).
    pub controllers: usize,
    /// Maximum number of RAN functions, at most 256.
    pub functions: usize,
    /// Maximum number of UEs. Further ones fail with [`UeError::TooMany`](super::UeError::TooMany).
    pub ues: usize,
    /// Maximum length of a received PDU, in bytes. A longer PDU closes the connection.
    pub pdu_bytes: usize,
    /// Limits of the send queue of each controller.
    pub outbox: OutboxLimits,
}

impl Default for AgentLimits {
    /// Returns 256 subscriptions per controller, 16 actions each, 8 controllers, 256 functions, 65,536 UEs and PDUs
    /// of 1 MiB.
    fn default() -> Self {
        Self {
            subscriptions_per_controller: 256,
            actions_per_subscription: 16,
            controllers: 8,
            functions: 256,
            ues: 65_536,
            pdu_bytes: 1 << 20,
            outbox: OutboxLimits::default(),
        }
    }
}

/// Timeouts and retries of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentTimers {
    /// Maximum time to connect.
    pub connect_timeout: Duration,
    /// Maximum time to wait for the response to a setup request.
    pub setup_timeout: Duration,
    /// Upper bound of the setup timeout, which doubles with each consecutive setup without a response. A controller
    /// that serves a thousand agents at once may need longer. Reconnecting elsewhere would only move the load to
    /// another controller.
    pub setup_timeout_max: Duration,
    /// Maximum time to wait for the response to any other procedure.
    pub procedure_timeout: Duration,
    /// Number of times that a procedure without a response is repeated before the connection is closed.
    pub procedure_retries: u32,
    /// Delay before the second connection attempt. It doubles with each further attempt; jitter subtracts up to half
    /// of it.
    pub reconnect_min: Duration,
    /// Upper bound of the reconnect delay, at most [`RECONNECT_DELAY_MAX`].
    pub reconnect_max: Duration,
}

changed_by!(AgentConfig, AgentLimits, AgentTimers);

impl Default for AgentTimers {
    /// Returns 5 s to connect, 3 s per procedure, setup timeouts of up to 24 s, 2 retries, and reconnect delays from
    /// 50 ms to 1 s.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            setup_timeout: Duration::from_secs(3),
            setup_timeout_max: Duration::from_secs(24),
            procedure_timeout: Duration::from_secs(3),
            procedure_retries: 2,
            reconnect_min: Duration::from_millis(50),
            reconnect_max: RECONNECT_DELAY_MAX,
        }
    }
}

/// Counters of an agent since its creation, summed over all controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentCounters {
    /// PDUs received.
    pub received: u64,
    /// PDUs that could not be decoded or that an agent in this state does not expect.
    pub refused_pdus: u64,
    /// Responses that arrived late or that match no request.
    pub stray_answers: u64,
    /// Indications sent by RAN functions. The outbox counts whether they were transmitted or dropped.
    pub indications: u64,
    /// Subscriptions admitted.
    pub subscriptions: u64,
    /// Subscriptions refused for any reason.
    pub subscriptions_refused: u64,
    /// Subscriptions refused because a limit was reached.
    pub limit_refusals: u64,
    /// Controls executed.
    pub controls: u64,
    /// Controls refused.
    pub controls_refused: u64,
    /// Setups accepted by a controller.
    pub setups: u64,
    /// Setups that failed, timed out or were refused.
    pub setups_failed: u64,
    /// Connection attempts.
    pub connects: u64,
    /// Messages of RAN functions that cannot be encoded in the version in use.
    pub unencodable: u64,
}
