//! Invariants of the parties' states, at any time and after a quiet period.
use crate::host::{Kind, Party};
use crate::impostor::FORGED;
use crate::machine::Machine;
use crate::party::PartyId;
use crate::world::{Violation, World};
use ranlab_e2::ric::{RicSnapshot, Tenant};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, RicRequestId};
use std::collections::{BTreeMap, BTreeSet};

/// Losses of one xApp: connection, reports dropped by the RIC, gaps caused by the RIC, all gaps, and all gaps as
/// counted by the xApp.
type Losses = (u64, u64, u64, u64, u64);

/// Losses of all parties at one time; see [`World::losses`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossReport {
    xapps: BTreeMap<usize, Losses>,
    /// Incarnation of the agent, dropped reports and gaps, by agent and controller.
    agents: BTreeMap<(usize, u64), (u32, u64, u64)>,
}

impl LossReport {
    /// Returns the number of indications dropped by agents and RICs together.
    pub fn dropped(&self) -> u64 {
        self.xapps.values().map(|x| x.1).chain(self.agents.values().map(|a| a.1)).sum()
    }
}

impl World {
    /// Checks the invariants that hold at any time:
    ///
    /// - queues stay within `outbox_bytes`;
    /// - tenants do not share a subscription;
    /// - a node has no subscription that its owner does not know;
    /// - each gap is counted;
    /// - impostors get nothing.
    pub fn check_always(&mut self, outbox_bytes: usize) -> Result<(), Violation> {
        for party in 0..self.hosts.len() {
            let forged = match &self.hosts[party].kind {
                Kind::Agent(agent) => agent.logbook.take_controls().iter().any(|c| c == FORGED),
                _ => false,
            };
            let wrong = if forged { Err("a control of an impostor reached the node".into()) } else { Ok(()) };
            let wrong = wrong.and_then(|()| match &self.hosts[party].machine {
                Some(Machine::Ric(ric)) => self.check_ric(&ric.snapshot(), outbox_bytes),
                Some(Machine::Impostor(impostor)) => {
                    impostor.successes.first().map_or(Ok(()), |s| Err(s.clone()))
                }
                _ => Ok(()),
            });
            wrong.map_err(|what| self.violation(format!("{}: {what}", self.hosts[party].name)))?;
        }
        for (&(party, key), &(_, dropped, gaps)) in &self.losses().agents {
            if gaps > dropped {
                let name = &self.hosts[party].name;
                let what = format!(
                    "the reports of {name} to controller {key} have {gaps} gaps, but it dropped {dropped}"
                );
                return Err(self.violation(what));
            }
        }
        Ok(())
    }

    fn check_ric(&self, ric: &RicSnapshot, outbox_bytes: usize) -> Result<(), String> {
        for c in &ric.connections {
            if c.queued_bytes > outbox_bytes {
                return Err(format!(
                    "{} bytes are queued for {}, above the limit of {outbox_bytes}",
                    c.queued_bytes, c.peer
                ));
            }
            let dropped = c.outbox.dropped_full + c.outbox.dropped_old;
            let gaps = self.ledger.ric_gaps.get(&c.id.0).copied().unwrap_or(0);
            if gaps > dropped {
                return Err(format!(
                    "the reports to {} have {gaps} gaps, but its RIC dropped {dropped} reports",
                    c.peer
                ));
            }
        }
        let by_id: BTreeMap<_, _> = ric.xapps.iter().map(|x| (x.info.id, &x.info)).collect();
        for node in &ric.nodes {
            for s in &node.subscriptions {
                let mut tenants: BTreeSet<Tenant> = BTreeSet::new();
                for (id, _) in &s.xapps {
                    let info = by_id
                        .get(id)
                        .ok_or_else(|| format!("xApp {id} owns a subscription but is not connected"))?;
                    tenants.insert(info.tenant.clone());
                    // The xApp on this connection may have been restarted already; its permissions are the same.
                    let seen = self.xapp_named(&info.peer).is_none_or(|h| grant_allows(h, &node.info.id));
                    if !seen {
                        return Err(format!(
                            "{} owns a subscription at {} without permission",
                            info.peer, node.info.id
                        ));
                    }
                }
                if s.iapps > 0 {
                    tenants.insert(Tenant::default());
                }
                if tenants.len() > 1 {
                    return Err(format!(
                        "different tenants share a subscription at {}: {tenants:?}",
                        node.info.id
                    ));
                }
            }
        }
        Ok(())
    }

    fn xapp_named(&self, name: &str) -> Option<&Party> {
        self.hosts.iter().find(|h| h.name == name && matches!(h.kind, Kind::Xapp(_)))
    }

    /// Checks the invariants of a quiet world in which all parties run: no state is left over, and none is missing.
    /// Each node has the subscriptions of the RIC's table. The table contains the union of the xApps' requests, and
    /// `iapps` more subscriptions per node and RIC.
    pub fn check_settled(&mut self, iapps: usize) -> Result<(), Violation> {
        let wishes = self.wishes();
        let rics: Vec<_> = self.rics().collect();
        let mut at_nodes: BTreeMap<GlobalE2NodeId, usize> = BTreeMap::new();
        let mut result = Ok(());
        for &ric in &rics {
            let one = self.check_table(ric, &wishes, iapps, &mut at_nodes);
            let one = one.map_err(|what| format!("{}: {what}", self.hosts[ric].name));
            result = result.and(one);
        }
        for host in &self.hosts {
            if let Some((agent, machine)) = host.agent() {
                let has = machine.subscriptions();
                let expected = at_nodes.get(&agent.node_id).copied().unwrap_or(0);
                if has != expected || agent.logbook.live().len() != expected {
                    let what = format!("{} has {has} subscriptions, but the RICs have {expected}", host.name);
                    result = result.and(Err(what));
                }
            }
        }
        for &(party, ref expected) in &wishes {
            let has = self.hosts[party].xapp().map(|(_, machine)| machine.subscriptions());
            if has != Some((expected.len(), expected.len())) {
                let name = &self.hosts[party].name;
                let what = format!(
                    "the xApp {name} has {has:?} subscriptions (active, total), but requests {}",
                    expected.len()
                );
                result = result.and(Err(what));
            }
        }
        result.map_err(|what| self.violation(what))
    }

    /// Compares a RIC's table with its nodes and its owners' requests.
    fn check_table(
        &self,
        ric: usize,
        wishes: &[(usize, BTreeSet<(u32, u32)>)],
        iapps: usize,
        at_nodes: &mut BTreeMap<GlobalE2NodeId, usize>,
    ) -> Result<(), String> {
        let name = &self.hosts[ric].name;
        let machine = self.hosts[ric].ric().ok_or("the RIC is not running")?;
        let table = machine.snapshot();
        let agents =
            self.hosts.iter().filter_map(Party::agent).filter(|(a, _)| a.rics.contains(name)).count();
        let clients = self.hosts.iter().filter(|h| client_of(h, name)).count();
        if (table.connections.len(), table.xapps.len()) != (agents + clients, clients) {
            let has = (table.connections.len(), table.xapps.len());
            return Err(format!(
                "the RIC has {has:?} (connections, xApps), but there are {agents} agents and {clients} xApps"
            ));
        }
        for xapp in &table.xapps {
            let of = |p: &usize| *self.hosts[*p].name == *xapp.info.peer;
            let expected = wishes.iter().find(|(p, _)| of(p)).map_or(0, |(_, expected)| expected.len());
            if xapp.subscriptions.len() != expected || xapp.requests > 0 {
                let has = xapp.subscriptions.len();
                let under_way = xapp.requests;
                let peer = &xapp.info.peer;
                return Err(format!(
                    "{peer} owns {has} subscriptions, but requests {expected}; {under_way} of its requests are pending"
                ));
            }
        }
        for node in &table.nodes {
            let id = node.info.id;
            if let Some(odd) = node.subscriptions.iter().find(|s| s.state != "active") {
                return Err(format!("a subscription at {id} is in state {} instead of active", odd.state));
            }
            if node.requests + node.procedures > 0 {
                return Err(format!(
                    "{} requests and {} procedures are pending at {id}",
                    node.requests, node.procedures
                ));
            }
            let here = self.hosts.iter().position(|h| h.agent().is_some_and(|(a, _)| a.node_id == id));
            let here = here.ok_or_else(|| format!("the RIC lists node {id}, which does not exist"))?;
            let mut union: BTreeSet<(Tenant, u32)> = BTreeSet::new();
            for (party, expected) in wishes {
                let Some((xapp, _)) = self.hosts[*party].xapp().filter(|(x, _)| x.config.address == *name)
                else {
                    continue;
                };
                let tags = expected.iter().filter(|(node, _)| *node as usize == here).map(|(_, tag)| *tag);
                union.extend(tags.map(|tag| (xapp.grant.tenant.clone(), tag)));
            }
            let has = node.subscriptions.len();
            if has != union.len() + iapps {
                return Err(format!(
                    "{id} has {has} subscriptions, but xApps request {union:?} and iApps request {iapps}"
                ));
            }
            let table: BTreeSet<RicRequestId> = node.subscriptions.iter().map(|s| s.request_id).collect();
            self.check_node(here, name, &table)?;
            *at_nodes.entry(id).or_default() += has;
        }
        Ok(())
    }

    /// Compares a node's table with a RIC's table for the same request ids.
    fn check_node(&self, party: usize, ric: &str, table: &BTreeSet<RicRequestId>) -> Result<(), String> {
        let Some((agent, _)) = self.hosts[party].agent() else { return Err("a node is not running".into()) };
        let controller = agent.rics.iter().position(|r| r == ric);
        let live = agent.logbook.live();
        let of_ric = live.values().filter(|(c, _)| Some(c.0 as usize) == controller).map(|(_, id)| *id);
        let of_ric: BTreeSet<_> = of_ric.collect();
        if of_ric != *table {
            return Err(format!(
                "the table of {ric} has the request ids {table:?}, but {} has {of_ric:?}",
                self.hosts[party].name
            ));
        }
        Ok(())
    }

    /// Returns the party of each xApp with its requested subscriptions, as pairs of node party and tag.
    fn wishes(&self) -> Vec<(usize, BTreeSet<(u32, u32)>)> {
        let wishes = |party: usize| {
            let mut tags = BTreeSet::new();
            let Some((xapp, _)) = self.hosts[party].xapp() else { return (party, tags) };
            for (node, host) in self.hosts.iter().enumerate() {
                let Some((agent, _)) = host.agent().filter(|(a, _)| a.rics.contains(&xapp.config.address))
                else {
                    continue;
                };
                let on = xapp.wishes.iter().filter(|(_, on)| *on).map(|(wish, _)| wish);
                let on = on.filter(|w| w.node.is_none_or(|n| n == agent.node_id));
                if xapp.grant.nodes.allows(&agent.node_id) {
                    tags.extend(on.map(|w| (node as u32, w.tag)));
                }
            }
            (party, tags)
        };
        self.xapps().map(wishes).collect()
    }

    /// Discards all recorded deliveries.
    pub fn watch(&mut self) {
        self.ledger.delivered.clear();
    }

    /// Checks that since [`watch`](Self::watch) each xApp got the reports that it requested, and no others.
    pub fn check_delivered(&self) -> Result<(), Violation> {
        for (party, expected) in self.wishes() {
            let got = self.ledger.delivered.iter().filter(|(p, ..)| *p == party).map(|(_, n, t)| (*n, *t));
            let got: BTreeSet<_> = got.collect();
            if got != expected {
                let missing: Vec<_> = expected.difference(&got).collect();
                let odd: Vec<_> = got.difference(&expected).collect();
                let name = &self.hosts[party].name;
                let what = format!(
                    "{name} lacks the reports (node, tag) {missing:?} and gets the unrequested ones {odd:?}"
                );
                return Err(self.violation(what));
            }
        }
        Ok(())
    }

    /// Returns the losses so far, by the party that lost the reports.
    pub fn losses(&self) -> LossReport {
        let mut xapps = BTreeMap::new();
        let mut agents = BTreeMap::new();
        for ric in self.rics().filter_map(|p| self.hosts[p].ric()) {
            for c in ric.snapshot().connections {
                let party = self.hosts.iter().position(|h| *h.name == *c.peer);
                let Some((party, (_, machine))) = party.and_then(|p| Some((p, self.hosts[p].xapp()?))) else {
                    continue;
                };
                let gaps = |map: &BTreeMap<u64, u64>| map.get(&c.id.0).copied().unwrap_or(0);
                let all = self.ledger.xapp_gaps.get(&party).copied().unwrap_or(0);
                let dropped = c.outbox.dropped_full + c.outbox.dropped_old;
                let own = machine.lost_total().unwrap_or(u64::MAX);
                xapps.insert(party, (c.id.0, dropped, gaps(&self.ledger.ric_gaps), all, own));
            }
        }
        for (party, host) in self.hosts.iter().enumerate() {
            let Some((_, machine)) = host.agent() else { continue };
            for (id, _) in machine.controllers() {
                let counters = machine.outbox_counters(id).unwrap_or_default();
                let key = (party, host.life, u64::from(id.0));
                let gaps = self.ledger.agent_gaps.get(&key).copied().unwrap_or(0);
                let dropped = counters.dropped_full + counters.dropped_old;
                agents.insert((party, u64::from(id.0)), (host.life, dropped, gaps));
            }
        }
        LossReport { xapps, agents }
    }

    /// Checks that since `before`, each party has as many gaps as drops. In this period, slow links must be the only
    /// faults, and reports must arrive at its start and at its end.
    pub fn check_losses(&self, before: &LossReport) -> Result<(), Violation> {
        let after = self.losses();
        for (&party, b) in &before.xapps {
            let a = after.xapps.get(&party).filter(|a| a.0 == b.0);
            let held = a.is_some_and(|a| a.1 - b.1 == a.2 - b.2 && a.3 - b.3 == a.4.wrapping_sub(b.4));
            if !held {
                let what = format!(
                    "drops and gaps of {} differ (connection, dropped, gaps of the RIC, all gaps, gaps counted by the xApp): {b:?} became {a:?}",
                    self.hosts[party].name
                );
                return Err(self.violation(what));
            }
        }
        for (key, b) in &before.agents {
            let a = after.agents.get(key).filter(|a| a.0 == b.0);
            if a.is_none_or(|a| a.1 - b.1 != a.2 - b.2) {
                let what = format!(
                    "drops and gaps of {} differ (life, dropped, gaps): {b:?} became {a:?}",
                    self.hosts[key.0].name
                );
                return Err(self.violation(what));
            }
        }
        Ok(())
    }

    /// Returns the number of indications that xApps received.
    pub fn indications(&self) -> u64 {
        self.ledger.indications
    }

    /// Returns the number of an impostor's attacks that were refused since it last started.
    pub fn attacks_refused(&self, impostor: PartyId) -> u64 {
        match &self.hosts[impostor.0].machine {
            Some(Machine::Impostor(machine)) => machine.refused,
            _ => 0,
        }
    }
}

fn grant_allows(host: &Party, node: &GlobalE2NodeId) -> bool {
    matches!(&host.kind, Kind::Xapp(xapp) if xapp.grant.nodes.allows(node))
}

fn client_of(host: &Party, ric: &str) -> bool {
    match &host.kind {
        Kind::Xapp(xapp) => xapp.config.address == ric,
        Kind::Impostor(address, _) => address == ric,
        _ => false,
    }
}
