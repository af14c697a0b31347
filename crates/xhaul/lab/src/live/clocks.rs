//! Clock conversion, and one-way delays between the two ends of a cable. This module only computes; it uses no sockets and no clock.
//!
//! A card's clock is read repeatedly, each time between two readings of the system clock. Between readings it is interpolated linearly. The
//! deviation from linearity is estimated from the readings, so every converted time has an error bound. The error bound of a delay is the
//! sum of the error bounds at both ends.

use std::collections::BTreeMap;

use ranlab_host::phc::CrossReading;

/// Minimum number of readings for an estimate of a clock's linearity.
pub(super) const READINGS_MIN: usize = 3;
/// Factor by which a reading may take longer than the median. A slower reading was interrupted, and is less exact.
const INTERRUPTED: u64 = 4;

/// Conversion of a card's clock to the system clock, with an error bound.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClockMap {
    /// Pairs of the card's time and the offset of the system clock to it, in nanoseconds.
    knots: Vec<(u64, i64)>,
    /// Error bound of every converted time, in nanoseconds.
    pub(super) error_ns: u64,
    /// Longest interval between two knots, in nanoseconds. It is the maximum by which times are extrapolated.
    gap_ns: u64,
}

impl ClockMap {
    /// Interpolates readings in chronological order. Returns `None` if there are too few readings, or if the clock was set back.
    pub(super) fn through(readings: &[CrossReading]) -> Option<Self> {
        let took = |reading: &CrossReading| reading.after_ns.saturating_sub(reading.before_ns);
        let mut all: Vec<u64> = readings.iter().map(took).collect();
        all.sort_unstable();
        let middle = *all.get(all.len() / 2)?;
        let quick = |reading: &&CrossReading| took(reading) <= middle.saturating_mul(INTERRUPTED);
        let quick: Vec<&CrossReading> = readings.iter().filter(quick).collect();
        let knots: Vec<(u64, i64)> = quick
            .iter()
            .map(|reading| {
                let system = reading.before_ns + took(reading) / 2;
                (reading.card_ns, system.cast_signed().wrapping_sub(reading.card_ns.cast_signed()))
            })
            .collect();
        if knots.len() < READINGS_MIN || knots.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
            return None;
        }
        let half = quick.into_iter().map(|reading| took(reading).div_ceil(2)).max()?;
        let gap_ns = knots.windows(2).map(|pair| pair[1].0 - pair[0].0).max()?;
        let bend = knots.windows(3).map(bend_ns).fold(0.0, f64::max);
        Some(Self { error_ns: half.saturating_add(bend.ceil() as u64), knots, gap_ns })
    }

    /// Converts a card's time to system time, in nanoseconds. Returns `None` if it is too far from every reading.
    pub(super) fn system_ns(&self, card_ns: u64) -> Option<i64> {
        let first = self.knots.first()?.0;
        let last = self.knots.last()?.0;
        if card_ns < first.saturating_sub(self.gap_ns) || card_ns > last.saturating_add(self.gap_ns) {
            return None;
        }
        let behind = self.knots.partition_point(|knot| knot.0 <= card_ns).clamp(1, self.knots.len() - 1);
        let from = self.knots[behind - 1];
        let to = self.knots[behind];
        let since = card_ns.wrapping_sub(from.0).cast_signed() as f64;
        let ahead = from.1.wrapping_add((slope(from, to) * since).round() as i64);
        Some(card_ns.cast_signed().wrapping_add(ahead))
    }

    /// Returns the drift of the system clock relative to the clock of the card, in parts per million.
    pub(super) fn drift_ppm(&self) -> f64 {
        match (self.knots.first(), self.knots.last()) {
            (Some(&first), Some(&last)) if last.0 > first.0 => slope(first, last) * 1e6,
            _ => 0.0,
        }
    }
}

fn slope(from: (u64, i64), to: (u64, i64)) -> f64 {
    to.1.wrapping_sub(from.1) as f64 / (to.0 - from.0).max(1) as f64
}

/// Returns the nonlinearity at the middle one of three knots: the change of rate, multiplied by the longer one of the two intervals. This
/// value also bounds a clock step between two knots.
fn bend_ns(knots: &[(u64, i64)]) -> f64 {
    let [a, b, c] = [knots[0], knots[1], knots[2]];
    let longer = (b.0 - a.0).max(c.0 - b.0) as f64;
    (slope(b, c) - slope(a, b)).abs() * longer
}

/// Clocks that stamped the departure and the arrival of frames.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Clocks {
    /// One clock: the clock of this machine, or of a card that has both ports.
    One,
    /// Two cards with a clock each.
    Two {
        /// Clock of the sending end.
        from: ClockMap,
        /// Clock of the receiving end.
        to: ClockMap,
    },
}

impl Clocks {
    /// Returns the maximum error that the clocks cause in a delay, in nanoseconds.
    pub(super) const fn error_ns(&self) -> u64 {
        match self {
            Self::One => 0,
            Self::Two { from, to } => from.error_ns.saturating_add(to.error_ns),
        }
    }

    fn delay_ns(&self, left_ns: u64, came_ns: u64) -> Option<i64> {
        match self {
            Self::One => Some(came_ns.wrapping_sub(left_ns).cast_signed()),
            Self::Two { from, to } => Some(to.system_ns(came_ns)?.wrapping_sub(from.system_ns(left_ns)?)),
        }
    }
}

/// A frame that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TxStamp {
    pub(super) sequence: u64,
    /// Time stamp of the departure. `None` if it was not available in time.
    pub(super) left_ns: Option<u64>,
}

/// A frame that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RxStamp {
    pub(super) sequence: u64,
    /// Time stamp of the arrival. `None` if the selected clock did not take one.
    pub(super) came_ns: Option<u64>,
}

/// Delays computed from the stamps of both ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StampMatch {
    /// Number of frames sent.
    pub(super) sent: u64,
    /// Number of frames that arrived.
    pub(super) arrived: u64,
    /// Number of frames with a departure stamp.
    pub(super) left: u64,
    /// Number of frames with both stamps.
    pub(super) stamped: u64,
    /// Number of stamps that are not later than the stamp of the previous frame, at either end.
    pub(super) unordered: u64,
    /// Number of frames that arrived before their departure by more than the error bound. If there are any, the assumptions about the
    /// clocks are wrong.
    pub(super) early: u64,
    /// Delays from stamp to stamp, in ascending order. They may be negative within the error bound.
    pub(super) delays_ns: Vec<i64>,
}

impl StampMatch {
    /// Combines the stamps of frames in the order in which they were sent.
    pub(super) fn match_stamps(sent: &[TxStamp], came: &[RxStamp], clocks: &Clocks) -> Self {
        let mut arrivals: BTreeMap<u64, Option<u64>> = BTreeMap::new();
        for frame in came {
            // If a frame arrives twice, the first arrival counts.
            arrivals.entry(frame.sequence).or_insert(frame.came_ns);
        }
        let mut crossing = Self { sent: sent.len() as u64, ..Self::default() };
        let error_ns = clocks.error_ns().cast_signed();
        let mut left = None;
        let mut reached = None;
        for frame in sent {
            let came = arrivals.get(&frame.sequence);
            crossing.arrived += u64::from(came.is_some());
            crossing.left += u64::from(frame.left_ns.is_some());
            let (Some(left_ns), Some(Some(came_ns))) = (frame.left_ns, came) else { continue };
            crossing.stamped += 1;
            crossing.unordered += u64::from(left.is_some_and(|before| left_ns <= before))
                + u64::from(reached.is_some_and(|before| *came_ns <= before));
            (left, reached) = (Some(left_ns), Some(*came_ns));
            let Some(delay_ns) = clocks.delay_ns(left_ns, *came_ns) else { continue };
            crossing.early += u64::from(delay_ns < -error_ns);
            crossing.delays_ns.push(delay_ns);
        }
        crossing.delays_ns.sort_unstable();
        crossing
    }

    /// Adds the results to a report.
    pub(super) fn numbers(&self, put: &mut dyn FnMut(&str, f64)) {
        let share = |count: u64| count as f64 / self.sent.max(1) as f64;
        put("sent", self.sent as f64);
        put("lost_ratio", share(self.sent.saturating_sub(self.arrived)));
        put("left_ratio", share(self.left));
        put("stamped_ratio", share(self.stamped));
        put("unordered", self.unordered as f64);
        put("early", self.early as f64);
        let delays = &self.delays_ns;
        let Some(last) = delays.len().checked_sub(1) else { return };
        let us = |ns: i64| ns as f64 / 1e3;
        for (name, share) in [("min", 0.0), ("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            put(&format!("delay_us_{name}"), us(delays[(last as f64 * share).round() as usize]));
        }
        let sum: i128 = delays.iter().map(|delay| i128::from(*delay)).sum();
        put("delay_us_mean", sum as f64 / delays.len() as f64 / 1e3);
    }
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
