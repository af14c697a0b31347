//! Wall clock of a state machine, and the collection time of reports.
use ranlab_e2::Time;
use ranlab_e2_codec::e2sm::{Stamp, Timing};
use std::time::Duration;

/// Difference between the time since the Unix epoch and the state machine's time, once it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WallClock {
    ahead_us: Option<i64>,
}

impl WallClock {
    /// Sets the clock: `unix` is the time since the Unix epoch at the state machine's time `now`.
    pub(crate) fn set(&mut self, now: Time, unix: Duration) {
        let wall = i64::try_from(unix.as_micros()).ok();
        self.ahead_us = wall.zip(machine_us(now)).and_then(|(wall, now)| wall.checked_sub(now));
    }

    /// Returns the wall-clock time of `now` in microseconds since the Unix epoch; `None` before the clock was set.
    pub(crate) fn us(&self, now: Time) -> Option<i64> {
        self.ahead_us?.checked_add(machine_us(now)?)
    }
}

fn machine_us(now: Time) -> Option<i64> {
    i64::try_from(now.as_nanos() / 1_000).ok()
}

/// Returns the collection time of a report's values, in microseconds since the Unix epoch. The standard requires the start of the
/// collection in the report, but some nodes write the transmission time. `wall_us` is the arrival time of the report.
pub(crate) fn collected_us(timing: &mut Timing, stamp: Stamp, wall_us: Option<i64>) -> Option<i64> {
    let time = wall_us.map(|now_us| timing.add(stamp, now_us));
    match time {
        Some(time) if stamp.is_start => time.end_us,
        None if stamp.is_start => Some(stamp.at_us.saturating_add(stamp.span_us)),
        _ => Some(stamp.at_us),
    }
}
