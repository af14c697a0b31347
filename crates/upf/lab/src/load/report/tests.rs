use super::super::outcome::SendingWindow;
use super::*;

#[test]
fn sent_packets_count_as_received_lost_or_rejected() {
    let mut gnb = DataReport::new(2, 1);
    gnb.sent = vec![10, 5];
    gnb.unsent = 1;
    let mut network = NetworkReport { uplink: vec![Tally::default(); 2], ..Default::default() };
    (0..8).chain([3]).for_each(|n| network.uplink[0].take(n));
    (0..5).for_each(|n| network.uplink[1].take(n));
    let sides = Sides { gnb: &gnb, network: Some(&network), reflected: false, seconds: 2.0 };
    let up = sides.uplink(Some(7.0), 3);
    assert_eq!((up.asked_back, Sides { network: None, ..sides }.uplink(None, 3).asked_back), (None, Some(6)));
    assert_eq!((up.sent, up.received, up.lost, up.unsent, up.duplicates), (14, 13, 1, 1, 1));
    assert_eq!((up.streams_disturbed, up.offered_pps), (1, 7.0));
    assert!(sides.downlink(None).is_none());
}

#[test]
fn drift_compares_the_first_third_with_the_last() {
    let second = |answers, latency_us_sum| Second { answers, latency_us_sum, ..Default::default() };
    let mut seconds = vec![second(100, 1_000.0); 3];
    seconds.extend(vec![second(50, 1_000.0); 3]);
    assert_eq!(drift(&seconds, 0.0), None, "the last second is ignored");
    seconds.push(second(1, 1.0));
    assert_eq!(drift(&seconds, 0.0), Some([0.5, 2.0]));
}

#[test]
fn late_generator_causes_warning() {
    let mut report = LoadReport {
        control: ControlSummary { balanced: true, started: 1, ..Default::default() },
        ..Default::default()
    };
    let mut times = crate::load::Times::default();
    times.record(5_000_000);
    report.control.lag_us = times.summary();
    report.judge();
    assert!(!report.on_schedule && report.warnings[0].contains("could not keep its schedule"));
    assert_eq!(report.unexplained, 0);
}

fn judged(change: impl FnOnce(&mut LoadReport)) -> LoadReport {
    let mut report = LoadReport {
        control: ControlSummary { balanced: true, started: 1, ..Default::default() },
        ..Default::default()
    };
    change(&mut report);
    report.judge();
    report
}

fn pending(kind: Kind, pending: u64) -> (String, RequestSummary) {
    let counts = Counts { sent: pending, pending, ..Default::default() };
    (kind_name(kind).to_owned(), request(&counts, None, None))
}

#[test]
fn requests_without_outcome_are_unexplained() {
    let open = judged(|report| {
        report.control.requests.extend([pending(Kind::Release, 1), pending(Kind::Deletion, 2)]);
        (report.control.unexpected, report.control.malformed) = (3, 4);
    });
    assert_eq!((open.unexplained, open.on_schedule), (9, true));
    let dead = judged(|report| {
        report.control.requests.extend([pending(Kind::Deletion, 2)]);
        report.upf_died_s = Some(1.25);
    });
    assert_eq!(dead.unexplained, 0);
    assert_eq!(dead.warnings, ["the UPF's process ended 1.25 s into the run"]);
    let ours = judged(|report| report.control.balanced = false);
    assert_eq!(ours.unexplained, 1);
    assert!(ours.warnings[0].contains("a defect of ranlab"));
}

#[test]
fn conditions_that_limit_results_cause_warnings() {
    let side = |change: fn(&mut DataSummary)| {
        let mut side =
            DataSummary { sent: 1, asked_pps: Some(1_000.0), offered_pps: 1_000.0, ..Default::default() };
        change(&mut side);
        judged(|report| report.steps.push(StepSummary { downlink: Some(side), ..Default::default() }))
    };
    assert_eq!(side(|_| {}).warnings, [""; 0]);
    let slow = side(|side| side.offered_pps = 979.0);
    assert!(
        !slow.on_schedule
            && slow.warnings[0]
                .contains("only 979 packets/s were sent, although 1000 packets/s were requested")
    );
    assert!(side(|side| side.offered_pps = 981.0).on_schedule);
    let refused = side(|side| side.unsent = 5);
    assert!(refused.warnings[0].contains("5 packets were refused by the kernel of the generator's machine"));
    let grown = judged(|report| report.control.drift = Some([1.0, 1.6]));
    assert!(grown.warnings[0].contains("latency grew by a factor of 1.60"));
    assert_eq!(judged(|report| report.control.drift = Some([0.1, 1.4])).warnings, [""; 0]);
    let left = judged(|report| report.control.left_behind = 7);
    assert!(left.warnings[0].contains("7 sessions may be left behind"));
}

#[test]
fn frames_lost_or_received_outside_af_xdp_cause_warnings() {
    let frames = |change: fn(&mut AfXdpSummary)| {
        judged(|report| change(report.af_xdp.insert(AfXdpSummary::default()))).warnings
    };
    assert_eq!(frames(|frames| (frames.tx_dropped, frames.unreadable) = (1, 1)), [""; 0]);
    let lost = frames(|frames| (frames.rx_dropped, frames.rx_ring_full) = (2, 3));
    assert!(lost[0].contains("5 received frames were lost"));
    assert!(frames(|frames| frames.around = 4)[0].contains("4 packets arrived through sockets"));
}

/// 100 sessions begin in each of 20 seconds and are held for three seconds. The first and last seconds have fewer
/// requests.
#[test]
fn hold_time_does_not_reduce_rates() {
    let expected = |begin: bool, end: bool| 200 * u64::from(begin) + 100 * u64::from(end);
    let second = |n| Second {
        answers: expected(n < 20, n >= 3),
        cycles: if n >= 3 { 100 } else { 0 },
        latency_us_sum: 1.0,
        ..Default::default()
    };
    let mut summary = ControlSummary {
        wall_s: 23.0,
        completed: 2_000,
        seconds: (0..23).map(second).collect(),
        ..Default::default()
    };
    summary.held(Duration::from_secs(3));
    assert_eq!(summary.drift.map(|[rate, _]| rate), Some(1.0));
    // A decreasing rate of completed sessions is reported, even if requests are still answered.
    summary.seconds[16..].iter_mut().for_each(|second| second.cycles = 50);
    summary.held(Duration::from_secs(3));
    assert_eq!(summary.drift.map(|[rate, _]| rate), Some(0.5));
}

/// A UPF completes 100 of 150 offered sessions per second. After two seconds of sending, the remaining sessions complete within another
/// second.
#[test]
fn rates_exclude_time_after_sending_window() {
    let window = SendingWindow {
        length: Duration::from_secs(2),
        completed: 200,
        made: 800,
        answered: 600,
        ..SendingWindow::default()
    };
    let mut reports = CycleReport { due: 300, started: 300, completed: 300, window, ..Default::default() };
    reports.seconds = vec![Second { answers: 300, ..Default::default() }; 3];
    let summary = control(&reports, &[], Duration::from_secs(3), Duration::ZERO);
    assert_eq!((summary.wall_s, summary.completed), (2.0, 300));
    assert_eq!((summary.cycles_per_s, summary.answers_per_s), (100.0, 300.0));
}

#[test]
fn requests_of_several_smfs_add_up() {
    let mut reports = CycleReport { completed: 30, started: 40, ..Default::default() };
    reports.seconds = vec![Second { answers: 60, ..Default::default() }; 2];
    let mut ledger = RequestStats { responses: 5, unexpected: 1, malformed: 2, ..Default::default() };
    ledger.causes.insert(75, 3);
    let wall = Duration::from_secs(2);
    let summary = control(&reports, &[ledger.clone(), ledger], wall, Duration::from_millis(500));
    assert_eq!((summary.responses, summary.unexpected, summary.malformed), (10, 2, 4));
    assert_eq!((summary.causes[&75], summary.cycles_per_s, summary.answers_per_s), (6, 15.0, 60.0));
    assert!(summary.requests.is_empty(), "request types without requests are not reported");
    assert_eq!((summary.cycle_us, summary.drift, summary.answers_per_cpu_s), (None, None, 0.0));
    let idle = control(&CycleReport::default(), &[], Duration::ZERO, Duration::ZERO);
    assert_eq!((idle.cycles_per_s, idle.answers_per_cpu_s, idle.balanced), (0.0, 0.0, true));
}

#[test]
fn step_without_packets_has_zero_counts_and_finite_rates() {
    let gnb = DataReport::new(1, 1);
    let sides = Sides { gnb: &gnb, network: None, reflected: false, seconds: 0.0 };
    let up = sides.uplink(Some(f64::INFINITY), 0);
    assert_eq!((up.asked_back, up.asked_pps, up.received, up.lost), (Some(0), None, 0, 0));
    assert!(
        up.offered_pps == 0.0 && up.received_bps == 0.0,
        "rates are finite although no time passed: {up:?}"
    );
    let network = NetworkReport { sent: vec![0], ..Default::default() };
    assert!(
        Sides { network: Some(&network), ..sides }.downlink(Some(5.0)).is_none(),
        "no downlink packet was sent"
    );
}

#[test]
fn packets_that_cannot_be_observed_do_not_count_as_lost() {
    let joined = |came: u64, unasked: u64, reflected: bool| {
        let mut gnb = DataReport::new(1, 1);
        (gnb.sent, gnb.unasked) = (vec![4_001], unasked);
        (0..came).for_each(|n| gnb.reflected[0].take(n));
        let sides = Sides { gnb: &gnb, network: None, reflected, seconds: 1.0 };
        let up = sides.uplink(Some(4_001.0), 40);
        assert_eq!((up.offered, up.sent, up.asked_back), (4_001, 4_001, Some(101)));
        assert_eq!(up.sent, up.received + up.lost + up.unseen, "{up:?}");
        (up.received, up.lost, up.unseen, up.lost_ratio())
    };
    // A separate data network reflects packets on request.
    assert_eq!(joined(101, 0, true), (101, 0, 3_900, Some(0.0)));
    assert_eq!(joined(91, 0, true), (91, 10, 3_900, Some(10.0 / 101.0)));
    assert_eq!(joined(0, 0, true), (0, 101, 3_900, Some(1.0)), "the smoke packet came back");
    // Data networks reflect either all packets or no packets.
    assert_eq!(joined(4_000, 3_900, true), (4_000, 1, 0, Some(1.0 / 4_001.0)));
    assert_eq!(joined(0, 0, false), (0, 0, 4_001, None));
}

#[test]
fn offered_accepted_and_acknowledged_requests_have_separate_counts() {
    let mut summary = ControlSummary { due: 50, started: 40, ..Default::default() };
    summary.account(100, 20, 70);
    let account = (summary.requests_offered, summary.requests_accepted, summary.requests_acknowledged);
    assert_eq!((account, summary.requests_refused()), ((110, 80, 70), 20));
    let judged_report = judged(|report| report.control = ControlSummary { balanced: true, ..summary });
    assert!(
        judged_report.warnings.iter().any(|warning| warning.starts_with("30 due requests were never sent"))
    );
    let side = DataSummary { sent: 80, unsent: 5, idle: 10, asked_pps: Some(50.0), ..Default::default() };
    let offered = |seconds| {
        let mut side = side.clone();
        side.offer(seconds);
        side.offered
    };
    assert_eq!(
        (offered(2.0), offered(1.0)),
        (90, 85),
        "packets that were due without a live session were not offered"
    );
}

#[test]
fn empty_load_and_silent_upf_cause_warnings() {
    let nothing = judged(|report| report.control.started = 0);
    assert!(nothing.is_without_load() && nothing.warnings[0].contains("there was no load"));
    let packets = |sent| {
        let side = Some(DataSummary { sent, ..Default::default() });
        judged(|report| report.steps.push(StepSummary { uplink: side, ..Default::default() }))
    };
    assert_eq!((packets(0).is_without_load(), packets(1).is_without_load()), (true, false));
    let silent = |ended| {
        judged(|report| report.silence = Some(Unresponsive { at_s: 3.21, for_s: 10.0, ended }))
            .warnings
            .remove(0)
    };
    assert_eq!(silent(false), "the UPF stopped answering 3.21 s into the run");
    assert_eq!(silent(true), "the UPF sent nothing for 10.00 s from 3.21 s on");
}
