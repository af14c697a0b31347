//! The load of the published emulator: messages at a fixed interval without waiting for responses, with guessed session
//! ids.
//!
//! The UPF's numbering is learned from two sessions, which are created and deleted beforehand. Later session ids are assumed to have the
//! same increment. A UPF with another numbering rejects the guessed ids, and the report counts these rejections.
use super::cycles::Cycles;
use super::fresh;
use super::load_run::CYCLE;
use super::meter::Times;
use super::n4::N4;
use super::outcome::ByKind;
use super::report::{ControlSummary, kind_name, request};
use super::take_down;
use super::{LoadConfig, LoadError, UePool, nth};
use ranlab_net::{monotonic_ns, thread_cpu_time};
use ranlab_upf::n4::{Change, Counts, Kind, SessionSpec, SessionTemplates, Tunnel};
use ranlab_upf::pfcp::{Cause, MAX_SEQUENCE, Message, Response, decode, message_type};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Maximum number of sessions. Each session uses three of the 24-bit sequence numbers.
const MAX_SESSIONS: usize = MAX_SEQUENCE as usize / 3 - 8;
/// Distance of the load's sequence numbers from those of the association.
const SEQUENCE_DISTANCE: u32 = 1 << 10;
/// Number of attempts to learn the numbering. With several attempts, a lost request is not fatal.
const LEARNING: u64 = 4;
/// Number of messages that are sent before the next read.
const TURN: usize = 64;

/// A message that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    intended_ns: u64,
    sent_ns: u64,
    answered: bool,
}

/// Numbers of responses received up to a point in time.
#[derive(Debug, Clone, Copy)]
struct Answered {
    requests: u64,
    /// Sessions whose deletion was confirmed.
    cycles: u64,
}

struct OpenLoop<'a> {
    config: &'a LoadConfig,
    n4: &'a mut N4,
    templates: SessionTemplates,
    first_sequence: u32,
    sent: Vec<Sent>,
    counts: [Counts; 3],
    latency: ByKind,
    service: ByKind,
    summary: ControlSummary,
    /// Uplink TEID of session 0, if the SMF chooses TEIDs.
    first_teid: u32,
    cp_seids: u64,
    /// SEIDs, chosen by the UPF, of accepted sessions that are not deleted yet.
    established: Vec<u64>,
    deleted: BTreeSet<u64>,
    /// SEID that the UPF is expected to choose for session 0.
    first_seid: u64,
    /// Increment from the SEID of one session to the SEID of the next.
    step: u64,
}

pub(super) fn run(
    config: &LoadConfig,
    delay: Duration,
    sessions: u64,
    cycles: &mut [Cycles],
    lives: &dyn Fn() -> bool,
    stop: &AtomicBool,
) -> Result<ControlSummary, LoadError> {
    let given = usize::try_from(sessions).unwrap_or(usize::MAX);
    if !(1..=MAX_SESSIONS).contains(&given) {
        return Err(LoadError::Bounds { what: "sessions", given, least: 1, most: MAX_SESSIONS });
    }
    let n4 = &mut cycles.first_mut().ok_or(LoadError::Panicked)?.n4;
    let templates = n4.smf.templates().clone();
    let first_sequence = fresh::sequence();
    let mut blind = OpenLoop {
        config,
        n4,
        templates,
        first_sequence: first_sequence.wrapping_add(SEQUENCE_DISTANCE) & MAX_SEQUENCE,
        sent: Vec::with_capacity(given * 3),
        counts: Default::default(),
        latency: ByKind::default(),
        service: ByKind::default(),
        summary: ControlSummary::default(),
        first_teid: fresh::first_teid(),
        cp_seids: u64::from(fresh::generation()) << 32,
        established: Vec::new(),
        deleted: BTreeSet::new(),
        first_seid: 0,
        step: 1,
    };
    blind.learn()?;
    let cpu = thread_cpu_time();
    let begin_ns = monotonic_ns();
    let all = given * 3;
    let delay_ns = delay.as_nanos() as u64;
    let mut lag = Times::default();
    while blind.sent.len() < all && !stop.load(Relaxed) {
        let now_ns = monotonic_ns();
        for _ in 0..TURN {
            let due_ns = begin_ns + blind.sent.len() as u64 * delay_ns;
            if due_ns > now_ns || blind.sent.len() >= all {
                break;
            }
            lag.record(now_ns - due_ns);
            blind.send(due_ns, now_ns);
        }
        blind.flush()?;
        blind.receive()?;
    }
    let sending_ns = monotonic_ns() - begin_ns;
    let in_window = blind.answered();
    let patience_ns = config.retransmission.t1.as_nanos() as u64;
    let last_ns = monotonic_ns();
    while monotonic_ns() - last_ns < patience_ns && blind.sent.iter().any(|sent| !sent.answered) {
        blind.receive()?;
        std::thread::sleep(Duration::from_micros(200));
    }
    blind.summary.lag_us = lag.summary();
    blind.summary.generator_cpu_s = (thread_cpu_time() - cpu).as_secs_f64();
    let mut summary = blind.finish(sending_ns, in_window);
    if lives() {
        summary.left_behind = blind.take_down()?;
        for one in cycles {
            summary.releases_unanswered += u64::from(!one.release()?);
        }
    }
    Ok(summary)
}

impl OpenLoop<'_> {
    /// Learns the UPF's numbering from two sessions.
    fn learn(&mut self) -> Result<(), LoadError> {
        let one = self.come_and_go(4)?;
        let two = self.come_and_go(2)?;
        self.step = two.wrapping_sub(one);
        self.first_seid = two.wrapping_add(self.step);
        Ok(())
    }

    /// Establishes and deletes one session. Its sequence number precedes the first one by `before`. Returns the SEID chosen by the UPF.
    fn come_and_go(&mut self, before: u32) -> Result<u64, LoadError> {
        let patience_ns = self.config.retransmission.t1.as_nanos() as u64;
        let sequence = self.first_sequence.wrapping_sub(before) & MAX_SEQUENCE;
        let mut out = Vec::new();
        self.establishment(0, sequence, &mut out);
        let begin_ns = monotonic_ns();
        let mut sendings = 0;
        while monotonic_ns() - begin_ns < patience_ns * LEARNING {
            if monotonic_ns() - begin_ns >= patience_ns * sendings {
                self.n4.send_raw(&out)?;
                sendings += 1;
            }
            let mut seid = None;
            self.n4.receive_answers(&mut |datagram| {
                let own = established(datagram).filter(|(answered, _)| *answered == sequence);
                seid = seid.or_else(|| own.map(|(_, seid)| seid));
            })?;
            if let Some(seid) = seid {
                // The response to the deletion is read before counting begins.
                let patience = self.config.retransmission.t1;
                let after = (sequence + 1) & MAX_SEQUENCE;
                let left = take_down::delete_by_name(self.n4, &self.templates, &[seid], after, patience)?;
                self.established.extend((left > 0).then_some(seid));
                return Ok(seid);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Err(LoadError::Sessions {
            established: 0,
            wanted: 1,
            why: "the UPF did not answer the establishment".to_owned(),
        })
    }

    fn establishment(&self, session: u64, sequence: u32, out: &mut Vec<u8>) {
        let ue = UePool { first: self.config.ue }.address(session as usize);
        let uplink_teid = self.first_teid.wrapping_add(session as u32);
        // Writing cannot fail, because the IP version of the pool has been verified with an earlier session.
        let _ = self.templates.write_establishment(
            sequence,
            self.cp_seids | (session + 1),
            SessionSpec { ue, uplink_teid },
            out,
        );
    }

    fn send(&mut self, intended_ns: u64, sent_ns: u64) {
        let number = self.sent.len();
        let session = (number / 3) as u64;
        let step = number % 3;
        let sequence = self.first_sequence.wrapping_add(number as u32) & MAX_SEQUENCE;
        let seid = self.first_seid.wrapping_add(self.step.wrapping_mul(session));
        let mut out = Vec::new();
        match step {
            0 => self.establishment(session, sequence, &mut out),
            1 => {
                let peer = nth(self.config.gnb, session as usize % self.config.gnbs).ip();
                let tunnel = Tunnel { teid: session as u32 + 1, peer };
                let change = Change::Downlink { tunnel, end_marker: false };
                self.templates.write_modification(sequence, seid, change, &mut out);
            }
            _ => self.templates.write_deletion(sequence, seid, &mut out),
        }
        self.counts[step].sent += 1;
        self.counts[step].pending += 1;
        self.sent.push(Sent { intended_ns, sent_ns, answered: false });
        self.n4.queue_raw(&out);
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        Ok(self.n4.send_queued()?)
    }

    fn receive(&mut self) -> Result<(), LoadError> {
        let Self { n4, first_sequence, sent, counts, latency, service, summary, .. } = self;
        let live = &mut self.established;
        let deleted = &mut self.deleted;
        let first_seid = self.first_seid;
        let step = self.step;
        n4.receive_answers(&mut |datagram| {
            // A session report is not a response. The blind load does not answer it.
            if datagram.get(1) == Some(&message_type::SESSION_REPORT_REQUEST) {
                return;
            }
            let now_ns = monotonic_ns();
            summary.responses += 1;
            let Some((message_type, sequence, cause)) = read(datagram) else {
                summary.malformed += 1;
                return;
            };
            let number = (sequence.wrapping_sub(*first_sequence) & MAX_SEQUENCE) as usize;
            let Some(of_request) = sent.get_mut(number) else {
                summary.unexpected += 1;
                return;
            };
            let counts = &mut counts[number % 3];
            let kind = CYCLE[number % 3];
            if !kind.answered_by(message_type) {
                summary.unexpected += 1;
                return;
            }
            if std::mem::replace(&mut of_request.answered, true) {
                counts.duplicate += 1;
                return;
            }
            counts.pending -= 1;
            if cause.is_accepted() {
                counts.ok += 1;
                match kind {
                    Kind::Establishment => {
                        live.extend(established(datagram).map(|(_, seid)| seid));
                    }
                    Kind::Deletion => {
                        deleted.insert(first_seid.wrapping_add(step.wrapping_mul((number / 3) as u64)));
                    }
                    _ => {}
                }
            } else {
                counts.rejected += 1;
                *summary.causes.entry(cause.0).or_default() += 1;
            }
            latency.record(kind, now_ns.saturating_sub(of_request.intended_ns));
            service.record(kind, now_ns.saturating_sub(of_request.sent_ns));
        })?;
        Ok(())
    }

    /// Deletes remaining sessions by the SEIDs that the UPF chose. Returns the number of sessions left.
    fn take_down(&mut self) -> Result<u64, LoadError> {
        self.established.retain(|seid| !self.deleted.contains(seid));
        let sequence = self.first_sequence.wrapping_add(self.sent.len() as u32) & MAX_SEQUENCE;
        let patience = self.config.retransmission.t1;
        Ok(take_down::delete_by_name(self.n4, &self.templates, &self.established, sequence, patience)?)
    }

    /// Returns the current number of answered requests.
    fn answered(&self) -> Answered {
        Answered { requests: self.counts.iter().map(Counts::answered).sum(), cycles: self.counts[2].ok }
    }

    /// Completes the results. Rates are based on responses received while messages were sent.
    fn finish(&mut self, sending_ns: u64, in_window: Answered) -> ControlSummary {
        let sessions = self.sent.len() as u64 / 3;
        for (kind, counts) in CYCLE.into_iter().zip(&mut self.counts) {
            counts.lost = std::mem::take(&mut counts.pending);
            let latency = self.latency.times(kind);
            let service = self.service.times(kind);
            let of_kind = request(counts, latency.summary(), service.summary());
            self.summary.requests.insert(kind_name(kind).to_owned(), of_kind);
        }
        let answered = self.answered().requests;
        let explained: u64 = self.counts.iter().map(|counts| counts.answered() + counts.duplicate).sum();
        let deletions = &self.counts[2];
        let mut summary = std::mem::take(&mut self.summary);
        summary.wall_s = sending_ns as f64 / 1e9;
        (summary.due, summary.started) = (sessions, sessions);
        summary.account(self.sent.len() as u64, self.n4.unsent, in_window.requests);
        // A cycle is complete if its deletion was confirmed. No other information about it is available.
        summary.completed = deletions.ok;
        summary.failed = sessions - deletions.ok.min(sessions);
        summary.cycles_per_s = in_window.cycles as f64 / summary.wall_s.max(1e-9);
        summary.answers_per_s = in_window.requests as f64 / summary.wall_s.max(1e-9);
        summary.answers_per_cpu_s = answered as f64 / summary.generator_cpu_s.max(1e-9);
        summary.balanced = self.counts.iter().all(|counts| counts.sent == counts.ended())
            && summary.responses == explained + summary.unexpected + summary.malformed;
        summary
    }
}

/// Reads type, sequence number and cause of a response. Usual responses are read by the fast parser; other responses, such as those with
/// usage reports, are fully decoded.
pub(super) fn read(datagram: &[u8]) -> Option<(u8, u32, Cause)> {
    if let Some(response) = Response::read(datagram) {
        return Some((response.message_type, response.sequence, response.cause.unwrap_or(Cause::ACCEPTED)));
    }
    let (pdu, _) = decode(datagram).ok()?;
    let cause = match &pdu.message {
        Message::SessionEstablishmentResponse(response) => response.cause,
        Message::SessionModificationResponse(response) => response.cause,
        Message::SessionDeletionResponse(response) => response.cause,
        _ => return None,
    };
    Some((pdu.header.message_type, pdu.header.sequence, cause))
}

/// Returns sequence number and UPF SEID of an establishment response. Other elements of the response are ignored.
fn established(datagram: &[u8]) -> Option<(u32, u64)> {
    if let Some(response) = Response::read(datagram) {
        return Some((response.sequence, response.up_seid?));
    }
    let (pdu, _) = decode(datagram).ok()?;
    let Message::SessionEstablishmentResponse(response) = pdu.message else { return None };
    Some((pdu.header.sequence, response.up_f_seid?.seid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_upf::pfcp::{
        CreatedPdr, FSeid, HeartbeatRequest, SessionDeletionResponse, SessionEstablishmentResponse,
        SessionModificationResponse, UeIpAddress, UsageReport, encode,
    };
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn seid_is_read_despite_additional_elements() {
        let up_f_seid = Some(FSeid { seid: 9, addresses: IpAddr::V4(Ipv4Addr::LOCALHOST).into() });
        let plain = SessionEstablishmentResponse { cause: Cause::ACCEPTED, up_f_seid, ..Default::default() };
        // go-upf returns the UE's address in a rule for which no tunnel was chosen.
        let ue_ip_addresses = vec![UeIpAddress::default()];
        let created_pdrs = vec![CreatedPdr { ue_ip_addresses, ..Default::default() }];
        let more = SessionEstablishmentResponse { created_pdrs, ..plain.clone() };
        for response in [plain, more] {
            assert_eq!(established(&encode(response, Some(7), 5).unwrap()), Some((5, 9)));
        }
        let other = SessionModificationResponse { cause: Cause::ACCEPTED, ..Default::default() };
        assert_eq!(established(&encode(other, Some(7), 5).unwrap()), None);
    }

    #[test]
    fn responses_are_read_and_requests_are_ignored() {
        let usual = SessionModificationResponse { cause: Cause::ACCEPTED, ..Default::default() };
        let usual = encode(usual, Some(7), 5).unwrap();
        assert_eq!(read(&usual), Some((message_type::SESSION_MODIFICATION_RESPONSE, 5, Cause::ACCEPTED)));
        let usage_reports = vec![UsageReport::default()];
        let more = SessionDeletionResponse { cause: Cause(64), usage_reports, ..Default::default() };
        let more = encode(more, Some(7), 6).unwrap();
        assert_eq!(read(&more), Some((message_type::SESSION_DELETION_RESPONSE, 6, Cause(64))));
        let request = encode(HeartbeatRequest::default(), None, 1).unwrap();
        assert_eq!(read(&request).map(|(_, _, cause)| cause), None);
        for cut in 0..more.len() {
            let _ = read(&more[..cut]);
        }
        assert_eq!(read(&more[..3]), None);
    }
}
