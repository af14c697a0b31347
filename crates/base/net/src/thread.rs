//! CPU affinity, timer accuracy and CPU time of a thread.

use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use rustix::time::{ClockId, clock_gettime};

/// Number of CPUs that [`pin_thread`] supports.
pub const MAX_CPUS: usize = CpuSet::MAX_CPU;

/// Keeps the calling thread on one CPU (`sched_setaffinity`).
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    if cpu >= MAX_CPUS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("CPU {cpu} is beyond {}", MAX_CPUS - 1),
        ));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Makes the calling thread's timers expire on time. By default, the kernel delays timers by up to 50 µs to merge them.
pub fn exact_timers() {
    // Cannot fail for the calling thread.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Returns the CPU time that the calling thread has used, in user mode and in the kernel.
pub fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the time since the machine started, in nanoseconds. Time stamps of different processes are comparable, because
/// all processes use this clock.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_is_pinned_and_its_time_counted() {
        let used = std::thread::spawn(|| {
            pin_thread(0).unwrap();
            let before = thread_cpu_time();
            let mut sum = 0_u64;
            while thread_cpu_time() < before + Duration::from_millis(2) {
                sum = sum.wrapping_mul(31).wrapping_add(1);
            }
            (sum != 0, thread_cpu_time() - before)
        });
        let (worked, used) = used.join().unwrap();
        assert!(worked && used >= Duration::from_millis(2));
        assert!(pin_thread(MAX_CPUS).is_err());
        assert!(monotonic_ns() <= monotonic_ns());
    }
}
