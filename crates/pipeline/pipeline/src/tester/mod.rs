//! An open-loop tester without sockets: schedule, marks and accounting of packets.
//!
//! A due packet has one of three outcomes: it is sent, it is late, or the ring is full. A packet is late if the
//! generator was suspended for too long; it is then skipped instead of being sent in a burst. A sent packet returns or
//! is lost. If counters show the cause of a loss, it is known; all other losses are called unknown. [`Tally`] and
//! [`DeviceCounters`] check that the counters are consistent.
mod ledger;
mod stamp;

pub use ledger::{DeviceCounters, Inconsistent, Returned, Tally};
pub use stamp::{STAMP_BYTES, Stamp, headers_octets};

/// Maximum number of packets per run. Each packet has one bit in [`Tally`].
pub const PACKETS_MAX: u64 = 1 << 26;

/// The next action of a tester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The packet with this number is due.
    Send(u64),
    /// The packet with this number is late and is not sent.
    Late(u64),
    /// No packet is due before this time, in nanoseconds.
    Wait(u64),
    /// No further packet will be due.
    Over,
}

/// The schedule of packets: evenly spaced by the rate, independent of earlier packets.
#[derive(Debug, Clone)]
pub struct Pacer {
    began_ns: u64,
    rate: u64,
    packets: u64,
    late_after_ns: u64,
    next: u64,
}

impl Pacer {
    /// Creates a schedule of `packets` at `rate` packets/s from `began_ns` on. A packet may be sent up to
    /// `late_after_ns` after its time. The rate is at least 1, the number of packets at most [`PACKETS_MAX`].
    #[must_use]
    pub fn new(began_ns: u64, rate: u64, packets: u64, late_after_ns: u64) -> Self {
        Self { began_ns, rate: rate.max(1), packets: packets.min(PACKETS_MAX), late_after_ns, next: 0 }
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the time at which a packet is due, in nanoseconds.
    #[must_use]
    pub fn at(&self, number: u64) -> u64 {
        let since = u128::from(number) * 1_000_000_000 / u128::from(self.rate);
        self.began_ns.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Returns the next action at this time. Each packet is returned only once.
    pub fn due(&mut self, now_ns: u64) -> Due {
        if self.next == self.packets {
            return Due::Over;
        }
        let at = self.at(self.next);
        if now_ns < at {
            return Due::Wait(at);
        }
        let number = self.next;
        self.next += 1;
        if now_ns - at > self.late_after_ns { Due::Late(number) } else { Due::Send(number) }
    }
}

#[cfg(test)]
mod tests;
