//! Collection time and age of a report. The meaning of the timestamp in a header differs between nodes.

/// Timestamp of an indication, as decoded by its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Time in the header, microseconds since the Unix epoch.
    pub at_us: i64,
    /// Length of the collection period, microseconds; 0 for instantaneous values.
    pub span_us: i64,
    /// Resolution of the sender's timestamps, microseconds: 1,000,000 for whole seconds.
    pub step_us: i64,
    /// Whether the standard requires the start of the collection period in the header. Some nodes write the
    /// transmission time.
    pub is_start: bool,
}

impl Stamp {
    /// Returns a timestamp taken when the report was sent.
    pub const fn sent(at_us: i64) -> Self {
        Self { at_us, span_us: 0, step_us: 1, is_start: false }
    }
}

/// Meaning of a subscription's timestamps, as observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StampKind {
    /// Not known yet, or inconsistent with the local clock.
    #[default]
    Unknown,
    /// Start of the collection period, as the standard requires.
    Start,
    /// Transmission time.
    Sending,
}

/// Times derived for one report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportTime {
    /// End of the collection period, microseconds since the Unix epoch; `None` if the timestamp in the header is not
    /// usable.
    pub end_us: Option<i64>,
    /// Age at arrival, microseconds; `None` if not measurable. Includes the offset between the two clocks.
    pub age_us: Option<u64>,
    /// Number of reports missing between this one and the previous one, derived from the timestamps.
    pub missing: u64,
}

/// Longest plausible age. A longer age means that the clocks disagree or that the timestamp is invalid.
pub const AGE_MAX_US: i64 = 3_600_000_000;
/// Clock offset up to which a timestamp in the future is treated as the current time.
pub const CLOCK_ERROR_US: i64 = 2_000;

/// Evaluates the timestamps of one subscription.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    kind: StampKind,
    /// Shortest time from a timestamp to its arrival so far, microseconds.
    least_us: Option<i64>,
    last_at_us: Option<i64>,
    /// Shortest time between two timestamps so far, microseconds.
    period_us: Option<i64>,
    missing: u64,
    longest_pause_us: i64,
}

impl Timing {
    /// Returns the meaning of the timestamps.
    pub fn kind(&self) -> StampKind {
        self.kind
    }

    /// Returns the number of reports missing so far, derived from the timestamps.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Returns the longest time between the timestamps of two consecutive reports, microseconds.
    pub fn longest_pause_us(&self) -> i64 {
        self.longest_pause_us
    }

    /// Adds a report that arrived at `received_us` on the local clock.
    pub fn add(&mut self, stamp: Stamp, received_us: i64) -> ReportTime {
        let since_us = received_us.saturating_sub(stamp.at_us);
        if !(-AGE_MAX_US..=AGE_MAX_US).contains(&since_us) {
            return ReportTime::default();
        }
        let missing = self.add_period(stamp);
        self.find_kind(stamp, since_us);
        let end_us = match self.kind {
            StampKind::Start => stamp.at_us.saturating_add(stamp.span_us),
            StampKind::Sending => stamp.at_us,
            StampKind::Unknown => return ReportTime { missing, ..ReportTime::default() },
        };
        // Timestamps in whole seconds yield no age: the error would exceed the measured value.
        let is_exact = stamp.step_us < 1_000_000;
        let age_us = u64::try_from(received_us.saturating_sub(end_us)).ok().filter(|_| is_exact);
        ReportTime { end_us: Some(end_us), age_us, missing }
    }

    /// Finds the meaning of the timestamps. A timestamp of the start is at least one collection period old on
    /// arrival; a transmission timestamp is younger, unless the report is late. The shortest age decides, so one
    /// report with a delay below half a period is sufficient.
    fn find_kind(&mut self, stamp: Stamp, since_us: i64) {
        let least_us = self.least_us.map_or(since_us, |least| least.min(since_us));
        self.least_us = Some(least_us);
        let span_us = stamp.span_us;
        // Timestamps are rounded down, so a timestamp of the start is never younger than the collection period.
        let is_coarse = stamp.step_us > span_us / 2;
        let start_from_us = if is_coarse { span_us - CLOCK_ERROR_US } else { span_us / 2 };
        self.kind = if least_us < -CLOCK_ERROR_US {
            StampKind::Unknown
        } else if stamp.is_start && span_us > 0 && least_us >= start_from_us {
            StampKind::Start
        } else {
            StampKind::Sending
        };
    }

    /// Returns the number of reports missing before this one.
    fn add_period(&mut self, stamp: Stamp) -> u64 {
        let Some(last) = self.last_at_us.replace(stamp.at_us) else { return 0 };
        let pause_us = stamp.at_us.saturating_sub(last);
        if pause_us <= 0 {
            return 0;
        }
        self.longest_pause_us = self.longest_pause_us.max(pause_us);
        let period_us = self.period_us.map_or(pause_us, |least| least.min(pause_us)).max(stamp.span_us);
        self.period_us = Some(period_us);
        // Timestamps can be half a period early or late, plus the resolution if it is not small.
        let step_us = if stamp.step_us > period_us / 2 { stamp.step_us } else { 0 };
        let slack_us = period_us / 2 + step_us;
        let missing = u64::try_from((pause_us - slack_us) / period_us.max(1)).unwrap_or(0);
        self.missing += missing;
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn stamp(at_us: i64) -> Stamp {
        Stamp { at_us, span_us: SECOND, step_us: 1, is_start: true }
    }

    /// Adds one report per second, with timestamps `before_us` before arrival.
    fn reports(timing: &mut Timing, before_us: i64, seconds: std::ops::Range<i64>) -> Vec<ReportTime> {
        seconds.map(|s| timing.add(stamp(s * SECOND - before_us), s * SECOND)).collect()
    }

    #[test]
    fn start_timestamp_is_one_period_before_the_end() {
        let mut timing = Timing::default();
        let times = reports(&mut timing, SECOND + 300, 100..105);
        assert_eq!(timing.kind(), StampKind::Start);
        assert!(times.iter().all(|time| time.age_us == Some(300)), "{times:?}");
        assert_eq!(times[0].end_us, Some(100 * SECOND - 300));
    }

    #[test]
    fn transmission_timestamp_is_never_in_the_future() {
        let mut timing = Timing::default();
        let times = reports(&mut timing, 300, 100..105);
        assert_eq!(timing.kind(), StampKind::Sending);
        assert!(times.iter().all(|time| time.age_us == Some(300)), "{times:?}");
        assert_eq!(times[0].end_us, Some(100 * SECOND - 300));
    }

    #[test]
    fn late_report_does_not_change_the_meaning() {
        let mut timing = Timing::default();
        reports(&mut timing, 300, 100..102);
        let late = timing.add(stamp(102 * SECOND), 102 * SECOND + 700_000);
        assert_eq!((timing.kind(), late.age_us), (StampKind::Sending, Some(700_000)));
    }

    #[test]
    fn implausible_timestamps_yield_no_age() {
        let mut timing = Timing::default();
        // A timestamp of another epoch, and a timestamp of a clock that is five seconds ahead.
        assert_eq!(timing.add(stamp(0), 1_700_000_000 * SECOND), ReportTime::default());
        let ahead = timing.add(stamp(105 * SECOND), 100 * SECOND);
        assert_eq!((ahead.end_us, ahead.age_us, timing.kind()), (None, None, StampKind::Unknown));
    }

    #[test]
    fn whole_seconds_yield_no_age() {
        let mut timing = Timing::default();
        let seconds = Stamp { step_us: SECOND, ..stamp(99 * SECOND) };
        let time = timing.add(seconds, 100 * SECOND + 400_000);
        assert_eq!((time.end_us, time.age_us), (Some(100 * SECOND), None));
        // A timestamp that is younger than one collection period is a transmission time.
        let mut timing = Timing::default();
        let time = timing.add(Stamp { step_us: SECOND, ..stamp(100 * SECOND) }, 100 * SECOND + 400_000);
        assert_eq!((time.end_us, timing.kind()), (Some(100 * SECOND), StampKind::Sending));
    }

    #[test]
    fn missing_reports_and_pauses_are_counted() {
        let mut timing = Timing::default();
        reports(&mut timing, SECOND, 100..103);
        reports(&mut timing, SECOND, 106..108);
        assert_eq!((timing.missing(), timing.longest_pause_us()), (3, 4 * SECOND));
        // Jitter does not count as loss.
        let mut timing = Timing::default();
        for s in 100..110 {
            let jitter = if s % 2 == 0 { 200_000 } else { 0 };
            assert_eq!(timing.add(stamp(s * SECOND + jitter), (s + 1) * SECOND + jitter).missing, 0);
        }
    }
}
