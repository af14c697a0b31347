//! CPU affinity, timer accuracy and CPU time of a thread.
#![allow(unsafe_code)]

use std::io;
use std::time::Duration;

/// Number of CPUs that [`pin_thread`] supports.
pub const MAX_CPUS: usize = libc::CPU_SETSIZE as usize;

/// Keeps the calling thread on one CPU (`sched_setaffinity`).
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    if cpu >= MAX_CPUS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("CPU {cpu} is beyond {}", MAX_CPUS - 1),
        ));
    }
    // SAFETY: all zeroes is the empty set; the index is within the set; the kernel only reads it. 0 is this thread.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the calling thread's timers expire on time: by default the kernel delays them by up to 50 µs to
/// merge them.
pub fn exact_timers() {
    // SAFETY: the call takes no pointers and affects this thread alone. It cannot fail for the calling
    // thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

/// CPU time that the calling thread has used, in user mode and in the kernel.
pub fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call, which only writes it; the clock exists in every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Time since the machine started, the same for every process: comparable with a probe's time stamp.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
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
