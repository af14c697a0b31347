//! Responses of nodes about subscriptions, and missing responses: their effect on the owners.
use super::hints;
use super::messages::{cause_in, cause_of_failure};
use super::procedure_queue::NodeProcedure;
use super::subscription_table::{Response, State};
use super::{Ric, Timer};
use crate::Time;
use ranlab_e2_codec::e2ap::*;

impl Ric {
    pub(super) fn slot_of(&mut self, place: usize, id: RicRequestId) -> Option<u16> {
        let slot = self.nodes.at(place).and_then(|n| n.subscriptions.slot_of(id));
        if slot.is_none() {
            self.counters.answers_stray += 1;
        }
        slot
    }

    pub(super) fn state_of(&self, place: usize, slot: u16) -> Option<State> {
        Some(self.nodes.at(place)?.subscriptions.at(slot)?.state)
    }

    pub(super) fn subscription_response(&mut self, now: Time, place: usize, m: RicSubscriptionResponse) {
        let Some(slot) = self.slot_of(place, m.request_id) else {
            return self.stray(now, place, m.request_id, m.function_id);
        };
        if self.state_of(place, slot) != Some(State::Requesting) {
            self.counters.answers_stray += 1;
            return;
        }
        self.disarm(place, slot);
        let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) else { return };
        let response = Response { admitted: m.admitted, not_admitted: m.not_admitted };
        s.response = Some(response.complete(&s.details.actions));
        s.state = State::Active;
        let due = s.period.map(|period| now + hints::patience(period));
        s.heard.due = due;
        if let Some(due) = due {
            self.timers.set(due, Timer::Silence { node: place, slot });
        }
        if s.sinks.is_empty() {
            return self.request_delete(now, place, slot, true);
        }
        let function = s.function;
        for sink in std::mem::take(&mut s.leavers) {
            self.confirm_delete(&sink, function);
        }
        self.answer_sinks(place, slot, None);
    }

    /// Handles a subscription whose reports are overdue.
    pub(super) fn silence_expired(&mut self, now: Time, place: usize, slot: u16) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let info = node.info.clone();
        let Some(s) = node.subscriptions.at_mut(slot) else { return };
        // The deadline may be from an earlier subscription that used this slot.
        let waited = s.heard.due.is_some_and(|due| due <= now) && s.state == State::Active;
        if !waited || s.heard.indications() > 0 || s.heard.silent {
            return;
        }
        s.heard.silent = true;
        let sentence = hints::of_silence(s.oid.as_deref());
        let function = s.function;
        // The machine must see the indication that ends the silence.
        self.unroute(place, slot);
        self.links.hint(info.peer.clone(), Some(info.id), Some(function), sentence);
    }

    pub(super) fn subscription_failure(&mut self, place: usize, m: &RicSubscriptionFailure) {
        let Some(slot) = self.slot_of(place, m.request_id) else { return };
        if self.state_of(place, slot) != Some(State::Requesting) {
            self.counters.answers_stray += 1;
            return;
        }
        let cause = cause_of_failure(m);
        self.hint_at_refusal(place, m.function_id, cause);
        self.end_subscription(place, slot, cause);
    }

    /// Handles the response to a deletion. Whether successful or not, the subscription has no owner here any more.
    pub(super) fn delete_answered(
        &mut self,
        now: Time,
        place: usize,
        id: RicRequestId,
        failed: Option<Cause>,
    ) {
        let id = self.deletion_of(place, id, failed.is_some());
        if self.nodes.at_mut(place).is_some_and(|n| n.turns.strays.remove(&id).is_some()) {
            self.free_turn(place);
            return;
        }
        let Some(slot) = self.slot_of(place, id) else { return };
        if self.state_of(place, slot) != Some(State::Deleting) {
            self.counters.answers_stray += 1;
            return;
        }
        self.delete_done(now, place, slot, failed);
    }

    /// Returns the deletion that a response belongs to. OCUDU writes request id 0/0 into a failure. A failure with an
    /// unknown id therefore belongs to the outstanding deletion.
    fn deletion_of(&self, place: usize, id: RicRequestId, has_failed: bool) -> RicRequestId {
        let Some(node) = self.nodes.at(place).filter(|_| has_failed) else { return id };
        if node.subscriptions.find(id).is_some() || node.turns.strays.contains_key(&id) {
            return id;
        }
        match node.turns.outstanding() {
            Some(NodeProcedure::Stray(own)) => own,
            Some(NodeProcedure::Subscription(own))
                if node.subscriptions.find(own).is_some_and(|it| it.state == State::Deleting) =>
            {
                own
            }
            _ => id,
        }
    }

    /// Handles a subscription that the node probably no longer has. It is removed, or requested again if it has
    /// owners.
    pub(super) fn delete_done(&mut self, now: Time, place: usize, slot: u16, failed: Option<Cause>) {
        let owned = self.nodes.at(place).and_then(|n| n.subscriptions.at(slot));
        if owned.is_some_and(|s| !s.sinks.is_empty()) {
            return self.renew(now, place, slot);
        }
        let Some(subscription) = self.remove_subscription(place, slot) else { return };
        for sink in &subscription.leavers {
            let (Some(cause), Some(conn)) = (failed, sink.conn()) else {
                self.confirm_delete(sink, subscription.function);
                continue;
            };
            let Some(version) = self.links.conn(conn).map(|c| c.version) else { continue };
            let failure = RicSubscriptionDeleteFailure {
                request_id: sink.request_id,
                function_id: subscription.function,
                cause: cause_in(version, cause),
                diagnostics: None,
            };
            self.links.say(conn, &Message::RicSubscriptionDeleteFailure(failure));
        }
    }

    /// Handles a missing response.
    pub(super) fn subscription_expired(&mut self, now: Time, place: usize, slot: u16) {
        let limit = self.config.timers.subscription_tries;
        self.free_turn(place);
        let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) else { return };
        s.deadline = None;
        let restoring = s.sinks.iter().any(|sink| sink.answered);
        let state = s.state;
        let tries = s.tries;
        let owned = !s.sinks.is_empty();
        match state {
            // It is unknown whether the node has the subscription, so the RIC requests its deletion.
            State::Requesting if !owned => self.request_delete(now, place, slot, true),
            State::Requesting if restoring || tries < limit => {
                self.counters.subscription_retries += 1;
                match self.nodes.at(place).is_some_and(|n| n.turns.one_at_a_time()) {
                    true => self.request_delete(now, place, slot, true),
                    false => self.repeat(now, place, slot),
                }
            }
            State::Requesting => self.give_up(now, place, slot),
            State::Deleting if owned => self.renew(now, place, slot),
            State::Deleting if tries < limit => {
                self.counters.subscription_retries += 1;
                self.request_delete(now, place, slot, false);
            }
            State::Deleting => {
                self.counters.deletes_unanswered += 1;
                self.delete_done(now, place, slot, Some(Cause::Transport(CauseTransport::Unspecified)));
            }
            State::Modifying => self.modification_expired(now, place, slot),
            State::Waiting | State::Active => {}
        }
    }

    /// Requests a subscription again under another id.
    fn renew(&mut self, now: Time, place: usize, slot: u16) {
        self.disarm(place, slot);
        self.unroute(place, slot);
        let Some(node) = self.nodes.at_mut(place) else { return };
        node.subscriptions.renew(slot);
        let Some(s) = node.subscriptions.at_mut(slot) else { return };
        let function = s.function;
        for sink in std::mem::take(&mut s.leavers) {
            self.confirm_delete(&sink, function);
        }
        self.repeat(now, place, slot);
    }

    fn repeat(&mut self, now: Time, place: usize, slot: u16) {
        if let Err(cause) = self.request(now, place, slot) {
            self.end_subscription(place, slot, cause);
        }
    }

    /// Handles a request without a response: informs the owners, and requests the deletion in case the node has the
    /// subscription after all.
    fn give_up(&mut self, now: Time, place: usize, slot: u16) {
        self.detach_owners(place, slot, Cause::RicRequest(CauseRicRequest::ControlTimerExpired));
        self.request_delete(now, place, slot, true);
    }

    /// Handles a request of the node to delete subscriptions.
    pub(super) fn delete_required(&mut self, now: Time, place: usize, m: &RicSubscriptionDeleteRequired) {
        for item in &m.subscriptions {
            let Some(slot) = self.slot_of(place, item.request_id) else { continue };
            self.abandon(now, place, slot, item.cause);
        }
    }

    /// Informs the owners that a subscription ended, then requests its deletion.
    pub(super) fn abandon(&mut self, now: Time, place: usize, slot: u16, cause: Cause) {
        if matches!(self.state_of(place, slot), None | Some(State::Deleting)) {
            return;
        }
        self.detach_owners(place, slot, cause);
        self.request_delete(now, place, slot, true);
    }

    /// Handles an error indication of the node about a request of the RIC.
    pub(super) fn subscription_objected(&mut self, now: Time, place: usize, id: RicRequestId, cause: Cause) {
        let Some(slot) = self.nodes.at(place).and_then(|n| n.subscriptions.slot_of(id)) else { return };
        match self.state_of(place, slot) {
            Some(State::Requesting) => self.end_subscription(place, slot, cause),
            Some(State::Deleting) => self.delete_done(now, place, slot, Some(cause)),
            Some(State::Modifying) => self.end_modification(place, slot, Err(cause)),
            _ => {}
        }
    }
}
