//! An open-loop tester without its sockets: when packets are due, what marks them, and what became of each.
//!
//! A packet that is due leaves, or is late (the generator was elsewhere for too long and does not catch up by a burst that
//! nobody asked for), or finds the ring full. What left comes back or is lost; what is lost has a cause that somebody counted,
//! or none: the remainder is called unknown. [`Tally`] and [`Ledger`] add up by construction and say so by checks.
mod ledger;
mod stamp;

pub use ledger::{Inconsistent, Ledger, Returned, Tally};
pub use stamp::{STAMP_BYTES, Stamp, headers_octets};

/// Packets of one run at most: each has a bit.
pub const PACKETS_MAX: u64 = 1 << 26;

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The packet of this number is due.
    Send(u64),
    /// The packet of this number is past its time and is not sent.
    Late(u64),
    /// Nothing before this time, ns.
    Wait(u64),
    /// All have been.
    Over,
}

/// When packets are due: evenly, by the rate alone, whatever became of those before.
#[derive(Debug, Clone)]
pub struct Pacer {
    began_ns: u64,
    rate: u64,
    packets: u64,
    late_after_ns: u64,
    next: u64,
}

impl Pacer {
    /// `packets` at `rate` packets/s from `began_ns` on, each not later than `late_after_ns` after its time. A rate of 0 is
    /// 1, more packets than [`PACKETS_MAX`] are that many.
    #[must_use]
    pub fn new(began_ns: u64, rate: u64, packets: u64, late_after_ns: u64) -> Self {
        Self { began_ns, rate: rate.max(1), packets: packets.min(PACKETS_MAX), late_after_ns, next: 0 }
    }

    /// Packets from the first to the last.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// When a packet is due, ns.
    #[must_use]
    pub fn at(&self, number: u64) -> u64 {
        let since = u128::from(number) * 1_000_000_000 / u128::from(self.rate);
        self.began_ns.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// What is to be done at this time; each packet is said once.
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
