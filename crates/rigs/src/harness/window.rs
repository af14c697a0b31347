//! A window that is over: what each part did in it, and what of that every rig records alike.

use std::collections::BTreeMap;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Metric, MetricKind, RigDescription, RigError, Run};
use ranlab_parts::worker::Report;
use ranlab_parts::{Host, Lab};
use serde::de::DeserializeOwned;

use super::Side;
use crate::sut;

/// The metric of [`Window::tool_cores`].
pub(super) const TOOL_CORES: &str = "tool.cpu_cores";
/// That of the busiest place, where a load has several.
const TOOL_CORES_BUSIEST: &str = "tool.cpu_cores_busiest";

/// What is measured of a load that has several places.
pub(crate) fn metric_of_places() -> Metric {
    let comment = "cores that the load kept busy at the busiest of several places";
    Metric::new(TOOL_CORES_BUSIEST, "cores", MetricKind::Scalar, Better::Neither, comment)
}

/// What a part did in a window.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    /// Whose it is.
    pub(crate) side: Side,
    /// What it is to the rig.
    pub(crate) role: &'static str,
    /// How wrong its machine's clock may be known, us; of several the worst.
    pub(crate) clock_error_us: f64,
    /// How far that clock moved from ours since the part was started, us.
    pub(crate) clock_drift_us: f64,
    /// Where it listens; of several the first.
    pub(crate) addresses: BTreeMap<String, String>,
    /// Its numbers, of all places together.
    pub(crate) report: Report,
    /// Where it ran, and what each place reported.
    pub(crate) places: Vec<(Host, Report)>,
}

/// A window that is over, with what all parts did in it, in the order of their bringing up.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    /// For parts beside the window: they have to be gone when it is recorded.
    pub(crate) lab: &'a Lab,
    /// What they did.
    pub(crate) taken: Vec<Taken>,
}

impl Window<'_> {
    /// What a part did; `None`: the point has no such part.
    pub(crate) fn find(&self, role: &str) -> Option<&Taken> {
        self.taken.iter().find(|taken| taken.role == role)
    }

    /// The report of a part that there must be.
    pub(crate) fn report(&self, role: &str) -> Result<&Report, RigError> {
        let found = self.find(role).map(|taken| &taken.report);
        found.ok_or_else(|| RigError::Rig(format!("there is no part \"{role}\"")))
    }

    /// Reports of one side.
    pub(crate) fn of(&self, side: Side) -> impl Iterator<Item = &Report> {
        self.taken.iter().filter(move |taken| taken.side == side).map(|taken| &taken.report)
    }

    /// CPU seconds of the whole system under test; `None`: something of it is not metered.
    pub(crate) fn sut_cpu_s(&self) -> Option<f64> {
        self.of(Side::Sut).map(|report| report.process.as_ref().map(|process| process.cpu_s)).sum()
    }

    /// Cores that the measurement's own parts kept busy, all together; and the busiest of several places of a load.
    pub(crate) fn tool_cores(&self) -> (f64, Option<f64>) {
        let cores =
            |(_, report): &(Host, Report)| Some(report.process.as_ref()?.cpu_s / report.wall_s.max(1e-3));
        let tools = || self.taken.iter().filter(|taken| taken.side == Side::Tool);
        let shared = tools().filter(|taken| taken.places.len() > 1);
        let busiest = shared.flat_map(|taken| &taken.places).filter_map(cores).reduce(f64::max);
        (tools().flat_map(|taken| &taken.places).filter_map(cores).sum(), busiest)
    }

    /// The parts' own reports of a role, place by place.
    pub(crate) fn details<T: DeserializeOwned>(&self, role: &str) -> Result<Vec<T>, RigError> {
        self.find(role)
            .into_iter()
            .flat_map(|taken| &taken.places)
            .map(|(_, report)| report.detail())
            .collect()
    }

    /// Records what processes used, as far as the rig says that it measures it.
    pub(super) fn record(&self, run: &Run<'_>, description: &RigDescription, recorder: &mut Recorder) {
        if description.metric(sut::CPU_CORES).is_some() {
            sut::record(recorder, &self.of(Side::Sut).collect::<Vec<_>>(), run.duration);
        }
        if description.metric(TOOL_CORES).is_some() {
            recorder.scalar(TOOL_CORES, self.tool_cores().0);
        }
        if let Some((_, Some(busiest))) = description.metric(TOOL_CORES_BUSIEST).map(|_| self.tool_cores()) {
            recorder.scalar(TOOL_CORES_BUSIEST, busiest);
        }
    }
}

/// Everything that a part reports under names that are the rig's own.
pub(crate) fn copy_all(recorder: &mut Recorder, report: &Report) {
    report.numbers.iter().for_each(|(name, value)| recorder.scalar(name, *value));
    report.distributions.keys().for_each(|name| copy(recorder, name, report, name));
}

/// A distribution as the part reported it under another name.
pub(crate) fn copy(recorder: &mut Recorder, name: &str, report: &Report, theirs: &str) {
    for (value, count) in report.distributions.get(theirs).into_iter().flatten() {
        recorder.values(name, *value, *count);
    }
}
