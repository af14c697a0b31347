//! State of the agent per controller: connection, announced functions, and pending procedures.
use super::{AgentConfig, ControllerId, Procedure, SetupFailure};
use crate::backoff::Backoff;
use crate::{Outbox, Time};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{ComponentConfigItem, RanFunctionId, RicRequestId, Version};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not connected; the next attempt is at `retry_at`.
    Down { retry_at: Time },
    /// Waiting for the driver to connect.
    Connecting { deadline: Time },
    /// Waiting for the response to the setup request.
    SettingUp {
        deadline: Time,
        transaction: u8,
        /// Whether an answer with another transaction id has arrived.
        strayed: bool,
    },
    /// The setup was refused; the next attempt is at `until`.
    Waiting { until: Time },
    /// The setup is complete.
    Up,
    /// Waiting for the response to the removal request.
    Removing,
    /// Removed as soon as its `Close` output has been polled.
    Gone,
}

/// A procedure that waits for its response.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) procedure: Procedure,
    pub(super) transaction: u8,
    pub(super) deadline: Time,
    pub(super) retries_left: u32,
    pub(super) pdu: Bytes,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: ControllerId,
    /// Current address of the controller, one of several alternatives.
    pub(super) address: String,
    /// Alternative addresses in the order in which they are tried.
    others: VecDeque<String>,
    /// Number of consecutive addresses that refused the setup. A time to wait applies only after all addresses have
    /// refused; it is then the one sent by the last address.
    refused: usize,
    /// Number of setups in a row without a response.
    pub(super) unanswered: u32,
    /// Reason why the last setup failed; `None` after a successful one.
    pub(super) setup_failure: Option<SetupFailure>,
    /// Address to which a setup failure redirected the agent, with the number of redirects in a row.
    pub(super) redirect: Option<String>,
    pub(super) redirects: u32,
    pub(super) state: State,
    pub(super) version: Version,
    pub(super) outbox: Outbox,
    /// Whether a `Transmit` output is already queued.
    pub(super) announced: bool,
    pub(super) pending: Vec<Pending>,
    /// Functions announced to the controller, with their revisions.
    pub(super) told: BTreeMap<RanFunctionId, u16>,
    pub(super) told_components: Vec<ComponentConfigItem>,
    /// Whether the controller has accepted the reserved functions, so that they are announced to it.
    pub(super) knows_reserved: bool,
    pub(super) functions_changed: bool,
    pub(super) components_changed: bool,
    /// Whether the controller has sent a service query, which requires an update even if nothing has changed.
    pub(super) query_open: bool,
    /// Earliest time of the next setup (time to wait of the controller).
    pub(super) not_before: Time,
    pub(super) backoff: Backoff,
    /// The last [`DELETED_MAX`] subscriptions that the controller deleted.
    deleted: VecDeque<(RicRequestId, RanFunctionId)>,
    transaction: u8,
}

/// Number of deletions that are remembered, so that repeated requests are recognized.
const DELETED_MAX: usize = 256;

impl Link {
    pub(super) fn new(id: ControllerId, address: String, config: &AgentConfig) -> Self {
        let timers = config.timers;
        Self {
            id,
            address,
            others: VecDeque::new(),
            refused: 0,
            unanswered: 0,
            setup_failure: None,
            redirect: None,
            redirects: 0,
            state: State::Down { retry_at: Time::ZERO },
            version: config.version,
            outbox: Outbox::new(config.limits.outbox),
            announced: false,
            pending: Vec::new(),
            told: BTreeMap::new(),
            told_components: Vec::new(),
            knows_reserved: false,
            functions_changed: false,
            components_changed: false,
            query_open: false,
            not_before: Time::ZERO,
            backoff: Backoff::new(timers.reconnect_min, timers.reconnect_max),
            deleted: VecDeque::new(),
            transaction: 0,
        }
    }

    pub(super) fn remember_deleted(&mut self, request: RicRequestId, function: RanFunctionId) {
        if self.deleted.len() == DELETED_MAX {
            self.deleted.pop_front();
        }
        self.deleted.push_back((request, function));
    }

    pub(super) fn has_deleted(&self, request: RicRequestId, function: RanFunctionId) -> bool {
        self.deleted.contains(&(request, function))
    }

    /// Returns whether bytes can be exchanged.
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.state, State::SettingUp { .. } | State::Waiting { .. } | State::Up | State::Removing)
    }

    /// Returns the address to connect to.
    pub(super) fn target(&self) -> &str {
        self.redirect.as_deref().unwrap_or(&self.address)
    }

    /// Adds alternative addresses of the same controller.
    pub(super) fn or_at(&mut self, others: impl IntoIterator<Item = String>) {
        self.others.extend(others);
    }

    /// Returns whether there is an alternative address.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Switches to the next address.
    pub(super) fn turn_to_next(&mut self) {
        if self.redirect.take().is_none()
            && let Some(next) = self.others.pop_front()
        {
            self.others.push_back(std::mem::replace(&mut self.address, next));
        }
    }

    /// Records that the current address refused the setup. Returns whether all addresses have refused in a row.
    pub(super) fn refused_by_all(&mut self) -> bool {
        self.refused = (self.refused + 1) % (self.others.len() + 1);
        self.refused == 0
    }

    /// Returns the transaction id of the next procedure.
    pub(super) fn next_transaction(&mut self) -> u8 {
        self.transaction = self.transaction.wrapping_add(1);
        self.transaction
    }

    /// Discards the state of the current connection.
    pub(super) fn forget_connection(&mut self) {
        self.pending.clear();
        self.knows_reserved = false;
        self.functions_changed = false;
        self.components_changed = false;
        self.query_open = false;
    }

    /// Resets the counters of failed attempts after a successful setup.
    pub(super) fn on_setup_success(&mut self) {
        self.backoff.reset();
        self.redirects = 0;
        self.refused = 0;
        self.unanswered = 0;
        self.setup_failure = None;
    }

    /// Returns the timeout of the next setup.
    pub(super) fn patience(&self, first: Duration, most: Duration) -> Duration {
        first.saturating_mul(1 << self.unanswered.min(20)).min(most.max(first))
    }

    /// Returns the earliest deadline of the link.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Down { retry_at: at }
            | State::Connecting { deadline: at }
            | State::SettingUp { deadline: at, .. }
            | State::Waiting { until: at } => Some(at),
            State::Up if self.wants_sync() => Some(Time::ZERO),
            State::Up | State::Removing => self.pending.iter().map(|p| p.deadline).min(),
            State::Gone => None,
        }
    }

    /// Returns whether an update of functions or components is needed and can be sent.
    pub(super) fn wants_sync(&self) -> bool {
        self.wants_functions() || self.wants_components()
    }

    /// Returns whether a RIC service update is needed and can be sent.
    pub(super) fn wants_functions(&self) -> bool {
        (self.functions_changed || self.query_open) && self.may_start(Procedure::ServiceUpdate)
    }

    /// Returns whether an E2 node configuration update is needed and can be sent.
    pub(super) fn wants_components(&self) -> bool {
        self.components_changed && self.may_start(Procedure::ConfigurationUpdate)
    }

    /// Returns whether a procedure can start. A ranlab RIC handles different procedures in parallel; another RIC may
    /// handle only one message at a time.
    fn may_start(&self, procedure: Procedure) -> bool {
        !self.pending.iter().any(|p| !self.knows_reserved || p.procedure == procedure)
    }

    /// Removes and returns the pending procedure of a response. v1.01 has no transaction ids; its responses are matched
    /// by procedure type.
    pub(super) fn answered(&mut self, procedure: Procedure, transaction: Option<u16>) -> Option<Pending> {
        let v1 = self.version == Version::V1_01;
        let at = self.pending.iter().position(|p| {
            p.procedure == procedure && (v1 || transaction == Some(u16::from(p.transaction)))
        })?;
        Some(self.pending.remove(at))
    }
}
