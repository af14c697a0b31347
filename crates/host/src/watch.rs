//! A system under test over time, the tool beside it, and the machine around both.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::validity::{self, Doubt, Thresholds};
use crate::{
    MachineInterval, MachineMeter, MachineSample, MeterError, ProcessMeter, SubjectMeter, SubjectSample,
};

/// The most windows that are kept; further ones are counted in [`Watched::left_out`].
pub const SAMPLES_MAX: usize = 100_000;
/// Proportional memory costs a walk through the address space: it is read once in so many windows.
const PSS_EVERY: usize = 10;

/// Something that is sampled in every window, for declaring metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    /// Name with the unit last; users put the subject in front (`sut.cpu_cores`).
    pub name: &'static str,
    /// Unit for people.
    pub unit: &'static str,
    /// One line for people.
    pub comment: &'static str,
}

/// Every meter of [`Window::values`], in its order.
pub const METERS: [Meter; 11] = [
    meter("cpu_cores", "cores", "cores kept busy: 1 is one core, what `top` calls 100 %"),
    meter("cpu_machine_share", "", "the same as a share of all the machine's cores"),
    meter("cpu_user_cores", "cores", "the part in user mode"),
    meter("cpu_system_cores", "cores", "the part in the kernel on its behalf"),
    meter("rss_mb", "MB", "resident memory; what processes share counts for each"),
    meter("pss_mb", "MB", "proportional memory; what n processes share counts 1/n"),
    meter("threads", "threads", "threads alive"),
    meter("voluntary_switches_per_s", "1/s", "times that a thread waited for something"),
    meter("involuntary_switches_per_s", "1/s", "times that a thread was made to wait for others"),
    meter("minor_faults_per_s", "1/s", "page faults served without I/O"),
    meter("major_faults_per_s", "1/s", "page faults that needed I/O"),
];

const fn meter(name: &'static str, unit: &'static str, comment: &'static str) -> Meter {
    Meter { name, unit, comment }
}

/// What a subject did between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Window {
    /// Its end, from the start of watching.
    pub at: Duration,
    /// Its length, s.
    pub wall_s: f64,
    /// Cores kept busy; 1 is one core.
    pub cpu_cores: f64,
    /// The same as a share of all cores of the machine.
    pub cpu_machine_share: f64,
    /// The part in user mode.
    pub cpu_user_cores: Option<f64>,
    /// The part in the kernel.
    pub cpu_system_cores: Option<f64>,
    /// Resident memory at its end, MB (10⁶ B).
    pub rss_mb: Option<f64>,
    /// Proportional memory at its end, MB; in some windows only, since it is dear.
    pub pss_mb: Option<f64>,
    /// Threads at its end.
    pub threads: u64,
    /// Processes at its end.
    pub processes: u64,
    /// Waits for something, per second.
    pub voluntary_switches_per_s: f64,
    /// Waits for others, per second.
    pub involuntary_switches_per_s: f64,
    /// Page faults without I/O, per second.
    pub minor_faults_per_s: Option<f64>,
    /// Page faults with I/O, per second.
    pub major_faults_per_s: Option<f64>,
}

impl Window {
    /// Values in the order of [`METERS`]; `None`: not known for this subject or window.
    pub fn values(&self) -> [Option<f64>; METERS.len()] {
        [
            Some(self.cpu_cores),
            Some(self.cpu_machine_share),
            self.cpu_user_cores,
            self.cpu_system_cores,
            self.rss_mb,
            self.pss_mb,
            Some(self.threads as f64),
            Some(self.voluntary_switches_per_s),
            Some(self.involuntary_switches_per_s),
            self.minor_faults_per_s,
            self.major_faults_per_s,
        ]
    }

    fn between(from: &SubjectSample, to: &SubjectSample, start: Instant, cpus: usize) -> Option<Self> {
        let wall_s = to.at.duration_since(from.at).as_secs_f64();
        if wall_s <= 0.0 {
            return None;
        }
        let per_s = |now: u64, then: u64| now.saturating_sub(then) as f64 / wall_s;
        let cores = |now: f64, then: f64| (now - then).max(0.0) / wall_s;
        let both = |now: Option<f64>, then: Option<f64>| Some(cores(now?, then?));
        let faults = |now: Option<u64>, then: Option<u64>| Some(per_s(now?, then?));
        let cpu_cores = cores(to.cpu_s, from.cpu_s);
        Some(Self {
            at: to.at.duration_since(start),
            wall_s,
            cpu_cores,
            cpu_machine_share: cpu_cores / cpus.max(1) as f64,
            cpu_user_cores: both(to.cpu_user_s, from.cpu_user_s),
            cpu_system_cores: both(to.cpu_system_s, from.cpu_system_s),
            rss_mb: to.rss_bytes.map(|bytes| bytes as f64 / 1e6),
            pss_mb: None,
            threads: to.threads,
            processes: to.processes,
            voluntary_switches_per_s: per_s(to.voluntary_switches, from.voluntary_switches),
            involuntary_switches_per_s: per_s(to.involuntary_switches, from.involuntary_switches),
            minor_faults_per_s: faults(to.minor_faults, from.minor_faults),
            major_faults_per_s: faults(to.major_faults, from.major_faults),
        })
    }
}

/// What the tool itself cost meanwhile, and how late its meter was.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Tool {
    /// Cores that this process kept busy, the subject's own threads in it taken off.
    pub cpu_cores: f64,
    /// Its resident memory at the end, MB.
    pub rss_mb: f64,
    /// How late the latest sample was, µs.
    pub lateness_us_max: u64,
}

/// Everything that was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Watched {
    /// One window for each period.
    pub windows: Vec<Window>,
    /// The whole time as one window; `None` if no two samples could be taken.
    pub whole: Option<Window>,
    /// What the tool cost.
    pub tool: Tool,
    /// Cores that others than subject, helpers and tool kept busy; `None` without a machine meter.
    pub foreign_cores: Option<f64>,
    /// What the machine did.
    pub machine: Option<MachineInterval>,
    /// Cores of the machine.
    pub cpus: usize,
    /// Windows beyond [`SAMPLES_MAX`].
    pub left_out: u64,
    /// Why sampling ended early: the subject's end, mostly.
    pub ended: Option<String>,
}

impl Watched {
    /// A series of one of [`METERS`]: (end of the window from the start, value).
    pub fn series(&self, meter: usize) -> Vec<(Duration, f64)> {
        let value = |window: &Window| Some((window.at, (*window.values().get(meter)?)?));
        self.windows.iter().filter_map(value).collect()
    }

    /// What speaks against this measurement; empty: nothing.
    pub fn doubts(&self, thresholds: &Thresholds) -> Vec<Doubt> {
        validity::doubts(self.machine.as_ref(), self.foreign_cores, self.cpus, thresholds)
    }
}

/// Samples a subject on a thread of its own until told to finish.
#[derive(Debug)]
pub struct Watch {
    finish: Sender<()>,
    thread: JoinHandle<Watched>,
}

impl Watch {
    /// Watches `sut`. `helpers` are other processes of the experiment (a load generator of its own): their work is
    /// not a stranger's. `in_process`: the subject runs in threads of this process, so that its CPU is not the tool's.
    ///
    /// # Errors
    /// The subject is not there, or no thread could be had.
    pub fn start(
        sut: SubjectMeter,
        helpers: Vec<SubjectMeter>,
        in_process: bool,
        period: Duration,
    ) -> Result<Self, MeterError> {
        let mut sampler = Sampler::new(sut, helpers, in_process)?;
        let (finish, told) = channel();
        let thread = std::thread::Builder::new().name("meter".to_owned());
        let thread = thread.spawn(move || {
            let period = period.max(Duration::from_millis(10));
            let mut due = sampler.start + period;
            loop {
                let wait = due.saturating_duration_since(Instant::now());
                match told.recv_timeout(wait) {
                    Err(RecvTimeoutError::Timeout) if sampler.ended.is_none() => {
                        sampler.step(due);
                        // Samples that were missed are missing; they are not taken in a burst.
                        due += period;
                        while due <= Instant::now() {
                            due += period;
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => due = Instant::now() + period,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return sampler.finish(),
                }
            }
        });
        Ok(Self { finish, thread: thread.map_err(MeterError::Thread)? })
    }

    /// Takes a last sample and hands out everything.
    ///
    /// # Errors
    /// The sampling thread is gone, which only a defect of ours does.
    pub fn finish(self) -> Result<Watched, MeterError> {
        let _ = self.finish.send(());
        self.thread
            .join()
            .map_err(|_| MeterError::Thread(std::io::Error::other("the meter's thread panicked")))
    }
}

struct Sampler {
    sut: SubjectMeter,
    helpers: Vec<SubjectMeter>,
    in_process: bool,
    start: Instant,
    cpus: usize,
    first: SubjectSample,
    last: SubjectSample,
    helpers_cpu_s: (f64, f64),
    tool: ProcessMeter,
    tool_cpu_s: f64,
    machine: Option<MachineSample>,
    windows: Vec<Window>,
    late_us: u64,
    left_out: u64,
    ended: Option<String>,
}

impl Sampler {
    fn new(
        mut sut: SubjectMeter,
        mut helpers: Vec<SubjectMeter>,
        in_process: bool,
    ) -> Result<Self, MeterError> {
        let tool = ProcessMeter::own();
        let machine = MachineMeter::default().sample().ok();
        let first = sut.sample()?;
        let helpers_cpu: f64 =
            helpers.iter_mut().filter_map(|helper| Some(helper.sample().ok()?.cpu_s)).sum();
        Ok(Self {
            start: first.at,
            cpus: machine.map_or(1, |machine| machine.cpus),
            last: first,
            first,
            helpers_cpu_s: (helpers_cpu, helpers_cpu),
            tool_cpu_s: tool.sample()?.cpu_s(),
            tool,
            machine,
            windows: Vec::new(),
            late_us: 0,
            left_out: 0,
            ended: None,
            sut,
            helpers,
            in_process,
        })
    }

    fn step(&mut self, due: Instant) {
        let late = Instant::now().saturating_duration_since(due);
        self.late_us = self.late_us.max(u64::try_from(late.as_micros()).unwrap_or(u64::MAX));
        let sample = match self.sut.sample() {
            Ok(sample) => sample,
            Err(error) => {
                self.ended = Some(error.to_string());
                return;
            }
        };
        let helpers: f64 =
            self.helpers.iter_mut().filter_map(|helper| Some(helper.sample().ok()?.cpu_s)).sum();
        self.helpers_cpu_s.1 = self.helpers_cpu_s.1.max(helpers);
        let Some(mut window) = Window::between(&self.last, &sample, self.start, self.cpus) else { return };
        if self.windows.len() >= SAMPLES_MAX {
            self.left_out += 1;
        } else {
            if self.windows.len().is_multiple_of(PSS_EVERY) {
                window.pss_mb = self.sut.pss_bytes().map(|bytes| bytes as f64 / 1e6);
            }
            self.windows.push(window);
        }
        self.last = sample;
    }

    fn finish(mut self) -> Watched {
        if self.ended.is_none() {
            self.step(Instant::now());
        }
        let whole = Window::between(&self.first, &self.last, self.start, self.cpus).map(|mut whole| {
            whole.pss_mb = self.windows.iter().rev().find_map(|window| window.pss_mb);
            whole
        });
        let wall_s = self.start.elapsed().as_secs_f64().max(1e-9);
        let tool = self.tool.sample().ok();
        let own_s = tool.map_or(0.0, |tool| tool.cpu_s() - self.tool_cpu_s);
        let sut_s = self.last.cpu_s - self.first.cpu_s;
        let tool_s = if self.in_process { (own_s - sut_s).max(0.0) } else { own_s };
        let machine = MachineMeter::default().sample().ok().zip(self.machine);
        let busy_s = machine.map(|(now, then)| now.busy_s - then.busy_s);
        let ours_s = tool_s + sut_s + (self.helpers_cpu_s.1 - self.helpers_cpu_s.0);
        Watched {
            windows: self.windows,
            whole,
            tool: Tool {
                cpu_cores: tool_s / wall_s,
                rss_mb: tool.map_or(0.0, |tool| tool.rss_bytes as f64 / 1e6),
                lateness_us_max: self.late_us,
            },
            foreign_cores: busy_s.map(|busy| ((busy - ours_s) / wall_s).max(0.0)),
            machine: machine.and_then(|(now, then)| now.since(&then)),
            cpus: self.cpus,
            left_out: self.left_out,
            ended: self.ended,
        }
    }
}

#[cfg(test)]
mod tests;
