//! Outstanding controls and queries. They get one response or expire, and are never repeated.
use super::conflicts::{Claimant, ConflictError};
use super::iapp::{ControlDetails, Party};
use super::messages;
use super::procedure_queue::NodeProcedure;
use super::{Notice, Outcome, Owner, Ric, RicEvent, Timer};
use crate::Time;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_e2_codec::e42;
use ranlab_e2_codec::per::EncodeError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Requestor id of controls and queries, below those of subscriptions.
const REQUESTOR: u16 = 1_020;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Control,
    Query,
}

#[derive(Debug)]
struct Pending {
    kind: Kind,
    owner: Owner,
    /// Client on whose behalf an iApp sent the request.
    party: Option<Party>,
    /// Request id of the owner.
    request_id: RicRequestId,
    function: RanFunctionId,
    call_process_id: Option<Bytes>,
    /// Whether the owner waits for a response rather than only for a failure.
    answer_due: bool,
    /// Whether the RIC requested the acknowledgement, not the owner. It allows the next queued request to be sent.
    ack_is_ours: bool,
    /// Claim of the parameters that the control sets.
    claim: Option<u64>,
    /// Encoded request, while it is queued.
    held: Option<Bytes>,
    deadline: Time,
}

/// Cause if another controller holds a parameter that a control sets.
const CONFLICT: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// Maximum number of outstanding controls of a hosted xApp that uses HTTP. It must not use up the limit of the REST
/// API, which all its clients share.
const PARTY_REQUESTS: usize = 32;

/// Reason why a control is refused.
#[derive(Debug)]
struct Refused {
    cause: Cause,
    /// Reason, as text.
    outcome: Option<Bytes>,
}

impl From<Cause> for Refused {
    fn from(cause: Cause) -> Self {
        Self { cause, outcome: None }
    }
}

/// Outstanding requests at one node by instance (the requestor id is always the same).
#[derive(Debug, Default)]
pub(super) struct Requests {
    pending: BTreeMap<u16, Pending>,
    /// Requests whose owner only waits for a failure, oldest first.
    silent: BTreeSet<(Time, u16)>,
    last: u16,
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Returns whether a request has been sent to the node.
    pub(super) fn is_sent(&self, instance: u16) -> bool {
        self.pending.get(&instance).is_some_and(|p| p.held.is_none())
    }

    fn next_instance(&mut self) -> u16 {
        loop {
            self.last = self.last.wrapping_add(1);
            if !self.pending.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    fn insert(&mut self, instance: u16, pending: Pending) {
        if !pending.answer_due {
            self.silent.insert((pending.deadline, instance));
        }
        self.pending.insert(instance, pending);
    }

    fn remove(&mut self, instance: u16) -> Option<Pending> {
        let pending = self.pending.remove(&instance)?;
        self.silent.remove(&(pending.deadline, instance));
        Some(pending)
    }
}

impl Ric {
    pub(super) fn iapp_control(
        &mut self,
        now: Time,
        (iapp, party): (usize, Party),
        id: RicRequestId,
        node: &GlobalE2NodeId,
        function: RanFunctionId,
        details: ControlDetails,
    ) {
        let sent = self.control(now, (Owner::IApp(iapp), Some(party)), id, node, function, details);
        if let Err(refused) = sent {
            let outcome = Outcome::Failed { cause: refused.cause, outcome: refused.outcome };
            self.notices.push_back((iapp, Notice::ControlDone(id, outcome)));
        }
    }

    pub(super) fn xapp_control(&mut self, now: Time, owner: Owner, m: e42::ControlRequest) {
        let Owner::Xapp { conn, .. } = owner else { return };
        let cpid = m.call_process_id.clone();
        let details = ControlDetails {
            call_process_id: m.call_process_id,
            header: m.header,
            message: m.message,
            ack_request: m.ack_request,
        };
        let sent = self.control(now, (owner, None), m.request_id, &m.node_id, m.function_id, details);
        let (Err(Refused { cause, outcome }), Some(version)) =
            (sent, self.links.conn(conn).map(|c| c.version))
        else {
            return;
        };
        let failure = messages::control_failure(version, m.request_id, m.function_id, cause, cpid, outcome);
        self.links.say(conn, &failure);
    }

    /// Checks permissions, claims the parameters and sends a control. Every control passes through this function.
    fn control(
        &mut self,
        now: Time,
        (owner, party): (Owner, Option<Party>),
        request_id: RicRequestId,
        node_id: &GlobalE2NodeId,
        function: RanFunctionId,
        details: ControlDetails,
    ) -> Result<(), Refused> {
        let place = self.visible_node(owner, node_id)?;
        let offered = self.nodes.at(place).and_then(|n| n.info.function(function));
        let offered = offered.ok_or(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid))?;
        let (priority, most) = self.permit(owner, party.as_ref(), node_id, offered)?;
        if self.is_fenced(now) {
            return Err(Cause::RicRequest(CauseRicRequest::SystemNotReady).into());
        }
        self.make_room_for(party.as_ref(), most)?;
        let claimant = party.clone().map_or(Claimant::Xapp(owner), Claimant::Party);
        let claim = self.claim(now, &claimant, priority, place, function, &details)?;
        let version = self.nodes.at(place).map_or(self.config.version, |n| n.info.version);
        let answer_due = matches!(details.ack_request, Some(RicControlAckRequest::Ack));
        let ack_is_ours = !answer_due && self.nodes.at(place).is_some_and(|n| n.turns.one_at_a_time());
        // NAck exists only in v1.01; later versions request a response or none.
        let ack_request = match details.ack_request {
            _ if ack_is_ours => Some(RicControlAckRequest::Ack),
            Some(RicControlAckRequest::NAck) if version > Version::V1_01 => Some(RicControlAckRequest::NoAck),
            other => other,
        };
        let cpid = details.call_process_id.clone();
        let pending = Pending {
            kind: Kind::Control,
            owner,
            party,
            request_id,
            function,
            call_process_id: cpid,
            answer_due,
            ack_is_ours,
            claim,
            held: None,
            deadline: now + self.config.timers.request,
        };
        self.counters.controls += 1;
        let sent = self.send_request(now, place, pending, |request_id, version| {
            let control = fast::Control {
                request_id,
                function_id: function,
                call_process_id: details.call_process_id.as_deref(),
                header: &details.header,
                message: &details.message,
                ack_request,
            };
            let mut pdu = Vec::new();
            control.encode(version, &mut pdu).map(|()| pdu)
        });
        if let (Err(_), Some(claim)) = (&sent, claim) {
            self.conflicts.undo(&claimant, claim);
        }
        sent.map_err(Refused::from)
    }

    /// Checks whether a controller may control this function. Returns its priority and its limit of outstanding
    /// requests.
    fn permit(
        &self,
        owner: Owner,
        party: Option<&Party>,
        node: &GlobalE2NodeId,
        function: &RanFunctionItem,
    ) -> Result<(u8, usize), Cause> {
        let Some(party) = party else {
            let Some(grant) = self.grant_of(owner) else { return Ok((u8::MAX, usize::MAX)) };
            self.config.policy.may_control(grant, node, function)?;
            return Ok((grant.priority, usize::MAX));
        };
        let grant = self.config.policy.party(party)?;
        if grant.is_operator() {
            return Ok((grant.priority, usize::MAX));
        }
        if !grant.nodes.allows(node) {
            return Err(Cause::E2Node(CauseE2Node::ComponentUnknown));
        }
        self.config.policy.may_control(&grant, node, function)?;
        Ok((grant.priority, grant.limits.requests.min(PARTY_REQUESTS)))
    }

    /// Checks whether a party may have one more outstanding control.
    fn make_room_for(&mut self, party: Option<&Party>, most: usize) -> Result<(), Cause> {
        let own = party.and_then(|party| self.requests_for.get(party)).copied().unwrap_or(0);
        if own >= most {
            self.counters.requests_refused += 1;
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
        }
        Ok(())
    }

    /// Claims the parameters of a control. Controllers that lose a parameter are notified.
    fn claim(
        &mut self,
        now: Time,
        claimant: &Claimant,
        priority: u8,
        place: usize,
        function: RanFunctionId,
        details: &ControlDetails,
    ) -> Result<Option<u64>, Refused> {
        let Some(info) = self.nodes.at(place).map(|node| node.info.clone()) else { return Ok(None) };
        let Some(offered) = info.function(function) else { return Ok(None) };
        let targets = self.config.policy.targets(offered, &details.header, &details.message);
        if targets.is_empty() {
            return Ok(None);
        }
        let held = self.config.timers.hold;
        match self.conflicts.claim(now, held, claimant, priority, &info.id, &targets) {
            Ok((claim, taken)) => {
                for (loser, target) in taken {
                    self.counters.controls_overridden += 1;
                    self.tell_conflict(info.id, target, claimant, &loser);
                    self.tell_holder(&loser, function);
                }
                Ok(Some(claim))
            }
            Err(held) => {
                self.counters.controls_in_conflict += 1;
                let ConflictError { by, target, priority: theirs, left } = held;
                let name = match &by {
                    Claimant::Party(party) => party.to_string(),
                    by => format!("xApp {}", self.name_of(by).trim_start_matches("xapp ")),
                };
                let left = left.as_secs_f64();
                let why = format!(
                    "{target} is set by {name} of priority {theirs}, yours is {priority}; it is free in {left:.1} s"
                );
                self.tell_conflict(info.id, target, &by, claimant);
                self.tell_holder(&by, function);
                let words = Refusal::new(Reason::NotOwner, why).to_octets(Encoding::Per);
                Err(Refused { cause: CONFLICT, outcome: words.ok() })
            }
        }
    }

    /// Returns `xapp 7`, or the name of a party.
    fn name_of(&self, claimant: &Claimant) -> Arc<str> {
        match claimant {
            Claimant::Party(party) => party.clone(),
            Claimant::Xapp(Owner::Xapp { place, .. }) => {
                format!("xapp {}", self.xapps.at(*place).map_or(0, |xapp| xapp.info.id)).into()
            }
            Claimant::Xapp(Owner::IApp(_)) => "an iApp".into(),
        }
    }

    fn tell_conflict(&mut self, node: GlobalE2NodeId, target: Arc<str>, winner: &Claimant, loser: &Claimant) {
        let winner = self.name_of(winner);
        let loser = self.name_of(loser);
        self.links.event(RicEvent::Conflict { node, target, winner, loser });
    }

    /// Notifies a ranlab xApp that another controller took one of its parameters or tried to. The notification is an
    /// error indication without request id, because the control completed earlier. Third-party xApps abort on
    /// unexpected messages and get none.
    fn tell_holder(&mut self, claimant: &Claimant, function: RanFunctionId) {
        let &Claimant::Xapp(Owner::Xapp { place, conn }) = claimant else { return };
        if self.xapps.at(place).is_some_and(|xapp| xapp.is_ours) {
            self.links.say(conn, &messages::error_about(None, Some(function), CONFLICT));
        }
    }

    #[allow(clippy::too_many_arguments)] // one per element of the message
    pub(super) fn iapp_query(
        &mut self,
        now: Time,
        iapp: usize,
        id: RicRequestId,
        node: &GlobalE2NodeId,
        function: RanFunctionId,
        header: Bytes,
        definition: Bytes,
    ) {
        let owner = Owner::IApp(iapp);
        let place = self.visible_node(owner, node);
        let pending = Pending {
            kind: Kind::Query,
            owner,
            party: None,
            request_id: id,
            function,
            call_process_id: None,
            answer_due: true,
            ack_is_ours: false,
            claim: None,
            held: None,
            deadline: now + self.config.timers.request,
        };
        self.counters.queries += 1;
        let sent = place.and_then(|place| {
            self.send_request(now, place, pending, |request_id, version| {
                let function_id = function;
                let query = RicQueryRequest { request_id, function_id, header, definition };
                encode(&Message::RicQueryRequest(query), version)
            })
        });
        if let Err(cause) = sent {
            let outcome = Outcome::Failed { cause, outcome: None };
            self.notices.push_back((iapp, Notice::QueryDone(id, outcome)));
        }
    }

    fn send_request(
        &mut self,
        now: Time,
        place: usize,
        mut pending: Pending,
        message: impl FnOnce(RicRequestId, Version) -> Result<Vec<u8>, EncodeError>,
    ) -> Result<(), Cause> {
        self.make_room(place, pending.owner)?;
        let Some(node) = self.nodes.at_mut(place) else {
            return Err(Cause::E2Node(CauseE2Node::ComponentUnknown));
        };
        let conn = node.conn.ok_or(Cause::RicRequest(CauseRicRequest::SystemNotReady))?;
        let instance = node.requests.next_instance();
        let request_id = RicRequestId { requestor: REQUESTOR, instance };
        let version = self.links.conn(conn).map_or(node.info.version, |c| c.version);
        let written = message(request_id, version);
        let pdu = Bytes::from(written.map_err(|_| Cause::Protocol(CauseProtocol::SemanticError))?);
        let deadline = pending.deadline;
        let owner = pending.owner;
        if let Some(party) = &pending.party {
            *self.requests_for.entry(party.clone()).or_default() += 1;
        }
        if self.takes_turn(now, place, NodeProcedure::Request(instance)) {
            self.links.push_control(conn, pdu);
        } else {
            pending.held = Some(pdu);
        }
        let Some(node) = self.nodes.at_mut(place) else { return Ok(()) };
        node.requests.insert(instance, pending);
        self.timers.set(deadline, Timer::Request { node: place, instance });
        *self.requests_by.entry(owner).or_default() += 1;
        Ok(())
    }

    /// Sends a queued control or query, unless it has expired.
    pub(super) fn run_request(&mut self, place: usize, instance: u16) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let pdu = node.requests.pending.get_mut(&instance).and_then(|p| p.held.take());
        if let (Some(conn), Some(pdu)) = (node.conn, pdu) {
            self.links.push_control(conn, pdu);
        }
    }

    /// Applies back-pressure: at the limit, drops a request that only waits for a failure. Without such a request, refuses
    /// the new request.
    fn make_room(&mut self, place: usize, owner: Owner) -> Result<(), Cause> {
        let limits = &self.config.limits;
        let own = self.requests_by.get(&owner).copied().unwrap_or(0);
        let granted = self.grant_of(owner).map_or(usize::MAX, |g| g.limits.requests);
        if own >= limits.requests_per_owner.min(granted) {
            self.counters.requests_refused += 1;
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
        }
        let Some(node) = self.nodes.at(place).filter(|n| n.requests.len() >= limits.requests_per_node) else {
            return Ok(());
        };
        let Some(&(_, silent)) = node.requests.silent.first() else {
            self.counters.requests_refused += 1;
            return Err(Cause::Misc(CauseMisc::ControlProcessingOverload));
        };
        self.take_request(place, silent);
        Ok(())
    }

    fn take_request(&mut self, place: usize, instance: u16) -> Option<Pending> {
        let pending = self.nodes.at_mut(place)?.requests.remove(instance)?;
        self.timers.cancel(pending.deadline, Timer::Request { node: place, instance });
        self.free_turn(place);
        if let Some(n) = self.requests_by.get_mut(&pending.owner) {
            *n -= 1;
            if *n == 0 {
                self.requests_by.remove(&pending.owner);
            }
        }
        if let Some(party) = &pending.party
            && let Some(n) = self.requests_for.get_mut(party)
        {
            *n -= 1;
            if *n == 0 {
                self.requests_for.remove(party);
            }
        }
        Some(pending)
    }

    /// Removes and returns the request that a response belongs to.
    fn take_answered(&mut self, place: usize, id: RicRequestId, kind: Kind) -> Option<Pending> {
        let pending = self.nodes.at(place).and_then(|n| n.requests.pending.get(&id.instance));
        if id.requestor != REQUESTOR || pending.is_none_or(|p| p.kind != kind) {
            self.counters.answers_stray += 1;
            return None;
        }
        self.take_request(place, id.instance)
    }

    pub(super) fn control_acknowledged(&mut self, place: usize, m: RicControlAcknowledge) {
        let Some(pending) = self.take_answered(place, m.request_id, Kind::Control) else { return };
        // A v1.01 node acknowledges controls that it rejected.
        if matches!(m.status, Some(RicControlStatus::Rejected | RicControlStatus::Failed)) {
            let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
            return self.finish(pending, Outcome::Failed { cause, outcome: m.outcome });
        }
        if !pending.ack_is_ours {
            self.finish(pending, Outcome::Done(m.outcome));
        }
    }

    pub(super) fn control_failed(&mut self, place: usize, m: RicControlFailure) {
        let Some(pending) = self.take_answered(place, m.request_id, Kind::Control) else { return };
        self.finish(pending, Outcome::Failed { cause: m.cause, outcome: m.outcome });
    }

    pub(super) fn query_answered(&mut self, place: usize, id: RicRequestId, answer: Result<Bytes, Cause>) {
        let Some(pending) = self.take_answered(place, id, Kind::Query) else { return };
        let outcome = match answer {
            Ok(outcome) => Outcome::Done(Some(outcome)),
            Err(cause) => Outcome::Failed { cause, outcome: None },
        };
        self.finish(pending, outcome);
    }

    pub(super) fn request_objected(&mut self, place: usize, id: RicRequestId, cause: Cause) {
        if id.requestor == REQUESTOR
            && let Some(pending) = self.take_request(place, id.instance)
        {
            self.finish(pending, Outcome::Failed { cause, outcome: None });
        }
    }

    pub(super) fn request_expired(&mut self, place: usize, instance: u16) {
        let Some(pending) = self.take_request(place, instance) else { return };
        if pending.answer_due || pending.held.is_some() {
            self.counters.requests_expired += 1;
            let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
            self.finish(pending, Outcome::Failed { cause, outcome: None });
        }
    }

    /// Fails all requests at a node that has disconnected.
    pub(super) fn fail_requests(&mut self, place: usize) {
        let Some(node) = self.nodes.at(place) else { return };
        let instances: Vec<_> = node.requests.pending.keys().copied().collect();
        for instance in instances {
            if let Some(pending) = self.take_request(place, instance) {
                let cause = Cause::Transport(CauseTransport::Unspecified);
                self.finish(pending, Outcome::Failed { cause, outcome: None });
            }
        }
    }

    /// Discards the requests of an owner that has disconnected.
    pub(super) fn drop_requests(&mut self, owner: Owner) {
        if !self.requests_by.contains_key(&owner) {
            return;
        }
        for place in self.nodes.all_places() {
            let Some(node) = self.nodes.at(place) else { continue };
            let own = node.requests.pending.iter().filter(|(_, p)| p.owner == owner);
            let own: Vec<_> = own.map(|(instance, _)| *instance).collect();
            for instance in own {
                self.take_request(place, instance);
            }
        }
    }

    fn finish(&mut self, pending: Pending, outcome: Outcome) {
        if let (Some(claim), Outcome::Failed { .. }) = (pending.claim, &outcome) {
            // A control that was not executed does not hold its parameters.
            let claimant = pending.party.clone().map_or(Claimant::Xapp(pending.owner), Claimant::Party);
            self.conflicts.undo(&claimant, claim);
        }
        let Pending { kind, owner, request_id, function, call_process_id, .. } = pending;
        let (conn, version) = match owner {
            Owner::IApp(iapp) => {
                let notice = match kind {
                    Kind::Control => Notice::ControlDone(request_id, outcome),
                    Kind::Query => Notice::QueryDone(request_id, outcome),
                };
                return self.notices.push_back((iapp, notice));
            }
            Owner::Xapp { conn, .. } => match self.links.conn(conn) {
                Some(link) => (conn, link.version),
                None => return,
            },
        };
        let message = match outcome {
            Outcome::Done(outcome) => Message::RicControlAcknowledge(RicControlAcknowledge {
                request_id,
                function_id: function,
                call_process_id,
                status: (version == Version::V1_01).then_some(RicControlStatus::Success),
                outcome,
            }),
            Outcome::Failed { cause, outcome } => {
                messages::control_failure(version, request_id, function, cause, call_process_id, outcome)
            }
        };
        self.links.say(conn, &message);
    }
}
