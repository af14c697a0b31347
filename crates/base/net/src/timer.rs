//! A timer finer than tokio's, which counts milliseconds, while base stations report every millisecond.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// One deadline as a descriptor (timerfd_create(2)): readable once it has passed, so that any event loop can
/// wait for it.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A timer that is not armed.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointers.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and no other code has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sets the deadline to `after` from now. It replaces an earlier deadline, whether that has passed or
    /// not.
    ///
    /// # Errors
    /// The kernel documents none for a valid timer.
    pub fn arm(&self, after: Duration) -> io::Result<()> {
        // Zero would disarm it.
        let after = after.max(Duration::from_nanos(1));
        let it_value = libc::timespec {
            tv_sec: libc::time_t::try_from(after.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(after.subsec_nanos() as i32),
        };
        let wanted = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        // SAFETY: `wanted` is a valid structure that outlives the call; the kernel only reads it, and writes no old value.
        let failed =
            unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const wanted, std::ptr::null_mut()) };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Whether the deadline has passed since it was set or last checked.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: not yet.
    pub fn passed(&self) -> io::Result<()> {
        let mut count = [0_u8; 8];
        // SAFETY: the kernel writes at most eight bytes into a buffer of eight, which outlives the call.
        let read = unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        if read < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::wait_readable;

    #[test]
    fn timer_expires_once_and_not_early() {
        let timer = Timer::new().unwrap();
        assert_eq!(timer.passed().unwrap_err().kind(), io::ErrorKind::WouldBlock, "not armed");
        let begin = Instant::now();
        timer.arm(Duration::from_micros(1_500)).unwrap();
        assert!(wait_readable(&[timer.as_fd()], Duration::from_secs(10)).unwrap());
        assert!(begin.elapsed() >= Duration::from_micros(1_500));
        timer.passed().unwrap();
        assert_eq!(timer.passed().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn arming_again_forgets_a_deadline_that_has_passed() {
        let timer = Timer::new().unwrap();
        timer.arm(Duration::ZERO).unwrap();
        assert!(wait_readable(&[timer.as_fd()], Duration::from_secs(10)).unwrap());
        timer.arm(Duration::from_secs(3_600)).unwrap();
        assert_eq!(timer.passed().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
