//! What a part's processes and its machine use while a window is open.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ranlab_host::traffic::{Carried, Connections, carried, own_connections};
use ranlab_host::{
    MachineMeter, MachineSample, PowerMeter, PowerSample, Subject, SubjectMeter, SubjectSample, thread_cpu_ns,
};

use crate::Task;
use crate::pulse::Pulse;
use crate::worker::{MachineReport, ProcessReport, Report};

/// Between two samples of the series.
const TICK: Duration = Duration::from_secs(1);
/// The longest series; later samples are left out.
const SAMPLES_MAX: usize = 100_000;

/// CPU time of this process that is the measurement's own: a part in it must not pay for being looked at. One thread works
/// and meters; another one only reads what is asked.
#[derive(Default)]
pub(crate) struct Cost {
    spent_ns: Cell<u64>,
    /// CPU time of the thread when the work at hand began.
    since: Cell<Option<u64>>,
    reader_ns: Arc<AtomicU64>,
    pulse_ns: Arc<AtomicU64>,
}

impl Cost {
    /// What this thread does until [`end`](Self::end) is the measurement's.
    pub(crate) fn begin(&self) {
        self.since.set(thread_cpu_ns());
    }

    pub(crate) fn end(&self) {
        self.spent_ns.set(self.spent_ns.get() + self.at_hand_ns());
        self.since.set(None);
    }

    /// Where the thread that reads writes down all of its CPU time.
    pub(crate) fn reader(&self) -> Arc<AtomicU64> {
        self.reader_ns.clone()
    }

    fn at_hand_ns(&self) -> u64 {
        let spent = self.since.get().zip(thread_cpu_ns()).map(|(since, now)| now.saturating_sub(since));
        spent.unwrap_or_default()
    }

    /// CPU time of the measurement's other threads.
    fn others_ns(&self) -> u64 {
        self.reader_ns.load(Ordering::Relaxed) + self.pulse_ns.load(Ordering::Relaxed)
    }

    /// Until now.
    fn seconds(&self) -> f64 {
        (self.spent_ns.get() + self.at_hand_ns() + self.others_ns()) as f64 * 1e-9
    }
}

/// A subject's meter. Of a subject that is this process the measurement's own CPU time is left out.
struct Metered {
    meter: SubjectMeter,
    cost: Option<Rc<Cost>>,
}

impl Metered {
    fn sample(&mut self) -> Option<SubjectSample> {
        let sample = self.meter.sample().ok()?;
        let cost_s = self.cost.as_ref().map_or(0.0, |cost| cost.seconds());
        Some(SubjectSample { cpu_s: sample.cpu_s - cost_s, ..sample })
    }
}

/// Meters of a subject (or of none) and of the machine.
pub(crate) struct Meters {
    subject: Option<Rc<RefCell<Metered>>>,
    machine: MachineMeter,
    /// Where the machine shows what it takes.
    power: Option<PowerMeter>,
    cost: Rc<Cost>,
    open: Option<Open>,
}

/// (offset in s, CPU cores since the sample before, resident bytes).
type Series = Vec<(f64, f64, u64)>;

struct Open {
    before: Option<SubjectSample>,
    machine: Option<MachineSample>,
    power: Option<PowerSample>,
    connections: Option<Connections>,
    series: Rc<RefCell<Series>>,
    pulse: Pulse,
    _sampler: Option<Task>,
}

impl Meters {
    /// A subject that cannot be metered (any more) is none.
    pub(crate) fn new(subject: Option<Subject>, cost: Rc<Cost>) -> Self {
        let own = matches!(subject, Some(Subject::Process { pid }) if pid == std::process::id());
        let subject = subject.and_then(|subject| SubjectMeter::new(subject).ok());
        let subject = subject.map(|meter| Metered { meter, cost: own.then(|| cost.clone()) });
        let subject = subject.map(|metered| Rc::new(RefCell::new(metered)));
        Self { subject, machine: MachineMeter::default(), power: PowerMeter::new().ok(), cost, open: None }
    }

    fn sample(&self) -> Option<SubjectSample> {
        self.subject.as_ref().and_then(|metered| metered.borrow_mut().sample())
    }

    fn energy(&self) -> Option<PowerSample> {
        self.power.as_ref().and_then(|power| power.sample().ok())
    }

    /// What costs is done before the subject is looked at.
    pub(crate) fn begin(&mut self) {
        let series = Rc::new(RefCell::new(Series::new()));
        let connections = own_connections().ok();
        let (machine, power) = (self.machine.sample().ok(), self.energy());
        let before = self.sample();
        let _sampler =
            self.subject.clone().zip(before).map(|(metered, before)| {
                Task::spawn(sample(metered, self.cost.clone(), before, series.clone()))
            });
        let pulse = Pulse::start(self.cost.pulse_ns.clone());
        self.open = Some(Open { before, machine, power, connections, series, pulse, _sampler });
    }

    /// What costs is done after the subject was looked at.
    pub(crate) fn end(&mut self, wall: Duration) -> Report {
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
                steal_share: interval.steal_share,
                cpu_pressure: interval.pressure.map(|pressure| pressure.cpu_s),
                watts: joules.map(|joules| joules / interval.wall_s),
            });
        }
        report.wire = open.connections.as_ref().and_then(wire);
        report
    }
}

/// What the kernel calls its boot.
fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// What this worker's own connections carried since; `None`: it has none.
fn wire(before: &Connections) -> Option<Carried> {
    Some(carried(before, &own_connections().ok()?)).filter(|carried| carried.connections > 0)
}

fn used(before: &SubjectSample, after: &SubjectSample, mut series: Series, wall_s: f64) -> ProcessReport {
    let rss_bytes = after.rss_bytes;
    // A window shorter than a tick has at least its mean.
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
    cost: Rc<Cost>,
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

    fn work(ns: u64) {
        let begin = thread_cpu_ns().unwrap();
        while thread_cpu_ns().unwrap() < begin + ns {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_the_measurement_costs_is_not_the_parts() {
        let cost = Rc::new(Cost::default());
        let own = Subject::Process { pid: std::process::id() };
        let new = |cost| Metered { meter: SubjectMeter::new(own.clone()).unwrap(), cost };
        let (mut bare, mut metered) = (new(None), new(Some(cost.clone())));
        let (all, without) = (bare.sample().unwrap(), metered.sample().unwrap());
        cost.begin();
        work(50_000_000);
        cost.end();
        cost.begin();
        work(20_000_000);
        let (metered, bare) = (metered.sample().unwrap(), bare.sample().unwrap());
        // Other tests run in other threads of this process: their time between two samples is on the bare meter's side.
        let left_out = (bare.cpu_s - all.cpu_s) - (metered.cpu_s - without.cpu_s);
        cost.end();
        assert!(left_out > 0.069, "{left_out}");
        assert_eq!(cost.since.get(), None);
        cost.reader().store(7_000_000_000, Ordering::Relaxed);
        assert!(cost.seconds() > 7.0);
    }
}
