//! When the values of a report were collected, and how old they are: a header's time stamp means different things at different
//! nodes.

/// The time stamp of an indication as its model reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The time in the header, microseconds since the Unix epoch.
    pub at_us: i64,
    /// Time that the values cover, microseconds; 0 where they are of one moment.
    pub span_us: i64,
    /// Step of the sender's time stamps, microseconds: 1,000,000 for whole seconds.
    pub step_us: i64,
    /// Whether the standard wants the beginning of the collection in the header. Some nodes write the time of sending.
    pub is_start: bool,
}

impl Stamp {
    /// A time stamp that is taken when the report is sent.
    pub const fn sent(at_us: i64) -> Self {
        Self { at_us, span_us: 0, step_us: 1, is_start: false }
    }
}

/// What a subscription's time stamps have shown to mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StampKind {
    /// Not known yet, or not consistent with this machine's clock.
    #[default]
    Unknown,
    /// The beginning of the collection, as the standard says.
    Start,
    /// The time of sending.
    Sending,
}

/// What is known of one report's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportTime {
    /// When the collection ended, microseconds since the Unix epoch; `None` if the header's time stamp is not usable.
    pub end_us: Option<i64>,
    /// Age at the arrival, microseconds; `None` if it is not measurable. It contains the difference of both clocks.
    pub age_us: Option<u64>,
    /// Reports that are missing between this one and the one before, by their time stamps.
    pub missing: u64,
}

/// Ages beyond are no ages: the clocks disagree, or the time stamp is not one.
pub const AGE_MAX_US: i64 = 3_600_000_000;
/// Clock difference up to which a time stamp in the future is taken for one of now.
pub const CLOCK_ERROR_US: i64 = 2_000;

/// Time stamps of one subscription.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    kind: StampKind,
    /// Least time from a stamp to its arrival so far, microseconds.
    least_us: Option<i64>,
    last_at_us: Option<i64>,
    /// Least time between two stamps so far, microseconds.
    period_us: Option<i64>,
    missing: u64,
    longest_pause_us: i64,
}

impl Timing {
    /// What the time stamps mean.
    pub fn kind(&self) -> StampKind {
        self.kind
    }

    /// Reports missing so far, by the time stamps.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Longest time between the stamps of two reports in a row, microseconds.
    pub fn longest_pause_us(&self) -> i64 {
        self.longest_pause_us
    }

    /// Adds a report that arrived at `received_us`, by this machine's clock.
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
        // Whole seconds do not give an age: the error is larger than what is measured.
        let is_exact = stamp.step_us < 1_000_000;
        let age_us = u64::try_from(received_us.saturating_sub(end_us)).ok().filter(|_| is_exact);
        ReportTime { end_us: Some(end_us), age_us, missing }
    }

    /// A stamp of the beginning is at least the collection's span old when it arrives, one of sending is not, unless it is late:
    /// the least age decides, so one report that was on its way for less than half a span is enough.
    fn find_kind(&mut self, stamp: Stamp, since_us: i64) {
        let least_us = self.least_us.map_or(since_us, |least| least.min(since_us));
        self.least_us = Some(least_us);
        let span_us = stamp.span_us;
        // Stamps are rounded down, so one of the beginning is never younger than the span.
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

    /// Returns the reports that are missing before this one.
    fn add_period(&mut self, stamp: Stamp) -> u64 {
        let Some(last) = self.last_at_us.replace(stamp.at_us) else { return 0 };
        let pause_us = stamp.at_us.saturating_sub(last);
        if pause_us <= 0 {
            return 0;
        }
        self.longest_pause_us = self.longest_pause_us.max(pause_us);
        let period_us = self.period_us.map_or(pause_us, |least| least.min(pause_us)).max(stamp.span_us);
        self.period_us = Some(period_us);
        // Time stamps may be half a period early or late, and a step besides where that is not small.
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

    /// Reports each second, stamped `before_us` before they arrive.
    fn reports(timing: &mut Timing, before_us: i64, seconds: std::ops::Range<i64>) -> Vec<ReportTime> {
        seconds.map(|s| timing.add(stamp(s * SECOND - before_us), s * SECOND)).collect()
    }

    #[test]
    fn stamp_of_the_beginning_is_one_period_before_the_end() {
        let mut timing = Timing::default();
        let times = reports(&mut timing, SECOND + 300, 100..105);
        assert_eq!(timing.kind(), StampKind::Start);
        assert!(times.iter().all(|time| time.age_us == Some(300)), "{times:?}");
        assert_eq!(times[0].end_us, Some(100 * SECOND - 300));
    }

    #[test]
    fn stamp_of_sending_does_not_put_data_into_the_future() {
        let mut timing = Timing::default();
        let times = reports(&mut timing, 300, 100..105);
        assert_eq!(timing.kind(), StampKind::Sending);
        assert!(times.iter().all(|time| time.age_us == Some(300)), "{times:?}");
        assert_eq!(times[0].end_us, Some(100 * SECOND - 300));
    }

    #[test]
    fn late_report_does_not_change_what_a_stamp_means() {
        let mut timing = Timing::default();
        reports(&mut timing, 300, 100..102);
        let late = timing.add(stamp(102 * SECOND), 102 * SECOND + 700_000);
        assert_eq!((timing.kind(), late.age_us), (StampKind::Sending, Some(700_000)));
    }

    #[test]
    fn implausible_stamps_give_no_age() {
        let mut timing = Timing::default();
        // Another epoch, and a clock that is five seconds ahead.
        assert_eq!(timing.add(stamp(0), 1_700_000_000 * SECOND), ReportTime::default());
        let ahead = timing.add(stamp(105 * SECOND), 100 * SECOND);
        assert_eq!((ahead.end_us, ahead.age_us, timing.kind()), (None, None, StampKind::Unknown));
    }

    #[test]
    fn whole_seconds_give_no_age() {
        let mut timing = Timing::default();
        let seconds = Stamp { step_us: SECOND, ..stamp(99 * SECOND) };
        let time = timing.add(seconds, 100 * SECOND + 400_000);
        assert_eq!((time.end_us, time.age_us), (Some(100 * SECOND), None));
        // At sending: less than a span ago.
        let mut timing = Timing::default();
        let time = timing.add(Stamp { step_us: SECOND, ..stamp(100 * SECOND) }, 100 * SECOND + 400_000);
        assert_eq!((time.end_us, timing.kind()), (Some(100 * SECOND), StampKind::Sending));
    }

    #[test]
    fn missing_periods_and_pauses_are_counted() {
        let mut timing = Timing::default();
        reports(&mut timing, SECOND, 100..103);
        reports(&mut timing, SECOND, 106..108);
        assert_eq!((timing.missing(), timing.longest_pause_us()), (3, 4 * SECOND));
        // Jitter is not a loss.
        let mut timing = Timing::default();
        for s in 100..110 {
            let jitter = if s % 2 == 0 { 200_000 } else { 0 };
            assert_eq!(timing.add(stamp(s * SECOND + jitter), (s + 1) * SECOND + jitter).missing, 0);
        }
    }
}
