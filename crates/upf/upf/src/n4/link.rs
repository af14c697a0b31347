//! A link that delays, loses, doubles and reorders datagrams, in virtual time and from a seed.
use crate::Time;
use crate::pfcp::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// What a link does to datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impairments {
    /// Datagrams lost of a thousand.
    pub loss_permille: u16,
    /// Datagrams that come twice of a thousand.
    pub duplication_permille: u16,
    /// Least delay.
    pub delay: Duration,
    /// Further delay, evenly distributed; what comes later may overtake.
    pub jitter: Duration,
}

impl Impairments {
    /// A link that only takes its time.
    pub const fn delay(delay: Duration) -> Self {
        Self { loss_permille: 0, duplication_permille: 0, delay, jitter: Duration::ZERO }
    }
}

/// Datagrams under way in one direction.
#[derive(Debug)]
pub struct Link {
    impairments: Impairments,
    random: Random,
    under_way: BinaryHeap<Reverse<(Time, u64, Vec<u8>)>>,
    sent: u64,
    /// Datagrams that the link has lost.
    pub lost: u64,
    /// Datagrams that the link has doubled.
    pub doubled: u64,
}

impl Link {
    /// An idle link.
    pub fn new(impairments: Impairments, seed: u64) -> Self {
        let random = Random::new(seed);
        Self { impairments, random, under_way: BinaryHeap::new(), sent: 0, lost: 0, doubled: 0 }
    }

    /// Takes a datagram.
    pub fn send(&mut self, now: Time, datagram: Vec<u8>) {
        if self.random.below(1000) < self.impairments.loss_permille.into() {
            self.lost += 1;
            return;
        }
        if self.random.below(1000) < self.impairments.duplication_permille.into() {
            self.doubled += 1;
            self.put(now, datagram.clone());
        }
        self.put(now, datagram);
    }

    fn put(&mut self, now: Time, datagram: Vec<u8>) {
        let jitter_ns = u64::try_from(self.impairments.jitter.as_nanos()).unwrap_or(u64::MAX);
        let jitter = Duration::from_nanos(self.random.below(jitter_ns.saturating_add(1).max(1)));
        self.sent += 1;
        self.under_way.push(Reverse((now + self.impairments.delay + jitter, self.sent, datagram)));
    }

    /// When the next datagram arrives.
    pub fn arrives_at(&self) -> Option<Time> {
        self.under_way.peek().map(|Reverse((at, ..))| *at)
    }

    /// A datagram that has arrived.
    pub fn receive(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.arrives_at()? > now {
            return None;
        }
        self.under_way.pop().map(|Reverse((_, _, datagram))| datagram)
    }
}
