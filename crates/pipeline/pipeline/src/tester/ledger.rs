//! Packet accounting: the outcome of every packet.

use super::{PACKETS_MAX, Stamp};
use crate::declare::DropReason;

/// Classification of a packet that returned to the tester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// The packet arrives for the first time, in order.
    InOrder,
    /// The packet arrives for the first time, but after a packet that was sent later to the same port.
    Misordered,
    /// The packet has already arrived.
    Again,
    /// The packet does not belong to this run.
    Unknown,
}

/// Counters of a tester.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that were due.
    pub intended: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets not sent because they were overdue by more than the tolerance.
    pub late: u64,
    /// Packets not sent because the ring was full.
    pub ring_full: u64,
    /// Packets not sent because they are longer than the peer's buffers.
    pub unfit: u64,
    /// Packets that came back, each counted once.
    pub received: u64,
    /// Received packets that arrived after a packet that was sent later.
    pub misordered: u64,
    /// Duplicates that came back.
    pub duplicated: u64,
    /// Received packets that do not belong to this run.
    pub unknown: u64,
    /// Packets received with invalid descriptors.
    pub malformed: u64,
    /// Two bit sets: sent packets, and packets that returned.
    left: Vec<u64>,
    back: Vec<u64>,
    greatest: [Option<u32>; 2],
}

fn bit(bits: &mut Vec<u64>, number: u64) -> bool {
    let word = (number / 64) as usize;
    let mask = 1 << (number % 64);
    if bits.len() <= word {
        bits.resize(word + 1, 0);
    }
    let was = bits[word] & mask != 0;
    bits[word] |= mask;
    was
}

impl Tally {
    /// Records that packet `number` was sent.
    pub fn sent(&mut self, number: u64) {
        if number < PACKETS_MAX && !bit(&mut self.left, number) {
            self.sent += 1;
        }
    }

    /// Records a frame received from a port (0 or 1). Returns its classification.
    pub fn returned(&mut self, run: u32, port: usize, stamp: Option<Stamp>) -> Returned {
        let known = |stamp: &Stamp| {
            let word = self.left.get((stamp.number / 64) as usize).copied().unwrap_or(0);
            stamp.run == run && word >> (stamp.number % 64) & 1 == 1
        };
        let Some(stamp) = stamp.filter(known) else {
            self.unknown += 1;
            return Returned::Unknown;
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

    /// Returns the number of packets that were sent and did not return.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }
}

/// Counters of the system under test for the packets that reached it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets that the system under test never took out of its receive ring.
    pub waiting: u64,
    /// Packets dropped by the pipeline, by the number of the reason.
    pub dropped: [u64; DropReason::COUNT],
    /// Packets dropped by tables of a third-party switch, according to its counters.
    pub tables: u64,
    /// Packets dropped intentionally, as in a tester's self-test.
    pub on_purpose: u64,
    /// Packets dropped because the transmit ring was full.
    pub ring_full: u64,
    /// Packets longer than the buffers.
    pub unfit: u64,
}

/// Counters that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    /// Due packets that were neither sent nor counted as not sent.
    #[error(
        "{intended} packets were due, but the packets that were sent, late or rejected by the ring add up to {named}"
    )]
    Intended {
        /// Number of due packets.
        intended: u64,
        /// Number of packets sent, late, or rejected by the ring.
        named: u64,
    },
    /// More causes of losses than losses.
    #[error("{lost} packets are lost, but the causes reported by the system under test add up to {causes}")]
    Causes {
        /// Number of lost packets.
        lost: u64,
        /// Number of losses with a cause.
        causes: u64,
    },
}

impl DeviceCounters {
    /// Returns the number of losses with a cause.
    #[must_use]
    pub fn causes(&self) -> u64 {
        self.waiting
            + self.dropped.iter().sum::<u64>()
            + self.tables
            + self.on_purpose
            + self.ring_full
            + self.unfit
    }

    /// Returns the sum of the counters of several cores or ports.
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

    /// Returns the difference to an earlier snapshot. The number of waiting packets is the current number.
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

    /// Returns the number of lost packets without a known cause (`unknown`). The counters are consistent if intended =
    /// sent + late + ring full + unfit, sent = received + lost, and lost = causes + unknown.
    ///
    /// # Errors
    /// The counters are not consistent.
    pub fn unknown(&self, tally: &Tally) -> Result<u64, Inconsistent> {
        let unsent = tally.late + tally.ring_full + tally.unfit;
        self.remainder((tally.intended, unsent), (tally.sent, tally.received))
    }

    /// Returns the number of lost packets without a known cause, computed from sums: packets due but not sent, packets
    /// sent, and packets received. See [`unknown`](Self::unknown).
    ///
    /// # Errors
    ///
    /// The counters are not consistent.
    pub fn remainder(
        &self,
        (intended, unsent): (u64, u64),
        (sent, received): (u64, u64),
    ) -> Result<u64, Inconsistent> {
        let named = sent.saturating_add(unsent);
        if named != intended {
            return Err(Inconsistent::Intended { intended, named });
        }
        let lost = sent.saturating_sub(received);
        let causes = self.causes();
        lost.checked_sub(causes).ok_or(Inconsistent::Causes { lost, causes })
    }
}
