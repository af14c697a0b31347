//! Interface through which the control half uses its data plane before it responds.
use crate::n4::rules::{RuleFault, Session};
use crate::pfcp::{
    ApplicationPfds, Cause, SessionModificationRequest, SmReqFlags, UpdateUrr, UrrId, UsageReport,
    UsageReportTrigger,
};

/// Data plane that the control half uses while it processes a request.
pub trait DataPlane {
    /// Compiles a session's rules without installing them.
    ///
    /// # Errors
    /// Cause and Failed Rule ID of the first unsupported rule.
    fn check(&mut self, session: &Session) -> Result<(), RuleFault>;

    /// Compiles the flow descriptions of an application.
    ///
    /// # Errors
    /// Cause of the first flow description that cannot be matched with packets.
    fn check_application(&mut self, application: &ApplicationPfds) -> Result<(), Cause>;

    /// Returns the usage of a session since the last report.
    fn usage(&mut self, seid: u64, query: UsageQuery<'_>) -> Vec<UsageReport>;
}

/// Usage that a request queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageQuery<'a> {
    /// Usage rules; `None` for all rules of the session.
    pub urrs: Option<&'a [UrrId]>,
    /// Flags of the Usage Report Trigger.
    pub trigger: u128,
}

/// Data plane without function: it accepts all rules and reports no usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoDataPlane;

impl DataPlane for NoDataPlane {
    fn check(&mut self, _session: &Session) -> Result<(), RuleFault> {
        Ok(())
    }

    fn check_application(&mut self, _application: &ApplicationPfds) -> Result<(), Cause> {
        Ok(())
    }

    fn usage(&mut self, _seid: u64, _query: UsageQuery<'_>) -> Vec<UsageReport> {
        Vec::new()
    }
}

/// Usage that a modification queries, and quotas that it grants.
pub(super) struct UsageChange {
    removed: Vec<UrrId>,
    queried: Vec<UrrId>,
    /// Whether all rules that are not removed are queried (QAURR).
    all: bool,
    pub(super) granted: Vec<UrrId>,
}

impl UsageChange {
    pub(super) fn from_request(request: &SessionModificationRequest) -> Self {
        let has_quota = |update: &&UpdateUrr| {
            update.volume_quota.is_some() || update.time_quota.is_some() || update.event_quota.is_some()
        };
        Self {
            removed: request.remove_urrs.iter().map(|remove| remove.urr_id).collect(),
            queried: request.query_urrs.iter().map(|query| query.urr_id).collect(),
            all: request.sm_req_flags.is_some_and(|flags| flags.contains(SmReqFlags::QAURR)),
            granted: request.update_urrs.iter().filter(has_quota).map(|update| update.urr_id).collect(),
        }
    }

    pub(super) fn report(&self, seid: u64, plane: &mut dyn DataPlane) -> Vec<UsageReport> {
        let mut reports = Vec::new();
        if !self.removed.is_empty() {
            let query = UsageQuery { urrs: Some(&self.removed), trigger: UsageReportTrigger::TERMR };
            reports.extend(plane.usage(seid, query));
        }
        if self.all || !self.queried.is_empty() {
            let urrs = if self.all { None } else { Some(&self.queried[..]) };
            let queried = plane.usage(seid, UsageQuery { urrs, trigger: UsageReportTrigger::IMMER });
            reports.extend(queried.into_iter().filter(|report| !self.removed.contains(&report.urr_id)));
        }
        reports
    }
}
