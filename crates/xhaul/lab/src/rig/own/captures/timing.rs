//! When messages were captured, against the radio symbols that their headers name.

use ranlab_xhaul::cus::PERIOD_NS;

/// GPS epoch in seconds of the Unix epoch.
const GPS_EPOCH_S: i128 = 315_964_800;
/// Leap seconds between GPS and UTC since 2017, and between TAI and GPS.
const UTC_LEAP_S: i128 = 18;
const TAI_LEAD_S: i128 = 19;
/// Greatest time between a message and its symbol with which a clock counts as aligned: far above every window of O-RAN
/// and far below the period of the frame numbers.
const ALIGNED_NS: i64 = 5_000_000;

/// When a message was captured, and when its symbol begins, modulo the period of the frame numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) at_ns: u64,
    pub(super) air_ns: u64,
}

/// Time reference of the clock of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    /// UTC: radio frames begin at multiples of 10 ms of GPS time.
    Utc,
    /// TAI, as clocks of PTP have it.
    Tai,
    /// Neither: times against symbols have an unknown offset, which is that of this message.
    Free(Mark),
    /// No message has a symbol.
    None,
}

/// The earliest and latest message of a series against its symbol: negative before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) least_ns: i64,
    pub(super) most_ns: i64,
}

impl Reference {
    /// The clock with which every message is near its symbol.
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

    /// Time from the start of a message's symbol to the message: the nearest such symbol.
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
        // At most half of the period.
        nearest as i64
    }
}

impl Spread {
    /// `None`: no message names a symbol.
    pub(super) fn over(marks: &[Mark], reference: Reference) -> Option<Self> {
        let apart = || marks.iter().map(|&mark| reference.apart_ns(mark));
        Some(Self { least_ns: apart().min()?, most_ns: apart().max()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_is_found_by_the_frame_numbers() {
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
        // The numbers repeat: 2.56 s later they are the same.
        let later = Mark { at_ns: free.at_ns + 2_560_000_000 + 700, air_ns };
        let spread = Spread::over(&[free, later], Reference::Free(free));
        assert_eq!(spread, Some(Spread { least_ns: 0, most_ns: 700 }));
    }
}
