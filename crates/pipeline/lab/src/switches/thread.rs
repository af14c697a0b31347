//! CPU time of a single thread of another process.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ranlab_lab::sut;
use ranlab_lab::worker::ComponentError;

/// Time limit until a thread exists.
const WAIT: Duration = Duration::from_secs(10);
/// Polling interval.
const POLL: Duration = Duration::from_millis(10);

/// A thread of another process, identified by its folder in `/proc`.
#[derive(Debug, Clone)]
pub(super) struct Thread(PathBuf);

/// Finds the thread of a process whose name begins with `name`.
pub(super) fn find(pid: u32, name: &str) -> Result<Thread, ComponentError> {
    find_any(pid, &[name])
}

/// Finds the thread of a process whose name begins with one of `names`.
pub(super) fn find_any(pid: u32, names: &[&str]) -> Result<Thread, ComponentError> {
    let deadline = Instant::now() + WAIT;
    loop {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let named = |path: &PathBuf| {
            let comm = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
            names.iter().any(|name| comm.starts_with(name))
        };
        if let Some(path) = tasks.map(|task| task.path()).find(named) {
            return Ok(Thread(path));
        }
        if Instant::now() >= deadline {
            return Err(sut(format!(
                "process {pid} has no forwarding thread with a name `{}…`",
                names.join("…`, `")
            )));
        }
        std::thread::sleep(POLL);
    }
}

impl Thread {
    /// Returns the CPU time of the thread so far, in nanoseconds: the first number of its `schedstat`.
    pub(super) fn cpu_ns(&self) -> Result<u64, ComponentError> {
        let path = self.0.join("schedstat");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
        first.ok_or_else(|| sut(format!("{} has no CPU time, because the thread has ended", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_is_found_by_name_and_its_cpu_time_grows() {
        let thread = std::thread::Builder::new().name("busy-one".to_owned());
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let handle = thread
            .spawn(move || {
                let mut sum = 0_u64;
                while receiver.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                    sum = std::hint::black_box(sum.wrapping_add(1));
                }
            })
            .unwrap();
        let found = find(std::process::id(), "busy-").unwrap();
        let before = found.cpu_ns().unwrap();
        while found.cpu_ns().unwrap() < before + 10_000_000 {
            std::thread::yield_now();
        }
        drop(sender);
        handle.join().unwrap();
        // `join` returns before the kernel removes the thread from /proc.
        let end = Instant::now() + Duration::from_secs(10);
        while found.cpu_ns().is_ok() {
            assert!(Instant::now() < end, "the thread is still in /proc");
            std::thread::yield_now();
        }
    }
}
