//! Connection life cycle: connect, E2 setup (clause 8.3.1), refusals with their time to wait, loss, and reconnect.
use super::core::Core;
use super::link::{Link, State};
use super::*;
use crate::LinkLoss;
use crate::fingerprint::{MARK, filled};
use ranlab_e2_codec::e2ap::{
    E2SetupFailure, E2SetupRequest, E2SetupResponse, RanFunctionIdItem, RanFunctionItem, TimeToWait,
    TnlInformation,
};
use std::time::Duration;

/// Maximum number of redirects in a row. After that, the agent returns to the configured address.
const REDIRECTS_MAX: u32 = 4;

impl Core {
    pub(super) fn on_connected(&mut self, now: Time, id: ControllerId) {
        let Some(link) = self.link_mut(id) else { return };
        if !matches!(link.state, State::Connecting { .. }) {
            return;
        }
        link.outbox.clear();
        self.send_setup(now, id);
        self.connection_settled(id, true);
    }

    fn send_setup(&mut self, now: Time, id: ControllerId) {
        let timers = self.config.timers;
        let functions: Vec<_> = self.function_items(false).collect();
        let node_id = self.config.node_id;
        let components = self.config.components.clone();
        let announced = functions.iter().map(|f| (f.id, f.revision)).collect();
        let Some(link) = self.link_mut(id) else { return };
        let (transaction, transaction_id) = Self::transaction_of(link);
        let version = link.version;
        let v1 = version == Version::V1_01;
        link.forget_connection();
        link.told = announced;
        link.told_components.clone_from(&components);
        let deadline = now + link.patience(timers.setup_timeout, timers.setup_timeout_max);
        link.state = State::SettingUp { deadline, transaction, strayed: false };
        let request = Message::E2SetupRequest(E2SetupRequest {
            transaction_id,
            node_id,
            functions: (!functions.is_empty()).then_some(functions),
            components_v1: None,
            components: (!v1 && !components.is_empty()).then(|| filled(components, MARK)),
        });
        match ranlab_e2_codec::e2ap::encode(&request, version) {
            Ok(pdu) => self.push_control(id, pdu.into()),
            Err(e) => {
                let reason = CloseReason::SetupImpossible(e);
                self.deferred.push_back(Deferred::TakeDown(id, reason));
            }
        }
    }

    /// Returns the functions to announce to a controller; reserved ones only if the controller accepts them.
    pub(super) fn function_items(&self, knows_reserved: bool) -> impl Iterator<Item = RanFunctionItem> + '_ {
        let offers = self.offers.iter().filter(move |(_, offer)| knows_reserved || !offer.reserved);
        offers.map(|(id, offer)| RanFunctionItem {
            id: *id,
            definition: offer.description.definition.clone(),
            revision: offer.description.revision,
            oid: Some(offer.description.oid.clone()),
        })
    }

    /// Returns whether a setup response belongs to the pending setup of the link.
    fn takes_setup_answer(link: &Link, transaction_id: Option<u16>) -> bool {
        match link.state {
            State::SettingUp { transaction, .. } => {
                link.version == Version::V1_01 || transaction_id == Some(u16::from(transaction))
            }
            _ => false,
        }
    }

    /// Handles a setup response with the transaction id of another request. Reports only the first such response to each setup. The
    /// recorded failure keeps the ids of the first report until a setup succeeds: later ids differ, but have the same cause.
    fn on_stray_setup_answer(&mut self, id: ControllerId, received: Option<u16>) {
        self.counters.stray_answers += 1;
        let Some(link) = self.link_mut(id) else { return };
        let State::SettingUp { transaction, strayed, .. } = &mut link.state else { return };
        let transaction = *transaction;
        if std::mem::replace(strayed, true) {
            return;
        }
        // Only responses of E2AP 1.01 have no transaction id. They are not compared, so they are never reported here.
        let received = received.unwrap_or_default();
        let reason = format!("its transaction id is {received}; that of the setup request is {transaction}");
        if !matches!(link.setup_failure, Some(SetupFailure::Unreadable { .. })) {
            link.setup_failure = Some(SetupFailure::Unreadable { reason: reason.clone() });
        }
        self.event(AgentEvent::PduRefused { controller: id, reason });
    }

    pub(super) fn on_setup_response(&mut self, id: ControllerId, response: E2SetupResponse) {
        // A controller that accepts a function that was not offered knows the reserved functions.
        let reserved = |f: &RanFunctionIdItem| self.offers.get(&f.id).is_some_and(|o| o.reserved);
        let knows_reserved = response.accepted.iter().flatten().any(reserved);
        let Some(link) = self.link_mut(id) else { return };
        if !Self::takes_setup_answer(link, response.transaction_id) {
            return self.on_stray_setup_answer(id, response.transaction_id);
        }
        link.state = State::Up;
        link.on_setup_success();
        if knows_reserved {
            (link.knows_reserved, link.functions_changed) = (true, true);
        }
        self.counters.setups += 1;
        let rejected = response.rejected.unwrap_or_default();
        self.event(AgentEvent::SetupComplete { controller: id, ric_id: response.ric_id, rejected });
    }

    pub(super) fn on_setup_failure(&mut self, id: ControllerId, failure: E2SetupFailure) {
        let Some(link) = self.link_mut(id) else { return };
        if !Self::takes_setup_answer(link, failure.transaction_id) {
            return self.on_stray_setup_answer(id, failure.transaction_id);
        }
        let elsewhere = failure.tnl.as_ref().and_then(|tnl| Self::elsewhere(link, tnl));
        let moves_on = elsewhere.is_none() && link.has_others();
        // Another address may accept the setup. The time to wait therefore applies only after all addresses have
        // refused.
        let waits = !moves_on || link.refused_by_all();
        self.setup_failed(id, Some(failure.cause), failure.time_to_wait.filter(|_| waits));
        if moves_on {
            self.deferred.push_back(Deferred::TakeDown(id, CloseReason::NextAddress));
        }
        if let Some(address) = elsewhere {
            let reason = CloseReason::Redirected(address);
            self.deferred.push_back(Deferred::TakeDown(id, reason));
        }
    }

    /// Returns the redirect address of a setup failure, or `None` after too many redirects in a row.
    fn elsewhere(link: &mut Link, tnl: &TnlInformation) -> Option<String> {
        let address = tnl::address(tnl, &link.address)?;
        if link.redirects >= REDIRECTS_MAX {
            (link.redirect, link.redirects) = (None, 0);
            return None;
        }
        link.redirects += 1;
        link.redirect = Some(address.clone());
        Some(address)
    }

    /// Schedules another setup on the same connection after the time to wait.
    pub(super) fn setup_failed(&mut self, id: ControllerId, cause: Option<Cause>, wait: Option<TimeToWait>) {
        let now = self.now;
        let retry_in = self.next_delay(id);
        let retry_in = retry_in.max(wait.map_or(Duration::ZERO, |w| Duration::from_secs(w.seconds())));
        if let Some(link) = self.link_mut(id) {
            link.state = State::Waiting { until: now + retry_in };
            link.not_before = if wait.is_some() { now + retry_in } else { now };
            link.setup_failure = Some(SetupFailure::Refused { cause, retry_at: now + retry_in });
        }
        self.counters.setups_failed += 1;
        self.event(AgentEvent::SetupFailed { controller: id, cause, retry_in });
    }

    fn next_delay(&mut self, id: ControllerId) -> Duration {
        let link = self.links.iter_mut().find(|l| l.id == id);
        link.map_or(self.config.timers.reconnect_min, |l| l.backoff.next(&mut self.random))
    }

    /// Handles the loss of a connection and schedules a reconnect.
    fn schedule_reconnect(&mut self, id: ControllerId, why: DisconnectReason) {
        let now = self.now;
        let delay = self.next_delay(id);
        let Some(link) = self.link_mut(id) else { return };
        link.forget_connection();
        let retry_at = (now + delay).max(link.not_before);
        link.state = State::Down { retry_at };
        self.event(AgentEvent::Disconnected { controller: id, why, retry_in: retry_at.since(now) });
        self.connection_settled(id, false);
        self.forget_connection_updates(id);
    }
}

impl Agent {
    pub(super) fn on_disconnected(&mut self, id: ControllerId, why: LinkLoss) {
        let Some(link) = self.core.link_mut(id) else { return };
        match link.state {
            State::Down { .. } | State::Gone => return,
            State::Removing => {
                link.outbox.clear();
                return self.core.deferred.push_back(Deferred::Forget(id));
            }
            State::Connecting { .. } => link.turn_to_next(),
            State::SettingUp { .. } | State::Waiting { .. } | State::Up if link.has_others() => {
                link.turn_to_next()
            }
            State::SettingUp { .. } | State::Waiting { .. } | State::Up => {}
        }
        link.outbox.clear();
        self.end_subscriptions_of(id);
        self.core.schedule_reconnect(id, DisconnectReason::Lost(why));
    }

    /// Closes a connection and schedules a reconnect.
    pub(super) fn take_down(&mut self, id: ControllerId, reason: CloseReason) {
        let Some(link) = self.core.link_mut(id) else { return };
        if link.state == State::Removing {
            return self.forget(id);
        }
        if matches!(link.state, State::Down { .. } | State::Gone) {
            return;
        }
        let turns = match reason {
            CloseReason::ConnectTimeout | CloseReason::NextAddress => true,
            CloseReason::Unanswered(_) | CloseReason::NotE2ap(_) => link.has_others(),
            _ => false,
        };
        if turns {
            link.turn_to_next();
        }
        self.end_subscriptions_of(id);
        self.core.schedule_reconnect(id, DisconnectReason::Closed(reason.clone()));
        self.core.outputs.push_back(AgentOutput::Close { controller: id, reason });
    }

    /// Removes a controller permanently.
    pub(super) fn forget(&mut self, id: ControllerId) {
        let Some(link) = self.core.link_mut(id).filter(|l| l.state != State::Gone) else { return };
        link.state = State::Gone;
        link.forget_connection();
        self.end_subscriptions_of(id);
        self.core.ues.forget_controller(id);
        self.core.connection_settled(id, false);
        self.core.forget_connection_updates(id);
        // Emits `Close` even if the connection is already down. The driver always gets the same outputs, and `poll`
        // then drops the link.
        self.core.outputs.push_back(AgentOutput::Close { controller: id, reason: CloseReason::Removed });
        self.core.event(AgentEvent::ControllerRemoved { controller: id });
    }

    /// Handles an expired deadline of a link.
    pub(super) fn expire_link(&mut self, id: ControllerId) {
        let now = self.core.now;
        let Some(link) = self.core.link(id) else { return };
        match link.state {
            State::Down { .. } => self.core.connect(now, id),
            State::Connecting { .. } => self.take_down(id, CloseReason::ConnectTimeout),
            State::SettingUp { strayed, .. } => {
                self.core.counters.setups_failed += 1;
                if let Some(link) = self.core.link_mut(id) {
                    link.unanswered = link.unanswered.saturating_add(1);
                    if !strayed {
                        link.setup_failure = Some(SetupFailure::Unanswered { times: link.unanswered });
                    }
                }
                self.take_down(id, CloseReason::Unanswered(Procedure::Setup));
            }
            State::Waiting { .. } => self.core.send_setup(now, id),
            State::Up | State::Removing => {
                self.core.sync(id);
                self.expire_procedures(id);
            }
            State::Gone => {}
        }
    }
}
