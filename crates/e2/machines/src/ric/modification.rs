//! Modification of a subscription (v3.01), started by its only owner (an iApp) or by the node.
use super::change::{SubscriptionChange, SubscriptionChanged, apply};
use super::procedure_queue::NodeProcedure;
use super::subscription_table::State;
use super::{ConnId, Notice, Owner, Ric};
use crate::Time;
use ranlab_e2_codec::e2ap::*;

const NOT_NOW: Cause = Cause::RicRequest(CauseRicRequest::SystemNotReady);

impl Ric {
    /// Requests a modification from the node. The result follows as a notice, even if the request could not be sent.
    pub(super) fn modify(
        &mut self,
        now: Time,
        owner: Owner,
        request_id: RicRequestId,
        change: SubscriptionChange,
    ) {
        let result = self.try_modify(now, owner, request_id, change);
        if let (Err(cause), Owner::IApp(iapp)) = (result, owner) {
            self.notices.push_back((iapp, Notice::Modified(request_id, Err(cause))));
        }
    }

    fn try_modify(
        &mut self,
        now: Time,
        owner: Owner,
        request_id: RicRequestId,
        change: SubscriptionChange,
    ) -> Result<(), Cause> {
        let unknown = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);
        let (place, slot) = self.owned.find(owner, request_id).ok_or(unknown)?;
        let subscription = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot));
        let subscription = subscription.ok_or(unknown)?;
        // A subscription with other owners cannot be modified, and only one modification may be outstanding.
        if subscription.state != State::Active || subscription.sinks.len() != 1 {
            return Err(NOT_NOW);
        }
        let removed = |a: &ActionToBeSetup| change.remove.contains(&a.id);
        if change.add.is_empty() && subscription.details.actions.iter().all(removed) {
            return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        }
        subscription.tries = 0;
        subscription.change = Some(change);
        self.request_change(now, place, slot)
    }

    fn request_change(&mut self, now: Time, place: usize, slot: u16) -> Result<(), Cause> {
        let Some(message) = self.change_message(place, slot) else { return Err(NOT_NOW) };
        let Some(node) = self.nodes.at_mut(place) else { return Err(NOT_NOW) };
        let version = node.info.version;
        let Some(request_id) = node.subscriptions.request_id(slot) else { return Err(NOT_NOW) };
        let Some(s) = node.subscriptions.at_mut(slot) else { return Err(NOT_NOW) };
        // A node of an earlier version does not support modifications.
        if encode(&message, version).is_err() {
            s.change = None;
            return Err(Cause::Protocol(CauseProtocol::SemanticError));
        }
        s.state = State::Modifying;
        s.tries += 1;
        if self.takes_turn(now, place, NodeProcedure::Subscription(request_id)) {
            self.run_change(now, place, slot);
        }
        Ok(())
    }

    pub(super) fn run_change(&mut self, now: Time, place: usize, slot: u16) {
        let conn = self.nodes.at(place).and_then(|n| n.conn);
        if let (Some(conn), Some(message)) = (conn, self.change_message(place, slot)) {
            self.links.say(conn, &message);
            self.arm(now, place, slot);
        }
    }

    fn change_message(&self, place: usize, slot: u16) -> Option<Message> {
        let subscriptions = &self.nodes.at(place)?.subscriptions;
        let request_id = subscriptions.request_id(slot)?;
        let s = subscriptions.at(slot)?;
        let change = s.change.clone()?;
        let message = Message::RicSubscriptionModificationRequest(RicSubscriptionModificationRequest {
            request_id,
            function_id: s.function,
            event_trigger: change.event_trigger,
            remove: some(change.remove),
            modify: some(change.modify),
            add: some(change.add),
        });
        Some(message)
    }

    pub(super) fn modification_response(&mut self, place: usize, m: RicSubscriptionModificationResponse) {
        let failed = [m.remove_failed, m.modify_failed, m.add_failed];
        let changed = SubscriptionChanged {
            removed: m.removed.unwrap_or_default(),
            modified: m.modified.unwrap_or_default(),
            added: m.added.unwrap_or_default(),
            failed: failed.into_iter().flatten().flatten().collect(),
        };
        self.modification_answered(place, m.request_id, Ok(changed));
    }

    pub(super) fn modification_answered(
        &mut self,
        place: usize,
        id: RicRequestId,
        outcome: Result<SubscriptionChanged, Cause>,
    ) {
        let Some(slot) = self.slot_of(place, id) else { return };
        if self.state_of(place, slot) != Some(State::Modifying) {
            self.counters.answers_stray += 1;
            return;
        }
        self.end_modification(place, slot, outcome);
    }

    /// Ends a modification, successful or not. The resulting details are requested again after a reconnect of the
    /// node.
    pub(super) fn end_modification(
        &mut self,
        place: usize,
        slot: u16,
        outcome: Result<SubscriptionChanged, Cause>,
    ) {
        self.disarm(place, slot);
        let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) else { return };
        let Some(change) = s.change.take() else { return };
        if s.state == State::Modifying {
            s.state = State::Active;
        }
        if let Ok(changed) = &outcome {
            apply(&mut s.details, change, changed);
            if let Some(response) = &mut s.response {
                response.admitted.retain(|a| !changed.removed.contains(a));
                response.admitted.extend(&changed.added);
            }
        }
        if let Some(sink) = s.sinks.first()
            && let Owner::IApp(iapp) = sink.owner
        {
            self.notices.push_back((iapp, Notice::Modified(sink.request_id, outcome)));
        }
        // An owner that subscribed to the same data meanwhile waits for its response.
        self.answer_sinks(place, slot, None);
    }

    pub(super) fn modification_expired(&mut self, now: Time, place: usize, slot: u16) {
        let tries = self.nodes.at(place).and_then(|n| n.subscriptions.at(slot)).map_or(0, |s| s.tries);
        if tries < self.config.timers.subscription_tries {
            self.counters.subscription_retries += 1;
            if let Err(cause) = self.request_change(now, place, slot) {
                self.end_modification(place, slot, Err(cause));
            }
            return;
        }
        let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
        self.end_modification(place, slot, Err(cause));
    }

    /// Handles a request of the node to modify or remove actions (v3.01). It is granted, because the node knows its
    /// capabilities.
    pub(super) fn modification_required(
        &mut self,
        now: Time,
        id: ConnId,
        place: usize,
        m: &RicSubscriptionModificationRequired,
    ) {
        let request_id = m.request_id;
        let function_id = m.function_id;
        let slot = self.nodes.at(place).and_then(|n| n.subscriptions.slot_of(request_id));
        let Some(slot) = slot.filter(|&slot| self.state_of(place, slot) == Some(State::Active)) else {
            let cause = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);
            let refusal =
                RicSubscriptionModificationRefuse { request_id, function_id, cause, diagnostics: None };
            return self.links.say(id, &Message::RicSubscriptionModificationRefuse(refusal));
        };
        let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) else { return };
        let known = |id: RicActionId| s.details.actions.iter().any(|a| a.id == id);
        let refused = |id| ActionFailed { id, cause: Cause::RicRequest(CauseRicRequest::ActionNotSupported) };
        let changes: Vec<_> = m.modify.iter().flatten().map(|a| a.id).collect();
        let removals: Vec<_> = m.remove.iter().flatten().map(|a| a.id).collect();
        let (modified, unmodified): (Vec<_>, Vec<_>) = changes.into_iter().partition(|&id| known(id));
        let (removed, unremoved): (Vec<_>, Vec<_>) = removals.into_iter().partition(|&id| known(id));
        for change in m.modify.iter().flatten() {
            let action = s.details.actions.iter_mut().find(|a| a.id == change.id);
            if let Some(subsequent) = action.and_then(|a| a.subsequent.as_mut()) {
                subsequent.time_to_wait = change.time_to_wait;
            }
        }
        let left = s.details.actions.iter().any(|a| !removed.contains(&a.id));
        if left {
            s.details.actions.retain(|a| !removed.contains(&a.id));
        }
        let failed = |list: Vec<RicActionId>| some(list.into_iter().map(refused).collect());
        let confirm = RicSubscriptionModificationConfirm {
            request_id,
            function_id,
            modified: some(modified),
            modify_refused: failed(unmodified),
            removed: some(removed),
            remove_refused: failed(unremoved),
        };
        self.links.say(id, &Message::RicSubscriptionModificationConfirm(confirm));
        if !left {
            self.abandon(now, place, slot, Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        }
    }
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|l| !l.is_empty())
}
