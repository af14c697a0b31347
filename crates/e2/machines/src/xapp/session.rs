//! Connection to the RIC: setup, disconnects, and message dispatch.
use super::*;
use crate::coding::in_coding;
use std::collections::BTreeSet;

impl Xapp {
    pub(super) fn connect(&mut self) {
        self.state = State::Connecting { deadline: self.now + self.config.timers.connect_timeout };
        self.counters.connects += 1;
        let address = self.address().to_owned();
        self.outputs.push_back(XappOutput::Connect { address });
    }

    /// Returns the address of the current RIC.
    pub fn address(&self) -> &str {
        let further = self.place.checked_sub(1).and_then(|at| self.config.or_at.get(at));
        further.unwrap_or(&self.config.address)
    }

    /// Returns the number of configured RIC addresses.
    pub fn addresses(&self) -> usize {
        1 + self.config.or_at.len().min(ADDRESSES_MAX)
    }

    pub(super) fn on_connected(&mut self) {
        if matches!(self.state, State::Connecting { .. }) {
            self.outbox.clear();
            // A different RIC may respond after a reconnect.
            self.dialect = self.config.dialect;
            self.begin_setup();
        }
    }

    fn begin_setup(&mut self) {
        let timers = self.config.timers;
        self.state = State::SettingUp { deadline: self.now + timers.setup_timeout };
        self.setup_push = self.is_one_at_a_time().then(|| self.now + timers.node_poll);
        self.send_setup();
    }

    /// Switches to the dialect that the RIC was detected to use.
    pub(super) fn speak(&mut self, dialect: Dialect) {
        self.dialect = dialect;
        self.event(XappEvent::Speaks { dialect });
    }

    pub(super) fn send_setup(&mut self) {
        let message = e42::Message::SetupRequest(e42::SetupRequest {
            functions: self.config.service_models.clone(),
            wants_node_events: self.dialect.habits().node_events,
        });
        match e42::encode(&message, self.config.version) {
            Ok(pdu) => self.push(pdu.into()),
            Err(e) => self.take_down(CloseReason::SetupImpossible(e)),
        }
    }

    pub(super) fn send(&mut self, message: &e42::Message) {
        // Contents from the application were test-encoded when they were passed in; nothing else can fail.
        if let Ok(pdu) = e42::encode(message, self.config.version) {
            self.push(pdu.into());
        }
    }

    pub(super) fn push(&mut self, pdu: Bytes) {
        let frame = in_coding(Frame::whole(pdu), self.config.coding, self.config.version);
        match self.outbox.push_control(frame) {
            Ok(()) if !std::mem::replace(&mut self.announced, true) => {
                self.outputs.push_back(XappOutput::Transmit);
            }
            Ok(()) => {}
            // The connection is closed later, because the caller still uses it.
            Err(full) => self.doomed = Some(full.into()),
        }
    }

    /// Closes the connection and schedules a reconnect.
    pub(super) fn take_down(&mut self, reason: CloseReason) {
        if !matches!(self.state, State::Down { .. }) {
            self.outputs.push_back(XappOutput::Close { reason: reason.clone() });
            self.connection_lost(DisconnectReason::Closed(reason));
        }
    }

    /// Handles the loss of the connection and schedules a reconnect.
    pub(super) fn connection_lost(&mut self, why: DisconnectReason) {
        let now = self.now;
        self.doomed = None;
        self.outbox.clear();
        self.poll = Poll::default();
        self.held.clear();
        self.relisted_by = None;
        self.nodes.values_mut().for_each(|n| n.stale = true);
        self.place = (self.place + 1) % self.addresses();
        let retry_at = (now + self.backoff.next(&mut self.random)).max(self.not_before);
        self.state = State::Down { retry_at };
        for handle in self.requests.start_over() {
            let failure = Failure::Disconnected;
            let outcome = None;
            self.event(XappEvent::ControlFailed { handle, failure, outcome });
        }
        for (handle, node) in self.subscriptions.start_over() {
            self.event(XappEvent::Unsubscribed { handle, node });
        }
        self.event(XappEvent::Disconnected { why, retry_in: retry_at.since(now) });
    }

    pub(super) fn on_received(&mut self, pdu: &Bytes) {
        if matches!(self.state, State::Down { .. } | State::Connecting { .. }) {
            return;
        }
        self.counters.received += 1;
        let limit = self.config.limits.pdu_bytes;
        if pdu.len() > limit {
            return self.take_down(CloseReason::TooLong { len: pdu.len(), limit });
        }
        if self.on_indication(pdu) {
            return;
        }
        let pdu = &match self.config.coding.receive(pdu.clone(), self.config.version) {
            Ok(pdu) => pdu,
            Err(fault) => {
                self.counters.refused_pdus += 1;
                if !matches!(self.state, State::Up) {
                    self.take_down(CloseReason::NotE42(fault.to_string()));
                }
                return;
            }
        };
        match e42::decode(pdu, self.config.version) {
            Ok(decoded) => self.dispatch(decoded.message),
            Err(rejection) => {
                self.counters.refused_pdus += 1;
                if !matches!(self.state, State::Up) {
                    return self.take_down(CloseReason::NotE42(rejection.to_string()));
                }
                if !matches!(rejection.envelope, Some((_, 2, _))) {
                    let error = rejection.error_indication(self.config.version);
                    self.send(&e42::Message::E2(Message::ErrorIndication(error)));
                }
            }
        }
    }

    /// Handles an indication without the general decoder. Returns `false` if the PDU is not an indication in its
    /// usual form.
    fn on_indication(&mut self, pdu: &Bytes) -> bool {
        let read = match self.config.coding {
            Coding::Per => fast::Indication::decode(pdu),
            Coding::Flat => flat::indication(pdu).ok().flatten(),
        };
        let Some(fast) = read else { return false };
        let view = IndicationView {
            function: fast.function_id,
            action: fast.action_id,
            sn: fast.sn,
            kind: fast.kind,
            header: pdu.slice_ref(fast.header),
            message: pdu.slice_ref(fast.message),
            call_process_id: fast.call_process_id.map(|c| pdu.slice_ref(c)),
        };
        self.hand_out(fast.request_id, view);
        true
    }

    fn hand_out(&mut self, id: RicRequestId, indication: IndicationView) {
        let Some(handle) = self.subscription_of(id) else { return };
        let Some(s) = self.subscriptions.get_mut(handle) else { return };
        s.gaps.see(indication.sn);
        if s.unwanted {
            return;
        }
        let node = s.node;
        let standing = s.standing;
        self.counters.indications += 1;
        self.event(XappEvent::Indication { handle, standing, node, indication });
    }

    fn dispatch(&mut self, message: e42::Message) {
        match message {
            e42::Message::SetupResponse(m) => self.on_setup_response(m),
            e42::Message::SetupFailure(m) => self.setup_failed(Some(m.cause), m.time_to_wait),
            e42::Message::NodeEvent(m) if matches!(self.state, State::Up) => {
                if self.dialect == Dialect::Auto {
                    // A ranlab RIC: use its dialect from now on, starting with the request for node events.
                    self.speak(Dialect::Ranlab);
                    self.poll = Poll::default();
                    self.send_setup();
                }
                m.connected.into_iter().for_each(|node| {
                    self.node_listed(node);
                });
                m.removed.iter().for_each(|node| self.node_gone(node));
            }
            e42::Message::E2(message) => self.on_e2(message),
            _ => self.counters.refused_pdus += 1,
        }
    }

    fn on_setup_response(&mut self, response: e42::SetupResponse) {
        let first = matches!(self.state, State::SettingUp { .. });
        if !first && !matches!(self.state, State::Up) {
            self.counters.stray += 1;
            return;
        }
        // FlexRIC assigns a new id at each setup. The subscriptions belong to the first one and end with it.
        if first {
            self.xapp_id = response.xapp_id;
            // FlexRIC confuses deletions of two xApps if their request ids are equal.
            self.requests.instance = if self.is_one_at_a_time() { response.xapp_id } else { 0 };
        }
        self.counters.setups += 1;
        self.refused = 0;
        self.state = State::Up;
        self.backoff.reset();
        if first {
            self.event(XappEvent::Ready { xapp_id: response.xapp_id });
        }
        let listed: BTreeSet<_> = response.nodes.iter().map(|n| n.node_id).collect();
        let mut news = false;
        for node in response.nodes {
            news |= self.node_listed(node);
        }
        match self.dialect.habits().polls {
            true => {
                let gone: Vec<_> = self.nodes.keys().filter(|id| !listed.contains(id)).copied().collect();
                gone.iter().for_each(|node| self.node_gone(node));
                match first {
                    true => self.poll.begin(self.now, &self.config),
                    false => self.poll.listed(self.now, &self.config, news || !gone.is_empty()),
                }
            }
            // A list that exceeds one message continues in node events.
            false if first => self.relisted_by = Some(self.now + self.config.timers.relist_grace),
            false => {}
        }
    }

    fn setup_failed(&mut self, cause: Option<Cause>, wait: Option<TimeToWait>) {
        if !matches!(self.state, State::SettingUp { .. }) {
            self.counters.stray += 1;
            return;
        }
        self.refused = (self.refused + 1) % self.addresses();
        if self.addresses() > 1 {
            // An alternative RIC may accept the xApp, so only the time to wait of the last RIC applies.
            let wait = wait
                .filter(|_| self.refused == 0)
                .map_or(Duration::ZERO, |w| Duration::from_secs(w.seconds()));
            self.not_before = self.now + wait;
            self.event(XappEvent::SetupFailed { cause, retry_in: wait });
            return self.take_down(CloseReason::Refused);
        }
        let delay = self.backoff.next(&mut self.random);
        let retry_in = wait.map_or(delay, |w| delay.max(Duration::from_secs(w.seconds())));
        self.not_before = self.now + if wait.is_some() { retry_in } else { Duration::ZERO };
        self.state = State::Waiting { until: self.now + retry_in };
        self.event(XappEvent::SetupFailed { cause, retry_in });
    }

    fn on_e2(&mut self, message: Message) {
        match message {
            Message::RicIndication(m) => {
                let view = IndicationView {
                    function: m.function_id,
                    action: m.action_id,
                    sn: m.sn,
                    kind: m.kind,
                    header: m.header,
                    message: m.message,
                    call_process_id: m.call_process_id,
                };
                self.hand_out(m.request_id, view);
            }
            Message::RicSubscriptionResponse(m) => self.on_subscription_response(m),
            Message::RicSubscriptionFailure(m) => {
                let first = m.not_admitted.and_then(|list| list.first().map(|a| a.cause));
                let cause = m.cause.or(first);
                let unspecified = Cause::RicRequest(CauseRicRequest::Unspecified);
                self.on_subscription_end(m.request_id, cause.unwrap_or(unspecified));
            }
            Message::RicSubscriptionDeleteRequired(m) => {
                m.subscriptions.iter().for_each(|s| self.on_subscription_end(s.request_id, s.cause));
            }
            Message::RicSubscriptionDeleteResponse(m) => self.on_deletion_answer(m.request_id),
            Message::RicSubscriptionDeleteFailure(m) => self.on_deletion_answer(m.request_id),
            Message::RicControlAcknowledge(m) => self.on_control_answer(m.request_id, m.outcome, None),
            Message::RicControlFailure(m) => {
                self.on_control_answer(m.request_id, m.outcome, Some(Failure::Cause(m.cause)));
            }
            Message::ErrorIndication(m) => self.on_error(m),
            _ => self.counters.refused_pdus += 1,
        }
    }

    /// Handles an error indication. It ends the request that it names.
    fn on_error(&mut self, error: ErrorIndication) {
        let cause = error.cause;
        if matches!(self.state, State::SettingUp { .. }) {
            return self.setup_failed(cause, None);
        }
        let known = cause.unwrap_or(Cause::Protocol(CauseProtocol::Unspecified));
        let id = error.request_id.or_else(|| error.diagnostics.and_then(|d| d.request_id));
        match id.and_then(|id| Some((id, self.requests.target(id)?))) {
            Some((id, Target::Subscription(_))) => self.on_subscription_end(id, known),
            Some((id, Target::Control(_))) => self.on_control_answer(id, None, Some(Failure::Cause(known))),
            None => self.event(XappEvent::ErrorReported { cause }),
        }
    }

    /// Handles all expired deadlines.
    pub(super) fn expire(&mut self) {
        let now = self.now;
        match self.state {
            State::Down { retry_at } if retry_at <= now => self.connect(),
            State::Connecting { deadline } if deadline <= now => self.take_down(CloseReason::ConnectTimeout),
            State::SettingUp { deadline } if deadline <= now => self.take_down(CloseReason::SetupTimeout),
            State::SettingUp { .. } if self.setup_push.is_some_and(|at| at <= now) => {
                // The setup may be unread behind a message of another xApp. Sending it again makes the RIC read it at
                // the cost of one xApp id. A RIC that responds to both treats the second one as a poll.
                self.setup_push = None;
                self.send_setup();
            }
            State::Waiting { until } if until <= now => self.begin_setup(),
            State::Up => {
                self.expire_requests();
                if self.relisted_by.is_some_and(|at| at <= now) {
                    self.drop_stale();
                }
                self.poll.expire(now, &self.config);
            }
            _ => {}
        }
    }
}
