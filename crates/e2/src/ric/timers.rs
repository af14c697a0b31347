//! Deadlines in order of time.
use super::ConnId;
use crate::Time;
use std::collections::BTreeSet;

/// What a deadline is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Handshake(ConnId),
    /// The transport of a connection may have accepted nothing for a while.
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

/// Deadlines; cancelled ones are gone at once, so their number is that of things under way.
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
