//! What became of packets, until every one of them has a name.

use super::{PACKETS_MAX, Stamp};
use crate::declare::DropReason;

/// What came back, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// For the first time, and behind those that left before it.
    InOrder,
    /// For the first time, after one that left later came out of the same port.
    Misordered,
    /// Once more.
    Again,
    /// None that this run has sent.
    Stranger,
}

/// What a tester counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that were due.
    pub intended: u64,
    /// Left.
    pub sent: u64,
    /// Not sent: too late.
    pub late: u64,
    /// Not sent: no room in the ring.
    pub ring_full: u64,
    /// Not sent: too long for the peer's buffers.
    pub unfit: u64,
    /// Came back, each counted once.
    pub received: u64,
    /// Of these, behind one that left later.
    pub misordered: u64,
    /// Came back once more.
    pub duplicated: u64,
    /// Came, and are none of this run's.
    pub strangers: u64,
    /// Came with descriptors that lead nowhere.
    pub malformed: u64,
    /// A bit for each packet that left, and for each that came back.
    left: Vec<u64>,
    back: Vec<u64>,
    greatest: [Option<u32>; 2],
}

fn bit(bits: &mut Vec<u64>, number: u64) -> bool {
    let (word, mask) = ((number / 64) as usize, 1 << (number % 64));
    if bits.len() <= word {
        bits.resize(word + 1, 0);
    }
    let was = bits[word] & mask != 0;
    bits[word] |= mask;
    was
}

impl Tally {
    /// Packet `number` has left.
    pub fn sent(&mut self, number: u64) {
        if number < PACKETS_MAX && !bit(&mut self.left, number) {
            self.sent += 1;
        }
    }

    /// A frame came out of a port (0 or 1); says what it is.
    pub fn returned(&mut self, run: u32, port: usize, stamp: Option<Stamp>) -> Returned {
        let known = |stamp: &Stamp| {
            let word = self.left.get((stamp.number / 64) as usize).copied().unwrap_or(0);
            stamp.run == run && word >> (stamp.number % 64) & 1 == 1
        };
        let Some(stamp) = stamp.filter(known) else {
            self.strangers += 1;
            return Returned::Stranger;
        };
        if bit(&mut self.back, stamp.number.into()) {
            self.duplicated += 1;
            return Returned::Again;
        }
        self.received += 1;
        let greatest = &mut self.greatest[port & 1];
        if greatest.is_some_and(|greatest| greatest > stamp.number) {
            self.misordered += 1;
            return Returned::Misordered;
        }
        *greatest = Some(stamp.number);
        Returned::InOrder
    }

    /// Packets that left and did not come back.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }
}

/// What the system under test says of the packets that reached it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Never taken out of the ring towards it.
    pub waiting: u64,
    /// Dropped by the pipeline, by the reason's number.
    pub dropped: [u64; DropReason::COUNT],
    /// Dropped in tables of a switch of somebody else, as it counts them.
    pub tables: u64,
    /// Dropped because it was told to, as a tester's own test does.
    pub on_purpose: u64,
    /// Forwarded into a ring that was full.
    pub ring_full: u64,
    /// Too long for buffers.
    pub unfit: u64,
}

/// Counters that cannot all be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    /// Due packets without a name.
    #[error("{intended} packets were due, {named} of them have a name")]
    Intended {
        /// Due.
        intended: u64,
        /// Sent, late, refused by the ring.
        named: u64,
    },
    /// More causes than losses.
    #[error("{lost} packets are lost, and the system under test names {causes}")]
    Causes {
        /// Lost.
        lost: u64,
        /// Named.
        causes: u64,
    },
}

impl Ledger {
    /// Losses that somebody names.
    #[must_use]
    pub fn causes(&self) -> u64 {
        self.waiting
            + self.dropped.iter().sum::<u64>()
            + self.tables
            + self.on_purpose
            + self.ring_full
            + self.unfit
    }

    /// Both together: of several cores, or of several ports.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            dropped: std::array::from_fn(|reason| self.dropped[reason] + other.dropped[reason]),
            tables: self.tables + other.tables,
            on_purpose: self.on_purpose + other.on_purpose,
            ring_full: self.ring_full + other.ring_full,
            unfit: self.unfit + other.unfit,
        }
    }

    /// What happened between an earlier look and this one; what waits now waits now.
    #[must_use]
    pub fn since(&self, then: &Self) -> Self {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let dropped = std::array::from_fn(|reason| since(self.dropped[reason], then.dropped[reason]));
        Self {
            waiting: self.waiting,
            dropped,
            tables: since(self.tables, then.tables),
            on_purpose: since(self.on_purpose, then.on_purpose),
            ring_full: since(self.ring_full, then.ring_full),
            unfit: since(self.unfit, then.unfit),
        }
    }

    /// Lost packets that nobody names: intended = sent + late + ring full + unfit, sent = received + lost, and lost = the causes
    /// here + this.
    ///
    /// # Errors
    /// The counters do not add up.
    pub fn unknown(&self, tally: &Tally) -> Result<u64, Inconsistent> {
        let unsent = tally.late + tally.ring_full + tally.unfit;
        self.remainder((tally.intended, unsent), (tally.sent, tally.received))
    }

    /// The same of sums: packets that were due and those of them that were not sent; packets that left and those of them that
    /// came back.
    ///
    /// # Errors
    /// The counters do not add up.
    pub fn remainder(
        &self,
        (intended, unsent): (u64, u64),
        (sent, received): (u64, u64),
    ) -> Result<u64, Inconsistent> {
        let named = sent.saturating_add(unsent);
        if named != intended {
            return Err(Inconsistent::Intended { intended, named });
        }
        let (lost, causes) = (sent.saturating_sub(received), self.causes());
        lost.checked_sub(causes).ok_or(Inconsistent::Causes { lost, causes })
    }
}
