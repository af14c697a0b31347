//! Meter of the resource use of one process.

use std::path::PathBuf;

use serde::Serialize;

use crate::{MeterError, TICKS_PER_SECOND, clock, field, read};

/// Reads the meters of one process repeatedly.
#[derive(Debug, Clone)]
pub struct ProcessMeter {
    pid: u32,
    folder: PathBuf,
}

/// The meters at one moment. Times and counts are totals since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProcessSample {
    /// CPU seconds in user mode, of all threads including ended ones; steps of 10 ms.
    pub cpu_user_s: f64,
    /// CPU seconds in the kernel on the process's behalf; steps of 10 ms.
    pub cpu_system_s: f64,
    /// CPU nanoseconds in both modes by the process's CPU clock; `None` if the system has no such clock for it.
    pub cpu_ns: Option<u64>,
    /// Resident memory, in bytes.
    pub rss_bytes: u64,
    /// The largest resident memory so far.
    pub rss_peak_bytes: u64,
    /// Number of threads alive.
    pub threads: u64,
    /// Number of times that a living thread waited for a resource.
    pub voluntary_switches: u64,
    /// Number of times that a living thread was preempted.
    pub involuntary_switches: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
}

impl ProcessSample {
    /// Returns the CPU seconds in both modes, to the nanosecond if the system supports it.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_ns.map_or(self.cpu_user_s + self.cpu_system_s, |ns| ns as f64 / 1e9)
    }
}

impl ProcessMeter {
    /// Creates a meter of the process `pid`.
    pub fn new(pid: u32) -> Self {
        Self { pid, folder: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// Creates a meter of this process.
    pub fn own() -> Self {
        Self::new(std::process::id())
    }

    /// Returns the start time of the process, in ticks since the machine started. It distinguishes two processes with
    /// the same identifier.
    pub fn began_ticks(&self) -> Result<u64, MeterError> {
        let path = self.folder.join("stat");
        let text = std::fs::read_to_string(&path).map_err(|_| MeterError::NoProcess { pid: self.pid })?;
        parse_stat(&text).map(|stat| stat.began_ticks).ok_or(MeterError::Form { path })
    }

    /// Reads all meters except [`Self::pss_bytes`]. Takes some tens of microseconds and as much again per
    /// thread.
    pub fn sample(&self) -> Result<ProcessSample, MeterError> {
        if !self.folder.exists() {
            return Err(MeterError::NoProcess { pid: self.pid });
        }
        let stat_path = self.folder.join("stat");
        let stat = parse_stat(&read(&stat_path)?).ok_or(MeterError::Form { path: stat_path })?;
        let status_path = self.folder.join("status");
        let status = read(&status_path)?;
        let threads = field(&status, "Threads").ok_or(MeterError::Form { path: status_path })?;
        let (voluntary_switches, involuntary_switches) = self.switches();
        // A kernel thread and a process that is just ending have no memory and no such lines.
        let kilobytes = |key| field(&status, key).unwrap_or(0) * 1024;
        Ok(ProcessSample {
            cpu_user_s: stat.user_ticks as f64 / TICKS_PER_SECOND,
            cpu_system_s: stat.system_ticks as f64 / TICKS_PER_SECOND,
            cpu_ns: clock::of_process(self.pid),
            rss_bytes: kilobytes("VmRSS"),
            rss_peak_bytes: kilobytes("VmHWM"),
            threads,
            voluntary_switches,
            involuntary_switches,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
        })
    }

    /// Returns the proportional memory: pages shared by n processes count 1/n. The kernel walks the whole address
    /// space, so do not call it in a tight loop.
    pub fn pss_bytes(&self) -> Result<u64, MeterError> {
        let path = self.folder.join("smaps_rollup");
        let kilobytes = field(&read(&path)?, "Pss").ok_or(MeterError::Form { path })?;
        Ok(kilobytes * 1024)
    }

    /// Returns the sum of the context switches of all threads. `/proc/PID/status` counts only the first thread, so
    /// every thread is read. A thread that ends in the meantime is left out.
    fn switches(&self) -> (u64, u64) {
        let Ok(tasks) = std::fs::read_dir(self.folder.join("task")) else { return (0, 0) };
        let of = |text: String| {
            Some((field(&text, "voluntary_ctxt_switches")?, field(&text, "nonvoluntary_ctxt_switches")?))
        };
        tasks
            .flatten()
            .filter_map(|task| of(read(task.path().join("status")).ok()?))
            .fold((0, 0), |sum, task| (sum.0 + task.0, sum.1 + task.1))
    }
}

#[derive(Debug, PartialEq)]
struct Stat {
    minor_faults: u64,
    major_faults: u64,
    user_ticks: u64,
    system_ticks: u64,
    began_ticks: u64,
}

/// Parses `/proc/PID/stat`, proc_pid_stat(5). The second field is a file name in brackets that may contain blanks and
/// brackets, so fields are counted from the last bracket.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    // The first field here is number 3 of the manual page.
    let number = |manual: usize| fields.get(manual - 3)?.parse().ok();
    Some(Stat {
        minor_faults: number(10)?,
        major_faults: number(12)?,
        user_ticks: number(14)?,
        system_ticks: number(15)?,
        began_ticks: number(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_name_do_not_shift_fields() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 1041 11 3 12 250 140 5 6 20 0 4 0 99 1000 200";
        let stat =
            Stat { minor_faults: 1041, major_faults: 3, user_ticks: 250, system_ticks: 140, began_ticks: 99 };
        assert_eq!(parse_stat(text), Some(stat));
        assert_eq!(parse_stat("7 (cut) S 1 7"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn meter_reports_work_and_memory_of_this_process() {
        let meter = ProcessMeter::own();
        let before = meter.sample().unwrap();
        let mut block = vec![0_u8; 64 << 20];
        let mut sum = 0_u64;
        while meter.sample().unwrap().cpu_s() < before.cpu_s() + 0.05 {
            for (index, byte) in block.iter_mut().enumerate() {
                *byte = byte.wrapping_add(index as u8);
                sum += u64::from(*byte);
            }
        }
        let after = meter.sample().unwrap();
        assert!(sum > 0 && after.rss_bytes >= before.rss_bytes + (32 << 20), "{before:?} {after:?}");
        assert!(after.rss_peak_bytes >= after.rss_bytes / 2 && after.minor_faults > before.minor_faults);
        assert!(meter.pss_bytes().unwrap() > 32 << 20);
        drop(block);
    }

    #[test]
    fn threads_and_their_switches_are_counted() {
        let meter = ProcessMeter::own();
        let before = meter.sample().unwrap();
        let (wake, wait) = std::sync::mpsc::channel::<()>();
        let (answer, answers) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            for () in wait {
                answer.send(()).unwrap();
            }
        });
        for _ in 0..200 {
            wake.send(()).unwrap();
            answers.recv().unwrap();
        }
        let during = meter.sample().unwrap();
        let switches = |sample: &ProcessSample| sample.voluntary_switches + sample.involuntary_switches;
        assert!(during.threads >= 2);
        assert!(switches(&during) > switches(&before), "{before:?} {during:?}");
        drop(wake);
        thread.join().unwrap();
    }

    #[test]
    fn exited_process_is_named() {
        // Above the maximum process id of Linux (2^22).
        let error = ProcessMeter::new(1 << 23).sample().unwrap_err();
        assert_eq!(error.to_string(), "there is no process 8388608");
    }
}
