//! Counts the packets of a stream: received, duplicate and reordered numbers.

/// Number of recent packet numbers that are tracked. Older packets count as reordered, even if they are duplicates.
const WINDOW: u64 = 64;

/// Counters of one received stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All received packets.
    pub received: u64,
    /// Packets whose number was already received.
    pub duplicates: u64,
    /// Packets received after a packet with a greater number.
    pub reordered: u64,
    /// Greatest number received, plus 1.
    next: u64,
    /// Bit set of the last `WINDOW` numbers before `next` that were received.
    seen: u64,
}

impl Tally {
    /// Counts a packet by its number.
    pub fn take(&mut self, number: u64) {
        self.received += 1;
        if number >= self.next {
            let ahead = number - self.next + 1;
            self.seen = if ahead >= WINDOW { 0 } else { self.seen << ahead };
            self.seen |= 1;
            self.next = number + 1;
            return;
        }
        let behind = self.next - 1 - number;
        if behind < WINDOW {
            let bit = 1 << behind;
            if self.seen & bit != 0 {
                self.duplicates += 1;
                return;
            }
            self.seen |= bit;
        }
        self.reordered += 1;
    }

    /// Returns the number of distinct packets received.
    pub fn distinct(&self) -> u64 {
        self.received - self.duplicates
    }

    /// Adds another receiver's counters of the same stream. Duplicates are detected per receiver only.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        if other.next > self.next {
            (self.next, self.seen) = (other.next, other.seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(numbers: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
        let mut tally = Tally::default();
        numbers.into_iter().for_each(|number| tally.take(number));
        (tally.received, tally.duplicates, tally.reordered)
    }

    #[test]
    fn reordering_duplicates_and_gaps_are_distinguished() {
        assert_eq!(tally(0..1_000), (1_000, 0, 0));
        assert_eq!(tally([0, 2, 1, 3]), (4, 0, 1));
        assert_eq!(tally([0, 1, 1, 0, 2]), (5, 2, 0));
        assert_eq!(tally([0, 100, 101]), (3, 0, 0));
        assert_eq!(tally([0, 200, 1]), (3, 0, 1));
        assert_eq!(tally([5, 3, 3, 4, 4]), (5, 2, 2));
        assert_eq!(tally([0, 63, 0, 64, 0]), (5, 1, 1), "number 0 is no longer tracked after number 64");
    }

    #[test]
    fn counters_of_two_receivers_add_up() {
        let mut one = Tally::default();
        let mut other = Tally::default();
        [0, 1, 1].into_iter().for_each(|number| one.take(number));
        [5, 3].into_iter().for_each(|number| other.take(number));
        one.add(&other);
        assert_eq!((one.received, one.duplicates, one.reordered, one.distinct()), (5, 1, 1, 4));
        // Later packets are compared with the greatest number of both receivers.
        one.take(4);
        assert_eq!(one.reordered, 2);
    }

    #[test]
    fn maximum_numbers_do_not_overflow() {
        assert_eq!(tally([u64::MAX - 1, 0, u64::MAX - 1]), (3, 1, 1));
    }
}
