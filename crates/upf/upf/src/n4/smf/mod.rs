//! SMF endpoint of an association with one UPF.
mod recorded;
mod types;

use types::is_about;
pub(super) use types::is_request;
pub use types::{Refused, SessionId, SmfEvent, SmfInput, SmfOutput, SmfSettings};

use crate::Time;
use crate::n4::cache::Cache;
use crate::n4::ledger::{Kind, Outcome, RequestEnd, RequestStats};
use crate::n4::requests::{Answer, Expired, Requests};
use crate::n4::session::{Change, SessionProfile, SessionSpec, SessionTemplates};
use crate::pfcp::*;
use std::collections::VecDeque;
use std::net::SocketAddr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Establishing,
    Live(u64),
    Busy(u64),
}

#[derive(Debug, Clone, Copy)]
struct Place {
    generation: u32,
    state: State,
}

/// Maximum number of buffers that are stored for later datagrams.
const SPARE_BUFFERS: usize = 1024;
/// Maximum number of stored responses to the UPF's requests.
const HELD_ANSWERS: usize = 4096;

/// Content of an accepted establishment response.
struct Established<T> {
    up_seid: u64,
    tunnels: T,
}

/// Result of a response that establishes no session.
const NONE: Option<Established<std::iter::Empty<CreatedTunnel>>> = None;

/// State machine of an SMF: see the [module](super).
#[derive(Debug)]
pub struct Smf {
    settings: SmfSettings,
    templates: SessionTemplates,
    requests: Requests<Option<SessionId>>,
    held: Cache,
    outputs: VecDeque<SmfOutput>,
    spare: Vec<Vec<u8>>,
    places: Vec<Place>,
    free: Vec<u32>,
    live: usize,
    associated: bool,
    peer_recovery: Option<RecoveryTimeStamp>,
    next_heartbeat: Option<Time>,
}

impl Smf {
    /// Creates an SMF. Returns `None` if the profile's messages do not fit into a datagram.
    pub fn new(settings: SmfSettings, profile: SessionProfile) -> Option<Self> {
        let templates = SessionTemplates::new(profile, settings.dialect.sends, settings.node)?;
        Some(Self {
            requests: Requests::new(settings.window, settings.first_sequence, settings.retransmission),
            held: Cache::new(settings.dialect.demands.holding, HELD_ANSWERS),
            templates,
            settings,
            outputs: VecDeque::new(),
            spare: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            live: 0,
            associated: false,
            peer_recovery: None,
            next_heartbeat: None,
        })
    }

    /// Handles an input.
    pub fn handle(&mut self, now: Time, input: SmfInput<'_>) {
        if let SmfInput::Received(datagram) = input {
            self.receive(now, datagram);
        }
        while let Some(expired) = self.requests.expired(now) {
            match expired {
                Expired::Again(datagram, _) => self.outputs.push_back(SmfOutput::Send(datagram)),
                Expired::Lost(done) => self.ended(done),
            }
        }
        if self.next_heartbeat.is_some_and(|at| at <= now) {
            self.next_heartbeat = self.settings.heartbeat.map(|interval| now + interval);
            // If the window is full, a heartbeat is not needed, because other pending requests show whether the UPF responds.
            let _ = self.heartbeat(now);
        }
    }

    /// Returns the next output, if there is one.
    pub fn poll(&mut self) -> Option<SmfOutput> {
        self.outputs.pop_front()
    }

    /// Returns the latest time at which to call [`Smf::handle`] with [`SmfInput::Wake`].
    pub fn wake_at(&self) -> Option<Time> {
        [self.requests.wake_at(), self.next_heartbeat].into_iter().flatten().min()
    }

    /// Returns the buffer of a sent datagram for reuse.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }

    /// Returns the request counters.
    pub fn ledger(&self) -> &RequestStats {
        &self.requests.ledger
    }

    /// Returns the number of established sessions.
    pub fn live_sessions(&self) -> usize {
        self.live
    }

    /// Returns the established sessions without a pending request, which can be deleted.
    pub fn deletable(&self) -> Vec<SessionId> {
        let places = self.places.iter().enumerate();
        let live = places.filter(|(_, place)| matches!(place.state, State::Live(_)));
        live.map(|(index, place)| SessionId::new(place.generation, index as u32)).collect()
    }

    /// Sets the number of retransmissions (N1) of further requests, and returns the previous number. Pending requests without a stored copy
    /// are not retransmitted.
    pub fn retransmit(&mut self, n1: u8) -> u8 {
        self.requests.retransmit(n1)
    }

    /// Returns whether an association exists.
    pub fn is_associated(&self) -> bool {
        self.associated
    }

    /// Returns the message templates.
    pub fn templates(&self) -> &SessionTemplates {
        &self.templates
    }

    /// Requests an association.
    pub fn associate(&mut self, now: Time) -> Result<(), Refused> {
        let request = AssociationSetupRequest {
            node_id: self.settings.node.into(),
            recovery_time_stamp: RecoveryTimeStamp(self.settings.recovery_time_stamp),
            cp_function_features: Some(CpFunctionFeatures::default()),
            ..Default::default()
        };
        self.ask(now, Kind::Association, request)
    }

    /// Requests the release of the association, and stops heartbeats.
    pub fn release(&mut self, now: Time) -> Result<(), Refused> {
        let request =
            AssociationReleaseRequestMessage { node_id: self.settings.node.into(), ..Default::default() };
        self.ask(now, Kind::Release, request)?;
        self.next_heartbeat = None;
        Ok(())
    }

    /// Sends a heartbeat.
    pub fn heartbeat(&mut self, now: Time) -> Result<(), Refused> {
        let recovery_time_stamp = RecoveryTimeStamp(self.settings.recovery_time_stamp);
        self.ask(now, Kind::Heartbeat, HeartbeatRequest { recovery_time_stamp, ..Default::default() })
    }

    /// Requests a session. `intended` is the scheduled time of the request.
    pub fn establish(&mut self, now: Time, intended: Time, spec: SessionSpec) -> Result<SessionId, Refused> {
        let (index, generation) = self.next_place()?;
        let id = SessionId::new(generation, index);
        let mut out = self.buffer();
        // The sequence number is written last, because it is only allocated if the message is valid.
        if !self.templates.write_establishment(0, id.0, spec, &mut out) {
            self.recycle(out);
            return Err(Refused::UeAddress);
        }
        let sequence = self.requests.begin(now, intended, Kind::Establishment, Some(id))?;
        let at = SESSION_HEADER_LEN - 4;
        out[at..at + 3].copy_from_slice(&sequence.to_be_bytes()[1..]);
        self.occupy(index, Place { generation, state: State::Establishing });
        self.send(sequence, out);
        Ok(id)
    }

    /// Returns the place of the next session in the table, and the number of earlier uses of this place.
    fn next_place(&self) -> Result<(u32, u32), Refused> {
        if !self.associated {
            return Err(Refused::NotAssociated);
        }
        match self.free.last() {
            Some(&index) => Ok((index, self.places[index as usize].generation)),
            None if self.places.len() < self.settings.max_sessions => {
                Ok((self.places.len() as u32, self.settings.first_generation.max(1)))
            }
            None => Err(Refused::Sessions { limit: self.settings.max_sessions }),
        }
    }

    /// Occupies the place that [`next_place`](Self::next_place) returned.
    fn occupy(&mut self, index: u32, place: Place) {
        match self.free.pop() {
            Some(_) => self.places[index as usize] = place,
            None => self.places.push(place),
        }
    }

    /// Requests a change of a session.
    pub fn modify(
        &mut self,
        now: Time,
        intended: Time,
        id: SessionId,
        change: Change,
    ) -> Result<(), Refused> {
        let (sequence, up_seid) = self.begin_about(now, intended, Kind::Modification, id)?;
        let mut out = self.buffer();
        self.templates.write_modification(sequence, up_seid, change, &mut out);
        self.send(sequence, out);
        Ok(())
    }

    /// Requests the deletion of a session.
    pub fn delete(&mut self, now: Time, intended: Time, id: SessionId) -> Result<(), Refused> {
        let (sequence, up_seid) = self.begin_about(now, intended, Kind::Deletion, id)?;
        let mut out = self.buffer();
        self.templates.write_deletion(sequence, up_seid, &mut out);
        self.send(sequence, out);
        Ok(())
    }

    fn begin_about(
        &mut self,
        now: Time,
        intended: Time,
        kind: Kind,
        id: SessionId,
    ) -> Result<(u32, u64), Refused> {
        if !self.associated {
            return Err(Refused::NotAssociated);
        }
        let Some(State::Live(up_seid)) = self.state(id) else { return Err(Refused::Session(id)) };
        let sequence = self.requests.begin(now, intended, kind, Some(id))?;
        self.set(id, State::Busy(up_seid));
        Ok((sequence, up_seid))
    }

    fn ask(&mut self, now: Time, kind: Kind, message: impl Into<Message>) -> Result<(), Refused> {
        let sequence = self.requests.begin(now, now, kind, None)?;
        let mut out = self.buffer();
        // Encoding cannot fail, because a node message with fixed content always fits.
        let _ = Pdu::new(message, None, sequence).encode(&mut out);
        self.send(sequence, out);
        Ok(())
    }

    fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    fn send(&mut self, sequence: u32, datagram: Vec<u8>) {
        self.requests.keep(sequence, &datagram);
        self.outputs.push_back(SmfOutput::Send(datagram));
    }

    fn receive(&mut self, now: Time, datagram: &[u8]) {
        // This is the hot path. Heartbeats are decoded on the slow path, because only the full decoder reads their time stamp.
        if let Some(response) = Response::read(datagram)
            && response.message_type != message_type::HEARTBEAT_RESPONSE
        {
            let about = self.requests.about(response.sequence).flatten();
            if !is_about(response.seid, about, response.cause) {
                self.requests.unexpected();
                return;
            }
            let cause = response.cause.unwrap_or(Cause::ACCEPTED);
            let established =
                response.up_seid.map(|up_seid| Established { up_seid, tunnels: response.created_pdrs });
            self.answered(now, response.sequence, response.message_type, cause, established);
            return;
        }
        match decode(datagram) {
            Ok((pdu, _)) => self.receive_pdu(now, pdu),
            Err(error) => self.receive_garbage(now, datagram, error),
        }
    }

    fn receive_garbage(&mut self, now: Time, datagram: &[u8], error: DecodeError) {
        // Octet 2 is the message type, if it is present. Node responses have even numbers, session responses odd ones.
        let message_type = datagram.get(1).copied().unwrap_or(0);
        if let Some((header, cause)) = refusal(datagram).filter(|(header, _)| header.seid.is_some()) {
            // Header and cause suffice to complete the request.
            self.answered_about(now, &header, cause, NONE);
        } else if !is_request(message_type) {
            self.requests.malformed();
        } else if message_type == message_type::SESSION_REPORT_REQUEST
            && let Some((header, cause, offending)) = error.refusal()
        {
            self.refuse_report(header, cause, offending);
        }
        self.outputs.push_back(SmfOutput::Event(SmfEvent::Malformed(error)));
    }

    /// Rejects a Session Report Request with a missing or wrong element (§7.6.6 to §7.6.9).
    fn refuse_report(&mut self, header: Header, cause: Cause, offending: Option<u16>) {
        let seid = match self.state(SessionId(header.seid.unwrap_or(0))) {
            Some(State::Live(up_seid) | State::Busy(up_seid)) => up_seid,
            _ => 0,
        };
        let offending_ie = offending.filter(|ie_type| *ie_type != 0).map(OffendingIe);
        let response = SessionReportResponse { cause, offending_ie, ..Default::default() };
        let mut out = self.buffer();
        // Encoding cannot fail, because a short response always fits.
        let _ = Pdu::new(response, Some(seid), header.sequence).encode(&mut out);
        self.outputs.push_back(SmfOutput::Send(out));
    }

    fn receive_pdu(&mut self, now: Time, pdu: Pdu) {
        let Header { message_type, sequence, seid, .. } = pdu.header;
        match pdu.message {
            Message::HeartbeatResponse(response) => {
                self.answered(now, sequence, message_type, Cause::ACCEPTED, NONE);
                self.note_recovery(response.recovery_time_stamp);
            }
            Message::AssociationSetupResponse(response) => self.associated(now, sequence, response),
            Message::AssociationReleaseResponse(response) => {
                self.answered(now, sequence, message_type, response.cause, NONE);
                if response.cause.is_accepted() {
                    self.associated = false;
                    self.next_heartbeat = None;
                    self.forget_sessions();
                }
            }
            Message::AssociationUpdateResponse(response) => {
                self.answered(now, sequence, message_type, response.cause, NONE);
            }
            Message::PfdManagementResponse(response) => {
                self.answered(now, sequence, message_type, response.cause, NONE);
            }
            Message::SessionEstablishmentResponse(response) => {
                let tunnels = response.created_pdrs.into_iter();
                let tunnels = tunnels.map(|pdr| CreatedTunnel { pdr_id: pdr.pdr_id, f_teid: pdr.f_teid });
                let established =
                    response.up_f_seid.map(|f_seid| Established { up_seid: f_seid.seid, tunnels });
                self.answered_about(now, &pdu.header, response.cause, established);
            }
            Message::SessionModificationResponse(response) => {
                self.answered_about(now, &pdu.header, response.cause, NONE);
            }
            Message::SessionDeletionResponse(response) => {
                self.answered_about(now, &pdu.header, response.cause, NONE);
            }
            Message::VersionNotSupportedResponse(_)
            | Message::SessionReportResponse(_)
            | Message::NodeReportResponse(_)
            | Message::SessionSetDeletionResponse(_) => self.requests.unexpected(),
            request => self.serve(now, sequence, seid, request),
        }
    }

    /// Processes a session response on the slow path.
    fn answered_about(
        &mut self,
        now: Time,
        header: &Header,
        cause: Cause,
        established: Option<Established<impl Iterator<Item = CreatedTunnel>>>,
    ) {
        let about = self.requests.about(header.sequence).flatten();
        if is_about(header.seid, about, Some(cause)) {
            self.answered(now, header.sequence, header.message_type, cause, established);
        } else {
            self.requests.unexpected();
        }
    }

    fn associated(&mut self, now: Time, sequence: u32, response: AssociationSetupResponse) {
        let message_type = message_type::ASSOCIATION_SETUP_RESPONSE;
        self.answered(now, sequence, message_type, response.cause, NONE);
        if response.cause.is_accepted() {
            self.note_recovery(response.recovery_time_stamp);
            self.associated = true;
            self.next_heartbeat = self.settings.heartbeat.map(|interval| now + interval);
            let features = response.up_function_features.unwrap_or_default();
            self.outputs.push_back(SmfOutput::Event(SmfEvent::Associated { features }));
        }
    }

    /// Detects a restart of the UPF. A changed time stamp means that the UPF has lost its sessions (TS 23.527 §4.2).
    fn note_recovery(&mut self, recovery: RecoveryTimeStamp) {
        let before = self.peer_recovery.replace(recovery);
        if before.is_some_and(|before| before != recovery) {
            let sessions = self.live;
            self.associated = false;
            self.next_heartbeat = None;
            self.forget_sessions();
            self.outputs.push_back(SmfOutput::Event(SmfEvent::PeerRestarted { sessions }));
        }
    }

    fn forget_sessions(&mut self) {
        for index in 0..self.places.len() {
            if self.places[index].state != State::Free {
                self.vacate(index);
            }
        }
    }

    /// Completes the request to which a response belongs. The tunnels of an established session are reported before its request completes.
    fn answered(
        &mut self,
        now: Time,
        sequence: u32,
        response: u8,
        cause: Cause,
        established: Option<Established<impl Iterator<Item = CreatedTunnel>>>,
    ) {
        let (Answer::First(done) | Answer::Late(done)) =
            self.requests.answered(now, sequence, response, cause)
        else {
            return;
        };
        let id = done.about;
        let up_seid = established.as_ref().map(|established| established.up_seid);
        if let (Kind::Establishment, Some(id), Some(up_seid), true) =
            (done.kind, id, up_seid, cause.is_accepted())
            && self.place(id).is_some()
        {
            self.set(id, State::Live(up_seid));
            self.live += 1;
            let tunnels = established.into_iter().flat_map(|established| established.tunnels);
            let events = tunnels.map(|tunnel| SmfOutput::Event(SmfEvent::Tunnel(id, tunnel)));
            self.outputs.extend(events);
            self.outputs.push_back(SmfOutput::Event(SmfEvent::Done(done)));
            return;
        }
        self.ended(done);
        if let (Kind::Establishment, Some(up_seid), true) = (done.kind, up_seid, cause.is_accepted()) {
            self.delete_orphan(now, up_seid);
        }
    }

    /// Deletes a session that was established after its request had timed out. This SMF no longer knows the session.
    fn delete_orphan(&mut self, now: Time, up_seid: u64) {
        // If the window is full, the session remains at the UPF. The late response is counted in either case.
        if let Ok(sequence) = self.requests.begin(now, now, Kind::Deletion, None) {
            let mut out = self.buffer();
            self.templates.write_deletion(sequence, up_seid, &mut out);
            self.send(sequence, out);
        }
    }

    /// Updates the session after the end of a request, except for a successful establishment.
    fn ended(&mut self, done: RequestEnd<Option<SessionId>>) {
        if let Some(id) = done.about
            && let Some(index) = self.place(id)
        {
            let cause = match done.outcome {
                Outcome::Ok | Outcome::Retransmitted => Some(Cause::ACCEPTED),
                Outcome::Rejected(cause) | Outcome::Late(cause) => Some(cause),
                Outcome::Lost => None,
            };
            let gone = cause == Some(Cause::CONTEXT_NOT_FOUND)
                || done.kind == Kind::Deletion && cause.is_some_and(Cause::is_accepted);
            match (self.places[index].state, cause) {
                (State::Establishing, _) => self.vacate(index),
                (State::Busy(_) | State::Live(_), _) if gone => self.vacate(index),
                // A late response does not complete the pending request.
                (State::Busy(_), _) if matches!(done.outcome, Outcome::Late(_)) => {}
                (State::Busy(up_seid), _) => self.places[index].state = State::Live(up_seid),
                _ => {}
            }
        }
        self.outputs.push_back(SmfOutput::Event(SmfEvent::Done(done)));
    }

    fn vacate(&mut self, index: usize) {
        let place = &mut self.places[index];
        self.live -= usize::from(matches!(place.state, State::Live(_) | State::Busy(_)));
        *place = Place { generation: place.generation.wrapping_add(1).max(1), state: State::Free };
        self.free.push(index as u32);
    }

    /// Returns the index of a session, if it exists.
    fn place(&self, id: SessionId) -> Option<usize> {
        let index = (id.0 as u32).checked_sub(1)? as usize;
        let place = self.places.get(index)?;
        (u64::from(place.generation) == id.0 >> 32 && place.state != State::Free).then_some(index)
    }

    fn state(&self, id: SessionId) -> Option<State> {
        self.place(id).map(|index| self.places[index].state)
    }

    fn set(&mut self, id: SessionId, state: State) {
        if let Some(index) = self.place(id) {
            self.places[index].state = state;
        }
    }

    /// Responds to a request of the UPF.
    fn serve(&mut self, now: Time, sequence: u32, seid: Option<u64>, request: Message) {
        let from = SocketAddr::new(self.settings.node, 0);
        if let Some(answer) = self.held.find(now, from, sequence) {
            self.outputs.push_back(SmfOutput::Send(answer.to_vec()));
            return;
        }
        let node_id: NodeId = self.settings.node.into();
        let cause = Cause::ACCEPTED;
        let (answer, seid): (Message, _) = match request {
            Message::HeartbeatRequest(request) => {
                self.note_recovery(request.recovery_time_stamp);
                if !self.settings.dialect.sends.answers_heartbeats {
                    return;
                }
                let recovery_time_stamp = RecoveryTimeStamp(self.settings.recovery_time_stamp);
                (HeartbeatResponse { recovery_time_stamp, ..Default::default() }.into(), None)
            }
            Message::SessionReportRequest(report) => {
                let id = SessionId(seid.unwrap_or(0));
                match self.state(id) {
                    Some(State::Live(up_seid) | State::Busy(up_seid)) => {
                        self.outputs.push_back(SmfOutput::Event(SmfEvent::Report(id, report.into())));
                        (SessionReportResponse { cause, ..Default::default() }.into(), Some(up_seid))
                    }
                    _ => {
                        let cause = Cause::CONTEXT_NOT_FOUND;
                        (SessionReportResponse { cause, ..Default::default() }.into(), Some(0))
                    }
                }
            }
            Message::NodeReportRequest(report) => {
                self.outputs.push_back(SmfOutput::Event(SmfEvent::NodeReport(report.into())));
                (NodeReportResponse { node_id, cause, ..Default::default() }.into(), None)
            }
            Message::AssociationUpdateRequest(update) => {
                if update.association_release_request.is_some() {
                    self.outputs.push_back(SmfOutput::Event(SmfEvent::ReleaseRequested));
                }
                (AssociationUpdateResponse { node_id, cause, ..Default::default() }.into(), None)
            }
            // Other requests are requests to a UPF.
            _ => return,
        };
        let mut out = self.buffer();
        // Encoding cannot fail, because a short response always fits.
        let _ = Pdu::new(answer, seid, sequence).encode(&mut out);
        self.held.hold(now, from, sequence, &out);
        self.outputs.push_back(SmfOutput::Send(out));
    }
}
