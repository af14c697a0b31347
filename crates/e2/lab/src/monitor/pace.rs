//! Rate limit of a slow reader.
use super::MonitorComponent;
use std::time::{Duration, Instant};

/// Rate limit of a monitor that reads slowly on purpose.
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

    /// Returns how long to pause after an indication.
    pub(super) fn rest(&mut self) -> Option<Duration> {
        let at_most = f64::from(self.at_most?);
        let elapsed = self.begin.elapsed();
        if elapsed < self.from || elapsed >= self.until {
            return None;
        }
        self.taken += 1;
        let due = self.from + Duration::from_secs_f64(f64::from(self.taken) / at_most);
        due.checked_sub(elapsed)
    }
}
