//! Rate limit with which a monitor emulates a slow reader (`--at-most`).
use super::MonitorComponent;
use std::time::{Duration, Instant};

/// Rate limit of a monitor that intentionally reads slowly.
pub(super) struct SlowReader {
    at_most: Option<u32>,
    from: Duration,
    until: Duration,
    begin: Instant,
    taken: u32,
}

impl SlowReader {
    pub(super) fn new(part: &MonitorComponent) -> Self {
        let from = part.slow_from;
        let until = part.slow_until.unwrap_or(Duration::MAX);
        Self { at_most: part.at_most, from, until, begin: Instant::now(), taken: 0 }
    }

    /// Returns the pause after an indication, if the rate limit requires one.
    pub(super) fn rest(&mut self) -> Option<Duration> {
        let at_most = f64::from(self.at_most?);
        let elapsed = self.begin.elapsed();
        if elapsed < self.from || elapsed >= self.until {
            return None;
        }
        self.taken += 1;
        let scheduled = self.from + Duration::from_secs_f64(f64::from(self.taken) / at_most);
        scheduled.checked_sub(elapsed)
    }
}
