//! Ownership of subscriptions. Equal subscriptions are merged. The subscription at the node is deleted when its last
//! owner leaves, and is requested again when the node reconnects.
use super::hints;
use super::messages;
use super::procedure_queue::NodeProcedure;
use super::subscription_table::{IndicationStats, Response, Sink, State, Subscription};
use super::{Notice, Owner, Ric, Tenant, Timer};
use crate::{FlowId, Time};
use ranlab_e2_codec::e2ap::{fast::request_id_octets, *};
use std::collections::BTreeMap;

const UNKNOWN_REQUEST: Cause = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);

impl Ric {
    /// Subscribes on behalf of an owner. The owner's response follows, immediately or later. If this returns an error,
    /// the caller reports it to the owner.
    pub(super) fn subscribe(
        &mut self,
        now: Time,
        owner: Owner,
        request_id: RicRequestId,
        node_id: &GlobalE2NodeId,
        function: RanFunctionId,
        details: &RicSubscriptionDetails,
    ) -> Result<(), Cause> {
        let result = self.try_subscribe(now, owner, request_id, node_id, function, details);
        if let Err(cause) = result {
            self.counters.subscriptions_refused += 1;
            if let Some(place) = self.nodes.find(node_id) {
                self.hint_at_refusal(place, function, cause);
            }
        }
        result
    }

    /// Records a hint about a refused subscription.
    pub(super) fn hint_at_refusal(&mut self, place: usize, function: RanFunctionId, cause: Cause) {
        let Some(info) = self.nodes.at(place).map(|n| n.info.clone()) else { return };
        let oid = info.function(function).and_then(|f| f.oid.as_deref());
        if let Some(sentence) = hints::of_refused(oid, cause) {
            self.links.hint(info.peer.clone(), Some(info.id), Some(function), sentence);
        }
    }

    fn try_subscribe(
        &mut self,
        now: Time,
        owner: Owner,
        request_id: RicRequestId,
        node_id: &GlobalE2NodeId,
        function: RanFunctionId,
        details: &RicSubscriptionDetails,
    ) -> Result<(), Cause> {
        // This check is first, so that a repeated request for an existing subscription is never refused.
        if let Some((place, slot)) = self.owned.find(owner, request_id) {
            let node = self.nodes.at(place).filter(|n| n.info.id == *node_id);
            let known = node.and_then(|n| n.subscriptions.at(slot));
            if known.is_some_and(|s| s.function == function && s.details == *details) {
                // A repeated request gets its response again, immediately or after the node's response.
                self.answer_sinks(place, slot, Some((owner, request_id)));
                return Ok(());
            }
            return Err(Cause::RicRequest(CauseRicRequest::DuplicateRicRequestId));
        }
        let (place, oid) = self.may_subscribe(owner, node_id, function, details)?;
        let tenant = self.tenant_of(owner);
        self.next_flow += 1;
        let sink = Sink {
            owner,
            request_id,
            patch: request_id_octets(request_id),
            flow: FlowId(self.next_flow),
            answered: false,
        };
        let limits = &self.config.limits;
        let Some(node) = self.nodes.at_mut(place) else { return Err(UNKNOWN_REQUEST) };
        if let Some(slot) = node.subscriptions.equal(&tenant, function, details)
            && let Some(subscription) = node.subscriptions.at_mut(slot)
        {
            if subscription.sinks.len() >= limits.sinks_per_subscription {
                return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
            }
            subscription.sinks.push(sink);
            self.owned.insert(owner, request_id, (place, slot));
            self.counters.subscriptions_merged += 1;
            self.answer_sinks(place, slot, None);
            return Ok(());
        }
        if node.subscriptions.len() >= limits.subscriptions_per_node {
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
        }
        let slot = node.subscriptions.insert(Subscription {
            tenant,
            function,
            period: hints::period(oid.as_deref(), &details.event_trigger),
            oid,
            details: details.clone(),
            state: State::Requesting,
            tries: 0,
            deadline: None,
            sinks: vec![sink],
            leavers: Vec::new(),
            response: None,
            change: None,
            heard: IndicationStats::default(),
        });
        self.owned.insert(owner, request_id, (place, slot));
        self.request(now, place, slot).inspect_err(|_| {
            self.owned.remove(owner, request_id);
            self.remove_subscription(place, slot);
        })?;
        self.counters.subscriptions += 1;
        Ok(())
    }

    /// Checks permissions. Returns the index of the node and the OID of the function.
    fn may_subscribe(
        &self,
        owner: Owner,
        node_id: &GlobalE2NodeId,
        function: RanFunctionId,
        details: &RicSubscriptionDetails,
    ) -> Result<(usize, Option<String>), Cause> {
        let limits = &self.config.limits;
        let definitions = details.actions.iter().map(|a| a.definition.as_ref().map_or(0, |d| d.len()));
        if details.event_trigger.len() + definitions.sum::<usize>() > limits.subscription_bytes {
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
        }
        let place = self.visible_node(owner, node_id)?;
        let node = self.nodes.at(place).ok_or(UNKNOWN_REQUEST)?;
        let offered = node.info.function(function);
        let offered = offered.ok_or(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid))?;
        let mut bound = limits.subscriptions_per_owner;
        if let Some(grant) = self.grant_of(owner) {
            self.config.policy.may_subscribe(grant, node_id, offered, details)?;
            bound = bound.min(grant.limits.subscriptions);
        }
        if self.owned.count(owner) >= bound {
            return Err(Cause::RicService(CauseRicService::RicResourceLimit));
        }
        if node.conn.is_none() {
            return Err(Cause::RicRequest(CauseRicRequest::SystemNotReady));
        }
        Ok((place, offered.oid.clone()))
    }

    /// Returns the index of a node that the owner sees.
    pub(super) fn visible_node(&self, owner: Owner, node_id: &GlobalE2NodeId) -> Result<usize, Cause> {
        let unknown = Cause::E2Node(CauseE2Node::ComponentUnknown);
        let hidden = self.grant_of(owner).is_some_and(|g| !g.nodes.allows(node_id));
        let place = self.nodes.find(node_id).filter(|_| !hidden).ok_or(unknown)?;
        // Another RIC must send its requests directly to the RIC that serves the node.
        let secondhand = self.is_secondhand(place) && self.is_relay(owner);
        if secondhand { Err(unknown) } else { Ok(place) }
    }

    fn tenant_of(&self, owner: Owner) -> Tenant {
        self.grant_of(owner).map(|g| g.tenant.clone()).unwrap_or_default()
    }

    /// Sends or queues the request of a subscription.
    pub(super) fn request(&mut self, now: Time, place: usize, slot: u16) -> Result<(), Cause> {
        let Some(node) = self.nodes.at_mut(place) else { return Err(UNKNOWN_REQUEST) };
        let (Some(conn), Some(request_id)) = (node.conn, node.subscriptions.request_id(slot)) else {
            return Err(UNKNOWN_REQUEST);
        };
        let Some(subscription) = node.subscriptions.at_mut(slot) else { return Err(UNKNOWN_REQUEST) };
        let message = subscription.request(request_id);
        let Some(version) = self.links.conn(conn).map(|c| c.version) else { return Err(UNKNOWN_REQUEST) };
        let pdu = encode(&message, version).map_err(|_| Cause::Protocol(CauseProtocol::SemanticError))?;
        subscription.state = State::Requesting;
        subscription.tries += 1;
        self.unroute(place, slot);
        if self.takes_turn(now, place, NodeProcedure::Subscription(request_id)) {
            self.links.push_control(conn, pdu.into());
            self.arm(now, place, slot);
        }
        Ok(())
    }

    /// Sends a queued request.
    pub(super) fn run_subscription_request(&mut self, now: Time, place: usize, slot: u16) {
        let Some(node) = self.nodes.at(place) else { return };
        let (Some(conn), Some(request_id)) = (node.conn, node.subscriptions.request_id(slot)) else { return };
        let Some(subscription) = node.subscriptions.at(slot) else { return };
        if subscription.sinks.is_empty() {
            // All owners have left meanwhile, and the request was never sent.
            return self.delete_done(now, place, slot, None);
        }
        // Cannot fail: the request was encoded when it was queued.
        self.links.say(conn, &subscription.request(request_id));
        self.arm(now, place, slot);
    }

    /// Sets the deadline of the node's response.
    pub(super) fn arm(&mut self, now: Time, place: usize, slot: u16) {
        self.disarm(place, slot);
        let at = now + self.config.timers.subscription;
        if let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) {
            s.deadline = Some(at);
            self.timers.set(at, Timer::Subscription { node: place, slot });
        }
    }

    pub(super) fn disarm(&mut self, place: usize, slot: u16) {
        let subscription = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot));
        if let Some(at) = subscription.and_then(|s| s.deadline.take()) {
            self.timers.cancel(at, Timer::Subscription { node: place, slot });
            self.free_turn(place);
        }
    }

    /// Removes a subscription. The caller has removed or informs its owners.
    pub(super) fn remove_subscription(&mut self, place: usize, slot: u16) -> Option<Subscription> {
        self.disarm(place, slot);
        self.unroute(place, slot);
        let node = self.nodes.at_mut(place)?;
        let subscription = node.subscriptions.remove(slot)?;
        // Without another subscription to the function, a hint that it is silent is obsolete.
        if !node.subscriptions.iter().any(|(_, it)| it.function == subscription.function) {
            self.links.hints.clear_silence(&node.info.id, subscription.function);
        }
        self.counters.count_passed(subscription.heard.forwarded_past());
        for sink in &subscription.sinks {
            self.owned.remove(sink.owner, sink.request_id);
            self.forget_flow(sink);
        }
        Some(subscription)
    }

    fn forget_flow(&mut self, sink: &Sink) {
        if let Some(conn) = sink.conn().and_then(|c| self.links.conn_mut(c)) {
            conn.outbox.forget(sink.flow);
        }
    }

    /// Sends the response to the owners that have not received it, or to one that repeats its request.
    pub(super) fn answer_sinks(&mut self, place: usize, slot: u16, again: Option<(Owner, RicRequestId)>) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let Some(subscription) = node.subscriptions.at_mut(slot) else { return };
        let (Some(response), State::Active) = (subscription.response.clone(), subscription.state) else {
            return;
        };
        let function = subscription.function;
        let mut due = Vec::new();
        for sink in &mut subscription.sinks {
            if !sink.answered || again == Some((sink.owner, sink.request_id)) {
                sink.answered = true;
                due.push(*sink);
            }
        }
        for sink in due {
            self.answer(&sink, function, &response);
        }
        self.route(place, slot);
    }

    fn answer(&mut self, sink: &Sink, function: RanFunctionId, response: &Response) {
        let id = sink.request_id;
        let not_admitted = response.not_admitted.as_deref();
        match sink.owner {
            Owner::IApp(iapp) => {
                let not_admitted = not_admitted.unwrap_or_default().to_vec();
                self.notices
                    .push_back((iapp, Notice::Subscribed(id, response.admitted.clone(), not_admitted)));
            }
            Owner::Xapp { conn, .. } => {
                let Some(version) = self.links.conn(conn).map(|c| c.version) else { return };
                let answer =
                    messages::subscription_response(version, id, function, &response.admitted, not_admitted);
                self.links.say(conn, &answer);
            }
        }
    }

    /// Ends the subscription of an owner. `Ok` means that an xApp gets its response now or later.
    pub(super) fn unsubscribe(
        &mut self,
        now: Time,
        owner: Owner,
        request_id: RicRequestId,
        function: Option<RanFunctionId>,
    ) -> Result<(), Cause> {
        let (place, slot) = self.owned.find(owner, request_id).ok_or(UNKNOWN_REQUEST)?;
        self.unroute(place, slot);
        let left = self.take_off(now, owner, request_id, function, place, slot);
        self.route(place, slot);
        left
    }

    fn take_off(
        &mut self,
        now: Time,
        owner: Owner,
        request_id: RicRequestId,
        function: Option<RanFunctionId>,
        place: usize,
        slot: u16,
    ) -> Result<(), Cause> {
        let subscription = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot));
        let subscription = subscription.ok_or(UNKNOWN_REQUEST)?;
        if function.is_some_and(|f| f != subscription.function) {
            return Err(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid));
        }
        self.owned.remove(owner, request_id);
        let position = subscription.sinks.iter().position(|s| (s.owner, s.request_id) == (owner, request_id));
        let Some(sink) = position.map(|p| subscription.sinks.remove(p)) else { return Err(UNKNOWN_REQUEST) };
        let others = !subscription.sinks.is_empty();
        let state = subscription.state;
        let function = subscription.function;
        self.forget_flow(&sink);
        match state {
            // The node is disconnected, so no deletion can be sent.
            State::Waiting if !others => {
                self.remove_subscription(place, slot);
                self.confirm_delete(&sink, function);
            }
            _ if others => self.confirm_delete(&sink, function),
            // The node must respond to the outstanding request first.
            State::Requesting | State::Deleting => self.add_leaver(place, slot, sink),
            _ => {
                self.add_leaver(place, slot, sink);
                self.request_delete(now, place, slot, true);
            }
        }
        Ok(())
    }

    fn add_leaver(&mut self, place: usize, slot: u16, sink: Sink) {
        if sink.conn().is_some()
            && let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot))
        {
            s.leavers.push(sink);
        }
    }

    /// Confirms a deletion to a former owner.
    pub(super) fn confirm_delete(&mut self, sink: &Sink, function_id: RanFunctionId) {
        let Some(conn) = sink.conn() else { return };
        let request_id = sink.request_id;
        let answer = RicSubscriptionDeleteResponse { request_id, function_id };
        self.links.say(conn, &Message::RicSubscriptionDeleteResponse(answer));
    }

    /// Requests the deletion of a subscription that has no owner or will be requested again.
    pub(super) fn request_delete(&mut self, now: Time, place: usize, slot: u16, first: bool) {
        self.unroute(place, slot);
        let Some(node) = self.nodes.at_mut(place) else { return };
        let Some(request_id) = node.subscriptions.request_id(slot) else { return };
        let Some(subscription) = node.subscriptions.at_mut(slot) else { return };
        subscription.state = State::Deleting;
        // A subscription with owners keeps its number of attempts.
        if subscription.sinks.is_empty() {
            subscription.tries = if first { 1 } else { subscription.tries + 1 };
        }
        if self.takes_turn(now, place, NodeProcedure::Subscription(request_id)) {
            self.run_delete(now, place, slot);
        }
    }

    pub(super) fn run_delete(&mut self, now: Time, place: usize, slot: u16) {
        let Some(node) = self.nodes.at(place) else { return };
        let (Some(conn), Some(request_id)) = (node.conn, node.subscriptions.request_id(slot)) else { return };
        let Some(subscription) = node.subscriptions.at(slot) else { return };
        let request = RicSubscriptionDeleteRequest { request_id, function_id: subscription.function };
        self.links.say(conn, &Message::RicSubscriptionDeleteRequest(request));
        self.arm(now, place, slot);
    }

    /// Ends all subscriptions of an owner that has disconnected.
    pub(super) fn drop_owner(&mut self, now: Time, owner: Owner) {
        let ids: Vec<_> = self.owned.owned_by(owner).map(|(id, _)| id).collect();
        for id in ids {
            // Cannot fail: the subscription was listed above.
            let _ = self.unsubscribe(now, owner, id, None);
        }
    }

    /// Suspends all subscriptions at a node that has disconnected or was reset.
    pub(super) fn suspend_subscriptions(&mut self, place: usize) {
        let Some(slots) = self.nodes.at(place).map(|n| n.subscriptions.slots()) else { return };
        for slot in slots {
            self.disarm(place, slot);
            self.end_modification(place, slot, Err(Cause::Transport(CauseTransport::Unspecified)));
            let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) else {
                continue;
            };
            let function = s.function;
            s.state = State::Waiting;
            let leavers = std::mem::take(&mut s.leavers);
            let orphan = s.sinks.is_empty();
            for sink in leavers {
                self.confirm_delete(&sink, function);
            }
            if orphan {
                self.remove_subscription(place, slot);
            }
        }
    }

    /// Requests the subscriptions of a node that has reconnected.
    pub(super) fn restore(&mut self, now: Time, place: usize) {
        self.end_orphans(place);
        let Some(slots) = self.nodes.at(place).map(|n| n.subscriptions.slots()) else { return };
        for slot in slots {
            let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) else {
                continue;
            };
            if s.state != State::Waiting {
                continue;
            }
            s.tries = 0;
            match self.request(now, place, slot) {
                Ok(()) => self.counters.subscriptions_restored += 1,
                Err(cause) => self.end_subscription(place, slot, cause),
            }
        }
    }

    /// Ends the subscriptions of functions that the node no longer offers.
    pub(super) fn end_orphans(&mut self, place: usize) {
        let Some(node) = self.nodes.at(place) else { return };
        let still = |s: &Subscription| node.info.function(s.function).is_some_and(|f| f.oid == s.oid);
        let gone: Vec<_> =
            node.subscriptions.iter().filter(|(_, s)| !still(s)).map(|(slot, _)| slot).collect();
        for slot in gone {
            self.end_subscription(place, slot, Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid));
        }
    }

    pub(super) fn end_all_subscriptions(&mut self, place: usize, cause: Cause) {
        let Some(slots) = self.nodes.at(place).map(|n| n.subscriptions.slots()) else { return };
        for slot in slots {
            self.end_subscription(place, slot, cause);
        }
    }

    /// Ends a subscription that the node has ended, or whose node is disconnected.
    pub(super) fn end_subscription(&mut self, place: usize, slot: u16, cause: Cause) {
        let Some(subscription) = self.remove_subscription(place, slot) else { return };
        for sink in &subscription.leavers {
            self.confirm_delete(sink, subscription.function);
        }
        for sink in &subscription.sinks {
            self.tell_end(sink, subscription.function, &subscription.details.actions, cause);
        }
    }

    /// Removes all owners of a subscription and informs them; the node still has the subscription.
    pub(super) fn detach_owners(&mut self, place: usize, slot: u16, cause: Cause) {
        self.unroute(place, slot);
        let Some(s) = self.nodes.at_mut(place).and_then(|n| n.subscriptions.at_mut(slot)) else { return };
        let sinks = std::mem::take(&mut s.sinks);
        let function = s.function;
        let actions = s.details.actions.clone();
        for sink in &sinks {
            self.owned.remove(sink.owner, sink.request_id);
            self.forget_flow(sink);
            self.tell_end(sink, function, &actions, cause);
        }
    }

    /// Informs an owner that its subscription failed or, if it had a response, ended.
    fn tell_end(&mut self, sink: &Sink, function: RanFunctionId, actions: &[ActionToBeSetup], cause: Cause) {
        let id = sink.request_id;
        let counter = if sink.answered {
            &mut self.counters.subscriptions_ended
        } else {
            &mut self.counters.subscriptions_failed
        };
        *counter += 1;
        match sink.owner {
            Owner::IApp(iapp) if sink.answered => {
                self.notices.push_back((iapp, Notice::SubscriptionEnded(id, cause)));
            }
            Owner::IApp(iapp) => self.notices.push_back((iapp, Notice::SubscriptionFailed(id, cause))),
            // FlexRIC's xApps abort on this message, so only xApps that requested node events get it.
            Owner::Xapp { place, .. } if sink.answered && !self.xapps.wants_events(place) => {}
            Owner::Xapp { conn, .. } => {
                let Some(version) = self.links.conn(conn).map(|c| c.version) else { return };
                let message = if sink.answered {
                    messages::subscription_ended(version, id, function, cause)
                } else {
                    messages::subscription_failure(version, id, function, cause, actions)
                };
                self.links.say(conn, &message);
            }
        }
    }
}

/// All subscriptions by owner and the owner's request id, with the index of the node and the slot.
#[derive(Debug, Default)]
pub(super) struct Owned {
    map: BTreeMap<(Owner, RicRequestId), (usize, u16)>,
    counts: BTreeMap<Owner, usize>,
}

impl Owned {
    pub(super) fn find(&self, owner: Owner, id: RicRequestId) -> Option<(usize, u16)> {
        self.map.get(&(owner, id)).copied()
    }

    fn insert(&mut self, owner: Owner, id: RicRequestId, at: (usize, u16)) {
        if self.map.insert((owner, id), at).is_none() {
            *self.counts.entry(owner).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, owner: Owner, id: RicRequestId) {
        if self.map.remove(&(owner, id)).is_none() {
            return;
        }
        if let Some(n) = self.counts.get_mut(&owner) {
            *n -= 1;
            if *n == 0 {
                self.counts.remove(&owner);
            }
        }
    }

    pub(super) fn count(&self, owner: Owner) -> usize {
        self.counts.get(&owner).copied().unwrap_or(0)
    }

    pub(super) fn owned_by(&self, owner: Owner) -> impl Iterator<Item = (RicRequestId, (usize, u16))> {
        let low = (owner, RicRequestId { requestor: 0, instance: 0 });
        let high = (owner, RicRequestId { requestor: u16::MAX, instance: u16::MAX });
        self.map.range(low..=high).map(|((_, id), at)| (*id, *at))
    }
}
