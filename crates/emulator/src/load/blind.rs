//! The published emulator's load: messages at a fixed distance, no answer waited for, sessions guessed.
//!
//! How the UPF names sessions is learned from two that come and go before; those that follow are taken to go on by the
//! same step.
//! A UPF that numbers otherwise refuses what it does not know, and the report says so.
use super::bench::CYCLE;
use super::cycles::Cycles;
use super::fresh;
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

/// Sessions at most: each takes three of the 24-bit sequence numbers.
const MAX_SESSIONS: usize = MAX_SEQUENCE as usize / 3 - 8;
/// Far from the numbers that the association has used.
const SEQUENCE_DISTANCE: u32 = 1 << 10;
/// Times that the two sessions are asked for that tell how the UPF names them: one lost request is not the end.
const LEARNING: u64 = 4;
/// Messages that may be sent before receiving gets its turn.
const TURN: usize = 64;

/// A message that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    intended_ns: u64,
    sent_ns: u64,
    answered: bool,
}

/// Responses until a time.
#[derive(Debug, Clone, Copy)]
struct Answered {
    requests: u64,
    /// Sessions whose deletion was confirmed.
    cycles: u64,
}

struct Blind<'a> {
    config: &'a LoadConfig,
    n4: &'a mut N4,
    templates: SessionTemplates,
    first_sequence: u32,
    sent: Vec<Sent>,
    counts: [Counts; 3],
    latency: ByKind,
    service: ByKind,
    summary: ControlSummary,
    /// Our tunnel of session 0, and what stands above our sessions' numbers.
    first_teid: u32,
    cp_seids: u64,
    /// Sessions that were accepted, by the UPF's names, and those whose deletion was.
    established: Vec<u64>,
    deleted: BTreeSet<u64>,
    /// The UPF's name of session 0.
    first_seid: u64,
    /// From one session's name to the next one's.
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
    let mut blind = Blind {
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

impl Blind<'_> {
    /// Learns from two sessions how the UPF names them.
    fn learn(&mut self) -> Result<(), LoadError> {
        let (one, two) = (self.come_and_go(4)?, self.come_and_go(2)?);
        self.step = two.wrapping_sub(one);
        self.first_seid = two.wrapping_add(self.step);
        Ok(())
    }

    /// Establishes and deletes one session, with the numbers so far before the first; the UPF's name for it.
    fn come_and_go(&mut self, before: u32) -> Result<u64, LoadError> {
        let patience_ns = self.config.retransmission.t1.as_nanos() as u64;
        let sequence = self.first_sequence.wrapping_sub(before) & MAX_SEQUENCE;
        let mut out = Vec::new();
        self.establishment(0, sequence, &mut out);
        let (begin_ns, mut sendings) = (monotonic_ns(), 0);
        while monotonic_ns() - begin_ns < patience_ns * LEARNING {
            if monotonic_ns() - begin_ns >= patience_ns * sendings {
                self.n4.send_raw(&out)?;
                sendings += 1;
            }
            let mut seid = None;
            self.n4.receive_answers(&mut |datagram| {
                let response = Response::read(datagram).filter(|response| response.sequence == sequence);
                seid = seid.or_else(|| response.and_then(|response| response.up_seid));
            })?;
            if let Some(seid) = seid {
                // Its answer is taken before counting begins.
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
            why: "its establishment was not answered".to_owned(),
        })
    }

    fn establishment(&self, session: u64, sequence: u32, out: &mut Vec<u8>) {
        let ue = UePool { first: self.config.ue }.address(session as usize);
        let uplink_teid = self.first_teid.wrapping_add(session as u32);
        // The pool is of the profile's IP version, which was tried by the session before.
        let _ = self.templates.write_establishment(
            sequence,
            self.cp_seids | (session + 1),
            SessionSpec { ue, uplink_teid },
            out,
        );
    }

    fn send(&mut self, intended_ns: u64, sent_ns: u64) {
        let number = self.sent.len();
        let (session, step) = ((number / 3) as u64, number % 3);
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
        let (established, deleted) = (&mut self.established, &mut self.deleted);
        let (first_seid, step) = (self.first_seid, self.step);
        n4.receive_answers(&mut |datagram| {
            // Nobody here has anything to say to a report; it is no response either.
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
            let (counts, kind) = (&mut counts[number % 3], CYCLE[number % 3]);
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
                        established.extend(Response::read(datagram).and_then(|response| response.up_seid));
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

    /// Deletes what is still there, under its true name; what stays behind.
    fn take_down(&mut self) -> Result<u64, LoadError> {
        self.established.retain(|seid| !self.deleted.contains(seid));
        let sequence = self.first_sequence.wrapping_add(self.sent.len() as u32) & MAX_SEQUENCE;
        let patience = self.config.retransmission.t1;
        Ok(take_down::delete_by_name(self.n4, &self.templates, &self.established, sequence, patience)?)
    }

    /// Requests answered so far.
    fn answered(&self) -> Answered {
        Answered { requests: self.counts.iter().map(Counts::answered).sum(), cycles: self.counts[2].ok }
    }

    /// What came of it; rates are of what was answered while messages were sent.
    fn finish(&mut self, sending_ns: u64, in_window: Answered) -> ControlSummary {
        let sessions = self.sent.len() as u64 / 3;
        for (kind, counts) in CYCLE.into_iter().zip(&mut self.counts) {
            counts.lost = std::mem::take(&mut counts.pending);
            let (latency, service) = (self.latency.of(kind), self.service.of(kind));
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
        // A cycle whose end was confirmed; no more is known of it.
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

/// Type, number and cause of a response: quickly where it is a usual one, decoded where it has more (usage reports).
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

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_upf::pfcp::{
        HeartbeatRequest, SessionDeletionResponse, SessionModificationResponse, UsageReport, encode,
    };

    #[test]
    fn answers_are_read_quickly_or_decoded_and_a_request_is_none() {
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
