//! Northbound orders to base stations, and their outcomes.
//!
//! Each command of an order has a transaction number, to which base stations of ranlab respond. Other base stations execute the commands
//! that they support, and do not respond.
use super::FlexranController;
use crate::controller::ConnectionId;
use crate::flexran::FlexranSession;
use crate::flexran::protocol::{Policy, SliceDlUlConfig};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of orders whose outcome has not been read. Further orders are refused.
pub const ORDERS_MAX: usize = 256;

/// Order for base stations.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Lets this controller (`true`) or the base station (`false`) schedule the downlink.
    Schedule(bool),
    /// Applies a policy, in YAML.
    Policy(String),
    /// Pushes the code of a scheduler, under the name that policies use.
    Delegate(String, Bytes),
    /// Configures downlink slices (Mosaic5G 2.x).
    Slice(SliceDlUlConfig),
    /// Associates UEs, by C-RNTI, with slices.
    Associate(Vec<(u16, u32)>),
    /// Hands a UE, by C-RNTI, over to the base station with this identity.
    HandOver(u16, u64),
}

/// Reason why an order is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// The base station is unknown.
    #[error("unknown base station {0}; available: {1}")]
    NoStation(u64, String),
    /// No base station is connected.
    #[error("no base station is connected")]
    Nobody,
    /// Too many orders are pending.
    #[error("too many orders are pending; try again later")]
    TooMany,
    /// The policy would have no effect, because this controller schedules the base station. As in the published controller, policies only
    /// apply to base stations whose own scheduler is used.
    #[error(
        "policies have no effect while this controller schedules base station {0}; use /dl_sched/0 first"
    )]
    Central(u64),
}

/// Number that identifies an accepted order.
pub type CommandId = u64;

#[derive(Debug, Default)]
struct CommandProgress {
    /// Number of commands without response.
    left: usize,
    refusals: Vec<String>,
}

/// Pending orders.
#[derive(Debug, Default)]
pub(super) struct Orders {
    tickets: CommandId,
    transactions: u32,
    waiting: BTreeMap<(ConnectionId, u32), CommandId>,
    given: BTreeMap<CommandId, CommandProgress>,
    /// Agents that have received the remote scheduler's code on this connection.
    pushed: BTreeSet<ConnectionId>,
}

impl Orders {
    /// Returns a new transaction number, which is never 0.
    fn number(&mut self, id: ConnectionId, ticket: CommandId) -> u32 {
        self.transactions = self.transactions.wrapping_add(1).max(1);
        self.waiting.insert((id, self.transactions), ticket);
        self.given.entry(ticket).or_default().left += 1;
        self.transactions
    }

    /// Applies the outcome of a command.
    pub(super) fn ended(&mut self, id: ConnectionId, xid: u32, refusal: Option<String>) {
        let Some(ticket) = self.waiting.remove(&(id, xid)) else { return };
        if let Some(given) = self.given.get_mut(&ticket) {
            given.left -= 1;
            given.refusals.extend(refusal);
        }
    }

    /// Fails the pending commands of a disconnected agent.
    pub(super) fn lost(&mut self, id: ConnectionId) {
        self.pushed.remove(&id);
        let open: Vec<u32> = self.waiting.keys().filter(|(of, _)| *of == id).map(|(_, xid)| *xid).collect();
        for xid in open {
            self.ended(id, xid, Some("the base station has disconnected".to_owned()));
        }
    }
}

impl FlexranController {
    /// Sends an order to the base station with this identity, or to all connected ones.
    ///
    /// # Errors
    /// Returns an [`OrderError`] if no base station receives the order.
    pub fn order(&mut self, station: Option<u64>, order: &Command) -> Result<CommandId, OrderError> {
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
        if let Command::Policy(_) = order
            && let Some((_, station)) = ids.iter().find(|(id, _)| self.scheduler.is_remote(*id))
        {
            return Err(OrderError::Central(*station));
        }
        let target_pci = match order {
            Command::HandOver(_, target) => Some(self.pci(self.station(*target)?)),
            _ => None,
        };
        self.orders.tickets += 1;
        let ticket = self.orders.tickets;
        for (id, _) in ids {
            self.command(id, ticket, order, target_pci);
        }
        Ok(ticket)
    }

    /// Returns the outcome of an order, with the reason of a refusal. Returns `None` while the order is pending, or if it does not exist.
    pub fn outcome(&mut self, ticket: CommandId) -> Option<Result<(), String>> {
        self.orders.given.get(&ticket).filter(|given| given.left == 0)?;
        let given = self.orders.given.remove(&ticket)?;
        Some(if given.refusals.is_empty() { Ok(()) } else { Err(given.refusals.join("; ")) })
    }

    /// Discards the outcome of an order.
    pub fn forget(&mut self, ticket: CommandId) {
        self.orders.given.remove(&ticket);
        self.orders.waiting.retain(|_, of| *of != ticket);
    }

    /// Returns connection and identity of each connected base station.
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

    fn command(&mut self, id: ConnectionId, ticket: CommandId, order: &Command, target_pci: Option<u16>) {
        if let Command::Schedule(remote) = order {
            return self.schedule(id, ticket, *remote);
        }
        let xid = self.orders.number(id, ticket);
        self.with_session(id, |session: &mut FlexranSession| match order {
            Command::Policy(policy) => session.reconfigure(xid, policy),
            Command::Delegate(name, code) => session.delegate(xid, name, code.clone()),
            Command::Slice(downlink) => session.slice(xid, downlink.clone()),
            Command::Associate(ues) => session.associate(xid, ues),
            Command::HandOver(rnti, _) => session.hand_over(xid, *rnti, target_pci.unwrap_or(0)),
            Command::Schedule(_) => {}
        });
    }

    /// Delegates the downlink scheduler. The code of the remote scheduler is sent once. Then a policy selects the scheduler.
    fn schedule(&mut self, id: ConnectionId, ticket: CommandId, remote: bool) {
        if remote && self.orders.pushed.insert(id) {
            let xid = self.orders.number(id, ticket);
            // Base stations of ranlab include this scheduler, and identify its code by its name.
            let code = Bytes::from_static(Policy::REMOTE.as_bytes());
            self.with_session(id, |session| session.delegate(xid, Policy::REMOTE, code));
        }
        let policy = Policy::of_behavior(if remote { Policy::REMOTE } else { Policy::LOCAL }).to_string();
        let xid = self.orders.number(id, ticket);
        self.with_session(id, |session| session.reconfigure(xid, &policy));
        self.scheduler.set(id, remote);
    }

    /// Sends the standing orders to a base station whose configuration has arrived.
    pub(super) fn greet_known(&mut self, id: ConnectionId) {
        for order in self.settings.standing.clone() {
            self.orders.tickets += 1;
            let ticket = self.orders.tickets;
            self.command(id, ticket, &order, None);
            // The outcome of a standing order is not needed.
            self.forget(ticket);
        }
    }
}
