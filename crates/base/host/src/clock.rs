//! CPU clocks of processes and threads. They count in nanoseconds, whereas `/proc` counts in steps of 10 ms.
#![allow(unsafe_code, reason = "two system calls that std lacks")]

/// Returns the CPU time of a process in all its threads, including ended ones, in nanoseconds. Returns `None` if there is no such
/// process.
pub fn of_process(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the call writes one clock id through a valid pointer, which it does not keep.
    let failed = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if failed == 0 { now(clock) } else { None }
}

/// Returns the CPU time of the calling thread, in nanoseconds.
pub fn of_this_thread() -> Option<u64> {
    now(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn now(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec through a valid pointer, which it does not keep.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if failed != 0 {
        return None;
    }
    u64::try_from(time.tv_sec)
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(u64::try_from(time.tv_nsec).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_clocks_advance_and_missing_process_has_none() {
        let process = of_process(std::process::id()).unwrap();
        let thread = of_this_thread().unwrap();
        assert!(process > 0 && thread > 0);
        let mut sum = 0_u64;
        while of_this_thread().unwrap() == thread {
            sum = sum.wrapping_add(1);
        }
        assert!(of_process(std::process::id()).unwrap() > process);
        assert_eq!(of_process(1 << 23), None);
    }
}
