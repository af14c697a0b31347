//! Release times and sizes of a flow's frames.

use super::time::{MS, Ps, S};

/// Overhead of a MAC frame on the wire, in bytes: preamble with start delimiter (8) and inter-frame gap (12).
pub const WIRE_GAP_BYTES: u32 = 20;
/// Inter-frame gap, in bytes. It occupies the line after a frame and does not delay the frame's last bit.
pub const INTER_FRAME_GAP_BYTES: u32 = 12;
/// Size of the smallest frame (64 bytes) on the wire.
pub const WIRE_BYTES_MIN: u32 = 64 + WIRE_GAP_BYTES;
/// Size of the largest frame (a jumbo frame of 9216 bytes) on the wire.
pub const WIRE_BYTES_MAX: u32 = 9216 + WIRE_GAP_BYTES;
/// Maximum number of frames in one release.
const FRAMES_MAX: usize = 16_384;
/// Maximum number of slots or symbols in a TDD pattern.
const SLOTS_MAX: usize = 1280;
/// Maximum period, timer or slot duration.
const PERIOD_PS_MAX: Ps = 10 * S;

/// Times at which frames leave a source, on the source's clock and relative to the flow's offset. Sizes are bytes on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Periodic releases, evenly spread over each period. All `frames` of a release are sent at once. Examples: the symbols of a TTI back
    /// to back (one release of 14 frames) or spread over the TTI (14 releases of one frame), or a constant bit rate.
    Periodic {
        /// Duration of the period, in ps.
        period_ps: Ps,
        /// Number of releases in a period, at least 1.
        releases: u32,
        /// Sizes of the frames in a release, in the order of sending.
        frames: Vec<u32>,
        /// Maximum random delay of a release, uniformly distributed. It must be less than the time between two releases.
        jitter_ps: Ps,
    },
    /// TDD pattern of slots or symbols. All `frames` are sent at once at the start of each marked slot or symbol.
    Tdd {
        /// Duration of the whole pattern, in ps.
        period_ps: Ps,
        /// One entry per slot or symbol of the pattern: `true` if the flow may send in it. All entries have the same duration,
        /// `period_ps / slots.len()`.
        slots: Vec<bool>,
        /// Number of consecutive slots or symbols that are released together, at the start of the first. 14: the symbols of a slot are sent
        /// back to back. 1: each symbol is sent at its start.
        together: u32,
        /// Sizes of the frames in each slot or symbol.
        frames: Vec<u32>,
    },
    /// Sender that wakes up by a timer and then sends all due frames. Frame `k` is due at `k * gap_ps`. iperf3 has a timer of 1 ms since
    /// version 3.2, and had a timer of 100 ms up to version 3.1.3.
    Timer {
        /// Period of the timer, in ps.
        timer_ps: Ps,
        /// Mean time between frames, in ps.
        gap_ps: Ps,
        /// Size of every frame, bytes on the wire.
        frame: u32,
    },
    /// Independent frames with exponentially distributed gaps. This pattern has no bound.
    Poisson {
        /// Mean time between frames, in ps.
        gap_ps: Ps,
        /// Size of every frame, bytes on the wire.
        frame: u32,
    },
    /// Frames at given times (time, size), sent once, in ascending order of time. No bound is calculated for a trace.
    Trace(Vec<(Ps, u32)>),
}

/// Reason why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The frame size does not exist in Ethernet.
    #[error("a frame must have {WIRE_BYTES_MIN} to {WIRE_BYTES_MAX} bytes on the wire, not {0}")]
    Frame(u32),
    /// The release has no frame, or too many.
    #[error("a release must have 1 to {FRAMES_MAX} frames, not {0}")]
    Frames(usize),
    /// A period, slot, timer or gap is zero, above the limit, or shorter than its releases.
    #[error("a period must be 1 ps to 10 s, and at least 1 ps for each release, not {0} ps")]
    Period(Ps),
    /// The jitter would let releases overtake one another.
    #[error("the jitter must be less than the time to the next release, not {0} ps")]
    Jitter(Ps),
    /// The TDD pattern has no slot for this direction, has too many slots, or cannot be divided into its groups.
    #[error(
        "a TDD pattern must have 1 to 1280 slots or symbols, at least one of them for the flow, in groups of equal size"
    )]
    Slots,
    /// The trace is not in ascending order.
    #[error("the frames of a trace must be ordered in time; frame {0} is not")]
    Order(usize),
}

/// Upper bound of the frames that a pattern releases. For any closed window of length `t`, let `k = floor((t + jitter_ps) / period_ps) +
/// 1`. In this window, the pattern releases at most `k * frames` frames with `k * bytes` bytes in total.
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
    /// Returns a pattern of equal frames at equal intervals.
    pub fn constant(gap_ps: Ps, frame: u32) -> Self {
        Self::Periodic { period_ps: gap_ps, releases: 1, frames: vec![frame], jitter_ps: 0 }
    }

    /// Returns a pattern of `count` equal frames back to back in each period.
    pub fn burst(period_ps: Ps, count: usize, frame: u32) -> Self {
        Self::Periodic { period_ps, releases: 1, frames: vec![frame; count], jitter_ps: 0 }
    }

    /// Makes every frame longer by `bytes`.
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
                // The number of slots is at most 1280.
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

    /// Returns the size of the largest frame, or zero for an empty trace.
    pub fn largest(&self) -> u32 {
        match self {
            Self::Periodic { frames, .. } | Self::Tdd { frames, .. } => frames.iter().copied().max(),
            Self::Timer { frame, .. } | Self::Poisson { frame, .. } => Some(*frame),
            Self::Trace(frames) => frames.iter().map(|&(_, frame)| frame).max(),
        }
        .unwrap_or(0)
    }

    /// Returns the mean rate on the wire, in bit/s. `None` for a trace.
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
        // The rate of a checked pattern is far below 2^64 bit/s.
        Some((bytes * 8 * u128::from(S) / period_ps.max(1)) as u64)
    }

    /// Returns the upper bound of the pattern. `None` if it has no known bound. A TDD pattern has two bounds. The first is its rate while
    /// it sends, as if every slot belonged to the flow. The second (`whole`) is the pattern's total burst with its mean rate.
    pub(super) fn envelope(&self, whole: bool) -> Option<Envelope> {
        let of = |frames: &[u32], period_ps, jitter_ps| {
            let bytes = frames.iter().map(|&frame| u64::from(frame)).sum();
            let largest = frames.iter().copied().max()?;
            let smallest = frames.iter().copied().min()?;
            Some(Envelope { bytes, frames: frames.len() as u64, largest, smallest, period_ps, jitter_ps })
        };
        match self {
            // Releases are at floor(k P / n). Over k releases, the distance is at least k floor(P / n).
            Self::Periodic { period_ps, releases, frames, jitter_ps } => {
                of(frames, period_ps / u64::from(*releases), *jitter_ps)
            }
            Self::Tdd { period_ps, slots, together, frames } => {
                let own = |slots: &[bool]| slots.iter().filter(|&&own| own).count() as u64;
                let group = (*together as usize).max(1);
                let most = slots.chunks(group).map(own).max().unwrap_or(0);
                let (count, period_ps) = match whole {
                    true => (own(slots), *period_ps),
                    // Groups start at floor(k P / n), so their distance is at least floor(P / n).
                    false => (most, period_ps / (slots.len() / group).max(1) as u64),
                };
                let one = of(frames, period_ps, 0)?;
                Some(Envelope { bytes: one.bytes * count, frames: one.frames * count, ..one })
            }
            // Frames are due at equal intervals. The timer delays them by at most one period.
            Self::Timer { timer_ps, gap_ps, frame } => of(&[*frame], *gap_ps, *timer_ps),
            Self::Poisson { .. } | Self::Trace(_) => None,
        }
    }

    /// Returns the time of release `index` without jitter, in ps from the flow's offset. `None` after the last release, and for a Poisson
    /// flow.
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
                // The number of slots is at most 1280.
                Some(spread(from_start, *period_ps, count as u32))
            }
            Self::Timer { timer_ps, gap_ps, .. } => Some((index * gap_ps).div_ceil(*timer_ps) * timer_ps),
            Self::Poisson { .. } => None,
            Self::Trace(frames) => Some(frames.get(usize::try_from(index).ok()?)?.0),
        }
    }

    /// Returns the sizes of the frames in release `index`.
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

    /// Returns the maximum number of frames that are released at the same time.
    pub fn at_once(&self) -> usize {
        match self {
            Self::Tdd { slots, together, frames, .. } => {
                let own = |slots: &[bool]| slots.iter().filter(|&&own| own).count();
                slots.chunks((*together as usize).max(1)).map(own).max().unwrap_or(0) * frames.len()
            }
            _ => self.frames(0).len(),
        }
    }

    /// Returns the time after which the pattern repeats, in ps. Random offsets of a flow are drawn from 0 to this time. Poisson patterns
    /// and traces do not repeat: the result is the mean gap of a Poisson pattern, and 1 ms for a trace.
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
    // The calculation uses 128 bits, because `index * period` of a long run exceeds 64 bits before the result does.
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
        let due_times: Vec<_> = (0..113).filter_map(|index| timer.due(index)).collect();
        assert_eq!(due_times.iter().filter(|&&at| at == 100 * MS).count(), 111);
        assert_eq!(due_times[112], 200 * MS);
    }

    #[test]
    fn tdd_pattern_sends_only_in_marked_slots() {
        let slots = vec![true, false, true, true];
        let due_times = |together| -> Vec<Ps> {
            let slots = slots.clone();
            let tdd = Pattern::Tdd { period_ps: 4 * MS, slots, together, frames: vec![100] };
            assert_eq!(tdd.mean_bps(), Some(600_000));
            (0..4).filter_map(|index| tdd.due(index)).collect()
        };
        assert_eq!(due_times(1), [0, 2 * MS, 3 * MS, 4 * MS]);
        assert_eq!(due_times(2), [0, 2 * MS, 2 * MS, 4 * MS]);
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
