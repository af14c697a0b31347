//! Release times and sizes of a flow's frames.

use super::time::{MS, Ps, S};

/// Preamble with start delimiter (8) and inter-frame gap (12): overhead of a MAC frame, bytes.
pub const WIRE_GAP_BYTES: u32 = 20;
/// Inter-frame gap, bytes. It occupies the line behind a frame and does not delay the frame's last bit.
pub const INTER_FRAME_GAP_BYTES: u32 = 12;
/// The smallest frame, 64 bytes, on the wire.
pub const WIRE_BYTES_MIN: u32 = 64 + WIRE_GAP_BYTES;
/// The largest frame: a jumbo frame of 9216 bytes, on the wire.
pub const WIRE_BYTES_MAX: u32 = 9216 + WIRE_GAP_BYTES;
/// Maximum frames of one release.
const FRAMES_MAX: usize = 16_384;
/// Maximum slots or symbols of a TDD pattern.
const SLOTS_MAX: usize = 1280;
/// The longest period, timer or slot.
const PERIOD_PS_MAX: Ps = 10 * S;

/// Times at which frames leave a source, on the source's clock, counted from the flow's offset. Sizes are
/// bytes on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// `releases` times in each period, evenly spread, all `frames` at once: the symbols of a TTI back to back (one
    /// release of 14), spread over it (14 of one), or a constant bit rate.
    Periodic {
        /// The period, ps.
        period_ps: Ps,
        /// Releases in a period, at least one.
        releases: u32,
        /// The frames of a release, in this order.
        frames: Vec<u32>,
        /// Each release is up to this much late, uniformly; below the time between two releases.
        jitter_ps: Ps,
    },
    /// A TDD pattern of slots or symbols: all `frames` at once at the start of each one that is marked.
    Tdd {
        /// Duration of the whole pattern, ps.
        period_ps: Ps,
        /// The slots or symbols that divide the pattern evenly: whether this direction has it.
        slots: Vec<bool>,
        /// Number of consecutive ones that are released together, at the start of the first of them: 14 for the symbols
        /// of a slot back to back, 1 for each at its own time.
        together: u32,
        /// The frames of each.
        frames: Vec<u32>,
    },
    /// A sender that wakes up by a timer and then sends all due frames: frame `k` is due at `k * gap_ps`.
    /// iperf3 has a timer of 1 ms since 3.2 and had one of 100 ms until 3.1.3.
    Timer {
        /// The timer's period, ps.
        timer_ps: Ps,
        /// Mean time between frames, ps.
        gap_ps: Ps,
        /// Size of every frame, bytes on the wire.
        frame: u32,
    },
    /// Independent frames: exponential gaps. No bound exists for it.
    Poisson {
        /// Mean time between frames, ps.
        gap_ps: Ps,
        /// Size of every frame, bytes on the wire.
        frame: u32,
    },
    /// These frames at these times, once; ordered in time. No bound is computed for it.
    Trace(Vec<(Ps, u32)>),
}

/// Reason why a pattern is invalid: an error of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A frame that Ethernet does not have.
    #[error("a frame has {WIRE_BYTES_MIN} to {WIRE_BYTES_MAX} bytes on the wire, not {0}")]
    Frame(u32),
    /// No frame, or too many.
    #[error("a release has 1 to {FRAMES_MAX} frames, not {0}")]
    Frames(usize),
    /// A period, slot, timer or gap of zero or above the limit, or shorter than its releases.
    #[error("a period is 1 ps to 10 s and at least 1 ps for each release, not {0} ps")]
    Period(Ps),
    /// Lateness that would let releases overtake one another.
    #[error("a release is late by less than the time to the next one, not by {0} ps")]
    Jitter(Ps),
    /// A TDD pattern without a slot for this direction, with too many slots, or not divided by its groups.
    #[error(
        "a TDD pattern has 1 to 1280 slots or symbols, at least one of them for the flow, in groups of equal size"
    )]
    Slots,
    /// A trace that is not ascending.
    #[error("the frames of a trace are ordered in time; frame {0} is not")]
    Order(usize),
}

/// Upper bound of a pattern: in any closed window of length `t`, `frames` frames of `bytes` bytes in total
/// for each started `period_ps` of `t + jitter_ps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) bytes: u64,
    pub(super) frames: u64,
    pub(super) largest: u32,
    pub(super) smallest: u32,
    pub(super) period_ps: Ps,
    pub(super) jitter_ps: Ps,
}

impl Pattern {
    /// Equal frames at equal distances.
    pub fn constant(gap_ps: Ps, frame: u32) -> Self {
        Self::Periodic { period_ps: gap_ps, releases: 1, frames: vec![frame], jitter_ps: 0 }
    }

    /// `count` equal frames back to back in each period.
    pub fn burst(period_ps: Ps, count: usize, frame: u32) -> Self {
        Self::Periodic { period_ps, releases: 1, frames: vec![frame; count], jitter_ps: 0 }
    }

    /// Makes every frame longer.
    pub fn lengthen(&mut self, bytes: u32) {
        match self {
            Self::Periodic { frames, .. } | Self::Tdd { frames, .. } => {
                frames.iter_mut().for_each(|frame| *frame = frame.saturating_add(bytes));
            }
            Self::Timer { frame, .. } | Self::Poisson { frame, .. } => *frame = frame.saturating_add(bytes),
            Self::Trace(frames) => {
                frames.iter_mut().for_each(|(_, frame)| *frame = frame.saturating_add(bytes));
            }
        }
    }

    /// Checks that the pattern is valid.
    pub(super) fn check(&self) -> Result<(), PatternError> {
        match self {
            Self::Periodic { period_ps, releases, frames, jitter_ps } => {
                check_release(*period_ps, *releases, frames)?;
                if *jitter_ps >= (period_ps / u64::from(*releases)).max(1) {
                    return Err(PatternError::Jitter(*jitter_ps));
                }
                Ok(())
            }
            Self::Tdd { period_ps, slots, together, frames } => {
                let grouped = *together > 0 && slots.len().is_multiple_of(*together as usize);
                if slots.len() > SLOTS_MAX || !slots.contains(&true) || !grouped {
                    return Err(PatternError::Slots);
                }
                // At most 1280.
                check_release(*period_ps, slots.len() as u32, frames)
            }
            Self::Timer { timer_ps, gap_ps, frame } => {
                check_release(*timer_ps, 1, &[*frame])?;
                check_release(*gap_ps, 1, &[*frame])
            }
            Self::Poisson { gap_ps, frame } => check_release(*gap_ps, 1, &[*frame]),
            Self::Trace(frames) => {
                for (index, pair) in frames.windows(2).enumerate() {
                    if pair[1].0 < pair[0].0 {
                        return Err(PatternError::Order(index + 1));
                    }
                }
                frames.iter().try_for_each(|&(_, frame)| check_frame(frame))
            }
        }
    }

    /// Size of the largest frame; zero for an empty trace.
    pub fn largest(&self) -> u32 {
        match self {
            Self::Periodic { frames, .. } | Self::Tdd { frames, .. } => frames.iter().copied().max(),
            Self::Timer { frame, .. } | Self::Poisson { frame, .. } => Some(*frame),
            Self::Trace(frames) => frames.iter().map(|&(_, frame)| frame).max(),
        }
        .unwrap_or(0)
    }

    /// Mean rate on the wire, bit/s; `None` for a trace.
    pub fn mean_bps(&self) -> Option<u64> {
        let sum = |frames: &[u32]| frames.iter().map(|&frame| u128::from(frame)).sum::<u128>();
        let (bytes, period_ps) = match self {
            Self::Periodic { period_ps, releases, frames, .. } => {
                (sum(frames) * u128::from(*releases), u128::from(*period_ps))
            }
            Self::Tdd { period_ps, slots, frames, .. } => {
                let own = slots.iter().filter(|&&own| own).count() as u128;
                (sum(frames) * own, u128::from(*period_ps))
            }
            Self::Timer { gap_ps, frame, .. } | Self::Poisson { gap_ps, frame } => {
                (u128::from(*frame), u128::from(*gap_ps))
            }
            Self::Trace(_) => return None,
        };
        // Checked patterns stay far below 2^64 bit/s.
        Some((bytes * 8 * u128::from(S) / period_ps.max(1)) as u64)
    }

    /// Upper bound of the pattern, or `None` if it is not known. A TDD pattern has two: its rate while it sends, as if
    /// every slot were the flow's own, or (`whole`) all that a pattern sends at once, with its mean rate.
    pub(super) fn envelope(&self, whole: bool) -> Option<Envelope> {
        let of = |frames: &[u32], period_ps, jitter_ps| {
            let bytes = frames.iter().map(|&frame| u64::from(frame)).sum();
            let largest = frames.iter().copied().max()?;
            let smallest = frames.iter().copied().min()?;
            Some(Envelope { bytes, frames: frames.len() as u64, largest, smallest, period_ps, jitter_ps })
        };
        match self {
            // Releases are at floor(k P / n): over k of them at least k floor(P / n) apart.
            Self::Periodic { period_ps, releases, frames, jitter_ps } => {
                of(frames, period_ps / u64::from(*releases), *jitter_ps)
            }
            Self::Tdd { period_ps, slots, together, frames } => {
                let own = |slots: &[bool]| slots.iter().filter(|&&own| own).count() as u64;
                let group = (*together as usize).max(1);
                let most = slots.chunks(group).map(own).max().unwrap_or(0);
                let (count, period_ps) = match whole {
                    true => (own(slots), *period_ps),
                    // Groups start at floor(k P / n): at least floor(P / n) apart.
                    false => (most, period_ps / (slots.len() / group).max(1) as u64),
                };
                let one = of(frames, period_ps, 0)?;
                Some(Envelope { bytes: one.bytes * count, frames: one.frames * count, ..one })
            }
            // Due evenly, late by at most one period of the timer.
            Self::Timer { timer_ps, gap_ps, frame } => of(&[*frame], *gap_ps, *timer_ps),
            Self::Poisson { .. } | Self::Trace(_) => None,
        }
    }

    /// Time of release `index`, ps from the flow's offset, without jitter; `None` after the last one. A
    /// Poisson flow has no such times.
    pub fn due(&self, index: u64) -> Option<Ps> {
        match self {
            Self::Periodic { period_ps, releases, .. } => Some(spread(index, *period_ps, *releases)),
            Self::Tdd { period_ps, slots, together, .. } => {
                let own = slots.iter().filter(|&&own| own).count() as u64;
                let nth = (index % own.max(1)) as usize;
                let position = slots.iter().enumerate().filter(|&(_, &own)| own).nth(nth)?.0 as u64;
                let group = u64::from(*together).max(1);
                let count = slots.len() as u64;
                let from_start = index / own * count + position / group * group;
                // At most 1280 slots.
                Some(spread(from_start, *period_ps, count as u32))
            }
            Self::Timer { timer_ps, gap_ps, .. } => Some((index * gap_ps).div_ceil(*timer_ps) * timer_ps),
            Self::Poisson { .. } => None,
            Self::Trace(frames) => Some(frames.get(usize::try_from(index).ok()?)?.0),
        }
    }

    /// The frames of release `index`.
    pub fn frames(&self, index: u64) -> &[u32] {
        match self {
            Self::Periodic { frames, .. } | Self::Tdd { frames, .. } => frames,
            Self::Timer { frame, .. } | Self::Poisson { frame, .. } => std::slice::from_ref(frame),
            Self::Trace(frames) => usize::try_from(index)
                .ok()
                .and_then(|index| frames.get(index))
                .map_or(&[], |(_, frame)| std::slice::from_ref(frame)),
        }
    }

    /// The most frames that are released at the same time.
    pub fn at_once(&self) -> usize {
        match self {
            Self::Tdd { slots, together, frames, .. } => {
                let own = |slots: &[bool]| slots.iter().filter(|&&own| own).count();
                slots.chunks((*together as usize).max(1)).map(own).max().unwrap_or(0) * frames.len()
            }
            _ => self.frames(0).len(),
        }
    }

    /// The time after which the pattern repeats: where phases are searched.
    pub fn cycle_ps(&self) -> Ps {
        match self {
            Self::Periodic { period_ps, releases, .. } => (period_ps / u64::from(*releases)).max(1),
            Self::Tdd { period_ps, .. } => *period_ps,
            Self::Timer { timer_ps, .. } => *timer_ps,
            Self::Poisson { gap_ps, .. } => *gap_ps,
            Self::Trace(_) => MS,
        }
    }
}

fn spread(index: u64, period_ps: Ps, releases: u32) -> Ps {
    if releases == 1 {
        return index * period_ps;
    }
    // In u128: `index * period` of a long run exceeds 64 bits before the result does.
    (u128::from(index) * u128::from(period_ps) / u128::from(releases)) as Ps
}

fn check_release(period_ps: Ps, releases: u32, frames: &[u32]) -> Result<(), PatternError> {
    if releases == 0 || period_ps < u64::from(releases) || period_ps > PERIOD_PS_MAX {
        return Err(PatternError::Period(period_ps));
    }
    if frames.is_empty() || frames.len() > FRAMES_MAX {
        return Err(PatternError::Frames(frames.len()));
    }
    frames.iter().try_for_each(|&frame| check_frame(frame))
}

fn check_frame(frame: u32) -> Result<(), PatternError> {
    if (WIRE_BYTES_MIN..=WIRE_BYTES_MAX).contains(&frame) { Ok(()) } else { Err(PatternError::Frame(frame)) }
}

#[cfg(test)]
mod tests {
    use super::super::time::US;
    use super::*;

    #[test]
    fn fourteen_symbols_per_tti_do_not_drift() {
        let spread = Pattern::Periodic { period_ps: MS, releases: 14, frames: vec![650], jitter_ps: 0 };
        assert_eq!(spread.due(14), Some(MS));
        assert_eq!(spread.due(14_000_000), Some(1_000_000 * MS));
        assert_eq!(spread.due(1), Some(71_428_571));
        assert_eq!(spread.mean_bps(), Some(72_800_000));
    }

    #[test]
    fn timer_of_100_ms_sends_due_data_at_once() {
        let timer = Pattern::Timer { timer_ps: 100 * MS, gap_ps: 900 * US, frame: 1536 };
        let due: Vec<_> = (0..113).filter_map(|index| timer.due(index)).collect();
        assert_eq!(due.iter().filter(|&&at| at == 100 * MS).count(), 111);
        assert_eq!(due[112], 200 * MS);
    }

    #[test]
    fn a_tdd_pattern_sends_in_its_own_slots() {
        let slots = vec![true, false, true, true];
        let due = |together| -> Vec<Ps> {
            let slots = slots.clone();
            let tdd = Pattern::Tdd { period_ps: 4 * MS, slots, together, frames: vec![100] };
            assert_eq!(tdd.mean_bps(), Some(600_000));
            (0..4).filter_map(|index| tdd.due(index)).collect()
        };
        assert_eq!(due(1), [0, 2 * MS, 3 * MS, 4 * MS]);
        assert_eq!(due(2), [0, 2 * MS, 2 * MS, 4 * MS]);
        let uneven = Pattern::Tdd { period_ps: 4 * MS, slots, together: 3, frames: vec![100] };
        assert_eq!(uneven.check(), Err(PatternError::Slots));
    }

    #[test]
    fn invalid_patterns_are_refused() {
        assert_eq!(Pattern::constant(US, 83).check(), Err(PatternError::Frame(83)));
        assert_eq!(Pattern::constant(0, 84).check(), Err(PatternError::Period(0)));
        assert_eq!(Pattern::burst(US, 0, 84).check(), Err(PatternError::Frames(0)));
        assert_eq!(Pattern::Trace(vec![(2, 84), (1, 84)]).check(), Err(PatternError::Order(1)));
        let late = Pattern::Periodic { period_ps: US, releases: 2, frames: vec![84], jitter_ps: US / 2 };
        assert_eq!(late.check(), Err(PatternError::Jitter(US / 2)));
    }
}
