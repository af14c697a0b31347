//! E2 connection update (clause 8.3.6): a controller adds connections to the node or removes them.
//!
//! The response is delayed until each new connection is up or has failed. Connections that are up are listed as set
//! up. The others are listed with a cause and are not retried.
use super::core::{Core, Deferred};
use super::link::{Link, State};
use super::*;
use ranlab_e2_codec::e2ap::*;
use std::time::Duration;

/// Maximum number of items in one list.
const ITEMS_MAX: usize = 32;
/// Maximum number of updates whose response is pending.
const UPDATES_MAX: usize = 4;
/// Maximum time to set up a new connection. The controller waits for the response during this time.
const PATIENCE: Duration = Duration::from_secs(2);
/// Cause for a transport address that is invalid or unreachable, or that exceeds the limit of controllers.
const NO_TRANSPORT: Cause = Cause::Transport(CauseTransport::TransportResourceUnavailable);

/// A connection update whose response waits for connections.
#[derive(Debug)]
pub(super) struct ConnectionUpdate {
    controller: ControllerId,
    transaction_id: Option<u16>,
    waiting: Vec<(ControllerId, E2ConnectionUpdateItem)>,
    setup: Vec<E2ConnectionUpdateItem>,
    failed: Vec<E2ConnectionSetupFailedItem>,
    leaving: Vec<ControllerId>,
}

impl Core {
    /// Adds and removes controllers as requested. The default controller may remove every controller; any other
    /// controller may only remove itself.
    pub(super) fn on_connection_update(&mut self, id: ControllerId, update: E2ConnectionUpdate) {
        let is_first = self.first() == Some(id);
        let Some(like) = self.link(id).map(|l| l.address.clone()) else { return };
        let mut pending = ConnectionUpdate {
            controller: id,
            transaction_id: update.transaction_id,
            waiting: Vec::new(),
            setup: Vec::new(),
            failed: Vec::new(),
            leaving: Vec::new(),
        };
        for item in update.add.into_iter().flatten().take(ITEMS_MAX) {
            match self.add_from_wire(is_first, &item.tnl, &like) {
                Ok(Some(added)) => pending.waiting.push((added, item)),
                Ok(None) => pending.setup.push(item),
                Err(cause) => pending.failed.push(E2ConnectionSetupFailedItem { tnl: item.tnl, cause }),
            }
        }
        for item in update.modify.into_iter().flatten().take(ITEMS_MAX) {
            match self.find_from_wire(&item.tnl, &like) {
                Some(_) => pending.setup.push(item),
                None => pending.fail(item.tnl),
            }
        }
        for item in update.remove.into_iter().flatten().take(ITEMS_MAX) {
            match self.find_from_wire(&item.tnl, &like).filter(|other| is_first || *other == id) {
                Some(other) => pending.leaving.push(other),
                None => pending.fail(item.tnl),
            }
        }
        match pending.waiting.is_empty() {
            true => self.answer_connection_update(pending),
            false => self.updates.push(pending),
        }
    }

    /// Records that a connection has been set up or has failed, and sends the responses that waited for it.
    pub(super) fn connection_settled(&mut self, id: ControllerId, is_up: bool) {
        let waits = |update: &ConnectionUpdate| update.waiting.iter().any(|(other, _)| *other == id);
        let Some(at) = self.updates.iter().position(waits) else { return };
        let update = &mut self.updates[at];
        let settled = update.waiting.extract_if(.., |(other, _)| *other == id).map(|(_, item)| item);
        let settled: Vec<_> = settled.collect();
        match is_up {
            true => update.setup.extend(settled),
            false => {
                settled.into_iter().for_each(|item| update.fail(item.tnl));
                self.deferred.push_back(Deferred::Forget(id));
            }
        }
        if self.updates[at].waiting.is_empty() {
            let update = self.updates.remove(at);
            self.answer_connection_update(update);
        }
    }

    /// Discards the pending updates of a controller that disconnected. Controllers that it added stay.
    pub(super) fn forget_connection_updates(&mut self, of: ControllerId) {
        self.updates.retain(|update| update.controller != of);
    }

    fn answer_connection_update(&mut self, update: ConnectionUpdate) {
        let ConnectionUpdate { controller, transaction_id, mut setup, mut failed, leaving, .. } = update;
        setup.truncate(ITEMS_MAX);
        failed.truncate(ITEMS_MAX);
        let answer = match failed.first() {
            Some(first) if setup.is_empty() && leaving.is_empty() => {
                Message::E2ConnectionUpdateFailure(E2ConnectionUpdateFailure {
                    transaction_id,
                    cause: Some(first.cause),
                    time_to_wait: None,
                    diagnostics: None,
                })
            }
            _ => Message::E2ConnectionUpdateAcknowledge(E2ConnectionUpdateAcknowledge {
                transaction_id,
                setup: some_unless_empty(setup),
                failed: some_unless_empty(failed),
            }),
        };
        self.send(controller, &answer);
        for other in leaving {
            // This fails only if the list names the controller twice, so that it has already been removed.
            let _ = self.remove_controller(self.now, other);
        }
    }

    /// Adds a controller by its transport address. Returns `None` if the controller is already connected.
    fn add_from_wire(
        &mut self,
        may: bool,
        tnl: &TnlInformation,
        like: &str,
    ) -> Result<Option<ControllerId>, Cause> {
        if !may {
            return Err(Cause::Misc(CauseMisc::OmIntervention));
        }
        if self.updates.len() >= UPDATES_MAX {
            return Err(Cause::Misc(CauseMisc::ControlProcessingOverload));
        }
        let address = tnl::address(tnl, like).ok_or(NO_TRANSPORT)?;
        let deadline = self.now + PATIENCE;
        match self.add_controller(self.now, address) {
            Ok(added) => {
                if let Some(Link { state: State::Connecting { deadline: own }, .. }) = self.link_mut(added) {
                    *own = deadline.min(*own);
                }
                Ok(Some(added))
            }
            Err(ControllerError::AlreadyThere(there)) => {
                if self.link(there).is_some_and(Link::is_connected) {
                    Ok(None)
                } else {
                    Err(NO_TRANSPORT)
                }
            }
            Err(_) => Err(NO_TRANSPORT),
        }
    }

    fn find_from_wire(&self, tnl: &TnlInformation, like: &str) -> Option<ControllerId> {
        let address = tnl::address(tnl, like)?;
        let named = |l: &&Link| l.address == address && !matches!(l.state, State::Gone | State::Removing);
        self.links.iter().find(named).map(|l| l.id)
    }
}

impl ConnectionUpdate {
    fn fail(&mut self, tnl: TnlInformation) {
        self.failed.push(E2ConnectionSetupFailedItem { tnl, cause: NO_TRANSPORT });
    }
}

pub(super) fn some_unless_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
