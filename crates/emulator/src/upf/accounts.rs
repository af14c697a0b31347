//! Usage reporting rules (URRs) of all sessions: meters, timers, and the resulting reports.
use super::control::ntp_seconds;
use super::packets::rules;
use ranlab_upf::forwarding::{Crossed, Meter};
use ranlab_upf::n4::{INACTIVITY, Session, UsageQuery};
use ranlab_upf::pfcp::*;
use std::collections::{BTreeSet, HashMap};

const SECOND: u64 = 1_000_000_000;

/// A usage reporting rule, and the usage that has been reported.
#[derive(Debug)]
struct Account {
    urr: CreateUrr,
    meter: Meter,
    reported: [u64; 4],
    sequence: u32,
    /// Time of the last report, in seconds since 1900.
    since: u32,
    /// Begin of time measurement, and the time that has been reported.
    running: Option<Running>,
    /// Time of the next periodic report.
    period_ns: Option<u64>,
    /// End of the quota holding time, and the packet count at its begin.
    holding: Option<(u64, u64)>,
    /// Whether inactivity has been reported and no packet has arrived since.
    idle: bool,
}

/// Results of a session's expired timers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expired {
    pub(super) seid: u64,
    pub(super) reports: Vec<UsageReport>,
    /// Whether the inactivity timer expired without packets.
    pub(super) inactive: bool,
}

/// Time measured by a rule.
#[derive(Debug, Clone, Copy)]
struct Running {
    reported_ns: u64,
    threshold_ns: Option<u64>,
    quota_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct OfSession {
    accounts: Vec<Account>,
    /// Time of its first timer.
    due_ns: Option<u64>,
}

/// Usage reporting rules of all sessions.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    sessions: HashMap<u64, OfSession>,
    /// Timer expirations, at most one entry per session.
    timers: BTreeSet<(u64, u64)>,
}

fn seconds(of: Option<Seconds>) -> Option<u64> {
    of.map(|seconds| u64::from(seconds.0) * SECOND)
}

impl Accounts {
    /// Adds or updates the rules of a session. Returns their meters. Rules in `granted` have a new quota.
    pub(super) fn install(
        &mut self,
        now_ns: u64,
        seid: u64,
        session: &Session,
        granted: &[UrrId],
    ) -> Vec<Meter> {
        if session.urrs.is_empty() {
            self.remove(seid);
            return Vec::new();
        }
        let mut before = self.sessions.remove(&seid).unwrap_or_default();
        let old: Vec<Meter> = before.accounts.iter().map(|account| account.meter.clone()).collect();
        let meters = rules(session).meters(&old, granted);
        let mut accounts = Vec::with_capacity(meters.len());
        for (meter, urr) in meters.iter().zip(&session.urrs) {
            let known = before.accounts.iter().position(|account| account.urr.urr_id == urr.urr_id);
            accounts.push(match known {
                Some(at) => {
                    let account = before.accounts.swap_remove(at);
                    account.changed(now_ns, urr, meter.clone(), granted.contains(&urr.urr_id))
                }
                None => Account::new(now_ns, urr, meter.clone()),
            });
        }
        self.sessions.insert(seid, OfSession { accounts, due_ns: before.due_ns });
        self.schedule(seid);
        meters
    }

    pub(super) fn remove(&mut self, seid: u64) {
        if let Some(due_ns) = self.sessions.remove(&seid).and_then(|session| session.due_ns) {
            self.timers.remove(&(due_ns, seid));
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the usage reports that a request asks for.
    pub(super) fn query(&mut self, now_ns: u64, seid: u64, query: UsageQuery<'_>) -> Vec<UsageReport> {
        let accounts = self.sessions.get_mut(&seid).into_iter().flat_map(|session| &mut session.accounts);
        let is_meant = |account: &&mut Account| match query.urrs {
            Some(urrs) => urrs.contains(&account.urr.urr_id),
            None => !account.watches_inactivity(),
        };
        let meant = accounts.filter(is_meant);
        let reports = meant.map(|account| account.report(now_ns, query.trigger, None)).collect();
        self.schedule(seid);
        reports
    }

    /// Returns the reports due when a packet has brought a rule to a limit.
    pub(super) fn crossed(
        &mut self,
        now_ns: u64,
        seid: u64,
        urr_id: u32,
        crossed: Crossed,
        read: [u64; 4],
    ) -> Vec<UsageReport> {
        let Some(session) = self.sessions.get_mut(&seid) else { return Vec::new() };
        let Some(account) = session.accounts.iter_mut().find(|account| account.urr.urr_id.0 == urr_id) else {
            return Vec::new();
        };
        let mut trigger = 0;
        if crossed.start {
            account.start(now_ns);
            trigger |= account.if_asked(ReportingTriggers::START, UsageReportTrigger::START);
        }
        if crossed.threshold {
            trigger |= UsageReportTrigger::VOLTH;
        }
        if crossed.quota {
            trigger |= account.if_asked(ReportingTriggers::VOLQU, UsageReportTrigger::VOLQU);
        }
        let mut reports = Vec::new();
        if trigger != 0 {
            reports.push(account.report(now_ns, trigger, Some(read)));
            session.report_linked(now_ns, &mut reports);
        }
        self.schedule(seid);
        reports
    }

    /// Returns the next session with an expired timer.
    pub(super) fn expired(&mut self, now_ns: u64) -> Option<Expired> {
        let &(due_ns, seid) = self.timers.first().filter(|(due_ns, _)| *due_ns <= now_ns)?;
        self.timers.remove(&(due_ns, seid));
        let session = self.sessions.get_mut(&seid)?;
        session.due_ns = None;
        let mut reports = Vec::new();
        let mut inactive = false;
        for account in &mut session.accounts {
            if account.watches_inactivity() {
                inactive |= account.falls_idle(now_ns);
                continue;
            }
            let trigger = account.expire(now_ns);
            if trigger != 0 {
                reports.push(account.report(now_ns, trigger, None));
            }
        }
        if !reports.is_empty() {
            session.report_linked(now_ns, &mut reports);
        }
        self.schedule(seid);
        Some(Expired { seid, reports, inactive })
    }

    /// Returns the time at which [`expired`](Self::expired) has to be called next, at the latest.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.timers.first().map(|(due_ns, _)| *due_ns)
    }

    fn schedule(&mut self, seid: u64) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let due_ns = session.accounts.iter().filter_map(Account::due_ns).min();
        if due_ns == session.due_ns {
            return;
        }
        if let Some(before) = std::mem::replace(&mut session.due_ns, due_ns) {
            self.timers.remove(&(before, seid));
        }
        self.timers.extend(due_ns.map(|due_ns| (due_ns, seid)));
    }
}

impl OfSession {
    /// Adds reports of rules that are linked to a reporting rule (TS 29.244 §5.2.2.4).
    fn report_linked(&mut self, now_ns: u64, reports: &mut Vec<UsageReport>) {
        let reported: Vec<UrrId> = reports.iter().map(|report| report.urr_id).collect();
        for account in &mut self.accounts {
            let asks = account.urr.reporting_triggers.contains(ReportingTriggers::LIUSA);
            let linked = account.urr.linked_urr_ids.iter().any(|id| reported.contains(id));
            if asks && linked && !reported.contains(&account.urr.urr_id) {
                reports.push(account.report(now_ns, UsageReportTrigger::LIUSA, None));
            }
        }
    }
}

impl Account {
    fn new(now_ns: u64, urr: &CreateUrr, meter: Meter) -> Self {
        let mut account = Self {
            urr: urr.clone(),
            meter,
            reported: [0; 4],
            sequence: 0,
            since: ntp_seconds(),
            running: None,
            period_ns: None,
            holding: None,
            idle: false,
        };
        account.start_period(now_ns);
        account.hold(now_ns);
        if account.urr.measurement_information.is_some_and(|info| info.contains(MeasurementInformation::ISTM))
        {
            account.start(now_ns);
        }
        account
    }

    /// Returns the updated rule. `granted` is set if it has a new quota.
    fn changed(self, now_ns: u64, urr: &CreateUrr, meter: Meter, granted: bool) -> Self {
        let timed = |urr: &CreateUrr| (urr.measurement_period, urr.reporting_triggers);
        let restarts = timed(&self.urr) != timed(urr);
        let limits = |urr: &CreateUrr| (urr.time_threshold, urr.time_quota);
        let limited = granted || limits(&self.urr) != limits(urr);
        let mut account = Self { urr: urr.clone(), meter, ..self };
        if restarts {
            account.start_period(now_ns);
        }
        if let Some(running) = account.running.filter(|_| limited) {
            account.running = Some(Running {
                threshold_ns: account.time_threshold().map(|time| running.reported_ns + time),
                quota_ns: if granted { account.time_quota(now_ns) } else { running.quota_ns },
                ..running
            });
        }
        if granted {
            account.hold(now_ns);
        }
        account
    }

    fn watches_inactivity(&self) -> bool {
        self.urr.urr_id == INACTIVITY
    }

    /// Handles expiration of the inactivity timer. Returns whether no packet has arrived meanwhile, which is reported
    /// once.
    fn falls_idle(&mut self, now_ns: u64) -> bool {
        let Some((_, packets)) = self.holding.filter(|(due_ns, _)| *due_ns <= now_ns) else { return false };
        let is_idle = packets == self.packets();
        let was_idle = std::mem::replace(&mut self.idle, is_idle);
        self.hold(now_ns);
        self.idle && !was_idle
    }

    fn if_asked(&self, asked: u128, trigger: u128) -> u128 {
        if self.urr.reporting_triggers.contains(asked) { trigger } else { 0 }
    }

    fn time_threshold(&self) -> Option<u64> {
        seconds(self.urr.time_threshold)
            .filter(|_| self.urr.reporting_triggers.contains(ReportingTriggers::TIMTH))
    }

    fn time_quota(&self, now_ns: u64) -> Option<u64> {
        seconds(self.urr.time_quota).map(|time| now_ns + time)
    }

    /// Starts time measurement.
    fn start(&mut self, now_ns: u64) {
        if self.running.is_none() {
            self.running = Some(Running {
                reported_ns: now_ns,
                threshold_ns: self.time_threshold().map(|time| now_ns + time),
                quota_ns: self.time_quota(now_ns),
            });
        }
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

    fn packets(&self) -> u64 {
        let [_, up, _, down] = self.meter.usage.read();
        up + down
    }

    fn due_ns(&self) -> Option<u64> {
        let running = self.running.into_iter().flat_map(|running| [running.threshold_ns, running.quota_ns]);
        let others = [self.period_ns, self.holding.map(|(due_ns, _)| due_ns)];
        running.chain(others).flatten().min()
    }

    /// Handles expired timers. Returns the triggers of a report, or 0 if none is due.
    fn expire(&mut self, now_ns: u64) -> u128 {
        let is_due = |at: Option<u64>| at.is_some_and(|at| at <= now_ns);
        let mut trigger = 0;
        if let Some(period) = seconds(self.urr.measurement_period).filter(|_| is_due(self.period_ns)) {
            // Keeps the schedule, unless this thread was suspended for longer than a period.
            let next = self.period_ns.unwrap_or(now_ns) + period;
            self.period_ns = Some(if next > now_ns { next } else { now_ns + period });
            trigger |= UsageReportTrigger::PERIO;
        }
        if let Some(mut running) = self.running {
            if is_due(running.threshold_ns) {
                trigger |= UsageReportTrigger::TIMTH;
            }
            if is_due(running.quota_ns) {
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

    /// Reports the usage since the last report. `read` contains the counters when a limit was reached; otherwise the
    /// current ones are used.
    fn report(&mut self, now_ns: u64, trigger: u128, read: Option<[u64; 4]>) -> UsageReport {
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
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let method = self.urr.measurement_method;
        let duration = self.duration(now_ns);
        UsageReport {
            urr_id: self.urr.urr_id,
            ur_seqn: UrSeqn(sequence),
            usage_report_trigger: UsageReportTrigger::new(trigger),
            start_time: Some(NtpSeconds(start)),
            end_time: Some(NtpSeconds(self.since)),
            volume_measurement: (method.contains(MeasurementMethod::VOLUM) || method.bits() == 0).then(
                || VolumeMeasurement { octets: volume(up, down), packets: volume(up_packets, down_packets) },
            ),
            duration_measurement: method.contains(MeasurementMethod::DURAT).then_some(duration),
            ..Default::default()
        }
    }

    /// Returns the time since the last report, rounded to seconds. The time threshold restarts.
    fn duration(&mut self, now_ns: u64) -> Seconds {
        let threshold = self.time_threshold();
        let Some(running) = &mut self.running else { return Seconds(0) };
        let passed = now_ns.saturating_sub(running.reported_ns);
        running.reported_ns = now_ns;
        running.threshold_ns = threshold.map(|time| now_ns + time);
        Seconds(((passed + SECOND / 2) / SECOND) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn inactivity_is_reported_once_per_idle_time() {
        let mut accounts = Accounts::default();
        let watch =
            CreateUrr { urr_id: INACTIVITY, quota_holding_time: Some(Seconds(2)), ..Default::default() };
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
        meters[0].count(true, 100);
        assert_eq!([8, 10, 12].map(inactive), [false, true, false]);
        assert_eq!(accounts.query(13 * SECOND, 7, UsageQuery { urrs: None, trigger: 1 }), []);
    }

    #[test]
    fn periodic_reports_follow_the_period() {
        let mut accounts = Accounts::default();
        let periodic = CreateUrr { measurement_period: Some(Seconds(2)), ..urr(ReportingTriggers::PERIO) };
        accounts.install(0, 7, &session(periodic), &[]);
        let due: Vec<usize> = (1..=6).map(|now| triggers(&mut accounts, now).len()).collect();
        assert_eq!(due, [0, 1, 0, 1, 0, 1]);
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
    fn unused_quota_is_given_back_after_the_holding_time() {
        let mut accounts = Accounts::default();
        let held = CreateUrr { quota_holding_time: Some(Seconds(1)), ..urr(ReportingTriggers::QUHTI) };
        let meters = accounts.install(0, 7, &session(held), &[]);
        assert_eq!(triggers(&mut accounts, 1), [UsageReportTrigger::QUHTI]);
        assert!(meters[0].usage.is_exhausted());
    }

    #[test]
    fn linked_rule_reports_as_well() {
        let mut accounts = Accounts::default();
        let first = CreateUrr { measurement_period: Some(Seconds(1)), ..urr(ReportingTriggers::PERIO) };
        let linked =
            CreateUrr { urr_id: UrrId(2), linked_urr_ids: vec![UrrId(1)], ..urr(ReportingTriggers::LIUSA) };
        let mut both = session(first);
        both.urrs.push(linked);
        accounts.install(0, 7, &both, &[]);
        assert_eq!(triggers(&mut accounts, 1), [UsageReportTrigger::PERIO, UsageReportTrigger::LIUSA]);
    }
}
