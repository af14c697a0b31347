//! State of an agent, except its functions. A function can access this state during a callback.
use super::connection_update::ConnectionUpdate;
use super::controls::Controls;
use super::link::{Link, Pending, State};
use super::subscriptions::Subscriptions;
use super::ues::Ues;
use super::*;
use crate::backoff::seeded;
use crate::coding::in_coding;
use crate::{Frame, Time};
use bytes::BytesMut;
use ranlab_e2_codec::e2ap::{Message, RanFunctionId, encode};
pub use ranlab_e2_codec::e2sm::association::ADDRESS_LEN_MAX;
use ranlab_machine::Random;
use std::collections::{BTreeMap, VecDeque};

/// A RAN function as announced to controllers.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) description: FunctionDescription,
    /// Whether the function is announced only to controllers that accept it in their setup response.
    pub(super) reserved: bool,
    /// Time of the next wake-up.
    pub(super) wake: Option<Time>,
}

/// Work that is delayed until no callback is running.
#[derive(Debug)]
pub(super) enum Deferred {
    /// Closes a connection and schedules a reconnect.
    TakeDown(ControllerId, CloseReason),
    /// Removes a controller.
    Forget(ControllerId),
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) config: AgentConfig,
    pub(super) now: Time,
    pub(super) links: Vec<Link>,
    pub(super) offers: BTreeMap<RanFunctionId, Offer>,
    pub(super) subscriptions: Subscriptions,
    pub(super) ues: Ues,
    pub(super) outputs: VecDeque<AgentOutput>,
    pub(super) deferred: VecDeque<Deferred>,
    pub(super) counters: AgentCounters,
    /// Buffer in which an indication is encoded.
    pub(super) scratch: Vec<u8>,
    /// Buffer for queued indications; unused if each gets its own allocation.
    pool: BytesMut,
    /// Second buffer, which replaces `pool` when that buffer is full. By then, all indications in the second buffer have been sent.
    rested: BytesMut,
    /// Outcome that a function has set for the refusal of the current control.
    pub(super) explanation: Option<Bytes>,
    pub(super) controls: Controls,
    next_controller: u32,
    /// Connection updates whose response is pending.
    pub(super) updates: Vec<ConnectionUpdate>,
    pub(super) random: Random,
}

impl Core {
    pub(super) fn new(config: AgentConfig) -> Self {
        Self {
            random: seeded(config.seed),
            pool: BytesMut::with_capacity(config.pool_bytes),
            rested: BytesMut::with_capacity(config.pool_bytes),
            config,
            now: Time::ZERO,
            links: Vec::new(),
            offers: BTreeMap::new(),
            subscriptions: Subscriptions::default(),
            ues: Ues::default(),
            outputs: VecDeque::new(),
            deferred: VecDeque::new(),
            updates: Vec::new(),
            counters: AgentCounters::default(),
            scratch: Vec::new(),
            explanation: None,
            controls: Controls::default(),
            next_controller: 0,
        }
    }

    pub(super) fn link(&self, id: ControllerId) -> Option<&Link> {
        self.links.iter().find(|l| l.id == id)
    }

    pub(super) fn link_mut(&mut self, id: ControllerId) -> Option<&mut Link> {
        self.links.iter_mut().find(|l| l.id == id)
    }

    /// Returns the default controller: the first one that is not being removed.
    pub(super) fn first(&self) -> Option<ControllerId> {
        self.links.iter().find(|l| !matches!(l.state, State::Removing | State::Gone)).map(|l| l.id)
    }

    /// Moves the encoded indication to memory that can be queued: the pool, or an allocation of exactly its length.
    pub(super) fn put_together(&mut self) -> Bytes {
        if self.config.pool_bytes == 0 {
            return Bytes::copy_from_slice(&self.scratch);
        }
        if self.pool.capacity() < self.scratch.len() {
            std::mem::swap(&mut self.pool, &mut self.rested);
        }
        self.pool.extend_from_slice(&self.scratch);
        self.pool.split().freeze()
    }

    pub(super) fn event(&mut self, event: AgentEvent) {
        self.outputs.push_back(AgentOutput::Event(event));
    }

    pub(super) fn add_controller(
        &mut self,
        now: Time,
        address: String,
    ) -> Result<ControllerId, ControllerError> {
        if address.is_empty() || address.len() > ADDRESS_LEN_MAX {
            return Err(ControllerError::BadAddress(ADDRESS_LEN_MAX));
        }
        let there = self.links.iter().find(|l| l.address == address && l.state != State::Gone);
        if let Some(link) = there {
            return Err(ControllerError::AlreadyThere(link.id));
        }
        if self.links.len() >= self.config.limits.controllers {
            return Err(ControllerError::TooMany(self.config.limits.controllers));
        }
        let id = ControllerId(self.next_controller);
        self.next_controller += 1;
        self.links.push(Link::new(id, address.clone(), &self.config));
        self.event(AgentEvent::ControllerAdded { controller: id, address });
        self.connect(now, id);
        Ok(id)
    }

    /// Removes a controller, with the E2 removal procedure if the version has it and the controller is set up.
    pub(super) fn remove_controller(&mut self, now: Time, id: ControllerId) -> Result<(), ControllerError> {
        let Some(link) = self.link_mut(id).filter(|l| l.state != State::Gone) else {
            return Err(ControllerError::Unknown(id));
        };
        match link.state {
            State::Removing => {}
            State::Up if link.version != Version::V1_01 => {
                let transaction = link.next_transaction();
                let request = E2RemovalRequest { transaction_id: Some(u16::from(transaction)) };
                self.start(now, id, Procedure::Removal, transaction, &Message::E2RemovalRequest(request));
                if let Some(link) = self.link_mut(id) {
                    link.state = State::Removing;
                }
            }
            _ => self.deferred.push_back(Deferred::Forget(id)),
        }
        Ok(())
    }

    pub(super) fn connect(&mut self, now: Time, id: ControllerId) {
        let deadline = now + self.config.timers.connect_timeout;
        let version = self.config.version;
        let Some(link) = self.link_mut(id) else { return };
        link.state = State::Connecting { deadline };
        link.version = version;
        let address = link.target().to_owned();
        self.counters.connects += 1;
        self.outputs.push_back(AgentOutput::Connect { controller: id, address });
    }

    /// Starts a procedure: sends its request and records it as pending.
    pub(super) fn start(
        &mut self,
        now: Time,
        id: ControllerId,
        procedure: Procedure,
        transaction: u8,
        message: &Message,
    ) {
        let timers = self.config.timers;
        let Some(pdu) = self.encoded(id, message) else { return };
        self.push_control(id, pdu.clone());
        if let Some(link) = self.link_mut(id) {
            let deadline = now + timers.procedure_timeout;
            let retries_left = timers.procedure_retries;
            link.pending.push(Pending { procedure, transaction, deadline, retries_left, pdu });
        }
    }

    /// Sends a message.
    pub(super) fn send(&mut self, id: ControllerId, message: &Message) {
        if let Some(pdu) = self.encoded(id, message) {
            self.push_control(id, pdu);
        }
    }

    pub(super) fn encoded(&mut self, id: ControllerId, message: &Message) -> Option<Bytes> {
        let version = self.link(id)?.version;
        let pdu = encode(message, version);
        self.counters.unencodable += u64::from(pdu.is_err());
        pdu.ok().map(Bytes::from)
    }

    pub(super) fn push_control(&mut self, id: ControllerId, pdu: Bytes) {
        let Some(link) = self.links.iter_mut().find(|l| l.id == id) else { return };
        let frame = in_coding(Frame::whole(pdu), self.config.coding, link.version);
        match link.outbox.push_control(frame) {
            Ok(()) => announce(link, &mut self.outputs),
            Err(full) => self.deferred.push_back(Deferred::TakeDown(id, full.into())),
        }
    }

    /// Returns the transaction id for a new request, and the field with this id; v1.01 has no such field.
    pub(super) fn transaction_of(link: &mut Link) -> (u8, Option<u16>) {
        let transaction = link.next_transaction();
        (transaction, (link.version != Version::V1_01).then_some(u16::from(transaction)))
    }
}

/// Queues one `Transmit` output until the driver has drained the outbox.
pub(super) fn announce(link: &mut Link, outputs: &mut VecDeque<AgentOutput>) {
    if !std::mem::replace(&mut link.announced, true) {
        outputs.push_back(AgentOutput::Transmit { controller: link.id });
    }
}
