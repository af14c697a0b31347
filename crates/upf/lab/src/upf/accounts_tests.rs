use super::super::account::{MAX_STAMPS, SECOND, TRAFFIC_IDLE};
use super::*;
use ranlab_upf::n4::INACTIVITY;
use std::net::IpAddr;

fn session(urr: CreateUrr) -> Session {
    let address = IpAddr::from([127, 0, 0, 1]);
    Session {
        cp_f_seid: FSeid { seid: 1, addresses: address.into() },
        node: address.into(),
        peer: address,
        fq_csids: Vec::new(),
        pdrs: Vec::new(),
        fars: Vec::new(),
        urrs: vec![urr],
        qers: Vec::new(),
        bar: None,
        pdn_type: None,
        applications: Vec::new(),
    }
}

fn urr(triggers: u128) -> CreateUrr {
    CreateUrr {
        urr_id: UrrId(1),
        measurement_method: MeasurementMethod::new(MeasurementMethod::DURAT | MeasurementMethod::VOLUM),
        reporting_triggers: ReportingTriggers::new(triggers),
        ..Default::default()
    }
}

fn triggers(accounts: &mut Accounts, now_s: u64) -> Vec<u128> {
    let mut all = Vec::new();
    while let Some(expired) = accounts.expired(now_s * SECOND) {
        all.extend(expired.reports.iter().map(|report| report.usage_report_trigger.bits()));
    }
    all
}

#[test]
fn inactivity_is_reported_only_once_until_packets_arrive() {
    let mut accounts = Accounts::default();
    let watch = CreateUrr { urr_id: INACTIVITY, quota_holding_time: Some(Seconds(2)), ..Default::default() };
    let meters = accounts.install(0, 7, &session(watch), &[]);
    let mut inactive = |now_s: u64| {
        let mut any = false;
        while let Some(expired) = accounts.expired(now_s * SECOND) {
            assert_eq!(expired.reports, []);
            any |= expired.inactive;
        }
        any
    };
    assert_eq!([1, 2, 4, 6].map(&mut inactive), [false, true, false, false]);
    meters[0].count(7 * SECOND, true, 100);
    assert_eq!([8, 10, 12].map(inactive), [false, true, false]);
    assert_eq!(accounts.query(13 * SECOND, 7, UsageQuery { urrs: None, trigger: 1 }), []);
}

#[test]
fn periodic_reports_follow_the_period() {
    let mut accounts = Accounts::default();
    let periodic = CreateUrr { measurement_period: Some(Seconds(2)), ..urr(ReportingTriggers::PERIO) };
    accounts.install(0, 7, &session(periodic), &[]);
    let counts: Vec<usize> = (1..=6).map(|now| triggers(&mut accounts, now).len()).collect();
    assert_eq!(counts, [0, 1, 0, 1, 0, 1]);
    assert_eq!(accounts.timers.len(), 1);
    accounts.remove(7);
    assert_eq!(accounts.due_ns(), None);
}

#[test]
fn time_threshold_counts_from_the_first_packet() {
    let mut accounts = Accounts::default();
    let timed = CreateUrr { time_threshold: Some(Seconds(1)), ..urr(ReportingTriggers::TIMTH) };
    accounts.install(0, 7, &session(timed), &[]);
    assert_eq!(triggers(&mut accounts, 5), []);
    let start = Crossed { start: true, ..Default::default() };
    assert_eq!(accounts.crossed(5 * SECOND, 7, 1, start, [0; 4]), []);
    assert_eq!(triggers(&mut accounts, 6), [UsageReportTrigger::TIMTH]);
    assert_eq!(triggers(&mut accounts, 7), [UsageReportTrigger::TIMTH]);
}

#[test]
fn time_quota_ends_and_is_granted_again() {
    let mut accounts = Accounts::default();
    let immediate = Some(MeasurementInformation::new(MeasurementInformation::ISTM));
    let quota = CreateUrr {
        time_quota: Some(Seconds(2)),
        measurement_information: immediate,
        ..urr(ReportingTriggers::TIMQU)
    };
    let meters = accounts.install(0, 7, &session(quota.clone()), &[]);
    assert_eq!(triggers(&mut accounts, 1), []);
    assert_eq!(triggers(&mut accounts, 2), [UsageReportTrigger::TIMQU]);
    assert!(meters[0].usage.is_exhausted());
    accounts.install(3 * SECOND, 7, &session(quota), &[UrrId(1)]);
    assert!(!meters[0].usage.is_exhausted());
    assert_eq!(triggers(&mut accounts, 4), []);
    assert_eq!(triggers(&mut accounts, 5), [UsageReportTrigger::TIMQU]);
}

#[test]
fn unused_quota_is_reported_after_holding_time() {
    let mut accounts = Accounts::default();
    let held = CreateUrr { quota_holding_time: Some(Seconds(1)), ..urr(ReportingTriggers::QUHTI) };
    let meters = accounts.install(0, 7, &session(held), &[]);
    assert_eq!(triggers(&mut accounts, 1), [UsageReportTrigger::QUHTI]);
    assert!(meters[0].usage.is_exhausted());
}

#[test]
fn end_of_validity_is_reported_once_per_grant() {
    let mut accounts = Accounts::default();
    let valid = CreateUrr { quota_validity_time: Some(Seconds(2)), ..urr(ReportingTriggers::QUVTI) };
    let meters = accounts.install(0, 7, &session(valid.clone()), &[]);
    let triggered = [1, 2, 3, 9].map(|now_s| triggers(&mut accounts, now_s));
    assert_eq!(triggered, [vec![], vec![UsageReportTrigger::QUVTI], vec![], vec![]]);
    assert!(!meters[0].usage.is_exhausted());
    accounts.install(10 * SECOND, 7, &session(valid.clone()), &[UrrId(1)]);
    assert_eq!([11, 12].map(|now_s| triggers(&mut accounts, now_s).len()), [0, 1]);
    let longer = CreateUrr { quota_validity_time: Some(Seconds(5)), ..valid };
    accounts.install(13 * SECOND, 7, &session(longer), &[]);
    assert_eq!([17, 18].map(|now_s| triggers(&mut accounts, now_s).len()), [0, 1]);
}

#[test]
fn report_of_a_rule_triggers_report_of_linked_rule() {
    let mut accounts = Accounts::default();
    let first = CreateUrr { measurement_period: Some(Seconds(1)), ..urr(ReportingTriggers::PERIO) };
    let linked =
        CreateUrr { urr_id: UrrId(2), linked_urr_ids: vec![UrrId(1)], ..urr(ReportingTriggers::LIUSA) };
    let mut both = session(first);
    both.urrs.push(linked);
    accounts.install(0, 7, &both, &[]);
    assert_eq!(triggers(&mut accounts, 1), [UsageReportTrigger::PERIO, UsageReportTrigger::LIUSA]);
}

/// A session with one rule and a clock. Tests choose the seconds at which packets and reports occur.
struct Bed {
    accounts: Accounts,
    meters: Vec<Meter>,
    session: Session,
}

impl Bed {
    fn new(urr: CreateUrr) -> Self {
        let mut accounts = Accounts::default();
        let session = session(urr);
        let meters = accounts.install(0, 7, &session, &[]);
        Self { accounts, meters, session }
    }

    /// Sends a packet of 100 bytes, if the rule admits packets. Returns the resulting reports.
    fn packet(&mut self, now_s: u64) -> Vec<UsageReport> {
        if self.meters[0].usage.is_exhausted() {
            return Vec::new();
        }
        let crossed = self.meters[0].count(now_s * SECOND, true, 100);
        let read = self.meters[0].usage.read();
        if crossed == Crossed::default() {
            return Vec::new();
        }
        self.accounts.crossed(now_s * SECOND, 7, 1, crossed, read)
    }

    fn reports(&mut self, now_s: u64) -> Vec<UsageReport> {
        let mut all = Vec::new();
        while let Some(expired) = self.accounts.expired(now_s * SECOND) {
            all.extend(expired.reports);
        }
        all
    }

    fn grant(&mut self, now_s: u64) {
        self.meters = self.accounts.install(now_s * SECOND, 7, &self.session, &[UrrId(1)]);
    }
}

fn bits(reports: &[UsageReport]) -> Vec<u128> {
    reports.iter().map(|report| report.usage_report_trigger.bits()).collect()
}

const IDLE_S: u64 = 3;

/// Returns a rule whose traffic stops after [`IDLE_S`] without packets.
fn detecting(triggers: u128, method: u128) -> CreateUrr {
    CreateUrr {
        measurement_method: MeasurementMethod::new(method),
        inactivity_detection_time: Some(Seconds(IDLE_S as u32)),
        ..urr(triggers)
    }
}

#[test]
fn start_and_stop_of_traffic_are_reported_without_usage() {
    let both = ReportingTriggers::START | ReportingTriggers::STOPT;
    let mut bed = Bed::new(detecting(both, MeasurementMethod::VOLUM));
    let start = bed.packet(1);
    assert_eq!(bits(&start), [UsageReportTrigger::START]);
    assert_eq!((start[0].start_time, start[0].volume_measurement), (None, None));
    let nothing: [Vec<UsageReport>; 3] = Default::default();
    assert_eq!([bed.packet(2), bed.packet(3), bed.reports(5)], nothing);
    assert_eq!(bits(&bed.reports(6)), [UsageReportTrigger::STOPT]);
    assert_eq!(bed.reports(60), []);
    assert_eq!(bits(&bed.packet(61)), [UsageReportTrigger::START]);
    let query = UsageQuery { urrs: None, trigger: UsageReportTrigger::IMMER };
    let all = bed.accounts.query(62 * SECOND, 7, query);
    let octets = all[0].volume_measurement.map(|measured| measured.octets.total);
    assert_eq!(octets, Some(Some(400)), "starts and stops report no usage");
    assert!(all[0].time_of_first_packet.is_some() && all[0].time_of_last_packet.is_some());
}

#[test]
fn traffic_stops_after_default_time_if_no_detection_time_is_set() {
    let mut bed = Bed::new(urr(ReportingTriggers::STOPT));
    bed.packet(1);
    let idle_s = TRAFFIC_IDLE / SECOND;
    assert_eq!(bed.reports(idle_s), []);
    assert_eq!(bits(&bed.reports(1 + idle_s)), [UsageReportTrigger::STOPT]);
}

#[test]
fn duration_excludes_time_without_packets() {
    let mut bed = Bed::new(detecting(0, MeasurementMethod::DURAT));
    for (first, last) in [(10, 12), (50, 51)] {
        (first..=last).for_each(|now| drop(bed.packet(now)));
        assert_eq!(bed.reports(last + IDLE_S), []);
    }
    let query = UsageQuery { urrs: None, trigger: UsageReportTrigger::IMMER };
    let report = bed.accounts.query(90 * SECOND, 7, query).remove(0);
    // Traffic lasts from 10 to 12 and from 50 to 51. Each duration is extended by the detection time.
    assert_eq!(report.duration_measurement, Some(Seconds(2 + 3 + 1 + 3)));
    bed.packet(100);
    let report = bed.accounts.query(102 * SECOND, 7, query).remove(0);
    assert_eq!(report.duration_measurement, Some(Seconds(2)));
}

#[test]
fn time_threshold_waits_while_the_clock_is_suspended() {
    let rule = CreateUrr {
        time_threshold: Some(Seconds(6)),
        ..detecting(ReportingTriggers::TIMTH, MeasurementMethod::DURAT)
    };
    let mut bed = Bed::new(rule);
    bed.packet(0);
    // Three seconds are measured. Then the clock is suspended until the next packet.
    assert_eq!(bed.reports(50), []);
    bed.packet(100);
    bed.packet(102);
    assert_eq!(bed.reports(102), []);
    let report = bed.reports(103).remove(0);
    assert_eq!(report.usage_report_trigger.bits(), UsageReportTrigger::TIMTH);
    assert_eq!(report.duration_measurement, Some(Seconds(6)));
}

#[test]
fn event_threshold_is_reported_with_its_time_stamps() {
    let triggers = ReportingTriggers::EVETH;
    let rule =
        CreateUrr { event_threshold: Some(Events(2)), ..detecting(triggers, MeasurementMethod::EVENT) };
    let mut bed = Bed::new(rule);
    let mut events_of = |now_s| {
        let reports = bed.packet(now_s);
        bed.packet(now_s);
        assert_eq!(bed.reports(now_s + IDLE_S), []);
        reports.iter().map(|report| report.event_time_stamps.len()).collect::<Vec<_>>()
    };
    assert_eq!([10, 20, 30, 40].map(&mut events_of), [vec![], vec![2], vec![], vec![2]]);
}

#[test]
fn used_up_event_quota_stops_the_next_event() {
    let triggers = ReportingTriggers::EVEQU;
    let rule = CreateUrr { event_quota: Some(Events(2)), ..detecting(triggers, MeasurementMethod::EVENT) };
    let mut bed = Bed::new(rule);
    assert_eq!(bits(&bed.packet(10)), []);
    bed.reports(13);
    assert_eq!(bits(&bed.packet(20)), [UsageReportTrigger::EVEQU]);
    // The second event lasts until its traffic stops.
    bed.packet(21);
    assert!(!bed.meters[0].usage.is_exhausted());
    bed.reports(24);
    assert!(bed.meters[0].usage.is_exhausted());
    bed.grant(30);
    assert!(!bed.meters[0].usage.is_exhausted());
    assert_eq!(bits(&bed.packet(31)), []);
}

#[test]
fn event_quota_of_zero_stops_all_packets() {
    let rule = CreateUrr { event_quota: Some(Events(0)), ..detecting(0, MeasurementMethod::EVENT) };
    assert!(Bed::new(rule).meters[0].usage.is_exhausted());
}

#[test]
fn number_of_event_time_stamps_is_bounded() {
    let mut bed = Bed::new(detecting(0, MeasurementMethod::EVENT));
    for event in 0..MAX_STAMPS as u64 + 10 {
        bed.packet(event * 10);
        bed.reports(event * 10 + IDLE_S);
    }
    let query = UsageQuery { urrs: None, trigger: UsageReportTrigger::IMMER };
    assert_eq!(bed.accounts.query(9_000 * SECOND, 7, query)[0].event_time_stamps.len(), MAX_STAMPS);
}

#[test]
fn stop_trigger_added_during_traffic_is_reported() {
    let mut bed = Bed::new(urr(ReportingTriggers::START));
    bed.packet(1);
    bed.session.urrs[0] = detecting(ReportingTriggers::STOPT, MeasurementMethod::VOLUM);
    bed.meters = bed.accounts.install(2 * SECOND, 7, &bed.session, &[]);
    assert_eq!(bits(&bed.reports(4)), [UsageReportTrigger::STOPT]);
}
