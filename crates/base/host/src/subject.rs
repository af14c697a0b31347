//! The metered unit: one process, all processes of a command, or a control group.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::{MeterError, ProcessMeter, ProcessSample, process_tree, read};

/// A system under test, as its user specifies it.
#[derive(Debug, Clone)]
pub enum Subject {
    /// One process.
    Process {
        /// Id of the process.
        pid: u32,
    },
    /// Every process that runs a command, including those that start later, except this process.
    Command {
        /// Name of the program file, without its folder.
        name: String,
    },
    /// All descendants of a process, without the process itself: children, their children, and adopted orphans.
    Below {
        /// Process id.
        pid: u32,
    },
    /// Every process of a control group and of the groups below it.
    Cgroup {
        /// Folder of the group, such as `/sys/fs/cgroup/system.slice/ric.service`.
        path: PathBuf,
    },
}

/// Reads the meters of a subject repeatedly. Totals never decrease: the use of ended processes is kept.
#[derive(Debug)]
pub struct SubjectMeter {
    subject: Subject,
    alive: BTreeMap<(u32, u64), ProcessSample>,
    ended: Ended,
}

/// Totals of processes that have ended.
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    cpu_s: f64,
    context_switches: u64,
    faults: u64,
}

/// The meters at one moment; times and counts are totals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SubjectSample {
    /// Time of the sample.
    #[serde(skip)]
    pub at: Instant,
    /// CPU seconds in user mode and in the kernel.
    pub cpu_s: f64,
    /// Resident memory, summed over the processes. A shared page counts once for each process.
    pub rss_bytes: u64,
    /// Number of processes alive.
    pub processes: u64,
    /// Number of threads alive.
    pub threads: u64,
    /// Number of times that a thread waited for a resource or was preempted.
    pub context_switches: u64,
    /// Page faults, with or without I/O.
    pub faults: u64,
}

impl SubjectMeter {
    /// Creates a meter of an existing subject.
    ///
    /// # Errors
    /// [`MeterError::NoProcess`], [`MeterError::NoCommand`] or [`MeterError::NoCgroup`]: there is no such
    /// subject.
    pub fn new(subject: Subject) -> Result<Self, MeterError> {
        let mut meter = Self { subject, alive: BTreeMap::new(), ended: Ended::default() };
        meter.sample()?;
        Ok(meter)
    }

    /// Reads all meters except [`Self::pss_bytes`].
    ///
    /// # Errors
    /// The subject is gone: a process that ended, a command without processes, a group that was removed.
    pub fn sample(&mut self) -> Result<SubjectSample, MeterError> {
        let pids = self.pids()?;
        let mut now = BTreeMap::new();
        for pid in pids {
            let meter = ProcessMeter::new(pid);
            // A process that ends after the listing is counted as ended.
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
        sample.cpu_s = self.group_cpu_s().unwrap_or(sample.cpu_s);
        Ok(sample)
    }

    /// Returns the proportional memory of all processes: a page shared by n processes counts 1/n. The kernel walks the
    /// address spaces, so do not call it in a tight loop. `None` if this user may not read it.
    pub fn pss_bytes(&self) -> Option<u64> {
        let of = |pid: u32| ProcessMeter::new(pid).pss_bytes().ok();
        if self.alive.is_empty() {
            return None;
        }
        self.alive.keys().map(|(pid, _)| of(*pid)).sum()
    }

    /// Returns the identifiers of the processes that were alive at the last sample.
    pub fn alive(&self) -> Vec<u32> {
        self.alive.keys().map(|(pid, _)| *pid).collect()
    }

    fn pids(&self) -> Result<Vec<u32>, MeterError> {
        match &self.subject {
            Subject::Process { pid } => Ok(vec![*pid]),
            Subject::Command { name } => Ok(running(name)),
            Subject::Below { pid } => Ok(process_tree::below(*pid)),
            Subject::Cgroup { path } => {
                let mut pids = Vec::new();
                members(path, &mut pids)?;
                Ok(pids)
            }
        }
    }

    /// Returns the error of a subject without processes. An empty control group is valid.
    fn nobody(&self) -> Result<(), MeterError> {
        match &self.subject {
            Subject::Process { pid } => Err(MeterError::NoProcess { pid: *pid }),
            Subject::Command { name } => Err(MeterError::NoCommand { command: name.clone() }),
            Subject::Below { pid } => Err(MeterError::NothingBelow { pid: *pid }),
            Subject::Cgroup { .. } => Ok(()),
        }
    }

    fn sum(&self) -> SubjectSample {
        let mut all = self.ended;
        let mut rss = 0;
        let mut threads = 0;
        for sample in self.alive.values() {
            all.add(sample);
            rss += sample.rss_bytes;
            threads += sample.threads;
        }
        SubjectSample {
            at: Instant::now(),
            cpu_s: all.cpu_s,
            rss_bytes: rss,
            processes: self.alive.len() as u64,
            threads,
            context_switches: all.context_switches,
            faults: all.faults,
        }
    }

    /// Returns the CPU time of a version 2 group. Such groups count CPU time themselves, including processes that
    /// started and ended between two samples.
    fn group_cpu_s(&self) -> Option<f64> {
        let Subject::Cgroup { path } = &self.subject else { return None };
        let text = read(path.join("cpu.stat")).ok()?;
        let us = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        Some(us.trim().parse::<u64>().ok()? as f64 / 1e6)
    }
}

impl Ended {
    fn add(&mut self, sample: &ProcessSample) {
        self.cpu_s += sample.cpu_s();
        self.context_switches += sample.voluntary_switches + sample.involuntary_switches;
        self.faults += sample.minor_faults + sample.major_faults;
    }
}

/// Returns the processes whose name (15 characters, proc_pid_comm(5)) or program file is `name`.
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
    // A truncated name is weaker evidence than the command line, so it counts only if there is no command line.
    read(folder.join("comm")).is_ok_and(|comm| comm.trim_end() == short)
        && (name.chars().count() <= 15 || program.is_empty())
}

/// Maximum depth of groups below the subject; systemd's reach about 8.
const GROUP_DEPTH: usize = 32;

fn members(path: &Path, into: &mut Vec<u32>) -> Result<(), MeterError> {
    if !path.join("cgroup.procs").exists() {
        return Err(MeterError::NoCgroup { path: path.to_owned() });
    }
    let mut folders = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        // A group below may be removed in the meantime.
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
