//! State of one usage rule: its clock, traffic and events, and the reports that result.
use super::control::ntp_seconds;
use ranlab_upf::forwarding::Meter;
use ranlab_upf::n4::INACTIVITY;
use ranlab_upf::pfcp::*;

pub(super) const SECOND: u64 = 1_000_000_000;
/// Time without packets after which traffic stops, in nanoseconds, if a rule has no Inactivity Detection Time.
pub(super) const TRAFFIC_IDLE: u64 = 10 * SECOND;
/// Maximum number of event time stamps for the next report; further events are only counted.
pub(super) const MAX_STAMPS: usize = 256;

/// State of a usage rule since its last report.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) urr: CreateUrr,
    pub(super) meter: Meter,
    reported: [u64; 4],
    sequence: u32,
    /// Time of the last report, in seconds since 1900.
    since: u32,
    /// Clock of the rule, while the clock runs.
    running: Option<Running>,
    /// Time of the next periodic report.
    period_ns: Option<u64>,
    /// End of the quota's holding time, and the packet count at its start.
    holding: Option<(u64, u64)>,
    /// End of the quota's validity.
    validity_ns: Option<u64>,
    /// Whether inactivity was reported, and no packet has passed since.
    idle: bool,
    /// Time at which traffic counts as stopped, unless a packet arrives.
    stop_ns: Option<u64>,
    /// Time of the first packet since the last report.
    first_packet: Option<NtpSeconds>,
    events: EventLog,
}

/// Running clock of a rule.
#[derive(Debug, Clone, Copy)]
struct Running {
    reported_ns: u64,
    threshold_ns: Option<u64>,
    quota_ns: Option<u64>,
    /// Time at which the clock was suspended because of missing packets.
    suspended_ns: Option<u64>,
}

/// Events of a rule. An event is a start of traffic.
#[derive(Debug, Default)]
struct EventLog {
    since_report: u32,
    since_grant: u32,
    stamps: Vec<NtpSeconds>,
}

fn seconds(of: Option<Seconds>) -> Option<u64> {
    of.map(|seconds| u64::from(seconds.0) * SECOND)
}

/// Returns a past time as NTP seconds.
fn ntp_at(now_ns: u64, at_ns: u64) -> NtpSeconds {
    let ago = now_ns.saturating_sub(at_ns) / SECOND;
    NtpSeconds(ntp_seconds().wrapping_sub(ago as u32))
}

impl Running {
    /// Returns the time of the rule's clock, which does not advance while the clock is suspended.
    fn time(&self, now_ns: u64) -> u64 {
        self.suspended_ns.unwrap_or(now_ns)
    }

    fn resume(&mut self, now_ns: u64) {
        let Some(at_ns) = self.suspended_ns.take() else { return };
        let pause = now_ns.saturating_sub(at_ns);
        self.reported_ns += pause;
        self.threshold_ns = self.threshold_ns.map(|due_ns| due_ns + pause);
        self.quota_ns = self.quota_ns.map(|due_ns| due_ns + pause);
    }

    fn due_ns(&self) -> Option<u64> {
        let due_ns = [self.threshold_ns, self.quota_ns].into_iter().flatten().min();
        due_ns.filter(|_| self.suspended_ns.is_none())
    }
}

impl Account {
    pub(super) fn new(now_ns: u64, urr: &CreateUrr, meter: Meter) -> Self {
        let mut account = Self {
            urr: urr.clone(),
            meter,
            reported: [0; 4],
            sequence: 0,
            since: ntp_seconds(),
            running: None,
            period_ns: None,
            holding: None,
            validity_ns: None,
            idle: false,
            stop_ns: None,
            first_packet: None,
            events: EventLog::default(),
        };
        account.start_period(now_ns);
        account.hold(now_ns);
        account.start_validity(now_ns);
        account.grant_events();
        if account.urr.measurement_information.is_some_and(|info| info.contains(MeasurementInformation::ISTM))
        {
            account.start_clock(now_ns);
        }
        account
    }

    /// Returns the account after a change of its rule. `granted` is set if the rule has a new quota.
    pub(super) fn changed(self, now_ns: u64, urr: &CreateUrr, meter: Meter, granted: bool) -> Self {
        let timed = |urr: &CreateUrr| (urr.measurement_period, urr.reporting_triggers);
        let restarts = timed(&self.urr) != timed(urr);
        let limits = |urr: &CreateUrr| (urr.time_threshold, urr.time_quota);
        let limited = granted || limits(&self.urr) != limits(urr);
        let validity = |urr: &CreateUrr| (urr.quota_validity_time, urr.reporting_triggers);
        let revalidated = granted || validity(&self.urr) != validity(urr);
        let mut account = Self { urr: urr.clone(), meter, ..self };
        if restarts {
            account.start_period(now_ns);
        }
        if let Some(running) = account.running.filter(|_| limited) {
            let time = running.time(now_ns);
            account.running = Some(Running {
                threshold_ns: account.time_threshold().map(|limit| running.reported_ns + limit),
                quota_ns: if granted { account.time_quota(time) } else { running.quota_ns },
                ..running
            });
        }
        if granted {
            account.hold(now_ns);
            account.grant_events();
        }
        if revalidated {
            account.start_validity(now_ns);
        }
        let usage = &account.meter.usage;
        let watches = account.watches_stop() && usage.is_started();
        account.stop_ns = watches.then(|| usage.last_ns() + account.idle_time());
        account
    }

    pub(super) fn watches_inactivity(&self) -> bool {
        self.urr.urr_id == INACTIVITY
    }

    /// Handles the inactivity timer. Returns whether no packet has passed since it was started. Inactivity is reported once.
    pub(super) fn falls_idle(&mut self, now_ns: u64) -> bool {
        let Some((_, packets)) = self.holding.filter(|(due_ns, _)| *due_ns <= now_ns) else { return false };
        let is_idle = packets == self.packets();
        let was_idle = std::mem::replace(&mut self.idle, is_idle);
        self.hold(now_ns);
        self.idle && !was_idle
    }

    pub(super) fn if_asked(&self, requested: u128, trigger: u128) -> u128 {
        if self.urr.reporting_triggers.contains(requested) { trigger } else { 0 }
    }

    fn time_threshold(&self) -> Option<u64> {
        seconds(self.urr.time_threshold)
            .filter(|_| self.urr.reporting_triggers.contains(ReportingTriggers::TIMTH))
    }

    fn time_quota(&self, now_ns: u64) -> Option<u64> {
        seconds(self.urr.time_quota).map(|time| now_ns + time)
    }

    fn counts_events(&self) -> bool {
        self.urr.measurement_method.contains(MeasurementMethod::EVENT)
    }

    /// Returns whether the rule reacts to the end of traffic.
    fn watches_stop(&self) -> bool {
        self.counts_events()
            || self.inactivity_detection().is_some()
            || self.urr.reporting_triggers.contains(ReportingTriggers::STOPT)
    }

    fn inactivity_detection(&self) -> Option<u64> {
        seconds(self.urr.inactivity_detection_time).filter(|time| *time > 0)
    }

    fn idle_time(&self) -> u64 {
        self.inactivity_detection().unwrap_or(TRAFFIC_IDLE)
    }

    /// Handles the first packet after a time without traffic. Returns the triggers of a report, or 0 if no report is due.
    pub(super) fn begin(&mut self, now_ns: u64) -> u128 {
        self.start_clock(now_ns);
        self.first_packet.get_or_insert_with(|| NtpSeconds(ntp_seconds()));
        self.stop_ns = self.watches_stop().then(|| now_ns + self.idle_time());
        let mut trigger = self.if_asked(ReportingTriggers::START, UsageReportTrigger::START);
        if self.counts_events() {
            trigger |= self.count_event();
        }
        trigger
    }

    fn count_event(&mut self) -> u128 {
        let reached = |limit: Option<Events>, count: u32| limit.is_some_and(|limit| count == limit.0.max(1));
        let events = &mut self.events;
        events.since_report = events.since_report.saturating_add(1);
        events.since_grant = events.since_grant.saturating_add(1);
        if events.stamps.len() < MAX_STAMPS {
            events.stamps.push(NtpSeconds(ntp_seconds()));
        }
        let mut trigger = 0;
        if reached(self.urr.event_threshold, self.events.since_report) {
            trigger |= self.if_asked(ReportingTriggers::EVETH, UsageReportTrigger::EVETH);
        }
        if reached(self.urr.event_quota, self.events.since_grant) {
            trigger |= self.if_asked(ReportingTriggers::EVEQU, UsageReportTrigger::EVEQU);
        }
        trigger
    }

    /// Starts an event quota. A quota of 0 stops all packets at once.
    fn grant_events(&mut self) {
        self.events.since_grant = 0;
        if self.counts_events() && self.urr.event_quota.is_some_and(|quota| quota.0 == 0) {
            self.meter.usage.exhaust();
        }
    }

    /// Handles the timer for the stop of traffic. Returns whether the traffic has stopped. If the event quota is used up, the next event is
    /// not admitted.
    fn stops(&mut self, now_ns: u64) -> bool {
        let last_ns = self.meter.usage.last_ns();
        let over_ns = last_ns + self.idle_time();
        if over_ns > now_ns || !self.meter.usage.stop(last_ns) {
            self.stop_ns = Some(over_ns.max(now_ns + 1));
            return false;
        }
        self.stop_ns = None;
        if let Some(running) = &mut self.running
            && self.urr.inactivity_detection_time.is_some_and(|time| time.0 > 0)
        {
            running.suspended_ns.get_or_insert_with(|| over_ns.max(running.reported_ns));
        }
        let is_used_up = |quota: Events| self.events.since_grant >= quota.0;
        if self.counts_events() && self.urr.event_quota.is_some_and(is_used_up) {
            self.meter.usage.exhaust();
        }
        true
    }

    /// Starts or resumes the clock.
    fn start_clock(&mut self, now_ns: u64) {
        if let Some(running) = &mut self.running {
            running.resume(now_ns);
            return;
        }
        self.running = Some(Running {
            reported_ns: now_ns,
            threshold_ns: self.time_threshold().map(|time| now_ns + time),
            quota_ns: self.time_quota(now_ns),
            suspended_ns: None,
        });
    }

    fn start_period(&mut self, now_ns: u64) {
        let periodic = self.urr.reporting_triggers.contains(ReportingTriggers::PERIO);
        let period = seconds(self.urr.measurement_period).filter(|period| periodic && *period > 0);
        self.period_ns = period.map(|period| now_ns + period);
    }

    fn hold(&mut self, now_ns: u64) {
        let time = seconds(self.urr.quota_holding_time).filter(|time| *time > 0);
        self.holding = time.map(|time| (now_ns + time, self.packets()));
    }

    /// Starts the validity of the quota.
    fn start_validity(&mut self, now_ns: u64) {
        let reports = self.urr.reporting_triggers.contains(ReportingTriggers::QUVTI);
        let time = seconds(self.urr.quota_validity_time).filter(|_| reports);
        self.validity_ns = time.map(|time| now_ns + time);
    }

    fn packets(&self) -> u64 {
        let [_, up, _, down] = self.meter.usage.read();
        up + down
    }

    pub(super) fn due_ns(&self) -> Option<u64> {
        let clock = self.running.and_then(|running| running.due_ns());
        let holding = self.holding.map(|(due_ns, _)| due_ns);
        [clock, self.period_ns, holding, self.stop_ns, self.validity_ns].into_iter().flatten().min()
    }

    /// Handles expired timers. Returns the triggers of a report, or 0 if no report is due.
    pub(super) fn expire(&mut self, now_ns: u64) -> u128 {
        let is_due = |at: Option<u64>, now_ns: u64| at.is_some_and(|at| at <= now_ns);
        let mut trigger = 0;
        if let Some(period) = seconds(self.urr.measurement_period).filter(|_| is_due(self.period_ns, now_ns))
        {
            // The next report is due one period after the last one. If the thread missed a period, it is due one period from now.
            let next = self.period_ns.unwrap_or(now_ns) + period;
            self.period_ns = Some(if next > now_ns { next } else { now_ns + period });
            trigger |= UsageReportTrigger::PERIO;
        }
        if is_due(self.validity_ns, now_ns) {
            self.validity_ns = None;
            trigger |= UsageReportTrigger::QUVTI;
        }
        if is_due(self.stop_ns, now_ns) && self.stops(now_ns) {
            trigger |= self.if_asked(ReportingTriggers::STOPT, UsageReportTrigger::STOPT);
        }
        if let Some(mut running) = self.running {
            let time = running.time(now_ns);
            if is_due(running.threshold_ns, time) {
                trigger |= UsageReportTrigger::TIMTH;
            }
            if is_due(running.quota_ns, time) {
                running.quota_ns = None;
                self.meter.usage.exhaust();
                trigger |= self.if_asked(ReportingTriggers::TIMQU, UsageReportTrigger::TIMQU);
            }
            self.running = Some(running);
        }
        if let Some((due_ns, packets)) = self.holding.filter(|(due_ns, _)| *due_ns <= now_ns) {
            if packets == self.packets() {
                self.holding = None;
                self.meter.usage.exhaust();
                trigger |= self.if_asked(ReportingTriggers::QUHTI, UsageReportTrigger::QUHTI);
            } else {
                self.hold(due_ns.max(now_ns));
            }
        }
        trigger
    }

    /// Returns a report. If traffic starts or stops, the report has neither usage nor times (TS 29.244 §7.5.8.3). Otherwise it has the
    /// usage since the last report. `read` has the counters at the time when a limit was crossed; without it, the current counters are
    /// used.
    pub(super) fn report(&mut self, now_ns: u64, trigger: u128, read: Option<[u64; 4]>) -> UsageReport {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let report = UsageReport {
            urr_id: self.urr.urr_id,
            ur_seqn: UrSeqn(sequence),
            // The trigger has three bytes, because the SMF of free5GC does not read triggers of two bytes.
            usage_report_trigger: UsageReportTrigger::in_octets(trigger, 3),
            ..Default::default()
        };
        let is_detection = trigger & !(UsageReportTrigger::START | UsageReportTrigger::STOPT) == 0;
        if is_detection { report } else { self.measured(now_ns, report, read) }
    }

    fn measured(&mut self, now_ns: u64, report: UsageReport, read: Option<[u64; 4]>) -> UsageReport {
        let read = read.unwrap_or_else(|| self.meter.usage.report());
        let before = self.reported;
        self.reported = std::array::from_fn(|n| read[n].max(before[n]));
        let [up, up_packets, down, down_packets] = std::array::from_fn(|n| read[n].saturating_sub(before[n]));
        let volume = |uplink: u64, downlink: u64| Volume {
            total: Some(uplink + downlink),
            uplink: Some(uplink),
            downlink: Some(downlink),
        };
        let start = std::mem::replace(&mut self.since, ntp_seconds());
        let method = self.urr.measurement_method;
        let duration = self.duration(now_ns);
        self.events.since_report = 0;
        let last_ns = self.meter.usage.last_ns();
        let had_packets = up_packets + down_packets > 0 && last_ns > 0;
        UsageReport {
            start_time: Some(NtpSeconds(start)),
            end_time: Some(NtpSeconds(self.since)),
            volume_measurement: (method.contains(MeasurementMethod::VOLUM) || method.bits() == 0).then(
                || VolumeMeasurement { octets: volume(up, down), packets: volume(up_packets, down_packets) },
            ),
            duration_measurement: method.contains(MeasurementMethod::DURAT).then_some(duration),
            time_of_first_packet: self.first_packet.take(),
            time_of_last_packet: had_packets.then(|| ntp_at(now_ns, last_ns)),
            event_time_stamps: std::mem::take(&mut self.events.stamps),
            ..report
        }
    }

    /// Returns the time since the last report, to the nearest second, and restarts the time threshold.
    fn duration(&mut self, now_ns: u64) -> Seconds {
        let threshold = self.time_threshold();
        let Some(running) = &mut self.running else { return Seconds(0) };
        let time = running.time(now_ns);
        let passed = time.saturating_sub(running.reported_ns);
        running.reported_ns = time;
        running.threshold_ns = threshold.map(|limit| time + limit);
        Seconds(((passed + SECOND / 2) / SECOND) as u32)
    }
}
