//! The UPF's process on this host: its CPU time and its exit.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Polling interval.
const LOOK: Duration = Duration::from_millis(10);

/// A process of this host. The start time is part of its identity, because process ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    began: u64,
}

impl Process {
    /// Finds the process with this id.
    pub fn find(pid: u32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        Some(Self { pid, began: stat.began }).filter(|_| stat.lives)
    }

    /// Returns the CPU time of the process, in seconds (resolution 0.01 s), or `None` if it has exited.
    pub(super) fn cpu_s(self) -> Option<f64> {
        self.stat().map(|stat| stat.cpu_ticks / 100.0)
    }

    /// Returns whether the process is running. A zombie process is not running.
    pub fn lives(self) -> bool {
        self.stat().is_some_and(|stat| stat.lives)
    }

    fn stat(self) -> Option<Stat> {
        Stat::read(self.pid).filter(|stat| stat.began == self.began)
    }

    /// Waits until the process exits or `over` is set. Sets `stop` if the process exits. Returns the time from `begin` to the exit.
    pub(super) fn death(self, begin: Instant, stop: &AtomicBool, over: &AtomicBool) -> Option<Duration> {
        loop {
            // `over` is read before the process is checked, because the exit of the process may also end the run.
            let last = over.load(Relaxed);
            if !self.lives() {
                stop.store(true, Relaxed);
                return Some(begin.elapsed());
            }
            if last {
                return None;
            }
            std::thread::sleep(LOOK);
        }
    }
}

#[derive(Debug)]
struct Stat {
    lives: bool,
    cpu_ticks: f64,
    began: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The process name may contain blanks.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some(Self {
            lives: !matches!(*fields.first()?, "Z" | "X"),
            cpu_ticks: ticks(11)? + ticks(12)?,
            began: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn zombie_process_counts_as_exited() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        assert!(process.lives() && process.cpu_s().is_some());
        let stop = AtomicBool::new(false);
        let over = AtomicBool::new(true);
        assert_eq!(process.death(Instant::now(), &stop, &over), None);
        child.kill().unwrap();
        over.store(false, Relaxed);
        assert!(process.death(Instant::now(), &stop, &over).is_some() && stop.load(Relaxed));
        child.wait().unwrap();
        assert_eq!((process.lives(), process.cpu_s()), (false, None));
        assert_eq!(Process { began: 0, ..Process::find(std::process::id()).unwrap() }.cpu_s(), None);
    }
}
