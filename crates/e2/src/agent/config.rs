//! What an agent is told at its birth, and what it counts.
use crate::{OutboxLimits, RECONNECT_DELAY_MAX};
use ranlab_wire::e2ap::{ComponentConfigItem, GlobalE2NodeId, Version};
use ranlab_wire::flat::Coding;
use std::time::Duration;

/// What an [`Agent`](super::Agent) is and how it behaves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The node's identity.
    pub node_id: GlobalE2NodeId,
    /// The node's components; v2.03 and later demand at least one. v1.01 has another notion of them: none are sent.
    pub components: Vec<ComponentConfigItem>,
    /// The version spoken. v2.03 turns into v3.01 when a controller uses what only v3.01 has.
    pub version: Version,
    /// How PDUs are octets, towards every controller; an FB connection has it for all of its life.
    pub coding: Coding,
    /// Seed of the jitter: agents of one fleet shall not all reconnect in the same millisecond.
    pub seed: u64,
    /// Octets of each of two buffers in which indications are put together and wait, used again when all that was written there has
    /// gone: then sending allocates nothing. 0: each has memory of its own, which costs a fleet of agents less.
    pub pool_bytes: usize,
    /// Bounds.
    pub limits: AgentLimits,
    /// Time-outs and retries.
    pub timers: AgentTimers,
}

impl AgentConfig {
    /// A v2.03 agent with default limits and timers.
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

/// Bounds of an agent; at each the request is refused and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentLimits {
    /// Subscriptions of one controller; beyond, failure with cause `function-resource-limit`.
    pub subscriptions_per_controller: usize,
    /// Actions of one subscription, at most 16; beyond, failure with cause `excessive-actions`.
    pub actions_per_subscription: usize,
    /// Controllers; beyond, [`ControllerError::TooMany`](super::ControllerError::TooMany).
    pub controllers: usize,
    /// RAN functions, at most 256.
    pub functions: usize,
    /// UEs; beyond, [`UeError::TooMany`](super::UeError::TooMany).
    pub ues: usize,
    /// Octets of a received PDU; a longer one closes the connection.
    pub pdu_bytes: usize,
    /// What may wait for one controller.
    pub outbox: OutboxLimits,
}

impl Default for AgentLimits {
    /// 256 subscriptions per controller of 16 actions, 8 controllers, 256 functions, 65,536 UEs, PDUs of 1 MiB.
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

/// Time-outs and retries of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentTimers {
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a controller may take to answer the setup.
    pub setup_timeout: Duration,
    /// How long in the end: each one in a row that is not answered doubles it. A controller that a thousand agents come to at once
    /// may need longer, and whoever leaves it for another one makes that one's work more.
    pub setup_timeout_max: Duration,
    /// How long a controller may take to answer any other procedure.
    pub procedure_timeout: Duration,
    /// How often an unanswered procedure is repeated before the connection is given up.
    pub procedure_retries: u32,
    /// Delay before the second attempt to connect; doubles with each further one. Jitter takes up to half of it away.
    pub reconnect_min: Duration,
    /// Greatest delay; at most [`RECONNECT_DELAY_MAX`].
    pub reconnect_max: Duration,
}

changed_by!(AgentConfig, AgentLimits, AgentTimers);

impl Default for AgentTimers {
    /// 5 s to connect, 3 s per procedure, for setups in a row up to 24 s, 2 retries, reconnecting after 50 ms to 1 s.
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

/// What an agent did, over all controllers, since its birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentCounters {
    /// PDUs received.
    pub received: u64,
    /// PDUs that were no message, or none for an agent in that state.
    pub refused_pdus: u64,
    /// Answers that came late or that nobody had asked for.
    pub stray_answers: u64,
    /// Indications that RAN functions sent; what became of them, the outbox counts.
    pub indications: u64,
    /// Subscriptions admitted.
    pub subscriptions: u64,
    /// Subscriptions refused.
    pub subscriptions_refused: u64,
    /// Of these, refused because a limit was reached.
    pub limit_refusals: u64,
    /// Controls executed.
    pub controls: u64,
    /// Controls refused.
    pub controls_refused: u64,
    /// Setups that a controller accepted.
    pub setups: u64,
    /// Setups that failed, timed out or were refused.
    pub setups_failed: u64,
    /// Attempts to connect.
    pub connects: u64,
    /// Messages of RAN functions that the version in use cannot express.
    pub unencodable: u64,
}
