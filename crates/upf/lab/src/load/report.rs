//! Results of a load.
use super::data::{DataReport, Traffic};
use super::frames::AfXdpSummary;
use super::meter::Summary;
use super::network::NetworkReport;
use super::outcome::{CycleReport, Second};
use super::paths::PathSummary;
use super::tally::Tally;
use super::unresponsive::Unresponsive;
use ranlab_upf::n4::{Counts, Kind, RequestStats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

mod drift;
mod join;

use drift::drift;
use join::add;

/// Limit of the 99th percentile of the send delay, in microseconds. Above it, the generator was off its schedule.
const LATE_US: f64 = 1_000.0;

/// Returns the name of a request type in reports.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Heartbeat => "heartbeat",
        Kind::Association => "association",
        Kind::Release => "release",
        Kind::Establishment => "establishment",
        Kind::Modification => "modification",
        Kind::Deletion => "deletion",
        Kind::Report => "report",
    }
}

/// Direction of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Packets from the UE.
    Uplink,
    /// Packets to the UE.
    Downlink,
}

/// Result of one test packet in each direction. `None` if the packet could not be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Smoke {
    /// Whether the packet from the UE passed.
    pub uplink: Option<bool>,
    /// Whether the packet to the UE passed.
    pub downlink: Option<bool>,
}

/// Counters of one request type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// Requests, without retransmissions.
    pub sent: u64,
    /// Requests accepted at the first transmission.
    pub ok: u64,
    /// Requests accepted after a retransmission.
    pub retransmitted: u64,
    /// Requests rejected.
    pub rejected: u64,
    /// Requests answered after they were given up.
    pub late: u64,
    /// Requests given up.
    pub lost: u64,
    /// Requests neither answered nor given up at the end.
    pub pending: u64,
    /// Duplicate responses.
    pub duplicate: u64,
    /// Retransmitted datagrams.
    pub retransmissions: u64,
    /// Latency from the scheduled time, in microseconds.
    pub latency_us: Option<Summary>,
    /// Latency from the actual send, in microseconds.
    pub service_us: Option<Summary>,
}

/// Results of the control plane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlSummary {
    /// Duration of the sending window, in seconds. Rates refer to this window, which excludes the time until the last responses arrive.
    pub wall_s: f64,
    /// Sessions due by the schedule, whether they began or not. In a closed loop: sessions that began.
    pub due: u64,
    /// Sessions begun.
    pub started: u64,
    /// Sessions completed as planned.
    pub completed: u64,
    /// Sessions with a rejected or lost request.
    pub failed: u64,
    /// Failed sessions for which the UPF did not return a usable uplink tunnel.
    #[serde(default)]
    pub without_tunnel: u64,
    /// Sessions ended by a restart of the UPF.
    pub restarted: u64,
    /// Detected restarts of the UPF.
    pub restarts: u64,
    /// Hold time of each session, in seconds.
    pub hold_s: f64,
    /// Sessions completed per second. With a hold time, the window is shifted by the hold time, because no session can be completed
    /// earlier.
    pub cycles_per_s: f64,
    /// Requests answered per second of the sending window.
    pub answers_per_s: f64,
    /// Growth of the number of sessions that wait for a response in the second half of the window, plus the sessions that were held back.
    /// If it is positive, the UPF does not keep up.
    pub backlog: u64,
    /// Sessions that were due but could not begin, because too many sessions were waiting for a response.
    pub held_back: u64,
    /// Offered load: requests due in the measured time. A session that was due but did not begin counts as one request.
    pub requests_offered: u64,
    /// Offered requests that our kernel accepted, without retransmissions.
    pub requests_accepted: u64,
    /// Offered requests that the UPF answered, with any cause.
    pub requests_acknowledged: u64,
    /// Counters per request type.
    pub requests: BTreeMap<String, RequestSummary>,
    /// Rejections and late responses, by cause.
    pub causes: BTreeMap<u8, u64>,
    /// Responses received.
    pub responses: u64,
    /// Responses without a request.
    pub unexpected: u64,
    /// Responses that could not be decoded.
    pub malformed: u64,
    /// Association releases without a response. The UPF may still store the association.
    pub releases_unanswered: u64,
    /// Sessions whose deletion the UPF has not confirmed. The UPF may still store them.
    pub left_behind: u64,
    /// Whether every request and every response is in exactly one of the counters.
    pub balanced: bool,
    /// Time from a session's scheduled start to its last response, without the hold time, in microseconds.
    pub cycle_us: Option<Summary>,
    /// Send delay of the generator, in microseconds.
    pub lag_us: Option<Summary>,
    /// Number of due requests that could not be sent because too many were pending or no session was free.
    pub refused: u64,
    /// Maximum number of concurrent sessions.
    pub live_peak: usize,
    /// Numbers of session reports about buffered packets, and about usage.
    pub reports: [u64; 2],
    /// CPU time of the SMF threads, in seconds.
    pub generator_cpu_s: f64,
    /// Requests answered per second of CPU time of the SMF threads.
    pub answers_per_cpu_s: f64,
    /// CPU time of the UPF in the same time, in seconds, if its process is known (mode control).
    pub upf_cpu_s: Option<f64>,
    /// Ratio of the request rate in the last third of the seconds to that in the first third, and the same ratio of the latency. It is
    /// computed if there are at least six seconds. With a hold time, completed sessions replace answered requests, and seconds count from
    /// the first possible completion on.
    pub drift: Option<[f64; 2]>,
    /// Values per second.
    pub seconds: Vec<Second>,
}

/// Combines the counters of several SMFs.
pub(super) fn control(
    reports: &CycleReport,
    ledgers: &[RequestStats],
    wall: Duration,
    cpu: Duration,
) -> ControlSummary {
    let window = reports.window;
    let wall = if window.length.is_zero() { wall } else { window.length };
    let mut summary = ControlSummary {
        wall_s: wall.as_secs_f64(),
        backlog: window.backlog(),
        held_back: window.held_back,
        due: reports.due,
        started: reports.started,
        completed: reports.completed,
        failed: reports.failed,
        without_tunnel: reports.without_tunnel,
        restarted: reports.restarted,
        restarts: reports.restarts,
        cycle_us: reports.cycle.summary(),
        lag_us: reports.lag.summary(),
        refused: reports.refused,
        live_peak: reports.live_peak,
        reports: [reports.data_reports, reports.usage_reports],
        generator_cpu_s: cpu.as_secs_f64(),
        drift: drift(&reports.seconds, 0.0),
        seconds: reports.seconds.clone(),
        balanced: ledgers.iter().all(RequestStats::balanced),
        ..Default::default()
    };
    let mut answers = 0;
    for kind in Kind::ALL {
        let mut counts = Counts::default();
        ledgers.iter().for_each(|ledger| add(&mut counts, ledger.counts(kind)));
        answers += counts.answered();
        if counts.sent > 0 {
            let latency = reports.latency.times(kind);
            let service = reports.service.times(kind);
            let of_kind = request(&counts, latency.summary(), service.summary());
            summary.requests.insert(kind_name(kind).to_owned(), of_kind);
        }
    }
    for ledger in ledgers {
        summary.responses += ledger.responses;
        summary.unexpected += ledger.unexpected;
        summary.malformed += ledger.malformed;
        ledger.causes.iter().for_each(|(cause, n)| *summary.causes.entry(*cause).or_default() += n);
    }
    let wall_s = summary.wall_s.max(1e-9);
    let (completed, measured) = match window.length.is_zero() {
        true => (reports.completed, reports.seconds.iter().map(|second| second.answers).sum()),
        false => (window.completed, window.answered),
    };
    summary.cycles_per_s = completed as f64 / wall_s;
    summary.answers_per_s = measured as f64 / wall_s;
    summary.answers_per_cpu_s = if cpu.is_zero() { 0.0 } else { answers as f64 / cpu.as_secs_f64() };
    summary
}

impl ControlSummary {
    /// Sets the counters of offered, accepted and answered requests.
    pub(super) fn account(&mut self, made: u64, unsent: u64, answered: u64) {
        self.requests_offered = made + self.due.saturating_sub(self.started);
        self.requests_accepted = made.saturating_sub(unsent);
        self.requests_acknowledged = answered;
    }

    /// Sets the hold time of the sessions.
    pub(super) fn held(&mut self, hold: Duration) {
        self.hold_s = hold.as_secs_f64();
        self.drift = drift(&self.seconds, self.hold_s);
    }

    /// Returns the number of requests that our kernel did not accept.
    pub fn requests_refused(&self) -> u64 {
        let made = self.requests_offered.saturating_sub(self.due.saturating_sub(self.started));
        made.saturating_sub(self.requests_accepted)
    }
}

pub(super) fn request(
    counts: &Counts,
    latency_us: Option<Summary>,
    service_us: Option<Summary>,
) -> RequestSummary {
    RequestSummary {
        sent: counts.sent,
        ok: counts.ok,
        retransmitted: counts.retransmitted,
        rejected: counts.rejected,
        late: counts.late,
        lost: counts.lost,
        pending: counts.pending,
        duplicate: counts.duplicate,
        retransmissions: counts.retransmissions,
        latency_us,
        service_us,
    }
}

/// Counters of packets in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// Offered load: packets that were due, whether they were sent or not. At full speed: packets attempted.
    pub offered: u64,
    /// Packets that our kernel accepted.
    pub sent: u64,
    /// Packet numbers received, each counted once.
    pub received: u64,
    /// Observable packets that were not received.
    pub lost: u64,
    /// Packets that could not be observed, because there is no emulated data network, and either the packets did not request reflection or
    /// there is no reflector.
    pub unseen: u64,
    /// Number of packets that requested reflection, which most reflectors require. `None` with an emulated data network.
    pub asked_back: Option<u64>,
    /// Packets whose number was already received.
    pub duplicates: u64,
    /// Packets received out of order.
    pub reordered: u64,
    /// Streams with lost, duplicate or reordered packets.
    pub streams_disturbed: u64,
    /// Packets that our kernel rejected.
    pub unsent: u64,
    /// Packets that were due while no session was live.
    pub idle: u64,
    /// Requested rate, in packets per second. `None`: maximum speed.
    pub asked_pps: Option<f64>,
    /// Sent packets per second.
    pub offered_pps: f64,
    /// Received packets per second.
    pub received_pps: f64,
    /// Received bit rate of the user's IP packets, in bit/s.
    pub received_bps: f64,
    /// Delay from the scheduled time, in microseconds. It is one-way if both ends share a clock, and round-trip if packets are reflected.
    pub delay_us: Option<Summary>,
    /// Send delay, in microseconds.
    pub lag_us: Option<Summary>,
    /// Packets of other runs, and packets without a probe.
    pub strangers: u64,
}

impl DataSummary {
    /// Computes the number of offered packets. Excludes packets that were due while no session was live.
    fn offer(&mut self, seconds: f64) {
        let requested = self.asked_pps.map_or(0, |rate| (rate * seconds) as u64).saturating_sub(self.idle);
        self.offered = requested.max(self.sent + self.unsent);
    }

    /// Returns the fraction of observable packets that were lost. `None` without observable packets.
    pub fn lost_ratio(&self) -> Option<f64> {
        let looked_for = self.sent - self.unseen.min(self.sent);
        (looked_for > 0).then(|| self.lost as f64 / looked_for as f64)
    }
}

pub(super) struct Sides<'a> {
    pub(super) gnb: &'a DataReport,
    pub(super) network: Option<&'a NetworkReport>,
    /// Whether the smoke packet came back, so that there is a reflector.
    pub(super) reflected: bool,
    pub(super) seconds: f64,
}

impl Sides<'_> {
    /// Returns the results of a step in which the given packets were offered.
    pub(super) fn step(&self, up: Option<Traffic>, down: Option<Traffic>) -> StepSummary {
        let Self { gnb, network, seconds, .. } = *self;
        StepSummary {
            seconds,
            uplink: up.map(|traffic| self.uplink(Some(traffic.packets_per_s), traffic.reflect_every)),
            round_trip_us: gnb.round_trip.summary(),
            downlink: self.downlink(down.map(|traffic| traffic.packets_per_s)),
            interruption_us: gnb.interruption.summary(),
            end_markers: gnb.end_markers,
            old_tunnel: gnb.old_tunnel,
            error_indications: gnb.error_indications,
            generator_cpu_s: (gnb.cpu + network.map_or(Duration::ZERO, |network| network.cpu)).as_secs_f64(),
            ..StepSummary::default()
        }
    }

    /// Returns the uplink results. Packets are received by the emulated data network if there is one. Otherwise only reflected packets are
    /// observed.
    pub(super) fn uplink(&self, asked_pps: Option<f64>, reflect_every: u64) -> DataSummary {
        let tallies = self.network.map_or(&self.gnb.reflected, |network| &network.uplink);
        let delay = self.network.map_or(&self.gnb.round_trip, |network| &network.uplink_delay);
        let mut summary = self.count(&self.gnb.sent, tallies, self.gnb.unsent, asked_pps);
        let received_octets = self.network.map_or(self.gnb.reflected_octets, |network| network.uplink_octets);
        summary.received_bps = received_octets as f64 * 8.0 / self.seconds.max(1e-9);
        // Packet numbers of a stream begin at 0.
        let reflected = |sent: &u64| if reflect_every > 0 { sent.div_ceil(reflect_every) } else { 0 };
        let asked_back = self.gnb.sent.iter().map(reflected).sum();
        if self.network.is_none() {
            let looked_for = match summary.received {
                _ if self.gnb.unasked > 0 => summary.sent,
                0 if !self.reflected => 0,
                received => received.max(asked_back),
            };
            summary.asked_back = Some(asked_back);
            summary.unseen = summary.sent.saturating_sub(looked_for);
            summary.lost = (summary.sent - summary.unseen).saturating_sub(summary.received);
        }
        summary.idle = self.gnb.idle;
        summary.offer(self.seconds);
        summary.delay_us = delay.summary();
        summary.lag_us = self.gnb.lag.summary();
        summary.strangers = self.network.map_or(0, |network| network.strangers);
        summary
    }

    /// Returns the downlink results, received by the base stations.
    pub(super) fn downlink(&self, asked_pps: Option<f64>) -> Option<DataSummary> {
        let network = self.network.filter(|network| network.sent.iter().any(|sent| *sent > 0))?;
        let mut summary = self.count(&network.sent, &self.gnb.downlink, network.unsent, asked_pps);
        summary.received_bps = self.gnb.downlink_octets as f64 * 8.0 / self.seconds.max(1e-9);
        summary.idle = network.idle;
        summary.offer(self.seconds);
        summary.delay_us = self.gnb.downlink_delay.summary();
        summary.lag_us = network.lag.summary();
        summary.strangers = self.gnb.strangers;
        Some(summary)
    }

    fn count(&self, sent: &[u64], tallies: &[Tally], unsent: u64, asked_pps: Option<f64>) -> DataSummary {
        let queued: u64 = sent.iter().sum();
        let sum = |what: &dyn Fn(&Tally) -> u64| tallies.iter().map(what).sum::<u64>();
        let disturbed = sent.iter().zip(tallies).filter(|(sent, tally)| {
            tally.distinct() != **sent || tally.duplicates > 0 || tally.reordered > 0
        });
        let left = queued.saturating_sub(unsent);
        let received = sum(&Tally::distinct);
        DataSummary {
            sent: left,
            received,
            lost: left.saturating_sub(received),
            duplicates: sum(&|tally| tally.duplicates),
            reordered: sum(&|tally| tally.reordered),
            streams_disturbed: disturbed.count() as u64,
            unsent,
            asked_pps: asked_pps.filter(|rate| rate.is_finite()),
            offered_pps: left as f64 / self.seconds.max(1e-9),
            received_pps: received as f64 / self.seconds.max(1e-9),
            ..Default::default()
        }
    }
}

/// Results of one step of a load with packets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepSummary {
    /// Parameters of a QoS measurement: direction, offered rate and allowed rate, both in bit/s.
    pub qos: Option<(Direction, f64, f64)>,
    /// Duration of sending, in seconds.
    pub seconds: f64,
    /// Results of packets from the UEs.
    pub uplink: Option<DataSummary>,
    /// Round-trip time of uplink packets that requested reflection, in microseconds.
    pub round_trip_us: Option<Summary>,
    /// Results of packets to the UEs.
    pub downlink: Option<DataSummary>,
    /// Interruptions by handovers, in microseconds. An interruption lasts from the last packet in the old tunnel to the first packet in the
    /// new tunnel.
    pub interruption_us: Option<Summary>,
    /// Handovers requested. In mode paging: sessions made idle.
    pub handovers: u64,
    /// Handovers due by the rate. In mode paging: sessions due to become idle.
    #[serde(default)]
    pub handovers_due: u64,
    /// Due handovers that the load generator attempted in time. An attempt fails if the session is not ready, which is due to the system
    /// under test.
    #[serde(default)]
    pub handovers_tried: u64,
    /// Interval between two packets of one session, in microseconds. It limits the resolution of interruptions.
    pub spacing_us: Option<f64>,
    /// End markers received.
    pub end_markers: u64,
    /// Packets received in the old tunnel after the handover was requested.
    pub old_tunnel: u64,
    /// Error indications from the UPF.
    pub error_indications: u64,
    /// CPU time of data threads and data network, in seconds.
    pub generator_cpu_s: f64,
}

/// Results of a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Name of the mode.
    pub mode: String,
    /// Number of the run, which its probes contain.
    pub run: u32,
    /// Result of one packet in each direction before the measurement.
    pub smoke: Smoke,
    /// Results of requests and sessions.
    pub control: ControlSummary,
    /// Results of the setup, which is not part of the measurement. `None` without a setup.
    pub set_up: Option<ControlSummary>,
    /// AF_XDP statistics, if AF_XDP is used.
    pub af_xdp: Option<AfXdpSummary>,
    /// Results of the N3 paths, if Echo messages were exchanged.
    #[serde(default)]
    pub n3: Option<PathSummary>,
    /// Results of packets, per step.
    pub steps: Vec<StepSummary>,
    /// Requests without an outcome, and unexpected or undecodable responses. The number is 0 in a correct run. A release without a response
    /// is counted separately.
    pub unexplained: u64,
    /// Longest time for which the UPF did not respond, if it is notable.
    pub silence: Option<Unresponsive>,
    /// Time at which the UPF's process exited, in seconds since the start of the run.
    pub upf_died_s: Option<f64>,
    /// Whether requests and packets were sent on schedule.
    pub on_schedule: bool,
    /// Warnings that qualify the results.
    pub warnings: Vec<String>,
}

impl LoadReport {
    /// Returns whether none of the messages or packets to be measured were sent.
    pub fn is_without_load(&self) -> bool {
        let mut sides = self.steps.iter().flat_map(|step| [&step.uplink, &step.downlink]).flatten();
        if self.steps.is_empty() { self.control.started == 0 } else { sides.all(|side| side.sent == 0) }
    }

    /// Assesses the whole run: adds warnings, and counts unexplained messages.
    pub(super) fn judge(&mut self) {
        let control = &self.control;
        let requests = control.requests.iter().filter(|(kind, _)| *kind != kind_name(Kind::Release));
        let pending: u64 = requests.map(|(_, of_kind)| of_kind.pending).sum();
        if let Some(died_s) = self.upf_died_s {
            self.warnings.push(format!("the UPF's process ended {died_s:.2} s into the run"));
        }
        self.warnings.extend(self.silence.map(|silence| silence.to_string()));
        if self.is_without_load() {
            self.warnings.push("nothing was sent: there was no load".to_owned());
        }
        // Pending requests are expected if the UPF has exited.
        let pending = if self.upf_died_s.is_none() { pending } else { 0 };
        self.unexplained = pending + control.unexpected + control.malformed;
        if control.left_behind > 0 {
            self.warnings.push(format!(
                "{} sessions may be left behind: the UPF did not confirm their deletion",
                control.left_behind
            ));
        }
        if !control.balanced {
            self.warnings
                .push("the request counters are inconsistent: this is a defect of ranlab".to_owned());
            self.unexplained += 1;
        }
        if control.without_tunnel > 0 {
            self.warnings.push(format!(
                "{} sessions failed because the UPF chose no usable tunnel: its responses have no Created PDR with an F-TEID of N3's IP version",
                control.without_tunnel
            ));
        }
        self.warnings.extend(self.n3.as_ref().and_then(PathSummary::warning));
        let refused = control.requests_offered.saturating_sub(control.requests_accepted);
        if refused > 0 {
            self.warnings.push(format!(
                "{refused} due requests were never sent, because the generator could not send them"
            ));
        }
        self.judge_schedule();
        let grown = self.control.drift.map(|[_, latency]| latency).filter(|latency| *latency > 1.5);
        self.warnings.extend(grown.map(|latency| {
            format!(
                "latency grew by a factor of {latency:.2} from the first third of the run to the last third"
            )
        }));
        self.judge_frames();
    }

    /// Checks that everything was sent on schedule.
    fn judge_schedule(&mut self) {
        let mut lags = vec![("requests", self.control.lag_us.as_ref())];
        for step in &self.steps {
            lags.push(("uplink packets", step.uplink.as_ref().and_then(|side| side.lag_us.as_ref())));
            lags.push(("downlink packets", step.downlink.as_ref().and_then(|side| side.lag_us.as_ref())));
        }
        self.on_schedule = true;
        for (what, lag) in lags.into_iter().filter_map(|(what, lag)| Some((what, lag?))) {
            if lag.p99 > LATE_US {
                self.on_schedule = false;
                let late = format!(
                    "{what} were sent late (p99 {:.0} us after the scheduled time): the generator could not keep its schedule",
                    lag.p99
                );
                self.warnings.push(late);
            }
        }
        for side in self.steps.iter().flat_map(|step| [&step.uplink, &step.downlink]).flatten() {
            if side.unsent > 0 {
                let unsent =
                    format!("{} packets were refused by the kernel of the generator's machine", side.unsent);
                self.warnings.push(unsent);
            }
            if side.asked_pps.is_some_and(|requested| side.offered_pps < 0.98 * requested) {
                self.on_schedule = false;
                self.warnings.push(format!(
                    "only {:.0} packets/s were sent, although {:.0} packets/s were requested",
                    side.offered_pps,
                    side.asked_pps.unwrap_or(0.0)
                ));
            }
        }
    }

    /// Adds warnings about frames that AF_XDP lost or left to the kernel.
    fn judge_frames(&mut self) {
        let Some(frames) = &self.af_xdp else { return };
        let lost = frames.rx_dropped + frames.rx_ring_full;
        if lost > 0 {
            let warning = format!(
                "AF_XDP: {lost} received frames were lost: the generator read them too slowly, or they were too long"
            );
            self.warnings.push(warning);
        }
        if frames.around > 0 {
            let warning = format!(
                "AF_XDP: {} packets arrived through sockets of the kernel instead of AF_XDP, because they were fragments or in other queues",
                frames.around
            );
            self.warnings.push(warning);
        }
    }
}

#[cfg(test)]
mod tests;
