//! Meters the resource usage of a component's processes and of its machine during a window.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ranlab_host::traffic::{Connections, ProcessTraffic, carried, own_connections};
use ranlab_host::{
    MachineMeter, MachineSample, PowerMeter, PowerSample, Subject, SubjectMeter, SubjectSample,
    process_cpu_ns, thread_cpu_ns,
};

use crate::Task;
use crate::pulse::Pulse;
use crate::worker::{MachineReport, ProcessReport, Report};

/// Sampling interval of the time series.
const TICK: Duration = Duration::from_secs(1);
/// Maximum length of the time series. Further samples are left out.
const SAMPLES_MAX: usize = 100_000;

/// CPU time that this process spends on the measurement itself. It is not attributed to the component that runs in this
/// process. One thread runs the component and the meters; another reads requests.
#[derive(Default)]
pub struct MeteringOverhead {
    spent_ns: Cell<u64>,
    /// CPU time of the thread when the current measurement task began.
    since: Cell<Option<u64>>,
    reader_ns: Arc<AtomicU64>,
    pulse_ns: Arc<AtomicU64>,
}

impl MeteringOverhead {
    /// Begins a measurement task of this thread, which lasts until [`end`](Self::end).
    pub fn begin(&self) {
        self.since.set(thread_cpu_ns());
    }

    pub fn end(&self) {
        self.spent_ns.set(self.spent_ns.get() + self.at_hand_ns());
        self.since.set(None);
    }

    /// Returns the counter to which the reading thread writes its CPU time.
    pub fn reader(&self) -> Arc<AtomicU64> {
        self.reader_ns.clone()
    }

    fn at_hand_ns(&self) -> u64 {
        let spent = self.since.get().zip(thread_cpu_ns()).map(|(since, now)| now.saturating_sub(since));
        spent.unwrap_or_default()
    }

    /// Returns the CPU time of the measurement's other threads.
    fn others_ns(&self) -> u64 {
        self.reader_ns.load(Ordering::Relaxed) + self.pulse_ns.load(Ordering::Relaxed)
    }

    /// Returns the total CPU time of the measurement so far, in seconds.
    fn seconds(&self) -> f64 {
        (self.spent_ns.get() + self.at_hand_ns() + self.others_ns()) as f64 * 1e-9
    }
}

/// Meter of a subject. If the subject is this process, the measurement's own CPU time is subtracted.
struct Metered {
    meter: SubjectMeter,
    cost: Option<Rc<MeteringOverhead>>,
}

impl Metered {
    fn sample(&mut self) -> Option<SubjectSample> {
        let sample = self.meter.sample().ok()?;
        let cost_s = self.cost.as_ref().map_or(0.0, |cost| cost.seconds());
        Some(SubjectSample { cpu_s: sample.cpu_s - cost_s, ..sample })
    }
}

/// Meters of the machine and, optionally, of a subject.
pub struct WindowMeters {
    subject: Option<Rc<RefCell<Metered>>>,
    /// Whether the subject is this process.
    own: bool,
    machine: MachineMeter,
    /// Power meter of the machine, if it has one.
    power: Option<PowerMeter>,
    cost: Rc<MeteringOverhead>,
    open: Option<Open>,
}

/// (offset in s, CPU cores since the previous sample, resident bytes).
type Series = Vec<(f64, f64, u64)>;

struct Open {
    before: Option<SubjectSample>,
    /// CPU time of this process, in nanoseconds.
    worker_ns: Option<u64>,
    machine: Option<MachineSample>,
    power: Option<PowerSample>,
    connections: Option<Connections>,
    series: Rc<RefCell<Series>>,
    pulse: Pulse,
    _sampler: Option<Task>,
}

impl WindowMeters {
    /// Creates the meters. A subject that cannot be metered is treated as absent.
    pub fn new(subject: Option<Subject>, cost: Rc<MeteringOverhead>) -> Self {
        let own = matches!(subject, Some(Subject::Process { pid }) if pid == std::process::id());
        let subject = subject.and_then(|subject| SubjectMeter::new(subject).ok());
        let subject = subject.map(|meter| Metered { meter, cost: own.then(|| cost.clone()) });
        let subject = subject.map(|metered| Rc::new(RefCell::new(metered)));
        let power = PowerMeter::new().ok();
        Self { subject, own, machine: MachineMeter::default(), power, cost, open: None }
    }

    fn sample(&self) -> Option<SubjectSample> {
        self.subject.as_ref().and_then(|metered| metered.borrow_mut().sample())
    }

    fn energy(&self) -> Option<PowerSample> {
        self.power.as_ref().and_then(|power| power.sample().ok())
    }

    /// Begins a window. Expensive preparations come before the first sample of the subject, so that they do not count.
    pub fn begin(&mut self) {
        let series = Rc::new(RefCell::new(Series::new()));
        let connections = own_connections().ok();
        let machine = self.machine.sample().ok();
        let power = self.energy();
        let before = self.sample();
        let worker_ns = process_cpu_ns(std::process::id());
        let _sampler =
            self.subject.clone().zip(before).map(|(metered, before)| {
                Task::spawn(sample(metered, self.cost.clone(), before, series.clone()))
            });
        let pulse = Pulse::start(self.cost.pulse_ns.clone());
        self.open = Some(Open { before, worker_ns, machine, power, connections, series, pulse, _sampler });
    }

    /// Ends the window and returns its report. Expensive evaluations come after the last sample of the subject, so that
    /// they do not count.
    pub fn end(&mut self, wall: Duration) -> Report {
        let Some(open) = self.open.take() else { return Report::default() };
        let wall_s = wall.as_secs_f64();
        let stood_still_s = open.pulse.stood_still().as_secs_f64();
        let mut report = Report { wall_s, boot: boot(), stood_still_s, ..Report::default() };
        if let Some((before, after)) = open.before.zip(self.sample()) {
            let pss_bytes = self.subject.as_ref().and_then(|metered| metered.borrow().meter.pss_bytes());
            report.process =
                Some(ProcessReport { pss_bytes, ..used(&before, &after, open.series.take(), wall_s) });
        }
        if let Some((before, after)) = open.machine.zip(self.machine.sample().ok()) {
            let joules = self.energy().zip(open.power).and_then(|(now, then)| now.joules_since(&then));
            report.machine = after.since(&before).map(|interval| MachineReport {
                cpus: after.cpus,
                busy_s: after.busy_s - before.busy_s,
                worker_s: worker_s(open.worker_ns, report.process.as_ref().filter(|_| self.own)),
                steal_share: interval.steal_share,
                cpu_pressure: interval.pressure.map(|pressure| pressure.cpu_s),
                watts: joules.map(|joules| joules / interval.wall_s),
            });
        }
        report.wire = open.connections.as_ref().and_then(wire);
        report
    }
}

/// Returns the CPU time of this process since `before_ns`, without the part that the report of the subject contains, in seconds.
fn worker_s(before_ns: Option<u64>, subject: Option<&ProcessReport>) -> f64 {
    let now_ns = process_cpu_ns(std::process::id());
    let used_s = now_ns.zip(before_ns).map_or(0.0, |(now, before)| now.saturating_sub(before) as f64 * 1e-9);
    (used_s - subject.map_or(0.0, |subject| subject.cpu_s)).max(0.0)
}

/// Returns the kernel's boot identifier.
fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Returns the traffic of this worker's connections since `before`, or `None` if it has no connections.
fn wire(before: &Connections) -> Option<ProcessTraffic> {
    Some(carried(before, &own_connections().ok()?)).filter(|carried| carried.connections > 0)
}

fn used(before: &SubjectSample, after: &SubjectSample, mut series: Series, wall_s: f64) -> ProcessReport {
    let rss_bytes = after.rss_bytes;
    // The series of a window shorter than the sampling interval has one sample, the mean of the window.
    if series.is_empty() && wall_s > 0.0 {
        series.push((wall_s / 2.0, (after.cpu_s - before.cpu_s) / wall_s, rss_bytes));
    }
    let largest = series.iter().map(|(_, _, rss)| *rss).chain([rss_bytes, before.rss_bytes]).max();
    ProcessReport {
        cpu_s: after.cpu_s - before.cpu_s,
        rss_bytes,
        rss_peak_bytes: largest.unwrap_or(0),
        context_switches: after.context_switches.saturating_sub(before.context_switches),
        faults: after.faults.saturating_sub(before.faults),
        processes: after.processes,
        threads: after.threads,
        pss_bytes: None,
        series,
    }
}

async fn sample(
    metered: Rc<RefCell<Metered>>,
    cost: Rc<MeteringOverhead>,
    mut before: SubjectSample,
    series: Rc<RefCell<Series>>,
) {
    let begin = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        cost.begin();
        let now = metered.borrow_mut().sample();
        cost.end();
        let Some(now) = now else { return };
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64().max(1e-3);
        let cores = (now.cpu_s - before.cpu_s) / seconds;
        before = now;
        let mut series = series.borrow_mut();
        if series.len() < SAMPLES_MAX {
            series.push((begin.elapsed().as_secs_f64(), cores, now.rss_bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn worker_time_is_reported_if_component_runs_elsewhere() {
        let used_s = |subject: Subject| {
            let mut meters = WindowMeters::new(Some(subject), Rc::new(MeteringOverhead::default()));
            meters.begin();
            work(60_000_000);
            meters.end(Duration::from_millis(60)).machine.map(|machine| machine.worker_s)
        };
        let below = Subject::Below { pid: std::process::id() };
        let all_s = tokio::task::LocalSet::new().run_until(async { used_s(below) }).await;
        assert!(all_s.is_some_and(|all_s| all_s > 0.059), "{all_s:?}");
        let before_ns = process_cpu_ns(std::process::id());
        work(60_000_000);
        let own = ProcessReport { cpu_s: 0.05, ..ProcessReport::default() };
        assert!(worker_s(before_ns, Some(&own)) > 0.009);
        assert_eq!(worker_s(before_ns, Some(&ProcessReport { cpu_s: 1e9, ..own })), 0.0);
    }

    fn work(ns: u64) {
        let begin = thread_cpu_ns().unwrap();
        while thread_cpu_ns().unwrap() < begin + ns {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn measurement_cost_is_not_attributed_to_component() {
        let cost = Rc::new(MeteringOverhead::default());
        let own = Subject::Process { pid: std::process::id() };
        let new = |cost| Metered { meter: SubjectMeter::new(own.clone()).unwrap(), cost };
        let mut bare = new(None);
        let mut metered = new(Some(cost.clone()));
        let all = bare.sample().unwrap();
        let without = metered.sample().unwrap();
        cost.begin();
        work(50_000_000);
        cost.end();
        cost.begin();
        work(20_000_000);
        let metered = metered.sample().unwrap();
        let bare = bare.sample().unwrap();
        // Other tests run in other threads of this process. The CPU time that they use between two samples is
        // attributed to the bare meter.
        let left_out = (bare.cpu_s - all.cpu_s) - (metered.cpu_s - without.cpu_s);
        cost.end();
        assert!(left_out > 0.069, "{left_out}");
        assert_eq!(cost.since.get(), None);
        cost.reader().store(7_000_000_000, Ordering::Relaxed);
        assert!(cost.seconds() > 7.0);
    }
}
