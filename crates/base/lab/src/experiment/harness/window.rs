//! Completed window: reports of all components, and the metrics that every rig records.

use std::collections::BTreeMap;

use crate::worker::Report;
use crate::{RigContext, WorkerLocation};
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Metric, MetricKind, RigDescription, RigError, Run};
use serde::de::DeserializeOwned;

use super::Account;
use crate::experiment::account;

/// Metric of [`Window::tool_cores`].
pub(crate) const TOOL_CORES: &str = "tool.cpu_cores";
/// Metric for the CPU cores used by the busiest location of a divided load.
const TOOL_CORES_BUSIEST: &str = "tool.cpu_cores_busiest";

/// Returns the metric for the busiest location of a load with several locations.
pub fn metric_of_places() -> Metric {
    let comment = "CPU cores used by the load at the busiest of several locations";
    Metric::new(TOOL_CORES_BUSIEST, "cores", MetricKind::Scalar, Better::Neither, comment)
}

/// Report of a component for a window.
#[derive(Debug, Clone)]
pub struct ComponentReport {
    /// Owner of the component.
    pub side: Account,
    /// Role of the component.
    pub role: &'static str,
    /// Maximum error of the clock offset of the component's machine, in us. With several machines, the largest error.
    pub clock_error_us: f64,
    /// Drift of the machine's clock against the local clock since the component was started, in us.
    pub clock_drift_us: f64,
    /// Addresses on which the component listens. With several locations, those of the first location.
    pub addresses: BTreeMap<String, String>,
    /// Joined report of all locations.
    pub report: Report,
    /// Location and report of each share.
    pub places: Vec<(WorkerLocation, Report)>,
}

/// Completed window, with the reports of all components in start order.
#[derive(Debug)]
pub struct Window<'a> {
    /// Context for running components outside the window. They must have ended before the window is recorded.
    pub lab: &'a RigContext,
    /// Reports of the components.
    pub taken: Vec<ComponentReport>,
}

impl Window<'_> {
    /// Returns the report entry of a role; `None` if the point has no such component.
    pub fn find(&self, role: &str) -> Option<&ComponentReport> {
        self.taken.iter().find(|taken| taken.role == role)
    }

    /// Returns the report of a required role.
    pub fn report(&self, role: &str) -> Result<&Report, RigError> {
        let found = self.find(role).map(|taken| &taken.report);
        found.ok_or_else(|| RigError::Rig(format!("there is no component \"{role}\"")))
    }

    /// Returns the reports of one owner.
    pub fn reports(&self, side: Account) -> impl Iterator<Item = &Report> {
        self.taken.iter().filter(move |taken| taken.side == side).map(|taken| &taken.report)
    }

    /// Returns the CPU seconds of the whole system under test; `None` if a part of it is not metered.
    pub fn sut_cpu_s(&self) -> Option<f64> {
        self.reports(Account::Sut).map(|report| report.process.as_ref().map(|process| process.cpu_s)).sum()
    }

    /// Returns the cores used by all measurement components together, and by the busiest location of a
    /// divided load.
    pub fn tool_cores(&self) -> (f64, Option<f64>) {
        let cores = |(_, report): &(WorkerLocation, Report)| {
            Some(report.process.as_ref()?.cpu_s / report.wall_s.max(1e-3))
        };
        let tools = || self.taken.iter().filter(|taken| taken.side == Account::Tool);
        let shared = tools().filter(|taken| taken.places.len() > 1);
        let busiest = shared.flat_map(|taken| &taken.places).filter_map(cores).reduce(f64::max);
        (tools().flat_map(|taken| &taken.places).filter_map(cores).sum(), busiest)
    }

    /// Returns the role-specific reports of all locations.
    pub fn details<T: DeserializeOwned>(&self, role: &str) -> Result<Vec<T>, RigError> {
        self.find(role)
            .into_iter()
            .flat_map(|taken| &taken.places)
            .map(|(_, report)| report.detail())
            .collect()
    }

    /// Records CPU and memory usage, as far as the rig lists these metrics.
    pub fn record(&self, run: &Run<'_>, description: &RigDescription, recorder: &mut Recorder) {
        if description.metric(account::CPU_CORES).is_some() {
            account::record(recorder, &self.reports(Account::Sut).collect::<Vec<_>>(), run.duration);
        }
        if description.metric(TOOL_CORES).is_some() {
            recorder.scalar(TOOL_CORES, self.tool_cores().0);
        }
        if let Some((_, Some(busiest))) = description.metric(TOOL_CORES_BUSIEST).map(|_| self.tool_cores()) {
            recorder.scalar(TOOL_CORES_BUSIEST, busiest);
        }
    }
}

/// Copies all numbers of a report whose names are metrics of the rig.
pub fn copy_all(recorder: &mut Recorder, report: &Report) {
    report.numbers.iter().for_each(|(name, value)| recorder.scalar(name, *value));
    report.distributions.keys().for_each(|name| copy(recorder, name, report, name));
}

/// Copies a distribution under another name.
pub fn copy(recorder: &mut Recorder, name: &str, report: &Report, theirs: &str) {
    for (value, count) in report.distributions.get(theirs).into_iter().flatten() {
        recorder.values(name, *value, *count);
    }
}
