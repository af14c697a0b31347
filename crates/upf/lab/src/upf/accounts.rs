//! Usage reporting rules (URRs) of all sessions: meters, timers, and the resulting reports.
use super::account::Account;
use super::packets::rules;
use ranlab_upf::forwarding::{Crossed, Meter};
use ranlab_upf::n4::{Session, UsageQuery};
use ranlab_upf::pfcp::*;
use std::collections::{BTreeSet, HashMap};

/// Results of a session's expired timers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expired {
    pub(super) seid: u64,
    pub(super) reports: Vec<UsageReport>,
    /// Whether the inactivity timer expired without a packet.
    pub(super) inactive: bool,
}

#[derive(Debug, Default)]
struct OfSession {
    accounts: Vec<Account>,
    /// Time of the session's first timer.
    due_ns: Option<u64>,
}

/// Usage reporting rules of all sessions.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    sessions: HashMap<u64, OfSession>,
    /// Expiration times of timers, with at most one entry per session.
    timers: BTreeSet<(u64, u64)>,
}

impl Accounts {
    /// Adds or updates the rules of a session. Returns the meters of the rules. Rules in `granted` have a new quota.
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

    /// Returns the usage reports that a request queries.
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

    /// Returns the reports that are due after a packet has brought a rule to a limit.
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
            trigger |= account.begin(now_ns);
        }
        if crossed.threshold {
            trigger |= UsageReportTrigger::VOLTH;
        }
        if crossed.quota {
            trigger |= account.if_asked(ReportingTriggers::VOLQU, UsageReportTrigger::VOLQU);
        }
        let mut reports = Vec::new();
        if trigger != 0 {
            // Counters were read only if a volume limit was crossed.
            let read = (crossed.threshold || crossed.quota).then_some(read);
            reports.push(account.report(now_ns, trigger, read));
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

    /// Returns the latest time at which [`expired`](Self::expired) has to be called next.
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

#[cfg(test)]
#[path = "accounts_tests.rs"]
mod tests;
