//! The UPF's process, where it is on this host: what it costs, and when it ends.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// A process of this host, by its number and when it began: numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    began: u64,
}

impl Process {
    /// The process of this number, if there is one.
    pub fn find(pid: u32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        Some(Self { pid, began: stat.began }).filter(|_| stat.lives)
    }

    /// CPU time so far, seconds, in ticks of a hundredth; `None` if it is gone.
    pub(super) fn cpu_s(self) -> Option<f64> {
        self.stat().map(|stat| stat.cpu_ticks / 100.0)
    }

    /// Whether it is there; one that waits to be buried is not.
    pub fn lives(self) -> bool {
        self.stat().is_some_and(|stat| stat.lives)
    }

    fn stat(self) -> Option<Stat> {
        Stat::read(self.pid).filter(|stat| stat.began == self.began)
    }

    /// Waits until it ends, which ends the run as well (`stop`), or until the run is `over`; when it ended, after `begin`.
    pub(super) fn death(self, begin: Instant, stop: &AtomicBool, over: &AtomicBool) -> Option<Duration> {
        loop {
            // In this order: what ends it may end the run too.
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
        // The name before may have blanks in it.
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
    fn a_process_that_ends_is_gone_before_it_is_waited_for() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        assert!(process.lives() && process.cpu_s().is_some());
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(true));
        assert_eq!(process.death(Instant::now(), &stop, &over), None);
        child.kill().unwrap();
        over.store(false, Relaxed);
        assert!(process.death(Instant::now(), &stop, &over).is_some() && stop.load(Relaxed));
        child.wait().unwrap();
        assert_eq!((process.lives(), process.cpu_s()), (false, None));
        assert_eq!(Process { began: 0, ..Process::find(std::process::id()).unwrap() }.cpu_s(), None);
    }
}
