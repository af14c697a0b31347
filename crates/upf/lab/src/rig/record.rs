//! Metrics and outcome of a repeat, from the report of the load.

use std::time::Duration;

use crate::load::{ControlSummary, DataSummary, LoadReport, StepSummary, Summary};
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{LimitViolation, Outcome, Run};

use ranlab_lab::experiment::harness::{self, BACKLOG_AT_MOST};

/// Request types of a session.
const KINDS: [&str; 3] = ["establishment", "modification", "deletion"];

/// Records the report of the load, and determines the outcome of the repeat.
pub(super) fn record(run: &Run<'_>, recorder: &mut Recorder, report: &LoadReport) -> Outcome {
    let control = &report.control;
    latencies(recorder, report);
    seconds(recorder, run, report);
    let per_s = |count: u64| count as f64 / control.wall_s.max(1e-9);
    let handovers = |of: fn(&StepSummary) -> u64| report.steps.iter().map(of).sum::<u64>();
    let handovers_due = handovers(|step| step.handovers_due);
    let paced = |count: u64| Some(per_s(count)).filter(|_| handovers_due > 0);
    for (name, value) in [
        ("sessions_per_s", Some(control.cycles_per_s)),
        ("responses_per_s", Some(control.answers_per_s)),
        ("sessions_due_per_s", Some(per_s(control.due))),
        ("sessions_begun_per_s", Some(per_s(control.started))),
        ("requests_offered_per_s", Some(per_s(control.requests_offered))),
        ("requests_accepted_per_s", Some(per_s(control.requests_accepted))),
        ("requests_acknowledged_per_s", Some(per_s(control.requests_acknowledged))),
        ("handovers_offered_per_s", paced(handovers_due)),
        ("handovers_accepted_per_s", paced(handovers(|step| step.handovers))),
        ("upf_unresponsive_s", Some(report.silence.map_or(0.0, |silence| silence.for_s))),
        ("requests_unaccounted", Some(report.unexplained as f64)),
        ("sessions_not_deleted", Some(control.left_behind as f64)),
        ("live_sessions", Some(control.live_peak as f64)),
        ("drift_rate", control.drift.map(|[rate, _]| rate)),
        ("drift_latency", control.drift.map(|[_, latency]| latency)),
        ("sessions_setup_per_s", report.set_up.as_ref().map(|set_up| set_up.cycles_per_s)),
        ("sessions_established", report.set_up.as_ref().map(|set_up| set_up.completed as f64)),
        (harness::SEND_DELAY_US_P99, send_delay_us_p99(report)),
        ("tool.responses_per_cpu_s", Some(control.answers_per_cpu_s)),
    ] {
        put(recorder, name, value);
    }
    // A missing response to a release is not a loss, because some UPFs do not respond to releases.
    let requests =
        || control.requests.iter().filter(|(kind, _)| *kind != "release").map(|(_, of_kind)| of_kind);
    let (sent, lost) =
        requests().fold((0, 0), |(sent, lost), of_kind| (sent + of_kind.sent, lost + of_kind.lost));
    let lost_ratio = lost as f64 / sent.max(1) as f64;
    recorder.scalar("requests_lost_ratio", lost_ratio);
    let failed_ratio = control.failed as f64 / control.started.max(1) as f64;
    recorder.scalar("sessions_failed_ratio", failed_ratio);
    let packets_lost: u64 = report.steps.iter().map(|step| packets(recorder, step)).sum();
    let sides = report.steps.iter().flat_map(|step| [&step.uplink, &step.downlink]).flatten();
    let backlog_ratio = backlog_share(control);
    recorder.scalar("backlog_ratio", backlog_ratio);
    // Small values are ignored, because random arrivals alone make the queue slightly longer at the end than in the middle.
    let behind = if backlog_ratio > BACKLOG_AT_MOST { backlog_ratio } else { 0.0 };
    let lost_or_late = lost_ratio.max(failed_ratio).max(behind);
    let worst = sides.filter_map(DataSummary::lost_ratio).fold(lost_or_late, f64::max);
    recorder.scalar("loss_ratio", worst);
    recorder.scalar("tool.unsent_ratio", unsent_share(run, report));
    let packets_lost = if run.text("load.mode") == Some("qos") { 0 } else { packets_lost };
    let without_load = LimitViolation::said(report.is_without_load(), "nothing was sent: there was no load");
    let limit = LimitViolation::above;
    // Only requests that were sent can have overloaded the UPF.
    let refused = control.requests_refused().min(lost);
    let unanswered = (lost - refused) as f64 / (sent - refused).max(1) as f64;
    let overloaded = limit("requests_lost_ratio", unanswered, 0.5);
    recorder.judge([
        (Outcome::Invalid, without_load),
        (Outcome::Overloaded, overloaded),
        (Outcome::Overloaded, silent(report, false)),
        (Outcome::Overloaded, limit("backlog_ratio", backlog_ratio, BACKLOG_AT_MOST)),
        (Outcome::Degraded, silent(report, true)),
        (Outcome::Degraded, limit("requests_lost_ratio", lost_ratio, 0.0)),
        (Outcome::Degraded, limit("sessions_failed_ratio", failed_ratio, 0.0)),
        (Outcome::Degraded, limit("sessions_not_deleted", control.left_behind as f64, 0.0)),
        (Outcome::Degraded, limit("packets lost", packets_lost as f64, 0.0)),
    ])
}

/// Returns the growth of the backlog as a share of the sessions due in the second half of the window. Returns 0 if no session is due in
/// that half.
fn backlog_share(control: &ControlSummary) -> f64 {
    let half = (control.due / 2).max(1);
    (control.backlog as f64 / half as f64).min(1.0)
}

/// Returns the send delay of requests or packets, whichever is worse.
fn send_delay_us_p99(report: &LoadReport) -> Option<f64> {
    let sides = report.steps.iter().flat_map(|step| [&step.uplink, &step.downlink]).flatten();
    let delays = sides.map(|side| &side.lag_us).chain([&report.control.lag_us]);
    delays.flatten().map(|delay| delay.p99).reduce(f64::max)
}

/// Returns a violation if the UPF was silent. `ended` selects silences that have ended, or silences that have not.
fn silent(report: &LoadReport, ended: bool) -> Option<LimitViolation> {
    let silence = report.silence.filter(|silence| silence.ended == ended)?;
    LimitViolation::said(true, &silence.to_string())
}

/// Records session counts per second. An incomplete last second is omitted, because it has no rate.
fn seconds(recorder: &mut Recorder, run: &Run<'_>, report: &LoadReport) {
    for (n, second) in report.control.seconds.iter().enumerate() {
        let at = Duration::from_secs(n as u64 + 1);
        if at <= run.duration {
            recorder.sample("sessions_completed_rate", at, second.cycles as f64);
            recorder.sample("sessions_live", at, second.live as f64);
        }
    }
}

/// Returns the largest unsent share of due packets, sessions, requests and handovers.
fn unsent_share(run: &Run<'_>, report: &LoadReport) -> f64 {
    let steps = report.steps.iter();
    let sides =
        steps.flat_map(|step| [&step.uplink, &step.downlink].map(|side| (step.seconds, side.as_ref())));
    let packets = sides.filter_map(|(seconds, side)| Some(packets_unsent(seconds, side?)));
    let control = &report.control;
    // The load generator is not responsible for sessions that were held back because of the UPF's backlog.
    let begun = control.started + control.held_back;
    let sessions = sessions_due(run).map(|expected| 1.0 - begun as f64 / expected.max(1.0));
    let refused = control.requests_offered.saturating_sub(control.requests_accepted) as f64;
    let requests = refused / control.requests_offered.max(1) as f64;
    let paced = report.steps.iter().map(|step| shortfall(step.handovers_tried, step.handovers_due));
    packets.chain(sessions).chain([requests]).chain(paced).fold(0.0, f64::max)
}

/// Returns the share of due items that were not done.
fn shortfall(done: u64, expected: u64) -> f64 {
    expected.saturating_sub(done) as f64 / expected.max(1) as f64
}

/// Returns the minimum number of sessions that an open loop must begin. Returns `None` if no schedule requires a number.
fn sessions_due(run: &Run<'_>) -> Option<f64> {
    let rate = run.number("load.rate").filter(|_| run.text("load.mode") == Some("control"))?;
    let rate = match run.text("load.arrivals")? {
        "constant" => rate,
        "ramp" => (rate + run.number("load.rate_to")?) / 2.0,
        // The number of random arrivals may be lower by up to four standard deviations.
        "poisson" => rate - 4.0 * (rate / run.duration.as_secs_f64().max(1e-3)).sqrt(),
        _ => return None,
    };
    let expected = rate * run.duration.as_secs_f64();
    Some(run.number("load.sessions").map_or(expected, |most| expected.min(most)))
}

/// Returns the share of a direction's due packets that were not sent. Packets without a live session are excluded, because the load
/// generator cannot send them.
fn packets_unsent(seconds: f64, side: &DataSummary) -> f64 {
    let sent = side.sent as f64;
    let requested = side.asked_pps.unwrap_or(0.0) * seconds - side.idle as f64;
    let expected = requested.max(sent + side.unsent as f64);
    (expected - sent) / expected.max(1.0)
}

fn put(recorder: &mut Recorder, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        recorder.scalar(name, value);
    }
}

fn latencies(recorder: &mut Recorder, report: &LoadReport) {
    let control = &report.control;
    let mut times = |kind: &str, times: Option<&Summary>| {
        let Some(times) = times else { return };
        for (quantile, us) in [("p50", times.p50), ("p99", times.p99), ("mean", times.mean)] {
            recorder.scalar(&format!("{kind}_us_{quantile}"), us);
        }
    };
    for kind in KINDS {
        times(kind, control.requests.get(kind).and_then(|of_kind| of_kind.latency_us.as_ref()));
    }
    times("cycle", control.cycle_us.as_ref());
    for kind in KINDS {
        let service = control.requests.get(kind).and_then(|of_kind| of_kind.service_us.as_ref());
        put(recorder, &format!("{kind}_us_service_p50"), service.map(|times| times.p50));
        put(recorder, &format!("{kind}_us_service_min"), service.map(|times| times.min));
    }
}

/// Records one step with packets. Returns the number of lost packets.
fn packets(recorder: &mut Recorder, step: &StepSummary) -> u64 {
    let mut lost = 0;
    for (name, side) in [("uplink", &step.uplink), ("downlink", &step.downlink)] {
        let Some(side) = side else { continue };
        recorder.scalar(&format!("{name}_pps"), side.received_pps);
        recorder.scalar(&format!("{name}_mbps"), side.received_bps / 1e6);
        let per_s = |count: u64| count as f64 / step.seconds.max(1e-9);
        recorder.scalar(&format!("{name}_offered_pps"), per_s(side.offered));
        recorder.scalar(&format!("{name}_accepted_pps"), per_s(side.sent));
        put(recorder, &format!("{name}_lost_ratio"), side.lost_ratio());
        if name == "uplink" {
            recorder.scalar("uplink_unseen_ratio", side.unseen as f64 / side.sent.max(1) as f64);
        }
        lost += side.lost;
    }
    for (name, times) in [("round_trip", &step.round_trip_us), ("interruption", &step.interruption_us)] {
        put(recorder, &format!("{name}_us_p50"), times.as_ref().map(|times| times.p50));
        put(recorder, &format!("{name}_us_p99"), times.as_ref().map(|times| times.p99));
    }
    let sent: u64 = [&step.uplink, &step.downlink].into_iter().flatten().map(|side| side.sent).sum();
    if step.generator_cpu_s > 0.0 {
        recorder.scalar("tool.packets_per_cpu_s", sent as f64 / step.generator_cpu_s);
    }
    if step.handovers > 0 {
        recorder.scalar("end_markers_per_handover", step.end_markers as f64 / step.handovers as f64);
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{RequestSummary, Second, Unresponsive};
    use ranlab_campaign::plan::Point;
    use ranlab_campaign::record::Recording;
    use ranlab_campaign::value::Value;

    fn side(sent: u64, unsent: u64, idle: u64) -> DataSummary {
        DataSummary { sent, unsent, idle, asked_pps: Some(500.0), ..DataSummary::default() }
    }

    #[test]
    fn unsent_packets_count_as_missing_load() {
        let share = |sent, unsent, idle| packets_unsent(2.0, &side(sent, unsent, idle));
        assert_eq!((share(1000, 0, 0), share(600, 0, 400), share(1200, 0, 0)), (0.0, 0.0, 0.0));
        assert_eq!((share(750, 0, 0), share(750, 250, 0)), (0.25, 0.25));
        assert_eq!(packets_unsent(2.0, &DataSummary::default()), 0.0, "no packet was due");
    }

    /// Returns outcome and recording of a repeat with the given mode and report.
    fn recorded(mode: &str, arrivals: &str, report: &LoadReport) -> (Outcome, Recording) {
        let settings = [
            ("load.mode", Value::from(mode)),
            ("load.arrivals", Value::from(arrivals)),
            ("load.rate", Value::Float(100.0)),
        ];
        let settings = settings.map(|(path, value)| (path.to_owned(), value)).into();
        let point = Point { index: 0, axes: Vec::new(), settings };
        let run = Run::new(&point, 0, 1, Duration::from_secs(10));
        let mut recorder = Recorder::default();
        let outcome = record(&run, &mut recorder, report);
        (outcome, recorder.finish())
    }

    fn sound() -> LoadReport {
        let mut report = LoadReport { on_schedule: true, ..LoadReport::default() };
        report.control.started = 1_000;
        report
    }

    fn requests(sent: u64, lost: u64) -> RequestSummary {
        RequestSummary {
            sent,
            ok: sent - lost,
            lost,
            retransmitted: 0,
            rejected: 0,
            late: 0,
            pending: 0,
            duplicate: 0,
            retransmissions: 0,
            latency_us: None,
            service_us: None,
        }
    }

    #[test]
    fn unanswered_release_is_not_a_loss() {
        let mut report = sound();
        report.control.requests.insert("release".to_owned(), requests(1, 1));
        assert_eq!(recorded("control", "closed", &report).0, Outcome::Ok);
        report.control.requests.insert("deletion".to_owned(), requests(10, 1));
        let (outcome, recording) = recorded("control", "closed", &report);
        assert_eq!((outcome, recording.metrics["requests_lost_ratio"]), (Outcome::Degraded, 0.1));
        report.control.requests.insert("establishment".to_owned(), requests(10, 10));
        let (outcome, recording) = recorded("control", "closed", &report);
        assert_eq!((outcome, recording.metrics["requests_lost_ratio"]), (Outcome::Overloaded, 0.55));
    }

    #[test]
    fn send_delay_is_largest_of_all_packet_types() {
        let delay = |us: u64| {
            let mut times = crate::load::Times::default();
            times.record(us * 1_000);
            times.summary()
        };
        let mut report = sound();
        report.control.lag_us = delay(5);
        let downlink = DataSummary { lag_us: delay(3_000), ..side(1_000, 0, 0) };
        report.steps.push(StepSummary { downlink: Some(downlink), ..StepSummary::default() });
        let p99 = recorded("sessions", "closed", &report).1.metrics[harness::SEND_DELAY_US_P99];
        assert!((p99 / 3_000.0 - 1.0).abs() < 0.01, "{p99}");
    }

    #[test]
    fn unstarted_sessions_count_as_missing_load() {
        let mut report = sound();
        report.control.started = 600;
        assert_eq!(recorded("control", "constant", &report).1.metrics["tool.unsent_ratio"], 0.4);
        assert_eq!(recorded("control", "closed", &report).1.metrics["tool.unsent_ratio"], 0.0);
    }

    #[test]
    fn backlog_means_overload_and_not_missing_load() {
        let mut report = sound();
        (report.control.due, report.control.backlog) = (1_000, 4);
        let (outcome, recording) = recorded("control", "constant", &report);
        assert_eq!((outcome, recording.metrics["loss_ratio"]), (Outcome::Ok, 0.0));
        assert_eq!(recording.metrics["backlog_ratio"], 0.008);
        (report.control.started, report.control.held_back, report.control.backlog) = (600, 400, 450);
        let (outcome, recording) = recorded("control", "constant", &report);
        assert_eq!((outcome, recording.metrics["loss_ratio"]), (Outcome::Overloaded, 0.9));
        assert_eq!(recording.metrics["tool.unsent_ratio"], 0.0);
    }

    #[test]
    fn lost_packets_mean_degraded_except_in_qos_mode() {
        let mut report = sound();
        let uplink = DataSummary { lost: 5, received_bps: 2e6, ..side(1_000, 0, 0) };
        report.steps.push(StepSummary {
            seconds: 2.0,
            uplink: Some(uplink),
            handovers: 4,
            end_markers: 3,
            ..StepSummary::default()
        });
        let (outcome, recording) = recorded("sessions", "closed", &report);
        assert_eq!(outcome, Outcome::Degraded);
        let metric = |name: &str| recording.metrics[name];
        assert_eq!((metric("uplink_lost_ratio"), metric("uplink_mbps")), (0.005, 2.0));
        assert_eq!(metric("end_markers_per_handover"), 0.75);
        assert!(!recording.metrics.contains_key("downlink_pps"), "no downlink packets were requested");
        assert_eq!(recorded("qos", "closed", &report).0, Outcome::Ok);
    }

    #[test]
    fn load_that_sent_nothing_is_invalid() {
        let none = LoadReport { on_schedule: true, ..LoadReport::default() };
        let (outcome, recording) = recorded("control", "closed", &none);
        assert_eq!(outcome, Outcome::Invalid);
        assert!(recording.reason.contains("there was no load"), "{}", recording.reason);
    }

    #[test]
    fn unsent_requests_do_not_count_as_overload() {
        let mut report = sound();
        report.control.requests.insert("establishment".to_owned(), requests(100, 60));
        (report.control.requests_offered, report.control.requests_accepted) = (100, 100);
        assert_eq!(recorded("control", "closed", &report).0, Outcome::Overloaded);
        // Of the 100 requests, 40 lost ones were never sent to the UPF.
        report.control.requests_accepted = 60;
        let (outcome, recording) = recorded("control", "closed", &report);
        assert_eq!((outcome, recording.metrics["tool.unsent_ratio"]), (Outcome::Degraded, 0.4));
        assert_eq!(recording.metrics["requests_lost_ratio"], 0.6);
    }

    #[test]
    fn silence_is_reported_with_start_and_duration() {
        let silent = |ended| {
            let silence = Some(Unresponsive { at_s: 3.25, for_s: 4.0, ended });
            let (outcome, recording) = recorded("control", "closed", &LoadReport { silence, ..sound() });
            (outcome, recording.reason, recording.metrics["upf_unresponsive_s"])
        };
        let stopped = "the UPF stopped answering 3.25 s into the run".to_owned();
        assert_eq!(silent(false), (Outcome::Overloaded, stopped, 4.0));
        let paused = "the UPF sent nothing for 4.00 s from 3.25 s on".to_owned();
        assert_eq!(silent(true), (Outcome::Degraded, paused, 4.0));
    }

    #[test]
    fn offered_and_accepted_rates_have_separate_metrics() {
        let mut report = sound();
        let second = |cycles, live| Second { cycles, live, ..Second::default() };
        report.control.seconds = vec![second(5, 50), second(3, 80)];
        (report.control.wall_s, report.control.due) = (2.0, 10);
        report.control.started = 8;
        let side = DataSummary { offered: 100, sent: 90, received: 8, lost: 1, unseen: 81, ..side(90, 0, 0) };
        report.steps.push(StepSummary { seconds: 2.0, uplink: Some(side), ..StepSummary::default() });
        let (_, recording) = recorded("sessions", "closed", &report);
        let metrics = &recording.metrics;
        let names =
            ["sessions_due_per_s", "sessions_begun_per_s", "uplink_offered_pps", "uplink_accepted_pps"];
        assert_eq!(names.map(|name| metrics[name]), [5.0, 4.0, 50.0, 45.0]);
        assert_eq!((metrics["uplink_lost_ratio"], metrics["uplink_unseen_ratio"]), (1.0 / 9.0, 0.9));
        assert_eq!(
            recording.series["sessions_live"].iter().map(|(_, live)| *live).collect::<Vec<_>>(),
            [50.0, 80.0]
        );
    }
}
