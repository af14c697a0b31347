//! A link that delays, loses, duplicates and reorders datagrams. It runs in virtual time, and a seed determines its behaviour.
use crate::Time;
use crate::pfcp::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Impairments of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impairments {
    /// Lost datagrams per thousand.
    pub loss_permille: u16,
    /// Duplicated datagrams per thousand.
    pub duplication_permille: u16,
    /// Minimum delay.
    pub delay: Duration,
    /// Maximum additional delay, uniformly distributed from 0. A later datagram may overtake an earlier one.
    pub jitter: Duration,
}

impl Impairments {
    /// Returns the impairments of a link with a constant delay only.
    pub const fn delay(delay: Duration) -> Self {
        Self { loss_permille: 0, duplication_permille: 0, delay, jitter: Duration::ZERO }
    }
}

/// Datagrams in transit in one direction.
#[derive(Debug)]
pub struct Link {
    impairments: Impairments,
    random: Random,
    under_way: BinaryHeap<Reverse<(Time, u64, Vec<u8>)>>,
    sent: u64,
    /// Number of datagrams lost.
    pub lost: u64,
    /// Number of datagrams duplicated.
    pub doubled: u64,
}

impl Link {
    /// Creates a link with nothing in transit.
    pub fn new(impairments: Impairments, seed: u64) -> Self {
        let random = Random::new(seed);
        Self { impairments, random, under_way: BinaryHeap::new(), sent: 0, lost: 0, doubled: 0 }
    }

    /// Sends a datagram.
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

    /// Returns the arrival time of the next datagram.
    pub fn arrives_at(&self) -> Option<Time> {
        self.under_way.peek().map(|Reverse((at, ..))| *at)
    }

    /// Returns the next datagram that has arrived.
    pub fn receive(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.arrives_at()? > now {
            return None;
        }
        self.under_way.pop().map(|Reverse((_, _, datagram))| datagram)
    }
}
