//! UPF endpoint: associations with SMFs, sessions and their rules, and reports.
mod addresses;
mod applications;
mod elements;
mod fast_path;
mod install;
mod peers;
mod plane;
mod refusal;
mod seids;
mod types;

use addresses::Addresses;
pub use addresses::{UePool, UePoolError};
use applications::Applications;
pub use elements::{ELEMENTS, Element, Group, Support};
pub use fast_path::MAX_SHAPES;
use fast_path::ShapeCache;
use plane::UsageChange;
pub use plane::{DataPlane, NoDataPlane, UsageQuery};
use seids::Seids;
pub use types::{UpfCounters, UpfEvent, UpfInput, UpfOutput, UpfSettings};

use crate::Time;
use crate::n4::cache::Cache;
use crate::n4::ledger::{Kind, RequestStats};
use crate::n4::mix::{Map, Teid};
use crate::n4::requests::{Answer, Expired, Requests};
use crate::n4::rules::{RuleFault, Session};
use crate::n4::smf::is_request;
use crate::pfcp::*;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

#[derive(Debug)]
struct Association {
    /// Source address of the association setup.
    address: IpAddr,
    recovery: RecoveryTimeStamp,
    next_heartbeat: Option<Time>,
    unanswered: u8,
}

/// State machine of a UPF; see the [module](super).
#[derive(Debug)]
pub struct Upf {
    settings: UpfSettings,
    associations: BTreeMap<NodeId, Association>,
    sessions: Map<u64, Session>,
    /// Sessions that are described by a shape.
    alike: ShapeCache,
    /// Sessions by uplink TEID.
    tunnels: Map<Teid, u64>,
    addresses: Addresses,
    applications: Applications,
    seids: Seids,
    next_teid: u32,
    /// Session reports that wait for space in the window of requests.
    delayed: VecDeque<(u64, SessionReportRequest)>,
    held: Cache,
    requests: Requests<(SocketAddr, u64)>,
    outputs: VecDeque<UpfOutput>,
    spare: Vec<Vec<u8>>,
    counters: UpfCounters,
}

/// Maximum number of buffers that are stored for later responses.
const SPARE_BUFFERS: usize = 256;
/// First TEID that is not derived from a place.
const FIRST_COUNTED_TEID: u32 = 1 << 31;
/// Maximum number of pending reports and heartbeats.
const WINDOW: usize = 1 << 12;
/// Maximum number of session reports that wait for space in the window.
const MAX_DELAYED: usize = 1 << 16;

/// Result of a request.
// A reply exists only briefly on the stack, so the size of its variants does not matter.
#[allow(clippy::large_enum_variant)]
enum Reply {
    Message(Message, Option<u64>),
    Silence,
}

impl Upf {
    /// Creates a UPF without associations.
    pub fn new(settings: UpfSettings) -> Self {
        Self {
            held: Cache::new(settings.dialect.demands.holding, settings.held_answers),
            requests: Requests::new(WINDOW, 1, settings.retransmission),
            addresses: Addresses::new(settings.ue_pool),
            applications: Applications::default(),
            delayed: VecDeque::new(),
            settings,
            associations: BTreeMap::new(),
            sessions: Map::default(),
            alike: ShapeCache::default(),
            tunnels: Map::default(),
            seids: Seids::default(),
            next_teid: FIRST_COUNTED_TEID,
            outputs: VecDeque::new(),
            spare: Vec::new(),
            counters: UpfCounters::default(),
        }
    }

    /// Returns the buffer of a sent datagram for reuse.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Handles an input without a data plane; see [`Upf::handle_with`].
    pub fn handle(&mut self, now: Time, input: UpfInput<'_>) {
        self.handle_with(now, input, &mut NoDataPlane);
    }

    /// Handles an input. `plane` compiles rules before they are accepted, and reports usage.
    pub fn handle_with(&mut self, now: Time, input: UpfInput<'_>, plane: &mut dyn DataPlane) {
        if let UpfInput::Received(mut from, datagram) = input {
            // With this setting, the UPF identifies an SMF only by its IP address.
            if let Some(port) = self.settings.dialect.demands.answers_to {
                from.set_port(port);
            }
            self.receive(now, from, datagram, plane);
        }
        while let Some(expired) = self.requests.expired(now) {
            match expired {
                Expired::Again(datagram, (to, _)) => self.outputs.push_back(UpfOutput::Send(to, datagram)),
                Expired::Lost(done) => self.unanswered(done),
            }
        }
        while !self.requests.is_full()
            && let Some((seid, report)) = self.delayed.pop_front()
        {
            self.report(now, seid, report);
        }
        self.heartbeats(now);
    }

    /// Returns the next output, if there is one.
    pub fn poll(&mut self) -> Option<UpfOutput> {
        self.outputs.pop_front()
    }

    /// Returns the latest time at which to call [`Upf::handle`] with [`UpfInput::Wake`].
    pub fn wake_at(&self) -> Option<Time> {
        let heartbeat = self.associations.values().filter_map(|association| association.next_heartbeat).min();
        [self.requests.wake_at(), heartbeat].into_iter().flatten().min()
    }

    /// Returns the prototype to which [`UpfEvent::EstablishedAlike`] refers.
    pub fn prototype(&self, shape: usize) -> Option<&Session> {
        self.alike.prototype(shape)
    }

    /// Returns the session with a SEID that this UPF chose. Returns `None` for sessions that are described by a shape.
    pub fn session(&self, seid: u64) -> Option<&Session> {
        self.sessions.get(&seid)
    }

    /// Returns the session that sends into this tunnel. The function searches all sessions, because error indications are rare.
    pub fn by_downlink_tunnel(&self, teid: u32, peer: IpAddr) -> Option<u64> {
        let mut ordinary = self.sessions.iter().filter(|(_, session)| session.sends_into(teid, peer));
        ordinary.next().map(|(seid, _)| *seid).or_else(|| self.alike.by_downlink_tunnel(teid, peer))
    }

    /// Returns the session with this uplink TEID.
    pub fn by_tunnel(&self, teid: u32) -> Option<u64> {
        self.tunnels.get(&Teid(teid)).copied()
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len() + self.alike.len()
    }

    /// Returns the counters of received messages.
    pub fn counters(&self) -> UpfCounters {
        self.counters
    }

    /// Returns the counters of the UPF's own requests.
    pub fn ledger(&self) -> &RequestStats {
        &self.requests.ledger
    }

    /// Returns the settings.
    pub fn settings(&self) -> &UpfSettings {
        &self.settings
    }

    /// Returns the number of stored responses.
    pub fn held_answers(&self) -> usize {
        self.held.len()
    }

    /// Sends a report about a session. The report waits if the window of requests is full. Returns `false` if the session does not exist,
    /// or if too many reports wait.
    pub fn report(&mut self, now: Time, seid: u64, report: SessionReportRequest) -> bool {
        self.make_ordinary(seid);
        let Some(session) = self.sessions.get(&seid) else { return false };
        if self.requests.is_full() {
            let has_room = self.delayed.len() < MAX_DELAYED;
            if has_room {
                self.delayed.push_back((seid, report));
            } else {
                self.counters.reports_dropped += 1;
            }
            return has_room;
        }
        let cp_seid = session.cp_f_seid.seid;
        let to = self.smf_address(session.report_address(self.settings.node.is_ipv4()));
        self.ask(now, to, seid, Kind::Report, report.into(), Some(cp_seid))
    }

    /// Sends a report that a packet for the UE of a session is buffered.
    pub fn report_downlink_data(&mut self, now: Time, seid: u64, pdr_id: PdrId) -> bool {
        let downlink_data_report = DownlinkDataReport { pdr_ids: vec![pdr_id], ..Default::default() };
        let report = SessionReportRequest {
            report_type: ReportType::new(ReportType::DLDR),
            downlink_data_report: Some(downlink_data_report),
            ..Default::default()
        };
        self.report(now, seid, report)
    }

    fn ask(
        &mut self,
        now: Time,
        to: SocketAddr,
        about: u64,
        kind: Kind,
        message: Message,
        seid: Option<u64>,
    ) -> bool {
        let mut out = Vec::new();
        let Ok(sequence) = self.requests.begin(now, now, kind, (to, about)) else { return false };
        if Pdu::new(message, seid, sequence).encode(&mut out).is_err() {
            // The request completes when its timer expires, and counts as lost. A report that is too long is a bug of the caller.
            return false;
        }
        self.requests.keep(sequence, &out);
        self.outputs.push_back(UpfOutput::Send(to, out));
        true
    }

    fn receive(&mut self, now: Time, from: SocketAddr, datagram: &[u8], plane: &mut dyn DataPlane) {
        let message_type = datagram.get(1).copied().unwrap_or(0);
        if self.settings.recognise && self.quick(now, from, datagram) {
            return;
        }
        match decode(datagram) {
            Ok((pdu, _)) if is_request(pdu.header.message_type) => {
                let seid = pdu.header.seid.unwrap_or(0);
                self.make_ordinary(seid);
                let before = UpfCounters { requests: self.counters.requests + 1, ..self.counters };
                self.serve(now, from, pdu, plane);
                if self.settings.recognise && self.counters == before {
                    self.learn(datagram, seid);
                }
            }
            Ok((pdu, _)) => self.answered(now, pdu),
            Err(DecodeError::Version { sequence, .. }) => {
                self.counters.refused += 1;
                self.counters.requests += 1;
                self.reply(now, from, sequence, VersionNotSupportedResponse::default().into(), None);
            }
            Err(error) => match error.refusal() {
                Some((header, cause, offending)) if is_request(message_type) => {
                    self.refuse(now, from, header, cause, offending);
                }
                _ if is_request(message_type) || datagram.len() < NODE_HEADER_LEN => {
                    self.counters.dropped += 1
                }
                _ => self.requests.malformed(),
            },
        }
    }

    fn answered(&mut self, now: Time, pdu: Pdu) {
        let drops = |flags: SrRspFlags| flags.contains(SrRspFlags::DROBU);
        let drop_buffered = matches!(&pdu.message, Message::SessionReportResponse(response)
            if response.sr_rsp_flags.is_some_and(drops));
        let cause = match &pdu.message {
            Message::SessionReportResponse(response) => response.cause,
            Message::NodeReportResponse(response) => response.cause,
            _ => Cause::ACCEPTED,
        };
        let answer = self.requests.answered(now, pdu.header.sequence, pdu.header.message_type, cause);
        if let Answer::First(done) | Answer::Late(done) = answer {
            if done.kind == Kind::Heartbeat {
                let address = done.about.0.ip();
                if let Some(association) = self.associations.values_mut().find(|a| a.address == address) {
                    association.unanswered = 0;
                }
                if let Message::HeartbeatResponse(response) = pdu.message {
                    self.note_recovery(address, response.recovery_time_stamp);
                }
            } else {
                if drop_buffered {
                    self.outputs.push_back(UpfOutput::Event(UpfEvent::DropBuffered(done.about.1)));
                }
                self.outputs.push_back(UpfOutput::Event(UpfEvent::Reported(done)));
            }
        }
    }

    /// Returns the SEID of the SMF for the session with the UPF's SEID `seid`. Returns 0 if there is no such session.
    fn cp_seid(&self, seid: u64) -> u64 {
        let light = || self.alike.cp_seid(seid).unwrap_or(0);
        self.sessions.get(&seid).map_or_else(light, |session| session.cp_f_seid.seid)
    }

    fn reply(&mut self, now: Time, to: SocketAddr, sequence: u32, message: Message, seid: Option<u64>) {
        let mut out = self.spare.pop().unwrap_or_default();
        if Pdu::new(message, seid, sequence).encode(&mut out).is_ok() {
            self.held.hold(now, to, sequence, &out);
            self.outputs.push_back(UpfOutput::Send(to, out));
        }
    }

    fn serve(&mut self, now: Time, from: SocketAddr, pdu: Pdu, plane: &mut dyn DataPlane) {
        let Header { sequence, seid, .. } = pdu.header;
        if let Some(answer) = self.held.find(now, from, sequence) {
            let answer = answer.to_vec();
            self.counters.duplicates += 1;
            self.outputs.push_back(UpfOutput::Send(from, answer));
            return;
        }
        self.counters.requests += 1;
        let seid = seid.unwrap_or(0);
        let reply = match pdu.message {
            Message::HeartbeatRequest(request) => {
                self.note_recovery(from.ip(), request.recovery_time_stamp);
                let recovery_time_stamp = RecoveryTimeStamp(self.settings.recovery_time_stamp);
                Reply::Message(HeartbeatResponse { recovery_time_stamp, ..Default::default() }.into(), None)
            }
            Message::AssociationSetupRequest(request) => self.associate(now, from, &request),
            Message::AssociationUpdateRequest(request) => {
                let cause = self.if_associated(&request.node_id);
                let node_id = self.settings.node.into();
                Reply::Message(
                    AssociationUpdateResponse { node_id, cause, ..Default::default() }.into(),
                    None,
                )
            }
            Message::AssociationReleaseRequestMessage(_) if self.settings.dialect.demands.ignores_release => {
                Reply::Silence
            }
            Message::AssociationReleaseRequestMessage(request) => {
                let cause = self.if_associated(&request.node_id);
                self.release(&request.node_id);
                let node_id = self.settings.node.into();
                Reply::Message(
                    AssociationReleaseResponse { node_id, cause, ..Default::default() }.into(),
                    None,
                )
            }
            Message::SessionSetDeletionRequest(request) => self.delete_sets(&request),
            Message::PfdManagementRequest(request) => self.manage_pfds(from, request, plane),
            Message::SessionEstablishmentRequest(request) => self.establish(from, request, plane),
            Message::SessionModificationRequest(request) => self.modify(from, seid, request, plane),
            Message::SessionDeletionRequest(request) => self.delete(from, seid, &request, plane),
            // Reports and similar messages are requests to an SMF.
            _ => Reply::Silence,
        };
        match reply {
            Reply::Message(message, seid) => self.reply(now, from, sequence, message, seid),
            Reply::Silence => self.counters.silent += 1,
        }
    }

    fn forget(&mut self, seid: u64) {
        if let Some(session) = self.sessions.remove(&seid) {
            for teid in session.uplink_teids() {
                self.tunnels.remove(&Teid(teid));
            }
            self.addresses.give(addresses::keys(&session).map(|(key, _)| key), seid);
        } else if let Some((teid, ue)) = self.alike.forget(seid) {
            self.tunnels.remove(&Teid(teid));
            self.addresses.give([addresses::v4_key(ue)].into_iter(), seid);
        } else {
            return;
        }
        self.seids.give(seid);
        self.outputs.push_back(UpfOutput::Event(UpfEvent::Deleted(seid)));
    }

    fn establish(
        &mut self,
        from: SocketAddr,
        request: SessionEstablishmentRequest,
        plane: &mut dyn DataPlane,
    ) -> Reply {
        let demands = self.settings.dialect.demands;
        let cp_seid = request.cp_f_seid.seid;
        let narrow = |far: &CreateFar| far.apply_action.octets() < demands.apply_action_least;
        let short = |urr: &CreateUrr| urr.reporting_triggers.octets() < demands.reporting_triggers_least;
        if request.create_fars.iter().any(narrow) || request.create_urrs.iter().any(short) {
            return Reply::Silence;
        }
        let node_id: NodeId = self.settings.node.into();
        let outcome = self.install(from, request, plane);
        let mut response = SessionEstablishmentResponse { node_id, ..Default::default() };
        match outcome {
            Ok((seid, created_pdrs)) => {
                response.cause = Cause::ACCEPTED;
                response.up_f_seid = Some(FSeid { seid, addresses: self.settings.node.into() });
                response.created_pdrs = created_pdrs;
                self.outputs.push_back(UpfOutput::Event(UpfEvent::Established(seid)));
            }
            Err(fault) => {
                self.counters.refused += 1;
                response.cause = fault.cause;
                response.failed_rule_id = fault.failed;
            }
        }
        Reply::Message(response.into(), Some(cp_seid))
    }

    fn modify(
        &mut self,
        from: SocketAddr,
        seid: u64,
        request: SessionModificationRequest,
        plane: &mut dyn DataPlane,
    ) -> Reply {
        let demands = self.settings.dialect.demands;
        let narrow = |action: Option<ApplyAction>| {
            action.is_some_and(|action| action.octets() < demands.apply_action_least)
        };
        if request.update_fars.iter().any(|far| narrow(far.apply_action))
            || request.create_fars.iter().any(|far| narrow(Some(far.apply_action)))
        {
            return Reply::Silence;
        }
        let mut response = SessionModificationResponse { cause: Cause::ACCEPTED, ..Default::default() };
        let cp_seid = self.cp_seid_of(from, seid);
        match self.change(from, seid, request, plane) {
            Ok((created_pdrs, usage_reports)) => {
                response.created_pdrs = created_pdrs;
                response.usage_reports = usage_reports;
            }
            Err(fault) => {
                self.counters.refused += 1;
                response.cause = fault.cause;
                response.failed_rule_id = fault.failed;
            }
        }
        Reply::Message(response.into(), Some(cp_seid))
    }

    fn change(
        &mut self,
        from: SocketAddr,
        seid: u64,
        request: SessionModificationRequest,
        plane: &mut dyn DataPlane,
    ) -> Result<(Vec<CreatedPdr>, Vec<UsageReport>), RuleFault> {
        let demands = self.settings.dialect.demands;
        let before = self.sessions.get(&seid).filter(|session| self.takes_from(session, from));
        let before = before.ok_or(RuleFault { cause: Cause::CONTEXT_NOT_FOUND, failed: None })?;
        elements::check_modification(&request)?;
        let unknown =
            request.query_urrs.iter().find(|query| !before.urrs.iter().any(|u| u.urr_id == query.urr_id));
        if let Some(query) = unknown {
            let failed = Some(FailedRuleId::Urr(query.urr_id));
            return Err(RuleFault { cause: Cause::RULE_FAILURE, failed });
        }
        let mut end_markers = Vec::new();
        for update in &request.update_fars {
            let change = update.update_forwarding_parameters.as_ref();
            if change.and_then(|c| c.sm_req_flags).is_some_and(|f| f.contains(SmReqFlags::SNDEM)) {
                let far = before.fars.iter().find(|far| far.far_id == update.far_id);
                let way = far.and_then(|far| far.forwarding_parameters.as_ref());
                end_markers.extend(way.and_then(|way| way.outer_header_creation));
            }
        }
        let drop_buffered = request.sm_req_flags.is_some_and(|flags| flags.contains(SmReqFlags::DROBU));
        let old: Vec<u32> = before.uplink_teids().collect();
        let usage = UsageChange::from_request(&request);
        let mut next = before.modified(request, &demands)?;
        self.resolve_applications(&mut next)?;
        plane.check(&next)?;
        self.check_addresses(Some(seid), &next)?;
        let old_addresses: Vec<u64> = addresses::keys(before).map(|(key, _)| key).collect();
        let created = self.take_tunnels(seid, &mut next)?;
        let reports = usage.report(seid, plane);
        for teid in old {
            if !next.uplink_teids().any(|kept| kept == teid) {
                self.tunnels.remove(&Teid(teid));
            }
        }
        let kept: Vec<u64> = addresses::keys(&next).map(|(key, _)| key).collect();
        self.addresses.give(old_addresses.into_iter().filter(|key| !kept.contains(key)), seid);
        self.addresses.take(kept.into_iter(), seid);
        self.sessions.insert(seid, next);
        let event = UpfEvent::Modified { seid, end_markers, drop_buffered, granted: usage.granted };
        self.outputs.push_back(UpfOutput::Event(event));
        Ok((created, reports))
    }

    fn delete(
        &mut self,
        from: SocketAddr,
        seid: u64,
        request: &SessionDeletionRequest,
        plane: &mut dyn DataPlane,
    ) -> Reply {
        let node_id_came = request.node_id.is_some() || request.others.iter().any(|ie| ie.ie_type == 60);
        if self.settings.dialect.demands.no_node_id_in_deletion && node_id_came {
            return Reply::Silence;
        }
        let cp_seid = self.cp_seid_of(from, seid);
        let mut response = SessionDeletionResponse { cause: Cause::ACCEPTED, ..Default::default() };
        if self.sessions.get(&seid).is_some_and(|session| self.takes_from(session, from)) {
            let query = UsageQuery { urrs: None, trigger: UsageReportTrigger::TERMR };
            response.usage_reports = plane.usage(seid, query);
            self.forget(seid);
        } else {
            self.counters.refused += 1;
            response.cause = Cause::CONTEXT_NOT_FOUND;
        }
        Reply::Message(response.into(), Some(cp_seid))
    }

    fn takes_from(&self, session: &Session, from: SocketAddr) -> bool {
        self.settings.dialect.demands.any_owner || session.is_owned_by(from.ip())
    }

    /// Like [`Upf::cp_seid`], but returns 0 if the sender does not own the session.
    fn cp_seid_of(&self, from: SocketAddr, seid: u64) -> u64 {
        let own = self.sessions.get(&seid).filter(|session| self.takes_from(session, from));
        own.map_or(0, |session| session.cp_f_seid.seid)
    }
}
