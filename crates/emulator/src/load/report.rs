//! What a load has found, in figures.
use super::data::{DataReport, Traffic};
use super::frames::AfXdpSummary;
use super::meter::Summary;
use super::network::NetworkReport;
use super::outcome::{CycleReport, Second};
use super::silence::Silence;
use super::sizes::least_of;
use super::tally::Tally;
use ranlab_upf::n4::{Counts, Kind, Ledger};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

mod drift;
mod join;

use drift::drift;

/// A generator whose requests or packets were later than this, at the 99th percentile, was off its schedule.
const LATE_US: f64 = 1_000.0;

/// The kinds of requests as reports spell them.
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

/// Which way packets went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

/// Whether one packet came through in each direction; `None`: nobody could see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Smoke {
    /// From the UE.
    pub uplink: Option<bool>,
    /// To the UE.
    pub downlink: Option<bool>,
}

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// Requests, retransmissions not counted.
    pub sent: u64,
    /// Accepted at the first sending.
    pub ok: u64,
    /// Accepted after it was sent again.
    pub retransmitted: u64,
    /// Refused.
    pub rejected: u64,
    /// Answered after it was given up.
    pub late: u64,
    /// Given up.
    pub lost: u64,
    /// Neither answered nor given up at the end.
    pub pending: u64,
    /// Further answers.
    pub duplicate: u64,
    /// Datagrams sent again.
    pub retransmissions: u64,
    /// From the intended time, microseconds.
    pub latency_us: Option<Summary>,
    /// From the sending, microseconds.
    pub service_us: Option<Summary>,
}

/// The control plane's part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlSummary {
    /// How long sessions were begun, seconds: rates are of this time, without that in which the last answers come.
    pub wall_s: f64,
    /// Sessions due by the schedule, begun or not; in a closed loop, those begun.
    pub due: u64,
    /// Sessions begun.
    pub started: u64,
    /// Sessions that went as they should.
    pub completed: u64,
    /// Sessions of which a request was rejected or lost.
    pub failed: u64,
    /// Of these, sessions whose uplink tunnel the UPF was to choose: it named none that can be used.
    #[serde(default)]
    pub without_tunnel: u64,
    /// Sessions that a restart of the UPF ended.
    pub restarted: u64,
    /// Restarts of the UPF that were noticed.
    pub restarts: u64,
    /// How long each session was held, seconds.
    pub hold_s: f64,
    /// Sessions completed in a second of a window as long as that of sending, which begins a hold later: none can be completed
    /// before the first one's is over.
    pub cycles_per_s: f64,
    /// Requests answered in a second of the sending window.
    pub answers_per_s: f64,
    /// Sessions by which the number of those that wait for a response grew in the second half of the window, those that could
    /// not be begun for that reason included: the UPF does not keep up.
    pub backlog: u64,
    /// Sessions that were due and could not be begun because too many waited for a response.
    pub held_back: u64,
    /// Requests that were to be made in the time that is measured, those of sessions that were due and not begun counted as one
    /// each: the offered load.
    pub requests_offered: u64,
    /// Of these, the ones that the own kernel took, further sendings not counted.
    pub requests_accepted: u64,
    /// Of these, the ones that the UPF answered, whatever it said.
    pub requests_acknowledged: u64,
    /// Requests of each kind.
    pub requests: BTreeMap<String, RequestSummary>,
    /// Refusals and late answers by cause.
    pub causes: BTreeMap<u8, u64>,
    /// Responses received.
    pub responses: u64,
    /// Responses that nobody asked for.
    pub unexpected: u64,
    /// Responses that could not be read.
    pub malformed: u64,
    /// Association releases that went unanswered: the UPF may hold the association.
    pub releases_unanswered: u64,
    /// Sessions whose deletion the UPF has not confirmed: it may hold them.
    pub left_behind: u64,
    /// Every request and every response is in exactly one of the counts.
    pub balanced: bool,
    /// From a session's intended begin to its last answer, the hold not counted, microseconds.
    pub cycle_us: Option<Summary>,
    /// How late the generator was, microseconds.
    pub lag_us: Option<Summary>,
    /// Times that something due could not be sent: too many requests under way, or no session free.
    pub refused: u64,
    /// Sessions at most.
    pub live_peak: usize,
    /// Session reports about waiting packets, and about usage.
    pub reports: [u64; 2],
    /// CPU time of the SMFs' threads, seconds.
    pub generator_cpu_s: f64,
    /// Requests answered for each second of that.
    pub answers_per_cpu_s: f64,
    /// CPU time of the UPF meanwhile, seconds, where its process is known (mode control).
    pub upf_cpu_s: Option<f64>,
    /// Rate of the last third of the seconds over that of the first, and the same of latency; from six seconds on. Of requests
    /// answered; where sessions are held, of sessions completed, from when the first can be.
    pub drift: Option<[f64; 2]>,
    /// By second.
    pub seconds: Vec<Second>,
}

/// Requests and responses of several SMFs.
pub(super) fn control(
    reports: &CycleReport,
    ledgers: &[Ledger],
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
        balanced: ledgers.iter().all(Ledger::balanced),
        ..Default::default()
    };
    let mut answers = 0;
    for kind in Kind::ALL {
        let mut counts = Counts::default();
        ledgers.iter().for_each(|ledger| add(&mut counts, ledger.of(kind)));
        answers += counts.answered();
        if counts.sent > 0 {
            let (latency, service) = (reports.latency.of(kind), reports.service.of(kind));
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
    /// How far requests came: of those made, the kernel had no room for some.
    pub(super) fn account(&mut self, made: u64, unsent: u64, answered: u64) {
        self.requests_offered = made + self.due.saturating_sub(self.started);
        self.requests_accepted = made.saturating_sub(unsent);
        self.requests_acknowledged = answered;
    }

    /// Each session was held for so long.
    pub(super) fn held(&mut self, hold: Duration) {
        self.hold_s = hold.as_secs_f64();
        self.drift = drift(&self.seconds, self.hold_s);
    }

    /// Requests that were made and that the own kernel did not take.
    pub fn requests_refused(&self) -> u64 {
        let made = self.requests_offered.saturating_sub(self.due.saturating_sub(self.started));
        made.saturating_sub(self.requests_accepted)
    }
}

fn add(sum: &mut Counts, more: &Counts) {
    sum.sent += more.sent;
    sum.pending += more.pending;
    sum.ok += more.ok;
    sum.retransmitted += more.retransmitted;
    sum.rejected += more.rejected;
    sum.late += more.late;
    sum.lost += more.lost;
    sum.duplicate += more.duplicate;
    sum.retransmissions += more.retransmissions;
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

/// Packets of one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// Packets that were due, whether they left or not: the offered load. Flat out, those that were tried.
    pub offered: u64,
    /// Packets that left: the own kernel accepted them.
    pub sent: u64,
    /// Numbers that arrived, each once.
    pub received: u64,
    /// Numbers that did not, of those that somebody looked for.
    pub lost: u64,
    /// Packets that nobody looked for: no data network of ours was there, and they had not asked to be reflected, or nobody
    /// reflects.
    pub unseen: u64,
    /// Where no data network of ours sees what arrives: packets that asked to be reflected, which alone most reflectors send
    /// back.
    pub asked_back: Option<u64>,
    /// Packets whose number had come before.
    pub duplicates: u64,
    /// Packets overtaken.
    pub reordered: u64,
    /// Streams in which something was lost, repeated or overtaken.
    pub streams_disturbed: u64,
    /// Packets that the generator's own kernel refused.
    pub unsent: u64,
    /// Packets that were due when no session was live.
    pub idle: u64,
    /// Offered rate, packets per second; `None`: as fast as it goes.
    pub asked_pps: Option<f64>,
    /// What was sent, packets per second.
    pub offered_pps: f64,
    /// What arrived, packets per second.
    pub received_pps: f64,
    /// What arrived, bits per second of the user's IP packets.
    pub received_bps: f64,
    /// From the intended time, microseconds: one way where both ends have one clock, there and back where reflected.
    pub delay_us: Option<Summary>,
    /// How late packets were sent, microseconds.
    pub lag_us: Option<Summary>,
    /// Packets of other runs, or that were none.
    pub strangers: u64,
}

impl DataSummary {
    /// What was due, but for what no session was live for.
    fn offer(&mut self, seconds: f64) {
        let asked = self.asked_pps.map_or(0, |rate| (rate * seconds) as u64).saturating_sub(self.idle);
        self.offered = asked.max(self.sent + self.unsent);
    }

    /// Packets lost of those that somebody looked for; `None`: there were none.
    pub fn lost_ratio(&self) -> Option<f64> {
        let looked_for = self.sent - self.unseen.min(self.sent);
        (looked_for > 0).then(|| self.lost as f64 / looked_for as f64)
    }
}

pub(super) struct Sides<'a> {
    pub(super) gnb: &'a DataReport,
    pub(super) network: Option<&'a NetworkReport>,
    /// Whether the smoke packet came back: somebody reflects.
    pub(super) reflected: bool,
    pub(super) seconds: f64,
}

impl Sides<'_> {
    /// What came of a step with these packets asked for.
    pub(super) fn step(&self, up: Option<Traffic>, down: Option<Traffic>, ipv6: bool) -> StepSummary {
        let Self { gnb, network, seconds, .. } = *self;
        let octets = up.map_or(0, |traffic| least_of(traffic.octets, ipv6));
        StepSummary {
            seconds,
            uplink: up.map(|traffic| self.uplink(Some(traffic.packets_per_s), octets, traffic.reflect_every)),
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

    /// Uplink: at the data network where one of ours is, at the base station otherwise, reflected.
    pub(super) fn uplink(&self, asked_pps: Option<f64>, octets: usize, reflect_every: u64) -> DataSummary {
        let tallies = self.network.map_or(&self.gnb.reflected, |network| &network.uplink);
        let delay = self.network.map_or(&self.gnb.round_trip, |network| &network.uplink_delay);
        let mut summary = self.count(&self.gnb.sent, tallies, self.gnb.unsent, asked_pps);
        let received_octets =
            self.network.map_or(summary.received * octets as u64, |network| network.uplink_octets);
        summary.received_bps = received_octets as f64 * 8.0 / self.seconds.max(1e-9);
        // Numbers of a stream go from 0 on.
        let asked = |sent: &u64| if reflect_every > 0 { sent.div_ceil(reflect_every) } else { 0 };
        let asked_back = self.gnb.sent.iter().map(asked).sum();
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

    /// Downlink, at the base stations.
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

/// One step of a load with packets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepSummary {
    /// For QoS: which way, offered and allowed, bits per second.
    pub qos: Option<(Direction, f64, f64)>,
    /// How long packets flowed, seconds.
    pub seconds: f64,
    /// From the UEs.
    pub uplink: Option<DataSummary>,
    /// Uplink packets that asked for it and came back, microseconds there and back.
    pub round_trip_us: Option<Summary>,
    /// To the UEs.
    pub downlink: Option<DataSummary>,
    /// Interruptions by handovers, microseconds: from the last packet in the old tunnel to the first in the new one.
    pub interruption_us: Option<Summary>,
    /// Handovers requested; in mode paging, sessions that fell idle.
    pub handovers: u64,
    /// Handovers (mode paging: sessions to fall idle) that were due by the rate.
    #[serde(default)]
    pub handovers_due: u64,
    /// Those of them for which the load generator came in time; a session that was not ready for one is the system's.
    #[serde(default)]
    pub handovers_tried: u64,
    /// Between two packets to one session, microseconds: no interruption is told more closely.
    pub spacing_us: Option<f64>,
    /// End markers that came.
    pub end_markers: u64,
    /// Packets that came into a tunnel after the handover was asked for.
    pub old_tunnel: u64,
    /// Error indications from the UPF.
    pub error_indications: u64,
    /// CPU time of data threads and data network, seconds.
    pub generator_cpu_s: f64,
}

/// What a load has found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// What was done.
    pub mode: String,
    /// Names the run in its probes.
    pub run: u32,
    /// One packet in each direction, before.
    pub smoke: Smoke,
    /// Requests and sessions.
    pub control: ControlSummary,
    /// Setting up what has to be there before, apart from what is measured.
    pub set_up: Option<ControlSummary>,
    /// What went by AF_XDP, where it was asked for.
    pub af_xdp: Option<AfXdpSummary>,
    /// Packets.
    pub steps: Vec<StepSummary>,
    /// Requests without an end, and responses that nobody asked for or could read: 0 in a sound run. A release that goes
    /// unanswered is told apart.
    pub unexplained: u64,
    /// How long the UPF said nothing although it was asked, if that is worth telling.
    pub silence: Option<Silence>,
    /// When the UPF's process ended, seconds into the run, if it did.
    pub upf_died_s: Option<f64>,
    /// Whether requests and packets left when they were to.
    pub on_schedule: bool,
    /// What a reader should know before using a figure.
    pub warnings: Vec<String>,
}

impl LoadReport {
    /// Whether nothing was sent that was to be measured.
    pub fn is_without_load(&self) -> bool {
        let mut sides = self.steps.iter().flat_map(|step| [&step.uplink, &step.downlink]).flatten();
        if self.steps.is_empty() { self.control.started == 0 } else { sides.all(|side| side.sent == 0) }
    }

    /// Adds the verdicts about the run itself.
    pub(super) fn judge(&mut self) {
        let control = &self.control;
        let asked = control.requests.iter().filter(|(kind, _)| *kind != kind_name(Kind::Release));
        let pending: u64 = asked.map(|(_, of_kind)| of_kind.pending).sum();
        if let Some(died_s) = self.upf_died_s {
            self.warnings.push(format!("the UPF's process ended {died_s:.2} s into the run"));
        }
        self.warnings.extend(self.silence.map(|silence| silence.to_string()));
        if self.is_without_load() {
            self.warnings.push("nothing was sent: there was no load".to_owned());
        }
        // The dead need not answer.
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
                .push("the account of requests does not balance: this is a fault of ranlab".to_owned());
            self.unexplained += 1;
        }
        if control.without_tunnel > 0 {
            self.warnings.push(format!(
                "{} sessions failed because the UPF chose no usable tunnel: no Created PDR with an F-TEID of N3's IP version",
                control.without_tunnel
            ));
        }
        let refused = control.requests_offered.saturating_sub(control.requests_accepted);
        if refused > 0 {
            self.warnings.push(format!(
                "{refused} requests that were due never left: the generator could not send them"
            ));
        }
        self.judge_schedule();
        if let Some([_, latency]) = self.control.drift
            && latency > 1.5
        {
            self.warnings
                .push(format!("latency grew by a factor of {latency:.2} from the first third to the last"));
        }
        self.judge_frames();
    }

    /// Whether everything left when it was due.
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
                    "{what} left late (p99 {:.0} us after their time): the generator could not keep its schedule",
                    lag.p99
                );
                self.warnings.push(late);
            }
        }
        for side in self.steps.iter().flat_map(|step| [&step.uplink, &step.downlink]).flatten() {
            if side.unsent > 0 {
                let unsent = format!("{} packets were refused by the generator's own kernel", side.unsent);
                self.warnings.push(unsent);
            }
            if side.asked_pps.is_some_and(|asked| side.offered_pps < 0.98 * asked) {
                self.on_schedule = false;
                self.warnings.push(format!(
                    "{:.0} packets/s were sent of {:.0} asked for",
                    side.offered_pps,
                    side.asked_pps.unwrap_or(0.0)
                ));
            }
        }
    }

    /// What AF_XDP lost, or left to the kernel.
    fn judge_frames(&mut self) {
        let Some(frames) = &self.af_xdp else { return };
        let lost = frames.rx_dropped + frames.rx_ring_full;
        if lost > 0 {
            let warning = format!(
                "AF_XDP: {lost} frames came and were lost: the generator read too slowly, or they were too long"
            );
            self.warnings.push(warning);
        }
        if frames.around > 0 {
            let warning = format!(
                "AF_XDP: {} packets came around, by the kernel's sockets: as fragments, or to other queues",
                frames.around
            );
            self.warnings.push(warning);
        }
    }
}

#[cfg(test)]
mod tests;
