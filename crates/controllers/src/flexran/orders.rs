//! Orders from the north: what is to be done at base stations, and how it ended there.
//!
//! Each command of an order has a number (a transaction) that base stations of ranlab answer; those of others carry out
//! what they can and say nothing.
use super::FlexranController;
use crate::southbound::ConnectionId;
use bytes::Bytes;
use ranlab_machines::flexran::FlexranSession;
use ranlab_wire::flexran::{Policy, SliceDlUlConfig};
use std::collections::{BTreeMap, BTreeSet};

/// Orders whose end nobody has asked for; beyond, further ones are refused.
pub const ORDERS_MAX: usize = 256;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// This controller schedules the downlink (`true`), or the base station itself.
    Schedule(bool),
    /// A policy, in YAML.
    Policy(String),
    /// Code for a scheduler, under a name that policies use.
    Delegate(String, Bytes),
    /// Slices of the downlink (Mosaic5G 2.x).
    Slice(SliceDlUlConfig),
    /// UEs, by C-RNTI, into slices.
    Associate(Vec<(u16, u32)>),
    /// A UE, by C-RNTI, to the base station of this identity.
    HandOver(u16, u64),
}

/// An order that was not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// No such base station.
    #[error("there is no base station {0}; there is {1}")]
    NoStation(u64, String),
    /// No base station at all.
    #[error("no base station is here")]
    Nobody,
    /// Too many at once.
    #[error("too many orders at once; try again")]
    TooMany,
    /// As published: policies are for base stations that schedule.
    #[error("this controller schedules base station {0}: its policies mean nothing until /dl_sched/0")]
    Central(u64),
}

/// An order that was given.
pub type Ticket = u64;

#[derive(Debug, Default)]
struct Given {
    /// Commands that are not answered.
    left: usize,
    refusals: Vec<String>,
}

/// Orders under way.
#[derive(Debug, Default)]
pub(super) struct Orders {
    tickets: Ticket,
    transactions: u32,
    waiting: BTreeMap<(ConnectionId, u32), Ticket>,
    given: BTreeMap<Ticket, Given>,
    /// Agents to which the remote scheduler's code was pushed on this connection.
    pushed: BTreeSet<ConnectionId>,
}

impl Orders {
    /// The number of a command, never 0.
    fn number(&mut self, id: ConnectionId, ticket: Ticket) -> u32 {
        self.transactions = self.transactions.wrapping_add(1).max(1);
        self.waiting.insert((id, self.transactions), ticket);
        self.given.entry(ticket).or_default().left += 1;
        self.transactions
    }

    /// A command was carried out, or refused.
    pub(super) fn ended(&mut self, id: ConnectionId, xid: u32, refusal: Option<String>) {
        let Some(ticket) = self.waiting.remove(&(id, xid)) else { return };
        if let Some(given) = self.given.get_mut(&ticket) {
            given.left -= 1;
            given.refusals.extend(refusal);
        }
    }

    /// An agent is gone, and what it was told with it.
    pub(super) fn lost(&mut self, id: ConnectionId) {
        self.pushed.remove(&id);
        let open: Vec<u32> = self.waiting.keys().filter(|(of, _)| *of == id).map(|(_, xid)| *xid).collect();
        for xid in open {
            self.ended(id, xid, Some("the base station is gone".to_owned()));
        }
    }
}

impl FlexranController {
    /// Gives an order to the base station of an identity, or to all that are here.
    ///
    /// # Errors
    /// It is given to nobody.
    pub fn order(&mut self, station: Option<u64>, order: &Order) -> Result<Ticket, OrderError> {
        let ids: Vec<(ConnectionId, u64)> = match station {
            Some(station) => vec![(self.station(station)?, station)],
            None => self.stations().collect(),
        };
        if ids.is_empty() {
            return Err(OrderError::Nobody);
        }
        if self.orders.given.len() >= ORDERS_MAX {
            return Err(OrderError::TooMany);
        }
        if let Order::Policy(_) = order
            && let Some((_, station)) = ids.iter().find(|(id, _)| self.scheduler.is_remote(*id))
        {
            return Err(OrderError::Central(*station));
        }
        let target_pci = match order {
            Order::HandOver(_, target) => Some(self.pci(self.station(*target)?)),
            _ => None,
        };
        self.orders.tickets += 1;
        let ticket = self.orders.tickets;
        for (id, _) in ids {
            self.command(id, ticket, order, target_pci);
        }
        Ok(ticket)
    }

    /// How an order ended: `None` while it is under way or if there is none; why base stations refused, if they did.
    pub fn outcome(&mut self, ticket: Ticket) -> Option<Result<(), String>> {
        self.orders.given.get(&ticket).filter(|given| given.left == 0)?;
        let given = self.orders.given.remove(&ticket)?;
        Some(if given.refusals.is_empty() { Ok(()) } else { Err(given.refusals.join("; ")) })
    }

    /// Nobody waits for the end of an order any more.
    pub fn forget(&mut self, ticket: Ticket) {
        self.orders.given.remove(&ticket);
        self.orders.waiting.retain(|_, of| *of != ticket);
    }

    /// Base stations that are here: connection and identity.
    fn stations(&self) -> impl Iterator<Item = (ConnectionId, u64)> {
        let here = self.rib.agents().iter().filter(|(_, agent)| agent.alive);
        here.map(|(id, agent)| (*id, agent.config.enb_id.unwrap_or(0)))
    }

    fn station(&self, station: u64) -> Result<ConnectionId, OrderError> {
        let found = self.stations().find(|(_, identity)| *identity == station);
        found.map(|(id, _)| id).ok_or_else(|| {
            let there: Vec<String> = self.stations().take(10).map(|(_, it)| it.to_string()).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            OrderError::NoStation(station, there)
        })
    }

    fn pci(&self, id: ConnectionId) -> u16 {
        let cell = self.rib.agents().get(&id).and_then(|agent| agent.config.cell_config.first());
        cell.and_then(|cell| cell.phy_cell_id).and_then(|pci| u16::try_from(pci).ok()).unwrap_or(0)
    }

    fn command(&mut self, id: ConnectionId, ticket: Ticket, order: &Order, target_pci: Option<u16>) {
        if let Order::Schedule(remote) = order {
            return self.schedule(id, ticket, *remote);
        }
        let xid = self.orders.number(id, ticket);
        self.with_session(id, |session: &mut FlexranSession| match order {
            Order::Policy(policy) => session.reconfigure(xid, policy),
            Order::Delegate(name, code) => session.delegate(xid, name, code.clone()),
            Order::Slice(downlink) => session.slice(xid, downlink.clone()),
            Order::Associate(ues) => session.associate(xid, ues),
            Order::HandOver(rnti, _) => session.hand_over(xid, *rnti, target_pci.unwrap_or(0)),
            Order::Schedule(_) => {}
        });
    }

    /// Delegates the downlink scheduler: the remote one's code goes there once, then a policy names who schedules.
    fn schedule(&mut self, id: ConnectionId, ticket: Ticket, remote: bool) {
        if remote && self.orders.pushed.insert(id) {
            let xid = self.orders.number(id, ticket);
            // Base stations of ranlab have that scheduler, and know its code by its name.
            let code = Bytes::from_static(Policy::REMOTE.as_bytes());
            self.with_session(id, |session| session.delegate(xid, Policy::REMOTE, code));
        }
        let policy = Policy::of_behavior(if remote { Policy::REMOTE } else { Policy::LOCAL }).to_string();
        let xid = self.orders.number(id, ticket);
        self.with_session(id, |session| session.reconfigure(xid, &policy));
        self.scheduler.set(id, remote);
    }

    /// A base station is known from here on: it hears what stands for all.
    pub(super) fn greet_known(&mut self, id: ConnectionId) {
        for order in self.settings.standing.clone() {
            self.orders.tickets += 1;
            let ticket = self.orders.tickets;
            self.command(id, ticket, &order, None);
            // Nobody waits for its end.
            self.forget(ticket);
        }
    }
}
