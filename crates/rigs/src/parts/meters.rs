//! What a part's process and its machine use while a window is open.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ranlab_host::{MachineMeter, MachineSample, ProcessMeter, ProcessSample};

use crate::worker::{MachineReport, ProcessReport, Report};

/// Between two samples of the series.
const TICK: Duration = Duration::from_secs(1);
/// The longest series; later samples are left out.
const SAMPLES_MAX: usize = 100_000;

/// Meters of one process (or of none) and of the machine.
pub(crate) struct Meters {
    process: Option<ProcessMeter>,
    machine: MachineMeter,
    open: Option<Open>,
}

struct Open {
    process: Option<ProcessSample>,
    machine: Option<MachineSample>,
    series: Rc<RefCell<Vec<(f64, f64, u64)>>>,
    sampler: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(sampler) = &self.sampler {
            sampler.abort();
        }
    }
}

impl Meters {
    pub(crate) fn new(pid: Option<u32>) -> Self {
        Self { process: pid.map(ProcessMeter::new), machine: MachineMeter::default(), open: None }
    }

    pub(crate) fn begin(&mut self) {
        let series = Rc::new(RefCell::new(Vec::new()));
        let before = self.process.as_ref().and_then(|meter| meter.sample().ok());
        let sampler = self
            .process
            .clone()
            .zip(before)
            .map(|(meter, before)| tokio::task::spawn_local(sample(meter, before, series.clone())));
        self.open = Some(Open { process: before, machine: self.machine.sample().ok(), series, sampler });
    }

    pub(crate) fn end(&mut self, wall: Duration) -> Report {
        let Some(open) = self.open.take() else { return Report::default() };
        let wall_s = wall.as_secs_f64();
        let after = self.process.as_ref().and_then(|meter| meter.sample().ok());
        let mut report = Report { wall_s, ..Report::default() };
        if let Some((before, after)) = open.process.zip(after) {
            let mut series = open.series.take();
            // A window shorter than a tick has at least its mean.
            if series.is_empty() && wall_s > 0.0 {
                series.push((wall_s / 2.0, (after.cpu_s() - before.cpu_s()) / wall_s, after.rss_bytes));
            }
            let switches = |s: &ProcessSample| s.voluntary_switches + s.involuntary_switches;
            let faults = |s: &ProcessSample| s.minor_faults + s.major_faults;
            report.process = Some(ProcessReport {
                cpu_s: after.cpu_s() - before.cpu_s(),
                rss_bytes: after.rss_bytes,
                rss_peak_bytes: after.rss_peak_bytes,
                context_switches: switches(&after).saturating_sub(switches(&before)),
                faults: faults(&after).saturating_sub(faults(&before)),
                threads: after.threads,
                series,
            });
        }
        if let Some((before, after)) = open.machine.zip(self.machine.sample().ok()) {
            report.machine = after.since(&before).map(|interval| MachineReport {
                cpus: after.cpus,
                busy_s: after.busy_s - before.busy_s,
                steal_share: interval.steal_share,
                cpu_pressure: interval.pressure.map(|pressure| pressure.cpu_s),
            });
        }
        report
    }
}

async fn sample(meter: ProcessMeter, mut before: ProcessSample, series: Rc<RefCell<Vec<(f64, f64, u64)>>>) {
    let begin = Instant::now();
    let mut at = begin;
    let mut ticks = tokio::time::interval(TICK);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Ok(now) = meter.sample() else { return };
        let cores = (now.cpu_s() - before.cpu_s()) / at.elapsed().as_secs_f64().max(1e-3);
        (before, at) = (now, Instant::now());
        let mut series = series.borrow_mut();
        if series.len() < SAMPLES_MAX {
            series.push((begin.elapsed().as_secs_f64(), cores, now.rss_bytes));
        }
    }
}
