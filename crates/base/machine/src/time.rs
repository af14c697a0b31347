//! Time as used by the state machines: a number, not a clock.
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Point in time: nanoseconds since an epoch that the driver chooses (process start, simulation start).
///
/// `std::time::Instant` has no constructor for arbitrary values, so virtual time needs its own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Time(u64);

impl Time {
    /// Epoch of the driver.
    pub const ZERO: Self = Self(0);

    /// Creates a time `ns` nanoseconds after the epoch.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns the nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    /// Saturates at 584 years after the epoch.
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Time {
    type Output = Duration;
    /// Like [`Time::since`].
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}
