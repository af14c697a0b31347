//! Lost and repeated indications of a subscription, derived from their sequence numbers (RIC Indication SN).
//!
//! A RIC may change the order of indications: FlexRIC's has two threads, and under overload an indication can arrive some
//! thousand numbers late. A late number was counted as lost before, and fills its gap. A number that was received before
//! is a repetition, or shows that the agent has restarted and counts from the beginning.

/// Number of latest sequence numbers of which it is known whether they were received. A power of two, so that the
/// position in the bitmap stays the same when the numbers wrap around.
const WINDOW: u32 = 1 << 12;
/// Distance to the last number up to which a received number counts as repeated. A greater distance means a restart.
const REPEATED_WITHIN: u32 = 64;
/// Largest gap that still counts as a loss if the next sequence number is zero. After a larger gap, zero means that
/// the agent has restarted.
const RESTART_GAP: u16 = 1_024;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Gaps {
    last: Option<u16>,
    lost: u64,
    /// One bit for each of the latest [`WINDOW`] numbers: whether it was received. Empty before the first number.
    seen: Vec<u64>,
    /// Distance between the first and the last number since the restart.
    span: u32,
    repeated: u64,
    /// Whether the agent sends no sequence numbers.
    unknown: bool,
}

impl Gaps {
    pub(super) fn see(&mut self, sn: Option<u16>) {
        let Some(sn) = sn else {
            self.unknown = true;
            return;
        };
        let Some(last) = self.last else { return self.begin(sn) };
        let behind = u32::from(last.wrapping_sub(sn));
        if behind < WINDOW && behind <= self.span {
            if !self.was_seen(sn) {
                self.lost = self.lost.saturating_sub(1);
                self.mark(sn, true);
                return;
            }
            // Zero means a restart rather than a repetition.
            if behind < REPEATED_WITHIN && sn != 0 {
                self.repeated += 1;
                return;
            }
        }
        let missing = sn.wrapping_sub(last).wrapping_sub(1);
        // A step backwards means that the agent has restarted, as does zero after a gap larger than [`RESTART_GAP`].
        if missing >= 1 << 15 || (sn == 0 && missing > RESTART_GAP) {
            return self.begin(sn);
        }
        self.lost += u64::from(missing);
        let step = u32::from(missing) + 1;
        for ahead in 1..step.min(WINDOW) as u16 {
            self.mark(sn.wrapping_sub(ahead), false);
        }
        self.mark(sn, true);
        self.span = self.span.saturating_add(step);
        self.last = Some(sn);
    }

    /// Begins with the first number since a restart.
    fn begin(&mut self, sn: u16) {
        self.seen.clear();
        self.seen.resize(WINDOW as usize / 64, 0);
        self.mark(sn, true);
        self.span = 0;
        self.last = Some(sn);
    }

    /// Returns the word and the bit of a number.
    fn place(sn: u16) -> (usize, u64) {
        let index = u32::from(sn) % WINDOW;
        (index as usize / 64, 1 << (index % 64))
    }

    fn was_seen(&self, sn: u16) -> bool {
        let (word, bit) = Self::place(sn);
        self.seen.get(word).is_some_and(|seen| seen & bit != 0)
    }

    fn mark(&mut self, sn: u16, received: bool) {
        let (word, bit) = Self::place(sn);
        if let Some(seen) = self.seen.get_mut(word) {
            *seen = if received { *seen | bit } else { *seen & !bit };
        }
    }

    /// Restarts the count for a new subscription.
    pub(super) fn restart(&mut self) {
        self.last = None;
    }

    pub(super) fn lost(&self) -> Option<u64> {
        (!self.unknown).then_some(self.lost)
    }

    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counted(numbers: &[u16]) -> (u64, Option<u64>) {
        let mut gaps = Gaps::default();
        numbers.iter().for_each(|n| gaps.see(Some(*n)));
        (gaps.repeated(), gaps.lost())
    }

    #[test]
    fn sequence_gaps_are_counted_across_wrap_but_not_across_restart() {
        let lost = |numbers: &[u16]| counted(numbers).1;
        assert_eq!(lost(&[5, 6, 9, 10]), Some(2));
        assert_eq!(lost(&[65_534, 1]), Some(2));
        assert_eq!(lost(&[40_000, 0, 1]), Some(0));
        assert_eq!(lost(&[100, 3, 4]), Some(0));
        // Reordered but none lost; a number that never arrives counts as lost.
        assert_eq!(lost(&[1, 2, 5, 3, 4, 6]), Some(0));
        assert_eq!(lost(&[1, 4, 2, 5, 8, 7, 9]), Some(2));
        assert_eq!(lost(&[65_534, 1, 65_535, 2]), Some(1));
        assert_eq!(lost(&[65_534, 1, 65_535, 0, 2]), Some(0), "zero can be late, too");
        let mut gaps = Gaps::default();
        gaps.see(None);
        assert_eq!(gaps.lost(), None);
    }

    #[test]
    fn repeated_numbers_are_counted_unless_the_agent_restarts() {
        assert_eq!(counted(&[7, 7, 8]), (1, Some(0)));
        assert_eq!(counted(&[65_534, 65_535, 0, 65_535, 1, 2]), (1, Some(0)));
        assert_eq!(counted(&[5, 6, 9, 10, 6, 11]), (1, Some(2)));
        assert_eq!(
            counted(&[1, 2, 3, 0, 1, 2]),
            (0, Some(0)),
            "number 0 must count as a restart of the numbering, and no number as repeated"
        );
        let restarted: Vec<u16> = (1..1_000).chain(1..50).collect();
        assert_eq!(counted(&restarted), (0, Some(0)));
    }

    proptest! {
        #[test]
        fn late_numbers_are_not_lost(
            first in any::<u16>(),
            delays in prop::collection::vec(prop_oneof![4 => Just(0_u64), 2 => 0..3_000_u64, 1 => Just(u64::MAX)], 1..9_000),
        ) {
            // The first and the last indication arrive in time, so that each lost number leaves a gap.
            let mut delays = delays;
            delays[0] = 0;
            delays.push(0);
            let dropped = delays.iter().filter(|delay| **delay == u64::MAX).count() as u64;
            let sent = delays.iter().enumerate().filter(|(_, delay)| **delay != u64::MAX);
            let mut arrivals: Vec<(u64, usize)> = sent.map(|(index, delay)| (index as u64 + delay, index)).collect();
            arrivals.sort_unstable();
            let numbers: Vec<u16> = arrivals.iter().map(|(_, index)| first.wrapping_add(*index as u16)).collect();
            prop_assert_eq!(counted(&numbers), (0, Some(dropped)));
        }
    }
}
