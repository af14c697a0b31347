//! Deadlines in the order of time.
use super::ConnId;
use crate::Time;
use std::collections::BTreeSet;

/// Subject of a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Handshake(ConnId),
    /// Checks whether the transport of a connection has stalled.
    Stalled(ConnId),
    Subscription {
        node: usize,
        slot: u16,
    },
    Silence {
        node: usize,
        slot: u16,
    },
    Request {
        node: usize,
        instance: u16,
    },
    Procedure {
        node: usize,
        transaction: u16,
    },
    Turn {
        node: usize,
    },
    Retention {
        node: usize,
    },
    IApp {
        iapp: usize,
        token: u64,
    },
}

/// Pending deadlines. Cancelled ones are removed immediately, so the size is bounded by what is outstanding.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Time, Timer)>);

impl Timers {
    pub(super) fn set(&mut self, at: Time, timer: Timer) {
        self.0.insert((at, timer));
    }

    pub(super) fn cancel(&mut self, at: Time, timer: Timer) {
        self.0.remove(&(at, timer));
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.0.first().map(|&(at, _)| at)
    }

    pub(super) fn take_due(&mut self, now: Time) -> Option<Timer> {
        let &(at, timer) = self.0.first()?;
        if at > now {
            return None;
        }
        self.0.remove(&(at, timer));
        Some(timer)
    }
}
