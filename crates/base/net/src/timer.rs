//! A timer with a finer resolution than tokio's. tokio counts milliseconds, and base stations report every millisecond.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

/// A timer with one deadline, as a descriptor (timerfd_create(2)). The descriptor is readable once the deadline has
/// passed, so any event loop can wait for it.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// Creates a timer that is not armed.
    ///
    /// # Errors
    /// No file descriptor is left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Sets the deadline to `after` from now. It replaces an earlier deadline, whether that has passed or
    /// not.
    ///
    /// # Errors
    /// The kernel documents no error for a valid timer.
    pub fn arm(&self, after: Duration) -> io::Result<()> {
        // Zero would disarm the timer.
        let after = after.max(Duration::from_nanos(1));
        let it_value = Timespec::try_from(after).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        let setting = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        rustix::time::timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &setting)?;
        Ok(())
    }

    /// Checks whether the deadline has passed since it was set or last checked.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: not yet.
    pub fn passed(&self) -> io::Result<()> {
        let mut count = [0_u8; 8];
        rustix::io::read(&self.0, &mut count)?;
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
        assert_eq!(
            timer.passed().unwrap_err().kind(),
            io::ErrorKind::WouldBlock,
            "a timer without a deadline must not expire"
        );
        let begin = Instant::now();
        timer.arm(Duration::from_micros(1_500)).unwrap();
        assert!(wait_readable(&[timer.as_fd()], Duration::from_secs(10)).unwrap());
        assert!(begin.elapsed() >= Duration::from_micros(1_500));
        timer.passed().unwrap();
        assert_eq!(timer.passed().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn rearming_clears_passed_deadline() {
        let timer = Timer::new().unwrap();
        timer.arm(Duration::ZERO).unwrap();
        assert!(wait_readable(&[timer.as_fd()], Duration::from_secs(10)).unwrap());
        timer.arm(Duration::from_secs(3_600)).unwrap();
        assert_eq!(timer.passed().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
