//! N3 paths: Echo Requests of base stations (TS 29.281 §7.2.1) and their outcomes.
use super::meter::{Summary, Times};
use ranlab_packet::gtpu::{Message, Packet, encode_message, message_type};
use serde::{Deserialize, Serialize};

/// Number of consecutive Echo Requests without a response after which a path has failed (N3-REQUESTS of TS 29.281
/// §12).
const UNANSWERED: u8 = 3;

/// Returns the response to an Echo Request (TS 29.281 §7.2.2); `None` for any other datagram.
pub(super) fn echo_response(datagram: &[u8]) -> Option<Vec<u8>> {
    if datagram.get(1) != Some(&message_type::ECHO_REQUEST) {
        return None;
    }
    let packet = Packet::parse(datagram).ok()?;
    let mut out = Vec::new();
    let response = Message::EchoResponse { recovery: 0 };
    encode_message(&response, 0, packet.sequence.or(Some(0)), &mut out).ok()?;
    Some(out)
}

/// Counters of the paths.
#[derive(Debug, Clone, Default)]
pub(super) struct PathReport {
    sent: u64,
    answered: u64,
    failures: u64,
    round_trip: Times,
    /// Number of Echo Requests of the UPF. Each was answered.
    pub(super) echoes: u64,
}

impl PathReport {
    pub(super) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.failures += other.failures;
        self.round_trip.add(&other.round_trip);
        self.echoes += other.echoes;
    }

    /// Returns the summary; `None` if there was no Echo message.
    pub(super) fn summary(&self) -> Option<PathSummary> {
        let is_used = self.sent + self.echoes > 0;
        is_used.then(|| PathSummary {
            echo_requests: self.sent,
            echo_responses: self.answered,
            path_failures: self.failures,
            answered_requests: self.echoes,
            round_trip_us: self.round_trip.summary(),
        })
    }
}

/// The paths between base stations and UPF.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PathSummary {
    /// Echo Requests sent by base stations.
    pub echo_requests: u64,
    /// Echo Responses received from the UPF.
    pub echo_responses: u64,
    /// Number of times that three consecutive Echo Requests had no response.
    pub path_failures: u64,
    /// Echo Requests received from the UPF and answered.
    pub answered_requests: u64,
    /// Time from an Echo Request to its response, in microseconds.
    pub round_trip_us: Option<Summary>,
}

impl PathSummary {
    /// Returns a warning about failures, if there were any.
    pub(super) fn warning(&self) -> Option<String> {
        let failures = self.path_failures;
        let text = "three consecutive Echo Requests of a base station got no response";
        (failures > 0).then(|| format!("paths on N3 failed {failures} times: {text}"))
    }

    /// Adds the counters of another thread.
    pub(super) fn join(&mut self, other: &Self) {
        self.echo_requests += other.echo_requests;
        self.echo_responses += other.echo_responses;
        self.path_failures += other.path_failures;
        self.answered_requests += other.answered_requests;
        match (&mut self.round_trip_us, &other.round_trip_us) {
            (Some(mine), Some(more)) => mine.join(more),
            (mine @ None, more) => mine.clone_from(more),
            (Some(_), None) => {}
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Path {
    gnb: usize,
    due_ns: u64,
    sequence: u16,
    /// Send time of the pending request, in nanoseconds.
    open_ns: Option<u64>,
    unanswered: u8,
}

/// Supervises the paths of some base stations.
#[derive(Debug)]
pub(super) struct Supervisor {
    interval_ns: u64,
    paths: Vec<Path>,
    pub(super) report: PathReport,
}

impl Supervisor {
    /// Creates a supervisor whose first requests are due now.
    pub(super) fn new(now_ns: u64, interval_ns: u64, gnbs: impl Iterator<Item = usize>) -> Self {
        let path = |gnb| Path { gnb, due_ns: now_ns, sequence: 0, open_ns: None, unanswered: 0 };
        Self { interval_ns, paths: gnbs.map(path).collect(), report: PathReport::default() }
    }

    /// Returns the time of the next request.
    pub(super) fn due_ns(&self) -> u64 {
        self.paths.iter().map(|path| path.due_ns).min().unwrap_or(u64::MAX)
    }

    /// Returns the next request that is due, and its base station.
    pub(super) fn request(&mut self, now_ns: u64) -> Option<(usize, Vec<u8>)> {
        let Self { interval_ns, paths, report } = self;
        let path = paths.iter_mut().find(|path| path.due_ns <= now_ns)?;
        if path.open_ns.is_some() {
            path.unanswered = path.unanswered.saturating_add(1);
            report.failures += u64::from(path.unanswered == UNANSWERED);
        }
        path.due_ns = now_ns + *interval_ns;
        path.sequence = path.sequence.wrapping_add(1);
        path.open_ns = Some(now_ns);
        report.sent += 1;
        let mut out = Vec::new();
        // Encoding cannot fail, because a message of fixed content always fits.
        let _ = encode_message(&Message::EchoRequest, 0, Some(path.sequence), &mut out);
        Some((path.gnb, out))
    }

    /// Handles a response to a base station. Ignores unexpected responses.
    pub(super) fn response(&mut self, now_ns: u64, gnb: usize, sequence: Option<u16>) {
        let Self { paths, report, .. } = self;
        let mut waiting = paths.iter_mut().filter(|path| path.gnb == gnb && Some(path.sequence) == sequence);
        let Some(path) = waiting.next() else { return };
        if let Some(sent_ns) = path.open_ns.take() {
            path.unanswered = 0;
            report.answered += 1;
            report.round_trip.record(now_ns.saturating_sub(sent_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn sequence(datagram: &[u8]) -> Option<u16> {
        let packet = Packet::parse(datagram).unwrap();
        assert_eq!((packet.message_type, packet.teid), (message_type::ECHO_REQUEST, 0));
        packet.sequence
    }

    #[test]
    fn each_base_station_sends_echo_at_interval() {
        let mut supervisor = Supervisor::new(0, SECOND, [0, 2].into_iter());
        let mut requests = Vec::new();
        for now in 0..3 {
            while let Some((gnb, datagram)) = supervisor.request(now * SECOND) {
                requests.push((now, gnb));
                supervisor.response(now * SECOND + 1_000, gnb, sequence(&datagram));
            }
        }
        assert_eq!(requests, [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 2)]);
        let summary = supervisor.report.summary().unwrap();
        assert_eq!((summary.echo_requests, summary.echo_responses, summary.path_failures), (6, 6, 0));
        assert_eq!(supervisor.due_ns(), 3 * SECOND);
    }

    #[test]
    fn silent_path_fails_once_until_next_response() {
        let mut supervisor = Supervisor::new(0, SECOND, [5].into_iter());
        let mut last = None;
        for now in 0..8 {
            last = supervisor.request(now * SECOND).and_then(|(_, datagram)| sequence(&datagram));
        }
        assert_eq!(supervisor.report.failures, 1);
        supervisor.response(8 * SECOND, 5, last.map(|sequence| sequence.wrapping_sub(1)));
        supervisor.response(8 * SECOND, 4, last);
        assert_eq!(
            supervisor.report.answered, 0,
            "an old response and a response to another base station do not count"
        );
        supervisor.response(8 * SECOND, 5, last);
        supervisor.response(8 * SECOND, 5, last);
        assert_eq!(supervisor.report.answered, 1);
        for now in 9..14 {
            supervisor.request(now * SECOND);
        }
        assert_eq!(supervisor.report.failures, 2);
    }

    #[test]
    fn path_summaries_of_locations_add_up() {
        let mut sum = PathSummary { echo_requests: 1, path_failures: 1, ..Default::default() };
        let mut times = Times::default();
        times.record(1_000);
        let round_trip_us = times.summary();
        sum.join(&PathSummary {
            echo_requests: 2,
            answered_requests: 3,
            round_trip_us,
            ..Default::default()
        });
        assert_eq!((sum.echo_requests, sum.path_failures, sum.answered_requests), (3, 1, 3));
        assert!(sum.round_trip_us.is_some());
    }
}
