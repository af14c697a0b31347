//! What is metered: one process, all of a command, a control group, or threads of this process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::{MeterError, ProcessMeter, ProcessSample, ThreadGroup, read};

/// A system under test, as its user names it.
#[derive(Debug, Clone)]
pub enum Subject {
    /// One process.
    Process {
        /// Its identifier.
        pid: u32,
    },
    /// Every process that runs a command, those that start later included; never this one.
    Command {
        /// Name of the program file, without its folder.
        name: String,
    },
    /// Every process of a control group and of those below it.
    Cgroup {
        /// Its folder, such as `/sys/fs/cgroup/system.slice/ric.service`.
        path: PathBuf,
    },
    /// Threads of this very process. Memory and faults belong to the whole process and are not told.
    Threads(ThreadGroup),
}

/// Reads the meters of a subject as often as asked. Totals never fall: what a process that ends has used is kept.
#[derive(Debug)]
pub struct SubjectMeter {
    subject: Subject,
    alive: BTreeMap<(u32, u64), ProcessSample>,
    ended: Ended,
}

/// Totals of processes that are gone.
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    cpu_s: f64,
    user_s: f64,
    system_s: f64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
}

/// The meters at one moment; times and counts are totals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SubjectSample {
    /// When.
    #[serde(skip)]
    pub at: Instant,
    /// CPU seconds in both modes.
    pub cpu_s: f64,
    /// CPU seconds in user mode; steps of 10 ms. `None`: not told apart (threads).
    pub cpu_user_s: Option<f64>,
    /// CPU seconds in the kernel; steps of 10 ms. `None`: not told apart (threads).
    pub cpu_system_s: Option<f64>,
    /// Resident memory, summed over processes: pages that they share count for each. `None`: not the subject's own.
    pub rss_bytes: Option<u64>,
    /// Processes alive.
    pub processes: u64,
    /// Threads alive.
    pub threads: u64,
    /// Times that a thread waited for something.
    pub voluntary_switches: u64,
    /// Times that a thread was made to wait for others.
    pub involuntary_switches: u64,
    /// Page faults served without I/O. `None`: not the subject's own.
    pub minor_faults: Option<u64>,
    /// Page faults that needed I/O. `None`: not the subject's own.
    pub major_faults: Option<u64>,
}

impl SubjectMeter {
    /// A meter of a subject that is there.
    ///
    /// # Errors
    /// [`MeterError::NoProcess`], [`MeterError::NoCommand`] or [`MeterError::NoCgroup`]: there is no such subject.
    pub fn new(subject: Subject) -> Result<Self, MeterError> {
        let mut meter = Self { subject, alive: BTreeMap::new(), ended: Ended::default() };
        meter.sample()?;
        Ok(meter)
    }

    /// Reads all meters but [`Self::pss_bytes`].
    ///
    /// # Errors
    /// The subject is gone: a process that ended, a command that nobody runs any more, a group that was removed.
    pub fn sample(&mut self) -> Result<SubjectSample, MeterError> {
        if let Subject::Threads(group) = &self.subject {
            return Ok(of_threads(group));
        }
        let pids = self.pids()?;
        let mut now = BTreeMap::new();
        for pid in pids {
            let meter = ProcessMeter::new(pid);
            // One that ends between the list and here is counted as ended.
            if let (Ok(began), Ok(sample)) = (meter.began_ticks(), meter.sample()) {
                now.insert((pid, began), sample);
            }
        }
        for (key, last) in std::mem::take(&mut self.alive) {
            if !now.contains_key(&key) {
                self.ended.add(&last);
            }
        }
        if now.is_empty() {
            self.nobody()?;
        }
        self.alive = now;
        let mut sample = self.sum();
        if let Some((cpu_s, user_s, system_s)) = self.group_cpu() {
            (sample.cpu_s, sample.cpu_user_s, sample.cpu_system_s) = (cpu_s, Some(user_s), Some(system_s));
        }
        Ok(sample)
    }

    /// Proportional memory of all processes: a page shared by n processes counts 1/n. The kernel walks the address
    /// spaces for it, so not for a tight loop. `None` if it is not the subject's own or may not be read.
    pub fn pss_bytes(&self) -> Option<u64> {
        let of = |pid: u32| ProcessMeter::new(pid).pss_bytes().ok();
        if self.alive.is_empty() {
            return None;
        }
        self.alive.keys().map(|(pid, _)| of(*pid)).sum()
    }

    /// Identifiers of the processes that were alive at the last sample.
    pub fn alive(&self) -> Vec<u32> {
        self.alive.keys().map(|(pid, _)| *pid).collect()
    }

    fn pids(&self) -> Result<Vec<u32>, MeterError> {
        match &self.subject {
            Subject::Process { pid } => Ok(vec![*pid]),
            Subject::Command { name } => Ok(running(name)),
            Subject::Cgroup { path } => {
                let mut pids = Vec::new();
                members(path, &mut pids)?;
                Ok(pids)
            }
            Subject::Threads(_) => Ok(Vec::new()),
        }
    }

    /// An empty control group is one without work; the others are gone without processes.
    fn nobody(&self) -> Result<(), MeterError> {
        match &self.subject {
            Subject::Process { pid } => Err(MeterError::NoProcess { pid: *pid }),
            Subject::Command { name } => Err(MeterError::NoCommand { command: name.clone() }),
            Subject::Cgroup { .. } | Subject::Threads(_) => Ok(()),
        }
    }

    fn sum(&self) -> SubjectSample {
        let mut all = self.ended;
        let (mut rss, mut threads) = (0, 0);
        for sample in self.alive.values() {
            all.add(sample);
            rss += sample.rss_bytes;
            threads += sample.threads;
        }
        SubjectSample {
            at: Instant::now(),
            cpu_s: all.cpu_s,
            cpu_user_s: Some(all.user_s),
            cpu_system_s: Some(all.system_s),
            rss_bytes: Some(rss),
            processes: self.alive.len() as u64,
            threads,
            voluntary_switches: all.voluntary_switches,
            involuntary_switches: all.involuntary_switches,
            minor_faults: Some(all.minor_faults),
            major_faults: Some(all.major_faults),
        }
    }

    /// Version 2 groups count CPU themselves, also of processes that came and went between two samples.
    fn group_cpu(&self) -> Option<(f64, f64, f64)> {
        let Subject::Cgroup { path } = &self.subject else { return None };
        let text = read(path.join("cpu.stat")).ok()?;
        let us = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
            Some(line.trim().parse::<u64>().ok()? as f64 / 1e6)
        };
        Some((us("usage_usec")?, us("user_usec")?, us("system_usec")?))
    }
}

impl Ended {
    fn add(&mut self, sample: &ProcessSample) {
        self.cpu_s += sample.cpu_s();
        self.user_s += sample.cpu_user_s;
        self.system_s += sample.cpu_system_s;
        self.voluntary_switches += sample.voluntary_switches;
        self.involuntary_switches += sample.involuntary_switches;
        self.minor_faults += sample.minor_faults;
        self.major_faults += sample.major_faults;
    }
}

fn of_threads(group: &ThreadGroup) -> SubjectSample {
    let totals = group.totals();
    SubjectSample {
        at: Instant::now(),
        cpu_s: totals.cpu_ns as f64 / 1e9,
        cpu_user_s: None,
        cpu_system_s: None,
        rss_bytes: None,
        processes: u64::from(totals.threads > 0),
        threads: totals.threads,
        voluntary_switches: totals.voluntary_switches,
        involuntary_switches: totals.involuntary_switches,
        minor_faults: None,
        major_faults: None,
    }
}

/// Processes whose name (15 characters, proc_pid_comm(5)) or program file is that one.
fn running(name: &str) -> Vec<u32> {
    let own = std::process::id();
    let short: String = name.chars().take(15).collect();
    let Ok(folders) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = folders.flatten().filter_map(|folder| folder.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own && runs(*pid, name, &short)).collect()
}

fn runs(pid: u32, name: &str, short: &str) -> bool {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let program = read(folder.join("cmdline")).unwrap_or_default();
    let program = program.split('\0').next().unwrap_or_default();
    if Path::new(program).file_name().is_some_and(|file| file == name) {
        return true;
    }
    // A name that was cut says less than the command line; it counts where there is none to contradict it.
    read(folder.join("comm")).is_ok_and(|comm| comm.trim_end() == short)
        && (name.chars().count() <= 15 || program.is_empty())
}

/// How deep groups may nest below the subject; systemd's go to about 8.
const GROUP_DEPTH: usize = 32;

fn members(path: &Path, into: &mut Vec<u32>) -> Result<(), MeterError> {
    if !path.join("cgroup.procs").exists() {
        return Err(MeterError::NoCgroup { path: path.to_owned() });
    }
    let mut folders = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        // A group below may go while we look.
        let text = read(folder.join("cgroup.procs")).unwrap_or_default();
        into.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
        let below = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let below =
            below.filter(|entry| depth < GROUP_DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.extend(below.map(|entry| (entry.path(), depth + 1)));
    }
    into.sort_unstable();
    into.dedup();
    Ok(())
}

#[cfg(test)]
mod tests;
