//! An iApp that receives orders about nodes and hands them over to the same iApp of other RICs; and functions that send
//! orders and check that none is lost.
use super::trial::Run;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, Keeps};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NAME: &str = "ledger";

/// Latest order about each node that the iApp of a RIC knows, and the order that the iApp will receive next.
#[derive(Debug, Default)]
struct NodeOrder {
    orders: BTreeMap<GlobalE2NodeId, u64>,
    ordered: Option<(GlobalE2NodeId, u64)>,
}

/// State of the iApps of all RICs, in their current incarnations.
#[derive(Debug, Clone, Default)]
pub(super) struct OrdersSeen(Arc<Mutex<BTreeMap<usize, NodeOrder>>>);

impl OrdersSeen {
    fn open(&self) -> MutexGuard<'_, BTreeMap<usize, NodeOrder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the iApp of a RIC whose incarnation begins without state.
    pub(super) fn ledger(&self, ric: usize) -> Box<dyn IApp> {
        self.open().insert(ric, NodeOrder::default());
        Box::new(Ledger { shelf: self.clone(), ric })
    }
}

struct Ledger {
    shelf: OrdersSeen,
    ric: usize,
}

impl IApp for Ledger {
    fn name(&self) -> &str {
        NAME
    }

    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        let mut shelf = self.shelf.open();
        let page = shelf.entry(self.ric).or_default();
        match input {
            IAppInput::Roused => {
                if let Some((node, order)) = page.ordered.take() {
                    page.orders.insert(node, order);
                    out.save(Some(node));
                }
            }
            IAppInput::NodeRemoved(node) => drop(page.orders.remove(&node.id)),
            _ => {}
        }
    }

    fn keeps(&self) -> Option<Keeps> {
        Some(Keeps { version: 1, bytes_max: 20 })
    }

    fn snapshot(&self, about: Option<&GlobalE2NodeId>) -> Bytes {
        let shelf = self.shelf.open();
        let order = about.and_then(|node| shelf.get(&self.ric)?.orders.get(node).copied());
        order.map(|order| order.to_string().into()).unwrap_or_default()
    }

    fn restore(
        &mut self,
        _: Time,
        about: Option<&GlobalE2NodeId>,
        snapshot: &Bytes,
        _: &mut IAppOutbox,
    ) -> Result<(), String> {
        let Some(node) = about else { return Err("the snapshot names no node".to_owned()) };
        let order = std::str::from_utf8(snapshot).ok().and_then(|text| text.parse().ok());
        let order = order.ok_or_else(|| format!("{snapshot:?} is not an order"))?;
        self.shelf.open().entry(self.ric).or_default().orders.insert(*node, order);
        Ok(())
    }
}

/// Orders sent so far, and their invariants.
#[derive(Debug, Default)]
pub(super) struct Orders {
    pub(super) shelf: OrdersSeen,
    given: u64,
    /// Last order sent about each node. All RICs must end with it if no orders were sent concurrently.
    last: BTreeMap<GlobalE2NodeId, u64>,
}

impl Run {
    /// Sends an order about a node to a RIC. Returns whether the RIC is running and knows the node.
    pub(super) fn order(&mut self, ric: usize, station: usize) -> bool {
        let party = self.watcher.rics[ric];
        let node = self.watcher.stations[station].node;
        if self.world.frozen_until(party).is_some() {
            return false;
        }
        let order = self.orders.given + 1;
        let shelf = self.orders.shelf.clone();
        let taken = self.world.with_ric(party, |machine, now| {
            let known = machine.snapshot().nodes.iter().any(|it| it.info.id == node);
            let iapp = machine.iapp(NAME).filter(|_| known);
            if let (Some(_), Some(page)) = (iapp, shelf.open().get_mut(&ric)) {
                page.ordered = Some((node, order));
            }
            iapp.inspect(|iapp| machine.wake_iapp(now, *iapp)).is_some()
        });
        let taken = taken == Some(true);
        if taken {
            self.orders.given = order;
            self.orders.last.insert(node, order);
        }
        taken
    }

    /// Checks that each node's last order is known at every RIC; returns the number of orders.
    pub(super) fn check_orders(&self) -> Result<u64, String> {
        let shelf = self.orders.shelf.open();
        for (node, order) in &self.orders.last {
            for (ric, page) in shelf.iter() {
                let known = page.orders.get(node);
                if known != Some(order) {
                    let counted = self
                        .watcher
                        .rics
                        .get(*ric)
                        .and_then(|ric| self.world.look_at_ric(*ric)?.iapp_snapshots());
                    return Err(format!(
                        "ric-{ric} knows order {known:?} of {node}, but the last order is {order}; {counted:?}; {shelf:?}"
                    ));
                }
            }
        }
        Ok(self.orders.given)
    }
}
