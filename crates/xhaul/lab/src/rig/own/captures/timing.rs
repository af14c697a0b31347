//! Capture times of messages relative to the radio symbols that their headers name.

use ranlab_xhaul::cus::PERIOD_NS;

/// GPS epoch, in seconds since the Unix epoch.
const GPS_EPOCH_S: i128 = 315_964_800;
/// Time by which GPS is ahead of UTC since 2017, in seconds.
const UTC_LEAP_S: i128 = 18;
/// Time by which TAI is ahead of GPS, in seconds.
const TAI_LEAD_S: i128 = 19;
/// Maximum time between a message and its symbol for a clock that counts as aligned. It is far above every O-RAN window and far below the
/// period of the frame numbers.
const ALIGNED_NS: i64 = 5_000_000;

/// Capture time of a message, and start of its symbol modulo the period of the frame numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) at_ns: u64,
    pub(super) air_ns: u64,
}

/// Time reference of the capture's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    /// UTC: radio frames begin at multiples of 10 ms of GPS time.
    Utc,
    /// TAI, the time scale of PTP clocks.
    Tai,
    /// Neither UTC nor TAI. Times relative to symbols have an unknown offset, for which the offset of this message is used.
    Free(Mark),
    /// No message has a symbol.
    None,
}

/// Minimum and maximum time of a series' messages relative to their symbols. Times before the symbol are negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) least_ns: i64,
    pub(super) most_ns: i64,
}

impl Reference {
    /// Returns the clock with which every message is near its symbol.
    pub(super) fn find<'m>(marks: impl Iterator<Item = &'m Mark> + Clone) -> Self {
        let Some(first) = marks.clone().next() else { return Self::None };
        let near = |clock: Self| marks.clone().all(|&mark| clock.apart_ns(mark).abs() <= ALIGNED_NS);
        [Self::Utc, Self::Tai].into_iter().find(|&clock| near(clock)).unwrap_or(Self::Free(*first))
    }

    pub(super) const fn is_aligned(self) -> bool {
        matches!(self, Self::Utc | Self::Tai)
    }

    pub(super) const fn clock(self) -> Option<&'static str> {
        match self {
            Self::Utc => Some("UTC"),
            Self::Tai => Some("TAI"),
            Self::Free(_) | Self::None => None,
        }
    }

    /// Returns the time from the nearest start of the message's symbol to the message.
    fn apart_ns(self, mark: Mark) -> i64 {
        let second = 1_000_000_000;
        let offset_ns = match self {
            Self::Utc => (UTC_LEAP_S - GPS_EPOCH_S) * second,
            Self::Tai => -(TAI_LEAD_S + GPS_EPOCH_S) * second,
            Self::Free(first) => i128::from(first.air_ns) - i128::from(first.at_ns),
            Self::None => 0,
        };
        let period = i128::from(PERIOD_NS);
        let apart = (i128::from(mark.at_ns) + offset_ns - i128::from(mark.air_ns)).rem_euclid(period);
        let nearest = if apart > period / 2 { apart - period } else { apart };
        // The absolute value is at most half of the period.
        nearest as i64
    }
}

impl Spread {
    /// Returns the range of times relative to the symbols. `None` if no message names a symbol.
    pub(super) fn over(marks: &[Mark], reference: Reference) -> Option<Self> {
        let apart = || marks.iter().map(|&mark| reference.apart_ns(mark));
        Some(Self { least_ns: apart().min()?, most_ns: apart().max()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_clock_is_found_by_radio_frame_numbers() {
        // 2022-12-15, 12:22:48.144 UTC: frame 118 of 256, subframe 4.
        let utc_ns = 1_671_106_968_144_000_000;
        let air_ns = 118 * 10_000_000 + 4_000_000;
        let mark = |at_ns: u64| Mark { at_ns, air_ns };
        assert_eq!(Reference::find([mark(utc_ns - 5_000), mark(utc_ns + 130_000)].iter()), Reference::Utc);
        assert_eq!(Reference::find([mark(utc_ns + 37_000_000_000)].iter()), Reference::Tai);
        let free = mark(utc_ns + 500_000_000);
        assert_eq!(Reference::find([free].iter()), Reference::Free(free));
        assert_eq!(Reference::find([].iter()), Reference::None);
        let spread = Spread::over(&[mark(utc_ns - 5_000), mark(utc_ns + 130_000)], Reference::Utc);
        assert_eq!(spread, Some(Spread { least_ns: -5_000, most_ns: 130_000 }));
        // The frame numbers repeat after 2.56 s.
        let later = Mark { at_ns: free.at_ns + 2_560_000_000 + 700, air_ns };
        let spread = Spread::over(&[free, later], Reference::Free(free));
        assert_eq!(spread, Some(Spread { least_ns: 0, most_ns: 700 }));
    }
}
