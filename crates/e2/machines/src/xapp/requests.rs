//! Request ids and the handling of responses.
use super::subscriptions::Phase;
use super::*;
use std::collections::BTreeSet;

/// Number of controls without acknowledgement whose failure can still be reported.
const QUIET_CONTROLS: usize = 1_024;

/// Owner of a request id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Subscription(SubscriptionHandle),
    Control(ControlHandle),
}

/// Outstanding requests. Their ids are 1, 2, 3 … of one instance; ids in use are skipped.
#[derive(Debug, Default)]
pub(super) struct Requests {
    last: u16,
    /// Instance of all request ids.
    pub(super) instance: u16,
    targets: BTreeMap<u16, Target>,
    /// Controls that wait for a response. All have the same timeout, so handles are in the order of deadlines.
    awaited: BTreeMap<ControlHandle, (Time, u16)>,
    /// Controls for which the machine, not the application, requested the acknowledgement.
    unasked: BTreeSet<ControlHandle>,
    /// Controls without acknowledgement, oldest first.
    quiet: VecDeque<(u16, ControlHandle)>,
    last_control: u64,
}

impl Requests {
    pub(super) fn take_id(&mut self, target: Target) -> Option<u16> {
        if self.targets.len() >= usize::from(u16::MAX) {
            return None;
        }
        loop {
            self.last = self.last.wrapping_add(1).max(1);
            if !self.targets.contains_key(&self.last) {
                self.targets.insert(self.last, target);
                return Some(self.last);
            }
        }
    }

    /// Returns an id as it is encoded.
    pub(super) fn wire_id(&self, requestor: u16) -> RicRequestId {
        RicRequestId { requestor, instance: self.instance }
    }

    pub(super) fn free(&mut self, id: u16, target: Target) {
        if self.targets.get(&id) == Some(&target) {
            self.targets.remove(&id);
        }
    }

    pub(super) fn target(&self, id: RicRequestId) -> Option<Target> {
        self.targets.get(&id.requestor).copied().filter(|_| id.instance == self.instance)
    }

    pub(super) fn awaited(&self) -> usize {
        self.awaited.len()
    }

    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.awaited.first_key_value().map(|(_, (at, _))| *at)
    }

    pub(super) fn next_control(&mut self) -> ControlHandle {
        self.last_control += 1;
        ControlHandle(self.last_control)
    }

    /// Records a sent control.
    pub(super) fn control_sent(
        &mut self,
        id: u16,
        handle: ControlHandle,
        deadline: Option<Time>,
        is_requested: bool,
    ) {
        match deadline {
            Some(at) => {
                if !is_requested {
                    self.unasked.insert(handle);
                }
                self.awaited.insert(handle, (at, id));
            }
            None => self.quiet.push_back((id, handle)),
        }
        if self.quiet.len() > QUIET_CONTROLS
            && let Some((id, handle)) = self.quiet.pop_front()
        {
            self.free(id, Target::Control(handle));
        }
    }

    /// Removes a control that got a response. Returns whether the application requested the response.
    fn control_done(&mut self, id: u16, handle: ControlHandle) -> bool {
        self.free(id, Target::Control(handle));
        self.awaited.remove(&handle);
        !self.unasked.remove(&handle)
    }

    /// Removes and returns the next control whose timeout has expired.
    fn expired_control(&mut self, now: Time) -> Option<ControlHandle> {
        let (&handle, &(_, id)) = self.awaited.first_key_value().filter(|(_, (at, _))| *at <= now)?;
        self.control_done(id, handle);
        Some(handle)
    }

    /// Discards all requests after a disconnect. Returns the controls that waited for a response.
    pub(super) fn start_over(&mut self) -> Vec<ControlHandle> {
        self.targets.clear();
        self.quiet.clear();
        self.unasked.clear();
        std::mem::take(&mut self.awaited).into_keys().collect()
    }
}

impl Xapp {
    /// Returns whether the RIC accepts only one request at a time.
    pub(super) fn is_one_at_a_time(&self) -> bool {
        self.dialect.habits().one_at_a_time
    }

    /// Returns whether another request may be sent.
    pub(super) fn may_ask(&self) -> bool {
        !self.is_one_at_a_time() || !self.is_owed() && !self.poll.is_under_way()
    }

    /// Returns whether a subscription, deletion or control waits for a response.
    pub(super) fn is_owed(&self) -> bool {
        self.subscriptions.outstanding() > 0 || self.requests.awaited() > self.held.len()
    }

    /// Returns whether a queued request could be sent now.
    pub(super) fn has_turn(&self) -> bool {
        self.may_ask()
            && (!self.held.is_empty() || self.subscriptions.has_turn(self.config.limits.outstanding))
    }

    /// Sends queued requests up to the limit.
    pub(super) fn pump(&mut self) {
        if !matches!(self.state, State::Up) {
            return;
        }
        if self.is_one_at_a_time() && self.poll.take_due(self.now, &self.config, self.is_owed()) {
            if self.dialect == Dialect::Auto {
                // A ranlab RIC would have identified itself by now.
                self.speak(Dialect::FlexRic);
            }
            self.send_setup();
        }
        while self.has_turn() {
            match self.held.pop_front() {
                Some((_, pdu)) => self.ask(pdu),
                None => self.pump_subscription(),
            }
        }
    }

    /// Sends a request that expects a response.
    pub(super) fn ask(&mut self, pdu: Bytes) {
        self.poll.on_request_sent(self.now, &self.config);
        self.push(pdu);
    }

    /// Sends the request or deletion of the next queued subscription.
    fn pump_subscription(&mut self) {
        if let Some(handle) = self.subscriptions.next_turn(self.config.limits.outstanding) {
            let Some(s) = self.subscriptions.get(handle) else { return };
            match (s.unwanted, s.phase) {
                (true, Phase::Active | Phase::Requested { .. }) => self.send_deletion(handle),
                (false, Phase::Idle) => self.send_request(handle),
                _ => {}
            }
        }
    }

    fn send_request(&mut self, handle: SubscriptionHandle) {
        let Some(s) = self.subscriptions.get(handle) else { return };
        let node = s.node;
        let known = self.nodes.get(&s.node);
        // The node is not connected. Its next announcement queues the subscription again.
        let Some(known) = known.filter(|n| !n.stale) else { return };
        let Some(function_id) = known.info.find(&s.function) else {
            let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
            return self.event(XappEvent::SubscriptionFailed {
                handle,
                node,
                failure: Failure::Cause(cause),
            });
        };
        let announced = known.announced;
        let Some(id) = self.requests.take_id(Target::Subscription(handle)) else { return };
        if let Some(s) = self.subscriptions.get_mut(handle) {
            s.request = Some((id, function_id));
            s.announced = announced;
            s.gaps.restart();
        }
        let retries_left = self.retries();
        let deadline = Some(self.now + self.config.timers.request_timeout);
        self.subscriptions.set(handle, Phase::Requested { retries_left }, deadline);
        self.say_request(handle);
    }

    fn retries(&self) -> u32 {
        if self.is_one_at_a_time() { 0 } else { self.config.timers.request_retries }
    }

    /// Sends or repeats the request of a subscription.
    fn say_request(&mut self, handle: SubscriptionHandle) {
        let Some(s) = self.subscriptions.get(handle) else { return };
        let Some((id, function_id)) = s.request else { return };
        let message = e42::Message::SubscriptionRequest(e42::SubscriptionRequest {
            xapp_id: self.xapp_id,
            node_id: s.node,
            request_id: self.requests.wire_id(id),
            function_id,
            details: s.details.clone(),
        });
        self.counters.subscription_requests += 1;
        self.poll.on_request_sent(self.now, &self.config);
        self.send(&message);
    }

    fn send_deletion(&mut self, handle: SubscriptionHandle) {
        let retries_left = self.retries();
        let deadline = Some(self.now + self.config.timers.request_timeout);
        self.subscriptions.set(handle, Phase::Deleting { retries_left }, deadline);
        self.say_deletion(handle);
    }

    fn say_deletion(&mut self, handle: SubscriptionHandle) {
        let Some((id, function_id)) = self.subscriptions.get(handle).and_then(|s| s.request) else { return };
        let request_id = self.requests.wire_id(id);
        let request = e42::SubscriptionDeleteRequest { xapp_id: self.xapp_id, request_id, function_id };
        self.poll.on_request_sent(self.now, &self.config);
        self.send(&e42::Message::SubscriptionDeleteRequest(request));
    }

    /// Deletes a subscription that may exist at the RIC only. In a one-at-a-time dialect, no other request is sent
    /// before the response.
    fn drop_at_ric(&mut self, handle: SubscriptionHandle, failure: Failure) {
        if !self.is_one_at_a_time() {
            self.say_deletion(handle);
            return self.ended(handle, failure);
        }
        if let Some(s) = self.subscriptions.get_mut(handle) {
            s.renewing = true;
        }
        self.send_deletion(handle);
    }

    /// Handles the end of a subscription at the RIC. The subscription becomes idle, or is removed if it was unsubscribed.
    fn ended(&mut self, handle: SubscriptionHandle, failure: Failure) {
        let Some(s) = self.subscriptions.get(handle) else { return };
        let node = s.node;
        let leaving = s.is_leaving();
        if let Some((id, _)) = s.request {
            self.requests.free(id, Target::Subscription(handle));
        }
        if leaving {
            self.subscriptions.remove(handle);
            return self.event(XappEvent::Unsubscribed { handle, node });
        }
        // The node was announced again after the request, so the failure may be due to outdated information.
        let outdated = self.nodes.get(&node).is_some_and(|n| !n.stale && n.announced != s.announced);
        self.subscriptions.park(handle);
        // The node is disconnected or did not respond. This is temporary, and no announcement will follow.
        let passing = [CauseRicRequest::SystemNotReady, CauseRicRequest::ControlTimerExpired];
        let passing = passing.map(|cause| Failure::Cause(Cause::RicRequest(cause)));
        if passing.contains(&failure) || failure == Failure::Unanswered {
            // An idle subscription with a deadline is requested again at the deadline.
            let at = self.now + self.config.timers.not_ready_delay;
            self.subscriptions.set(handle, Phase::Idle, Some(at));
        } else if outdated {
            self.subscriptions.want(handle);
        }
        self.event(XappEvent::SubscriptionFailed { handle, node, failure });
    }

    pub(super) fn on_subscription_response(&mut self, m: RicSubscriptionResponse) {
        if self.requests.target(m.request_id).is_none() && matches!(self.state, State::Up) {
            // A repeated request crossed the failure of the first one, so the subscription now exists only at the RIC.
            self.counters.stray += 1;
            if self.is_one_at_a_time() {
                // Its deletion was already requested. A second deletion would crash FlexRIC.
                return;
            }
            let request_id = m.request_id;
            let function_id = m.function_id;
            let request = e42::SubscriptionDeleteRequest { xapp_id: self.xapp_id, request_id, function_id };
            return self.send(&e42::Message::SubscriptionDeleteRequest(request));
        }
        let Some(handle) = self.subscription_of(m.request_id) else { return };
        let Some(s) = self.subscriptions.get(handle) else { return };
        if matches!(s.phase, Phase::Requested { .. }) {
            let node = s.node;
            let now_at = self.nodes.get(&node).and_then(|n| n.info.find(&s.function));
            if s.request.is_some_and(|(_, asked_of)| now_at.is_some_and(|id| id != asked_of)) {
                // While the request was outstanding, the node assigned the id to another function, which admitted it.
                let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
                return self.drop_at_ric(handle, Failure::Cause(cause));
            }
            self.subscriptions.set(handle, Phase::Active, None);
            let not_admitted = m.not_admitted.unwrap_or_default();
            self.event(XappEvent::Subscribed { handle, node, not_admitted });
        }
    }

    /// Handles a refused or ended subscription.
    pub(super) fn on_subscription_end(&mut self, id: RicRequestId, cause: Cause) {
        if let Some(handle) = self.subscription_of(id) {
            self.ended(handle, Failure::Cause(cause));
        }
    }

    /// Handles any response to a deletion: the RIC no longer has the subscription.
    pub(super) fn on_deletion_answer(&mut self, id: RicRequestId) {
        let Some(handle) = self.subscription_of(id) else { return };
        if self.subscriptions.get(handle).is_some_and(|s| matches!(s.phase, Phase::Deleting { .. })) {
            self.ended(handle, Failure::Unanswered);
        }
    }

    pub(super) fn subscription_of(&mut self, id: RicRequestId) -> Option<SubscriptionHandle> {
        match self.requests.target(id) {
            Some(Target::Subscription(handle)) => Some(handle),
            _ => {
                self.counters.stray += 1;
                None
            }
        }
    }

    pub(super) fn on_control_answer(
        &mut self,
        id: RicRequestId,
        outcome: Option<Bytes>,
        failure: Option<Failure>,
    ) {
        let Some(Target::Control(handle)) = self.requests.target(id) else {
            self.counters.stray += 1;
            return;
        };
        let is_requested = self.requests.control_done(id.requestor, handle);
        self.event(match failure {
            None if !is_requested => return,
            None => XappEvent::ControlAcknowledged { handle, outcome },
            Some(failure) => XappEvent::ControlFailed { handle, failure, outcome },
        });
    }

    /// Repeats or fails requests whose timeout has expired.
    pub(super) fn expire_requests(&mut self) {
        let now = self.now;
        let timeout = self.config.timers.request_timeout;
        while let Some(handle) = self.requests.expired_control(now) {
            self.held.retain(|(held, _)| *held != handle);
            let failure = Failure::Unanswered;
            let outcome = None;
            self.event(XappEvent::ControlFailed { handle, failure, outcome });
        }
        while let Some(handle) = self.subscriptions.expired(now) {
            let Some(phase) = self.subscriptions.get(handle).map(|s| s.phase) else { return };
            let again = Some(now + timeout);
            match phase {
                Phase::Requested { retries_left: left @ 1.. } => {
                    self.subscriptions.set(handle, Phase::Requested { retries_left: left - 1 }, again);
                    self.say_request(handle);
                }
                Phase::Deleting { retries_left: left @ 1.. } => {
                    self.subscriptions.set(handle, Phase::Deleting { retries_left: left - 1 }, again);
                    self.say_deletion(handle);
                }
                Phase::Requested { .. } => {
                    // The subscription may nevertheless exist at the RIC.
                    self.drop_at_ric(handle, Failure::Unanswered);
                }
                Phase::Deleting { .. } => self.ended(handle, Failure::Unanswered),
                Phase::Idle | Phase::Active => {
                    self.subscriptions.set(handle, phase, None);
                    self.subscriptions.want(handle);
                }
            }
        }
    }
}
