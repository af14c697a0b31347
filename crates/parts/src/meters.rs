//! What a part's processes and its machine use while a window is open.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ranlab_host::traffic::{Connections, carried, own_connections};
use ranlab_host::{MachineMeter, MachineSample, Subject, SubjectMeter, SubjectSample};

use crate::worker::{MachineReport, ProcessReport, Report, WireReport};

/// Between two samples of the series.
const TICK: Duration = Duration::from_secs(1);
/// The longest series; later samples are left out.
const SAMPLES_MAX: usize = 100_000;

/// Meters of a subject (or of none) and of the machine.
pub(crate) struct Meters {
    subject: Option<Rc<RefCell<SubjectMeter>>>,
    machine: MachineMeter,
    open: Option<Open>,
}

/// (offset in s, CPU cores since the sample before, resident bytes).
type Series = Vec<(f64, f64, u64)>;

struct Open {
    before: Option<SubjectSample>,
    machine: Option<MachineSample>,
    connections: Option<Connections>,
    series: Rc<RefCell<Series>>,
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
    /// A subject that cannot be metered (any more) is none.
    pub(crate) fn new(subject: Option<Subject>) -> Self {
        let subject = subject.and_then(|subject| SubjectMeter::new(subject).ok());
        let subject = subject.map(|meter| Rc::new(RefCell::new(meter)));
        Self { subject, machine: MachineMeter::default(), open: None }
    }

    fn sample(&self) -> Option<SubjectSample> {
        self.subject.as_ref().and_then(|meter| meter.borrow_mut().sample().ok())
    }

    pub(crate) fn begin(&mut self) {
        let series = Rc::new(RefCell::new(Series::new()));
        let before = self.sample();
        let sampler = self
            .subject
            .clone()
            .zip(before)
            .map(|(meter, before)| tokio::task::spawn_local(sample(meter, before, series.clone())));
        let connections = own_connections().ok();
        self.open = Some(Open { before, machine: self.machine.sample().ok(), connections, series, sampler });
    }

    pub(crate) fn end(&mut self, wall: Duration) -> Report {
        let Some(open) = self.open.take() else { return Report::default() };
        let wall_s = wall.as_secs_f64();
        let mut report = Report { wall_s, boot: boot(), ..Report::default() };
        report.wire = open.connections.as_ref().and_then(wire);
        if let Some((before, after)) = open.before.zip(self.sample()) {
            let pss_bytes = self.subject.as_ref().and_then(|meter| meter.borrow().pss_bytes());
            report.process =
                Some(ProcessReport { pss_bytes, ..used(&before, &after, open.series.take(), wall_s) });
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

/// What the kernel calls its boot.
fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// What this worker's own connections carried since.
fn wire(before: &Connections) -> Option<WireReport> {
    let carried = carried(before, &own_connections().ok()?);
    (carried.connections > 0).then_some(WireReport {
        connections: carried.connections,
        sent_bytes: carried.sent_bytes,
        received_bytes: carried.received_bytes,
        sent_packets: carried.sent_packets,
        received_packets: carried.received_packets,
        sent_data_packets: carried.sent_data_packets,
        received_data_packets: carried.received_data_packets,
        retransmits: carried.retransmits,
    })
}

fn used(before: &SubjectSample, after: &SubjectSample, mut series: Series, wall_s: f64) -> ProcessReport {
    let rss_bytes = after.rss_bytes.unwrap_or(0);
    // A window shorter than a tick has at least its mean.
    if series.is_empty() && wall_s > 0.0 {
        series.push((wall_s / 2.0, (after.cpu_s - before.cpu_s) / wall_s, rss_bytes));
    }
    let switches = |s: &SubjectSample| s.voluntary_switches + s.involuntary_switches;
    let faults = |s: &SubjectSample| s.minor_faults.unwrap_or(0) + s.major_faults.unwrap_or(0);
    let largest =
        series.iter().map(|(_, _, rss)| *rss).chain([rss_bytes, before.rss_bytes.unwrap_or(0)]).max();
    ProcessReport {
        cpu_s: after.cpu_s - before.cpu_s,
        rss_bytes,
        rss_peak_bytes: largest.unwrap_or(0),
        context_switches: switches(after).saturating_sub(switches(before)),
        faults: faults(after).saturating_sub(faults(before)),
        threads: after.threads,
        pss_bytes: None,
        series,
    }
}

async fn sample(meter: Rc<RefCell<SubjectMeter>>, mut before: SubjectSample, series: Rc<RefCell<Series>>) {
    let begin = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Ok(now) = meter.borrow_mut().sample() else { return };
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64().max(1e-3);
        let cores = (now.cpu_s - before.cpu_s) / seconds;
        before = now;
        let mut series = series.borrow_mut();
        if series.len() < SAMPLES_MAX {
            series.push((begin.elapsed().as_secs_f64(), cores, now.rss_bytes.unwrap_or(0)));
        }
    }
}
