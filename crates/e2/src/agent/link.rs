//! One controller as the agent sees it: its connection, what it was told, what it owes an answer to.
use super::{AgentConfig, ControllerId, Procedure, SetupFailure};
use crate::backoff::Backoff;
use crate::{Outbox, Time};
use bytes::Bytes;
use ranlab_wire::e2ap::{ComponentConfigItem, RanFunctionId, RicRequestId, Version};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// None; another attempt at that time.
    Down { retry_at: Time },
    /// Asked for.
    Connecting { deadline: Time },
    /// The setup waits for its answer.
    SettingUp { deadline: Time, transaction: u8 },
    /// The setup was refused; another attempt at that time.
    Waiting { until: Time },
    /// Set up.
    Up,
    /// The removal waits for its answer.
    Removing,
    /// Forgotten once its closing was polled.
    Gone,
}

/// A procedure that waits for its answer.
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
    /// Where it is to be reached; the current one of several that are one controller to the node.
    pub(super) address: String,
    /// The others, the next one first.
    others: VecDeque<String>,
    /// Of these, how many refused in a row: only when all have, is the time to wait of the last one kept.
    refused: usize,
    /// How many setups in a row were not answered.
    pub(super) unanswered: u32,
    /// Why the last setup failed, until one succeeds.
    pub(super) setup_failure: Option<SetupFailure>,
    /// Where a setup failure sent us, and how often in a row.
    pub(super) redirect: Option<String>,
    pub(super) redirects: u32,
    pub(super) state: State,
    pub(super) version: Version,
    pub(super) outbox: Outbox,
    /// Whether `Transmit` is among the outputs already.
    pub(super) announced: bool,
    pub(super) pending: Vec<Pending>,
    /// Revisions of the functions that the controller knows of.
    pub(super) told: BTreeMap<RanFunctionId, u16>,
    pub(super) told_components: Vec<ComponentConfigItem>,
    /// It knows the reserved functions, so that it is told of them.
    pub(super) knows_reserved: bool,
    pub(super) functions_changed: bool,
    pub(super) components_changed: bool,
    /// A service query waits for an update, even an empty one.
    pub(super) query_open: bool,
    /// No setup before: the controller's time to wait.
    pub(super) not_before: Time,
    pub(super) backoff: Backoff,
    /// Subscriptions that it had deleted, the last [`DELETED_MAX`] of them.
    deleted: VecDeque<(RicRequestId, RanFunctionId)>,
    transaction: u8,
}

/// Deletions that are known again when they are repeated.
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

    /// Whether bytes may come and go.
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.state, State::SettingUp { .. } | State::Waiting { .. } | State::Up | State::Removing)
    }

    /// Where to connect to.
    pub(super) fn target(&self) -> &str {
        self.redirect.as_deref().unwrap_or(&self.address)
    }

    /// Further places where the same controller may be.
    pub(super) fn or_at(&mut self, others: impl IntoIterator<Item = String>) {
        self.others.extend(others);
    }

    /// Whether there is another place to try.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// The current place is of no use: the next one is tried.
    pub(super) fn turn_to_next(&mut self) {
        if self.redirect.take().is_none()
            && let Some(next) = self.others.pop_front()
        {
            self.others.push_back(std::mem::replace(&mut self.address, next));
        }
    }

    /// A place refused the setup; whether all of them have, one after the other.
    pub(super) fn refused_by_all(&mut self) -> bool {
        self.refused = (self.refused + 1) % (self.others.len() + 1);
        self.refused == 0
    }

    /// The number of the next procedure.
    pub(super) fn next_transaction(&mut self) -> u8 {
        self.transaction = self.transaction.wrapping_add(1);
        self.transaction
    }

    /// Forgets what belongs to one connection.
    pub(super) fn forget_connection(&mut self) {
        self.pending.clear();
        self.knows_reserved = false;
        self.functions_changed = false;
        self.components_changed = false;
        self.query_open = false;
    }

    /// A setup came through: the next loss is the first one again.
    pub(super) fn settle(&mut self) {
        self.backoff.reset();
        self.redirects = 0;
        self.refused = 0;
        self.unanswered = 0;
        self.setup_failure = None;
    }

    /// How long the next setup may wait for its answer.
    pub(super) fn patience(&self, first: Duration, most: Duration) -> Duration {
        first.saturating_mul(1 << self.unanswered.min(20)).min(most.max(first))
    }

    /// When the link wants to be looked at.
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

    /// Whether an update can and should be sent.
    pub(super) fn wants_sync(&self) -> bool {
        self.wants_functions() || self.wants_components()
    }

    /// Whether the controller is to be told of functions, and may be now.
    pub(super) fn wants_functions(&self) -> bool {
        (self.functions_changed || self.query_open) && self.may_start(Procedure::ServiceUpdate)
    }

    /// Whether the controller is to be told of components, and may be now.
    pub(super) fn wants_components(&self) -> bool {
        self.components_changed && self.may_start(Procedure::ConfigurationUpdate)
    }

    /// A controller of this project takes different procedures at a time; a stranger may read one message at a time.
    fn may_start(&self, procedure: Procedure) -> bool {
        !self.pending.iter().any(|p| !self.knows_reserved || p.procedure == procedure)
    }

    /// Takes the pending procedure that an answer belongs to; v1.01 has no transaction ids, there the kind decides.
    pub(super) fn answered(&mut self, procedure: Procedure, transaction: Option<u16>) -> Option<Pending> {
        let v1 = self.version == Version::V1_01;
        let at = self.pending.iter().position(|p| {
            p.procedure == procedure && (v1 || transaction == Some(u16::from(p.transaction)))
        })?;
        Some(self.pending.remove(at))
    }
}
