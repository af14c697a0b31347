//! PFCP sessions of a capture: the requests of an SMF about each session, with their times.
use crate::pfcp::*;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Maximum number of requests that are stored.
pub const MAX_RECORDED: usize = 1 << 20;

/// Sessions of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    /// Sessions, in the order of their establishment.
    pub scripts: Vec<Script>,
    /// Applications that the capture provisions. Sessions may refer to them.
    pub pfds: Vec<PfdManagementRequest>,
    /// Messages that are not repeated.
    pub ignored: Ignored,
}

/// Messages of a capture that are not repeated, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ignored {
    /// Messages that cannot be decoded.
    pub unreadable: u64,
    /// Establishments without an accepting response.
    pub not_established: u64,
    /// Requests about sessions whose establishment is not in the capture.
    pub other_sessions: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Messages between nodes, such as heartbeats and associations. PFD Management Requests are not counted, because they are repeated.
    pub node_messages: u64,
    /// Requests beyond [`MAX_RECORDED`].
    pub beyond_limit: u64,
}

/// A session of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Establishment.
    pub establishment: SessionEstablishmentRequest,
    /// Requests after the establishment.
    pub steps: Vec<Step>,
    /// TEIDs that the UPF chose for rules.
    pub(super) chosen: Vec<(PdrId, u32)>,
    /// TEIDs at the UPF that the SMF chose.
    pub(super) locals: Vec<u32>,
    /// TEIDs at base stations and other peers of the UPF.
    pub(super) remotes: Vec<u32>,
    pub(super) ues_v4: Vec<Ipv4Addr>,
    pub(super) ues_v6: Vec<Ipv6Addr>,
}

/// A request that follows the establishment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Time since the establishment request.
    pub after: Duration,
    /// Request.
    pub request: Recorded,
}

/// Request about an existing session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// Session Modification Request.
    Modification(Box<SessionModificationRequest>),
    /// Session Deletion Request.
    Deletion,
}

/// Establishment without a response until now.
#[derive(Debug)]
struct Opened {
    at: Duration,
    request: Box<SessionEstablishmentRequest>,
}

/// Reads the datagrams of a capture, one after the other.
#[derive(Debug, Default)]
pub struct Recorder {
    recording: Recording,
    began: Vec<Duration>,
    /// Establishments without a response, by SMF, UPF and sequence number.
    opened: HashMap<(IpAddr, IpAddr, u32), Opened>,
    /// Indexes of sessions, by UPF and its SEID.
    sessions: HashMap<(IpAddr, u64), usize>,
    /// Requests that were already read, by sender, sequence number and hash.
    seen: HashSet<(IpAddr, u32, u64)>,
}

impl Recorder {
    /// Reads a PFCP datagram. `at` is its time since any fixed point in time.
    pub fn datagram(&mut self, at: Duration, from: IpAddr, to: IpAddr, octets: &[u8]) {
        let Ok((pdu, _)) = decode(octets) else {
            self.recording.ignored.unreadable += 1;
            return;
        };
        let Header { sequence, seid, .. } = pdu.header;
        let seid = seid.unwrap_or(0);
        match pdu.message {
            Message::SessionEstablishmentResponse(response) => {
                self.established((to, from, sequence), response)
            }
            Message::SessionEstablishmentRequest(request) => {
                if self.is_new(from, sequence, octets) {
                    let opened = Opened { at, request: Box::new(request) };
                    self.opened.insert((from, to, sequence), opened);
                }
            }
            Message::SessionModificationRequest(request) => {
                if self.is_new(from, sequence, octets) {
                    self.step(at, (to, seid), Recorded::Modification(Box::new(request)));
                }
            }
            Message::SessionDeletionRequest(_) => {
                if self.is_new(from, sequence, octets) {
                    self.step(at, (to, seid), Recorded::Deletion);
                    self.sessions.remove(&(to, seid));
                }
            }
            Message::PfdManagementRequest(request) => {
                if self.is_new(from, sequence, octets) {
                    self.recording.pfds.push(request);
                }
            }
            // These are reports of the UPF, and responses that need no action.
            _ if Header::needs_seid(pdu.header.message_type) => {}
            _ => self.recording.ignored.node_messages += 1,
        }
    }

    /// Returns the recorded sessions. Establishments without a response are counted, but not returned.
    #[must_use]
    pub fn finish(mut self) -> Recording {
        self.recording.ignored.not_established += self.opened.len() as u64;
        self.recording.scripts.iter_mut().for_each(Script::note_names);
        self.recording
    }

    fn is_new(&mut self, from: IpAddr, sequence: u32, octets: &[u8]) -> bool {
        if self.seen.len() >= MAX_RECORDED {
            self.recording.ignored.beyond_limit += 1;
            return false;
        }
        let mut hasher = DefaultHasher::new();
        octets.hash(&mut hasher);
        let is_new = self.seen.insert((from, sequence, hasher.finish()));
        self.recording.ignored.retransmissions += u64::from(!is_new);
        is_new
    }

    fn established(&mut self, key: (IpAddr, IpAddr, u32), response: SessionEstablishmentResponse) {
        // A response without a request is a duplicate, or its request precedes the capture.
        let Some(opened) = self.opened.remove(&key) else { return };
        let Some(up_f_seid) = response.up_f_seid.filter(|_| response.cause.is_accepted()) else {
            self.recording.ignored.not_established += 1;
            return;
        };
        let chosen = response.created_pdrs.iter().filter_map(|created| match created.f_teid {
            Some(FTeid::Assigned { teid, .. }) => Some((created.pdr_id, teid)),
            _ => None,
        });
        self.sessions.insert((key.1, up_f_seid.seid), self.recording.scripts.len());
        self.began.push(opened.at);
        self.recording.scripts.push(Script {
            establishment: *opened.request,
            steps: Vec::new(),
            chosen: chosen.collect(),
            locals: Vec::new(),
            remotes: Vec::new(),
            ues_v4: Vec::new(),
            ues_v6: Vec::new(),
        });
    }

    fn step(&mut self, at: Duration, session: (IpAddr, u64), request: Recorded) {
        let Some(&index) = self.sessions.get(&session) else {
            self.recording.ignored.other_sessions += 1;
            return;
        };
        let after = at.saturating_sub(self.began[index]);
        self.recording.scripts[index].steps.push(Step { after, request });
    }
}

impl Recording {
    /// Returns the largest number of names of each kind in a session. The kinds are TEIDs at the UPF, TEIDs elsewhere, and UE addresses.
    pub(super) fn most(&self) -> [u32; 3] {
        let most = |of: &dyn Fn(&Script) -> usize| self.scripts.iter().map(of).max().unwrap_or(0).max(1);
        let ues = |script: &Script| script.ues_v4.len().max(script.ues_v6.len());
        let each = [most(&|script| script.locals.len()), most(&|script| script.remotes.len()), most(&ues)];
        each.map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }
}

fn note<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

impl Script {
    /// Returns whether the capture contains the session's deletion.
    pub fn ends(&self) -> bool {
        self.steps.iter().any(|step| step.request == Recorded::Deletion)
    }

    /// Collects the TEIDs and addresses that each repetition replaces.
    fn note_names(&mut self) {
        let mut pdis: Vec<&Pdi> = self.establishment.create_pdrs.iter().map(|pdr| &pdr.pdi).collect();
        let mut headers: Vec<Option<OuterHeaderCreation>> = Vec::new();
        let created = |far: &CreateFar| far.forwarding_parameters.as_ref()?.outer_header_creation;
        headers.extend(self.establishment.create_fars.iter().map(created));
        for step in &self.steps {
            let Recorded::Modification(request) = &step.request else { continue };
            pdis.extend(request.create_pdrs.iter().map(|pdr| &pdr.pdi));
            pdis.extend(request.update_pdrs.iter().filter_map(|pdr| pdr.pdi.as_ref()));
            headers.extend(request.create_fars.iter().map(created));
            let updated = |far: &UpdateFar| far.update_forwarding_parameters.as_ref()?.outer_header_creation;
            headers.extend(request.update_fars.iter().map(updated));
        }
        for pdi in pdis {
            if let Some(FTeid::Assigned { teid, .. }) = pdi.f_teid
                && !self.chosen.iter().any(|(_, chosen)| *chosen == teid)
            {
                note(&mut self.locals, teid);
            }
            for ue in &pdi.ue_ip_addresses {
                ue.addresses.v4.into_iter().for_each(|v4| note(&mut self.ues_v4, v4));
                ue.addresses.v6.into_iter().for_each(|v6| note(&mut self.ues_v6, v6));
            }
        }
        let teids = headers.into_iter().flatten().filter_map(|header| header.teid);
        teids.for_each(|teid| note(&mut self.remotes, teid));
    }
}
